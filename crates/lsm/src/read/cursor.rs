//! [`Cursor`]: walks the keys of a range in both directions, as they were at its sequence number.
//!
//! - It holds memtables and files, so a cursor that is kept for long keeps their space from being
//!   freed.
//! - A cursor of a client counts its memory. It takes little until its first move. If scans and
//!   cursors together hold much, it frees all but its key and its value after each move, and the
//!   next move begins with a search.
//! - The newest visible version of a key decides. The key is not shown if that version is a delete,
//!   if a range tombstone hides it, or if it had expired when the cursor was made.
//! - If that version is an operand, its value is combined with those below it (`chains`).
//! - To change direction, the merge seeks to the key from the other side.
//! - `finding` finds the next visible key; `origin` frees memory.
//! - A cursor of a client skips ranges that are known to be empty, and remembers those that it
//!   finds ([`Stretch`]).
//! - After an error a cursor stands on no key. A step from there begins at an end of the range.
//!
//! One thread at a time, which holds no lock: a move may wait for the device. Once the engine is
//! closed, a move returns [`Error::Closed`].

use bytes::{Buf, Bytes};
use std::sync::Arc;
use terrace_env::{Date, SeqNo, runner};

use origin::{Origin, merge_of};

use super::coverage::Coverage;
use super::reader::Reader;
use super::search::Samples;
use super::stretch::Stretch;
use crate::Error;
use crate::bounds::Bounds;
use crate::expiry::EXPIRY_BYTES;
use crate::key::{self, Head, KeySpaceId, SPACE_BYTES};
use crate::merge::Merge;
use crate::operands::Combiner;
use crate::readers::Reading;
use crate::tree::{Closed, Run, View};

/// Walks the keys of a range, in both directions, as they were when it was made.
///
/// It stands on a key, or on none: at first, beyond either end, and after an error. From no key,
/// [`next`](Self::next) leads to the first key, and [`prev`](Self::prev) to the last.
pub struct Cursor {
    merge: Merge,
    /// The range tombstones that may hide entries, if there are any.
    coverage: Option<Box<Coverage>>,
    /// Number of hidden entries in a row.
    hidden: u32,
    /// Number of versions in a row that are not the newest visible one.
    versions: u32,
    /// Whether `merge` and `coverage` are open.
    is_open: bool,
    /// Source of both, to open them again after they were freed.
    origin: Option<Origin>,
    /// The entries passed without showing one, if it skips empty ranges.
    stretch: Option<Stretch>,
    closed: Closed,
    /// The newest sequence that it sees.
    sequence: SeqNo,
    space: KeySpaceId,
    /// Combines operands.
    combiner: Combiner,
    /// Whether a key is left out if no entry is found below its operands.
    is_partial: bool,
    /// The first full key of its range, and the first after it (`None`: the range is empty).
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// Head of the end.
    end_head: Head,
    standing: Standing,
    /// The full key that it stands on.
    full_key: Vec<u8>,
    /// The value, if it went backward or the value was combined.
    value: Bytes,
    /// The date at which it began, and the expiry of its current entry.
    date: Date,
    expiry: Option<Date>,
    uncharged: u32,
    /// Samples of misses, if these count.
    samples: Option<Samples>,
    /// Lists it until it ends, unless it is part of a listed reader.
    _reading: Option<Reading>,
}

/// Position of a cursor, and how it got there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Nowhere,
    /// On the merge's entry.
    Forward,
    /// On a key after the merge's entry.
    Backward,
    /// On a key before the merge's entry, or with older entries there: its operands are combined.
    Combined,
    /// On a key whose value it holds, without a merge.
    Detached,
}

impl Cursor {
    /// A client's cursor, which skips ranges that are known to be empty.
    pub(super) fn of_client(
        reader: &Arc<Reader>,
        view: &Arc<View>,
        sequence: SeqNo,
        keys: (KeySpaceId, &Bounds),
        combiner: Combiner,
    ) -> Self {
        let (reader, view) = (Arc::clone(reader), Arc::clone(view));
        let (merge, closed) = (Merge::new(Vec::new()), view.closed.clone());
        let cursor = Self::with(merge, None, closed, sequence, keys, combiner);
        let stretch = Some(Stretch::new(&reader, sequence, cursor.date));
        let memory = reader.memory.positions().lease(0);
        let origin = Some(Origin { reader, view, memory, is_new: true });
        Self { stretch, origin, is_open: false, ..cursor }
    }

    /// A cursor over the memtables and these runs, newest first.
    pub(crate) fn over<'a, R: Iterator<Item = &'a Arc<Run>>>(
        view: &'a View,
        runs: impl Fn() -> R,
        sequence: SeqNo,
        keys: (KeySpaceId, &Bounds),
        combiner: Combiner,
    ) -> Self {
        let merge = merge_of(view, runs());
        let coverage = Coverage::of(view.memtables(), runs(), sequence);
        Self::with(merge, coverage, view.closed.clone(), sequence, keys, combiner)
    }

    fn with(
        merge: Merge,
        coverage: Option<Box<Coverage>>,
        closed: Closed,
        sequence: SeqNo,
        (space, bounds): (KeySpaceId, &Bounds),
        combiner: Combiner,
    ) -> Self {
        let (start, end) = bounds.full_keys(space);
        let end_head = key::head(end.as_deref().unwrap_or_default());
        Self {
            merge,
            coverage,
            hidden: 0,
            versions: 0,
            is_open: true,
            origin: None,
            stretch: None,
            closed,
            sequence,
            space,
            combiner,
            is_partial: false,
            start,
            end,
            end_head,
            standing: Standing::Nowhere,
            full_key: Vec::new(),
            value: Bytes::new(),
            date: runner::date(),
            expiry: None,
            uncharged: 0,
            samples: None,
            _reading: None,
        }
    }

    /// The same, which takes these samples of the entries that it passes.
    pub(super) fn sampled(self, samples: Option<Samples>) -> Self {
        Self { samples, ..self }
    }

    /// The same, which leaves out keys whose operands may have entries below them outside of its
    /// runs.
    pub(super) fn without_unknown_bases(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// The same, which began at another date.
    pub(super) fn dated(self, date: Date) -> Self {
        let stretch = self.stretch.map(|stretch| stretch.dated(date));
        Self { date, stretch, ..self }
    }

    /// The same, listed as a reader.
    pub(crate) fn listed(self, reading: Reading) -> Self {
        Self { _reading: Some(reading), ..self }
    }

    /// Moves to the first key of the range; `false` if there is none.
    pub fn seek_to_first(&mut self) -> Result<bool, Error> {
        self.moved(|cursor| cursor.start_forward(&cursor.start.clone()))
    }

    /// Moves to the last key of the range; `false` if there is none.
    pub fn seek_to_last(&mut self) -> Result<bool, Error> {
        self.moved(|cursor| cursor.start_backward(cursor.end.clone()))
    }

    /// Moves to the first key of the range that is not before `user_key`; `false` if there is none.
    pub fn seek(&mut self, user_key: &[u8]) -> Result<bool, Error> {
        let sought = key::full_key(self.space, user_key).max(self.start.clone());
        self.moved(|cursor| cursor.start_forward(&sought))
    }

    /// Moves to the last key of the range that is not after `user_key`; `false` if there is none.
    pub fn seek_back(&mut self, user_key: &[u8]) -> Result<bool, Error> {
        let behind = key::successor(&key::full_key(self.space, user_key));
        let end = match &self.end {
            Some(end) if *end < behind => end.clone(),
            _ => behind,
        };
        self.moved(|cursor| cursor.start_backward(Some(end)))
    }

    /// Moves to the next key; `false` beyond the last.
    #[expect(clippy::should_implement_trait, reason = "one of two directions, and may fail")]
    pub fn next(&mut self) -> Result<bool, Error> {
        self.moved(|cursor| match cursor.standing {
            Standing::Nowhere => cursor.start_forward(&cursor.start.clone()),
            Standing::Backward | Standing::Detached => {
                cursor.start_forward(&key::successor(&cursor.full_key))
            }
            Standing::Forward => {
                cursor.standing = Standing::Nowhere;
                cursor.merge.next()?;
                cursor.find_forward(true)
            }
            Standing::Combined => {
                cursor.standing = Standing::Nowhere;
                cursor.find_forward(true)
            }
        })
    }

    /// Moves to the key before; `false` beyond the first.
    pub fn prev(&mut self) -> Result<bool, Error> {
        self.moved(|cursor| match cursor.standing {
            Standing::Nowhere => cursor.start_backward(cursor.end.clone()),
            Standing::Forward | Standing::Combined | Standing::Detached => {
                cursor.start_backward(Some(cursor.full_key.clone()))
            }
            Standing::Backward => {
                cursor.standing = Standing::Nowhere;
                cursor.find_backward()
            }
        })
    }

    /// Whether it stands on a key.
    #[must_use]
    pub fn is_on_key(&self) -> bool {
        self.standing != Standing::Nowhere
    }

    /// The key that it stands on.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        assert!(self.is_on_key(), "the cursor stands on no key");
        &self.full_key[SPACE_BYTES..]
    }

    /// The value of its key, without a copy.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn value_slice(&self) -> &[u8] {
        match self.standing {
            Standing::Forward => {
                let stored = self.merge.value_slice();
                &stored[self.expiry.map_or(0, |_| EXPIRY_BYTES.min(stored.len()))..]
            }
            Standing::Backward | Standing::Combined | Standing::Detached => &self.value,
            Standing::Nowhere => panic!("the cursor stands on no key"),
        }
    }

    /// The value of its key: a part of its block, or a copy if the block lies in a mapped file or a
    /// memtable.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn value(&self) -> Bytes {
        match self.standing {
            Standing::Forward => {
                let mut stored = self.merge.value();
                stored.advance(self.expiry.map_or(0, |_| EXPIRY_BYTES.min(stored.len())));
                stored
            }
            Standing::Backward | Standing::Combined | Standing::Detached => self.value.clone(),
            Standing::Nowhere => panic!("the cursor stands on no key"),
        }
    }

    /// Expiry of its current entry; `None`: never.
    pub(crate) fn expiry(&self) -> Option<Date> {
        self.expiry.filter(|_| self.is_on_key())
    }

    /// Frees its current value, which its caller does not need again, if that is large and memory
    /// is short.
    pub(crate) fn park(&mut self) {
        self.merge.park();
        self.value = Bytes::new();
    }

    /// Ends its range before the key that `other` stands on.
    pub(crate) fn end_at(&mut self, other: &Self) {
        self.end.get_or_insert_default().clone_from(&other.full_key);
        self.end_head = key::head(&other.full_key);
    }

    /// Begins its range after the key that `other` stands on.
    pub(crate) fn start_behind(&mut self, other: &Self) {
        self.start.clone_from(&other.full_key);
        self.start.push(0);
    }

    /// Moves, unless the engine is closed.
    #[inline]
    fn moved(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        let moved = self.closed.check().and_then(|()| step(self));
        if self.samples.is_some() && matches!(moved, Ok(true)) {
            self.pass_sample();
        }
        if moved.is_ok() && self.origin.is_some() {
            self.count_memory();
        }
        moved.map_err(|error| {
            self.standing = Standing::Nowhere;
            self.closed.explain(error)
        })
    }

    fn pass_sample(&mut self) {
        let bytes = self.full_key.len() + self.value_slice().len();
        if let Some(samples) = &self.samples {
            samples.pass(&self.full_key, bytes);
        }
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor({:?}, at {})", self.standing, self.full_key.escape_ascii())
    }
}

mod chains;
mod finding;
mod origin;
