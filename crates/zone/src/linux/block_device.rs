//! [`BlockDevice`]: a block device of Linux. The head of [`linux`](super) has the rules by which
//! requests are carried out.
//!
//! A zone table has the state of each zone. A change of a sequential zone goes so:
//!
//! 1. Wait until no other request changes the zone, then check the request by the table.
//! 2. Apply it to the table, so that a request to another zone finds the slot taken, and mark the
//!    zone as busy.
//! 3. Carry the request out, without a lock.
//! 4. If it failed, or was a zone operation, have the zone reported, and set the table to the
//!    report. Take the mark away.
//!
//! At the open limit the device may close another zone than the table expects. If it closes none
//! although one is implicitly open, the request closes that one and is tried again. The numbers of
//! open and of active zones are the same, and the device is asked when somebody wants a report.
//!
//! # Threads
//! Any number. A submission waits for the device, so no lock of `env` may be held over it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::{Errno, ReadWriteFlags};
use terrace_env::sync::{self, Condvar, Mutex};
use terrace_env::{IoBuf, Lba, Users, ZoneId};

use super::failure::Failed;
use super::ioctl::{self, SECTOR, ZoneOperation};
use super::queue::{self, Queue, ZoneModel};
use super::{node, shape};
use crate::{
    Access, Completion, Device, DeviceError, Geometry, Op, Request, Ticket, Transition, ZoneReport,
    ZoneState, ZoneTable, ZoneType,
};

/// How often a request closes a zone for another one. Requests to other zones may take the slot.
const ROOM_TRIES: u32 = 16;

/// A block device of Linux, zoned or not.
pub struct BlockDevice {
    path: PathBuf,
    pub(super) node: File,
    pub(super) geometry: Arc<Geometry>,
    /// Longest write that goes out as one command, in bytes.
    piece: usize,
    access: Access,
    users: Users,
    state: Mutex<State>,
    idle: Condvar,
}

struct State {
    table: ZoneTable,
    /// Sequential zones that a request is changing.
    busy: BTreeSet<ZoneId>,
    /// Changes begun and ended: a report is taken over only if there were none meanwhile.
    changes: u64,
    done: BTreeMap<u64, Result<Completion, DeviceError>>,
    next_ticket: u64,
}

impl State {
    /// Sets the table to a report. A zone that the table had closed for another one, and that the
    /// device has left implicitly open, stays closed: the device has closed another one in its
    /// place, and the number of open zones is right only if both or none are taken over.
    fn take_over(&mut self, report: &ZoneReport) {
        let mut status = shape::status(report);
        let open = ZoneState::ImplicitlyOpen;
        if status.state == open && self.table.status(report.zone).state != open {
            status.state = ZoneState::Closed;
        }
        self.table.set(report.zone, status);
    }
}

impl BlockDevice {
    /// Whether there is a block device at a path, and if so, whether it has zones. `None` if there
    /// is something else, or nothing.
    pub fn probe(path: impl AsRef<Path>) -> Result<Option<ZoneModel>, DeviceError> {
        let path = path.as_ref();
        if !path.exists() {
            return Ok(None);
        }
        let Some(number) = node::number(path)? else { return Ok(None) };
        Ok(Some(read_queue(path, number)?.zoned))
    }

    /// Opens a block device. One that is opened for writing has its open zones closed.
    ///
    /// # Errors
    /// [`NotABlockDevice`](DeviceError::NotABlockDevice) if something else is there,
    /// [`InUse`](DeviceError::InUse) if it is mounted or somebody else uses it,
    /// [`Geometry`](DeviceError::Geometry) if its zones have different capacities, and
    /// [`Host`](DeviceError::Host) if the kernel refuses.
    pub fn open(path: impl AsRef<Path>, access: Access) -> Result<Self, DeviceError> {
        let path = path.as_ref();
        let not_a_device = |found: &str| DeviceError::NotABlockDevice {
            path: path.display().to_string(),
            expected: "a block device",
            found: found.to_owned(),
        };
        let number = node::number(path)?.ok_or_else(|| not_a_device("something else"))?;
        let queue = read_queue(path, number)?;
        if queue.zoned != ZoneModel::None && queue::folder(number).join("partition").exists() {
            let (path, found) = (path.display().to_string(), "a partition of one".to_owned());
            let expected = "a whole zoned device";
            return Err(DeviceError::NotABlockDevice { path, expected, found });
        }
        let mut node = node::open(path, number, access)?;
        let failed = |operation: &str, error| {
            DeviceError::host(format!("cannot {operation} {}", path.display()), error)
        };
        let (geometry, zones) = if queue.zoned == ZoneModel::None {
            let bytes = node.seek(SeekFrom::End(0)).map_err(|error| failed("measure", error))?;
            (shape::plain(&queue, bytes)?, Vec::new())
        } else {
            let zones = ioctl::report(&node, 0, usize::MAX);
            let zones = zones.map_err(|error| failed("report the zones of", error))?;
            (shape::zoned(&queue, &zones)?, zones)
        };
        let geometry = Arc::new(geometry);
        let mut table = ZoneTable::new(Arc::clone(&geometry));
        for (zone, raw) in geometry.zone_ids().zip(&zones) {
            if geometry.zone_type(zone) == ZoneType::Sequential {
                table.set(zone, shape::status(&shape::report(&geometry, zone, raw)));
            }
        }
        let device = Self {
            path: path.to_owned(),
            node,
            geometry,
            piece: queue.piece(),
            access,
            users: Users::default(),
            state: Mutex::new(State {
                table,
                busy: BTreeSet::new(),
                changes: 0,
                done: BTreeMap::new(),
                next_ticket: 0,
            }),
            idle: Condvar::new(),
        };
        if access == Access::ReadWrite {
            device.close_open_zones()?;
        }
        Ok(device)
    }

    /// The node it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes zones that an earlier user has left open, and frees the slots of zones without data.
    fn close_open_zones(&self) -> Result<(), DeviceError> {
        let active = |zone: &ZoneId| self.state.lock().table.status(*zone).state.is_active();
        for zone in self.geometry.zone_ids().filter(active) {
            let report = self.look(zone).map_err(|error| self.host_error("report", error))?;
            if report.state.is_open() || report.write_pointer == report.start {
                self.zone_operation(zone, "close", ZoneOperation::Close, ZoneTable::plan_close)?;
            }
        }
        Ok(())
    }

    fn carry_out(&self, op: Op) -> Result<Completion, DeviceError> {
        let operation = match &op {
            Op::Read { .. } => "read",
            Op::Write { .. } => "write",
            Op::Append { .. } => "append to",
            Op::Open(_) => "open",
            Op::Close(_) => "close",
            Op::Finish(_) => "finish",
            Op::Reset(_) => "reset",
            Op::Flush => "flush",
        };
        let changes = !matches!(op, Op::Read { .. } | Op::Flush);
        if changes && self.access == Access::ReadOnly {
            return Err(DeviceError::ReadOnlyDevice { operation });
        }
        match op {
            Op::Read { lba, blocks } => self.read_blocks(lba, blocks),
            Op::Write { lba, data, fua } => self.write_blocks(lba, data, fua),
            Op::Append { zone, data, .. } => {
                let table = &self.state.lock().table;
                // No device of this kind has append: the limit is 0, so this is an error.
                Err(match table.plan_append(zone, data.len() as u64) {
                    Err(error) => error,
                    Ok(_) => DeviceError::AppendTooLarge { zone, blocks: 0, limit: 0 },
                })
            }
            Op::Open(zone) => {
                self.zone_operation(zone, operation, ZoneOperation::Open, ZoneTable::plan_open)
            }
            Op::Close(zone) => {
                self.zone_operation(zone, operation, ZoneOperation::Close, ZoneTable::plan_close)
            }
            Op::Finish(zone) => {
                let finish = ZoneOperation::Finish;
                self.zone_operation(zone, operation, finish, ZoneTable::plan_finish)
            }
            Op::Reset(zone) => {
                self.zone_operation(zone, operation, ZoneOperation::Reset, ZoneTable::plan_reset)
            }
            Op::Flush => self.flush(),
        }
    }

    fn read_blocks(&self, lba: Lba, blocks: u32) -> Result<Completion, DeviceError> {
        let (zone, ..) = self.state.lock().table.plan_read(lba, u64::from(blocks))?;
        let mut data = IoBuf::zeroed(blocks as usize * self.geometry.logical_block as usize);
        match self.node.read_exact_at(&mut data, self.offset(lba)) {
            Ok(()) => Ok(Completion::Read(data)),
            Err(error) => {
                let report = self.look(zone).ok();
                Err(self.failed(zone, lba, None, "read").error(error, report.as_ref()))
            }
        }
    }

    fn write_blocks(&self, lba: Lba, data: IoBuf, fua: bool) -> Result<Completion, DeviceError> {
        let bytes = data.len() as u64;
        let zone = self.geometry.zone_of(lba);
        let sequential = zone.filter(|zone| self.geometry.zone_type(*zone) == ZoneType::Sequential);
        let Some(zone) = sequential else {
            let transition = self.state.lock().table.plan_write(lba, bytes)?;
            let written = self.write_pieces(transition.zone, lba, &data, fua);
            return written.map(|()| Completion::Written { lba, data }).map_err(|error| {
                self.failed(transition.zone, lba, None, "write").error(error, None)
            });
        };
        let mark = self.begin(zone, |table| table.plan_write(lba, bytes))?;
        match self.write_pieces(zone, lba, &data, fua) {
            Ok(()) => Ok(Completion::Written { lba, data }),
            Err(error) => {
                let report = mark.look_again();
                let blocks = bytes / u64::from(self.geometry.logical_block);
                let failed = self.failed(zone, lba, Some(blocks), "write");
                Err(failed.error(error, report.as_ref()))
            }
        }
    }

    /// Writes, in pieces that are a command each.
    fn write_pieces(&self, zone: ZoneId, lba: Lba, data: &[u8], fua: bool) -> io::Result<()> {
        let start = self.offset(lba);
        let alone = data.len() <= self.piece;
        let flags = if fua && alone { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        let (mut done, mut tries) = (0, ROOM_TRIES);
        while done < data.len() {
            let piece = &data[done..(done + self.piece).min(data.len())];
            let at = start + done as u64;
            match rustix::io::pwritev2(&self.node, &[IoSlice::new(piece)], at, flags) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(Errno::TOOMANYREFS) if tries > 0 && self.has_made_room(zone) => tries -= 1,
                Err(error) => return Err(error.into()),
            }
        }
        if fua && !alone { self.node.sync_data() } else { Ok(()) }
    }

    fn flush(&self) -> Result<Completion, DeviceError> {
        match self.node.sync_data() {
            Ok(()) => Ok(Completion::Done),
            Err(_) => {
                // The device may have taken writes back.
                drop(self.report(ZoneId(0), self.geometry.zones));
                Err(DeviceError::FlushFailed)
            }
        }
    }

    fn zone_operation(
        &self,
        zone: ZoneId,
        operation: &'static str,
        command: ZoneOperation,
        plan: impl Fn(&ZoneTable, ZoneId) -> Result<Transition, DeviceError>,
    ) -> Result<Completion, DeviceError> {
        let was_full = || {
            let state = self.state.lock();
            (zone.0 < self.geometry.zones).then(|| state.table.status(zone).state)
                == Some(ZoneState::Full)
        };
        if command == ZoneOperation::Finish && was_full() {
            return Ok(Completion::Done);
        }
        let mark = self.begin(zone, |table| plan(table, zone))?;
        let mut done = self.operate(command, zone);
        let mut tries = ROOM_TRIES;
        while done.as_ref().is_err_and(is_too_many_open) && tries > 0 && self.has_made_room(zone) {
            done = self.operate(command, zone);
            tries -= 1;
        }
        let mut report = mark.look_again();
        let stays_closed = |report: &ZoneReport| {
            report.state == ZoneState::Closed && report.write_pointer == report.start
        };
        if done.is_ok()
            && command == ZoneOperation::Close
            && report.as_ref().is_some_and(stays_closed)
        {
            // Nothing is written in the zone: the reset frees its active slot, and loses nothing.
            done = self.operate(ZoneOperation::Reset, zone);
            report = mark.look_again();
        }
        let start = self.geometry.zone_start(zone);
        done.map(|()| Completion::Done).map_err(|error| {
            self.failed(zone, start, None, operation).error(error, report.as_ref())
        })
    }

    pub(super) fn operate(&self, command: ZoneOperation, zone: ZoneId) -> io::Result<()> {
        let (start, len) = (self.geometry.zone_start(zone), self.geometry.zone_size(zone));
        ioctl::operate(&self.node, command, self.sector(start.0), self.sector(len))
    }

    /// Closes an implicitly open zone for another one; false if there is none. Devices do so
    /// themselves, except that `null_blk` does not while all active slots are taken, even if the
    /// zone that is to be opened has one of them. A zone that is being written may be closed, too:
    /// its next write opens it again.
    fn has_made_room(&self, zone: ZoneId) -> bool {
        let Ok(zones) = ioctl::report(&self.node, 0, usize::MAX) else { return false };
        let victim = self.geometry.zone_ids().zip(&zones).find(|(other, raw)| {
            let state = shape::report(&self.geometry, *other, raw).state;
            *other != zone && state == ZoneState::ImplicitlyOpen
        });
        victim.is_some_and(|(victim, _)| self.operate(ZoneOperation::Close, victim).is_ok())
    }

    /// Steps 1 and 2: see the [module](self).
    fn begin(
        &self,
        zone: ZoneId,
        plan: impl Fn(&ZoneTable) -> Result<Transition, DeviceError>,
    ) -> Result<Busy<'_>, DeviceError> {
        let mut state = self.state.lock();
        while state.busy.contains(&zone) {
            self.idle.wait(&mut state);
        }
        let transition = plan(&state.table)?;
        state.table.apply(transition);
        state.busy.insert(zone);
        state.changes += 1;
        Ok(Busy { device: self, zone })
    }

    /// A zone as the device has it now.
    fn look(&self, zone: ZoneId) -> io::Result<ZoneReport> {
        if !self.geometry.layout.is_zoned() {
            return Ok(self.state.lock().table.report(zone));
        }
        let sector = self.sector(self.geometry.zone_start(zone).0);
        let raw = ioctl::report(&self.node, sector, 1)?;
        let raw = raw.first().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        Ok(shape::report(&self.geometry, zone, raw))
    }

    fn failed(
        &self,
        zone: ZoneId,
        lba: Lba,
        written: Option<u64>,
        operation: &'static str,
    ) -> Failed<'_> {
        let (path, geometry) = (self.path.as_path(), &*self.geometry);
        Failed { path, geometry, zone, lba, written, operation }
    }

    fn host_error(&self, operation: &str, error: io::Error) -> DeviceError {
        DeviceError::host(format!("cannot {operation} {}", self.path.display()), error)
    }

    pub(super) fn offset(&self, lba: Lba) -> u64 {
        lba.0 * u64::from(self.geometry.logical_block)
    }

    fn sector(&self, blocks: u64) -> u64 {
        blocks * u64::from(self.geometry.logical_block) / SECTOR
    }
}

/// A zone that a request is changing, until it is dropped.
struct Busy<'a> {
    device: &'a BlockDevice,
    zone: ZoneId,
}

impl Busy<'_> {
    /// Has the zone reported, and sets the table to the report. If there is none, the table keeps
    /// what was planned: the next request will fail as well, or be refused by the device.
    fn look_again(&self) -> Option<ZoneReport> {
        let report = self.device.look(self.zone).ok()?;
        self.device.state.lock().take_over(&report);
        Some(report)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.device.state.lock();
        state.busy.remove(&self.zone);
        state.changes += 1;
        drop(state);
        self.device.idle.notify_all();
    }
}

fn is_too_many_open(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::TOOMANYREFS.raw_os_error())
}

fn read_queue(path: &Path, number: u64) -> Result<Queue, DeviceError> {
    Queue::read(&queue::folder(number)).map_err(|error| {
        DeviceError::host(format!("cannot read the limits of {}", path.display()), error)
    })
}

impl Device for BlockDevice {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        sync::assert_no_lock_held("a zone report");
        let state = self.state.lock();
        state.table.check_zone(first)?;
        let before = state.changes;
        let count = count.min(self.geometry.zones - first.0);
        if !self.geometry.layout.is_zoned() {
            return Ok((0..count).map(|zone| state.table.report(ZoneId(zone))).collect());
        }
        drop(state);
        let sector = self.sector(self.geometry.zone_start(first).0);
        let raw = ioctl::report(&self.node, sector, count as usize);
        let raw = raw.map_err(|error| self.host_error("report the zones of", error))?;
        let zones = (first.0..first.0 + count).map(ZoneId).zip(&raw);
        let reports: Vec<ZoneReport> =
            zones.map(|(zone, raw)| shape::report(&self.geometry, zone, raw)).collect();
        let mut state = self.state.lock();
        if state.changes == before && state.busy.is_empty() {
            let sequential = |report: &&ZoneReport| report.zone_type == ZoneType::Sequential;
            for report in reports.iter().filter(sequential) {
                state.take_over(report);
            }
        }
        Ok(reports)
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn submit(&self, request: Request) -> Ticket {
        sync::assert_no_lock_held("a device request");
        let result = self.carry_out(request.op);
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.done.insert(ticket, result);
        Ticket(ticket)
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        sync::assert_no_lock_held("waiting for a device");
        let done = self.state.lock().done.remove(&ticket.0);
        done.expect("a ticket that was not waited for before")
    }
}

impl fmt::Debug for BlockDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BlockDevice");
        out.field("path", &self.path).field("geometry", &self.geometry).finish_non_exhaustive()
    }
}
