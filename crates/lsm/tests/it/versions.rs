//! Many versions of few keys, held by snapshots: no cut of a table, a subcompaction, an instalment
//! or a route falls between two versions of a key, and none that is still seen is dropped.
//!
//! Tables are cut smaller than the versions of one key are together, and some keys are prefixes of
//! others, so that almost every cut would fall between a key's versions. Even seeds run under
//! leveled compaction, odd ones under random legal plans. No power is cut here.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{MemoryStore, Store};
use terrace_env::{runner, test_seeds};
use terrace_lsm::{Batch, Bounds, Durability, Engine, EngineOptions, KeySpaceId, Snapshot};
use terrace_policy::Compaction;

use crate::arbitrary::Arbitrary;
use crate::model;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const KEYS: [&[u8]; 7] = [b"", b"k", b"k\0", b"k\0\0", b"k\x01", b"kk", b"\xff\xff"];

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A snapshot and the contents that it must show.
struct Held {
    snapshot: Snapshot,
    contents: Contents,
}

fn engine(store: &MemoryStore, seed: u64) -> Engine {
    let decider: Arc<dyn Compaction> = if seed.is_multiple_of(2) {
        model::decider()
    } else {
        Arbitrary::new(1 + (seed as usize / 2) % 3)
    };
    let workers = 1 + (seed % 3) as usize;
    let options = EngineOptions { workers, ..model::options() };
    Engine::open(Arc::new(store.clone()) as Arc<dyn Store>, decider, options).expect("an engine")
}

fn write(engine: &Engine, now: &mut Contents, number: u64, random: &mut Random) {
    let mut batch = Batch::new();
    for _ in 0..random.random_range(1..3) {
        let key = KEYS[random.random_range(0..KEYS.len())];
        if random.random_bool(0.15) {
            batch.delete(SPACE, key);
            now.remove(key);
        } else {
            let mut value = number.to_le_bytes().to_vec();
            value.resize(random.random_range(8..900), random.random());
            batch.put(SPACE, key, &value);
            now.insert(key.to_vec(), value);
        }
    }
    engine.write(batch, Durability::Gathered).expect("a write");
}

/// Reads all keys, one by one and by scans from both ends.
fn check(held: &Held) {
    let Held { snapshot, contents } = held;
    let at = snapshot.sequence();
    for key in KEYS {
        let found = snapshot.get(SPACE, key).expect("a get");
        assert_eq!(found.as_deref(), contents.get(key).map(Vec::as_slice), "{key:?} at {at}");
    }
    let scan = || snapshot.scan(SPACE, &Bounds::all()).expect("a scan");
    let forward: Vec<(Vec<u8>, Vec<u8>)> = scan()
        .map(|entry| entry.expect("an entry"))
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    let expected: Vec<_> = contents.clone().into_iter().collect();
    assert!(forward == expected, "a scan at {at}");
    let mut backward: Vec<_> = scan()
        .rev()
        .map(|entry| entry.expect("an entry"))
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect();
    backward.reverse();
    assert_eq!(forward, backward, "a scan from the end at {at}");
}

/// Writes, takes snapshots, lets jobs run, and checks the snapshots.
pub(crate) fn many_versions(seed: u64) -> u64 {
    runner::simulate(seed, || {
        let mut random = Random::seeded(seed);
        let store = if seed % 4 < 2 { MemoryStore::new() } else { model::slow_store(seed) };
        let engine = engine(&store, seed);
        let (mut now, mut held) = (Contents::new(), Vec::new());
        for number in 0..500 {
            write(&engine, &mut now, number, &mut random);
            if random.random_bool(0.25) {
                held.push(Held { snapshot: engine.snapshot(), contents: now.clone() });
            }
            if held.len() > 40 || random.random_bool(0.02) {
                for _ in 0..random.random_range(0..held.len().min(10) + 1) {
                    held.swap_remove(random.random_range(0..held.len()));
                }
            }
            match random.random_range(0..60) {
                0 => engine.flush().expect("a flush"),
                1 => engine.compact_all().expect("a compaction"),
                2 => engine.wait_idle().expect("a store that works"),
                3 => held.iter().for_each(check),
                _ => {}
            }
        }
        held.iter().for_each(check);
        engine.compact_all().expect("a compaction");
        held.iter().for_each(check);
        held.clear();
        engine.verify().expect("a sound tree");
        let compactions = engine.stats().compactions;
        engine.close().expect("a store that works");
        drop(engine);
        let reopened = self::engine(&store, seed);
        check(&Held { snapshot: reopened.snapshot(), contents: now });
        compactions
    })
}

#[test]
fn no_cut_falls_between_versions_of_a_key_that_a_snapshot_sees() {
    let compactions: u64 = test_seeds(16).map(many_versions).sum();
    assert!(compactions > 150, "only {compactions} compactions");
}
