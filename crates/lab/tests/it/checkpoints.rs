//! Checkpoints of a damaged source: the copy is whole, or it fails, names the damage, and leaves
//! the target as empty as it was.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace::{Db, Durability, Fs, MemoryStore, Store};
use terrace_env::random::{Random, Rng};
use terrace_env::store::FileKind;
use terrace_env::{Cause, Lba, runner, test_seeds};
use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
use terrace_fs::inspect::Inspector;
use terrace_fs::{BLOCK, MountOptions};
use terrace_lab::crash::Setup;
use terrace_zone::{Device, Emulator, PowerCut, ZoneState};

type Contents = Vec<(Vec<u8>, Vec<u8>)>;

fn contents(db: &Db) -> Result<Contents, terrace::Error> {
    let mut contents = Contents::new();
    for entry in db.scan(..)? {
        let (key, value) = entry?;
        contents.push((key.to_vec(), value.to_vec()));
    }
    Ok(contents)
}

/// A store with tables of several levels, and a log.
fn filled(setup: &Setup, seed: u64) -> (Arc<Emulator>, Contents) {
    let mut random = Random::seeded(seed);
    let drive = Arc::new(Emulator::in_memory(setup.geometry.clone(), seed).expect("a drive"));
    let db = Db::create_device(drive.clone(), &setup.format, setup.options.clone()).expect("room");
    for number in 0..900_u32 {
        let key = random.random_range(0..400_u32).to_be_bytes();
        db.put(&key, &vec![number as u8; random.random_range(1..500)]).expect("room");
    }
    let held = contents(&db).expect("a sound store");
    db.close().expect("room");
    (drive, held)
}

/// The blocks that anything was written to; on a drive without zones, those that are not zeros.
fn written(drive: &Emulator) -> Vec<Lba> {
    let geometry = drive.geometry();
    if !geometry.layout.is_zoned() {
        let holds = |lba: &Lba| {
            let block = drive.read(*lba, 1, Cause::Recovery).expect("a medium in memory");
            block.iter().any(|byte| *byte != 0)
        };
        return (0..geometry.blocks()).map(Lba).filter(holds).collect();
    }
    let reports = drive.report(terrace_env::ZoneId(0), geometry.zones).expect("a report");
    let written = reports.iter().filter(|report| report.state.has_pointer());
    let partly = written.flat_map(|report| report.start.0..report.write_pointer.0);
    let full = reports.iter().filter(|report| report.state == ZoneState::Full);
    let full = full.flat_map(|report| report.start.0..report.start.0 + report.capacity);
    partly.chain(full).map(Lba).collect()
}

/// Those of them that logs hold.
fn of_logs(drive: &Arc<Emulator>, written: &[Lba]) -> Vec<Lba> {
    let per_block = BLOCK as u64 / u64::from(drive.geometry().logical_block);
    let inspector = Inspector::device(drive.clone()).expect("a sound store");
    let logs: Vec<_> = inspector.list().filter(|file| file.kind == FileKind::Log).collect();
    let maps = logs.iter().map(|log| &inspector.record(log.id).expect("a log").extents);
    let blocks: BTreeSet<u64> = maps
        .flat_map(|map| map.extents())
        .flat_map(|extent| extent.start()..extent.start() + u64::from(extent.blocks))
        .collect();
    written.iter().copied().filter(|lba| blocks.contains(&(lba.0 / per_block))).collect()
}

/// A target, and its drive.
fn target(kind: u64, setup: &Setup) -> (Arc<dyn Store>, Option<Arc<Emulator>>) {
    match kind {
        0 => (Arc::new(MemoryStore::new()), None),
        1 => {
            let files = Arc::new(MemoryFiles::new());
            (DirStore::open_on(files, DirOptions::default()).expect("a directory"), None)
        }
        _ => {
            let drive = Emulator::in_memory(setup.geometry.clone(), 1).expect("a drive");
            let drive = Arc::new(drive);
            Fs::format(drive.clone(), &setup.format).expect("a drive without faults");
            (Fs::mount(drive.clone(), &MountOptions::default()).expect("a mount"), Some(drive))
        }
    }
}

/// Fates of checkpoints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    whole: u32,
    refused: u32,
    unopened: u32,
}

/// Flips a bit of one block of the store and copies it.
fn copy_damaged(
    setup: &Setup,
    source: &Arc<Emulator>,
    held: &Contents,
    random: &mut Random,
    tally: &mut Tally,
) {
    let snapshot = source.snapshot().expect("memory");
    let drive = Arc::new(snapshot.cut(PowerCut::KeepAll, random));
    let mut blocks = written(&drive);
    // Logs are a small part of it.
    let logs = of_logs(&drive, &blocks);
    if !logs.is_empty() && random.random_bool(0.4) {
        blocks = logs;
    }
    let lba = blocks[random.random_range(0..blocks.len())];
    let (read_only, early) = (random.random_bool(0.3), random.random_bool(0.5));
    let options = setup.options.clone().read_only(read_only);
    let spoil = |random: &mut Random| {
        let bit = random.random_range(0..8);
        drive.corrupt(lba, |bytes| {
            let at = random.random_range(0..bytes.len());
            bytes[at] ^= 1 << bit;
        })
    };
    if early {
        spoil(random).expect("a written block");
    }
    let Ok(db) = Db::open_device(drive.clone(), options) else {
        tally.unopened += 1;
        return;
    };
    if !early && spoil(random).is_err() {
        return;
    }
    let (target, on) = target(random.random_range(0..3), setup);
    let what = format!("block {lba}, read-only {read_only}, damaged early {early}");
    let copied = db.checkpoint(Arc::clone(&target));
    let options = setup.options.clone();
    match copied {
        Ok(_) => {
            let copy = Db::open(Arc::clone(&target), options).expect("a checkpoint");
            let found = contents(&copy).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(found == *held, "{what}: other contents, without a word");
            copy.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
            copy.close().expect("room");
            tally.whole += 1;
        }
        Err(error) => {
            assert!(error.is_corruption(), "{what}: {error}");
            let text = error.to_string();
            assert!(text.contains("expected") && text.contains("found"), "{what}: {text}");
            assert!(target.list().is_empty(), "{what}: files are left");
            let copy = Db::open(Arc::clone(&target), options).expect("an empty target");
            assert_eq!(contents(&copy).expect("an empty store"), Contents::new(), "{what}");
            assert_eq!(copy.key_spaces(), ["default"], "{what}");
            copy.close().expect("room");
            tally.refused += 1;
        }
    }
    drop(target);
    if let Some(drive) = on {
        let report = Fs::check(drive as Arc<dyn Device>).expect("a check");
        assert!(report.is_clean(), "{what}: {:?}", report.problems);
    }
    // Where the damage was met the source goes on.
    if !read_only && let Err(error) = db.write_with(terrace::Batch::new(), Durability::Synced) {
        assert!(error.is_corruption(), "{what}: {error}");
    }
    drop(db.close());
}

/// Copies of one store, damaged at many places.
pub(crate) fn damage_sources(seed: u64, tally: &mut Tally) {
    runner::simulate(seed, || {
        let mut setup = Setup::small(seed);
        // Cached blocks are not read from the drive.
        setup.options.file_cache = terrace::ByteCount(0);
        let (source, held) = filled(&setup, seed);
        let mut random = Random::seeded(seed);
        for _ in 0..25 {
            copy_damaged(&setup, &source, &held, &mut random, tally);
        }
    });
}

#[test]
fn a_copy_of_a_damaged_store_is_whole_or_refused_with_the_damage_by_name() {
    let mut tally = Tally::default();
    test_seeds(40).for_each(|seed| damage_sources(seed, &mut tally));
    println!("{tally:?}");
    assert!(tally.whole > 10 && tally.refused > 10, "{tally:?}");
}
