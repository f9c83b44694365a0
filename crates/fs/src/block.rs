//! The file system's block of 4096 bytes: how many of them a zone holds, and where a zone is
//! written next.
//!
//! A block has this size on any device. The capacity of a zone is rounded down to whole blocks, and
//! the rest is not used. A write pointer inside a block means that a write was torn, because the
//! file system writes whole blocks; [`pointer()`] then returns `None`. It does so too for a zone
//! whose state has no pointer, such as a full one.
//!
//! `end_writing` finishes a zone that is partly written and will not be written any more.

use terrace_env::{Cause, ZoneId};
use terrace_zone::{Device, Geometry, Op, ZoneReport};

/// Bytes in a block of the file system.
pub const BLOCK: usize = 4096;

/// Logical blocks of the device in one block.
#[must_use]
pub fn logical_per_block(geometry: &Geometry) -> u64 {
    BLOCK as u64 / u64::from(geometry.logical_block)
}

/// Whole blocks that can be written to a zone.
#[must_use]
pub fn zone_blocks(geometry: &Geometry, zone: ZoneId) -> u32 {
    let blocks = geometry.zone_capacity(zone) / logical_per_block(geometry);
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

/// Whether a zone is full once all its blocks are written: the capacity may be a few logical blocks
/// more, and then the zone stays active until it is finished.
#[must_use]
pub(crate) fn is_filled_by_blocks(geometry: &Geometry, zone: ZoneId) -> bool {
    geometry.zone_capacity(zone).is_multiple_of(logical_per_block(geometry))
}

/// The block at which a zone is written next; `None` where the pointer means nothing, or is not on
/// a block because a write was torn.
#[must_use]
pub fn pointer(geometry: &Geometry, report: &ZoneReport) -> Option<u32> {
    if !report.state.has_pointer() {
        return None;
    }
    let written = report.write_pointer.0.checked_sub(report.start.0)?;
    let per_block = logical_per_block(geometry);
    let whole = written.is_multiple_of(per_block);
    whole.then(|| u32::try_from(written / per_block).ok()).flatten()
}

/// Finishes a zone that is not written any more, if it is partly written: it would keep an active
/// slot from one that is. If that fails, the slot stays taken, and the device says so when it
/// matters.
pub(crate) fn end_writing(device: &dyn Device, zone: ZoneId, cause: Cause) {
    let report = device.report(zone, 1);
    if report.is_ok_and(|report| report.iter().any(|zone| zone.state.is_active())) {
        device.control(Op::Finish(zone), cause).ok();
    }
}
