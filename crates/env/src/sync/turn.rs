//! [`Turn`]: work that one actor at a time does, and during which the actor may wait.
//!
//! No lock is held over a wait, so an actor that has to keep others out for longer takes a turn.
//! Others that want it wait until the [`TurnGuard`] is dropped, also by a panic.
//!
//! - Those that wait get the turn in no particular order.
//! - An actor that takes a turn that it already has waits for ever.
//! - A turn holds no value: [`GroupCommit`](super::GroupCommit) hands one from actor to actor.
//!
//! Threads: any, and simulated actors. A turn is taken while no lock is held.

use super::{Condvar, Mutex};
use crate::wait::{WaitCause, WaitCounts};

/// Work that one actor at a time does.
///
/// ```
/// use terrace_env::sync::Turn;
///
/// let opening = Turn::default();
/// let turn = opening.take();
/// // Here the actor may wait for a device.
/// drop(turn);
/// ```
#[derive(Debug, Default)]
pub struct Turn {
    taken: Mutex<bool>,
    ended: Condvar,
}

/// Has a turn until it is dropped.
#[derive(Debug)]
#[must_use = "the turn ends as soon as its guard is dropped"]
pub struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Waits until no actor has the turn, and takes it.
    pub fn take(&self) -> TurnGuard<'_> {
        self.take_with(|| {})
    }

    /// Like [`take`](Self::take), and counts the time of a wait.
    pub fn take_counted(&self, waits: &WaitCounts, cause: WaitCause) -> TurnGuard<'_> {
        let mut wait = waits.clock();
        self.take_with(|| wait.on(cause))
    }

    fn take_with(&self, mut begin_wait: impl FnMut()) -> TurnGuard<'_> {
        let mut taken = self.taken.lock();
        while *taken {
            begin_wait();
            self.ended.wait(&mut taken);
        }
        *taken = true;
        TurnGuard(self)
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::runner;

    /// Five actors that sleep in the turn, and find that they are alone.
    fn crowd() {
        let (turn, inside) = (Arc::new(Turn::default()), Arc::new(Mutex::new(0)));
        let actor = |_| {
            let (turn, inside) = (Arc::clone(&turn), Arc::clone(&inside));
            runner::spawn("actor", move || {
                let _turn = turn.take();
                *inside.lock() += 1;
                runner::sleep(Duration::from_millis(1));
                assert_eq!(*inside.lock(), 1);
                *inside.lock() -= 1;
            })
        };
        let actors: Vec<_> = (0..5).map(actor).collect();
        actors.into_iter().for_each(runner::JoinHandle::join);
    }

    #[test]
    fn one_actor_at_a_time_has_the_turn_though_it_sleeps_in_it() {
        crowd();
        runner::simulate(1, crowd);
    }

    #[cfg(debug_assertions)]
    #[test]
    fn one_actor_at_a_time_has_the_turn_in_any_schedule() {
        for seed in 0..50 {
            runner::SimulationOptions::seeded(seed).explore().run(crowd);
        }
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let turn = Turn::default();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _turn = turn.take();
            panic!("in the turn");
        }));
        assert!(panicked.is_err());
        drop(turn.take());
    }

    #[test]
    fn only_a_wait_is_counted() {
        runner::simulate(1, || {
            let (turn, waits) = (Arc::new(Turn::default()), WaitCounts::default());
            drop(turn.take_counted(&waits, WaitCause::Commits));
            assert!(waits.read().is_empty());
            let other = Arc::clone(&turn);
            let (taken, at) = (Arc::new(Condvar::new()), Arc::new(Mutex::new(false)));
            let (told, told_at) = (Arc::clone(&taken), Arc::clone(&at));
            let holder = runner::spawn("holder", move || {
                let _turn = other.take();
                *told_at.lock() = true;
                told.notify_all();
                runner::sleep(Duration::from_millis(3));
            });
            taken.wait_while(&mut at.lock(), |taken| !*taken);
            drop(turn.take_counted(&waits, WaitCause::Commits));
            assert_eq!(waits.read().time(), Duration::from_millis(3));
            holder.join();
        });
    }
}
