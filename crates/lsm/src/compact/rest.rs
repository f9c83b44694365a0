//! [`Rest`]: whether writers are idle, so that compactions that pay only then may begin.
//!
//! Writers are idle if no batch was written for [`REST_AFTER`] or longer.
//! [`is_over`](Rest::is_over) answers no until that time has passed since the last comparison, or
//! since the [`Rest`] began. Then it compares the number of groups of batches, and the time begins
//! again. So an actor that asks often notices idle writers after one to two such times. Reads and
//! ingests do not count as writes.
//!
//! Each actor that looks has a [`Rest`] of its own. Nothing here waits.

use std::time::Duration;

use terrace_env::{Time, runner};

use crate::counters::Counters;

/// Time without a write after which writers count as idle.
const REST_AFTER: Duration = Duration::from_millis(500);

/// Waits for the end of [`REST_AFTER`] without a write.
#[derive(Debug)]
pub(crate) struct Rest {
    /// Number of groups written when it began.
    groups: u64,
    until: Time,
}

impl Rest {
    pub(crate) fn begin(counters: &Counters) -> Self {
        Self { groups: counters.groups.get(), until: runner::now() + REST_AFTER }
    }

    /// Time of the next comparison.
    pub(crate) fn ends(&self) -> Time {
        self.until
    }

    /// Whether writers are idle. If they are not, the time begins again.
    pub(crate) fn is_over(&mut self, counters: &Counters) -> bool {
        if runner::now() < self.until {
            return false;
        }
        let before = std::mem::replace(self, Self::begin(counters));
        before.groups == self.groups
    }
}
