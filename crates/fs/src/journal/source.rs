//! [`ZoneSource`]: one zone of the journal as the [`BlockSource`] of a scan.
//!
//! The zone's report is taken once, when the source is made; blocks that are written later are not
//! seen. A zone that has no write pointer, such as a stretch of a device without zones, counts as
//! written to its end. A zone that is offline, or whose report fails, is an I/O error. An address
//! that is not on the device is corruption.

use terrace_env::store::StoreError;
use terrace_env::{Cause, IoBuf, ZoneId};
use terrace_zone::{Device, DeviceError, ZoneState};

use crate::frame::BlockSource;
use crate::{BlockAddr, ZoneGrid, ZonePlace, logical_per_block, pointer, zone_blocks};

/// A zone of the journal.
pub(crate) struct ZoneSource<'a> {
    device: &'a dyn Device,
    grid: ZoneGrid,
    zone: ZoneId,
    blocks: u32,
    written: u32,
    pointer: Option<u32>,
}

impl<'a> ZoneSource<'a> {
    /// The zone of a block that the journal leads to, and the block's place in the zone.
    pub(crate) fn at(
        device: &'a dyn Device,
        grid: ZoneGrid,
        at: BlockAddr,
    ) -> Result<(Self, ZonePlace), StoreError> {
        if !grid.has(at) {
            return Err(StoreError::Corruption {
                region: "journal".into(),
                offset: 0,
                expected: format!("a block of device {} below {}", grid.device(), grid.end()),
                got: at.to_string(),
            });
        }
        let place = grid.place(at);
        Ok((Self::new(device, grid, place.zone)?, place))
    }

    fn new(device: &'a dyn Device, grid: ZoneGrid, zone: ZoneId) -> Result<Self, StoreError> {
        let geometry = device.geometry();
        let what = || grid.describe("journal", ZonePlace { zone, block: 0 }).0;
        let reports = device.report(zone, 1).map_err(|error| StoreError::io(what(), error))?;
        let blocks = zone_blocks(geometry, zone);
        let report = reports.first();
        if report.is_none_or(|report| report.state == ZoneState::Offline) {
            return Err(StoreError::io(what(), DeviceError::ZoneOffline { zone }));
        }
        let written = match report {
            Some(report) if report.state.has_pointer() => {
                let logical = report.write_pointer.0.saturating_sub(report.start.0);
                let whole = logical.div_ceil(logical_per_block(geometry));
                u32::try_from(whole).unwrap_or(u32::MAX).min(blocks)
            }
            _ => blocks,
        };
        let pointer = report.and_then(|report| pointer(geometry, report));
        Ok(Self { device, grid, zone, blocks, written, pointer })
    }

    /// The block of the next write, if the zone can be written and has no remains of a torn write.
    pub(super) fn pointer(&self) -> Option<u32> {
        self.pointer
    }
}

impl BlockSource for ZoneSource<'_> {
    fn blocks(&self) -> u32 {
        self.blocks
    }

    fn extent_end(&self, _block: u32) -> u32 {
        self.blocks
    }

    fn written_end(&self, _block: u32) -> u32 {
        self.written
    }

    fn atomic(&self) -> usize {
        self.device.geometry().physical_block as usize
    }

    fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
        let at = self.grid.addr(self.zone, block);
        let logical = count * logical_per_block(self.device.geometry()) as u32;
        self.device
            .read(self.grid.lba(at), logical, Cause::Recovery)
            .map_err(|error| StoreError::io(format!("journal read at {at}"), error))
    }

    fn place(&self, block: u32) -> (String, u64) {
        self.grid.describe("journal", ZonePlace { zone: self.zone, block })
    }
}
