//! Images: their state after the end of the process, their space on the host, the errors of damaged
//! ones; images of earlier versions open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_env::checksum::crc32c;
use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, Cause, IoBuf, Lba, Uuid, ZoneId, runner};
use terrace_zone::{
    Access, Device, DeviceError, Emulator, Geometry, Op, PowerCut, ZoneReport, ZoneState,
};

use crate::geometries;

const CAUSE: Cause = Cause::Client;
const UUID: Uuid = Uuid([5; 16]);

fn data(blocks: u64, byte: u8) -> IoBuf {
    let mut data = IoBuf::zeroed(blocks as usize * 4096);
    data.fill(byte);
    data
}

fn reports(drive: &Emulator) -> Vec<ZoneReport> {
    drive.report(ZoneId(0), u32::MAX).unwrap()
}

fn reopen(path: &Path) -> Emulator {
    Emulator::open_image(path, Access::ReadWrite).unwrap()
}

/// An image with zones in many states.
fn busy_image(path: &Path) -> Emulator {
    let drive = Emulator::create_image(path, geometries::odd(), UUID).unwrap();
    let start = |zone| drive.geometry().zone_start(ZoneId(zone));
    drive.write(start(2), data(2, 1), false, CAUSE).unwrap();
    drive.write(start(3), data(11, 2), true, CAUSE).unwrap();
    drive.write(start(4), data(1, 3), false, CAUSE).unwrap();
    drive.control(Op::Finish(ZoneId(4)), CAUSE).unwrap();
    drive.control(Op::Open(ZoneId(5)), CAUSE).unwrap();
    drive.write(start(0), data(1, 4), false, CAUSE).unwrap();
    drive.write(start(7), data(3, 5), false, CAUSE).unwrap();
    drive.set_zone_condition(ZoneId(7), ZoneState::ReadOnly).unwrap();
    drive.set_zone_condition(ZoneId(8), ZoneState::Offline).unwrap();
    drive
}

#[test]
fn states_pointers_and_bytes_survive_the_process_without_a_flush() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let before = {
        let drive = busy_image(&path);
        reports(&drive)
    };
    for _ in 0..2 {
        let drive = reopen(&path);
        let byte = |zone: u32, block: u64| {
            let lba = drive.geometry().zone_start(ZoneId(zone)).0 + block;
            drive.read(Lba(lba), 1, CAUSE).unwrap()[0]
        };
        for (before, after) in before.iter().zip(reports(&drive)) {
            match before.state {
                ZoneState::ExplicitlyOpen => assert_eq!(after.state, ZoneState::Empty),
                ZoneState::ImplicitlyOpen => {
                    assert_eq!(after, ZoneReport { state: ZoneState::Closed, ..*before });
                }
                _ => assert_eq!(after, *before),
            }
        }
        assert_eq!([byte(2, 15), byte(2, 16), byte(3, 87), byte(4, 7)], [1, 0, 2, 3]);
        assert_eq!([byte(4, 8), byte(0, 0), byte(7, 23)], [0, 4, 5]);
        assert_eq!(drive.uuid(), UUID);
        let lost = drive.read(drive.geometry().zone_start(ZoneId(8)), 1, CAUSE);
        assert!(matches!(lost, Err(DeviceError::ZoneOffline { zone: ZoneId(8) })));
        let refused = drive.control(Op::Reset(ZoneId(7)), CAUSE);
        assert!(matches!(refused, Err(DeviceError::ZoneReadOnly { zone: ZoneId(7) })));
    }
}

#[test]
fn a_power_cut_is_carried_out_on_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let drive = Emulator::create_image(&path, geometries::plain(), UUID).unwrap();
    drive.write(Lba(0), data(2, 1), false, CAUSE).unwrap();
    drive.control(Op::Flush, CAUSE).unwrap();
    drive.write(Lba(2), data(2, 2), false, CAUSE).unwrap();
    drive.write(Lba(16), data(2, 3), false, CAUSE).unwrap();
    let same = drive.snapshot().unwrap().cut(PowerCut::DropUnflushed, &mut Random::seeded(1));
    drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
    drop(drive);
    let drive = reopen(&path);
    assert_eq!(reports(&drive), reports(&same));
    assert_eq!(reports(&drive)[0].write_pointer, Lba(2));
    assert_eq!(reports(&drive)[1].state, ZoneState::Empty);
    assert_eq!(drive.read(Lba(0), 4, CAUSE).unwrap()[..], same.read(Lba(0), 4, CAUSE).unwrap()[..]);
}

#[test]
fn a_reset_gives_space_back_when_it_is_durable_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let geometry = Geometry::uniform(ByteCount::mib(1), 4);
    let drive = Emulator::create_image(&path, geometry, UUID).unwrap();
    let used = || ByteCount(fs::metadata(&path).unwrap().blocks() * 512);
    let mut random = IoBuf::zeroed(1 << 20);
    random.iter_mut().zip(0u32..).for_each(|(byte, i)| *byte = (i % 251) as u8);
    drive.write(Lba(0), random, false, CAUSE).unwrap();
    drive.control(Op::Flush, CAUSE).unwrap();
    drive.control(Op::Reset(ZoneId(0)), CAUSE).unwrap();
    assert!(used() >= ByteCount::mib(1), "{}", used());
    let undone = drive.snapshot().unwrap().cut(PowerCut::DropUnflushed, &mut Random::seeded(1));
    assert_eq!(undone.read(Lba(1), 1, CAUSE).unwrap()[1], (4097 % 251) as u8);
    drive.control(Op::Flush, CAUSE).unwrap();
    assert!(used() < ByteCount::kib(64), "{}", used());
}

#[test]
fn a_drive_of_14_terabytes_costs_a_megabyte_until_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let geometry = Geometry {
        conventional: vec![0..24, 24..524],
        max_open: Some(128),
        ..Geometry::uniform(ByteCount::mib(256), 52_000)
    };
    let start = runner::now();
    let drive = Emulator::create_image(&path, geometry.clone(), UUID).unwrap();
    drive.write(geometry.zone_start(ZoneId(51_999)), data(4, 1), true, CAUSE).unwrap();
    drop(drive);
    let drive = reopen(&path);
    let reports = reports(&drive);
    let took = runner::now().since(start);
    // Some milliseconds on an idle machine; the rest is for slow and busy ones.
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(reports[51_999].state, ZoneState::Closed);
    assert_eq!(reports[51_998].state, ZoneState::Empty);
    let file = fs::metadata(&path).unwrap();
    assert!(file.len() > 13_000_000_000_000);
    // Table, blocks, and the room ahead of a forced write.
    assert!(file.blocks() * 512 < 832_000 + (512 << 10), "{} bytes on disk", file.blocks() * 512);
}

#[test]
fn an_image_is_used_by_one_writer_or_by_many_readers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let drive = busy_image(&path);
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let refused = Emulator::open_image(&path, access);
        assert!(matches!(refused, Err(DeviceError::InUse { .. })), "{refused:?}");
    }
    drop(drive);
    let readers = [(); 2].map(|()| Emulator::open_image(&path, Access::ReadOnly).unwrap());
    let refused = Emulator::open_image(&path, Access::ReadWrite);
    assert!(matches!(refused, Err(DeviceError::InUse { .. })));
    drop(readers);
    reopen(&path);
}

#[test]
fn a_drive_opened_for_reading_changes_not_one_byte_of_its_image() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    drop(busy_image(&path));
    let before = fs::read(&path).unwrap();
    let drive = Emulator::open_image(&path, Access::ReadOnly).unwrap();
    let zone = ZoneId(2);
    let lba = reports(&drive)[2].write_pointer;
    assert_eq!(reports(&drive)[2].state, ZoneState::Closed);
    assert!(drive.read(Lba(lba.0 - 1), 1, CAUSE).is_ok());
    let refused = [
        drive.write(lba, data(1, 1), true, CAUSE).map(|_| ()),
        drive.append(zone, data(1, 1), true, CAUSE).map(|_| ()),
        drive.control(Op::Open(zone), CAUSE),
        drive.control(Op::Close(zone), CAUSE),
        drive.control(Op::Finish(zone), CAUSE),
        drive.control(Op::Reset(zone), CAUSE),
        drive.control(Op::Flush, CAUSE),
        drive.set_zone_condition(zone, ZoneState::Offline),
        drive.corrupt(Lba(0), |bytes| bytes.fill(1)),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(DeviceError::ReadOnlyDevice { .. })), "{refused:?}");
    }
    drop(drive);
    assert!(before == fs::read(&path).unwrap());
}

#[test]
fn an_image_does_not_replace_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    fs::write(&path, "precious").unwrap();
    let refused = Emulator::create_image(&path, geometries::plain(), UUID);
    assert!(matches!(refused, Err(DeviceError::Host { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn damage_to_header_and_zone_table_is_found_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    drop(busy_image(&path));
    let before = reports(&reopen(&path));
    let good = fs::read(&path).unwrap();
    let bad = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        match Emulator::open_image(&path, Access::ReadOnly) {
            Err(DeviceError::BadImage { what, expected, got, .. }) => {
                assert!(!what.is_empty() && !expected.is_empty() && expected != got);
            }
            other => panic!("{what}: {other:?}"),
        }
    };
    let table = 4096 + 16 * before.len();
    let mut random = Random::seeded(1);
    let bits: Vec<usize> =
        (0..200).map(|_| random.random_range(0..4096 * 8)).chain(4096 * 8..table * 8).collect();
    for bit in bits {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        bad(&flipped, &format!("bit {bit}"));
    }
    for len in [4, 8, 4095, 4096, 4097, table, 8191, 8192, good.len() - 1] {
        bad(&good[..len], &format!("{len} bytes"));
    }
    bad(&[&good[..], &[0]].concat(), "a byte too many");
    // The padding of the table has no meaning.
    let mut harmless = good.clone();
    harmless[table] ^= 1;
    fs::write(&path, harmless).unwrap();
    assert_eq!(reports(&reopen(&path)), before);
}

#[test]
fn what_is_no_image_is_told_at_once_and_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("empty"), "").unwrap();
    fs::write(path("text"), "Terms of the licence").unwrap();
    fs::write(path("zeros"), [0; 8192]).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    for (path, what) in [
        (path("empty"), "an empty file"),
        (path("text"), "a file that does not begin like one"),
        (path("zeros"), "a file that does not begin like one"),
        (path("pipe"), "a pipe"),
        (path("socket"), "a socket"),
        (path(""), "a directory"),
        ("/dev/null".into(), "a character device"),
    ] {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            match Emulator::open_image(&path, access) {
                Err(DeviceError::NotAnImage { found, .. }) => assert_eq!(found, what),
                other => panic!("{}: {other:?}", path.display()),
            }
        }
    }
}

#[test]
fn an_image_with_more_active_zones_than_its_limit_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["few", "many"].map(|name| dir.path().join(name));
    let zones = |path: &Path, max_active, zones: std::ops::Range<u32>| {
        let geometry = Geometry { max_active, ..geometries::plain() };
        let drive = Emulator::create_image(path, geometry, UUID).unwrap();
        for zone in zones {
            drive.write(Lba(u64::from(zone) * 16), data(1, 1), false, CAUSE).unwrap();
        }
    };
    zones(&paths[0], Some(2), 0..2);
    zones(&paths[1], None, 0..3);
    let mut image = fs::read(&paths[0]).unwrap();
    let other = fs::read(&paths[1]).unwrap();
    image[4096..4096 + 16 * 12].copy_from_slice(&other[4096..4096 + 16 * 12]);
    fs::write(&paths[0], image).unwrap();
    match Emulator::open_image(&paths[0], Access::ReadWrite) {
        Err(DeviceError::BadImage { what: "active zones", got, .. }) => assert_eq!(got, "3"),
        other => panic!("{other:?}"),
    }
}

/// Does a little of everything, on a drive of a few blocks.
fn golden_image(path: &Path) {
    let geometry = Geometry {
        layout: terrace_zone::Layout::Zoned,
        logical_block: 512,
        physical_block: 512,
        zone_size: 4,
        zone_capacity: 3,
        zones: 8,
        last_zone_size: Some(2),
        conventional: vec![0..1, 6..7],
        max_open: Some(3),
        max_active: Some(4),
        max_append: Some(2),
        rotational: true,
    };
    let drive = Emulator::create_image(path, geometry, UUID).unwrap();
    let block = |text: &str| {
        let mut block = IoBuf::copy_of(text.as_bytes());
        block.pad_to(512);
        block
    };
    let write = |lba, text| drop(drive.write(Lba(lba), block(text), false, CAUSE).unwrap());
    write(2, "conventional");
    write(4, "implicitly open");
    drive.control(Op::Open(ZoneId(2)), CAUSE).unwrap();
    write(8, "explicitly open");
    (12..15).for_each(|lba| write(lba, "full"));
    write(16, "closed");
    drive.control(Op::Close(ZoneId(4)), CAUSE).unwrap();
    drive.append(ZoneId(5), block("finished"), false, CAUSE).unwrap();
    drive.control(Op::Finish(ZoneId(5)), CAUSE).unwrap();
    drive.set_zone_condition(ZoneId(6), ZoneState::Offline).unwrap();
}

#[test]
fn an_image_is_written_as_version_3_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    golden_image(&path);
    if terrace_env::regenerates_goldens() {
        fs::copy(&path, golden(3)).unwrap();
    }
    let same = fs::read(golden(3)).unwrap() == fs::read(&path).unwrap();
    assert!(same, "run with TERRACE_REGENERATE=1 if this is meant");
}

fn golden(version: u32) -> PathBuf {
    let name = format!("tests/golden/image-{version}.bin");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn images_of_all_versions_open_for_ever() {
    // An image of version 1 does not say whether its drive is rotational.
    for (version, rotational) in [(1, false), (2, true), (3, true)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        fs::copy(golden(version), &path).unwrap();
        let drive = reopen(&path);
        assert_eq!(drive.geometry().rotational, rotational, "version {version}");
        holds_what_the_golden_image_holds(&drive);
    }
}

#[test]
fn flags_of_no_version_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    // Version 1 has no flags, later ones three, of which plain and of tracks exclude each other.
    for (version, flags) in [(1, 1), (1, 2), (1, 4), (2, 6), (2, 8), (2, 1 << 31), (3, 8)] {
        let mut image = fs::read(golden(version)).unwrap();
        image[12..16].copy_from_slice(&u32::to_le_bytes(flags));
        let crc = crc32c(&image[..4092]);
        image[4092..4096].copy_from_slice(&crc.to_le_bytes());
        fs::write(&path, image).unwrap();
        match Emulator::open_image(&path, Access::ReadOnly) {
            Err(DeviceError::BadImage { what: "flags", .. }) => {}
            other => panic!("version {version}, flags {flags:#x}: {other:?}"),
        }
    }
}

fn holds_what_the_golden_image_holds(drive: &Emulator) {
    let states: Vec<ZoneState> = reports(drive).iter().map(|report| report.state).collect();
    use ZoneState::{Closed, Empty, Full, NotWritePointer, Offline};
    assert_eq!(states, [NotWritePointer, Closed, Closed, Full, Closed, Full, Offline, Empty]);
    for (lba, text) in
        [(2, "conventional"), (4, "implicitly"), (8, "explicitly"), (14, "full"), (20, "finished")]
    {
        assert!(drive.read(Lba(lba), 1, CAUSE).unwrap().starts_with(text.as_bytes()), "{text}");
    }
}

#[test]
fn an_image_that_cannot_be_made_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("drive.img");
    // With header and table it is longer than any file can be.
    let blocks = (u64::MAX / 2) / 4096;
    let geometry = Geometry::uniform(ByteCount(blocks * 4096), 1);
    let error = Emulator::create_image(&path, geometry, UUID).unwrap_err();
    assert!(matches!(error, DeviceError::Host { .. }), "{error}");
    assert!(!path.exists());
    drop(Emulator::create_image(&path, geometries::plain(), UUID).unwrap());
    // A file that was there is not touched.
    Emulator::create_image(&path, geometries::plain(), UUID).unwrap_err();
    assert!(path.exists());
}
