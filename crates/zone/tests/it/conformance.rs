//! The conformance suite of devices, run on drives in memory and in images; on images also with the
//! image opened anew at each pause of a rule.
//!
//! Some drives break one rule each: the suite must find them out.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use std::time::Duration;

use terrace_env::{Cause, Lba, Uuid, ZoneId};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{
    Access, Device, DeviceError, DeviceLayer, Emulator, Geometry, Layout, Op, Request, Ticket,
    ZoneReport, conformance,
};

#[test]
fn a_drive_in_memory_keeps_every_rule() {
    conformance::run(&|geometry| Arc::new(Emulator::in_memory(geometry, 1).unwrap()));
}

#[test]
fn a_slow_drive_keeps_every_rule() {
    conformance::run(&|geometry| {
        let drive = Emulator::in_memory(geometry, 1).unwrap();
        let (min, max) = (Duration::ZERO, Duration::from_nanos(200));
        drive.set_timing(Some(Box::new(RandomLatency::new(min, max, 7))));
        Arc::new(drive)
    });
}

/// Makes images in a directory, each in a file of its own.
fn image(dir: &tempfile::TempDir, count: &Cell<u32>, geometry: Geometry) -> (PathBuf, Emulator) {
    count.set(count.get() + 1);
    let path = dir.path().join(count.get().to_string());
    let drive = Emulator::create_image(&path, geometry, Uuid([3; 16])).unwrap();
    (path, drive)
}

#[test]
fn a_drive_in_a_file_keeps_every_rule() {
    let (dir, count) = (tempfile::tempdir().unwrap(), Cell::new(0));
    conformance::run(&|geometry| Arc::new(image(&dir, &count, geometry).1));
}

#[test]
fn a_drive_in_a_file_that_is_opened_anew_at_every_turn_keeps_every_rule() {
    let (dir, count) = (tempfile::tempdir().unwrap(), Cell::new(0));
    let path = std::cell::RefCell::new(PathBuf::new());
    let reopened = Cell::new(0);
    conformance::run_reopening(
        &|geometry| {
            let (at, drive) = image(&dir, &count, geometry);
            path.replace(at);
            Arc::new(drive)
        },
        &|device| {
            // The lock on the image goes with the device.
            drop(device);
            reopened.set(reopened.get() + 1);
            Arc::new(Emulator::open_image(&*path.borrow(), Access::ReadWrite).unwrap())
        },
    );
    assert!(reopened.get() > 100);
}

#[test]
fn a_used_drive_can_be_checked_as_it_is() {
    let [_, odd, _] = crate::geometries::all();
    for geometry in [odd, crate::geometries::tracks()] {
        let drive = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        conformance::check(drive.clone());
        conformance::check(drive);
    }
}

/// A drive that breaks one rule: it answers resets and does nothing, or reports a pointer that is
/// one write old, or reads from elsewhere; or it has tracks, of which a write destroys none, one
/// too few or one too many.
struct Broken {
    drive: Emulator,
    shape: Geometry,
    rule: u32,
}

impl Broken {
    fn new(shape: Geometry, rule: u32) -> Self {
        let mut real = shape.clone();
        if let Layout::Tracks(tracks) = &mut real.layout {
            match rule {
                3 => real.layout = Layout::Plain,
                4 => tracks.overlap -= 1,
                5 => tracks.overlap += 1,
                _ => {}
            }
        }
        Self { drive: Emulator::in_memory(real, 1).unwrap(), shape, rule }
    }
}

impl DeviceLayer for Broken {
    fn below(&self) -> &dyn Device {
        &self.drive
    }

    fn geometry(&self) -> &Geometry {
        &self.shape
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        let mut reports = self.drive.report(first, count)?;
        if self.rule == 1 {
            for report in reports.iter_mut().filter(|report| report.state.has_pointer()) {
                report.write_pointer = Lba(report.write_pointer.0.max(report.start.0 + 1) - 1);
            }
        }
        Ok(reports)
    }

    fn submit(&self, request: Request) -> Ticket {
        let op = match request.op {
            Op::Reset(_) if self.rule == 0 => Op::Flush,
            Op::Read { lba, blocks } if self.rule == 2 => {
                Op::Read { lba: Lba(lba.0 / 4096 * 4096), blocks }
            }
            op => op,
        };
        self.drive.submit(Request { op, cause: Cause::Client })
    }
}

#[test]
fn a_drive_that_breaks_a_rule_is_found() {
    for rule in 0..6 {
        let broken = std::panic::catch_unwind(|| {
            conformance::run(&|geometry| Arc::new(Broken::new(geometry, rule)));
        });
        assert!(broken.is_err(), "rule {rule} was broken and no check noticed");
    }
}
