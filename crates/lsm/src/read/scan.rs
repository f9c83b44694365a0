//! [`Scan`]: the entries of a range in key order, as an iterator from both ends.
//!
//! - A scan sees the entries that were visible when it began, or those of its snapshot. It holds
//!   their memtables and files until it is dropped, even after its end.
//! - Entries that have expired when it begins are unseen. An entry that expires while it is open is
//!   returned.
//! - It takes little memory until its first move ([`Cursor`] tells about later).
//! - Each end has its own cursor. An entry that one end has returned narrows the range of the
//!   other, so no entry is returned twice.
//! - When one end finds no further entry, or fails, the whole scan has ended: the other end returns
//!   no further entry either.
//!
//! One thread at a time, which holds no lock: a step may wait for the device. A scan does not seek;
//! a [`Cursor`] does.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{Date, MemoryLease, SeqNo, runner};

use super::cursor::Cursor;
use super::reader::Reader;
use super::search::Samples;
use crate::Error;
use crate::bounds::Bounds;
use crate::key::KeySpaceId;
use crate::operands::Combiner;
use crate::readers::{READING_BYTES, Reading};
use crate::tree::View;

/// An ordered scan. Ends after the first error, which is [`Error::Closed`] once the store is
/// closed. It pins the files that it may read: kept for long, it keeps space from being freed.
///
/// Either an iterator of shared keys and values from both ends, so that `scan.rev()` goes backward;
/// or, without an allocation per entry, [`advance`](Self::advance) and
/// [`advance_back`](Self::advance_back) with [`key`](Self::key) and [`value`](Self::value). A
/// caller that wants to turn and seek takes a [`Cursor`].
///
/// If scans together hold more than their share of memory, an iterator holds no value of 128 KiB or
/// more between two steps. A scan that advances holds its current entry.
pub struct Scan {
    view: Arc<View>,
    sequence: SeqNo,
    space: KeySpaceId,
    bounds: Bounds,
    combiner: Combiner,
    front: Option<Box<Cursor>>,
    back: Option<Box<Cursor>>,
    last: Last,
    /// The date at which it began.
    date: Date,
    samples: Option<Samples>,
    reader: Arc<Reader>,
    /// Lists it until it ends.
    _reading: Reading,
}

/// Last step of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Opened,
    Front,
    Back,
    /// The same as an iterator: its caller has the entry, and the scan only the key.
    GivenFront,
    GivenBack,
    Ended,
}

impl Scan {
    /// Approximate bytes before its first move.
    pub(super) const BYTES: usize = size_of::<Self>() + READING_BYTES + 64;

    pub(super) fn new(
        reader: &Arc<Reader>,
        view: Arc<View>,
        reading: Reading,
        sequence: SeqNo,
        (space, bounds, combiner): (KeySpaceId, &Bounds, Combiner),
        samples: Option<Samples>,
    ) -> Self {
        let (front, back, last, date) = (None, None, Last::Opened, runner::date());
        let (bounds, reader, _reading) = (bounds.clone(), Arc::clone(reader), reading);
        Self {
            view,
            sequence,
            space,
            bounds,
            combiner,
            front,
            back,
            last,
            date,
            samples,
            reader,
            _reading,
        }
    }

    /// The same, counted by a lease.
    pub(super) fn counted(self, memory: MemoryLease) -> Self {
        Self { _reading: self._reading.counted(memory), ..self }
    }

    /// Moves the front to the next key; `false` at the end.
    pub fn advance(&mut self) -> Result<bool, Error> {
        if self.last == Last::Ended {
            return Ok(false);
        }
        let result = match &mut self.front {
            Some(front) => front.next(),
            None => self.open_front().next(),
        };
        if let (Some(front), Some(back)) = (&self.front, &mut self.back)
            && front.is_on_key()
        {
            back.start_behind(front);
        }
        self.note(result, Last::Front)
    }

    /// Moves the back to the key before; `false` at the end.
    pub fn advance_back(&mut self) -> Result<bool, Error> {
        if self.last == Last::Ended {
            return Ok(false);
        }
        let result = match &mut self.back {
            Some(back) => back.prev(),
            None => self.open_back().prev(),
        };
        if let (Some(front), Some(back)) = (&mut self.front, &self.back)
            && back.is_on_key()
        {
            front.end_at(back);
        }
        self.note(result, Last::Back)
    }

    /// The key of the last entry, as an iterator or otherwise.
    ///
    /// # Panics
    /// Before the first entry, and after the end.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.on_entry().expect("the scan stands on no entry").key()
    }

    /// The cursor of the last entry.
    fn on_entry(&self) -> Option<&Cursor> {
        match self.last {
            Last::Front | Last::GivenFront => self.front.as_deref(),
            Last::Back | Last::GivenBack => self.back.as_deref(),
            Last::Opened | Last::Ended => None,
        }
    }

    /// Expiry of the last entry, as an iterator or otherwise; `None`: never.
    pub(crate) fn expiry(&self) -> Option<Date> {
        self.on_entry().and_then(Cursor::expiry)
    }

    /// The value of the last entry: a part of its block, or a copy if the block lies in a mapped
    /// file or a memtable.
    ///
    /// # Panics
    /// Unless the last move was an [`advance`](Self::advance) or
    /// [`advance_back`](Self::advance_back) that returned `true`. As an iterator it has returned
    /// the value.
    #[must_use]
    pub fn value(&self) -> Bytes {
        self.advanced().value()
    }

    /// The value of the last entry, without a copy.
    ///
    /// # Panics
    /// As [`value`](Self::value).
    #[must_use]
    pub fn value_slice(&self) -> &[u8] {
        self.advanced().value_slice()
    }

    /// The cursor that moved last, if it still has the value.
    fn advanced(&self) -> &Cursor {
        let cursor = match self.last {
            Last::Front => self.front.as_deref(),
            Last::Back => self.back.as_deref(),
            Last::GivenFront | Last::GivenBack => panic!("the iterator has given the value away"),
            Last::Opened | Last::Ended => None,
        };
        cursor.expect("the scan stands on no entry")
    }

    fn open(&self) -> Box<Cursor> {
        let (reader, view) = (&self.reader, &self.view);
        let (keys, combiner) = ((self.space, &self.bounds), self.combiner.clone());
        let cursor = Cursor::of_client(reader, view, self.sequence, keys, combiner);
        Box::new(cursor.sampled(self.samples.clone()).dated(self.date))
    }

    fn open_front(&mut self) -> &mut Cursor {
        let mut front = self.open();
        if let Some(back) = &self.back {
            front.end_at(back);
        }
        self.front.insert(front)
    }

    fn open_back(&mut self) -> &mut Cursor {
        let mut back = self.open();
        if let Some(front) = &self.front {
            back.start_behind(front);
        }
        self.back.insert(back)
    }

    fn note(&mut self, result: Result<bool, Error>, moved: Last) -> Result<bool, Error> {
        self.last = if matches!(result, Ok(true)) { moved } else { Last::Ended };
        result
    }

    fn item(&mut self, moved: Result<bool, Error>) -> Option<Result<(Bytes, Bytes), Error>> {
        match moved {
            Ok(true) => {
                let entry = (Bytes::copy_from_slice(self.key()), self.value());
                let (cursor, given) = match self.last {
                    Last::Front => (self.front.as_mut(), Last::GivenFront),
                    _ => (self.back.as_mut(), Last::GivenBack),
                };
                cursor.expect("the cursor that moved").park();
                self.last = given;
                Some(Ok(entry))
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Iterator for Scan {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let moved = self.advance();
        self.item(moved)
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        let moved = self.advance_back();
        self.item(moved)
    }
}

impl std::iter::FusedIterator for Scan {}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scan({:?}, front {:?}, back {:?})", self.last, self.front, self.back)
    }
}
