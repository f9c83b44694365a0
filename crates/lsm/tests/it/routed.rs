//! A decider of one plan, for tests of the places and the ends of tables: once level 0 has [`RUNS`]
//! runs, it merges everything along the test's routes, except for tables that the test lets stay.
//! It sends flushes to the test's place.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::random::{Random, RngCore};
use terrace_env::store::MemoryStore;
use terrace_env::sync::Mutex;
use terrace_lsm::{Compression, Durability, Engine, EngineOptions, KeySpaceId, TableOptions};
use terrace_policy::{
    Choice, Compaction, FlushRoute, Input, Key, Merge, Part, Place, Plan, Pressure, Route, RunId,
    SegmentView, Span, TreeView, Urgency,
};

use crate::model::{Change, Model, batch};

pub(crate) const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
/// Flushed runs that are merged.
pub(crate) const RUNS: usize = 3;

pub(crate) fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// A user key as deciders see it.
pub(crate) fn full_key(number: u32) -> Key {
    [SPACE.0.to_be_bytes(), number.to_be_bytes()].concat().into()
}

pub(crate) fn to(level: u8) -> Place {
    Place { level, run: RunId(1) }
}

/// A decider that merges everything along these routes, once level 0 has enough runs.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) routes: Mutex<Vec<Route>>,
    /// Range of keys whose tables below level 0 stay in place.
    pub(crate) stays: Mutex<Option<Span>>,
    /// Routes of flushes.
    pub(crate) flush: Mutex<Vec<FlushRoute>>,
    /// The tree when nothing was due.
    last: Mutex<TreeView>,
}

impl Routed {
    pub(crate) fn new(routes: Vec<Route>) -> Arc<Self> {
        Arc::new(Self {
            routes: Mutex::new(routes),
            stays: Mutex::new(None),
            flush: Mutex::new(FlushRoute::all_to(None)),
            last: Mutex::default(),
        })
    }

    /// The tables of a place.
    pub(crate) fn tables(&self, place: Place) -> Vec<SegmentView> {
        let tree = self.last.lock();
        let runs = tree.runs(usize::from(place.level)).iter().filter(|run| run.id == place.run);
        runs.flat_map(|run| run.segments.iter().cloned().collect::<Vec<_>>()).collect()
    }
}

impl Compaction for Routed {
    fn name(&self) -> &'static str {
        "routed"
    }

    fn pick(&self, tree: &TreeView, _: &[u8], _: Urgency) -> Option<Choice> {
        if tree.runs(0).len() < RUNS {
            *self.last.lock() = tree.clone();
            return None;
        }
        let part = |s: &SegmentView| Part { file: s.file, span: s.span.clone() };
        let stays = self.stays.lock().clone();
        let goes = |level: u8, s: &SegmentView| {
            level == 0 || stays.as_ref().is_none_or(|stays| !s.span.overlaps(stays))
        };
        let mut inputs = Vec::new();
        for (level, number) in tree.levels.iter().zip(0..) {
            inputs.extend(level.runs.iter().map(|run| Input {
                place: Place { level: number, run: run.id },
                parts: run.segments.iter().filter(|s| goes(number, s)).map(part).collect(),
            }));
        }
        inputs.retain(|input| !input.parts.is_empty());
        let routes = self.routes.lock().clone();
        let merge = Merge { inputs, routes, moves: Vec::new(), set: false };
        Some(Choice { plan: Plan::Merge(merge), state: Vec::new() })
    }

    fn flush_routes(&self, _: &TreeView, _: &Span) -> Vec<FlushRoute> {
        self.flush.lock().clone()
    }

    fn flush_routes_max(&self) -> usize {
        self.flush.lock().len()
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

/// Memory for eight tables at once, and one subcompaction for every merge of some ten tables.
pub(crate) fn options() -> EngineOptions {
    EngineOptions {
        memtable_size: ByteCount::mib(4),
        table_size: ByteCount::mib(8),
        tables: TableOptions {
            block_size: Some(ByteCount(512)),
            compression: Some(Compression::None.into()),
            ..TableOptions::default()
        },
        memory: ByteCount::mib(64),
        io_size: ByteCount::kib(64),
        workers: 1,
        ..EngineOptions::default()
    }
}

pub(crate) fn open(decider: &Arc<Routed>, options: EngineOptions) -> Engine {
    let decider = Arc::clone(decider) as Arc<dyn Compaction>;
    Engine::open(Arc::new(MemoryStore::new()), decider, options).unwrap()
}

pub(crate) fn write(engine: &Engine, model: &mut Model, changes: Vec<Change>) {
    engine.write(batch(&changes), Durability::Synced).unwrap();
    model.write(changes);
}

pub(crate) fn put(random: &mut Random, number: u32, size: usize) -> Change {
    let mut value = vec![0; size];
    random.fill_bytes(&mut value);
    Change::Key((SPACE, key(number), Some(value)))
}
