//! [`Origin`]: the engine and the view of a client's cursor. It opens the cursor's merge, again
//! after that was freed, and counts the cursor's memory.
//!
//! - A cursor opens its merge at its first move.
//! - If scans and cursors together hold much, a cursor is *detached* after each move: it keeps its
//!   key and its value, and the next move begins with a search.
//!
//! One thread at a time, which holds no lock.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{MAPPED_MIN, MemoryLease};

use super::{Cursor, Standing};
use crate::memory::Walk;
use crate::memtable::MemoryCursor;
use crate::merge::{Merge, RunCursor, Source};
use crate::read::coverage::Coverage;
use crate::read::reader::Reader;
use crate::tree::{Run, View};

/// See the [module](self).
pub(super) struct Origin {
    pub(super) reader: Arc<Reader>,
    pub(super) view: Arc<View>,
    /// Counts the memory that the cursor takes.
    pub(super) memory: MemoryLease,
    /// Whether the memory has changed since it was counted.
    pub(super) is_new: bool,
}

impl Cursor {
    /// Counts the memory of the cursor, and frees it if memory is short.
    #[inline]
    pub(super) fn count_memory(&mut self) {
        let Some(origin) = &self.origin else { return };
        let is_short = origin.reader.memory.positions_are_short();
        if is_short && self.is_open {
            self.detach();
        } else if !origin.is_new {
            return;
        }
        let bytes = self.memory();
        if let Some(origin) = &mut self.origin {
            origin.is_new = false;
            origin.memory.resize(bytes);
            origin.reader.memory.balance_positions();
        }
    }

    pub(super) fn memory(&self) -> usize {
        let keys = self.start.capacity() + self.full_key.capacity();
        let end = self.end.as_ref().map_or(0, Vec::capacity);
        let is_own = matches!(self.standing, Standing::Detached | Standing::Combined);
        let value = if is_own { self.value.len() } else { 0 };
        let open = if self.is_open { self.merge.memory() } else { 0 };
        size_of::<Self>() + keys + end + value + open
    }

    /// Frees all but the current key and value.
    pub(super) fn detach(&mut self) {
        if self.is_on_key() {
            let value = self.value();
            let is_small = value.len() < MAPPED_MIN;
            self.value = if is_small { Bytes::copy_from_slice(&value) } else { value };
            self.standing = Standing::Detached;
        }
        (self.merge, self.coverage, self.is_open) = (Merge::new(Vec::new()), None, false);
    }

    /// Opens the sources, if they are not open.
    pub(super) fn open(&mut self) {
        let Some(origin) = self.origin.as_mut().filter(|_| !self.is_open) else { return };
        origin.is_new = true;
        let view = &origin.view;
        let runs = || view.version.places().map(|(_, run)| run);
        self.merge = merge_of(view, runs());
        self.coverage = Coverage::of(view.memtables(), runs(), self.sequence);
        self.is_open = true;
    }
}

/// A merge of the memtables with entries and these runs, newest first.
pub(super) fn merge_of<'a>(view: &View, runs: impl Iterator<Item = &'a Arc<Run>>) -> Merge {
    let memory = |table| Source::Memory(MemoryCursor::new(Arc::clone(table)));
    let run = |run: &Arc<_>| Source::Run(Box::new(RunCursor::new(Arc::clone(run), Walk::Scan)));
    let memtables = view.memtables().filter(|table| !table.is_empty()).map(memory);
    Merge::new(memtables.chain(runs.map(run)).collect())
}
