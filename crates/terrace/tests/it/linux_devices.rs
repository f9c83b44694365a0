//! Stores on block devices of Linux. The tests run on the devices that the variable
//! `TERRACE_DEVICES` names, with spaces between them: all data on them are lost. `cargo xtask
//! guest` runs them in a virtual machine.
//!
//! Zones can be made to fail on devices of `null_blk` only, by attributes in configfs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::{Db, Durability, Error, ErrorKind, FormatOptions};
use terrace_env::random::{Random, Rng};
use terrace_env::{ZoneId, test_seeds};
use terrace_zone::linux::BlockDevice;
use terrace_zone::{Access, Device, ZoneState, ZoneType};

use crate::kills::{expected, kill_at};
use crate::kills_child::{AT, Contents, last, open, options, write};

/// The devices to test. With none, the test could not fail.
fn devices() -> Vec<PathBuf> {
    let named = std::env::var("TERRACE_DEVICES").unwrap_or_default();
    let paths: Vec<PathBuf> = named.split_whitespace().map(PathBuf::from).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected paths of devices, found none");
    paths
}

/// Makes an empty store on a device with any contents.
fn format(path: &Path) -> (Arc<BlockDevice>, Db) {
    let device = Arc::new(BlockDevice::open(path, Access::ReadWrite).expect("a device"));
    let options = options(false).durability(Some(Durability::Synced));
    let drive = Arc::clone(&device) as Arc<dyn Device>;
    let db = Db::create_device(drive, &FormatOptions::default(), options);
    (device, db.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn a_load_that_is_killed_loses_nothing_on_each_device() {
    for path in devices() {
        format(&path).1.close().expect("a close");
        let copies = tempfile::tempdir().expect("a directory");
        let copies = copies.path().join("store");
        for seed in test_seeds(1) {
            let (done, lost) = kill_at(&path, &copies, Durability::Synced, seed, 2, 20);
            assert!(done >= 40, "{path:?}: the kills came after {done} writes");
            assert_eq!(lost, 0, "{path:?}");
        }
    }
}

/// The folder in configfs of a device of `null_blk`.
fn attributes(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix("nullb")?;
    Some(Path::new("/sys/kernel/config/nullb").join(format!("nullb{name}")))
}

/// Changes the condition of a zone. A zone that already has it becomes empty and usable.
fn turn(path: &Path, device: &BlockDevice, zone: ZoneId, condition: ZoneState) {
    let geometry = device.geometry();
    let sector = geometry.zone_start(zone).0 * u64::from(geometry.logical_block) / 512;
    let name = if condition == ZoneState::Offline { "zone_offline" } else { "zone_readonly" };
    let attribute = attributes(path).expect("a device of null_blk").join(name);
    let written = std::fs::write(&attribute, sector.to_string());
    written.unwrap_or_else(|error| panic!("{}: {error}", attribute.display()));
}

/// State of a store some of whose zones failed while it was written.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) written: u64,
    pub(crate) refused: u64,
    read: usize,
    unreadable: usize,
    pub(crate) opened: bool,
}

/// Checks an error of the medium, or of the stop that it caused.
pub(crate) fn assert_typed(error: &Error, doing: &str) {
    let kinds = [error.kind(), error.origin()];
    let fits =
        |kind: &ErrorKind| matches!(kind, ErrorKind::Io | ErrorKind::ReadOnly | ErrorKind::NoSpace);
    assert!(kinds.iter().any(fits), "{doing}: {kinds:?}: {error}");
}

/// For every key with an acknowledged last write, its value must be found or its read must fail.
/// `begun` is the newest write that was begun, acknowledged or not.
pub(crate) fn compare(db: &Db, seed: u64, acknowledged: u64, begun: u64, outcome: &mut Outcome) {
    let at = match db.get(AT) {
        Ok(_) => last(db),
        Err(error) => {
            assert_typed(&error, "the read of the number");
            outcome.unreadable += 1;
            return;
        }
    };
    assert!((acknowledged..=begun).contains(&at), "expected {acknowledged} to {begun}, found {at}");
    for (key, value) in expected(seed, at) {
        match db.get(&key) {
            Ok(found) => {
                assert_eq!(found.as_deref(), Some(&value[..]), "{key:?} after {at} writes");
                outcome.read += 1;
            }
            Err(error) => {
                assert_typed(&error, "a read");
                outcome.unreadable += 1;
            }
        }
    }
}

/// Writes before zones fail, and tried writes after that.
const BEFORE: u64 = 250;

/// Fills a store, lets zones with data fail under its load, and reads, before and after another
/// opening.
fn fail_zones(path: &Path, condition: ZoneState, seed: u64) -> Outcome {
    let (device, db) = format(path);
    let (mut held, mut random, mut outcome) =
        (Contents::new(), Random::seeded(seed), Outcome::default());
    for number in 1..=BEFORE {
        db.write(write(seed, number, &mut held)).expect("a write to a sound device");
    }
    let reports = device.report(ZoneId(0), device.geometry().zones).expect("a report");
    let mut used: Vec<ZoneId> = reports
        .iter()
        .filter(|one| one.zone_type == ZoneType::Sequential)
        // `null_blk` may keep the slot of a closed zone that fails.
        .filter(|one| one.state.is_open() || one.state == ZoneState::Full)
        .map(|one| one.zone)
        .collect();
    let failing: Vec<ZoneId> = (0..used.len().div_ceil(3))
        .map(|_| used.swap_remove(random.random_range(0..used.len())))
        .collect();
    assert!(!failing.is_empty(), "{reports:?}");
    for zone in &failing {
        turn(path, &device, *zone, condition);
    }
    let (mut acknowledged, mut begun) = (BEFORE, BEFORE);
    for number in BEFORE + 1..=2 * BEFORE {
        begun = number;
        match db.write(write(seed, number, &mut held)) {
            Ok(()) => {
                acknowledged = number;
                outcome.written += 1;
            }
            // A refused write may have taken effect or not: no other one is written after it.
            Err(error) => {
                assert_typed(&error, "a write");
                outcome.refused += 1;
                break;
            }
        }
    }
    compare(&db, seed, acknowledged, begun, &mut outcome);
    if let Err(error) = db.close() {
        assert_typed(&error, "a close");
    }
    drop(device);
    let drive = BlockDevice::open(path, Access::ReadOnly).expect("a device");
    match Db::open_device(Arc::new(drive) as Arc<dyn Device>, options(true)) {
        Ok(db) => {
            outcome.opened = true;
            compare(&db, seed, acknowledged, begun, &mut outcome);
            db.close().expect("a close");
        }
        Err(error) => assert_typed(&error, "an opening"),
    }
    let device = BlockDevice::open(path, Access::ReadOnly).expect("a device");
    for zone in &failing {
        let state = device.report(*zone, 1).expect("a report")[0].state;
        assert_eq!(state, condition, "zone {zone}");
        turn(path, &device, *zone, condition);
    }
    outcome
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn zones_that_fail_under_a_store_lose_nothing_silently() {
    let paths: Vec<PathBuf> = devices().into_iter().filter(|p| attributes(p).is_some()).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected a device of null_blk, found none");
    for path in paths {
        for seed in test_seeds(1) {
            for condition in [ZoneState::ReadOnly, ZoneState::Offline] {
                let outcome = fail_zones(&path, condition, seed);
                println!("{}, seed {seed}, {condition:?}: {outcome:?}", path.display());
                // Zones that can only be read are still read.
                let all = outcome.opened && outcome.unreadable == 0;
                assert!(
                    all || condition == ZoneState::Offline,
                    "{path:?}, seed {seed}: {outcome:?}"
                );
            }
        }
        open_again(&path);
    }
}

/// The zones of the device work again.
fn open_again(path: &Path) {
    format(path).1.close().expect("a close");
    open(path, options(false)).close().expect("a close");
}
