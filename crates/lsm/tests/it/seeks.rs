//! Merges for point reads: a table with the number of misses that its decider allows goes a level
//! down, even without writes. Reads that find their key in the first table that they search, or
//! that filters guide past it, cause no merge.

use std::sync::Arc;

use terrace_env::runner;
use terrace_env::store::{MemoryStore, Store};
use terrace_lsm::{
    Bounds, Durability, Engine, EngineOptions, KeySpaceId, ReadOptions, TableOptions,
};
use terrace_policy::{ByteCount, Leveled, LeveledOptions};

use crate::model::{self, Model, batch, contents};

/// Bytes of a table per miss.
const COST: ByteCount = ByteCount(64);

fn engine(seek_cost: ByteCount, filter_bits: u8) -> Engine {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let options = LeveledOptions {
        table_size: ByteCount::kib(4),
        level1_size: ByteCount::kib(64),
        seek_cost,
        ..LeveledOptions::default()
    };
    let tables = TableOptions { filter_bits: Some(filter_bits), ..model::options().tables };
    let options = (options, EngineOptions { tables, ..model::options() });
    Engine::open(store, Arc::new(Leveled::new(options.0)), options.1).expect("an engine")
}

/// Even keys in level 1, and odd ones in level 0 over them.
fn even_below_odd(engine: &Engine) -> Model {
    let mut model = Model::default();
    for odd in [0, 1] {
        for key in (odd..60_u64).step_by(2) {
            let write = vec![(KeySpaceId(0), key.to_be_bytes().to_vec(), Some(vec![7; 100]))];
            engine.write(batch(&write), Durability::Synced).unwrap();
            model.write(write);
        }
        engine.flush().unwrap();
        if odd == 0 {
            engine.compact_all().unwrap();
        }
    }
    engine.wait_idle().unwrap();
    assert_eq!(runs_of_level_0(engine), 1);
    model
}

fn runs_of_level_0(engine: &Engine) -> u64 {
    engine.stats().levels[0].runs
}

/// Reads a key `times` times, in both ways, and waits for the merges.
fn read(engine: &Engine, key: u64, times: u64) {
    let key = key.to_be_bytes();
    for turn in 0..times {
        let found = match turn % 2 {
            0 => engine.get(KeySpaceId(0), &key).unwrap(),
            _ => {
                engine.multi_get(KeySpaceId(0), &[&key], ReadOptions::default()).unwrap().remove(0)
            }
        };
        assert!(found.is_some());
    }
    engine.wait_idle().unwrap();
}

#[test]
fn a_table_that_reads_search_in_vain_goes_down_once_it_was_as_many_as_are_allowed() {
    runner::simulate(1, || {
        let engine = engine(COST, 0);
        let model = even_below_odd(&engine);
        let level0 = engine.stats().levels[0];
        let allowed = level0.bytes / COST.0;
        assert!(level0.segments == 1 && allowed > 4, "{level0:?}");
        // Reads of odd keys end there.
        read(&engine, 31, 10 * allowed);
        read(&engine, 30, allowed - 1);
        assert_eq!(runs_of_level_0(&engine), 1, "that was too early");
        read(&engine, 30, 1);
        let stats = engine.stats();
        assert_eq!(stats.levels[0].runs, 0, "{stats:?}");
        assert_eq!(contents(&engine), model.now);
        // Each search was counted in its level.
        assert_eq!(stats.tables_searched_by_level, [10 * allowed + allowed, allowed]);
        assert_eq!(stats.tables_searched, 12 * allowed);
        // No tables overlap now.
        let compactions = stats.compactions + stats.trivial_moves;
        read(&engine, 30, 10 * allowed);
        let stats = engine.stats();
        assert_eq!(stats.compactions + stats.trivial_moves, compactions);
    });
}

#[test]
fn scans_and_cursors_count_together_by_the_bytes_that_they_come_by() {
    runner::simulate(1, || {
        for is_cursor in [false, true] {
            let engine = engine(COST, 0);
            let model = even_below_odd(&engine);
            let allowed = engine.stats().levels[0].bytes / COST.0;
            // Bytes that count as a miss; a key space is four bytes of a key.
            let (sample, of_all) = (64 * COST.0, 60 * (4 + 8 + 100));
            let scans = allowed * sample / of_all;
            let scan = || match is_cursor {
                false => {
                    assert_eq!(engine.scan(KeySpaceId(0), &Bounds::all()).unwrap().count(), 60)
                }
                true => {
                    let mut cursor = engine.cursor(KeySpaceId(0), &Bounds::all()).unwrap();
                    let mut count = 0;
                    while cursor.next().unwrap() {
                        count += 1;
                    }
                    assert_eq!(count, 60);
                }
            };
            // Nearly all keys lie in the range of both tables.
            (0..scans).for_each(|_| scan());
            engine.wait_idle().unwrap();
            assert_eq!(runs_of_level_0(&engine), 1, "that was too early");
            (0..2 + scans / 10).for_each(|_| scan());
            engine.wait_idle().unwrap();
            assert_eq!(runs_of_level_0(&engine), 0);
            assert_eq!(contents(&engine), model.now);
        }
    });
}

#[test]
fn reads_merge_nothing_where_filters_guide_them_or_the_decider_does_not_count() {
    runner::simulate(1, || {
        for (cost, filter_bits) in [(COST, 20), (ByteCount(0), 0)] {
            let engine = engine(cost, filter_bits);
            even_below_odd(&engine);
            read(&engine, 30, 1000);
            assert_eq!(runs_of_level_0(&engine), 1);
        }
    });
}
