//! Limits of the [`Options`](crate::Options) that are numbers, each with its reason; both ends are
//! allowed.
//!
//! Setting an option checks nothing. The limits are checked when a store is opened, and before
//! [`Db::create_device`](crate::Db::create_device) formats a device.

use terrace_env::{ByteCount, Limit};

pub use terrace_lsm::limits::{
    BLOCK_SIZE, FILTER_BITS, GATHER_TIME, IO_SIZE, MEMORY, MEMTABLE_SIZE, MEMTABLES_MAX, WORKERS,
};

/// Limits of the file cache.
pub const FILE_CACHE: Limit<ByteCount> = Limit {
    option: "file_cache",
    least: ByteCount(0),
    most: ByteCount(1 << 44),
    reason: "no machine has more memory",
};
