//! [`Workers`]: one queue, for all merges, of the subcompactions that worker actors (background
//! threads) carry out, and their results. The actor of a merge hands subcompactions in, fetches the
//! results, and commits them.
//!
//! - When a merge ends early, its actor waits for its subcompactions that are being carried out,
//!   and drops their outputs. It does not wait if it is panicking.
//! - A panic in a worker becomes the result of its subcompaction, and stops the engine.
//!
//! Any thread. One lock and one condition: a subcompaction was handed in or is done, or the engine
//! stops. No lock is held while a subcompaction is carried out or dropped.

use std::collections::{BTreeMap, VecDeque};

use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Time, runner};

use super::rewrite::{Rewrite, Rewritten};
use crate::Error;
use crate::lifecycle::{Lifecycle, PanicGuard, Waiter};

/// The most workers of use: with more, a merge waits for its device.
const WORKERS_MAX: usize = 4;

/// Result of a subcompaction; `None` where the engine closed first.
type Outcome = Result<Option<Rewritten>, Error>;

/// Number of a merge, and of its subcompaction.
type SubcompactionName = (u64, usize);

/// See the [module](self).
pub(crate) struct Workers {
    count: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next_merge: u64,
    queued: VecDeque<(SubcompactionName, Rewrite)>,
    /// Subcompactions that are being carried out, by merge.
    running: BTreeMap<u64, usize>,
    /// Results, with the times at which the subcompactions began.
    done: BTreeMap<SubcompactionName, (Outcome, Time)>,
}

/// Number of workers, if `wanted` are asked for; 0 leaves it to the medium. A disk has one head,
/// and several subcompactions at once only send it back and forth between their inputs. Other
/// devices are kept busy by a worker for each processor.
pub(crate) fn count(wanted: usize, rotational: bool) -> usize {
    let wanted = match wanted {
        0 if rotational => 1,
        0 => runner::processors(),
        _ => wanted,
    };
    wanted.clamp(1, WORKERS_MAX)
}

/// Runs the actor until the engine closes.
pub(crate) fn run(workers: &Workers, lifecycle: &Lifecycle) {
    let _guard = PanicGuard { lifecycle, job: "a compaction" };
    while let Some((name, rewrite)) = workers.await_subcompaction(lifecycle) {
        let mut slot = Slot { workers, name, begun: runner::now(), outcome: Err(Error::Panicked) };
        slot.outcome = rewrite.carry_out(lifecycle);
    }
}

impl Workers {
    /// Workers: `wanted`, or the number that keeps a medium of this kind busy.
    pub(crate) fn new(wanted: usize, rotational: bool) -> Self {
        let count = count(wanted, rotational);
        Self { count, state: Mutex::default(), changed: Condvar::default() }
    }

    /// The most subcompactions in flight at once.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Wakes all waiting actors.
    pub(crate) fn wake(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// Begins a merge whose subcompactions are to be carried out by the workers.
    pub(crate) fn begin_merge(&self) -> MergeSubcompactions<'_> {
        let mut state = self.state.lock();
        state.next_merge += 1;
        MergeSubcompactions { workers: self, merge: state.next_merge }
    }

    /// Waits for a subcompaction to carry out; `None` when the engine closes.
    fn await_subcompaction(&self, lifecycle: &Lifecycle) -> Option<(SubcompactionName, Rewrite)> {
        let mut state = self.state.lock();
        loop {
            if lifecycle.is_closing() {
                return None;
            }
            if let Some((name, rewrite)) = state.queued.pop_front() {
                *state.running.entry(name.0).or_default() += 1;
                return Some((name, rewrite));
            }
            self.changed.wait(&mut state);
        }
    }
}

impl Waiter for Workers {
    fn lifecycle_has_changed(&self, _: Option<&Error>) {
        self.wake();
    }
}

/// The place of a subcompaction's outcome, which gets one even if its worker panics.
struct Slot<'a> {
    workers: &'a Workers,
    name: SubcompactionName,
    begun: Time,
    outcome: Outcome,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Ok(None));
        let mut state = self.workers.state.lock();
        debug_assert!(state.running.contains_key(&self.name.0), "{:?} is not running", self.name);
        if let Some(running) = state.running.get_mut(&self.name.0) {
            *running -= 1;
        }
        let before = state.done.insert(self.name, (outcome, self.begun));
        debug_assert!(before.is_none(), "{:?} has two outcomes", self.name);
        drop(state);
        self.workers.changed.notify_all();
    }
}

/// The subcompactions of one merge in the workers. When it is dropped, it waits for those in
/// flight, and drops the results that were not fetched. No lock is held for that, because the store
/// drops files and reservations.
pub(crate) struct MergeSubcompactions<'a> {
    workers: &'a Workers,
    merge: u64,
}

impl MergeSubcompactions<'_> {
    /// Leaves a subcompaction to the workers.
    pub(crate) fn begin(&self, at: usize, rewrite: Rewrite) {
        self.workers.state.lock().queued.push_back(((self.merge, at), rewrite));
        self.workers.changed.notify_all();
    }

    /// Waits for a subcompaction that was begun; `None` if it is not carried out, because the
    /// engine closes or has failed.
    pub(crate) fn fetch(&self, at: usize, lifecycle: &Lifecycle) -> Option<(Outcome, Time)> {
        let mut state = self.workers.state.lock();
        loop {
            if let Some(done) = state.done.remove(&(self.merge, at)) {
                return Some(done);
            }
            if lifecycle.must_stop() {
                return None;
            }
            self.workers.changed.wait(&mut state);
        }
    }
}

impl Drop for MergeSubcompactions<'_> {
    fn drop(&mut self) {
        // Unwinding must not wait.
        if std::thread::panicking() {
            return;
        }
        let mut state = self.workers.state.lock();
        let is_own = |name: &SubcompactionName| name.0 == self.merge;
        let (queued, others) = std::mem::take(&mut state.queued)
            .into_iter()
            .partition::<VecDeque<_>, _>(|work| is_own(&work.0));
        state.queued = others;
        while state.running.get(&self.merge).is_some_and(|running| *running > 0) {
            self.workers.changed.wait(&mut state);
        }
        state.running.remove(&self.merge);
        let done: Vec<_> = state.done.extract_if(.., |name, _| is_own(name)).collect();
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
