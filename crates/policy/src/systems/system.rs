//! [`System`]: a [row](super::row) with chosen parameters.
//!
//! [`System::placement`], [`System::reclaim`] and [`System::compaction`] make the deciders. They do
//! not check the parameters: call [`System::check`] first, with the store that the deciders are
//! for.

use std::sync::Arc;

use terrace_env::{ByteCount, OutOfRange};

use super::{ParameterText, Row, RowParts, StoreShape, leveldb, text};
use crate::{
    Compaction, Fit, GearRepairs, GearVariant, LeveledOptions, LoadAware, LoadRule, MOVES_TOGETHER,
    Placement, Reclaim, Throttle, Victim, ZoneAge, ZonesSource,
};

/// The least number of tables of a requested size that a store must have room for: one that is
/// rewritten, those that it meets, and their outputs. Tables of the rows' own sizes are smaller.
const TABLES_IN_STORE_MIN: u64 = 8;

/// Requests that are larger than usual are at most this part of the memory budget.
const IO_SIZE_PART: u64 = 160;

/// A system: a row of choices, and their parameters.
///
/// A parameter has a range; [`check`](System::check) says why its ends are where they are.
///
/// Any store can be opened under any system, whatever system wrote it: levels that break the layout
/// of the new one are drained by compactions. Over a plain directory, which has no zones, a system
/// is only its compaction.
///
/// As text it is its name, and after a colon the parameters that are not the row's own:
///
/// ```
/// use terrace_policy::{ByteCount, System};
///
/// let system: System = "leveldb-greedy:factor=4,table_size=4MiB".parse()?;
/// assert_eq!(system.table_size, Some(ByteCount::mib(4)));
/// assert_eq!(system.to_string(), "leveldb-greedy:factor=4,table_size=4MiB");
/// # Ok::<(), terrace_policy::ParseSystemError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// The row of deciders.
    pub row: Row,
    /// How many runs collect in level 0 before they are compacted. More: less compaction, slower
    /// reads. Unless `level0_slow` and `level0_stop` say otherwise, writers are slowed from twice
    /// as many on, and three times as many should not be exceeded. Range: 1 to 1000.
    pub level0_runs: u16,
    /// Number of runs in level 0 from which on writers are slowed; `None`: twice `level0_runs`, or
    /// `level0_stop` if that is less. Range: 1 to 1000, and at most `level0_stop`.
    pub level0_slow: Option<u16>,
    /// How many runs level 0 should have at most; `None`: three times `level0_runs`. Range: 1 to
    /// 1000, and at least `level0_runs`.
    pub level0_stop: Option<u16>,
    /// How writers are slowed when compactions are late; `None`: as the row has it. By LevelDB's
    /// rule a load that the drive limits keeps 8 to 12 runs in level 0, and all levels grow to two
    /// or three times their targets. Off: never slowed; level 0 grows as long as there is space.
    pub throttle: Option<Throttle>,
    /// How many tables' worth a compaction may take when it grows by neighbours that meet nothing
    /// more in the next level; LevelDB has 25. 0: it does not grow. `None`: as the row has it.
    /// Range: 0 to 1000.
    pub growth: Option<u16>,
    /// Whether a table is moved down unread only if it overlaps at most ten tables of the level
    /// after its new one, as LevelDB has it. Without: less is written now, and a later compaction
    /// may be large.
    pub check_moves: bool,
    /// Bytes of a table for each point read that may search it without success: after that number
    /// of reads that had to go on to another table, it is merged into the next level. 0: reads have
    /// nothing merged. `None`: as the row has it; LevelDB has 16 KiB (`db/version_set.cc`,
    /// `allowed_seeks`). Range: 0 to 1 GiB.
    pub seek_cost: Option<ByteCount>,
    /// How many successive choices that only move tables are one commit at most; `None`: as the row
    /// has it. LevelDB commits each move (`db/db_impl.cc`, `BackgroundCompaction`), which costs a
    /// disk a revolution. Range: 1 to 64.
    pub moves_together: Option<u16>,
    /// Whether the overlap of a table of full size with the level after its own counts towards the
    /// ten tables that the next output may overlap, as LevelDB counts. Then some tables are
    /// smaller, and compactions meet a little less.
    pub carry_overlap: bool,
    /// The size of level 1; `None`: in proportion to the memtables, as the row has it. Larger
    /// means fewer levels, and larger compactions into level 1. Range: 1 KiB to 1024 TiB.
    pub level1_size: Option<ByteCount>,
    /// How much larger each further level is. Larger: fewer levels to read, more rewriting per
    /// level. Range: 2 to 1000.
    pub factor: u16,
    /// How many levels there are, level 0 included, where levels have sizes. The last one has no
    /// limit, so with fewer levels less is rewritten until it is large, and each merge into it
    /// meets more. A store that has more levels keeps them. Range: 2 to 7, and more than
    /// `flush_level`.
    pub levels: u8,
    /// The size of a table; `None`: as the row has it. Larger: fewer files, longer sequential
    /// writes; smaller: compactions go in smaller bites and need less free space. Range: 2 KiB to
    /// 16 GiB, and at most an eighth of the device.
    pub table_size: Option<ByteCount>,
    /// Whether the collector goes first: no compaction begins before the collector has reached
    /// `free_min`, or finds nothing that is worth it, as where one thread does both in turn.
    /// Otherwise they share the drive, and the collector may be late.
    pub collector_first: bool,
    /// Space is reclaimed, unasked, when fewer zones are free: in percent of all. More: longer
    /// bursts find free zones, and live data is copied more often. Range: 0 to 90.
    pub free_min: u8,
    /// Unasked, a zone is emptied only if it gives this much, in percent of a zone. More: less is
    /// copied for the freed bytes, and more lies dead meanwhile. While a writer waits for space,
    /// any zone that gives some is emptied. Range: 1 to 100.
    pub gain_min: u8,
    /// How many runs of a tier go down together, where there are tiers. Writers are slowed from
    /// twice as many in level 0 on. More: less rewriting, slower reads, and more space. Range: 2 to
    /// 100.
    pub tier_runs: u16,
    /// The most older bytes that a merge into the deepest tier takes along for each newer one,
    /// where there are tiers: small runs of this tier, and a slice of it and of the last level.
    /// Then the deepest tier does not go down as a whole. 0: it does. More: fewer runs to read, and
    /// more rewriting. Range: 0 to 100.
    pub along_max: u16,
    /// How large all tiers together grow before slices go down, in percent of the last level,
    /// where there are slices. More: less rewriting, slower reads, and more space. Range: 1 to 400.
    pub tier_share: u16,
    /// How many further tables of a level go down together at most, where levels are swept and that
    /// spares rewriting. More: less is written, in larger compactions. Range: 0 to 100.
    pub extra_tables: u16,
    /// Whether tables that the next compaction consumes go to zones of their own, where levels are
    /// swept. Without: fewer zones are open, and holes stay in those of the level.
    pub tzone: bool,
    /// Whether a merge is written by one worker, where levels are swept, so that a zone holds one
    /// interval of keys. Without: merges take all processors, and more zones.
    pub in_order: bool,
    /// How many compactions may run at once, where the row's deciders can tell which plans are
    /// free of the claims of others. More: level 0 does not wait for a large merge further
    /// down; each takes memory and space of its own, and a disk goes back and forth between
    /// them. Range: 1 to 8.
    pub jobs: u16,
    /// Number of compaction windows of a level. More: less of a level lies dead at a time, and
    /// upper levels hold more. Range: 1 to 100.
    pub windows: u16,
    /// Part of its size, in percent, from which on a merged table ends where a table of the level
    /// after its own ends. Less: compactions read and write fewer tables that they hardly overlap,
    /// and tables are smaller; where they own zones, more of these stays empty. 100: tables end at
    /// their size, as LevelDB's do. Range: 10 to 100.
    pub aligned_from: u8,
    /// The deepest level that a flush may go to, where nothing of its keys is on the way. More: a
    /// load in key order is written once, and level 0 is for overlapping tables; LevelDB has 2.
    /// Range: 0 to 6.
    pub flush_level: u8,
    /// Number of others that a band of the ordered level overlaps, from which on bands of that
    /// level are merged, where bands may overlap; `None`: twice the square root of the number of
    /// its bands. More: less is rewritten, reads meet more bands, and more overwritten data lies in
    /// older ones. Range: 1 to 10,000.
    pub overlap_bands: Option<u16>,
    /// The variant of gear compaction: with repairs, or as the authors' code or the paper has it,
    /// for comparisons.
    pub variant: GearVariant,
    /// Constants of the repairs of gear compaction, for comparisons.
    pub repairs: GearRepairs,
    /// The age of a zone, to a collector that weighs cost and benefit; the paper's sum can be read
    /// in two ways. By live tables, zones that are about 40 % live go first, and over half as much
    /// again is moved.
    pub zone_age: ZoneAge,
    /// Whether a collector that weighs cost and benefit sees all zones, and not 64 of them, for
    /// comparisons. With: a choice takes as long as there are many zones, and no less is moved.
    pub all_candidates: bool,
    /// Which table of a level goes down, where merges write sets: the one at the level's pointer;
    /// the first of the set with the most dead tables; or the one at the pointer, with the
    /// remaining tables of mostly dead sets next to its keys.
    pub victim: Victim,
    /// Whether tables of level 0 own whole zones, too, where tables own zones. With: a
    /// flushed table that is smaller than its zone leaves the rest empty. Without: they share.
    pub level0_apart: bool,
    /// Where a table begins in the free space of a device without zones. Best: small holes are
    /// filled, and the space after all data stays in one piece. Next: tables lie in the order in
    /// which they are written, and holes are left.
    pub fit: Fit,
    /// How much of a set may be left for that, in percent of the set. More: fewer holes between the
    /// remainders of sets, and more is written. 0: nothing is taken along. Range: 0 to 100.
    pub rest_max: u8,
    /// Whether a merge that writes a set takes whole tables, as LevelDB does. Without: a set ends
    /// where the next one begins, less is written, and hardly anything is dead in sets.
    pub whole_inputs: bool,
    /// Whether a compaction reads tables that lie one after the other by one request, as far as
    /// memory allows, where merges write sets. Without: it reads each table in pieces, so that a
    /// disk's head goes to and fro between the tables; and it takes less memory.
    pub set_reads: bool,
    /// When compactions are carried out. Off: when the row has them due. Aware: when they pay, or
    /// must be; see [`LoadAware`]. Eager: as long as there is anything to merge, for comparisons.
    /// Idle: when they are due, and as long as there is anything to merge once writers rest.
    pub load: LoadRule,
    /// The most older bytes that a compaction may rewrite for each newer one, where `load` is
    /// aware. More: scans meet fewer bytes that wait, and more is written. Range: 1 to 100.
    pub rewrite_max: u16,
    /// Whether the indexes of new tables have the first key of each data block, where the store
    /// remembers nothing about it. On: a scan reads a block of a run only when its first key is the
    /// next of all runs; indexes take half as much memory again.
    pub first_keys: bool,
    /// Least size of a data block in the last level, unless its key space has a block size of its
    /// own; 0: as in the levels above. Larger: the indexes of the last level, which are most of all
    /// indexes, take less memory, and a point read transfers more. Range: 0 to 1 MiB.
    pub last_block_size: ByteCount,
}

impl Default for System {
    fn default() -> Self {
        Self::of(Row::Bluefs)
    }
}

impl System {
    /// The longest text of a system whose parameters are within their ranges, in bytes, and room
    /// for more parameters.
    pub const TEXT_BYTES_MAX: usize = 1024;

    /// A row with this collector, and otherwise the values of all rows.
    pub(super) const fn row(row: Row, (free_min, gain_min): (u8, u8)) -> Self {
        Self {
            row,
            level0_runs: 4,
            level0_slow: None,
            level0_stop: None,
            throttle: None,
            growth: None,
            check_moves: false,
            seek_cost: None,
            moves_together: None,
            carry_overlap: false,
            level1_size: None,
            factor: 10,
            levels: 7,
            table_size: None,
            collector_first: false,
            free_min,
            gain_min,
            tier_runs: 4,
            along_max: 0,
            tier_share: 25,
            extra_tables: 1,
            tzone: true,
            in_order: true,
            jobs: 1,
            windows: 4,
            aligned_from: 100,
            flush_level: 0,
            overlap_bands: None,
            variant: GearVariant::Repaired,
            repairs: GearRepairs::OWN,
            zone_age: ZoneAge::Written,
            all_candidates: false,
            victim: Victim::Bounded,
            level0_apart: false,
            fit: Fit::Best,
            rest_max: 50,
            whole_inputs: true,
            set_reads: true,
            load: LoadRule::Off,
            rewrite_max: 10,
            first_keys: false,
            last_block_size: ByteCount(0),
        }
    }

    /// The row with its own parameters.
    #[must_use]
    pub const fn of(row: Row) -> Self {
        row.parts().own
    }

    /// Every system, with its own parameters.
    #[must_use]
    pub fn all() -> Vec<Self> {
        Row::ALL.into_iter().map(Self::of).collect()
    }

    /// The names of the parameters that any system has, as they are read.
    #[must_use]
    pub fn parameters() -> Vec<&'static str> {
        text::all_parameters()
    }

    /// The parameters that the system has, with their values, by name in alphabetical order.
    #[must_use]
    pub fn described_parameters(&self) -> Vec<ParameterText> {
        let parameters = self.row.parts().parameters();
        parameters.into_iter().map(|parameter| parameter.described(self)).collect()
    }

    /// Name of the row.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.row.name()
    }

    /// The row in a line.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.row.summary()
    }

    /// Where files go.
    #[must_use]
    pub fn placement(&self) -> Arc<dyn Placement> {
        (self.row.parts().placement)(self)
    }

    /// Which zones are emptied.
    #[must_use]
    pub fn reclaim(&self) -> Arc<dyn Reclaim> {
        (self.row.parts().reclaim)(self)
    }

    /// Which tables are merged. `zones`: where the store's files lie, for the systems that look at
    /// it.
    #[must_use]
    pub fn compaction(
        &self,
        store: &StoreShape,
        zones: Arc<dyn ZonesSource>,
    ) -> Arc<dyn Compaction> {
        let row = (self.row.parts().compaction)(self, store, zones);
        match self.load {
            LoadRule::Off => row,
            rule => Arc::new(LoadAware::new(row, rule, self.rewrite_max, store.capacity)),
        }
    }

    /// Bytes of keys and values that can live in this store, and be overwritten in random order
    /// without end. A store takes more, up to a part of the space that the systems hide and keep;
    /// then writes may be refused, until data are deleted. On shingled tracks it is less, the
    /// longer a guard is compared with a table.
    #[must_use]
    pub fn live_max(&self, store: &StoreShape) -> ByteCount {
        let bytes = store.for_data().0 / 100 * self.row.live_max();
        let together = self.table_size(store).0.saturating_mul(self.row.parts().tables_together);
        let together = ByteCount(together);
        let room = store.beside_guards(bytes, together);
        store.beside_kept(together).map_or(room, |most| room.min(most))
    }

    /// Checks that all parameters that the row has are within their ranges, and that compactions of
    /// tables of an asked-for size have room in the store. A parameter that is refused here could
    /// make writes fail later.
    pub fn check(&self, store: &StoreShape) -> Result<(), OutOfRange> {
        self.row.parts().parameters().iter().try_for_each(|parameter| parameter.check(self))?;
        let (slow, stop) = (self.level0_slow(), self.level0_stop());
        let relation = |option: &str, found: u16, expected: String, reason: &'static str| {
            let option = format!("{option} of {}", self.name());
            Err(OutOfRange::relation(&option, found, expected, reason))
        };
        if slow > stop {
            let expected = format!("at most {stop}, which is level0_stop");
            let reason = "writers are slowed before they are stopped";
            return relation("level0_slow", slow, expected, reason);
        }
        if stop < self.level0_runs {
            let expected = format!("at least {}, which is level0_runs", self.level0_runs);
            let reason =
                "writers that are stopped wait for a compaction, which begins at that many";
            return relation("level0_stop", stop, expected, reason);
        }
        if self.levels <= self.flush_level {
            let least = self.flush_level.saturating_add(1);
            let expected = format!("at least {least}, as flush_level is {}", self.flush_level);
            let reason = "a flush goes to a level that there is";
            return relation("levels", self.levels.into(), expected, reason);
        }
        let most = ByteCount(store.capacity.0 / TABLES_IN_STORE_MIN);
        match self.table_size.filter(|size| *size > most) {
            Some(size) => Err(OutOfRange::relation(
                &format!("table_size of {}", self.name()),
                size,
                format!("at most {most} in a store of {}", store.capacity),
                "compactions of a table have to fit next to the existing tables",
            )),
            None => Ok(()),
        }
    }

    /// The size of a table in this store.
    #[must_use]
    pub fn table_size(&self, store: &StoreShape) -> ByteCount {
        let fitted = (self.row.parts().table_size)(self, store);
        self.table_size.unwrap_or(fitted).max(ByteCount(1))
    }

    /// Size of the requests of flushes and compactions in a store with this memory budget: the
    /// row's, but no more than a 160th of the budget where that is more than usual. Each table that
    /// is written takes two and a half times as much.
    #[must_use]
    pub fn io_size(&self, memory: ByteCount) -> ByteCount {
        let most = ByteCount(memory.0 / IO_SIZE_PART).max(RowParts::IO_SIZE);
        self.row.parts().io_size.min(most)
    }

    /// The cost of a search without success: the parameter, or the row's value; see [`seek_cost`].
    ///
    /// [`seek_cost`]: Self#structfield.seek_cost
    #[must_use]
    pub fn seek_cost(&self) -> ByteCount {
        let is_code = self.row == Row::Geardb && self.variant == GearVariant::Code;
        let own = if is_code { Some(leveldb::SEEK_COST) } else { Self::of(self.row).seek_cost };
        self.seek_cost.or(own).unwrap_or_default()
    }

    fn level0_slow(&self) -> u16 {
        let twice = self.level0_runs.saturating_mul(2);
        self.level0_slow.unwrap_or(twice.min(self.level0_stop()))
    }

    fn level0_stop(&self) -> u16 {
        self.level0_stop.unwrap_or(self.level0_runs.saturating_mul(3))
    }

    /// The parameters of leveled compaction in this store, where level 1 is `level1_size` large
    /// unless the system says otherwise.
    pub(super) fn leveled(&self, store: &StoreShape, level1_size: ByteCount) -> LeveledOptions {
        let runs = usize::from(self.level0_runs.max(1));
        let own = Self::of(self.row);
        let growth = self.growth.or(own.growth).unwrap_or_default();
        let moves_together = self.moves_together.or(own.moves_together);
        LeveledOptions {
            level0_runs: runs,
            level0_slow: usize::from(self.level0_slow().max(1)),
            level0_stop: usize::from(self.level0_stop().max(1)),
            throttle: self.throttle.or(own.throttle).unwrap_or_default(),
            growth: growth.into(),
            check_moves: self.check_moves,
            seek_cost: self.seek_cost(),
            moves_together: moves_together.map_or(MOVES_TOGETHER, usize::from),
            carry_overlap: self.carry_overlap,
            level1_size: self.level1_size.unwrap_or(level1_size).max(ByteCount(1)),
            factor: u32::from(self.factor.max(2)),
            table_size: self.table_size(store),
            levels: usize::from(self.levels.max(2)),
            aligned_from: self.aligned_from,
            flush_level: usize::from(self.flush_level),
            jobs: usize::from(self.jobs.max(1)),
            whole_inputs: self.whole_inputs,
            set_reads: self.set_reads,
            ..LeveledOptions::default()
        }
    }
}
