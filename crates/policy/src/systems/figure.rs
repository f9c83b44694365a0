//! The figures that systems have: how each is called, read and written.

use std::fmt;

use terrace_env::ByteCount;

use super::System;

/// A column of the table of systems.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    /// What it is called.
    pub(super) name: &'static str,
    /// What it may be.
    pub(super) expected: &'static str,
    /// Reads it; `None` for what it cannot be.
    pub(super) set: fn(&mut System, &str) -> Option<()>,
    /// Writes it; `None` where it is the row's own.
    pub(super) get: fn(&System) -> Option<String>,
}

/// The figures of a system of leveled compaction with a collector, and no other.
pub(super) const LEVELED: &[Figure] =
    &[ALIGNED_FROM, FACTOR, FREE_MIN, GAIN_MIN, LEVEL0_RUNS, LEVEL1_SIZE, TABLE_SIZE];

/// See [`System::aligned_from`].
pub(super) const ALIGNED_FROM: Figure = Figure {
    name: "aligned_from",
    expected: "a number of percent from 10 to 100",
    set: |system, text| number(text, 10..=100).map(|n| system.aligned_from = n as u8),
    get: |system| differs(system, |s| s.aligned_from),
};

/// See [`System::extra_tables`].
pub(super) const EXTRA_TABLES: Figure = Figure {
    name: "extra_tables",
    expected: "a number from 0 to 100",
    set: |system, text| number(text, 0..=100).map(|n| system.extra_tables = n),
    get: |system| differs(system, |s| s.extra_tables),
};

/// See [`System::factor`].
pub(super) const FACTOR: Figure = Figure {
    name: "factor",
    expected: "a number from 2 to 1000",
    set: |system, text| number(text, 2..=1000).map(|n| system.factor = n),
    get: |system| differs(system, |s| s.factor),
};

/// See [`System::free_min`].
pub(super) const FREE_MIN: Figure = Figure {
    name: "free_min",
    expected: "a number of percent from 0 to 90",
    set: |system, text| number(text, 0..=90).map(|n| system.free_min = n as u8),
    get: |system| differs(system, |s| s.free_min),
};

/// See [`System::gain_min`].
pub(super) const GAIN_MIN: Figure = Figure {
    name: "gain_min",
    expected: "a number of percent from 1 to 100",
    set: |system, text| number(text, 1..=100).map(|n| system.gain_min = n as u8),
    get: |system| differs(system, |s| s.gain_min),
};

/// See [`System::in_order`].
pub(super) const IN_ORDER: Figure = Figure {
    name: "in_order",
    expected: "on or off",
    set: |system, text| switch(text).map(|on| system.in_order = on),
    get: |system| differs(system, |s| if s.in_order { "on" } else { "off" }),
};

/// See [`System::level0_runs`].
pub(super) const LEVEL0_RUNS: Figure = Figure {
    name: "level0_runs",
    expected: "a number from 1 to 1000",
    set: |system, text| number(text, 1..=1000).map(|n| system.level0_runs = n),
    get: |system| differs(system, |s| s.level0_runs),
};

/// See [`System::level1_size`].
pub(super) const LEVEL1_SIZE: Figure = Figure {
    name: "level1_size",
    expected: "a size such as 256MiB",
    set: |system, text| size(text).map(|n| system.level1_size = Some(n)),
    get: |system| system.level1_size.map(compact),
};

/// See [`System::published`].
pub(super) const PUBLISHED: Figure = Figure {
    name: "published",
    expected: "on or off",
    set: |system, text| switch(text).map(|on| system.published = on),
    get: |system| differs(system, |s| if s.published { "on" } else { "off" }),
};

/// See [`System::table_size`].
pub(super) const TABLE_SIZE: Figure = Figure {
    name: "table_size",
    expected: "a size such as 16MiB",
    set: |system, text| size(text).map(|n| system.table_size = Some(n)),
    get: |system| system.table_size.map(compact),
};

/// See [`System::tier_runs`].
pub(super) const TIER_RUNS: Figure = Figure {
    name: "tier_runs",
    expected: "a number from 2 to 100",
    set: |system, text| number(text, 2..=100).map(|n| system.tier_runs = n),
    get: |system| differs(system, |s| s.tier_runs),
};

/// See [`System::tzone`].
pub(super) const TZONE: Figure = Figure {
    name: "tzone",
    expected: "on or off",
    set: |system, text| switch(text).map(|on| system.tzone = on),
    get: |system| differs(system, |s| if s.tzone { "on" } else { "off" }),
};

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// See [`System::windows`].
pub(super) const WINDOWS: Figure = Figure {
    name: "windows",
    expected: "a number from 1 to 100",
    set: |system, text| number(text, 1..=100).map(|n| system.windows = n),
    get: |system| differs(system, |s| s.windows),
};

fn number(text: &str, range: std::ops::RangeInclusive<u16>) -> Option<u16> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn size(text: &str) -> Option<ByteCount> {
    text.parse().ok().filter(|size: &ByteCount| size.0 > 0)
}

/// A size in the largest unit that shows all of it.
fn compact(size: ByteCount) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.iter().find(|(_, shift)| size.0.trailing_zeros() >= *shift && size.0 > 0);
    whole.map_or(size.0.to_string(), |(unit, shift)| format!("{}{unit}", size.0 >> shift))
}

fn differs<T: PartialEq + fmt::Display>(system: &System, of: fn(&System) -> T) -> Option<String> {
    let own = of(system);
    (own != of(&System::of(system.row))).then(|| own.to_string())
}
