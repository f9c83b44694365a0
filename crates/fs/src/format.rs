//! Format: makes an empty store on one or two devices. It checks that they are large enough, and
//! writes an empty journal and the superblocks.
//!
//! A second device that is not plain, too few zones or blocks, a device that allows too few open or
//! active zones, a device 0 without a place for superblocks, and a path that is too long are
//! refused before the first write. After that, the former content counts as lost, though most
//! blocks keep their old bytes until they are used. On device 0, the place of the superblocks is
//! cleared first and written last. So a format that is cut short in between leaves no superblock in
//! that place.
//!
//! `format` claims the devices while it works.

use std::sync::Arc;

use terrace_env::store::{Annotation, StoreError};
use terrace_env::{Cause, DeviceId, FileId, Uuid, ZoneId, runner};
use terrace_policy::{Greedy, LevelSeparated};
use terrace_zone::{Device, Geometry, ZoneReport, ZoneState, ZoneType};

use crate::block::zone_blocks;
use crate::catalog::{Catalog, Record};
use crate::media::Media;
use crate::medium::Medium;
use crate::mount::{device_limits, ordinary_zone};
use crate::space::{
    COMPACTION_RESERVE, Condition, FLUSH_RESERVE, Holds, PlainPool, RECLAIM_RESERVE,
    URGENT_RESERVE, Used, Zone, ZoneTable, ZonedPool, check_size, journal_zones,
};
use crate::superblock::{
    Features, Member, PATH_MAX, Placement, Role, Shape, Superblock, SuperblockArea, write_twice,
};
use crate::volume::as_device;
use crate::{Devices, Fs, journal};

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
    /// The store's identity; drawn at random if there is none. Never use one twice: the remains of
    /// an older store are told apart by it.
    pub uuid: Option<Uuid>,
    /// The role of device 1, if there are two devices.
    pub role: Role,
    /// Path of device 1, for programs that open the store later: relative to device 0, of at most
    /// 512 bytes, or empty. It is only remembered, and may be wrong by then.
    pub second_path: String,
    /// Path of device 0, absolute, of at most 512 bytes, or empty. If there are two devices, it
    /// tells a copy of device 0 from the original ([`check_copied`](crate::check_copied)).
    pub first_path: String,
    /// The store's own annotation, which the store has from its first durable write on. Empty for a
    /// store that any program may use.
    pub annotation: Annotation,
}

impl Fs {
    /// Makes devices an empty store. All data on them is lost, though no zone is reset before it is
    /// needed.
    pub fn format(devices: impl Into<Devices>, options: &FormatOptions) -> Result<(), StoreError> {
        let devices = devices.into();
        let _claims = devices.claim(true)?;
        devices.check_layouts()?;
        for (device, path) in [(0, &options.first_path), (1, &options.second_path)] {
            let got = path.len();
            if got > PATH_MAX {
                let expected = format!("expected a path of at most {PATH_MAX} bytes");
                return Err(StoreError::Invalid(format!(
                    "device {device}: {expected}, found {got}"
                )));
            }
        }
        let media = Media::new(&devices);
        media.set_role(options.role);
        let medium = media.tables();
        if let Some(second) = devices.second() {
            let second = &Medium::new(DeviceId(1), Arc::clone(second));
            check_size(second, false)?;
        }
        let geometry = medium.geometry().clone();
        let reports = if geometry.layout.is_zoned() { usable_zones(medium)? } else { Vec::new() };
        if !geometry.layout.is_zoned() {
            check_size(medium, true)?;
        }
        // First of all: it reads the superblocks of an older store, to start above its generations.
        let area = SuperblockArea::choose(as_device(medium))?;
        make_room(medium, &reports, &area.zones())?;
        let uuid = options.uuid.unwrap_or_else(|| runner::fork_random().uuid());
        let mut superblock = Superblock::first(uuid, &geometry, &area);
        if media.are_several() {
            name_devices(&media, &mut superblock, options);
            match options.role {
                Role::Log => return format_both(&media, (area, superblock), &options.annotation),
                Role::Offload => format_offload(&media, &mut superblock)?,
            }
        }
        let space = if geometry.layout.is_zoned() {
            zones_of(medium, &reports, &area)
        } else {
            stretches_of(medium, &area, Holds::Tables)
        };
        let catalog = first_catalog(&media, &options.annotation)?;
        journal::format_as(&as_device(medium), area, &space, catalog, superblock)
    }
}

/// Refuses a device that is too small for a store of its own, or that allows too few open or active
/// zones.
pub fn check_room(device: &Arc<dyn Device>) -> Result<(), StoreError> {
    let medium = Medium::new(DeviceId::FIRST, Arc::clone(device));
    if medium.layout().is_zoned() {
        usable_zones(&medium).map(drop)
    } else {
        check_size(&medium, true)
    }
}

/// The zones of a device, if enough of them are usable.
fn usable_zones(medium: &Medium) -> Result<Vec<ZoneReport>, StoreError> {
    let geometry = medium.geometry();
    let reports = medium
        .report(ZoneId(0), geometry.zones)
        .map_err(|error| StoreError::io("report of the zones", error))?;
    let zones = reports.iter().filter(|report| is_usable(geometry, report)).count() as u32;
    check_limits(geometry, zones, !geometry.conventional.is_empty())?;
    Ok(reports)
}

/// The blocks of a device without zones and without files.
fn stretches_of(
    medium: &Arc<Medium>,
    area: &SuperblockArea,
    holds: Holds,
) -> Arc<dyn journal::JournalSpace> {
    let used = Used { superblock: area.zones(), ..Used::default() };
    let pool = PlainPool::new(Arc::clone(medium), &used, holds)
        .unwrap_or_else(|extent| unreachable!("no file has {extent:?} yet"));
    Arc::new(pool)
}

/// Names all devices in the superblock of device 0.
fn name_devices(media: &Media, superblock: &mut Superblock, options: &FormatOptions) {
    let member = |medium: &Arc<Medium>| Member {
        id: runner::fork_random().uuid(),
        layout: medium.layout(),
        capacity: medium.geometry().capacity(),
        path: match medium.id() {
            DeviceId::FIRST => options.first_path.clone(),
            _ => options.second_path.clone(),
        },
    };
    superblock.members = media.iter().map(member).collect();
    superblock.devices = superblock.members.len() as u16;
}

/// The superblock of another device of the store, without a journal.
fn superblock_of(medium: &Medium, area: &SuperblockArea, of_first: &Superblock) -> Superblock {
    Superblock {
        device: medium.id(),
        shape: Shape::of(medium.geometry()),
        placement: area.placement(),
        ..of_first.clone()
    }
}

/// The catalog of a store without files.
fn first_catalog(media: &Media, annotation: &Annotation) -> Result<Catalog, StoreError> {
    let mut catalog = Catalog::new(media.space().clone());
    if *annotation != Annotation::default() {
        let annotation = Arc::new(annotation.clone());
        catalog.stage(&mut [Record::Annotate { id: FileId::STORE, annotation }])?;
    }
    Ok(catalog)
}

/// Makes a device, and a plain one for journal and logs, one store. Device 0 gets its superblock
/// last: a format that is cut short leaves no store.
fn format_both(
    media: &Media,
    (mut tables, mut superblock): (SuperblockArea, Superblock),
    annotation: &Annotation,
) -> Result<(), StoreError> {
    let medium = media.logs();
    let area = SuperblockArea::choose(as_device(medium))?;
    let space = stretches_of(medium, &area, Holds::Logs);
    let of_logs = superblock_of(medium, &area, &superblock);
    let catalog = first_catalog(media, annotation)?;
    journal::format_as(&as_device(medium), area, &space, catalog, of_logs)?;
    write_twice(&mut tables, &mut superblock)
}

/// Makes device 1 the offload device of a store. Device 0 is formatted after this.
fn format_offload(media: &Media, superblock: &mut Superblock) -> Result<(), StoreError> {
    superblock.features.incompat |= Features::OFFLOAD;
    let medium = media.of(DeviceId(1));
    let mut area = SuperblockArea::choose(as_device(medium))?;
    let mut of_offload = superblock_of(medium, &area, superblock);
    write_twice(&mut area, &mut of_offload)
}

fn is_usable(geometry: &Geometry, report: &ZoneReport) -> bool {
    report.zone_type == ZoneType::Sequential
        && !matches!(report.state, ZoneState::ReadOnly | ZoneState::Offline)
        && zone_blocks(geometry, report.zone) >= ZONE_BLOCKS_MIN
}

/// The zones of a device without files.
fn zones_of(
    medium: &Arc<Medium>,
    reports: &[ZoneReport],
    area: &SuperblockArea,
) -> Arc<dyn journal::JournalSpace> {
    let (geometry, of_superblock) = (medium.geometry(), area.zones());
    let zone = |report: &ZoneReport| {
        let condition = match report {
            _ if of_superblock.contains(&report.zone) => Condition::Superblock,
            report if is_usable(geometry, report) => Condition::Free,
            _ => Condition::Unused,
        };
        Zone {
            stale: report.state != ZoneState::Empty,
            active: report.state.is_active(),
            ..Zone::empty(condition, zone_blocks(geometry, report.zone))
        }
    };
    let in_log = matches!(area.placement(), Placement::Log(_));
    Arc::new(ZonedPool::new(
        Arc::clone(medium),
        (Arc::new(LevelSeparated), Arc::new(Greedy::default())),
        device_limits(geometry, in_log, true),
        ZoneTable::new(reports.iter().map(zone).collect()),
    ))
}

/// Empties zones that an older owner left partly written, if they take active slots that the first
/// writes need.
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
    if zone_blocks < ZONE_BLOCKS_MIN {
        return Err(StoreError::Invalid(format!(
            "expected zones of at least {ZONE_BLOCKS_MIN} blocks of 4 KiB, found zones of \
             {zone_blocks}; smaller ones are not used"
        )));
    }
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
