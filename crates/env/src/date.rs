//! [`Date`]: a date, to the millisecond. Read it with [`date`](crate::runner::date).
//!
//! - A date counts milliseconds since the beginning of 1970 (UTC), without leap seconds, as the
//!   operating system does. Sums and conversions end at the first and at the last date.
//! - Dates say when an entry expires. Nothing else may depend on them: the clock of a machine can
//!   be set, forward and back. Code that waits or measures takes a [`Time`](crate::Time).
//!
//! A plain value.

use std::fmt;
use std::ops::Add;
use std::time::{Duration, SystemTime};

use crate::runner;

/// Milliseconds since the beginning of 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u64);

impl Date {
    /// The last date: in 580 million years.
    pub const MAX: Self = Self(u64::MAX);

    /// The date that is `time` from now.
    #[must_use]
    pub fn from_now(time: Duration) -> Self {
        runner::date() + time
    }

    /// How long after `earlier` this is; zero when it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Date {
    type Output = Self;

    /// A part of a millisecond counts as a whole one.
    fn add(self, later: Duration) -> Self {
        let millis = later.as_nanos().div_ceil(1_000_000);
        Self(self.0.saturating_add(u64::try_from(millis).unwrap_or(u64::MAX)))
    }
}

impl From<SystemTime> for Date {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s since 1970", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_conversions_round_and_end_at_the_ends() {
        assert_eq!(Date(5) + Duration::from_nanos(1), Date(6));
        assert_eq!(Date(5) + Duration::from_millis(2), Date(7));
        assert_eq!(Date(5) + Duration::MAX, Date::MAX);
        assert_eq!(Date(5).since(Date(3)), Duration::from_millis(2));
        assert_eq!(Date(3).since(Date(5)), Duration::ZERO);
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(Date::from(epoch + Duration::from_micros(1500)), Date(1));
        assert_eq!(Date::from(epoch - Duration::from_secs(1)), Date(0));
        assert_eq!(Date(1500).to_string(), "1.500 s since 1970");
    }
}
