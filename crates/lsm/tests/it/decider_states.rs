//! The state of a decider: a question to it has the state of the last choice that was carried out,
//! also after trivial moves that are one commit, and after an opening. The decider here numbers its
//! choices, and has the number in its state. A merge that ends before all of it is merged leaves
//! the state as it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::MemoryStore;
use terrace_env::{runner, test_seeds};
use terrace_lsm::{Durability, Engine, EngineOptions, KeySpaceId, Stats};
use terrace_policy::{
    ByteCount, Choice, Compaction, Leveled, LeveledOptions, Plan, Pressure, Span, TreeView, Urgency,
};

use crate::model::{self, batch};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A decider that numbers the choices of another one.
#[derive(Debug)]
struct Numbering {
    of: Leveled,
    /// The number of the last choice.
    last: AtomicU64,
    moves: AtomicU64,
    /// Number of questions with the state of the choice before the last one.
    earlier: AtomicU64,
}

impl Numbering {
    fn of(options: LeveledOptions) -> Arc<Self> {
        let (last, moves, earlier) = Default::default();
        Arc::new(Self { of: Leveled::new(options), last, moves, earlier })
    }

    fn number(&self, state: &[u8], choose: impl FnOnce(&[u8]) -> Option<Choice>) -> Option<Choice> {
        let (number, state) = state.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        let (number, last) = (u64::from_le_bytes(*number), self.last.load(Ordering::Relaxed));
        // After moves the decider is asked for more of them, and its answer may be something else.
        assert!(number == last || number + 1 == last, "the state of {number}, {last} was the last");
        self.earlier.fetch_add(u64::from(number < last), Ordering::Relaxed);
        let choice = choose(state)?;
        self.last.store(last + 1, Ordering::Relaxed);
        let is_move = matches!(choice.plan, Plan::TrivialMove(_));
        self.moves.fetch_add(u64::from(is_move), Ordering::Relaxed);
        let state = [&(last + 1).to_le_bytes()[..], &choice.state].concat();
        Some(Choice { state, ..choice })
    }
}

impl Compaction for Numbering {
    fn name(&self) -> &'static str {
        "numbering"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        self.number(state, |state| self.of.pick(tree, state, urgency))
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        self.number(state, |state| self.of.manual_compaction(tree, state, span))
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.of.pressure(tree)
    }
}

/// Writes keys in order or at random, in several openings; returns the numbers of choices and of
/// moves among them.
fn numbered(seed: u64) -> (u64, u64) {
    let decider = Numbering::of(model::leveled());
    let (store, mut random) = (model::slow_store(seed), Random::seeded(seed));
    let in_order = random.random_bool(0.5);
    for opening in 0..3_u32 {
        let engine = open(&store, &decider);
        for number in opening * 1000..opening * 1000 + 1000 {
            let key = if in_order { number } else { random.random_range(0..2000) };
            let write = (SPACE, key.to_be_bytes().to_vec(), Some(vec![1; 50]));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
        }
        if random.random() {
            engine.compact_all().unwrap();
        }
        if random.random() {
            engine.flush().unwrap();
            engine.wait_idle().unwrap();
        }
    }
    open(&store, &decider).wait_idle().unwrap();
    (decider.last.load(Ordering::Relaxed), decider.moves.load(Ordering::Relaxed))
}

fn open(store: &MemoryStore, decider: &Arc<Numbering>) -> Engine {
    let decider: Arc<dyn Compaction> = Arc::<Numbering>::clone(decider);
    model::open_under(store, decider)
}

#[test]
fn a_decider_is_asked_with_the_state_of_the_last_choice_that_was_carried_out() {
    let (mut choices, mut moves) = (0, 0);
    for seed in test_seeds(12) {
        let (of_run, moves_of_run) = runner::simulate(seed, || numbered(seed));
        (choices, moves) = (choices + of_run, moves + moves_of_run);
    }
    assert!(choices > 500 && moves > 200, "{choices} choices, {moves} moves");
}

/// A merge at rest that has committed a part of its subcompactions: all tables of level 0 are to be
/// merged with all of level 1. Returns the number of merges before it, too.
fn merge_at_rest(decider: &Arc<Numbering>) -> (Engine, u64) {
    let (memtable_size, memory) = (ByteCount::mib(1), ByteCount::mib(16));
    let options =
        EngineOptions { compact_at_rest: true, memtable_size, memory, ..model::options() };
    let (store, decider) = (Arc::new(model::slow_store(1)), Arc::<Numbering>::clone(decider));
    let engine = Engine::open(store, decider, options).unwrap();
    let (mut random, mut before) = (Random::seeded(1), Stats::default());
    for _ in 0..2 {
        engine.wait_idle().unwrap();
        before = engine.stats();
        for number in 0..4000_u32 {
            let mut value = vec![0; 100];
            random.fill_bytes(&mut value);
            let write = (SPACE, number.to_be_bytes().to_vec(), Some(value));
            engine.write(batch(&[write]), Durability::Gathered).unwrap();
        }
        engine.flush().unwrap();
    }
    while engine.stats().compaction_steps == before.compaction_steps {
        runner::sleep(Duration::from_micros(100));
    }
    (engine, before.compactions)
}

fn leveled() -> LeveledOptions {
    LeveledOptions { level1_size: ByteCount::mib(8), ..model::leveled() }
}

/// Tables in level 0.
fn upper(stats: &Stats) -> u64 {
    stats.levels.first().map_or(0, |level| level.segments)
}

#[test]
fn a_merge_at_rest_gives_way_to_writers_and_leaves_the_state_as_it_was() {
    runner::simulate(1, || {
        let decider = Numbering::of(leveled());
        let (engine, merges) = merge_at_rest(&decider);
        let before = engine.stats();
        assert!(upper(&before) > 5 && before.compactions == merges, "{before:?}");
        engine.write(batch(&[(SPACE, vec![0], None)]), Durability::Gathered).unwrap();
        while !engine.stats().jobs.is_empty() {
            runner::sleep(Duration::from_micros(100));
        }
        let after = engine.stats();
        let left = upper(&after);
        assert!(left > 0 && after.compactions == merges + 1, "{left} tables are left: {after:?}");
        let earlier = decider.earlier.load(Ordering::Relaxed);
        engine.wait_idle().unwrap();
        assert!(decider.earlier.load(Ordering::Relaxed) > earlier, "the plan was not carried out");
        assert_eq!(upper(&engine.stats()), 0);
    });
}

#[test]
fn a_merge_that_a_close_ends_counts_if_a_part_of_it_was_committed() {
    runner::simulate(1, || {
        let (engine, merges) = merge_at_rest(&Numbering::of(leveled()));
        engine.close().unwrap();
        let stats = engine.stats();
        assert!(upper(&stats) > 0 && stats.compactions == merges + 1, "{stats:?}");
    });
}
