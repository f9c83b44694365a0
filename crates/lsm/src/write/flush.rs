//! [`Flusher`]: writes an immutable memtable to tables. One transaction adds the tables to the tree
//! and deletes the memtable's log. If the log holds more than the memtable, the transaction keeps
//! the log and notes in its annotation where the remainder begins.
//!
//! - The tables become a new run of level 0. The decider (the compaction policy) may send key
//!   ranges below level 0 instead ([`super::intake`]).
//! - If the store has an offload device, and a compaction is in flight when the flush begins, the
//!   tables ask for that device.
//! - If a flush finds no space, the actor begins it again later. Other errors stop the engine.
//!
//! Threads: one actor flushes one memtable at a time, the oldest first, so that the runs of level 0
//! keep their age. An opening may flush, too, before there is an actor.

use std::sync::Arc;

use terrace_env::store::{Rank, Store};
use terrace_env::{ByteCount, Cause, runner};
use terrace_policy::{Compaction, Place, RunId};

use super::intake::Intake;
use super::preallocated_log::PreallocatedLogs;
use crate::Error;
use crate::compact::{
    Board, Combining, LoadMeter, Notifier, Rewrite, TableSource, TombstoneElision, offloads,
    worst_case_of_memtable,
};
use crate::counters::Counters;
use crate::event::Job;
use crate::lifecycle::{Lifecycle, PanicGuard};
use crate::memory::Memory;
use crate::memtable::{FlushQueue, ImmutableMemtable, MemoryCursor, Memtable};
use crate::merge::{Merge, Source};
use crate::operands::Operands;
use crate::ranges::JobRanges;
use crate::running::{JobProgress, RunningJobs};
use crate::space::{Retry, Space};
use crate::tree::{Committer, Edit, Tree};

/// See the [module](self).
pub(crate) struct Flusher {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) operands: Operands,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) load: Arc<LoadMeter>,
    pub(crate) running: Arc<RunningJobs>,
    pub(crate) lifecycle: Arc<Lifecycle>,
    pub(crate) tree: Arc<Tree>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) space: Arc<Space>,
    pub(crate) board: Arc<Board>,
    pub(crate) memtables: Arc<FlushQueue>,
    pub(crate) ahead: Arc<PreallocatedLogs>,
    pub(crate) intake: Arc<Intake>,
    pub(crate) notifier: Arc<Notifier>,
}

impl Flusher {
    /// Runs the actor until the engine closes.
    pub(crate) fn run(&self) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "a flush" };
        let mut retry = Retry::new();
        while let Some(immutable) = self.memtables.await_next(&self.lifecycle) {
            let memory = ByteCount(immutable.memtable.bytes() as u64);
            let news = self.space.news();
            let flush = |progress: &_| self.flush(&immutable, progress);
            match self.running.carry_out(Job::Flush { memory }, flush) {
                Ok(()) => retry = Retry::new(),
                Err(error) if error.is_space() => {
                    self.space.count_flush_error();
                    self.notifier.no_space(&error);
                    retry.wait(&self.space, &self.lifecycle, &self.counters.waits, news);
                }
                Err(error) => self.lifecycle.fail("a flush", error),
            }
        }
    }

    /// Flushes a memtable, and returns the bytes written; `None` if the engine closes first.
    pub(crate) fn flush(
        &self,
        immutable: &ImmutableMemtable,
        progress: &Arc<JobProgress>,
    ) -> Result<Option<ByteCount>, Error> {
        let (memtable, start) = (&immutable.memtable, runner::now());
        debug_assert!(!memtable.is_empty(), "{}: a flush of nothing", immutable.log);
        let snapshots = self.tree.snapshots();
        let tombstones: Vec<_> = memtable.ranges().iter().cloned().collect();
        let ranges = JobRanges::new(&tombstones, &snapshots, || None);
        let ranges = ranges.counted_by(&self.memory.jobs);
        drop(tombstones);
        // The newest sequence increases from memtable to memtable: it is the run's age.
        let to = Place { level: 0, run: RunId(memtable.end().0) };
        let merge = Merge::new(vec![Source::Memory(MemoryCursor::new(Arc::clone(memtable)))]);
        let source = self.flush_source(immutable)?;
        let has_space = source.reservation.is_some();
        let (routes, admitted) = self.intake.flush_routes(memtable, to, has_space)?;
        let job = Rewrite::new(merge, snapshots, ranges, TombstoneElision::Unknown, routes, source);
        progress.add_parts(1);
        progress.begin_part(memtable.len() as u64);
        let combining = Combining::of(&self.operands, &self.tree, &self.memory);
        let job = job.counted_by(Arc::clone(progress)).combined_by(combining);
        let Some(done) = job.carry_out(&self.lifecycle)? else { return Ok(None) };
        debug_assert!(done.boundary.is_none(), "a flush has no budget");
        let mut edit = Edit::default();
        done.outputs.put_into(&mut edit);
        let committed = self.committer.commit(edit, None, Some(immutable), || {
            if immutable.rest.is_none() {
                self.ahead.forget(immutable.log);
            }
        })?;
        // Counted before the notification: a client that waited for the flush finds it in the
        // statistics.
        let written = done.outputs.committed(&self.counters);
        self.counters.entries_dropped.add(done.counts.dropped);
        self.counters.flushes.add(1);
        self.notifier.tree_has_changed(committed, Some(immutable));
        drop(admitted);
        self.load.flushed(&self.counters);
        let now = runner::now();
        self.space.flushed(now, now.since(start));
        Ok(Some(written))
    }

    /// The table source of a flush. If the worst case cannot be reserved, the free space may still
    /// be enough: a flush that runs out of space is begun again later.
    fn flush_source(&self, immutable: &ImmutableMemtable) -> Result<TableSource, Error> {
        let worst = self.flush_worst(&immutable.memtable);
        let reservation = match &immutable.hold {
            Some(hold) => Some(Arc::clone(hold)),
            None => match self.store.reserve(Rank::Flush, worst) {
                Ok(reservation) => Some(Arc::new(reservation)),
                Err(error) if error.is_space() => None,
                Err(error) => return Err(error.into()),
            },
        };
        Ok(TableSource {
            store: Arc::clone(&self.store),
            options: self.committer.options_now(),
            memory: Arc::clone(&self.memory),
            histogram_max: self.decider.histogram_max(),
            last_level: self.tree.view().version.last_level(),
            rank: Rank::Flush,
            cause: Cause::Flush,
            reservation,
            group: None,
            offload: offloads(&*self.store, self.board.is_compacting()),
            budget: ByteCount(u64::MAX),
            worst,
            tables_open: 1,
            discarded: Arc::clone(&self.counters.bytes_discarded),
        })
    }

    fn flush_worst(&self, memtable: &Memtable) -> ByteCount {
        let routes = self.decider.flush_routes_max();
        worst_case_of_memtable(&self.committer.options_now(), routes, memtable.bytes() as u64)
    }
}
