//! Locks and conditions that know the runner. [`Mutex`] and [`RwLock`] are `parking_lot`'s; a
//! simulated actor that finds one taken panics. [`Condvar`] is `parking_lot`'s on threads, the
//! schedule's in a simulation. `held` knows which locks the caller holds.
//!
//! The rule that makes both worlds share one code is that **no lock is held over a wait**: not over
//! a device call, a sleep, a join, or the wait for a condition (its own lock excepted). Debug
//! builds panic where it is broken, unless the thread panics already, with the place the lock was
//! taken at. An actor that has to keep others out for longer takes a role: a flag under the lock,
//! and a condition that the others wait for.
//!
//! Taking a lock while holding none is a [`switch_point`], where a simulation that explores
//! schedules may let others in between.
//!
//! A panic under a lock unlocks it; nothing is poisoned. No lock may be taken twice by the same
//! actor.
//!
//! Layers above should use no other locks; atomics and `Arc` are the standard library's.

mod condvar;
pub(crate) mod held;
mod mutex;
mod rw_lock;

pub use condvar::{Condvar, WaitTimeout};
pub use held::{assert_no_lock_held, switch_point};
pub use mutex::{Mutex, MutexGuard};
pub use rw_lock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
