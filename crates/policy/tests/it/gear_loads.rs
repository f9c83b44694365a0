//! Gear compaction (`geardb`) over long replayed loads: every level stays within its bound, all
//! zones are emptied in the course of time, and the collector has nothing to do. The bounds are
//! checked after each flush.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::FileId;
use terrace_env::random::{Random, Rng};
use terrace_policy::{GearVariant, System};

use crate::golden::check;
use crate::replay::load::replay;
use crate::replay::store::{Replay, Shape};

/// Tables and memtables of 16 entries, eight tables to a zone.
pub(crate) const SHAPE: Shape = Shape { zones: 400, capacity: 128, memtable: 16, workers: 2 };
pub(crate) const KEYS: u32 = 8_000;

/// The levels of the tables.
fn levels(store: &Replay) -> BTreeMap<FileId, usize> {
    let levels = store.tree.levels.iter().enumerate();
    let tables = levels.flat_map(|(level, of)| {
        let segments = of.runs.iter().flat_map(|run| &run.segments);
        segments.map(move |segment| (segment.file, level))
    });
    tables.collect()
}

fn limit(level: usize, shape: Shape) -> u64 {
    shape.memtable * 5 / 2 * 10_u64.pow(level as u32 - 1)
}

/// The bytes that a level may hold when nothing is due: its limit, or the bytes that its windows
/// leave there, and zones that wait to go down: those being written, or with tables of level 0.
fn most(level: usize, shape: Shape, windows: u64) -> u64 {
    let level0 = shape.memtable * 4;
    let left =
        limit(level, shape).max((windows - 1) * windows.pow(level as u32 - 1) * level0) * 5 / 4;
    let waiting = if level == 1 { 3 } else { 1 };
    left + waiting * shape.capacity as u64
}

pub(crate) struct Load {
    pub(crate) store: Replay,
    shape: Shape,
    system: System,
    memtable: BTreeSet<u32>,
    /// In percent, after each flush.
    pub(crate) valid: Vec<f64>,
}

impl Load {
    pub(crate) fn new(system: &str) -> Self {
        Self::of(system, SHAPE)
    }

    pub(crate) fn of(system: &str, shape: Shape) -> Self {
        let system: System = system.parse().expect("a system");
        let store = Replay::new(&system, shape);
        Self { store, shape, system, memtable: BTreeSet::new(), valid: Vec::new() }
    }

    /// Goes on under another variant.
    pub(crate) fn reopen(&mut self, system: &str) {
        self.system = system.parse().expect("a system");
        self.store.reopen(&self.system, self.shape);
    }

    pub(crate) fn put(&mut self, key: u32) {
        self.store.deleted.remove(&key);
        self.insert(key);
    }

    pub(crate) fn delete(&mut self, key: u32) {
        self.store.deleted.insert(key);
        self.insert(key);
    }

    fn insert(&mut self, key: u32) {
        self.memtable.insert(key);
        if self.memtable.len() as u64 == self.shape.memtable {
            self.store.flush(&mut self.memtable);
            self.check();
        }
    }

    pub(crate) fn random(&mut self, entries: u32, random: &mut Random) {
        (0..entries).for_each(|_| self.put(random.random_range(0..KEYS)));
    }

    /// Invariants that hold whenever nothing is due, after any writes.
    fn check(&mut self) {
        let levels = &self.store.tree.levels;
        assert!(levels[0].runs.len() < self.system.level0_runs.into(), "writers would wait");
        for (level, of_level) in levels.iter().enumerate().skip(1) {
            assert!(of_level.runs.len() <= 1, "level {level}");
            let last = level + 1 == levels.len();
            let size = of_level.size().0;
            let most = match self.system.variant {
                GearVariant::Repaired => most(level, self.shape, self.system.windows.into()),
                GearVariant::Code => limit(level, self.shape),
                GearVariant::Algorithm1 => u64::MAX,
            };
            assert!(last || size <= most, "level {level} holds {size}");
        }
        let (live, room) = self.store.zones.used();
        self.valid.push(100.0 * live as f64 / room as f64);
    }

    /// The bound on space: a level takes its tables, an eighth and a quarter of them, and four
    /// zones: two that are written, the rest of the window's last one, and one that was mostly full
    /// or too young to be gathered.
    fn check_space(&self) {
        let of_level = |size: u64| {
            size + size / 8 + size / u64::from(self.system.windows) + 4 * self.shape.capacity as u64
        };
        let levels = self.store.tree.levels.iter();
        let most: u64 = levels.map(|level| of_level(level.size().0)).sum();
        let (_, room) = self.store.zones.used();
        assert!(room as u64 <= most, "{room} where {most} is enough");
        assert!(!self.store.counts.contains_key("moved by reclaim"), "a collector was needed");
    }

    /// Zones that hold tables of several levels.
    pub(crate) fn shared_zones(&self) -> usize {
        let levels = levels(&self.store);
        let of_zone = |slots: &[Option<(FileId, usize)>]| {
            let files = slots.iter().flatten().map(|(file, _)| levels[file]);
            files.collect::<BTreeSet<usize>>().len()
        };
        self.store.zones.all.iter().filter(|zone| of_zone(&zone.slots) > 1).count()
    }
}

#[test]
fn gear_compaction_leaves_zones_of_one_level_that_die_in_windows() {
    check("replay-geardb", replay);
}

#[test]
fn zones_of_a_random_load_are_of_one_level_and_all_of_them_are_emptied() {
    let (mut load, mut random) = (Load::new("geardb"), Random::seeded(1));
    load.random(40_000, &mut random);
    let old: BTreeSet<FileId> = levels(&load.store).into_keys().collect();
    for _ in 0..20 {
        load.random(3_000, &mut random);
        load.check_space();
        assert_eq!(load.shared_zones(), 0);
    }
    let left = levels(&load.store).into_keys().filter(|file| old.contains(file)).count();
    assert_eq!(left, 0, "of {} tables that were there before", old.len());
}

#[test]
fn a_load_that_moves_about_leaves_no_level_and_no_zone_behind() {
    let (mut load, mut random) = (Load::new("geardb"), Random::seeded(1));
    load.random(20_000, &mut random);
    for _ in 0..40 {
        let start = random.random_range(0..KEYS - 200);
        (0..800).for_each(|_| load.put(random.random_range(start..start + 200)));
        load.check_space();
    }
}

#[test]
fn a_sequential_load_goes_down_by_whole_zones_unread() {
    let mut load = Load::new("geardb");
    (0..8_000).for_each(|key| load.put(key));
    assert!(!load.store.counts.contains_key("merged"), "{:?}", load.store.counts);
    assert!(load.valid.iter().skip(250).all(|share| *share > 90.0), "{:?}", load.valid);
    // Deeper than level 1, zones are of one level.
    let levels = levels(&load.store);
    for zone in &load.store.zones.all {
        let of_zone: BTreeSet<usize> =
            zone.slots.iter().flatten().map(|(file, _)| levels[file]).collect();
        assert!(of_zone.len() <= 1 || of_zone.iter().all(|level| *level <= 1), "{of_zone:?}");
    }
    let mut random = Random::seeded(2);
    load.random(16_000, &mut random);
    load.check_space();
}

#[test]
fn a_sequential_load_goes_down_unread_even_if_a_zone_is_larger_than_its_level() {
    let mut load = Load::of("geardb", Shape { zones: 64, capacity: 1024, ..SHAPE });
    (0..40_000).for_each(|key| load.put(key));
    assert!(!load.store.counts.contains_key("merged"), "{:?}", load.store.counts);
    assert!(load.valid.iter().skip(1250).all(|share| *share > 85.0), "{:?}", load.valid);
}

#[test]
fn without_zones_windows_are_ranges_of_tables() {
    let (mut load, mut random) = (Load::new("geardb"), Random::seeded(1));
    load.store.blind = true;
    load.random(50_000, &mut random);
}

#[test]
fn what_another_system_mixed_is_drained() {
    let (mut load, mut random) = (Load::new("leveldb-greedy"), Random::seeded(1));
    load.random(24_000, &mut random);
    let before = load.shared_zones();
    load.store.open_under(&"geardb".parse().expect("a system"), SHAPE);
    load.random(8_000, &mut random);
    load.check_space();
    load.random(60_000, &mut random);
    let after = load.shared_zones();
    assert!(before > 10 && after == 0, "{before} zones were shared, {after} still are");
}
