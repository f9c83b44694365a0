//! Conformance rules of shingled tracks: a write destroys the tracks after the one in which it
//! ends; their number is in the shape of the device. If it began on an earlier track, it also
//! destroys the rest of the track in which it ends. It destroys nothing else.
//!
//! - A pass over the device from front to back reads back.
//! - A guard, tracks left unused before valid blocks, protects these blocks.
//! - A read of a destroyed block does not return its old bytes: it returns other bytes, or a medium
//!   error. The next write to the block ends that.
//!
//! The rules need 3 tracks more than a write destroys, and memory for the whole device.

use terrace_env::Lba;

use super::subject::Subject;
use crate::{DeviceError, Op, Tracks};

/// The tracks of the device.
fn tracks(subject: &Subject<'_>) -> Tracks {
    subject.geometry.layout.tracks().expect("a device of shingled tracks")
}

/// The first block of a track.
fn track(subject: &Subject<'_>, number: u64) -> u64 {
    number * u64::from(tracks(subject).blocks)
}

/// Fills the device from front to back.
fn fill(subject: &mut Subject<'_>, mark: u8) {
    let blocks = subject.geometry.blocks();
    subject.write(Lba(0), blocks, mark).unwrap();
    subject.control(Op::Flush).unwrap();
    subject.pause();
    subject.expect(Lba(0), blocks, mark);
}

/// Checks that none of the blocks reads as its pattern.
fn expect_destroyed(subject: &Subject<'_>, blocks: std::ops::Range<u64>, mark: u8) {
    for lba in blocks.map(Lba) {
        match subject.read(lba, 1) {
            Ok(got) => {
                assert_ne!(got[..], subject.pattern(lba, 1, mark)[..], "block {lba} is not harmed");
            }
            Err(DeviceError::Medium { .. }) => {}
            Err(error) => panic!("expected other bytes or a medium error, got {error:?}"),
        }
    }
}

pub(super) fn harms_the_next_tracks(subject: &mut Subject<'_>) {
    let (step, end) = (subject.step(), subject.geometry.blocks());
    let shape = tracks(subject);
    let (one, two) = (track(subject, 1), track(subject, 2));
    // At the start of a track, within it, at its end; over two tracks; all of one; over three.
    let writes = [
        (one, step),
        (one + step, 2 * step),
        (two - step, step),
        (two - step, 2 * step),
        (one, two - one),
        (step, two),
    ];
    for (at, blocks) in writes {
        fill(subject, 1);
        subject.write(Lba(at), blocks, 2).unwrap();
        let behind = (at + blocks).div_ceil(two - one) * (two - one);
        let crosses = at / (two - one) + 1 < behind / (two - one);
        let from = if crosses { at + blocks } else { behind };
        let until = (behind + track(subject, shape.overlap.into())).min(end);
        for _ in 0..2 {
            subject.expect(Lba(0), at, 1);
            subject.expect(Lba(at), blocks, 2);
            subject.expect(Lba(at + blocks), from - at - blocks, 1);
            expect_destroyed(subject, from..until, 1);
            subject.expect(Lba(until), end - until, 1);
            subject.control(Op::Flush).unwrap();
            subject.pause();
        }
    }
}

pub(super) fn in_order(subject: &mut Subject<'_>) {
    let (step, end) = (subject.step(), subject.geometry.blocks());
    fill(subject, 1);
    // Requests of many lengths, some of which end with a track.
    let (mut at, mut written) = (0, Vec::new());
    for (mark, steps) in (2..).zip([1, 3, 2, 8, 5, 1, 13].into_iter().cycle()) {
        let blocks = (steps * step).min(end - at);
        if blocks == 0 {
            break;
        }
        subject.write(Lba(at), blocks, mark).unwrap();
        written.push((at, blocks, mark));
        at += blocks;
        if steps == 5 {
            subject.pause();
        }
    }
    subject.control(Op::Flush).unwrap();
    subject.pause();
    for (at, blocks, mark) in written {
        subject.expect(Lba(at), blocks, mark);
    }
}

pub(super) fn a_guard_protects(subject: &mut Subject<'_>) {
    let (step, end) = (subject.step(), subject.geometry.blocks());
    let overlap = u64::from(tracks(subject).overlap);
    fill(subject, 1);
    // The last tracks are valid; the guard before them has the number of tracks that a write
    // destroys.
    let valid = track(subject, overlap + 2);
    let guard = track(subject, 2);
    for (mark, at) in (2..).zip((0..guard).step_by(step as usize)) {
        subject.write(Lba(at), step, mark).unwrap();
    }
    subject.control(Op::Flush).unwrap();
    subject.pause();
    for (mark, at) in (2..).zip((0..guard).step_by(step as usize)) {
        subject.expect(Lba(at), step, mark);
    }
    expect_destroyed(subject, guard..valid, 1);
    subject.expect(Lba(valid), end - valid, 1);
}

pub(super) fn written_again(subject: &mut Subject<'_>) {
    let step = subject.step();
    fill(subject, 1);
    let (one, two) = (track(subject, 1), track(subject, 2));
    subject.write(Lba(0), step, 2).unwrap();
    subject.write(Lba(one), step, 3).unwrap();
    subject.pause();
    // The block is there again, its neighbours on the track are not.
    subject.expect(Lba(0), step, 2);
    subject.expect(Lba(one), step, 3);
    expect_destroyed(subject, one + step..two, 1);
    // A later track's write does not bring back earlier tracks, and harms nothing there.
    subject.write(Lba(two), step, 4).unwrap();
    subject.control(Op::Flush).unwrap();
    subject.pause();
    subject.expect(Lba(one), step, 3);
    expect_destroyed(subject, one + step..two, 1);
    expect_destroyed(subject, two + step..track(subject, 3), 1);
}
