//! Block devices of Linux. The tests run on the devices that the variable `TERRACE_DEVICES` names,
//! with spaces between them: all data on them are lost. `cargo xtask guest` runs these tests in a
//! virtual machine, on an NVMe namespace with zones, a host-managed SMR disk and `null_blk`.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;
use terrace_env::{Cause, IoBuf, Lba, ZoneId};
use terrace_zone::linux::{BlockDevice, Listed, Usage, ZoneModel, foreign_content};
use terrace_zone::{Access, Device, DeviceError, Op, ZoneState, ZoneType, conformance};

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
