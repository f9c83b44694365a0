//! Latency models: a request takes the time it is given, and nobody is held up meanwhile.

use std::time::Duration;

use terrace_env::{Cause, IoBuf, Lba, Time, runner};
use terrace_zone::emulator::{RandomLatency, Timing};
use terrace_zone::{Device, Emulator, Op, Request};

use crate::geometries;

const CAUSE: Cause = Cause::Client;

struct Fixed(Duration);

impl Timing for Fixed {
    fn schedule(&mut self, now: Time, _: &Request) -> Time {
        now + self.0
    }
}

#[test]
fn requests_in_flight_wait_side_by_side() {
    let drive = Emulator::in_memory(geometries::plain(), 1).unwrap();
    let each = Duration::from_millis(20);
    drive.set_timing(Some(Box::new(Fixed(each))));
    let start = runner::now();
    let tickets: Vec<_> = (0..10)
        .map(|block| {
            let op = Op::Write { lba: Lba(block), data: IoBuf::zeroed(4096), fua: false };
            drive.submit(Request { op, cause: CAUSE })
        })
        .collect();
    for ticket in tickets {
        drive.wait(ticket).unwrap();
    }
    let took = runner::now().since(start);
    assert!(took >= each && took < 10 * each, "{took:?}");
}

#[test]
fn random_latencies_stay_in_their_range_and_repeat_with_their_seed() {
    let (min, max) = (Duration::from_micros(10), Duration::from_micros(50));
    let draw = |seed| {
        let mut latency = RandomLatency::new(min, max, seed);
        let request = Request { op: Op::Flush, cause: CAUSE };
        (0..100).map(|_| latency.schedule(Time(7), &request) - Time(7)).collect::<Vec<_>>()
    };
    assert!(draw(1).iter().all(|latency| (min..=max).contains(latency)));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
