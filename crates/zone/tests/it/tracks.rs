//! Tests of shingled tracks: destroyed bytes stay destroyed, and power cuts bring back only bytes
//! that the rules allow. The conformance suite says which tracks a write destroys.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use terrace_env::random::Random;
use terrace_env::{ByteCount, Cause, IoBuf, Lba, Uuid};
use terrace_zone::emulator::{FaultPlan, RequestKind, destroyed};
use terrace_zone::{Access, Device, DeviceError, Emulator, Geometry, Op, PowerCut, Tracks};

use crate::geometries;

const CAUSE: Cause = Cause::Client;

/// A drive in memory that is full of ones; they are durable.
fn full() -> Emulator {
    let device = Emulator::in_memory(geometries::tracks(), 1).unwrap();
    fill(&device);
    device
}

fn fill(device: &Emulator) {
    write(device, 0..device.geometry().blocks(), 1, true);
}

fn write(device: &Emulator, blocks: Range<u64>, byte: u8, forced: bool) {
    let mut data = IoBuf::zeroed((blocks.end - blocks.start) as usize * 4096);
    data.fill(byte);
    device.write(Lba(blocks.start), data, forced, CAUSE).unwrap();
}

/// The byte that each block repeats; 0 for one that is destroyed.
fn bytes(device: &Emulator, blocks: Range<u64>) -> Vec<u8> {
    let read = device.read(Lba(blocks.start), (blocks.end - blocks.start) as u32, CAUSE).unwrap();
    let byte = |(lba, block): (u64, &[u8])| {
        let mut gone = [0; 4096];
        destroyed(lba * 4096, &mut gone);
        let is_whole = block.iter().all(|byte| *byte == block[0]);
        assert!(is_whole && block[0] != 0 || *block == gone, "block {lba} is torn, or zeros");
        if is_whole { block[0] } else { 0 }
    };
    blocks.zip(read.chunks(4096)).map(byte).collect()
}

fn modes() -> impl Iterator<Item = (PowerCut, u64)> {
    PowerCut::ALL.into_iter().flat_map(|mode| (0..40).map(move |seed| (mode, seed)))
}

fn cut(device: &Emulator, mode: PowerCut, seed: u64) -> Emulator {
    device.snapshot().unwrap().cut(mode, &mut Random::seeded(seed))
}

#[test]
fn a_cut_that_keeps_nothing_of_a_write_keeps_nothing_of_its_harm() {
    let device = full();
    write(&device, 8..12, 2, false);
    assert_eq!(bytes(&device, 16..32), [0; 16]);
    let (mut written, mut harmed) = (BTreeSet::new(), BTreeSet::new());
    for (mode, seed) in modes() {
        let after = cut(&device, mode, seed);
        assert_eq!(bytes(&after, 0..8), [1; 8]);
        assert_eq!(bytes(&after, 12..16), [1; 4]);
        assert_eq!(bytes(&after, 32..128), [1; 96]);
        let (own, harm) = (bytes(&after, 8..12), bytes(&after, 16..32));
        assert!(own.iter().all(|byte| [1, 2].contains(byte)), "{own:?}");
        assert!(harm.iter().all(|byte| [0, 1].contains(byte)), "{harm:?}");
        assert!(own.contains(&2) || harm == [1; 16], "{mode:?}: {own:?} {harm:?}");
        match mode {
            PowerCut::DropUnflushed => assert_eq!(own, [1; 4]),
            PowerCut::KeepAll => {
                assert_eq!((own.as_slice(), &harm[..]), (&[2; 4][..], &[0; 16][..]))
            }
            PowerCut::Prefixes | PowerCut::Blocks => {}
        }
        written.insert(own);
        harmed.insert(harm);
    }
    assert!(written.contains(&vec![2, 2, 1, 1]), "{written:?}");
    assert!(harmed.len() > 10, "{harmed:?}");
}

#[test]
fn the_harm_of_a_flushed_or_forced_write_is_durable() {
    for forced in [false, true] {
        let device = full();
        // The first write has destroyed the tracks, and may be taken back; the second may not.
        write(&device, 8..9, 2, false);
        write(&device, 9..10, 3, forced);
        if !forced {
            device.control(Op::Flush, CAUSE).unwrap();
        }
        write(&device, 8..9, 4, false);
        for (mode, seed) in modes() {
            let after = cut(&device, mode, seed);
            assert_eq!(bytes(&after, 9..10), [3]);
            assert_eq!(bytes(&after, 16..32), [0; 16], "{mode:?}, seed {seed}, forced: {forced}");
        }
    }
}

#[test]
fn what_is_written_over_destroyed_blocks_is_not_destroyed_again_by_a_cut() {
    let device = full();
    write(&device, 0..8, 2, false);
    write(&device, 8..16, 3, true);
    // The first write is volatile, and its harm is older than the second write.
    let mut seen = BTreeSet::new();
    for (mode, seed) in modes() {
        let after = cut(&device, mode, seed);
        assert_eq!(bytes(&after, 8..16), [3; 8], "{mode:?}, seed {seed}");
        assert_eq!(bytes(&after, 16..32), [0; 16], "{mode:?}, seed {seed}");
        seen.insert(bytes(&after, 0..8));
    }
    assert!(seen.len() > 4);
}

/// Blocks 0 to 8 of a track were never written, those of the next track were destroyed.
#[test]
fn a_cut_leaves_zeros_where_nothing_was_written_and_noise_where_it_was_destroyed() {
    let mut seen = BTreeSet::new();
    for (mode, seed) in modes() {
        let device = Emulator::in_memory(geometries::tracks(), 1).unwrap();
        write(&device, 16..24, 1, true);
        write(&device, 8..9, 2, true);
        assert_eq!(bytes(&device, 16..24), [0; 8]);
        write(&device, 0..8, 3, false);
        write(&device, 16..24, 4, false);
        let after = cut(&device, mode, seed);
        let is_zeros =
            |block: u64| after.read(Lba(block), 1, CAUSE).unwrap().iter().all(|byte| *byte == 0);
        let zeros: Vec<u64> = (0..8).filter(|block| is_zeros(*block)).collect();
        for block in (0..8).filter(|block| !zeros.contains(block)) {
            assert_eq!(bytes(&after, block..block + 1), [3], "{mode:?}, seed {seed}");
        }
        assert!((16..24).all(|block| !is_zeros(block)), "{mode:?}, seed {seed}");
        assert!(bytes(&after, 16..24).iter().all(|byte| [0, 4].contains(byte)));
        match mode {
            PowerCut::DropUnflushed => assert_eq!(zeros.len(), 8),
            PowerCut::KeepAll => assert!(zeros.is_empty()),
            PowerCut::Prefixes | PowerCut::Blocks => drop(seen.insert(zeros)),
        }
    }
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn a_failed_write_harms_only_behind_what_it_has_written() {
    let mut parts = BTreeSet::new();
    for seed in 0..30 {
        let device = Emulator::in_memory(geometries::tracks(), seed).unwrap();
        fill(&device);
        device.set_faults(Some(FaultPlan::new(seed).fail(RequestKind::Write, 0)));
        let mut data = IoBuf::zeroed(12 * 4096);
        data.fill(2);
        let failed = device.write(Lba(0), data, false, CAUSE);
        let Err(DeviceError::Medium { lba, .. }) = failed else { panic!("{failed:?}") };
        let harmed = device.geometry().layout.tracks().unwrap().harmed(0..lba.0);
        let expected: Vec<u8> = (0..128)
            .map(|at| match at {
                at if at < lba.0 => 2,
                at if harmed.contains(&at) => 0,
                _ => 1,
            })
            .collect();
        assert_eq!(bytes(&device, 0..128), expected, "{lba} blocks written");
        parts.insert(lba);
    }
    assert!(parts.len() > 5, "{parts:?}");
}

#[test]
fn a_block_that_was_corrupted_after_it_was_destroyed_can_be_destroyed_again() {
    let device = full();
    write(&device, 0..1, 2, false);
    device.corrupt(Lba(8), |block| block.fill(7)).unwrap();
    assert_eq!(bytes(&device, 8..10), [7, 0]);
    write(&device, 1..2, 3, false);
    assert_eq!(bytes(&device, 8..10), [0; 2]);
}

fn reopen(path: &Path) -> Emulator {
    Emulator::open_image(path, Access::ReadWrite).unwrap()
}

#[test]
fn what_was_destroyed_in_an_image_stays_destroyed_when_it_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let device = Emulator::create_image(&path, geometries::tracks(), Uuid([3; 16])).unwrap();
    fill(&device);
    write(&device, 8..9, 2, false);
    drop(device);
    let device = reopen(&path);
    assert_eq!(bytes(&device, 16..32), [0; 16]);
    // The next writer knows of nothing that is destroyed, and destroys as well.
    write(&device, 24..25, 3, false);
    let snapshot = cut(&device, PowerCut::DropUnflushed, 0);
    assert_eq!(bytes(&snapshot, 16..48), [[0; 16], [1; 16]].concat());
    device.power_cut(PowerCut::KeepAll, &mut Random::seeded(1)).unwrap();
    drop(device);
    let device = reopen(&path);
    let last = [[0; 8].as_slice(), &[3], &[0; 7], &[0; 16], &[1; 80]].concat();
    assert_eq!(bytes(&device, 16..128), last);
    device.control(Op::Flush, CAUSE).unwrap();
    write(&device, 0..1, 4, false);
    device.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
    drop(device);
    assert_eq!(bytes(&reopen(&path), 0..16), [[1; 8], [2, 1, 1, 1, 1, 1, 1, 1]].concat());
}

#[test]
fn a_load_in_order_keeps_what_it_loads_and_a_reload_as_well() {
    // Tracks of 1 MiB, and more than the drive's cache holds without a flush.
    let tracks = Tracks { blocks: 256, overlap: 3 };
    let geometry = Geometry::tracks(ByteCount::mib(200), tracks);
    let device = Emulator::in_memory(geometry, 1).unwrap();
    let end = device.geometry().blocks();
    for round in 1..3 {
        for at in (0..end).step_by(32) {
            write(&device, at..at + 32, round + (at % 100) as u8, false);
        }
        for at in (0..end).step_by(32) {
            assert_eq!(bytes(&device, at..at + 1), [round + (at % 100) as u8]);
        }
    }
}
