//! Zone operations and reports of a [`BlockDevice`].
//!
//! A zone operation waits for its turn in the order of its zone. Then the thread that submits it
//! carries it out, because the kernel's calls for it block:
//!
//! 1. It is checked by the table and applied to it, so that a request to another zone finds the
//!    slot taken.
//! 2. It is carried out. If the device has too many open zones although one is implicitly open,
//!    that one is closed and the operation is tried again.
//! 3. The zone is reported, and the table is set to the report.
//!
//! A report gives the zones as the device has them, after the changes that were submitted before.

use std::io;

use rustix::io::Errno;
use terrace_env::ZoneId;

use super::block_device::BlockDevice;
use super::ioctl::{self, ZoneOperation};
use super::order::Effect;
use super::requests::State;
use super::shape;
use super::transfer::ROOM_TRIES;
use crate::{Access, DeviceError, Op, Transition, ZoneReport, ZoneState, ZoneTable, ZoneType};

impl State {
    /// Sets the table to a report. A zone that the table had closed for another zone, and that the
    /// device has left implicitly open, stays closed. The device has closed a different zone
    /// instead, and the number of open zones is right only if the table takes over both changes or
    /// neither.
    pub(super) fn take_over(&mut self, report: &ZoneReport) {
        let mut status = shape::status(report);
        let open = ZoneState::ImplicitlyOpen;
        if status.state == open && self.table.status(report.zone).state != open {
            status.state = ZoneState::Closed;
        }
        self.table.set(report.zone, status);
    }
}

impl BlockDevice {
    /// Carries out an operation on a zone, or refuses an append.
    pub(super) fn operate_on_zone(&self, op: &Op) -> Result<(), DeviceError> {
        type Plan = fn(&ZoneTable, ZoneId) -> Result<Transition, DeviceError>;
        let (zone, operation, command, plan): (_, _, _, Plan) = match op {
            Op::Open(zone) => (*zone, "open", ZoneOperation::Open, ZoneTable::plan_open),
            Op::Close(zone) => (*zone, "close", ZoneOperation::Close, ZoneTable::plan_close),
            Op::Finish(zone) => (*zone, "finish", ZoneOperation::Finish, ZoneTable::plan_finish),
            Op::Reset(zone) => (*zone, "reset", ZoneOperation::Reset, ZoneTable::plan_reset),
            Op::Append { .. } if self.access != Access::ReadWrite => {
                return Err(DeviceError::ReadOnlyDevice { operation: "append to" });
            }
            Op::Append { zone, data, .. } => {
                // There is no such zone, or the device has no append: the limit is 0 then. Both are
                // errors of the table.
                return match self.state.lock().table.plan_append(*zone, data.len() as u64) {
                    Err(error) => Err(error),
                    Ok(_) => Err(DeviceError::AppendTooLarge { zone: *zone, blocks: 0, limit: 0 }),
                };
            }
            other => unreachable!("{other:?} is no operation on a zone"),
        };
        if self.access != Access::ReadWrite {
            return Err(DeviceError::ReadOnlyDevice { operation });
        }
        self.zone_operation(zone, operation, command, plan)
    }

    fn zone_operation(
        &self,
        zone: ZoneId,
        operation: &'static str,
        command: ZoneOperation,
        plan: impl Fn(&ZoneTable, ZoneId) -> Result<Transition, DeviceError>,
    ) -> Result<(), DeviceError> {
        let _turn = self.take_turn(zone)?;
        {
            let mut state = self.state.lock();
            let is_full = state.table.status(zone).state == ZoneState::Full;
            if command == ZoneOperation::Finish && is_full {
                return Ok(());
            }
            let transition = plan(&state.table, zone)?;
            state.table.apply(transition);
            state.changes += 1;
        }
        let mut done = self.operate(command, zone);
        let mut tries = ROOM_TRIES;
        while done.as_ref().is_err_and(is_too_many_open) && tries > 0 && self.has_made_room(zone) {
            done = self.operate(command, zone);
            tries -= 1;
        }
        let mut report = self.look_again(zone);
        let stays_closed = |report: &ZoneReport| {
            report.state == ZoneState::Closed && report.write_pointer == report.start
        };
        if done.is_ok()
            && command == ZoneOperation::Close
            && report.as_ref().is_some_and(stays_closed)
        {
            // Nothing is written in the zone: the reset frees its active slot, and loses nothing.
            done = self.operate(ZoneOperation::Reset, zone);
            report = self.look_again(zone);
        }
        let start = self.geometry.zone_start(zone);
        done.map_err(|error| {
            self.failed(zone, start, None, operation).error(error, report.as_ref())
        })
    }

    /// Closes zones that an earlier user of the device has left open, and frees the slots of zones
    /// without data.
    pub(super) fn close_open_zones(&self) -> Result<(), DeviceError> {
        let active = |zone: &ZoneId| self.state.lock().table.status(*zone).state.is_active();
        for zone in self.geometry.zone_ids().filter(active) {
            let report = self.look(zone).map_err(|error| self.host_error("report", error))?;
            if report.state.is_open() || report.write_pointer == report.start {
                self.zone_operation(zone, "close", ZoneOperation::Close, ZoneTable::plan_close)?;
            }
        }
        Ok(())
    }

    /// Waits for the end of all requests to a zone that were submitted before.
    fn take_turn(&self, zone: ZoneId) -> Result<ZoneTurn<'_>, DeviceError> {
        let mut state = self.state.lock();
        state.table.check_zone(zone)?;
        let id = state.new_id();
        let (start, size) = (self.geometry.zone_start(zone), self.geometry.zone_size(zone));
        state.order.add(id, zone, start, size, Effect::MovesPointer);
        drop(state);
        let turn = ZoneTurn { device: self, zone, id };
        self.wait_until(id, |state| state.order.may_begin(id, zone).then_some(()));
        Ok(turn)
    }

    pub(super) fn operate(&self, command: ZoneOperation, zone: ZoneId) -> io::Result<()> {
        let (start, len) = (self.geometry.zone_start(zone), self.geometry.zone_size(zone));
        ioctl::operate(&self.node, command, self.sector(start.0), self.sector(len))
    }

    /// Closes an implicitly open zone for another zone; false if there is none, or the device
    /// refuses. Devices do so themselves, with one exception: `null_blk` does not while all active
    /// slots are taken, even if the zone to open has one of them. A zone with a running write may
    /// be closed, too: its next write opens it again.
    pub(super) fn has_made_room(&self, zone: ZoneId) -> bool {
        let Ok(zones) = ioctl::report(&self.node, 0, usize::MAX) else { return false };
        let victim = self.geometry.zone_ids().zip(&zones).find(|(other, raw)| {
            let state = shape::report(&self.geometry, *other, raw).state;
            *other != zone && state == ZoneState::ImplicitlyOpen
        });
        victim.is_some_and(|(victim, _)| self.operate(ZoneOperation::Close, victim).is_ok())
    }

    /// A zone as the device has it now.
    pub(super) fn look(&self, zone: ZoneId) -> io::Result<ZoneReport> {
        if !self.geometry.layout.is_zoned() {
            return Ok(self.state.lock().table.report(zone));
        }
        let sector = self.sector(self.geometry.zone_start(zone).0);
        let raw = ioctl::report(&self.node, sector, 1)?;
        let raw = raw.first().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(shape::report(&self.geometry, zone, raw))
    }

    /// Asks for the report of a zone that the caller changes, and sets the table to it. If the
    /// report fails, the table keeps the planned state: the next request will fail as well, or the
    /// device will refuse it.
    pub(super) fn look_again(&self, zone: ZoneId) -> Option<ZoneReport> {
        let report = self.look(zone).ok()?;
        self.state.lock().take_over(&report);
        Some(report)
    }

    /// A report that waits for no change. The table takes it over if no change was in flight
    /// meanwhile.
    pub(super) fn report_now(
        &self,
        first: ZoneId,
        count: u32,
    ) -> Result<Vec<ZoneReport>, DeviceError> {
        let before = {
            let state = self.state.lock();
            if !self.geometry.layout.is_zoned() {
                return Ok((0..count).map(|zone| state.table.report(ZoneId(zone))).collect());
            }
            state.changes
        };
        let sector = self.sector(self.geometry.zone_start(first).0);
        let raw = ioctl::report(&self.node, sector, count as usize);
        let raw = raw.map_err(|error| self.host_error("report the zones of", error))?;
        let zones = (first.0..first.0 + count).map(ZoneId).zip(&raw);
        let reports: Vec<ZoneReport> =
            zones.map(|(zone, raw)| shape::report(&self.geometry, zone, raw)).collect();
        let mut state = self.state.lock();
        if state.changes == before && !state.order.has_changes() {
            let sequential = |report: &&ZoneReport| report.zone_type == ZoneType::Sequential;
            for report in reports.iter().filter(sequential) {
                state.take_over(report);
            }
        }
        Ok(reports)
    }
}

/// The turn of a zone operation, until it is dropped.
struct ZoneTurn<'a> {
    device: &'a BlockDevice,
    zone: ZoneId,
    id: u64,
}

impl Drop for ZoneTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.device.state.lock();
        state.changes += 1;
        let ready = state.order.end(self.id, self.zone);
        state.wake(self.id);
        drop(state);
        self.device.begin(ready);
    }
}

fn is_too_many_open(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::TOOMANYREFS.raw_os_error())
}
