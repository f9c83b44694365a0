//! Conformance rules about opening, closing, finishing and resetting sequential zones, and that
//! conventional zones refuse these operations. A device without zones counts as one conventional
//! zone.

use super::subject::{Subject, assert_fails};
use crate::{DeviceError, Op, ZoneState};

pub(super) fn open_and_close(subject: &mut Subject<'_>) {
    let step = subject.step();
    let zone = subject.sequential()[0];
    assert_fails!(subject.control(Op::Close(zone)), DeviceError::WrongState { .. });
    subject.control(Op::Open(zone)).unwrap();
    assert_eq!((subject.state(zone), subject.pointer(zone)), (ZoneState::ExplicitlyOpen, 0));
    subject.control(Op::Close(zone)).unwrap();
    assert!(matches!(subject.state(zone), ZoneState::Empty | ZoneState::Closed));
    subject.write_next(zone, step, 1).unwrap();
    assert_eq!(subject.state(zone), ZoneState::ImplicitlyOpen);
    subject.control(Op::Open(zone)).unwrap();
    assert_eq!(subject.state(zone), ZoneState::ExplicitlyOpen);
    subject.write_next(zone, step, 2).unwrap();
    assert_eq!(subject.state(zone), ZoneState::ExplicitlyOpen);
    subject.control(Op::Close(zone)).unwrap();
    assert_eq!((subject.state(zone), subject.pointer(zone)), (ZoneState::Closed, 2 * step));
    subject.pause();
    assert_eq!((subject.state(zone), subject.pointer(zone)), (ZoneState::Closed, 2 * step));
    subject.write_next(zone, step, 3).unwrap();
    assert_eq!(subject.state(zone), ZoneState::ImplicitlyOpen);
    subject.control(Op::Close(zone)).unwrap();
    subject.expect(subject.at(zone, step), step, 2);
    subject.fill(zone, 4);
    assert_fails!(subject.control(Op::Open(zone)), DeviceError::WrongState { .. });
    assert_fails!(subject.control(Op::Close(zone)), DeviceError::WrongState { .. });
}

pub(super) fn finish(subject: &mut Subject<'_>) {
    let step = subject.step();
    for (zone, steps) in subject.sequential().into_iter().zip([0, 1, 2]) {
        if steps > 0 {
            subject.write_next(zone, steps * step, 1).unwrap();
        }
        subject.control(Op::Finish(zone)).unwrap();
        subject.pause();
        assert_eq!(subject.state(zone), ZoneState::Full);
        if steps > 0 {
            subject.expect(subject.at(zone, 0), steps * step, 1);
        }
        subject.expect_unwritten(subject.at(zone, steps * step), step);
        let refused = subject.write(subject.at(zone, steps * step), step, 2);
        assert_fails!(refused, DeviceError::ZoneFull { .. });
        subject.control(Op::Finish(zone)).expect("finishing a full zone does nothing");
        subject.reset(zone);
        subject.pause();
        assert_eq!((subject.state(zone), subject.pointer(zone)), (ZoneState::Empty, 0));
        subject.expect_unwritten(subject.at(zone, 0), step);
    }
}

pub(super) fn reset(subject: &mut Subject<'_>) {
    let step = subject.step();
    for zone in subject.sequential() {
        let capacity = subject.capacity(zone);
        for mark in 1..4 {
            subject.fill(zone, mark);
            subject.expect(subject.at(zone, 0), capacity, mark);
            subject.reset(zone);
            if mark == 2 {
                subject.control(Op::Flush).unwrap();
            }
            subject.pause();
            assert_eq!((subject.state(zone), subject.pointer(zone)), (ZoneState::Empty, 0));
            subject.expect_unwritten(subject.at(zone, 0), capacity);
        }
        subject.reset(zone);
        assert_eq!(subject.state(zone), ZoneState::Empty);
        if capacity > step {
            subject.write_next(zone, step, 5).unwrap();
            subject.pause();
            subject.expect_unwritten(subject.at(zone, step), capacity - step);
        }
        subject.reset(zone);
    }
}

pub(super) fn not_for_conventional(subject: &mut Subject<'_>) {
    for zone in subject.conventional() {
        for op in [Op::Open(zone), Op::Close(zone), Op::Finish(zone), Op::Reset(zone)] {
            assert_fails!(
                subject.control(op),
                DeviceError::WrongState { state: ZoneState::NotWritePointer, .. }
            );
        }
    }
}
