//! [`Cursor`]: walks the keys of a range, in both directions, as they were when it was made, or at
//! the moment of its snapshot.
//!
//! - At first, beyond either end, and after an error it stands on no key. Then [`key`](Cursor::key)
//!   and [`value`](Cursor::value) panic.
//! - While it lives it keeps space from being freed. Once the store is closed, moving it is an
//!   error.
//!
//! One thread at a time uses it. A move may wait for the device.

use bytes::Bytes;

use crate::Error;

/// Walks the keys of a range, in both directions, as they were when it was made. It pins the files
/// that it may read: kept for long, it keeps space from being freed.
///
/// It stands on a key, or on none: at first, beyond either end, and after an error. From no key,
/// [`next`](Self::next) leads to the first key, and [`prev`](Self::prev) to the last.
#[derive(Debug)]
pub struct Cursor(pub(crate) terrace_lsm::Cursor);

impl Cursor {
    /// Moves to the first key of the range; `false` if there is none.
    pub fn seek_to_first(&mut self) -> Result<bool, Error> {
        Ok(self.0.seek_to_first()?)
    }

    /// Moves to the last key of the range; `false` if there is none.
    pub fn seek_to_last(&mut self) -> Result<bool, Error> {
        Ok(self.0.seek_to_last()?)
    }

    /// Moves to the first key of the range that is not before `key`; `false` if there is none.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.0.seek(key)?)
    }

    /// Moves to the last key of the range that is not after `key`; `false` if there is none.
    pub fn seek_back(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.0.seek_back(key)?)
    }

    /// Moves to the next key; `false` beyond the last.
    #[expect(clippy::should_implement_trait, reason = "one of two directions, and may fail")]
    pub fn next(&mut self) -> Result<bool, Error> {
        Ok(self.0.next()?)
    }

    /// Moves to the key before; `false` beyond the first.
    pub fn prev(&mut self) -> Result<bool, Error> {
        Ok(self.0.prev()?)
    }

    /// Whether it stands on a key.
    #[must_use]
    pub fn is_on_key(&self) -> bool {
        self.0.is_on_key()
    }

    /// The key that it stands on.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.0.key()
    }

    /// The value of its key: a part of its block, or a copy if the block lies in a mapped table
    /// ([`Options::map_tables`](crate::Options::map_tables)) or in a memtable.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn value(&self) -> Bytes {
        self.0.value()
    }

    /// The value of its key, without a copy.
    ///
    /// # Panics
    /// If it stands on no key.
    #[must_use]
    pub fn value_slice(&self) -> &[u8] {
        self.0.value_slice()
    }
}
