//! [`Condvar`]: a condition variable, on threads and in simulations.
//!
//! The waiter holds the lock of a value, and no other lock. The wait unlocks it, and locks it again
//! at its end. A wait may end without a notification, so the waiter must look at the value again.
//! To wake a waiter, change the value under the same lock, then notify. A simulated actor can be
//! notified only by actors of its own simulation.

#![expect(clippy::disallowed_types, reason = "this is what others use instead")]

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::MutexGuard;
use super::held;
use crate::Time;
use crate::runner::{self, Simulation};

/// Interval at which a release build tries again to take a lock that another actor holds over a
/// wait, which debug builds forbid.
const RELOCK_POLL: Duration = Duration::from_micros(1);

/// A condition that actors wait for and notify each other of.
///
/// A wait may end without a notification: callers check their condition in a loop, or use
/// [`wait_while`](Self::wait_while). In a simulation notified actors run in the order of their ids,
/// unless schedules are explored, and a condition belongs to the simulation whose actors wait for
/// it.
#[derive(Default)]
pub struct Condvar(parking_lot::Condvar);

/// How a wait with a limit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeout(bool);

impl WaitTimeout {
    /// Whether the time was up before a notification came.
    #[must_use]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition without waiters.
    #[must_use]
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Unlocks the guard's mutex, waits for a notification, and locks it again.
    ///
    /// # Panics
    /// In debug builds, when another lock is held.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_at(guard, None, Location::caller());
    }

    /// Waits as long as `condition` holds.
    #[track_caller]
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut **guard) {
            self.wait_at(guard, None, Location::caller());
        }
    }

    /// Like [`wait`](Self::wait), for no longer than `limit`.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        limit: Duration,
    ) -> WaitTimeout {
        self.wait_at(guard, Some(runner::now() + limit), Location::caller())
    }

    /// Like [`wait`](Self::wait), until the clock shows `deadline` at the latest.
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Time,
    ) -> WaitTimeout {
        self.wait_at(guard, Some(deadline), Location::caller())
    }

    /// Ends the wait of one actor, if there is one.
    pub fn notify_one(&self) {
        match Simulation::current() {
            Some(simulation) => simulation.notify(self.key(), false),
            None => drop(self.0.notify_one()),
        }
    }

    /// Ends the waits of all actors.
    pub fn notify_all(&self) {
        match Simulation::current() {
            Some(simulation) => simulation.notify(self.key(), true),
            None => drop(self.0.notify_all()),
        }
    }

    fn wait_at<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Option<Time>,
        place: &'static Location<'static>,
    ) -> WaitTimeout {
        // Dropped after the mutex is locked again, whether the wait returns or unwinds.
        let _paused = guard.held.pause();
        held::assert_none("a wait for a condition");
        let Some(simulation) = Simulation::current() else {
            let Some(deadline) = deadline else {
                self.0.wait(&mut guard.inner);
                return WaitTimeout(false);
            };
            let limit = deadline.since(runner::now());
            return WaitTimeout(self.0.wait_for(&mut guard.inner, limit).timed_out());
        };
        let mutex = parking_lot::MutexGuard::mutex(&guard.inner);
        let timed_out = parking_lot::MutexGuard::unlocked(&mut guard.inner, || {
            let timed_out = simulation.wait(self.key(), deadline, place);
            while mutex.is_locked() {
                simulation.sleep_until(simulation.now() + RELOCK_POLL);
            }
            timed_out
        });
        WaitTimeout(timed_out)
    }

    /// Key of this condition in a simulation: its address, which cannot change during a wait.
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
