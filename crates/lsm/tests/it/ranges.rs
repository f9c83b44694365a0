//! Range deletes, one behaviour at a time: covered tables are dropped without a read, snapshots
//! keep the entries that they see, the order within a batch counts, scans skip hidden entries, and
//! tables of only range tombstones are written and found again. (`operations` has range deletes
//! among random others.)

use std::sync::Arc;

use terrace_env::store::{CrashMode, MemoryStore};
use terrace_env::{Cause, runner};
use terrace_lsm::{Batch, Bounds, Durability, Engine, KeySpaceId, LevelStats, Stats};

use crate::model::{contents, open};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn put(engine: &Engine, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        let mut batch = Batch::new();
        batch.put(SPACE, &key(number), &[number as u8; 100]);
        engine.write(batch, Durability::Gathered).unwrap();
    }
}

fn delete_range(engine: &Engine, bounds: impl Into<Bounds>) {
    let mut batch = Batch::new();
    batch.delete_range(SPACE, &bounds.into());
    engine.write(batch, Durability::Gathered).unwrap();
}

fn count(engine: &Engine) -> usize {
    engine.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap).count()
}

/// Ingests keys under a range delete that is in memory, and not in tables.
pub(crate) fn ingest_under_a_range_delete(seed: u64) {
    runner::simulate(seed, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        put(&engine, 0..100);
        engine.flush().unwrap();
        delete_range(&engine, &key(10)[..]..&key(60)[..]);
        let tables = engine.stats().flushes;
        let mut ingest = engine.ingest().unwrap();
        for number in 20..40 {
            ingest.put(SPACE, &key(number), b"ingested").unwrap();
        }
        ingest.finish().unwrap();
        let check = |engine: &Engine| {
            assert_eq!(count(engine), 50 + 20);
            for number in 20..40 {
                let found = engine.get(SPACE, &key(number)).unwrap();
                assert_eq!(found.as_deref(), Some(&b"ingested"[..]), "{number}");
            }
            assert_eq!(engine.get(SPACE, &key(41)).unwrap(), None, "it is deleted");
        };
        check(&engine);
        assert!(engine.stats().flushes > tables, "the range delete was in memory");
        engine.compact_all().unwrap();
        check(&engine);
        drop(engine.close());
        drop(engine);
        check(&open(&store));
    });
}

#[test]
fn an_ingest_under_a_range_delete_that_is_not_flushed_is_seen() {
    ingest_under_a_range_delete(1);
}

/// An engine with these many keys in tables, several levels deep.
fn loaded(keys: u32) -> Engine {
    let engine = open(&MemoryStore::new());
    put(&engine, (0..keys).map(|number| number * 7919 % keys));
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
    assert!(engine.stats().levels.len() > 2);
    engine
}

fn in_tables(stats: &Stats) -> (u64, u64) {
    let bytes = stats.levels.iter().map(|level| level.bytes).sum();
    (bytes, stats.levels.iter().map(|level| level.entries).sum())
}

/// Bytes that compactions have read and written.
fn moved(stats: &Stats) -> u64 {
    stats.io.written(Cause::Compaction).0
        + stats.process.levels.iter().map(|l| l.bytes_read).sum::<u64>()
}

#[test]
fn what_a_range_delete_covers_goes_without_being_read() {
    runner::simulate(1, || {
        let engine = loaded(3000);
        let before = engine.stats();
        let (bytes, _) = in_tables(&before);
        delete_range(&engine, key(10)..key(2990));
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        let after = engine.stats();
        let (left, _) = in_tables(&after);
        assert!(left * 10 < bytes, "{left} of {bytes} are left");
        assert!(after.bytes_dropped * 10 > bytes * 7, "{} of {bytes}", after.bytes_dropped);
        let read = moved(&after) - moved(&before);
        assert!(read * 4 < bytes, "{read} of {bytes} were moved");
        assert_eq!(count(&engine), 20);
        delete_range(&engine, ..);
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        // The tombstones were dropped as well, because they hide nothing any more.
        assert_eq!(in_tables(&engine.stats()), (0, 0));
        engine.verify().unwrap();
    });
}

#[test]
fn range_tombstones_are_counted_among_entries_and_apart() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        put(&engine, 0..20);
        engine.flush().unwrap();
        // Nothing is dropped while it sees the deleted entries.
        let snapshot = engine.snapshot();
        delete_range(&engine, key(5)..key(10));
        let mut batch = Batch::new();
        batch.delete(SPACE, &key(15));
        engine.write(batch, Durability::Gathered).unwrap();
        put(&engine, 20..40);
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        let levels = engine.stats().levels;
        let sum = |of: fn(&LevelStats) -> u64| levels.iter().map(of).sum::<u64>();
        let ranges = sum(|level| level.range_tombstones);
        assert!(ranges > 0, "{levels:?}");
        assert_eq!(sum(|level| level.tombstones), ranges + 1, "{levels:?}");
        assert_eq!(sum(|level| level.entries), ranges + 41, "{levels:?}");
        drop(snapshot);
    });
}

#[test]
fn a_snapshot_keeps_what_it_sees_and_its_end_lets_it_go() {
    runner::simulate(1, || {
        let engine = loaded(2000);
        let (bytes, _) = in_tables(&engine.stats());
        let snapshot = engine.snapshot();
        delete_range(&engine, ..);
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        let seen = || snapshot.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap).count();
        assert_eq!((seen(), count(&engine)), (2000, 0));
        engine.compact_all().unwrap();
        assert_eq!((seen(), count(&engine)), (2000, 0));
        assert!(in_tables(&engine.stats()).0 * 10 > bytes * 9);
        drop(snapshot);
        engine.wait_idle().unwrap();
        assert_eq!(in_tables(&engine.stats()), (0, 0));
    });
}

#[test]
fn a_batch_is_applied_in_its_order() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        let mut batch = Batch::new();
        batch.put(SPACE, b"a", b"before").put(SPACE, b"z", b"outside");
        batch.delete_range(SPACE, &Bounds::from(b"a".to_vec()..=b"m".to_vec()));
        batch.put(SPACE, b"b", b"behind");
        engine.write(batch, Durability::Synced).unwrap();
        let check = |engine: &Engine| {
            let found: Vec<_> = contents(engine).into_values().collect();
            assert_eq!(found, [b"behind".to_vec(), b"outside".to_vec()]);
            assert_eq!(engine.get(SPACE, b"a").unwrap(), None);
        };
        check(&engine);
        let mut random = terrace_env::random::Random::seeded(1);
        let again = open(&store.crash(CrashMode::DropUnsynced, &mut random));
        check(&again);
        again.flush().unwrap();
        check(&again);
        again.compact_all().unwrap();
        check(&again);
    });
}

#[test]
fn a_scan_leaps_over_what_is_hidden() {
    runner::simulate(1, || {
        let engine = loaded(8000);
        delete_range(&engine, key(5)..key(7995));
        // In memory the tombstone hides entries of tables, in both directions.
        let blocks = |rev: bool| {
            let before = engine.store().io().read(Cause::Read).0;
            let mut scan = engine.scan(SPACE, &Bounds::all()).unwrap();
            let found = if rev { scan.by_ref().rev().count() } else { scan.by_ref().count() };
            assert_eq!(found, 10);
            engine.store().io().read(Cause::Read).0 - before
        };
        let (bytes, _) = in_tables(&engine.stats());
        for rev in [false, true] {
            let read = blocks(rev);
            assert!(read * 4 < bytes, "{read} of {bytes} were read");
        }
    });
}

#[test]
fn ranges_alone_make_tables_and_are_found_again() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        put(&engine, 0..300);
        engine.flush().unwrap();
        let snapshot = engine.snapshot();
        for number in 0..100 {
            delete_range(&engine, key(number * 3)..key(number * 3 + 2));
            if number % 10 == 0 {
                engine.flush().unwrap();
            }
        }
        engine.flush().unwrap();
        engine.compact_all().unwrap();
        engine.verify().unwrap();
        assert_eq!(count(&engine), 100);
        assert_eq!(snapshot.scan(SPACE, &Bounds::all()).unwrap().count(), 300);
        drop(snapshot);
        engine.close().unwrap();
        drop(engine);
        let engine = open(&store);
        assert_eq!(count(&engine), 100);
        assert!((0..300).all(|n| engine.get(SPACE, &key(n)).unwrap().is_some() == (n % 3 == 2)));
    });
}

#[test]
fn readers_on_threads_see_ranges_come_and_go_as_a_whole() {
    let engine = Arc::new(open(&MemoryStore::new()));
    let fill = |round: u8| {
        let mut batch = Batch::new();
        batch.delete_range(SPACE, &Bounds::all());
        for number in 0..50 {
            batch.put(SPACE, &key(number), &[round; 60]);
        }
        engine.write(batch, Durability::Gathered).unwrap();
    };
    fill(0);
    let reader = {
        let engine = Arc::clone(&engine);
        runner::spawn("reader", move || {
            for _ in 0..2000 {
                let scan = engine.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap);
                let rounds: Vec<u8> = scan.map(|(_, value)| value[0]).collect();
                assert_eq!(rounds, vec![rounds[0]; 50]);
                assert!(engine.get(SPACE, &key(7)).unwrap().is_some());
            }
        })
    };
    (0..1000u32).for_each(|round| fill(round as u8));
    reader.join();
    assert!(engine.stats().flushes > 5);
}
