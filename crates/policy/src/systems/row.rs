//! [`Row`]: the name of a system, as options and reports have it. Everything else that tells rows
//! apart is in their [`RowParts`].

use super::RowParts;
#[cfg(doc)]
use super::{StoreShape, System};

/// Makes the enum and its lists of `Name => module`, one for each row. The module has the row's
/// parts as its constant `PARTS`.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident => $module:ident,)*) => {
        /// Which system: the name of a row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Row {
            $($(#[$doc])* $name,)*
            /// A row of another crate. No text is read as it: a store that remembers its name is
            /// opened with the system given.
            Custom(&'static RowParts),
        }

        impl Row {
            /// All rows of this crate.
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];

            /// The parts of the row: everything that tells it from the others.
            pub(super) const fn parts(self) -> &'static RowParts {
                match self {
                    $(Self::$name => &super::$module::PARTS,)*
                    Self::Custom(parts) => parts,
                }
            }
        }
    };
}

rows! {
    /// A table owns its zones, and a zone is empty when its table is deleted.
    Bluefs => bluefs,
    /// Tables of all levels go into the open zone, and a collector empties the emptiest.
    LeveldbGreedy => leveldb_greedy,
    /// As `LeveldbGreedy`, but the collector weighs how deep the tables of a zone lie.
    LeveldbCostBenefit => leveldb_cost_benefit,
    /// A zone holds tables of one level, and a collector empties the emptiest.
    LevelSeparated => level_separated,
    /// Levels are swept in key order, and zones die whole after the sweep.
    Lifetime => lifetime,
    /// Levels collect runs, and the last one is a single run.
    Tiered => tiered,
    /// Tiers over one run, into which the deepest tier goes down in slices, by a sweep.
    Sliced => sliced,
    /// A zone holds tables of one level, and compactions empty zones.
    Geardb => geardb,
    /// LevelDB on a device without zones.
    LeveldbDisk => leveldb_disk,
    /// LevelDB whose merges write sets.
    LeveldbSets => leveldb_sets,
    /// Two levels of tables that own bands and may overlap.
    Smrdb => smrdb,
    /// LevelDB's levels, of tables that own bands.
    SmrdbLeveled => smrdb_leveled,
    /// Leveled by sets, for raw shingled tracks.
    Sealdb => sealdb,
}

impl Row {
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
