//! Recognises a blank device with zones on which a format was cut short. It holds nothing but the
//! front of a journal's first snapshot, without files, and no superblock.
//!
//! It is told by its contents, so that no data of a user is taken for it:
//! - No block where superblocks may lie is marked as one.
//! - Each zone that is written begins with up to three frames of such a snapshot. Its UUID is
//!   unknown, so the frames are verified by their own tag. A frame more, as the first mount writes
//!   it, makes the device one in use.
//! - After them at most one block was written, torn by a power cut. Without a frame before it, it
//!   is zeros. So if the first block was torn, and shows other bytes, the device is not recognised.
//!
//! Zones that have failed are passed over, and conventional ones, which have no pointer that tells.
//! Nothing is written.

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, IoBuf, ZoneId};
use terrace_zone::{Device, ZoneReport, ZoneState};

use crate::block::{BLOCK, logical_per_block};
use crate::frame::frames_of_any_store;
use crate::journal::{SNAPSHOT_FRAMES, is_first_snapshot};
use crate::superblock::survey;
use crate::{AddressSpace, ZoneGrid};

/// Whether a device with zones holds nothing but the traces of a format that was cut short. It can
/// be formatted again.
///
/// # Errors
/// Those of the device, as it reports its zones or is read.
pub fn holds_unfinished_format(device: &dyn Device) -> Result<bool, StoreError> {
    let geometry = device.geometry();
    if !geometry.layout.is_zoned() || !survey(device)?.is_empty() {
        return Ok(false);
    }
    let reports = device
        .report(ZoneId(0), geometry.zones)
        .map_err(|error| StoreError::io("report of the zones", error))?;
    for report in reports.iter().filter(|report| is_written(report.state)) {
        if !holds_nothing(device, report)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_written(state: ZoneState) -> bool {
    match state {
        ZoneState::ImplicitlyOpen
        | ZoneState::ExplicitlyOpen
        | ZoneState::Closed
        | ZoneState::Full => true,
        ZoneState::Empty
        | ZoneState::NotWritePointer
        | ZoneState::ReadOnly
        | ZoneState::Offline => false,
    }
}

/// Whether a written zone has nothing in it but the front of a snapshot without files.
fn holds_nothing(device: &dyn Device, report: &ZoneReport) -> Result<bool, StoreError> {
    let geometry = device.geometry();
    let per_block = logical_per_block(geometry);
    // Only zones with a pointer, of which a snapshot and a torn block take a part.
    let most = (SNAPSHOT_FRAMES as u64 + 1) * per_block;
    let written = report.write_pointer.0.saturating_sub(report.start.0);
    if !report.state.has_pointer() || written > most {
        return Ok(false);
    }
    let mut bytes = IoBuf::default();
    if written > 0 {
        let read = device.read(report.start, written as u32, Cause::Recovery);
        bytes = read.map_err(|error| {
            StoreError::io(format!("reading the written part of zone {}", report.zone), error)
        })?;
    }
    // Where sectors are smaller than blocks, a frame may be there but for its padding.
    bytes.pad_to(BLOCK);
    let (frames, end) = frames_of_any_store(&bytes);
    let rest = &bytes[end..];
    let is_torn = rest.len() <= BLOCK && (!frames.is_empty() || rest.iter().all(|byte| *byte == 0));
    let space = AddressSpace::zoned(ZoneGrid::new(DeviceId::FIRST, geometry));
    Ok(is_torn && is_first_snapshot(&frames, &space))
}
