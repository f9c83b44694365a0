//! [`Flushes`]: keeps track of a device's flushes, and decides which of them can be believed.
//!
//! A flush that fails may have lost writes that were reported complete. Those writes must not be
//! taken for durable, so a flush that ends after the failure is known fails too.
//!
//! The order of reports is not enough to tell. A device may carry out a flush that fails, then one
//! that succeeds, and report the second one first. The second one had nothing left to write, and
//! yet writes are missing. So a flush is believed once the outcome is known of all flushes that the
//! device may have carried out before it.
//!
//! # Threads
//! Any number of flushes may be in flight. A flush first records its own outcome, and then waits
//! for earlier ones; so no two wait for each other. Each flush that was submitted must be ended,
//! because others wait for it. Ending one waits, so the caller must hold no lock.

use std::collections::BTreeSet;

use terrace_env::sync::{Condvar, Mutex};
use terrace_zone::DeviceError;

use crate::canary::{self, Rule};

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Flushes {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Flushes whose outcome is not known.
    open: BTreeSet<u64>,
    /// The first that failed.
    failed: Option<DeviceError>,
}

/// A flush that is in flight.
#[derive(Clone, Copy)]
pub(crate) struct Flush {
    number: u64,
    /// Only flushes with numbers below this can have been carried out before this flush.
    bound: u64,
}

impl Flushes {
    /// Hands a flush over to the device.
    pub(crate) fn submit<T>(&self, hand_over: impl FnOnce() -> T) -> (T, Flush) {
        let number = {
            let mut state = self.state.lock();
            let number = state.next;
            state.next += 1;
            state.open.insert(number);
            number
        };
        let handed_over = hand_over();
        (handed_over, Flush { number, bound: self.state.lock().next })
    }

    /// Ends a flush that the device answered with `result`, and returns the answer that may be
    /// believed.
    pub(crate) fn end<T>(
        &self,
        flush: Flush,
        result: Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let mut state = self.state.lock();
        state.open.remove(&flush.number);
        if let Err(error) = &result {
            state.failed.get_or_insert_with(|| error.clone());
        }
        self.ended.notify_all();
        let unknown = |state: &mut State| {
            state.failed.is_none() && state.open.range(..flush.bound).next().is_some()
        };
        if !canary::is_broken(Rule::FlushAwaitsEarlierOnes) {
            self.ended.wait_while(&mut state, unknown);
        }
        state.failed.clone().map_or(result, Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use terrace_env::runner;

    use super::*;

    /// A flush of `time` milliseconds that is handed over after `start` of them.
    fn flush(flushes: &Arc<Flushes>, start: u64, time: u64, ok: bool) -> runner::JoinHandle<bool> {
        let flushes = Arc::clone(flushes);
        runner::spawn("flush", move || {
            runner::sleep(Duration::from_millis(start));
            let ((), flush) = flushes.submit(|| ());
            runner::sleep(Duration::from_millis(time));
            let result = if ok { Ok(()) } else { Err(DeviceError::FlushFailed) };
            flushes.end(flush, result).is_ok()
        })
    }

    fn outcomes(made: &[(u64, u64, bool)]) -> Vec<bool> {
        runner::simulate(1, || {
            let flushes = Arc::default();
            let all: Vec<_> =
                made.iter().map(|&(start, time, ok)| flush(&flushes, start, time, ok)).collect();
            all.into_iter().map(runner::JoinHandle::join).collect()
        })
    }

    #[test]
    fn a_flush_is_believed_once_all_earlier_ones_have_succeeded() {
        assert_eq!(outcomes(&[(0, 10, true), (1, 2, true)]), [true, true]);
        assert_eq!(outcomes(&[(0, 10, false), (1, 2, true)]), [false, false]);
        assert_eq!(outcomes(&[(1, 10, false), (0, 2, true)]), [false, true]);
        assert_eq!(outcomes(&[(0, 2, false), (5, 2, true)]), [false, false]);
        assert_eq!(outcomes(&[(0, 2, true), (5, 2, false)]), [true, false]);
    }
}
