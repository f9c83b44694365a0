//! [`Snapshot`]: the reads of a [`Reader`] at one moment.
//!
//! - A snapshot is a sequence number that jobs know of: they keep the entries that it sees, which
//!   takes space until it is dropped. It sees all entries that are visible when it begins, synced
//!   or not. Snapshots are not stored: a store that was just opened has none.
//! - Entries expire for a snapshot, too: each read uses its own date.
//! - A read of a key space that was dropped is an error, also by an older snapshot.
//!
//! Any number of threads. A read may wait for the device. The begin and the end of a snapshot take
//! locks for a short time, such as the tree's.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::SeqNo;

use super::cursor::Cursor;
use super::reader::Reader;
use super::scan::Scan;
use crate::bounds::Bounds;
use crate::expiry::Shown;
use crate::key::KeySpaceId;
use crate::readers::{ReaderKind, Reading};
use crate::{Error, ReadOptions};

/// A view of the entries that are visible at one moment. Holds no files and no memory: jobs keep
/// the entries that it sees.
pub struct Snapshot {
    reader: Arc<Reader>,
    sequence: SeqNo,
    /// Lists it until it ends.
    _reading: Reading,
}

impl Snapshot {
    pub(crate) fn new(reader: &Arc<Reader>) -> Self {
        let sequence = reader.tree.begin_snapshot();
        let reading = reader.readers.begin(ReaderKind::Snapshot, sequence);
        Self { reader: Arc::clone(reader), sequence, _reading: reading }
    }

    /// Sequence of the newest write that it sees.
    #[must_use]
    pub fn sequence(&self) -> SeqNo {
        self.sequence
    }

    /// Value of the key at that moment.
    pub fn get(&self, space: KeySpaceId, user_key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.get_with(space, user_key, ReadOptions::default())
    }

    /// Value of the key at that moment, read with these options.
    pub fn get_with(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<Option<Bytes>, Error> {
        self.reader.get(space, user_key, Some(self.sequence), options)
    }

    /// Whether the key had a value.
    pub fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<bool, Error> {
        self.reader.contains(space, user_key, Some(self.sequence), options)
    }

    /// Value of the key at that moment, with its expiry.
    pub(crate) fn get_shown(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<Option<Shown>, Error> {
        self.reader.get_shown(space, user_key, Some(self.sequence), options)
    }

    /// Whether the key had a value, with its expiry.
    pub(crate) fn contains_shown(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<Option<Shown<()>>, Error> {
        self.reader.contains_shown(space, user_key, Some(self.sequence), options)
    }

    /// Value of each of the keys at that moment, in their order.
    pub fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        self.reader.multi_get(space, keys, Some(self.sequence), options)
    }

    /// Entries of the range at that moment, in order.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Scan, Error> {
        self.reader.scan(space, bounds, Some(self.sequence))
    }

    /// A cursor over the entries of the range at that moment, in both directions.
    pub fn cursor(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Cursor, Error> {
        self.reader.cursor(space, bounds, Some(self.sequence))
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        self.reader.tree.share_snapshot(self.sequence);
        let reading = self.reader.readers.begin(ReaderKind::Snapshot, self.sequence);
        Self { reader: Arc::clone(&self.reader), sequence: self.sequence, _reading: reading }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(ended) = self.reader.tree.end_snapshot(self.sequence) {
            self.reader.notifier.snapshot_has_ended(ended);
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({})", self.sequence)
    }
}
