//! Full stores on raw shingled tracks: filled with new keys until a put is refused, and then
//! emptied by deletes, again and again. Every delete must be accepted, and the room must be freed.
//! Devices of several sizes, tracks and overlaps, under rows with sets and without. Simulated;
//! cases run in parallel.

use std::sync::Arc;
use std::time::Duration;

use terrace::{
    ByteCount, Compression, Db, Durability, Emulator, Error, FormatOptions, Geometry, Row, System,
};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::runner;
use terrace_zone::Tracks;

use crate::devices::{Contents, contents, options};

/// A device, a system on it, and its use.
#[derive(Clone, Copy, Debug)]
struct Case {
    row: Row,
    mib: u64,
    /// Blocks of a track, and tracks that a write destroys.
    tracks: (u32, u32),
    table: ByteCount,
    memtable: ByteCount,
    value: usize,
    synced: bool,
    seed: u64,
}

/// A store, and its expected contents.
struct Full {
    case: Case,
    db: Db,
    held: Contents,
    next: u64,
    random: Random,
}

impl Full {
    fn new(case: Case) -> Self {
        let (blocks, overlap) = case.tracks;
        let geometry = Geometry::tracks(ByteCount::mib(case.mib), Tracks { blocks, overlap });
        let device = Arc::new(Emulator::in_memory(geometry, case.seed).unwrap());
        let level1_size = Some(ByteCount(8 * case.table.0));
        let system = System::of(case.row);
        let system = System { table_size: Some(case.table), level1_size, factor: 4, ..system };
        let options = options().memtable_size(case.memtable).system(system);
        let options = options.compression(Compression::None);
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        let random = Random::seeded(case.seed);
        Self { case, db, held: Contents::new(), next: 0, random }
    }

    fn write(&self, batch: terrace::Batch) -> Result<(), Error> {
        let durability = if self.case.synced { Durability::Synced } else { Durability::Gathered };
        self.db.write_with(batch, durability)
    }

    /// Puts new keys until one is refused; returns the number of puts.
    fn fill(&mut self) -> usize {
        for count in 0.. {
            let mixed = (self.next ^ self.case.seed << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let key = (mixed ^ mixed >> 29).to_be_bytes();
            let mut value = vec![0; self.case.value];
            self.random.fill_bytes(&mut value);
            let mut batch = terrace::Batch::new();
            batch.put(&key, &value);
            match self.write(batch) {
                Ok(()) => drop(self.held.insert(key.to_vec(), value)),
                Err(error) => {
                    assert!(error.is_space(), "{:?}: {error}", self.case);
                    return count;
                }
            }
            self.next += 1;
        }
        unreachable!("a count without end")
    }

    /// Deletes `count` keys, in random order or in theirs.
    fn delete(&mut self, count: usize, in_order: bool) {
        let mut keys: Vec<Vec<u8>> = self.held.keys().cloned().collect();
        if !in_order {
            for at in (1..keys.len()).rev() {
                keys.swap(at, self.random.random_range(0..=at));
            }
        }
        let all = keys.len();
        for (at, key) in keys.into_iter().take(count).enumerate() {
            let mut batch = terrace::Batch::new();
            batch.delete(&key);
            self.write(batch).unwrap_or_else(|error| {
                let space = self.db.stats().space;
                panic!("{:?}: delete {at} of {all}: {error}; {space:?}", self.case)
            });
            self.held.remove(&key);
        }
    }
}

/// Fills and empties a device again and again.
fn fill_and_empty(case: Case) -> Vec<usize> {
    let mut full = Full::new(case);
    let mut filled = vec![full.fill()];
    // A part of it in random order, and freed space is filled again: holes everywhere.
    for round in 0..3 {
        let part = full.held.len() * [5, 20, 50][round % 3] / 100;
        full.delete(part, round % 2 == 1);
        full.fill();
    }
    for in_order in [false, true] {
        full.delete(usize::MAX, in_order);
        assert!(contents(&full.db).is_empty(), "{case:?}");
        runner::sleep(Duration::from_secs(10));
        filled.push(full.fill());
    }
    assert!(contents(&full.db) == full.held, "{case:?}");
    assert_eq!(full.db.stats().failure, None);
    full.db.close().unwrap();
    filled
}

/// Row, MiB of the device, tracks, KiB of a table and of a memtable, bytes of a value, and whether
/// each write is synced.
type Shape = (Row, u64, (u32, u32), u64, u64, usize, bool);

const SHAPES: [Shape; 6] = [
    (Row::Sealdb, 32, (24, 2), 64, 64, 3000, true),
    (Row::Sealdb, 32, (32, 2), 64, 256, 6000, false),
    (Row::LeveldbSets, 48, (16, 2), 64, 256, 3000, false),
    (Row::LeveldbSets, 64, (64, 3), 64, 64, 6000, false),
    (Row::LeveldbDisk, 64, (64, 3), 128, 256, 6000, false),
    (Row::Bluefs, 32, (32, 2), 64, 64, 6000, false),
];

#[test]
fn a_full_store_on_tracks_takes_every_delete_and_gives_its_room_back() {
    let begin = |(row, mib, tracks, table, memtable, value, synced): Shape| {
        let (table, memtable) = (ByteCount::kib(table), ByteCount::kib(memtable));
        let case = Case { row, mib, tracks, table, memtable, value, synced, seed: 1 };
        let run = move || (case, runner::simulate(1, || fill_and_empty(case)));
        runner::spawn(&format!("{case:?}"), run)
    };
    let runs: Vec<_> = SHAPES.into_iter().map(begin).collect();
    for (case, filled) in runs.into_iter().map(runner::JoinHandle::join) {
        let comes_back = filled.iter().all(|count| count * 4 >= filled[0] * 3);
        assert!(comes_back, "{case:?}: {filled:?}");
    }
}
