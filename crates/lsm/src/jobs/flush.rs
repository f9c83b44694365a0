//! The flush: writes an immutable memtable to tables. One transaction adds the tables to the tree
//! and deletes the memtable's log. If the log holds more than the memtable, it notes in the log's
//! annotation where the rest begins instead.
//!
//! - The tables become a new run of level 0. The decider (the compaction policy) may send key
//!   ranges below level 0 instead ([`super::intake`]).
//! - If the store has an offload device, and a compaction is under way when the flush begins, the
//!   tables ask for that device ([`super::offload`]).
//! - If a flush finds no space, the actor begins it again later. Other errors stop the engine. A
//!   client that waits in [`flush_all`](Shared::flush_all) gets an error if flushes fail for lack
//!   of space twice meanwhile and space is still short, or if the engine stops or closes.
//!
//! Threads: one actor flushes one memtable at a time, the oldest first, so that the runs of level 0
//! keep their age. An opening may flush, too, before there is an actor.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_env::{ByteCount, Cause, runner};
use terrace_policy::{Place, RunId};

use super::job::worst_case_of_memtable;
use super::rewrite::Rewrite;
use super::space_pressure::Retry;
use super::table_source::TableSource;
use super::tombstone_elision::TombstoneElision;
use crate::Error;
use crate::event::Job;
use crate::memtable::{ImmutableMemtable, MemoryCursor, Memtable};
use crate::ranges::JobRanges;
use crate::reading::{Merge, Source};
use crate::shared::{PanicGuard, Shared};
use crate::tree::Edit;

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "a flush" };
    let mut retry = Retry::new();
    while let Some(immutable) = shared.memtables.await_next(&shared.lifecycle) {
        let memory = ByteCount(immutable.memtable.bytes() as u64);
        let news = shared.space.news();
        match shared.tell_of_job(Job::Flush { memory }, || shared.flush(&immutable)) {
            Ok(()) => retry = Retry::new(),
            Err(error) if error.is_space() => {
                shared.space.count_flush_error();
                shared.note_no_space(&error);
                retry.wait(shared, news);
            }
            Err(error) => shared.fail("a flush", error),
        }
    }
}

impl Shared {
    /// Flushes everything that is in memory now, and waits for it: not for what others write
    /// meanwhile.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        let errors = self.space.flush_errors();
        self.rotate_memtable()?;
        let mut immutable = self.memtables.lock();
        let Some(newest) = immutable.newest() else { return Ok(()) };
        while immutable.has(&newest) {
            self.check_progress(self.space.flush_errors() > errors + 1)?;
            immutable.wait();
        }
        Ok(())
    }

    /// Returns what it wrote; `None` if the engine closes first.
    pub(crate) fn flush(&self, immutable: &ImmutableMemtable) -> Result<Option<ByteCount>, Error> {
        let (memtable, start) = (&immutable.memtable, runner::now());
        let snapshots = self.tree.snapshots();
        let tombstones: Vec<_> = memtable.ranges().iter().cloned().collect();
        let ranges = JobRanges::new(&tombstones, &snapshots, || None);
        let ranges = ranges.counted_by(&self.memory.jobs);
        drop(tombstones);
        // A memtable's newest sequence grows from memtable to memtable: it is the run's age.
        let to = Place { level: 0, run: RunId(memtable.end().0) };
        let merge = Merge::new(vec![Source::Memory(MemoryCursor::new(Arc::clone(memtable)))]);
        let source = self.flush_source(immutable)?;
        let (routes, admitted) = self.flush_routes(memtable, to, source.reservation.is_some())?;
        let job = Rewrite::new(merge, snapshots, ranges, TombstoneElision::Unknown, routes, source);
        let Some(done) = self.carry_out(job)? else { return Ok(None) };
        let written = self.commit_outputs(done.outputs, Edit::default(), None, Some(immutable))?;
        drop(admitted);
        self.counters.entries_dropped.add(done.counts.dropped);
        self.counters.flushes.add(1);
        self.load.flushed(&self.counters);
        let now = runner::now();
        self.space.flushed(now, now.since(start));
        Ok(Some(written))
    }

    /// Where the tables go. When the worst case cannot be set aside, what there is may still be
    /// enough: a flush that runs out of space is begun again later.
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
            options: self.options_now(),
            memory: Arc::clone(&self.memory),
            histogram_max: self.decider.histogram_max(),
            last_level: self.tree.view().version.last_level(),
            rank: Rank::Flush,
            cause: Cause::Flush,
            reservation,
            group: None,
            offload: self.offloads(),
            budget: ByteCount(u64::MAX),
            worst,
            tables_open: 1,
            discarded: Arc::clone(&self.counters.bytes_discarded),
        })
    }

    fn flush_worst(&self, memtable: &Memtable) -> ByteCount {
        let routes = self.decider.flush_routes_max();
        worst_case_of_memtable(&self.options_now(), routes, memtable.bytes() as u64)
    }
}
