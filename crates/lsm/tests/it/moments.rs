//! Explored schedules of reads concurrent with ingests: one read sees one moment, even if an ingest
//! and a put come between its accesses to the tree and to the sequence. Built only with debug
//! assertions.
//!
//! One writer ingests its next number under one key, and then puts the same number under another.
//! The first key is never in memory, so an ingest changes no memtable, and the put goes to the
//! memtable from before. So a read that shows a number under the second key must show it, or the
//! next one, under the first. This is checked for every kind of read of several keys.
//!
//! No power is cut and nothing fails here.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lsm --test it moments` repeats one schedule.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::runner::{self, SimulationOptions};
use terrace_env::store::{MemoryStore, Store};
use terrace_env::test_seeds;
use terrace_lsm::{
    Batch, Bounds, Counter, Durability, Engine, EngineOptions, KeySpaceId, Operator, ReadOptions,
};

use crate::model::{self, open};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const INGESTED: &[u8] = b"ingested";
const PUT: &[u8] = b"put";
const ROUNDS: u64 = 20;

/// A read of both keys, at one moment except for `Gets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Reads the key that is put first, then the one that is ingested.
    Gets,
    MultiGet,
    Scan,
    Backward,
    Cursor,
    Salvage,
    Snapshot,
}

const READS: [Read; 7] = [
    Read::Gets,
    Read::MultiGet,
    Read::Scan,
    Read::Backward,
    Read::Cursor,
    Read::Salvage,
    Read::Snapshot,
];

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(*value.first_chunk().expect("a value with a number"))
}

/// The numbers under both keys: ingested and put; 0 for none.
fn look(engine: &Engine, read: Read) -> (u64, u64) {
    let (mut ingested, mut put) = (0, 0);
    let mut note = |key: &[u8], value: &[u8]| {
        let found = if key == INGESTED { &mut ingested } else { &mut put };
        *found = number(value);
    };
    let (all, options) = (Bounds::all(), ReadOptions::default());
    let several = |values: Vec<Option<bytes::Bytes>>| {
        let number = |at: usize| values[at].as_ref().map_or(0, |value| number(value));
        (number(0), number(1))
    };
    match read {
        Read::Gets => {
            let put = engine.get(SPACE, PUT).expect("a read");
            return several(vec![engine.get(SPACE, INGESTED).expect("a read"), put]);
        }
        Read::MultiGet => {
            return several(engine.multi_get(SPACE, &[INGESTED, PUT], options).expect("a read"));
        }
        Read::Snapshot => {
            let snapshot = engine.snapshot();
            return several(snapshot.multi_get(SPACE, &[INGESTED, PUT], options).expect("a read"));
        }
        Read::Cursor => {
            let mut cursor = engine.cursor(SPACE, &all).expect("a cursor");
            while cursor.next().expect("a step") {
                note(cursor.key(), &cursor.value());
            }
        }
        Read::Scan | Read::Backward | Read::Salvage => {
            let entries: Vec<_> = match read {
                Read::Scan => engine.scan(SPACE, &all).expect("a scan").collect(),
                Read::Backward => engine.scan(SPACE, &all).expect("a scan").rev().collect(),
                _ => engine.salvage(SPACE, &all).expect("a salvage").collect(),
            };
            for entry in entries {
                let (key, value) = entry.expect("an entry");
                note(&key, &value);
            }
        }
    }
    (ingested, put)
}

fn write(engine: &Engine, done: &AtomicU64) {
    for number in 1..=ROUNDS {
        let value = number.to_le_bytes();
        let mut ingest = engine.ingest().expect("an ingest");
        ingest.put(SPACE, INGESTED, &value).expect("a put of an ingest");
        ingest.finish().expect("the end of an ingest");
        let mut batch = Batch::new();
        batch.put(SPACE, PUT, &value);
        engine.write(batch, Durability::Gathered).expect("a write");
        done.store(number, Ordering::SeqCst);
    }
}

/// One schedule, with readers of one kind.
pub(crate) fn explore(seed: u64, read: Read) {
    SimulationOptions::seeded(seed).explore().run(|| {
        let engine = Arc::new(open(&MemoryStore::new()));
        let done = Arc::new(AtomicU64::new(0));
        let mut actors = Vec::new();
        for _ in 0..2 {
            let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
            actors.push(runner::spawn("reader", move || {
                while done.load(Ordering::SeqCst) < ROUNDS {
                    let least = done.load(Ordering::SeqCst);
                    let (ingested, put) = look(&engine, read);
                    assert!(put >= least, "{read:?}: put {least} had returned, {put} is seen");
                    assert!(
                        ingested == put
                            || ingested == put + 1
                            || (read == Read::Gets && ingested > put),
                        "{read:?}: put {put} is seen, and of the ingests before it {ingested}"
                    );
                    runner::yield_now();
                }
            }));
        }
        let (writer, done) = (Arc::clone(&engine), Arc::clone(&done));
        actors.push(runner::spawn("writer", move || write(&writer, &done)));
        actors.into_iter().for_each(runner::JoinHandle::join);
        engine.close().expect("a store that works");
    });
}

/// One schedule with a counter, which each round sets by an ingest and then raises by one.
fn explore_operands(seed: u64) {
    const ROUND: i64 = 1000;
    let is_possible = |value: i64| [0, 1].contains(&(value % ROUND));
    SimulationOptions::seeded(seed).explore().run(|| {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let merge_operator = Some(Operator::new(Counter));
        let options = EngineOptions { merge_operator, ..model::options() };
        let engine = Arc::new(Engine::open(store, model::decider(), options).expect("an engine"));
        let done = Arc::new(AtomicU64::new(0));
        let reader = {
            let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
            runner::spawn("reader", move || {
                while done.load(Ordering::SeqCst) < ROUNDS {
                    let value = engine.get(SPACE, INGESTED).expect("a read");
                    let number = value.and_then(|value| Counter::number(&value)).unwrap_or(0);
                    assert!(is_possible(number), "{number}: no such value was there");
                    runner::yield_now();
                }
            })
        };
        for round in 1..=ROUNDS {
            let mut ingest = engine.ingest().expect("an ingest");
            let value = Counter::bytes(round as i64 * ROUND);
            ingest.put(SPACE, INGESTED, &value).expect("a put of an ingest");
            ingest.finish().expect("the end of an ingest");
            let mut batch = Batch::new();
            batch.merge(SPACE, INGESTED, &Counter::bytes(1));
            engine.write(batch, Durability::Gathered).expect("a write");
            done.store(round, Ordering::SeqCst);
        }
        reader.join();
        engine.close().expect("a store that works");
    });
}

#[test]
fn a_value_of_operands_is_one_that_was_there() {
    test_seeds(300).for_each(explore_operands);
}

#[test]
fn a_read_that_shows_a_put_shows_the_ingest_before_it() {
    for seed in test_seeds(300) {
        READS.into_iter().for_each(|read| explore(seed, read));
    }
}
