//! The flush: the oldest full memtable becomes a run of level 0, and its log is deleted, by one
//! transaction. One actor, one memtable at a time, so that level 0's runs keep their age.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_env::{ByteCount, Cause};
use terrace_policy::{Cut, Place, Route, RunId};

use crate::Error;
use crate::annotation::FLUSH_STREAM;
use crate::edit::Edit;
use crate::job::{Ended, worst_case};
use crate::memtable::{MemoryCursor, NODE_BYTES};
use crate::merge::{Merge, Source};
use crate::rewrite::{Below, Rewrite, TableSource};
use crate::shared::{Retry, Shared, Waiting};

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let mut retry = Retry::new();
    while let Some(waiting) = next(shared) {
        match shared.flush(&waiting) {
            Ok(Ended::Done) => retry = Retry::new(),
            Ok(Ended::Dropped) => {}
            Err(error) if error.is_space() => {
                shared.note_no_space(&error);
                retry.wait(shared, shared.state.lock());
            }
            Err(error) => shared.fail("a flush", error),
        }
    }
}

/// Waits for a full memtable; `None` when there is nothing more to do.
fn next(shared: &Shared) -> Option<Waiting> {
    let mut state = shared.state.lock();
    loop {
        if state.must_stop() {
            return None;
        }
        if let Some(waiting) = state.waiting.front() {
            return Some(waiting.clone());
        }
        shared.changed.wait(&mut state);
    }
}

impl Shared {
    fn flush(&self, waiting: &Waiting) -> Result<Ended, Error> {
        let memtable = &waiting.memtable;
        let snapshots = self.state.lock().snapshots.keys().copied().collect();
        let layout = self.options.layout();
        let entries = memtable.entries();
        let plain = (memtable.bytes() as u64).saturating_sub(entries * (NODE_BYTES as u64 - 16));
        let worst = worst_case(&layout, self.options.table_size, entries, plain);
        let source = TableSource {
            store: Arc::clone(&self.store),
            layout,
            rank: Rank::Flush,
            cause: Cause::Flush,
            reservation: self.store.reserve(Rank::Flush, worst)?,
        };
        // A memtable's newest sequence grows from memtable to memtable: it is the run's age.
        let to = Place { level: 0, run: RunId(memtable.end().0) };
        let (size, overlap_max) = (self.options.table_size, ByteCount(u64::MAX));
        let cut = Cut { size, obstacles: Vec::new(), overlap_max };
        let routes = vec![Route { end: None, to, stream: FLUSH_STREAM, cut }];
        let merge = Merge::new(vec![Source::Memory(MemoryCursor::new(Arc::clone(memtable)))]);
        let job = Rewrite::new(merge, snapshots, Below::Unknown, routes, source);
        let (ended, _) = self.carry_out(job, Edit::default(), None, Some(waiting))?;
        if ended == Ended::Done {
            self.counters.flushes.add(1);
        }
        Ok(ended)
    }
}
