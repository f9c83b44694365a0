//! Reports on the use of space: the sums of each device, the use of each zone, free runs, the place
//! of a byte, and the zones in which given files lie. An audit compares the counts that are kept
//! with the files, and the file cache with the files that there are. In a mount that writes, it
//! also compares the active zones with the device.
//!
//! `devices`, `zones` and `audit` wait for the device. Device, catalog and counts are asked one
//! after the other, so while others write, the parts of a report can be of different moments. For
//! an audit, which compares them, there must be no writes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::store::{FileKind, IoCounts, SpaceInfo, StoreError};
use terrace_env::{ByteCount, DeviceId, FileId, ZoneId};
use terrace_policy::{ExtentView, Supply, ZoneView, ZonesSource, ZonesView};
use terrace_zone::{Device, Layout, ZoneState, ZoneType};

use crate::catalog::{Extent, Levels};
use crate::mount::Access;
use crate::space::{Condition, Share, SpaceParts, Used, Zone};
use crate::{BLOCK, BlockAddr, Fs, block};

/// Use of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneUse {
    /// Holds superblocks.
    Superblock,
    /// Holds a part of the journal.
    Journal,
    /// Holds bytes of write-ahead logs, perhaps among others.
    Log,
    /// Holds bytes of other files.
    Data,
    /// Holds nothing that counts.
    Free,
    /// The zone is not used: conventional or too small.
    Unused,
    /// The zone is not written any more, because the medium failed.
    Retired,
}

/// A device of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUsage {
    /// Its number.
    pub device: DeviceId,
    /// How its blocks may be written.
    pub layout: Layout,
    /// Bytes that can be written to it, those of journal and superblock included.
    pub capacity: ByteCount,
    /// Whether its medium turns under a head.
    pub rotational: bool,
    /// Whether tables and clients' files lie on it.
    pub holds_tables: bool,
    /// Whether the journal and the logs lie on it.
    pub holds_logs: bool,
    /// Whether it is the offload device, which takes tables that are written while compactions run.
    #[serde(default)]
    pub holds_offloaded: bool,
    /// State of a device without zones that has failed as a whole: read-only or offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ZoneState>,
    /// How its space is used.
    pub space: SpaceInfo,
    /// Bytes and requests moved on it since the store was mounted, by cause.
    pub io: IoCounts,
}

/// A zone, for the zone map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneUsage {
    /// The zone.
    pub zone: ZoneId,
    /// Whether it must be written sequentially.
    pub zone_type: ZoneType,
    /// The device's state of it.
    pub state: ZoneState,
    /// Use of the zone.
    pub used_for: ZoneUse,
    /// Bytes from its start that have been written; `None` where the device cannot say.
    pub pointer: Option<ByteCount>,
    /// Bytes that can be written to it.
    pub capacity: ByteCount,
    /// Bytes of files, unsealed ones included.
    pub live: ByteCount,
    /// Bytes of nothing that exists, which come back by a reset; none where the zone has failed.
    pub dead: ByteCount,
    /// Bytes of deleted files that readers hold.
    pub pinned: ByteCount,
    /// Live bytes by level of the tree; those of files without a level are under `None`.
    pub levels: Vec<(Option<u8>, ByteCount)>,
    /// The stream of the file that was written to it last; `None` if nothing was.
    pub stream: Option<u16>,
}

impl ZoneUsage {
    /// Whether files have bytes in it, deleted ones included that readers hold.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        let held = self.live.0 + self.pinned.0 > 0;
        match self.used_for {
            ZoneUse::Data | ZoneUse::Retired | ZoneUse::Log => held,
            ZoneUse::Superblock | ZoneUse::Journal | ZoneUse::Free | ZoneUse::Unused => false,
        }
    }

    /// Bytes of tables, which have a level; logs have none.
    #[must_use]
    pub fn of_tables(&self) -> ByteCount {
        let tables = self.levels.iter().filter(|(level, _)| level.is_some());
        ByteCount(tables.map(|(_, bytes)| bytes.0).sum())
    }
}

fn bytes(blocks: u64) -> ByteCount {
    ByteCount(blocks * BLOCK as u64)
}

#[derive(Default)]
struct Contents {
    levels: BTreeMap<Option<u8>, u64>,
    has_log: bool,
}

/// Walks these files alone, a part of them at a time. By id, as the catalog has them: each is then
/// found next to the one before it.
impl ZonesSource for Fs {
    fn placed(&self, files: &[FileId]) -> ZonesView {
        let mut files = files.to_vec();
        files.sort_unstable();
        let mut extents = Vec::with_capacity(files.len() + files.len() / 8);
        let space = self.volume.media.space();
        self.volume.for_files(&files, |file, record| {
            let of_file = record.extents.extents().filter_map(|extent| {
                let (_, zone) = space.zone(extent.first)?;
                Some(ExtentView { file, zone, size: bytes(extent.blocks.into()) })
            });
            extents.extend(of_file);
        });
        let mut held: Vec<ZoneId> = extents.iter().map(|extent| extent.zone).collect();
        held.sort_unstable();
        held.dedup();
        let of_zone = |zone, counts: Zone| ZoneView {
            zone,
            capacity: bytes(counts.capacity.into()),
            written: bytes(counts.written.into()),
        };
        let Some(zoned) = self.volume.pools.zoned() else { return ZonesView::default() };
        let counts = zoned.counts(&held);
        let zones = held.into_iter().zip(counts).map(|(zone, counts)| of_zone(zone, counts));
        ZonesView::new(zones.collect(), extents)
    }

    fn supply(&self) -> Option<Supply> {
        self.volume.pools.zoned().map(|zoned| zoned.supply())
    }
}

impl Fs {
    /// Counts the contents of every zone and of every pool without zones anew, and compares with
    /// the counts kept at each change. It also compares the file cache with the files and, in a
    /// mount that writes, the zones that are counted as active with the device's. It returns the
    /// differences, in words; nothing may be written meanwhile.
    pub fn audit(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(zoned) = self.volume.pools.zoned() {
            problems.extend(zoned.verify().err());
            if self.access == Access::ReadWrite {
                problems.extend(zoned.audit_slots());
            }
        }
        let mut counted: BTreeMap<ZoneId, (u32, u32)> = BTreeMap::new();
        let mut levels: BTreeMap<ZoneId, BTreeMap<FileId, u64>> = BTreeMap::new();
        let space = self.volume.media.space();
        let mut plain: BTreeMap<DeviceId, Used> = BTreeMap::new();
        self.volume.for_each_file(|id, record| {
            for extent in record.extents.extents() {
                let Some((_, zone)) = space.zone(extent.first) else {
                    if record.sealed {
                        let used = plain.entry(extent.device()).or_default();
                        used.files.push((extent, Share::Live));
                    }
                    continue;
                };
                if record.sealed {
                    counted.entry(zone).or_default().0 += extent.blocks;
                }
                if let Some(level) = record.annotation.hint.level {
                    levels.entry(zone).or_default().insert(id, level.into());
                }
            }
        });
        for file in self.volume.all_unsealed() {
            let map = Arc::clone(&file.lock().map);
            // A block that the writer has replaced stays the catalog's until the next sync.
            let recorded = self.volume.journal.read(|catalog| {
                let record = catalog.get(file.id).filter(|record| !record.is_leased());
                record.map(|record| record.extents.difference(&map)).unwrap_or_default()
            });
            for extent in map.extents().chain(recorded) {
                match space.zone(extent.first) {
                    Some((_, zone)) => counted.entry(zone).or_default().1 += extent.blocks,
                    None => {
                        let used = plain.entry(extent.device()).or_default();
                        used.files.push((extent, Share::Unsealed));
                    }
                }
            }
        }
        let of_journal = self.volume.media.logs().id();
        for (device, pool) in self.volume.pools.plain() {
            let mut used = plain.remove(&device).unwrap_or_default();
            if device == of_journal {
                used.journal = self.volume.journal.zones();
            }
            problems.extend(pool.audit(&used));
        }
        let device = self.volume.media.tables().id();
        let zones = self.volume.pools.zoned().map(|zoned| zoned.zones()).unwrap_or_default();
        for (index, zone) in zones.iter().enumerate() {
            let id = ZoneId(index as u32);
            let kept = self.volume.journal.read(|c| c.levels_in(device, id));
            let found = levels.remove(&id).unwrap_or_default();
            let found = Levels { tables: found.len() as u64, sum: found.values().sum() };
            if kept != found {
                let text = format!("zone {index}: {kept} are counted, found {found}");
                problems.push(text);
            }
            let found = counted.remove(&id).unwrap_or_default();
            if (zone.live, zone.unsealed) != found {
                problems.push(format!(
                    "zone {index}: {} live and {} unsealed blocks are counted, the files have {} \
                     and {}",
                    zone.live, zone.unsealed, found.0, found.1
                ));
            }
        }
        let exists = |id| {
            self.volume.unsealed(id).is_some() || self.volume.journal.read(|c| c.get(id).is_some())
        };
        problems.extend(self.volume.cache.audit(exists));
        problems
    }

    /// Uses of the zones of the device of the tables; `None` if it has no zones.
    #[must_use]
    pub fn space_parts(&self) -> Option<SpaceParts> {
        self.volume.pools.zoned().map(|zoned| zoned.parts())
    }

    /// Where a byte of a file lies: the address of its block, and the zone of that, if its device
    /// has zones.
    #[must_use]
    pub fn place_of(&self, file: FileId, offset: u64) -> Option<(BlockAddr, Option<ZoneId>)> {
        let block = u32::try_from(offset / BLOCK as u64).ok()?;
        let mut found = None;
        self.volume.for_files(&[file], |_, record| found = record.extents.locate(block));
        found.map(|at| (at, self.volume.media.space().zone(at).map(|(_, zone)| zone)))
    }

    /// Zones in which a file has blocks, in their order, with the bytes of these blocks. None for a
    /// file that is not there, and on a device without zones.
    #[must_use]
    pub fn zones_of(&self, file: FileId) -> Vec<(ZoneId, ByteCount)> {
        let space = self.volume.media.space();
        let mut found: BTreeMap<ZoneId, u64> = BTreeMap::new();
        let mut count = |extent: Extent| {
            if let Some((_, zone)) = space.zone(extent.first) {
                *found.entry(zone).or_default() += u64::from(extent.blocks);
            }
        };
        match self.volume.unsealed(file) {
            Some(open) => {
                let map = Arc::clone(&open.lock().map);
                map.extents().for_each(count);
            }
            None => {
                self.volume.for_files(&[file], |_, record| {
                    record.extents.extents().for_each(&mut count);
                });
            }
        }
        found.into_iter().map(|(zone, blocks)| (zone, bytes(blocks))).collect()
    }

    /// The devices of the store, by number: kind and use of space.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceUsage> {
        let media = self.volume.media.iter().zip(self.volume.pools.rooms());
        media
            .map(|(medium, space)| DeviceUsage {
                device: medium.id(),
                layout: medium.layout(),
                capacity: medium.geometry().capacity(),
                rotational: medium.geometry().rotational,
                holds_tables: Arc::ptr_eq(medium, self.volume.media.tables()),
                holds_logs: Arc::ptr_eq(medium, self.volume.media.logs()),
                holds_offloaded: self
                    .volume
                    .media
                    .offload()
                    .is_some_and(|it| it.id() == medium.id()),
                failed: medium.failed(),
                space,
                io: medium.io(),
            })
            .collect()
    }

    /// The free runs of a device of tables without zones, in their order, as bytes of the device;
    /// none if it has zones. The last one reaches to the end of the device, if that is free.
    #[must_use]
    pub fn free_runs(&self) -> Vec<Range<u64>> {
        let mut pools = self.volume.pools.plain();
        let of_tables = pools.find(|(device, _)| *device == DeviceId::FIRST);
        let runs = of_tables.map(|(_, pool)| pool.free_runs()).unwrap_or_default();
        runs.into_iter().map(|run| run.start * BLOCK as u64..run.end * BLOCK as u64).collect()
    }

    /// All zones of the device of the tables: the device's report on each, and its contents. None
    /// if the device has no zones. Walks the whole catalog.
    pub fn zones(&self) -> Result<Vec<ZoneUsage>, StoreError> {
        let Some(zoned) = self.volume.pools.zoned() else { return Ok(Vec::new()) };
        let medium = self.volume.media.tables();
        let geometry = medium.geometry();
        let reports = medium.report(ZoneId(0), geometry.zones);
        let reports = reports.map_err(|error| StoreError::io("report of the zones", error))?;
        let space = self.volume.media.space();
        let mut contents: BTreeMap<ZoneId, Contents> = BTreeMap::new();
        let mut count = |kind: FileKind, level: Option<u8>, extent: Extent| {
            let Some((_, zone)) = space.zone(extent.first) else { return };
            let entry = contents.entry(zone).or_default();
            *entry.levels.entry(level).or_default() += u64::from(extent.blocks);
            entry.has_log |= kind == FileKind::Log;
        };
        self.volume.for_each_file(|_, record| {
            if !record.is_leased() {
                let level = record.annotation.hint.level;
                record.extents.extents().for_each(|extent| count(record.kind, level, extent));
            }
        });
        for file in self.volume.all_unsealed() {
            if file.kind == FileKind::Log {
                let map = Arc::clone(&file.lock().map);
                map.extents().for_each(|extent| count(FileKind::Log, None, extent));
            }
        }
        let zones = zoned.zones();
        let usage = reports.iter().zip(&zones).map(|(report, zone)| {
            let held = contents.remove(&report.zone).unwrap_or_default();
            let used_for = match zone.condition {
                Condition::Superblock => ZoneUse::Superblock,
                Condition::Journal => ZoneUse::Journal,
                Condition::Unused => ZoneUse::Unused,
                Condition::Free => ZoneUse::Free,
                Condition::ReadOnly | Condition::Offline => ZoneUse::Retired,
                Condition::Written | Condition::Leased if held.has_log => ZoneUse::Log,
                Condition::Written | Condition::Leased => ZoneUse::Data,
            };
            let levels = held.levels.into_iter().map(|(level, blocks)| (level, bytes(blocks)));
            let holds_data = zone.condition.holds_data() && zone.condition != Condition::Free;
            ZoneUsage {
                zone: report.zone,
                zone_type: report.zone_type,
                state: report.state,
                used_for,
                pointer: block::pointer(geometry, report).map(|block| bytes(block.into())),
                capacity: bytes(zone.capacity.into()),
                live: bytes(u64::from(zone.live) + u64::from(zone.unsealed)),
                dead: bytes(zone.dead().into()),
                pinned: bytes(zone.pinned.into()),
                levels: levels.collect(),
                stream: holds_data.then_some(zone.stream),
            }
        });
        Ok(usage.collect())
    }
}
