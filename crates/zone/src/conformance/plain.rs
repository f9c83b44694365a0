//! Conformance rules of plain devices: blocks are overwritten in place, a request may be as long as
//! the device, requests keep their order, and the device refuses appends, and writes that are not
//! whole blocks.
//!
//! All but the first of these are also tried on shingled tracks. The rules need up to 6 physical
//! blocks, and memory for the whole device.

use terrace_env::{IoBuf, Lba, ZoneId};

use super::subject::{Subject, assert_fails};
use crate::{Completion, DeviceError, Op};

pub(super) fn in_place(subject: &mut Subject<'_>) {
    let step = subject.step();
    subject.write(Lba(0), 6 * step, 1).unwrap();
    subject.control(Op::Flush).unwrap();
    subject.pause();
    for (mark, at) in [(2, 3), (3, 1), (4, 3)] {
        subject.write(Lba(at * step), step, mark).unwrap();
        subject.pause();
        subject.expect(Lba(at * step), step, mark);
    }
    let lba = Lba(5 * step);
    let forced = Op::Write { lba, data: subject.pattern(lba, step, 5), fua: true };
    subject.device().wait(subject.submit(forced)).unwrap();
    subject.control(Op::Flush).unwrap();
    subject.pause();
    for (at, mark) in [(0, 1), (1, 3), (2, 1), (3, 4), (4, 1), (5, 5)] {
        subject.expect(Lba(at * step), step, mark);
    }
}

pub(super) fn whole_device(subject: &mut Subject<'_>) {
    let blocks = subject.geometry.blocks();
    subject.expect_unwritten(Lba(0), blocks);
    subject.write(Lba(0), blocks, 1).unwrap();
    subject.pause();
    subject.expect(Lba(0), blocks, 1);
}

pub(super) fn order(subject: &mut Subject<'_>) {
    let step = subject.step();
    let mut tickets: Vec<_> = (1..=8)
        .map(|mark| {
            let lba = Lba(u64::from(mark % 2) * step);
            let data = subject.pattern(lba, 2 * step, mark);
            subject.submit(Op::Write { lba, data, fua: mark % 3 == 0 })
        })
        .collect();
    let late = subject.submit(Op::Read { lba: Lba(0), blocks: 2 * step as u32 });
    tickets.reverse();
    for ticket in tickets {
        subject.device().wait(ticket).unwrap();
    }
    match subject.device().wait(late).unwrap() {
        Completion::Read(data) => assert_eq!(data[..], subject.pattern(Lba(0), 2 * step, 8)[..]),
        other => panic!("a read completed as {other:?}"),
    }
    subject.pause();
    subject.expect(Lba(0), 2 * step, 8);
    subject.expect(Lba(2 * step), step, 7);
}

pub(super) fn broken_blocks_fail(subject: &mut Subject<'_>) {
    let block = subject.geometry.logical_block as usize;
    let op = Op::Write { lba: Lba(0), data: IoBuf::zeroed(block + 100), fua: false };
    let result = subject.device().wait(subject.submit(op));
    assert_fails!(result, DeviceError::Misaligned { .. });
    subject.expect_unwritten(Lba(0), 2);
}

pub(super) fn no_appends(subject: &mut Subject<'_>) {
    let data = subject.pattern(Lba(0), subject.step(), 1);
    let append = subject.submit(Op::Append { zone: ZoneId(0), data, fua: false });
    let refused = subject.device().wait(append);
    assert_fails!(refused, DeviceError::WrongState { .. } | DeviceError::AppendTooLarge { .. });
}
