//! Ordered scans over a consistent view.
//!
//! A scan sees what was visible when it began, whatever is written meanwhile. It pins the memtables
//! and files it may read, so a scan that is kept for long keeps space from being freed.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::SeqNo;

use crate::Error;
use crate::cost;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer};
use crate::memtable::MemoryCursor;
use crate::merge::{Merge, Source};
use crate::run_cursor::RunCursor;
use crate::shared::{Shared, View};
use crate::table::Walk;

/// How many entries are gone through between two charges of processor time.
const CHARGE_ENTRIES: u32 = 64;

/// The keys a scan covers, within one key space.
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

    /// As full keys: the first in the range, and the first behind it (`None`: no key is).
    pub(crate) fn full_keys(&self, space: KeySpaceId) -> (Vec<u8>, Option<Vec<u8>>) {
        let full = |user_key: &[u8]| key::full_key(space, user_key);
        let start = match &self.start {
            Bound::Included(key) => full(key),
            Bound::Excluded(key) => key::successor(&full(key)),
            Bound::Unbounded => full(&[]),
        };
        let end = match &self.end {
            Bound::Included(key) => Some(key::successor(&full(key))),
            Bound::Excluded(key) => Some(full(key)),
            Bound::Unbounded => space.0.checked_add(1).map(|next| {
                let next = KeySpaceId(next);
                key::full_key(next, &[])
            }),
        };
        (start, end)
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

/// An ordered scan. Ends after the first error.
///
/// Either an iterator of shared keys and values, or, without an allocation per entry,
/// [`advance`](Self::advance) with [`key`](Self::key) and [`value`](Self::value).
pub struct Scan {
    merge: Merge,
    /// Sees entries up to this.
    sequence: SeqNo,
    end: Option<Vec<u8>>,
    /// The full key that it stands on, or stood on before.
    full_key: Vec<u8>,
    state: Standing,
    uncharged: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Before,
    On,
    End,
}

impl Scan {
    pub(crate) fn new(
        view: &View,
        sequence: SeqNo,
        space: KeySpaceId,
        bounds: &Bounds,
    ) -> Result<Self, Error> {
        let memory = |table| Source::Memory(MemoryCursor::new(Arc::clone(table)));
        let run = |run: &Arc<_>| Source::Run(Box::new(RunCursor::new(Arc::clone(run), Walk::Scan)));
        let memtables = view.memtables().filter(|table| !table.is_empty()).map(memory);
        let runs = view.version.places().map(|(_, one)| run(one));
        let mut merge = Merge::new(memtables.chain(runs).collect());
        let (start, end) = bounds.full_keys(space);
        merge.seek(&key::internal_key(&start, Trailer::NEWEST))?;
        let (full_key, state) = (Vec::new(), Standing::Before);
        Ok(Self { merge, sequence, end, full_key, state, uncharged: 0 })
    }

    /// Goes to the next key; `false` at the end.
    pub fn advance(&mut self) -> Result<bool, Error> {
        let result = self.find_next();
        self.state = if matches!(result, Ok(true)) { Standing::On } else { Standing::End };
        self.charge(self.state == Standing::End);
        result
    }

    /// The key it stands on.
    ///
    /// # Panics
    /// When the last [`advance`](Self::advance) did not return `true`.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        assert!(self.state == Standing::On, "the scan stands on no entry");
        &self.full_key[SPACE_BYTES..]
    }

    /// The value it stands on; shares the memory of the block that it lies in.
    ///
    /// # Panics
    /// When the last [`advance`](Self::advance) did not return `true`.
    #[must_use]
    pub fn value(&self) -> Bytes {
        assert!(self.state == Standing::On, "the scan stands on no entry");
        self.merge.value()
    }

    fn find_next(&mut self) -> Result<bool, Error> {
        match self.state {
            Standing::End => return Ok(false),
            Standing::Before => {}
            Standing::On => self.merge.next()?,
        }
        // The newest visible entry of a key decides; the older ones behind it are passed over.
        let mut decided = self.state == Standing::On;
        while let Some(found) = self.merge.key() {
            let (full_key, trailer) = key::split(found);
            if self.end.as_ref().is_some_and(|end| full_key >= &end[..]) {
                return Ok(false);
            }
            self.uncharged += 1;
            let same = decided && full_key == self.full_key;
            if !same && trailer.sequence() <= self.sequence {
                self.full_key.clear();
                self.full_key.extend_from_slice(full_key);
                decided = true;
                if trailer.kind() == Some(Kind::Put) {
                    return Ok(true);
                }
            }
            self.merge.next()?;
        }
        Ok(false)
    }

    fn charge(&mut self, now: bool) {
        if now || self.uncharged >= CHARGE_ENTRIES {
            cost::charge_scan(std::mem::take(&mut self.uncharged));
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(true) => Some(Ok((Bytes::copy_from_slice(self.key()), self.value()))),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scan({:?}, at {})", self.state, self.full_key.escape_ascii())
    }
}

/// What was visible at one moment, for as long as it lives. Holds no files and no memory: jobs
/// keep the entries that it sees.
pub struct Snapshot {
    shared: Arc<Shared>,
    sequence: SeqNo,
}

impl Snapshot {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let mut state = shared.state.lock();
        let sequence = shared.visible();
        *state.snapshots.entry(sequence).or_default() += 1;
        drop(state);
        Self { shared: Arc::clone(shared), sequence }
    }

    /// The newest write that it sees.
    #[must_use]
    pub fn sequence(&self) -> SeqNo {
        self.sequence
    }

    /// What was under the key.
    pub fn get(&self, space: KeySpaceId, user_key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.shared.get(space, user_key, Some(self.sequence))
    }

    /// What was in the range.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Scan, Error> {
        self.shared.scan(space, bounds, Some(self.sequence))
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        let mut state = self.shared.state.lock();
        *state.snapshots.entry(self.sequence).or_default() += 1;
        drop(state);
        Self { shared: Arc::clone(&self.shared), sequence: self.sequence }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if let Some(count) = state.snapshots.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                state.snapshots.remove(&self.sequence);
            }
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({})", self.sequence)
    }
}

impl Shared {
    pub(crate) fn get(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
    ) -> Result<Option<Bytes>, Error> {
        let view = self.glance();
        let sequence = at.unwrap_or_else(|| self.visible());
        self.counters.gets.add(1);
        cost::charge_get();
        for memtable in view.memtables() {
            if let Some(found) = memtable.get(space, user_key, sequence) {
                return Ok(found.value());
            }
        }
        let seek_key = key::seek_key(space, user_key, sequence);
        let (found, searched) = view.version.get(&seek_key)?;
        self.counters.tables_searched.add(u64::from(searched));
        Ok(found.and_then(crate::memtable::Found::value))
    }

    pub(crate) fn scan(
        &self,
        space: KeySpaceId,
        bounds: &Bounds,
        at: Option<SeqNo>,
    ) -> Result<Scan, Error> {
        let view = self.view();
        let sequence = at.unwrap_or_else(|| self.visible());
        self.counters.scans.add(1);
        Scan::new(&view, sequence, space, bounds)
    }
}
