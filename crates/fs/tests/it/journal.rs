//! Tests of the journal on a drive that neither fails nor loses its power: commits, mounts, and
//! records that a replay or a mount refuses.

use std::sync::Arc;

use terrace_env::store::{FileKind, StoreError};
use terrace_env::{ByteCount, Cause, DeviceId, FileId, IoBuf, ZoneId, test_seeds};
use terrace_fs::catalog::{Extent, Record};
use terrace_fs::journal::replay;
use terrace_fs::{BLOCK, BlockAddr, Fs, MountOptions};
use terrace_zone::{Device, Emulator, Geometry};

use crate::changes::Changes;
use crate::drive::formatted;
use crate::journal_world::{make, open, shape};

fn device(seed: u64) -> Arc<dyn Device> {
    Arc::new(Emulator::in_memory(shape(seed), seed).expect("a possible shape"))
}

#[test]
fn an_empty_store_mounts_empty() {
    for seed in 0..4 {
        let device = device(seed);
        make(&device, seed);
        let replayed = replay(&device, false).expect("an empty store");
        assert!(replayed.catalog.is_empty());
        assert_eq!(replayed.superblock.options, [7; 3]);
    }
}

#[test]
fn what_was_committed_is_there_after_every_mount() {
    for seed in test_seeds(24) {
        let device = device(seed);
        make(&device, seed);
        let mut changes = Changes::new(seed, 3000);
        let mut before = replay(&device, true).expect("a store").catalog;
        for _ in 0..6 {
            let journal = open(&device).expect("a mount");
            journal.read(|catalog| assert!(catalog.files().eq(before.files()), "seed {seed}"));
            for _ in 0..60 {
                let records = journal.read(|catalog| changes.transaction(catalog));
                journal.commit(records, false).expect("a commit");
            }
            before = journal.read(Clone::clone);
            assert!(journal.rolls() > 0 || seed % 4 == 3, "seed {seed}: no roll");
            drop(journal);
            assert_eq!(replay(&device, false).expect("a replay").catalog, before, "seed {seed}");
        }
    }
}

#[test]
fn a_transaction_that_does_not_fit_changes_nothing() {
    let device = device(0);
    make(&device, 0);
    let journal = open(&device).expect("a mount");
    let mut changes = Changes::new(1, 10);
    for _ in 0..20 {
        let records = journal.read(|catalog| changes.transaction(catalog));
        journal.commit(records, false).expect("a commit");
    }
    let before = journal.read(Clone::clone);
    let mut records = changes.transaction(&before);
    records.push(Record::Delete { id: FileId(1 << 40) });
    journal.commit(records, false).expect_err("there is no such file");
    assert_eq!(journal.read(Clone::clone), before);
    drop(journal);
    assert_eq!(replay(&device, false).expect("a replay").catalog, before);
}

/// Result of replaying a store whose journal names these blocks.
fn replay_with(first: BlockAddr, blocks: u32) -> Result<(), String> {
    let device = device(0);
    make(&device, 0);
    let journal = open(&device).expect("a mount");
    let extents = vec![Extent { first, blocks, crc: None }];
    let size = u64::from(blocks) * BLOCK as u64;
    let (id, kind, annotation) = (FileId(7), FileKind::Table, Arc::default());
    let seal = Record::Seal { id, kind, size, extents, epoch: 0, annotation };
    journal.commit(vec![seal], false).expect("a commit");
    drop(journal);
    match replay(&device, false) {
        Ok(_) => Ok(()),
        Err(StoreError::Corruption { region, offset, expected, got }) => {
            assert!(region.starts_with("journal on device 0 (zone "), "{region}");
            assert!(offset > 0 && offset.is_multiple_of(BLOCK as u64), "{offset}");
            Err(format!("{expected}: {got}"))
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_extent_that_the_store_cannot_have_is_corruption() {
    // Zones of 8 blocks, 200 of them.
    let at = |device, block| BlockAddr::new(DeviceId(device), block);
    assert_eq!(replay_with(at(0, 16), 8), Ok(()));
    for (first, blocks, expected) in [
        (at(3, 16), 8, "device: expected a device of the store at offset 26, found 3"),
        (at(0, 17), 8, "blocks: expected blocks of one zone at offset 26, found 8"),
        (at(0, 1600), 2, "blocks: expected 1 or more, all on the device at offset 26, found 2"),
    ] {
        let found = replay_with(first, blocks).expect_err(expected);
        assert!(found.contains(expected), "{found}");
    }
}

/// Mounts a store in which a zone has `written` written blocks, and files claim `claimed` of them.
fn mount_with(written: usize, claimed: &[(u32, u32)]) -> Result<Arc<Fs>, StoreError> {
    let drive = formatted(Geometry::uniform(ByteCount::kib(256), 32), 1);
    let device = Arc::clone(&drive) as Arc<dyn Device>;
    // The last zone but one: the journal takes the first ones.
    let start = device.geometry().zone_start(ZoneId(30));
    device.write(start, IoBuf::zeroed(written * BLOCK), true, Cause::Client).expect("a write");
    let journal = open(&device).expect("a mount");
    let seals = claimed.iter().zip(1..).map(|(&(first, blocks), id)| {
        let first = BlockAddr::new(DeviceId(0), 30 * 64 + u64::from(first));
        let (id, kind, annotation) = (FileId(id), FileKind::Table, Arc::default());
        let (extents, size) = (vec![Extent { first, blocks, crc: None }], u64::from(blocks) * 4096);
        Record::Seal { id, kind, size, extents, epoch: 0, annotation }
    });
    journal.commit(seals.collect(), false).expect("a commit");
    drop(journal);
    Fs::mount(device, &MountOptions::default())
}

#[test]
fn files_that_claim_more_blocks_than_a_zone_has_written_are_corruption() {
    mount_with(40, &[(0, 30), (30, 10)]).expect("files next to each other");
    let corruption = |claimed: &[(u32, u32)]| match mount_with(40, claimed) {
        Err(StoreError::Corruption { region, offset, expected, got }) => {
            assert_eq!(expected, "extents within zones that hold data, none twice");
            format!("{region}, {offset}: {got}")
        }
        other => panic!("expected corruption, found {:?}", other.map(|_| "a store")),
    };
    assert_eq!(
        corruption(&[(0, 30), (0, 30)]),
        "catalog: files on device 0 (zone 30), 7864320: 60 blocks in 40 written ones"
    );
    assert_eq!(
        corruption(&[(0, 30), (0, 30), (0, 30)]),
        "catalog: file 3 on device 0 (zone 30), 7864320: 30 blocks at device 0 block 1920"
    );
    // Here the medium has lost acknowledged bytes: the files are there to be read.
    mount_with(40, &[(0, 30), (30, 20)]).expect("a zone that is not written again");
}
