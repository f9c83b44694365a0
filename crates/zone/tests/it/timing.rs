//! Latencies, and several actors on one drive, on both runners.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::{Cause, IoBuf, Lba, Time, ZoneId, runner};
use terrace_zone::emulator::{Command, Progress, RandomLatency, RequestKind, Timing};
use terrace_zone::{Device, DeviceError, Emulator, Op, PowerCut, Request};

use crate::geometries;

const CAUSE: Cause = Cause::Client;

struct Fixed(Duration);

impl Timing for Fixed {
    fn submit(&mut self, now: Time, _: u64, _: &Command) -> Progress {
        Progress::Decided { start: now, end: now + self.0 }
    }
}

fn plain() -> Arc<Emulator> {
    Arc::new(Emulator::in_memory(geometries::plain(), 1).unwrap())
}

fn write(lba: u64, byte: u8) -> Request {
    let mut data = IoBuf::zeroed(4096);
    data.fill(byte);
    Request { op: Op::Write { lba: Lba(lba), data, fua: false }, cause: CAUSE }
}

#[test]
fn requests_in_flight_wait_side_by_side() {
    let each = Duration::from_millis(20);
    runner::simulate(1, || {
        let drive = plain();
        drive.set_timing(Some(Box::new(Fixed(each))));
        let tickets: Vec<_> = (0..10).map(|lba| drive.submit(write(lba, 1))).collect();
        assert_eq!(runner::now(), Time(0));
        for ticket in tickets {
            drive.wait(ticket).unwrap();
        }
        assert_eq!(runner::now(), Time(0) + each);
    });
}

/// One request after the other, each for the same time.
struct OneServer {
    service: Duration,
    free: Time,
}

impl Timing for OneServer {
    fn submit(&mut self, now: Time, _: u64, _: &Command) -> Progress {
        let start = self.free.max(now);
        self.free = start + self.service;
        Progress::Decided { start, end: self.free }
    }
}

/// Ten requests at once wait for 0 to 9 services. Two of another cause arrive half a service before
/// the last one ends, and wait for a half and for one and a half.
#[test]
fn times_of_a_constructed_queue_are_those_of_its_requests_by_cause() {
    let service = Duration::from_millis(20);
    runner::simulate(1, || {
        let drive = plain();
        drive.set_timing(Some(Box::new(OneServer { service, free: Time(0) })));
        let mut tickets: Vec<_> = (0..10).map(|lba| drive.submit(write(lba, 1))).collect();
        runner::sleep(service * 19 / 2);
        for lba in 10..12 {
            let request = Request { cause: Cause::Flush, ..write(lba, 1) };
            tickets.push(drive.submit(request));
        }
        for ticket in tickets {
            drive.wait(ticket).unwrap();
        }
        assert_eq!(runner::now(), Time(0) + service * 12);
        let time = drive.device_time();
        let (first, last) = (time.of(CAUSE), time.of(Cause::Flush));
        assert_eq!((first.requests, first.queued, first.service), (10, service * 45, service * 10));
        assert_eq!((last.requests, last.queued, last.service), (2, service * 2, service * 2));
        assert_eq!(time.of(Cause::Read).requests, 0);
    });
}

#[test]
fn a_power_cut_fails_those_who_wait() {
    runner::simulate(1, || {
        let drive = plain();
        drive.set_timing(Some(Box::new(Fixed(Duration::from_millis(20)))));
        let waiting = drive.clone();
        let actor = runner::spawn("writer", move || {
            let ticket = waiting.submit(write(0, 1));
            waiting.wait(ticket).map(|_| ())
        });
        runner::sleep(Duration::from_millis(10));
        drive.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
        drive.power_on();
        assert!(matches!(actor.join(), Err(DeviceError::PowerLost)));
        assert_eq!(drive.report(ZoneId(0), 1).unwrap()[0].write_pointer, Lba(0));
    });
}

#[test]
fn random_latencies_stay_in_their_range_and_repeat_with_their_seed() {
    let (min, max) = (Duration::from_micros(10), Duration::from_micros(50));
    let draw = |seed| {
        let mut latency = RandomLatency::new(min, max, seed);
        let command = Command {
            kind: RequestKind::Flush,
            cause: CAUSE,
            lba: Lba(0),
            blocks: 0,
            zone: None,
            append: false,
            forced: false,
            refused: false,
        };
        let mut next = |ticket| match latency.submit(Time(7), ticket, &command) {
            Progress::Decided { end, .. } => end - Time(7),
            undecided => panic!("{undecided:?}"),
        };
        (0..100).map(&mut next).collect::<Vec<_>>()
    };
    assert!(draw(1).iter().all(|latency| (min..=max).contains(latency)));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

/// Four actors fill a zone each, again and again, and read it back.
fn share(drive: &Arc<Emulator>) {
    let actors = [0, 1, 2, 3].map(|zone| {
        let drive = drive.clone();
        runner::spawn("client", move || {
            for round in 1..=20u8 {
                for block in 0..16 {
                    let ticket = drive.submit(write(zone * 16 + block, round));
                    drive.wait(ticket).unwrap();
                    if block % 5 == 0 {
                        drive.control(Op::Flush, CAUSE).unwrap();
                    }
                }
                let read = drive.read(Lba(zone * 16), 16, CAUSE).unwrap();
                assert!(read.iter().all(|byte| *byte == round));
                drive.control(Op::Reset(ZoneId(zone as u32)), CAUSE).unwrap();
            }
        })
    });
    for actor in actors {
        actor.join();
    }
    let io = drive.io();
    assert_eq!(io.written(CAUSE).0, 4 * 20 * 16 * 4096);
    assert_eq!((io.zones_reset, io.flushes), (4 * 20, 4 * 20 * 4));
}

#[test]
fn threads_share_a_drive() {
    share(&plain());
}

#[test]
fn simulated_actors_share_a_drive_and_repeat_their_history() {
    let run = |seed| {
        runner::simulate(seed, || {
            let drive = plain();
            let (min, max) = (Duration::from_micros(1), Duration::from_micros(500));
            let seed = runner::fork_random().random();
            drive.set_timing(Some(Box::new(RandomLatency::new(min, max, seed))));
            share(&drive);
            (runner::now(), runner::history())
        })
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
