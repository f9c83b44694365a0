//! Tests of checkpoints: copies of a store in memory, in a directory, on a drive and on two drives.
//! A copy that is made during writes is of one moment. If the target's power fails, it is a whole
//! copy or cannot be opened. A target that is too small stays empty.
//!
//! Most tests run on the simulated runner, from seeds.

use std::sync::Arc;

use terrace::{
    Batch, Bounds, ByteCount, Db, Devices, Durability, Emulator, ErrorKind, FormatOptions,
    Geometry, MemoryStore, Store,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{runner, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_fs::{Access, Fs, MountOptions, holds_store};
use terrace_zone::emulator::{Event, FaultPlan, RequestKind};
use terrace_zone::{Device, PowerCut, Snapshot};

use crate::devices::{Contents, churn, contents, drive, options};

/// A store with several levels (trimmed tables among them), two key spaces, and entries in memory.
fn filled(seed: u64) -> (Db, Contents) {
    let device = drive(ByteCount::mib(1), 64, seed);
    let db = Db::create_device(device, &FormatOptions::default(), options()).unwrap();
    let mut held = Contents::new();
    churn(&db, &mut held, 4000, 6000, &mut Random::seeded(seed));
    db.create_key_space("other").unwrap().put(b"key", b"value").unwrap();
    (db, held)
}

fn check(copy: &Db, held: &Contents) {
    assert_eq!(contents(copy), *held);
    let other = copy.key_space("other").unwrap();
    assert_eq!(other.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    copy.verify().unwrap();
    // It is a store like any other.
    copy.put(b"new", b"value").unwrap();
    copy.compact_all().unwrap();
    assert_eq!(copy.get(b"new").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(contents(copy).len(), held.len() + 1);
}

#[test]
fn a_copy_holds_the_same_in_any_kind_of_store() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let (db, held) = filled(seed);
            let drive = drive(ByteCount::kib(512), 96, seed + 1);
            Fs::format(drive.clone(), &FormatOptions::default()).unwrap();
            let directory = DirOptions { access: Access::ReadWrite };
            let targets: [Arc<dyn Store>; 3] = [
                Arc::new(MemoryStore::new()),
                DirStore::open_on(Arc::new(MemoryFiles::new()), directory).unwrap(),
                Fs::mount(drive, &MountOptions::default()).unwrap(),
            ];
            for target in targets {
                let copied = db.checkpoint(Arc::clone(&target)).unwrap();
                assert!(copied.tables > 3 && copied.bytes.0 > 1 << 20, "{copied:?}");
                let copy = Db::open(Arc::clone(&target), options()).unwrap();
                check(&copy, &held);
                copy.close().unwrap();
                let error = db.checkpoint(target).unwrap_err().to_string();
                assert!(error.contains("empty"), "{error}");
            }
            assert_eq!(contents(&db), held);
            db.close().unwrap();
        });
    }
}

#[test]
fn a_store_that_is_only_read_is_copied_with_what_is_in_its_log() {
    runner::simulate(1, || {
        let device = drive(ByteCount::mib(1), 64, 1);
        let db = Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
        let mut held = Contents::new();
        churn(&db, &mut held, 2000, 3000, &mut Random::seeded(1));
        db.create_key_space("other").unwrap().put(b"key", b"value").unwrap();
        db.close().unwrap();
        let read_only = options().read_only(true);
        let db = Db::open_device(device, read_only).unwrap();
        let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let copied = db.checkpoint(Arc::clone(&target)).unwrap();
        assert!(copied.logs > 0, "{copied:?}");
        check(&Db::open(target, options()).unwrap(), &held);
    });
}

/// Writes numbers in order, each with a copy of the newest under a separate key, so that every
/// moment differs from every mixture of two.
fn count_up(db: &Db, from: u64, random: &mut Random) {
    for number in from..from + 6000 {
        let mut value = vec![0; random.random_range(8..300)];
        random.fill_bytes(&mut value);
        value[..8].copy_from_slice(&number.to_be_bytes());
        let mut batch = Batch::new();
        batch.put(&[b"n", &number.to_be_bytes()[..]].concat(), &value);
        batch.put(b"newest", &value);
        if number % 3 == 0 {
            batch.delete(&[b"n", &(number / 3).to_be_bytes()[..]].concat());
        }
        db.write(batch).unwrap();
    }
}

/// The newest number of a copy, which is checked to be of one moment.
fn moment(copy: &Db) -> u64 {
    let newest = copy.get(b"newest").unwrap().expect("a number");
    let newest = u64::from_be_bytes(newest[..8].try_into().unwrap());
    let mut expected: std::collections::BTreeSet<u64> = (0..=newest).collect();
    for third in (0..=newest).filter(|number| number % 3 == 0) {
        expected.remove(&(third / 3));
    }
    let found = copy.scan(Bounds::prefix(b"n")).unwrap().map(Result::unwrap);
    let found = found.filter(|(key, _)| key.len() == 9);
    let found: Vec<u64> =
        found.map(|(key, _)| u64::from_be_bytes(key[1..].try_into().unwrap())).collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    newest
}

#[test]
fn a_copy_made_while_others_write_is_of_one_moment() {
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let db = Db::create_device(device, &FormatOptions::default(), options()).unwrap();
            count_up(&db, 0, &mut Random::seeded(seed));
            let writer = {
                let db = db.clone();
                runner::spawn("writer", move || count_up(&db, 6000, &mut Random::seeded(seed + 1)))
            };
            let mut last = 0;
            for _ in 0..4 {
                let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
                db.checkpoint(Arc::clone(&target)).unwrap();
                let newest = moment(&Db::open(target, options()).unwrap());
                assert!(newest >= last, "{newest} after {last}");
                last = newest;
                runner::sleep(std::time::Duration::from_millis(20));
            }
            writer.join();
            assert!(last > 6000, "the copies were made before anything was written");
            assert_eq!(moment(&db), 11_999);
            db.close().unwrap();
        });
    }
}

#[test]
fn a_target_whose_power_fails_is_a_whole_copy_or_cannot_be_opened() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let (db, held) = filled(seed);
            let target = drive(ByteCount::kib(512), 96, seed + 1);
            let moments: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
            let (into, chance) = (Arc::clone(&moments), Mutex::new(Random::seeded(seed)));
            target.set_observer(Some(Arc::new(move |event: &Event<'_>| {
                if chance.lock().random_range(0..4) > 0 {
                    into.lock().push(event.snapshot().unwrap());
                }
            })));
            let copied = db.checkpoint_device(target.clone(), &FormatOptions::default());
            assert!(copied.is_ok(), "{copied:?}");
            target.set_observer(None);
            let moments = std::mem::take(&mut *moments.lock());
            assert!(moments.len() > 20, "{} moments", moments.len());
            let (mut random, mut unfinished, mut whole) = (Random::seeded(seed), 0, 0);
            for moment in moments.iter().map(Some).chain([None]) {
                let survivor = match moment {
                    Some(moment) => moment.cut(PowerCut::any(&mut random), &mut random),
                    None => target.snapshot().unwrap().cut(PowerCut::DropUnflushed, &mut random),
                };
                let survivor = Arc::new(survivor);
                match Db::open_device(survivor.clone(), options()) {
                    Ok(copy) => {
                        assert_eq!(contents(&copy), held);
                        copy.verify().unwrap();
                        whole += 1;
                    }
                    Err(error) if error.kind() == ErrorKind::UnfinishedCopy => {
                        assert_eq!(whole, 0, "an unfinished copy behind a whole one");
                        unfinished += 1;
                        if unfinished % 16 == 1 {
                            repeat(&db, survivor, &held);
                        }
                    }
                    // The power went while the drive was formatted.
                    Err(error) => assert!(unfinished == 0 && whole == 0, "{error}"),
                }
            }
            assert!(unfinished > 3 && whole > 0, "{unfinished} unfinished, {whole} whole");
            db.close().unwrap();
        });
    }
}

/// Completes an unfinished copy.
fn repeat(db: &Db, target: Arc<Emulator>, held: &Contents) {
    let fs = Fs::mount(Arc::clone(&target) as Arc<dyn Device>, &MountOptions::default()).unwrap();
    db.checkpoint(Arc::clone(&fs) as Arc<dyn Store>).unwrap();
    fs.unmount();
    drop(fs);
    let copy = Db::open_device(target, options()).unwrap();
    check(&copy, held);
    copy.close().unwrap();
}

#[test]
fn a_copy_into_a_directory_that_is_cut_off_is_no_empty_store() {
    runner::simulate(3, || {
        let (db, held) = filled(3);
        let copy_to = |files: &MemoryFiles| {
            let mark = terrace_lsm::mark_of_unfinished_copy();
            let target = DirStore::open_annotated_on(Arc::new(files.clone()), mark);
            target.is_ok_and(|target| db.checkpoint(target).is_ok())
        };
        let uncut = MemoryFiles::new();
        assert!(copy_to(&uncut));
        let (mut random, mut none, mut unfinished) = (Random::seeded(3), 0, 0);
        for operation in 0..uncut.operations() {
            let files = MemoryFiles::new();
            files.cut_at(operation);
            copy_to(&files);
            let survivor = files.power_cut(&mut random);
            let options = DirOptions { access: Access::ReadOnly };
            match DirStore::open_on(Arc::new(survivor.clone()), options) {
                Err(_) => none += 1,
                Ok(found) if terrace_lsm::is_unfinished_copy(&*found) => unfinished += 1,
                Ok(_) => {
                    let options = DirOptions { access: Access::ReadWrite };
                    let found = DirStore::open_on(Arc::new(survivor), options).unwrap();
                    let copy = Db::open(found, crate::devices::options()).unwrap();
                    assert_eq!(contents(&copy), held, "cut at operation {operation}");
                    copy.close().unwrap();
                    continue;
                }
            }
            if operation % 8 == 0 {
                assert!(copy_to(&survivor), "cut at operation {operation}");
                let options = DirOptions { access: Access::ReadWrite };
                let found = DirStore::open_on(Arc::new(survivor), options).unwrap();
                check(&Db::open(found, crate::devices::options()).unwrap(), &held);
            }
        }
        assert!(none > 2 && unfinished > 10, "{none} no stores, {unfinished} unfinished");
        db.close().unwrap();
    });
}

#[test]
fn a_target_that_is_too_small_is_left_empty() {
    runner::simulate(5, || {
        let (db, _) = filled(5);
        let small = drive(ByteCount::kib(256), 22, 5);
        Fs::format(small.clone(), &FormatOptions::default()).unwrap();
        let fs = Fs::mount(small, &MountOptions::default()).unwrap();
        let error = db.checkpoint(Arc::clone(&fs) as Arc<dyn Store>).unwrap_err();
        assert!(error.is_space(), "{error}");
        assert!(fs.list().is_empty() && !terrace_lsm::is_unfinished_copy(&*fs));
        assert!(fs.audit().is_empty(), "{:?}", fs.audit());
        db.write_with(Batch::new(), Durability::Synced).unwrap();
        db.close().unwrap();
    });
}

#[test]
fn a_copy_that_fails_after_the_format_leaves_nothing_that_passes_for_a_store() {
    runner::simulate(1, || {
        let (db, _) = filled(1);
        let format = FormatOptions::default();
        let mut failed = 0;
        for (kind, spared) in
            [(RequestKind::Read, 1), (RequestKind::Flush, 2), (RequestKind::Write, 40)]
                .into_iter()
                .flat_map(|(kind, step)| (0..12).map(move |nth| (kind, step * nth)))
        {
            let faulty = || {
                let target = drive(ByteCount::mib(1), 64, 2);
                target.set_faults(Some(FaultPlan::new(1).fail(kind, spared)));
                target
            };
            if Fs::format(faulty(), &format).is_err() {
                continue;
            }
            let target = faulty();
            if db.checkpoint_device(target.clone(), &format).is_err() {
                target.set_faults(None);
                assert!(!holds_store(&*target).unwrap(), "{kind:?} after {spared} others");
                failed += 1;
            }
        }
        assert!(failed > 1, "{failed} copies failed");
        db.close().unwrap();
    });
}

#[test]
fn a_copy_may_lie_on_two_devices() {
    runner::simulate(1, || {
        let (db, held) = filled(1);
        let zoned = drive(ByteCount::kib(512), 96, 2);
        let plain = Emulator::in_memory(Geometry::plain(ByteCount::mib(32)), 3).unwrap();
        let devices = Devices::pair(zoned, Arc::new(plain));
        db.checkpoint_device(devices.clone(), &FormatOptions::default()).unwrap();
        let copy = Db::open_device(devices, options()).unwrap();
        check(&copy, &held);
        copy.close().unwrap();
    });
}

#[test]
fn a_store_that_was_opened_and_holds_nothing_is_an_empty_target() {
    runner::simulate(1, || {
        let (db, held) = filled(1);
        let (target, used) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        Db::open(target.clone(), options()).unwrap().close().unwrap();
        assert!(!target.list().is_empty(), "an opening leaves a log");
        db.checkpoint(target.clone()).unwrap();
        let copy = Db::open(target, options()).unwrap();
        check(&copy, &held);
        copy.close().unwrap();
        let other = Db::open(used.clone(), options()).unwrap();
        other.create_key_space("mine").unwrap();
        other.close().unwrap();
        let error = db.checkpoint(used).unwrap_err().to_string();
        assert!(error.contains("empty"), "{error}");
    });
}
