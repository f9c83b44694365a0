//! [`Mutex`]: a lock around a value, for short computations. The holder must not wait for anything
//! while it holds the lock.
//!
//! [`Mutex::lock`] waits for other threads; in a simulation it panics where it would have to wait.
//! On threads, an actor that locks a mutex that it holds already waits for ever. A panic under the
//! lock unlocks it.

#![expect(clippy::disallowed_types, reason = "this is what others use instead")]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::held::Held;
use super::switch_point;
use crate::runner;

/// A lock around a value. Never held over a wait.
///
/// In a simulation the lock is free whenever an actor runs, because holders do not wait: a taken
/// lock is a bug and panics.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

/// Access to a locked value; unlocks when dropped.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) inner: parking_lot::MutexGuard<'a, T>,
    pub(super) held: Held,
}

impl<T> Mutex<T> {
    /// An unlocked value.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, waiting for other threads that are inside.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        switch_point();
        let inner = self.0.try_lock().unwrap_or_else(|| {
            assert_uncontended("mutex");
            self.0.lock()
        });
        MutexGuard { inner, held: Held::new() }
    }

    /// Locks unless another actor holds the lock.
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        switch_point();
        let inner = self.0.try_lock()?;
        Some(MutexGuard { inner, held: Held::new() })
    }

    /// The value, without locking: the caller alone can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// Panics in a simulation, where waiting for a lock would be waiting for ever.
#[cold]
#[track_caller]
pub(super) fn assert_uncontended(lock: &str) {
    assert!(
        !runner::is_simulated(),
        "a contended {lock} in a simulation: its holder waits while holding it, or is the caller \
         itself, or is outside the simulation"
    );
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
