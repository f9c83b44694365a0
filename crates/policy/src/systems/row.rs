//! [`Row`]: the name of a system, as options and reports have it. Everything else that tells rows
//! apart is in their [`RowParts`].

use super::{
    RowParts, bluefs, geardb, level_separated, leveldb_cost_benefit, leveldb_disk, leveldb_greedy,
    leveldb_sets, lifetime, sealdb, sliced, smrdb, smrdb_leveled, tiered,
};
#[cfg(doc)]
use super::{StoreShape, System};

/// Which system: the name of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// A table owns its zones, and a zone is empty when its table is deleted.
    Bluefs,
    /// Tables of all levels go into the open zone, and a collector empties the emptiest.
    LeveldbGreedy,
    /// As `LeveldbGreedy`, but the collector weighs how deep the tables of a zone lie.
    LeveldbCostBenefit,
    /// A zone holds tables of one level, and a collector empties the emptiest.
    LevelSeparated,
    /// Levels are swept in key order, and zones die whole after the sweep.
    Lifetime,
    /// Levels collect runs, and the last one is a single run.
    Tiered,
    /// A zone holds tables of one level, and compactions empty zones.
    Geardb,
    /// LevelDB on a device without zones.
    LeveldbDisk,
    /// LevelDB whose merges write sets.
    LeveldbSets,
    /// Two levels of tables that own bands and may overlap.
    Smrdb,
    /// LevelDB's levels, of tables that own bands.
    SmrdbLeveled,
    /// Leveled by sets, for raw shingled tracks.
    Sealdb,
    /// Tiers over one run, into which the deepest tier goes down in slices, by a sweep.
    Sliced,
}

impl Row {
    /// All rows.
    pub const ALL: [Self; 13] = [
        Self::Bluefs,
        Self::LeveldbGreedy,
        Self::LeveldbCostBenefit,
        Self::LevelSeparated,
        Self::Lifetime,
        Self::Tiered,
        Self::Sliced,
        Self::Geardb,
        Self::LeveldbDisk,
        Self::LeveldbSets,
        Self::Smrdb,
        Self::SmrdbLeveled,
        Self::Sealdb,
    ];

    /// The parts of the row: everything that tells it from the others.
    pub(super) const fn parts(self) -> &'static RowParts {
        match self {
            Self::Bluefs => &bluefs::PARTS,
            Self::LeveldbGreedy => &leveldb_greedy::PARTS,
            Self::LeveldbCostBenefit => &leveldb_cost_benefit::PARTS,
            Self::LevelSeparated => &level_separated::PARTS,
            Self::Lifetime => &lifetime::PARTS,
            Self::Tiered => &tiered::PARTS,
            Self::Sliced => &sliced::PARTS,
            Self::Geardb => &geardb::PARTS,
            Self::LeveldbDisk => &leveldb_disk::PARTS,
            Self::LeveldbSets => &leveldb_sets::PARTS,
            Self::Smrdb => &smrdb::PARTS,
            Self::SmrdbLeveled => &smrdb_leveled::PARTS,
            Self::Sealdb => &sealdb::PARTS,
        }
    }

    /// Name of the row.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.parts().name
    }

    /// The row in a line.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.parts().summary
    }

    /// Loads and devices that the row is made for.
    #[must_use]
    pub fn suits(self) -> &'static str {
        self.parts().suits
    }

    /// Costs of the row: its weaknesses against other rows.
    #[must_use]
    pub fn costs(self) -> &'static str {
        self.parts().costs
    }

    /// Largest share, in percent of the space [for data](StoreShape::for_data), up to which keys
    /// and values can be overwritten in random order without end. On shingled tracks, guards take a
    /// part of it ([`System::live_max`]).
    #[must_use]
    pub fn live_max(self) -> u64 {
        self.parts().live_max
    }
}
