//! [`ZonePlace`]: a position in a zone. It consists of the zone and of a number of blocks from the
//! zone's start. It may be the zone's end, which has no address of its own.

use std::fmt;

use terrace_env::{Lba, ZoneId};
use terrace_zone::Geometry;

use crate::block::logical_per_block;

/// A place in a zone: where a zone is written next. At the zone's end it is one that no block has,
/// where the block's [address](super::BlockAddr) would be one of the next zone. In memory only;
/// what is recorded is an address.
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
