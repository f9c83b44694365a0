//! [`Turn`]: of the clients of an open loop, one at a time waits for the next arrival.
//!
//! So clients take operations in the order in which they arrive, and however many clients are idle,
//! at most one spins before an arrival ([`sleep_until_precisely`](terrace_env::runner)). The turn
//! ends before the operation begins. On threads, the next client then has to be woken: an arrival
//! that comes sooner waits for that, and the wait counts.

use terrace_env::sync::{Condvar, Mutex};

/// The right to wait for the next arrival.
#[derive(Default)]
pub(super) struct Turn {
    taken: Mutex<bool>,
    free: Condvar,
}

/// The turn, until it is dropped.
pub(super) struct Taken<'a>(&'a Turn);

impl Turn {
    /// Waits for the turn.
    pub(super) fn take(&self) -> Taken<'_> {
        let mut taken = self.taken.lock();
        self.free.wait_while(&mut taken, |taken| *taken);
        *taken = true;
        Taken(self)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.free.notify_one();
    }
}
