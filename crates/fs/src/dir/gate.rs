//! [`Gate`]: keeps handles from changing files once the store is closed, since another process may
//! own the directory then.
//!
//! A handle must hold a [`Pass`] while it changes a file. After [`Gate::shut`], no pass is given
//! out, and `shut` waits until those given out have been dropped. A thread that panics does not
//! wait, because it may hold one itself. [`Gate::check`] tells whether the gate is shut, and does
//! not keep it open. That suffices for a read, which may go on after the gate is shut.
//!
//! # Threads
//! Any thread may use a gate. A thread that holds a pass must not shut it, as it would wait for
//! itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::store::StoreError;
use terrace_env::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Gate {
    is_shut: AtomicBool,
    /// Number of passes given out.
    passes: Mutex<usize>,
    returned: Condvar,
}

impl Gate {
    /// A permit to change files until it is dropped.
    pub(super) fn pass(self: &Arc<Self>) -> Result<Pass, StoreError> {
        let mut passes = self.passes.lock();
        self.check()?;
        *passes += 1;
        Ok(Pass(Arc::clone(self)))
    }

    /// An error once the gate is shut.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.is_shut.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Gives out no more passes, and waits for those given out. A thread that panics does not wait:
    /// its own writer may have one.
    pub(super) fn shut(&self) {
        let mut passes = self.passes.lock();
        self.is_shut.store(true, Ordering::Release);
        while *passes > 0 && !std::thread::panicking() {
            self.returned.wait(&mut passes);
        }
    }
}

/// A permit to change files.
#[derive(Debug)]
pub(super) struct Pass(Arc<Gate>);

impl Drop for Pass {
    fn drop(&mut self) {
        *self.0.passes.lock() -= 1;
        self.0.returned.notify_all();
    }
}
