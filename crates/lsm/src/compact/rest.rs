//! [`Rest`]: whether writers rest, so that compactions that pay only at rest may begin.
//!
//! Writers have rested if no batch was written for [`REST_AFTER`] or longer. The answer
//! ([`is_over`](Rest::is_over)) is no until that time has passed since the last comparison, or
//! since the [`Rest`] began; then it compares how many groups of batches there have been, and the
//! time begins anew. So a rest is noticed after one to two such times, if somebody asks often
//! enough. Reads and ingests do not count as writes.
//!
//! Each actor that looks has a [`Rest`] of its own. Nothing here waits.

use std::time::Duration;

use terrace_env::{Time, runner};

use crate::counters::Counters;

/// When nothing was written for so long, writers are taken to rest.
const REST_AFTER: Duration = Duration::from_millis(500);

/// Looks out for the end of [`REST_AFTER`] in which nothing was written.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The groups that had been written when it began.
    groups: u64,
    until: Time,
}

impl Rest {
    pub(crate) fn begin(counters: &Counters) -> Self {
        Self { groups: counters.groups.get(), until: runner::now() + REST_AFTER }
    }

    /// When to look whether writers have rested.
    pub(crate) fn ends(&self) -> Time {
        self.until
    }

    /// Whether writers have rested; where they have not, it begins anew.
    pub(crate) fn is_over(&mut self, counters: &Counters) -> bool {
        if runner::now() < self.until {
            return false;
        }
        let before = std::mem::replace(self, Self::begin(counters));
        before.groups == self.groups
    }
}
