//! Histories of transactions by several clients at once: on threads, in explored schedules, and up
//! to a power cut. Each must be serializable, in an order that agrees with real time.
//!
//! The value under a key is a list. A transaction reads some keys, by gets or by a scan, and
//! appends its number to some of the lists that it has read. So the lists show in which order
//! transactions have written. The reads of a transaction show which of them it has seen. The check
//! builds the graph of "came before" and looks for a cycle:
//!
//! | edge | because |
//! |---|---|
//! | from a writer to the next one of the same list | the list's order |
//! | from a writer to a reader whose list ends with it | the reader has seen it |
//! | from a reader to the writer that comes next in the list | the reader has not seen it |
//! | from one to another that began after its end | real time |
//!
//! The appends to one list are also a counter: each number comes once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::random::{Random, Rng};
use terrace_env::runner::{self, JoinHandle, SimulationOptions};
use terrace_env::store::{CrashMode, MemoryStore};
use terrace_env::sync::{Mutex, switch_point};
use terrace_env::test_seeds;
use terrace_lsm::{Bounds, Durability, Engine, Error, KeySpaceId, ReadOptions, Swap};

use crate::model::{self, open, open_with};

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const KEYS: u8 = 6;
const CLIENTS: u64 = 4;

type List = Vec<u64>;
type Lists = BTreeMap<u8, List>;

fn list(value: Option<&[u8]>) -> List {
    let numbers = value.unwrap_or_default().chunks_exact(8);
    numbers.map(|number| u64::from_le_bytes(*number.first_chunk().unwrap())).collect()
}

/// A transaction that was or may have been committed.
#[derive(Clone, Debug)]
struct Done {
    number: u64,
    reads: Lists,
    appends: BTreeSet<u8>,
    /// Times of its begin and end, by a clock that all clients share.
    time: Range<u64>,
    /// Whether its commit has returned, and is durable.
    acked: bool,
}

/// State that all clients share.
struct World {
    engine: Engine,
    clock: AtomicU64,
    history: Mutex<BTreeMap<u64, Done>>,
    conflicts: AtomicU64,
}

impl World {
    fn new(engine: Engine) -> Arc<Self> {
        let (clock, conflicts) = (AtomicU64::new(1), AtomicU64::new(0));
        Arc::new(Self { engine, clock, history: Mutex::default(), conflicts })
    }

    /// Checks all transactions so far.
    fn check(&self) {
        let lists = lists(&self.engine);
        check(&self.history.lock(), &lists).unwrap();
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// One transaction, from its begin to its end.
    fn transact(&self, random: &mut Random) {
        let begun = self.tick();
        let transaction = self.engine.transaction().unwrap();
        let (mut reads, options) = (Lists::new(), ReadOptions::default());
        for _ in 0..random.random_range(1..3) {
            if random.random_bool(0.3) {
                let start = random.random_range(0..KEYS);
                let keys = start..random.random_range(start..=KEYS);
                keys.clone().for_each(|key| drop(reads.insert(key, List::new())));
                let bounds = Bounds::from([keys.start].as_slice()..&[keys.end]);
                for entry in transaction.scan(SPACE, &bounds).unwrap() {
                    let (key, value) = entry.unwrap();
                    reads.insert(key[0], list(Some(&value)));
                    switch_point();
                }
                continue;
            }
            let key = random.random_range(0..KEYS);
            let found = transaction.get(SPACE, &[key], options).unwrap();
            reads.insert(key, list(found.as_deref()));
            switch_point();
        }
        let mut appends = BTreeSet::new();
        for (key, read) in &reads {
            if random.random_bool(0.5) {
                let all = read.iter().chain(Some(&begun));
                let value: Vec<u8> = all.flat_map(|number| number.to_le_bytes()).collect();
                transaction.put(SPACE, &[*key], &value).unwrap();
                appends.insert(*key);
            }
        }
        let time = begun..u64::MAX;
        let done = Done { number: begun, reads, appends, time, acked: false };
        self.history.lock().insert(begun, done);
        let result = transaction.commit(Durability::Synced);
        switch_point();
        let mut history = self.history.lock();
        match result {
            Ok(()) => {
                let done = history.get_mut(&begun).unwrap();
                (done.time.end, done.acked) = (self.tick(), true);
            }
            Err(Error::Conflict(_)) => {
                history.remove(&begun);
                self.conflicts.fetch_add(1, Ordering::Relaxed);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

fn lists(engine: &Engine) -> Lists {
    let entries = engine.scan(SPACE, &Bounds::all()).unwrap().map(Result::unwrap);
    entries.map(|(key, value)| (key[0], list(Some(&value)))).collect()
}

/// Whether the graph of these edges has no cycle: all can be taken away, each after all before it.
fn is_acyclic(edges: &BTreeMap<u64, BTreeSet<u64>>) -> bool {
    let mut before: BTreeMap<u64, usize> = edges.keys().map(|number| (*number, 0)).collect();
    edges.values().flatten().for_each(|to| *before.entry(*to).or_default() += 1);
    let mut free: Vec<u64> =
        before.iter().filter(|(_, count)| **count == 0).map(|(number, _)| *number).collect();
    let mut taken = 0;
    while let Some(number) = free.pop() {
        taken += 1;
        for to in edges.get(&number).into_iter().flatten() {
            let count = before.get_mut(to).unwrap();
            *count -= 1;
            if *count == 0 {
                free.push(*to);
            }
        }
    }
    taken == before.len()
}

/// Checks the transactions against these lists. Of transactions that were not acknowledged, and of
/// those that only read, it takes the ones that are in the lists, or that fit them.
fn check(history: &BTreeMap<u64, Done>, lists: &Lists) -> Result<(), String> {
    let none = List::new();
    let list = |key: &u8| lists.get(key).unwrap_or(&none);
    let seen: BTreeSet<u64> = lists.values().flatten().copied().collect();
    let mut edges: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut add = |from: u64, to: u64| {
        edges.entry(to).or_default();
        edges.entry(from).or_default().extend(Some(to).filter(|to| *to != from));
    };
    for (key, list) in lists {
        list.windows(2).for_each(|pair| add(pair[0], pair[1]));
        for number in list {
            let done = history.get(number).ok_or(format!("{number} was never written"))?;
            if !done.appends.contains(key) || list.iter().filter(|one| *one == number).count() > 1 {
                return Err(format!("{number} is in {key}: {list:?}"));
            }
        }
    }
    let mut there = Vec::new();
    for done in history.values() {
        let number = done.number;
        if !done.appends.is_empty() && !seen.contains(&number) {
            if done.acked {
                return Err(format!("{done:?} is lost"));
            }
            continue;
        }
        let is_prefix = |(key, read): (&u8, &List)| list(key).starts_with(read);
        if done.appends.is_empty() && !done.reads.iter().all(is_prefix) {
            // It has read writes that a power cut took back.
            continue;
        }
        there.push(done);
        if let Some(key) = done.appends.iter().find(|key| !list(key).contains(&number)) {
            return Err(format!("{done:?} is not in {key}: a transaction in part"));
        }
        for (key, read) in &done.reads {
            if !list(key).starts_with(read) {
                return Err(format!("{done:?} has read what was not there: {:?}", list(key)));
            }
            read.last().into_iter().for_each(|last| add(*last, number));
            list(key).get(read.len()).into_iter().for_each(|next| add(number, *next));
        }
    }
    for one in &there {
        let later = there.iter().filter(|other| one.time.end < other.time.start);
        later.for_each(|other| add(one.number, other.number));
    }
    if is_acyclic(&edges) { Ok(()) } else { Err(format!("a cycle: {lists:?} {history:?}")) }
}

fn clients(world: &Arc<World>, transactions: u64, random: &mut Random) -> Vec<JoinHandle<()>> {
    let client = |_| {
        let (world, mut random) = (Arc::clone(world), random.fork());
        runner::spawn("client", move || {
            for _ in 0..transactions {
                world.transact(&mut random);
            }
        })
    };
    (0..CLIENTS).map(client).collect()
}

/// One history in an explored schedule; returns the number of conflicts.
pub(crate) fn explore(seed: u64) -> u64 {
    SimulationOptions::seeded(seed).explore().run(|| {
        let mut random = Random::seeded(seed);
        let store =
            if seed.is_multiple_of(2) { MemoryStore::new() } else { model::slow_store(seed) };
        let world = World::new(open(&store));
        let actors = clients(&world, 25, &mut random);
        actors.into_iter().for_each(JoinHandle::join);
        world.check();
        world.conflicts.load(Ordering::Relaxed)
    })
}

#[test]
fn transactions_are_serializable_under_any_schedule() {
    let conflicts: u64 = test_seeds(150).map(explore).sum();
    println!("{conflicts} conflicts");
    assert!(conflicts > 10 * test_seeds(150).count() as u64, "{conflicts} conflicts");
}

#[test]
fn transactions_are_serializable_on_threads() {
    for seed in test_seeds(4) {
        let world = World::new(open_with(&MemoryStore::new(), 2));
        let actors = clients(&world, 150, &mut Random::seeded(seed));
        actors.into_iter().for_each(JoinHandle::join);
        world.check();
    }
}

#[test]
fn a_power_cut_leaves_a_serializable_history_with_all_that_was_acknowledged() {
    let (mut cut_off, mut left) = (0, 0);
    for seed in test_seeds(150) {
        runner::simulate(seed, || {
            let mut random = Random::seeded(seed);
            let store = model::slow_store(seed);
            let world = World::new(open(&store));
            let actors = clients(&world, 40, &mut random);
            runner::sleep(std::time::Duration::from_micros(random.random_range(0..12_000)));
            let history = world.history.lock().clone();
            let mode = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced, CrashMode::TearUnsynced]
                [random.random_range(0..3)];
            let survivor = open(&store.crash(mode, &mut random));
            check(&history, &lists(&survivor)).unwrap();
            cut_off += history.values().filter(|done| !done.acked).count();
            left += history.values().filter(|done| done.acked).count();
            actors.into_iter().for_each(JoinHandle::join);
            world.check();
        });
    }
    println!("{cut_off} cut off, {left} left");
    assert!(cut_off > 100 && left > 1000, "{cut_off} cut off, {left} left");
}

/// Increments by compare and swap: the value is the number of successful ones, and each value was
/// written by one of them.
fn count(engine: &Engine, increments: u64) -> u64 {
    let (mut swapped, mut expected) = (0, None::<u64>);
    while swapped < increments {
        let before = expected.map(u64::to_le_bytes);
        let next = (expected.unwrap_or_default() + 1).to_le_bytes();
        let before = before.as_ref().map(<[u8; 8]>::as_slice);
        let swap = engine.compare_and_swap(
            (SPACE, b"counter"),
            before,
            Some(&next),
            ReadOptions::default(),
            Durability::Gathered,
        );
        match swap.unwrap() {
            Swap::Swapped => {
                swapped += 1;
                expected = Some(u64::from_le_bytes(next));
            }
            Swap::Kept(found) => {
                let found = list(found.as_deref()).first().copied();
                assert!(found > expected, "{found:?} after {expected:?}");
                expected = found;
            }
        }
        switch_point();
    }
    swapped
}

fn count_together(engine: Engine, clients: u64, increments: u64) {
    let engine = Arc::new(engine);
    let actors: Vec<_> = (0..clients)
        .map(|_| {
            let engine = Arc::clone(&engine);
            runner::spawn("client", move || count(&engine, increments))
        })
        .collect();
    let sum: u64 = actors.into_iter().map(JoinHandle::join).sum();
    assert_eq!(sum, clients * increments);
    let value = engine.get(SPACE, b"counter").unwrap();
    assert_eq!(list(value.as_deref()), [sum]);
}

#[test]
fn a_counter_by_compare_and_swap_loses_no_increment() {
    count_together(open_with(&MemoryStore::new(), 2), 4, 500);
    for seed in test_seeds(60) {
        SimulationOptions::seeded(seed).explore().run(|| {
            count_together(open(&model::slow_store(seed)), 3, 25);
        });
    }
}

#[test]
fn the_check_finds_what_is_not_serializable() {
    let done = |number: u64, reads: &[(u8, &[u64])], appends: &[u8]| Done {
        number,
        reads: reads.iter().map(|(key, list)| (*key, list.to_vec())).collect(),
        appends: appends.iter().copied().collect(),
        time: 0..u64::MAX,
        acked: true,
    };
    let checked = |history: Vec<Done>, lists: &[(u8, &[u64])]| {
        let history = history.into_iter().map(|done| (done.number, done)).collect();
        check(&history, &lists.iter().map(|(key, list)| (*key, list.to_vec())).collect())
    };
    let one = done(1, &[(0, &[]), (1, &[])], &[0]);
    // Each has read a list that the other writes, and neither has seen the other.
    let skewed = done(2, &[(0, &[]), (1, &[])], &[1]);
    let lists: [(u8, &[u64]); 2] = [(0, &[1]), (1, &[2])];
    assert!(checked(vec![one.clone(), skewed], &lists).unwrap_err().contains("a cycle"));
    let later = done(2, &[(0, &[1]), (1, &[])], &[1]);
    checked(vec![one.clone(), later.clone()], &lists).unwrap();
    assert!(checked(vec![one.clone(), later], &[(0, &[1])]).unwrap_err().contains("is lost"));
    let in_part = done(2, &[(0, &[1]), (1, &[])], &[0, 1]);
    assert!(checked(vec![one.clone(), in_part], &lists).unwrap_err().contains("in part"));
    let stale = Done { time: 8..9, ..done(2, &[(0, &[])], &[]) };
    let one = Done { time: 1..2, ..one };
    assert!(checked(vec![one, stale], &[(0, &[1])]).unwrap_err().contains("a cycle"));
}
