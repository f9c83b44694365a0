//! Tests of the grandparent cut: where an output of a merge ends because it overlaps too many bytes
//! of *grandparents*, the tables of the next level. The decider says whether the overlaps of a
//! table that ended by its size count for the next one.

use std::sync::Arc;

use terrace_env::random::{Random, RngCore};
use terrace_env::store::MemoryStore;
use terrace_env::{ByteCount, runner};
use terrace_lsm::{Compression, Durability, Engine, EngineOptions, KeySpaceId, TableOptions};
use terrace_policy::{
    Choice, Compaction, Cut, Grandparent, Input, Key, Merge, Part, Place, Plan, Pressure, Route,
    RunId, Span, TreeView, Urgency,
};

use crate::model::batch;

const KEYS: u32 = 300;
/// Keys over each grandparent.
const OVER_ONE: u32 = 10;

/// A decider that merges the only run of level 0 into level 1, with this cut.
#[derive(Debug)]
struct CutSo(Cut);

impl Compaction for CutSo {
    fn name(&self) -> &'static str {
        "cut so"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let run = tree.runs(0).first()?;
        let parts = run.segments.iter().map(|s| Part { file: s.file, span: s.span.clone() });
        let place = Place { level: 0, run: run.id };
        let inputs = vec![Input { place, parts: parts.collect() }];
        let to = Place { level: 1, run: RunId(1) };
        let routes = vec![Route { end: None, to, stream: 1, cut: self.0.clone() }];
        let merge = Merge { inputs, routes, moves: Vec::new(), set: false };
        Some(Choice { plan: Plan::Merge(merge), state: Vec::new() })
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

/// Number of tables that a merge writes, each of which may overlap `overlap_max` grandparents of 1
/// byte.
fn tables(overlap_max: u64, carry_overlap: bool) -> u64 {
    // The full key of a key in the first key space begins with the id of that space.
    let full_key = |number: u32| -> Key { [[0; 4], number.to_be_bytes()].concat().into() };
    let ends = (1..=KEYS / OVER_ONE).map(|at| full_key(at * OVER_ONE));
    let grandparents = ends.map(|end| Grandparent { end, size: ByteCount(1) }).collect();
    let (size, overlap_max) = (ByteCount::kib(8), ByteCount(overlap_max));
    let cut = Cut { grandparents, overlap_max, carry_overlap, ..Cut::at(size) };
    let options = EngineOptions {
        tables: TableOptions {
            block_size: Some(ByteCount(512)),
            compression: Some(Compression::None.into()),
            ..TableOptions::default()
        },
        workers: 1,
        ..EngineOptions::default()
    };
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::open(store, Arc::new(CutSo(cut)), options).unwrap();
    let mut random = Random::seeded(1);
    for number in 0..KEYS {
        let mut value = vec![0; 150];
        random.fill_bytes(&mut value);
        let write = (KeySpaceId(0), number.to_be_bytes().to_vec(), Some(value));
        engine.write(batch(&[write]), Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
    let level = engine.stats().levels[1];
    assert_eq!(level.entries, u64::from(KEYS));
    level.segments
}

#[test]
fn overlaps_of_a_table_of_full_size_count_for_the_next_table_only_if_they_are_carried_on() {
    runner::simulate(1, || {
        let by_size = tables(u64::MAX, false);
        // A table of 8 KiB has some 47 entries, and so passes four or five grandparents.
        assert_eq!(by_size, 7);
        assert_eq!(tables(5, false), by_size, "no table alone overlaps more than five");
        // The sixth grandparent ends the second table, and the count begins anew: a table at its
        // size and a small one in turn, together 60 entries.
        assert_eq!(tables(5, true), 2 * u64::from(KEYS / 60));
        // Where grandparents end each table, nothing is left to carry on.
        assert_eq!(tables(2, true), tables(2, false));
    });
}
