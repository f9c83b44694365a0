//! Where superblocks stand on a device, how the newest is found, and how the next is written.
//!
//! - With a conventional zone: its first two blocks, generation `g` in block `g % 2`.
//! - Without: two sequential zones; one is appended to until it is full or ends badly, then the
//!   other is reset and used. All writes are forced.
//!
//! # Invariants
//! - The zones named here are used for nothing else.
//! - At most one block at the end of what was written may be broken: the one that a power cut hit,
//!   which was never relied on. More is corruption, never a silent step back to an older state.
//!   Where stepping back by one would be wrong, the writer writes twice.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, IoBuf, ZoneId};
use terrace_zone::{Device, DeviceError, Op, ZoneReport, ZoneState, ZoneType};

use super::{Placement, Superblock};
use crate::block::{BLOCK, BlockAddr, end_writing, logical_per_block, zone_blocks};

/// How many zones of each type are looked at for superblocks.
const CANDIDATES: usize = 8;

/// Blocks at the end of a zone's superblocks that are looked at: more than may be broken.
const TAIL: u32 = 4;

/// The place of a store's superblocks.
pub struct SuperblockArea {
    device: Arc<dyn Device>,
    placement: Placement,
    /// Of a log: which zone is appended to, and at which block; `None` to change over first.
    next: (usize, Option<u32>),
    generation: u64,
}

/// What was found in one zone.
struct Seen {
    zone: ZoneId,
    newest: Option<Superblock>,
    /// Written blocks behind the newest superblock that hold none.
    broken: u32,
    /// Where the next block would be appended.
    next: Option<u32>,
}

fn io(what: &str, zone: ZoneId, error: DeviceError) -> StoreError {
    StoreError::io(format!("{what} superblock in zone {zone}"), error)
}

impl SuperblockArea {
    /// Chooses the place for a new store and removes what stands there. Nothing of an older store
    /// that is found elsewhere will be preferred to what is written now.
    pub fn choose(device: Arc<dyn Device>) -> Result<Self, StoreError> {
        let geometry = device.geometry();
        let mut usable = [Vec::new(), Vec::new()];
        for (of_type, wanted) in [ZoneType::Conventional, ZoneType::Sequential].iter().enumerate() {
            for report in candidates(&*device, *wanted)? {
                if !matches!(report.state, ZoneState::Offline | ZoneState::ReadOnly) {
                    usable[of_type].push(report.zone);
                }
            }
        }
        let placement = match (&usable[0][..], &usable[1][..]) {
            ([zone, ..], _) if zone_blocks(geometry, *zone) >= 2 => Placement::Slots(*zone),
            (_, [first, second, ..]) => Placement::Log([*first, *second]),
            _ => {
                return Err(StoreError::Invalid(format!(
                    "no place for the superblock: expected a usable conventional zone or two \
                     usable sequential ones among the first {CANDIDATES}, found {}",
                    usable[1].len()
                )));
            }
        };
        let seen = look(&*device)?;
        let newest = seen.iter().filter_map(|seen| seen.newest.as_ref());
        let generation = newest.map(|superblock| superblock.generation).max().unwrap_or(0);
        let area = Self { device, placement, next: (0, Some(0)), generation };
        area.clear()?;
        Ok(area)
    }

    fn clear(&self) -> Result<(), StoreError> {
        let zones = self.zones();
        for &zone in &zones {
            let failed = |error| io("clearing the", zone, error);
            if matches!(self.placement, Placement::Log(_)) {
                self.device.control(Op::Reset(zone), Cause::Superblock).map_err(failed)?;
            } else {
                self.put(BlockAddr { zone, block: 0 }, IoBuf::zeroed(2 * BLOCK)).map_err(failed)?;
            }
        }
        let flush = self.device.control(Op::Flush, Cause::Superblock);
        flush.map_err(|error| StoreError::io("flush after clearing the superblock", error))
    }

    /// Finds the newest superblock of a device.
    pub fn find(device: Arc<dyn Device>) -> Result<(Self, Superblock), StoreError> {
        let seen = look(&*device)?;
        let newest = seen.iter().enumerate().filter_map(|(index, seen)| {
            seen.newest.as_ref().map(|superblock| (superblock.generation, index))
        });
        let Some((generation, index)) = newest.max() else {
            return Err(nothing_found(&seen));
        };
        let Some(superblock) = seen[index].newest.clone() else {
            return Err(nothing_found(&seen));
        };
        let placement = superblock.placement;
        let mut area = Self { device, placement, next: (0, None), generation };
        for other in seen.iter().filter(|seen| area.zones().contains(&seen.zone)) {
            let is_newest = other.zone == seen[index].zone;
            if other.broken > 1 && (is_newest || other.newest.is_none()) {
                return Err(broken(other));
            }
        }
        if let Placement::Log(zones) = placement {
            let active = usize::from(zones[1] == seen[index].zone);
            let next = seen[index].next.filter(|_| seen[index].broken == 0);
            area.next = (active, next);
        }
        Ok((area, superblock))
    }

    /// The zones that belong to the superblock alone.
    #[must_use]
    pub fn zones(&self) -> Vec<ZoneId> {
        match self.placement {
            Placement::File => Vec::new(),
            Placement::Slots(zone) => vec![zone],
            Placement::Log(zones) => zones.to_vec(),
        }
    }

    /// Where superblocks are.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// Writes the next superblock and returns once it is durable. It gets this place and the next
    /// generation.
    pub fn write(&mut self, superblock: &mut Superblock) -> Result<(), StoreError> {
        superblock.generation = self.generation + 1;
        superblock.placement = self.placement;
        let data = superblock.encode();
        match self.placement {
            Placement::File => {
                return Err(StoreError::Invalid(
                    "a superblock in a file is written with the file".into(),
                ));
            }
            Placement::Slots(zone) => {
                let block = (superblock.generation % 2) as u32;
                self.put(BlockAddr { zone, block }, data)
                    .map_err(|error| io("writing the", zone, error))?;
            }
            Placement::Log(zones) => self.append(zones, data)?,
        }
        self.generation = superblock.generation;
        Ok(())
    }

    fn append(&mut self, zones: [ZoneId; 2], data: IoBuf) -> Result<(), StoreError> {
        let (active, next) = self.next;
        let zone = zones[active];
        let room = zone_blocks(self.device.geometry(), zone);
        if let Some(block) = next.filter(|block| *block < room) {
            if self.put(BlockAddr { zone, block }, data.clone()).is_ok() {
                self.next = (active, Some(block + 1));
                return Ok(());
            }
            // The zone takes no more; what it holds stays until the other zone has a newer one.
            self.next = (active, None);
        }
        end_writing(&*self.device, zone, Cause::Superblock);
        let zone = zones[1 - active];
        self.device
            .control(Op::Reset(zone), Cause::Superblock)
            .map_err(|error| io("making room for the", zone, error))?;
        self.put(BlockAddr { zone, block: 0 }, data)
            .map_err(|error| io("writing the", zone, error))?;
        self.next = (1 - active, Some(1));
        Ok(())
    }

    fn put(&self, at: BlockAddr, data: IoBuf) -> Result<(), DeviceError> {
        let lba = at.lba(self.device.geometry());
        self.device.write(lba, data, true, Cause::Superblock).map(drop)
    }
}

fn broken(seen: &Seen) -> StoreError {
    StoreError::Corruption {
        region: format!("superblock in zone {}", seen.zone),
        offset: seen.next.map_or(0, |next| u64::from(next.saturating_sub(1)) * BLOCK as u64),
        expected: "at most one broken block, the one that a power cut hit".into(),
        got: format!("{} of them", seen.broken),
    }
}

fn nothing_found(seen: &[Seen]) -> StoreError {
    if let Some(seen) = seen.iter().find(|seen| seen.broken > 0) {
        return StoreError::Corruption {
            region: format!("superblock in zone {}", seen.zone),
            offset: 0,
            expected: "a superblock whose checksum holds".into(),
            got: format!("{} blocks that are marked as one, and none that is", seen.broken),
        };
    }
    StoreError::Invalid(format!(
        "no file system here: expected a superblock in one of the first {CANDIDATES} conventional \
         or sequential zones, found none; format the device first"
    ))
}

/// The first zones of a type.
fn candidates(device: &dyn Device, wanted: ZoneType) -> Result<Vec<ZoneReport>, StoreError> {
    let geometry = device.geometry();
    let zones = geometry.zone_ids().filter(|zone| geometry.zone_type(*zone) == wanted);
    let mut reports = Vec::new();
    for zone in zones.take(CANDIDATES) {
        let report = device.report(zone, 1);
        reports.extend(report.map_err(|error| io("looking for the", zone, error))?);
    }
    Ok(reports)
}

/// What the candidates hold. Zones that cannot be read hold nothing.
fn look(device: &dyn Device) -> Result<Vec<Seen>, StoreError> {
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
pub(crate) fn survey(device: &dyn Device) -> Result<Vec<(BlockAddr, IoBuf)>, StoreError> {
    let mut marked = Vec::new();
    for wanted in [ZoneType::Conventional, ZoneType::Sequential] {
        for report in candidates(device, wanted)? {
            if report.state != ZoneState::Offline {
                let (first, blocks) = newest_blocks(device, &report)?;
                let zone = report.zone;
                let placed = (first..).zip(blocks);
                let placed = placed.map(|(block, bytes)| (BlockAddr { zone, block }, bytes));
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
    let (_, blocks) = newest_blocks(device, report)?;
    if report.zone_type == ZoneType::Conventional {
        let slots = blocks;
        let newest = slots.iter().filter_map(|block| superblock_in(block, zone));
        let newest = newest.max_by_key(|superblock| superblock.generation);
        let broken = slots.iter().filter(|block| is_broken(block, zone)).count() as u32;
        return Ok(Seen { zone, newest, broken, next: None });
    }
    let mut seen = Seen { zone, newest: None, broken: 0, next: crate::pointer(geometry, report) };
    for block in &blocks {
        // One of an older generation, or of another store, stands there from the zone's earlier
        // life: the write that was to replace it never reached the medium.
        let follows = |it: &Superblock| {
            let before = seen.newest.as_ref();
            before.is_none_or(|last| last.uuid == it.uuid && last.generation < it.generation)
        };
        let superblock = superblock_in(block, zone).filter(follows);
        if superblock.is_some() {
            seen.newest = superblock;
            seen.broken = 0;
        } else if seen.newest.is_some() || is_broken(block, zone) {
            seen.broken += 1;
        }
    }
    Ok(seen)
}

/// Where the pointer means nothing: how many blocks, from the first, are superblocks. Found by
/// halving, with several blocks looked at each time, so that a broken one does not pass for the
/// end.
fn written_prefix(device: &dyn Device, zone: ZoneId, capacity: u32) -> Result<u32, StoreError> {
    let window = |first: u32| read(device, zone, first, TAIL.min(capacity - first));
    if !window(0)?.iter().any(|block| superblock_in(block, zone).is_some()) {
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
fn superblock_in(block: &[u8], zone: ZoneId) -> Option<Superblock> {
    let superblock = Superblock::decode(block).ok()?;
    let here = match superblock.placement {
        Placement::File => false,
        Placement::Slots(slots) => slots == zone,
        Placement::Log(zones) => zones.contains(&zone),
    };
    here.then_some(superblock)
}

/// Whether a block is what is left of a superblock.
fn is_broken(block: &[u8], zone: ZoneId) -> bool {
    Superblock::is_marked(block) && superblock_in(block, zone).is_none()
}

fn read(
    device: &dyn Device,
    zone: ZoneId,
    first: u32,
    count: u32,
) -> Result<Vec<IoBuf>, StoreError> {
    let geometry = device.geometry();
    let lba = BlockAddr { zone, block: first }.lba(geometry);
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
