//! [`Drive`]: zone states, volatile cache and medium of an emulated drive, and how a request
//! changes them.
//!
//! 1. [`Drive::plan`] checks a request.
//! 2. [`Drive::carry_out`] carries it out. Between the two calls the drive must not change.
//! 3. When an actor has waited for the request, the caller passes the request's [`Effect`] to
//!    [`Drive::complete`]. This marks the change as complete, or makes durable the changes that the
//!    flush covers. If a power cut, a failed flush or a failed sync of the host has come between,
//!    the caller passes [`Effect::None`].
//!
//! # Shingled tracks
//! A write to a device of tracks first puts its own bytes on the medium. Then it destroys the
//! blocks that [`Tracks::harmed`](crate::Tracks::harmed) names, up to the device's end. Destroyed
//! blocks read as [`destroyed`](super::destroyed()) bytes. docs/decisions/0024 says why they do not
//! read as zeros, and why no read fails.
//!
//! The drive keeps a set of the bytes that may hold something. In memory the set begins empty, so a
//! load of new space in order destroys nothing. For an image it begins with all bytes. A write puts
//! its own bytes into the set, and takes out those that it destroys. Harmed bytes outside of the
//! set are left alone, so bytes are destroyed once until they are written again. In an image, pages
//! that hold zeros only are left alone, too. A second set has the bytes that the drive has
//! destroyed since it was made or opened, and that were not written since. With this set, a power
//! cut that takes back a write knows whether the block had been destroyed before, or never written.
//!
//! This module knows no time and no observers, and does not decide on faults: it carries out parts
//! of writes, failures of zones, damage to blocks and power cuts when it is told to. The caller
//! holds the drive's lock.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::{IoBuf, Lba, ZoneId};

use super::cache::Cache;
use super::medium::Medium;
use super::overwrite::{Before, Old};
use crate::ranges::Ranges;
use crate::state::{Transition, ZoneStatus, ZoneTable};
use crate::{Completion, DeviceError, Geometry, Op, ZoneState, ZoneType};

/// Work that remains when a request has been waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The request has no effect.
    None,
    /// The request changed a zone; it is complete.
    Zone(ZoneId),
    /// The flush of this number is complete.
    Flush(u64),
}

/// A request that keeps the rules.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Read {
        zone: ZoneId,
        offset: u64,
        /// The blocks read that were ever written.
        readable: u64,
    },
    Change(Transition),
    Flush,
}

impl Plan {
    pub(super) fn zone(&self) -> Option<ZoneId> {
        match self {
            Self::Read { zone, .. } => Some(*zone),
            Self::Change(transition) => Some(transition.zone),
            Self::Flush => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Drive {
    pub(super) geometry: Arc<Geometry>,
    pub(super) table: ZoneTable,
    pub(super) cache: Cache,
    pub(super) medium: Medium,
    /// Of shingled tracks, the bytes that may hold something: all others were never written, or are
    /// destroyed.
    held: Option<Ranges>,
    /// Of shingled tracks, the bytes that this drive has destroyed and that no request has written
    /// since.
    destroyed: Ranges,
}

impl Drive {
    pub(super) fn new(table: ZoneTable, medium: Medium) -> Self {
        let geometry = table.geometry().clone();
        let bytes = geometry.blocks() * u64::from(geometry.logical_block);
        let held = geometry.layout.tracks().map(|_| match medium {
            Medium::Memory(_) => Ranges::default(),
            Medium::File(_) => Ranges::below(bytes),
        });
        let (cache, destroyed) = (Cache::default(), Ranges::default());
        Self { geometry, table, cache, medium, held, destroyed }
    }

    /// A copy in memory, volatile changes included.
    pub(super) fn fork(&self) -> Result<Self, DeviceError> {
        let (geometry, table, cache) =
            (self.geometry.clone(), self.table.clone(), self.cache.clone());
        let medium = Medium::Memory(self.medium.copy(&geometry, |zone| self.extent(zone))?);
        let (held, destroyed) = (self.held.clone(), self.destroyed.clone());
        Ok(Self { geometry, table, cache, medium, held, destroyed })
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

    /// The bytes of `blocks` logical blocks.
    /// Zones that are not empty.
    pub(super) fn written_zones(&self) -> u32 {
        let zones = self.geometry.zone_ids();
        zones.filter(|zone| self.table.status(*zone).state != ZoneState::Empty).count() as u32
    }

    pub(super) fn bytes(&self, blocks: u64) -> u64 {
        blocks * u64::from(self.geometry.logical_block)
    }

    /// Takes over the status of a zone that another process may have changed.
    pub(super) fn look_again(&mut self, zone: ZoneId) -> Result<(), DeviceError> {
        if let Some(status) = self.medium.status_now(zone)? {
            self.table.set(zone, status);
        }
        Ok(())
    }

    /// Checks a request against the rules.
    pub(super) fn plan(&self, op: &Op) -> Result<Plan, DeviceError> {
        let table = &self.table;
        Ok(match op {
            Op::Read { lba, blocks } => {
                let (zone, offset, readable) = table.plan_read(*lba, u64::from(*blocks))?;
                Plan::Read { zone, offset, readable }
            }
            Op::Write { lba, data, .. } => Plan::Change(table.plan_write(*lba, data.len() as u64)?),
            Op::Append { zone, data, .. } => {
                Plan::Change(table.plan_append(*zone, data.len() as u64)?)
            }
            Op::Open(zone) => Plan::Change(table.plan_open(*zone)?),
            Op::Close(zone) => Plan::Change(table.plan_close(*zone)?),
            Op::Finish(zone) => Plan::Change(table.plan_finish(*zone)?),
            Op::Reset(zone) => Plan::Change(table.plan_reset(*zone)?),
            Op::Flush => Plan::Flush,
        })
    }

    /// The change of the host that has to be on its disk before this may be done.
    pub(super) fn barrier(&self, transition: &Transition, writes: bool) -> Option<u64> {
        let zone = transition.zone;
        let pending = self.cache.sequential.get(&zone);
        let reset = writes && pending.is_some_and(|pending| pending.may_be_reset().is_some());
        let before = self.table.status(zone).state;
        let activates = transition.to.state.is_active() && !before.is_active();
        if !reset && !activates {
            return None;
        }
        self.medium.barrier(zone, reset, activates)
    }

    /// Carries out a request that was planned on this very drive.
    pub(super) fn carry_out(
        &mut self,
        op: Op,
        plan: Plan,
        ticket: u64,
    ) -> Result<(Completion, Effect), DeviceError> {
        match (op, plan) {
            (Op::Read { blocks, .. }, Plan::Read { zone, offset, readable }) => {
                let mut data = IoBuf::with_capacity(self.bytes(u64::from(blocks)) as usize);
                let len = self.bytes(readable) as usize;
                self.medium.read(zone, self.bytes(offset), len, &mut data)?;
                data.resize(self.bytes(u64::from(blocks)) as usize);
                Ok((Completion::Read(data), Effect::None))
            }
            (
                Op::Write { data, fua, .. } | Op::Append { data, fua, .. },
                Plan::Change(transition),
            ) => {
                self.write(transition, &data, ticket, fua)?;
                let lba = self.block(transition.zone, transition.offset);
                Ok((Completion::Written { lba, data }, Effect::Zone(transition.zone)))
            }
            (_, Plan::Change(transition)) => {
                self.control(transition, ticket)?;
                Ok((Completion::Done, Effect::Zone(transition.zone)))
            }
            (_, Plan::Flush) => Ok((Completion::Done, Effect::Flush(self.cache.submit_flush()))),
            (op, plan @ Plan::Read { .. }) => unreachable!("{op:?} was planned as {plan:?}"),
        }
    }

    /// The address of a block of a zone.
    pub(super) fn block(&self, zone: ZoneId, offset: u64) -> Lba {
        Lba(self.geometry.zone_start(zone).0 + offset)
    }

    /// Carries out the first `steps` physical blocks of a write, which then failed.
    pub(super) fn write_part(
        &mut self,
        transition: Transition,
        data: &[u8],
        ticket: u64,
        steps: u64,
    ) -> Result<(), DeviceError> {
        let blocks = steps * self.geometry.physical_step();
        let mut part = transition;
        if part.to.state != ZoneState::NotWritePointer {
            part.to.written = part.offset + blocks;
            if part.to.state == ZoneState::Full {
                part.to.state = ZoneState::ImplicitlyOpen;
            }
        }
        self.write(part, &data[..self.bytes(blocks) as usize], ticket, false)
    }

    fn write(
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
            return self.overwrite(zone, offset, data, ticket, forced);
        }
        if self.cache.commit_reset(zone) {
            self.medium.erase(zone)?;
        }
        self.medium.write(zone, offset, data)?;
        if forced {
            self.medium.reserve_ahead(zone, offset + data.len() as u64);
        }
        self.record(&transition)?;
        self.cache.write(zone, before, transition.to.written, ticket, forced);
        self.table.apply(transition);
        Ok(())
    }

    /// Writes in place, and destroys the next tracks, if the device has tracks.
    fn overwrite(
        &mut self,
        zone: ZoneId,
        offset: u64,
        data: &[u8],
        ticket: u64,
        forced: bool,
    ) -> Result<(), DeviceError> {
        let written = offset..offset + data.len() as u64;
        let harmed = self.harmed(&written);
        let mut before = self.before(zone, written, false)?;
        before.extend(self.before(zone, harmed.clone(), true)?);
        self.put(zone, offset, data)?;
        self.destroy(zone, harmed)?;
        self.cache.overwrite(zone, before, ticket, forced);
        Ok(())
    }

    /// The bytes after a write that it destroys.
    fn harmed(&self, written: &Range<u64>) -> Range<u64> {
        let Some(tracks) = self.geometry.layout.tracks() else { return 0..0 };
        let block = u64::from(self.geometry.logical_block);
        let harmed = tracks.harmed(written.start / block..written.end / block);
        let end = harmed.end.min(self.geometry.blocks());
        self.bytes(harmed.start.min(end))..self.bytes(end)
    }

    /// Old bytes of a range that a write is about to change, copied where they may hold something.
    /// Harmed bytes of a drive without tracks are none.
    fn before(
        &self,
        zone: ZoneId,
        range: Range<u64>,
        harm: bool,
    ) -> Result<Vec<Before>, DeviceError> {
        let parts = match &self.held {
            Some(held) => held.split(range),
            None => std::iter::once((range, true)).filter(|_| !harm).collect(),
        };
        let mut before = Vec::with_capacity(parts.len());
        for (part, holds) in parts {
            if !holds {
                let nothing = |(part, destroyed): (Range<u64>, bool)| {
                    let len = part.end - part.start;
                    let old = if destroyed { Old::Destroyed(len) } else { Old::Unwritten(len) };
                    Before { offset: part.start, old, harm }
                };
                before.extend(self.destroyed.split(part).into_iter().map(nothing));
                continue;
            }
            let len = (part.end - part.start) as usize;
            let mut old = IoBuf::with_capacity(len);
            self.medium.read(zone, part.start, len, &mut old)?;
            before.push(Before { offset: part.start, old: Old::Bytes(old[..].into()), harm });
        }
        Ok(before)
    }

    /// Puts bytes in place.
    pub(super) fn put(
        &mut self,
        zone: ZoneId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        // Before the write, which may do a part of it and fail.
        if let Some(held) = &mut self.held {
            held.insert(offset..offset + bytes.len() as u64);
            self.destroyed.remove(offset..offset + bytes.len() as u64);
        }
        self.medium.write(zone, offset, bytes)
    }

    /// Destroys bytes of shingled tracks, those that may hold something.
    pub(super) fn destroy(&mut self, zone: ZoneId, range: Range<u64>) -> Result<(), DeviceError> {
        let Some(held) = &mut self.held else { return Ok(()) };
        for part in held.within(range.clone()) {
            self.medium.destroy(zone, part.start, part.end - part.start)?;
            self.destroyed.insert(part);
        }
        held.remove(range);
        Ok(())
    }

    /// Makes bytes of shingled tracks read as zeros again, as if they had never been written.
    pub(super) fn blank(&mut self, zone: ZoneId, range: Range<u64>) -> Result<(), DeviceError> {
        let Some(held) = &mut self.held else { return Ok(()) };
        for part in held.within(range.clone()) {
            let mut zeros = IoBuf::default();
            zeros.resize((part.end - part.start) as usize);
            self.medium.write(zone, part.start, &zeros)?;
        }
        held.remove(range);
        Ok(())
    }

    fn control(&mut self, transition: Transition, ticket: u64) -> Result<(), DeviceError> {
        let zone = transition.zone;
        let before = self.table.status(zone);
        if before == transition.to {
            return Ok(());
        }
        self.record(&transition)?;
        match transition.to.state {
            ZoneState::Full => self.cache.finish(zone, before, ticket),
            ZoneState::Empty if before.written > 0 || before.state == ZoneState::Full => {
                self.cache.reset(zone, before, ticket);
            }
            _ => {}
        }
        self.table.apply(transition);
        Ok(())
    }

    /// Notes on the medium, for the next process, the changes that a transition is about to make.
    /// The note comes before the changes: a request that cannot be recorded, because the host's
    /// disk is full, has not happened, and may be tried again. A zone that the transition closes
    /// may by then be recorded as closed; the next process closes all zones anyway.
    fn record(&mut self, transition: &Transition) -> Result<(), DeviceError> {
        for (zone, status) in self.table.changes(transition) {
            self.medium.record(zone, status)?;
        }
        Ok(())
    }

    /// Does the remaining work of a request after an actor has waited for it.
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

    /// Makes a zone read-only or offline, durably and for ever. One that is offline stays so.
    pub(super) fn fail_zone(&mut self, zone: ZoneId, state: ZoneState) -> Result<(), DeviceError> {
        self.table.check_zone(zone)?;
        if self.table.status(zone).state == ZoneState::Offline {
            return Ok(());
        }
        let status = ZoneStatus { state, written: self.table.status(zone).written };
        self.medium.record(zone, status)?;
        self.table.set(zone, status);
        if self.cache.settle_zone(zone) {
            self.medium.give_up(zone)?;
        }
        Ok(())
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
        self.put(zone, offset, &bytes)
    }
}
