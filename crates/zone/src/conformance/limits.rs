//! Conformance rules about how many zones may be open and active. At the open limit a write closes
//! an implicitly open zone to make room, but not an explicitly open one. Without room the request
//! is refused. When a zone is finished, reset or filled, another one can be opened.
//!
//! A rule passes at once if the device does not have the limit that the rule is about. Otherwise
//! the rule fills all slots, and then needs up to three further sequential zones.

use super::subject::{Subject, assert_fails};
use crate::{DeviceError, Op, ZoneState};

pub(super) fn open(subject: &mut Subject<'_>) {
    let Some(limit) = subject.geometry.max_open else { return };
    let step = subject.step();
    let zones = subject.sequential();
    let (open, rest) = zones.split_at(limit as usize);
    for zone in open {
        subject.control(Op::Open(*zone)).unwrap();
    }
    let active = subject.geometry.max_active == Some(limit);
    let refused = [subject.control(Op::Open(rest[0])), subject.write_next(rest[0], step, 1)];
    for result in refused {
        match result {
            Err(DeviceError::TooManyOpen { limit: got, .. }) if got == limit => {}
            Err(DeviceError::TooManyActive { limit: got, .. }) if active && got == limit => {}
            other => panic!("expected too many open zones, got {other:?}"),
        }
    }
    assert_eq!(subject.state(rest[0]), ZoneState::Empty);
    // A zone that is open already needs no further slot.
    subject.write_next(open[0], step, 1).unwrap();
    subject.reset(open[0]);
    subject.control(Op::Open(rest[0])).unwrap();
}

pub(super) fn implicit_close(subject: &mut Subject<'_>) {
    let Some(limit) = subject.geometry.max_open else { return };
    let active = subject.geometry.max_active.unwrap_or(u32::MAX);
    let step = subject.step();
    let zones = subject.sequential();
    let usable = zones.len().min(active as usize);
    for zone in &zones[..usable] {
        subject.write_next(*zone, step, 1).unwrap();
        assert_eq!(subject.state(*zone), ZoneState::ImplicitlyOpen);
        let open = zones.iter().filter(|zone| subject.state(**zone).is_open()).count();
        assert!(open <= limit as usize, "{open} zones are open");
    }
    subject.pause();
    for zone in &zones[..usable] {
        assert!(subject.state(*zone).is_active());
        subject.expect(subject.at(*zone, 0), step, 1);
        subject.write_next(*zone, step, 2).unwrap();
        subject.expect(subject.at(*zone, step), step, 2);
    }
    // An explicitly open zone is never closed for another.
    subject.control(Op::Open(zones[0])).unwrap();
    if limit > 1 {
        subject.write_next(zones[1], step, 3).unwrap();
    }
    assert_eq!(subject.state(zones[0]), ZoneState::ExplicitlyOpen);
}

pub(super) fn active(subject: &mut Subject<'_>) {
    let Some(limit) = subject.geometry.max_active else { return };
    let step = subject.step();
    let zones = subject.sequential();
    let (active, rest) = zones.split_at(limit as usize);
    for zone in active {
        subject.write_next(*zone, step, 1).unwrap();
        subject.control(Op::Close(*zone)).unwrap();
    }
    subject.pause();
    let refuse = |subject: &Subject<'_>, zone| {
        let refused = subject.write_next(zone, step, 1);
        assert_fails!(refused, DeviceError::TooManyActive { limit: got, .. } if got == limit);
        assert_fails!(subject.control(Op::Open(zone)), DeviceError::TooManyActive { .. });
        assert_eq!(subject.state(zone), ZoneState::Empty);
    };
    refuse(subject, rest[0]);
    subject.control(Op::Finish(active[0])).unwrap();
    subject.write_next(rest[0], step, 2).unwrap();
    refuse(subject, rest[1]);
    subject.reset(rest[0]);
    subject.write_next(rest[1], step, 2).unwrap();
    refuse(subject, rest[0]);
    subject.fill(active[1], 3);
    subject.pause();
    subject.write_next(rest[0], step, 4).unwrap();
    refuse(subject, rest[2]);
}
