//! [`RwLock`]: a lock around a value that many readers, or one writer, can hold at once. The holder
//! must not wait for anything while it holds the lock.
//!
//! An actor that holds the lock must not take it again, because it could wait for itself. That also
//! goes for two reads: if a writer waits between them, actor and writer wait for ever. In a
//! simulation, [`RwLock::read`] and [`RwLock::write`] panic where they would have to wait.

#![expect(clippy::disallowed_types, reason = "this is what others use instead")]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::held::Held;
use super::mutex::assert_uncontended;
use super::switch_point;

/// A reader-writer lock around a value; the rules are those of [`Mutex`](super::Mutex).
#[derive(Default)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

/// Shared access to a locked value; unlocks when dropped.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockReadGuard<'a, T>,
    _held: Held,
}

/// Exclusive access to a locked value; unlocks when dropped.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T> RwLock<T> {
    /// An unlocked value.
    pub const fn new(value: T) -> Self {
        Self(parking_lot::RwLock::new(value))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, waiting for a writer that is inside.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        switch_point();
        let inner = self.0.try_read().unwrap_or_else(|| {
            assert_uncontended("reader-writer lock");
            self.0.read()
        });
        RwLockReadGuard { inner, _held: Held::new() }
    }

    /// Locks for writing, after all holders have left.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        switch_point();
        let inner = self.0.try_write().unwrap_or_else(|| {
            assert_uncontended("reader-writer lock");
            self.0.write()
        });
        RwLockWriteGuard { inner, _held: Held::new() }
    }

    /// Locks for reading unless a writer is inside.
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        switch_point();
        let inner = self.0.try_read()?;
        Some(RwLockReadGuard { inner, _held: Held::new() })
    }

    /// Locks for writing unless another actor holds the lock.
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        switch_point();
        let inner = self.0.try_write()?;
        Some(RwLockWriteGuard { inner, _held: Held::new() })
    }

    /// The value, without locking: the caller alone can see it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
