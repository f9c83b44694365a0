//! [`Fit`]: where in the free space of a device without zones a writer's run of blocks begins.
//!
//! | fit | the run lies in |
//! |---|---|
//! | [`Best`](Fit::Best) | the shortest free run that holds it |
//! | [`Next`](Fit::Next) | the first that holds it behind the run that was given out last |
//! | [`First`](Fit::First) | the first that holds it from the start of the device |
//!
//! By the best fit, the largest free run, which lies behind all data, is the last that is cut: so
//! SEALDB's list of free space by size works (MSST '18, section III-B). File systems such as ext4
//! go on where they were, as the next fit does, which begins again at the start of the device.

use std::fmt;
use std::str::FromStr;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// The shortest run that is long enough.
    #[default]
    Best,
    /// The first behind the last one.
    Next,
    /// The first of the device.
    First,
}

impl Fit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Best, Self::Next, Self::First];

    /// The name as a parameter.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Next => "next",
            Self::First => "first",
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|fit| fit.name() == text);
        found.ok_or_else(|| format!("expected best, next or first, found {text:?}"))
    }
}
