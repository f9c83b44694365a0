//! [`ZoneGrid`]: converts between block addresses and the zones of a device.
//!
//! Blocks are numbered from the start of the device. A zone takes one number for each block of the
//! zone *size*, rounded up: the *stride*. (The last zone may be shorter.) So block `b` lies in zone
//! `b / stride`, whatever the zone's capacity. A zone of 2 GiB with a capacity of 1077 MiB (NVMe
//! ZNS), for example, takes 524,288 numbers, of which 275,712 can be used.
//!
//! # Invariants
//! - Where a block lies depends on its number and on the zone size alone. It is the same on two
//!   devices that differ in capacity, in conventional zones or in how short the last zone is.
//! - If the zone size is a multiple of 4096 bytes, block `b` starts at byte `4096 * b` of the
//!   device.
//!
//! A grid is a small value that can be copied. The conversions expect an address that
//! [`has`](ZoneGrid::has) accepts. Release builds do not check this, and debug builds check a part
//! of it.

use terrace_env::store::StoreError;
use terrace_env::{DeviceId, Lba, ZoneId};
use terrace_zone::Geometry;

use super::{BlockAddr, ZonePlace};
use crate::block::logical_per_block;

/// The zones of a device, for conversions between block addresses, zones and logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGrid {
    device: DeviceId,
    zones: u32,
    /// Blocks from a zone's start to the next one's.
    stride: u64,
    /// Blocks of the last zone, which may be shorter.
    last: u64,
    /// The binary logarithm of the stride, if that is a power of two: shifts are cheaper than
    /// divisions.
    shift: Option<u32>,
    /// Logical blocks from a zone's start to the next one's.
    zone_size: u64,
    /// Logical blocks in a block.
    per_block: u64,
    /// Bytes in a logical block.
    logical_block: u32,
}

impl ZoneGrid {
    /// The zones of a device of this shape.
    #[must_use]
    pub fn new(device: DeviceId, geometry: &Geometry) -> Self {
        let per_block = logical_per_block(geometry);
        let stride = geometry.zone_size.div_ceil(per_block);
        Self {
            device,
            zones: geometry.zones,
            stride,
            last: geometry.last_zone_size.map_or(stride, |size| size.div_ceil(per_block)),
            shift: stride.is_power_of_two().then(|| stride.trailing_zeros()),
            zone_size: geometry.zone_size,
            per_block,
            logical_block: geometry.logical_block,
        }
    }

    /// Refuses a device whose zones take up [`BlockAddr::BLOCKS_MAX`] block numbers or more.
    pub fn check_size(&self) -> Result<(), StoreError> {
        let blocks = u128::from(self.stride) * u128::from(self.zones);
        if blocks < u128::from(BlockAddr::BLOCKS_MAX) {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "expected a device of fewer than {} blocks of 4 KiB, an exbibyte; found {blocks} in \
             {} zones",
            BlockAddr::BLOCKS_MAX,
            self.zones
        )))
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The number of the first block after all zones.
    #[must_use]
    pub fn end(&self) -> u64 {
        let before = self.stride.saturating_mul(u64::from(self.zones).saturating_sub(1));
        before.saturating_add(self.last).min(BlockAddr::BLOCKS_MAX)
    }

    /// Whether the device has this block.
    #[must_use]
    pub fn has(&self, at: BlockAddr) -> bool {
        at.device() == self.device && at.block() < self.end()
    }

    /// Whether these blocks lie in one zone.
    #[must_use]
    pub fn is_in_one_zone(&self, first: BlockAddr, blocks: u32) -> bool {
        let within = first.block() - self.number(first) * self.stride;
        within + u64::from(blocks) <= self.stride
    }

    /// Block `block` of a zone.
    #[must_use]
    pub fn addr(&self, zone: ZoneId, block: u32) -> BlockAddr {
        debug_assert!(u64::from(block) <= self.stride, "block {block} of zone {zone}");
        BlockAddr::new(self.device, u64::from(zone.0) * self.stride + u64::from(block))
    }

    /// The zone that a block of the device lies in. After the last zone, the largest possible zone.
    #[must_use]
    pub fn zone(&self, at: BlockAddr) -> ZoneId {
        debug_assert_eq!(at.device(), self.device, "{at}");
        ZoneId(u32::try_from(self.number(at)).unwrap_or(u32::MAX))
    }

    /// The zone that a block of the device lies in, and its place there.
    #[must_use]
    pub fn place(&self, at: BlockAddr) -> ZonePlace {
        let within = at.block() - self.number(at) * self.stride;
        ZonePlace { zone: self.zone(at), block: u32::try_from(within).unwrap_or(u32::MAX) }
    }

    /// The address of a place in a zone.
    #[must_use]
    pub fn addr_of(&self, place: ZonePlace) -> BlockAddr {
        self.addr(place.zone, place.block)
    }

    /// The first logical block of a block.
    #[must_use]
    pub fn lba(&self, at: BlockAddr) -> Lba {
        if self.stride * self.per_block == self.zone_size {
            return Lba(at.block() * self.per_block);
        }
        let number = self.number(at);
        Lba(number * self.zone_size + (at.block() - number * self.stride) * self.per_block)
    }

    /// The byte of the device that a block starts with.
    #[must_use]
    pub fn byte(&self, at: BlockAddr) -> u64 {
        self.lba(at).0.saturating_mul(self.logical_block.into())
    }

    /// A place in words, for messages: `what` lies there, on which device and in which zone; and
    /// the byte of the device.
    pub(crate) fn describe(&self, what: &str, place: ZonePlace) -> (String, u64) {
        let region = format!("{what} on device {} (zone {})", self.device, place.zone);
        (region, self.byte(self.addr_of(place)))
    }

    fn number(&self, at: BlockAddr) -> u64 {
        match self.shift {
            Some(shift) => at.block() >> shift,
            None => at.block() / self.stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::ByteCount;

    use super::*;

    fn grid(geometry: &Geometry) -> ZoneGrid {
        geometry.validate().expect("a possible shape");
        ZoneGrid::new(DeviceId::FIRST, geometry)
    }

    fn shapes() -> Vec<Geometry> {
        let uniform = Geometry::uniform(ByteCount(1 << 20), 10);
        let small = Geometry { logical_block: 512, physical_block: 512, ..uniform.clone() };
        vec![
            uniform.clone(),
            Geometry { zone_size: 300, zone_capacity: 200, ..uniform.clone() },
            Geometry { last_zone_size: Some(17), ..uniform },
            Geometry { zone_size: 2048, zone_capacity: 2048, ..small.clone() },
            Geometry { zone_size: 2051, zone_capacity: 2050, ..small },
        ]
    }

    #[test]
    fn every_block_of_every_zone_has_an_address_of_its_own() {
        for geometry in shapes() {
            let grid = grid(&geometry);
            let mut before = None;
            for zone in geometry.zone_ids() {
                for block in 0..crate::zone_blocks(&geometry, zone) {
                    let at = grid.addr(zone, block);
                    assert!(before < Some(at), "{at} in {geometry:?}");
                    before = Some(at);
                    assert!(grid.has(at));
                    assert_eq!((grid.zone(at), grid.place(at)), (zone, ZonePlace { zone, block }));
                    let start = geometry.zone_start(zone).0;
                    let lba = Lba(start + u64::from(block) * logical_per_block(&geometry));
                    assert_eq!(grid.lba(at), lba);
                    assert_eq!(geometry.zone_of(lba), Some(zone));
                    assert_eq!(grid.byte(at), lba.0 * u64::from(geometry.logical_block));
                }
            }
        }
    }

    #[test]
    fn addresses_do_not_depend_on_the_capacity() {
        let whole = Geometry::uniform(ByteCount(1 << 20), 10);
        let less = Geometry { zone_capacity: 100, ..whole.clone() };
        let at = |geometry| grid(geometry).addr(ZoneId(7), 99);
        assert_eq!(at(&whole), at(&less));
        assert_eq!(at(&whole).block(), 7 * 256 + 99);
    }

    #[test]
    fn a_short_last_zone_has_no_blocks_behind_its_end() {
        let uniform = Geometry::uniform(ByteCount::mib(1), 10);
        let short = Geometry { last_zone_size: Some(100), ..uniform };
        let grid = grid(&short);
        assert_eq!(grid.end(), 9 * 256 + 100);
        assert!(grid.has(grid.addr(ZoneId(9), 99)) && !grid.has(grid.addr(ZoneId(9), 100)));
    }

    #[test]
    fn a_run_of_blocks_is_in_one_zone_or_crosses_its_end() {
        for geometry in shapes() {
            let grid = grid(&geometry);
            let stride = geometry.zone_size.div_ceil(logical_per_block(&geometry)) as u32;
            let last = grid.addr(ZoneId(3), stride - 1);
            assert!(grid.is_in_one_zone(last, 1) && !grid.is_in_one_zone(last, 2));
            let first = grid.addr(ZoneId(4), 0);
            assert_eq!(last.plus(1), first, "zones follow each other without a gap");
            assert!(grid.is_in_one_zone(first, stride) && !grid.is_in_one_zone(first, stride + 1));
        }
    }

    #[test]
    fn a_device_of_more_blocks_than_addresses_is_refused() {
        let zone_size = 1 << 30;
        let most = (BlockAddr::BLOCKS_MAX / zone_size) as u32;
        let large = |zones| {
            let uniform = Geometry::uniform(ByteCount(4096), zones);
            grid(&Geometry { zone_size, zone_capacity: zone_size, ..uniform })
        };
        large(most - 1).check_size().expect("blocks that have addresses");
        let error = large(most).check_size().expect_err("too large").to_string();
        assert!(error.contains("an exbibyte"), "{error}");
    }
}
