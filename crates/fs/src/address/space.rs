//! [`AddressSpace`]: the devices of a store, and which block addresses they have.
//!
//! `check` accepts a run of blocks under these conditions: its device is one of the store; it has
//! at least one block; all its blocks are on the device; and, if the device has zones, they lie in
//! one zone. After this check, conversions of the addresses need no error case.
//!
//! Not checked here is whether the zone may hold data, nor whether the blocks are within its
//! capacity: the block numbers of a zone cover its whole size.

use terrace_env::{DeviceId, ZoneId};

use super::{BlockAddr, ZoneGrid};

/// A field of an extent that does not fit the store: its name, the value expected, and the value
/// found.
type Misfit = (&'static str, &'static str, u64);

/// The devices of a store, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSpace {
    devices: Box<[Ground]>,
}

/// Layout of a device's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ground {
    /// Blocks of zones.
    Zoned(ZoneGrid),
    /// A number of blocks without borders.
    Plain(u64),
}

impl Ground {
    /// The number of the first block after the device.
    fn end(&self) -> u64 {
        match self {
            Self::Zoned(grid) => grid.end(),
            Self::Plain(blocks) => *blocks,
        }
    }

    fn is_whole(&self, first: BlockAddr, blocks: u32) -> bool {
        match self {
            Self::Zoned(grid) => grid.is_in_one_zone(first, blocks),
            Self::Plain(_) => true,
        }
    }
}

impl AddressSpace {
    /// One device, with zones.
    #[must_use]
    pub fn zoned(grid: ZoneGrid) -> Self {
        Self::default().with_zoned(grid)
    }

    /// One device, without zones: each file of a store in a directory has its own blocks.
    #[must_use]
    pub fn plain() -> Self {
        Self { devices: [Ground::Plain(BlockAddr::BLOCKS_MAX)].into() }
    }

    /// With one more device, which has zones.
    #[must_use]
    pub fn with_zoned(self, grid: ZoneGrid) -> Self {
        assert_eq!(usize::from(grid.device().0), self.devices.len(), "the number of the device");
        Self { devices: self.devices.into_iter().chain([Ground::Zoned(grid)]).collect() }
    }

    /// With one more device, which has `blocks` blocks and no zones.
    #[must_use]
    pub fn with_plain(self, blocks: u64) -> Self {
        let last = [Ground::Plain(blocks.min(BlockAddr::BLOCKS_MAX))];
        Self { devices: self.devices.into_iter().chain(last).collect() }
    }

    /// The zones of a device; `None` if it has none, or is none of the store.
    #[must_use]
    pub fn grid(&self, device: DeviceId) -> Option<&ZoneGrid> {
        match self.ground(device)? {
            Ground::Zoned(grid) => Some(grid),
            Ground::Plain(_) => None,
        }
    }

    fn ground(&self, device: DeviceId) -> Option<&Ground> {
        self.devices.get(usize::from(device.0))
    }

    /// The zone that a block lies in; `None` if its device has no zones.
    #[must_use]
    pub fn zone(&self, at: BlockAddr) -> Option<(DeviceId, ZoneId)> {
        Some((at.device(), self.grid(at.device())?.zone(at)))
    }

    /// Whether blocks of the store can be one extent: on a device with zones, those of one zone.
    pub(crate) fn is_whole(&self, first: BlockAddr, blocks: u32) -> bool {
        self.ground(first.device()).is_some_and(|ground| ground.is_whole(first, blocks))
    }

    /// Checks that the store has these blocks, and that they lie in one zone if there are zones.
    /// Otherwise: the field that is wrong, the value expected, and the value found.
    pub(crate) fn check(&self, first: BlockAddr, blocks: u32) -> Result<(), Misfit> {
        let Some(ground) = self.ground(first.device()) else {
            return Err(("device", "a device of the store", first.device().0.into()));
        };
        let end = first.block() + u64::from(blocks);
        if blocks == 0 || end > ground.end() {
            return Err(("blocks", "1 or more, all on the device", blocks.into()));
        }
        if !ground.is_whole(first, blocks) {
            return Err(("blocks", "blocks of one zone", blocks.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::ByteCount;
    use terrace_zone::Geometry;

    use super::*;

    fn field(space: &AddressSpace, device: u16, block: u64, blocks: u32) -> Option<&'static str> {
        let first = BlockAddr::new(DeviceId(device), block);
        space.check(first, blocks).err().map(|(_, expected, _)| expected)
    }

    #[test]
    fn extents_must_be_on_a_device_of_the_store_and_in_one_of_its_zones() {
        let geometry = Geometry::uniform(ByteCount(1 << 20), 10);
        let space = AddressSpace::zoned(ZoneGrid::new(DeviceId::FIRST, &geometry));
        assert_eq!(field(&space, 0, 256, 256), None);
        assert_eq!(field(&space, 0, 2559, 1), None);
        assert_eq!(field(&space, 0, 300, 213), Some("blocks of one zone"));
        assert_eq!(field(&space, 0, 2559, 2), Some("1 or more, all on the device"));
        assert_eq!(field(&space, 0, 2559, 0), Some("1 or more, all on the device"));
        assert_eq!(field(&space, 0, BlockAddr::BLOCKS_MAX - 1, 9), field(&space, 0, 2560, 1));
        assert_eq!(field(&space, 1, 256, 256), Some("a device of the store"));
    }

    #[test]
    fn a_device_without_zones_has_no_borders() {
        let space = AddressSpace::plain();
        assert_eq!(field(&space, 0, 300, u32::MAX), None);
        assert_eq!(space.zone(BlockAddr::new(DeviceId::FIRST, 300)), None);
        assert_eq!(field(&space, 1, 0, 1), Some("a device of the store"));
        assert_eq!(field(&AddressSpace::default(), 0, 0, 1), Some("a device of the store"));
    }

    #[test]
    fn a_plain_device_beside_a_zoned_one_ends_where_it_ends() {
        let geometry = Geometry::uniform(ByteCount(1 << 20), 10);
        let zoned = AddressSpace::zoned(ZoneGrid::new(DeviceId::FIRST, &geometry));
        let space = zoned.with_plain(1000);
        assert_eq!(field(&space, 1, 300, 700), None);
        assert_eq!(field(&space, 1, 300, 701), Some("1 or more, all on the device"));
        assert_eq!(field(&space, 2, 0, 1), Some("a device of the store"));
        assert_eq!(space.zone(BlockAddr::new(DeviceId(1), 300)), None);
        assert!(space.is_whole(BlockAddr::new(DeviceId(1), 200), 200));
        assert!(!space.is_whole(BlockAddr::new(DeviceId(0), 200), 200));
    }
}
