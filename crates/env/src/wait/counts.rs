//! [`WaitCounts`]: counts waits by cause, as they end. A wait that is still running is not counted.
//!
//! Any number of actors count at once, without a lock, each thread on counters of its own. The
//! numbers are read one by one: if waits end meanwhile, number and times of a cause may be of
//! different moments.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{WaitCause, WaitClock, WaitStats, Waits};
use crate::PerThread;

const CAUSES: usize = WaitCause::ALL.len();

/// The waits of a part of the program, since it was made. Any number of actors count at once.
#[derive(Debug, Default)]
pub struct WaitCounts(PerThread<Counters>);

type Counters = [Counter; CAUSES];

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    nanos: AtomicU64,
    nanos_max: AtomicU64,
}

impl WaitCounts {
    /// A clock that counts here.
    pub fn clock(&self) -> WaitClock<'_> {
        WaitClock::new(self)
    }

    /// Counts the time that `wait` takes as one wait.
    pub fn during<T>(&self, cause: WaitCause, wait: impl FnOnce() -> T) -> T {
        let mut clock = self.clock();
        clock.on(cause);
        wait()
    }

    /// Counts and times of all waits up to now.
    #[must_use]
    pub fn read(&self) -> Waits {
        let mut waits = Waits::default();
        for counters in self.0.iter() {
            for (cause, counter) in WaitCause::ALL.into_iter().zip(counters) {
                let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
                let (count, nanos) = (load(&counter.count), load(&counter.nanos));
                waits.add(cause, WaitStats { count, nanos, nanos_max: load(&counter.nanos_max) });
            }
        }
        waits
    }

    pub(super) fn add(&self, cause: WaitCause, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let counter = &self.0.own()[cause.index()];
        counter.count.fetch_add(1, Ordering::Relaxed);
        counter.nanos.fetch_add(nanos, Ordering::Relaxed);
        // A new maximum is rare, and the operation is a loop on most processors.
        if nanos > counter.nanos_max.load(Ordering::Relaxed) {
            counter.nanos_max.fetch_max(nanos, Ordering::Relaxed);
        }
    }
}
