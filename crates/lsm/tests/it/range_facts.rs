//! Whether a range is empty, if possible without a read, and its approximate size. Random
//! operations compare the first with the model (`operations`).

use terrace_env::store::MemoryStore;
use terrace_env::{ByteCount, runner};
use terrace_lsm::{Batch, Bounds, Durability, Engine, KeySpaceId};

use crate::model::open;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn put(engine: &Engine, tenant: u32, number: u32) {
    let mut batch = Batch::new();
    batch.put(SPACE, format!("{tenant:03}/{number:03}").as_bytes(), &[number as u8; 100]);
    engine.write(batch, Durability::Gathered).unwrap();
}

fn is_empty(engine: &Engine, prefix: &str) -> bool {
    engine.is_empty(SPACE, &Bounds::prefix(prefix.as_bytes())).unwrap()
}

fn size(engine: &Engine, bounds: &Bounds) -> u64 {
    engine.size_of(SPACE, bounds).unwrap().0
}

#[test]
fn a_prefix_is_found_or_missed_without_a_read_where_metadata_can_tell() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store);
        for tenant in [1, 2, 4] {
            (0..500).for_each(|number| put(&engine, tenant, number));
        }
        engine.compact_all().unwrap();
        engine.wait_idle().unwrap();
        put(&engine, 7, 0);
        let before = store.operations();
        assert!(!is_empty(&engine, "00"), "in memory");
        assert!(!is_empty(&engine, "002/"), "whole tables");
        assert!(!is_empty(&engine, "007/"), "in memory alone");
        assert!(is_empty(&engine, "9"), "behind all tables");
        assert!(is_empty(&engine, "000"), "before all tables");
        assert_eq!(store.operations(), before, "no call of the store");
        // Between the keys of one table, and under deletes, it needs a read.
        assert!(is_empty(&engine, "003/"));
        assert!(!is_empty(&engine, "002/250"));
        let mut batch = Batch::new();
        batch.delete_range(SPACE, &Bounds::prefix(b"002/")).delete(SPACE, b"007/000");
        engine.write(batch, Durability::Gathered).unwrap();
        for settle in [|_: &Engine| (), |engine: &Engine| engine.flush().unwrap()] {
            settle(&engine);
            assert!(is_empty(&engine, "002/") && is_empty(&engine, "007/"));
            assert!(!is_empty(&engine, "001/") && !is_empty(&engine, ""));
        }
        assert!(engine.is_empty(SPACE, &Bounds::starting_at(b"4").until(b"2")).unwrap());
        engine.drop_key_space("none").unwrap();
        assert!(engine.is_empty(KeySpaceId(9), &Bounds::all()).unwrap());
    });
}

#[test]
fn the_size_of_a_range_is_about_what_its_tables_hold() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        for tenant in 0..4 {
            (0..500).for_each(|number| put(&engine, tenant, number));
        }
        assert!(size(&engine, &Bounds::all()) < 4 * 500 * 120);
        engine.compact_all().unwrap();
        let all = size(&engine, &Bounds::all());
        let levels: u64 = engine.stats().levels.iter().map(|level| level.bytes).sum();
        assert_eq!(all, levels);
        let quarters: Vec<u64> =
            (0..4).map(|n| size(&engine, &Bounds::prefix(format!("{n:03}/").as_bytes()))).collect();
        for quarter in &quarters {
            // Filters and indexes belong to whole tables.
            assert!((all / 6..all / 3).contains(quarter), "{quarters:?} of {all}");
        }
        assert_eq!(size(&engine, &Bounds::starting_at(b"9")), 0);
        assert_eq!(size(&engine, &Bounds::starting_at(b"4").until(b"2")), 0);
        assert_eq!(engine.size_of(KeySpaceId(9), &Bounds::all()).unwrap(), ByteCount(0));
    });
}
