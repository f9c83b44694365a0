//! Histograms: a decider that asks for them sees the places of a table's bytes, also after the
//! store was opened again. Other deciders' tables have none.

use std::sync::Arc;

use terrace_env::store::MemoryStore;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, runner};
use terrace_lsm::{Durability, Engine, EngineOptions, KeySpaceId, TableOptions};
use terrace_policy::{Choice, Compaction, Pressure, SegmentView, Span, TreeView, Urgency};

use crate::model::batch;

const SPACE: KeySpaceId = KeySpaceId(0);

/// A decider that compacts nothing, and keeps the last tables that it saw.
#[derive(Debug)]
struct Onlooker {
    histogram_max: ByteCount,
    seen: Mutex<Vec<SegmentView>>,
}

impl Compaction for Onlooker {
    fn name(&self) -> &'static str {
        "onlooker"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let runs = tree.levels.iter().flat_map(|level| &level.runs);
        *self.seen.lock() = runs.flat_map(|run| run.segments.iter().cloned()).collect();
        None
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn histogram_max(&self) -> ByteCount {
        self.histogram_max
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

/// The tables of a store, for a decider that asks for histograms of this size.
fn shown(store: &MemoryStore, histogram_max: ByteCount, write: bool) -> Vec<SegmentView> {
    let onlooker = Arc::new(Onlooker { histogram_max, seen: Mutex::default() });
    let options = EngineOptions {
        memtable_size: ByteCount::mib(8),
        table_size: ByteCount::mib(8),
        tables: TableOptions { block_size: Some(ByteCount::kib(1)), ..TableOptions::default() },
        ..EngineOptions::default()
    };
    let engine = Engine::open(Arc::new(store.clone()), onlooker.clone(), options).unwrap();
    if write {
        // A quarter of the keys has nine tenths of the bytes.
        for number in 0..4_000_u32 {
            let value = vec![number as u8; if number < 1_000 { 1_080 } else { 40 }];
            let write = (SPACE, number.to_be_bytes().to_vec(), Some(value));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
        }
        engine.flush().unwrap();
    }
    engine.wait_idle().unwrap();
    let seen = onlooker.seen.lock().clone();
    engine.close().unwrap();
    seen
}

#[test]
fn a_decider_sees_where_the_bytes_of_a_table_lie_if_it_asks() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let [table] = &shown(&store, ByteCount::kib(2), true)[..] else { panic!("one table") };
        let keys: Vec<&[u8]> = table.histogram.keys().collect();
        assert!(table.histogram.as_bytes().len() <= 2048, "{:?}", table.histogram);
        assert!(keys.len() >= 100, "{keys:?}");
        assert!(keys.iter().all(|key| table.span.contains(key)), "{table:?}");
        let number = |key: &[u8]| u32::from_be_bytes(key[4..].try_into().unwrap());
        let first = keys.iter().filter(|key| number(key) < 1_000).count();
        let share = first as f64 / keys.len() as f64;
        assert!((0.8..0.97).contains(&share), "{share}");
        let again = shown(&store, ByteCount(0), false);
        assert_eq!(again[0].histogram, table.histogram, "it is kept with the table");
        let without = shown(&MemoryStore::new(), ByteCount(0), true);
        assert!(without[0].histogram.is_empty(), "{without:?}");
    });
}
