//! [`WaitClock`]: measures the waits of one actor, one after the other, each under a [`WaitCause`].
//!
//! When a wait ends, it is added to the [`WaitCounts`] of the clock, and to the open ledgers of the
//! actor. A wait of no length is not added.

use super::{WaitCause, WaitCounts, ledger};
use crate::{Time, runner};

/// Takes the time of waits, one after the other. If the clock is dropped while a wait runs, the
/// wait ends then.
///
/// A wait in a loop is one wait, from the first [`on`](Self::on) to [`off`](Self::off): however
/// often the loop looks whether it is over.
#[derive(Debug)]
pub struct WaitClock<'a> {
    counts: &'a WaitCounts,
    running: Option<(WaitCause, Time)>,
}

impl<'a> WaitClock<'a> {
    pub(super) fn new(counts: &'a WaitCounts) -> Self {
        Self { counts, running: None }
    }

    /// A wait for this begins, unless one does already. A wait for something else ends.
    pub fn on(&mut self, cause: WaitCause) {
        if self.running.is_none_or(|(running, _)| running != cause) {
            self.off();
            self.running = Some((cause, runner::now()));
        }
    }

    /// Ends the running wait, if there is one: its event has come, or the caller gives up. Call it
    /// before anything that waits and counts by itself, such as a request to the device.
    pub fn off(&mut self) {
        let Some((cause, since)) = self.running.take() else { return };
        let time = runner::now().since(since);
        if !time.is_zero() {
            self.counts.add(cause, time);
            ledger::note(cause, since, time);
        }
    }
}

impl Drop for WaitClock<'_> {
    fn drop(&mut self) {
        self.off();
    }
}
