//! A store on two devices: errors for devices that do not belong together, operation when one of
//! them fails or is full, and the device of each file.

use std::sync::Arc;

use terrace_env::checksum::crc32c;
use terrace_env::random::Random;
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, PlacementHint, Rank, Store, StoreError, Transaction,
};
use terrace_env::{ByteCount, Cause, DeviceId, FileId, IoBuf, Lba, ZoneId};
use terrace_fs::inspect::Inspector;
use terrace_fs::superblock::Role;
use terrace_fs::{Access, BLOCK, Devices, FormatOptions, Fs, MountOptions, second_device};
use terrace_zone::emulator::{Drives, FaultPlan, RequestKind};
use terrace_zone::{Device, Emulator, Geometry, PowerCut, ZoneState};

use crate::cuts::facts::{note, pattern};
use crate::drive::{audit, formatted_with_log, mount};

fn drives(seed: u64) -> Drives {
    formatted_with_log(Geometry::uniform(ByteCount::kib(256), 40), ByteCount::mib(8), seed)
}

fn options(kind: FileKind) -> CreateOptions<'static> {
    CreateOptions {
        kind,
        hint: PlacementHint::default(),
        size: None,
        rank: if kind == FileKind::Log { Rank::Log } else { Rank::Flush },
        reservation: None,
        group: None,
        offload: false,
        cause: Cause::Client,
    }
}

/// Writes a file of this kind and seals it.
fn write(fs: &Fs, kind: FileKind, len: usize) -> Result<FileId, StoreError> {
    let mut writer = fs.create(&options(kind))?;
    let id = writer.id();
    writer.append(&pattern(id.0, 0, len))?;
    writer.finish()?;
    let mut transaction = Transaction::new();
    transaction.seal(id, note("two"));
    fs.commit(transaction).map(|()| id)
}

/// A log that the catalog knows, with some bytes synced.
fn log(fs: &Fs, len: usize) -> Result<Box<dyn FileWriter>, StoreError> {
    let mut writer = fs.create(&options(FileKind::Log))?;
    let mut transaction = Transaction::new();
    transaction.create(writer.id(), note("log"));
    fs.commit(transaction)?;
    writer.append(&pattern(writer.id().0, 0, len))?;
    writer.sync().map(|()| writer)
}

fn holds(fs: &Fs, id: FileId, len: usize) {
    let mut bytes = vec![0; len];
    fs.open(id).expect("a file").read_at(0, &mut bytes, Cause::Read).expect("a read");
    assert!(bytes == pattern(id.0, 0, len), "file {id}");
}

fn refused(devices: impl Into<Devices>) -> String {
    let devices = devices.into();
    let error = Fs::mount(devices.clone(), &MountOptions::default());
    let error = error.expect_err("devices that are none of one store").to_string();
    let checked = Fs::check(devices);
    assert!(checked.is_err() || !checked.unwrap().is_clean(), "a check finds it, too");
    error
}

#[test]
fn journal_and_logs_lie_on_the_plain_device_and_tables_on_the_zoned_one() {
    let drives = drives(1);
    let fs = mount(&drives);
    let (table, sealed) = (write(&fs, FileKind::Table, 300_000), write(&fs, FileKind::Log, 70_000));
    let client = write(&fs, FileKind::Client, 10_000).expect("a file");
    let (table, sealed) = (table.expect("a table"), sealed.expect("a log"));
    let open = log(&fs, 9_000).expect("a log");
    let device = |id| fs.place_of(id, 0).map(|(at, zone)| (at.device(), zone.is_some()));
    assert_eq!(device(table), Some((DeviceId(0), true)));
    assert_eq!(device(client), Some((DeviceId(0), true)));
    assert_eq!(device(sealed), Some((DeviceId(1), false)));
    assert_eq!(device(open.id()), Some((DeviceId(1), false)));
    let [of_tables, of_logs] = &fs.devices()[..] else { panic!("two devices") };
    assert!(of_tables.holds_tables && !of_tables.holds_logs);
    assert!(of_logs.holds_logs && !of_logs.holds_tables);
    let (zoned, plain) = (drives.all()[0].io(), drives.all()[1].io());
    for (cause, here, there) in [(Cause::Journal, &plain, &zoned), (Cause::Log, &plain, &zoned)] {
        assert_eq!(there.written(cause), ByteCount(0), "{cause:?}");
        assert!(cause == Cause::Log || here.written(cause) > ByteCount(0), "{cause:?}");
    }
    drop(open);
    let error = Fs::check(&drives).expect_err("a check of a store that is written");
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    audit(&fs, false);
    let report = Fs::check(&drives).expect("a check");
    assert!(report.is_clean(), "{:?}", report.problems);
    assert!(report.devices.iter().all(|device| device.extents > 0), "{:?}", report.devices);
}

#[test]
fn a_synced_log_needs_its_own_device_alone() {
    let drives = drives(2);
    let fs = mount(&drives);
    let mut log = log(&fs, 9_000).expect("a log");
    let before = drives.all()[0].io();
    for _ in 0..10 {
        log.append(&[7; 5000]).expect("an append");
        log.sync().expect("a sync");
    }
    assert_eq!(drives.all()[0].io(), before, "the zoned drive was asked for something");
}

#[test]
fn devices_that_do_not_belong_together_are_refused_by_name() {
    let (one, other) = (drives(3), drives(4));
    let [zoned, plain] = one.all() else { panic!("two drives") };
    let alone = refused(zoned);
    assert!(
        alone.contains("journal and logs on device 1") && alone.contains("found none"),
        "{alone}"
    );
    let with = |zoned: &Arc<Emulator>, plain: &Arc<Emulator>| {
        Devices::pair(Arc::clone(zoned) as _, Arc::clone(plain) as _)
    };
    let swapped = refused(with(plain, zoned));
    assert!(swapped.contains("expected a plain device, found"), "{swapped}");
    let wrong = refused(with(zoned, &other.all()[1]));
    assert!(wrong.contains("expected device 1 of store"), "{wrong}");
    assert!(wrong.contains("found device 1 of store"), "{wrong}");
    let twice = refused(with(zoned, &other.all()[0]));
    assert!(twice.contains("expected a plain device"), "{twice}");
    let empty = Emulator::in_memory(Geometry::plain(ByteCount::mib(8)), 1).expect("a drive");
    let empty = refused(with(zoned, &Arc::new(empty)));
    assert!(empty.contains("device 1: no file system here"), "{empty}");
    let single = crate::drive::formatted(Geometry::uniform(ByteCount::kib(256), 40), 5);
    let surplus = refused(with(&single, plain));
    assert!(surplus.contains("expected no other device"), "{surplus}");
    let other_store = crate::drive::formatted(Geometry::plain(ByteCount::mib(16)), 6);
    let strange = with(&single, &other_store);
    assert!(refused(strange.clone()).contains("expected no other device"));
    let seen = Inspector::device(strange).expect("drives that can be read");
    assert!(!seen.damage().is_empty(), "the second device belongs to another store");
    let shapes = [zoned, plain, plain].map(|drive| drive.geometry().clone());
    let three = Drives::in_memory(shapes, 7).expect("three drives");
    let error = Fs::format(&three, &FormatOptions::default()).expect_err("three devices");
    assert!(error.to_string().contains("at most 2 devices, found 3"), "{error}");
    drop(mount(&one));
    let seen = Inspector::device(Devices::from(zoned)).expect("a drive that can be read");
    assert!(!seen.damage().is_empty(), "the journal is missing");
}

#[test]
fn a_log_device_that_is_too_small_is_refused() {
    let zoned =
        Emulator::in_memory(Geometry::uniform(ByteCount::kib(256), 40), 1).expect("a drive");
    let plain = Emulator::in_memory(Geometry::plain(ByteCount::mib(5)), 1).expect("a drive");
    let small = Drives::from(vec![zoned, plain]);
    let error = Fs::format(&small, &FormatOptions::default()).expect_err("too small").to_string();
    assert!(error.contains("device 1: expected a plain device of at least 8 MiB"), "{error}");
}

#[test]
fn bytes_of_a_log_that_look_like_a_newer_superblock_are_passed_over() {
    let drives = drives(6);
    let plain = &drives.all()[1];
    let superblock = plain.read(Lba(0), 1, Cause::Superblock).expect("a superblock");
    let mut forged = IoBuf::copy_of(&superblock);
    // Another version, a later generation.
    forged[8] = 9;
    forged[28..36].fill(0x7f);
    let crc = crc32c(&forged[..BLOCK - 4]);
    forged[BLOCK - 4..].copy_from_slice(&crc.to_le_bytes());
    // The last stretch of the device, where a full one has logs.
    let stretch = Lba(7 * (1 << 20) / BLOCK as u64);
    plain.write(stretch, forged, true, Cause::Log).expect("a write");
    mount(&drives);
}

#[test]
fn the_superblock_remembers_where_the_log_device_was() {
    let drives = drives(6);
    let options = FormatOptions { second_path: "fast.img".into(), ..FormatOptions::default() };
    Fs::format(&drives, &options).expect("a store");
    let zoned = Arc::clone(drives.first()) as Arc<dyn Device>;
    let (role, member) = second_device(&zoned).expect("a superblock").expect("a log device");
    assert_eq!(role, Role::Log);
    assert_eq!((&*member.path, member.capacity), ("fast.img", ByteCount::mib(8)));
}

#[test]
fn a_full_log_device_is_named_and_deletes_make_room_on_it() {
    let drives = drives(7);
    let fs = mount(&drives);
    let mut logs = Vec::new();
    let full = loop {
        match write(&fs, FileKind::Log, 300_000) {
            Ok(id) => logs.push(id),
            Err(error) => break error,
        }
    };
    let named = matches!(full, StoreError::NoSpace { device: Some(DeviceId(1)), .. });
    assert!(named && full.to_string().contains("no space on device 1"), "{full}");
    assert!(logs.len() > 3, "{} logs", logs.len());
    // Tables have a device of their own; and deletes are logged in the space that puts leave to
    // them.
    write(&fs, FileKind::Table, 300_000).expect("a table");
    let mut urgent = options(FileKind::Log);
    urgent.rank = Rank::UrgentLog;
    let mut writer = fs.create(&urgent).expect("a log");
    writer.append(&[1; 3000]).expect("an append");
    writer.sync().expect("a log of deletes");
    drop(writer);
    for (index, id) in logs.iter().enumerate() {
        if index % 2 == 0 {
            let mut transaction = Transaction::new();
            transaction.delete(*id);
            fs.commit(transaction).expect("a delete");
        } else {
            holds(&fs, *id, 300_000);
        }
    }
    write(&fs, FileKind::Log, 500_000).expect("room again, in pieces");
    audit(&fs, false);
}

/// The device of the tables has a superblock of its own, and neither journal nor logs.
#[test]
fn tables_on_a_plain_device_leave_its_superblock_alone_however_full_it_is() {
    let drives = formatted_with_log(Geometry::plain(ByteCount::mib(16)), ByteCount::mib(8), 9);
    for round in 0..3 {
        let fs = mount(&drives);
        let mut files = Vec::new();
        let full = loop {
            match write(&fs, FileKind::Table, 100_000) {
                Ok(id) => files.push(id),
                Err(error) => break error,
            }
        };
        assert!(full.is_space() && files.len() > 80, "round {round}: {full}");
        drop(fs);
        let fs = mount(&drives);
        files.iter().for_each(|id| holds(&fs, *id, 100_000));
        let mut transaction = Transaction::new();
        for id in files {
            transaction.delete(id);
        }
        fs.commit(transaction).expect("a commit");
        audit(&fs, false);
        drop(fs);
        assert!(Fs::check(&drives).expect("a check").is_clean(), "round {round}");
    }
}

#[test]
fn a_full_zoned_device_is_named() {
    let drives = drives(8);
    let fs = mount(&drives);
    let full = loop {
        if let Err(error) = write(&fs, FileKind::Table, 400_000) {
            break error;
        }
    };
    assert!(matches!(full, StoreError::NoSpace { device: Some(DeviceId(0)), .. }), "{full}");
    log(&fs, 50_000).expect("a log on the other device");
}

#[test]
fn tables_stay_readable_when_the_log_device_goes_offline() {
    let drives = drives(9);
    let fs = mount(&drives);
    let table = write(&fs, FileKind::Table, 300_000).expect("a table");
    let mut log = log(&fs, 9_000).expect("a log");
    drives.all()[1].set_zone_condition(ZoneId(0), ZoneState::Offline).expect("a drive that fails");
    holds(&fs, table, 300_000);
    log.append(&[1; 100]).expect("an append");
    let error = log.sync().expect_err("a log on a device that is gone").to_string();
    assert!(error.contains("device 1"), "{error}");
    drop(log);
    let error = write(&fs, FileKind::Table, 1000).expect_err("a commit without a journal");
    assert!(error.to_string().contains("device 1"), "{error}");
    holds(&fs, table, 300_000);
    drop(fs);
    let error = refused(&drives);
    assert!(error.contains("device 1"), "{error}");
}

#[test]
fn logs_stay_readable_when_the_zoned_device_fails() {
    let drives = drives(10);
    let fs = mount(&drives);
    let table = write(&fs, FileKind::Table, 300_000).expect("a table");
    let sealed = write(&fs, FileKind::Log, 70_000).expect("a log");
    for zone in drives.first().geometry().zone_ids() {
        drives.first().set_zone_condition(zone, ZoneState::Offline).expect("a drive that fails");
    }
    holds(&fs, sealed, 70_000);
    let log = log(&fs, 9_000);
    assert!(log.is_err() || log.is_ok_and(|log| log.len() == 9_000));
    let mut bytes = vec![0; 10];
    let read = fs.open(table).expect("a file").read_at(0, &mut bytes, Cause::Read);
    assert!(read.is_err(), "the table is gone");
}

#[test]
fn blocks_under_a_failed_write_of_the_log_device_are_left_alone_until_the_next_mount() {
    let drives = drives(11);
    let fs = mount(&drives);
    let mut writer = log(&fs, 9_000).expect("a log");
    drives.all()[1].set_faults(Some(FaultPlan::new(3).fail(RequestKind::Write, 0)));
    let before = fs.devices()[1].space.free;
    writer.append(&pattern(writer.id().0, 9_000, 70_000)).expect("an append");
    writer.sync().expect("a log that goes on elsewhere");
    drives.all()[1].set_faults(None);
    assert!(fs.devices()[1].space.free < before);
    holds(&fs, writer.id(), 79_000);
    let id = writer.id();
    drop(writer);
    audit(&fs, false);
    let fs = mount(&drives);
    assert!(fs.devices()[1].space.free > ByteCount::mib(2), "{:?}", fs.devices()[1].space);
    holds(&fs, id, 79_000);
}

#[test]
fn a_store_goes_on_after_one_of_its_drives_has_lost_its_power() {
    for (seed, lost) in (0..16).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let drives = drives(100 + seed);
        let fs = mount(&drives);
        let table = write(&fs, FileKind::Table, 300_000).expect("a table");
        let writer = log(&fs, 9_000).expect("a log");
        // Not sealed, not synced: gone.
        let mut half = fs.create(&options(FileKind::Table)).expect("a table");
        half.append(&[1; 100_000]).expect("an append");
        let mut random = Random::seeded(seed);
        let cut = PowerCut::any(&mut random);
        drives.all()[lost].power_cut(cut, &mut random).expect("a medium in memory");
        let failed = write(&fs, FileKind::Table, 1000).expect_err("a drive without power");
        assert!(failed.to_string().contains("power"), "{failed}");
        let id = writer.id();
        drop((half, writer));
        fs.unmount();
        drop(fs);
        drives.all()[lost].power_on();
        let fs = mount(&drives);
        holds(&fs, table, 300_000);
        holds(&fs, id, 9_000);
        write(&fs, FileKind::Table, 300_000).expect("a table");
        audit(&fs, false);
        let report = Fs::check(&drives).expect("a check");
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}

#[test]
fn a_flipped_bit_on_either_device_is_found_by_a_check() {
    let drives = drives(12);
    let fs = mount(&drives);
    let table = write(&fs, FileKind::Table, 300_000).expect("a table");
    let sealed = write(&fs, FileKind::Log, 70_000).expect("a log");
    let places = [table, sealed].map(|id| fs.place_of(id, 20_000).expect("a place").0);
    fs.unmount();
    drop(fs);
    for (drive, at) in drives.all().iter().zip(places) {
        let lba = terrace_env::Lba(at.block());
        drive.corrupt(lba, |bytes| bytes[100] ^= 4).expect("a block");
        let report = Fs::check(&drives).expect("a check");
        let named = format!("device {}", at.device());
        let problems = format!("{:?}", report.problems);
        assert!(!report.is_clean() && (problems.contains(&named) || problems.contains("log")));
        drive.corrupt(lba, |bytes| bytes[100] ^= 4).expect("a block");
    }
    // Every bit of the first bytes of both superblocks of the log device.
    for block in 0..2 {
        for bit in (0..64).chain((64..4096 * 8).step_by(997)) {
            let lba = terrace_env::Lba(block);
            let flip = |bytes: &mut [u8]| bytes[bit / 8] ^= 1 << (bit % 8);
            drives.all()[1].corrupt(lba, flip).expect("a block");
            let read_only = MountOptions { access: Access::ReadOnly, ..MountOptions::default() };
            // The other one of the two may serve.
            if let Ok(fs) = Fs::mount(&drives, &read_only) {
                holds(&fs, table, 300_000);
                holds(&fs, sealed, 70_000);
            }
            drives.all()[1].corrupt(lba, flip).expect("a block");
        }
    }
}
