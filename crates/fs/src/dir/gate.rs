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
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_env::store::StoreError;
use terrace_env::sync::{Condvar, Mutex};

/// Flag of a gate that is shut.
const SHUT: usize = 1 << (usize::BITS - 1);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Number of passes given out, and the flag. One number, so that no pass is given out after the
    /// flag is set: each append of a log takes a pass, and should take no lock for it.
    passes: AtomicUsize,
    /// Held by `shut` while it looks at the number, and to wake it.
    waiting: Mutex<()>,
    returned: Condvar,
}

impl Gate {
    /// A permit to change files until it is dropped.
    pub(super) fn pass(self: &Arc<Self>) -> Result<Pass, StoreError> {
        let pass = Pass(Arc::clone(self));
        let before = self.passes.fetch_add(1, Ordering::SeqCst);
        // The dropped pass takes the number back.
        if before & SHUT == 0 { Ok(pass) } else { Err(StoreError::Closed) }
    }

    /// An error once the gate is shut.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let is_shut = self.passes.load(Ordering::SeqCst) & SHUT != 0;
        if is_shut { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Gives out no more passes, and waits for those given out. A thread that panics does not wait:
    /// its own writer may have one.
    pub(super) fn shut(&self) {
        let mut waiting = self.waiting.lock();
        self.passes.fetch_or(SHUT, Ordering::SeqCst);
        while self.passes.load(Ordering::SeqCst) != SHUT && !std::thread::panicking() {
            self.returned.wait(&mut waiting);
        }
    }
}

/// A permit to change files.
#[derive(Debug)]
pub(super) struct Pass(Arc<Gate>);

impl Drop for Pass {
    fn drop(&mut self) {
        let before = self.0.passes.fetch_sub(1, Ordering::SeqCst);
        if before & SHUT != 0 {
            // Under the lock, so that the wake does not come before the wait.
            let waiting = self.0.waiting.lock();
            self.0.returned.notify_all();
            drop(waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_env::runner;

    use super::*;

    #[test]
    fn a_gate_is_shut_when_the_last_pass_is_back() {
        runner::simulate(1, || {
            let gate = Arc::new(Gate::default());
            let begun = runner::now();
            let passes: Vec<_> = (1..=3)
                .map(|seconds| {
                    let gate = Arc::clone(&gate);
                    runner::spawn("writer", move || {
                        let _pass = gate.pass().expect("an open gate");
                        runner::sleep(Duration::from_secs(seconds));
                    })
                })
                .collect();
            runner::sleep(Duration::from_millis(1));
            gate.shut();
            assert!(runner::now().since(begun) >= Duration::from_secs(3), "shut before");
            assert!(matches!(gate.pass(), Err(StoreError::Closed)));
            passes.into_iter().for_each(runner::JoinHandle::join);
        });
    }
}
