//! Locks and condition variables that work on threads and in simulations.
//!
//! | part | content |
//! |---|---|
//! | [`Mutex`], [`RwLock`] | `parking_lot`'s; in a simulation a wait for one panics |
//! | [`Turn`] | work that one actor at a time does, and that may wait |
//! | [`GroupCommit`] | one actor at a time writes the work of several |
//! | [`Condvar`] | `parking_lot`'s on threads, the schedule's in a simulation |
//! | `held` | which locks the caller holds |
//!
//! The rule: **no lock is held over a wait**: a device call, a sleep, a yield, a charge of
//! processor time, a join, or the wait for a condition (except for the condition's own lock). In
//! debug builds [`assert_no_lock_held`] panics where the rule is broken, and names the place where
//! the lock was taken. (While the thread panics already, nothing is checked.) An actor that has to
//! keep others out for longer takes a [`Turn`].
//!
//! Taking a lock while holding none is a [`switch_point`], where a simulation that explores
//! schedules may let others in between. A panic under a lock unlocks it; there is no poisoning. An
//! actor must not take a lock that it holds.

mod condvar;
mod group_commit;
pub(crate) mod held;
mod mutex;
mod rw_lock;
mod turn;

pub use condvar::{Condvar, WaitTimeout};
pub use group_commit::{CommitQueue, GroupCommit, Lead, QueueGuard};
pub use held::{assert_no_lock_held, switch_point};
pub use mutex::{Mutex, MutexGuard};
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use turn::{Turn, TurnGuard};
