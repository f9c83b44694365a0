//! Tests of backups: only new tables are copied, and the backup equals its source as of one moment,
//! in any kind of store. Stores that are no backup of the source are refused, and left alone.
//!
//! Most tests run on the simulated runner, from seeds. Power cuts and faults are in `backup_cuts`,
//! random histories in `backup_model`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use terrace::{
    Bounds, ByteCount, Checkpointed, Db, Devices, Emulator, ErrorKind, FormatOptions, Geometry,
    MemoryStore, Options, Store, TableComparison,
};
use terrace_env::random::{Random, RngCore};
use terrace_env::store::{CrashMode, Failure, FileKind};
use terrace_env::{Cause, runner, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_fs::{Access, Fs, MountOptions};
use terrace_lsm::backup_of;
use terrace_lsm::canary::{Rule, set};
use terrace_zone::PowerCut;

use crate::devices::{Contents, churn, contents, drive, options};

/// The contents of all key spaces, by name.
pub(crate) fn everything(db: &Db) -> BTreeMap<String, Contents> {
    let of = |name: String| {
        let space = db.key_space(&name).unwrap();
        let scan = space.scan(..).unwrap().map(Result::unwrap);
        (name, scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
    };
    db.key_spaces().into_iter().map(of).collect()
}

/// Checks that a backup, opened for reading, equals its source, and that its checksums hold.
pub(crate) fn check(target: &Arc<dyn Store>, source: &Db) {
    check_by(options(), target, source);
}

/// The same, opened by these options.
pub(crate) fn check_by(options: Options, target: &Arc<dyn Store>, source: &Db) {
    let copy = Db::open(Arc::clone(target), options.read_only(true)).unwrap();
    assert!(everything(&copy) == everything(source), "other contents");
    copy.verify().unwrap();
    copy.close().unwrap();
    assert!(backup_of(&**target).is_some(), "it stays a backup");
}

/// A store with several levels, trimmed tables among them, and two key spaces.
pub(crate) fn filled(seed: u64, writes: u32) -> (Arc<Emulator>, Db, Contents) {
    let device = drive(ByteCount::mib(1), 64, seed);
    let format = FormatOptions::default();
    let db = Db::create_device(device.clone(), &format, options()).unwrap();
    let mut held = Contents::new();
    churn(&db, &mut held, 4000, writes, &mut Random::seeded(seed));
    db.create_key_space("other").unwrap().put(b"key", b"value").unwrap();
    (device, db, held)
}

/// Empty stores of files in memory, in a directory, on a drive, and on two.
pub(crate) fn targets(seed: u64) -> [Arc<dyn Store>; 4] {
    let zoned = drive(ByteCount::kib(512), 128, seed);
    let format = FormatOptions::default();
    Fs::format(zoned.clone(), &format).unwrap();
    let plain = Emulator::in_memory(Geometry::plain(ByteCount::mib(32)), seed).unwrap();
    let pair = Devices::pair(drive(ByteCount::kib(512), 128, seed), Arc::new(plain));
    Fs::format(pair.clone(), &format).unwrap();
    let directory = DirOptions { access: Access::ReadWrite };
    [
        Arc::new(MemoryStore::new()),
        DirStore::open_on(Arc::new(MemoryFiles::new()), directory).unwrap(),
        Fs::mount(zoned, &MountOptions::default()).unwrap(),
        Fs::mount(pair, &MountOptions::default()).unwrap(),
    ]
}

/// Puts under keys after all others.
fn append(db: &Db, from: u32, count: u32, random: &mut Random) {
    for number in from..from + count {
        let mut value = [0; 100];
        random.fill_bytes(&mut value);
        db.put(&[&[0xff], &number.to_be_bytes()[..]].concat(), &value).unwrap();
    }
}

#[test]
fn a_later_backup_copies_only_new_tables_in_any_kind_of_store() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let (_, db, _) = filled(seed, 6000);
            let mut random = Random::seeded(seed);
            db.wait_idle().unwrap();
            for target in targets(seed) {
                let first = db.backup(Arc::clone(&target)).unwrap();
                assert!(first.tables > 3 && first.kept_tables == 0, "{first:?}");
                check(&target, &db);
                let before = target.io().written(Cause::Client);
                append(&db, 0, 300, &mut random);
                let (mut done, mut all) = (ByteCount(0), ByteCount(0));
                let second = db.backup_watched(
                    Arc::clone(&target),
                    TableComparison::default(),
                    &mut |so_far, total| (done, all) = (so_far, total),
                );
                let second = second.unwrap();
                assert!(second.kept_bytes.0 > second.bytes.0 / 2, "{second:?}");
                assert!(second.kept_tables < second.tables, "{second:?}");
                assert!(done == all && all == second.bytes, "{done} of {all}");
                // Blocks are padded.
                let written = target.io().written(Cause::Client).0 - before.0;
                let copied = second.bytes.0 - second.kept_bytes.0;
                let files = second.tables - second.kept_tables;
                assert!(written <= copied + files * 8192, "{written} for {second:?}");
                check(&target, &db);
                db.wait_idle().unwrap();
                db.backup(Arc::clone(&target)).unwrap();
                for comparison in [TableComparison::Ends, TableComparison::Whole] {
                    let none = &mut |_, _| {};
                    let again = db.backup_watched(Arc::clone(&target), comparison, none).unwrap();
                    assert_eq!((again.kept_tables, again.kept_bytes), (again.tables, again.bytes));
                    check(&target, &db);
                }
            }
            db.compact_all().unwrap();
            db.close().unwrap();
        });
    }
}

#[test]
fn a_backup_follows_compactions_drops_and_trims() {
    runner::simulate(7, || {
        let (_, db, mut held) = filled(7, 4000);
        let [target, ..] = targets(7);
        let mut random = Random::seeded(7);
        let mut kept = 0;
        for round in 0..8 {
            match round % 4 {
                0 => churn(&db, &mut held, 4000, 800, &mut random),
                1 => db.delete_range(Bounds::all().until(&1000u32.to_be_bytes())).unwrap(),
                2 => db.compact(Bounds::all().until(&2000u32.to_be_bytes())).unwrap(),
                _ => _ = db.drop_key_space("other").unwrap(),
            }
            let copied = db.backup(Arc::clone(&target)).unwrap();
            kept += copied.kept_tables;
            check(&target, &db);
            // No file is left of earlier backups.
            let tables = target.list().into_iter().filter(|file| file.kind == FileKind::Table);
            assert_eq!(tables.count() as u64, copied.tables);
        }
        assert!(kept > 3, "{kept} tables were kept");
        db.close().unwrap();
    });
}

#[test]
fn a_store_that_is_only_read_is_backed_up_with_its_logs() {
    runner::simulate(1, || {
        let (device, mut db, mut held) = filled(1, 3000);
        let [.., target, _] = targets(1);
        let mut random = Random::seeded(1);
        for _ in 0..3 {
            churn(&db, &mut held, 4000, 200, &mut random);
            db.close().unwrap();
            let reader = Db::open_device(device.clone(), options().read_only(true)).unwrap();
            let copied = reader.backup(Arc::clone(&target)).unwrap();
            assert!(copied.logs > 0, "{copied:?}");
            check(&target, &reader);
            reader.close().unwrap();
            db = Db::open_device(device.clone(), options()).unwrap();
            assert_eq!(contents(&db), held);
        }
        let copied = db.backup(Arc::clone(&target)).unwrap();
        assert!(copied.kept_tables > 0, "{copied:?}");
        check(&target, &db);
        db.close().unwrap();
    });
}

/// A backup, opened for reading, stays one; opened for writing, it is none, although nothing was
/// written.
pub(crate) fn open_between_backups(seed: u64) {
    runner::simulate(seed, || {
        let (_, db, held) = filled(seed, 2000);
        for target in targets(seed) {
            db.backup(Arc::clone(&target)).unwrap();
            check(&target, &db);
            assert!(db.backup(Arc::clone(&target)).unwrap().kept_tables > 0);
            let copy = Db::open(Arc::clone(&target), options()).unwrap();
            copy.close().unwrap();
            assert_eq!(backup_of(&*target), None);
            let files: Vec<_> = target.list().iter().map(|file| file.id).collect();
            let error = db.backup(Arc::clone(&target)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
            let text = error.to_string();
            assert!(text.contains("not opened for writing since, found a store of"), "{text}");
            let left: Vec<_> = target.list().iter().map(|file| file.id).collect();
            assert_eq!(left, files, "it is left alone");
            let copy = Db::open(target, options()).unwrap();
            assert_eq!(contents(&copy), held);
            copy.put(b"new", b"value").unwrap();
            copy.compact_all().unwrap();
            copy.verify().unwrap();
            copy.close().unwrap();
        }
        db.close().unwrap();
    });
}

#[test]
fn a_backup_is_one_until_it_is_opened_for_writing() {
    test_seeds(2).for_each(open_between_backups);
}

#[test]
fn a_store_that_is_no_backup_of_the_source_is_refused() {
    runner::simulate(1, || {
        let (_, db, _) = filled(1, 1000);
        let (_, other, _) = filled(2, 1000);
        let refused = |target: &Arc<dyn Store>, part: &str| {
            let error = db.backup(Arc::clone(target)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        };
        let of_other: Arc<dyn Store> = Arc::new(MemoryStore::new());
        other.backup(Arc::clone(&of_other)).unwrap();
        let uuid = other.store().uuid().unwrap();
        refused(&of_other, &format!("found a backup of the store {uuid}"));
        check(&of_other, &other);
        let checkpoint: Arc<dyn Store> = Arc::new(MemoryStore::new());
        db.checkpoint(Arc::clone(&checkpoint)).unwrap();
        refused(&checkpoint, &format!("a backup of the store {}", db.store().uuid().unwrap()));
        let own: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let made = Db::open(Arc::clone(&own), options()).unwrap();
        made.create_key_space("mine").unwrap();
        made.close().unwrap();
        refused(&own, "found a store of 1 files that is none");
        // A checkpoint never replaces a backup.
        let error = db.checkpoint(Arc::clone(&of_other)).unwrap_err();
        assert!(error.to_string().contains("expected an empty store"), "{error}");
        // A store that was opened and holds nothing is empty; so is a backup of such a store.
        let empty: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Db::open(Arc::clone(&empty), options()).unwrap().close().unwrap();
        db.backup(Arc::clone(&empty)).unwrap();
        check(&empty, &db);
        db.close().unwrap();
        other.close().unwrap();
    });
}

#[test]
fn a_checkpoint_of_a_backup_is_no_backup() {
    runner::simulate(1, || {
        let (_, db, _) = filled(1, 1000);
        let targets: [Arc<dyn Store>; 3] =
            std::array::from_fn(|_| Arc::new(MemoryStore::new()) as _);
        let [first, copy, second] = targets;
        db.backup(Arc::clone(&first)).unwrap();
        let backup = Db::open(Arc::clone(&first), options().read_only(true)).unwrap();
        backup.checkpoint(Arc::clone(&copy)).unwrap();
        assert_eq!(backup_of(&*copy), None);
        // A backup can be backed up; its source is then the backup.
        backup.backup(Arc::clone(&second)).unwrap();
        assert_eq!(backup_of(&*second), first.uuid());
        assert!(backup.backup(Arc::clone(&second)).unwrap().kept_tables > 0);
        check(&second, &db);
        backup.close().unwrap();
        db.close().unwrap();
    });
}

/// Backs up two copies of one medium that were written differently, to the same target.
fn fork(seed: u64) {
    runner::simulate(seed, || {
        let (device, db, _) = filled(seed, 2000);
        db.close().unwrap();
        let mut random = Random::seeded(seed);
        let twin = device.snapshot().unwrap().cut(PowerCut::KeepAll, &mut random);
        let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut kept = 0;
        for device in [device, Arc::new(twin)] {
            // The same keys, and values of the same sizes.
            let db = Db::open_device(device, options()).unwrap();
            append(&db, 0, 2000, &mut random);
            db.flush().unwrap();
            kept = db.backup(Arc::clone(&target)).unwrap().kept_tables;
            check(&target, &db);
            db.close().unwrap();
        }
        assert!(kept > 0, "tables from before the copy of the medium");
    });
}

#[test]
fn a_copy_of_the_source_with_other_writes_does_not_pass_for_it() {
    test_seeds(2).for_each(fork);
}

#[test]
fn a_source_that_was_put_back_is_copied_anew() {
    runner::simulate(1, || {
        let (device, db, _) = filled(1, 2000);
        db.close().unwrap();
        let mut random = Random::seeded(1);
        let before = device.snapshot().unwrap().cut(PowerCut::KeepAll, &mut random);
        let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let db = Db::open_device(device, options()).unwrap();
        append(&db, 0, 2000, &mut random);
        db.backup(Arc::clone(&target)).unwrap();
        db.close().unwrap();
        let db = Db::open_device(Arc::new(before), options()).unwrap();
        let copied = db.backup(Arc::clone(&target)).unwrap();
        assert_eq!(copied.kept_tables, 0);
        check(&target, &db);
        db.close().unwrap();
    });
}

/// Backs a store up into a directory, changes the bytes of the largest table there, and backs up
/// again: all tables but this one are kept.
fn damage_is_replaced(comparison: TableComparison, change: impl FnOnce(&mut Vec<u8>)) {
    runner::simulate(3, || {
        let (_, db, _) = filled(3, 4000);
        let files = MemoryFiles::new();
        let open = |files: &MemoryFiles| -> Arc<dyn Store> {
            let access = DirOptions { access: Access::ReadWrite };
            DirStore::open_on(Arc::new(files.clone()), access).unwrap()
        };
        let target = open(&files);
        let first = db.backup(Arc::clone(&target)).unwrap();
        let tables = target.list().into_iter().filter(|file| file.kind == FileKind::Table);
        let table = tables.max_by_key(|file| file.size).unwrap();
        drop(target);
        let name = format!("{:06}.table", table.id.0);
        let mut bytes = files.bytes(&name).unwrap();
        change(&mut bytes);
        files.overwrite(&name, bytes);
        let target = open(&files);
        let none = &mut |_, _| {};
        let second = db.backup_watched(Arc::clone(&target), comparison, none).unwrap();
        let Checkpointed { tables, kept_tables, .. } = second;
        assert_eq!((tables, kept_tables), (first.tables, first.tables - 1), "{second:?}");
        check(&target, &db);
        db.close().unwrap();
    });
}

#[test]
fn a_whole_comparison_replaces_damaged_tables_of_the_backup() {
    damage_is_replaced(TableComparison::Whole, |bytes| {
        let middle = bytes.len() / 3;
        bytes[middle] ^= 1;
    });
}

#[test]
fn a_table_of_the_backup_that_cannot_be_read_is_replaced() {
    runner::simulate(5, || {
        let (_, db, _) = filled(5, 2000);
        db.wait_idle().unwrap();
        let (first, random) = (Arc::new(MemoryStore::new()), &mut Random::seeded(5));
        let tables = db.backup(first.clone()).unwrap().tables;
        let again = |target: Arc<MemoryStore>| {
            db.backup_watched(target, TableComparison::Whole, &mut |_, _| {})
        };
        let mut replaced = 0;
        for number in 0.. {
            let target = Arc::new(first.crash(CrashMode::KeepUnsynced, random));
            target.fail_at(number, Failure::Once);
            let copied = again(target.clone());
            if target.operations() <= number {
                assert_eq!(copied.unwrap().kept_tables, tables, "no operation has failed");
                break;
            }
            // A backup that goes on after a failure has copied the table that it could not read.
            replaced += copied.map_or(0, |copied| copied.tables - copied.kept_tables);
        }
        assert!(replaced >= tables, "{replaced} of {tables} tables");
        db.close().unwrap();
    });
}

#[test]
fn a_table_of_the_backup_that_was_cut_short_is_replaced() {
    damage_is_replaced(TableComparison::Ends, |bytes| bytes.truncate(bytes.len() / 2));
}

#[test]
fn a_backup_on_devices_is_mounted_again_and_again() {
    runner::simulate(5, || {
        let (_, db, _) = filled(5, 6000);
        db.wait_idle().unwrap();
        let zoned = drive(ByteCount::kib(512), 128, 2);
        let plain = Emulator::in_memory(Geometry::plain(ByteCount::mib(32)), 3).unwrap();
        let devices = Devices::pair(zoned, Arc::new(plain));
        let (format, mut random) = (FormatOptions::default(), Random::seeded(5));
        for round in 0..3 {
            append(&db, round * 200, 200, &mut random);
            let copied = db.backup_device(devices.clone(), &format).unwrap();
            assert_eq!(copied.kept_tables > 0, round > 0, "{copied:?}");
            let copy = Db::open_device(devices.clone(), options().read_only(true)).unwrap();
            assert!(everything(&copy) == everything(&db));
            copy.close().unwrap();
        }
        // The devices hold a store, so they are not formatted for another source.
        let (_, other, _) = filled(6, 500);
        let error = other.backup_device(devices.clone(), &format).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
        let copy = Db::open_device(devices, options().read_only(true)).unwrap();
        assert!(everything(&copy) == everything(&db));
        copy.close().unwrap();
        db.close().unwrap();
        other.close().unwrap();
    });
}

#[test]
fn a_backup_is_not_written_to_a_pair_of_which_one_device_holds_a_store() {
    runner::simulate(5, || {
        let (_, db, _) = filled(5, 500);
        let zoned = drive(ByteCount::kib(512), 128, 2);
        let plain = Arc::new(Emulator::in_memory(Geometry::plain(ByteCount::mib(32)), 3).unwrap());
        let format = FormatOptions::default();
        let other = Db::create_device(plain.clone(), &format, options()).unwrap();
        other.put(b"key", b"mine").unwrap();
        other.close().unwrap();
        let devices = Devices::pair(zoned, plain.clone());
        db.backup_device(devices, &format).unwrap_err();
        let other = Db::open_device(plain, options()).unwrap();
        assert_eq!(other.get(b"key").unwrap().as_deref(), Some(&b"mine"[..]));
        other.close().unwrap();
        db.close().unwrap();
    });
}

#[test]
fn the_canaries_of_backups_are_noticed() {
    let suites: [(Rule, fn(u64)); 2] =
        [(Rule::KeptTablesCompared, fork), (Rule::SourceForgotten, open_between_backups)];
    for (rule, suite) in suites {
        let noticed = (0..10).any(|seed| {
            set(Some(rule));
            let outcome = catch_unwind(AssertUnwindSafe(|| suite(seed)));
            set(None);
            outcome.is_err()
        });
        assert!(noticed, "{rule:?}");
    }
}
