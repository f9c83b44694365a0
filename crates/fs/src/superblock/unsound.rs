//! [`Unsound`]: a block in the place of a device's superblocks that is none, and whether that is
//! damage or the trace of a power cut.
//!
//! Superblocks are written one at a time, so a cut hits the newest at most. A device writes whole
//! physical blocks. So a cut leaves a broken block only
//! - where a superblock takes several physical blocks: in the slot that is not in force, or as the
//!   last block of a log's zone;
//! - as the last block of a log's zone, if the zone's pointer passed a block that was not written;
//! - between the two writes of a format: a slot that was cleared and not written. The first close
//!   of the store writes that slot.

use crate::ZonePlace;

/// A block that should be a superblock, and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsound {
    /// The place of the block.
    pub(crate) place: ZonePlace,
    /// A cut that may have left it.
    pub(super) cut: Option<Cut>,
}

/// A power cut that leaves a block which is no superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The power was cut while the block was written.
    OfWrite,
    /// The power was cut before the block was written, and the zone's pointer is after it.
    BeforeWrite,
    /// The power was cut while the device was formatted.
    OfFormat,
}

impl Unsound {
    /// Whether only damage explains it. `closed`: the store was closed in order.
    pub(crate) fn is_damage(&self, closed: bool) -> bool {
        match self.cut {
            Some(Cut::OfWrite) => false,
            Some(Cut::BeforeWrite | Cut::OfFormat) => closed,
            None => true,
        }
    }
}

/// Facts about a block that is no superblock.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) place: ZonePlace,
    /// The block is in a slot; otherwise in a zone of a log.
    pub(super) in_slot: bool,
    /// Nothing is written after the block in its zone.
    pub(super) is_last: bool,
    /// The block begins like a superblock.
    pub(super) is_marked: bool,
    /// A superblock takes several physical blocks.
    pub(super) can_tear: bool,
}

impl Facts {
    pub(super) fn judge(self) -> Unsound {
        let cut = match self {
            Self { in_slot: true, is_marked: false, .. } => Some(Cut::OfFormat),
            Self { in_slot: true, can_tear: true, .. } => Some(Cut::OfWrite),
            Self { in_slot: false, can_tear: true, is_last: true, .. } => Some(Cut::OfWrite),
            Self { in_slot: false, is_marked: false, is_last: true, .. } => Some(Cut::BeforeWrite),
            _ => None,
        };
        Unsound { place: self.place, cut }
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::ZoneId;

    use super::*;

    fn damage(in_slot: bool, is_last: bool, is_marked: bool, can_tear: bool) -> (bool, bool) {
        let place = ZonePlace { zone: ZoneId(0), block: 1 };
        let unsound = Facts { place, in_slot, is_last, is_marked, can_tear }.judge();
        (unsound.is_damage(false), unsound.is_damage(true))
    }

    #[test]
    fn a_block_that_is_written_whole_is_damaged_wherever_it_is_none() {
        for (in_slot, is_last) in [(true, false), (false, true), (false, false)] {
            assert_eq!(damage(in_slot, is_last, true, false), (true, true));
        }
        assert_eq!(damage(false, true, false, false), (false, true), "a pointer passed it");
        assert_eq!(damage(false, false, false, false), (true, true));
        assert_eq!(damage(true, false, false, false), (false, true), "a format was cut");
    }

    #[test]
    fn only_the_newest_superblock_may_be_torn() {
        assert_eq!(damage(true, false, true, true), (false, false));
        assert_eq!(damage(false, true, true, true), (false, false));
        assert_eq!(damage(false, true, false, true), (false, false));
        assert_eq!(damage(false, false, true, true), (true, true));
    }
}
