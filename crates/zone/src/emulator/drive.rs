//! The drive itself: zone states, volatile cache and medium, and how a request changes them.
//!
//! A request's effect is decided when it is carried out, here, in the order of submission; that it
//! completed is told later, by its ticket. The drive knows no time, no faults and no observers.

use std::sync::Arc;

use terrace_env::{IoBuf, Lba, ZoneId};

use super::cache::Cache;
use super::medium::Medium;
use crate::state::{Transition, ZoneStatus, ZoneTable};
use crate::{Completion, DeviceError, Geometry, Op, ZoneState, ZoneType};

/// What remains to be done when somebody has waited for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    None,
    /// The request changed a zone; it is complete.
    Zone(ZoneId),
    /// The flush of this number is complete.
    Flush(u64),
}

#[derive(Debug)]
pub(super) struct Drive {
    pub(super) geometry: Arc<Geometry>,
    pub(super) table: ZoneTable,
    pub(super) cache: Cache,
    pub(super) medium: Medium,
}

impl Drive {
    pub(super) fn new(table: ZoneTable, medium: Medium) -> Self {
        Self { geometry: table.geometry().clone(), table, cache: Cache::default(), medium }
    }

    /// A copy in memory, volatile changes included.
    pub(super) fn fork(&self) -> Result<Self, DeviceError> {
        let (geometry, table, cache) =
            (self.geometry.clone(), self.table.clone(), self.cache.clone());
        let medium = Medium::Memory(self.medium.copy(&geometry, |zone| self.extent(zone))?);
        Ok(Self { geometry, table, cache, medium })
    }

    /// The bytes of a zone that matter, from its start.
    fn extent(&self, zone: ZoneId) -> u64 {
        let pending = self.cache.sequential.get(&zone).map_or(0, |pending| pending.written);
        let blocks = match self.geometry.zone_type(zone) {
            ZoneType::Conventional => self.geometry.zone_size(zone),
            ZoneType::Sequential => self.table.status(zone).written.max(pending),
        };
        self.bytes(blocks)
    }

    /// The bytes of so many logical blocks.
    pub(super) fn bytes(&self, blocks: u64) -> u64 {
        blocks * u64::from(self.geometry.logical_block)
    }

    /// Carries out a request.
    pub(super) fn carry_out(
        &mut self,
        op: Op,
        ticket: u64,
    ) -> Result<(Completion, Effect), DeviceError> {
        match op {
            Op::Read { lba, blocks } => {
                Ok((Completion::Read(self.read(lba, u64::from(blocks))?), Effect::None))
            }
            Op::Write { lba, data, fua } => {
                let transition = self.table.plan_write(lba, data.len() as u64)?;
                self.write(transition, &data, ticket, fua)?;
                Ok((Completion::Written { lba, data }, Effect::Zone(transition.zone)))
            }
            Op::Append { zone, data, fua } => {
                let transition = self.table.plan_append(zone, data.len() as u64)?;
                self.write(transition, &data, ticket, fua)?;
                let lba = Lba(self.geometry.zone_start(zone).0 + transition.offset);
                Ok((Completion::Written { lba, data }, Effect::Zone(zone)))
            }
            Op::Open(zone) => self.control(self.table.plan_open(zone)?, ticket),
            Op::Close(zone) => self.control(self.table.plan_close(zone)?, ticket),
            Op::Finish(zone) => self.control(self.table.plan_finish(zone)?, ticket),
            Op::Reset(zone) => self.control(self.table.plan_reset(zone)?, ticket),
            Op::Flush => Ok((Completion::Done, Effect::Flush(self.cache.submit_flush()))),
        }
    }

    fn read(&self, lba: Lba, blocks: u64) -> Result<IoBuf, DeviceError> {
        let (zone, offset, readable) = self.table.plan_read(lba, blocks)?;
        let mut data = IoBuf::with_capacity(self.bytes(blocks) as usize);
        self.medium.read(zone, self.bytes(offset), self.bytes(readable) as usize, &mut data)?;
        data.resize(self.bytes(blocks) as usize);
        Ok(data)
    }

    /// Carries out a write that was planned, or its first part.
    pub(super) fn write(
        &mut self,
        transition: Transition,
        data: &[u8],
        ticket: u64,
        forced: bool,
    ) -> Result<(), DeviceError> {
        let zone = transition.zone;
        let offset = self.bytes(transition.offset);
        let before = self.table.status(zone);
        if before.state == ZoneState::NotWritePointer {
            let mut old = IoBuf::with_capacity(data.len());
            self.medium.read(zone, offset, data.len(), &mut old)?;
            self.medium.write(zone, offset, data)?;
            self.cache.overwrite(zone, offset, old[..].into(), ticket, forced);
            return Ok(());
        }
        if self.cache.commit_reset(zone) {
            self.medium.erase(zone)?;
        }
        self.medium.write(zone, offset, data)?;
        self.cache.write(zone, before, transition.to.written, ticket, forced);
        self.apply(transition)
    }

    fn control(
        &mut self,
        transition: Transition,
        ticket: u64,
    ) -> Result<(Completion, Effect), DeviceError> {
        let zone = transition.zone;
        let before = self.table.status(zone);
        if before != transition.to {
            match transition.to.state {
                ZoneState::Full => self.cache.finish(zone, before, ticket),
                ZoneState::Empty if before.written > 0 || before.state == ZoneState::Full => {
                    self.cache.reset(zone, before, ticket);
                }
                _ => {}
            }
            self.apply(transition)?;
        }
        Ok((Completion::Done, Effect::Zone(zone)))
    }

    fn apply(&mut self, transition: Transition) -> Result<(), DeviceError> {
        self.table.apply(transition);
        for zone in transition.closes.into_iter().chain([transition.zone]) {
            self.medium.record(zone, self.table.status(zone))?;
        }
        Ok(())
    }

    /// Does what remains to be done when somebody has waited for a request.
    pub(super) fn complete(&mut self, effect: Effect, ticket: u64) -> Result<(), DeviceError> {
        match effect {
            Effect::None => {}
            Effect::Zone(zone) => self.cache.complete(zone, ticket),
            Effect::Flush(flush) => {
                for zone in self.cache.flush(flush) {
                    self.medium.erase(zone)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a zone read-only or offline, durably and for ever.
    pub(super) fn fail_zone(&mut self, zone: ZoneId, state: ZoneState) -> Result<(), DeviceError> {
        self.table.check_zone(zone)?;
        if self.cache.settle_zone(zone) {
            self.medium.erase(zone)?;
        }
        let status = ZoneStatus { state, written: self.table.status(zone).written };
        self.table.set(zone, status);
        self.medium.record(zone, status)
    }

    /// Changes the bytes of a logical block on the medium.
    pub(super) fn corrupt(
        &mut self,
        lba: Lba,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<(), DeviceError> {
        let (zone, offset, _) = self.table.plan_read(lba, 1)?;
        let (offset, len) = (self.bytes(offset), self.bytes(1) as usize);
        let mut bytes = IoBuf::with_capacity(len);
        self.medium.read(zone, offset, len, &mut bytes)?;
        change(&mut bytes);
        self.medium.write(zone, offset, &bytes)
    }
}
