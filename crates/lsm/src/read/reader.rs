//! [`Reader`]: the only implementation of reads, for the engine and its snapshots: point reads,
//! scans, cursors, salvage and verification.
//!
//! - A read of the newest writes (`at` is `None`) takes the view first and the sequence number
//!   second. So it sees every write that had returned before the read began. A read of one key may
//!   miss entries that become visible between the two: of a put in a new memtable, or of an ingest.
//!   Such a write is concurrent with the read. A read of several keys must not miss any write up to
//!   its sequence; it takes both again if the tree has changed between the two.
//! - An entry that has expired at the [date](terrace_env::runner::date) of a read is unseen, also
//!   by an older snapshot. A scan and a cursor have the date at which they began.
//! - A read at a snapshot's sequence sees the entries that jobs keep for the snapshot.
//! - Once the engine is closed, a read that begins returns [`Error::Closed`]. A read of a key space
//!   that was dropped is an error, also by an older snapshot.
//!
//! Any number of threads. A read may wait for the device, so its caller holds no lock.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{SeqNo, runner};

use super::cursor::Cursor;
use super::scan::Scan;
use super::search::{Samples, Search};
use crate::bounds::Bounds;
use crate::canary::{self, Rule};
use crate::compact::{Board, Notifier};
use crate::cost;
use crate::counters::Counters;
use crate::expiry::Shown;
use crate::key::{self, KeySpaceId};
use crate::memory::Memory;
use crate::memtable::{Found, Memtable};
use crate::operands::Operands;
use crate::ranges::EmptyRanges;
use crate::readers::{READING_BYTES, ReaderKind, Readers};
use crate::table::PointReads;
use crate::tree::{Tree, View};
use crate::write::WriteLane;
use crate::{Error, ReadOptions};

/// See the [module](self).
pub(crate) struct Reader {
    pub(crate) tree: Arc<Tree>,
    pub(crate) operands: Operands,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    /// Readers that hold views for a long time.
    pub(crate) readers: Readers,
    /// Ranges of keys that readers found empty.
    pub(crate) empty_ranges: Arc<EmptyRanges>,
    /// Board for compactions that readers make pay.
    pub(crate) board: Arc<Board>,
    pub(crate) notifier: Arc<Notifier>,
    /// Lane of writes, which note puts for readers that skip empty ranges.
    pub(crate) lane: Arc<WriteLane>,
}

impl Reader {
    /// The sequence of a read that takes it too early (a canary); `None` if the rule is kept.
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
        let found = self.get_shown(space, user_key, at, options)?;
        Ok(found.map(|shown| shown.value))
    }

    /// As `get`, with the expiry of the value.
    pub(crate) fn get_shown(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<Option<Shown>, Error> {
        let combine = |view: &View, sequence| {
            let shown =
                self.combined(view, (space, user_key), sequence, (options, runner::date()))?;
            Ok(Found::of(shown))
        };
        let copy = |value: &[u8]| self.memory.large_buffers.copy_of(value);
        let get = |memtable: &Memtable, key: &[u8]| memtable.get(key, copy);
        let found = self.look_up(space, user_key, at, options, get, |found| found, combine)?;
        Ok(found.and_then(Found::shown))
    }

    /// Whether the key has a value: like `get`, but the value is not copied.
    pub(crate) fn contains(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<bool, Error> {
        Ok(self.contains_shown(space, user_key, at, options)?.is_some())
    }

    /// As `contains`, with the expiry of the value.
    pub(crate) fn contains_shown(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
    ) -> Result<Option<Shown<()>>, Error> {
        let there = |found: Found| found.map(|_| ());
        // With an operand there is a value, for any entries below it.
        let combined = |_: &View, _| Ok(Found::Value(()));
        let found =
            self.look_up(space, user_key, at, options, Memtable::contains, there, combined)?;
        Ok(found.and_then(Found::shown))
    }

    /// Answer of the newest place that has an entry of the key: a memtable answers by `memory`, a
    /// table by `table`. If it is an operand, `combine` answers, for the view and the sequence of
    /// the read.
    #[expect(clippy::too_many_arguments, reason = "a read, and the three ways to answer it")]
    fn look_up<T>(
        &self,
        space: KeySpaceId,
        user_key: &[u8],
        at: Option<SeqNo>,
        options: ReadOptions,
        memory: impl Fn(&Memtable, &[u8]) -> Option<Found<T>>,
        table: impl Fn(Found) -> Found<T>,
        combine: impl FnOnce(&View, SeqNo) -> Result<Found<T>, Error>,
    ) -> Result<Option<Found<T>>, Error> {
        let at = at.or_else(|| self.early_sequence());
        let newest = |view: &View, sequence| -> Result<Option<Found<T>>, Error> {
            view.closed.check()?;
            view.spaces.check_read(space)?;
            let seek_key = key::seek_key(space, user_key, sequence);
            if let Some(found) = view.memtables().find_map(|one| memory(one, &seek_key)) {
                return Ok(Some(found));
            }
            let (mut reads, mut search) = (PointReads::one(options), Search::new(self));
            let searched = |level, table: &_| search.searched(level, table);
            let found = view.version.get(&seek_key, &mut reads, searched);
            Ok(found.map_err(|error| view.closed.explain(error))?.map(&table))
        };
        let view = self.tree.glance();
        let sequence = at.unwrap_or_else(|| self.tree.visible());
        self.counters.got(1);
        cost::charge_get();
        match newest(&view, sequence)? {
            Some(Found::Operand(..)) => {}
            found => return Ok(found),
        }
        // The value is put together from several entries. The view may lack some below the operand:
        // those of an ingest that came between. So all are read at one moment.
        let (view, sequence) = self.tree.view_at(at);
        match newest(&view, sequence)? {
            Some(Found::Operand(..)) => combine(&view, sequence).map(Some),
            found => Ok(found),
        }
    }

    /// Notes that a scan or a cursor begins.
    fn note_scan(&self) {
        self.counters.scans.add(1);
        self.board.scan_begins(self.counters.scans.get());
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
        let combiner = self.combiner(space);
        let scan = Scan::new(self, view, reading, sequence, (space, bounds, combiner), samples);
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
        let combiner = self.combiner(space);
        let cursor = Cursor::of_client(self, &view, sequence, (space, bounds), combiner);
        Ok(cursor.sampled(Samples::new(self, &view.version)).listed(reading))
    }

    /// Lets writers note puts from now on, for readers that skip empty ranges.
    pub(super) fn watch_puts(&self) {
        let queue = self.lane.queue();
        let visible = (!queue.is_led()).then(|| self.tree.visible());
        self.empty_ranges.watch(visible);
    }
}
