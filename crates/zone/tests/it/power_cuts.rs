//! Tests of power cuts: flushed and forced writes survive; other writes may, and there is a mode
//! that loses them.

use std::sync::Arc;

use terrace_env::random::Random;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, IoBuf, Lba, ZoneId};
use terrace_zone::{
    Device, DeviceError, Emulator, Geometry, Op, PowerCut, Request, Snapshot, ZoneState,
};

use crate::geometries;

const CAUSE: Cause = Cause::Client;

fn data(blocks: u64, byte: u8) -> IoBuf {
    let mut data = IoBuf::zeroed(blocks as usize * 4096);
    data.fill(byte);
    data
}

fn plain() -> Emulator {
    Emulator::in_memory(geometries::plain(), 1).unwrap()
}

fn byte_at(device: &Emulator, lba: u64) -> u8 {
    let block = device.read(Lba(lba), 1, CAUSE).unwrap();
    assert!(block.iter().all(|byte| *byte == block[0]), "block {lba} is torn");
    block[0]
}

fn state(device: &Emulator, zone: u32) -> (ZoneState, u64) {
    let report = device.report(ZoneId(zone), 1).unwrap()[0];
    let written =
        if report.state.has_pointer() { report.write_pointer.0 - report.start.0 } else { 0 };
    (report.state, written)
}

fn cut(device: &Emulator, cut: PowerCut, seed: u64) -> Emulator {
    device.snapshot().unwrap().cut(cut, &mut Random::seeded(seed))
}

#[test]
fn a_flushed_write_survives_every_cut_and_an_unflushed_one_can_be_lost() {
    let device = plain();
    device.write(Lba(0), data(4, 1), false, CAUSE).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    device.write(Lba(4), data(4, 2), false, CAUSE).unwrap();
    let mut pointers = std::collections::BTreeSet::new();
    for (mode, seed) in PowerCut::ALL.into_iter().flat_map(|mode| (0..50).map(move |s| (mode, s))) {
        let after = cut(&device, mode, seed);
        for lba in 0..4 {
            assert_eq!(byte_at(&after, lba), 1);
        }
        let (state, pointer) = state(&after, 0);
        assert_eq!(state, ZoneState::Closed);
        match mode {
            PowerCut::DropUnflushed => assert_eq!(pointer, 4),
            PowerCut::KeepAll => assert_eq!((pointer, byte_at(&after, 7)), (8, 2)),
            PowerCut::Prefixes => (4..pointer).for_each(|b| assert_eq!(byte_at(&after, b), 2)),
            PowerCut::Blocks => {}
        }
        pointers.insert(pointer);
    }
    assert_eq!(pointers.into_iter().collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
}

#[test]
fn a_flush_covers_only_what_was_complete_when_it_was_submitted() {
    let device = plain();
    let write = |lba, byte| {
        let op = Op::Write { lba: Lba(lba), data: data(1, byte), fua: false };
        device.submit(Request { op, cause: CAUSE })
    };
    let waited = write(0, 1);
    device.wait(waited).unwrap();
    let in_flight = write(1, 2);
    device.control(Op::Flush, CAUSE).unwrap();
    assert_eq!(state(&cut(&device, PowerCut::DropUnflushed, 0), 0).1, 1);
    device.wait(in_flight).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    assert_eq!(state(&cut(&device, PowerCut::DropUnflushed, 0), 0).1, 2);
}

#[test]
fn a_forced_write_makes_itself_durable_and_leaves_holes_below() {
    let device = plain();
    device.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
    device.write(Lba(2), data(1, 2), true, CAUSE).unwrap();
    device.write(Lba(3), data(1, 3), false, CAUSE).unwrap();
    let mut holes = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let after = cut(&device, PowerCut::DropUnflushed, seed);
        assert_eq!(state(&after, 0), (ZoneState::Closed, 3));
        assert_eq!(byte_at(&after, 2), 2);
        let hole = after.read(Lba(0), 1, CAUSE).unwrap();
        assert_ne!(hole[..], data(1, 1)[..]);
        holes.insert(hole.to_vec());
    }
    assert!(holes.contains(&vec![0; 4096]), "no hole of zeros");
    assert!(holes.len() > 2, "no garbage");
}

#[test]
fn a_hole_can_hold_what_the_zone_held_in_its_earlier_life() {
    let device = plain();
    device.write(Lba(0), data(3, 9), false, CAUSE).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    device.control(Op::Reset(ZoneId(0)), CAUSE).unwrap();
    device.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
    device.write(Lba(2), data(1, 2), true, CAUSE).unwrap();
    let stale = |seed| {
        let after = cut(&device, PowerCut::DropUnflushed, seed);
        after.read(Lba(0), 1, CAUSE).unwrap()[..] == data(1, 9)[..]
    };
    assert!((0..20).any(stale));
    assert!(!(0..20).all(stale));
}

#[test]
fn an_unflushed_reset_may_be_undone_until_the_zone_is_written_again() {
    let device = plain();
    device.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    device.control(Op::Reset(ZoneId(0)), CAUSE).unwrap();
    assert_eq!(byte_at(&device, 0), 0);
    let undone = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!((state(&undone, 0), byte_at(&undone, 1)), ((ZoneState::Closed, 2), 1));
    assert_eq!(state(&cut(&device, PowerCut::KeepAll, 0), 0), (ZoneState::Empty, 0));
    let both: std::collections::BTreeSet<u64> =
        (0..20).map(|seed| state(&cut(&device, PowerCut::Prefixes, seed), 0).1).collect();
    assert_eq!(both.into_iter().collect::<Vec<_>>(), [0, 2]);

    device.write(Lba(0), data(1, 7), false, CAUSE).unwrap();
    assert_eq!(state(&cut(&device, PowerCut::DropUnflushed, 0), 0), (ZoneState::Empty, 0));
}

#[test]
fn an_unflushed_finish_may_be_undone_and_a_flushed_one_may_not() {
    let device = plain();
    device.write(Lba(0), data(2, 1), true, CAUSE).unwrap();
    device.control(Op::Finish(ZoneId(0)), CAUSE).unwrap();
    let after = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!(state(&after, 0), (ZoneState::Closed, 2));
    device.control(Op::Flush, CAUSE).unwrap();
    let after = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!((state(&after, 0).0, byte_at(&after, 0)), (ZoneState::Full, 1));
    assert_eq!(byte_at(&after, 2), 0);
}

#[test]
fn every_call_fails_while_the_power_is_off() {
    let device = plain();
    let write = Op::Write { lba: Lba(0), data: data(1, 1), fua: true };
    let in_flight = device.submit(Request { op: write, cause: CAUSE });
    device.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
    assert!(matches!(device.wait(in_flight), Err(DeviceError::PowerLost)));
    assert!(matches!(device.read(Lba(0), 1, CAUSE), Err(DeviceError::PowerLost)));
    assert!(matches!(device.report(ZoneId(0), 1), Err(DeviceError::PowerLost)));
    assert!(matches!(device.control(Op::Flush, CAUSE), Err(DeviceError::PowerLost)));
    device.power_on();
    assert_eq!(state(&device, 0), (ZoneState::Empty, 0));
}

#[test]
fn every_write_can_be_cut_in_its_midst() {
    let device = plain();
    let snapshots: Arc<Mutex<Vec<Snapshot>>> = Arc::new(Mutex::default());
    let taken = snapshots.clone();
    device.set_observer(Some(Arc::new(move |event| {
        assert_eq!(event.number as usize, taken.lock().len());
        taken.lock().push(event.snapshot().unwrap());
    })));
    device.write(Lba(0), data(4, 1), true, CAUSE).unwrap();
    device.write(Lba(4), data(4, 2), true, CAUSE).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    device.set_observer(None);
    let snapshots = std::mem::take(&mut *snapshots.lock());
    assert_eq!(snapshots.len(), 3);
    let torn: std::collections::BTreeSet<u64> = (0..100)
        .map(|seed| {
            let after = snapshots[1].cut(PowerCut::Prefixes, &mut Random::seeded(seed));
            (0..4).for_each(|lba| assert_eq!(byte_at(&after, lba), 1));
            state(&after, 0).1
        })
        .collect();
    assert_eq!(torn.into_iter().collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
    let after = snapshots[1].cut(PowerCut::DropUnflushed, &mut Random::seeded(0));
    assert_eq!(state(&after, 0).1, 4);
}

#[test]
fn an_overwrite_in_flight_does_not_take_a_durable_one_with_it() {
    let geometry = Geometry { conventional: vec![0..1, 1..2], ..geometries::plain() };
    let device = Emulator::in_memory(geometry, 1).unwrap();
    device.write(Lba(0), data(4, 1), true, CAUSE).unwrap();
    let submit = |lba, blocks, byte, fua| {
        let op = Op::Write { lba: Lba(lba), data: data(blocks, byte), fua };
        device.submit(Request { op, cause: CAUSE })
    };
    let in_flight = submit(0, 4, 2, false);
    let flushed = submit(1, 1, 3, false);
    device.wait(flushed).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    let forced = submit(2, 1, 4, true);
    device.wait(forced).unwrap();
    let after = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!([0, 1, 2, 3].map(|lba| byte_at(&after, lba)), [1, 3, 4, 1]);
    device.wait(in_flight).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    let after = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!([0, 1, 2, 3].map(|lba| byte_at(&after, lba)), [2, 3, 4, 2]);
}

#[test]
fn each_block_of_a_volatile_overwrite_of_a_plain_device_is_new_or_old_after_a_cut() {
    let device = Emulator::in_memory(Geometry::plain(ByteCount::kib(64)), 1).unwrap();
    device.write(Lba(4), data(4, 1), false, CAUSE).unwrap();
    device.control(Op::Flush, CAUSE).unwrap();
    device.write(Lba(6), data(4, 2), false, CAUSE).unwrap();
    device.write(Lba(12), data(1, 3), true, CAUSE).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for (mode, seed) in PowerCut::ALL.into_iter().flat_map(|mode| (0..50).map(move |s| (mode, s))) {
        let after = cut(&device, mode, seed);
        assert_eq!([4, 5, 12].map(|lba| byte_at(&after, lba)), [1, 1, 3]);
        let torn = [6, 7, 8, 9].map(|lba| byte_at(&after, lba));
        for (byte, old) in torn.into_iter().zip([1, 1, 0, 0]) {
            assert!(byte == 2 || byte == old, "{torn:?}");
        }
        match mode {
            PowerCut::DropUnflushed => assert_eq!(torn, [1, 1, 0, 0]),
            PowerCut::KeepAll => assert_eq!(torn, [2; 4]),
            PowerCut::Prefixes | PowerCut::Blocks => {}
        }
        seen.insert(torn);
    }
    assert!(seen.contains(&[2, 1, 0, 0]) && seen.contains(&[1, 1, 2, 0]), "{seen:?}");
}
