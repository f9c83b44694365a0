//! Conformance rules about the shape of a device: its report, and requests that do not fit.
//!
//! Requests that do not fit must be refused with the right error. After refused reads, writes,
//! appends and zone operations, the reports of all zones must be as before, and so must the last
//! physical block of each conventional zone.

use terrace_env::{IoBuf, Lba, ZoneId};

use super::subject::{Subject, assert_fails};
use crate::{Completion, DeviceError, Op, ZoneState, ZoneType};

pub(super) fn report_gives_the_shape(subject: &mut Subject<'_>) {
    let geometry = subject.geometry.clone();
    subject.pause();
    let reports = subject.device().report(ZoneId(0), geometry.zones).unwrap();
    assert_eq!(reports.len(), geometry.zones as usize);
    for (zone, report) in geometry.zone_ids().zip(reports) {
        assert_eq!(report.zone, zone);
        assert_eq!(report.zone_type, geometry.zone_type(zone));
        assert_eq!(report.start, geometry.zone_start(zone));
        assert_eq!(report.capacity, geometry.zone_capacity(zone));
        match report.zone_type {
            ZoneType::Conventional => assert_eq!(report.state, ZoneState::NotWritePointer),
            ZoneType::Sequential => {
                assert_eq!(report.state, ZoneState::Empty);
                assert_eq!(report.write_pointer, report.start);
            }
        }
    }
}

pub(super) fn report_ends_at_the_last_zone(subject: &mut Subject<'_>) {
    let zones = subject.geometry.zones;
    let device = subject.device();
    assert_eq!(device.report(ZoneId(zones - 1), 10).unwrap().len(), 1);
    assert_eq!(device.report(ZoneId(0), 2).unwrap().len(), 2);
    assert!(device.report(ZoneId(0), 0).unwrap().is_empty());
    assert_fails!(device.report(ZoneId(zones), 1), DeviceError::NoSuchZone { .. });
}

pub(super) fn requests_outside_fail(subject: &mut Subject<'_>) {
    let end = subject.geometry.blocks();
    let step = subject.step();
    let before = subject.kept();
    for (lba, blocks) in [(end, 1), (end - 1, 2), (0, 0), (u64::MAX, 1), (u64::MAX - 1, 5)] {
        assert_fails!(subject.read(Lba(lba), blocks), DeviceError::OutOfRange { .. });
    }
    for (lba, blocks) in [(end, step), (0, 0), (u64::MAX - 7, step)] {
        assert_fails!(subject.write(Lba(lba), blocks, 1), DeviceError::OutOfRange { .. });
    }
    let beyond = ZoneId(subject.geometry.zones);
    for op in [Op::Open(beyond), Op::Close(beyond), Op::Finish(beyond), Op::Reset(beyond)] {
        assert_fails!(subject.control(op), DeviceError::NoSuchZone { .. });
    }
    let data = subject.pattern(Lba(0), step, 1);
    let append = subject.submit(Op::Append { zone: beyond, data, fua: false });
    assert_fails!(subject.device().wait(append), DeviceError::NoSuchZone { .. });
    assert_eq!(subject.kept(), before);
}

pub(super) fn requests_across_zones_fail(subject: &mut Subject<'_>) {
    let step = subject.step();
    let before = subject.kept();
    let zones: Vec<ZoneId> = subject.geometry.zone_ids().collect();
    for zone in &zones[..zones.len() - 1] {
        let last = subject.at(*zone, subject.geometry.zone_size(*zone) - step);
        assert_fails!(subject.read(last, step + 1), DeviceError::CrossesZone { .. });
        assert_fails!(subject.write(last, 2 * step, 1), DeviceError::CrossesZone { .. });
        subject.read(last, step).expect("a read of a zone's last block");
    }
    assert_eq!(subject.kept(), before);
}

pub(super) fn unaligned_writes_fail(subject: &mut Subject<'_>) {
    let geometry = subject.geometry.clone();
    let block = geometry.logical_block as usize;
    let before = subject.kept();
    for zone in geometry.zone_ids() {
        let lba = geometry.zone_start(zone);
        let op = Op::Write { lba, data: IoBuf::zeroed(block + 100), fua: false };
        let result = subject.device().wait(subject.submit(op)).map(|_: Completion| ());
        assert_fails!(result, DeviceError::Misaligned { .. });
    }
    let zone = subject.sequential()[0];
    if subject.step() > 1 {
        let lba = geometry.zone_start(zone);
        assert_fails!(subject.write(lba, 1, 1), DeviceError::Misaligned { .. });
        let inside = Lba(lba.0 + 1);
        assert_fails!(subject.write(inside, subject.step(), 1), DeviceError::Misaligned { .. });
    }
    assert_eq!(subject.kept(), before);
}
