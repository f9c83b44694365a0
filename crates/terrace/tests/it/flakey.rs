//! Stores on devices whose writes fail or vanish for a while: the kernel's `dm-flakey` lies over
//! the devices that the variable `TERRACE_FLAKEY` names, with spaces between them. All data on them
//! are lost. `cargo xtask guest` runs the test in a virtual machine.
//!
//! On zones `dm-flakey` is less than its faults ([`Fault`]) on other devices:
//!
//! - It never fails or drops a reset, an open, a close or a finish. So writes that are dropped are
//!   like a power cut on a device without zones only: on zones, the reset that follows a dropped
//!   write takes effect.
//! - The mapped device shows no limits of open and active zones. The store would open more than the
//!   device below allows, so that device must have none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use terrace::{Db, Durability, ErrorKind, FormatOptions};
use terrace_env::test_seeds;
use terrace_zone::linux::{BlockDevice, Listed, Usage, ZoneModel};
use terrace_zone::{Access, Device, DeviceError};

use crate::kills::{contents, expected};
use crate::kills_child::{Contents, last, options, write};
use crate::linux_devices::{Outcome, assert_typed, compare};

/// Writes before the fault, and tried writes after it began.
const WRITES: u64 = 250;

/// A fault of `dm-flakey`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Writes fail.
    WritesFail,
    /// Reads and writes fail.
    AllFails,
    /// Writes and flushes succeed and have no effect.
    WritesVanish,
}

/// A device with a fault that can be switched, until it is dropped.
struct Flakey {
    below: PathBuf,
    sectors: u64,
}

impl Flakey {
    const NAME: &'static str = "flakey";

    fn new(below: &Path) -> Self {
        let device = BlockDevice::open(below, Access::ReadOnly).expect("a device");
        let sectors = device.geometry().blocks() * u64::from(device.geometry().logical_block) / 512;
        drop(device);
        let flakey = Self { below: below.to_owned(), sectors };
        Self::dmsetup(&["create", Self::NAME, "--table", &flakey.table(None)]);
        flakey
    }

    fn path(&self) -> PathBuf {
        Path::new("/dev/mapper").join(Self::NAME)
    }

    /// Sets the fault of the device, or none.
    fn turn(&self, fault: Option<Fault>) {
        Self::dmsetup(&["suspend", "--nolockfs", Self::NAME]);
        Self::dmsetup(&["load", Self::NAME, "--table", &self.table(fault)]);
        Self::dmsetup(&["resume", Self::NAME]);
    }

    fn table(&self, fault: Option<Fault>) -> String {
        // Seconds without the fault, and with it.
        let rest = match fault {
            None => "3600 0",
            Some(Fault::WritesFail) => "0 3600 1 error_writes",
            Some(Fault::AllFails) => "0 3600",
            Some(Fault::WritesVanish) => "0 3600 1 drop_writes",
        };
        format!("0 {} flakey {} 0 {rest}", self.sectors, self.below.display())
    }

    fn dmsetup(arguments: &[&str]) {
        // Without `udev`, it makes the node itself.
        let ended = Command::new("dmsetup").env("DM_DISABLE_UDEV", "1").args(arguments).output();
        let ended = ended.expect("dmsetup");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "dmsetup {arguments:?}: {told}");
    }
}

impl Drop for Flakey {
    fn drop(&mut self) {
        Self::dmsetup(&["remove", "--retry", Self::NAME]);
    }
}

fn open(path: &Path) -> Arc<dyn Device> {
    let device = BlockDevice::open(path, Access::ReadWrite);
    Arc::new(device.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Loads a store, lets its device fail meanwhile, and opens it when the device works again.
fn fail(path: &Path, fault: Fault, seed: u64) -> Outcome {
    let flakey = Flakey::new(path);
    let options = || options(false).durability(Some(Durability::Synced));
    let db = Db::create_device(open(&flakey.path()), &FormatOptions::default(), options());
    let db = db.unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let (mut held, mut outcome) = (Contents::new(), Outcome::default());
    for number in 1..=WRITES {
        db.write(write(seed, number, &mut held)).expect("a write to a sound device");
    }
    flakey.turn(Some(fault));
    let (mut acknowledged, mut begun) = (WRITES, WRITES);
    for number in WRITES + 1..=2 * WRITES {
        begun = number;
        match db.write(write(seed, number, &mut held)) {
            Ok(()) => outcome.written += 1,
            Err(error) => {
                // A job may read a table back whose writes have vanished.
                let is_corrupt = error.origin() == ErrorKind::Corruption;
                if fault != Fault::WritesVanish || !is_corrupt {
                    assert_typed(&error, "a write");
                }
                println!("write {number}: {error}");
                outcome.refused += 1;
                break;
            }
        }
        if fault != Fault::WritesVanish {
            acknowledged = number;
        }
    }
    if fault == Fault::WritesFail {
        // Successful reads are right while writes fail.
        compare(&db, seed, acknowledged, begun, &mut outcome);
    }
    match db.close() {
        Err(error) if fault != Fault::WritesVanish => assert_typed(&error, "a close"),
        _ => {}
    }
    flakey.turn(None);
    let db = Db::open_device(open(&flakey.path()), options());
    let db = db.unwrap_or_else(|error| panic!("{path:?}, {fault:?}, seed {seed}: {error}"));
    outcome.opened = true;
    let at = last(&db);
    assert!((acknowledged..=begun).contains(&at), "{fault:?}: {acknowledged} to {begun}: {at}");
    assert!(fault != Fault::WritesVanish || at < begun, "nothing has vanished");
    assert_eq!(contents(&db), expected(seed, at), "{path:?}, {fault:?}, seed {seed}");
    db.verify().expect("clean tables");
    // The store goes on.
    held = expected(seed, at);
    for number in at + 1..=at + 50 {
        db.write(write(seed, number, &mut held)).expect("a write to a sound device");
    }
    db.close().expect("a close");
    let device = BlockDevice::open(flakey.path(), Access::ReadOnly).expect("a device");
    let report = terrace::fs::Fs::check(Arc::new(device)).expect("a check");
    assert!(report.is_clean(), "{:?}", report.problems);
    outcome
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn writes_that_fail_or_vanish_take_nothing_back_that_was_synced() {
    let named = std::env::var("TERRACE_FLAKEY").unwrap_or_default();
    let paths: Vec<PathBuf> = named.split_whitespace().map(PathBuf::from).collect();
    assert!(!paths.is_empty(), "TERRACE_FLAKEY: expected paths of devices, found none");
    for path in paths {
        let is_zoned = BlockDevice::probe(&path).expect("a device") != Some(ZoneModel::None);
        for seed in test_seeds(1) {
            for fault in [Fault::WritesFail, Fault::AllFails, Fault::WritesVanish] {
                if is_zoned && fault == Fault::WritesVanish {
                    continue;
                }
                let outcome = fail(&path, fault, seed);
                println!("{}, seed {seed}, {fault:?}: {outcome:?}", path.display());
                let vanish = fault == Fault::WritesVanish;
                assert!(vanish || outcome.refused == 1, "{path:?}, {fault:?}");
            }
        }
        assert_in_use(&path);
    }
}

/// A device that is part of a mapping is refused, and the list says so.
fn assert_in_use(path: &Path) {
    let _flakey = Flakey::new(path);
    let refused = BlockDevice::open(path, Access::ReadWrite);
    assert!(matches!(refused, Err(DeviceError::InUse { .. })), "{path:?}: {refused:?}");
    let listed = Listed::all().expect("the devices");
    let listed = listed.iter().find(|listed| listed.path == path).expect("this device");
    assert!(matches!(&listed.usage, Usage::Kernel(by) if by[0].starts_with("part of dm-")));
}
