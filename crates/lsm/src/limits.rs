//! Limits of the engine's options, each with its reason; and [`MOVED_FOR_SPACE_MAX`], which is no
//! option.
//!
//! A limit is for a single option. Options within their limits can still need more than the memory
//! budget: [`EngineOptions::check`](crate::EngineOptions::check) refuses too many memtables, and
//! [`EngineOptions::fitted`](crate::EngineOptions::fitted) makes `memtable_size` and `io_size`
//! smaller.

use terrace_env::{ByteCount, Limit};
use terrace_policy::System;

/// The most bytes that compactions for space may move to free one.
pub(crate) const MOVED_FOR_SPACE_MAX: u64 = 25;

/// Limits of the size of a memtable.
pub const MEMTABLE_SIZE: Limit<ByteCount> = Limit {
    option: "memtable_size",
    least: ByteCount::kib(4),
    most: ByteCount::gib(64),
    reason: "a smaller memtable is full after a few entries, and a larger one takes hours to flush",
};

/// Limits of the number of memtables that may wait for their flush.
pub const MEMTABLES_MAX: Limit<u64> = Limit {
    option: "memtables_max",
    least: 1,
    most: 64,
    reason: "a full memtable has to wait somewhere, and each one keeps memory and a log",
};

/// Limits of the time that a gathered write may stay in memory, in milliseconds.
pub const GATHER_TIME: Limit<u64> = Limit {
    option: "gather_time (ms)",
    least: 0,
    most: 60 * 60 * 1000,
    reason: "0 writes at once, and a write that stays in memory for an hour is as good as lost",
};

/// Limits of the length of a merge operator's name, in bytes.
pub const OPERATOR_NAME_BYTES: Limit<u64> = Limit {
    option: "merge_operator (bytes of its name)",
    least: 1,
    most: 255,
    reason: "the store remembers the name, and tells it when it is opened with another one",
};

/// Limits of the size of a table.
pub const TABLE_SIZE: Limit<ByteCount> = Limit {
    option: "table_size",
    least: ByteCount(1 << 10),
    most: ByteCount::gib(16),
    reason: "the ends of smaller tables, up to 16 KiB each, would take more space than their \
             entries, and a larger one is more than a compaction can rewrite at once",
};

/// Limits of the size of a data block.
pub const BLOCK_SIZE: Limit<ByteCount> = Limit {
    option: "block_size",
    least: ByteCount(1),
    most: ByteCount::mib(1),
    reason: "a block holds an entry at least, and is read whole for each key in it",
};

/// Limits of the least size of a data block in the last level.
pub const LAST_BLOCK_SIZE: Limit<ByteCount> = Limit {
    option: "last_block_size",
    least: ByteCount(0),
    most: BLOCK_SIZE.most,
    reason: "at 0 blocks have the same size in all levels, and a larger one takes longer to read \
             than a disk to seek",
};

/// Limits of the bits for each key in filters.
pub const FILTER_BITS: Limit<u8> = Limit {
    option: "filter_bits",
    least: 0,
    most: 32,
    reason: "a key sets 16 bits at most, which more bits make no more telling",
};

/// Limits of the time that entries of a key space stay, in milliseconds.
pub const TTL: Limit<u64> = Limit {
    option: "ttl (ms)",
    least: 0,
    most: 1000 * 365 * 24 * 60 * 60 * 1000,
    reason: "0 is for ever, and so is a thousand years",
};

/// Limits of the memory budget.
pub const MEMORY: Limit<ByteCount> = Limit {
    option: "memory",
    least: ByteCount::kib(64),
    most: ByteCount(1 << 44),
    reason: "memtables, open tables and the buffers of jobs have to fit, and no machine has more",
};

/// Limits of the size that jobs move at once.
pub const IO_SIZE: Limit<ByteCount> = Limit {
    option: "io_size",
    least: ByteCount::kib(8),
    most: ByteCount::mib(64),
    reason: "tables are written by halves of it, which are whole blocks of 4 KiB, and beyond that \
             no medium becomes any faster",
};

/// Limits of the number of subcompactions of a merge in flight.
pub const WORKERS: Limit<u64> = Limit {
    option: "workers",
    least: 0,
    most: 4,
    reason: "each takes memory and space of its own; 0 leaves it to the device",
};

/// Limits of the number of compactions in flight.
pub const JOBS: Limit<u64> = Limit {
    option: "jobs",
    least: 0,
    most: 8,
    reason: "each takes memory and space of its own; 0 leaves it to the decider",
};

/// Limits of the length of the system's text, in bytes.
pub const SYSTEM_BYTES: Limit<u64> = Limit {
    option: "system (bytes of its text)",
    least: 0,
    most: System::TEXT_BYTES_MAX as u64,
    reason: "the store remembers the text, and would not open again with one that is longer",
};
