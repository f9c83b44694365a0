//! Power cuts of the host under images of shingled tracks: each block is found in one of the states
//! that it had since it was last durable: as it was, as a write left it, or destroyed.

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, Lba};

use super::super::{Emulator, destroyed};
use super::{BLOCK, ask, block, made, opened, write};
use crate::{Device, Geometry, Op};

/// A block of a device of tracks may hold this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Zeros: nothing was ever written there.
    Nothing,
    Byte(u8),
    Destroyed,
}

impl Held {
    fn is(self, block: &[u8; BLOCK], lba: u64) -> bool {
        let mut gone = [0; BLOCK];
        destroyed(lba * BLOCK as u64, &mut gone);
        match self {
            Self::Nothing => *block == [0; BLOCK],
            Self::Byte(byte) => *block == [byte; BLOCK],
            Self::Destroyed => *block == gone,
        }
    }
}

/// Writes at random; gives the states of each block that a power cut of the host may leave: the
/// last one that is durable, and all later ones.
fn write_tracks(
    drive: &Emulator,
    states: &mut [Vec<Held>],
    random: &mut Random,
    forgets_harm: bool,
) {
    let end = states.len() as u64;
    let tracks = drive.geometry().layout.tracks().expect("tracks");
    let settle = |states: &mut Vec<Held>| drop(states.drain(..states.len() - 1));
    if random.random_bool(0.1) {
        ask(drive, Op::Flush).expect("a flush");
        states.iter_mut().for_each(settle);
        return;
    }
    let start = random.random_range(0..end);
    let (blocks, fua) = (random.random_range(1..=6.min(end - start)), random.random_bool(0.2));
    let byte = random.random_range(1..=255);
    write(drive, Lba(start), byte, blocks as usize, fua).expect("a write");
    let harmed = tracks.harmed(start..start + blocks);
    for lba in start..end.min(harmed.end) {
        let own = lba < start + blocks;
        let before = &mut states[lba as usize];
        let last = before[before.len() - 1];
        match (own, last) {
            (true, _) => before.push(Held::Byte(byte)),
            (false, _) if !harmed.contains(&lba) || forgets_harm => continue,
            (false, Held::Byte(_)) => before.push(Held::Destroyed),
            (false, _) => {}
        }
        if fua {
            settle(before);
        }
    }
}

fn cut_tracks(seed: u64, forgets_harm: bool) {
    let tracks = crate::Tracks { blocks: 8, overlap: 2 };
    let (disk, mut drive) = made(Geometry::tracks(ByteCount::kib(512), tracks));
    let mut states = vec![vec![Held::Nothing]; drive.geometry().blocks() as usize];
    let (mut random, mut disk) = (Random::seeded(seed), disk);
    for step in 0..120 {
        write_tracks(&drive, &mut states, &mut random, forgets_harm);
        if step % 5 != 4 {
            continue;
        }
        let found = disk.cut(&mut random);
        let after = opened(&found);
        for (lba, states) in (0..).zip(&mut states) {
            let block = block(&after, lba);
            let held = states.iter().rev().find(|held| held.is(&block, lba)).copied();
            let held = held.unwrap_or_else(|| panic!("step {step}, block {lba} is not {states:?}"));
            if step % 20 == 19 {
                *states = vec![held];
            }
        }
        // Now and then the work goes on from the state that the cut has left.
        if step % 20 == 19 {
            (disk, drive) = (found, after);
        }
    }
}

#[test]
fn a_power_cut_of_the_host_leaves_each_block_of_tracks_as_it_was_or_became() {
    terrace_env::test_seeds(40).for_each(|seed| cut_tracks(seed, false));
    // A drive that forgets the destroyed bytes of a write is found out.
    let wrong = |seed| std::panic::catch_unwind(|| cut_tracks(seed, true)).is_err();
    assert!((0..3).all(wrong));
}
