//! The parameters that systems have, each with its range and the reason for the range.
//!
//! The field of [`System`](super::System) that a parameter sets tells its effect. The row of a
//! system, one file for each in this folder, says which parameters the system has. Those of all
//! systems are in [`parameters_of_all`](super::parameters_of_all), those of gear compaction alone
//! in [`gear_parameters`](super::gear_parameters).

use terrace_env::{ByteCount, Limit};

use super::parameter::{Kind, Parameter};
use crate::{Fit, Throttle, Victim, ZoneAge};

/// See [`System::aligned_from`](super::System::aligned_from).
pub(super) const ALIGNED_FROM: Parameter = Parameter {
    limit: Limit {
        option: "aligned_from",
        least: 10,
        most: 100,
        reason: "smaller tables would be mostly ends, and at 100 a table ends at its size",
    },
    meaning: "Share of its size from which a merged table ends where a table of the next level \
              ends; 100: a table ends at its size",
    kind: Kind::Percent,
    set: |system, value| system.aligned_from = value as u8,
    get: |system| Some(system.aligned_from.into()),
};

/// See [`System::all_candidates`](super::System::all_candidates).
pub(super) const ALL_CANDIDATES: Parameter = Parameter {
    limit: switch("all_candidates"),
    meaning: "Whether the collector weighs all zones instead of a sample of 64",
    kind: Kind::Switch,
    set: |system, value| system.all_candidates = value > 0,
    get: |system| Some(system.all_candidates.into()),
};

/// See [`System::along_max`](super::System::along_max).
pub(super) const ALONG_MAX: Parameter = Parameter {
    limit: Limit {
        option: "along_max",
        least: 0,
        most: 100,
        reason: "at 0 nothing is taken along, and at 100 nearly all there is, at each merge",
    },
    meaning: "Older bytes that a merge into the deepest tier takes along at most for each newer \
              byte; 0: the deepest tier goes down as a whole",
    kind: Kind::Number,
    set: |system, value| system.along_max = value as u16,
    get: |system| Some(system.along_max.into()),
};

/// See [`System::carry_overlap`](super::System::carry_overlap).
pub(super) const CARRY_OVERLAP: Parameter = Parameter {
    limit: switch("carry_overlap"),
    meaning: "Whether the overlap of a table of full size with the next level counts towards the \
              ten tables that the next output may overlap",
    kind: Kind::Switch,
    set: |system, value| system.carry_overlap = value > 0,
    get: |system| Some(system.carry_overlap.into()),
};

/// See [`System::check_moves`](super::System::check_moves).
pub(super) const CHECK_MOVES: Parameter = Parameter {
    limit: switch("check_moves"),
    meaning: "Whether a table is moved down unread only if it overlaps at most ten tables of the \
              level after its new one",
    kind: Kind::Switch,
    set: |system, value| system.check_moves = value > 0,
    get: |system| Some(system.check_moves.into()),
};

/// See [`System::collector_first`](super::System::collector_first).
pub(super) const COLLECTOR: Parameter = Parameter {
    limit: Limit { option: "collector", least: 0, most: 1, reason: "it is one of two words" },
    meaning: "Order of compactions and collector: `beside`, they share the drive, and the \
              collector may fall below `free_min`; `first`, a compaction waits until the \
              collector has reached it",
    kind: Kind::Word(&["beside", "first"]),
    set: |system, value| system.collector_first = value > 0,
    get: |system| Some(system.collector_first.into()),
};

/// See [`System::extra_tables`](super::System::extra_tables).
pub(super) const EXTRA_TABLES: Parameter = Parameter {
    limit: Limit {
        option: "extra_tables",
        least: 0,
        most: 100,
        reason: "each one meets about ten tables, and a compaction takes them all at once",
    },
    meaning: "Further tables of a level that go down together at most",
    kind: Kind::Number,
    set: |system, value| system.extra_tables = value as u16,
    get: |system| Some(system.extra_tables.into()),
};

/// See [`System::factor`](super::System::factor).
pub(super) const FACTOR: Parameter = Parameter {
    limit: Limit {
        option: "factor",
        least: 2,
        most: 1000,
        reason: "levels that do not grow would never end, and beyond there is one level only",
    },
    meaning: "Size of each level over the size of the level above",
    kind: Kind::Number,
    set: |system, value| system.factor = value as u16,
    get: |system| Some(system.factor.into()),
};

/// See [`System::flush_level`](super::System::flush_level).
pub(super) const FLUSH_LEVEL: Parameter = Parameter {
    limit: Limit {
        option: "flush_level",
        least: 0,
        most: 6,
        reason: "0 is on top, and there are seven levels",
    },
    meaning: "Deepest level into which a flush may go, past levels that have none of its keys",
    kind: Kind::Number,
    set: |system, value| system.flush_level = value as u8,
    get: |system| Some(system.flush_level.into()),
};

/// See [`System::free_min`](super::System::free_min).
pub(super) const FREE_MIN: Parameter = Parameter {
    limit: Limit {
        option: "free_min",
        least: 0,
        most: 90,
        reason: "a collector that wants more than that free copies without end",
    },
    meaning: "Share of the zones that the collector keeps free before a writer waits for one",
    kind: Kind::Percent,
    set: |system, value| system.free_min = value as u8,
    get: |system| Some(system.free_min.into()),
};

/// See [`System::gain_min`](super::System::gain_min).
pub(super) const GAIN_MIN: Parameter = Parameter {
    limit: Limit {
        option: "gain_min",
        least: 1,
        most: 100,
        reason: "to empty a zone that gives nothing frees nothing",
    },
    meaning: "Share of a zone that the collector must win back to empty the zone for `free_min`",
    kind: Kind::Percent,
    set: |system, value| system.gain_min = value as u8,
    get: |system| Some(system.gain_min.into()),
};

/// See [`System::growth`](super::System::growth).
pub(super) const GROWTH: Parameter = Parameter {
    limit: Limit {
        option: "growth",
        least: 0,
        most: 1000,
        reason: "at 0 a compaction does not grow, and a larger one takes too much space at once",
    },
    meaning: "Tables' worth of bytes that a compaction may read in all when it grows by \
              neighbours that add no overlap",
    kind: Kind::Number,
    set: |system, value| system.growth = Some(value as u16),
    get: |system| system.growth.map(u64::from),
};

/// See [`System::in_order`](super::System::in_order).
pub(super) const IN_ORDER: Parameter = Parameter {
    limit: switch("in_order"),
    meaning: "Whether a merge is written by one worker, in key order",
    kind: Kind::Switch,
    set: |system, value| system.in_order = value > 0,
    get: |system| Some(system.in_order.into()),
};

/// See [`System::jobs`](super::System::jobs).
pub(super) const JOBS: Parameter = Parameter {
    limit: Limit {
        option: "jobs",
        least: 1,
        most: 8,
        reason: "each takes memory and open zones of its own, and more find nothing that is free",
    },
    meaning: "Compactions that run at once at most",
    kind: Kind::Number,
    set: |system, value| system.jobs = value as u16,
    get: |system| Some(system.jobs.into()),
};

/// See [`System::level0_apart`](super::System::level0_apart).
pub(super) const LEVEL0_APART: Parameter = Parameter {
    limit: switch("level0_apart"),
    meaning: "Whether tables of level 0 own whole zones as well",
    kind: Kind::Switch,
    set: |system, value| system.level0_apart = value > 0,
    get: |system| Some(system.level0_apart.into()),
};

/// See [`System::level0_runs`](super::System::level0_runs).
pub(super) const LEVEL0_RUNS: Parameter = Parameter {
    limit: Limit {
        option: "level0_runs",
        least: 1,
        most: 1000,
        reason: "a compaction begins with a run, and every read looks into all of them",
    },
    meaning: "Runs in level 0 that start a compaction",
    kind: Kind::Number,
    set: |system, value| system.level0_runs = value as u16,
    get: |system| Some(system.level0_runs.into()),
};

/// See [`System::level0_slow`](super::System::level0_slow).
pub(super) const LEVEL0_SLOW: Parameter = Parameter {
    limit: Limit {
        option: "level0_slow",
        least: 1,
        most: 1000,
        reason: "writers are slowed by runs that are there, and every read looks into all of them",
    },
    meaning: "Runs in level 0 from which writers are slowed; under `smrdb` also the runs that go \
              down together at most",
    kind: Kind::Number,
    set: |system, value| system.level0_slow = Some(value as u16),
    get: |system| system.level0_slow.map(u64::from),
};

/// See [`System::level0_stop`](super::System::level0_stop).
pub(super) const LEVEL0_STOP: Parameter = Parameter {
    limit: Limit {
        option: "level0_stop",
        least: 1,
        most: 1000,
        reason: "writers are stopped by runs that are there, and every read looks into all of them",
    },
    meaning: "Runs that level 0 has at most",
    kind: Kind::Number,
    set: |system, value| system.level0_stop = Some(value as u16),
    get: |system| system.level0_stop.map(u64::from),
};

/// See [`System::level1_size`](super::System::level1_size).
pub(super) const LEVEL1_SIZE: Parameter = Parameter {
    limit: Limit {
        option: "level1_size",
        least: 1 << 10,
        most: 1 << 50,
        reason: "a smaller level holds no table, and no store is larger",
    },
    meaning: "Size of level 1",
    kind: Kind::Size,
    set: |system, value| system.level1_size = Some(ByteCount(value)),
    get: |system| system.level1_size.map(|size| size.0),
};

/// See [`System::levels`](super::System::levels).
pub(super) const LEVELS: Parameter = Parameter {
    limit: Limit {
        option: "levels",
        least: 2,
        most: 7,
        reason: "level 0 overlaps and the last level does not, and LevelDB has seven",
    },
    meaning: "Number of levels, level 0 included; the last one has no limit",
    kind: Kind::Number,
    set: |system, value| system.levels = value as u8,
    get: |system| Some(system.levels.into()),
};

/// See [`System::moves_together`](super::System::moves_together).
pub(super) const MOVES_TOGETHER: Parameter = Parameter {
    limit: Limit {
        option: "moves_together",
        least: 1,
        most: 64,
        reason: "a commit of more moves would be a large one, and hardly save another",
    },
    meaning: "Successive moves of tables that are one commit at most",
    kind: Kind::Number,
    set: |system, value| system.moves_together = Some(value as u16),
    get: |system| system.moves_together.map(Into::into),
};

/// See [`System::overlap_bands`](super::System::overlap_bands).
pub(super) const OVERLAP_BANDS: Parameter = Parameter {
    limit: Limit {
        option: "overlap_bands",
        least: 1,
        most: 10_000,
        reason: "bands that overlap nothing need no merge, and every read meets those that overlap",
    },
    meaning: "Number of other bands that a band of level 1 must overlap for bands of that level \
              to be merged",
    kind: Kind::Number,
    set: |system, value| system.overlap_bands = Some(value as u16),
    get: |system| system.overlap_bands.map(u64::from),
};

/// See [`System::rest_max`](super::System::rest_max).
pub(super) const REST_MAX: Parameter = Parameter {
    limit: Limit {
        option: "rest_max",
        least: 0,
        most: 100,
        reason: "at 0 nothing is taken along, and at 100 all that lies next to it",
    },
    meaning: "Share of a set that may be left for the next merge to take it along",
    kind: Kind::Percent,
    set: |system, value| system.rest_max = value as u8,
    get: |system| Some(system.rest_max.into()),
};

/// See [`System::seek_cost`](super::System::seek_cost).
pub(super) const SEEK_COST: Parameter = Parameter {
    limit: Limit {
        option: "seek_cost",
        least: 0,
        most: 1 << 30,
        reason: "at 0 reads have nothing merged, and beyond each table allows one read only",
    },
    meaning: "Bytes of a table for each point read that may search it without finding its key: \
              after that number of such reads the table is merged into the next level, if nothing \
              else is due; 0: never",
    kind: Kind::Size,
    set: |system, value| system.seek_cost = Some(ByteCount(value)),
    get: |system| system.seek_cost.map(|size| size.0),
};

/// See [`System::set_reads`](super::System::set_reads).
pub(super) const SET_READS: Parameter = Parameter {
    limit: switch("set_reads"),
    meaning: "Whether a compaction below level 0 reads adjacent tables by one request, as far as \
              memory allows",
    kind: Kind::Switch,
    set: |system, value| system.set_reads = value > 0,
    get: |system| Some(system.set_reads.into()),
};

/// See [`System::table_size`](super::System::table_size).
pub(super) const TABLE_SIZE: Parameter = Parameter {
    limit: Limit {
        option: "table_size",
        least: 2 << 10,
        most: 16 << 30,
        reason: "the ends of smaller tables, up to 16 KiB each, would take more space than their \
                 entries, and a larger one is more than a compaction can rewrite at once",
    },
    meaning: "Size of a table",
    kind: Kind::Size,
    set: |system, value| system.table_size = Some(ByteCount(value)),
    get: |system| system.table_size.map(|size| size.0),
};

/// See [`System::throttle`](super::System::throttle).
pub(super) const THROTTLE: Parameter = Parameter {
    limit: Limit { option: "throttle", least: 0, most: 2, reason: "it is one of three words" },
    meaning: "How writers are slowed: `paced`, in proportion to the debt of compactions; \
              `leveldb`, a millisecond a write from `level0_slow` runs on, and stopped at \
              `level0_stop`; `off`, never: level 0 may grow without limit",
    kind: Kind::Word(&["paced", "leveldb", "off"]),
    set: |system, value| system.throttle = Some(Throttle::ALL[value as usize]),
    get: |system| {
        let throttle = system.throttle?;
        Throttle::ALL.iter().position(|rule| *rule == throttle).map(|at| at as u64)
    },
};

/// See [`System::tier_runs`](super::System::tier_runs).
pub(super) const TIER_RUNS: Parameter = Parameter {
    limit: Limit {
        option: "tier_runs",
        least: 2,
        most: 100,
        reason: "to merge one run makes none fewer, and every read looks into all of them",
    },
    meaning: "Runs of a tier that go down together",
    kind: Kind::Number,
    set: |system, value| system.tier_runs = value as u16,
    get: |system| Some(system.tier_runs.into()),
};

/// See [`System::tier_share`](super::System::tier_share).
pub(super) const TIER_SHARE: Parameter = Parameter {
    limit: Limit {
        option: "tier_share",
        least: 1,
        most: 400,
        reason: "at 1 the last level is rewritten for each hundredth of it that comes, and beyond \
                 400 nearly all of the store is in runs",
    },
    meaning: "Size of the deepest tier at which slices of it go down, in percent of the last level",
    kind: Kind::Percent,
    set: |system, value| system.tier_share = value as u16,
    get: |system| Some(system.tier_share.into()),
};

/// See [`System::tzone`](super::System::tzone).
pub(super) const TZONE: Parameter = Parameter {
    limit: switch("tzone"),
    meaning: "Whether the next tables to be consumed get zones of their own",
    kind: Kind::Switch,
    set: |system, value| system.tzone = value > 0,
    get: |system| Some(system.tzone.into()),
};

/// See [`System::fit`](super::System::fit).
pub(super) const FIT: Parameter = Parameter {
    limit: Limit { option: "fit", least: 0, most: 2, reason: "it is one of three words" },
    meaning: "Place of a table in the free space of a device without zones: `best`, the shortest \
              free run that holds it; `next`, the first run after the last table; `first`, the \
              first run of the device",
    kind: Kind::Word(&["best", "next", "first"]),
    set: |system, value| system.fit = Fit::ALL[value as usize],
    get: |system| Fit::ALL.iter().position(|fit| *fit == system.fit).map(|at| at as u64),
};

/// The choices of a victim, by their names' places.
const VICTIMS: [Victim; 3] = [Victim::Pointer, Victim::Set, Victim::Bounded];

/// See [`System::victim`](super::System::victim).
pub(super) const VICTIM: Parameter = Parameter {
    limit: Limit { option: "victim", least: 0, most: 2, reason: "it is one of three words" },
    meaning: "Table of a level that goes down: `pointer`, the next one in key order; `set`, one \
              of the set with the most dead tables, as in the paper; `bounded`, the next one, \
              with the rest of mostly dead sets before its keys",
    kind: Kind::Word(&["pointer", "set", "bounded"]),
    set: |system, value| system.victim = VICTIMS[value as usize],
    get: |system| VICTIMS.iter().position(|victim| *victim == system.victim).map(|at| at as u64),
};

/// See [`System::whole_inputs`](super::System::whole_inputs).
pub(super) const WHOLE_INPUTS: Parameter = Parameter {
    limit: switch("whole_inputs"),
    meaning: "Whether a merge that writes a set takes whole tables of the next level, up to the \
              next table of its own level",
    kind: Kind::Switch,
    set: |system, value| system.whole_inputs = value > 0,
    get: |system| Some(system.whole_inputs.into()),
};

/// The ages of a zone, by their names' places.
const AGES: [ZoneAge; 3] = [ZoneAge::Written, ZoneAge::Live, ZoneAge::Mean];

/// See [`System::zone_age`](super::System::zone_age).
pub(super) const ZONE_AGE: Parameter = Parameter {
    limit: Limit { option: "zone_age", least: 0, most: 2, reason: "it is one of three words" },
    meaning: "Age of a zone in the collector's formula: `written`, the sum of the levels of all \
              tables written to it; `live`, of its live tables; `mean`, the mean of its live \
              tables",
    kind: Kind::Word(&["written", "live", "mean"]),
    set: |system, value| system.zone_age = AGES[value as usize],
    get: |system| AGES.iter().position(|age| *age == system.zone_age).map(|at| at as u64),
};

/// The range of a switch.
pub(super) const fn switch(option: &'static str) -> Limit<u64> {
    Limit { option, least: 0, most: 1, reason: "it is a switch" }
}
