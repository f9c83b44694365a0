//! Tests of the faults of an emulated drive: which request fails, and the state that is left.

use std::collections::BTreeSet;

use terrace_env::random::Random;
use terrace_env::{Cause, IoBuf, Lba, ZoneId};
use terrace_zone::emulator::{FaultPlan, RequestKind};
use terrace_zone::{Device, DeviceError, Emulator, Op, PowerCut, Request, ZoneState};

use crate::geometries;

const CAUSE: Cause = Cause::Client;

fn data(blocks: u64, byte: u8) -> IoBuf {
    let mut data = IoBuf::zeroed(blocks as usize * 4096);
    data.fill(byte);
    data
}

fn drive(seed: u64, faults: FaultPlan) -> Emulator {
    let drive = Emulator::in_memory(geometries::plain(), seed).unwrap();
    drive.set_faults(Some(faults));
    drive
}

fn pointer(drive: &Emulator, zone: u32) -> u64 {
    let report = drive.report(ZoneId(zone), 1).unwrap()[0];
    assert!(report.state.has_pointer());
    report.write_pointer.0 - report.start.0
}

fn is_medium<T>(result: Result<T, DeviceError>) -> bool {
    matches!(result, Err(DeviceError::Medium { .. }))
}

#[test]
fn the_request_that_was_named_fails_and_no_other() {
    let faults = FaultPlan::new(1)
        .fail(RequestKind::Read, 1)
        .fail(RequestKind::Open, 0)
        .fail(RequestKind::Close, 0)
        .fail(RequestKind::Finish, 0)
        .fail_in(ZoneId(3), RequestKind::Reset, 0);
    let drive = drive(1, faults);
    let reads: Vec<bool> = (0..3).map(|_| is_medium(drive.read(Lba(0), 1, CAUSE))).collect();
    assert_eq!(reads, [false, true, false]);
    let twice = |op: fn() -> Op| [(); 2].map(|()| is_medium(drive.control(op(), CAUSE)));
    assert_eq!(twice(|| Op::Open(ZoneId(0))), [true, false]);
    assert_eq!(twice(|| Op::Finish(ZoneId(1))), [true, false]);
    drive.write(Lba(0), data(1, 1), false, CAUSE).unwrap();
    assert_eq!(twice(|| Op::Close(ZoneId(0))), [true, false]);
    assert_eq!(twice(|| Op::Reset(ZoneId(1))), [false, false]);
    assert_eq!(twice(|| Op::Reset(ZoneId(3))), [true, false]);
}

#[test]
fn a_request_against_the_rules_gets_its_own_error_and_uses_up_no_fault() {
    let drive = drive(1, FaultPlan::new(1).fail(RequestKind::Write, 0));
    let wrong = drive.write(Lba(1), data(1, 1), false, CAUSE);
    assert!(matches!(wrong, Err(DeviceError::NotAtWritePointer { .. })));
    assert!(is_medium(drive.write(Lba(0), data(1, 1), false, CAUSE)));
}

#[test]
fn a_power_cut_ends_the_failure_of_a_zone_whose_failed_write_was_not_waited_for() {
    let drive = drive(1, FaultPlan::new(1).fail(RequestKind::Write, 0));
    let request = |data| Request { op: Op::Write { lba: Lba(0), data, fua: false }, cause: CAUSE };
    let _ticket = drive.submit(request(data(1, 1)));
    assert!(is_medium(drive.control(Op::Reset(ZoneId(0)), CAUSE)));
    drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
    drive.power_on();
    drive.control(Op::Reset(ZoneId(0)), CAUSE).unwrap();
    drive.write(Lba(0), data(1, 1), false, CAUSE).unwrap();
}

#[test]
fn a_failed_write_may_have_advanced_the_pointer_part_of_the_way() {
    let mut pointers = BTreeSet::new();
    for seed in 0..40 {
        let drive = drive(seed, FaultPlan::new(1).fail(RequestKind::Write, 1));
        drive.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
        let failed = drive.write(Lba(2), data(4, 2), true, CAUSE);
        let at = pointer(&drive, 0);
        match failed {
            Err(DeviceError::Medium { zone: ZoneId(0), lba, operation: "write" }) => {
                assert_eq!(lba, Lba(at));
            }
            other => panic!("{other:?}"),
        }
        for block in 2..at {
            assert_eq!(drive.read(Lba(block), 1, CAUSE).unwrap()[..], data(1, 2)[..]);
        }
        pointers.insert(at);
        drive.write(Lba(at), data(1, 3), true, CAUSE).unwrap();
    }
    assert_eq!(pointers.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[test]
fn what_is_queued_behind_a_failed_write_to_its_zone_fails() {
    for seed in 0..20 {
        let drive = drive(seed, FaultPlan::new(1).fail(RequestKind::Write, 1));
        let write = |lba: u64| {
            let op = Op::Write { lba: Lba(lba), data: data(1, 1), fua: false };
            drive.submit(Request { op, cause: CAUSE })
        };
        let [before, failed, behind] = [0, 1, 2].map(write);
        let elsewhere = write(16);
        let reset = drive.submit(Request { op: Op::Reset(ZoneId(0)), cause: CAUSE });
        assert!(drive.wait(before).is_ok());
        assert!(drive.wait(elsewhere).is_ok());
        assert!(drive.wait(behind).is_err());
        assert!(is_medium(drive.wait(reset)));
        assert!(is_medium(drive.wait(failed)));
        assert_eq!(pointer(&drive, 0), 1);
        drive.write(Lba(1), data(1, 1), false, CAUSE).unwrap();
    }
}

#[test]
fn a_failed_flush_takes_back_what_was_reported_complete() {
    let mut pointers = BTreeSet::new();
    for seed in 0..60 {
        let drive = drive(seed, FaultPlan::new(1).fail(RequestKind::Flush, 1));
        drive.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
        drive.control(Op::Flush, CAUSE).unwrap();
        drive.write(Lba(2), data(2, 2), false, CAUSE).unwrap();
        let op = Op::Write { lba: Lba(4), data: data(2, 3), fua: true };
        let in_flight = drive.submit(Request { op, cause: CAUSE });
        let failed = drive.control(Op::Flush, CAUSE);
        assert!(matches!(failed, Err(DeviceError::FlushFailed)));
        assert!(matches!(drive.wait(in_flight), Err(DeviceError::FlushFailed)));
        assert_eq!(drive.read(Lba(0), 2, CAUSE).unwrap()[..], data(2, 1)[..]);
        pointers.insert(pointer(&drive, 0));
        drive.control(Op::Flush, CAUSE).unwrap();
    }
    assert_eq!(pointers.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
}

#[test]
fn a_bad_block_cannot_be_read_until_it_is_written_again() {
    let drive = drive(1, FaultPlan::new(1).bad_block(Lba(2)));
    let fails = |lba, blocks| match drive.read(Lba(lba), blocks, CAUSE) {
        Err(DeviceError::Medium { lba: Lba(2), operation: "read", .. }) => true,
        Ok(_) => false,
        Err(other) => panic!("{other:?}"),
    };
    assert!(fails(0, 4) && fails(2, 1) && fails(2, 1));
    assert!(!fails(0, 2) && !fails(3, 4));
    drive.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
    assert!(fails(2, 1));
    drive.write(Lba(2), data(1, 1), false, CAUSE).unwrap();
    assert!(!fails(0, 4));
}

#[test]
fn zones_fail_in_groups() {
    let faults = FaultPlan::new(1).zones_fail(2, 0..4, ZoneState::ReadOnly).zones_fail(
        3,
        2..3,
        ZoneState::Offline,
    );
    let drive = drive(1, faults);
    for zone in 0..2 {
        drive.write(Lba(zone * 16), data(1, 1), false, CAUSE).unwrap();
    }
    let refused = drive.write(Lba(1), data(1, 1), false, CAUSE);
    assert!(matches!(refused, Err(DeviceError::ZoneReadOnly { zone: ZoneId(0) })));
    assert_eq!(drive.read(Lba(0), 1, CAUSE).unwrap()[..], data(1, 1)[..]);
    drive.write(Lba(64), data(1, 1), false, CAUSE).unwrap();
    let states: Vec<ZoneState> =
        drive.report(ZoneId(0), 5).unwrap().into_iter().map(|report| report.state).collect();
    use ZoneState::{ImplicitlyOpen, Offline, ReadOnly};
    assert_eq!(states, [ReadOnly, ReadOnly, Offline, ReadOnly, ImplicitlyOpen]);
    assert!(matches!(drive.read(Lba(32), 1, CAUSE), Err(DeviceError::ZoneOffline { .. })));
}

#[test]
fn faults_by_chance_come_about_as_often_as_asked_and_the_same_for_the_same_seed() {
    let run = |seed| {
        let drive = drive(1, FaultPlan::new(seed).fail_by_chance(RequestKind::Read, 10));
        (0..2000).map(|_| is_medium(drive.read(Lba(0), 1, CAUSE))).collect::<Vec<bool>>()
    };
    let failures = run(1).iter().filter(|failed| **failed).count();
    assert!((120..280).contains(&failures), "{failures}");
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_flipped_bit_is_read_back_flipped() {
    let drive = drive(1, FaultPlan::new(1));
    drive.write(Lba(0), data(2, 1), true, CAUSE).unwrap();
    drive.corrupt(Lba(1), |bytes| bytes[100] ^= 4).unwrap();
    let read = drive.read(Lba(0), 2, CAUSE).unwrap();
    assert_eq!(read[4096 + 100], 5);
    assert_eq!(read.iter().filter(|byte| **byte != 1).count(), 1);
}
