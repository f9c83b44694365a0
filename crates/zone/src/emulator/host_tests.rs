//! Tests of images on a simulated file of the host (`disk`): which requests write to the file and
//! sync it, failed syncs, full disks, and power cuts of the host. After a cut, each page that was
//! not synced is in one of the states that it had since the last sync.

mod disk;
mod tracks;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{ByteCount, Cause, IoBuf, Lba, Uuid, ZoneId, runner};

use self::disk::{Disk, PAGE};
use super::file::FileMedium;
use super::host_file::HostFile;
use super::image::Header;
use super::{Access, Emulator, destroyed};
use crate::{Completion, Device, DeviceError, Geometry, Op, Request, ZoneState, ZoneType};

const BLOCK: usize = 4096;

fn geometry() -> Geometry {
    let sequential = Geometry::uniform(ByteCount::kib(32), 300);
    let conventional = vec![0..1, 1..2];
    Geometry { max_active: Some(4), max_open: Some(3), conventional, ..sequential }
}

fn made(geometry: Geometry) -> (Arc<Disk>, Emulator) {
    let header = Header::new(Uuid([5; 16]), geometry);
    let disk = Disk::of(header.image_len());
    let (file, table) =
        FileMedium::make(Arc::clone(&disk) as _, Path::new("disk"), header).expect("an image");
    (disk, Emulator::from_file(file, table))
}

fn opened(disk: &Arc<Disk>) -> Emulator {
    let file = Arc::clone(disk) as Arc<dyn HostFile>;
    let (file, table) = FileMedium::read_from(file, Path::new("disk")).expect("a legal image");
    Emulator::power_on_image(file, table, Access::ReadWrite).expect("a drive")
}

fn ask(drive: &Emulator, op: Op) -> Result<Completion, DeviceError> {
    drive.wait(drive.submit(Request { op, cause: Cause::Client }))
}

fn write(
    drive: &Emulator,
    lba: Lba,
    byte: u8,
    blocks: usize,
    fua: bool,
) -> Result<(), DeviceError> {
    let data = IoBuf::copy_of(&vec![byte; blocks * BLOCK]);
    ask(drive, Op::Write { lba, data, fua }).map(drop)
}

fn block(drive: &Emulator, lba: u64) -> [u8; BLOCK] {
    match ask(drive, Op::Read { lba: Lba(lba), blocks: 1 }) {
        Ok(Completion::Read(data)) => data[..].try_into().expect("a block"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flush_and_a_forced_write_reach_the_disk_and_nothing_else_does() {
    let (disk, drive) = made(geometry());
    let begun = disk.syncs();
    let first = drive.geometry().zone_start(ZoneId(2));
    write(&drive, first, 1, 1, false).unwrap();
    write(&drive, Lba(first.0 + 1), 2, 1, false).unwrap();
    assert_eq!(disk.syncs(), begun, "an unforced write is not synced");
    ask(&drive, Op::Flush).unwrap();
    assert_eq!(disk.syncs(), begun + 1);
    assert!(disk.between.lock().is_empty(), "all of it is on the disk");
    ask(&drive, Op::Flush).unwrap();
    assert_eq!(disk.syncs(), begun + 1, "a flush that finds nothing is free");
    write(&drive, Lba(first.0 + 2), 3, 1, true).unwrap();
    assert_eq!(disk.syncs(), begun + 2, "a forced write is synced");
    assert_eq!((drive.host_syncs(), drive.is_synced()), (disk.syncs(), Some(true)));
    assert_eq!(drive.describe(), "image disk, synced to the host's disk");
    let drive = drive.unsynced();
    write(&drive, Lba(first.0 + 3), 4, 1, true).unwrap();
    ask(&drive, Op::Flush).unwrap();
    assert_eq!(disk.syncs(), begun + 2, "an unsynced image is not");
    assert_eq!(drive.describe(), "image disk, not synced to the host's disk");
}

#[test]
fn a_track_that_is_destroyed_is_not_destroyed_again() {
    let tracks = crate::Tracks { blocks: 16, overlap: 3 };
    let geometry = Geometry::tracks(ByteCount::mib(2), tracks);
    let end = geometry.blocks();
    let (disk, drive) = made(geometry);
    let begun = disk.written.load(Ordering::Relaxed);
    for round in 1..3 {
        for lba in 0..end {
            write(&drive, Lba(lba), round, 1, false).unwrap();
            let behind = tracks.harmed(lba..lba + 1).start;
            if behind < end {
                let mut expected = [0; BLOCK];
                if round > 1 {
                    destroyed(behind * BLOCK as u64, &mut expected);
                }
                assert_eq!(block(&drive, behind), expected, "block {lba}, round {round}");
            }
        }
    }
    // New space holds nothing that could be destroyed; a reload destroys the bytes that it finds,
    // once.
    let written = disk.written.load(Ordering::Relaxed) - begun;
    assert_eq!(written, (2 * end + end - 16) * BLOCK as u64);
}

#[test]
fn flushes_that_come_together_share_a_sync() {
    let (disk, drive) = made(Geometry::uniform(ByteCount::kib(32), 40));
    disk.slow.store(true, Ordering::Relaxed);
    let drive = Arc::new(drive);
    let begun = disk.syncs();
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let drive = Arc::clone(&drive);
            runner::spawn("writer", move || {
                let start = drive.geometry().zone_start(ZoneId(n));
                write(&drive, start, n as u8, 1, true).expect("a forced write");
            })
        })
        .collect();
    writers.into_iter().for_each(runner::JoinHandle::join);
    // One that was first, and then those that came meanwhile; on a slow machine a few more.
    let syncs = disk.syncs() - begun;
    assert!((1..=6).contains(&syncs), "{syncs} syncs for 8 writers");
}

#[test]
fn a_write_that_comes_during_a_sync_is_not_synced_by_it() {
    runner::simulate(1, || {
        let (disk, drive) = made(Geometry::uniform(ByteCount::kib(32), 40));
        disk.slow.store(true, Ordering::Relaxed);
        let drive = Arc::new(drive);
        let writers: Vec<_> = (0..8u8)
            .map(|n| {
                let (disk, drive) = (Arc::clone(&disk), Arc::clone(&drive));
                let lba = drive.geometry().zone_start(ZoneId(n.into()));
                runner::spawn("writer", move || {
                    runner::sleep(Duration::from_millis(7 * u64::from(n)));
                    write(&drive, lba, n + 1, 1, true).expect("a forced write");
                    // Once it has returned, it survives any cut.
                    for seed in 0..8 {
                        let found = opened(&disk.cut(&mut Random::seeded(seed)));
                        assert_eq!(block(&found, lba.0)[0], n + 1, "writer {n}, seed {seed}");
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(runner::JoinHandle::join);
    });
}

#[test]
fn a_zone_that_has_failed_stays_so_after_a_power_cut_of_the_host() {
    let (disk, drive) = made(geometry());
    drive.set_zone_condition(ZoneId(3), ZoneState::ReadOnly).unwrap();
    assert!(disk.between.lock().is_empty(), "changes that are not on the disk");
    let found = opened(&disk.cut(&mut Random::seeded(1)));
    assert_eq!(found.report(ZoneId(3), 1).unwrap()[0].state, ZoneState::ReadOnly);
}

#[test]
fn a_sync_that_fails_is_not_tried_again_and_ends_all_writing() {
    let (disk, drive) = made(geometry());
    let first = drive.geometry().zone_start(ZoneId(2));
    write(&drive, first, 1, 1, false).unwrap();
    *disk.fails.lock() = Some(io::ErrorKind::Other);
    let (before, failed) = (disk.syncs(), ask(&drive, Op::Flush));
    assert!(matches!(failed, Err(DeviceError::HostSync { .. })), "{failed:?}");
    for op in [Op::Flush, Op::Reset(ZoneId(5)), Op::Open(ZoneId(6))] {
        let refused = ask(&drive, op);
        assert!(matches!(refused, Err(DeviceError::HostSync { .. })), "{refused:?}");
    }
    let refused = write(&drive, Lba(first.0 + 1), 1, 1, true);
    assert!(matches!(refused, Err(DeviceError::HostSync { .. })), "{refused:?}");
    assert_eq!(disk.syncs(), before + 1, "no second try");
    ask(&drive, Op::Read { lba: first, blocks: 1 }).expect("reads go on");
}

#[test]
fn a_full_disk_of_the_host_is_an_error_of_its_own() {
    let (disk, drive) = made(geometry());
    let first = drive.geometry().zone_start(ZoneId(2));
    *disk.fails.lock() = Some(io::ErrorKind::StorageFull);
    let refused = write(&drive, first, 1, 1, false);
    assert!(matches!(refused, Err(DeviceError::HostFull { .. })), "{refused:?}");
    *disk.fails.lock() = None;
    write(&drive, first, 1, 1, true).expect("there is room again");
}

#[test]
fn a_change_of_a_zone_that_cannot_be_recorded_has_not_happened() {
    let (disk, drive) = made(geometry());
    let start = |zone| drive.geometry().zone_start(ZoneId(zone));
    for zone in 2..5 {
        write(&drive, start(zone), 1, 2, true).expect("room");
    }
    let states = |drive: &Emulator| drive.report(ZoneId(0), 8).expect("a report");
    let before = states(&drive);
    // As on a host whose file system copies on overwrites: blocks of zones have room, the
    // table of zones has none.
    let header = Header::new(Uuid([5; 16]), geometry());
    disk.allocated.lock().clear();
    disk.allocate(header.blocks_offset(), header.image_len() - header.blocks_offset()).unwrap();
    *disk.fails.lock() = Some(io::ErrorKind::StorageFull);
    let ops: [&dyn Fn() -> Op; 4] =
        [&|| Op::Reset(ZoneId(2)), &|| Op::Finish(ZoneId(3)), &|| Op::Open(ZoneId(4)), &|| {
            Op::Write { lba: start(5), data: IoBuf::copy_of(&[1; BLOCK]), fua: true }
        }];
    for op in ops {
        for _ in 0..2 {
            let refused = ask(&drive, op());
            assert!(matches!(refused, Err(DeviceError::HostFull { .. })), "{:?}", op());
            assert_eq!(states(&drive), before, "{:?}", op());
        }
    }
    *disk.fails.lock() = None;
    ask(&drive, Op::Reset(ZoneId(2))).expect("room again");
    ask(&drive, Op::Flush).expect("a flush");
    assert_eq!(states(&drive)[2].state, ZoneState::Empty);
    assert_eq!(states(&opened(&disk))[2].state, ZoneState::Empty, "the reset was recorded");
}

#[test]
fn forced_writes_go_on_for_a_while_when_the_disk_of_the_host_is_full() {
    let (disk, drive) = made(Geometry::uniform(ByteCount::mib(4), 3));
    let start = |zone| drive.geometry().zone_start(ZoneId(zone));
    // The table of zones lies in one page, which is there once it was written.
    disk.allocate(0, 2 * PAGE as u64).unwrap();
    write(&drive, start(0), 1, 1, true).unwrap();
    write(&drive, start(1), 1, 1, false).unwrap();
    let mut block = 1;
    for round in 0..2 {
        *disk.fails.lock() = Some(io::ErrorKind::StorageFull);
        let refused = write(&drive, Lba(start(1).0 + 1), 1, 1, false);
        assert!(matches!(refused, Err(DeviceError::HostFull { .. })), "{refused:?}");
        for forced in 0..60 {
            if forced == 30 {
                *disk.fails.lock() = None;
            }
            let written = write(&drive, Lba(start(0).0 + block), 2, 1, true);
            written.unwrap_or_else(|error| panic!("round {round}, write {forced}: {error}"));
            block += 1;
        }
    }
}

/// Expected contents of a zone.
#[derive(Clone, Default)]
struct Expected {
    /// The bytes of its blocks since the last reset.
    blocks: Vec<u8>,
    /// How many of them are durable.
    durable: usize,
    /// Whether it was finished, and a reset after that may not have happened.
    finished: bool,
    /// Durable blocks from before a reset that may not have happened.
    before: Option<Vec<u8>>,
}

/// The zones that are used: few, so that each is reset and written again, and with entries in two
/// pages of the table.
const USED: [usize; 9] = [2, 3, 4, 5, 255, 256, 257, 258, 259];

/// A drive that is written at random.
struct Walk {
    disk: Arc<Disk>,
    drive: Emulator,
    zones: Vec<Expected>,
    random: Random,
}

impl Walk {
    fn step(&mut self) {
        let zone = USED[self.random.random_range(0..USED.len())];
        let id = ZoneId(zone as u32);
        match self.random.random_range(0..20) {
            0..10 => self.write(zone),
            10..14 => {
                if ask(&self.drive, Op::Reset(id)).is_ok() {
                    let expected = &mut self.zones[zone];
                    let durable = expected.blocks[..expected.durable].to_vec();
                    expected.before.get_or_insert(durable);
                    (expected.blocks, expected.durable) = (Vec::new(), 0);
                }
            }
            14..16 => self.zones[zone].finished |= ask(&self.drive, Op::Finish(id)).is_ok(),
            16 => drop(ask(&self.drive, Op::Open(id))),
            17 => drop(ask(&self.drive, Op::Close(id))),
            _ => {
                ask(&self.drive, Op::Flush).expect("a flush");
                let states = self.drive.report(ZoneId(0), 300).expect("a report");
                for (expected, report) in self.zones.iter_mut().zip(states) {
                    (expected.durable, expected.before) = (expected.blocks.len(), None);
                    expected.finished &= report.state == ZoneState::Full;
                }
            }
        }
    }

    fn write(&mut self, zone: usize) {
        let start = self.drive.geometry().zone_start(ZoneId(zone as u32));
        let lba = Lba(start.0 + self.zones[zone].blocks.len() as u64);
        let (byte, blocks) = (self.random.next_u32() as u8 | 1, self.random.random_range(1..4));
        let room = self.drive.geometry().zone_capacity(ZoneId(zone as u32)) as usize;
        if self.zones[zone].blocks.len() + blocks > room {
            return;
        }
        let fua = self.random.random_bool(0.2);
        if write(&self.drive, lba, byte, blocks, fua).is_err() {
            return;
        }
        let expected = &mut self.zones[zone];
        expected.blocks.extend(vec![byte; blocks]);
        // A write makes the reset before it durable.
        (expected.before, expected.finished) = (None, false);
        if fua {
            expected.durable = expected.blocks.len();
        }
    }

    /// Compares the drive that the host finds after a power cut.
    fn check(&mut self) {
        let drive = opened(&self.disk.cut(&mut self.random));
        let geometry = drive.geometry().clone();
        let reports = drive.report(ZoneId(0), geometry.zones).expect("a report");
        let active = reports.iter().filter(|report| report.state.is_active()).count();
        assert!(active <= 4, "{active} zones are active");
        for zone in USED {
            let (id, expected) = (ZoneId(zone as u32), &self.zones[zone]);
            assert_eq!(geometry.zone_type(id), ZoneType::Sequential);
            let report = &reports[zone];
            let start = geometry.zone_start(id).0;
            let written = match report.state {
                ZoneState::Full => geometry.zone_capacity(id),
                _ => report.write_pointer.0 - start,
            } as usize;
            let holds = |bytes: &[u8]| {
                bytes.len() <= written
                    && bytes.iter().enumerate().all(|(at, byte)| {
                        let lba = Lba(start + at as u64);
                        match ask(&drive, Op::Read { lba, blocks: 1 }) {
                            Ok(Completion::Read(data)) => data.iter().all(|found| found == byte),
                            other => panic!("{other:?}"),
                        }
                    })
            };
            let possible = written <= expected.blocks.len()
                || expected.finished && report.state == ZoneState::Full;
            let now = possible && holds(&expected.blocks[..expected.durable]);
            let before = expected.before.as_ref().is_some_and(|before| holds(before));
            assert!(
                now || before,
                "zone {zone}, {:?} with {written} written: expected {} durable blocks of {}",
                report.state,
                expected.durable,
                expected.blocks.len()
            );
        }
    }
}

#[test]
fn a_power_cut_of_the_host_leaves_what_one_of_the_drive_could_leave() {
    for seed in terrace_env::test_seeds(40) {
        let (disk, drive) = made(geometry());
        let zones = vec![Expected::default(); 300];
        let random = Random::seeded(seed);
        let mut walk = Walk { disk, drive, zones, random };
        for step in 0..150 {
            walk.step();
            if step % 10 == 9 {
                walk.check();
            }
        }
    }
}
