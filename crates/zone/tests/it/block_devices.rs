//! Plain drives on block devices of the host, as images and as block devices. The tests need root
//! and a loop device. `cargo xtask test` runs them where `losetup -f` finds a device, and says that
//! it leaves them out elsewhere.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use terrace_env::{ByteCount, Cause, IoBuf, Lba, Uuid};
use terrace_zone::linux::{BlockDevice, IoEngine};
use terrace_zone::{Access, Device, DeviceError, Emulator, Geometry, Op, Request, conformance};

/// A loop device over a file, until it is dropped.
struct Loop(PathBuf);

impl Loop {
    fn new(dir: &Path, size: u64) -> Self {
        let file = dir.join("backing");
        File::create(&file).unwrap().set_len(size).unwrap();
        let made = Command::new("losetup").args(["-f", "--show"]).arg(&file).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().into())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        Command::new("losetup").arg("-d").arg(&self.0).status().unwrap();
    }
}

#[test]
#[ignore = "needs root and a loop device"]
fn a_plain_drive_on_a_block_device_keeps_every_rule() {
    let dir = tempfile::tempdir().unwrap();
    let device = Loop::new(dir.path(), 1 << 20);
    let room = Emulator::room_on_block_device(&device.0).unwrap().unwrap();
    assert_eq!(room, ByteCount((1 << 20) - 8192));
    let zoned = Emulator::create_image(&device.0, Geometry::uniform(room, 1), Uuid([1; 16]));
    assert!(zoned.is_err(), "zones need a file");
    let drive = Emulator::create_image(&device.0, Geometry::plain(room), Uuid([1; 16])).unwrap();
    let other = Emulator::open_image(&device.0, Access::ReadWrite);
    assert!(other.is_err(), "one user at a time");
    conformance::check(Arc::new(drive));
    let drive = Emulator::open_image(&device.0, Access::ReadWrite).unwrap();
    let data = IoBuf::copy_of(&[7; 4096]);
    drive.write(Lba(3), data, true, Cause::Client).unwrap();
    assert!(drive.host_syncs() > 0);
    drop(drive);
    let drive = Emulator::open_image(&device.0, Access::ReadOnly).unwrap();
    assert_eq!(drive.read(Lba(3), 1, Cause::Client).unwrap()[..], [7; 4096]);
    drop(drive);
    let again = Emulator::create_image(&device.0, Geometry::plain(room), Uuid([2; 16]));
    assert!(matches!(again, Err(DeviceError::NotAnImage { .. })), "{again:?}");
}

/// Each is opened right after the one before was closed: an engine must not keep the node.
#[test]
#[ignore = "needs root and a loop device"]
fn a_block_device_keeps_every_rule_with_each_engine() {
    let dir = tempfile::tempdir().unwrap();
    let path = Loop::new(dir.path(), 1 << 20);
    for engine in [IoEngine::IoUring, IoEngine::Blocking, IoEngine::IoUring] {
        let device = BlockDevice::open_with(&path.0, Access::ReadWrite, engine).unwrap();
        assert_eq!(device.engine(), engine);
        conformance::check(Arc::new(device));
    }
    assert_eq!(BlockDevice::open(&path.0, Access::ReadOnly).unwrap().engine(), IoEngine::IoUring);
}

#[test]
#[ignore = "needs root and a loop device"]
fn one_thread_keeps_a_block_device_busy() {
    let dir = tempfile::tempdir().unwrap();
    let path = Loop::new(dir.path(), 4 << 20);
    let device = BlockDevice::open_with(&path.0, Access::ReadWrite, IoEngine::IoUring).unwrap();
    let mut tickets = Vec::new();
    for at in 0..32 {
        let lba = Lba(at * 64);
        let data = IoBuf::copy_of(&[at as u8 + 1; 16 << 10]);
        let op = Op::Write { lba, data, fua: at % 8 == 0 };
        tickets.push(device.submit(Request { op, cause: Cause::Client }));
    }
    assert!(device.depth_max() > 8, "{} writes in flight", device.depth_max());
    for ticket in tickets {
        device.wait(ticket).unwrap();
    }
    drop(device);
    let device = BlockDevice::open(&path.0, Access::ReadOnly).unwrap();
    for at in 0..32 {
        let data = device.read(Lba(at * 64), 32, Cause::Client).unwrap();
        assert!(data.iter().all(|byte| *byte == at as u8 + 1), "write {at}");
    }
}
