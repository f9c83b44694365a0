//! Queues: the first or the last entry is read and deleted again and again, while tombstones
//! accumulate in memtables and tables. The cost is counted in entries that scans pass without
//! showing them, so that it depends on no clock. Further tests compare readers that skip empty
//! ranges with a map, while keys are put into the ranges again.

use std::collections::{BTreeMap, VecDeque};

use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_env::store::MemoryStore;
use terrace_env::test_seeds;
use terrace_lsm::{Batch, Bounds, Durability, Engine, KeySpaceId, Scan, Snapshot};

use crate::model::open;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
/// The most entries that a pop may pass on average: those since the last remembered range, those on
/// each side of a lookup, and joins of ranges.
const PASSED_MAX: u64 = 32;

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn put(engine: &Engine, space: KeySpaceId, key: &[u8]) {
    put_value(engine, space, key, &[7; 40]);
}

fn put_value(engine: &Engine, space: KeySpaceId, key: &[u8], value: &[u8]) {
    let mut batch = Batch::new();
    batch.put(space, key, value);
    engine.write(batch, Durability::Gathered).unwrap();
}

fn delete(engine: &Engine, space: KeySpaceId, key: &[u8]) {
    let mut batch = Batch::new();
    batch.delete(space, key);
    engine.write(batch, Durability::Gathered).unwrap();
}

fn fill(engine: &Engine, space: KeySpaceId, keys: impl Iterator<Item = Vec<u8>>) {
    keys.for_each(|key| put(engine, space, &key));
}

/// Removes the entry at an end of a range; returns its key.
fn pop(engine: &Engine, space: KeySpaceId, bounds: &Bounds, last: bool) -> Option<Vec<u8>> {
    let mut scan = engine.scan(space, bounds).unwrap();
    let (key, _) = if last { scan.next_back() } else { scan.next() }?.unwrap();
    drop(scan);
    delete(engine, space, &key);
    Some(key.to_vec())
}

fn passed(engine: &Engine) -> u64 {
    engine.stats().scan_entries_passed
}

/// Calls `pops`, which pops a number of entries, and asserts that few others were passed.
fn assert_cheap(engine: &Engine, count: u64, pops: impl FnOnce()) {
    let before = passed(engine);
    pops();
    let passed = passed(engine) - before;
    assert!(passed <= PASSED_MAX * count, "{passed} entries passed by {count} pops");
}

#[test]
fn a_pop_costs_the_same_however_many_entries_were_popped_before() {
    const COUNT: u64 = 6000;
    for (last, flushed) in [(false, 0), (true, 0), (false, 700), (true, 700)] {
        runner::simulate(1, || {
            let engine = open(&MemoryStore::new());
            fill(&engine, SPACE, (0..COUNT).map(key));
            assert_cheap(&engine, COUNT, || {
                for number in 0..COUNT {
                    let expected = if last { COUNT - 1 - number } else { number };
                    assert_eq!(pop(&engine, SPACE, &Bounds::all(), last), Some(key(expected)));
                    if flushed > 0 && number % flushed == flushed - 1 {
                        engine.flush().unwrap();
                    }
                }
            });
            // A lookup in an empty queue is as cheap.
            assert_cheap(&engine, 100, || {
                for _ in 0..100 {
                    assert_eq!(pop(&engine, SPACE, &Bounds::all(), last), None);
                }
            });
            engine.close().unwrap();
        });
    }
}

#[test]
fn several_queues_in_a_store_are_each_as_cheap_as_one() {
    const QUEUES: u64 = 20;
    const COUNT: u64 = 300;
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let other = engine.create_key_space("other").unwrap();
        let name = |queue: u64, number: u64| format!("queue {queue:02} {number:06}").into_bytes();
        for space in [SPACE, other] {
            for number in 0..COUNT {
                fill(&engine, space, (0..QUEUES).map(|queue| name(queue, number)));
            }
        }
        assert_cheap(&engine, 2 * QUEUES * COUNT, || {
            for number in 0..COUNT {
                for queue in 0..QUEUES {
                    let bounds = Bounds::prefix(format!("queue {queue:02} ").as_bytes());
                    let popped = pop(&engine, other, &bounds, queue % 2 == 0);
                    let expected = if queue % 2 == 0 { COUNT - 1 - number } else { number };
                    assert_eq!(popped, Some(name(queue, expected)));
                    let from = Bounds::starting_at(format!("queue {queue:02} ").as_bytes());
                    assert_eq!(pop(&engine, SPACE, &from, false), Some(name(queue, number)));
                }
            }
        });
        engine.close().unwrap();
    });
}

#[test]
fn a_queue_that_is_filled_while_it_is_emptied_stays_cheap() {
    const ROUNDS: u64 = 4000;
    // Ascending numbers, and slots of a ring that are used again.
    for slots in [u64::MAX, 500] {
        runner::simulate(1, || {
            let engine = open(&MemoryStore::new());
            let (mut waiting, mut next) = (VecDeque::new(), 0);
            let mut random = Random::seeded(3);
            assert_cheap(&engine, 2 * ROUNDS, || {
                for _ in 0..ROUNDS {
                    for _ in 0..random.random_range(0..3) {
                        if waiting.len() < 100 {
                            put(&engine, SPACE, &key(next % slots));
                            waiting.push_back(next % slots);
                            next += 1;
                        }
                    }
                    // The head of a ring is known: the scan begins there.
                    let from = waiting.front().copied().unwrap_or(next % slots);
                    let bounds = Bounds::starting_at(&key(from));
                    let expected = waiting.pop_front();
                    match expected {
                        Some(_) => {
                            let popped = pop(&engine, SPACE, &bounds, false);
                            assert_eq!(popped, expected.map(key));
                        }
                        None => assert_eq!(pop(&engine, SPACE, &Bounds::all(), false), None),
                    }
                }
            });
            engine.close().unwrap();
        });
    }
}

#[test]
fn snapshots_see_what_was_popped_and_keep_pops_cheap() {
    const COUNT: u64 = 3000;
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        fill(&engine, SPACE, (0..COUNT).map(key));
        let mut snapshots: Vec<(u64, Snapshot)> = Vec::new();
        assert_cheap(&engine, COUNT, || {
            for number in 0..COUNT {
                if number % 500 == 250 {
                    snapshots.push((number, engine.snapshot()));
                }
                assert_eq!(pop(&engine, SPACE, &Bounds::all(), false), Some(key(number)));
            }
        });
        for (first, snapshot) in &snapshots {
            let all = Bounds::all();
            let keys = snapshot.scan(SPACE, &all).unwrap().map(|entry| entry.unwrap().0);
            assert!(keys.eq((*first..COUNT).map(key)), "the snapshot of {first}");
            // Its own first entry is found without a walk over the entries popped before.
            assert_cheap(&engine, 100, || {
                for _ in 0..100 {
                    let mut scan: Scan = snapshot.scan(SPACE, &all).unwrap();
                    assert_eq!(scan.next().unwrap().unwrap().0, key(*first));
                }
            });
        }
        engine.close().unwrap();
    });
}

#[test]
fn after_an_opening_the_first_scan_pays_and_the_next_does_not() {
    const COUNT: u64 = 2000;
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        fill(&engine, SPACE, (0..COUNT).map(key));
        for number in 0..COUNT - 1 {
            delete(&engine, SPACE, &key(number));
        }
        engine.close().unwrap();
        drop(engine);
        let engine = open(&store);
        let first = || engine.scan(SPACE, &Bounds::all()).unwrap().next().unwrap().unwrap().0;
        assert_eq!(first(), key(COUNT - 1));
        assert_cheap(&engine, 10, || (0..10).for_each(|_| assert_eq!(first(), key(COUNT - 1))));
        engine.close().unwrap();
    });
}

#[test]
fn a_key_with_many_versions_is_passed_by_a_search() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, SPACE, b"a");
        put(&engine, SPACE, b"m");
        let early = engine.snapshot();
        (0..3000).for_each(|_| put(&engine, SPACE, b"m"));
        put(&engine, SPACE, b"z");
        let all = Bounds::all();
        let keys = |scan: Scan| scan.map(|entry| entry.unwrap().0).collect::<Vec<_>>();
        let back = |scan: Scan| scan.rev().map(|entry| entry.unwrap().0).collect::<Vec<_>>();
        assert_cheap(&engine, 10, || {
            assert_eq!(keys(engine.scan(SPACE, &all).unwrap()), ["a", "m", "z"]);
            assert_eq!(back(engine.scan(SPACE, &all).unwrap()), ["z", "m", "a"]);
            assert_eq!(keys(early.scan(SPACE, &all).unwrap()), ["a", "m"]);
            assert_eq!(back(early.scan(SPACE, &all).unwrap()), ["m", "a"]);
        });
        delete(&engine, SPACE, b"m");
        assert_eq!(back(engine.scan(SPACE, &all).unwrap()), ["z", "a"]);
        drop(early);
        engine.close().unwrap();
    });
}

/// Entries that a reader must see.
type Held = BTreeMap<Vec<u8>, Vec<u8>>;

/// Checks scans and a cursor of random bounds against a map.
fn check_reads(engine: &Engine, snapshot: Option<&Snapshot>, held: &Held, random: &mut Random) {
    let (from, until) = (random.random_range(0..400u64), random.random_range(0..=400));
    let (from, until) = (key(from.min(until)), key(from.max(until)));
    let bounds = match random.random_range(0..3) {
        0 => Bounds::all(),
        1 => Bounds::starting_at(&from),
        _ => Bounds::from(from.clone()..until.clone()),
    };
    let (first, end) = match bounds.is_all() {
        true => (Vec::new(), vec![0xff; 9]),
        false if bounds == Bounds::starting_at(&from) => (from.clone(), vec![0xff; 9]),
        false => (from.clone(), until),
    };
    let expected: Vec<_> = held.range(first..end).map(|(k, v)| (k.clone(), v.clone())).collect();
    let scan = || match snapshot {
        Some(snapshot) => snapshot.scan(SPACE, &bounds).unwrap(),
        None => engine.scan(SPACE, &bounds).unwrap(),
    };
    let entry = |entry: Result<(bytes::Bytes, bytes::Bytes), _>| {
        let (key, value) = entry.unwrap_or_else(|error: terrace_lsm::Error| panic!("{error}"));
        (key.to_vec(), value.to_vec())
    };
    let count = random.random_range(0..60);
    let forward: Vec<_> = scan().take(count).map(entry).collect();
    assert_eq!(forward, expected[..count.min(expected.len())]);
    let backward: Vec<_> = scan().rev().take(count).map(entry).collect();
    let last: Vec<_> = expected.iter().rev().take(count).cloned().collect();
    assert_eq!(backward, last);
}

#[test]
fn readers_that_skip_empty_ranges_see_what_a_map_holds() {
    for seed in test_seeds(12) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let engine = open(&MemoryStore::new());
            let (mut held, mut snapshots) = (Held::new(), Vec::<(Snapshot, Held)>::new());
            for round in 0..1500u64 {
                match random.random_range(0..20) {
                    // Many are deleted one by one, so that there are stretches to skip.
                    0..3 => {
                        let first = random.random_range(0..380);
                        let mut batch = Batch::new();
                        for number in first..first + random.random_range(1..80) {
                            batch.delete(SPACE, &key(number));
                            held.remove(&key(number));
                        }
                        engine.write(batch, Durability::Gathered).unwrap();
                    }
                    3 => {
                        let first = random.random_range(0..380);
                        let span = key(first)..key(first + random.random_range(1..60));
                        held.retain(|key, _| !span.contains(key));
                        let mut batch = Batch::new();
                        batch.delete_range(SPACE, &Bounds::from(span));
                        engine.write(batch, Durability::Gathered).unwrap();
                    }
                    4 => {
                        let first = random.random_range(0..380);
                        let mut ingest = engine.ingest().unwrap();
                        for number in (first..first + 60).step_by(random.random_range(1..30)) {
                            ingest.put(SPACE, &key(number), &key(round)).unwrap();
                            held.insert(key(number), key(round));
                        }
                        ingest.finish().unwrap();
                    }
                    5 => engine.flush().unwrap(),
                    6 if round % 5 == 0 => engine.compact_all().unwrap(),
                    7 => {
                        snapshots.truncate(3);
                        snapshots.insert(0, (engine.snapshot(), held.clone()));
                    }
                    8..11 => {
                        let mut batch = Batch::new();
                        for _ in 0..random.random_range(1..4) {
                            let key = key(random.random_range(0..400));
                            batch.put(SPACE, &key, &round.to_be_bytes());
                            held.insert(key, round.to_be_bytes().to_vec());
                        }
                        engine.write(batch, Durability::Gathered).unwrap();
                    }
                    11..13 => {
                        for (snapshot, held) in &snapshots {
                            check_reads(&engine, Some(snapshot), held, &mut random);
                        }
                    }
                    _ => check_reads(&engine, None, &held, &mut random),
                }
            }
            assert!(engine.stats().scan_ranges_skipped > 100, "{:?}", engine.stats());
            drop(snapshots);
            engine.close().unwrap();
        });
    }
}

#[cfg(debug_assertions)]
mod schedules {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use terrace_env::runner::SimulationOptions;
    use terrace_env::sync::switch_point;

    use super::*;

    /// A producer, and consumers that read the first entry, in any order of threads: a scan finds
    /// each entry that was put before it began.
    #[test]
    fn no_order_of_threads_hides_an_entry_in_a_range_that_readers_find_empty() {
        const COUNT: u64 = 60;
        for seed in test_seeds(40) {
            SimulationOptions::seeded(seed).explore().run(move || {
                let engine = Arc::new(open(&MemoryStore::new()));
                // A stretch that readers will remember, with gaps for later puts.
                fill(&engine, SPACE, (0..COUNT * 2).map(key));
                (0..COUNT * 2).for_each(|number| delete(&engine, SPACE, &key(number)));
                let acked = Arc::new(AtomicU64::new(0));
                let producer = {
                    let (engine, acked) = (Arc::clone(&engine), Arc::clone(&acked));
                    runner::spawn("producer", move || {
                        for number in 1..=COUNT {
                            // From the end to the front: each is the first entry once it is there.
                            // Large values: memtables are replaced often.
                            let key = key((COUNT - number) * 2);
                            put_value(&engine, SPACE, &key, &[7; 1500]);
                            switch_point();
                            acked.store(number, Ordering::SeqCst);
                        }
                    })
                };
                let readers: Vec<_> = (0..2)
                    .map(|at| {
                        let (engine, acked) = (Arc::clone(&engine), Arc::clone(&acked));
                        runner::spawn("reader", move || {
                            for _ in 0..60 {
                                let before = acked.load(Ordering::SeqCst);
                                let mut scan = engine.scan(SPACE, &Bounds::all()).unwrap();
                                let first = if at == 0 {
                                    scan.next().map(|entry| entry.unwrap().0)
                                } else {
                                    let all = scan.rev().map(|entry| entry.unwrap().0);
                                    all.last()
                                };
                                let most = first.map_or(COUNT, |key| {
                                    u64::from_be_bytes(key[..].try_into().unwrap()) / 2
                                });
                                assert!(
                                    most <= COUNT - before,
                                    "{before} were there, found {most}"
                                );
                            }
                        })
                    })
                    .collect();
                producer.join();
                readers.into_iter().for_each(runner::JoinHandle::join);
                engine.close().unwrap();
            });
        }
    }
}
