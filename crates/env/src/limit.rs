//! [`Limit`]: the range in which the value of an option must lie, with the reason for its ends.
//! Both ends belong to the range.
//!
//! [`Limit::check`] returns an error for a value outside of the range, and does not change the
//! value. The error, [`OutOfRange`], has the option, the value, the expectation, and the reason.
//! It also serves for an option that does not fit another option, or the store
//! ([`OutOfRange::relation`]).

use std::fmt;

/// The range of an option.
#[derive(Clone, Copy, Debug)]
pub struct Limit<T> {
    /// Name of the option.
    pub option: &'static str,
    /// The least that it may be.
    pub least: T,
    /// The most that it may be.
    pub most: T,
    /// Why less, or more, is of no use.
    pub reason: &'static str,
}

/// An option with a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} is {got}: expected {expected}; {reason}")]
pub struct OutOfRange {
    /// Name of the option.
    pub option: Box<str>,
    /// Value of the option.
    pub got: Box<str>,
    /// Range of the option.
    pub expected: Box<str>,
    /// Why the range ends where it does.
    pub reason: &'static str,
}

impl<T: Copy + PartialOrd + fmt::Display> Limit<T> {
    /// Checks a value of the option.
    pub fn check(&self, value: T) -> Result<(), OutOfRange> {
        if self.least <= value && value <= self.most {
            return Ok(());
        }
        Err(OutOfRange {
            option: self.option.into(),
            got: value.to_string().into(),
            expected: format!("{} to {}", self.least, self.most).into(),
            reason: self.reason,
        })
    }
}

impl OutOfRange {
    /// An option that does not fit another one, or the store.
    pub fn relation(
        option: &str,
        got: impl fmt::Display,
        expected: impl fmt::Display,
        reason: &'static str,
    ) -> Self {
        let (got, expected) = (got.to_string().into(), expected.to_string().into());
        Self { option: option.into(), got, expected, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_told_with_the_range_and_its_reason() {
        let limit = Limit { option: "cups", least: 1, most: 3, reason: "tea needs a cup" };
        for value in 1..=3 {
            limit.check(value).unwrap();
        }
        for value in [0, 4, u64::MAX] {
            let text = limit.check(value).unwrap_err().to_string();
            assert_eq!(text, format!("cups is {value}: expected 1 to 3; tea needs a cup"));
        }
    }
}
