//! Values for range tombstones.
//!
//! - [`RangeTombstone`]: one range delete, with a range of full keys (without its end) and a
//!   sequence number. It hides older entries of keys in the range.
//! - [`RangeSummary`]: the number of a table's range tombstones, counted once per fragment, and
//!   their range of keys.
//! - [`CoverRange`]: the answer for one key and one reader: the newest visible range tombstone over
//!   the key, and a range of keys around it with the same answer. The range need not be the largest
//!   one.
//!
//! No locks and no I/O.

use terrace_env::SeqNo;
use terrace_policy::{Key, Span};

use crate::batch::{Entry, FrozenBatch};
use crate::key;

/// Hides every older entry of a range of full keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeTombstone {
    pub(crate) span: Span,
    pub(crate) sequence: SeqNo,
}

impl RangeTombstone {
    /// A range delete of a batch.
    pub(crate) fn of(batch: &FrozenBatch, sequence: SeqNo, entry: &Entry) -> Self {
        let bytes = batch.bytes();
        let start = key::full_key(entry.space, &bytes[entry.key.clone()]);
        let end = match &bytes[entry.value.clone()] {
            [] => key::space_end(entry.space).expect("no key space has the largest id"),
            end => key::full_key(entry.space, end),
        };
        Self { span: Span::new(start, end), sequence }
    }
}

/// Summary of a table's range tombstones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeSummary {
    /// Their number, counted once per fragment.
    pub(crate) count: u64,
    /// From the start of the first to the end of the last.
    pub(crate) span: Span,
}

/// A range of keys with the same cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoverRange {
    /// The newest range tombstone over them.
    pub(crate) cover: Option<SeqNo>,
    /// The first key of the range; `None`: all earlier keys are in it.
    pub(crate) from: Option<Key>,
    /// The first key after the range; `None`: all later keys are in it.
    pub(crate) until: Option<Key>,
}

impl CoverRange {
    pub(crate) fn contains(&self, full_key: &[u8]) -> bool {
        self.from.as_ref().is_none_or(|from| &from[..] <= full_key)
            && self.until.as_ref().is_none_or(|until| full_key < &until[..])
    }

    /// The common keys of both, and the newer of their tombstones.
    pub(crate) fn and(self, other: Self) -> Self {
        let until = match (self.until, other.until) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { cover: self.cover.max(other.cover), from: self.from.max(other.from), until }
    }
}
