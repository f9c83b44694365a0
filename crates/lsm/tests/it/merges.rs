//! Merges in subcompactions: their outputs are committed, even if the subcompactions' expected
//! sizes were wrong. A subcompaction that needs more than expected ends early, and the next one
//! takes its remainder. Only a merge that fails throws tables away, and their bytes are counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, RngCore};
use terrace_env::store::{Failure, MemoryStore, Store};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, runner};
use terrace_lsm::{
    Compression, Durability, Engine, EngineOptions, Event, Job, KeySpaceId, LevelCompression,
    Listener, Snapshot, TableOptions,
};
use terrace_policy::{
    Choice, Compaction, Cut, Input, Merge, Part, Place, Plan, Pressure, Route, RunId, SegmentView,
    Span, TreeView, Urgency,
};

use crate::model::{Contents, batch, contents};

const RUNS: u32 = 3;
const KEYS: u32 = 4_400;
const SPACE: KeySpaceId = KeySpaceId(0);

/// Merges level 0 into level 1 once it has three runs.
#[derive(Debug)]
struct AllAtOnce;

impl Compaction for AllAtOnce {
    fn name(&self) -> &'static str {
        "all at once"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let runs = tree.runs(0);
        if runs.len() < RUNS as usize {
            return None;
        }
        let part = |s: &SegmentView| Part { file: s.file, span: s.span.clone() };
        let inputs = runs.iter().map(|run| Input {
            place: Place { level: 0, run: run.id },
            parts: run.segments.iter().map(part).collect(),
        });
        let (to, cut) = (Place { level: 1, run: RunId(1) }, Cut::at(ByteCount::kib(32)));
        let routes = vec![Route { end: None, to, stream: 1, cut }];
        let merge = Merge { inputs: inputs.collect(), routes, moves: Vec::new(), set: false };
        Some(Choice { plan: Plan::Merge(merge), state: Vec::new() })
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

fn engine(store: &MemoryStore, workers: usize) -> Engine {
    let options = EngineOptions {
        memtable_size: ByteCount::mib(4),
        table_size: ByteCount::mib(8),
        tables: TableOptions {
            compression: Some(LevelCompression {
                upper: Compression::Lz4,
                last: Compression::None,
            }),
            ..TableOptions::default()
        },
        memory: ByteCount::mib(32),
        workers,
        ..EngineOptions::default()
    };
    Engine::open(Arc::new(store.clone()), Arc::new(AllAtOnce), options).unwrap()
}

/// Runs whose values are zeros up to `zeros` keys, and random from there on. Nearly all bytes of a
/// table are in the random values, so a share of the bytes says little about the share of the
/// values.
fn fill(engine: &Engine, zeros: u32) -> Contents {
    let (mut random, mut model) = (Random::seeded(1), BTreeMap::new());
    for run in 0..RUNS {
        for number in (0..KEYS).filter(|number| number % RUNS == run) {
            let (key, mut value) = (number.to_be_bytes().to_vec(), vec![0; 1_000]);
            if number >= zeros {
                random.fill_bytes(&mut value);
            }
            let write = (SPACE, key.clone(), Some(value.clone()));
            engine.write(batch(&[write]), Durability::Synced).unwrap();
            model.insert((SPACE, key), value);
        }
        engine.flush().unwrap();
    }
    model
}

#[test]
fn subcompactions_that_come_to_more_than_was_expected_hand_their_rest_on() {
    runner::simulate(1, || {
        for workers in [1, 2, 4] {
            let engine = engine(&MemoryStore::new(), workers);
            let model = fill(&engine, KEYS / 8 * 7);
            engine.wait_idle().unwrap();
            let stats = engine.stats();
            assert!(stats.compaction_steps_ended_early > 0, "{workers} workers: {stats:?}");
            assert_eq!((stats.compactions, stats.bytes_discarded), (1, 0), "{workers} workers");
            // Each value goes down once; its zeros are no longer compressed there.
            let written = stats.process.levels[1].bytes_written;
            assert!(written < u64::from(KEYS) * 1_100, "{workers} workers: {written}");
            assert_eq!(contents(&engine), model);
        }
    });
}

#[test]
fn subcompactions_of_like_entries_go_to_their_ends() {
    runner::simulate(1, || {
        for workers in [1, 2, 4] {
            let engine = engine(&MemoryStore::new(), workers);
            let model = fill(&engine, 0);
            engine.wait_idle().unwrap();
            let stats = engine.stats();
            assert!(stats.compaction_steps > 1, "{workers} workers: {stats:?}");
            assert_eq!(stats.compaction_steps_ended_early, 0, "{workers} workers: {stats:?}");
            assert_eq!(stats.bytes_discarded, 0, "{workers} workers");
            assert_eq!(contents(&engine), model);
        }
    });
}

/// Notes how many bytes of deleted files are pinned when a compaction ends.
struct PinnedAtEnd(MemoryStore, Mutex<Option<ByteCount>>);

impl Listener for PinnedAtEnd {
    fn notice(&self, event: &Event) {
        if let Event::Ended { job: Job::Compaction { .. }, .. } = event {
            *self.1.lock() = Some(self.0.space().pinned);
        }
    }
}

#[test]
fn a_merge_does_not_hold_the_tables_that_it_has_merged() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = engine(&store, 1);
        let pinned = Arc::new(PinnedAtEnd(store.clone(), Mutex::new(None)));
        engine.listen(Arc::clone(&pinned) as Arc<dyn Listener>);
        fill(&engine, 0);
        engine.wait_idle().unwrap();
        assert_eq!(*pinned.1.lock(), Some(ByteCount(0)), "space has to come free as it goes");
    });
}

#[test]
fn what_a_failed_merge_had_written_is_counted_as_thrown_away() {
    let discarded = |nth: u64| {
        let store = MemoryStore::new();
        let engine = engine(&store, 4);
        // Before the last flush there is nothing to merge.
        fill(&engine, 0);
        store.fail_at(store.operations() + nth, Failure::Once);
        engine.wait_idle().ok();
        engine.stats().bytes_discarded
    };
    let counts = (1..40).map(|nth| runner::simulate(1, || discarded(nth)));
    let most = counts.max().unwrap();
    assert!(most > 10 << 10, "at most {most} bytes were counted");
}

/// Merges level 0 down, and then ends a snapshot while it is asked for a plan.
#[derive(Debug, Default)]
struct EndsSnapshot(Mutex<Option<Snapshot>>);

impl Compaction for EndsSnapshot {
    fn name(&self) -> &'static str {
        "ends a snapshot"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        let Some(run) = tree.runs(0).first() else {
            if !tree.runs(1).is_empty() {
                let ended = self.0.lock().take();
                drop(ended);
            }
            return None;
        };
        let part = |s: &SegmentView| Part { file: s.file, span: s.span.clone() };
        let parts = run.segments.iter().map(part).collect();
        let inputs = vec![Input { place: Place { level: 0, run: run.id }, parts }];
        let (to, cut) = (Place { level: 1, run: RunId(1) }, Cut::at(ByteCount::kib(32)));
        let routes = vec![Route { end: None, to, stream: 1, cut }];
        let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
        Some(Choice { plan, state: Vec::new() })
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

/// The question has the snapshots from before it. Entries that they keep are noted after it.
#[test]
fn entries_of_a_snapshot_that_ends_while_the_decider_is_asked_are_dropped() {
    runner::simulate(1, || {
        let (store, decider) = (Arc::new(MemoryStore::new()), Arc::new(EndsSnapshot::default()));
        let (memtable_size, memory) = (ByteCount::mib(1), ByteCount::mib(16));
        let options = EngineOptions { memtable_size, memory, ..EngineOptions::default() };
        let engine =
            Engine::open(store, Arc::<EndsSnapshot>::clone(&decider) as _, options).unwrap();
        let put = |value: u8| {
            let write = |number: u32| (SPACE, number.to_be_bytes().to_vec(), Some(vec![value; 50]));
            let writes: Vec<_> = (0..100).map(write).collect();
            engine.write(batch(&writes), Durability::Gathered).unwrap();
        };
        let _oldest = engine.snapshot();
        put(1);
        *decider.0.lock() = Some(engine.snapshot());
        put(2);
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        assert!(decider.0.lock().is_none(), "the snapshot has ended");
        assert_eq!(engine.verify().unwrap().entries, 100);
    });
}
