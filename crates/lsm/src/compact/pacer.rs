//! [`Pacer`]: limits compactions to a number of bytes a second, so that they leave the medium to
//! readers and writers.
//!
//! - It counts the bytes of keys and values that all compactions and workers together process,
//!   before compression. Flushes and reclaim are not limited.
//! - No writer waits for the limit. A compaction goes on at once while writers are held back, or
//!   are about to be, because compactions are late, and while space is short ([`Space::pause`]).
//!   These bytes are not made up for later.
//! - A pause ends when the engine closes or fails.
//!
//! The clock is that of the runner. Any thread; no other lock is taken.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Time, runner};

use crate::lifecycle::Lifecycle;
use crate::space::Space;

/// See the [module](self).
pub(crate) struct Pacer {
    /// Bytes a second; 0: no limit.
    rate: ByteCount,
    space: Arc<Space>,
    /// Time at which all bytes so far are due.
    due: Mutex<Time>,
}

impl Pacer {
    pub(crate) fn new(rate: ByteCount, space: Arc<Space>) -> Self {
        Self { rate, space, due: Mutex::new(Time(0)) }
    }

    /// A compaction has processed `bytes`: waits until they are due.
    pub(super) fn pace(&self, bytes: u64, lifecycle: &Lifecycle) {
        if self.rate.0 == 0 {
            return;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate.0);
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let due = {
            let (mut due, now) = (self.due.lock(), runner::now());
            *due = Time((*due).max(now).0.saturating_add(time.as_nanos() as u64));
            *due
        };
        if !self.space.pause(due, lifecycle) {
            *self.due.lock() = Time(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use terrace_policy::WriteRule;

    use super::*;

    #[test]
    fn bytes_that_went_on_in_a_hurry_are_not_made_up_for_later() {
        runner::simulate(1, || {
            let space = Arc::new(Space::new(WriteRule::Free));
            let (lifecycle, pacer) =
                (Lifecycle::default(), Pacer::new(ByteCount(1000), Arc::clone(&space)));
            let seconds = |bytes: u64| {
                let begin = runner::now();
                pacer.pace(bytes, &lifecycle);
                runner::now().since(begin).as_secs()
            };
            assert_eq!((seconds(5000), seconds(1000)), (5, 1));
            space.tree_has_changed(1, WriteRule::Stopped);
            assert_eq!(seconds(100_000), 0);
            space.tree_has_changed(2, WriteRule::Free);
            assert_eq!(seconds(2000), 2);
        });
    }
}
