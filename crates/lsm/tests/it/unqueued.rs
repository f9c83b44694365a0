//! Reads of a store that does not queue reads, such as a directory, against an ordered map: scans
//! whose values are kept and scans whose values are dropped, cursors, and reads of several keys.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::random::{Random, Rng};
use terrace_env::store::{FileReader, Layer, MemoryStore, Store, StoreError};
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_lsm::{Bounds, Durability, Engine, EngineOptions, KeySpaceId, ReadOptions};

use crate::model::{Write, batch, decider, options};
use crate::walks::{Held, Walk, check_both_ends};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

struct Unqueued(MemoryStore);

struct UnqueuedReader(Arc<dyn FileReader>);

impl Layer for Unqueued {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        Ok(Arc::new(UnqueuedReader(self.0.open(id)?)))
    }
}

impl FileReader for UnqueuedReader {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn queues(&self) -> bool {
        false
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.0.read_at(offset, into, cause)
    }
}

/// An engine with several runs, of values of up to `value_max` bytes, and its contents.
fn filled(random: &mut Random, value_max: usize) -> (Engine, Held) {
    let memory = ByteCount::mib(64);
    let table_size = ByteCount(6 * value_max as u64).max(ByteCount::kib(6));
    let options = EngineOptions { memory, table_size, memtable_size: table_size, ..options() };
    let engine = Engine::open(Arc::new(Unqueued(MemoryStore::new())), decider(), options).unwrap();
    let mut held = Held::new();
    for _ in 0..300 {
        let key = random.random_range(0..200u32).to_be_bytes().to_vec();
        let value = random.random_bool(0.9).then(|| {
            let len = random.random_range(0..value_max);
            (0..len).map(|_| random.random()).collect::<Vec<u8>>()
        });
        match value.clone() {
            Some(value) => held.insert(key.clone(), value),
            None => held.remove(&key),
        };
        let write: Write = (SPACE, key, value);
        engine.write(batch(&[write]), Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    (engine, held)
}

#[test]
fn all_reads_agree_with_an_ordered_map() {
    for seed in test_seeds(20) {
        runner::simulate(seed, move || {
            let random = &mut Random::seeded(seed);
            let value_max = [100, 3_000, 40_000, 200_000][(seed % 4) as usize];
            let (engine, held) = filled(random, value_max);
            for _ in 0..4 {
                let from = random.random_range(0..200u32).to_be_bytes().to_vec();
                let part: Held =
                    held.range(from.clone()..).map(|(k, v)| (k.clone(), v.clone())).collect();
                let bounds = Bounds::starting_at(&from);
                // Values that are kept stay as they are.
                let kept = engine.scan(SPACE, &bounds).unwrap().map(Result::unwrap);
                let kept: Vec<(Bytes, Bytes)> = kept.collect();
                let mut scan = engine.scan(SPACE, &bounds).unwrap();
                for (key, value) in &part {
                    assert!(scan.advance().unwrap());
                    assert_eq!((scan.key(), &scan.value()[..]), (&key[..], &value[..]));
                }
                assert!(!scan.advance().unwrap());
                let kept = kept.iter().map(|(key, value)| (&key[..], &value[..]));
                assert!(kept.eq(part.iter().map(|(key, value)| (&key[..], &value[..]))));
                check_both_ends(engine.scan(SPACE, &bounds).unwrap(), &part, random);
                let mut walk = Walk::new(engine.cursor(SPACE, &bounds).unwrap(), part);
                for _ in 0..60 {
                    let sought = random.random_range(0..200u32).to_be_bytes();
                    walk.step(random, &sought);
                }
                let keys: Vec<_> =
                    (0..40).map(|_| random.random_range(0..220u32).to_be_bytes()).collect();
                let sought: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
                let found = engine.multi_get(SPACE, &sought, ReadOptions::default()).unwrap();
                let expected = sought.iter().map(|key| held.get(*key).map(|value| &value[..]));
                assert!(found.iter().map(Option::as_deref).eq(expected));
            }
        });
    }
}
