//! Random operations and power cuts while a compaction filter drops values.
//!
//! The oracle:
//! - Only values of the filtered key space that begin with [`DOOMED`] may go. With such a value go
//!   the operands that a compaction has combined with it; later operands stay.
//! - A value goes once: it does not reappear, and no older value of its key does, also after a cut.
//! - Without a filter at an opening, nothing more goes until the next one.
//! - A snapshot that begins while no compaction runs loses nothing.
//! - If there is no snapshot, `compact` drops all doomed values that were written before.
//! - A drop conflicts with no transaction.
//!
//! After a cut the store holds the result of a prefix of the writes with all synced ones. One
//! client; the jobs run at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{CrashMode, MemoryStore};
use terrace_env::{runner, test_seeds};
use terrace_lsm::{
    Bounds, Durability, Engine, EngineOptions, KeySpaceId, ReadOptions, Snapshot, Swap,
};
use terrace_policy::Compaction;

use crate::arbitrary::Arbitrary;
use crate::model::{self, Change, batch, contents};

/// The key space with a filter; the other one has none.
const FILTERED: KeySpaceId = KeySpaceId::DEFAULT;
/// First byte of values that the filter does not keep.
const DOOMED: u8 = 0xdd;
const KEYS: u8 = 60;

/// A value and the operands above it, oldest first; or operands alone. Each part is unique.
type Parts = Vec<Vec<u8>>;

/// Expected contents, but for drops.
type Expected = BTreeMap<(KeySpaceId, Vec<u8>), Parts>;

/// Values whose drop a read has seen, each with the number of parts that went.
type Gone = BTreeMap<Vec<u8>, usize>;

fn is_doomed(space: KeySpaceId, parts: &[Vec<u8>]) -> bool {
    space == FILTERED && parts.first().is_some_and(|value| value[0] == DOOMED)
}

fn apply(expected: &mut Expected, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Key((space, key, Some(value))) => {
                expected.insert((*space, key.clone()), vec![value.clone()]);
            }
            Change::Key((space, key, None)) => {
                expected.remove(&(*space, key.clone()));
            }
            Change::Merge(space, key, operand) => {
                expected.entry((*space, key.clone())).or_default().push(operand.clone());
            }
            Change::Range(space, start, end) => expected.retain(|(of, key), _| {
                of != space || key < start || end.as_ref().is_some_and(|end| key >= end)
            }),
        }
    }
}

/// Whether a read of a key may find this. Adds a drop that it shows to `gone`; `may_go`: whether
/// there may be further drops.
fn agrees(
    space: KeySpaceId,
    parts: &[Vec<u8>],
    found: Option<&[u8]>,
    gone: &mut Gone,
    may_go: bool,
) -> bool {
    let is_without = |gone: usize| {
        let rest = parts.get(gone..).unwrap_or_default();
        found == (!rest.is_empty()).then(|| rest.concat()).as_deref()
    };
    if !is_doomed(space, parts) {
        return is_without(0);
    }
    if let Some(gone) = gone.get(&parts[0]) {
        return is_without(*gone);
    }
    let seen = (0..=parts.len()).find(|gone| is_without(*gone));
    if let Some(count @ 1..) = seen {
        gone.insert(parts[0].clone(), count);
        return may_go;
    }
    seen.is_some()
}

/// The same for all keys.
fn agrees_on_all(
    expected: &Expected,
    found: &model::Contents,
    gone: &mut Gone,
    may_go: bool,
) -> bool {
    found.keys().all(|place| expected.contains_key(place))
        && expected.iter().all(|(place, parts)| {
            agrees(place.0, parts, found.get(place).map(|value| &value[..]), gone, may_go)
        })
}

/// A snapshot and its contents.
struct Kept {
    snapshot: Snapshot,
    expected: Expected,
    /// Its entries at its begin, if no compaction ran then.
    shown: Option<model::Contents>,
}

fn shown(snapshot: &Snapshot, spaces: [KeySpaceId; 2]) -> model::Contents {
    let of = |space: KeySpaceId| {
        let scan = snapshot.scan(space, &Bounds::all()).unwrap().map(Result::unwrap);
        scan.map(move |(key, value)| ((space, key.to_vec()), value.to_vec()))
    };
    spaces.into_iter().flat_map(of).collect()
}

/// Counts of a run, by which a test sees that it has tried something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Values whose drop was seen.
    gone: usize,
    /// Values with which operands went.
    combined: usize,
    /// Cuts that took writes back.
    taken_back: usize,
    /// Reads of snapshots that were to lose nothing.
    of_snapshots: usize,
}

struct Run {
    store: MemoryStore,
    engine: Engine,
    deciders: Vec<Arc<dyn Compaction>>,
    random: Random,
    spaces: [KeySpaceId; 2],
    /// Whether this opening has the filter.
    is_filtering: bool,
    now: Expected,
    durable: Expected,
    unsynced: Vec<Vec<Change>>,
    gone: Gone,
    snapshots: Vec<Kept>,
    /// Number of the last part.
    number: u64,
    tally: Tally,
}

fn open(store: &MemoryStore, decider: &Arc<dyn Compaction>, is_filtering: bool) -> Engine {
    let mut options: EngineOptions = model::options();
    if is_filtering {
        options.compaction_filters.set("default", |_, value| value[0] != DOOMED);
    }
    Engine::open(Arc::new(store.clone()), Arc::clone(decider), options).unwrap()
}

impl Run {
    fn new(seed: u64) -> Self {
        let store = model::slow_store(seed);
        let jobs = [1, 2, 4][seed as usize % 3];
        let deciders: Vec<Arc<dyn Compaction>> =
            vec![model::decider_of(jobs), Arbitrary::new(jobs)];
        let engine = open(&store, &deciders[0], true);
        let spaces = [FILTERED, engine.create_key_space("unfiltered").unwrap()];
        Self {
            store,
            engine,
            deciders,
            random: Random::seeded(seed),
            spaces,
            is_filtering: true,
            now: Expected::new(),
            durable: Expected::new(),
            unsynced: Vec::new(),
            gone: Gone::new(),
            snapshots: Vec::new(),
            number: 0,
            tally: Tally::default(),
        }
    }

    fn place(&mut self) -> (KeySpaceId, Vec<u8>) {
        let space = self.spaces[usize::from(self.random.random_ratio(1, 5))];
        (space, vec![self.random.random_range(0..KEYS)])
    }

    /// A part of a value: no other one has its first nine bytes.
    fn part(&mut self, first: u8, size: usize) -> Vec<u8> {
        self.number += 1;
        let mut part = [&[first][..], &self.number.to_le_bytes(), &vec![0; size]].concat();
        self.random.fill_bytes(&mut part[9..]);
        part
    }

    fn value(&mut self) -> Vec<u8> {
        let first = if self.random.random_bool(0.5) { DOOMED } else { b'k' };
        let size = self.random.random_range(0..200);
        self.part(first, size)
    }

    fn change(&mut self) -> Change {
        let (space, key) = self.place();
        match self.random.random_range(0..100) {
            0..50 => Change::Key((space, key, Some(self.value()))),
            50..75 => {
                let size = self.random.random_range(0..30);
                Change::Merge(space, key, self.part(b'+', size))
            }
            75..98 => Change::Key((space, key, None)),
            _ => {
                let end = key[0] + self.random.random_range(1..8);
                Change::Range(space, key, Some(vec![end]))
            }
        }
    }

    fn note(&mut self, changes: Vec<Change>, is_synced: bool) {
        apply(&mut self.now, &changes);
        self.unsynced.push(changes);
        if is_synced {
            self.synced();
        }
    }

    fn synced(&mut self) {
        self.unsynced.clear();
        self.durable.clone_from(&self.now);
    }

    fn write(&mut self) {
        let count = if self.random.random_bool(0.7) { 1 } else { self.random.random_range(2..9) };
        let changes: Vec<Change> = (0..count).map(|_| self.change()).collect();
        let is_synced = self.random.random_bool(0.1);
        let durability = if is_synced { Durability::Synced } else { Durability::Gathered };
        self.engine.write(batch(&changes), durability).unwrap();
        self.note(changes, is_synced);
    }

    /// Checks the value that a read has found.
    fn check(&mut self, (space, key): &(KeySpaceId, Vec<u8>), found: Option<&[u8]>) {
        let parts = self.now.get(&(*space, key.clone())).cloned().unwrap_or_default();
        let agrees = agrees(*space, &parts, found, &mut self.gone, self.is_filtering);
        assert!(agrees, "{space:?} {key:?}: {found:?} of {parts:?}");
    }

    fn get(&mut self) {
        let place = self.place();
        let found = self.engine.get(place.0, &place.1).unwrap();
        self.check(&place, found.as_deref());
    }

    fn check_all(&mut self) {
        let found = contents(&self.engine);
        let agrees = agrees_on_all(&self.now, &found, &mut self.gone, self.is_filtering);
        assert!(agrees, "expected {:?}, but for drops; found {found:?}", self.now);
    }

    /// A compare and swap, mostly with the value that a read has just found.
    fn swap(&mut self) {
        let place = self.place();
        let found = self.engine.get(place.0, &place.1).unwrap();
        self.check(&place, found.as_deref());
        let is_stale = self.random.random_bool(0.2);
        let expected = if is_stale { Some(self.value()) } else { found.map(|it| it.to_vec()) };
        let new = self.random.random_bool(0.8).then(|| self.value());
        let swap = self.engine.compare_and_swap(
            (place.0, &place.1),
            expected.as_deref(),
            new.as_deref(),
            ReadOptions::default(),
            Durability::Gathered,
        );
        match swap.unwrap() {
            Swap::Swapped => {
                self.check(&place, expected.as_deref());
                self.note(vec![Change::Key((place.0, place.1, new))], false);
            }
            Swap::Kept(found) => {
                assert_ne!(found.as_deref(), expected.as_deref());
                self.check(&place, found.as_deref());
            }
        }
    }

    /// A transaction that reads, writes and commits.
    fn transact(&mut self) {
        let (transaction, mut changes) = (self.engine.transaction().unwrap(), Vec::new());
        for _ in 0..self.random.random_range(1..5) {
            let place = self.place();
            let found = transaction.get(place.0, &place.1, ReadOptions::default()).unwrap();
            let mut own = self.now.clone();
            apply(&mut own, &changes);
            let parts = own.get(&place).cloned().unwrap_or_default();
            let gone = &mut self.gone;
            assert!(agrees(place.0, &parts, found.as_deref(), gone, self.is_filtering));
            let (space, key) = self.place();
            let change = if self.random.random_bool(0.5) {
                let value = self.value();
                transaction.put(space, &key, &value).unwrap();
                Change::Key((space, key, Some(value)))
            } else {
                let operand = self.part(b'+', 5);
                transaction.merge(space, &key, &operand).unwrap();
                Change::Merge(space, key, operand)
            };
            changes.push(change);
        }
        transaction.commit(Durability::Gathered).unwrap();
        self.note(changes, false);
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() > 2 {
            self.snapshots.remove(0);
        }
        let is_idle = self.random.random_bool(0.6);
        if is_idle {
            self.engine.wait_idle().unwrap();
        }
        let (snapshot, expected) = (self.engine.snapshot(), self.now.clone());
        let shown = is_idle.then(|| shown(&snapshot, self.spaces));
        self.snapshots.push(Kept { snapshot, expected, shown });
        self.check_snapshot(self.snapshots.len() - 1);
    }

    fn check_snapshot(&mut self, at: usize) {
        let Some(kept) = self.snapshots.get(at) else { return };
        let found = shown(&kept.snapshot, self.spaces);
        if let Some(shown) = &kept.shown {
            assert_eq!(&found, shown, "a snapshot loses nothing");
            self.tally.of_snapshots += 1;
        }
        let agrees = agrees_on_all(&kept.expected, &found, &mut self.gone, self.is_filtering);
        assert!(agrees, "a snapshot of {:?}, but for drops, showed {found:?}", kept.expected);
    }

    fn compact(&mut self) {
        if self.random.random_bool(0.5) {
            let (space, key) = self.place();
            let end = vec![key[0] + 10];
            return self.engine.compact(space, &Bounds::from(key..end)).unwrap();
        }
        self.engine.compact(FILTERED, &Bounds::all()).unwrap();
        self.check_all();
        if self.snapshots.is_empty() && self.is_filtering {
            let doomed = self.now.iter().filter(|((space, _), parts)| is_doomed(*space, parts));
            for (place, parts) in doomed {
                assert!(self.gone.contains_key(&parts[0]), "{place:?} is still there");
            }
        }
    }

    /// A power cut or a clean end, and another opening, mostly with the filter.
    fn reopen(&mut self) {
        self.snapshots.clear();
        let mode = match self.random.random_range(0..4) {
            0 => {
                self.engine.close().unwrap();
                self.synced();
                CrashMode::DropUnsynced
            }
            1 => CrashMode::DropUnsynced,
            2 => CrashMode::KeepUnsynced,
            _ => CrashMode::TearUnsynced,
        };
        // The old engine keeps its own store and ends there.
        self.store = model::slowed(self.store.crash(mode, &mut self.random), self.random.random());
        self.deciders.rotate_left(1);
        self.is_filtering = self.random.random_bool(0.7);
        self.engine = open(&self.store, &self.deciders[0], self.is_filtering);
        self.recovered();
    }

    /// Finds the prefix of the writes that the store holds, and goes on from there.
    fn recovered(&mut self) {
        let found = contents(&self.engine);
        let (mut state, mut kept) = (self.durable.clone(), 0);
        loop {
            let mut gone = self.gone.clone();
            if agrees_on_all(&state, &found, &mut gone, true) {
                self.gone = gone;
                break;
            }
            let writes = self.unsynced.get(kept);
            apply(&mut state, writes.expect("a prefix of the writes"));
            kept += 1;
        }
        self.tally.taken_back += usize::from(kept < self.unsynced.len());
        (self.durable, self.now) = (state.clone(), state);
        self.unsynced.clear();
    }

    fn step(&mut self) {
        match self.random.random_range(0..1000) {
            0..700 => self.write(),
            700..850 => self.get(),
            850..880 => self.swap(),
            880..910 => self.transact(),
            910..920 => self.check_all(),
            920..930 => self.take_snapshot(),
            930..955 => {
                let at = self.random.random_range(0..3);
                self.check_snapshot(at);
            }
            955..970 => self.snapshots.clear(),
            970..978 => self.engine.flush().unwrap(),
            978..985 => self.compact(),
            985..988 => self.engine.wait_idle().unwrap(),
            988..991 => {
                self.engine.sync().unwrap();
                self.synced();
            }
            991..995 => self.reopen(),
            _ => runner::yield_now(),
        }
    }
}

/// A run from a seed.
pub(crate) fn filtered(seed: u64) -> Tally {
    runner::simulate(seed, || {
        let mut run = Run::new(seed);
        for _ in 0..2500 {
            run.step();
        }
        run.check_all();
        run.engine.verify().unwrap();
        let combined = run.gone.values().filter(|count| **count > 1).count();
        Tally { gone: run.gone.len(), combined, ..run.tally }
    })
}

#[test]
fn doomed_values_go_for_good_and_nothing_else_goes() {
    let mut sum = Tally::default();
    for seed in test_seeds(12) {
        let tally = filtered(seed);
        sum.gone += tally.gone;
        sum.combined += tally.combined;
        sum.taken_back += tally.taken_back;
        sum.of_snapshots += tally.of_snapshots;
    }
    let least = sum.gone.min(sum.combined).min(sum.taken_back).min(sum.of_snapshots);
    assert!(least > 10, "{sum:?}");
}
