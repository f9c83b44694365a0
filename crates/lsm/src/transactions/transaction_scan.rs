//! [`TransactionScan`]: the entries of a range as a transaction sees them: a scan of its snapshot,
//! merged with its own writes, from both ends.
//!
//! - The own writes are looked up at each step, so the scan also shows later ones, if their keys
//!   lie between its two ends.
//! - The range counts as read from each end of it up to the last key that was returned there. It
//!   counts as read as a whole while the scan is open, and once it has ended, by its last entry or
//!   by an error.
//! - When one end finds no further entry, the scan has ended for both.
//!
//! One thread at a time, which holds no lock: a step may wait for the device.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::sync::Mutex;

use super::transaction::State;
use crate::Error;
use crate::expiry::Shown;
use crate::key::{self, KeySpaceId, SPACE_BYTES};
use crate::operands::{Chain, Combiner};
use crate::read::Scan;

type Entry = (Bytes, Bytes);
/// A full key, and its visible value.
type Chosen = (Vec<u8>, Option<Bytes>);

/// An ordered scan by a transaction, from both ends. Ends after the first error.
pub struct TransactionScan {
    space: KeySpaceId,
    combiner: Combiner,
    /// Full keys: the first of the range, and the first after it.
    range: (Vec<u8>, Vec<u8>),
    below: Scan,
    /// Entries that `below` has returned at each end, and that were not used yet.
    front: Option<Entry>,
    back: Option<Entry>,
    /// The last returned full key at each end.
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    ended: bool,
    state: Arc<Mutex<State>>,
    id: u64,
}

/// State of a key, as the transaction sees it.
enum Seen {
    /// A value, or none.
    Value(Option<Bytes>),
    /// Operands, with the base below them.
    Operands(Chain),
}

/// An end of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

impl TransactionScan {
    pub(super) fn new(
        (space, combiner): (KeySpaceId, Combiner),
        range: (Vec<u8>, Vec<u8>),
        below: Scan,
        state: Arc<Mutex<State>>,
        id: u64,
    ) -> Self {
        let (front, back, first, last, ended) = (None, None, None, None, false);
        Self { space, combiner, range, below, front, back, first, last, ended, state, id }
    }

    /// The next entry of the snapshot at an end, which stays there until it is taken.
    fn fill(&mut self, end: End) -> Result<(), Error> {
        match end {
            End::Front if self.front.is_none() => {
                let found = self.below.next().transpose()?;
                self.note_expiry(found.as_ref());
                self.front = found.or_else(|| self.back.take());
            }
            End::Back if self.back.is_none() => {
                let found = self.below.next_back().transpose()?;
                self.note_expiry(found.as_ref());
                self.back = found.or_else(|| self.front.take());
            }
            End::Front | End::Back => {}
        }
        Ok(())
    }

    /// Notes the expiry of an entry that was read from the snapshot.
    fn note_expiry(&self, found: Option<&Entry>) {
        if let (Some((user_key, _)), Some(expiry)) = (found, self.below.expiry()) {
            let full_key = key::full_key(self.space, user_key);
            self.state.lock().note_expiry(&full_key, Some(expiry));
        }
    }

    /// The next key at an end, with its value, or `None` if the transaction sees no value. The end
    /// passes the key.
    fn choose(&mut self, end: End) -> Result<Option<Chosen>, Error> {
        let Some((full_key, seen)) = self.take(end) else { return Ok(None) };
        let value = match seen {
            Seen::Value(value) => value,
            Seen::Operands(chain) => {
                Some(self.combiner.combine(&full_key[SPACE_BYTES..], chain)?.value)
            }
        };
        Ok(Some((full_key, value)))
    }

    fn take(&mut self, end: End) -> Option<(Vec<u8>, Seen)> {
        let (start, behind) = (&self.range.0[..], &self.range.1[..]);
        let from = self.first.as_deref().map_or(Bound::Included(start), Bound::Excluded);
        let to = Bound::Excluded(self.last.as_deref().unwrap_or(behind));
        let state = self.state.lock();
        let (own, below) = match end {
            End::Front => (state.writes.first(from, to), &mut self.front),
            End::Back => (state.writes.last(from, to), &mut self.back),
        };
        let found = below.as_ref().map(|(user_key, _)| key::full_key(self.space, user_key));
        let own_is_next = match (own, &found) {
            (Some((own, _)), Some(found)) if end == End::Front => own <= &found[..],
            (Some((own, _)), Some(found)) => own >= &found[..],
            (own, _) => own.is_some(),
        };
        if own_is_next {
            let full_key = own?.0.to_vec();
            let is_both = found.is_some_and(|found| found == full_key);
            let below = if is_both { below.take() } else { None };
            let own = state.writes.get(&full_key)?;
            if own.operands.is_empty() {
                let base = own.base.flatten();
                return Some((full_key, Seen::Value(base.map(|base| base.value))));
            }
            // The expiry of the value below has been noted.
            let below = below.map(|(_, value)| Shown { value, expiry: None });
            return Some((full_key, Seen::Operands(own.chain(below))));
        }
        let (full_key, (_, value)) = (found?, below.take()?);
        let hidden = state.writes.hides(&full_key);
        Some((full_key, Seen::Value((!hidden).then_some(value))))
    }

    /// The next entry at an end.
    fn step(&mut self, end: End) -> Result<Option<Entry>, Error> {
        loop {
            self.fill(end)?;
            let Some((full_key, value)) = self.choose(end)? else { return Ok(None) };
            let user_key = Bytes::copy_from_slice(&full_key[SPACE_BYTES..]);
            match end {
                End::Front => self.first = Some(full_key),
                End::Back => self.last = Some(full_key),
            }
            if let Some(value) = value {
                return Ok(Some((user_key, value)));
            }
        }
    }

    fn item(&mut self, end: End) -> Option<Result<Entry, Error>> {
        if self.ended {
            return None;
        }
        let moved = self.step(end).transpose();
        self.ended = !matches!(moved, Some(Ok(_)));
        moved
    }

    /// The ranges that have been read.
    fn read(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (start, behind) = &self.range;
        if self.ended {
            return vec![(start.clone(), behind.clone())];
        }
        let front = self.first.as_ref().map(|first| (start.clone(), key::successor(first)));
        let back = self.last.as_ref().map(|last| (last.clone(), behind.clone()));
        front.into_iter().chain(back).collect()
    }
}

impl Iterator for TransactionScan {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.item(End::Front)
    }
}

impl DoubleEndedIterator for TransactionScan {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.item(End::Back)
    }
}

impl std::iter::FusedIterator for TransactionScan {}

impl Drop for TransactionScan {
    fn drop(&mut self) {
        let read = self.read();
        self.state.lock().end_scan(self.id, read);
    }
}

impl std::fmt::Debug for TransactionScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TransactionScan(ended {}, of {:?})", self.ended, self.below)
    }
}
