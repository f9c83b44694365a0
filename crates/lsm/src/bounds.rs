//! [`Bounds`]: a range of user keys within one key space, as a client gives it.
//!
//! Keys are compared as bytes. Nothing is checked here: a range may end before its start, and a
//! bound may be longer than a stored key can be. A plain value, without locks or I/O.

use std::ops::Bound;

use crate::key::{self, KeySpaceId};

/// The keys that a scan, a cursor or a compaction covers, within one key space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    start: Bound<Vec<u8>>,
    end: Bound<Vec<u8>>,
}

impl Bounds {
    /// All keys.
    #[must_use]
    pub fn all() -> Self {
        Self { start: Bound::Unbounded, end: Bound::Unbounded }
    }

    /// The keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let end = key::prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self { start: Bound::Included(prefix.to_vec()), end }
    }

    /// The keys from `key` on.
    #[must_use]
    pub fn starting_at(key: &[u8]) -> Self {
        Self { start: Bound::Included(key.to_vec()), end: Bound::Unbounded }
    }

    /// The same, up to and without `key`.
    #[must_use]
    pub fn until(mut self, key: &[u8]) -> Self {
        self.end = Bound::Excluded(key.to_vec());
        self
    }

    /// Whether all keys are in the range.
    #[must_use]
    pub fn is_all(&self) -> bool {
        let (start, end) = self.user_keys();
        start.is_empty() && end.is_none()
    }

    /// The first user key in the range, and the first after it (`None`: the range has no end).
    #[must_use]
    pub fn user_keys(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let start = match &self.start {
            Bound::Included(key) => key.clone(),
            Bound::Excluded(key) => key::successor(key),
            Bound::Unbounded => Vec::new(),
        };
        let end = match &self.end {
            Bound::Included(key) => Some(key::successor(key)),
            Bound::Excluded(key) => Some(key.clone()),
            Bound::Unbounded => None,
        };
        (start, end)
    }

    /// The same as full keys.
    pub(crate) fn full_keys(&self, space: KeySpaceId) -> (Vec<u8>, Option<Vec<u8>>) {
        let (start, end) = self.user_keys();
        let end = match end {
            Some(end) => Some(key::full_key(space, &end)),
            None => key::space_end(space),
        };
        (key::full_key(space, &start), end)
    }
}

impl From<std::ops::RangeFull> for Bounds {
    fn from(_: std::ops::RangeFull) -> Self {
        Self::all()
    }
}

macro_rules! bounds_from {
    ($($range:ident),*) => {$(
        impl<K: AsRef<[u8]>> From<std::ops::$range<K>> for Bounds {
            fn from(range: std::ops::$range<K>) -> Self {
                use std::ops::RangeBounds;
                let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
                Self { start: owned(range.start_bound()), end: owned(range.end_bound()) }
            }
        }
    )*};
}

bounds_from!(Range, RangeFrom, RangeTo, RangeInclusive, RangeToInclusive);
