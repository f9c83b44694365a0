//! One memory budget: a store whose indexes and filters alone exceed it is read and scanned within
//! it. Writing and compaction keep within it, too, but for what the store holds for the tables that
//! are being written.

use std::sync::Arc;

use terrace_env::store::{MemoryStore, Store};
use terrace_env::{ByteCount, runner};
use terrace_lsm::{
    Batch, Bounds, Durability, Engine, EngineOptions, KeySpaceId, MemoryStats, TableOptions,
};
use terrace_policy::{Leveled, LeveledOptions};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const KEYS: u32 = 30_000;
const BUDGET: ByteCount = ByteCount::kib(1536);

fn key(number: u32) -> Vec<u8> {
    format!("a key of some length {:08}", number.wrapping_mul(2_654_435_761)).into_bytes()
}

/// A block per entry: indexes and filters take more than the data.
fn options(memory: ByteCount) -> EngineOptions {
    EngineOptions {
        memtable_size: ByteCount::kib(256),
        memtables_max: 2,
        table_size: ByteCount::kib(256),
        tables: TableOptions {
            block_size: Some(ByteCount(1)),
            compression: None,
            filter_bits: Some(20),
        },
        memory,
        ..EngineOptions::default()
    }
}

fn open(store: &MemoryStore, memory: ByteCount) -> Engine {
    let decider = Leveled::new(LeveledOptions {
        level0_runs: 2,
        level1_size: ByteCount::kib(512),
        table_size: ByteCount::kib(256),
        ..LeveledOptions::default()
    });
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, Arc::new(decider), options(memory)).expect("an engine")
}

fn load(engine: &Engine) {
    for first in (0..KEYS).step_by(100) {
        let mut batch = Batch::new();
        for number in first..first + 100 {
            batch.put(SPACE, &key(number), &number.to_le_bytes());
        }
        engine.write(batch, Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
}

fn read_all(engine: &Engine) {
    for number in 0..KEYS {
        let found = engine.get(SPACE, &key(number)).unwrap();
        assert_eq!(found.as_deref(), Some(&number.to_le_bytes()[..]));
        assert_eq!(engine.get(SPACE, &number.to_be_bytes()).unwrap(), None);
    }
}

#[test]
fn a_store_whose_indexes_and_filters_exceed_the_budget_is_read_within_it() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let roomy = open(&store, ByteCount::mib(64));
        load(&roomy);
        read_all(&roomy);
        let MemoryStats { tables, .. } = roomy.stats().memory;
        assert!(tables > BUDGET.0, "indexes and filters take {tables}");
        roomy.close().unwrap();
        drop(roomy);

        let tight = open(&store, BUDGET);
        read_all(&tight);
        let (mut forward, mut backward) = (
            tight.scan(SPACE, &Bounds::all()).unwrap(),
            tight.scan(SPACE, &Bounds::all()).unwrap(),
        );
        for _ in 0..KEYS {
            assert!(forward.advance().unwrap() && backward.advance_back().unwrap());
        }
        assert!(!forward.advance().unwrap() && !backward.advance_back().unwrap());
        drop((forward, backward));
        let memory = tight.stats().memory;
        assert!(memory.peak <= memory.budget, "{memory:?}");
        assert!(memory.tables > 0 && memory.cache > 0, "both have a share: {memory:?}");
        let writes = memory.memtables + memory.log + memory.batches;
        let sum = writes + memory.tables + memory.cache + memory.jobs + memory.scans;
        assert_eq!(memory.used, sum, "{memory:?}");
        tight.close().unwrap();
    });
}

#[test]
fn a_store_is_written_and_compacted_within_the_budget_but_for_tables_being_written() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store, BUDGET);
        load(&engine);
        let memory = engine.stats().memory;
        // A flush and a compaction at a time, each with what the store holds for its table.
        let writers = 2 * (3 << 20) + (1 << 20);
        assert!(memory.peak <= memory.budget + writers, "{memory:?}");
        assert_eq!((memory.jobs, memory.scans), (0, 0), "{memory:?}");
        engine.close().unwrap();
    });
}
