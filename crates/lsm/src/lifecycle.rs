//! [`Lifecycle`]: whether the engine works, has failed, or is closing.
//!
//! - *Failed*: writes are refused and jobs are to stop, until the failure is taken back
//!   ([`take_failure_back`](Lifecycle::take_failure_back)). The first failure is kept until then. A
//!   failure that is a panic is not taken back, and neither is one that was made final
//!   ([`make_final`](Lifecycle::make_final)).
//! - *Closing* cannot be taken back. From then on writers get [`Error::Closed`], after a failure,
//!   too.
//!
//! Nobody waits here. Who changes the lifecycle must wake those who wait elsewhere
//! ([`Shared::wake_all`](crate::shared::Shared)).
//!
//! Any thread. The lock is held for one look or change, and no other lock is taken meanwhile.
//! Asking whether a job must stop takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use terrace_env::sync::Mutex;

use crate::Error;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    state: Mutex<State>,
    /// Closing, or failed.
    stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    failure: Option<Error>,
    /// The failure cannot be taken back.
    is_final: bool,
    closing: bool,
}

impl Lifecycle {
    /// Why nothing can be written, if nothing can.
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

    /// The engine closes.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closing = true;
        self.stopped.store(true, Ordering::Release);
    }

    /// Notes what `job` broke on, unless something broke before; returns the failure if it is the
    /// first.
    pub(crate) fn fail(&self, job: &'static str, error: Error) -> Option<Error> {
        let mut state = self.state.lock();
        if state.failure.is_some() {
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

    /// The failure that is noted, or is noted next, cannot be taken back.
    pub(crate) fn make_final(&self) {
        self.state.lock().is_final = true;
    }

    /// Takes the failure back; `false` if there is none. A final one stays, as does one of a panic.
    pub(crate) fn take_failure_back(&self) -> Result<bool, Error> {
        let mut state = self.state.lock();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_counts_and_closing_is_for_ever() {
        let lifecycle = Lifecycle::default();
        assert!(lifecycle.check_writable().is_ok() && !lifecycle.must_stop());
        assert!(lifecycle.fail("a flush", Error::Closed).is_some());
        assert!(lifecycle.fail("a compaction", Error::Panicked).is_none());
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
