//! [`Snapshot`], and point reads: of the newest visible writes, or of those that a snapshot sees.
//! Scans and cursors begin here, too.
//!
//! - A snapshot is a sequence number that jobs know of: they keep the entries that it sees, which
//!   takes space until it is dropped. It sees what is visible when it begins, synced or not.
//!   Snapshots are not stored: a store that was just opened has none.
//! - A read of the newest writes takes the view first and the sequence number afterwards. So it
//!   sees every write that had returned before the read began. A read of one key may miss what
//!   becomes visible between the two: a put in a new memtable, or an ingest. Such a write is
//!   concurrent with the read. A read of several keys must not miss any write up to its sequence;
//!   it takes both anew if the tree has changed between the two.
//! - Once the engine is closed, a read that begins returns [`Error::Closed`]. A read of a key space
//!   that was dropped is an error, also by a snapshot from before.
//!
//! Any number of threads. A read may wait for the device. Beginning or ending a snapshot takes
//! locks, such as the tree's, for a moment.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::SeqNo;

use super::cursor::Cursor;
use super::readers::{READING_BYTES, ReaderKind, Reading};
use super::scan::Scan;
use super::search::{Samples, Search};
use crate::bounds::Bounds;
use crate::canary::{self, Rule};
use crate::cost;
use crate::jobs::SCANS_PER_LOOK;
use crate::key::{self, KeySpaceId};
use crate::memtable::{Found, Memtable};
use crate::shared::Shared;
use crate::table::PointReads;
use crate::{Error, ReadOptions};

/// A view of the entries visible at one moment, for as long as it lives. Holds no files and no
/// memory: jobs keep the entries that it sees.
pub struct Snapshot {
    shared: Arc<Shared>,
    sequence: SeqNo,
    /// Lists it until it ends.
    _reading: Reading,
}

impl Snapshot {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let sequence = shared.tree.begin_snapshot();
        let reading = shared.readers.begin(ReaderKind::Snapshot, sequence);
        Self { shared: Arc::clone(shared), sequence, _reading: reading }
    }

    /// The newest write that it sees.
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
        self.shared.get(space, user_key, Some(self.sequence), options)
    }

    /// Whether something was under the key.
    pub fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        options: ReadOptions,
    ) -> Result<bool, Error> {
        self.shared.contains(space, user_key, Some(self.sequence), options)
    }

    /// Value of each of the keys at that moment, in their order.
    pub fn multi_get(
        &self,
        space: KeySpaceId,
        keys: &[&[u8]],
        options: ReadOptions,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        self.shared.multi_get(space, keys, Some(self.sequence), options)
    }

    /// Entries of the range at that moment, in order.
    pub fn scan(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Scan, Error> {
        self.shared.scan(space, bounds, Some(self.sequence))
    }

    /// Walks what was in the range, in both directions.
    pub fn cursor(&self, space: KeySpaceId, bounds: &Bounds) -> Result<Cursor, Error> {
        self.shared.cursor(space, bounds, Some(self.sequence))
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        self.shared.tree.share_snapshot(self.sequence);
        let reading = self.shared.readers.begin(ReaderKind::Snapshot, self.sequence);
        Self { shared: Arc::clone(&self.shared), sequence: self.sequence, _reading: reading }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(ended) = self.shared.tree.end_snapshot(self.sequence) {
            self.shared.snapshot_has_ended(ended);
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({})", self.sequence)
    }
}

impl Shared {
    /// The sequence of a read that takes it too early; `None` where the rule is kept.
    fn early_sequence(&self) -> Option<SeqNo> {
        canary::is_broken(Rule::ViewBeforeSequence).then(|| self.tree.visible())
    }

    pub(crate) fn get(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<Option<Bytes>, Error> {
        let memory = |memtable: &Memtable, key: &[u8]| memtable.get(key).map(Found::value);
        let found = self.look_up(space, user_key, at, options, memory, Found::value)?;
        Ok(found.flatten())
    }

    /// Whether there is something under the key: as `get`, but the value is not copied.
    pub(crate) fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<bool, Error> {
        let there = |found: Found| found.value().is_some();
        let found = self.look_up(space, user_key, at, options, Memtable::contains, there)?;
        Ok(found.unwrap_or_default())
    }

    /// Answer of the newest place that knows the key: a memtable answers by `memory`, a table by
    /// `table`.
    fn look_up<T>(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
        memory: impl Fn(&Memtable, &[u8]) -> Option<T>,
        table: impl FnOnce(Found) -> T,
    ) -> Result<Option<T>, Error> {
        let at = at.or_else(|| self.early_sequence());
        let view = self.tree.glance();
        view.closed.check()?;
        view.spaces.check_read(space)?;
        let sequence = at.unwrap_or_else(|| self.tree.visible());
        self.counters.gets.add(1);
        cost::charge_get();
        let seek_key = key::seek_key(space, user_key, sequence);
        for memtable in view.memtables() {
            if let Some(found) = memory(memtable, &seek_key) {
                return Ok(Some(found));
            }
        }
        let (mut reads, mut search) = (PointReads::one(options), Search::new(self));
        let searched = |level, table: &_| search.searched(level, table);
        let found = view.version.get(&seek_key, &mut reads, searched);
        Ok(found.map_err(|error| view.closed.explain(error))?.map(table))
    }

    /// A scan begins: if its number is round, whoever waits for a compaction that pays looks again.
    fn note_scan(&self) {
        self.counters.scans.add(1);
        let scans = self.counters.scans.get();
        if scans.is_multiple_of(SCANS_PER_LOOK) && self.decider.heeds_load() {
            self.board.wake();
        }
    }

    pub(crate) fn scan(
        self: &Arc<Self>,
        space: KeySpaceId,
        bounds: &Bounds,
        at: Option<SeqNo>,
    ) -> Result<Scan, Error> {
        let at = at.or_else(|| self.early_sequence());
        let (view, sequence) = self.tree.view_at(at);
        view.closed.check()?;
        view.spaces.check_read(space)?;
        self.note_scan();
        let memory = self.memory.begin_position(Scan::BYTES, || self.readers.walks())?;
        let reading = self.readers.begin(ReaderKind::Scan, sequence);
        let samples = Samples::new(self, &view.version);
        let scan = Scan::new(self, view, reading, sequence, space, bounds, samples);
        Ok(scan.counted(memory))
    }

    pub(crate) fn cursor(
        self: &Arc<Self>,
        space: KeySpaceId,
        bounds: &Bounds,
        at: Option<SeqNo>,
    ) -> Result<Cursor, Error> {
        let (view, sequence) = self.tree.view_at(at);
        view.closed.check()?;
        view.spaces.check_read(space)?;
        self.note_scan();
        let mut memory = self.memory.begin_position(0, || self.readers.walks())?;
        let reading = self.readers.begin(ReaderKind::Cursor, sequence);
        memory.resize(READING_BYTES);
        let reading = reading.counted(memory);
        let cursor = Cursor::of_client(self, &view, sequence, space, bounds);
        Ok(cursor.sampled(Samples::new(self, &view.version)).listed(reading))
    }
}
