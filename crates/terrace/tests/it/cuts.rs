//! Power cuts on a drive that is nearly full, simulated from seeds: memtables are small, logs are
//! given up early, compactions go by instalments, and zones are used again and again.
//!
//! At about one device write in 150 the drive is copied. After the run, each copy loses its power
//! in one of the ways of the emulator and is opened. It must hold all synced writes, and of the
//! rest a beginning in order.

use std::sync::Arc;

use terrace::{Batch, ByteCount, Db, Durability, FormatOptions, Options, System};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{runner, test_seeds};
use terrace_zone::emulator::Event;
use terrace_zone::{PowerCut, Snapshot};

use crate::devices::{Contents, contents, drive};

/// Writes of one batch: values, or `None` for deletes.
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// The client's knowledge.
#[derive(Default)]
struct Known {
    /// Writes that were applied, and at the end those being applied, in order.
    writes: Vec<Writes>,
    /// How many of these are durable.
    synced: usize,
}

/// The drive at some write, and what the client knew then.
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

fn small() -> Options {
    Options::default()
        .memtable_size(ByteCount::kib(64))
        .system(System {
            table_size: Some(ByteCount::kib(32)),
            level1_size: Some(ByteCount::kib(128)),
            factor: 4,
            ..System::default()
        })
        .block_size(ByteCount::kib(1))
        .memory(ByteCount::kib(256))
}

fn random_writes(random: &mut Random) -> Writes {
    let write = |random: &mut Random| {
        let key = random.random_range(0..3000u32).to_be_bytes().to_vec();
        let value = random.random_bool(0.75).then(|| {
            let mut value = vec![0; random.random_range(0..3000)];
            random.fill_bytes(&mut value);
            value
        });
        (key, value)
    };
    let count = if random.random_bool(0.8) { 1 } else { random.random_range(2..10) };
    (0..count).map(|_| write(random)).collect()
}

/// Writes for a while, with a snapshot at about one device write of `spacing`; returns those, what
/// was written, and how often the store was full.
fn run(seed: u64, spacing: u32) -> (Vec<Moment>, Vec<Writes>, u32) {
    let device = drive(ByteCount::kib(256), 28, seed);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
    let (seen, into) = (Arc::clone(&known), Arc::clone(&moments));
    let chance = Mutex::new(Random::seeded(seed ^ 1));
    device.set_observer(Some(Arc::new(move |event: &Event<'_>| {
        if chance.lock().random_range(0..spacing) == 0 {
            let (synced, begun) = {
                let seen = seen.lock();
                (seen.synced, seen.writes.len())
            };
            into.lock().push(Moment { snapshot: event.snapshot().unwrap(), synced, begun });
        }
    })));
    let (mut random, mut refused) = (Random::seeded(seed), 0);
    for _ in 0..4000 {
        let writes = random_writes(&mut random);
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
                // A refused write is not there; only a failed sync leaves it open.
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
    (moments, writes, refused)
}

#[test]
fn a_cut_on_a_nearly_full_drive_takes_back_the_newest_writes_only() {
    let mut refusals = 0;
    for seed in test_seeds(1) {
        refusals += runner::simulate(seed, || {
            let (moments, writes, refused) = run(seed, 150);
            assert!(moments.len() > 10, "only {} moments", moments.len());
            let mut random = Random::seeded(seed);
            for (number, moment) in moments.iter().enumerate() {
                let cut = PowerCut::any(&mut random);
                let survivor = Arc::new(moment.snapshot.cut(cut, &mut random));
                let db = Db::open_device(survivor, small())
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
            refused
        });
    }
    assert!(refusals > 0, "the drive was never full");
}
