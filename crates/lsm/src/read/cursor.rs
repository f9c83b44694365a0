//! [`Cursor`]: walks the keys of a range in both directions, as they were at the sequence number
//! that it was made for.
//!
//! - It holds memtables and files, so a cursor that is kept for long keeps space from coming free.
//! - A cursor of a client counts its memory. It takes little until its first move. If scans and
//!   cursors together hold much, it gives back all but its key and its value after each move, and
//!   the next move begins with a search.
//! - Of each key the newest visible version decides. The key is not shown if that version is a
//!   delete, if a range tombstone hides it, or if it had expired when the cursor was made.
//! - If that version is an operand, its value is combined with those below it (`chains`).
//! - To change direction, the merge seeks to the key from the other side.
//! - How it finds a visible key is in `finding`; how it gives memory back, in `origin`.
//! - A cursor of a client skips ranges that are known to be empty, and remembers those that it
//!   finds ([`Stretch`]).
//! - After an error a cursor stands nowhere. A step from there begins at an end of the range.
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
use crate::key::{self, KeySpaceId, SPACE_BYTES};
use crate::merge::Merge;
use crate::operands::Combiner;
use crate::readers::Reading;
use crate::tree::{Closed, Run, View};

/// Walks the keys of a range, in both directions, as they were when it was made.
///
/// It stands on a key, or nowhere: at first, beyond either end, and after an error. Nowhere lies
/// between the last key and the first: [`next`](Self::next) leads from there to the first,
/// [`prev`](Self::prev) to the last.
pub struct Cursor {
    merge: Merge,
    /// The range tombstones that may hide something, if there are any.
    coverage: Option<Box<Coverage>>,
    /// How many hidden entries it has come over in a row.
    hidden: u32,
    /// Versions in a row that do not count.
    versions: u32,
    /// Whether `merge` and `coverage` are there.
    is_open: bool,
    /// Origin of both, to open them again after they were given back.
    origin: Option<Origin>,
    /// The entries passed without showing one, where it skips empty ranges.
    stretch: Option<Stretch>,
    closed: Closed,
    /// Sees entries up to this.
    sequence: SeqNo,
    space: KeySpaceId,
    /// Combines operands.
    combiner: Combiner,
    /// Whether a key is left out if nothing is found below its operands.
    is_partial: bool,
    /// The first full key that it may stand on, and the first behind the last (`None`: no key is).
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    standing: Standing,
    /// The full key that it stands on.
    full_key: Vec<u8>,
    /// The value, when it went backward or was combined.
    value: Bytes,
    /// The date at which it began, and that at which the entry expires that it stands on.
    date: Date,
    expiry: Option<Date>,
    uncharged: u32,
    /// Where vain searches count.
    samples: Option<Samples>,
    /// Lists it until it ends, unless it is a part of a reader that is listed.
    _reading: Option<Reading>,
}

/// Where a cursor stands, and how it came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Nowhere,
    /// On the merge's entry.
    Forward,
    /// On a key behind the merge's entry.
    Backward,
    /// On a key before the merge's entry, or with older entries there: its operands are combined.
    Combined,
    /// On a key whose value it has, without a merge.
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
        let stretch = Some(Stretch::new(&reader, sequence));
        let (merge, closed) = (Merge::new(Vec::new()), view.closed.clone());
        let memory = reader.memory.positions().lease(0);
        let origin = Some(Origin { reader, view, memory, is_new: true });
        let is_open = false;
        Self {
            stretch,
            origin,
            is_open,
            ..Self::with(merge, None, closed, sequence, keys, combiner)
        }
    }

    /// A cursor over the memtables and these runs, from the newest to the oldest.
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

    /// The same, which takes these samples of what it comes by.
    pub(super) fn sampled(self, samples: Option<Samples>) -> Self {
        Self { samples, ..self }
    }

    /// The same, which leaves out keys whose operands may have something below that is not in its
    /// runs.
    pub(super) fn without_unknown_bases(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// The same, which began at another date.
    pub(super) fn dated(self, date: Date) -> Self {
        Self { date, ..self }
    }

    /// The same, as a reader of its own.
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

    /// Moves to the last key of the range that is not behind `user_key`; `false` if there is none.
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

    /// The key it stands on.
    ///
    /// # Panics
    /// When it stands nowhere.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        assert!(self.is_on_key(), "the cursor stands on no key");
        &self.full_key[SPACE_BYTES..]
    }

    /// The value it stands on; shares the memory of the block that it lies in.
    ///
    /// # Panics
    /// When it stands nowhere.
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

    /// When the entry expires that it stands on; `None`: never.
    pub(crate) fn expiry(&self) -> Option<Date> {
        self.expiry.filter(|_| self.is_on_key())
    }

    /// Gives back what it holds of the value that it stands on, if that is large and memory is
    /// short: nobody asks for it again.
    pub(crate) fn park(&mut self) {
        self.merge.park();
        self.value = Bytes::new();
    }

    /// From now on ends before the key that `other` stands on.
    pub(crate) fn end_at(&mut self, other: &Self) {
        self.end.get_or_insert_default().clone_from(&other.full_key);
    }

    /// From now on begins behind the key that `other` stands on.
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
        let bytes = self.full_key.len() + self.value().len();
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
