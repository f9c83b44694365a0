//! Explored schedules: writers and readers in any order of threads, while memtables are flushed and
//! tables compacted. Wherever a thread could be interrupted with an effect, the seed decides which
//! actor goes on. Built only with debug assertions.
//!
//! Each batch of a writer puts the writer's next number under all its keys, or deletes one of them:
//! so the values that a reader sees name the batches that it has seen. Each writer has its own
//! keys. The rules:
//! 1. A batch is seen whole or not at all.
//! 2. A read sees every batch that was acknowledged before the read began, and none that has not
//!    begun when the read has ended.
//! 3. A reader never sees an older state than before.
//! 4. Sequences are published in order and without gaps: a snapshot of sequence n sees exactly the
//!    batches that have entries up to n.
//! 5. A snapshot always sees the same.
//!
//! No power is cut and nothing fails here.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lsm --test it schedules` repeats one schedule.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, SimulationOptions};
use terrace_env::store::MemoryStore;
use terrace_env::sync::switch_point;
use terrace_env::test_seeds;
use terrace_lsm::{Batch, Bounds, Durability, Engine, KeySpaceId, Snapshot};

use crate::model::{self, open};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const WRITERS: usize = 3;
const READERS: u64 = 2;
/// Entries of a batch; the last is a delete in every other batch.
const KEYS: u8 = 3;
const BATCHES: u64 = 40;

/// State of the writers: numbers that were acknowledged, and that have begun.
#[derive(Default)]
struct Known {
    acked: [AtomicU64; WRITERS],
    begun: [AtomicU64; WRITERS],
}

/// The number of each writer's newest batch that is seen.
type Seen = [u64; WRITERS];

fn key(writer: usize, key: u8) -> [u8; 2] {
    [writer as u8, key]
}

fn value(number: u64) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    value.resize(80, number as u8);
    value
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(*value.first_chunk().expect("a value with a number"))
}

fn load(counts: &[AtomicU64; WRITERS]) -> Seen {
    switch_point();
    std::array::from_fn(|writer| counts[writer].load(Ordering::SeqCst))
}

fn write(engine: &Engine, known: &Known, writer: usize, random: &mut Random) {
    for number in 1..=BATCHES {
        let mut batch = Batch::new();
        for at in 0..KEYS {
            if at + 1 == KEYS && number % 2 == 1 {
                batch.delete(SPACE, &key(writer, at));
            } else {
                batch.put(SPACE, &key(writer, at), &value(number));
            }
        }
        known.begun[writer].store(number, Ordering::SeqCst);
        let durabilities = [Durability::Gathered, Durability::Written, Durability::Synced];
        engine.write(batch, durabilities[random.random_range(0..3)]).expect("a write");
        known.acked[writer].store(number, Ordering::SeqCst);
        switch_point();
    }
}

/// Number of the newest batch in one read of a writer's keys, all of one moment.
fn judge(writer: usize, found: &[Option<u64>]) -> u64 {
    let newest = found[0].unwrap_or_default();
    for (at, found) in found.iter().enumerate() {
        let deleted = at + 1 == usize::from(KEYS) && newest % 2 == 1;
        let expected = Some(newest).filter(|number| *number > 0 && !deleted);
        assert_eq!(*found, expected, "a batch in part: writer {writer}, key {at} of {newest}");
    }
    newest
}

fn by_scan(engine: &Engine, snapshot: Option<&Snapshot>) -> Seen {
    let scan = match snapshot {
        Some(snapshot) => snapshot.scan(SPACE, &Bounds::all()),
        None => engine.scan(SPACE, &Bounds::all()),
    };
    let mut found = [[None; KEYS as usize]; WRITERS];
    for entry in scan.expect("a scan") {
        let (key, value) = entry.expect("an entry");
        found[usize::from(key[0])][usize::from(key[1])] = Some(number(&value));
        switch_point();
    }
    std::array::from_fn(|writer| judge(writer, &found[writer]))
}

fn by_gets(snapshot: &Snapshot) -> Seen {
    std::array::from_fn(|writer| {
        let found: Vec<_> = (0..KEYS)
            .map(|at| snapshot.get(SPACE, &key(writer, at)).expect("a get"))
            .map(|value| value.map(|value| number(&value)))
            .collect();
        judge(writer, &found)
    })
}

/// Reads of one key of each writer, each at its own moment.
fn by_single_gets(engine: &Engine) -> Seen {
    std::array::from_fn(|writer| {
        let found = engine.get(SPACE, &key(writer, 0)).expect("a get");
        found.map_or(0, |value| number(&value))
    })
}

/// Compares the result of a read with the known state before and after it, and with the reader's
/// earlier result.
fn hold_against(seen: Seen, known: &Known, acked: Seen, last: &mut Seen) {
    let begun = load(&known.begun);
    for writer in 0..WRITERS {
        let (seen, least) = (seen[writer], acked[writer]);
        assert!(seen >= least, "writer {writer}: {least} was acknowledged, {seen} is seen");
        assert!(seen <= begun[writer], "writer {writer}: {seen} is seen before it has begun");
        assert!(seen >= last[writer], "writer {writer}: {seen} is seen after {}", last[writer]);
    }
    *last = seen;
}

fn read(engine: &Arc<Engine>, known: &Known, base: u64, random: &mut Random) {
    let mut last = Seen::default();
    while last != [BATCHES; WRITERS] {
        let acked = load(&known.acked);
        match random.random_range(0..3) {
            0 => hold_against(by_single_gets(engine), known, acked, &mut last),
            1 => hold_against(by_scan(engine, None), known, acked, &mut last),
            _ => {
                let snapshot = engine.snapshot();
                let seen = by_gets(&snapshot);
                let batches = seen.iter().sum::<u64>();
                let sequence = snapshot.sequence().0;
                assert_eq!(sequence, base + batches * u64::from(KEYS), "{seen:?}");
                hold_against(seen, known, acked, &mut last);
                for _ in 0..random.random_range(0..4) {
                    switch_point();
                    assert_eq!(by_scan(engine, Some(&snapshot)), seen, "a snapshot that changes");
                    assert_eq!(by_gets(&snapshot), seen, "a snapshot that changes");
                }
            }
        }
        // Time must go on, or no operation in flight would end.
        runner::yield_now();
    }
}

/// One schedule. Returns the numbers of concurrent flushes and compactions.
pub(crate) fn explore(seed: u64) -> (u64, u64) {
    SimulationOptions::seeded(seed).explore().run(|| {
        let mut random = Random::seeded(seed);
        let store =
            if seed.is_multiple_of(2) { MemoryStore::new() } else { model::slow_store(seed) };
        let engine = Arc::new(open(&store));
        let base = engine.snapshot().sequence().0;
        let known = Arc::new(Known::default());
        let mut actors = Vec::new();
        for writer in 0..WRITERS {
            let (engine, known, mut random) = (engine.clone(), known.clone(), random.fork());
            let body = move || write(&engine, &known, writer, &mut random);
            actors.push(runner::spawn("writer", body));
        }
        for _ in 0..READERS {
            let (engine, known, mut random) = (engine.clone(), known.clone(), random.fork());
            let body = move || read(&engine, &known, base, &mut random);
            actors.push(runner::spawn("reader", body));
        }
        actors.into_iter().for_each(runner::JoinHandle::join);
        engine.wait_idle().expect("a store that works");
        let stats = engine.stats();
        engine.close().expect("a store that works");
        drop(engine);
        let reopened = open(&store);
        assert_eq!(by_scan(&reopened, None), [BATCHES; WRITERS], "after reopening");
        (stats.flushes, stats.compactions)
    })
}

#[test]
fn reads_are_whole_current_and_in_order_under_any_schedule() {
    let (mut flushes, mut compactions) = (0, 0);
    let (range, seeds) = (test_seeds(500), test_seeds(500).count() as u64);
    for seed in range {
        let (flushed, compacted) = explore(seed);
        flushes += flushed;
        compactions += compacted;
    }
    println!("{flushes} flushes, {compactions} compactions");
    assert!(
        flushes > 4 * seeds && compactions > seeds,
        "{flushes} flushes, {compactions} compactions"
    );
}
