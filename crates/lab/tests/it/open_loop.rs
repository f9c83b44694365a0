//! Clients whose operations have arrivals: delays count from the arrival, even while the store
//! stalls.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use terrace::{Db, Durability, FormatOptions, MemoryStore, Options};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Time, runner};
use terrace_lab::arrivals::{Instants, Process};
use terrace_lab::workload::{
    Arriving, Crowd, Entries, First, KeyOrder, Preset, Recorded, Sizes, Source, Tally, Trace,
    TraceWriter, World,
};
use terrace_zone::emulator::{Command, Progress, Timing};
use terrace_zone::{Emulator, Geometry};

use crate::serial::Serial;

const SECOND: Duration = Duration::from_secs(1);

/// A drive that does nothing for a while.
struct Stalling {
    drive: Serial,
    from: Time,
    to: Time,
}

impl Timing for Stalling {
    fn submit(&mut self, now: Time, ticket: u64, command: &Command) -> Progress {
        let stalled = (self.from..self.to).contains(&now);
        self.drive.submit(if stalled { self.to } else { now }, ticket, command)
    }
}

fn world(db: &Db) -> World {
    let entries = Entries::new(1, Sizes::Constant(16), KeyOrder::Numbered, 100);
    World::new(db.clone(), Arc::new(entries))
}

fn operations(count: u64) -> First {
    First::new(Preset::FillRandom.workload(Sizes::Constant(100), count, 1), count)
}

fn instants(process: &str) -> Instants {
    process.parse::<Process>().expect("a process").instants(1, None)
}

/// Synced writes to a drive that stalls from the first second to the second one; also how long
/// they took.
fn stalled(clients: usize, source: impl Source + 'static) -> (Tally, Duration) {
    written(clients, source, SECOND..2 * SECOND)
}

/// The same to a drive that stalls in this part of the time.
fn written(
    clients: usize,
    source: impl Source + 'static,
    stall: Range<Duration>,
) -> (Tally, Duration) {
    runner::simulate(1, || {
        let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 200), 1);
        let drive = Arc::new(drive.expect("a usual geometry"));
        let options = Options::default().memtable_size(ByteCount::mib(16));
        let format = FormatOptions::default();
        let db = Db::create_device(Arc::clone(&drive), &format, options).expect("a store");
        let start = runner::now();
        let (from, to) = (start + stall.start, start + stall.end);
        let timing = Stalling { drive: Serial::default(), from, to };
        drive.set_timing(Some(Box::new(timing)));
        let durability = Some(Durability::Synced);
        let crowd = Crowd { durability, ..Crowd::new(clients) };
        let tally = crowd.play(&world(&db), source, &mut |_| ()).expect("writes");
        let took = runner::now().since(start);
        db.close().expect("a clean end");
        (tally, took)
    })
}

/// How many operations took longer than a tenth of a second.
fn slow(tally: &Tally) -> u64 {
    let latencies = tally.all_latencies();
    latencies.len() - latencies.count_between(0, 100_000_000)
}

#[test]
fn a_stall_of_a_second_delays_all_that_arrive_in_it() {
    let source = Arriving::new(operations(1_500), instants("constant:500"));
    let (open, took) = stalled(1, source);
    // A fifth of them arrive within the last tenth of the stall and after it.
    let found = slow(&open);
    assert!((430..=520).contains(&found), "{found} of the 500 that arrive in the stall");
    let delays = open.all_latencies();
    let most = Duration::from_nanos(delays.max());
    assert!(most > SECOND.mul_f64(0.95) && most < SECOND.mul_f64(1.2), "{most:?}");
    // Delays fall evenly from a second on: of a third of the operations, 70 % are below 0.7 s.
    let p90 = Duration::from_nanos(delays.value_at_quantile(0.9));
    assert!((0.6..0.8).contains(&p90.as_secs_f64()), "{p90:?}");
    let waits = open.arrival_waits();
    assert_eq!(waits.len(), 1_500);
    assert!(waits.max() > 900_000_000 && waits.max() < delays.max());
    assert!(took >= SECOND.mul_f64(2.99) && took < SECOND.mul_f64(3.1), "{took:?}");
}

#[test]
fn canary_a_closed_loop_hides_the_stall() {
    let (closed, _) = stalled(1, operations(10_000));
    assert_eq!(slow(&closed), 1, "only the running operation has met the stall");
    assert!(closed.all_latencies().value_at_quantile(0.999) < 10_000_000);
    assert!(closed.arrival_waits().is_empty());
}

/// Writes of one length that one client asks for, one after the other, are a queue with one
/// server: by the formula of Pollaczek and Khinchine their delays are `d (1 + u / (2 (1 - u)))` on
/// average, where a write takes `d` and the drive is busy for the part `u` of the time.
#[test]
fn delays_under_poisson_arrivals_are_those_of_a_queue_with_constant_service() {
    let none = Duration::ZERO..Duration::ZERO;
    let (alone, _) =
        written(1, Arriving::new(operations(1_000), instants("constant:100")), none.clone());
    let service = alone.all_latencies().value_at_quantile(0.5) as f64 / 1e9;
    assert!((1e-4..2e-4).contains(&service), "{service} s");
    for rate in [1_000, 3_000, 5_000, 6_500] {
        let source = Arriving::new(operations(20_000), instants(&format!("poisson:{rate}")));
        let (tally, _) = written(1, source, none.clone());
        let busy = f64::from(rate) * service;
        let expected = service * (1.0 + busy / (2.0 * (1.0 - busy)));
        let found = tally.all_latencies().mean() / 1e9;
        println!(
            "{rate} a second, busy {busy:.2}: {:.1} us, expected {:.1}",
            found * 1e6,
            expected * 1e6
        );
        assert!((found / expected - 1.0).abs() < 0.03, "{found} s, expected {expected}");
    }
}

#[test]
fn operations_of_several_clients_begin_at_their_arrivals_and_as_often_alike() {
    let run = || stalled(4, Arriving::new(operations(400), instants("poisson:500")));
    let ((tally, took), (again, _)) = (run(), run());
    assert_eq!(tally.all_latencies(), again.all_latencies());
    let last = instants("poisson:500").nth(399).expect("it has no end");
    assert!(took >= last && took < last + SECOND / 10, "{took:?}, {last:?}");
    // Four clients are enough: no operation waits for one, except when many arrive at once.
    let waits = tally.arrival_waits();
    assert!(waits.value_at_quantile(0.9) == 0, "{}", waits.value_at_quantile(0.9));
}

#[test]
fn a_recorded_trace_has_its_arrivals_and_replays_by_them() {
    let into = TraceWriter::with_arrivals(Vec::new(), KeyOrder::Numbered).expect("a header");
    let into = Arc::new(Mutex::new(into));
    let source = Arriving::new(operations(600), instants("b-model:500,span=1"));
    let (recorded, _) = stalled(1, Recorded::new(source, &into));
    // Operations without arrivals, and then some whose arrivals follow those of the first.
    let mut others = [
        Box::new(Recorded::new(operations(2), &into)) as Box<dyn Source>,
        Box::new(Recorded::new(Arriving::new(operations(2), instants("constant:1")), &into)),
    ];
    for source in &mut others {
        while source.take().expect("an operation").is_some() {}
    }
    drop(others);
    let text = Arc::into_inner(into).expect("no other").into_inner().into_inner();
    let text: &'static [u8] = Vec::leak(text);
    let lines = std::str::from_utf8(text).expect("text").lines();
    let first: String = lines.clone().take(602).map(|line| format!("{line}\n")).collect();
    let first: &'static [u8] = Vec::leak(first.into_bytes());
    let (replayed, _) = stalled(1, Trace::new(first).expect("a trace"));
    assert_eq!(replayed.all_latencies(), recorded.all_latencies());
    let arrival = |line: &str| line.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    let tail: Vec<Option<u64>> = lines.clone().skip(602).map(arrival).collect();
    let last = lines.clone().nth(601).and_then(arrival).expect("an arrival");
    assert_eq!(tail, [None, None, Some(last), Some(last + 1_000_000_000)]);
    Trace::new(text).expect("a trace").summary().expect("a whole trace");
}

#[test]
fn on_threads_operations_do_not_begin_before_their_arrivals_and_soon_after() {
    let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).expect("a store");
    let start = runner::now();
    let source = Arriving::new(operations(1_000), instants("constant:2000"));
    let tally = Crowd::new(3).play(&world(&db), source, &mut |_| ()).expect("writes");
    let took = runner::now().since(start);
    assert!(took >= SECOND.mul_f64(0.4995), "{took:?}");
    let waits = tally.arrival_waits();
    assert_eq!(waits.len(), 1_000);
    // A busy machine wakes threads late; on a quiet one it is 10 us.
    let half = Duration::from_nanos(waits.value_at_quantile(0.5));
    assert!(half < Duration::from_millis(50), "{half:?}");
    db.close().expect("a clean end");
}
