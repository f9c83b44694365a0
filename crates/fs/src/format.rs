//! Making a device a store.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, Uuid, ZoneId, runner};
use terrace_policy::{Greedy, LevelSeparated};
use terrace_zone::{Device, Geometry, Layout, ZoneReport, ZoneState, ZoneType};

use crate::block::zone_blocks;
use crate::medium::Medium;
use crate::mount::{device_limits, ordinary_zone};
use crate::space::{
    COMPACTION_RESERVE, Condition, FLUSH_RESERVE, RECLAIM_RESERVE, URGENT_RESERVE, Zone, ZoneTable,
    ZonedPool, journal_zones,
};
use crate::superblock::{Placement, SuperblockArea};
use crate::volume::as_device;
use crate::{Fs, journal};

/// Zones in use at once by the leanest engine: a log, a flush, a compaction.
const WORKING_ZONES: u32 = 3;
/// Zones kept for the ranks below the journal's; see the space governor.
const RESERVED_ZONES: u32 = RECLAIM_RESERVE + COMPACTION_RESERVE + URGENT_RESERVE + FLUSH_RESERVE;

/// The fewest zones of this many blocks that files and journal can live with. The superblock's come
/// on top: two, or none where there is a conventional zone.
#[must_use]
pub fn data_zones_min(zone_blocks: u32) -> u32 {
    journal_zones(0, zone_blocks) + RESERVED_ZONES + WORKING_ZONES
}

/// The fewest zones that must be allowed to be open, and active, at once: the journal's tail and,
/// while it changes zones, the next one; a log, a flush, a compaction, and reclaim. A superblock
/// without a conventional zone takes one more.
pub const OPEN_ZONES_MIN: u32 = JOURNAL_OPEN + WORKING_ZONES + 1;

/// Zones that the journal may have open at once.
pub(crate) const JOURNAL_OPEN: u32 = 2;

/// The fewest blocks of a zone: a frame of a log and one of the journal, with room to go on.
pub const ZONE_BLOCKS_MIN: u32 = 16;

/// How to make a store.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions {
    /// The store's identity; drawn at random if there is none. Never use one twice: what is left of
    /// an older store is told apart by it.
    pub uuid: Option<Uuid>,
}

impl Fs {
    /// Makes a device an empty store. What it held is lost, though no zone is reset before it is
    /// needed.
    pub fn format(device: Arc<dyn Device>, options: &FormatOptions) -> Result<(), StoreError> {
        let claim = device.users().claim_to_write();
        let _claim = claim.ok_or(StoreError::InUse("the device".into()))?;
        let geometry = device.geometry().clone();
        if geometry.layout != Layout::Zoned {
            return Err(StoreError::Invalid(
                "expected a zoned device for a store, found a plain one".into(),
            ));
        }
        let medium = Arc::new(Medium::new(device));
        let reports = medium
            .report(ZoneId(0), geometry.zones)
            .map_err(|error| StoreError::io("report of the zones", error))?;
        let usable = |report: &&ZoneReport| {
            report.zone_type == ZoneType::Sequential
                && !matches!(report.state, ZoneState::ReadOnly | ZoneState::Offline)
                && zone_blocks(&geometry, report.zone) >= ZONE_BLOCKS_MIN
        };
        let zones = reports.iter().filter(usable).count() as u32;
        let in_conventional = !geometry.conventional.is_empty();
        check_limits(&geometry, zones, in_conventional)?;
        // First of all: it reads what an older store left, to start above its generations.
        let area = SuperblockArea::choose(as_device(&medium))?;
        let of_superblock = area.zones();
        make_room(&medium, &reports, &of_superblock)?;
        let table = reports
            .iter()
            .map(|report| {
                let blocks = zone_blocks(&geometry, report.zone);
                let condition = match report {
                    _ if of_superblock.contains(&report.zone) => Condition::Superblock,
                    report if usable(&report) => Condition::Free,
                    _ => Condition::Unused,
                };
                Zone {
                    stale: report.state != ZoneState::Empty,
                    active: report.state.is_active(),
                    ..Zone::empty(condition, blocks)
                }
            })
            .collect();
        let in_log = matches!(area.placement(), Placement::Log(_));
        let space: Arc<dyn journal::JournalSpace> = Arc::new(ZonedPool::new(
            Arc::clone(&medium),
            (Arc::new(LevelSeparated), Arc::new(Greedy::default())),
            device_limits(&geometry, in_log),
            ZoneTable::new(table),
        ));
        let uuid = options.uuid.unwrap_or_else(|| runner::fork_random().uuid());
        journal::format(&as_device(&medium), area, &space, uuid, Vec::new())
    }
}

/// Empties what an older owner left partly written, if it takes active slots that the first writes
/// need.
fn make_room(
    medium: &Medium,
    reports: &[ZoneReport],
    cleared: &[ZoneId],
) -> Result<(), StoreError> {
    let active = reports.iter().filter(|r| r.state.is_active() && !cleared.contains(&r.zone));
    let taken = active.clone().count() as u32;
    let least = OPEN_ZONES_MIN + 1;
    if medium.geometry().max_active.is_none_or(|limit| taken + least <= limit) {
        return Ok(());
    }
    for report in active {
        medium.reset(report.zone, Cause::Superblock).map_err(|error| {
            StoreError::io(format!("emptying zone {} before format", report.zone), error)
        })?;
    }
    Ok(())
}

/// Refuses a device that is too small to work on.
fn check_limits(geometry: &Geometry, zones: u32, conventional: bool) -> Result<(), StoreError> {
    let (superblocks, open) = if conventional { (0, 0) } else { (2, 1) };
    let zone_blocks = ordinary_zone(geometry);
    let least = data_zones_min(zone_blocks) + superblocks;
    if zones < least {
        return Err(StoreError::Invalid(format!(
            "expected at least {least} sequential zones of {zone_blocks} blocks of 4 KiB, found \
             {zones} that can be written: {superblocks} for the superblock, {} for the journal, \
             {RESERVED_ZONES} in reserve, {WORKING_ZONES} for a log, a flush and a compaction",
            journal_zones(0, zone_blocks)
        )));
    }
    let least = OPEN_ZONES_MIN + open;
    for (limit, what) in [(geometry.max_open, "open"), (geometry.max_active, "active")] {
        if let Some(limit) = limit.filter(|limit| *limit < least) {
            return Err(StoreError::Invalid(format!(
                "expected a device that allows {least} {what} zones or more, found {limit}: {open} \
                 for the superblock, {JOURNAL_OPEN} for the journal, {WORKING_ZONES} for a log, a \
                 flush and a compaction, 1 for reclaim"
            )));
        }
    }
    Ok(())
}
