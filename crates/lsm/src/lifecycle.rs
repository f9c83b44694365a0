//! [`Lifecycle`]: whether the engine works, has failed, or is closing.
//!
//! - *Failed*: writes are refused and jobs are to stop, until the failure is taken back
//!   ([`take_failure_back`](Lifecycle::take_failure_back)). The first failure is kept until then. A
//!   panic, or a failure that was made final ([`make_final`](Lifecycle::make_final)), is not taken
//!   back.
//! - *Closing* cannot be taken back. From then on writers get [`Error::Closed`], after a failure,
//!   too.
//!
//! No actor waits here. The opening registers owners that actors wait for as [`Waiter`]s. After
//! each change of the lifecycle they are notified, in the order of their registration. A waiter
//! that does not exist any more is skipped.
//!
//! Any thread. The lock is held for one short access, and no other lock is taken meanwhile: waiters
//! and listeners are notified without it. The question whether a job must stop takes no lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use terrace_env::sync::Mutex;

use crate::Error;
use crate::event::{Event, Listeners};

/// An owner that actors wait for, who must look again after a change of the lifecycle.
pub(crate) trait Waiter: Send + Sync {
    /// Wakes all waiting actors. `failure`: the failure, if this is the one that stops the engine.
    fn lifecycle_has_changed(&self, failure: Option<&Error>);
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Lifecycle {
    state: Mutex<State>,
    /// Whether it is closing or has failed.
    stopped: AtomicBool,
    waiters: Mutex<Vec<Weak<dyn Waiter>>>,
    listeners: Arc<Listeners>,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<Error>,
    /// Whether the failure cannot be taken back.
    is_final: bool,
    closing: bool,
}

impl Lifecycle {
    /// The lifecycle of an engine that works; these listeners get its failures.
    pub(crate) fn new(listeners: Arc<Listeners>) -> Self {
        Self { listeners, ..Self::default() }
    }

    /// Registers an owner that actors wait for, to be notified of changes.
    pub(crate) fn register(&self, waiter: &Arc<impl Waiter + 'static>) {
        let waiter: Weak<dyn Waiter> = Arc::downgrade(waiter) as Weak<dyn Waiter>;
        self.waiters.lock().push(waiter);
    }

    /// Wakes all waiting actors, after a change of the lifecycle.
    pub(crate) fn wake_all(&self) {
        self.tell_waiters(None);
    }

    fn tell_waiters(&self, failure: Option<&Error>) {
        let waiters: Vec<_> = self.waiters.lock().iter().filter_map(Weak::upgrade).collect();
        waiters.iter().for_each(|waiter| waiter.lifecycle_has_changed(failure));
    }

    /// An error if writes are refused.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if !self.must_stop() {
            return Ok(());
        }
        let state = self.state.lock();
        match &state.failure {
            _ if state.closing => Err(Error::Closed),
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Checks that the flag without a lock says what the state says.
    fn check(&self, state: &State) {
        let stopped = state.closing || state.failure.is_some();
        debug_assert_eq!(self.must_stop(), stopped, "{state:?}");
    }

    /// Whether jobs are to drop their work, because the engine closes or has failed.
    pub(crate) fn must_stop(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.must_stop() && self.state.lock().closing
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.state.lock().failure.clone()
    }

    /// Notes that the engine closes. Then the caller must call [`wake_all`](Self::wake_all).
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        self.check(&state);
        state.closing = true;
        self.stopped.store(true, Ordering::Release);
    }

    /// Ends all writing because of an error of `job`, until the failure is taken back. Waiters are
    /// notified in any case, listeners of the first failure.
    pub(crate) fn fail(&self, job: &'static str, error: Error) {
        let failure = self.note_failure(job, error);
        self.tell_waiters(failure.as_ref());
        if let Some(error) = failure {
            self.listeners.tell(|| Event::Stopped { error });
        }
    }

    /// Notes the failure of `job`, unless there is an earlier one; returns the failure if it is the
    /// first.
    fn note_failure(&self, job: &'static str, error: Error) -> Option<Error> {
        let mut state = self.state.lock();
        self.check(&state);
        if state.failure.is_some() {
            // An actor is gone: no later call may go on without it.
            state.is_final |= error.is_panic();
            return None;
        }
        let failure = match error {
            stopped @ Error::Stopped { .. } => stopped,
            cause => Error::Stopped { job, cause: Arc::new(cause) },
        };
        state.failure = Some(failure.clone());
        self.stopped.store(true, Ordering::Release);
        Some(failure)
    }

    /// Makes the current or the next failure final.
    pub(crate) fn make_final(&self) {
        self.state.lock().is_final = true;
    }

    /// Takes the failure back, and lets the jobs go on; `false` if there is none. A final one
    /// stays, as does one of a panic.
    pub(crate) fn take_failure_back(&self) -> Result<bool, Error> {
        let taken = self.forget_failure()?;
        if taken {
            self.wake_all();
        }
        Ok(taken)
    }

    fn forget_failure(&self) -> Result<bool, Error> {
        let mut state = self.state.lock();
        self.check(&state);
        if state.closing {
            return Err(Error::Closed);
        }
        match &state.failure {
            None => return Ok(false),
            Some(failure) if state.is_final || failure.is_panic() => return Err(failure.clone()),
            Some(_) => state.failure = None,
        }
        self.stopped.store(false, Ordering::Release);
        Ok(true)
    }
}

/// Ends all writing if a job ends by a panic, so that no actor waits for it for ever.
pub(crate) struct PanicGuard<'a> {
    pub(crate) lifecycle: &'a Lifecycle,
    pub(crate) job: &'static str,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.lifecycle.fail(self.job, Error::Panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waiter that records its calls.
    #[derive(Default)]
    struct Told(Mutex<Vec<bool>>);

    impl Waiter for Told {
        fn lifecycle_has_changed(&self, failure: Option<&Error>) {
            self.0.lock().push(failure.is_some());
        }
    }

    #[test]
    fn waiters_are_told_of_every_change_and_of_the_first_failure_alone() {
        let (lifecycle, told) = (Lifecycle::default(), Arc::new(Told::default()));
        lifecycle.register(&told);
        lifecycle.fail("a flush", Error::Closed);
        lifecycle.fail("a compaction", Error::Closed);
        assert_eq!(*told.0.lock(), [true, false]);
        assert!(lifecycle.take_failure_back().unwrap());
        assert_eq!(*told.0.lock(), [true, false, false]);
        assert!(!lifecycle.take_failure_back().unwrap());
        assert_eq!(told.0.lock().len(), 3, "nothing has changed");
        drop(told);
        lifecycle.wake_all();
    }

    #[test]
    fn a_panic_is_not_taken_back_after_another_failure_either() {
        let lifecycle = Lifecycle::default();
        lifecycle.fail("a flush", Error::Closed);
        lifecycle.fail("a compaction", Error::Panicked);
        let kept = lifecycle.take_failure_back().unwrap_err().to_string();
        assert!(kept.contains("a flush"), "{kept}");
        assert!(lifecycle.check_writable().is_err());
    }

    #[test]
    fn the_first_failure_counts_and_closing_is_for_ever() {
        let lifecycle = Lifecycle::default();
        assert!(lifecycle.check_writable().is_ok() && !lifecycle.must_stop());
        lifecycle.fail("a flush", Error::Closed);
        lifecycle.fail("a compaction", Error::Closed);
        let failure = lifecycle.check_writable().unwrap_err().to_string();
        assert!(failure.contains("a flush"), "{failure}");
        assert!(lifecycle.take_failure_back().unwrap() && !lifecycle.must_stop());
        assert!(!lifecycle.take_failure_back().unwrap(), "there is none any more");
        lifecycle.close();
        assert!(lifecycle.is_closing());
        assert!(matches!(lifecycle.take_failure_back(), Err(Error::Closed)));
        assert!(matches!(lifecycle.check_writable(), Err(Error::Closed)));
    }

    #[test]
    fn the_failure_of_a_panic_is_not_taken_back() {
        let lifecycle = Lifecycle::default();
        lifecycle.fail("a flush", Error::Panicked);
        assert!(lifecycle.take_failure_back().is_err_and(|error| error.is_panic()));
        assert!(lifecycle.must_stop());
    }

    #[test]
    fn a_final_failure_is_not_taken_back() {
        let lifecycle = Lifecycle::default();
        lifecycle.make_final();
        lifecycle.fail("a flush", Error::ReadOnly("a test"));
        assert!(matches!(lifecycle.take_failure_back(), Err(Error::Stopped { .. })));
        assert!(lifecycle.must_stop());
    }
}
