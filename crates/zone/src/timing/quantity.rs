//! [`Span`], [`Rate`] and [`Size`]: values with units as drive files write them, such as `8.2 ms`,
//! `180 MB/s` or `256MiB`. [`Sourced`] adds where a value is from.
//!
//! Spans are rounded to whole nanoseconds, rates to whole bytes per second. Text with a negative
//! value, or one of 10^18 nanoseconds or bytes per second or more, is refused as a span or a rate.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use terrace_env::ByteCount;

/// A span of time in nanoseconds. Reads `8.2 ms`, `11.36 us`, `500 ns`, `1 s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub u64);

/// Bytes per second. Reads `237 MiB/s`, `180 MB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Rate(pub u64);

impl Rate {
    /// The time that `bytes` take, in nanoseconds.
    #[must_use]
    pub fn nanos(self, bytes: u64) -> u64 {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.0.max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// Bytes. Reads `256MiB`, `4 KiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(pub u64);

/// A value, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The publication or data sheet that gives it, or how it was derived from one. The source of
    /// an unpublished value begins with `assumed`.
    pub source: String,
}

/// A value that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {text:?}")]
pub struct ParseQuantityError {
    expected: &'static str,
    text: String,
}

impl ParseQuantityError {
    pub(super) fn new(expected: &'static str, text: &str) -> Self {
        Self { expected, text: text.to_owned() }
    }
}

/// Reads a number and one of `units`, and gives the product with the unit's factor.
pub(super) fn parse(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let value = number.parse::<f64>().ok()? * factor;
    (value.is_finite() && value < 1e18).then_some(value)
}

const SPANS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const RATES: [(&str, f64); 4] =
    [("MB/s", 1e6), ("MiB/s", 1_048_576.0), ("GB/s", 1e9), ("GiB/s", 1_073_741_824.0)];

impl FromStr for Span {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = parse(text, &SPANS)
            .ok_or_else(|| ParseQuantityError::new("a time such as 8.2 ms or 11 us", text))?;
        Ok(Self(value.round() as u64))
    }
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = parse(text, &RATES)
            .ok_or_else(|| ParseQuantityError::new("a rate such as 237 MiB/s", text))?;
        Ok(Self(value.round() as u64))
    }
}

impl FromStr for Size {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.parse::<ByteCount>();
        size.map(|size| Self(size.0))
            .map_err(|_| ParseQuantityError::new("a size such as 4KiB or 256MiB", text))
    }
}

impl TryFrom<String> for Size {
    type Error = ParseQuantityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl TryFrom<String> for Span {
    type Error = ParseQuantityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl TryFrom<String> for Rate {
    type Error = ParseQuantityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            nanos if nanos >= 1_000_000 => format!("{:.2} ms", nanos as f64 / 1e6),
            nanos => format!("{:.2} us", nanos as f64 / 1e3),
        };
        f.pad(&text)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} MiB/s", self.0 as f64 / 1_048_576.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units_and_nothing_else_is() {
        assert_eq!("8.2 ms".parse(), Ok(Span(8_200_000)));
        assert_eq!("11.36us".parse(), Ok(Span(11_360)));
        assert_eq!("180 MB/s".parse(), Ok(Rate(180_000_000)));
        assert_eq!("1 GiB/s".parse(), Ok(Rate(1 << 30)));
        for wrong in ["", "8", "ms", "-1 ms", "8 parsecs", "1.2.3 ms", "9e30 s"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_gives_the_time_of_bytes() {
        assert_eq!(Rate(1 << 30).nanos(1 << 30), 1_000_000_000);
        assert_eq!(Rate(0).nanos(u64::MAX), u64::MAX);
    }
}
