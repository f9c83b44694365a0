//! Power cuts and faults while an earlier backup is brought up to date: the target can be opened,
//! and is the earlier backup or the new one. The next backup succeeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace::{ByteCount, Db, ErrorKind, FormatOptions, Store};
use terrace_env::random::Random;
use terrace_env::sync::Mutex;
use terrace_env::{runner, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_fs::{Access, Fs, MountOptions};
use terrace_lsm::backup_of;
use terrace_zone::emulator::{Event, FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, PowerCut, Snapshot};

use crate::backup::{check, everything, filled};
use crate::devices::{Contents, churn, drive, options};

/// Contents of a store, by key space.
type All = BTreeMap<String, Contents>;

/// The contents of a backup, which is opened for reading.
fn held(device: Arc<Emulator>) -> All {
    let copy = Db::open_device(device, options().read_only(true)).unwrap();
    copy.verify().unwrap();
    let all = everything(&copy);
    copy.close().unwrap();
    all
}

/// Brings a backup on a drive up to date.
fn back_up(db: &Db, device: &Arc<Emulator>) {
    let copied = db.backup_device(device.clone(), &FormatOptions::default()).unwrap();
    assert!(copied.kept_tables > 0, "{copied:?}");
    assert!(held(Arc::clone(device)) == everything(db));
    let report = Fs::check(Arc::clone(device) as Arc<dyn Device>).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// A source with a backup on a drive, and writes since; and the contents of both.
fn with_backup(seed: u64, zones: u32) -> (Db, Arc<Emulator>, All, All) {
    let (_, db, mut contents) = filled(seed, 2500);
    let target = drive(ByteCount::kib(512), zones, seed + 1);
    db.backup_device(target.clone(), &FormatOptions::default()).unwrap();
    let before = everything(&db);
    churn(&db, &mut contents, 1000, 500, &mut Random::seeded(seed + 2));
    db.drop_key_space("other").unwrap();
    let after = everything(&db);
    assert!(before != after);
    (db, target, before, after)
}

#[test]
fn a_backup_whose_power_fails_at_any_write_is_the_earlier_one_or_the_new_one() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let (db, target, before, after) = with_backup(seed, 96);
            let moments: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
            let into = Arc::clone(&moments);
            target.set_observer(Some(Arc::new(move |event: &Event<'_>| {
                into.lock().push(event.snapshot().unwrap());
            })));
            let copied = db.backup_device(target.clone(), &FormatOptions::default()).unwrap();
            assert!(copied.kept_tables > 0, "{copied:?}");
            target.set_observer(None);
            let moments = std::mem::take(&mut *moments.lock());
            let (mut random, mut old, mut new) = (Random::seeded(seed), 0, 0);
            for moment in moments.iter().map(Some).chain([None]) {
                let survivor = match moment {
                    Some(moment) => moment.cut(PowerCut::any(&mut random), &mut random),
                    None => target.snapshot().unwrap().cut(PowerCut::DropUnflushed, &mut random),
                };
                let survivor = Arc::new(survivor);
                let found = held(Arc::clone(&survivor));
                match found == after {
                    true => new += 1,
                    false => {
                        assert!(found == before, "neither the earlier backup nor the new one");
                        assert_eq!(new, 0, "the earlier backup after the new one");
                        old += 1;
                    }
                }
                if (old + new) % 8 == 1 {
                    back_up(&db, &survivor);
                }
            }
            println!("{old} earlier backups, {new} new ones");
            assert!(old > 10 && new > 0, "{old} earlier backups, {new} new ones");
            db.close().unwrap();
        });
    }
}

#[test]
fn a_backup_in_a_directory_is_the_earlier_one_or_the_new_one() {
    runner::simulate(3, || {
        let (_, db, mut contents) = filled(3, 2500);
        let open = |files: &MemoryFiles| -> Result<Arc<dyn Store>, terrace::StoreError> {
            let access = DirOptions { access: Access::ReadWrite };
            Ok(DirStore::open_on(Arc::new(files.clone()), access)?)
        };
        let first = MemoryFiles::new();
        db.backup(open(&first).unwrap()).unwrap();
        let before = everything(&db);
        churn(&db, &mut contents, 1000, 500, &mut Random::seeded(4));
        let after = everything(&db);
        let update = |files: &MemoryFiles| {
            open(files).is_ok_and(|target| db.backup(target).is_ok_and(|done| done.kept_tables > 0))
        };
        let uncut = first.copy();
        assert!(update(&uncut));
        let (mut random, mut old, mut new) = (Random::seeded(3), 0, 0);
        for operation in 0..uncut.operations() {
            let files = first.copy();
            files.cut_at(operation);
            update(&files);
            let survivor = files.power_cut(&mut random);
            let access = DirOptions { access: Access::ReadOnly };
            let target = DirStore::open_on(Arc::new(survivor.clone()), access).unwrap();
            let copy = Db::open(target, options().read_only(true)).unwrap();
            copy.verify().unwrap();
            let found = everything(&copy);
            copy.close().unwrap();
            let is_new = found == after;
            assert!(is_new || found == before, "cut at operation {operation}");
            (old, new) = (old + u32::from(!is_new), new + u32::from(is_new));
            if operation % 8 == 0 {
                assert!(update(&survivor), "cut at operation {operation}");
                check(&open(&survivor).unwrap(), &db);
            }
        }
        println!("{old} earlier backups, {new} new ones");
        assert!(old > 10 && new > 0, "{old} earlier backups, {new} new ones");
        db.close().unwrap();
    });
}

#[test]
fn a_backup_that_fails_leaves_the_earlier_one() {
    runner::simulate(1, || {
        let (db, target, before, after) = with_backup(1, 96);
        let mut random = Random::seeded(1);
        let (mut failed, mut whole) = (0, 0);
        for seed in 0..24 {
            let snapshot = target.snapshot().unwrap();
            let device = Arc::new(snapshot.cut(PowerCut::KeepAll, &mut random));
            // A single write that fails is made elsewhere.
            let plan = FaultPlan::new(seed);
            device.set_faults(Some(match seed % 3 {
                0 => plan.fail(RequestKind::Flush, seed / 3),
                1 => plan.fail(RequestKind::Read, seed),
                _ => plan.fail_by_chance(RequestKind::Write, 2),
            }));
            let done = db.backup_device(device.clone(), &FormatOptions::default());
            device.set_faults(None);
            let found = held(Arc::clone(&device));
            match done {
                Ok(_) => assert!(found == after, "seed {seed}"),
                // The failed request may be the one that ends an otherwise whole backup.
                Err(_) => {
                    assert!(found == before || found == after, "seed {seed}");
                    failed += u32::from(found == before);
                }
            }
            whole += u32::from(found == after);
            back_up(&db, &device);
        }
        println!("{failed} failed, {whole} whole");
        assert!(failed > 4 && whole > 2, "{failed} failed, {whole} whole");
        db.close().unwrap();
    });
}

#[test]
fn a_target_without_room_for_both_keeps_the_earlier_backup() {
    runner::simulate(5, || {
        let (_, db, mut contents) = filled(5, 2500);
        let tables = db.stats().levels.iter().map(|level| level.bytes).sum::<u64>();
        // Room for one copy and a half.
        let zones = (tables / (512 << 10)) as u32 * 3 / 2 + 17;
        let target = drive(ByteCount::kib(512), zones, 6);
        db.backup_device(target.clone(), &FormatOptions::default()).unwrap();
        let before = everything(&db);
        // Every key is written anew, so no table can be kept.
        churn(&db, &mut contents, 4000, 6000, &mut Random::seeded(5));
        db.compact_all().unwrap();
        let error = db.backup_device(target.clone(), &FormatOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
        assert!(held(Arc::clone(&target)) == before);
        let fs = Fs::mount(target.clone() as Arc<dyn Device>, &MountOptions::default()).unwrap();
        assert!(backup_of(&*fs).is_some(), "it stays a backup");
        assert!(fs.audit().is_empty(), "{:?}", fs.audit());
        fs.unmount();
        db.close().unwrap();
    });
}
