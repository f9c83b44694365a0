//! [`CachePolicy`]: the order in which blocks leave a full file cache, and the names of these
//! orders.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Order in which blocks leave a full cache.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// The oldest file as a whole, as in BlueFS's publication (section 5.5): on average half a file
    /// of the room stays empty.
    FifoByFile,
    /// The oldest file block by block, from its beginning.
    FifoByBlock,
    /// The deepest level first, and in it the newest file from its end. A level is compacted the
    /// sooner the higher it is; and in one level compactions go round the keys in a circle, so that
    /// the newest blocks are read last. Files of no level count as deeper than all levels, and
    /// leave before them, the oldest first from its beginning.
    #[default]
    ByLevel,
}

impl CachePolicy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FifoByFile, Self::FifoByBlock, Self::ByLevel];

    /// Name of the policy.
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
