//! A lease of the rest of a zone.
//!
//! Its holder is the only one who writes there. It claims blocks before it submits their write and
//! settles them when the write has completed; in between the lease cannot be taken away. A lease
//! whose holder rests can be, where the device's open zones run short: the next claim then gives
//! nothing, and the holder asks for another region.

use std::sync::Arc;

use terrace_env::ZoneId;

use super::Allocator;
use crate::BlockAddr;

/// See the [module](self). Dropping it lets others write behind what was claimed.
pub(crate) struct Region {
    space: Arc<Allocator>,
    zone: ZoneId,
    lease: u64,
}

impl Region {
    pub(super) fn new(space: Arc<Allocator>, zone: ZoneId, lease: u64) -> Self {
        Self { space, zone, lease }
    }

    /// The zone.
    pub(crate) fn zone(&self) -> ZoneId {
        self.zone
    }

    /// Where the next claim starts and how many blocks are left; `None` if the lease was taken.
    pub(crate) fn rest(&self) -> Option<(BlockAddr, u32)> {
        self.space.rest(self.zone, self.lease)
    }

    /// Takes the next blocks, at most `blocks` of them, for a write that is submitted next; `None`
    /// if nothing is left or the lease was taken away.
    pub(crate) fn claim(&self, blocks: u32) -> Option<(BlockAddr, u32)> {
        self.space.claim(self.zone, self.lease, blocks)
    }

    /// One claimed write has completed. `written`: all of it is in the zone. Of a write that has
    /// failed, [`abandon`](Self::abandon) or [`retire`](Self::retire) comes first.
    pub(crate) fn settle(&self, written: bool) {
        self.space.settle(self.zone, self.lease, written);
    }

    /// A write was not carried out, though the medium has not failed: the zone's pointer is no
    /// longer where the next claim is. Nothing is written to the zone until it has been reset.
    pub(crate) fn abandon(&self) {
        self.space.abandon(self.zone);
    }

    /// The medium failed under a write: nothing is written to the zone any more.
    pub(crate) fn retire(&self) {
        self.space.retire(self.zone);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.space.end_lease(self.zone, self.lease);
    }
}
