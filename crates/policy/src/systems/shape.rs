//! [`StoreShape`]: sizes of a store. From them a system derives values that no parameter gives,
//! such as the sizes of tables and levels, the number of tiers, and when SMRDB's bands are merged.
//! They also say how large a table may be at most, and how much data the store has room for.
//!
//! The shape is not recorded in the store: with other memtables at the next opening, it is another.

use terrace_env::ByteCount;

/// The store that a system runs on, as far as its parameters depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreShape {
    /// All bytes that files could ever occupy.
    pub capacity: ByteCount,
    /// The capacity of an ordinary zone; `None` where tables lie on a device without zones, or in a
    /// plain directory.
    pub zone_capacity: Option<ByteCount>,
    /// On shingled tracks, the longest guard of a file: the bytes after it that a write to the file
    /// may destroy. 0 elsewhere.
    pub guard: ByteCount,
    /// On shingled tracks, the bytes that puts leave to the journal, deletes, flushes, compaction
    /// and reclaim, guards included. 0 elsewhere.
    pub kept: ByteCount,
    /// A memtable that has grown to this is flushed.
    pub memtable_size: ByteCount,
}

/// The least number of tables that a store has room for: a merge of one table with the ten that it
/// overlaps then takes less than a fifth of it.
const TABLES_IN_STORE: u64 = 64;

/// Zones that tables do not come to fill: the journal's, those that the file system keeps for the
/// ranks of its writers, the log's, and those that are written.
pub const ZONES_KEPT: u64 = 15;
/// Capacity that they leave free, in memtables: level 0 as far as it grows before writers wait,
/// twelve, and the logs of the memtables before it.
pub const MEMTABLES_KEPT: u64 = 16;

/// The unit in which the file system's journal takes space where there are no zones. On shingled
/// tracks a guard comes with it.
const JOURNAL_UNIT: u64 = 1 << 20;
/// Units that the journal takes while a snapshot is written. Without guards, their share is part of
/// the space that rows leave free.
const JOURNAL_UNITS: u64 = 4;

/// Memtables whose space puts need at once in addition to the tables, each with a guard: the log,
/// the log that is made ahead of it, the flush of the memtable that is filled, and the flush
/// before.
const MEMTABLES_WRITTEN: u64 = 4;

/// Least percentage of the space that is not kept that can be live while lack of space drives
/// compactions: tables of upper levels, entries that are hidden and guards take the rest. Row
/// `bluefs` with tracks of 1 MiB and an overlap of 2 took 82 % of it on a device of 96 MiB, and 73
/// % on one of 128 MiB, until a put was refused.
const LIVE_BESIDE_KEPT: u64 = 70;

impl StoreShape {
    /// Bytes of the store that tables may take: its capacity less [`ZONES_KEPT`] and
    /// [`MEMTABLES_KEPT`]. Where there are no zones, less the latter only, and on shingled tracks
    /// less the guards of the journal.
    #[must_use]
    pub fn for_data(&self) -> ByteCount {
        let zones = self.zone_capacity.map_or(0, |zone| zone.0.saturating_mul(ZONES_KEPT));
        let memtables = self.memtable_size.0.saturating_mul(MEMTABLES_KEPT);
        let guard = self.guard.0.div_ceil(JOURNAL_UNIT).saturating_mul(JOURNAL_UNIT);
        let guards = guard.saturating_mul(JOURNAL_UNITS);
        let kept = zones.saturating_add(memtables).saturating_add(guards);
        ByteCount(self.capacity.0.saturating_sub(kept))
    }

    /// On shingled tracks, the most bytes that can live in addition to the [kept](Self::kept) space
    /// and the [memtables](MEMTABLES_WRITTEN) that are written. `together` is as in
    /// [`beside_guards`](Self::beside_guards). `None` elsewhere: there, the kept space is part of
    /// the space that rows leave free.
    ///
    /// The remaining space has to hold the tables and the guards between them. Tables that lie
    /// together have few guards between them. Where tables are short compared with a guard, the
    /// fifty-percent rule counts too many: neighbouring holes become one.
    pub(super) fn beside_kept(&self, together: ByteCount) -> Option<ByteCount> {
        if self.guard == ByteCount(0) {
            return None;
        }
        let memtable = self.memtable_size.0.saturating_add(self.guard.0);
        let kept = self.kept.0.saturating_add(memtable.saturating_mul(MEMTABLES_WRITTEN));
        let rest = self.capacity.0.saturating_sub(kept);
        let least = ByteCount(rest / 100 * LIVE_BESIDE_KEPT);
        Some(self.beside_guards(rest, together).max(least))
    }

    /// The part of `bytes` that tables can take if groups of them, of `together` bytes that lie one
    /// after the other, come and go in random order: guards between the groups take the rest.
    ///
    /// In free space that is used so, there is a hole for every second request (Knuth, The Art of
    /// Computer Programming, volume 1, section 2.5, "the fifty-percent rule"). A hole is longer by
    /// a guard than the data that can be written to it. So two requests take the space of their
    /// bytes and of a guard.
    pub(super) fn beside_guards(&self, bytes: u64, together: ByteCount) -> ByteCount {
        let tables = 2 * u128::from(together.0);
        let part = u128::from(bytes) * tables / (tables + u128::from(self.guard.0)).max(1);
        ByteCount(part as u64)
    }

    /// A store on a device without zones, for tests.
    #[cfg(test)]
    pub(super) fn without_zones(capacity: ByteCount, memtable_size: ByteCount) -> Self {
        let (guard, kept) = (ByteCount(0), ByteCount(0));
        Self { capacity, zone_capacity: None, guard, kept, memtable_size }
    }

    /// The largest table whose compactions the store has room for.
    pub(super) fn table_size_max(&self) -> ByteCount {
        ByteCount((self.capacity.0 / TABLES_IN_STORE).max(1))
    }
}
