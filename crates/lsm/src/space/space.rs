//! [`Space`]: whether space is enough, short or exhausted, and how writers are slowed down
//! meanwhile.
//!
//! The decider (the compaction policy) derives a [`WriteRule`] from the tree. By this rule, writers
//! go freely, or are slowed down by the [`Throttle`] or by a fixed delay. Under
//! [`WriteRule::Stopped`], puts also cannot begin a new memtable. While space is short, groups of
//! only deletes are not slowed down and no writer is stopped, because deletes can free space.
//!
//! # Shortage
//! At each change of the tree, space is in one of these states ([`Shortage`]):
//!
//! | state | begins when | is the decider asked for a plan that frees space | does a writer wait |
//! |---|---|---|---|
//! | enough | the tree changes | no | no |
//! | short | a job or a writer finds no space | yes | yes |
//! | refused | a compaction that was due then finds no space either | yes | no |
//! | exhausted | the decider then has no plan | no | no |
//!
//! With the next change of the tree, space may be free, so there is enough until a job or a writer
//! finds none again. When the oldest snapshot ends, jobs may drop more: refused and exhausted
//! become short. Exhausted becomes short, too, when more entries have expired.
//!
//! # Another try
//! A job that found no space waits in [`Retry`] for *news*: a change of the tree, the end of the
//! oldest snapshot, or a change of the lifecycle. It waits for a limited time, because space can
//! also become free without news: a reader ends, or a compaction that found no space deletes its
//! outputs. A lack of space is no news: otherwise two jobs that find no space would wake each other
//! without a pause.
//!
//! Any thread. One lock and one condition.

use std::time::Duration;

use terrace_env::store::SpaceInfo;
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::wait::{WaitCause, WaitCounts};
use terrace_env::{ByteCount, Date, Time, runner};
use terrace_policy::{Pressure, WriteRule};

use super::nearly_full::{Fullness, GarbageShare, Looked};
use super::throttle::{Memtables, Throttle};
use crate::Error;
use crate::canary::{self, Rule};
use crate::lifecycle::{Lifecycle, Waiter};
use crate::tree::View;

/// First and longest wait of a job that found no space before it tries again.
const RETRY_FIRST: Duration = Duration::from_millis(2);
const RETRY_MAX: Duration = Duration::from_millis(500);

/// Part of the pressure at which writers are held back, from which on compactions are not paced: so
/// the pressure does not rise to that point.
const HURRY: f64 = 0.75;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Space {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Rule for writers, by the current tree.
    rule: WriteRule,
    throttle: Throttle,
    /// Number of compactions in flight due to writes.
    compactions: usize,
    /// Number of changes of the tree.
    changes: u64,
    /// Number of events after which a job may find space that found none before.
    news: u64,
    /// The last lack of space, if the tree has not changed since.
    lack: Option<Error>,
    /// Number of times that a job found no space.
    errors: u64,
    /// Number of times that a flush found no space.
    flush_errors: u64,
    /// The reservation that a merge did not get, with the change of the tree at that time.
    refused: Option<(u64, ByteCount)>,
    /// Change of the tree at which the decider had no more plan for space.
    exhausted_at: Option<u64>,
    /// Date until which this stays so: then entries will have expired.
    exhausted_until: Option<Date>,
    /// Change of the tree at which a due compaction found no space.
    refused_at: Option<u64>,
    garbage: GarbageShare,
    /// The last estimate of how full the store is.
    looked: Option<Looked>,
}

/// Whether there is space, at one change of the tree. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortage {
    Enough,
    Short,
    Refused,
    Exhausted,
}

impl State {
    /// Whether writers are held back because compactions are late, or soon will be, or space is
    /// short.
    fn is_hurried(&self) -> bool {
        let is_late = match self.rule {
            WriteRule::Free => false,
            WriteRule::Paced(pressure) => pressure.0 >= HURRY * Pressure::START.0,
            WriteRule::Delayed | WriteRule::Stopped => true,
        };
        is_late || self.lack.is_some()
    }

    fn is_exhausted(&self, tree: u64) -> bool {
        let more_has_expired = || self.exhausted_until.is_some_and(|until| until <= runner::date());
        self.exhausted_at == Some(tree) && !more_has_expired()
    }

    fn shortage(&self, tree: u64) -> Shortage {
        if self.lack.is_none() {
            Shortage::Enough
        } else if self.is_exhausted(tree) {
            Shortage::Exhausted
        } else if self.refused_at == Some(tree) {
            Shortage::Refused
        } else {
            Shortage::Short
        }
    }
}

impl Space {
    pub(crate) fn new(rule: WriteRule) -> Self {
        let state = State {
            rule,
            throttle: Throttle::default(),
            compactions: 0,
            changes: 0,
            news: 0,
            lack: None,
            errors: 0,
            flush_errors: 0,
            refused: None,
            exhausted_at: None,
            exhausted_until: None,
            refused_at: None,
            garbage: GarbageShare::default(),
            looked: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::default() }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock());
        self.changed.notify_all();
        changed
    }

    /// Notes that a job or a writer found no space.
    pub(crate) fn note(&self, error: &Error) {
        debug_assert!(error.is_space(), "a lack of space, not {error}");
        self.change(|state| {
            state.lack = Some(error.clone());
            state.errors += 1;
            state.news += u64::from(canary::is_broken(Rule::LackIsNoNews));
        });
    }

    /// Notes that a flush found no space.
    pub(crate) fn count_flush_error(&self) {
        self.state.lock().flush_errors += 1;
    }

    /// Number of times that a job or a writer found no space.
    pub(crate) fn errors(&self) -> u64 {
        self.state.lock().errors
    }

    /// Number of times that a flush found no space.
    pub(crate) fn flush_errors(&self) -> u64 {
        self.state.lock().flush_errors
    }

    /// Notes the `changes`th change of the tree: there may be space now.
    pub(crate) fn tree_has_changed(&self, changes: u64, rule: WriteRule) {
        self.change(|state| {
            debug_assert!(state.changes < changes, "changes are told in their order");
            (state.changes, state.rule, state.lack) = (changes, rule, None);
            state.news += 1;
        });
    }

    /// Notes the end of a snapshot: its entries can be dropped now. Returns whether space is short.
    pub(crate) fn snapshot_has_ended(&self) -> bool {
        self.change(|state| {
            // A failed try may succeed now, without a change of the tree.
            (state.exhausted_at, state.refused_at) = (None, None);
            state.news += 1;
            state.lack.is_some()
        })
    }

    /// Wakes all waiting actors, after a change of the lifecycle.
    pub(crate) fn wake(&self) {
        self.change(|state| state.news += 1);
    }

    /// Number of news so far. A job reads it before a try: see [`Retry::wait`].
    pub(crate) fn news(&self) -> u64 {
        self.state.lock().news
    }

    /// The last noted lack of space, unless it has ended.
    pub(crate) fn lack(&self) -> Option<Error> {
        self.state.lock().lack.clone()
    }

    pub(crate) fn is_short(&self) -> bool {
        self.state.lock().lack.is_some()
    }

    /// Check by a caller that waits for jobs: an error if they have stopped, or if there is no
    /// space and `in_vain` says that the wait would not help.
    pub(crate) fn check_progress(&self, lifecycle: &Lifecycle, in_vain: bool) -> Result<(), Error> {
        lifecycle.check_writable()?;
        self.lack().filter(|_| in_vain).map_or(Ok(()), Err)
    }

    /// Whether to ask the decider for a plan that frees space, at this change of the tree.
    pub(crate) fn needs_compaction(&self, tree: u64) -> bool {
        matches!(self.state.lock().shortage(tree), Shortage::Short | Shortage::Refused)
    }

    /// Notes that the decider has no plan that frees space, at this change of the tree, until more
    /// entries expire.
    pub(crate) fn note_exhausted(&self, tree: u64, next_expiry: Option<Date>) {
        self.change(|state| {
            (state.exhausted_at, state.exhausted_until) = (Some(tree), next_expiry);
        });
    }

    /// Notes that a compaction that was due at this change of the tree found no space.
    pub(crate) fn note_refused(&self, tree: u64) {
        self.state.lock().refused_at = Some(tree);
    }

    /// The lack of space, if a writer need not wait for its end at this change of the tree.
    pub(crate) fn lack_in_vain(&self, tree: u64) -> Option<Error> {
        let state = self.state.lock();
        let in_vain = matches!(state.shortage(tree), Shortage::Refused | Shortage::Exhausted);
        state.lack.clone().filter(|_| in_vain)
    }

    /// Notes that a merge did not get a reservation of `bytes`, at this change of the tree.
    pub(crate) fn refuse(&self, tree: u64, bytes: ByteCount) {
        self.state.lock().refused = Some((tree, bytes));
    }

    /// Bytes that a merge was refused at this change of the tree.
    pub(crate) fn refused(&self, tree: u64) -> Option<ByteCount> {
        self.state.lock().refused.filter(|(at, _)| *at == tree).map(|(_, bytes)| bytes)
    }

    /// Admits a group of writes; returns how long its leader is to wait, and why. `memtables`:
    /// none if they are far from full. Deletes never wait while space is short, because they free
    /// space.
    pub(crate) fn admit(
        &self,
        now: impl FnOnce() -> Time,
        bytes: u64,
        memtables: Option<&Memtables>,
        puts: bool,
    ) -> Option<(Duration, WaitCause)> {
        let mut state = self.state.lock();
        let delay = match state.rule {
            WriteRule::Paced(tree) => state.throttle.admit(now, bytes, tree, memtables),
            WriteRule::Free => None,
            WriteRule::Delayed | WriteRule::Stopped => {
                Some((WriteRule::DELAY, WaitCause::TreeDelay))
            }
        };
        delay.filter(|_| puts || state.lack.is_none())
    }

    /// Whether no memtable may be begun before level 0 has fewer runs. Never while space is short:
    /// then the jobs may need the deletes of writers.
    pub(crate) fn stops_writers(&self) -> bool {
        let state = self.state.lock();
        state.rule == WriteRule::Stopped && state.lack.is_none()
    }

    /// Notes that a merge has read `newer` bytes above its oldest run, and dropped `dropped` in
    /// all.
    pub(crate) fn merged(&self, newer: u64, dropped: u64) {
        self.state.lock().garbage.add(newer, dropped);
    }

    /// Estimates how full the store is. Returns the estimate if it is nearly full, and whether it
    /// has become so since the last one.
    pub(crate) fn look(&self, view: &View, space: &SpaceInfo) -> Option<(Fullness, bool)> {
        let (garbage, last) = {
            let state = self.state.lock();
            (state.garbage, state.looked)
        };
        let looked = Looked::again(last, view, space, garbage);
        self.state.lock().looked = Some(looked);
        let was_near = last.is_some_and(|last| last.found().is_some());
        looked.found().map(|found| (found, !was_near))
    }

    /// Waits until a moment; `false` if the wait ends early, because writers or a lack of space are
    /// in a hurry, or because jobs are to stop.
    pub(crate) fn pause(&self, until: Time, lifecycle: &Lifecycle) -> bool {
        let mut state = self.state.lock();
        loop {
            if lifecycle.must_stop() || state.is_hurried() {
                return false;
            }
            if runner::now() >= until {
                return true;
            }
            let _ = self.changed.wait_until(&mut state, until);
        }
    }

    /// Notes that a flush has ended, and its duration.
    pub(crate) fn flushed(&self, now: Time, time: Duration) {
        self.state.lock().throttle.flushed(now, time);
    }

    /// Notes that a compaction begins that is due to writes.
    pub(crate) fn compaction_begins(&self) {
        let mut state = self.state.lock();
        state.compactions += 1;
        if state.compactions == 1 {
            state.throttle.compaction_begins(runner::now());
        }
    }

    /// Notes that a compaction has ended; `burden`: it was due to writes.
    pub(crate) fn compaction_ends(&self, burden: bool) {
        self.change(|state| {
            debug_assert!(state.compactions >= usize::from(burden), "it began as a burden");
            state.compactions -= usize::from(burden);
            state.news += u64::from(canary::is_broken(Rule::LackIsNoNews));
            if burden && state.compactions == 0 {
                state.throttle.compaction_ends(runner::now());
            }
        });
    }

    /// Waits until the tree has changed since `tree`, for at most `limit`; `false` if `is_vain`
    /// says that no change is to come. `is_vain` gets whether the decider has no plan that frees
    /// space.
    pub(crate) fn await_tree_change(
        &self,
        tree: &mut u64,
        limit: Duration,
        is_vain: impl Fn(bool) -> bool,
    ) -> bool {
        let start = runner::now();
        let mut state = self.state.lock();
        while state.changes == *tree {
            let waited = runner::now().since(start);
            if is_vain(state.is_exhausted(*tree)) || waited >= limit {
                return false;
            }
            let _ = self.changed.wait_for(&mut state, limit - waited);
        }
        *tree = state.changes;
        true
    }

    /// Waits for news since `news`, for at most `limit`.
    fn await_news(&self, state: &mut MutexGuard<'_, State>, news: u64, limit: Duration) {
        let end = runner::now() + limit;
        while state.news == news && runner::now() < end {
            let _ = self.changed.wait_until(state, end);
        }
    }
}

impl Waiter for Space {
    fn lifecycle_has_changed(&self, _: Option<&Error>) {
        self.wake();
    }
}

/// Waits longer after each try that found no space.
#[derive(Debug)]
pub(crate) struct Retry(Duration);

impl Retry {
    pub(crate) fn new() -> Self {
        Self(RETRY_FIRST)
    }

    /// Waits until space may have become free, but not for ever. `news`: the result of
    /// [`Space::news`] before the try that found no space.
    pub(crate) fn wait(
        &mut self,
        space: &Space,
        lifecycle: &Lifecycle,
        waits: &WaitCounts,
        news: u64,
    ) {
        let mut state = space.state.lock();
        if !lifecycle.must_stop() {
            waits.during(WaitCause::Retry, || {
                space.await_news(&mut state, news, self.0);
            });
        }
        self.0 = (self.0 * 2).min(RETRY_MAX);
    }
}

/// An error of a job that finds no space.
#[cfg(test)]
pub(crate) fn no_space() -> Error {
    use terrace_env::store::{Rank, StoreError};
    let (needed, available, rank) = (ByteCount(1), ByteCount(0), Rank::Compaction);
    Error::from(StoreError::NoSpace {
        rank,
        needed,
        available,
        on_host: false,
        empty: false,
        device: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortage(space: &Space, tree: u64) -> Shortage {
        let shortage = space.state.lock().shortage(tree);
        let is_tried = matches!(shortage, Shortage::Short | Shortage::Refused);
        assert_eq!(space.needs_compaction(tree), is_tried);
        let is_in_vain = matches!(shortage, Shortage::Refused | Shortage::Exhausted);
        assert_eq!(space.lack_in_vain(tree).is_some(), is_in_vain);
        assert_eq!(space.is_short(), shortage != Shortage::Enough);
        shortage
    }

    #[test]
    fn a_shortage_is_of_the_tree_at_which_all_was_tried() {
        let space = Space::new(WriteRule::Free);
        assert_eq!(shortage(&space, 0), Shortage::Enough);
        space.note(&no_space());
        assert_eq!(shortage(&space, 0), Shortage::Short);
        space.note_exhausted(0, None);
        assert_eq!(shortage(&space, 0), Shortage::Exhausted);
        assert!(space.snapshot_has_ended(), "the space that it kept is needed");
        assert_eq!(shortage(&space, 0), Shortage::Short);
        space.note_refused(0);
        assert_eq!(shortage(&space, 0), Shortage::Refused);
        space.note_exhausted(0, None);
        assert_eq!(shortage(&space, 0), Shortage::Exhausted, "the decider has the last word");
        space.tree_has_changed(1, WriteRule::Free);
        assert_eq!(shortage(&space, 1), Shortage::Enough);
        space.note(&no_space());
        assert_eq!(shortage(&space, 1), Shortage::Short, "the tree is another one");
        space.note_refused(1);
        assert_eq!(shortage(&space, 1), Shortage::Refused);
        assert!(space.snapshot_has_ended());
        assert_eq!(shortage(&space, 1), Shortage::Short, "jobs may drop more");
    }

    #[test]
    fn exhausted_space_is_short_again_once_more_entries_have_expired() {
        runner::simulate(1, || {
            let (space, expiry) = (Space::new(WriteRule::Free), runner::date() + RETRY_MAX);
            space.note(&no_space());
            space.note_exhausted(0, Some(expiry));
            assert_eq!(shortage(&space, 0), Shortage::Exhausted);
            runner::set_date(expiry);
            assert_eq!(shortage(&space, 0), Shortage::Short);
            space.note_exhausted(0, None);
            assert_eq!(shortage(&space, 0), Shortage::Exhausted);
        });
    }

    #[test]
    fn no_writer_is_stopped_while_space_is_short() {
        let space = Space::new(WriteRule::Stopped);
        assert!(space.stops_writers());
        space.note(&no_space());
        assert!(!space.stops_writers(), "jobs may need the deletes");
        assert!(space.admit(|| Time(0), 1, None, false).is_none(), "deletes do not wait");
        assert!(space.admit(|| Time(0), 1, None, true).is_some());
        space.tree_has_changed(1, WriteRule::Free);
        assert!(!space.stops_writers() && space.admit(|| Time(0), 1, None, true).is_none());
        space.tree_has_changed(2, WriteRule::Delayed);
        for puts in [true, false] {
            assert!(space.admit(|| Time(0), 1, None, puts).is_some(), "there is space");
        }
    }
}
