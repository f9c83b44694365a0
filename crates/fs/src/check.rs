//! Checking a store: every invariant and every checksum, without changing anything.
//!
//! | what | how |
//! |---|---|
//! | superblock and journal | found and replayed, as a mount does |
//! | extents | within zones that hold data, below a pointer that means something, no block twice |
//! | names | each name's file lists it, and each file's names lead to it |
//! | bytes | each extent whose checksum is known is read and compared; others are read |
//! | logs | every frame is verified; a sealed log has the length that is recorded |
//!
//! Everything that is wrong is listed, with the region and the byte offset in it. Only what makes
//! it impossible to go on, such as a journal that cannot be replayed, ends the check early.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{FileKind, StoreError};
use terrace_env::{ByteCount, Cause, FileId, ZoneId};
use terrace_zone::{Device, ZoneReport, ZoneType};

use crate::Fs;
use crate::block::{BLOCK, BlockAddr, pointer, zone_blocks};
use crate::catalog::{Catalog, Extent, FileRecord};
use crate::file::{FileSource, LogIndex};
use crate::frame::LogScan;
use crate::journal::{Replayed, replay};
use crate::medium::Medium;
use crate::volume::as_device;

/// Blocks read at once.
const READ_BLOCKS: u32 = 256;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which structure, and where it lies.
    pub region: String,
    /// The byte offset in it.
    pub offset: u64,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub got: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, offset, expected, got } = self;
        write!(f, "{region} at offset {offset}: expected {expected}, found {got}")
    }
}

/// What a check has looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// What is wrong; empty if all is well.
    pub problems: Vec<Problem>,
    /// Files looked at.
    pub files: u64,
    /// Extents looked at.
    pub extents: u64,
    /// Bytes whose checksum was compared.
    pub verified: ByteCount,
    /// Bytes that were read and that have no checksum of their own, because a trim has cut theirs.
    pub unverified: ByteCount,
    /// Frames of logs that were verified.
    pub frames: u64,
}

impl CheckReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// How far a check is: bytes done, and bytes to do in all.
pub type CheckProgress<'a> = &'a mut dyn FnMut(ByteCount, ByteCount);

impl Fs {
    /// Checks the store on a device that is not mounted for writing. An error only if the device
    /// cannot be asked at all; whatever is wrong with the store is in the report.
    pub fn check(device: Arc<dyn Device>) -> Result<CheckReport, StoreError> {
        Self::check_watched(device, &mut |_, _| {})
    }

    /// Like [`check`](Self::check), and tells how far it is.
    pub fn check_watched(
        device: Arc<dyn Device>,
        progress: CheckProgress<'_>,
    ) -> Result<CheckReport, StoreError> {
        let medium = Arc::new(Medium::new(device));
        let reports = medium
            .report(ZoneId(0), medium.geometry().zones)
            .map_err(|error| StoreError::io("report of the zones", error))?;
        let mut check = Check { medium, reports, report: CheckReport::default() };
        match replay(&as_device(&check.medium), false) {
            Ok(replayed) => check.store(&replayed, progress),
            Err(error) => check.note_error("superblock or journal", error),
        }
        Ok(check.report)
    }
}

struct Check {
    medium: Arc<Medium>,
    reports: Vec<ZoneReport>,
    report: CheckReport,
}

/// Blocks of a file, as it claims them.
#[derive(Clone, Copy)]
struct Claim {
    file: FileId,
    extent: Extent,
}

impl Check {
    fn store(&mut self, replayed: &Replayed, progress: CheckProgress<'_>) {
        let catalog = &replayed.catalog;
        self.names(catalog);
        let (mut claims, mut unread) = (Vec::new(), Vec::new());
        for (id, record) in catalog.files() {
            self.report.files += 1;
            let extents: Vec<Extent> = if record.kind == FileKind::Log {
                self.log(id, record, replayed)
            } else {
                let extents = record.extents.extents();
                unread.extend(extents.map(|extent| Claim { file: id, extent }));
                record.extents.extents().collect()
            };
            self.report.extents += extents.len() as u64;
            claims.extend(extents.into_iter().map(|extent| Claim { file: id, extent }));
        }
        self.places(&mut claims, replayed);
        // In the order in which they lie, so that a disk streams.
        unread.sort_unstable_by_key(|claim| claim.extent.addr());
        let bytes = |claim: &Claim| u64::from(claim.extent.blocks) * BLOCK as u64;
        let all = unread.iter().map(bytes).sum();
        let mut done = 0;
        for claim in &unread {
            self.bytes(claim);
            done += bytes(claim);
            progress(ByteCount(done), ByteCount(all));
        }
    }

    fn note(&mut self, region: String, offset: u64, expected: impl Into<String>, got: String) {
        self.report.problems.push(Problem { region, offset, expected: expected.into(), got });
    }

    fn note_error(&mut self, what: &str, error: StoreError) {
        match error {
            StoreError::Corruption { region, offset, expected, got } => {
                self.note(region, offset, expected, got);
            }
            other => self.note(what.to_owned(), 0, "to be readable", other.to_string()),
        }
    }

    fn names(&mut self, catalog: &Catalog) {
        let mut listed: BTreeMap<&str, FileId> = BTreeMap::new();
        for (id, record) in catalog.files() {
            for name in &record.names {
                if let Some(other) = listed.insert(name, id) {
                    let got = format!("file {id} beside file {other}");
                    self.note(format!("catalog, name {name:?}"), 0, "one file", got);
                }
            }
        }
        for (name, id) in catalog.names(..) {
            if listed.remove(name) != Some(id) {
                let got = format!("file {id}, which does not list it");
                self.note(format!("catalog, name {name:?}"), 0, "a file that lists it", got);
            }
        }
        for (name, id) in listed {
            let got = format!("file {id}, which the name does not lead to");
            self.note(format!("catalog, name {name:?}"), 0, "the file it leads to", got);
        }
    }

    /// Where the extents lie.
    fn places(&mut self, claims: &mut [Claim], replayed: &Replayed) {
        let mut reserved: BTreeMap<ZoneId, &str> = BTreeMap::new();
        reserved.extend(replayed.journal_zones().map(|zone| (zone, "a zone of the journal")));
        let of_superblock = replayed.superblock_zones();
        reserved.extend(of_superblock.iter().map(|zone| (*zone, "a zone of the superblock")));
        claims.sort_unstable_by_key(|claim| claim.extent.addr());
        let mut before: Option<Claim> = None;
        for claim in claims {
            let Claim { file, extent } = *claim;
            let (region, offset) = place(file, &extent);
            if let Some(what) = self.misplacement(&extent, &reserved) {
                self.note(region.clone(), offset, what.0, what.1);
            }
            if let Some(other) = before.filter(|other| {
                other.extent.zone == extent.zone && other.extent.end() > extent.start
            }) {
                let expected = "blocks of one file";
                let got = format!("blocks of file {} too", other.file);
                self.note(region, offset, expected, got);
            }
            before = Some(*claim);
        }
    }

    /// What is wrong with the place of an extent: expected, and found.
    fn misplacement(
        &self,
        extent: &Extent,
        reserved: &BTreeMap<ZoneId, &str>,
    ) -> Option<(String, String)> {
        let geometry = self.medium.geometry();
        let Some(report) = self.reports.get(extent.zone.0 as usize) else {
            let expected = format!("a zone below {}", geometry.zones);
            return Some((expected, format!("zone {}", extent.zone)));
        };
        if let Some(what) = reserved.get(&extent.zone) {
            return Some(("a zone for files".into(), (*what).into()));
        }
        if report.zone_type == ZoneType::Conventional {
            return Some(("a sequential zone".into(), "a conventional one".into()));
        }
        let written = pointer(geometry, report).filter(|_| report.state.has_pointer());
        let limit = written.unwrap_or(zone_blocks(geometry, extent.zone));
        (extent.end() > limit).then(|| {
            let expected = format!("blocks below {limit}, where the zone's written part ends");
            (expected, format!("blocks up to {}", extent.end()))
        })
    }

    /// Reads an extent and compares its checksum.
    fn bytes(&mut self, claim: &Claim) {
        let Claim { file, extent } = *claim;
        let (region, offset) = place(file, &extent);
        let mut crc = crc32c(&[]);
        let mut done = 0;
        while done < extent.blocks {
            let at = BlockAddr { zone: extent.zone, block: extent.start + done };
            let blocks = READ_BLOCKS.min(extent.blocks - done);
            let in_range = self.reports.get(extent.zone.0 as usize).is_some_and(|_| {
                at.block + blocks <= zone_blocks(self.medium.geometry(), extent.zone)
            });
            if !in_range {
                return;
            }
            match self.medium.read_blocks(at, blocks, Cause::Recovery) {
                Ok(data) => crc = crc32c_append(crc, &data),
                Err(error) => {
                    let offset = u64::from(at.block) * BLOCK as u64;
                    self.note(region, offset, "blocks that can be read", error.to_string());
                    return;
                }
            }
            done += blocks;
        }
        let bytes = u64::from(extent.blocks) * BLOCK as u64;
        match extent.crc {
            Some(expected) if expected != crc => {
                let expected = format!("checksum {expected:#010x} over {bytes} bytes");
                self.note(region, offset, expected, format!("{crc:#010x}"));
            }
            Some(_) => self.report.verified.0 += bytes,
            None => self.report.unverified.0 += bytes,
        }
    }

    /// Reads a log through; the blocks that it really takes.
    fn log(&mut self, id: FileId, record: &FileRecord, replayed: &Replayed) -> Vec<Extent> {
        let source = FileSource::new(&self.medium, id, &record.extents, Cause::Recovery);
        let uuid = replayed.superblock.uuid;
        let all = record.extents.extents().collect();
        let (index, tail) = match LogIndex::scan(LogScan::new(&source, uuid, id, record)) {
            Ok(scanned) => scanned,
            Err(error) => {
                self.note_error(&format!("log {id}"), error);
                return all;
            }
        };
        self.report.frames += index.frames();
        if !record.sealed {
            let (written, _) = record.extents.without(tail.block, u32::MAX);
            return written.extents().collect();
        }
        if index.size() != record.size {
            let (expected, got) = (format!("{} bytes", record.size), index.size().to_string());
            self.note(format!("log {id}"), 0, expected, got);
        }
        all
    }
}

/// An extent, for people: the region, and the byte offset in it.
fn place(file: FileId, extent: &Extent) -> (String, u64) {
    let BlockAddr { zone, block } = extent.addr();
    (format!("file {file} in zone {zone}"), u64::from(block) * BLOCK as u64)
}
