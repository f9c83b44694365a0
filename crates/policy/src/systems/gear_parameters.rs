//! The parameters of gear compaction alone, those of [`GearRepairs`](crate::GearRepairs) among
//! them. [`parameters`](super::parameters) has the others.

use terrace_env::Limit;

use super::parameter::{Kind, Parameter};
use crate::GearVariant;

/// All of them.
pub(super) const ALL: &[Parameter] =
    &[BOUND, BOUND_OF, GATHERED, NEARLY_EMPTY, OVERFULL, SPREAD, VARIANT, WINDOW_OF, WINDOWS];

/// See [`GearRepairs::bound`](crate::GearRepairs::bound).
const BOUND: Parameter = Parameter {
    limit: Limit {
        option: "bound",
        least: 100,
        most: 1000,
        reason: "a level that may not hold its bound is compacted without end",
    },
    meaning: "Bytes that a level holds before a compaction begins in it, in percent of its bound",
    kind: Kind::Percent,
    set: |system, value| system.repairs.bound = value as u16,
    get: |system| Some(system.repairs.bound.into()),
};

/// See [`GearRepairs::bound_of_limit`](crate::GearRepairs::bound_of_limit).
const BOUND_OF: Parameter = Parameter {
    limit: Limit { option: "bound_of", least: 0, most: 1, reason: "it is one of two words" },
    meaning: "Bound of a level: `limit`, its limit; `windows`, the larger of its limit and the \
              bytes that its windows leave in it",
    kind: Kind::Word(&["windows", "limit"]),
    set: |system, value| system.repairs.bound_of_limit = value > 0,
    get: |system| Some(system.repairs.bound_of_limit.into()),
};

/// See [`GearRepairs::gathered`](crate::GearRepairs::gathered).
const GATHERED: Parameter = Parameter {
    limit: Limit {
        option: "gathered",
        least: 0,
        most: 100,
        reason: "at 0 nothing is, and no zone holds more than itself",
    },
    meaning: "Share of a zone up to which its remaining tables are moved together where a level \
              takes too many zones; 0: never",
    kind: Kind::Percent,
    set: |system, value| system.repairs.gathered = value as u8,
    get: |system| Some(system.repairs.gathered.into()),
};

/// See [`GearRepairs::nearly_empty`](crate::GearRepairs::nearly_empty).
const NEARLY_EMPTY: Parameter = Parameter {
    limit: Limit {
        option: "nearly_empty",
        least: 1,
        most: 1000,
        reason: "at 1 zones join at each compaction, and beyond only when a window is used up",
    },
    meaning: "Further zones join a window once one n-th of it is left",
    kind: Kind::Number,
    set: |system, value| system.repairs.nearly_empty = value as u16,
    get: |system| Some(system.repairs.nearly_empty.into()),
};

/// See [`GearRepairs::overfull`](crate::GearRepairs::overfull).
const OVERFULL: Parameter = Parameter {
    limit: Limit {
        option: "overfull",
        least: 1,
        most: 1000,
        reason: "a compaction takes something, and level 0 waits until it is written",
    },
    meaning: "Bytes of its window that a compaction in a level over its bound takes, in multiples \
              of the bytes that level 0 brings",
    kind: Kind::Number,
    set: |system, value| system.repairs.overfull = value as u16,
    get: |system| Some(system.repairs.overfull.into()),
};

/// See [`GearRepairs::spread`](crate::GearRepairs::spread).
const SPREAD: Parameter = Parameter {
    limit: Limit {
        option: "spread",
        least: 1,
        most: 1000,
        reason: "at 1 a level takes twice its space, and beyond it is gathered without end",
    },
    meaning: "A level may take zones for one n-th of its tables in addition to those of its \
              tables and its window",
    kind: Kind::Number,
    set: |system, value| system.repairs.spread = value as u16,
    get: |system| Some(system.repairs.spread.into()),
};

/// The variants of gear compaction, by their names' places.
const VARIANTS: [GearVariant; 3] =
    [GearVariant::Repaired, GearVariant::Code, GearVariant::Algorithm1];

/// See [`System::variant`](super::System::variant).
const VARIANT: Parameter = Parameter {
    limit: Limit { option: "variant", least: 0, most: 2, reason: "it is one of three words" },
    meaning: "Form of gear compaction: `repaired`, with the parts that the paper lacks; `code`, \
              the authors' code as far as it is known; `algorithm-1`, the algorithm as printed, \
              by which level 1 of a new store takes everything",
    kind: Kind::Word(&["repaired", "code", "algorithm-1"]),
    set: |system, value| system.variant = VARIANTS[value as usize],
    get: |system| {
        VARIANTS.iter().position(|variant| *variant == system.variant).map(|at| at as u64)
    },
};

/// See [`GearRepairs::window_of_limit`](crate::GearRepairs::window_of_limit).
const WINDOW_OF: Parameter = Parameter {
    limit: Limit { option: "window_of", least: 0, most: 1, reason: "it is one of two words" },
    meaning: "Base of the size of a window: the `bytes` of its level, or the `limit` of its \
              level, as in equation 2 of the paper",
    kind: Kind::Word(&["bytes", "limit"]),
    set: |system, value| system.repairs.window_of_limit = value > 0,
    get: |system| Some(system.repairs.window_of_limit.into()),
};

/// See [`System::windows`](super::System::windows).
const WINDOWS: Parameter = Parameter {
    limit: Limit {
        option: "windows",
        least: 1,
        most: 100,
        reason: "a level has a window, and more of them than tables are empty",
    },
    meaning: "Compaction windows into which a level is divided",
    kind: Kind::Number,
    set: |system, value| system.windows = value as u16,
    get: |system| Some(system.windows.into()),
};
