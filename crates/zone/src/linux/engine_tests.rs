//! Tests of requests on both engines, over ordinary files: requests in flight at once, order,
//! errors and contents. Zone operations and reports need a device; they are tested in the guest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

use rustix::fs::OFlags;
use terrace_env::random::{Random, RngCore};
use terrace_env::{ByteCount, Cause, IoBuf, Lba, ZoneId, runner, test_seeds};

use super::block_device::BlockDevice;
use super::engine::IoEngine;
use crate::{Completion, Device, DeviceError, Geometry, Op, Request, Ticket};

const BLOCK: usize = 4096;

/// The engines that can be used here.
fn engines() -> Vec<IoEngine> {
    match IoEngine::check_io_uring() {
        Ok(()) => vec![IoEngine::IoUring, IoEngine::Blocking],
        Err(error) => {
            eprintln!("io_uring is left out, it is not permitted here: {error}");
            vec![IoEngine::Blocking]
        }
    }
}

/// A device over a file in which each block holds its number. Its data go past the page cache where
/// the file system can do that.
fn device(geometry: Geometry, engine: IoEngine) -> (BlockDevice, File) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for block in 0..geometry.blocks() {
        file.write_all(&block_of(block)).unwrap();
    }
    let mut options = File::options();
    options.read(true).write(true);
    let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(file.path());
    let node = direct.unwrap_or_else(|_| options.open(file.path()).unwrap());
    let device = BlockDevice::over(node, geometry, 2 * BLOCK, engine);
    (device, file.into_file())
}

fn plain(blocks: u64) -> Geometry {
    Geometry::plain(ByteCount(blocks * BLOCK as u64))
}

fn block_of(mark: u64) -> Vec<u8> {
    mark.to_le_bytes().repeat(BLOCK / 8)
}

fn blocks_of(mark: u64, blocks: u64) -> IoBuf {
    IoBuf::copy_of(&block_of(mark).repeat(blocks as usize))
}

fn submit(device: &dyn Device, op: Op) -> Ticket {
    device.submit(Request { op, cause: Cause::Client })
}

fn write(device: &dyn Device, at: u64, mark: u64, blocks: u64, fua: bool) -> Ticket {
    submit(device, Op::Write { lba: Lba(at), data: blocks_of(mark, blocks), fua })
}

fn marks(data: &[u8]) -> Vec<u64> {
    let mark = |block: &[u8]| {
        let mark = u64::from_le_bytes(block[..8].try_into().unwrap());
        assert_eq!(block, block_of(mark), "a torn block");
        mark
    };
    data.chunks(BLOCK).map(mark).collect()
}

fn read_marks(completion: Completion) -> Vec<u64> {
    match completion {
        Completion::Read(data) => marks(&data),
        other => panic!("a read completed as {other:?}"),
    }
}

fn content(file: &File, blocks: u64) -> Vec<u64> {
    let mut data = vec![0; blocks as usize * BLOCK];
    file.read_exact_at(&mut data, 0).unwrap();
    marks(&data)
}

#[test]
fn many_reads_of_one_thread_all_answer() {
    for engine in engines() {
        let (device, _) = device(plain(600), engine);
        let read = |at| submit(&device, Op::Read { lba: Lba(at), blocks: 1 });
        // More than a ring takes at once.
        let tickets: Vec<Ticket> = (0..600).map(read).collect();
        for (at, ticket) in tickets.into_iter().enumerate().rev() {
            assert_eq!(read_marks(device.wait(ticket).unwrap()), [at as u64]);
        }
        assert!(engine == IoEngine::IoUring || device.depth_max() == 1);
    }
}

/// A pipe as the device: no read of it can end before something is written. This shows that
/// submissions do not wait for the device. It does not show how many of the reads are in the
/// kernel: a ring has fewer slots than there are reads here, and the others wait in it.
#[test]
fn reads_are_under_way_until_the_device_answers() {
    if !engines().contains(&IoEngine::IoUring) {
        return;
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let node = File::from(std::os::fd::OwnedFd::from(reader));
    let device = BlockDevice::over(node, plain(300), 2 * BLOCK, IoEngine::IoUring);
    let read = |at| submit(&device, Op::Read { lba: Lba(at), blocks: 1 });
    let tickets: Vec<Ticket> = (0..300).map(read).collect();
    assert_eq!(device.depth_max(), 300);
    let writing = runner::spawn("writer", move || {
        (0..300).for_each(|mark| writer.write_all(&block_of(mark)).unwrap());
    });
    let answers = tickets.into_iter().map(|ticket| read_marks(device.wait(ticket).unwrap())[0]);
    // A pipe has no places: which read gets which block is the kernel's choice.
    let answers: std::collections::BTreeSet<u64> = answers.collect();
    assert_eq!(answers, (0..300).collect());
    writing.join();
}

#[test]
fn each_zone_has_one_write_under_way_and_keeps_its_order() {
    for engine in engines() {
        let geometry = Geometry::uniform(ByteCount(16 * BLOCK as u64), 8);
        let (device, file) = device(geometry, engine);
        let mut tickets = Vec::new();
        for step in 0..4 {
            for zone in 0..8 {
                let at = zone * 16 + step * 4;
                tickets.push((at, write(&device, at, 1000 + at, 4, step == 2)));
            }
        }
        tickets.reverse();
        for (at, ticket) in tickets {
            match device.wait(ticket).unwrap() {
                Completion::Written { lba, data } => {
                    assert_eq!((lba, data.len()), (Lba(at), 4 * BLOCK));
                }
                other => panic!("a write completed as {other:?}"),
            }
        }
        for (block, mark) in (0..).zip(content(&file, 128)) {
            assert_eq!(mark, 1000 + block / 4 * 4);
        }
        if engine == IoEngine::IoUring {
            assert!(device.depth_max() <= 8, "one write in flight a zone: {}", device.depth_max());
        }
        let full = device.write(Lba(0), blocks_of(0, 1), false, Cause::Client);
        assert!(matches!(full, Err(DeviceError::ZoneFull { zone: ZoneId(0) })), "{full:?}");
    }
}

#[test]
fn a_request_that_fails_takes_no_other_one_with_it() {
    for engine in engines() {
        let (device, file) = device(plain(64), engine);
        // The file ends earlier than the device: reads there fail.
        file.set_len(40 * BLOCK as u64).unwrap();
        let beyond = |at: &u64| (30..50).contains(at);
        let tickets: Vec<(u64, Ticket)> = (0..64)
            .filter(|at| *at < 30 || beyond(at))
            .map(|at| (at, submit(&device, Op::Read { lba: Lba(at), blocks: 1 })))
            .collect();
        let outside = submit(&device, Op::Read { lba: Lba(60), blocks: 9 });
        let flush = submit(&device, Op::Flush);
        for (at, ticket) in tickets {
            match device.wait(ticket) {
                Ok(completion) if at < 40 => assert_eq!(read_marks(completion), [at]),
                Err(DeviceError::Host { .. }) if at >= 40 => {}
                other => panic!("{engine}: the read of block {at} gave {other:?}"),
            }
        }
        let outside = device.wait(outside);
        assert!(matches!(outside, Err(DeviceError::OutOfRange { .. })), "{outside:?}");
        assert!(matches!(device.wait(flush), Ok(Completion::Done)));
    }
}

#[test]
fn a_refused_write_lets_those_behind_it_go_on() {
    for engine in engines() {
        let (device, file) = device(Geometry::uniform(ByteCount(64 * BLOCK as u64), 2), engine);
        let tickets = [(0, true), (8, false), (4, true), (4, false), (8, true)]
            .map(|(at, fits)| (fits, at, write(&device, at, 500 + at, 4, false)));
        for (fits, at, ticket) in tickets {
            match device.wait(ticket) {
                Ok(_) if fits => {}
                Err(DeviceError::NotAtWritePointer { expected, got, .. }) if !fits => {
                    assert_eq!((got, expected), (Lba(at), Lba(if at == 8 { 4 } else { 8 })));
                }
                other => panic!("{engine}: the write at {at} gave {other:?}"),
            }
        }
        assert_eq!(content(&file, 12)[..], [[500; 4], [504; 4], [508; 4]].concat());
    }
}

#[test]
fn writes_that_nobody_waits_for_are_done_when_the_device_is_dropped() {
    for engine in engines() {
        let (device, file) = device(plain(512), engine);
        for at in 0..256 {
            // Each pair of writes overlaps, so that some have not begun when the device is dropped.
            let _ = write(&device, 2 * at, 1, 2, false);
            let _ = write(&device, 2 * at, 7000 + at, 1, at.is_multiple_of(16));
            let _ = submit(&device, Op::Read { lba: Lba(2 * at), blocks: 2 });
        }
        drop(device);
        for (block, mark) in (0..).zip(content(&file, 512)) {
            assert_eq!(mark, if block % 2 == 0 { 7000 + block / 2 } else { 1 }, "{engine}");
        }
    }
}

/// The kernel cancels the requests of an ended thread that have not begun.
#[test]
fn requests_complete_although_the_thread_that_submitted_them_has_ended() {
    for engine in engines() {
        let (device, _) = device(plain(64), engine);
        let device = Arc::new(device);
        for round in 0..8 {
            let theirs = Arc::clone(&device);
            let tickets = runner::spawn("submitter", move || {
                let write =
                    |at: u64| write(&*theirs, at, 100 + at + round, 1, at.is_multiple_of(8));
                let mut tickets: Vec<Ticket> = (0..64).map(write).collect();
                tickets.extend((0..8).map(|_| submit(&*theirs, Op::Flush)));
                tickets
            });
            for ticket in tickets.join() {
                device.wait(ticket).unwrap();
            }
            let read = device.read(Lba(0), 64, Cause::Client).unwrap();
            assert_eq!(marks(&read), (0..64).map(|at| 100 + at + round).collect::<Vec<_>>());
        }
    }
}

#[test]
fn many_threads_wait_on_one_device() {
    for engine in engines() {
        let (device, file) = device(plain(512), engine);
        let device = Arc::new(device);
        let threads: Vec<_> = (0..8u64)
            .map(|thread| {
                let device = Arc::clone(&device);
                runner::spawn("client", move || {
                    let mut random = Random::seeded(thread);
                    for round in 0..200u64 {
                        let at = thread * 64 + random.next_u64() % 62;
                        let mark = thread * 1000 + round;
                        let written = write(&*device, at, mark, 2, round.is_multiple_of(32));
                        let read = submit(&*device, Op::Read { lba: Lba(at), blocks: 2 });
                        // All threads read one block that no thread writes.
                        let shared = submit(&*device, Op::Read { lba: Lba(511), blocks: 1 });
                        assert_eq!(read_marks(device.wait(read).unwrap()), [mark; 2]);
                        assert_eq!(read_marks(device.wait(shared).unwrap()), [511]);
                        device.wait(written).unwrap();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join();
        }
        assert_eq!(content(&file, 512)[511], 511);
    }
}

/// Random writes, reads, flushes and waits. Each request sees all that were submitted before it, in
/// whichever order the tickets are waited for.
#[test]
fn every_request_sees_those_that_were_submitted_before() {
    for seed in test_seeds(6) {
        for engine in engines() {
            for is_zoned in [false, true] {
                let geometry = if is_zoned {
                    Geometry::uniform(ByteCount(16 * BLOCK as u64), 4)
                } else {
                    plain(64)
                };
                check_history(seed, geometry, engine);
            }
        }
    }
}

fn check_history(seed: u64, geometry: Geometry, engine: IoEngine) {
    let mut random = Random::seeded(seed);
    let mut below = |limit: u64| random.next_u64() % limit;
    let is_zoned = geometry.layout.is_zoned();
    let (device, file) = device(geometry, engine);
    let mut model: Vec<u64> = (0..64).collect();
    let mut pointers = [0, 16, 32, 48];
    let mut under_way: BTreeMap<u64, (Ticket, Option<Vec<u64>>, bool)> = BTreeMap::new();
    for id in 0..400 {
        match below(10) {
            0..4 => {
                let (at, blocks, fits) = if is_zoned {
                    let zone = below(4) as usize;
                    let left = (zone as u64 + 1) * 16 - pointers[zone];
                    let blocks = (1 + below(3)).min(left);
                    let off = u64::from(below(8) == 0);
                    let at = pointers[zone].saturating_sub(off);
                    let fits = left > 0 && at == pointers[zone];
                    // A write must not cross into the zone before.
                    if blocks == 0 || at / 16 != zone as u64 {
                        continue;
                    }
                    if fits {
                        pointers[zone] += blocks;
                    }
                    (at, blocks, fits)
                } else {
                    let at = below(64);
                    (at, (1 + below(8)).min(64 - at), true)
                };
                let ticket = write(&device, at, 1000 + id, blocks, below(8) == 0);
                if fits {
                    model[at as usize..(at + blocks) as usize].fill(1000 + id);
                }
                under_way.insert(id, (ticket, None, fits));
            }
            4..7 => {
                let at = below(64);
                let end = if is_zoned { (at / 16 + 1) * 16 } else { 64 };
                let blocks = (1 + below(8)).min(end - at);
                let ticket = submit(&device, Op::Read { lba: Lba(at), blocks: blocks as u32 });
                let expected = model[at as usize..(at + blocks) as usize].to_vec();
                under_way.insert(id, (ticket, Some(expected), true));
            }
            7 => drop(under_way.insert(id, (submit(&device, Op::Flush), None, true))),
            _ => {
                let oldest = under_way.keys().copied().nth(below(4) as usize);
                let Some((ticket, expected, fits)) = oldest.and_then(|id| under_way.remove(&id))
                else {
                    continue;
                };
                check_result(device.wait(ticket), expected, fits, seed);
            }
        }
    }
    for (_, (ticket, expected, fits)) in under_way.into_iter().rev() {
        check_result(device.wait(ticket), expected, fits, seed);
    }
    assert_eq!(content(&file, 64), model, "seed {seed}, {engine}");
}

fn check_result(
    result: Result<Completion, DeviceError>,
    expected: Option<Vec<u64>>,
    fits: bool,
    seed: u64,
) {
    match (result, expected) {
        (Ok(completion), Some(expected)) => {
            assert_eq!(read_marks(completion), expected, "seed {seed}");
        }
        (Ok(_), None) if fits => {}
        (Err(DeviceError::NotAtWritePointer { .. } | DeviceError::ZoneFull { .. }), None)
            if !fits => {}
        other => panic!("seed {seed}: {other:?}, which is to succeed: {fits}"),
    }
}
