//! Block devices of Linux. The tests run on the devices that the variable `TERRACE_DEVICES` names,
//! with spaces between them: all data on them are lost. `cargo xtask guest` runs these tests in a
//! virtual machine, on an NVMe namespace with zones, a host-managed SMR disk and `null_blk`.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use terrace_env::{Cause, IoBuf, Lba, ZoneId, runner, test_seeds};
use terrace_zone::linux::{BlockDevice, IoEngine, Listed, Usage, ZoneModel, foreign_content};
use terrace_zone::{
    Access, Completion, Device, DeviceError, Emulator, Op, Request, ZoneState, ZoneType,
    conformance,
};

use crate::replay::{GUEST_STEPS, Model, Replay, assert_met};

const CAUSE: Cause = Cause::Client;

/// The devices to be tried. None at all would be a test that cannot fail.
fn devices() -> Vec<PathBuf> {
    let named = std::env::var("TERRACE_DEVICES").unwrap_or_default();
    let paths: Vec<PathBuf> = named.split_whitespace().map(PathBuf::from).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected paths of devices, found none");
    paths
}

fn zoned() -> Vec<PathBuf> {
    let is_zoned = |path: &PathBuf| BlockDevice::probe(path).unwrap() != Some(ZoneModel::None);
    let paths: Vec<PathBuf> = devices().into_iter().filter(is_zoned).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected a zoned device, found none");
    paths
}

fn open(path: &PathBuf) -> BlockDevice {
    let device = BlockDevice::open(path, Access::ReadWrite);
    device.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first sequential zone, emptied, and a block of data for it.
fn emptied(device: &BlockDevice) -> (ZoneId, Lba, IoBuf) {
    let geometry = device.geometry();
    let sequential = |zone: &ZoneId| geometry.zone_type(*zone) == ZoneType::Sequential;
    let zone = geometry.zone_ids().find(sequential).unwrap();
    device.control(Op::Reset(zone), CAUSE).unwrap();
    let data = IoBuf::copy_of(&vec![7; geometry.physical_block as usize]);
    (zone, geometry.zone_start(zone), data)
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn each_device_keeps_every_rule() {
    for path in devices() {
        println!("{}: {:?}", path.display(), open(&path));
        conformance::check(Arc::new(open(&path)));
    }
}

/// The model of a device, by the name that the kernel gives it.
fn model(path: &Path) -> Model {
    let name = path.file_name().unwrap().to_string_lossy();
    match name.as_ref() {
        name if name.starts_with("nvme") => Model::Nvme,
        name if name.starts_with("nullb") => Model::NullBlk,
        _ => Model::Zbc,
    }
}

/// Empties all zones, and fills the conventional ones with zeros.
fn make_new(device: &BlockDevice) {
    let geometry = device.geometry();
    for zone in geometry.zone_ids() {
        if geometry.zone_type(zone) == ZoneType::Sequential {
            device.control(Op::Reset(zone), CAUSE).unwrap();
        } else {
            let bytes = geometry.zone_size(zone) as usize * geometry.logical_block as usize;
            device.write(geometry.zone_start(zone), IoBuf::zeroed(bytes), false, CAUSE).unwrap();
        }
    }
}

/// Makes a zone of a device of `null_blk` fail. One that has failed so already works again, empty.
fn turn(path: &Path, device: &BlockDevice, zone: ZoneId, state: ZoneState) {
    let geometry = device.geometry();
    let sector = geometry.zone_start(zone).0 * u64::from(geometry.logical_block) / 512;
    let name = if state == ZoneState::Offline { "zone_offline" } else { "zone_readonly" };
    let folder = Path::new("/sys/kernel/config/nullb").join(path.file_name().unwrap());
    std::fs::write(folder.join(name), sector.to_string()).unwrap();
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn the_emulator_answers_as_each_device_does() {
    for path in zoned() {
        for seed in test_seeds(1) {
            let device = open(&path);
            make_new(&device);
            let emulator = Emulator::in_memory(device.geometry().clone(), seed).unwrap();
            let raw = |op: &Op| device.unchecked(op);
            let failed = RefCell::new(Vec::new());
            let fail = |zone, state| {
                emulator.set_zone_condition(zone, state).unwrap();
                turn(&path, &device, zone, state);
                failed.borrow_mut().push((zone, state));
            };
            let mut replay = Replay::new(&emulator, &device, model(&path), Some(&raw), seed);
            if model(&path) == Model::NullBlk {
                replay = replay.failing(&fail);
            }
            let tally = replay.run(GUEST_STEPS);
            let tally = tally.unwrap_or_else(|found| panic!("{path:?}, seed {seed}: {found}"));
            println!("{}, seed {seed}: {tally:?}", path.display());
            assert_met(&tally, device.geometry());
            assert_eq!(failed.borrow().is_empty(), model(&path) != Model::NullBlk);
            for (zone, state) in failed.take() {
                turn(&path, &device, zone, state);
            }
        }
    }
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn a_device_has_one_writer_or_several_readers() {
    for path in devices() {
        let writer = open(&path);
        for access in [Access::ReadWrite, Access::ReadOnly] {
            let refused = BlockDevice::open(&path, access);
            assert!(matches!(refused, Err(DeviceError::InUse { .. })), "{path:?}: {refused:?}");
        }
        let listed = Listed::all().unwrap();
        let listed = listed.iter().find(|listed| listed.path == path).unwrap();
        assert_eq!(listed.usage, Usage::Program);
        drop(writer);
        let readers = [(); 2].map(|()| BlockDevice::open(&path, Access::ReadOnly).unwrap());
        assert!(matches!(
            BlockDevice::open(&path, Access::ReadWrite),
            Err(DeviceError::InUse { .. })
        ));
        let data = IoBuf::zeroed(4096);
        let refused = readers[0].write(Lba(0), data, false, CAUSE);
        assert!(matches!(refused, Err(DeviceError::ReadOnlyDevice { .. })), "{refused:?}");
        readers[1].read(Lba(0), 1, CAUSE).unwrap();
    }
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn an_open_closes_zones_and_keeps_their_data() {
    for path in zoned() {
        let device = open(&path);
        let (zone, start, data) = emptied(&device);
        let after = ZoneId(zone.0 + 1);
        device.control(Op::Reset(after), CAUSE).unwrap();
        device.write(start, data, true, CAUSE).unwrap();
        device.control(Op::Open(zone), CAUSE).unwrap();
        // Nothing is written in the second zone: it must not keep an active slot.
        device.control(Op::Open(after), CAUSE).unwrap();
        drop(device);
        let device = open(&path);
        let reports = device.report(zone, 2).unwrap();
        assert_eq!(reports[0].state, ZoneState::Closed, "{path:?}");
        assert_eq!(reports[1].state, ZoneState::Empty, "{path:?}");
        assert_eq!(device.read(start, 1, CAUSE).unwrap()[0], 7);
    }
}

/// Another program that ignores the locks: the table of zones is then out of step with the device.
#[test]
#[ignore = "needs block devices, whose data are lost"]
fn a_pointer_that_was_moved_by_others_is_told_and_learned() {
    for path in zoned() {
        let device = open(&path);
        let (zone, start, data) = emptied(&device);
        let step = device.geometry().physical_step();
        let mut other = OpenOptions::new();
        other.write(true).custom_flags(OFlags::DIRECT.bits() as i32);
        let offset = start.0 * u64::from(device.geometry().logical_block);
        let other = other.open(&path).unwrap();
        for behind in 0..2 {
            let size = u64::from(device.geometry().physical_block);
            other.write_all_at(&data, offset + behind * size).unwrap();
        }
        let refused = device.write(start, data.clone(), false, CAUSE);
        let pointer = Lba(start.0 + 2 * step);
        assert!(
            matches!(refused, Err(DeviceError::NotAtWritePointer { zone: at, expected, got })
                if at == zone && expected == pointer && got == start),
            "{path:?}: {refused:?}"
        );
        device.write(pointer, data, false, CAUSE).unwrap();
        assert_eq!(device.report(zone, 1).unwrap()[0].write_pointer, Lba(pointer.0 + step));
    }
}

/// The table does not know that a zone has failed before a request to it has failed.
#[test]
#[ignore = "needs block devices, whose data are lost"]
fn a_zone_that_fails_is_told_by_the_error() {
    let null_blk = |path: &PathBuf| model(path) == Model::NullBlk;
    let paths: Vec<PathBuf> = zoned().into_iter().filter(null_blk).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected a device of null_blk, found none");
    for path in paths {
        for state in [ZoneState::ReadOnly, ZoneState::Offline] {
            for kind in 0..5 {
                let device = open(&path);
                let (zone, start, data) = emptied(&device);
                let next = Lba(start.0 + device.geometry().physical_step());
                device.write(start, data.clone(), false, CAUSE).unwrap();
                turn(&path, &device, zone, state);
                let result = match kind {
                    0 => device.write(next, data, false, CAUSE).map(drop),
                    1 => device.control(Op::Reset(zone), CAUSE),
                    2 => device.control(Op::Finish(zone), CAUSE),
                    3 => device.control(Op::Open(zone), CAUSE),
                    _ => device.read(start, 1, CAUSE).map(|read| assert_eq!(read[0], 7)),
                };
                let told = match (state, kind) {
                    (ZoneState::ReadOnly, 4) => result.is_ok(),
                    (ZoneState::ReadOnly, _) => {
                        matches!(result, Err(DeviceError::ZoneReadOnly { zone: at }) if at == zone)
                    }
                    _ => matches!(result, Err(DeviceError::ZoneOffline { zone: at }) if at == zone),
                };
                assert!(told, "{path:?}, {state:?}, request {kind}: {result:?}");
                assert_eq!(device.report(zone, 1).unwrap()[0].state, state);
                turn(&path, &device, zone, state);
                assert_eq!(device.report(zone, 1).unwrap()[0].state, ZoneState::Empty);
            }
        }
    }
}

/// The character node of NVMe offers appends, several in flight to one zone.
#[test]
#[ignore = "needs block devices, whose data are lost"]
fn appends_of_several_writers_fill_a_zone() {
    for path in zoned() {
        let limit = open(&path).geometry().max_append;
        // `zoned.zasl=5`: 32 pages.
        assert_eq!(limit, (model(&path) == Model::Nvme).then_some(32), "{path:?}");
        if limit.is_none() {
            continue;
        }
        for engine in [IoEngine::IoUring, IoEngine::Blocking] {
            let device =
                Arc::new(BlockDevice::open_with(&path, Access::ReadWrite, engine).unwrap());
            let (zone, start, _) = emptied(&device);
            let geometry = device.geometry().clone();
            let block = geometry.logical_block as usize;
            let blocks = geometry.zone_capacity(zone);
            assert!(blocks.is_multiple_of(4));
            let writers = (0..4).map(|writer| {
                let (device, appends) = (Arc::clone(&device), blocks / 4);
                runner::spawn("writer", move || {
                    let op = |mark: u64| {
                        let mark = writer << 32 | mark;
                        let data = IoBuf::copy_of(&mark.to_le_bytes().repeat(block / 8));
                        Op::Append { zone, data, fua: mark.is_multiple_of(16) }
                    };
                    let submit = |mark| device.submit(Request { op: op(mark), cause: CAUSE });
                    let tickets: Vec<_> = (0..appends).map(submit).collect();
                    let placed = tickets.into_iter().map(|ticket| device.wait(ticket).unwrap());
                    let placed = placed.map(|completion| match completion {
                        Completion::Written { lba, .. } => lba,
                        other => panic!("an append completed as {other:?}"),
                    });
                    (0..).map(|mark| writer << 32 | mark).zip(placed).collect::<Vec<_>>()
                })
            });
            let writers: Vec<_> = writers.collect();
            let placed: Vec<(u64, Lba)> = writers.into_iter().flat_map(|it| it.join()).collect();
            println!("{}, {engine}: {} in flight", path.display(), device.depth_max());
            // The number in flight together depends on the load of the host.
            assert!(engine == IoEngine::Blocking || device.depth_max() > 1);
            assert_eq!(device.report(zone, 1).unwrap()[0].state, ZoneState::Full);
            let read = device.read(start, blocks as u32, CAUSE).unwrap();
            for (mark, lba) in placed {
                let at = (lba.0 - start.0) as usize * block;
                assert_eq!(read[at..][..8], mark.to_le_bytes(), "the append at {lba}");
            }
        }
    }
}

/// Another program has moved the pointer: the appends that no longer fit fail, and no others.
#[test]
#[ignore = "needs block devices, whose data are lost"]
fn appends_that_do_not_fit_fail_alone() {
    let nvme = |path: &PathBuf| model(path) == Model::Nvme;
    let paths: Vec<PathBuf> = zoned().into_iter().filter(nvme).collect();
    assert!(!paths.is_empty(), "TERRACE_DEVICES: expected an NVMe namespace, found none");
    for path in paths {
        for engine in [IoEngine::IoUring, IoEngine::Blocking] {
            let device = BlockDevice::open_with(&path, Access::ReadWrite, engine).unwrap();
            let (zone, start, data) = emptied(&device);
            let geometry = device.geometry().clone();
            let mut other = OpenOptions::new();
            other.write(true).custom_flags(OFlags::DIRECT.bits() as i32);
            let other = other.open(&path).unwrap();
            let left = 3;
            for block in 0..geometry.zone_capacity(zone) - left {
                let at = (start.0 + block) * u64::from(geometry.logical_block);
                other.write_all_at(&data, at).unwrap();
            }
            let submit = |_| {
                let op = Op::Append { zone, data: data.clone(), fua: false };
                device.submit(Request { op, cause: CAUSE })
            };
            let tickets: Vec<_> = (0..8).map(submit).collect();
            let results: Vec<_> = tickets.into_iter().map(|ticket| device.wait(ticket)).collect();
            let done = results.iter().filter(|result| result.is_ok()).count() as u64;
            assert_eq!(done, left, "{results:?}");
            let is_full = |result: &Result<_, DeviceError>| {
                matches!(result, Ok(_) | Err(DeviceError::ZoneFull { .. }))
            };
            assert!(results.iter().all(is_full), "{results:?}");
            // The table knows it now.
            assert_eq!(device.report(zone, 1).unwrap()[0].state, ZoneState::Full);
            let refused = device.append(zone, data.clone(), false, CAUSE);
            assert!(matches!(refused, Err(DeviceError::ZoneFull { .. })), "{refused:?}");
            device.control(Op::Reset(zone), CAUSE).unwrap();
            let (placed, _) = device.append(zone, data.clone(), true, CAUSE).unwrap();
            assert_eq!(placed, start);
        }
    }
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn a_long_write_arrives_whole_and_in_order() {
    for path in zoned() {
        let device = open(&path);
        let (zone, start, _) = emptied(&device);
        let geometry = device.geometry().clone();
        let block = geometry.logical_block as usize;
        let blocks = geometry.zone_capacity(zone);
        let mut data = IoBuf::zeroed(blocks as usize * block);
        for (index, bytes) in data.chunks_mut(block).enumerate() {
            bytes[..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
        }
        let data = device.write(start, data, true, CAUSE).unwrap();
        assert_eq!(device.report(zone, 1).unwrap()[0].state, ZoneState::Full);
        let read = device.read(start, blocks as u32, CAUSE).unwrap();
        assert!(read[..] == data[..], "{path:?}: other bytes than were written");
        device.control(Op::Reset(zone), CAUSE).unwrap();
    }
}

#[test]
#[ignore = "needs block devices, whose data are lost"]
fn what_lies_on_a_device_without_pointers_is_found() {
    for path in devices() {
        let device = open(&path);
        let geometry = device.geometry().clone();
        if geometry.zone_type(ZoneId(0)) == ZoneType::Sequential {
            assert_eq!(foreign_content(&device).unwrap(), None);
            continue;
        }
        let blocks = (128 << 10) / u64::from(geometry.logical_block);
        let blocks = blocks.min(geometry.zone_size(ZoneId(0)));
        let mut head = IoBuf::zeroed(blocks as usize * geometry.logical_block as usize);
        head[..4].copy_from_slice(b"XFSB");
        let mut head = device.write(Lba(0), head, false, CAUSE).unwrap();
        assert_eq!(foreign_content(&device).unwrap().as_deref(), Some("an XFS file system"));
        head.fill(0);
        device.write(Lba(0), head, false, CAUSE).unwrap();
    }
}

#[test]
fn what_is_no_block_device_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = BlockDevice::open(dir.path(), Access::ReadOnly);
    assert!(matches!(refused, Err(DeviceError::NotABlockDevice { .. })), "{refused:?}");
    assert_eq!(BlockDevice::probe(dir.path()).unwrap(), None);
    assert_eq!(BlockDevice::probe(dir.path().join("gone")).unwrap(), None);
    let gone = BlockDevice::open(dir.path().join("gone"), Access::ReadOnly);
    assert!(matches!(gone, Err(DeviceError::Host { .. })), "{gone:?}");
}
