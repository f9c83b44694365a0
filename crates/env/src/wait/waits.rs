//! [`Waits`]: how often and how long something waited, by cause. It is a plain value; two of them
//! can be added, and an earlier one can be subtracted from a later one.
//!
//! A difference has the longest wait of the later value, which may have happened before the earlier
//! one: the longest wait in between is not known.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::WaitCause;

/// Waits of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStats {
    /// How many there were.
    pub count: u64,
    /// How long they took, in nanoseconds, all together.
    pub nanos: u64,
    /// The longest of them.
    pub nanos_max: u64,
}

impl WaitStats {
    /// How long they took, all together.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// The longest of them.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.nanos_max)
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.nanos_max = self.nanos_max.max(other.nanos_max);
    }
}

/// Waits by cause; causes without a wait are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Waits(BTreeMap<WaitCause, WaitStats>);

impl Waits {
    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The waits of a cause.
    #[must_use]
    pub fn of(&self, cause: WaitCause) -> WaitStats {
        self.0.get(&cause).copied().unwrap_or_default()
    }

    /// All waits by cause, in the order in which they are reported.
    pub fn iter(&self) -> impl Iterator<Item = (WaitCause, WaitStats)> + '_ {
        self.0.iter().map(|(cause, stats)| (*cause, *stats))
    }

    /// How long all took together; for those of one actor, how long it waited.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.0.values().map(WaitStats::time).sum()
    }

    /// Adds waits of a cause.
    pub fn add(&mut self, cause: WaitCause, stats: WaitStats) {
        if stats.count > 0 {
            self.0.entry(cause).or_default().add(stats);
        }
    }

    /// Adds a wait.
    pub fn note(&mut self, cause: WaitCause, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.add(cause, WaitStats { count: 1, nanos, nanos_max: nanos });
    }

    /// The sums of these waits and others.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        others.iter().for_each(|(cause, stats)| self.add(cause, stats));
        self
    }

    /// How many have come since `earlier`, and how long they took. The longest of them is not
    /// known, and is that of all.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = Self::default();
        for (cause, stats) in self.iter() {
            let before = earlier.of(cause);
            let count = stats.count.saturating_sub(before.count);
            let nanos = stats.nanos.saturating_sub(before.nanos);
            later.add(cause, WaitStats { count, nanos, nanos_max: stats.nanos_max });
        }
        later
    }
}
