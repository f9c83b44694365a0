//! [`ExtentMap`]: which blocks of the devices hold which blocks of a file.
//!
//! An [`Extent`] is a run of blocks of one device, with the checksum of its bytes if that is known.
//! A piece of a map is an extent and its place in the file.
//!
//! # Invariants
//! - The pieces of a map are in file order, do not overlap in the file, and none is empty.
//! - The rest of a piece that is cut has no checksum: the old one would be wrong for it.
//!
//! On a device with zones, an extent lies in one zone. This module knows no zones, so code that
//! makes or lengthens an extent has to ask the [`AddressSpace`](crate::AddressSpace).
//!
//! A map is a value: a change makes a new one, and a reader can go on with the old one. A map does
//! not keep its blocks from being written again. It may have gaps, such as blocks that were
//! trimmed.

use terrace_env::DeviceId;

use crate::BlockAddr;

/// Consecutive blocks of one device, and of one zone if the device has zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// The first block.
    pub first: BlockAddr,
    /// How many.
    pub blocks: u32,
    /// The CRC32C of all its bytes, where it is known.
    pub crc: Option<u32>,
}

// A store of 14 TB has 1.7 million of them in memory.
const _: () = assert!(size_of::<Extent>() == 20 && size_of::<Mapped>() == 24);

impl Extent {
    /// The device.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.first.device()
    }

    /// The number of its first block on the device.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.first.block()
    }

    /// The number of the block after its last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start() + u64::from(self.blocks)
    }

    /// Whether both name the same blocks, regardless of their checksums.
    #[must_use]
    pub fn same_blocks(&self, other: &Self) -> bool {
        (self.first, self.blocks) == (other.first, other.blocks)
    }

    /// Whether all blocks of `other` are blocks of this extent.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        self.first <= other.first && self.device() == other.device() && other.end() <= self.end()
    }

    /// Whether `at` is the address after its last block, perhaps in another zone.
    #[must_use]
    pub fn ends_at(&self, at: BlockAddr) -> bool {
        self.device() == at.device() && self.end() == at.block()
    }

    /// `blocks` blocks of it from its `skip`-th on.
    fn part(&self, skip: u32, blocks: u32) -> Self {
        debug_assert!(skip + blocks <= self.blocks, "a part larger than the whole");
        let crc = if blocks == self.blocks { self.crc } else { None };
        Self { first: self.first.plus(skip), blocks, crc }
    }
}

/// An extent in its place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The block of the file that the extent's first block holds.
    pub at: u32,
    /// The extent.
    pub extent: Extent,
}

impl Mapped {
    /// The file's block after the extent's last one.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.at + self.extent.blocks
    }
}

/// Where a file's blocks are: pieces in file order that do not overlap. A value; every change makes
/// a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtentMap(Box<[Mapped]>);

impl ExtentMap {
    /// A file made of these extents, one after the other from block `at` of the file on; `None` if
    /// one of them is empty or ends after [`BlockAddr::BLOCKS_MAX`], or if the file would have more
    /// than `u32::MAX` blocks.
    #[must_use]
    pub fn consecutive(at: u32, extents: &[Extent]) -> Option<Self> {
        let mut next = at;
        let mut pieces = Vec::with_capacity(extents.len());
        for &extent in extents {
            let end = next.checked_add(extent.blocks)?;
            if !is_possible(&extent) {
                return None;
            }
            pieces.push(Mapped { at: next, extent });
            next = end;
        }
        Some(Self(pieces.into()))
    }

    /// A map of these pieces; `None` if they are not in order or overlap, if one is empty or ends
    /// after [`BlockAddr::BLOCKS_MAX`], or if the file would have more than `u32::MAX` blocks.
    #[must_use]
    pub fn from_pieces(pieces: Vec<Mapped>) -> Option<Self> {
        let mut next = 0;
        for piece in &pieces {
            let extent = piece.extent;
            if piece.at < next || !is_possible(&extent) {
                return None;
            }
            next = piece.at.checked_add(extent.blocks)?;
        }
        Some(Self(pieces.into()))
    }

    /// The pieces, in file order.
    #[must_use]
    pub fn pieces(&self) -> &[Mapped] {
        &self.0
    }

    /// The extents, in file order.
    pub fn extents(&self) -> impl DoubleEndedIterator<Item = Extent> + '_ {
        self.0.iter().map(|piece| piece.extent)
    }

    /// Whether nothing is mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many blocks are mapped.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.0.iter().map(|piece| u64::from(piece.extent.blocks)).sum()
    }

    /// The file's block after the last mapped one.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.0.last().map_or(0, Mapped::end)
    }

    /// The piece that holds block `block` of the file.
    #[must_use]
    pub fn find(&self, block: u32) -> Option<Mapped> {
        let after = self.0.partition_point(|piece| piece.at <= block);
        let piece = *self.0.get(after.checked_sub(1)?)?;
        (block < piece.end()).then_some(piece)
    }

    /// Where block `block` of the file lies.
    #[must_use]
    pub fn locate(&self, block: u32) -> Option<BlockAddr> {
        let Mapped { at, extent } = self.find(block)?;
        debug_assert!(at <= block && block - at < extent.blocks, "{block} of {extent:?} at {at}");
        Some(extent.first.plus(block - at))
    }

    /// Without the file's blocks `from..to`; and the extents that this gives back.
    #[must_use]
    pub fn without(&self, from: u32, to: u32) -> (Self, Vec<Extent>) {
        let mut kept = Vec::with_capacity(self.0.len() + 1);
        let mut freed = Vec::new();
        for piece in &self.0 {
            let (first, last) = (from.max(piece.at), to.min(piece.end()));
            if first >= last {
                kept.push(*piece);
                continue;
            }
            let (head, tail) = (first - piece.at, piece.end() - last);
            if head > 0 {
                kept.push(Mapped { at: piece.at, extent: piece.extent.part(0, head) });
            }
            freed.push(piece.extent.part(head, last - first));
            if tail > 0 {
                kept.push(Mapped { at: last, extent: piece.extent.part(last - piece.at, tail) });
            }
        }
        let given_back: u64 = freed.iter().map(|extent| u64::from(extent.blocks)).sum();
        let kept = Self(kept.into());
        debug_assert_eq!(kept.blocks() + given_back, self.blocks(), "no block is lost");
        debug_assert!(kept.is_in_order(), "{kept:?}");
        (kept, freed)
    }

    /// The blocks of the devices that this map names and `other` does not.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Vec<Extent> {
        let mut theirs: Vec<Extent> = other.extents().collect();
        theirs.sort_unstable();
        let mut left = Vec::new();
        for extent in self.extents() {
            let (device, start) = (extent.device(), extent.start());
            // Both numbers are in the extent or at its end.
            let part = |from: u64, to: u64| extent.part((from - start) as u32, (to - from) as u32);
            let mut next = start;
            let from = theirs.partition_point(|e| (e.device(), e.end()) <= (device, start));
            let near = theirs[from..].iter();
            for taken in near.take_while(|e| e.device() == device && e.start() < extent.end()) {
                if taken.start() > next {
                    left.push(part(next, taken.start()));
                }
                next = next.max(taken.end());
            }
            if next < extent.end() {
                left.push(part(next, extent.end()));
            }
        }
        debug_assert!(left.iter().all(|extent| extent.blocks > 0), "{left:?}");
        left
    }

    /// With the extents appended after the last mapped block; `None` as for
    /// [`consecutive`](Self::consecutive).
    #[must_use]
    pub fn extended(&self, extents: &[Extent]) -> Option<Self> {
        let tail = Self::consecutive(self.end(), extents)?;
        let longer = Self(self.0.iter().chain(tail.0.iter()).copied().collect());
        debug_assert_eq!(longer.blocks(), self.blocks() + tail.blocks(), "blocks are added");
        debug_assert!(longer.is_in_order(), "{longer:?}");
        Some(longer)
    }

    /// With the piece at block `at` of the file, which must be exactly `old`, replaced by extents
    /// of the same number of blocks; `None` if it is not there or the numbers differ.
    #[must_use]
    pub fn repointed(&self, at: u32, old: &Extent, new: &[Extent]) -> Option<Self> {
        let index = self.0.binary_search_by_key(&at, |piece| piece.at).ok()?;
        if !self.0[index].extent.same_blocks(old) {
            return None;
        }
        let fresh = Self::consecutive(at, new)?;
        if fresh.blocks() != u64::from(old.blocks) {
            return None;
        }
        let (before, after) = (&self.0[..index], &self.0[index + 1..]);
        let map = Self([before, &fresh.0, after].concat().into());
        debug_assert_eq!(map.blocks(), self.blocks(), "a move changes no size");
        debug_assert!(map.is_in_order(), "{map:?}");
        Some(map)
    }

    /// The first invariant of the module.
    fn is_in_order(&self) -> bool {
        let is_full = |piece: &Mapped| piece.extent.blocks > 0;
        self.0.iter().all(is_full) && self.0.windows(2).all(|pair| pair[0].end() <= pair[1].at)
    }
}

fn is_possible(extent: &Extent) -> bool {
    extent.blocks > 0 && extent.end() <= BlockAddr::BLOCKS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(device: u16, block: u64) -> BlockAddr {
        BlockAddr::new(DeviceId(device), block)
    }

    fn extent(device: u16, start: u64, blocks: u32) -> Extent {
        Extent { first: at(device, start), blocks, crc: Some(u32::from(device) ^ start as u32) }
    }

    fn parts(extents: &[Extent]) -> Vec<(u16, u64, u32)> {
        extents.iter().map(|e| (e.device().0, e.start(), e.blocks)).collect()
    }

    fn map() -> ExtentMap {
        ExtentMap::consecutive(0, &[extent(1, 10, 4), extent(2, 0, 6)]).unwrap()
    }

    #[test]
    fn every_block_is_found_where_it_was_mapped() {
        let map = map();
        assert_eq!(map.locate(3), Some(at(1, 13)));
        assert_eq!(map.locate(4), Some(at(2, 0)));
        assert_eq!(map.locate(10), None);
        assert_eq!((map.blocks(), map.end()), (10, 10));
    }

    #[test]
    fn a_trim_across_a_border_leaves_two_unknown_parts_and_a_hole() {
        let (left, freed) = map().without(2, 7);
        assert_eq!(left.blocks(), 5);
        assert_eq!(parts(&freed), [(1, 12, 2), (2, 0, 3)]);
        assert!(left.extents().all(|e| e.crc.is_none()), "a cut extent has no checksum");
        assert_eq!(left.locate(4), None);
        assert_eq!(left.locate(7), Some(at(2, 3)));
    }

    #[test]
    fn trims_of_whole_extents_keep_the_checksums_of_the_others() {
        let (left, freed) = map().without(0, 4);
        assert_eq!(freed, [extent(1, 10, 4)]);
        assert_eq!(left.extents().collect::<Vec<_>>(), [extent(2, 0, 6)]);
    }

    #[test]
    fn an_extent_is_repointed_only_if_it_is_still_there() {
        let fresh = [extent(7, 0, 3), extent(8, 5, 1)];
        let moved = map().repointed(0, &extent(1, 10, 4), &fresh).unwrap();
        assert_eq!(moved.locate(3), Some(at(8, 5)));
        assert_eq!(moved.locate(4), Some(at(2, 0)));
        assert_eq!(map().repointed(0, &extent(1, 11, 4), &fresh), None);
        assert_eq!(map().repointed(0, &extent(1, 10, 4), &fresh[..1]), None);
    }

    #[test]
    fn the_difference_is_what_only_the_first_map_names() {
        let other = ExtentMap::consecutive(0, &[extent(2, 2, 2), extent(1, 10, 1)]).unwrap();
        assert_eq!(parts(&map().difference(&other)), [(1, 11, 3), (2, 0, 2), (2, 4, 2)]);
        assert_eq!(map().difference(&map()), []);
    }

    #[test]
    fn impossible_maps_are_refused() {
        assert_eq!(ExtentMap::consecutive(0, &[extent(1, 0, 0)]), None);
        assert_eq!(ExtentMap::consecutive(u32::MAX, &[extent(1, 0, 1)]), None);
        let last = extent(1, BlockAddr::BLOCKS_MAX - 1, 1);
        assert!(ExtentMap::consecutive(0, &[last]).is_some());
        assert_eq!(ExtentMap::consecutive(0, &[Extent { blocks: 2, ..last }]), None);
        let overlap = vec![Mapped { at: 0, extent: extent(1, 0, 2) }; 2];
        assert_eq!(ExtentMap::from_pieces(overlap), None);
    }
}
