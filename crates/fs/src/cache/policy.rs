//! [`CachePolicy`]: what leaves a full cache first.

use std::fmt;
use std::str::FromStr;

/// What leaves a full cache first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CachePolicy {
    /// The oldest file as a whole, as in BlueFS's publication (section 5.5): on average half a file
    /// of the room stays empty.
    FifoByFile,
    /// The oldest file block by block, from its beginning.
    FifoByBlock,
    /// The deepest level first, and in it the newest file from its end. A level is compacted the
    /// sooner the higher it is; and in one level compactions go round the keys in a circle, so that
    /// what was just written is what is read last. Files of no level come after all levels, the
    /// oldest first.
    #[default]
    ByLevel,
}

impl CachePolicy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FifoByFile, Self::FifoByBlock, Self::ByLevel];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FifoByFile => "fifo-by-file",
            Self::FifoByBlock => "fifo-by-block",
            Self::ByLevel => "by-level",
        }
    }
}

impl fmt::Display for CachePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for CachePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}, found {text:?}")
        })
    }
}
