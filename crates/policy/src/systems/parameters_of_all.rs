//! The parameters of all systems. [`parameters`](super::parameters) has those that some systems
//! have.

use terrace_env::{ByteCount, Limit};

use super::parameter::{Kind, Parameter};
use super::parameters::switch;
use crate::LoadRule;

/// All of them.
pub(super) const ALL: &[Parameter] = &[FIRST_KEYS, LAST_BLOCK_SIZE, LOAD, REWRITE_MAX];

/// See [`System::first_keys`](super::System::first_keys).
const FIRST_KEYS: Parameter = Parameter {
    limit: switch("first_keys"),
    meaning: "Whether the indexes of new tables have the first key of each data block, so that a \
              scan reads a block of a run only when its first key is the next of all runs; where \
              the store does not remember the option",
    kind: Kind::Switch,
    set: |system, value| system.first_keys = value > 0,
    get: |system| Some(system.first_keys.into()),
};

/// See [`System::last_block_size`](super::System::last_block_size).
const LAST_BLOCK_SIZE: Parameter = Parameter {
    limit: Limit {
        option: "last_block_size",
        least: 0,
        most: 1 << 20,
        reason: "at 0 blocks have the same size in all levels, and a larger one takes longer to \
                 read than a disk to seek",
    },
    meaning: "Least size of a data block in the last level, unless its key space has a block size \
              of its own",
    kind: Kind::Size,
    set: |system, value| system.last_block_size = ByteCount(value),
    get: |system| Some(system.last_block_size.0),
};

/// See [`System::load`](super::System::load).
const LOAD: Parameter = Parameter {
    limit: Limit { option: "load", least: 0, most: 3, reason: "it is one of four words" },
    meaning: "When compactions run: `off`, when they are due; `aware`, once they pay; `eager`, \
              while there is anything to merge, for comparisons; `idle`, when they are due, and \
              once writers rest while there is anything to merge",
    kind: Kind::Word(&["off", "aware", "eager", "idle"]),
    set: |system, value| system.load = LoadRule::ALL[value as usize],
    get: |system| LoadRule::ALL.iter().position(|rule| *rule == system.load).map(|at| at as u64),
};

/// See [`System::rewrite_max`](super::System::rewrite_max).
pub(super) const REWRITE_MAX: Parameter = Parameter {
    limit: Limit {
        option: "rewrite_max",
        least: 1,
        most: 100,
        reason: "below, the upper levels would hold more than the last one, and above, nothing is \
                 held back",
    },
    meaning: "Older bytes that a compaction rewrites at most for each newer byte; for `load=aware`",
    kind: Kind::Number,
    set: |system, value| system.rewrite_max = value as u16,
    get: |system| Some(system.rewrite_max.into()),
};
