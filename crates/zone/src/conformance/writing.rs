//! Conformance rules about writing and reading: at the write pointer and off it, up to the
//! capacity, by appends, in order within a zone, and anywhere in conventional zones. The last of
//! these rules is tried on plain devices, too.

use terrace_env::{IoBuf, Lba};

use super::subject::{Subject, assert_fails};
use crate::{Completion, DeviceError, Op, ZoneState};

pub(super) fn writes_read_back(subject: &mut Subject<'_>) {
    let step = subject.step();
    for zone in subject.sequential() {
        let capacity = subject.capacity(zone);
        let mut written = 0;
        for (mark, steps) in (1..).zip([1, 2, 1, 3]) {
            if written + steps * step >= capacity {
                break;
            }
            subject.write(subject.at(zone, written), steps * step, mark).unwrap();
            subject.pause();
            assert_eq!(subject.pointer(zone), written + steps * step);
            subject.expect(subject.at(zone, written), steps * step, mark);
            written += steps * step;
        }
        subject.expect(subject.at(zone, 0), 1, 1);
        subject.expect_unwritten(subject.at(zone, written), capacity - written);
        let data = subject.pattern(subject.at(zone, written), step, 9);
        let forced = Op::Write { lba: subject.at(zone, written), data, fua: true };
        subject.device().wait(subject.submit(forced)).unwrap();
        subject.control(Op::Flush).unwrap();
        subject.pause();
        subject.expect(subject.at(zone, written), step, 9);
        // Reset again, or an active limit would end this.
        subject.reset(zone);
    }
}

pub(super) fn off_the_pointer(subject: &mut Subject<'_>) {
    let step = subject.step();
    let zone = subject.sequential()[0];
    let check = |subject: &Subject<'_>, offset: u64| {
        let pointer = subject.at(zone, subject.pointer(zone));
        assert_fails!(
            subject.write(subject.at(zone, offset), step, 7),
            DeviceError::NotAtWritePointer { zone: at, expected, got }
                if at == zone && expected == pointer && got == subject.at(zone, offset)
        );
    };
    check(subject, step);
    assert_eq!(subject.pointer(zone), 0);
    subject.write_next(zone, 2 * step, 1).unwrap();
    check(subject, 0);
    check(subject, step);
    check(subject, 3 * step);
    subject.pause();
    assert_eq!(subject.pointer(zone), 2 * step);
    subject.expect(subject.at(zone, 0), 2 * step, 1);
    subject.expect_unwritten(subject.at(zone, 2 * step), 2 * step);
}

pub(super) fn capacity_and_no_more(subject: &mut Subject<'_>) {
    let step = subject.step();
    for zone in subject.sequential() {
        let (capacity, size) = (subject.capacity(zone), subject.geometry.zone_size(zone));
        if capacity > step {
            subject.write_next(zone, capacity - step, 1).unwrap();
        }
        let last = subject.at(zone, capacity - step);
        if capacity + step <= size {
            assert_fails!(
                subject.write(last, 2 * step, 2),
                DeviceError::BeyondCapacity { end, .. } if end == subject.at(zone, capacity)
            );
        }
        subject.pause();
        assert_eq!(subject.pointer(zone), capacity - step);
        subject.write(last, step, 2).unwrap();
        subject.pause();
        assert_eq!(subject.state(zone), ZoneState::Full);
        subject.expect(last, step, 2);
        let within = if capacity < size { capacity } else { 0 };
        let error = subject.write(subject.at(zone, within), step, 3);
        assert_fails!(error, DeviceError::ZoneFull { zone: full } if full == zone);
        if capacity < size {
            subject.expect_unwritten(subject.at(zone, capacity), size - capacity);
        }
    }
}

pub(super) fn append_goes_to_the_pointer(subject: &mut Subject<'_>) {
    let step = subject.step();
    let zone = subject.sequential()[0];
    let append = |subject: &Subject<'_>, blocks: u64, mark| {
        // The pattern is that of where the append is expected to go.
        let data = subject.pattern(subject.at(zone, subject.pointer(zone)), blocks, mark);
        let ticket = subject.submit(Op::Append { zone, data, fua: false });
        subject.device().wait(ticket).map(|completion| match completion {
            Completion::Written { lba, .. } => lba,
            other => panic!("an append completed as {other:?}"),
        })
    };
    let Some(limit) = subject.geometry.max_append else {
        let refused = append(subject, step, 1);
        return assert_fails!(refused, DeviceError::AppendTooLarge { limit: 0, .. });
    };
    let limit = u64::from(limit);
    let refused = append(subject, limit + step, 1);
    assert_fails!(refused, DeviceError::AppendTooLarge { blocks, .. } if blocks == limit + step);
    assert_eq!(append(subject, step, 1).unwrap(), subject.at(zone, 0));
    subject.pause();
    assert_eq!(append(subject, limit.min(2 * step), 2).unwrap(), subject.at(zone, step));
    subject.expect(subject.at(zone, 0), step, 1);
    subject.expect(subject.at(zone, step), limit.min(2 * step), 2);
    let left = subject.capacity(zone) - subject.pointer(zone);
    if left > step {
        subject.write_next(zone, left - step, 3).unwrap();
    }
    if limit >= 2 * step {
        let refused = append(subject, 2 * step, 4);
        assert_fails!(refused, DeviceError::BeyondCapacity { .. });
    }
    append(subject, step, 5).unwrap();
    assert_eq!(subject.state(zone), ZoneState::Full);
    for zone in subject.conventional() {
        let data = subject.pattern(subject.at(zone, 0), step, 1);
        let refused = subject.device().wait(subject.submit(Op::Append { zone, data, fua: false }));
        assert_fails!(refused, DeviceError::WrongState { .. });
    }
}

pub(super) fn order_within_a_zone(subject: &mut Subject<'_>) {
    let step = subject.step();
    let zone = subject.sequential()[0];
    let steps = (subject.capacity(zone) / step).min(8);
    let mut tickets: Vec<_> = (0..steps)
        .map(|index| {
            let lba = subject.at(zone, index * step);
            let data = subject.pattern(lba, step, index as u8 + 1);
            (lba, subject.submit(Op::Write { lba, data, fua: index % 3 == 0 }))
        })
        .collect();
    let late = subject.submit(Op::Read { lba: subject.at(zone, 0), blocks: step as u32 });
    tickets.reverse();
    for (expected, ticket) in tickets {
        match subject.device().wait(ticket).unwrap() {
            Completion::Written { lba, .. } => assert_eq!(lba, expected),
            other => panic!("a write completed as {other:?}"),
        }
    }
    match subject.device().wait(late).unwrap() {
        Completion::Read(data) => {
            assert_eq!(data[..], subject.pattern(subject.at(zone, 0), step, 1)[..]);
        }
        other => panic!("a read completed as {other:?}"),
    }
    subject.pause();
    for index in 0..steps {
        subject.expect(subject.at(zone, index * step), step, index as u8 + 1);
    }
}

pub(super) fn conventional(subject: &mut Subject<'_>) {
    for zone in subject.conventional() {
        let size = subject.geometry.zone_size(zone);
        subject.expect_unwritten(subject.at(zone, 0), size);
        subject.write(subject.at(zone, size - 1), 1, 1).unwrap();
        subject.write(subject.at(zone, 1), 3, 2).unwrap();
        subject.write(subject.at(zone, 2), 1, 3).unwrap();
        subject.pause();
        subject.expect(subject.at(zone, size - 1), 1, 1);
        subject.expect(subject.at(zone, 1), 1, 2);
        subject.expect(subject.at(zone, 2), 1, 3);
        subject.expect(subject.at(zone, 3), 1, 2);
        subject.expect_unwritten(subject.at(zone, 4), 1);
        subject.write(subject.at(zone, 0), size, 4).unwrap();
        subject.pause();
        subject.expect(subject.at(zone, 0), size, 4);
        assert_eq!(subject.state(zone), ZoneState::NotWritePointer);
    }
    let Some(zone) = subject.conventional().pop() else { return };
    let data = IoBuf::zeroed(subject.geometry.logical_block as usize);
    let lba: Lba = subject.at(zone, 5);
    subject.device().wait(subject.submit(Op::Write { lba, data, fua: true })).unwrap();
    subject.pause();
    assert!(subject.read(lba, 1).unwrap().iter().all(|byte| *byte == 0));
}
