//! Inspection of a store without a mount: the same state as a mount finds where all is well, and
//! the parts after the damage where it is not.

use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileKind, PlacementHint, Rank, Store, Transaction,
};
use terrace_env::{Cause, DeviceId, FileId, Lba, runner};
use terrace_fs::dir::{DirOptions, DirStore, Files, MemoryFiles};
use terrace_fs::inspect::{Inspector, JournalContent};
use terrace_fs::{Access, BLOCK, Fs, MountOptions, ZoneGrid};
use terrace_zone::{Device, Emulator};

use crate::drive::{formatted, shapes};

/// Appends of a log, one each.
fn appends() -> Vec<Vec<u8>> {
    (0..6u8).map(|i| vec![i; 100 + 3000 * usize::from(i)]).collect()
}

/// Bytes of a table.
fn table() -> Vec<u8> {
    (0..20_000u32).map(|i| (i * 31 % 253) as u8).collect()
}

fn create(store: &dyn Store, kind: FileKind) -> Box<dyn terrace_env::store::FileWriter> {
    let hint = PlacementHint { stream: 2, ..PlacementHint::default() };
    let cause = Cause::Client;
    let options = CreateOptions {
        kind,
        hint,
        size: None,
        rank: Rank::Log,
        reservation: None,
        group: None,
        offload: false,
        cause,
    };
    store.create(&options).expect("a file")
}

/// Writes a table and a log that stays open; returns their ids.
fn fill(store: &dyn Store) -> [FileId; 2] {
    let mut writer = create(store, FileKind::Table);
    let id = writer.id();
    writer.append(&table()).expect("space");
    writer.finish().expect("an end");
    let mut transaction = Transaction::new();
    transaction.seal(id, Annotation::default());
    store.commit(transaction).expect("a commit");
    let mut log = create(store, FileKind::Log);
    let mut transaction = Transaction::new();
    transaction.create(log.id(), Annotation::default());
    store.commit(transaction).expect("a commit");
    for append in appends() {
        log.append(&append).expect("space");
        log.sync().expect("a sync");
    }
    [id, log.id()]
}

/// All appends of a log that can be read, and how often it is told of damage.
fn read_log(store: &Inspector, id: FileId) -> (Vec<Vec<u8>>, usize) {
    let (mut found, mut damaged) = (Vec::new(), 0);
    for append in store.log(id).expect("a log") {
        match append {
            Ok(append) => found.push(append.payload),
            Err(_) => damaged += 1,
        }
    }
    (found, damaged)
}

fn check(store: &Inspector, [table_id, log]: [FileId; 2]) {
    assert!(store.damage().is_empty(), "{:?}", store.damage());
    let reader = store.open(table_id).expect("a table");
    let mut bytes = vec![0; reader.len() as usize];
    reader.read_at(0, &mut bytes, Cause::Client).expect("its bytes");
    assert_eq!(bytes, table());
    let mut part = vec![0; 5000];
    reader.read_at(4000, &mut part, Cause::Client).expect("some of them");
    assert_eq!(part, table()[4000..9000]);
    assert_eq!(read_log(store, log), (appends(), 0));
    let records = store.journal().expect("a journal").map(|append| match append {
        Ok(append) if append.defect.is_none() => append.content.expect("content"),
        other => panic!("{other:?}"),
    });
    let kinds: Vec<JournalContent> = records.collect();
    assert!(matches!(kinds[0], JournalContent::Head { .. }));
    let transactions = kinds.iter().filter(|kind| matches!(kind, JournalContent::Transactions(_)));
    assert!(transactions.count() >= 2);
}

/// A device with a table and a log.
fn device() -> (Arc<Emulator>, [FileId; 2]) {
    let emulator = formatted(shapes().remove(0).1, 3);
    let device = Arc::clone(&emulator) as Arc<dyn Device>;
    let ids = runner::simulate(1, move || {
        let fs = Fs::mount(device, &MountOptions::default()).expect("a mount");
        let ids = fill(&*fs);
        fs.unmount();
        ids
    });
    (emulator, ids)
}

fn look(emulator: &Arc<Emulator>) -> Inspector {
    Inspector::device(Arc::clone(emulator) as Arc<dyn Device>).expect("a device that answers")
}

#[test]
fn what_was_written_is_read_without_a_mount() {
    let (emulator, ids) = device();
    let store = look(&emulator);
    check(&store, ids);
    assert_eq!(store.superblocks().iter().filter(|seen| seen.is_in_force).count(), 1);
}

#[test]
fn a_directory_is_read_without_opening_its_store() {
    let files: Arc<dyn Files> = Arc::new(MemoryFiles::new());
    let store = DirStore::open_on(Arc::clone(&files), DirOptions { access: Access::ReadWrite });
    let store = store.expect("an empty store");
    let ids = fill(&*store);
    drop(store);
    check(&Inspector::files(files).expect("a store"), ids);
}

/// The logical block that a byte of the device lies in.
fn lba_at(emulator: &Emulator, byte: u64) -> Lba {
    Lba(byte / u64::from(emulator.geometry().logical_block))
}

#[test]
fn behind_a_damaged_frame_of_a_log_the_others_are_read() {
    let (emulator, [_, log]) = device();
    let extents: Vec<_> = look(&emulator).record(log).unwrap().extents.extents().collect();
    let all = appends();
    let mut told = 0;
    // Appends begin at blocks 0, 1, 2, 4, 7 and 10.
    for block in 0..14 {
        let lba =
            ZoneGrid::new(DeviceId::FIRST, emulator.geometry()).lba(extents[0].first.plus(block));
        for bit in (0..48 * 8).chain((48 * 8..BLOCK * 8).step_by(4099)) {
            flip(&emulator, lba, bit);
            let (found, damaged) = read_log(&look(&emulator), log);
            let mut left = all.iter();
            assert!(found.iter().all(|append| left.any(|other| other == append)));
            assert!(found.len() + 1 >= all.len(), "{block}/{bit}: {} appends", found.len());
            // The last append spans blocks, so that its damage may pass for a torn tail.
            assert!(damaged > 0 || found.len() == all.len() || block >= 10, "{block}/{bit}");
            told += damaged;
            flip(&emulator, lba, bit);
        }
    }
    assert!(told > 1000, "{told} flips were told of");
}

#[test]
fn behind_a_damaged_frame_of_the_journal_the_others_are_read() {
    let (emulator, _) = device();
    let sound = look(&emulator);
    let frames: Vec<Lba> = {
        let appends = sound.journal().unwrap().map(|append| append.unwrap());
        let frames = appends.flat_map(|append| append.frames);
        frames.map(|frame| lba_at(&emulator, frame.offset)).collect()
    };
    for (index, lba) in frames.iter().copied().enumerate() {
        for bit in (0..64 * 8).step_by(3) {
            flip(&emulator, lba, bit);
            let store = look(&emulator);
            let walk = store.journal().unwrap();
            let (mut seen, mut damaged) = (0, 0);
            for append in walk {
                match append {
                    Ok(append) => seen += append.frames.len(),
                    Err(_) => damaged += 1,
                }
            }
            let is_payload = bit >= 40 * 8;
            assert!(seen + 1 >= frames.len(), "frame {index}, bit {bit}: {seen} frames");
            assert!(
                seen == frames.len() && is_payload || damaged > 0 && !store.damage().is_empty(),
                "frame {index}, bit {bit}: {seen} frames, {damaged} damaged"
            );
            flip(&emulator, lba, bit);
        }
    }
}

#[test]
fn a_damaged_superblock_is_told_and_the_older_one_leads_on() {
    let (emulator, _) = device();
    let sound = look(&emulator);
    let newest = sound.superblocks().iter().find(|seen| seen.is_in_force).unwrap();
    let lba = lba_at(&emulator, newest.offset);
    for bit in (64..BLOCK * 8).step_by(61) {
        flip(&emulator, lba, bit);
        let store = look(&emulator);
        let broken = store.superblocks().iter().filter(|seen| seen.superblock.is_err());
        assert_eq!(broken.count(), 1, "bit {bit}");
        assert!(store.superblock().is_some() && store.list().count() > 1, "bit {bit}");
        flip(&emulator, lba, bit);
    }
}

fn flip(emulator: &Emulator, lba: Lba, bit: usize) {
    emulator.corrupt(lba, |bytes| bytes[bit / 8] ^= 1 << (bit % 8)).expect("a block");
}
