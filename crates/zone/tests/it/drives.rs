//! The models of real drives, attached to the emulator: the times that head, platters, caches and
//! dies show to a host.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, Cause, IoBuf, Lba, Time, ZoneId, runner, test_seeds};
use terrace_zone::timing::{DeviceTime, Drive, Scale};
use terrace_zone::{
    Device, DeviceError, Emulator, Op, PowerCut, Request, Ticket, ZoneType, conformance,
};

const CAUSE: Cause = Cause::Client;
const REVOLUTION: Duration = Duration::from_nanos(8_333_333);

fn modelled(name: &str, size: ByteCount) -> Arc<Emulator> {
    let drive = Drive::find(name).unwrap();
    Arc::new(Emulator::modelled(&drive, Scale::FULL, size, 1).unwrap())
}

/// The first part of a host-managed disk, and its first sequential zone.
fn disk() -> (Arc<Emulator>, Lba) {
    let drive = modelled("hgst-hsh721414al", ByteCount::gib(200));
    let sequential = drive.geometry().conventional[0].end;
    let start = drive.geometry().zone_start(ZoneId(sequential));
    (drive, start)
}

fn write(drive: &Emulator, lba: Lba, bytes: usize, fua: bool) -> Duration {
    let before = runner::now();
    drive.write(lba, IoBuf::zeroed(bytes), fua, CAUSE).unwrap();
    runner::now() - before
}

fn read(drive: &Emulator, lba: Lba, blocks: u32) -> Duration {
    let before = runner::now();
    drive.read(lba, blocks, CAUSE).unwrap();
    runner::now() - before
}

fn near(time: Duration, expected: Duration) -> bool {
    let ratio = time.as_secs_f64() / expected.as_secs_f64();
    (0.9..=1.1).contains(&ratio)
}

#[test]
fn each_forced_write_at_the_end_of_a_log_waits_for_the_platters_to_come_round() {
    runner::simulate(1, || {
        let (drive, start) = disk();
        write(&drive, start, 4096, true);
        for block in 1..60 {
            let took = write(&drive, Lba(start.0 + block), 4096, true);
            assert!(near(took, REVOLUTION), "block {block}: {took:?}");
        }
    });
}

#[test]
fn writes_are_acknowledged_from_the_cache_until_it_is_full_and_a_flush_waits_for_the_medium() {
    runner::simulate(1, || {
        let (drive, start) = disk();
        let took: Vec<Duration> = (0..200)
            .map(|chunk| write(&drive, Lba(start.0 + chunk * 256), 1 << 20, false))
            .collect();
        // The cable carries 600 MB/s, the head writes 237 MiB/s.
        let (cached, full): (Duration, Duration) =
            (took[..16].iter().sum(), took[136..].iter().sum());
        assert!(cached < Duration::from_millis(35), "{cached:?}");
        assert!(near(full, Duration::from_secs_f64(64.0 / 237.0)), "{full:?}");
        let before = runner::now();
        drive.control(Op::Flush, CAUSE).unwrap();
        let flush = runner::now() - before;
        let cache = Duration::from_secs_f64(64.0 / 237.0);
        assert!(flush > cache / 2 && flush < cache * 12 / 10, "{flush:?}");
        assert!(write(&drive, Lba(start.0 + 200 * 256), 4096, false) < Duration::from_millis(1));
    });
}

#[test]
fn a_reader_that_asks_for_one_part_after_the_other_keeps_the_stream_going() {
    runner::simulate(1, || {
        let (drive, start) = disk();
        read(&drive, start, 16);
        let before = runner::now();
        for chunk in 1..=1024 {
            read(&drive, Lba(start.0 + chunk * 16), 16);
        }
        let stream = Duration::from_secs_f64(64.0 / 237.0);
        let took = runner::now() - before;
        assert!(near(took, stream), "{took:?}");
    });
}

#[test]
fn a_disk_with_a_choice_serves_random_reads_faster_than_one_without() {
    let places = |count: u64, blocks: u64| -> Vec<Lba> {
        let mut random = Random::seeded(7);
        (0..count).map(|_| Lba(random.random_range(0..blocks))).collect()
    };
    runner::simulate(1, || {
        let drive = modelled("hgst-hsh721414al", ByteCount(u64::MAX));
        let places = places(64, drive.geometry().blocks());
        let alone: Duration = places.iter().map(|lba| read(&drive, *lba, 1)).sum();
        assert!(alone > 64 * REVOLUTION, "{alone:?}");
        let drive = modelled("hgst-hsh721414al", ByteCount(u64::MAX));
        let before = runner::now();
        let submit = |lba: &Lba| {
            drive.submit(Request { op: Op::Read { lba: *lba, blocks: 1 }, cause: CAUSE })
        };
        let tickets: Vec<Ticket> = places.iter().map(submit).collect();
        tickets.into_iter().for_each(|ticket| drop(drive.wait(ticket).unwrap()));
        let together = runner::now() - before;
        assert!(together < alone * 2 / 3, "{together:?} against {alone:?}");
    });
}

/// Four clients read and write at random, sync and reset; when each step was done, and where the
/// time went.
fn mixture(name: &str, seed: u64) -> (Vec<Time>, DeviceTime, Time) {
    const CAUSES: [Cause; 4] = [Cause::Log, Cause::Flush, Cause::Compaction, Cause::Read];
    runner::simulate(seed, || {
        let drive = Drive::find(name).unwrap();
        let scale = "1/64".parse().unwrap();
        let size = ByteCount::gib(40);
        let drive = Arc::new(Emulator::modelled(&drive, scale, size, seed).unwrap());
        let first = drive.geometry().conventional.first().map_or(0, |run| run.end);
        let clients = CAUSES.map(|cause| {
            let drive = Arc::clone(&drive);
            let mut random = Random::seeded(seed + cause as u64);
            runner::spawn("client", move || {
                let zone = ZoneId(first + cause as u32);
                let start = drive.geometry().zone_start(zone).0;
                let step = drive.geometry().physical_step();
                let mut times = Vec::new();
                let mut at = 0;
                for _ in 0..200 {
                    let lba = Lba(start + at * step);
                    match random.random_range(0..10) {
                        0 => drive.control(Op::Flush, cause).unwrap(),
                        1..4 => {
                            let any = random.random_range(0..drive.geometry().zones);
                            let lba = drive.geometry().zone_start(ZoneId(any));
                            drop(drive.read(lba, 8 * step as u32, cause).unwrap());
                        }
                        other => {
                            let data = IoBuf::zeroed(4096 * step as usize);
                            drop(drive.write(lba, data, other == 4, cause).unwrap());
                            at += step;
                        }
                    }
                    if at > 60 {
                        drive.control(Op::Reset(zone), cause).unwrap();
                        at = 0;
                    }
                    times.push(runner::now());
                }
                times
            })
        });
        let times = clients.map(|client| client.join()).concat();
        (times, drive.device_time(), runner::now())
    })
}

#[test]
fn the_same_requests_take_the_same_times_and_the_time_has_causes() {
    for name in ["seagate-st13125nm007", "wd-zn540", "cosmos-openssd"] {
        let (times, device_time, end) = mixture(name, 3);
        assert_eq!((&times, &device_time, end), {
            let again = mixture(name, 3);
            assert_eq!(again.0, times, "{name}");
            (&times, &device_time, again.2)
        });
        assert_ne!(times, mixture(name, 4).0, "{name}");
        let mut work = Duration::ZERO;
        for cause in Cause::ALL {
            let time = device_time.of(cause);
            work += time.positioning + time.transfer;
            let used = matches!(cause, Cause::Log | Cause::Flush | Cause::Compaction | Cause::Read);
            assert_eq!(used, time.requests >= 200, "{name}: {cause}: {time:?}");
            assert_eq!(used, time.service > Duration::ZERO, "{name}: {cause}");
        }
        assert!(work > Duration::ZERO, "{name}");
        if name.starts_with("seagate") {
            // A request that the drive has begun counts, to its end.
            let elapsed = end - Time(0) + Duration::from_millis(1);
            assert!(work <= elapsed, "the head did {work:?} in {end}");
        }
    }
}

/// Hands a drive up to `depth` requests of every kind at once, and waits for them in any order.
fn pile_up(name: &str, depth: usize, seed: u64) -> Time {
    runner::simulate(seed, || {
        let drive = Drive::find(name).unwrap();
        let scale = "1/64".parse().unwrap();
        let drive = Emulator::modelled(&drive, scale, ByteCount::gib(20), seed).unwrap();
        let geometry = drive.geometry().clone();
        let step = geometry.physical_step();
        let first = geometry.conventional.first().map_or(0, |run| run.end);
        let mut random = Random::seeded(seed);
        let mut tickets: Vec<Ticket> = Vec::new();
        let mut written = [0; 4];
        for _ in 0..400 {
            let index = random.random_range(0..4);
            let zone = ZoneId(first + index as u32);
            let blocks = random.random_range(1..=64) * step;
            let full = written[index] + blocks > geometry.zone_capacity(zone);
            let op = match random.random_range(0..10) {
                _ if full => Op::Reset(zone),
                0 => Op::Flush,
                1..5 => {
                    let zone = ZoneId(random.random_range(0..geometry.zones));
                    Op::Read { lba: geometry.zone_start(zone), blocks: blocks as u32 }
                }
                kind => {
                    let bytes = blocks * u64::from(geometry.logical_block);
                    let lba = Lba(geometry.zone_start(zone).0 + written[index]);
                    let data = IoBuf::zeroed(bytes as usize);
                    Op::Write { lba, data, fua: kind == 5 }
                }
            };
            match &op {
                Op::Write { .. } => written[index] += blocks,
                Op::Reset(_) => written[index] = 0,
                _ => {}
            }
            tickets.push(drive.submit(Request { op, cause: CAUSE }));
            while tickets.len() > depth || (random.random_bool(0.1) && !tickets.is_empty()) {
                let ticket = tickets.swap_remove(random.random_range(0..tickets.len()));
                drive.wait(ticket).unwrap();
            }
        }
        tickets.into_iter().for_each(|ticket| drop(drive.wait(ticket).unwrap()));
        let time = drive.device_time().of(CAUSE);
        assert_eq!(time.requests, 400);
        runner::now()
    })
}

#[test]
fn whatever_is_piled_up_before_a_drive_completes_and_in_the_same_time_again() {
    for name in Drive::names() {
        for seed in test_seeds(2) {
            for depth in [1, 8, 64, 300] {
                let end = pile_up(name, depth, seed);
                assert_eq!(end, pile_up(name, depth, seed), "{name}: {depth} at once, seed {seed}");
            }
        }
    }
}

#[test]
fn modelled_drives_keep_every_rule() {
    for name in ["hgst-hsh721414al", "seagate-st5000as0011", "cosmos-openssd"] {
        runner::simulate(1, || {
            let model = Drive::find(name).unwrap();
            let scale = "1/64".parse().unwrap();
            conformance::run(&|geometry| {
                let drive = Emulator::in_memory(geometry, 1).unwrap();
                drive.set_timing(Some(model.timing(scale).unwrap()));
                Arc::new(drive)
            });
        });
    }
}

#[test]
fn a_power_cut_ends_the_wait_for_a_head_that_is_elsewhere() {
    runner::simulate(1, || {
        let (drive, start) = disk();
        let tickets: Vec<Ticket> = (0..8)
            .map(|zone| {
                let lba = Lba(start.0 + zone * 65536);
                drive.submit(Request { op: Op::Read { lba, blocks: 1 }, cause: CAUSE })
            })
            .collect();
        let waiting = Arc::clone(&drive);
        let client = runner::spawn("client", move || {
            tickets.into_iter().map(|ticket| waiting.wait(ticket).map(drop)).collect::<Vec<_>>()
        });
        runner::sleep(Duration::from_millis(1));
        drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
        drive.power_on();
        let results = client.join();
        assert!(results.iter().all(|result| matches!(result, Err(DeviceError::PowerLost))));
        assert!(read(&drive, start, 1) < 3 * REVOLUTION);
    });
}

#[test]
fn two_zones_on_dies_of_their_own_are_written_twice_as_fast_as_one() {
    let fill = |zones: u32| {
        runner::simulate(1, || {
            let drive = modelled("cosmos-openssd", ByteCount::gib(1));
            let clients: Vec<_> = (0..zones)
                .map(|zone| {
                    let drive = Arc::clone(&drive);
                    runner::spawn("client", move || {
                        let start = drive.geometry().zone_start(ZoneId(zone)).0;
                        for chunk in 0..64 {
                            write(&drive, Lba(start + chunk * 256), 1 << 20, false);
                        }
                    })
                })
                .collect();
            clients.into_iter().for_each(|client| client.join());
            drive.control(Op::Flush, CAUSE).unwrap();
            runner::now() - Time(0)
        })
    };
    let (one, two, four) = (fill(1), fill(2), fill(4));
    // 16 dies program 16 KiB each in 1.3 ms.
    assert!(near(one, Duration::from_secs_f64(64.0 / 192.3)), "{one:?}");
    assert!(near(two, one) && near(four, one), "{one:?}, {two:?}, {four:?}");
}

#[test]
fn conventional_zones_lie_at_the_middle_and_the_way_there_is_a_seek() {
    runner::simulate(1, || {
        let (drive, start) = disk();
        let geometry = drive.geometry();
        assert_eq!(geometry.zone_type(ZoneId(0)), ZoneType::Conventional);
        let mut there_and_back = Duration::ZERO;
        for step in 0..40 {
            let byte = step * 4096;
            there_and_back += read(&drive, Lba(byte), 1) + read(&drive, Lba(start.0 + byte), 1);
        }
        let mut here = Duration::ZERO;
        for step in 0..80 {
            here += read(&drive, Lba(start.0 + 1_000_000 + (step * 37 % 80) * 4096), 1);
        }
        assert!(
            there_and_back > here + 80 * Duration::from_millis(5),
            "{there_and_back:?} {here:?}"
        );
    });
}
