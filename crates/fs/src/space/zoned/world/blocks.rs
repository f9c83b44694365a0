//! [`Blocks`]: the blocks of one zone in the test `world`, by content, and the [`Zone`] with those
//! counts.

use terrace_policy::RECLAIM_STREAM;

use super::super::{Condition, Zone};

/// Blocks of a zone.
pub(super) const ZONE: u32 = 2;

/// Contents of a zone: blocks of data, of tombstones, of a log; those that are pinned and dead;
/// whether reclaim writes to it. The rest is room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Blocks {
    pub(super) data: u8,
    pub(super) tombstones: u8,
    pub(super) log: u8,
    pub(super) pinned: u8,
    pub(super) written: u8,
    pub(super) gathered: bool,
}

impl Blocks {
    pub(super) fn live(self) -> u8 {
        self.data + self.tombstones
    }

    pub(super) fn is_free(self) -> bool {
        self.live() + self.log + self.pinned == 0
    }

    pub(super) fn zone(self) -> Zone {
        if self.is_free() {
            return Zone::empty(Condition::Free, ZONE);
        }
        Zone {
            written: self.written.into(),
            live: self.live().into(),
            unsealed: self.log.into(),
            pinned: self.pinned.into(),
            stream: if self.gathered { RECLAIM_STREAM } else { 1 },
            ..Zone::empty(Condition::Written, ZONE)
        }
    }
}
