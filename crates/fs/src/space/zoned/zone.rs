//! [`Zone`]: use and contents of one zone, and values that follow from them. Sizes are in blocks. A
//! zone that is in a [`ZoneTable`](super::ZoneTable) changes through the table alone.

use terrace_policy::RECLAIM_STREAM;

use crate::space::Share;

/// Use of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Holds nothing. It may show old bytes until it is reset, which is done when it is taken.
    Free,
    /// Holds data and has no writer.
    Written,
    /// A writer holds it, or it is on its way from one condition to another.
    Leased,
    /// Holds the journal.
    Journal,
    /// Holds the superblock.
    Superblock,
    /// The zone is not used: conventional, or too small.
    Unused,
    /// Can be read and never written again; counted like a written zone.
    ReadOnly,
    /// Gone. Its blocks are still counted, so that files can be deleted.
    Offline,
}

impl Condition {
    /// Whether files may have bytes in it.
    pub(crate) fn holds_data(self) -> bool {
        matches!(self, Self::Free | Self::Written | Self::Leased | Self::ReadOnly | Self::Offline)
    }
}

/// A zone; sizes in blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone {
    pub(crate) condition: Condition,
    pub(crate) capacity: u32,
    /// The next block to write; the capacity once it is finished.
    pub(crate) written: u32,
    pub(crate) live: u32,
    pub(crate) unsealed: u32,
    pub(crate) pinned: u32,
    /// Must be reset before it is written.
    pub(crate) stale: bool,
    /// Takes one of the device's active slots, or may: from the moment at which it is leased until
    /// the device has said that it is full, finished or empty.
    pub(crate) active: bool,
    /// Reclaim has failed on it and leaves it alone until the next mount.
    pub(crate) quarantined: bool,
    /// The levels that tables in it had when they were deleted, added up; of tables that were
    /// deleted before the mount nothing is known.
    pub(crate) levels_dead: u64,
    /// When the youngest of its bytes were written, in blocks written to the drive since the mount;
    /// 0 before the mount. Blocks that reclaim has moved under its own stream keep their age.
    pub(crate) written_at: u64,
    /// The level and stream of the file that was written to it last.
    pub(crate) level: Option<u8>,
    pub(crate) stream: u16,
    /// The reservation whose writers alone may go on in it; 0 for none.
    pub(crate) holder: u64,
}

impl Zone {
    /// A zone that is not written.
    pub(crate) fn empty(condition: Condition, capacity: u32) -> Self {
        Self {
            condition,
            capacity,
            written: 0,
            live: 0,
            unsealed: 0,
            pinned: 0,
            stale: false,
            active: false,
            quarantined: false,
            levels_dead: 0,
            written_at: 0,
            level: None,
            stream: 0,
            holder: 0,
        }
    }

    /// Blocks that can still be written without a reset.
    pub(crate) fn room(&self) -> u32 {
        debug_assert!(self.written <= self.capacity, "{self:?}");
        self.capacity - self.written
    }

    /// Blocks that are referred to.
    pub(super) fn used(&self) -> u32 {
        self.live + self.unsealed + self.pinned
    }

    /// Written blocks without a reference, which a reset would give back: none where the zone has
    /// failed.
    pub(crate) fn dead(&self) -> u32 {
        match self.condition {
            Condition::Free | Condition::Written | Condition::Leased => self.written - self.used(),
            _ => 0,
        }
    }

    pub(super) fn is_partly(&self) -> bool {
        self.condition == Condition::Written && self.room() > 0
    }

    /// Whether it can be emptied: pinned blocks would keep it, unsealed files are not moved, and
    /// zones of a reservation belong to its job.
    fn is_movable(&self) -> bool {
        self.condition == Condition::Written
            && !self.quarantined
            && self.unsealed == 0
            && self.pinned == 0
            && self.holder == 0
    }

    /// Whether emptying it would give something back.
    pub(super) fn is_candidate(&self) -> bool {
        self.is_movable() && self.dead() > 0
    }

    /// Whether it has room that reclaim can gather elsewhere.
    pub(super) fn is_scattered(&self) -> bool {
        self.is_movable() && self.room() > 0 && self.stream != RECLAIM_STREAM
    }

    /// Whether it has room in which reclaim gathers moved blocks.
    pub(super) fn is_gathering(&self) -> bool {
        self.is_partly() && self.holder == 0 && self.stream == RECLAIM_STREAM
    }

    pub(super) fn share(&mut self, share: Share) -> &mut u32 {
        match share {
            Share::Live => &mut self.live,
            Share::Unsealed => &mut self.unsealed,
            Share::Pinned => &mut self.pinned,
        }
    }

    /// Makes a written zone of which nothing is used free. It keeps its active slot until it is
    /// reset.
    pub(super) fn settle(&mut self) {
        if self.condition == Condition::Written && self.used() == 0 {
            let empty = Self::empty(Condition::Free, self.capacity);
            let stale = self.stale || self.written > 0;
            *self = Self { stale, active: self.active, ..empty };
        }
    }
}
