//! [`Cursor`]: walks the keys of a range in both directions, as they were at the sequence number
//! that it was made for.
//!
//! - It holds memtables and files, so a cursor that is kept for long keeps space from coming free.
//! - Of each key the newest visible version decides. The key is not shown if that version is a
//!   delete, or if a range tombstone hides it.
//! - Forward, the newest version of a key comes first, and the others are passed over. Backward, it
//!   comes last: the cursor keeps its value while the merge goes on to the next smaller key.
//! - To change direction, the merge seeks to the key from the other side.
//! - After [`LEAP_AFTER`] entries in a row that range tombstones hide, the sources skip to the end
//!   of the hidden range (backward: to its start). A source that may have something newer than the
//!   tombstone on the way skips less, or nothing.
//! - After an error a cursor stands nowhere. A step from there begins at an end of the range.
//!
//! One thread at a time, which holds no lock: a move may wait for the device. Once the engine is
//! closed, a move returns [`Error::Closed`].

use bytes::Bytes;
use std::sync::Arc;
use terrace_env::SeqNo;

use super::closed::Closed;
use super::merge::{Merge, Source};
use super::readers::Reading;
use super::run_cursor::RunCursor;
use super::search::Samples;
use crate::Error;
use crate::bounds::Bounds;
use crate::cost;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer};
use crate::memtable::MemoryCursor;
use crate::ranges::Coverage;
use crate::table::Walk;
use crate::tree::Run;
use crate::tree::View;

/// How many entries are gone through between two charges of processor time.
const CHARGE_ENTRIES: u32 = 64;
/// After how many hidden entries in a row the sources leap to the end of what hides them: a leap
/// costs each of them a search, as much as some ten steps.
const LEAP_AFTER: u32 = 8;

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
    closed: Closed,
    /// Sees entries up to this.
    sequence: SeqNo,
    space: KeySpaceId,
    /// The first full key that it may stand on, and the first behind the last (`None`: no key is).
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    standing: Standing,
    /// The full key that it stands on.
    full_key: Vec<u8>,
    /// The value, when it went backward.
    value: Bytes,
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
}

impl Cursor {
    pub(crate) fn new(view: &View, sequence: SeqNo, space: KeySpaceId, bounds: &Bounds) -> Self {
        let runs = || view.version.places().map(|(_, run)| run);
        Self::over(view, runs, sequence, space, bounds)
    }

    /// A cursor over the memtables and these runs, from the newest to the oldest.
    pub(crate) fn over<'a, R: Iterator<Item = &'a Arc<Run>>>(
        view: &'a View,
        runs: impl Fn() -> R,
        sequence: SeqNo,
        space: KeySpaceId,
        bounds: &Bounds,
    ) -> Self {
        let memory = |table| Source::Memory(MemoryCursor::new(Arc::clone(table)));
        let run = |run: &Arc<_>| Source::Run(Box::new(RunCursor::new(Arc::clone(run), Walk::Scan)));
        let memtables = view.memtables().filter(|table| !table.is_empty()).map(memory);
        let coverage = Coverage::of(view.memtables(), runs(), sequence);
        let (start, end) = bounds.full_keys(space);
        Self {
            merge: Merge::new(memtables.chain(runs().map(run)).collect()),
            coverage,
            hidden: 0,
            closed: view.closed.clone(),
            sequence,
            space,
            start,
            end,
            standing: Standing::Nowhere,
            full_key: Vec::new(),
            value: Bytes::new(),
            uncharged: 0,
            samples: None,
            _reading: None,
        }
    }

    /// The same, which takes these samples of what it comes by.
    pub(super) fn sampled(self, samples: Option<Samples>) -> Self {
        Self { samples, ..self }
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
            Standing::Backward => cursor.start_forward(&key::successor(&cursor.full_key)),
            Standing::Forward => {
                cursor.standing = Standing::Nowhere;
                cursor.merge.next()?;
                cursor.find_forward(true)
            }
        })
    }

    /// Moves to the key before; `false` beyond the first.
    pub fn prev(&mut self) -> Result<bool, Error> {
        self.moved(|cursor| match cursor.standing {
            Standing::Nowhere => cursor.start_backward(cursor.end.clone()),
            Standing::Forward => cursor.start_backward(Some(cursor.full_key.clone())),
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
            Standing::Forward => self.merge.value(),
            Standing::Backward => self.value.clone(),
            Standing::Nowhere => panic!("the cursor stands on no key"),
        }
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

    /// Moves to the first visible key at or behind a full key.
    fn start_forward(&mut self, from: &[u8]) -> Result<bool, Error> {
        self.standing = Standing::Nowhere;
        self.merge.seek(&key::internal_key(from, Trailer::NEWEST))?;
        self.find_forward(false)
    }

    /// Moves to the last visible key before a full key, or of all.
    fn start_backward(&mut self, before: Option<Vec<u8>>) -> Result<bool, Error> {
        self.standing = Standing::Nowhere;
        match before {
            Some(before) => self.merge.seek_before(&key::internal_key(&before, Trailer::NEWEST))?,
            None => self.merge.seek_to_last()?,
        }
        self.find_backward()
    }

    /// Goes on to a visible key; `decided`: `full_key` is done with.
    fn find_forward(&mut self, mut decided: bool) -> Result<bool, Error> {
        while let Some(found) = self.merge.key() {
            let (full_key, trailer) = key::split(found);
            if self.end.as_ref().is_some_and(|end| full_key >= &end[..]) {
                break;
            }
            self.uncharged += 1;
            let same = decided && full_key == self.full_key;
            if !same && trailer.sequence() <= self.sequence {
                self.full_key.clear();
                self.full_key.extend_from_slice(full_key);
                decided = true;
                let hidden = match &mut self.coverage {
                    Some(coverage) => coverage.hides(full_key, trailer.sequence())?,
                    None => false,
                };
                if trailer.kind() == Some(Kind::Put) && !hidden {
                    self.hidden = 0;
                    self.merge.ready()?;
                    return Ok(self.arrive(Standing::Forward));
                }
                if hidden && self.leap_forward()? {
                    continue;
                }
            }
            self.merge.next()?;
        }
        Ok(self.arrive(Standing::Nowhere))
    }

    /// Goes back to a visible key.
    fn find_backward(&mut self) -> Result<bool, Error> {
        // The newest version so far of the key in `full_key`, once one is visible.
        let mut newest: Option<Trailer> = None;
        let is_put =
            |version: Option<Trailer>| version.is_some_and(|v| v.kind() == Some(Kind::Put));
        while let Some(found) = self.merge.key() {
            let (full_key, trailer) = key::split(found);
            if full_key < &self.start[..] {
                break;
            }
            if newest.is_some() && full_key != self.full_key {
                if is_put(newest) {
                    break;
                }
                newest = None;
            }
            self.uncharged += 1;
            let visible = trailer.sequence() <= self.sequence;
            let hidden = match &mut self.coverage {
                Some(coverage) if visible => coverage.hides(full_key, trailer.sequence())?,
                _ => false,
            };
            if visible && !hidden {
                self.hidden = 0;
                if newest.is_none() {
                    self.full_key.clear();
                    self.full_key.extend_from_slice(full_key);
                }
                newest = Some(trailer);
                if is_put(newest) {
                    self.merge.ready()?;
                    self.value = self.merge.value();
                }
            }
            if !(hidden && newest.is_none() && self.leap_backward()?) {
                self.merge.prev()?;
            }
        }
        Ok(self.arrive(if is_put(newest) { Standing::Backward } else { Standing::Nowhere }))
    }

    /// Where many entries in a row were hidden, goes on to behind what hides them, in the sources
    /// in which everything on the way is older. Whether the merge was moved.
    fn leap_forward(&mut self) -> Result<bool, Error> {
        self.hidden += 1;
        let around = self.coverage.as_ref().and_then(|coverage| coverage.around());
        let Some((cover, _, until)) = around.filter(|_| self.hidden >= LEAP_AFTER) else {
            return Ok(false);
        };
        self.hidden = 0;
        self.merge.leap(cover, until)?;
        Ok(true)
    }

    /// The same backward.
    fn leap_backward(&mut self) -> Result<bool, Error> {
        self.hidden += 1;
        let around = self.coverage.as_ref().and_then(|coverage| coverage.around());
        let Some((cover, from, _)) = around.filter(|_| self.hidden >= LEAP_AFTER) else {
            return Ok(false);
        };
        self.hidden = 0;
        self.merge.leap_back(cover, from)?;
        Ok(true)
    }

    fn arrive(&mut self, standing: Standing) -> bool {
        self.standing = standing;
        if standing != Standing::Backward {
            self.value = Bytes::new();
        }
        if standing == Standing::Nowhere || self.uncharged >= CHARGE_ENTRIES {
            cost::charge_scan(std::mem::take(&mut self.uncharged));
        }
        self.is_on_key()
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor({:?}, at {})", self.standing, self.full_key.escape_ascii())
    }
}
