//! Every option, and every parameter of every system, at the ends of its range and beyond them. A
//! store opens and does its work, in bounded time, or it refuses the option with an error that
//! names its range. Options that are drawn from their ranges work together. Simulated, with a
//! random latency of the drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace::{
    ByteCount, Compression, Db, Durability, ErrorKind, FormatOptions, Options, Row, System, limits,
};
use terrace_env::random::{Random, Rng};
use terrace_env::{Limit, runner, test_seeds};
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Emulator, PowerCut};

use crate::devices::drive;

/// A time far beyond that of the slowest of these stores; a store that does not end loses its power
/// then.
const TIME_MAX: Duration = Duration::from_secs(600);
const VALUE: usize = 600;

/// An option as a number.
struct Knob {
    limit: Limit<u64>,
    set: fn(&mut Options, u64),
}

fn size(limit: Limit<ByteCount>, set: fn(&mut Options, u64)) -> Knob {
    let Limit { option, least, most, reason } = limit;
    Knob { limit: Limit { option, least: least.0, most: most.0, reason }, set }
}

fn knobs() -> Vec<Knob> {
    let bits = Limit { option: "filter_bits", least: 0, most: 32, reason: "" };
    assert_eq!((limits::FILTER_BITS.least, limits::FILTER_BITS.most), (0, 32));
    vec![
        size(limits::MEMTABLE_SIZE, |o, n| o.memtable_size = Some(ByteCount(n))),
        Knob { limit: limits::MEMTABLES_MAX, set: |o, n| o.memtables_max = n as usize },
        Knob {
            limit: limits::GATHER_TIME,
            set: |o, n| {
                (o.durability, o.gather_time) =
                    (Some(Durability::Gathered), Duration::from_millis(n));
            },
        },
        size(limits::BLOCK_SIZE, |o, n| o.block_size = Some(ByteCount(n))),
        Knob { limit: bits, set: |o, n| o.filter_bits = Some(n.min(255) as u8) },
        size(limits::MEMORY, |o, n| o.memory = ByteCount(n)),
        size(limits::IO_SIZE, |o, n| o.io_size = Some(ByteCount(n))),
        Knob { limit: limits::WORKERS, set: |o, n| o.workers = n as usize },
        size(limits::FILE_CACHE, |o, n| o.file_cache = ByteCount(n)),
    ]
}

/// The ends of a range with their neighbours, 0, 1, and the largest number.
fn around(least: u64, most: u64) -> Vec<u64> {
    let mut values = vec![0, 1, least, least + 1, most, u64::MAX, u64::MAX / 2 + 1];
    values.extend([least.saturating_sub(1), most - 1, most.saturating_add(1)]);
    values.sort_unstable();
    values.dedup();
    values
}

/// Outcome of opening a store.
#[derive(Debug, PartialEq)]
enum Outcome {
    Works,
    Refused(String),
}

/// Opens a new store with these options, and works with it if it opens.
fn attempt(options: &Options, seed: u64) -> Outcome {
    let options = options.clone();
    runner::simulate(seed, move || {
        let device = drive(ByteCount::mib(1), 64, seed);
        let latency = (Duration::from_micros(10), Duration::from_micros(200));
        device.set_timing(Some(Box::new(RandomLatency::new(latency.0, latency.1, seed))));
        let done = Arc::new(AtomicBool::new(false));
        let (watched, at_end) = (Arc::clone(&device), Arc::clone(&done));
        let watch = runner::spawn("watch", move || {
            while !at_end.load(Ordering::Relaxed) {
                runner::sleep(Duration::from_secs(1));
                if runner::now().since(terrace_env::Time(0)) > TIME_MAX {
                    watched.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
                    return;
                }
            }
        });
        let outcome = open_and_work(&device, &options);
        done.store(true, Ordering::Relaxed);
        watch.join();
        outcome
    })
}

fn open_and_work(device: &Arc<Emulator>, options: &Options) -> Outcome {
    let of = || Arc::clone(device);
    let remembered = System::of(Row::Tiered);
    let plain = Options::fitting(ByteCount::mib(64)).system(remembered);
    Db::create_device(of(), &FormatOptions::default(), plain.clone()).unwrap().close().unwrap();
    let db = match Db::open_device(of(), options.clone()) {
        Ok(db) => db,
        Err(error) => {
            assert!(error.kind() == ErrorKind::Option, "{error}");
            let again = Db::create_device(of(), &FormatOptions::default(), options.clone());
            assert!(
                again.is_err_and(|error| error.kind() == ErrorKind::Option),
                "refused by open, and not by format"
            );
            // Nothing is written or remembered: neither opening nor format has begun.
            let db = Db::open_device(of(), plain.system(None)).unwrap();
            assert_eq!(db.system(), remembered);
            return Outcome::Refused(error.to_string());
        }
    };
    let keys = 150;
    for round in 0..2_u8 {
        (0..keys).for_each(|key| db.put(&[round % 2, key], &[key ^ round; VALUE]).unwrap());
        (0..keys).for_each(|key| db.put(&[2, key], &[key ^ round; VALUE]).unwrap());
        db.flush().unwrap();
        check(&db, keys, round);
    }
    db.delete(&[0, 0]).unwrap();
    db.put(&[0, 0], &[0; VALUE]).unwrap();
    db.wait_idle().unwrap();
    check(&db, keys, 1);
    check_budget(&db, options);
    db.close().unwrap();
    let db = Db::open_device(of(), options.clone()).expect("what opened once opens again");
    check(&db, keys, 1);
    db.put(b"after", b"the second opening").unwrap();
    db.verify().unwrap();
    db.close().unwrap();
    Outcome::Works
}

fn check(db: &Db, keys: u8, round: u8) {
    for (prefix, salt) in (0..=round).map(|r| (r, r)).chain([(2, round)]) {
        for key in 0..keys {
            let found = db.get(&[prefix, key]).unwrap();
            assert!(found.is_some_and(|value| value[..] == [key ^ salt; VALUE]), "{prefix}/{key}");
        }
    }
}

/// Checks the memory held beyond the budget: a block and its bookkeeping for each of a few users,
/// and the least that each job needs to go on.
fn check_budget(db: &Db, options: &Options) {
    let memory = db.stats().memory;
    let beyond = 16 * options.tables().shape().block_size.0 + (1 << 20);
    let most = options.memory.0.saturating_add(beyond);
    assert!(memory.peak <= most, "{} of {}: {memory:?}", memory.peak, options.memory);
}

/// Options with which a store on a drive of 64 MiB holds several memtables and tables.
fn usual(system: System) -> Options {
    Options::default()
        .memtable_size(ByteCount::kib(64))
        .memory(ByteCount::mib(4))
        .compression(Compression::Lz4)
        .system(system)
}

#[test]
fn every_option_at_its_ends_works_or_is_refused_with_its_range() {
    for (number, knob) in knobs().into_iter().enumerate() {
        let Limit { option, least, most, .. } = knob.limit;
        let (mut works, mut refused) = (0, 0);
        for value in around(least, most) {
            if option == "filter_bits" && value > 255 {
                continue;
            }
            let mut options = usual(System::of(Row::ALL[number % Row::ALL.len()]));
            (knob.set)(&mut options, value);
            match attempt(&options, value) {
                Outcome::Works => {
                    assert!((least..=most).contains(&value), "{option} {value} is out of range");
                    works += 1;
                }
                Outcome::Refused(text) => {
                    // In addition, memory and memtables must fit together.
                    let within = (least..=most).contains(&value);
                    assert!(!within || option == "memtables_max", "{option} {value}: {text}");
                    assert!(text.starts_with(option) && text.contains("expected "), "{text}");
                    assert!(text.contains("; "), "no reason: {text}");
                    refused += 1;
                }
            }
        }
        assert!(works >= 2 && refused >= 1, "{option}: {works} work, {refused} are refused");
    }
}

#[test]
fn every_parameter_of_every_system_works_or_is_refused_with_its_range() {
    let values =
        ["0", "1", "2", "90", "91", "100", "101", "1000", "1001", "65535", "65536", "1024"]
            .into_iter()
            .chain([
                "2047", "2048", "64KiB", "8MiB", "9MiB", "16GiB", "1024TiB", "1025TiB", "on",
                "leveldb",
            ])
            .chain(["18446744073709551615", "-1", ""]);
    for row in Row::ALL {
        let (mut works, mut refused) = (0, 0);
        for (parameter, value) in
            System::parameters().iter().flat_map(|f| values.clone().map(move |v| (f, v)))
        {
            match format!("{}:{parameter}={value}", row.name()).parse::<System>() {
                Err(error) => {
                    let text = error.to_string();
                    let expected = ["expected a", "expected on", "expected one of"];
                    assert!(expected.iter().any(|words| text.contains(words)), "{text}");
                }
                Ok(system) => match attempt(&usual(system), 7) {
                    Outcome::Works => works += 1,
                    Outcome::Refused(text) => {
                        let expected = match *parameter {
                            "table_size" => "at most 8 MiB",
                            "level0_slow" => "at most 12, which is level0_stop",
                            "level0_stop" => "at least 4, which is level0_runs",
                            "levels" => "at least 3, as flush_level is 2",
                            _ => panic!("{system}: {text}"),
                        };
                        assert!(text.starts_with(&format!("{parameter} of ")), "{system}: {text}");
                        assert!(text.contains(expected), "{system}: {text}");
                        refused += 1;
                    }
                },
            }
        }
        assert!(works > 5 && refused > 0, "{row:?}: {works} work, {refused} are refused");
    }
}

#[test]
fn a_parameter_that_text_could_not_give_is_refused_as_well() {
    let of = System::of(Row::Geardb);
    for (parameter, system) in [
        ("table_size", System { table_size: Some(ByteCount(0)), ..of }),
        ("table_size", System { table_size: Some(ByteCount(1)), ..of }),
        ("table_size", System { table_size: Some(ByteCount(u64::MAX)), ..of }),
        ("level1_size", System { level1_size: Some(ByteCount(u64::MAX)), ..of }),
        ("level1_size", System { level1_size: Some(ByteCount(0)), ..of }),
        ("factor", System { factor: 0, ..of }),
        ("level0_runs", System { level0_runs: u16::MAX, ..of }),
        ("windows", System { windows: 0, ..of }),
    ] {
        let Outcome::Refused(text) = attempt(&usual(system), 3) else {
            panic!("{parameter} is out of its range, and is taken")
        };
        assert!(text.starts_with(&format!("{parameter} of geardb is ")), "{text}");
    }
}

#[test]
fn options_drawn_from_their_ranges_work_together() {
    let (mut works, mut refused) = (0, 0);
    for seed in test_seeds(60) {
        let mut random = Random::seeded(seed);
        let mut options = usual(System::of(Row::ALL[random.random_range(0..Row::ALL.len())]));
        for knob in knobs() {
            if random.random_bool(0.5) {
                continue;
            }
            let Limit { least, most, .. } = knob.limit;
            // The same number of small and large ones, for any range.
            let bits = random.random_range(least.max(1).ilog2()..=most.ilog2());
            let value = random.random_range(1_u64 << bits..2 << bits);
            (knob.set)(&mut options, value.clamp(least, most));
        }
        match attempt(&options, seed) {
            Outcome::Works => works += 1,
            Outcome::Refused(text) => {
                assert!(text.contains("where memory is"), "seed {seed}: {text}");
                refused += 1;
            }
        }
    }
    assert!(works > 10 * refused, "{works} work, {refused} are refused");
}
