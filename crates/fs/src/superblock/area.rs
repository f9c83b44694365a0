//! [`SuperblockArea`]: where superblocks lie on a device. It finds the newest and writes the next.
//!
//! - A device without zones has them in its first two blocks. A device with zones has them in the
//!   first two blocks of a conventional zone: the first usable one of its first eight, if that has
//!   two blocks. Generation `g` goes to block `g % 2`.
//! - Otherwise they lie in two of the first eight sequential zones. One is appended to until it is
//!   full, was torn or fails; then the other is reset and used.
//!
//! Writes are forced. Addresses here say device 0 for any number of the device in a store.
//!
//! # Broken blocks
//! One block may be broken: a power cut hit it, so no later write relied on it. More are
//! corruption, in the zone of the newest superblock or in one of its area where no block verifies:
//! a reader must not silently take an older state. If no superblock of the device verifies, one
//! broken block is corruption. Where a step back by one superblock would be wrong, [`write_twice`]
//! has to be used. [`SuperblockArea::mend`] replaces broken blocks.
//!
//! # Threads
//! One owner, which alone writes. `choose`, `find` and `write` wait for the device. `choose` clears
//! the two blocks, or resets the two zones, that it chooses. Before `find`, a caller that is going
//! to write has to flush the device.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{Cause, DeviceId, IoBuf, ZoneId, reached};
use terrace_zone::{Device, DeviceError, Op, ZoneState, ZoneType};

use super::foreign::Foreign;
use super::home::Home;
use super::search::{CANDIDATES, Seen, candidates, io, look};
use super::unsound::Unsound;
use super::{Placement, Superblock};
use crate::block::{BLOCK, end_writing, zone_blocks};
use crate::growing::GENERATION_END;
use crate::{ZoneGrid, ZonePlace};

/// The place of a store's superblocks.
pub struct SuperblockArea {
    device: Arc<dyn Device>,
    grid: ZoneGrid,
    home: Home,
    /// Of a log: which zone is appended to, and at which block; `None` to change over first.
    next: (usize, Option<u32>),
    generation: u64,
    /// Of the newest blocks of its zones, those that are no superblocks.
    unsound: Vec<Unsound>,
}

impl SuperblockArea {
    /// Chooses the place for a new store and removes the old blocks there. Superblocks of an older
    /// store elsewhere will never be preferred to those written now.
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
        let home = match (&usable[0][..], &usable[1][..]) {
            ([zone, ..], _) if zone_blocks(geometry, *zone) >= 2 => Home::Slots(*zone),
            (_, [first, second, ..]) => Home::Log([*first, *second]),
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
        let generation = generation.max(newest_foreign(&seen).map_or(0, |it| it.generation));
        if generation >= GENERATION_END / 2 {
            return Err(StoreError::Invalid(format!(
                "superblock of an older store: expected a generation below 2^61, found \
                 {generation}; erase the device first"
            )));
        }
        let grid = ZoneGrid::new(DeviceId::FIRST, device.geometry());
        let area = Self { device, grid, home, next: (0, Some(0)), generation, unsound: Vec::new() };
        area.clear(&seen)?;
        Ok(area)
    }

    /// Clears the place. `seen`: the result of the search. The newest superblock goes last, and
    /// only once the others are gone: a power cut in between must not leave an older one in charge.
    fn clear(&self, seen: &[Seen]) -> Result<(), StoreError> {
        let newest = |zone: ZoneId| {
            let seen = seen.iter().find(|seen| seen.zone == zone)?;
            seen.newest.as_ref().map(|superblock| superblock.generation)
        };
        match self.home {
            Home::Log(mut zones) => {
                zones.sort_by_key(|zone| newest(*zone));
                for zone in zones {
                    let reset = self.device.control(Op::Reset(zone), Cause::Superblock);
                    reset.map_err(|error| io("clearing the", zone, error))?;
                    // A power cut may take a reset back.
                    if newest(zone).is_some() {
                        self.flush()?;
                    }
                }
            }
            Home::Slots(zone) => {
                let clear = |block, blocks| {
                    let cleared =
                        self.put(ZonePlace { zone, block }, IoBuf::zeroed(blocks * BLOCK));
                    cleared.map_err(|error| io("clearing the", zone, error))
                };
                if let Some(generation) = newest(zone) {
                    clear(1 - (generation % 2) as u32, 1)?;
                }
                clear(0, 2)?;
            }
        }
        self.flush()
    }

    fn flush(&self) -> Result<(), StoreError> {
        let flush = self.device.control(Op::Flush, Cause::Superblock);
        flush.map_err(|error| StoreError::io("flush after clearing the superblock", error))
    }

    /// Finds the newest superblock of a device.
    pub fn find(device: Arc<dyn Device>) -> Result<(Self, Superblock), StoreError> {
        let seen = look(&*device)?;
        let grid = ZoneGrid::new(DeviceId::FIRST, device.geometry());
        let newest = seen.iter().enumerate().filter_map(|(index, seen)| {
            seen.newest.as_ref().map(|superblock| (superblock.generation, index))
        });
        let newest = newest.max();
        let known = newest.map_or(0, |(generation, _)| generation);
        if let Some(foreign) = newest_foreign(&seen).filter(|it| it.generation > known) {
            return Err(foreign.refusal());
        }
        let Some((generation, index)) = newest else {
            return Err(nothing_found(&*device, &seen, &grid));
        };
        let Some(superblock) = seen[index].newest.clone() else {
            return Err(nothing_found(&*device, &seen, &grid));
        };
        let Some(home) = Home::of(superblock.placement, &grid) else {
            return Err(nothing_found(&*device, &seen, &grid));
        };
        let of_home = seen.iter().filter(|seen| home.zones().contains(&seen.zone));
        let unsound = of_home.flat_map(|seen| seen.unsound.iter().copied()).collect();
        let mut area = Self { device, grid, home, next: (0, None), generation, unsound };
        for other in seen.iter().filter(|seen| area.zones().contains(&seen.zone)) {
            let is_newest = other.zone == seen[index].zone;
            if other.broken > 1 && (is_newest || other.newest.is_none()) {
                return Err(broken(other, &grid));
            }
        }
        if let Home::Log(zones) = home {
            let active = usize::from(zones[1] == seen[index].zone);
            let next = seen[index].next.filter(|_| seen[index].broken == 0);
            area.next = (active, next);
        }
        Ok((area, superblock))
    }

    /// The zones that belong to the superblock alone.
    #[must_use]
    pub fn zones(&self) -> Vec<ZoneId> {
        self.home.zones().to_vec()
    }

    /// The zone of a log of superblocks that is not appended to.
    pub(crate) fn idle_zone(&self) -> Option<ZoneId> {
        match self.home {
            Home::Log(zones) => Some(zones[1 - self.next.0]),
            Home::Slots(_) => None,
        }
    }

    /// Where superblocks are.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.home.placement(&self.grid)
    }

    /// Blocks among the newest that are no superblocks, as they were found.
    pub(crate) fn unsound(&self) -> &[Unsound] {
        &self.unsound
    }

    /// Replaces blocks that were found to be no superblocks, if there are any: the superblock in
    /// force is written again, so that it has two copies, and a zone with such a block that is not
    /// appended to any more is reset. The place of the blocks may have worn out: if they cannot be
    /// written, or a zone of a log cannot be reset, the superblock in force stays as it is.
    pub(crate) fn mend(&mut self, superblock: &mut Superblock) {
        if self.unsound.is_empty() {
            return;
        }
        let is_mended = match self.home {
            Home::Slots(_) => self.write(superblock).is_ok(),
            Home::Log(zones) => self.change_over(zones, superblock),
        };
        if is_mended {
            reached!("fs: a torn superblock is written anew");
            self.unsound.clear();
        }
    }

    /// Writes the superblock twice to the zone of a log that is not appended to, and resets the
    /// other one; whether it was written.
    fn change_over(&mut self, zones: [ZoneId; 2], superblock: &mut Superblock) -> bool {
        let reset = |zone| self.device.control(Op::Reset(zone), Cause::Superblock).is_ok();
        let before = self.next;
        let (active, _) = before;
        // A write that finds no zone for it must not have given up the present one.
        if !reset(zones[1 - active]) {
            return false;
        }
        self.next = (active, None);
        if write_twice(self, superblock).is_err() {
            let is_written = self.next.0 != active;
            if !is_written {
                self.next = before;
            }
            return false;
        }
        // The copies that count are in the other zone now. If this fails, a block stays as it is.
        let _ = self.device.control(Op::Reset(zones[active]), Cause::Superblock);
        true
    }

    /// Writes the next superblock and returns once it is durable. It gets this place and the next
    /// generation.
    pub fn write(&mut self, superblock: &mut Superblock) -> Result<(), StoreError> {
        superblock.generation = self.generation + 1;
        superblock.placement = self.placement();
        debug_assert!(
            superblock.splices.windows(2).all(|pair| pair[0].sequence < pair[1].sequence),
            "splices in order: {superblock:?}"
        );
        let data = superblock.encode();
        match self.home {
            Home::Slots(zone) => {
                // After an error, the next superblock replaces this one in its slot.
                let block = (superblock.generation % 2) as u32;
                self.put(ZonePlace { zone, block }, data)
                    .map_err(|error| io("writing the", zone, error))?;
                self.generation = superblock.generation;
            }
            Home::Log(zones) => {
                // A write that fails may reach the medium all the same. The next superblock may
                // then go to the other zone, and must be newer.
                self.generation = superblock.generation;
                self.append(zones, data)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, zones: [ZoneId; 2], data: IoBuf) -> Result<(), StoreError> {
        let (active, next) = self.next;
        let zone = zones[active];
        let room = zone_blocks(self.device.geometry(), zone);
        if let Some(block) = next.filter(|block| *block < room) {
            if self.put(ZonePlace { zone, block }, data.clone()).is_ok() {
                self.next = (active, Some(block + 1));
                return Ok(());
            }
            // The zone takes no more; its superblocks stay until the other zone has a newer one.
            self.next = (active, None);
        }
        end_writing(&*self.device, zone, Cause::Superblock);
        let zone = zones[1 - active];
        self.device
            .control(Op::Reset(zone), Cause::Superblock)
            .map_err(|error| io("making room for the", zone, error))?;
        self.put(ZonePlace { zone, block: 0 }, data)
            .map_err(|error| io("writing the", zone, error))?;
        debug_assert_ne!(zone, zones[active], "the newest superblock was reset");
        self.next = (1 - active, Some(1));
        Ok(())
    }

    fn put(&self, at: ZonePlace, data: IoBuf) -> Result<(), DeviceError> {
        let lba = at.lba(self.device.geometry());
        self.device.write(lba, data, true, Cause::Superblock).map(drop)
    }
}

/// Writes a superblock so that losing one copy loses nothing.
pub(crate) fn write_twice(
    area: &mut SuperblockArea,
    superblock: &mut Superblock,
) -> Result<(), StoreError> {
    area.write(superblock)?;
    area.write(superblock)
}

/// The newest superblock of another format version.
fn newest_foreign(seen: &[Seen]) -> Option<Foreign> {
    seen.iter().filter_map(|seen| seen.foreign).max_by_key(|foreign| foreign.generation)
}

fn broken(seen: &Seen, grid: &ZoneGrid) -> StoreError {
    let block = seen.next.map_or(0, |next| next.saturating_sub(1));
    let (region, offset) = grid.describe("superblock", ZonePlace { zone: seen.zone, block });
    StoreError::Corruption {
        region,
        offset,
        expected: "at most one broken block, the one that a power cut hit".into(),
        got: format!("{} of them", seen.broken),
    }
}

fn nothing_found(device: &dyn Device, seen: &[Seen], grid: &ZoneGrid) -> StoreError {
    if let Some(seen) = seen.iter().find(|seen| seen.broken > 0) {
        let (region, offset) = grid.describe("superblock", ZonePlace { zone: seen.zone, block: 0 });
        return StoreError::Corruption {
            region,
            offset,
            expected: "a superblock whose checksum holds".into(),
            got: format!("{} blocks that are marked as one, and none that is", seen.broken),
        };
    }
    match offline(device) {
        Ok(zones) if zones.is_empty() => {}
        Ok(zones) => return superblock_offline(device, &zones),
        Err(error) => return error,
    }
    StoreError::Invalid(format!(
        "no file system here: expected a superblock in one of the first {CANDIDATES} conventional \
         or sequential zones, found none; format the device first"
    ))
}

/// The zones that are looked at for superblocks and are offline.
fn offline(device: &dyn Device) -> Result<Vec<ZoneId>, StoreError> {
    let mut zones = Vec::new();
    for of_type in [ZoneType::Conventional, ZoneType::Sequential] {
        let reports = candidates(device, of_type)?.into_iter();
        let offline = reports.filter(|report| report.state == ZoneState::Offline);
        zones.extend(offline.map(|report| report.zone));
    }
    Ok(zones)
}

/// No superblock was found, and these zones, in which there may be one, are offline.
fn superblock_offline(device: &dyn Device, zones: &[ZoneId]) -> StoreError {
    if !device.geometry().layout.is_zoned() {
        return StoreError::Invalid(
            "expected a superblock, found a device that is offline: nothing on it can be read; \
             restore the store from a checkpoint on another device"
                .into(),
        );
    }
    let numbers: Vec<String> = zones.iter().map(ZoneId::to_string).collect();
    let (which, they) = match zones.len() {
        1 => ("zone", "is offline: if the superblock was in it"),
        _ => ("zones", "are offline: if the superblock was in one of them"),
    };
    StoreError::Invalid(format!(
        "expected a superblock in one of the first {CANDIDATES} conventional or sequential zones, \
         found none that can be read; {which} {} {they}, the store cannot be opened any more; \
         restore it from a checkpoint, or format the device, which makes an empty store without \
         zones that are offline",
        numbers.join(", ")
    ))
}
