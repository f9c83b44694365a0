//! [`ZonePlace`]: a position in a zone, as the zone and a number of blocks from its start.
//!
//! Unlike a [`BlockAddr`](super::BlockAddr), it can name the end of a zone, after the last block.
//! The address that is computed for that end can be the one of the next zone's first block.

use std::fmt;

use terrace_env::{Lba, ZoneId};
use terrace_zone::Geometry;

use crate::block::logical_per_block;

/// A place in a zone, such as where the zone is written next. It may be the zone's end, where no
/// block of the zone is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZonePlace {
    /// The zone.
    pub zone: ZoneId,
    /// The block, counted from the zone's start.
    pub block: u32,
}

impl ZonePlace {
    /// The first logical block on a device of this shape.
    #[must_use]
    pub fn lba(self, geometry: &Geometry) -> Lba {
        let per_block = logical_per_block(geometry);
        Lba(geometry.zone_start(self.zone).0 + u64::from(self.block) * per_block)
    }
}

impl fmt::Display for ZonePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zone {} block {}", self.zone, self.block)
    }
}
