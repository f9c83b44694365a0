//! Behaviours without a suite, one to a test: entries seen by scans and snapshots, key spaces,
//! close and reopening, read-only opening, the longest key, trivial moves, groups of writers,
//! verification, and stores that are refused or found corrupt.

use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{CrashMode, MemoryStore, Store, Transaction};
use terrace_env::{ByteCount, Cause, FileId, runner, test_seeds};
use terrace_lsm::{
    Batch, Bounds, Durability, Engine, EngineOptions, Error, KEY_BYTES_MAX, KeySpaceId,
    ReadOptions, Scan, limits, remembered_system,
};
use terrace_policy::{Leveled, LeveledOptions};

use crate::model::{self, Write, batch, contents, decider, leveled, open, options};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn put(engine: &Engine, key: &[u8], value: &[u8]) {
    let mut batch = Batch::new();
    batch.put(SPACE, key, value);
    engine.write(batch, Durability::Gathered).unwrap();
}

#[test]
fn a_scan_sees_what_was_there_when_it_began() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for i in 0..500u32 {
            put(&engine, &i.to_be_bytes(), b"before");
        }
        let mut scan = engine.scan(SPACE, &Bounds::all()).unwrap();
        assert!(scan.advance().unwrap());
        for i in 0..2000u32 {
            put(&engine, &i.to_be_bytes(), b"after");
        }
        engine.compact_all().unwrap();
        let mut count = 1;
        while scan.advance().unwrap() {
            assert_eq!(scan.value(), &b"before"[..]);
            count += 1;
        }
        assert_eq!(count, 500);
    });
}

#[test]
fn a_scan_used_as_an_iterator_still_tells_the_key_that_it_gave_last() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for key in [b"a", b"b", b"c", b"d"] {
            put(&engine, key, b"flushed");
        }
        engine.flush().unwrap();
        put(&engine, b"c", b"in memory");
        let mut scan: Scan = engine.scan(SPACE, &Bounds::all()).unwrap();
        for (from_back, expected) in [(false, b"a"), (true, b"d"), (false, b"b")] {
            let given = if from_back { scan.next_back() } else { scan.next() };
            let (key, _) = given.unwrap().unwrap();
            assert_eq!((&key[..], scan.key()), (&expected[..], &expected[..]));
        }
        assert!(scan.advance().unwrap());
        assert_eq!((scan.key(), &scan.value()[..]), (&b"c"[..], &b"in memory"[..]));
        drop(scan);
        engine.close().unwrap();
    });
}

#[test]
fn a_snapshot_outlives_compactions_and_its_entries_go_when_it_does() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, b"k", b"old");
        let snapshot = engine.snapshot();
        put(&engine, b"k", b"new");
        engine.compact_all().unwrap();
        assert_eq!(snapshot.get(SPACE, b"k").unwrap().as_deref(), Some(&b"old"[..]));
        assert_eq!(engine.get(SPACE, b"k").unwrap().as_deref(), Some(&b"new"[..]));
        drop(snapshot);
        put(&engine, b"k", b"newest");
        engine.compact_all().unwrap();
        assert_eq!(engine.stats().levels.iter().map(|level| level.entries).sum::<u64>(), 1);
    });
}

#[test]
fn a_snapshot_keeps_what_it_sees_until_its_last_clone_ends() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, b"k", b"old");
        let snapshot = engine.snapshot();
        drop(snapshot.clone());
        put(&engine, b"k", b"new");
        engine.compact_all().unwrap();
        assert_eq!(snapshot.get(SPACE, b"k").unwrap().as_deref(), Some(&b"old"[..]));
        let clone = snapshot.clone();
        drop(snapshot);
        put(&engine, b"k", b"newest");
        engine.compact_all().unwrap();
        assert_eq!(clone.get(SPACE, b"k").unwrap().as_deref(), Some(&b"old"[..]));
    });
}

#[test]
fn key_spaces_are_apart_and_batches_span_them() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        let users = engine.create_key_space("users").unwrap();
        assert_eq!(engine.create_key_space("users").unwrap(), users);
        let mut both = Batch::new();
        both.put(SPACE, b"k", b"default").put(users, b"k", b"users");
        engine.write(both, Durability::Gathered).unwrap();
        engine.close().unwrap();
        drop(engine);
        let engine = open(&store);
        assert_eq!(engine.key_space("users"), Some(users));
        assert_eq!(engine.get(users, b"k").unwrap().as_deref(), Some(&b"users"[..]));
        assert_eq!(engine.scan(SPACE, &Bounds::all()).unwrap().count(), 1);
        let mut unknown = Batch::new();
        unknown.put(KeySpaceId(9), b"k", b"v");
        let error = engine.write(unknown, Durability::Gathered).unwrap_err();
        assert!(matches!(error, Error::UnknownKeySpace(KeySpaceId(9))));
        assert!(matches!(engine.create_key_space(""), Err(Error::KeySpaceName { .. })));
    });
}

#[test]
fn a_clean_close_keeps_everything_and_the_log_is_gone_on_with() {
    runner::simulate(1, || {
        let mut store = MemoryStore::new();
        for round in 0..10u8 {
            let engine = open(&store);
            put(&engine, &[round], b"value");
            engine.close().unwrap();
            assert!(matches!(engine.sync(), Err(Error::Closed)));
            assert_eq!(engine.stats().flushes, 0);
            drop(engine);
            store = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
            assert_eq!(store.list().len(), 1, "one log and no table after {round} rounds");
        }
        assert_eq!(contents(&open(&store)).len(), 10);
    });
}

#[test]
fn jobs_that_end_while_the_engine_closes_are_in_the_counts_of_its_life() {
    let mut ended_late = 0;
    for seed in 0..20 {
        runner::simulate(seed, || {
            let store = model::slow_store(seed);
            let engine = open(&store);
            let mut key = 0u32;
            while engine.stats().flushes == 0 {
                put(&engine, &key.to_be_bytes(), &[7; 300]);
                key += 1;
            }
            for more in key..2 * key {
                put(&engine, &more.to_be_bytes(), &[7; 300]);
            }
            let before = engine.stats().flushes;
            engine.close().unwrap();
            let closed = engine.stats();
            ended_late += closed.flushes - before;
            drop(engine);
            let ever = open(&store).stats().lifetime;
            assert_eq!(ever.flushes, closed.flushes);
            assert_eq!(ever.bytes.flush, closed.lifetime.bytes.flush);
        });
    }
    assert!(ended_late > 0, "no flush was under way");
}

#[test]
fn read_only_shows_everything_and_changes_nothing() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        for i in 0..1000u32 {
            put(&engine, &i.to_be_bytes(), &[7; 40]);
        }
        let expected = contents(&engine);
        engine.close().unwrap();
        drop(engine);
        let before = (store.io().written_bytes, format!("{:?}", store.list()));
        let read_only = EngineOptions { read_only: true, ..options() };
        let engine = Engine::open(Arc::new(store.clone()), decider(), read_only).unwrap();
        assert_eq!(contents(&engine), expected);
        let refused = engine.write(batch(&[(SPACE, vec![1], None)]), Durability::Synced);
        assert!(matches!(refused, Err(Error::ReadOnly(_))));
        assert!(matches!(engine.flush(), Err(Error::ReadOnly(_))));
        let ingest = engine.ingest().map(drop).unwrap_err().to_string();
        let told = "the store is open for reading only: expected no changes, found an ingest";
        assert_eq!(ingest, told);
        engine.close().unwrap();
        assert_eq!(before, (store.io().written_bytes, format!("{:?}", store.list())));
    });
}

#[test]
fn the_longest_key_and_a_large_value_go_all_the_way_down() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        let (long, large) = (vec![0xff; KEY_BYTES_MAX], vec![5; 3 << 20]);
        put(&engine, &long, b"long");
        put(&engine, b"", &large);
        engine.compact_all().unwrap();
        drop(engine);
        let engine = open(&store);
        assert_eq!(engine.get(SPACE, &long).unwrap().as_deref(), Some(&b"long"[..]));
        assert_eq!(engine.get(SPACE, b"").unwrap().as_deref(), Some(&large[..]));
        let mut longer = Batch::new();
        longer.put(SPACE, &vec![0; KEY_BYTES_MAX + 1], b"");
        let error = engine.write(longer, Durability::Gathered).unwrap_err();
        assert!(matches!(error, Error::KeyTooLong { .. }));
    });
}

#[test]
fn sequential_writes_are_moved_and_not_rewritten() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for i in 0..5000u32 {
            put(&engine, &i.to_be_bytes(), &[i as u8; 50]);
        }
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        let stats = engine.stats();
        assert_eq!(stats.compactions, 0, "{stats:?}");
        assert!(stats.trivial_moves > 10 && stats.levels.len() > 2, "{stats:?}");
    });
}

#[test]
fn successive_moves_are_one_commit_or_as_many_as_the_decider_says() {
    let operations = |moves_together: usize| {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let options = EngineOptions { memtable_size: ByteCount::mib(1), ..options() };
            let decider = Leveled::new(LeveledOptions { moves_together, ..leveled() });
            let shared: Arc<dyn Store> = Arc::new(store.clone());
            let engine = Engine::open(shared, Arc::new(decider), options).unwrap();
            for run in 0..2u32 {
                for i in run * 5000..run * 5000 + 5000 {
                    put(&engine, &i.to_be_bytes(), &[i as u8; 50]);
                }
                engine.flush().unwrap();
            }
            engine.wait_idle().unwrap();
            let stats = engine.stats();
            assert!(stats.compactions == 0 && stats.trivial_moves > 20, "{stats:?}");
            (store.operations(), stats.trivial_moves)
        })
    };
    let ([together, moves], [alone, same]) = (operations(64).into(), operations(1).into());
    assert_eq!(moves, same);
    assert!(alone > together + moves / 2, "{alone} and {together} operations, {moves} moves");
}

#[test]
fn writers_share_groups_and_syncs() {
    runner::simulate(1, || {
        let store = model::slow_store(3);
        let engine = Arc::new(open(&store));
        let clients: Vec<_> = (0..8u8)
            .map(|client| {
                let engine = Arc::clone(&engine);
                runner::spawn("client", move || {
                    for i in 0..50u8 {
                        let write: Write = (SPACE, vec![client, i], Some(vec![i]));
                        engine.write(batch(&[write]), Durability::Synced).unwrap();
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(runner::JoinHandle::join);
        let stats = engine.stats();
        assert_eq!(stats.entries_written, 400);
        assert!(stats.groups < 200, "{} groups", stats.groups);
        assert_eq!(contents(&engine).len(), 400);
    });
}

#[test]
fn the_engine_runs_on_real_threads_too() {
    let engine = Arc::new(open(&MemoryStore::new()));
    let clients: Vec<_> = (0..4u8)
        .map(|client| {
            let engine = Arc::clone(&engine);
            runner::spawn("client", move || {
                for i in 0..2000u32 {
                    let key = [&[client][..], &i.to_be_bytes()].concat();
                    put(&engine, &key, &[client; 60]);
                    assert!(engine.get(SPACE, &key).unwrap().is_some());
                }
            })
        })
        .collect();
    clients.into_iter().for_each(runner::JoinHandle::join);
    engine.compact_all().unwrap();
    assert_eq!(contents(&engine).len(), 8000);
    engine.close().unwrap();
}

#[test]
fn verifying_reads_everything_that_counts() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        for i in 0..3000u32 {
            put(&engine, &(i * 7919 % 1000).to_be_bytes(), &[i as u8; 50]);
        }
        engine.compact_all().unwrap();
        let verified = engine.verify().unwrap();
        let levels = engine.stats().levels;
        assert_eq!(verified.entries, 1000);
        assert_eq!(verified.tables, levels.iter().map(|level| level.segments).sum::<u64>());
        assert_eq!(verified.bytes, levels.iter().map(|level| level.bytes).sum::<u64>());
        store.fail_at(store.operations() + 3, terrace_env::store::Failure::Once);
        assert!(engine.verify().is_err());
    });
}

#[test]
fn a_table_that_is_not_what_its_annotation_says_is_corruption() {
    // Bytes of the tag, of the number of entries, and of the number of range tombstones, which
    // comes after the first and the last full key.
    for at in [3, 11, 3 + 5 * 8 + 2 * (4 + 5)] {
        runner::simulate(1, || {
            let store = MemoryStore::new();
            let engine = open(&store);
            put(&engine, b"k", b"v");
            let mut batch = Batch::new();
            batch.delete_range(SPACE, &Bounds::from(b"x".as_slice()..b"z"));
            engine.write(batch, Durability::Gathered).unwrap();
            engine.flush().unwrap();
            drop(engine);
            let table = store.list().into_iter().find(|file| file.sealed).unwrap();
            let mut annotation = (*table.annotation).clone();
            annotation.opaque[at] ^= 2;
            let mut transaction = Transaction::new();
            transaction.annotate(table.id, annotation);
            store.commit(transaction).unwrap();
            let error = open(&store).get(SPACE, b"k").unwrap_err();
            assert!(error.is_corruption(), "{at}: {error}");
            assert!(error.to_string().contains(&format!("table {}", table.id)), "{error}");
        });
    }
}

#[test]
fn a_store_with_a_table_of_an_unknown_kind_is_not_opened() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        put(&engine, b"k", b"v");
        engine.flush().unwrap();
        drop(engine);
        let table = store.list().into_iter().find(|file| file.sealed).unwrap();
        let mut annotation = (*table.annotation).clone();
        annotation.opaque[1] = 9;
        let mut transaction = Transaction::new();
        transaction.annotate(table.id, annotation);
        store.commit(transaction).unwrap();
        let error = Engine::open(Arc::new(store), decider(), options()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { field: "kind", got: 9, .. }), "{error}");
        assert!(error.to_string().contains(&format!("table {}", table.id)), "{error}");
    });
}

#[test]
fn a_system_that_the_store_could_not_remember_is_refused_before_anything_is_written() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let attempt = |bytes: u64| {
            let options = EngineOptions { system: "s".repeat(bytes as usize), ..options() };
            Engine::open(Arc::new(store.clone()), decider(), options)
        };
        let most = limits::SYSTEM_BYTES.most;
        let text = attempt(most + 1).unwrap_err().to_string();
        let expected = format!("is {}: expected 0 to {most}", most + 1);
        assert!(text.contains(&expected), "{text}");
        assert_eq!((store.list().len(), remembered_system(&store).unwrap()), (0, None));
        for bytes in [0, 255, 256, most] {
            attempt(bytes).unwrap().close().unwrap();
            let remembered = remembered_system(&store).unwrap();
            assert_eq!(remembered.map(|text| text.len() as u64), Some(bytes));
        }
        attempt(most).unwrap().close().unwrap();
    });
}

/// The keys are more than the reads that are submitted at once.
#[test]
fn a_read_of_several_keys_reads_each_block_once() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let options = EngineOptions { memory: ByteCount::mib(64), ..model::options() };
        let engine = Engine::open(Arc::new(store.clone()), model::decider(), options).unwrap();
        let keys: Vec<[u8; 4]> = (0..1500_u32).map(u32::to_be_bytes).collect();
        let mut random = Random::seeded(1);
        for key in &keys {
            let mut value = vec![0; 60];
            random.fill_bytes(&mut value);
            let write = (SPACE, key.to_vec(), Some(value));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
        }
        engine.flush().unwrap();
        engine.compact_all().unwrap();
        // Some eight entries are in each block.
        let reads_of = |step: usize| {
            let before = store.io().reads[Cause::Read as usize];
            let keys: Vec<&[u8]> = keys.iter().step_by(step).map(|key| &key[..]).collect();
            let found = engine.multi_get(SPACE, &keys, ReadOptions::default().fill_cache(false));
            assert!(found.unwrap().iter().all(Option::is_some));
            store.io().reads[Cause::Read as usize] - before
        };
        // The first one opens tables.
        reads_of(1);
        let blocks = reads_of(3);
        assert!((150..400).contains(&blocks), "{blocks}");
        assert_eq!(reads_of(1), blocks);
        assert_eq!(reads_of(2), blocks);
    });
}

/// The files of a store, and the number of its writes and commits.
fn state(store: &MemoryStore) -> (String, u64) {
    let (io, own) = (store.io(), store.info(FileId::STORE));
    (format!("{:?} {own:?}", store.list()), io.writes.iter().sum::<u64>() + io.flushes)
}

#[test]
fn an_opening_for_reading_changes_nothing() {
    for seed in test_seeds(12) {
        runner::simulate(seed, || {
            let store = MemoryStore::new();
            let engine = open(&store);
            let mut random = Random::seeded(seed);
            for number in 0..random.random_range(0..200_u32) {
                let write = (SPACE, number.to_be_bytes().to_vec(), Some(vec![1; 100]));
                engine.write(batch(&[write]), Durability::Synced).unwrap();
            }
            let expected = contents(&engine);
            // Logs may wait for their flush.
            let left = store.crash(CrashMode::KeepUnsynced, &mut random);
            let before = state(&left);
            let options = EngineOptions { read_only: true, ..options() };
            let reader = Engine::open(Arc::new(left.clone()), decider(), options).unwrap();
            assert_eq!(contents(&reader), expected);
            drop(reader);
            assert_eq!(state(&left), before);
        });
    }
}
