//! Erase: makes the devices of a store blank again. After it, no store is found on them, and every
//! zone that can be written is empty.
//!
//! 1. The superblocks of device 0 are cleared: from then on there is no store.
//! 2. Those of device 1 are cleared, if there is a device 1.
//! 3. Sequential zones are reset, except those that are empty, read-only or offline. Blocks of
//!    conventional zones and of devices without zones keep their old bytes.
//!
//! `erase` claims the devices while it works. It does not ask whether there is a store.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, ZoneId};
use terrace_zone::{Device as _, ZoneState, ZoneType};

use crate::media::Media;
use crate::medium::Medium;
use crate::superblock::SuperblockArea;
use crate::volume::as_device;
use crate::{Devices, Fs};

impl Fs {
    /// Makes devices blank, so that no store is found on them. All data on them is lost. For a
    /// store that was formatted a moment ago and is not wanted after all.
    ///
    /// An error if a device is in use, has no place for a superblock, or fails.
    pub fn erase(devices: impl Into<Devices>) -> Result<(), StoreError> {
        let devices = devices.into();
        let _claims = devices.claim(true)?;
        let media = Media::new(&devices);
        for medium in media.present() {
            SuperblockArea::choose(as_device(medium))?;
        }
        media.present().try_for_each(reset_zones)
    }
}

/// Resets the sequential zones that are written.
fn reset_zones(medium: &Arc<Medium>) -> Result<(), StoreError> {
    if !medium.layout().is_zoned() {
        return Ok(());
    }
    let reports = medium
        .report(ZoneId(0), medium.geometry().zones)
        .map_err(|error| StoreError::io("report of the zones", error))?;
    for report in reports.iter().filter(|report| report.zone_type == ZoneType::Sequential) {
        if matches!(report.state, ZoneState::Empty | ZoneState::ReadOnly | ZoneState::Offline) {
            continue;
        }
        medium
            .reset(report.zone, Cause::Superblock)
            .map_err(|error| StoreError::io(format!("erasing zone {}", report.zone), error))?;
    }
    medium
        .flush(Cause::Superblock)
        .map_err(|error| StoreError::io("flush after erasing the zones", error))
}
