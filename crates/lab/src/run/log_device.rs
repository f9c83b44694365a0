//! The size of the log device of a run: a plain device in memory for the journal and all logs. It
//! also stands for conventional zones of the drive.
//!
//! It must never be full: the engine would end a log early, and the run would differ from one with
//! a larger device. So its size is an upper bound, in closed form, of what may be on it at once.
//! Blocks that were never written take no memory, so a generous bound costs nothing.
//!
//! - *Logs.* A memtable has one log. There are logs of the active memtable, of
//!   [`memtables_max`](StorePlan::memtables_max) immutable ones, and of one that was just flushed;
//!   and the next log is preallocated. Each entry may be a frame of its own, where every write is
//!   synced: its bytes and at most one more block of 4 KiB. An entry takes 64 bytes of a memtable
//!   or more. A preallocated log claims 17/8 of the bytes of the log before it, and 1/16 of that on
//!   top.
//! - *Journal.* It takes up to 4 snapshots, or 512 KiB, and three stretches of a MiB (`fs`,
//!   function `journal_zones` in `space/zoned/reserves.rs`, where a zone stands for a stretch). A
//!   snapshot has a record for each file: 256 bytes, and the smallest and the largest key, which
//!   may stand in it twice. A table has [`TABLE_MIN`] bytes or more on average.

use terrace_env::ByteCount;

use super::{PhasePlan, StorePlan};

/// Blocks of the file system.
const BLOCK: u64 = 4 << 10;
/// The least that an entry takes of a memtable, beside key and value.
const ENTRY_MIN: u64 = 64;
/// Logs beside those of immutable memtables: of the active memtable, of one that was just flushed,
/// and the next one.
const LOGS_BESIDE: u64 = 3;
/// Claim of a preallocated log, as a multiple of the log before: 17/8 of 17/16, rounded up.
const PREALLOCATED: u64 = 3;
/// A table on average: no plan has memtables or tables smaller than this.
const TABLE_MIN: u64 = 16 << 10;
/// A file in a snapshot of the journal, but for its keys.
const RECORD: u64 = 256;
/// The journal beside its snapshots, and the superblock: in stretches of a MiB.
const JOURNAL_BESIDE: u64 = 5 << 20;

/// The size of the log device of a store whose tables have `space` bytes on the drive.
pub(super) fn size(store: &StorePlan, phases: &[PhasePlan], space: ByteCount) -> ByteCount {
    let logs = logs(store) * PREALLOCATED * (1 + BLOCK / ENTRY_MIN);
    let key = phases.iter().map(|phase| phase.key_size as u64).max().unwrap_or(0);
    let snapshot = space.0 / TABLE_MIN * (RECORD + 4 * key);
    let bytes = logs + 4 * snapshot + JOURNAL_BESIDE;
    ByteCount(bytes.next_multiple_of(1 << 20))
}

/// Bytes of entries in all logs together, at most: about what a log device takes of memory. Blocks
/// of a deleted log are written again by the next.
pub(super) fn logs(store: &StorePlan) -> u64 {
    (store.memtables_max as u64 + LOGS_BESIDE) * store.memtable_size
}
