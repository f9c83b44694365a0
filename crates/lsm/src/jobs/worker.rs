//! The workers: actors that carry out slices of a merge for the compaction's actor, which hands
//! them out and commits what comes back. There are as many as slices are carried out at once; they
//! wait while there is nothing to do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use terrace_env::{Time, runner};

use super::rewrite::{Rewrite, Rewritten};
use crate::Error;
use crate::shared::{PanicGuard, Shared};

/// The most workers that are of use: a merge waits for its device then.
const WORKERS_MAX: usize = 4;

/// A slice to be carried out.
pub(crate) struct SliceWork {
    /// Which of the merge's slices.
    pub(crate) at: usize,
    pub(crate) rewrite: Rewrite,
}

/// What became of a slice; `None` where the engine closed first.
type Outcome = Result<Option<Rewritten>, Error>;

/// The slices of the merge that is under way.
#[derive(Default)]
pub(crate) struct Slices {
    queued: VecDeque<SliceWork>,
    running: usize,
    /// With when they were begun.
    done: BTreeMap<usize, (Outcome, Time)>,
}

impl std::fmt::Debug for Slices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (queued, done) = (self.queued.len(), self.done.len());
        write!(f, "Slices({queued} queued, {} running, {done} done)", self.running)
    }
}

/// How many workers there are, where `wanted` are asked for; 0 leaves it to the medium. A disk has
/// one head, which several slices at once only send back and forth between their inputs. Anything
/// else is kept busy by as many as there are processors.
pub(crate) fn count(wanted: usize, rotational: bool) -> usize {
    let wanted = match wanted {
        0 if rotational => 1,
        0 => runner::processors(),
        _ => wanted,
    };
    wanted.clamp(1, WORKERS_MAX)
}

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "a compaction" };
    while let Some(SliceWork { at, rewrite }) = next(shared) {
        let mut slot = Slot { shared, at, begun: runner::now(), outcome: Err(Error::Panicked) };
        slot.outcome = shared.carry_out(rewrite);
    }
}

/// Waits for a slice; `None` when there is nothing more to do.
fn next(shared: &Shared) -> Option<SliceWork> {
    let mut state = shared.state.lock();
    loop {
        if state.closing {
            return None;
        }
        if let Some(work) = state.slices.queued.pop_front() {
            state.slices.running += 1;
            return Some(work);
        }
        shared.changed.wait(&mut state);
    }
}

/// Where a slice's outcome goes, even if its worker panics.
struct Slot<'a> {
    shared: &'a Shared,
    at: usize,
    begun: Time,
    outcome: Outcome,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Ok(None));
        let mut state = self.shared.state.lock();
        state.slices.running -= 1;
        state.slices.done.insert(self.at, (outcome, self.begun));
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    pub(crate) fn begin_slice(&self, work: SliceWork) {
        self.state.lock().slices.queued.push_back(work);
        self.changed.notify_all();
    }

    /// Waits for a slice that was begun; `None` if it is not carried out, because the engine
    /// closes or has failed.
    pub(crate) fn await_slice(&self, at: usize) -> Option<(Outcome, Time)> {
        let mut state = self.state.lock();
        loop {
            if let Some(done) = state.slices.done.remove(&at) {
                return Some(done);
            }
            if state.must_stop() {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Waits for the slices that are under way, and drops what was not committed.
    pub(crate) fn clear_slices(&self) {
        let mut state = self.state.lock();
        let queued = std::mem::take(&mut state.slices.queued);
        while state.slices.running > 0 {
            self.changed.wait(&mut state);
        }
        let done = std::mem::take(&mut state.slices.done);
        // Their files and reservations are the store's business: no lock is held for that.
        drop(state);
        drop((queued, done));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_one_worker_unless_more_are_asked_for() {
        runner::simulate(1, || {
            let processors = runner::processors();
            assert!(processors > 1);
            assert_eq!([count(0, true), count(0, false)], [1, processors.min(WORKERS_MAX)]);
            for rotational in [true, false] {
                assert_eq!([1, 2, 9].map(|wanted| count(wanted, rotational)), [1, 2, WORKERS_MAX]);
            }
        });
    }
}
