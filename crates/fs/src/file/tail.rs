//! [`Tail`]: the end of a growing table or client's file. It has three parts in file order: blocks
//! that the map has, writes in flight, and bytes in memory.
//!
//! The last block of the map and the buffer may overlap: after a sync, the bytes of a padded block
//! are at the front of the buffer too. Bytes in memory win then.
//!
//! [`add_blocks`] adds a completed write to the map. A block of the file that the map has already
//! is replaced. The new blocks extend the last extent and that extent's checksum. They begin
//! another extent if there is none, if they lie elsewhere, if the last extent has been synced, if
//! it would exceed 8 MiB or leave its zone, and for the partial block of a client's file.
//!
//! It has no lock of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use terrace_env::IoBuf;
use terrace_env::checksum::{crc32c, crc32c_append};

use super::FileState;
use crate::block::BLOCK;
use crate::catalog::{Extent, ExtentMap};
use crate::media::BlockTicket;
use crate::{AddressSpace, BlockAddr};

/// An extent grows to this and no further, so that one checksum, one trim that makes it unknown,
/// and one move of reclaim concern at most 8 MiB.
const EXTENT_BLOCKS_MAX: u32 = 2048;

/// The bytes of a growing file that are not in its map yet, and its synced length.
#[derive(Default)]
pub(crate) struct Tail {
    /// The blocks in the map, in order.
    pub(crate) extents: Vec<Extent>,
    /// Writes in flight, in file order.
    pub(crate) in_flight: VecDeque<Chunk>,
    /// The block of the file that the buffer starts with.
    pub(crate) at: u32,
    pub(crate) buffer: IoBuf,
    /// How many of the extents, and bytes, were there at the last sync.
    pub(crate) synced_extents: usize,
    pub(crate) synced_size: u64,
}

/// A write in flight. Its bytes are kept: they can be read, and written elsewhere if it fails.
pub(crate) struct Chunk {
    /// The block of the file that it starts with.
    pub(crate) at: u32,
    pub(crate) addr: BlockAddr,
    pub(crate) bytes: Arc<IoBuf>,
    /// The blocks of the write are an extent of their own.
    pub(crate) alone: bool,
    /// The writer that waits for it takes it.
    pub(crate) ticket: Option<BlockTicket>,
}

impl Chunk {
    pub(crate) fn blocks(&self) -> u32 {
        (self.bytes.len() / BLOCK) as u32
    }
}

impl Tail {
    /// The tail of a file that has these blocks and bytes, all synced.
    pub(crate) fn synced(map: &ExtentMap, size: u64) -> Self {
        let extents: Vec<Extent> = map.extents().collect();
        let (synced_extents, at) = (extents.len(), map.end());
        Self { extents, at, synced_extents, synced_size: size, ..Self::default() }
    }

    /// The first byte that is not in the map yet.
    pub(super) fn first_in_memory(&self) -> u64 {
        let block = self.in_flight.front().map_or(self.at, |chunk| chunk.at);
        u64::from(block) * BLOCK as u64
    }

    /// Copies bytes that are in memory; `None` if the first one is not.
    pub(super) fn copy(&self, from: u64, into: &mut [u8]) -> Option<usize> {
        let buffered = u64::from(self.at) * BLOCK as u64;
        let (bytes, skip) = if from >= buffered {
            (&self.buffer, from - buffered)
        } else {
            let chunk = self.in_flight.iter().find(|chunk| {
                let start = u64::from(chunk.at) * BLOCK as u64;
                (start..start + chunk.bytes.len() as u64).contains(&from)
            })?;
            (&*chunk.bytes, from - u64::from(chunk.at) * BLOCK as u64)
        };
        debug_assert!(skip <= bytes.len() as u64, "byte {from} is beyond the file");
        let bytes = &bytes[skip as usize..];
        let len = bytes.len().min(into.len());
        into[..len].copy_from_slice(&bytes[..len]);
        Some(len)
    }

    /// The blocks of the extents that were there at the last sync, and still are.
    pub(super) fn synced_blocks(&self) -> u64 {
        self.extents[..self.synced_extents].iter().map(|extent| u64::from(extent.blocks)).sum()
    }

    /// Everything that is in the map has been synced.
    pub(super) fn note_synced(&mut self, size: u64) {
        debug_assert!(self.synced_size <= size, "{} bytes, then {size}", self.synced_size);
        self.synced_extents = self.extents.len();
        self.synced_size = size;
    }
}

/// Blocks of a write, and where they lie.
pub(super) type Place = (BlockAddr, u32);

/// Adds a completed write to the map, and returns the blocks that it replaces and that come free
/// with that: those that the catalog knows come free with the next sync.
pub(super) fn add_blocks(
    state: &mut FileState,
    space: &AddressSpace,
    chunk: &Chunk,
    places: &[Place],
) -> Vec<Extent> {
    let (map, in_catalog) = (Arc::clone(&state.map), state.committed && !state.deleted);
    let tail = state.tail();
    let mut superseded = Vec::new();
    if chunk.at < map.end() {
        let synced: u32 = tail.extents[..tail.synced_extents].iter().map(|e| e.blocks).sum();
        let known_to_catalog = if in_catalog { synced } else { 0 };
        superseded = map.without(chunk.at.max(known_to_catalog), u32::MAX).1;
        tail.extents = map.without(chunk.at, u32::MAX).0.extents().collect();
        tail.synced_extents = tail.synced_extents.min(tail.extents.len());
    }
    let mut bytes = &chunk.bytes[..];
    for &(addr, blocks) in places {
        let (part, rest) = bytes.split_at(blocks as usize * BLOCK);
        bytes = rest;
        let may_grow = !chunk.alone && tail.extents.len() > tail.synced_extents;
        match tail.extents.last_mut().filter(|last| may_grow && can_grow(last, space, addr, blocks))
        {
            Some(last) => {
                last.blocks += blocks;
                last.crc = last.crc.map(|crc| crc32c_append(crc, part));
            }
            None => {
                tail.extents.push(Extent { first: addr, blocks, crc: Some(crc32c(part)) });
            }
        }
    }
    let map = ExtentMap::consecutive(0, &tail.extents).expect("a file of less than 16 TiB");
    debug_assert!(bytes.is_empty(), "{} bytes of a write have no place", bytes.len());
    debug_assert!(tail.synced_extents <= tail.extents.len(), "a synced extent is gone");
    debug_assert_eq!(map.end(), chunk.at + chunk.blocks(), "a map without holes");
    state.map = Arc::new(map);
    superseded
}

/// Whether an extent grows by blocks that were written at `addr`.
fn can_grow(last: &Extent, space: &AddressSpace, addr: BlockAddr, blocks: u32) -> bool {
    let whole = last.blocks + blocks;
    last.ends_at(addr) && whole <= EXTENT_BLOCKS_MAX && space.is_whole(last.first, whole)
}
