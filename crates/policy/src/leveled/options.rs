//! The parameters of leveled compaction, and the rules for slowing writers ([`Throttle`]).
//!
//! [`LeveledOptions`] tells the effect of each parameter. By default, the limits and the factor are
//! LevelDB's, with tables of 16 MiB and a level 1 of 64 MiB. Writers are slowed by
//! [`Throttle::Paced`] by default, and steps that [`Leveled`](super::Leveled) marks as options are
//! off.

use terrace_env::ByteCount;

use crate::compaction::{MOVES_TOGETHER, Pressure, WriteRule};

/// How writers are slowed when compactions are late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttle {
    /// Early and a little, in proportion to the pressure; never stopped.
    #[default]
    Paced,
    /// Writers are slowed by the runs of level 0 alone, as in LevelDB: a millisecond a write from
    /// `level0_slow` runs on, and stopped at `level0_stop`. Deeper levels may grow beyond their
    /// targets.
    Leveldb,
    /// Never, however many runs level 0 has: it takes the bursts. Every read looks into all of
    /// them, and tables that wait in level 0 take space.
    Off,
}

impl Throttle {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Paced, Self::Leveldb, Self::Off];

    /// The rule at `runs` runs in level 0.
    pub(crate) fn rule(
        self,
        runs: usize,
        level0_slow: usize,
        level0_stop: usize,
        pressure: impl FnOnce() -> Pressure,
    ) -> WriteRule {
        match self {
            Self::Paced => WriteRule::Paced(pressure()),
            Self::Leveldb if runs >= level0_stop => WriteRule::Stopped,
            Self::Leveldb if runs >= level0_slow => WriteRule::Delayed,
            Self::Leveldb | Self::Off => WriteRule::Free,
        }
    }
}

/// The parameters of leveled compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeveledOptions {
    /// How many runs in level 0 start a compaction.
    pub level0_runs: usize,
    /// Number of runs in level 0 from which on writers are held back.
    pub level0_slow: usize,
    /// How many there should be at most: at that many, writers write half as fast as compaction
    /// can take it, or are stopped.
    pub level0_stop: usize,
    /// How writers are held back.
    pub throttle: Throttle,
    /// The target size of level 1.
    pub level1_size: ByteCount,
    /// How much larger each further level may be.
    pub factor: u32,
    /// The size of a table.
    pub table_size: ByteCount,
    /// How many levels there are, level 0 included; a tree that has more keeps them.
    pub levels: usize,
    /// How many tables' worth of the level after its own an output may overlap.
    pub overlap_tables: u32,
    /// Whether an output that ends at its size leaves its overlap with that level to the count of
    /// the next output, see [`Cut::carry_overlap`](crate::Cut::carry_overlap).
    pub carry_overlap: bool,
    /// Part of its size, in percent, from which on an output ends where a table of the level after
    /// its own ends; 100: it does not.
    pub aligned_from: u8,
    /// How many tables' worth a compaction may take when it grows: 0: it does not.
    pub growth: u32,
    /// Whether a table is moved only if it overlaps no more of the level after its new one than an
    /// output may.
    pub check_moves: bool,
    /// How many successive moves are one commit, see
    /// [`Compaction::moves_together`](crate::Compaction::moves_together).
    pub moves_together: usize,
    /// Bytes of a table for each point read that may search it without success, see
    /// [`Compaction::seeks_allowed`](crate::Compaction::seeks_allowed); 0: no read has anything
    /// merged.
    pub seek_cost: ByteCount,
    /// The deepest level that a flush may go to, where nothing of its keys is on the way; 0: on
    /// top.
    pub flush_level: usize,
    /// How many compactions may run at once.
    pub jobs: usize,
    /// Whether the tables that a merge writes below level 1 are a [set](crate::Merge::set).
    pub sets: bool,
    /// Whether a merge that writes a set takes whole tables of the next level, as LevelDB does.
    /// Else it takes all that lies before the next table of its own level, and no more.
    pub whole_inputs: bool,
    /// Whether a merge reads inputs that lie one after the other by one request, where merges
    /// write sets; see [`Compaction::reads_sets`](crate::Compaction::reads_sets).
    pub set_reads: bool,
}

impl Default for LeveledOptions {
    /// LevelDB's numbers at 16 MiB a table; the [module](self) has the differences.
    fn default() -> Self {
        Self {
            level0_runs: 4,
            level0_slow: 8,
            level0_stop: 12,
            throttle: Throttle::Paced,
            level1_size: ByteCount::mib(64),
            factor: 10,
            table_size: ByteCount::mib(16),
            levels: 7,
            overlap_tables: 10,
            carry_overlap: false,
            aligned_from: 100,
            growth: 0,
            check_moves: false,
            moves_together: MOVES_TOGETHER,
            seek_cost: ByteCount(0),
            flush_level: 0,
            jobs: 1,
            sets: false,
            whole_inputs: true,
            set_reads: true,
        }
    }
}
