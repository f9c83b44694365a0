//! Search for the superblocks of a device of which nothing is known.
//!
//! The search looks at the first eight conventional and the first eight sequential zones; on a
//! device without zones, at its first stretch, which counts as a conventional zone. Of a
//! conventional zone the search reads the first two blocks, of a sequential one the last four that
//! are written. A sequential zone that has lost its write pointer, because it is full or read-only,
//! is searched by halving.
//!
//! For each zone the result is the newest superblock, and the number of broken blocks: of a
//! conventional zone, those of the two; of a sequential one, those of the four after its newest
//! superblock, or all that are marked if none verifies. A superblock of another format version is
//! reported, too; in a sequential zone only if it is newer. `survey` instead gives the blocks that
//! are marked as superblocks, sound or not.
//!
//! An offline zone is passed over. A block with a medium error counts as a broken superblock; other
//! errors end the search. Nothing is written.

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, IoBuf, ZoneId};
use terrace_zone::{Device, DeviceError, ZoneReport, ZoneState, ZoneType};

use super::Superblock;
use super::foreign::Foreign;
use super::home::Home;
use super::unsound::{Facts, Unsound};
use crate::block::{BLOCK, logical_per_block, zone_blocks};
use crate::{ZoneGrid, ZonePlace};

/// How many zones of each type are looked at for superblocks.
pub(super) const CANDIDATES: usize = 8;

/// Blocks at the end of a zone's superblocks that are looked at: more than may be broken.
const TAIL: u32 = 4;

/// Result of a search in one zone.
pub(super) struct Seen {
    pub(super) zone: ZoneId,
    pub(super) newest: Option<Superblock>,
    /// A superblock of another format version; in a sequential zone, one that is newer than
    /// `newest`.
    pub(super) foreign: Option<Foreign>,
    /// Broken blocks, counted as the head of this module says.
    pub(super) broken: u32,
    /// Of the blocks that were read, those that are no superblock.
    pub(super) unsound: Vec<Unsound>,
    /// Where the next block would be appended.
    pub(super) next: Option<u32>,
}

pub(super) fn io(what: &str, zone: ZoneId, error: DeviceError) -> StoreError {
    StoreError::io(format!("{what} superblock in zone {zone}"), error)
}

/// The first zones of a type.
pub(super) fn candidates(
    device: &dyn Device,
    wanted: ZoneType,
) -> Result<Vec<ZoneReport>, StoreError> {
    let geometry = device.geometry();
    let zones = geometry.zone_ids().filter(|zone| geometry.zone_type(*zone) == wanted);
    let mut reports = Vec::new();
    // Elsewhere on a plain device are users' bytes, which can look like a superblock. None of its
    // stretches, of which there may be millions, is sequential.
    let most = match (geometry.layout.is_zoned(), wanted) {
        (true, _) => CANDIDATES,
        (false, ZoneType::Conventional) => 1,
        (false, ZoneType::Sequential) => 0,
    };
    for zone in zones.take(most) {
        let report = device.report(zone, 1);
        reports.extend(report.map_err(|error| io("looking for the", zone, error))?);
    }
    Ok(reports)
}

/// Results for all candidates. Offline zones are passed over.
pub(super) fn look(device: &dyn Device) -> Result<Vec<Seen>, StoreError> {
    let mut all = Vec::new();
    for wanted in [ZoneType::Conventional, ZoneType::Sequential] {
        for report in candidates(device, wanted)? {
            if report.state != ZoneState::Offline {
                all.push(look_into(device, &report)?);
            }
        }
    }
    Ok(all)
}

/// Every block that is looked at for superblocks and is marked as one, sound or not.
pub(crate) fn survey(device: &dyn Device) -> Result<Vec<(ZonePlace, IoBuf)>, StoreError> {
    let mut marked = Vec::new();
    for wanted in [ZoneType::Conventional, ZoneType::Sequential] {
        for report in candidates(device, wanted)? {
            if report.state != ZoneState::Offline {
                let (first, blocks) = newest_blocks(device, &report)?;
                let zone = report.zone;
                let placed = (first..).zip(blocks);
                let placed = placed.map(|(block, bytes)| (ZonePlace { zone, block }, bytes));
                marked.extend(placed.filter(|(_, bytes)| Superblock::is_marked(bytes)));
            }
        }
    }
    Ok(marked)
}

/// The blocks of a zone that may be superblocks of now, from which block on.
fn newest_blocks(
    device: &dyn Device,
    report: &ZoneReport,
) -> Result<(u32, Vec<IoBuf>), StoreError> {
    let (zone, geometry) = (report.zone, device.geometry());
    let capacity = zone_blocks(geometry, zone);
    if report.zone_type == ZoneType::Conventional {
        return Ok((0, read(device, zone, 0, capacity.min(2))?));
    }
    let written = if report.state.has_pointer() {
        let logical = report.write_pointer.0.saturating_sub(report.start.0);
        let blocks = logical.div_ceil(logical_per_block(geometry));
        u32::try_from(blocks).unwrap_or(u32::MAX).min(capacity)
    } else {
        written_prefix(device, zone, capacity)?
    };
    let first = written.saturating_sub(TAIL);
    Ok((first, read(device, zone, first, written - first)?))
}

fn look_into(device: &dyn Device, report: &ZoneReport) -> Result<Seen, StoreError> {
    let (zone, geometry) = (report.zone, device.geometry());
    let grid = &ZoneGrid::new(DeviceId::FIRST, geometry);
    let (first, blocks) = newest_blocks(device, report)?;
    let unsound = unsound_of(&blocks, first, report, grid, geometry.physical_block as usize);
    if report.zone_type == ZoneType::Conventional {
        let slots = blocks;
        let newest = slots.iter().filter_map(|block| superblock_in(block, zone, grid));
        let newest = newest.max_by_key(|superblock| superblock.generation);
        let broken = slots.iter().filter(|block| is_broken(block, zone, grid)).count() as u32;
        let foreign = slots.iter().filter_map(|block| Foreign::read(block));
        let foreign = foreign.max_by_key(|foreign| foreign.generation);
        return Ok(Seen { zone, newest, foreign, broken, unsound, next: None });
    }
    let next = crate::pointer(geometry, report);
    let mut seen = Seen { zone, newest: None, foreign: None, broken: 0, unsound, next };
    for block in &blocks {
        // One of an older generation, or of another store, stands there from the zone's earlier
        // life: the write that was to replace it never reached the medium.
        let follows = |it: &Superblock| {
            let before = seen.newest.as_ref();
            before.is_none_or(|last| last.uuid == it.uuid && last.generation < it.generation)
        };
        let superblock = superblock_in(block, zone, grid).filter(follows);
        let newest = seen.newest.as_ref().map_or(0, |superblock| superblock.generation);
        if let Some(foreign) = Foreign::read(block).filter(|it| it.generation > newest) {
            seen.foreign = Some(foreign);
        } else if superblock.is_some() {
            seen.newest = superblock;
            seen.broken = 0;
        } else if seen.newest.is_some() || is_broken(block, zone, grid) {
            seen.broken += 1;
        }
    }
    Ok(seen)
}

/// Those of a zone's newest blocks that are no superblocks of any version.
fn unsound_of(
    blocks: &[IoBuf],
    first: u32,
    report: &ZoneReport,
    grid: &ZoneGrid,
    physical_block: usize,
) -> Vec<Unsound> {
    let zone = report.zone;
    let counts = |block: &IoBuf| {
        superblock_in(block, zone, grid).is_some() || Foreign::read(block).is_some()
    };
    let placed = (first..).zip(blocks).enumerate().filter(|(_, (_, block))| !counts(block));
    let judge = |(index, (number, block)): (usize, (u32, &IoBuf))| Facts {
        place: ZonePlace { zone, block: number },
        in_slot: report.zone_type == ZoneType::Conventional,
        is_last: index + 1 == blocks.len(),
        is_marked: Superblock::is_marked(block),
        can_tear: physical_block < BLOCK,
    };
    placed.map(|found| judge(found).judge()).collect()
}

/// Where the pointer means nothing: how many blocks, from the first, are superblocks. Found by
/// halving, with several blocks looked at each time, so that a broken one does not pass for the
/// end.
fn written_prefix(device: &dyn Device, zone: ZoneId, capacity: u32) -> Result<u32, StoreError> {
    let window = |first: u32| read(device, zone, first, TAIL.min(capacity - first));
    let grid = ZoneGrid::new(DeviceId::FIRST, device.geometry());
    let counts = |block: &IoBuf| {
        superblock_in(block, zone, &grid).is_some() || Foreign::read(block).is_some()
    };
    if !window(0)?.iter().any(counts) {
        return Ok(0);
    }
    let (mut low, mut high) = (0, capacity);
    while low < high {
        let middle = low + (high - low) / 2;
        if window(middle)?.iter().any(|block| Superblock::is_marked(block)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The superblock in a block, if it is one and says that it belongs here.
fn superblock_in(block: &[u8], zone: ZoneId, grid: &ZoneGrid) -> Option<Superblock> {
    let superblock = Superblock::decode(block).ok()?;
    let home = Home::of(superblock.placement, grid)?;
    home.zones().contains(&zone).then_some(superblock)
}

/// Whether a block is the remains of a superblock.
fn is_broken(block: &[u8], zone: ZoneId, grid: &ZoneGrid) -> bool {
    let counts = || superblock_in(block, zone, grid).is_some() || Foreign::read(block).is_some();
    Superblock::is_marked(block) && !counts()
}

fn read(
    device: &dyn Device,
    zone: ZoneId,
    first: u32,
    count: u32,
) -> Result<Vec<IoBuf>, StoreError> {
    let geometry = device.geometry();
    let lba = ZonePlace { zone, block: first }.lba(geometry);
    let per_block = logical_per_block(geometry) as u32;
    if count == 0 {
        return Ok(Vec::new());
    }
    match device.read(lba, count * per_block, Cause::Recovery) {
        Ok(data) => Ok(data.chunks(BLOCK).map(IoBuf::copy_of).collect()),
        // One bad block must not hide the others.
        Err(DeviceError::Medium { .. }) if count > 1 => {
            let each = (first..first + count).map(|block| read(device, zone, block, 1));
            Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Err(DeviceError::Medium { .. }) => Ok(vec![IoBuf::copy_of(b"TerraceF")]),
        Err(error) => Err(io("reading the", zone, error)),
    }
}
