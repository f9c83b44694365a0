//! [`ZoneTable`]: the zone state machine. It checks whether a request is allowed in a zone's state,
//! and applies the effects, which may concern another zone as well.
//!
//! The table holds states and write pointers, and no bytes. A `plan_*` function checks a request
//! and returns an error, or the [`Transition`] that the request causes; `plan_read` returns where
//! the read lies, because a read changes nothing. [`ZoneTable::apply`] carries a transition out;
//! the table must not change in between. [`ZoneTable::set`] checks no rule of devices: it is for
//! states that were found on a medium or forced. No I/O, no locks.
//!
//! ZBC and NVMe leave some rules to the device. Here:
//! - When all open slots are taken, the *least recently opened* of the implicitly open zones is
//!   closed to make room. If there is none, the request fails with `TooManyOpen`. A write that
//!   fills an empty zone needs the slots, too.
//! - Opening a full zone fails. Finishing it does nothing.
//! - Closing a closed zone does nothing. Closing an empty or full one fails. An open zone that
//!   holds nothing becomes empty when it is closed.
//! - Reads may go beyond the pointer and the capacity of a zone, but not beyond its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::{Lba, ZoneId};

use crate::{DeviceError, Geometry, ZoneReport, ZoneState, ZoneType};

/// State that the machine keeps of one zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneStatus {
    /// State of the zone.
    pub state: ZoneState,
    /// Logical blocks written, from the zone's start. A zone that was finished early keeps it:
    /// blocks beyond were never written. Always zero for a conventional zone.
    pub written: u64,
}

/// A change of one zone, checked and ready to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a transition does nothing until it is applied"]
pub struct Transition {
    /// The zone.
    pub zone: ZoneId,
    /// Logical blocks from the zone's start to where the request works.
    pub offset: u64,
    /// The zone's status afterwards.
    pub to: ZoneStatus,
    /// The implicitly open zone that is closed to make room.
    pub closes: Option<ZoneId>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    status: ZoneStatus,
    /// When the zone was implicitly opened, in openings of the table's life.
    opened: u64,
}

/// The states of all zones of a device.
#[derive(Clone, Debug)]
pub struct ZoneTable {
    geometry: Arc<Geometry>,
    zones: Vec<Entry>,
    implicitly_open: BTreeMap<u64, ZoneId>,
    explicitly_open: BTreeSet<ZoneId>,
    closed: usize,
    openings: u64,
}

impl ZoneTable {
    /// A device as it leaves the factory: all sequential zones empty.
    #[must_use]
    pub fn new(geometry: Arc<Geometry>) -> Self {
        let zones = geometry
            .zone_ids()
            .map(|zone| {
                let state = match geometry.zone_type(zone) {
                    ZoneType::Conventional => ZoneState::NotWritePointer,
                    ZoneType::Sequential => ZoneState::Empty,
                };
                Entry { status: ZoneStatus { state, written: 0 }, opened: 0 }
            })
            .collect();
        Self {
            geometry,
            zones,
            implicitly_open: BTreeMap::new(),
            explicitly_open: BTreeSet::new(),
            closed: 0,
            openings: 0,
        }
    }

    /// The shape of the device.
    #[must_use]
    pub fn geometry(&self) -> &Arc<Geometry> {
        &self.geometry
    }

    /// A zone's status.
    ///
    /// # Panics
    /// When there is no such zone; see [`check_zone`](Self::check_zone).
    #[must_use]
    pub fn status(&self, zone: ZoneId) -> ZoneStatus {
        self.zones[zone.0 as usize].status
    }

    /// How many zones are open, implicitly or explicitly.
    #[must_use]
    pub fn open(&self) -> usize {
        self.implicitly_open.len() + self.explicitly_open.len()
    }

    /// How many zones are active: open or closed.
    #[must_use]
    pub fn active(&self) -> usize {
        self.open() + self.closed
    }

    /// The open zones: the implicitly opened ones by when they were opened, then the others.
    pub fn open_zones(&self) -> impl Iterator<Item = ZoneId> + '_ {
        self.implicitly_open.values().chain(&self.explicitly_open).copied()
    }

    /// Report on one zone, as the device gives it. Where the pointer means nothing, the report
    /// holds the largest block address there is, so that a caller that uses it fails at once.
    #[must_use]
    pub fn report(&self, zone: ZoneId) -> ZoneReport {
        let ZoneStatus { state, written } = self.status(zone);
        let start = self.geometry.zone_start(zone);
        ZoneReport {
            zone,
            zone_type: self.geometry.zone_type(zone),
            state,
            start,
            capacity: self.geometry.zone_capacity(zone),
            write_pointer: if state.has_pointer() { Lba(start.0 + written) } else { Lba(u64::MAX) },
        }
    }

    /// Checks that there is such a zone.
    pub fn check_zone(&self, zone: ZoneId) -> Result<ZoneId, DeviceError> {
        let zones = self.geometry.zones;
        if zone.0 < zones { Ok(zone) } else { Err(DeviceError::NoSuchZone { zone, zones }) }
    }

    /// Checks that a request lies within one zone; gives the zone, and the blocks from its start
    /// to the request's.
    fn locate(&self, lba: Lba, blocks: u64) -> Result<(ZoneId, u64), DeviceError> {
        let end = Lba(self.geometry.blocks());
        let outside = DeviceError::OutOfRange { lba, blocks, end };
        if blocks == 0 || lba.0.checked_add(blocks).is_none_or(|last| last > end.0) {
            return Err(outside);
        }
        let zone = self.geometry.zone_of(lba).ok_or(outside)?;
        let offset = lba.0 - self.geometry.zone_start(zone).0;
        if offset + blocks > self.geometry.zone_size(zone) {
            return Err(DeviceError::CrossesZone { zone, lba, blocks });
        }
        Ok((zone, offset))
    }

    /// Checks a read; gives its zone, the blocks from the zone's start to the read's, and how many
    /// of its blocks have been written.
    pub fn plan_read(&self, lba: Lba, blocks: u64) -> Result<(ZoneId, u64, u64), DeviceError> {
        let (zone, offset) = self.locate(lba, blocks)?;
        let ZoneStatus { state, written } = self.status(zone);
        if state == ZoneState::Offline {
            return Err(DeviceError::ZoneOffline { zone });
        }
        let readable = match self.geometry.zone_type(zone) {
            ZoneType::Conventional => blocks,
            ZoneType::Sequential => written.saturating_sub(offset).min(blocks),
        };
        Ok((zone, offset, readable))
    }

    /// Checks a write of `bytes` bytes.
    pub fn plan_write(&self, lba: Lba, bytes: u64) -> Result<Transition, DeviceError> {
        let blocks = self.whole_blocks(lba, bytes, self.geometry.logical_block)?;
        let (zone, offset) = self.locate(lba, blocks)?;
        let status = self.writable(zone, "write")?;
        if self.geometry.zone_type(zone) == ZoneType::Conventional {
            return Ok(Transition { zone, offset, to: status, closes: None });
        }
        let step = self.geometry.physical_step();
        if !offset.is_multiple_of(step) || !blocks.is_multiple_of(step) {
            let expected = self.geometry.physical_block;
            return Err(DeviceError::Misaligned { lba, bytes, expected });
        }
        if offset != status.written {
            let expected = Lba(self.geometry.zone_start(zone).0 + status.written);
            return Err(DeviceError::NotAtWritePointer { zone, expected, got: lba });
        }
        self.advance(zone, blocks)
    }

    /// Checks an append of `bytes` bytes.
    pub fn plan_append(&self, zone: ZoneId, bytes: u64) -> Result<Transition, DeviceError> {
        self.check_zone(zone)?;
        let start = self.geometry.zone_start(zone);
        let blocks = self.whole_blocks(start, bytes, self.geometry.physical_block)?;
        let limit = self.geometry.max_append.unwrap_or(0);
        if blocks > u64::from(limit) {
            return Err(DeviceError::AppendTooLarge { zone, blocks, limit });
        }
        if blocks == 0 {
            let end = Lba(self.geometry.blocks());
            return Err(DeviceError::OutOfRange { lba: start, blocks, end });
        }
        let state = self.writable(zone, "append to")?.state;
        if state == ZoneState::NotWritePointer {
            return Err(DeviceError::WrongState { zone, operation: "append to", state });
        }
        self.advance(zone, blocks)
    }

    fn whole_blocks(&self, lba: Lba, bytes: u64, block: u32) -> Result<u64, DeviceError> {
        if bytes.is_multiple_of(u64::from(block)) {
            Ok(bytes / u64::from(self.geometry.logical_block))
        } else {
            Err(DeviceError::Misaligned { lba, bytes, expected: block })
        }
    }

    /// The status of a zone that is neither gone, nor read-only, nor full.
    fn writable(&self, zone: ZoneId, operation: &'static str) -> Result<ZoneStatus, DeviceError> {
        let status = self.changeable(zone, operation)?;
        if status.state == ZoneState::Full {
            return Err(DeviceError::ZoneFull { zone });
        }
        Ok(status)
    }

    fn changeable(&self, zone: ZoneId, operation: &'static str) -> Result<ZoneStatus, DeviceError> {
        let status = self.status(zone);
        match status.state {
            ZoneState::Offline => Err(DeviceError::ZoneOffline { zone }),
            ZoneState::ReadOnly => Err(DeviceError::ZoneReadOnly { zone }),
            state @ ZoneState::NotWritePointer if !matches!(operation, "write" | "append to") => {
                Err(DeviceError::WrongState { zone, operation, state })
            }
            _ => Ok(status),
        }
    }

    /// A write of `blocks` blocks at the pointer of a writable sequential zone.
    fn advance(&self, zone: ZoneId, blocks: u64) -> Result<Transition, DeviceError> {
        let ZoneStatus { state, written: offset } = self.status(zone);
        let capacity = self.geometry.zone_capacity(zone);
        let written = offset + blocks;
        if written > capacity {
            let start = self.geometry.zone_start(zone).0;
            let (lba, end) = (Lba(start + offset), Lba(start + capacity));
            return Err(DeviceError::BeyondCapacity { zone, lba, blocks, end });
        }
        let closes = self.make_room(zone, state)?;
        let state = match state {
            _ if written == capacity => ZoneState::Full,
            ZoneState::ExplicitlyOpen => ZoneState::ExplicitlyOpen,
            _ => ZoneState::ImplicitlyOpen,
        };
        Ok(Transition { zone, offset, to: ZoneStatus { state, written }, closes })
    }

    /// Finds the slots a zone needs to be open; gives the zone that must be closed for it.
    fn make_room(&self, zone: ZoneId, state: ZoneState) -> Result<Option<ZoneId>, DeviceError> {
        let taken = |count: usize, limit: Option<u32>| limit.filter(|max| count >= *max as usize);
        if !state.is_active()
            && let Some(limit) = taken(self.active(), self.geometry.max_active)
        {
            return Err(DeviceError::TooManyActive { zone, limit });
        }
        if state.is_open() {
            return Ok(None);
        }
        let Some(limit) = taken(self.open(), self.geometry.max_open) else { return Ok(None) };
        match self.implicitly_open.first_key_value() {
            Some((_, oldest)) => Ok(Some(*oldest)),
            None => Err(DeviceError::TooManyOpen { zone, limit }),
        }
    }

    /// Checks an explicit open.
    pub fn plan_open(&self, zone: ZoneId) -> Result<Transition, DeviceError> {
        let ZoneStatus { state, written } = self.changeable(self.check_zone(zone)?, "open")?;
        if state == ZoneState::Full {
            return Err(DeviceError::WrongState { zone, operation: "open", state });
        }
        let closes = self.make_room(zone, state)?;
        let to = ZoneStatus { state: ZoneState::ExplicitlyOpen, written };
        Ok(Transition { zone, offset: written, to, closes })
    }

    /// Checks a close.
    pub fn plan_close(&self, zone: ZoneId) -> Result<Transition, DeviceError> {
        let ZoneStatus { state, written } = self.changeable(self.check_zone(zone)?, "close")?;
        if !state.is_active() {
            return Err(DeviceError::WrongState { zone, operation: "close", state });
        }
        Ok(Transition { zone, offset: written, to: Self::closed(written), closes: None })
    }

    /// Checks a finish.
    pub fn plan_finish(&self, zone: ZoneId) -> Result<Transition, DeviceError> {
        let ZoneStatus { written, .. } = self.changeable(self.check_zone(zone)?, "finish")?;
        let to = ZoneStatus { state: ZoneState::Full, written };
        Ok(Transition { zone, offset: written, to, closes: None })
    }

    /// Checks a reset.
    pub fn plan_reset(&self, zone: ZoneId) -> Result<Transition, DeviceError> {
        self.changeable(self.check_zone(zone)?, "reset")?;
        let to = ZoneStatus { state: ZoneState::Empty, written: 0 };
        Ok(Transition { zone, offset: 0, to, closes: None })
    }

    fn closed(written: u64) -> ZoneStatus {
        let state = if written == 0 { ZoneState::Empty } else { ZoneState::Closed };
        ZoneStatus { state, written }
    }

    /// The zones that a transition changes, one or two, with their status afterwards.
    pub fn changes(
        &self,
        transition: &Transition,
    ) -> impl Iterator<Item = (ZoneId, ZoneStatus)> + use<> {
        let closed = |zone| (zone, Self::closed(self.status(zone).written));
        transition.closes.map(closed).into_iter().chain([(transition.zone, transition.to)])
    }

    /// Carries out a transition that was planned on this very table.
    pub fn apply(&mut self, transition: Transition) {
        self.changes(&transition).for_each(|(zone, status)| self.set(zone, status));
        debug_assert!(self.geometry.max_open.is_none_or(|max| self.open() <= max as usize));
        debug_assert!(self.geometry.max_active.is_none_or(|max| self.active() <= max as usize));
    }

    /// Closes all open zones, as a power cycle does.
    pub fn close_all(&mut self) -> Vec<ZoneId> {
        let open: Vec<ZoneId> = self.open_zones().collect();
        for zone in &open {
            self.set(*zone, Self::closed(self.status(*zone).written));
        }
        open
    }

    /// Puts a zone into a status, whatever its state: for states found on a medium, states after a
    /// power cut, and zones that fail.
    pub fn set(&mut self, zone: ZoneId, to: ZoneStatus) {
        debug_assert!(to.written <= self.geometry.zone_capacity(zone));
        let entry = &mut self.zones[zone.0 as usize];
        let from = entry.status.state;
        entry.status = to;
        if from == to.state {
            return;
        }
        match from {
            ZoneState::ImplicitlyOpen => drop(self.implicitly_open.remove(&entry.opened)),
            ZoneState::ExplicitlyOpen => drop(self.explicitly_open.remove(&zone)),
            ZoneState::Closed => self.closed -= 1,
            _ => {}
        }
        match to.state {
            ZoneState::ImplicitlyOpen => {
                self.openings += 1;
                entry.opened = self.openings;
                self.implicitly_open.insert(self.openings, zone);
            }
            ZoneState::ExplicitlyOpen => drop(self.explicitly_open.insert(zone)),
            ZoneState::Closed => self.closed += 1,
            _ => {}
        }
    }
}
