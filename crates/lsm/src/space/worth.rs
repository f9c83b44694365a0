//! Whether compactions that only free space are worth the bytes that they move.
//!
//! An overwritten entry lies in an older table than the entry that hides it. So compactions free at
//! most the bytes of tables that have an older table below them, the entries that tombstones of
//! these tables hide, and the dead bytes of the medium. To free them, compactions rewrite the
//! tables below, where the key ranges overlap. Example: a store of 1 GB has 20 MB above older
//! tables, and their keys are spread over all of it. To free these 20 MB, compactions move about 1
//! GB: 50 bytes for one. If the 20 MB overlap only 100 MB of it, it is 6 bytes for one.
//!
//! Up to [`MOVED_FOR_SPACE_MAX`] bytes for one, compactions go on while space is short. Beyond
//! that, only compactions for the shape of the tree are carried out, and none to free space.
//! A put that finds no space is then refused, until more is overwritten or deleted. A range
//! tombstone may hide everything, so compactions are worth it while a table with one lies above an
//! older table.
//!
//! Sizes and counts come from the tables' records. Memtables do not count.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_policy::Place;

use crate::limits::MOVED_FOR_SPACE_MAX;
use crate::tree::{Run, Segment, Version};

/// Sums over all tables: the bytes that compactions could free, and those that they would move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Bytes of all tables.
    pub(super) bytes: u64,
    entries: u64,
    /// Bytes of the tables that have an older table below them or a newer one above them.
    meeting: u64,
    tombstones: u64,
    /// Bytes of the tables that have an older table below them.
    pub(super) above: u64,
    /// Tombstones of the tables that have an older table below them.
    hiding: u64,
    /// Whether one of those has a range tombstone.
    ranges: bool,
}

impl Sums {
    pub(super) fn of(version: &Version) -> Self {
        let mut sums = Self::default();
        for (place, run) in version.places() {
            let (newer, older): (Vec<_>, Vec<_>) = version
                .places()
                .filter(|(other, _)| other.age() != place.age())
                .partition(|(other, _)| other.age() < place.age());
            for segment in &run.segments {
                let meets = |runs: &[(Place, &Arc<Run>)]| {
                    runs.iter().any(|(_, run)| !run.overlapping(&segment.span).1.is_empty())
                };
                let is_above = meets(&older);
                sums.add(segment, is_above, is_above || meets(&newer));
            }
        }
        debug_assert!(sums.above <= sums.meeting && sums.meeting <= sums.bytes, "{sums:?}");
        debug_assert!(sums.hiding <= sums.tombstones, "{sums:?}");
        sums
    }

    fn add(&mut self, segment: &Segment, is_above: bool, meets: bool) {
        let record = segment.table.record();
        self.bytes += segment.size.0;
        self.entries += record.entries;
        self.tombstones += record.tombstones;
        self.meeting += if meets { segment.size.0 } else { 0 };
        if is_above {
            self.above += segment.size.0;
            self.hiding += record.tombstones;
            self.ranges |= record.ranges.is_some();
        }
    }

    fn is_worth(&self, dead: ByteCount) -> bool {
        let with_value = self.entries.saturating_sub(self.tombstones).max(1);
        let hidden = self.hiding.saturating_mul(self.bytes / with_value);
        let freed = self.above.saturating_add(hidden).saturating_add(dead.0);
        self.ranges || self.pays(freed)
    }

    /// Whether compactions that free these bytes are worth it.
    pub(super) fn pays(&self, freed: u64) -> bool {
        freed > 0 && freed.saturating_mul(MOVED_FOR_SPACE_MAX) >= self.meeting
    }
}

/// Whether compactions of this tree can free a byte for at most [`MOVED_FOR_SPACE_MAX`] that they
/// move. `dead`: the dead bytes of the medium.
pub(crate) fn is_worth(version: &Version, dead: ByteCount) -> bool {
    Sums::of(version).is_worth(dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store of 1,000 entries of 100 bytes each.
    const STORE: Sums = Sums {
        bytes: 100_000,
        entries: 1000,
        meeting: 100_000,
        tombstones: 0,
        above: 0,
        hiding: 0,
        ranges: false,
    };

    #[test]
    fn a_25th_of_the_store_must_be_overwritten_deleted_or_dead() {
        assert!(!Sums { above: 3999, ..STORE }.is_worth(ByteCount(0)));
        assert!(Sums { above: 4000, ..STORE }.is_worth(ByteCount(0)));
        assert!(Sums { above: 3000, ..STORE }.is_worth(ByteCount(1000)), "dead bytes count");
        let deletes = |count| Sums { tombstones: count, hiding: count, above: 100, ..STORE };
        assert!(!deletes(30).is_worth(ByteCount(0)));
        assert!(deletes(40).is_worth(ByteCount(0)), "each hides an entry of about 100 bytes");
    }

    #[test]
    fn tombstones_hide_nothing_in_the_oldest_tables_and_ranges_may_hide_all() {
        assert!(!Sums { tombstones: 900, ..STORE }.is_worth(ByteCount(0)));
        assert!(Sums { ranges: true, ..STORE }.is_worth(ByteCount(0)));
        assert!(!Sums::default().is_worth(ByteCount(0)), "nothing to free");
    }

    #[test]
    fn only_tables_that_meet_others_are_moved() {
        let narrow = Sums { above: 1000, meeting: 20_000, ..STORE };
        assert!(narrow.is_worth(ByteCount(0)));
        assert!(!Sums { meeting: 30_000, ..narrow }.is_worth(ByteCount(0)));
    }
}
