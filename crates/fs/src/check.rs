//! Check of a store on devices. It writes nothing.
//!
//! | what | how |
//! |---|---|
//! | superblocks and journal | found and replayed, as a mount does |
//! | copies of superblocks | none of the newest is broken; traces of a power cut are leftovers |
//! | extents | each in the written part of a sequential zone, outside superblock and journal |
//! | blocks | no block belongs to two files |
//! | names | each name's file lists it, and each file's names lead to it |
//! | bytes | extents of files that are no logs are read, and compared with known checksums |
//! | logs | frames are read and verified; a sealed log has the length that is recorded |
//! | ends of logs | after the recorded ends of a store that was closed, no frame follows |
//!
//! The written part of a zone ends at the write pointer. Where the pointer means nothing, or stands
//! inside a block, it ends at the zone's capacity. On a device without zones, an extent only has to
//! be outside superblock and journal.
//!
//! Damage is listed, with the region and a byte offset. The check leaves a log or an extent at its
//! first error, and goes on with the next. If the store cannot be assembled, because its journal is
//! damaged for example, that is listed too and ends the check.
//!
//! The call itself fails if a writer of this process has a device, if the second device is not
//! plain, or if the zones of the first cannot be reported. It also fails if assembling the store
//! ends in [`StoreError::Invalid`]: there is none, for example, its superblock is in a zone that is
//! offline, or two devices are of two stores or in each other's place.
//!
//! The check claims the devices as a reader, so that no mount of this process writes meanwhile. It
//! holds the catalog in memory. It reads tables and clients' files in the order in which they lie
//! on the devices.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{FileKind, StoreError};
use terrace_env::{ByteCount, Cause, DeviceId, FileId, Uuid, ZoneId};
use terrace_zone::{Device as _, ZoneReport, ZoneType};

use crate::Fs;
use crate::assembly::{Assembled, assemble};
use crate::block::{BLOCK, pointer, zone_blocks};
use crate::catalog::{Extent, FileRecord};
use crate::checked::{CheckProgress, Checked, DeviceChecked, Problem};
use crate::file::{FileSource, LogIndex};
use crate::frame::{Binding, BlockSource as _, LogScan, LogTail, Scanner};
use crate::journal::Replayed;
use crate::media::Media;
use crate::superblock::SuperblockArea;
use crate::{BlockAddr, Devices, ZonePlace};

/// Blocks read at once.
const READ_BLOCKS: u32 = 256;

impl Fs {
    /// Checks the store on devices that are not mounted for writing. All damage in the store is in
    /// the result. An error if a device is in use by a writer, in the other's place or cannot be
    /// asked for its zones, if there is no store, or if two devices are not those of one.
    pub fn check(devices: impl Into<Devices>) -> Result<Checked, StoreError> {
        Self::check_watched(devices, &mut |_, _| {})
    }

    /// Like [`check`](Self::check), and tells how far it is.
    pub fn check_watched(
        devices: impl Into<Devices>,
        progress: CheckProgress<'_>,
    ) -> Result<Checked, StoreError> {
        let devices = devices.into();
        devices.check_layouts()?;
        let _claims = devices.claim(false)?;
        let media = Arc::new(Media::new(&devices));
        let medium = media.tables();
        let zones = if medium.layout().is_zoned() { medium.geometry().zones } else { 0 };
        let reports = medium
            .report(ZoneId(0), zones)
            .map_err(|error| StoreError::io("report of the zones", error))?;
        let devices = media.iter().map(|medium| {
            let (device, verified) = (medium.id(), ByteCount(0));
            DeviceChecked { device, extents: 0, verified, failed: medium.failed() }
        });
        let checked = Checked { devices: devices.collect(), ..Checked::default() };
        let mut check = Check { media, reports, checked };
        match assemble(&check.media, false) {
            Ok(found) => check.store(&found, progress),
            // No store, and devices that do not belong together, are no damage.
            Err(error @ StoreError::Invalid(_)) => return Err(error),
            Err(error) => check.checked.note_error("superblock or journal", error),
        }
        Ok(check.checked)
    }
}

struct Check {
    media: Arc<Media>,
    reports: Vec<ZoneReport>,
    checked: Checked,
}

/// Zones and stretches that are not for files, and their contents.
type Reserved = BTreeMap<(DeviceId, ZoneId), &'static str>;

/// Blocks of a file, as it claims them.
#[derive(Clone, Copy)]
struct Claim {
    file: FileId,
    extent: Extent,
}

impl Check {
    fn store(&mut self, found: &Assembled, progress: CheckProgress<'_>) {
        let replayed = &found.replayed;
        let catalog = &replayed.catalog;
        self.checked.closed = catalog.is_closed();
        self.checked.names(catalog);
        self.superblocks(self.media.logs().id(), replayed.area());
        if let Some((area, superblock)) = &found.other {
            self.superblocks(superblock.device, area);
        }
        let (mut claims, mut unread) = (Vec::new(), Vec::new());
        for (id, record) in catalog.files() {
            self.checked.files += 1;
            let extents: Vec<Extent> = if record.kind == FileKind::Log {
                self.log(id, record, replayed)
            } else {
                let extents = record.extents.extents();
                unread.extend(extents.map(|extent| Claim { file: id, extent }));
                record.extents.extents().collect()
            };
            self.checked.extents += extents.len() as u64;
            for extent in &extents {
                self.checked.of_device(extent.device()).extents += 1;
            }
            claims.extend(extents.into_iter().map(|extent| Claim { file: id, extent }));
        }
        self.places(&mut claims, found);
        // In the order in which they lie, so that a disk streams.
        unread.sort_unstable_by_key(|claim| claim.extent.first);
        let bytes = |claim: &Claim| u64::from(claim.extent.blocks) * BLOCK as u64;
        let all = unread.iter().map(bytes).sum();
        let mut done = 0;
        for claim in &unread {
            self.bytes(claim);
            done += bytes(claim);
            progress(ByteCount(done), ByteCount(all));
        }
    }

    /// Copies of a device's superblock. A mount uses those that verify, and says nothing.
    fn superblocks(&mut self, device: DeviceId, area: &SuperblockArea) {
        for unsound in area.unsound() {
            let at = self.media.of(device).grid().addr_of(unsound.place);
            let (region, offset) = self.media.describe("superblock", at);
            let expected = "a superblock whose checksum holds".to_owned();
            let got = "another block; the store opens by another copy, and the next opening for \
                       writing replaces or erases this one, if its place can be written";
            let problem = Problem { region, offset, expected, got: got.into() };
            let Checked { problems, leftovers, closed, .. } = &mut self.checked;
            let list = if unsound.is_damage(*closed) { problems } else { leftovers };
            list.push(problem);
        }
    }

    /// Where the extents lie.
    fn places(&mut self, claims: &mut [Claim], found: &Assembled) {
        let replayed = &found.replayed;
        let logs = self.media.logs().id();
        let mut reserved: Reserved = BTreeMap::new();
        let of_journal = replayed.journal_zones();
        reserved.extend(of_journal.map(|zone| ((logs, zone), "a zone of the journal")));
        let of_superblock = replayed.superblock_zones().into_iter().map(|zone| (logs, zone));
        let of_other = found.other.iter().flat_map(|(area, superblock)| {
            area.zones().into_iter().map(|zone| (superblock.device, zone))
        });
        let of_superblock = of_superblock.chain(of_other);
        reserved.extend(of_superblock.map(|place| (place, "a zone of the superblock")));
        claims.sort_unstable_by_key(|claim| claim.extent.first);
        // The claim that reaches furthest of those before.
        let mut before: Option<Claim> = None;
        for claim in claims {
            let Claim { file, extent } = *claim;
            let (region, offset) = self.place(file, extent.first);
            if let Some(what) = self.misplacement(&extent, &reserved) {
                self.checked.note(region.clone(), offset, what.0, what.1);
            }
            let same_device = |other: &Claim| other.extent.device() == extent.device();
            before = before.filter(same_device);
            if let Some(other) = before.filter(|other| other.extent.end() > extent.start()) {
                let expected = "blocks of one file";
                let got = format!("blocks of file {} too", other.file);
                self.checked.note(region, offset, expected, got);
            }
            let reaches_further = |other: &Claim| other.extent.end() > extent.end();
            before = before.filter(reaches_further).or(Some(*claim));
        }
    }

    /// Fault of an extent's place, if there is one: expected, and found.
    fn misplacement(&self, extent: &Extent, reserved: &Reserved) -> Option<(String, String)> {
        let medium = self.media.of(extent.device());
        let (geometry, grid) = (medium.geometry(), medium.grid());
        let ZonePlace { zone, block } = grid.place(extent.first);
        if !medium.layout().is_zoned() {
            // It may cross several stretches.
            let last = grid.zone(extent.first.plus(extent.blocks - 1));
            let mut stretches = reserved.range((medium.id(), zone)..=(medium.id(), last));
            let what = stretches.next()?.1;
            return Some(("blocks for files".into(), (*what).into()));
        }
        let Some(report) = self.reports.get(zone.0 as usize) else {
            let expected = format!("a zone below {}", geometry.zones);
            return Some((expected, format!("zone {zone}")));
        };
        if let Some(what) = reserved.get(&(medium.id(), zone)) {
            return Some(("a zone for files".into(), (*what).into()));
        }
        if report.zone_type == ZoneType::Conventional {
            return Some(("a sequential zone".into(), "a conventional one".into()));
        }
        let written = pointer(geometry, report).filter(|_| report.state.has_pointer());
        let limit = written.unwrap_or(zone_blocks(geometry, zone));
        let end = u64::from(block) + u64::from(extent.blocks);
        (end > u64::from(limit)).then(|| {
            let limit = grid.addr(zone, limit).block();
            let expected = format!("blocks below {limit}, where the zone's written part ends");
            (expected, format!("blocks up to {}", extent.end()))
        })
    }

    /// Reads an extent and compares its checksum.
    fn bytes(&mut self, claim: &Claim) {
        let Claim { file, extent } = *claim;
        let (region, offset) = self.place(file, extent.first);
        let mut crc = crc32c(&[]);
        let mut done = 0;
        while done < extent.blocks {
            let at = extent.first.plus(done);
            let blocks = READ_BLOCKS.min(extent.blocks - done);
            if !self.can_be_read(at, blocks) {
                return;
            }
            match self.media.read_blocks(at, blocks, Cause::Recovery) {
                Ok(data) => crc = crc32c_append(crc, &data),
                Err(error) => {
                    let offset = self.media.of(at.device()).grid().byte(at);
                    self.checked.note(region, offset, "blocks that can be read", error.to_string());
                    return;
                }
            }
            done += blocks;
        }
        let bytes = u64::from(extent.blocks) * BLOCK as u64;
        match extent.crc {
            Some(expected) if expected != crc => {
                let expected = format!("checksum {expected:#010x} over {bytes} bytes");
                self.checked.note(region, offset, expected, format!("{crc:#010x}"));
            }
            Some(_) => {
                self.checked.verified.0 += bytes;
                self.checked.of_device(extent.device()).verified.0 += bytes;
            }
            None => self.checked.unverified.0 += bytes,
        }
    }

    /// Reads a log through; the blocks that it really takes.
    fn log(&mut self, id: FileId, record: &FileRecord, replayed: &Replayed) -> Vec<Extent> {
        let source = FileSource::new(&self.media, id, &record.extents, Cause::Recovery);
        let uuid = replayed.superblock.uuid;
        let (index, tail) = match LogIndex::scan(LogScan::new(&source, uuid, id, record)) {
            Ok(scanned) => scanned,
            Err(error) => {
                self.checked.note_error(&format!("log {id}"), error);
                // After the recorded end of a log that is not sealed, blocks may be leased only.
                let end = if record.sealed { u32::MAX } else { record.known_end() };
                let (certain, _) = record.extents.without(end, u32::MAX);
                return certain.extents().collect();
            }
        };
        self.checked.frames += index.frames();
        if !record.sealed {
            if self.checked.closed {
                self.behind(&source, uuid, (id, record), &tail);
            }
            let (written, _) = record.extents.without(tail.block, u32::MAX);
            return written.extents().collect();
        }
        if index.size() != record.size {
            let (expected, got) = (format!("{} bytes", record.size), index.size().to_string());
            self.checked.note(format!("log {id}"), 0, expected, got);
        }
        record.extents.extents().collect()
    }
}

impl Check {
    /// Where a block of a file lies, for messages: the region, and the byte of the device.
    fn place(&self, file: FileId, at: BlockAddr) -> (String, u64) {
        self.media.describe(&format!("file {file}"), at)
    }

    /// Whether all blocks lie within a zone's capacity.
    fn can_be_read(&self, at: BlockAddr, blocks: u32) -> bool {
        let medium = self.media.of(at.device());
        if !medium.layout().is_zoned() {
            return true;
        }
        let ZonePlace { zone, block } = medium.grid().place(at);
        let report = self.reports.get(zone.0 as usize);
        let limit = report.map_or(0, |report| zone_blocks(medium.geometry(), report.zone));
        u64::from(block) + u64::from(blocks) <= u64::from(limit)
    }

    /// Looks for frames of a log after the end that was recorded when the store was closed.
    fn behind(
        &mut self,
        source: &FileSource,
        uuid: Uuid,
        (id, record): (FileId, &FileRecord),
        tail: &LogTail,
    ) {
        let LogTail { block, cursor, epoch, .. } = *tail;
        let binding = Binding { uuid, owner: id.0, epoch };
        let end = record.known_end();
        let mut scanner = Scanner::new(source, binding, end, cursor, end);
        let found = if block > end { Some(end) } else { scanner.find_frame(end).map(|(at, _)| at) };
        if let Some(block) = found {
            let (region, offset) = source.place(block);
            let expected = format!("the log's end at block {end}, where the store was closed");
            self.checked.note(region, offset, expected, "another frame of it".into());
        }
    }
}
