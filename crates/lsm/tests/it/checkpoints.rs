//! Copies and backups of a store: each changed bit of a table is noticed, a list of key spaces that
//! takes pages arrives whole, the progress ends with the last byte, and a backup of a store that
//! was put back to an earlier state keeps no table of the later one. (Copies next to writers, with
//! failures and power cuts, are tested in the crates `lab` and `terrace`.)

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::random::{Random, RngCore};
use terrace_env::store::{CrashMode, FileKind, MemoryStore, Store};
use terrace_env::{ByteCount, FileId, runner};
use terrace_lsm::{
    Batch, Compression, Durability, Engine, EngineOptions, KeySpaceId, TableComparison,
    TableOptions,
};

use crate::model::{self, batch, contents, open};
use crate::salvage::Damaged;
use crate::spaces::long_name;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// Tables of several blocks, whose values are not compressed.
fn options() -> EngineOptions {
    let compression = Some(Compression::None.into());
    let tables = TableOptions { compression, ..model::options().tables };
    let (memtable_size, table_size) = (ByteCount::kib(64), ByteCount::kib(64));
    EngineOptions { memtable_size, table_size, tables, ..model::options() }
}

fn open_plain(store: &MemoryStore) -> Engine {
    Engine::open(Arc::new(store.clone()), model::decider(), options()).unwrap()
}

/// Puts keys with random values in one batch, and flushes it.
fn fill(engine: &Engine, random: &mut Random, keys: std::ops::Range<u32>, size: usize) {
    let mut batch = Batch::new();
    for number in keys {
        let mut value = vec![0; size];
        random.fill_bytes(&mut value);
        batch.put(SPACE, &number.to_be_bytes(), &value);
    }
    engine.write(batch, Durability::Synced).unwrap();
    engine.flush().unwrap();
}

#[test]
fn a_copy_notices_a_changed_bit_anywhere_in_a_table() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open_plain(&store);
        fill(&engine, &mut Random::seeded(1), 0..300, 4);
        engine.wait_idle().unwrap();
        drop(engine);
        let table = store.list().into_iter().find(|file| file.kind == FileKind::Table).unwrap();
        let at = Arc::new(AtomicU64::new(u64::MAX));
        let damaged = Damaged::flipped(&store, table.id, Arc::clone(&at));
        let engine = Engine::open(Arc::new(damaged), model::decider(), options()).unwrap();
        let copy = || engine.checkpoint(&MemoryStore::new(), &mut |_, _| {});
        copy().unwrap();
        for place in (0..table.size).step_by(7) {
            at.store(place, Ordering::Relaxed);
            assert!(copy().is_err(), "byte {place} of {}", table.size);
        }
    });
}

#[test]
fn a_copy_has_all_key_spaces_of_a_list_in_pages() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for number in 0..40 {
            let space = engine.create_key_space(&long_name(number)).unwrap();
            let write = (space, vec![1], Some(vec![number as u8]));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
        }
        let copy = MemoryStore::new();
        engine.checkpoint(&copy, &mut |_, _| {}).unwrap();
        for opening in 0..2 {
            let copied = open(&copy);
            assert_eq!(copied.key_spaces().len(), 41 + opening);
            assert_eq!(contents(&copied), contents(&engine));
            // The list goes on in the copy.
            copied.create_key_space(&long_name(100 + opening as u64)).unwrap();
        }
    });
}

/// Also of a store that is open for reading, whose logs are copied.
#[test]
fn the_progress_of_a_copy_ends_with_the_last_of_its_bytes() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        fill(&engine, &mut Random::seeded(1), 0..300, 50);
        let write = (SPACE, vec![1], Some(vec![1; 500]));
        engine.write(batch(&[write]), Durability::Synced).unwrap();
        let left = store.crash(CrashMode::EndProcess, &mut Random::seeded(1));
        for read_only in [true, false] {
            let options = EngineOptions { read_only, ..model::options() };
            let engine = Engine::open(Arc::new(left.clone()), model::decider(), options).unwrap();
            let (target, mut last) = (MemoryStore::new(), (ByteCount(0), ByteCount(0)));
            let copied = engine.checkpoint(&target, &mut |done, all| {
                assert!(last.0 <= done && done <= all, "{done} of {all} after {}", last.0);
                last = (done, all);
            });
            let copied = copied.unwrap();
            assert_eq!(copied.logs > 0, read_only);
            assert_eq!(last, (copied.bytes, copied.bytes));
            assert_eq!(contents(&open(&target)), contents(&engine));
        }
    });
}

/// Both histories give one number to tables of the same keys, sequences and sizes.
#[test]
fn a_backup_of_a_store_that_was_put_back_keeps_no_table_of_the_later_one() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        assert!(store.uuid().is_some());
        fill(&open_plain(&store), &mut Random::seeded(1), 0..10, 50);
        let earlier = store.crash(CrashMode::KeepUnsynced, &mut Random::seeded(1));
        let target = MemoryStore::new();
        let back_up = |store: &MemoryStore, seed: u64, more: bool| {
            let engine = open_plain(store);
            let mut random = Random::seeded(seed);
            let mut writes = Batch::new();
            for number in 0..200_u32 {
                let mut value = vec![7; 50];
                // The last block is the same.
                if number < 100 {
                    random.fill_bytes(&mut value);
                }
                writes.put(SPACE, &number.to_be_bytes(), &value);
            }
            engine.write(writes, Durability::Synced).unwrap();
            engine.flush().unwrap();
            if more {
                engine.write(batch(&[(SPACE, vec![9], None)]), Durability::Synced).unwrap();
            }
            engine.backup(&target, TableComparison::Ends, &mut |_, _| {}).unwrap();
            let copy = target.crash(CrashMode::KeepUnsynced, &mut Random::seeded(1));
            assert_eq!(contents(&open_plain(&copy)), contents(&engine));
            newest_table(store)
        };
        let later = back_up(&store, 1, true);
        assert!(back_up(&earlier, 2, false) <= later, "numbers of the later tables");
    });
}

fn newest_table(store: &MemoryStore) -> FileId {
    let tables = store.list().into_iter().filter(|file| file.kind == FileKind::Table);
    tables.map(|table| table.id).max().unwrap()
}
