//! Annotation of a file: facts about it besides its bytes. One part is for placement, the other is
//! opaque to everyone but the file's owner.

use serde::{Deserialize, Serialize};

use crate::ByteCount;

/// How long a file is expected to live, shortest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Dies with the next few compactions: logs, tails that are about to be consumed.
    Short,
    /// Upper levels.
    Medium,
    /// Lower levels.
    Long,
    /// The last level.
    Extreme,
}

/// The smallest and the largest key of a file, both inclusive, in memcmp order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The smallest key.
    pub first: Vec<u8>,
    /// The largest key.
    pub last: Vec<u8>,
}

/// Facts about a file that placement may use: given when the file is created, kept as long as it
/// lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementHint {
    /// The level of the tree the file belongs to, where it belongs to one.
    pub level: Option<u8>,
    /// Files of one stream are written by one job at a time and may share zones.
    pub stream: u16,
    /// How long the file is expected to live.
    pub lifetime: Lifetime,
    /// The keys it holds, where they are known.
    pub keys: Option<KeyRange>,
}

/// A file's annotation. Changed by a transaction, returned by
/// [`Store::info`](crate::Store::info) and [`Store::list`](crate::Store::list).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotation {
    /// The part for placement.
    pub hint: PlacementHint,
    /// Bytes of the file that are known to be of no use any more, though not trimmed.
    pub dead: ByteCount,
    /// The owner's own bytes; the store does not look inside.
    pub opaque: Vec<u8>,
}
