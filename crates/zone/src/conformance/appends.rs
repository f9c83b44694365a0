//! Rule of zoned devices: appends to one zone that are in flight together. A device without append
//! passes.

use std::collections::BTreeMap;

use terrace_env::IoBuf;

use super::subject::{Subject, assert_fails};
use crate::{Completion, DeviceError, Op, ZoneState};

/// Appends that are submitted before the first of them is waited for.
const UNDER_WAY: u64 = 24;

pub(super) fn together(subject: &mut Subject<'_>) {
    let (step, zone) = (subject.step(), subject.sequential()[0]);
    if subject.geometry.max_append.is_none() {
        return;
    }
    let block = subject.geometry.logical_block as usize;
    let append = |subject: &Subject<'_>, mark: u64| {
        let data = marked(mark, step as usize * block);
        subject.submit(Op::Append { zone, data, fua: mark.is_multiple_of(5) })
    };
    let first = subject.capacity(zone).min(3 * step);
    subject.write_next(zone, first, 1).unwrap();
    let fitting = UNDER_WAY.min((subject.capacity(zone) - first) / step);
    let tickets: Vec<_> = (0..fitting).map(|mark| append(subject, mark)).collect();
    // A read after them finds them done.
    let all = u32::try_from(first + fitting * step).expect("a short read");
    let read = subject.submit(Op::Read { lba: subject.at(zone, 0), blocks: all });
    let mut placed = BTreeMap::new();
    for (mark, ticket) in (0..).zip(tickets) {
        match subject.device().wait(ticket).unwrap() {
            Completion::Written { lba, data } => {
                assert_eq!(data.len(), step as usize * block, "the buffer comes back");
                assert!(placed.insert(lba, mark).is_none(), "two appends at {lba}");
            }
            other => panic!("an append completed as {other:?}"),
        }
    }
    let read = match subject.device().wait(read).unwrap() {
        Completion::Read(data) => data,
        other => panic!("a read completed as {other:?}"),
    };
    // One after the other, without a gap, and each with its own bytes.
    for (index, (lba, mark)) in placed.iter().enumerate() {
        let at = first + index as u64 * step;
        assert_eq!(*lba, subject.at(zone, at), "{placed:?}");
        let bytes = &read[at as usize * block..][..step as usize * block];
        assert_eq!(bytes, &marked(*mark, bytes.len())[..], "the append at {lba}");
    }
    subject.expect(subject.at(zone, 0), first, 1);
    // The zone takes those that fit, and no more, also if they are in flight together.
    let left = (subject.capacity(zone) - first) / step - fitting;
    if left < 2 {
        return;
    }
    if left > 4 {
        let pointer = subject.pointer(zone);
        subject.write(subject.at(zone, pointer), (left - 4) * step, 2).unwrap();
    }
    let tickets: Vec<_> = (0..left.min(4) + 2).map(|mark| append(subject, mark)).collect();
    let (mut done, mut refused) = (0, 0);
    for ticket in tickets {
        match subject.device().wait(ticket) {
            Ok(_) => done += 1,
            Err(error) => {
                refused += 1;
                assert_fails!(Err::<(), _>(error), DeviceError::ZoneFull { .. });
            }
        }
    }
    assert_eq!((done, refused), (left.min(4), 2));
    assert_eq!(subject.state(zone), ZoneState::Full);
}

/// Bytes that tell of an append.
fn marked(mark: u64, len: usize) -> IoBuf {
    let mut data = IoBuf::zeroed(len);
    for (word, bytes) in (0_u64..).zip(data.chunks_mut(16)) {
        bytes[..8].copy_from_slice(&(mark + 1).to_le_bytes());
        bytes[8..].copy_from_slice(&word.to_le_bytes());
    }
    data
}
