//! Estimates of the most space that a job's tables can take, for the job's reservation.
//!
//! The estimate can be too small: very long keys make a larger index than estimated, and with data
//! blocks smaller than 4 KiB a flush may write more.
//!
//! Pure functions.

use terrace_env::ByteCount;
use terrace_policy::Route;

use super::subcompaction::Load;
use crate::key::{SPACE_BYTES, TRAILER_BYTES};
use crate::memtable::ENTRY_BYTES;
use crate::options::ShapeOptions;
use crate::ranges::JobRanges;

/// The most bytes of a table's tail, with the padding of the store's block after it. Filter and
/// index are not included.
pub(super) const TABLE_TAIL_BYTES: u64 = 16 << 10;

/// Size that larger data blocks are counted as. A fiftieth of it is twice the bytes of a block's
/// frame and of its entry in the index.
const BLOCK_MAX: u64 = 4 << 10;

/// The most bytes of a block's frame, a partition's frame and handles, the rest of its smallest
/// filter, and keys of a usual length in the indexes.
const BORDER_BYTES: u64 = 400;

/// Which part of its blocks a table's frames and index take at most. The first key of a block takes
/// no more in the index than the rest of its entry.
fn frame_part(options: &ShapeOptions) -> u64 {
    if options.shape.first_keys { 40 } else { 50 }
}

/// The most bytes of tables with these entries. The last table of each destination may be cut
/// short.
pub(crate) fn worst_case(
    options: &ShapeOptions,
    table_size: ByteCount,
    destinations: u64,
    Load { entries, plain }: Load,
) -> ByteCount {
    let shape = options.largest();
    let bytes = plain + entries * entry_bytes(shape.filter_bits);
    // Each block but the last of a table is full, or has one entry.
    let small = BLOCK_MAX / shape.block_size.0.clamp(1, BLOCK_MAX);
    let part = frame_part(options);
    let frames = (bytes / part * small).min(entries * (BLOCK_MAX / part)).max(bytes / part);
    of_blocks(table_size, destinations, bytes + frames + border_bytes(options, entries))
}

/// The most bytes that `entries` take because a block, and a partition of the index, ends between
/// two key spaces of which one has options of its own.
fn border_bytes(options: &ShapeOptions, entries: u64) -> u64 {
    (2 * options.spaces.len() as u64).min(entries) * BORDER_BYTES
}

/// The same for `bytes` of data blocks, filters and index entries.
fn of_blocks(table_size: ByteCount, destinations: u64, bytes: u64) -> ByteCount {
    let blocks = bytes + bytes / 256;
    let tables = blocks / table_size.0.max(1) + 1 + destinations;
    ByteCount(blocks + tables * TABLE_TAIL_BYTES)
}

/// The most bytes of a job's tables, with its range tombstones. Each table may begin with a piece
/// of a range tombstone that lies across its start. Where range tombstones overlap grandparents,
/// there are more tables.
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

/// The same for a memtable of `bytes` and `routes`, for any entries. The overhead of an entry is
/// larger in a memtable than in tables, unless filters are very large. Data blocks count as 4 KiB:
/// with smaller ones, the flush may use space that the store keeps for flushes. The number of
/// entries is not known, and a block for each would reserve several times the space.
pub(crate) fn worst_case_of_memtable(
    options: &ShapeOptions,
    routes: usize,
    bytes: u64,
) -> ByteCount {
    let smallest = ENTRY_BYTES + SPACE_BYTES + TRAILER_BYTES;
    let excess = entry_bytes(options.largest().filter_bits).saturating_sub(ENTRY_BYTES as u64);
    let bytes = bytes + bytes / smallest as u64 * excess;
    let borders = border_bytes(options, bytes / smallest as u64);
    let worst = of_blocks(options.table_size, 1, bytes + bytes / frame_part(options) + borders);
    ByteCount(worst.0 + routes.saturating_sub(1) as u64 * TABLE_TAIL_BYTES)
}

/// Bytes that tables take for an entry in addition to key and value: three varints, of one byte
/// each below 128 (longer ones come with longer values), its part of a restart point per 16
/// entries, and the filter's bits.
fn entry_bytes(filter_bits: u8) -> u64 {
    4 + u64::from(filter_bits).div_ceil(8)
}
