//! Devices of a store that are copies of different ages: such devices are refused, and copies of
//! one age are not.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::random::Random;
use terrace_fs::superblock::SuperblockArea;
use terrace_fs::{Access, Devices, Fs, MountOptions};
use terrace_zone::emulator::Drives;
use terrace_zone::{Device, Emulator, Geometry, PowerCut, ZoneState};

use crate::drive::{audit, formatted_with_log, mount};

/// Copies of both drives, taken while nothing uses them.
fn copies(drives: &Drives) -> [Arc<Emulator>; 2] {
    let copies = drives.snapshot().expect("copies").cut(PowerCut::KeepAll, &mut Random::seeded(1));
    let [tables, logs] = copies.all() else { panic!("two drives") };
    [Arc::clone(tables), Arc::clone(logs)]
}

fn pair(tables: &Arc<Emulator>, logs: &Arc<Emulator>) -> Devices {
    Devices::pair(Arc::clone(tables) as _, Arc::clone(logs) as _)
}

/// A mount that writes, and its end.
fn life(devices: impl Into<Devices>) {
    audit(&mount(devices), false);
}

/// The error of mounts and of a check, which all refuse the devices.
fn refusal(devices: &Devices) -> String {
    let error = |access| {
        let options = MountOptions { access, ..MountOptions::default() };
        Fs::mount(devices.clone(), &options).expect_err("copies of two ages").to_string()
    };
    let said = error(Access::ReadWrite);
    assert_eq!(error(Access::ReadOnly), said);
    assert_eq!(Fs::check(devices.clone()).expect_err("copies of two ages").to_string(), said);
    said
}

#[test]
fn a_device_that_is_an_older_copy_than_the_other_is_refused_by_its_number() {
    for conventional in [vec![], vec![0..1, 9..11]] {
        let zoned = Geometry { conventional, ..Geometry::uniform(ByteCount::kib(256), 40) };
        let drives = formatted_with_log(zoned, ByteCount::mib(8), 1);
        life(&drives);
        let [old_tables, old_logs] = copies(&drives);
        life(&drives);
        let [tables, logs] = copies(&drives);
        for (number, devices) in [(0, pair(&old_tables, &logs)), (1, pair(&tables, &old_logs))] {
            let said = refusal(&devices);
            assert!(said.contains(&format!("expected device {number} of store")), "{said}");
            assert!(said.contains("an older copy"), "{said}");
        }
        life(pair(&tables, &logs));
        // These go on from where the others were: neither device is older.
        life(pair(&old_tables, &old_logs));
        let [tables, logs] = copies(&drives);
        for devices in [pair(&old_tables, &logs), pair(&tables, &old_logs)] {
            let said = refusal(&devices);
            assert!(said.contains("written apart, both at mount"), "{said}");
        }
    }
}

#[test]
fn a_store_that_was_only_read_since_goes_with_its_copies() {
    let drives =
        formatted_with_log(Geometry::uniform(ByteCount::kib(256), 40), ByteCount::mib(8), 2);
    let [first_tables, first_logs] = copies(&drives);
    life(&drives);
    let [old_tables, _] = copies(&drives);
    let options = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
    drop(Fs::mount(&drives, &options).expect("a store that is read"));
    let [_, logs] = copies(&drives);
    life(pair(&old_tables, &logs));
    // Neither goes with a copy from before the first mount.
    let [tables, logs] = copies(&drives);
    for (number, devices) in [(0, pair(&first_tables, &logs)), (1, pair(&tables, &first_logs))] {
        let said = refusal(&devices);
        assert!(said.contains(&format!("expected device {number} of store")), "{said}");
    }
    life(pair(&first_tables, &first_logs));
}

#[test]
fn a_store_is_written_though_its_marks_cannot_be_kept_any_more() {
    let drives =
        formatted_with_log(Geometry::uniform(ByteCount::kib(256), 40), ByteCount::mib(8), 3);
    life(&drives);
    let [tables, logs] = drives.all() else { panic!("two drives") };
    let (area, _) = SuperblockArea::find(Arc::clone(tables) as Arc<dyn Device>).expect("its place");
    for zone in area.zones() {
        tables.set_zone_condition(zone, ZoneState::ReadOnly).expect("a zone");
    }
    life(&drives);
    life(pair(tables, logs));
}
