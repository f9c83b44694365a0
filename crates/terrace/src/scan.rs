//! [`Scan`]: the entries of a range in key order, as an iterator from both ends.
//!
//! A scan shows the entries at its begin, or at the moment of its snapshot. It ends after the first
//! error, such as a damaged block or the closing of the store. While it lives it keeps space from
//! being freed. One thread at a time uses it; a step may wait for the device.

use bytes::Bytes;

use crate::Error;

/// The entries of a range in order, as they were when it began. Ends after the first error, of the
/// kind [`Closed`](crate::ErrorKind::Closed) once the store is closed. It pins the files that it
/// may read: kept for long, it keeps space from being freed.
///
/// Either an iterator of keys and values from both ends, so that `scan.rev()` goes backward; or,
/// without an allocation per entry, [`advance`](Self::advance) and
/// [`advance_back`](Self::advance_back) with [`key`](Self::key) and
/// [`value_slice`](Self::value_slice). A [`Cursor`](crate::Cursor) turns and seeks.
///
/// If scans together hold more than their share of memory, an iterator holds no value of 128 KiB or
/// more between two steps. A scan that advances holds its current entry.
#[derive(Debug)]
pub struct Scan(pub(crate) terrace_lsm::Scan);

impl Scan {
    /// Moves the front to the next key; `false` at the end.
    pub fn advance(&mut self) -> Result<bool, Error> {
        Ok(self.0.advance()?)
    }

    /// Moves the back to the key before; `false` at the end.
    pub fn advance_back(&mut self) -> Result<bool, Error> {
        Ok(self.0.advance_back()?)
    }

    /// The key of the last entry, as an iterator or otherwise.
    ///
    /// # Panics
    /// Before the first entry, and after the end.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.0.key()
    }

    /// The value of the last entry: a part of its block, or a copy if the block lies in a mapped
    /// table ([`Options::map_tables`](crate::Options::map_tables)) or in a memtable.
    ///
    /// # Panics
    /// Unless the last move was an [`advance`](Self::advance) or
    /// [`advance_back`](Self::advance_back) that returned `true`. As an iterator it has returned
    /// the value.
    #[must_use]
    pub fn value(&self) -> Bytes {
        self.0.value()
    }

    /// The value of the last entry, without a copy.
    ///
    /// # Panics
    /// As [`value`](Self::value).
    #[must_use]
    pub fn value_slice(&self) -> &[u8] {
        self.0.value_slice()
    }
}

impl Iterator for Scan {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| Ok(entry?))
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|entry| Ok(entry?))
    }
}

impl std::iter::FusedIterator for Scan {}
