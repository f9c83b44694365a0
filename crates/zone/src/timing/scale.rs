//! [`Scale`]: how much smaller than the real one a modelled drive is, so that experiments take less
//! time and memory. The small drive is to behave like the large one.
//!
//! At `1/n` the sizes of a drive, such as those of zones, tracks and caches, are an n-th. A
//! [`ScaleMode`] tells the other values that are divided by n: delays or bandwidths. Blocks do not
//! shrink, nor do counts, such as those of zones, dies, or commands in a queue.
//!
//! Quotients are rounded down. The code that uses a scale may round further, to whole blocks, or
//! keep a least value. The text of a scale has no mode: it is read as [`ScaleMode::Delays`].

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::quantity::ParseQuantityError;
use super::{Rate, Span};

/// Choice of the values that shrink together with the sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleMode {
    /// Mechanical delays, page and program times, overheads; bandwidths stay. Moving an n-th of
    /// the data then takes an n-th of the time, positioning included: for write-bound experiments.
    #[default]
    Delays,
    /// Bandwidths; delays stay, so small reads and syncs cost the same as on the large drive: for
    /// experiments with point reads or syncs, whose values and blocks shrink instead of their
    /// number.
    Bandwidths,
}

/// How much smaller a drive is made: `1/n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Scale {
    divisor: NonZeroU32,
    mode: ScaleMode,
}

impl Scale {
    /// The drive as it is.
    pub const FULL: Self = Self { divisor: NonZeroU32::MIN, mode: ScaleMode::Delays };

    /// A drive of an n-th of the size.
    #[must_use]
    pub fn new(divisor: NonZeroU32, mode: ScaleMode) -> Self {
        Self { divisor, mode }
    }

    /// The same scale with another mode.
    #[must_use]
    pub fn with_mode(self, mode: ScaleMode) -> Self {
        Self { mode, ..self }
    }

    /// The n in `1/n`.
    #[must_use]
    pub fn divisor(self) -> u64 {
        u64::from(self.divisor.get())
    }

    pub(super) fn bytes(self, bytes: u64) -> u64 {
        bytes / self.divisor()
    }

    pub(super) fn span(self, span: Span) -> u64 {
        match self.mode {
            ScaleMode::Delays => span.0 / self.divisor(),
            ScaleMode::Bandwidths => span.0,
        }
    }

    pub(super) fn rate(self, rate: Rate) -> Rate {
        match self.mode {
            ScaleMode::Delays => rate,
            ScaleMode::Bandwidths => Rate(rate.0 / self.divisor()),
        }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self::FULL
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.divisor)
    }
}

impl TryFrom<String> for Scale {
    type Error = ParseQuantityError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Scale {
    type Err = ParseQuantityError;

    /// Reads `1/16`; `1` is the drive as it is.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let divisor = match text.trim() {
            "1" => Some(NonZeroU32::MIN),
            text => text.strip_prefix("1/").and_then(|divisor| divisor.parse().ok()),
        };
        divisor
            .map(|divisor| Self::new(divisor, ScaleMode::Delays))
            .ok_or_else(|| ParseQuantityError::new("a scale such as 1/16", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_read_back_what_they_print() {
        for text in ["1/1", "1/16", "1/64"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        assert_eq!("1".parse(), Ok(Scale::FULL));
        for wrong in ["", "0", "2", "1/0", "1/-3", "3/4", "16"] {
            assert!(wrong.parse::<Scale>().is_err(), "{wrong}");
        }
    }
}
