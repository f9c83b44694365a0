//! Power cuts on a device that is nearly full, simulated from seeds: memtables are small, logs are
//! given up early, compactions go by instalments, and zones are used again and again. On shingled
//! tracks free blocks are joined.
//!
//! At about one device write in 150, and at more of those of reclaim, the device is copied. After
//! the run, each copy loses its power in one of the ways of the emulator and is opened. It must
//! hold all synced writes, and a prefix of the later ones. With a compaction filter, values that it
//! does not keep may be missing; one that the client has missed before the cut does not reappear.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use terrace::{
    Batch, ByteCount, Db, Durability, Emulator, FormatOptions, Geometry, Options, Row, System,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner, test_seeds};
use terrace_lsm::canary::{Rule, set};
use terrace_zone::emulator::Event;
use terrace_zone::{PowerCut, Snapshot, Tracks};

use crate::devices::{Contents, contents, drive};

/// Writes of one batch: values, or `None` for deletes.
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;
/// A key and its value.
type Entry = (Vec<u8>, Vec<u8>);

/// The client's state.
#[derive(Default)]
struct Known {
    /// Writes that were applied, and at the end those in flight, in order.
    writes: Vec<Writes>,
    /// Number of durable ones among these.
    synced: usize,
    /// Entries that a filter has dropped.
    gone: Vec<Entry>,
}

/// The drive at some write, and the client's state then.
struct Moment {
    snapshot: Snapshot,
    synced: usize,
    begun: usize,
    /// Number of the entries that were known to be gone.
    gone: usize,
}

fn apply(held: &mut Contents, writes: &Writes) {
    for (key, value) in writes {
        match value {
            Some(value) => held.insert(key.clone(), value.clone()),
            None => held.remove(key),
        };
    }
}

/// Whether the filter drops this value. Such values are so long that no two are the same.
fn is_doomed(value: &[u8]) -> bool {
    value.len() >= 16 && value[0].is_multiple_of(3)
}

/// A device, and how a client uses it.
#[derive(Clone, Copy)]
struct Shape {
    row: Row,
    device: fn(u64) -> Arc<Emulator>,
    batches: u32,
    /// Values are shorter than this.
    value: usize,
    /// Device writes from one moment for a cut to the next; and the same for reclaim.
    spacing: (u32, u32),
    /// Whether compactions drop doomed values.
    is_filtered: bool,
}

impl Shape {
    fn options(&self) -> Options {
        let options = small(self.row);
        if !self.is_filtered {
            return options;
        }
        options.compaction_filter("default", |_, value| !is_doomed(value))
    }

    /// Whether a store after these writes may hold this.
    fn allows(&self, held: &Contents, found: &Contents) -> bool {
        let may_miss = |value: &[u8]| self.is_filtered && is_doomed(value);
        found.iter().all(|(key, value)| held.get(key) == Some(value))
            && held.iter().all(|(key, value)| found.contains_key(key) || may_miss(value))
    }
}

fn small(row: Row) -> Options {
    Options::default()
        .memtable_size(ByteCount::kib(64))
        .system(System {
            table_size: Some(ByteCount::kib(32)),
            level1_size: Some(ByteCount::kib(128)),
            factor: 4,
            ..System::of(row)
        })
        .block_size(ByteCount::kib(1))
        .memory(ByteCount::kib(256))
}

fn random_writes(random: &mut Random, value_max: usize) -> Writes {
    let write = |random: &mut Random| {
        let key = random.random_range(0..3000u32).to_be_bytes().to_vec();
        let value = random.random_bool(0.75).then(|| {
            let mut value = vec![0; random.random_range(0..value_max)];
            random.fill_bytes(&mut value);
            value
        });
        (key, value)
    };
    let count = if random.random_bool(0.8) { 1 } else { random.random_range(2..10) };
    (0..count).map(|_| write(random)).collect()
}

/// Result of a run.
struct Run {
    moments: Vec<Moment>,
    writes: Vec<Writes>,
    /// Entries that a filter has dropped, those of later moments last.
    gone: Vec<Entry>,
    /// Number of times that the store was full.
    refused: u32,
    /// Moments at writes of reclaim.
    of_reclaim: usize,
}

/// Writes for a while.
fn run(seed: u64, shape: Shape) -> Run {
    let device = (shape.device)(seed);
    let format = FormatOptions::default();
    let db = Db::create_device(device.clone(), &format, shape.options()).unwrap();
    let of_reclaim: Arc<Mutex<usize>> = Arc::default();
    let counted = Arc::clone(&of_reclaim);
    let known = Arc::new(Mutex::new(Known::default()));
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (seen, into) = (Arc::clone(&known), Arc::clone(&moments));
    let chance = Mutex::new(Random::seeded(seed ^ 1));
    device.set_observer(Some(Arc::new(move |event: &Event<'_>| {
        let is_reclaim = event.request.cause == Cause::Reclaim;
        let spacing = if is_reclaim { shape.spacing.1 } else { shape.spacing.0 };
        if chance.lock().random_range(0..spacing) == 0 {
            *counted.lock() += usize::from(is_reclaim);
            let (synced, begun, gone) = {
                let seen = seen.lock();
                (seen.synced, seen.writes.len(), seen.gone.len())
            };
            let snapshot = event.snapshot().unwrap();
            into.lock().push(Moment { snapshot, synced, begun, gone });
        }
    })));
    let (mut random, mut refused) = (Random::seeded(seed), 0);
    for number in 0..shape.batches {
        if shape.is_filtered && number % 100 == 0 {
            let writes = known.lock().writes.clone();
            let gone = missing(&db, shape, &writes);
            known.lock().gone.extend(gone);
        }
        let writes = random_writes(&mut random, shape.value);
        let synced = random.random_bool(0.1);
        let durability = if synced { Durability::Synced } else { Durability::Gathered };
        let mut batch = Batch::new();
        for (key, value) in &writes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
        known.lock().writes.push(writes);
        match db.write_with(batch, durability) {
            Ok(()) => {
                let mut known = known.lock();
                known.synced = if synced { known.writes.len() } else { known.synced };
            }
            Err(error) => {
                assert!(error.is_space(), "{error}");
                refused += 1;
                // A refused write has no effect; only after a failed sync it may have one.
                db.sync().ok();
                let found = contents(&db);
                let mut known = known.lock();
                let mut held = Contents::new();
                let (last, before) = known.writes.split_last().unwrap();
                before.iter().for_each(|writes| apply(&mut held, writes));
                if shape.allows(&held, &found) {
                    known.writes.pop();
                } else {
                    apply(&mut held, last);
                    assert!(shape.allows(&held, &found), "a refused batch was applied in part");
                }
            }
        }
    }
    device.set_observer(None);
    db.close().ok();
    let moments = std::mem::take(&mut *moments.lock());
    let Known { writes, gone, .. } = std::mem::take(&mut *known.lock());
    let of_reclaim = *of_reclaim.lock();
    Run { moments, writes, gone, refused, of_reclaim }
}

/// The entries of these writes that the filter has dropped.
fn missing(db: &Db, shape: Shape, writes: &[Writes]) -> Vec<Entry> {
    let found = contents(db);
    let mut held = Contents::new();
    writes.iter().for_each(|writes| apply(&mut held, writes));
    assert!(shape.allows(&held, &found), "an entry is missing, or an older one is back");
    held.into_iter().filter(|(key, _)| !found.contains_key(key)).collect()
}

/// Cuts the power at each moment of a run, and compares the remaining state with the writes.
fn cut_everywhere(seed: u64, shape: Shape) -> Run {
    let run = run(seed, shape);
    let Run { moments, writes, gone, .. } = &run;
    assert!(moments.len() > 10, "only {} moments", moments.len());
    let mut random = Random::seeded(seed);
    for (number, moment) in moments.iter().enumerate() {
        let cut = PowerCut::any(&mut random);
        let survivor = Arc::new(moment.snapshot.cut(cut, &mut random));
        let db = Db::open_device(survivor, shape.options())
            .unwrap_or_else(|e| panic!("seed {seed}, moment {number}, {cut:?}: {e}"));
        let found = contents(&db);
        let mut held = Contents::new();
        writes[..moment.synced].iter().for_each(|writes| apply(&mut held, writes));
        let mut rest = writes[moment.synced..moment.begun.min(writes.len())].iter();
        while !shape.allows(&held, &found) {
            let next = rest.next().unwrap_or_else(|| {
                panic!("seed {seed}, moment {number}, {cut:?}: no prefix of the writes")
            });
            apply(&mut held, next);
        }
        for (key, value) in &gone[..moment.gone] {
            assert_ne!(found.get(key), Some(value), "seed {seed}, moment {number}, {cut:?}");
        }
        db.verify().unwrap();
        if shape.is_filtered && db.compact(..).is_ok() {
            held.retain(|_, value| !is_doomed(value));
            assert_eq!(contents(&db), held, "seed {seed}, moment {number}, {cut:?}");
        }
        drop(db);
    }
    run
}

#[test]
fn a_cut_on_a_nearly_full_drive_takes_back_the_newest_writes_only() {
    let device = |seed| drive(ByteCount::kib(256), 28, seed);
    let spacing = (150, 150);
    let is_filtered = false;
    let shape =
        Shape { row: Row::Bluefs, device, batches: 4000, value: 3000, spacing, is_filtered };
    let mut refusals = 0;
    for seed in test_seeds(1) {
        refusals += runner::simulate(seed, move || cut_everywhere(seed, shape).refused);
    }
    assert!(refusals > 0, "the drive was never full");
}

#[test]
fn a_cut_while_free_blocks_are_gathered_takes_back_the_newest_writes_only() {
    let device = |seed| {
        let tracks = Tracks { blocks: 24, overlap: 2 };
        let geometry = Geometry::tracks(ByteCount::mib(32), tracks);
        Arc::new(Emulator::in_memory(geometry, seed).unwrap())
    };
    let spacing = (1600, 8);
    let is_filtered = false;
    let shape =
        Shape { row: Row::Sealdb, device, batches: 2400, value: 20_000, spacing, is_filtered };
    for seed in test_seeds(1) {
        let run = runner::simulate(seed, move || cut_everywhere(seed, shape));
        assert!(run.refused > 0, "the device was never full");
        assert!(run.of_reclaim > 10, "only {} moments of reclaim", run.of_reclaim);
    }
}

/// A drive that is not full, under a compaction filter.
fn filtered(row: Row) -> Shape {
    let device = |seed| drive(ByteCount::kib(256), 40, seed);
    Shape { row, device, batches: 1500, value: 2000, spacing: (150, 150), is_filtered: true }
}

#[test]
fn a_cut_while_a_filter_drops_values_takes_back_the_newest_writes_and_no_drop() {
    for row in [Row::Bluefs, Row::LevelSeparated, Row::Geardb, Row::Sliced] {
        for seed in test_seeds(1) {
            let run = runner::simulate(seed, move || cut_everywhere(seed, filtered(row)));
            let gone: BTreeSet<_> = run.gone.iter().collect();
            assert!(gone.len() > 100, "{row:?}: only {} values went", gone.len());
        }
    }
}

#[test]
fn the_canary_of_dropped_values_that_hide_nothing_is_noticed() {
    set(Some(Rule::FilteredBecomesDelete));
    let run = || runner::simulate(0, || run(0, filtered(Row::Bluefs)));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    set(None);
    assert!(outcome.is_err());
}
