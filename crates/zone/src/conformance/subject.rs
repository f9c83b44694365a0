//! [`Subject`]: the device under test, with short methods for the requests that rules send. A
//! method that does not return a result panics if the device returns an error.
//!
//! At a [`pause`](Subject::pause) the device may be closed and opened again. By then a rule must
//! have waited for all of its tickets, and it must expect that open zones have been closed.

use std::sync::Arc;

use terrace_env::{Cause, IoBuf, Lba, ZoneId};

use crate::{Device, DeviceError, Geometry, Op, Request, Ticket, ZoneReport, ZoneState, ZoneType};

pub(super) type Reopen<'a> = dyn Fn(Arc<dyn Device>) -> Arc<dyn Device> + 'a;
pub(super) type Rule = fn(&mut Subject<'_>);

const CAUSE: Cause = Cause::Client;

pub(super) struct Subject<'a> {
    /// `None` only while it is reopened.
    device: Option<Arc<dyn Device>>,
    reopen: &'a Reopen<'a>,
    pub(super) geometry: Geometry,
}

impl<'a> Subject<'a> {
    pub(super) fn new(device: Arc<dyn Device>, reopen: &'a Reopen<'a>) -> Self {
        let geometry = device.geometry().clone();
        Self { device: Some(device), reopen, geometry }
    }

    pub(super) fn into_device(self) -> Arc<dyn Device> {
        self.device.expect("a device that is not being reopened")
    }

    pub(super) fn device(&self) -> &dyn Device {
        self.device.as_deref().expect("a device that is not being reopened")
    }

    /// A point where the device may be closed and opened again.
    pub(super) fn pause(&mut self) {
        let device = self.device.take().expect("a device that is not being reopened");
        let device = (self.reopen)(device);
        assert_eq!(device.geometry(), &self.geometry);
        self.device = Some(device);
    }

    /// Makes of a used device a new one.
    pub(super) fn empty_all(&mut self) {
        let block = self.geometry.logical_block as usize;
        for zone in self.conventional() {
            let data = IoBuf::zeroed(self.geometry.zone_size(zone) as usize * block);
            self.device().write(self.at(zone, 0), data, false, CAUSE).expect("a write");
        }
        for zone in self.sequential() {
            self.reset(zone);
        }
        self.control(Op::Flush).expect("a flush");
    }

    /// The sequential zones.
    pub(super) fn sequential(&self) -> Vec<ZoneId> {
        self.zones(ZoneType::Sequential)
    }

    /// The conventional zones.
    pub(super) fn conventional(&self) -> Vec<ZoneId> {
        self.zones(ZoneType::Conventional)
    }

    fn zones(&self, zone_type: ZoneType) -> Vec<ZoneId> {
        self.geometry
            .zone_ids()
            .filter(|zone| self.geometry.zone_type(*zone) == zone_type)
            .collect()
    }

    /// Logical blocks in the smallest write.
    pub(super) fn step(&self) -> u64 {
        self.geometry.physical_step()
    }

    pub(super) fn capacity(&self, zone: ZoneId) -> u64 {
        self.geometry.zone_capacity(zone)
    }

    /// The address of a block of a zone.
    pub(super) fn at(&self, zone: ZoneId, offset: u64) -> Lba {
        Lba(self.geometry.zone_start(zone).0 + offset)
    }

    /// Blocks that tell where and by which write they were written.
    pub(super) fn pattern(&self, lba: Lba, blocks: u64, mark: u8) -> IoBuf {
        let block = self.geometry.logical_block as usize;
        let mut data = IoBuf::zeroed(blocks as usize * block);
        for (index, bytes) in data.chunks_mut(block).enumerate() {
            bytes.fill(mark);
            bytes[..8].copy_from_slice(&(lba.0 + index as u64).to_le_bytes());
        }
        data
    }

    /// Writes a pattern.
    pub(super) fn write(&self, lba: Lba, blocks: u64, mark: u8) -> Result<(), DeviceError> {
        let data = self.pattern(lba, blocks, mark);
        let len = data.len();
        let data = self.device().write(lba, data, false, CAUSE)?;
        assert_eq!(data.len(), len, "the buffer comes back");
        Ok(())
    }

    /// Writes a pattern at a zone's pointer.
    pub(super) fn write_next(
        &self,
        zone: ZoneId,
        blocks: u64,
        mark: u8,
    ) -> Result<(), DeviceError> {
        self.write(self.report(zone).write_pointer, blocks, mark)
    }

    /// Writes a zone from its pointer to its capacity.
    pub(super) fn fill(&self, zone: ZoneId, mark: u8) {
        let report = self.report(zone);
        let blocks = report.start.0 + report.capacity - report.write_pointer.0;
        self.write_next(zone, blocks, mark).expect("a write to the end of a zone");
    }

    pub(super) fn submit(&self, op: Op) -> Ticket {
        self.device().submit(Request { op, cause: CAUSE })
    }

    pub(super) fn control(&self, op: Op) -> Result<(), DeviceError> {
        self.device().control(op, CAUSE)
    }

    pub(super) fn reset(&self, zone: ZoneId) {
        self.control(Op::Reset(zone)).expect("a reset");
    }

    pub(super) fn report(&self, zone: ZoneId) -> ZoneReport {
        let reports = self.device().report(zone, 1).expect("a report");
        assert_eq!(reports.len(), 1);
        assert_eq!(reports[0].zone, zone);
        reports[0]
    }

    /// Everything that a refused request must leave as it is: the report of each zone, and the last
    /// blocks of each conventional zone.
    pub(super) fn kept(&self) -> (Vec<ZoneReport>, Vec<Vec<u8>>) {
        let reports = self.device().report(ZoneId(0), self.geometry.zones).expect("a report");
        let last = |zone| self.at(zone, self.geometry.zone_size(zone) - self.step());
        let read =
            |zone| self.read(last(zone), self.step()).expect("a read of a zone's end").to_vec();
        (reports, self.conventional().into_iter().map(read).collect())
    }

    pub(super) fn state(&self, zone: ZoneId) -> ZoneState {
        self.report(zone).state
    }

    /// Blocks written to a zone whose pointer means something.
    pub(super) fn pointer(&self, zone: ZoneId) -> u64 {
        let report = self.report(zone);
        assert!(report.state.has_pointer(), "{report:?}");
        report.write_pointer.0 - report.start.0
    }

    pub(super) fn read(&self, lba: Lba, blocks: u64) -> Result<IoBuf, DeviceError> {
        self.device().read(lba, u32::try_from(blocks).expect("a short read"), CAUSE)
    }

    /// Checks that blocks hold their pattern. There may be none.
    pub(super) fn expect(&self, lba: Lba, blocks: u64, mark: u8) {
        if blocks == 0 {
            return;
        }
        let got = self.read(lba, blocks).expect("a read");
        assert_eq!(got[..], self.pattern(lba, blocks, mark)[..], "{blocks} blocks at {lba}");
    }

    /// Checks that blocks read as never written.
    pub(super) fn expect_unwritten(&self, lba: Lba, blocks: u64) {
        let got = self.read(lba, blocks).expect("a read beyond the pointer");
        let clean = |byte: u8| got.iter().all(|got| *got == byte);
        assert!(clean(0) || clean(0xff), "{blocks} blocks at {lba} were never written");
    }
}

/// Checks that a result is a given error.
macro_rules! assert_fails {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {
        match $result {
            Err($pattern) $(if $guard)? => {}
            other => panic!("expected {}, got {other:?}", stringify!($pattern $(if $guard)?)),
        }
    };
}
pub(super) use assert_fails;
