//! [`EndSignal`]: the end of a run or of a phase, for an actor that does something at even times
//! until then.

use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Time, runner};

/// See the [module](self).
#[derive(Default)]
pub(super) struct EndSignal {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl EndSignal {
    /// Waits until that time, or the end; whether it is the end.
    pub(super) fn wait(&self, until: Time) -> bool {
        let mut ended = self.ended.lock();
        while !*ended && runner::now() < until {
            self.changed.wait_for(&mut ended, until.since(runner::now()));
        }
        *ended
    }

    /// Ends it; wakes the actor.
    pub(super) fn end(&self) {
        *self.ended.lock() = true;
        self.changed.notify_all();
    }
}
