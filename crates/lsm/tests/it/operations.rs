//! Random operations of every kind against the model: batches of puts, deletes and range deletes,
//! puts that expire, operands, compare and swap, transactions, reads, scans, cursors and snapshots,
//! flushes and compactions, key spaces that come and go, days that pass, power cuts and new
//! openings. One client; the jobs run at the same time. Keys are few, so that most of them are
//! overwritten often.
//!
//! Other suites use [`Run`], with their own deciders and numbers of jobs. Writes that go to no log
//! and ingests are not among the operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::store::{CrashMode, MemoryStore};
use terrace_env::{runner, test_seeds};
use terrace_lsm::{Bounds, Durability, Engine, KeySpaceId, ReadOptions, Snapshot, Swap};
use terrace_policy::Compaction;

use crate::model::{self, Change, Contents, Model, Write, batch, contents, open_under};
use crate::walks::{Held, Walk, check_both_ends};

const KEYS: u64 = 150;

/// Some keys are prefixes of each other, and one is empty.
fn key_of(number: u64) -> Vec<u8> {
    format!("{number:b}").repeat((number % 3) as usize).into_bytes()
}

/// A run of random operations.
pub(crate) struct Run {
    pub(crate) store: MemoryStore,
    pub(crate) engine: Engine,
    pub(crate) model: Model,
    random: Random,
    /// The share of range deletes among the writes.
    ranges: f64,
    /// The share of values that expire among the puts.
    expiring: f64,
    /// The share of operands among the writes.
    pub(crate) merging: f64,
    spaces: Vec<KeySpaceId>,
    snapshots: Vec<(Snapshot, Contents)>,
    /// Cursors that stay open during all operations.
    walks: Vec<Walk>,
    deciders: Vec<Arc<dyn Compaction>>,
}

impl Run {
    pub(crate) fn new(seed: u64) -> Self {
        Self::under(seed, vec![model::decider()])
    }

    /// A run under one of these deciders at a time; each start takes another one.
    pub(crate) fn under(seed: u64, deciders: Vec<Arc<dyn Compaction>>) -> Self {
        let store = model::slow_store(seed);
        let engine = open_under(&store, Arc::clone(&deciders[0]));
        let spaces = vec![KeySpaceId::DEFAULT, engine.create_key_space("users").unwrap()];
        let mut random = Random::seeded(seed);
        let ranges = [0.0, 0.002, 0.02, 0.1, 0.4][random.random_range(0..5)];
        let expiring = [0.0, 0.05, 0.3, 0.9][random.random_range(0..4)];
        let merging = [0.0, 0.05, 0.3, 0.9][random.random_range(0..4)];
        if runner::is_simulated() {
            model::begin_dates();
        }
        Self {
            store,
            engine,
            model: Model::default(),
            random,
            ranges,
            expiring,
            merging,
            spaces,
            snapshots: Vec::new(),
            walks: Vec::new(),
            deciders,
        }
    }

    fn key(&mut self) -> (KeySpaceId, Vec<u8>) {
        let space = self.spaces[self.random.random_range(0..self.spaces.len())];
        let number = self.random.random_range(0..KEYS);
        (space, key_of(number))
    }

    fn change(&mut self) -> Change {
        if self.random.random_bool(self.merging) {
            let (space, key) = self.key();
            return Change::Merge(space, key, model::operand(&mut self.random));
        }
        if !self.random.random_bool(self.ranges) {
            return Change::Key(self.write());
        }
        let (space, key) = self.key();
        match self.random.random_range(0..20) {
            0 => Change::Range(space, key, None),
            1..6 => Change::Range(space, key, Some(self.key().1)),
            // Mostly a few keys: so keys that are never deleted are compacted, too.
            _ => {
                let mut end = key.clone();
                end.truncate(self.random.random_range(0..=key.len()));
                end.push(self.random.random_range(b'0'..=b'2'));
                Change::Range(space, key, Some(end))
            }
        }
    }

    fn write(&mut self) -> Write {
        let (space, key) = self.key();
        if self.random.random_bool(0.3) {
            return (space, key, None);
        }
        if self.random.random_bool(self.expiring) {
            return (space, key, Some(model::expiring_value(&mut self.random)));
        }
        let size = match self.random.random_range(0..20) {
            0 => 0,
            1 => self.random.random_range(1000..5000),
            _ => self.random.random_range(1..200),
        };
        let mut value = vec![b'x'; size];
        if self.random.random_bool(0.5) {
            self.random.fill_bytes(&mut value);
        }
        (space, key, Some(value))
    }

    pub(crate) fn write_some(&mut self) {
        let count = if self.random.random_bool(0.7) { 1 } else { self.random.random_range(0..20) };
        let writes: Vec<Change> = (0..count).map(|_| self.change()).collect();
        let synced = self.random.random_bool(0.2);
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        self.engine.write(batch(&writes), durability).unwrap();
        self.model.write(writes);
        if synced {
            self.model.synced();
        }
    }

    /// A compare and swap, mostly with the current value.
    fn swap_one(&mut self) {
        let (space, key, new) = self.write();
        let there = self.model.now.get(&(space, key.clone())).cloned();
        let expected = if self.random.random_bool(0.8) { there.clone() } else { self.write().2 };
        let (engine, place, expected_now) = (&self.engine, (space, &key[..]), expected.as_deref());
        let (options, durability) = (ReadOptions::default(), Durability::Gathered);
        let expiry = new.as_deref().and_then(model::expiry_of);
        let swap = match (new.as_deref(), expiry) {
            (Some(new), Some(expiry)) => {
                let new = (new, expiry);
                engine.compare_and_swap_with_expiry(place, expected_now, new, options, durability)
            }
            (new, _) => engine.compare_and_swap(place, expected_now, new, options, durability),
        };
        match swap.unwrap() {
            Swap::Kept(found) => {
                assert_ne!(there, expected);
                assert_eq!(found.as_deref(), there.as_deref());
            }
            Swap::Swapped => {
                assert_eq!(there, expected);
                self.model.write(vec![(space, key, new)]);
            }
        }
    }

    /// A transaction without concurrent writes.
    fn transact(&mut self) {
        let (transaction, mut changes) = (self.engine.transaction().unwrap(), Vec::new());
        let mut own = self.model.clone();
        for _ in 0..self.random.random_range(0..6) {
            let (space, key) = self.key();
            let there = self.model.now.get(&(space, key.clone()));
            let found = transaction.snapshot().get(space, &key).unwrap();
            assert_eq!(found.as_deref(), there.map(|value| &value[..]));
            let change = self.change();
            match &change {
                Change::Key((space, key, Some(value))) => match model::expiry_of(value) {
                    Some(expiry) => transaction.put_with_expiry(*space, key, value, expiry),
                    None => transaction.put(*space, key, value),
                },
                Change::Key((space, key, None)) => transaction.delete(*space, key),
                Change::Merge(space, key, operand) => transaction.merge(*space, key, operand),
                Change::Range(space, start, end) => {
                    let bounds = Bounds::starting_at(start);
                    let bounds = end.iter().fold(bounds, |bounds, end| bounds.until(end));
                    transaction.delete_range(*space, &bounds)
                }
            }
            .unwrap();
            own.write(vec![change.clone()]);
            changes.push(change);
            let found = transaction.get(space, &key, ReadOptions::default()).unwrap();
            let expected = own.now.get(&(space, key.clone()));
            assert_eq!(found.as_deref(), expected.map(|value| &value[..]));
            let there = transaction.contains(space, &key, ReadOptions::default()).unwrap();
            assert_eq!(there, expected.is_some());
            if self.random.random_bool(0.2) {
                let (space, bounds, held) = self.range(Some(&own.now));
                let scan = transaction.scan(space, &bounds).unwrap().map(Result::unwrap);
                let found: Held = scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
                assert_eq!(found, held);
            }
        }
        if self.random.random_bool(0.9) {
            transaction.commit(Durability::Gathered).unwrap();
            self.model.write(changes);
        }
    }

    fn check_get(&mut self) {
        let (space, key) = self.key();
        let found = self.engine.get(space, &key).unwrap();
        let expected = self.model.now.get(&(space, key));
        assert_eq!(found.as_deref(), expected.map(|value| &value[..]));
    }

    /// A random range, and its entries in `contents`.
    fn range(&mut self, contents: Option<&Contents>) -> (KeySpaceId, Bounds, Held) {
        let (space, key) = self.key();
        let (_, other) = self.key();
        type Inside = fn(&[u8], &[u8], &[u8]) -> bool;
        let (bounds, inside): (Bounds, Inside) = match self.random.random_range(0..4) {
            0 => (Bounds::all(), |_, _, _| true),
            1 => (Bounds::prefix(&key), |k, from, _| k.starts_with(from)),
            2 => (Bounds::starting_at(&key).until(&other), |k, from, to| from <= k && k < to),
            _ => (Bounds::from(key.clone()..=other.clone()), |k, from, to| from <= k && k <= to),
        };
        let held = contents.unwrap_or(&self.model.now).iter();
        let held = held
            .filter(|((of, k), _)| *of == space && inside(k, &key, &other))
            .map(|((_, k), value)| (k.clone(), value.clone()))
            .collect();
        (space, bounds, held)
    }

    fn check_range(&mut self) {
        let (space, bounds, held) = self.range(None);
        let scan = self.engine.scan(space, &bounds).unwrap().map(Result::unwrap);
        let found: Vec<_> = scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        let expected: Vec<_> = held.clone().into_iter().collect();
        assert_eq!(found, expected, "{bounds:?}");
        let is_empty = self.engine.is_empty(space, &bounds).unwrap();
        assert_eq!(is_empty, expected.is_empty(), "{bounds:?}");
        let scan = self.engine.scan(space, &bounds).unwrap();
        check_both_ends(scan, &held, &mut self.random);
    }

    /// Begins a walk, now or in a snapshot.
    fn begin_walk(&mut self) {
        if self.walks.len() > 3 {
            self.walks.remove(0);
        }
        let mut then = self.snapshots.pop();
        then.iter_mut().for_each(|(_, contents)| model::expire(contents));
        let (space, bounds, held) = self.range(then.as_ref().map(|(_, contents)| contents));
        let cursor = match &then {
            Some((snapshot, _)) => snapshot.cursor(space, &bounds),
            None => self.engine.cursor(space, &bounds),
        };
        self.walks.push(Walk::new(cursor.unwrap(), held));
        self.snapshots.extend(then);
    }

    fn go_on_with_walks(&mut self) {
        let mut walks = std::mem::take(&mut self.walks);
        for walk in &mut walks {
            for _ in 0..self.random.random_range(1..12) {
                let (_, sought) = self.key();
                walk.step(&mut self.random, &sought);
            }
        }
        self.walks = walks;
    }

    fn check_snapshot(&mut self) {
        let Some((snapshot, then)) = self.snapshots.first_mut() else { return };
        // Entries expire for snapshots, too.
        model::expire(then);
        let mut found = Contents::new();
        for space in &self.spaces {
            for entry in snapshot.scan(*space, &Bounds::all()).unwrap() {
                let (key, value) = entry.unwrap();
                found.insert((*space, key.to_vec()), value.to_vec());
            }
        }
        assert_eq!(&found, &*then);
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() > 2 {
            self.snapshots.remove(0);
        }
        self.snapshots.push((self.engine.snapshot(), self.model.now.clone()));
    }

    /// Drops a key space other than the default one, and creates a new one of the same name.
    fn drop_space(&mut self) {
        let at = self.random.random_range(1..self.spaces.len());
        let space = self.spaces[at];
        let spaces = self.engine.key_spaces();
        let name = &spaces.iter().find(|entry| entry.id == space).expect("a key space").name;
        assert!(self.engine.drop_key_space(name).unwrap());
        assert!(!self.engine.drop_key_space(name).unwrap());
        self.model.dropped(space);
        // The drop is durable, with all earlier writes.
        self.model.synced();
        for (snapshot, then) in &mut self.snapshots {
            assert!(snapshot.get(space, b"").is_err());
            then.retain(|(of, _), _| *of != space);
        }
        assert!(self.engine.get(space, b"").is_err());
        assert!(self.engine.scan(space, &Bounds::all()).is_err());
        let late = batch(&[(space, b"late".to_vec(), Some(Vec::new()))]);
        assert!(self.engine.write(late, Durability::Gathered).is_err());
        self.spaces[at] = self.engine.create_key_space(name).unwrap();
        assert!(self.spaces[at] > space);
    }

    /// A power cut, or a clean end, and another start.
    fn reopen(&mut self) {
        self.snapshots.clear();
        self.walks.clear();
        let mode = match self.random.random_range(0..4) {
            0 => {
                self.engine.close().unwrap();
                self.model.synced();
                CrashMode::DropUnsynced
            }
            1 => CrashMode::DropUnsynced,
            2 => CrashMode::KeepUnsynced,
            _ => CrashMode::TearUnsynced,
        };
        let store = self.store.crash(mode, &mut self.random);
        // The old engine keeps its own store and ends there.
        self.deciders.rotate_left(1);
        self.engine = open_under(&store, Arc::clone(&self.deciders[0]));
        self.store = store;
        self.model.recovered(contents(&self.engine));
    }

    /// Goes on to another day, on which some values have expired. Earlier walks may show them or
    /// not.
    fn next_day(&mut self) {
        if runner::is_simulated() {
            model::next_day();
            self.model.expire();
            self.walks.clear();
        }
    }

    pub(crate) fn step(&mut self) {
        match self.random.random_range(0..1000) {
            0..700 => self.write_some(),
            700..860 => self.check_get(),
            860..880 => self.swap_one(),
            880..900 => self.transact(),
            900..920 => self.check_range(),
            920..925 => self.begin_walk(),
            925..950 => self.go_on_with_walks(),
            950..960 => self.take_snapshot(),
            960..975 => self.check_snapshot(),
            975..980 => self.engine.flush().unwrap(),
            980..982 => {
                let (space, key) = self.key();
                self.engine.compact(space, &Bounds::prefix(&key)).unwrap();
            }
            982 => self.engine.compact_all().unwrap(),
            983..985 => self.engine.wait_idle().unwrap(),
            985..988 => {
                self.engine.sync().unwrap();
                self.model.synced();
            }
            988 if self.spaces.len() < 4 => {
                let name = format!("space {}", self.spaces.len());
                self.spaces.push(self.engine.create_key_space(&name).unwrap());
            }
            988..992 => self.reopen(),
            992 => self.drop_space(),
            993..996 => self.next_day(),
            _ => runner::yield_now(),
        }
    }

    /// Writes every key, so that every older entry has a newer one to merge with.
    fn write_every_key(&mut self) {
        let keys = self.spaces.iter().flat_map(|&space| (0..KEYS).map(move |n| (space, key_of(n))));
        let writes: BTreeMap<_, _> = keys.map(|place| (place, b"new".to_vec())).collect();
        let writes: Vec<Write> =
            writes.into_iter().map(|((space, key), value)| (space, key, Some(value))).collect();
        self.engine.write(batch(&writes), Durability::Gathered).unwrap();
        self.model.write(writes);
    }

    pub(crate) fn check(&self) {
        assert_eq!(contents(&self.engine), self.model.now);
    }
}

#[test]
fn random_operations_agree_with_an_ordered_map() {
    for seed in test_seeds(12) {
        runner::simulate(seed, || {
            let mut run = Run::new(seed);
            for _ in 0..2500 {
                run.step();
            }
            run.check();
            // The next merge of their range drops entries that only snapshots kept.
            run.snapshots.clear();
            run.walks.clear();
            run.write_every_key();
            run.engine.compact_all().unwrap();
            run.check();
            let levels = run.engine.stats().levels;
            // A range tombstone that a table takes down without a merge is no entry of a key.
            let entries = levels.iter().map(|level| level.entries - level.range_tombstones);
            let entries: u64 = entries.sum();
            assert_eq!(entries, run.model.now.len() as u64, "{levels:?}");
        });
    }
}

#[test]
fn writes_reach_every_part_of_the_tree() {
    runner::simulate(1, || {
        let mut run = Run { ranges: 0.001, expiring: 0.0, merging: 0.0, ..Run::new(1) };
        let mut deepest = 0;
        for _ in 0..8000 {
            run.write_some();
            deepest = deepest.max(run.engine.stats().levels.len());
        }
        run.engine.wait_idle().unwrap();
        let stats = run.engine.stats();
        assert!(deepest >= 4, "only {deepest} levels");
        assert!(stats.flushes > 10 && stats.compactions > 10, "{stats:?}");
        assert!(stats.entries_dropped > 1000, "{stats:?}");
        run.check();
    });
}
