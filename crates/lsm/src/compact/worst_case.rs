//! Estimates of the most space that a job's tables can take, for the job's reservation.
//!
//! The estimate can be too small: very long keys make a larger index than is reckoned, and with
//! data blocks smaller than 4 KiB a flush may write more.
//!
//! Pure functions.

use terrace_env::ByteCount;
use terrace_policy::Route;

use super::subcompaction::Load;
use crate::key::{SPACE_BYTES, TRAILER_BYTES};
use crate::memtable::ENTRY_BYTES;
use crate::options::EngineOptions;
use crate::ranges::JobRanges;

/// Largest size of a table's tail, with the rest of the store's block behind its last block; filter
/// and index aside.
pub(super) const TABLE_TAIL_BYTES: u64 = 16 << 10;

/// Larger data blocks are counted as blocks of this size. A fiftieth of it is twice the bytes of a
/// block's frame and of its entry in the index.
const BLOCK_MAX: u64 = 4 << 10;

/// Which part of its blocks a table's frames and index take at most. The first key of a block takes
/// no more in the index than the rest of its entry.
fn frame_part(options: &EngineOptions) -> u64 {
    if options.table_shape().first_keys { 40 } else { 50 }
}

/// The most bytes that tables of these entries can take. The last table of each destination may be
/// cut short.
pub(crate) fn worst_case(
    options: &EngineOptions,
    table_size: ByteCount,
    destinations: u64,
    Load { entries, plain }: Load,
) -> ByteCount {
    let shape = options.table_shape();
    let bytes = plain + entries * entry_bytes(shape.filter_bits);
    // Each block but the last of a table is full, or has one entry.
    let small = BLOCK_MAX / shape.block_size.0.clamp(1, BLOCK_MAX);
    let part = frame_part(options);
    let frames = (bytes / part * small).min(entries * (BLOCK_MAX / part)).max(bytes / part);
    of_blocks(table_size, destinations, bytes + frames)
}

/// The same for so many bytes of data blocks, filters and index entries.
fn of_blocks(table_size: ByteCount, destinations: u64, bytes: u64) -> ByteCount {
    let blocks = bytes + bytes / 256;
    let tables = blocks / table_size.0.max(1) + 1 + destinations;
    ByteCount(blocks + tables * TABLE_TAIL_BYTES)
}

/// The most bytes that a job's tables can take, with its range tombstones: each table may begin
/// with a piece of one that lies across its start, and where they overlap grandparents there are
/// more tables.
pub(crate) fn with_ranges(
    worst: ByteCount,
    ranges: &JobRanges,
    table_size: ByteCount,
    routes: &[Route],
) -> ByteCount {
    if ranges.is_done() {
        return worst;
    }
    let (bytes, largest) = ranges.bytes();
    let cuts = |route: &Route| {
        let over: u64 = route.cut.grandparents.iter().map(|grandparent| grandparent.size.0).sum();
        1 + route.cut.keys.len() as u64 + over / route.cut.overlap_max.0.max(1)
    };
    let cuts: u64 = routes.iter().map(cuts).sum();
    let tables = (worst.0 + bytes) / table_size.0.max(1) + 2 + cuts;
    ByteCount(worst.0 + bytes + bytes / 50 + tables * (largest + TABLE_TAIL_BYTES))
}

/// The same for a memtable of so many bytes and routes, whatever its entries are. A memtable takes
/// more for an entry besides key and value than tables do, unless filters are very large. Data
/// blocks count as if they were of 4 KiB: with smaller ones the flush may take a part of the space
/// that the store keeps for flushes. How many entries there will be is not known, and to set aside
/// a block for each would take several times the space.
pub(crate) fn worst_case_of_memtable(
    options: &EngineOptions,
    routes: usize,
    bytes: u64,
) -> ByteCount {
    let smallest = ENTRY_BYTES + SPACE_BYTES + TRAILER_BYTES;
    let excess = entry_bytes(options.tables.shape().filter_bits).saturating_sub(ENTRY_BYTES as u64);
    let bytes = bytes + bytes / smallest as u64 * excess;
    let worst = of_blocks(options.table_size, 1, bytes + bytes / frame_part(options));
    ByteCount(worst.0 + routes.saturating_sub(1) as u64 * TABLE_TAIL_BYTES)
}

/// Bytes that tables take for an entry besides key and value: three varints, of one byte each below
/// 128 (longer ones come with longer values), its part of a restart point per 16 entries, and the
/// filter's bits.
fn entry_bytes(filter_bits: u8) -> u64 {
    4 + u64::from(filter_bits).div_ceil(8)
}
