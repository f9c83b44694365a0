//! Power cuts on a device that is nearly full, simulated from seeds: memtables are small, logs are
//! given up early, compactions go by instalments, and zones are used again and again. On shingled
//! tracks free blocks are joined.
//!
//! At about one device write in 150, and at more of those of reclaim, the device is copied. After
//! the run, each copy loses its power in one of the ways of the emulator and is opened. It must
//! hold all synced writes, and a prefix of the later ones.

use std::sync::Arc;

use terrace::{
    Batch, ByteCount, Db, Durability, Emulator, FormatOptions, Geometry, Options, Row, System,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner, test_seeds};
use terrace_zone::emulator::Event;
use terrace_zone::{PowerCut, Snapshot, Tracks};

use crate::devices::{Contents, contents, drive};

/// Writes of one batch: values, or `None` for deletes.
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The client's state.
#[derive(Default)]
struct Known {
    /// Writes that were applied, and at the end those in flight, in order.
    writes: Vec<Writes>,
    /// Number of durable ones among these.
    synced: usize,
}

/// The drive at some write, and the client's state then.
struct Moment {
    snapshot: Snapshot,
    synced: usize,
    begun: usize,
}

fn apply(held: &mut Contents, writes: &Writes) {
    for (key, value) in writes {
        match value {
            Some(value) => held.insert(key.clone(), value.clone()),
            None => held.remove(key),
        };
    }
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
    /// Number of times that the store was full.
    refused: u32,
    /// Moments at writes of reclaim.
    of_reclaim: usize,
}

/// Writes for a while.
fn run(seed: u64, shape: Shape) -> Run {
    let device = (shape.device)(seed);
    let options = small(shape.row);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options).unwrap();
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
            let (synced, begun) = {
                let seen = seen.lock();
                (seen.synced, seen.writes.len())
            };
            into.lock().push(Moment { snapshot: event.snapshot().unwrap(), synced, begun });
        }
    })));
    let (mut random, mut refused) = (Random::seeded(seed), 0);
    for _ in 0..shape.batches {
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
                if found == held {
                    known.writes.pop();
                } else {
                    apply(&mut held, last);
                    assert_eq!(found, held, "a refused batch was applied in part");
                }
            }
        }
    }
    device.set_observer(None);
    db.close().ok();
    let moments = std::mem::take(&mut *moments.lock());
    let writes = std::mem::take(&mut known.lock().writes);
    let of_reclaim = *of_reclaim.lock();
    Run { moments, writes, refused, of_reclaim }
}

/// Cuts the power at each moment of a run, and compares the remaining state with the writes.
fn cut_everywhere(seed: u64, shape: Shape) -> Run {
    let run = run(seed, shape);
    let Run { moments, writes, .. } = &run;
    assert!(moments.len() > 10, "only {} moments", moments.len());
    let mut random = Random::seeded(seed);
    for (number, moment) in moments.iter().enumerate() {
        let cut = PowerCut::any(&mut random);
        let survivor = Arc::new(moment.snapshot.cut(cut, &mut random));
        let db = Db::open_device(survivor, small(shape.row))
            .unwrap_or_else(|e| panic!("seed {seed}, moment {number}, {cut:?}: {e}"));
        let found = contents(&db);
        let mut held = Contents::new();
        writes[..moment.synced].iter().for_each(|writes| apply(&mut held, writes));
        let mut rest = writes[moment.synced..moment.begun.min(writes.len())].iter();
        while held != found {
            let next = rest.next().unwrap_or_else(|| {
                panic!("seed {seed}, moment {number}, {cut:?}: no prefix of the writes")
            });
            apply(&mut held, next);
        }
        db.verify().unwrap();
        drop(db);
    }
    run
}

#[test]
fn a_cut_on_a_nearly_full_drive_takes_back_the_newest_writes_only() {
    let device = |seed| drive(ByteCount::kib(256), 28, seed);
    let shape = Shape { row: Row::Bluefs, device, batches: 4000, value: 3000, spacing: (150, 150) };
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
    let shape =
        Shape { row: Row::Sealdb, device, batches: 1600, value: 20_000, spacing: (1600, 4) };
    for seed in test_seeds(1) {
        let run = runner::simulate(seed, move || cut_everywhere(seed, shape));
        assert!(run.refused > 0, "the device was never full");
        assert!(run.of_reclaim > 10, "only {} moments of reclaim", run.of_reclaim);
    }
}
