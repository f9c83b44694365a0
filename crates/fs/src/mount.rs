//! Mount: finds the store on its devices and makes it ready for use.
//!
//! # Steps
//! 1. Claim the devices within this process: for one mount that writes, or for any number that
//!    read. Refuse a device 1 that is not plain. For writing, flush the devices, so that bytes once
//!    read cannot be lost later.
//! 2. Find the superblocks, refuse devices that do not belong together or that this version cannot
//!    use, and replay the journal.
//! 3. Read every unsealed log to its end. If one of them is damaged, the mount fails, even a
//!    read-only one.
//! 4. Make the counts of zones from the catalog and the device's report. On a device without zones,
//!    find the free blocks from the catalog and the stretches of journal and superblock. Extents
//!    that cannot be right end the mount; for example, if those of one zone are longer together
//!    than its written part. If one extent reaches past the write pointer, the medium has lost
//!    data: the mount goes on, and does not write to that zone.
//! 5. For writing, on a device with zones, finish active zones that will not be written any more.
//!    Finish further ones if too many are active.
//! 6. For writing, write superblocks anew where one is broken, and mark the devices if there are
//!    two (`pairing`).
//! 7. For writing, go on with the journal. Its first transaction says that this mount's epoch is
//!    used, and where each recovered log ends. No file is written before. Then reclaim begins, if
//!    the options want it and the tables lie on a device with zones.
//!
//! A read-only mount ends after step 4, and writes and resets nothing. One next to a writer
//! ([`Access::Beside`]) takes no claim. It fails with an error of any kind if the writer has freed
//! something that the mount was reading, so the caller has to try again.
//!
//! The stand-in of a lost offload device is claimed like a device, and is not flushed, searched or
//! marked.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_env::{Cause, DeviceId, FileId, Users, Uuid, ZoneId, reached, runner};
use terrace_policy::{Greedy, LevelSeparated, Placement, Reclaim};
use terrace_zone::{Device as _, Geometry, ZoneReport, ZoneState, ZoneType};

use crate::assembly::{Assembled, assemble};
use crate::block::{pointer, zone_blocks};
use crate::canary::{self, Rule};
use crate::catalog::{Catalog, Extent, FileRecord, Record};
use crate::file::{Body, FileSource, FileState, LogEnd, LogIndex, OpenFile, Pending, Pin, Tail};
use crate::format::{JOURNAL_OPEN, ZONE_BLOCKS_MIN};
use crate::frame::{Binding, LogScan, LogTail};
use crate::gatherer::Gatherer;
use crate::journal::Journal;
use crate::media::Media;
use crate::medium::Medium;
use crate::pairing;
use crate::reclaim::Reclaimer;
use crate::space::{
    Condition, DevicePool, Holds, Limits, PlainPool, Pools, Share, Used, Zone, ZoneTable, ZonedPool,
};
use crate::superblock::Role;
use crate::volume::{Volume, as_device};
use crate::watch::{Watch, WatchedLog};
use crate::{Devices, Fs, ZoneGrid, ZonePlace};

/// Rule for the extents of all files together.
const SOUND_EXTENTS: &str = "extents within zones that hold data, none twice";

/// Whether a mount may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reads and writes.
    #[default]
    ReadWrite,
    /// Writes nothing at all, not even the records of a recovery.
    ReadOnly,
    /// The same, while another process may write the store: without a lock and without a claim. A
    /// read may find bytes of something else; see [`Beside`](crate::Beside).
    Beside,
}

/// How to mount a store.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// Whether the mount may write.
    pub access: Access,
    /// Where files go.
    pub placement: Arc<dyn Placement>,
    /// Which zones are emptied.
    pub reclaim: Arc<dyn Reclaim>,
    /// Whether a background actor reclaims. Without it no writer waits for reclaim, and
    /// [`Fs::reclaim_one`] is the only reclaim; for tests and tools.
    pub background: bool,
}

impl Default for MountOptions {
    fn default() -> Self {
        Self {
            access: Access::ReadWrite,
            placement: Arc::new(LevelSeparated),
            reclaim: Arc::new(Greedy::default()),
            background: true,
        }
    }
}

/// A log that was not sealed, as far as it can be read.
struct RecoveredLog {
    id: FileId,
    index: LogIndex,
    tail: LogTail,
}

impl Fs {
    /// Mounts a store.
    pub fn mount(
        devices: impl Into<Devices>,
        options: &MountOptions,
    ) -> Result<Arc<Self>, StoreError> {
        let devices = devices.into();
        let write = options.access == Access::ReadWrite;
        let beside = options.access == Access::Beside;
        let claims = if beside { Vec::new() } else { devices.claim(write)? };
        let claims = Mutex::new(claims);
        devices.check_layouts()?;
        let media = Arc::new(Media::new(&devices));
        let mut found = assemble(&media, write)?;
        let uuid = found.replayed.superblock.uuid;
        let logs = read_logs(&media, uuid, &found.replayed.catalog)?;
        let watch =
            if beside { Some(Watch::begin(&media, &found, watched(&found, &logs))?) } else { None };
        let (pools, ended) = make_pools(&media, options, &found, &logs)?;
        let pools = Arc::new(pools);
        let journal = if write {
            if let Some(zoned) = pools.zoned() {
                zoned.free_slots(&ended);
            }
            found.replayed.mend_superblocks();
            if let Some((area, superblock)) = &mut found.other {
                area.mend(superblock);
                pairing::renew((area, superblock), &mut found.replayed)?;
            }
            let ends = log_ends(&logs, found.replayed.epoch());
            let others = media.present().filter(|other| !Arc::ptr_eq(other, media.logs()));
            let others = others.map(as_device).collect();
            let (device, space) = (as_device(media.logs()), pools.journal());
            let (journal, _) = Journal::resume(&device, others, found.replayed, &space, ends)?;
            journal
        } else {
            Journal::read_only(found.replayed)
        };
        let unsealed = unsealed_files(&pools, &journal, uuid, logs);
        let volume = Arc::new(Volume::new(uuid, media, pools, journal, unsealed));
        let reclaimer = write.then(|| Arc::new(Reclaimer::new()));
        let background = reclaimer.as_ref().filter(|_| options.background);
        let background = background.and_then(|reclaimer| {
            let (reclaimer, volume) = (Arc::clone(reclaimer), Arc::clone(&volume));
            if let Some(zoned) = volume.pools.zoned() {
                zoned.start_reclaim();
                return Some(runner::try_spawn("reclaim", move || reclaimer.run(&volume)));
            }
            let pool = Arc::clone(volume.pools.tables_without_zones()?);
            let gathers = pool.start_gathering();
            let gather = move || Gatherer { volume: &volume, pool: &pool }.run();
            gathers.then(|| runner::try_spawn("reclaim", gather))
        });
        let background = background.transpose();
        let background = background.map_err(|error| StoreError::io("mounting the store", error))?;
        let (access, background) = (options.access, Mutex::new(background));
        let users = Users::default();
        Ok(Arc::new(Self { volume, access, watch, reclaimer, background, claims, users }))
    }
}

/// The pools of all devices, and the zones of the tables' device that are not written any more.
fn make_pools(
    media: &Arc<Media>,
    options: &MountOptions,
    found: &Assembled,
    logs: &[RecoveredLog],
) -> Result<(Pools, Vec<ZoneId>), StoreError> {
    let (mut pools, mut ended) = (Vec::new(), Vec::new());
    for medium in media.iter() {
        if !medium.layout().is_zoned() {
            pools.push(DevicePool::Plain(Arc::new(plain_pool(media, medium, found, logs)?)));
            continue;
        }
        let reports = medium
            .report(ZoneId(0), medium.geometry().zones)
            .map_err(|error| StoreError::io("report of the zones", error))?;
        let table = zone_table(medium, &reports, found, logs)?;
        ended = ended_zones(&reports, found, &table);
        let pool = ZonedPool::new(
            Arc::clone(medium),
            (Arc::clone(&options.placement), Arc::clone(&options.reclaim)),
            device_limits(medium.geometry(), found.in_log, !media.has_log_device()),
            ZoneTable::new(table),
        );
        let pool = if media.has_log_device() { pool.beside_log_device() } else { pool };
        pools.push(DevicePool::Zoned(Arc::new(pool)));
    }
    let pools = Pools::new(pools, media.role(), media.is_offload_lost());
    pools.decide_by(Arc::clone(&options.placement), Arc::clone(&options.reclaim));
    Ok((pools, ended))
}

/// Blocks of the zones that are not the short last one.
pub(crate) fn ordinary_zone(geometry: &Geometry) -> u32 {
    let sequential = |zone: &ZoneId| geometry.zone_type(*zone) == ZoneType::Sequential;
    let first = geometry.zone_ids().find(sequential).unwrap_or_default();
    zone_blocks(geometry, first)
}

/// Limits of the device less the zones that the file system keeps open for itself: one if
/// superblocks are appended to a zone of the device, and those of the journal if it is there.
pub(crate) fn device_limits(
    geometry: &Geometry,
    superblock_in_log: bool,
    holds_journal: bool,
) -> Limits {
    let of_journal = if holds_journal { JOURNAL_OPEN } else { 0 };
    let own = of_journal + u32::from(superblock_in_log);
    let left = |limit: Option<u32>| limit.map_or(u32::MAX, |limit| limit.saturating_sub(own));
    let active = left(geometry.max_active);
    let leases = left(geometry.max_open).min(active);
    Limits { leases, active, zone_blocks: ordinary_zone(geometry) }
}

fn read_logs(
    media: &Arc<Media>,
    uuid: Uuid,
    catalog: &Catalog,
) -> Result<Vec<RecoveredLog>, StoreError> {
    let unsealed = catalog.files().filter(|(_, record)| record.is_leased());
    unsealed
        .map(|(id, record)| {
            let source = FileSource::new(media, id, &record.extents, Cause::Recovery);
            let (index, tail) = LogIndex::scan(LogScan::new(&source, uuid, id, record))?;
            Ok(RecoveredLog { id, index, tail })
        })
        .collect()
}

/// The logs as they were found, for a watch.
fn watched(found: &Assembled, logs: &[RecoveredLog]) -> Vec<WatchedLog> {
    let catalog = &found.replayed.catalog;
    let watched = |log: &RecoveredLog| {
        let map = Arc::clone(&catalog.get(log.id)?.extents);
        Some(WatchedLog { id: log.id, map, tail: log.tail })
    };
    logs.iter().filter_map(watched).collect()
}

/// The records that end the recovered logs, so that bytes after the ends never come back.
fn log_ends(logs: &[RecoveredLog], epoch: u32) -> Vec<Record> {
    if canary::is_broken(Rule::LogEndJournaled) {
        return Vec::new();
    }
    if !logs.is_empty() {
        reached!("fs: a mount journals the end of a log");
    }
    let end = |log: &RecoveredLog| Record::LogEnd {
        id: log.id,
        end: log.tail.block,
        size: log.tail.size,
        sequence: log.tail.cursor.sequence,
        epoch,
    };
    logs.iter().map(end).collect()
}

/// Zones that may be active and are not written any more: those of journal and superblock that have
/// ended, those with data and no room (a write was torn there, or blocks do not fill the capacity),
/// and those that are not used.
fn ended_zones(reports: &[ZoneReport], found: &Assembled, zones: &[Zone]) -> Vec<ZoneId> {
    let ended = reports.iter().zip(zones).filter(|(report, zone)| {
        let has_room = zone.condition != Condition::Unused && zone.written < zone.capacity;
        let of_others = matches!(zone.condition, Condition::Journal | Condition::Superblock);
        report.state.is_active() && !has_room && !of_others
    });
    let of_journal = match found.replayed.superblock.device {
        DeviceId::FIRST => found.replayed.ended_zones(),
        _ => found.idle.into_iter().collect(),
    };
    of_journal.into_iter().chain(ended.map(|(report, _)| report.zone)).collect()
}

/// Extents of a file that count as live in zones: of a log's lease only the part that is written.
fn held_extents(id: FileId, record: &FileRecord, logs: &[RecoveredLog]) -> Vec<Extent> {
    match logs.iter().find(|log| log.id == id) {
        Some(log) => record.extents.without(log.tail.block, u32::MAX).0.extents().collect(),
        None => record.extents.extents().collect(),
    }
}

/// The zones as the catalog and the device have them.
fn zone_table(
    medium: &Medium,
    reports: &[ZoneReport],
    found: &Assembled,
    logs: &[RecoveredLog],
) -> Result<Vec<Zone>, StoreError> {
    let replayed = &found.replayed;
    let (geometry, grid) = (medium.geometry(), medium.grid());
    let mut zones: Vec<Zone> = reports.iter().map(|report| bare_zone(geometry, report)).collect();
    let index = |zone: ZoneId| zone.0 as usize;
    let marks = found.of_superblock.iter().map(|zone| (*zone, Condition::Superblock));
    let is_here = replayed.superblock.device == medium.id();
    let of_journal = replayed.journal_zones().filter(|_| is_here);
    for (zone, condition) in marks.chain(of_journal.map(|zone| (zone, Condition::Journal))) {
        if let Some(entry) = zones.get_mut(index(zone)) {
            entry.condition = condition;
        }
    }
    for (id, record) in replayed.catalog.files() {
        let extents = held_extents(id, record, logs).into_iter();
        for extent in extents.filter(|extent| extent.device() == medium.id()) {
            let hint = &record.annotation.hint;
            let place = grid.place(extent.first);
            let entry = zones.get_mut(index(place.zone));
            let Some(zone) = entry.filter(|zone| fits(zone, place.block, extent.blocks)) else {
                return Err(misplaced(id, &extent, grid));
            };
            let end = place.block + extent.blocks;
            if zone.condition == Condition::Free {
                zone.condition = Condition::Written;
            }
            if record.sealed {
                zone.live += extent.blocks;
            } else {
                zone.unsealed += extent.blocks;
            }
            if end > zone.written {
                // The medium lost acknowledged bytes. The zone is not written again; reads of
                // missing bytes, or a check, report it.
                (zone.written, zone.condition) = (zone.capacity, Condition::ReadOnly);
            }
            if end == zone.written {
                (zone.level, zone.stream) = (hint.level, hint.stream);
            }
        }
    }
    for (at, zone) in geometry.zone_ids().zip(&mut zones) {
        if zone.condition == Condition::Free {
            zone.written = 0;
        }
        if zone.live + zone.unsealed > zone.written {
            return Err(overfull(at, zone, grid));
        }
    }
    Ok(zones)
}

/// The pool of a device without zones.
fn plain_pool(
    media: &Media,
    medium: &Arc<Medium>,
    found: &Assembled,
    logs: &[RecoveredLog],
) -> Result<PlainPool, StoreError> {
    let replayed = &found.replayed;
    let holds = match media.role() {
        _ if Arc::ptr_eq(medium, media.tables()) => Holds::Tables,
        Some(Role::Offload) => Holds::Offloaded,
        Some(Role::Log) | None => Holds::Logs,
    };
    let mut used = Used::default();
    if Arc::ptr_eq(medium, media.logs()) {
        used.superblock = replayed.area().zones();
        used.journal = replayed.journal_zones().collect();
    } else if let Some((area, _)) = &found.other {
        used.superblock = area.zones();
    }
    let mut owners = Vec::new();
    for (id, record) in replayed.catalog.files() {
        let share = if record.sealed { Share::Live } else { Share::Unsealed };
        let extents = held_extents(id, record, logs).into_iter();
        for extent in extents.filter(|extent| extent.device() == medium.id()) {
            used.files.push((extent, share));
            owners.push((id, extent));
        }
    }
    PlainPool::new(Arc::clone(medium), &used, holds).map_err(|extent| {
        let id = owners.iter().find(|(_, of)| *of == extent).map_or(FileId::STORE, |(id, _)| *id);
        let (region, offset) = media.describe(&format!("catalog: file {id}"), extent.first);
        let expected = "extents apart from journal and superblock, none twice".into();
        let got = format!("{} blocks at {}", extent.blocks, extent.first);
        StoreError::Corruption { region, offset, expected, got }
    })
}

/// A zone that no file is known to be in.
fn bare_zone(geometry: &Geometry, report: &ZoneReport) -> Zone {
    let capacity = zone_blocks(geometry, report.zone);
    let condition = match report.state {
        ZoneState::ReadOnly => Condition::ReadOnly,
        ZoneState::Offline => Condition::Offline,
        _ if report.zone_type == ZoneType::Conventional => Condition::Unused,
        _ if capacity < ZONE_BLOCKS_MIN => Condition::Unused,
        _ => Condition::Free,
    };
    Zone {
        written: pointer(geometry, report).unwrap_or(capacity).min(capacity),
        stale: report.state != ZoneState::Empty,
        active: report.state.is_active(),
        ..Zone::empty(condition, capacity)
    }
}

/// Whether a zone can hold blocks from its block `first` on, in addition to those counted already.
fn fits(zone: &Zone, first: u32, blocks: u32) -> bool {
    let used = zone.live.checked_add(zone.unsealed).and_then(|used| used.checked_add(blocks));
    zone.condition.holds_data()
        && first.checked_add(blocks).is_some_and(|end| end <= zone.capacity)
        && used.is_some_and(|used| used <= zone.capacity)
}

fn misplaced(id: FileId, extent: &Extent, grid: &ZoneGrid) -> StoreError {
    let (region, offset) = grid.describe(&format!("catalog: file {id}"), grid.place(extent.first));
    let got = format!("{} blocks at {}", extent.blocks, extent.first);
    StoreError::Corruption { region, offset, expected: SOUND_EXTENTS.into(), got }
}

/// A zone whose files claim more blocks than are written: some of them twice, since each extent
/// ends within the written part.
fn overfull(zone: ZoneId, found: &Zone, grid: &ZoneGrid) -> StoreError {
    let (region, offset) = grid.describe("catalog: files", ZonePlace { zone, block: 0 });
    let got = format!("{} blocks in {} written ones", found.live + found.unsealed, found.written);
    StoreError::Corruption { region, offset, expected: SOUND_EXTENTS.into(), got }
}

/// The files that were not sealed, each ready to be read and reopened.
fn unsealed_files(
    pools: &Arc<Pools>,
    journal: &Journal,
    uuid: Uuid,
    logs: Vec<RecoveredLog>,
) -> Vec<Arc<OpenFile>> {
    let records: Vec<(FileId, FileRecord)> = journal.read(|catalog| {
        let unsealed = catalog.files().filter(|(_, record)| !record.sealed);
        unsealed.map(|(id, record)| (id, record.clone())).collect()
    });
    let mut logs: BTreeMap<FileId, RecoveredLog> =
        logs.into_iter().map(|log| (log.id, log)).collect();
    let open = |(id, record): (FileId, FileRecord)| {
        let pin = Pin::new(pools);
        let state = match logs.remove(&id) {
            Some(log) => {
                let written = record.extents.without(log.tail.block, u32::MAX).0;
                let body = Body::Log { index: Some(log.index), pending: Pending::default() };
                let epoch = journal.epoch();
                let sequence = log.tail.cursor.sequence;
                let cursor = Binding { uuid, owner: id.0, epoch }.start(sequence);
                let block = log.tail.block;
                let end =
                    LogEnd { epoch, cursor, block, synced: sequence, broken: false, failed: false };
                let state = FileState::quiet(log.tail.size, Arc::new(written), pin, body);
                FileState { log_end: Some(end), ..state }
            }
            None => {
                let body = Body::Growing(Tail::synced(&record.extents, record.size));
                FileState::quiet(record.size, Arc::clone(&record.extents), pin, body)
            }
        };
        Arc::new(OpenFile::new(id, record.kind, state))
    };
    records.into_iter().map(open).collect()
}
