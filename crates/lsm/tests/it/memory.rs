//! One memory budget: a store whose indexes and filters alone exceed it is read and scanned within
//! it. Writing and compaction keep within it, too, except for the store's buffers for tables that
//! are being written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terrace_env::random::Random;
use terrace_env::store::{
    CreateOptions, FileKind, FileWriter, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::{ByteCount, FileId, runner};
use terrace_lsm::{
    Batch, Bounds, Cursor, Durability, Engine, EngineOptions, Error, KeySpaceId, MemoryStats, Scan,
    TableOptions,
};
use terrace_policy::{Leveled, LeveledOptions};

use crate::model;
use crate::walks::Walk;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;
const KEYS: u32 = 30_000;
const BUDGET: ByteCount = ByteCount::kib(1536);

fn key(number: u32) -> Vec<u8> {
    format!("a key of some length {:08}", number.wrapping_mul(2_654_435_761)).into_bytes()
}

/// A block per entry: indexes and filters take more than the data.
fn options(memory: ByteCount) -> EngineOptions {
    EngineOptions {
        memtable_size: ByteCount::kib(256),
        memtables_max: 2,
        table_size: ByteCount::kib(256),
        tables: TableOptions {
            block_size: Some(ByteCount(1)),
            compression: None,
            filter_bits: Some(20),
            first_keys: None,
        },
        memory,
        ..EngineOptions::default()
    }
}

fn open(store: &MemoryStore, memory: ByteCount) -> Engine {
    let decider = Leveled::new(LeveledOptions {
        level0_runs: 2,
        level1_size: ByteCount::kib(512),
        table_size: ByteCount::kib(256),
        ..LeveledOptions::default()
    });
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, Arc::new(decider), options(memory)).expect("an engine")
}

fn load(engine: &Engine) {
    for first in (0..KEYS).step_by(100) {
        let mut batch = Batch::new();
        for number in first..first + 100 {
            batch.put(SPACE, &key(number), &number.to_le_bytes());
        }
        engine.write(batch, Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
}

fn read_all(engine: &Engine) {
    for number in 0..KEYS {
        let found = engine.get(SPACE, &key(number)).unwrap();
        assert_eq!(found.as_deref(), Some(&number.to_le_bytes()[..]));
        assert_eq!(engine.get(SPACE, &number.to_be_bytes()).unwrap(), None);
    }
}

#[test]
fn a_store_whose_indexes_and_filters_exceed_the_budget_is_read_within_it() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let roomy = open(&store, ByteCount::mib(64));
        load(&roomy);
        read_all(&roomy);
        let MemoryStats { tables, .. } = roomy.stats().memory;
        assert!(tables > BUDGET.0, "indexes and filters take {tables}");
        roomy.close().unwrap();
        drop(roomy);

        let tight = open(&store, BUDGET);
        read_all(&tight);
        let (mut forward, mut backward) = (
            tight.scan(SPACE, &Bounds::all()).unwrap(),
            tight.scan(SPACE, &Bounds::all()).unwrap(),
        );
        for _ in 0..KEYS {
            assert!(forward.advance().unwrap() && backward.advance_back().unwrap());
        }
        assert!(!forward.advance().unwrap() && !backward.advance_back().unwrap());
        drop((forward, backward));
        let memory = tight.stats().memory;
        assert!(memory.peak <= memory.budget, "{memory:?}");
        assert!(memory.tables > 0 && memory.cache > 0, "both have a share: {memory:?}");
        let writes = memory.memtables + memory.log + memory.batches;
        let sum = writes + memory.tables + memory.cache + memory.jobs + memory.scans;
        assert_eq!(memory.used, sum, "{memory:?}");
        tight.close().unwrap();
    });
}

#[test]
fn a_store_is_written_and_compacted_within_the_budget_but_for_tables_being_written() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let engine = open(&store, BUDGET);
        load(&engine);
        let memory = engine.stats().memory;
        // A flush and a compaction at a time, each with what the store holds for its table.
        let writers = 2 * (3 << 20) + (1 << 20);
        assert!(memory.peak <= memory.budget + writers, "{memory:?}");
        assert_eq!((memory.jobs, memory.scans), (0, 0), "{memory:?}");
        engine.close().unwrap();
    });
}

/// A range of a test: its number gives its start and its end.
type Shape = fn(u32) -> (u32, u32);

/// Ranges side by side, over one another, within one another, and over many before them.
const SHAPES: [(&str, Shape); 4] = [
    ("adjacent", |n| (n, n + 1)),
    ("overlapping", |n| (n, n + 1000)),
    ("nested", |n| (n, 1_000_000 - n)),
    ("growing", |n| (500_000 - n, 500_000 + n + 1)),
];

fn delete_ranges(numbers: std::ops::Range<u32>, shape: Shape, spaces: &[KeySpaceId]) -> Batch {
    let mut batch = Batch::new();
    for number in numbers {
        let (start, end) = shape(number);
        let bounds = Bounds::from(start.to_be_bytes().to_vec()..end.to_be_bytes().to_vec());
        batch.delete_range(spaces[number as usize % spaces.len()], &bounds);
    }
    batch
}

fn open_with_room(memory: ByteCount) -> Engine {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let options = EngineOptions { memory, ..EngineOptions::default() };
    let decider = Leveled::new(LeveledOptions::default());
    Engine::open(store, Arc::new(decider), options).expect("an engine")
}

#[test]
fn a_batch_of_many_range_deletes_takes_some_hundred_bytes_for_each_within_the_budget() {
    for (name, shape) in SHAPES {
        runner::simulate(1, || {
            let engine = open_with_room(ByteCount::mib(64));
            let spaces: Vec<_> =
                (0..7).map(|n| engine.create_key_space(&format!("s{n}")).unwrap()).collect();
            for spaces in [&[SPACE][..], &spaces] {
                let batch = delete_ranges(0..100_000, shape, spaces);
                engine.write(batch, Durability::Gathered).unwrap();
                let memory = engine.stats().memory;
                assert!(memory.memtables < 320 * 100_000, "{name}: {memory:?}");
                // Beyond the budget may be the range tombstones of a table while it is in use.
                let most = memory.budget + memory.budget / 4;
                assert!(memory.peak <= most, "{name}: {memory:?}");
                engine.flush().unwrap();
            }
            engine.close().unwrap();
        });
    }
}

#[test]
fn single_range_deletes_count_with_their_keys() {
    runner::simulate(1, || {
        let engine = open_with_room(ByteCount::mib(64));
        let before = engine.stats().memory.memtables;
        let keys = |number: u32| [[b'k'; 300].to_vec(), number.to_be_bytes().to_vec()].concat();
        for number in 0..1000 {
            let mut batch = Batch::new();
            batch.delete_range(SPACE, &Bounds::from(keys(2 * number)..keys(2 * number + 1)));
            engine.write(batch, Durability::Gathered).unwrap();
        }
        let held = engine.stats().memory.memtables - before;
        // In the memtable's order, and as a list of its own.
        assert!(held >= 2 * 2 * 300 * 1000, "{held} bytes for 1,000 pairs of keys");
    });
}

#[test]
fn single_range_deletes_are_flushed_before_they_exceed_the_budget() {
    for (name, shape) in SHAPES {
        runner::simulate(1, || {
            let engine = open_with_room(ByteCount::mib(16));
            for number in 0..30_000 {
                let batch = delete_ranges(number..number + 1, shape, &[SPACE]);
                engine.write(batch, Durability::Gathered).unwrap();
            }
            let memory = engine.stats().memory;
            assert!(memory.peak <= memory.budget, "{name}: {memory:?}");
            engine.close().unwrap();
        });
    }
}

#[test]
fn range_deletes_that_cannot_fit_are_refused_with_the_limit_and_the_memory_they_would_take() {
    runner::simulate(1, || {
        let engine = open_with_room(ByteCount::mib(4));
        let refused = delete_ranges(0..100_000, SHAPES[0].1, &[SPACE]);
        match engine.write(refused, Durability::Gathered) {
            Err(Error::RangesOverMemory { max, budget, got }) => {
                assert!(max < budget && budget == ByteCount::mib(4) && got > max);
            }
            other => panic!("{other:?}"),
        }
        engine.write(delete_ranges(0..5000, SHAPES[0].1, &[SPACE]), Durability::Gathered).unwrap();
        let memory = engine.stats().memory;
        assert!(memory.peak <= memory.budget, "{memory:?}");
        engine.close().unwrap();
    });
}

/// An engine with entries of 100 bytes in several runs and in a memtable, in the order of numbers.
fn with_runs(memory: ByteCount, count: u32) -> Engine {
    let engine = open_with_room(memory);
    for part in 0..4 {
        let mut batch = Batch::new();
        for number in (part..count).step_by(4) {
            batch.put(SPACE, &number.to_be_bytes(), &[number as u8; 100]);
        }
        engine.write(batch, Durability::Gathered).unwrap();
        if part < 3 {
            engine.flush().unwrap();
        }
    }
    engine
}

/// Opens scans, one for each number, until one is refused; each has returned its first entry.
fn hold_scans(engine: &Engine, numbers: std::ops::Range<u32>) -> Vec<Scan> {
    let mut scans: Vec<Scan> = Vec::new();
    for number in numbers {
        match engine.scan(SPACE, &Bounds::starting_at(&number.to_be_bytes())) {
            Ok(mut scan) => {
                assert_eq!(&scan.next().unwrap().unwrap().0[..], number.to_be_bytes());
                scans.push(scan);
            }
            Err(Error::TooManyScans { max, got, open }) => {
                assert!(got > max && open == scans.len() as u64, "{got} of {max}, {open} open");
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    scans
}

#[test]
fn open_scans_are_counted_and_twenty_thousand_of_them_stay_within_the_budget() {
    for (mib, least) in [(320, 20_000), (64, 2000), (16, 300)] {
        runner::simulate(1, || {
            let engine = with_runs(ByteCount::mib(mib), 24_000);
            let before = engine.stats().memory;
            let scans = hold_scans(&engine, 0..20_000);
            assert!(scans.len() >= least, "{} scans in {mib} MiB", scans.len());
            let memory = engine.stats().memory;
            assert!(memory.scans >= 300 * scans.len() as u64, "{memory:?}");
            assert!(memory.peak <= memory.budget, "{memory:?}");
            // Each goes on where it stands, after it has freed memory.
            for (number, mut scan) in scans.into_iter().enumerate() {
                let (key, value) = scan.next().unwrap().unwrap();
                let expected = number as u32 + 1;
                assert_eq!(key[..], expected.to_be_bytes()[..]);
                assert_eq!(value[..], [expected as u8; 100][..]);
            }
            let after = engine.stats().memory;
            assert_eq!(after.scans, before.scans, "{after:?}");
            assert!(after.peak <= after.budget, "{after:?}");
            engine.close().unwrap();
        });
    }
}

#[test]
fn a_scan_that_was_not_moved_holds_little() {
    runner::simulate(1, || {
        let engine = with_runs(ByteCount::mib(64), 1000);
        let scans: Vec<_> = (0..100).map(|_| engine.scan(SPACE, &Bounds::all()).unwrap()).collect();
        let held = engine.stats().memory.scans;
        assert!((100 * 200..100 * 600).contains(&held), "{held} bytes by 100 scans");
        drop(scans);
        engine.close().unwrap();
    });
}

#[test]
fn cursors_that_gave_their_memory_back_walk_as_before() {
    runner::simulate(1, || {
        let (engine, count) = (with_runs(ByteCount::mib(4), 600), 600u32);
        let held: BTreeMap<Vec<u8>, Vec<u8>> =
            (0..count).map(|n| (n.to_be_bytes().to_vec(), vec![n as u8; 100])).collect();
        let scans = hold_scans(&engine, 0..100);
        assert!(scans.len() > 50, "{} scans", scans.len());
        let mut random = Random::seeded(5);
        for _ in 0..5 {
            let cursor: Cursor = engine.cursor(SPACE, &Bounds::all()).unwrap();
            let mut walk = Walk::new(cursor, held.clone());
            for number in 0..400u32 {
                walk.step(&mut random, &(number * 7 % count).to_be_bytes());
            }
        }
        let memory = engine.stats().memory;
        assert!(memory.scans > 128 << 10, "scans hold so much that each gives back: {memory:?}");
        drop(scans);
        engine.close().unwrap();
    });
}

#[test]
fn a_large_block_counts_while_a_cursor_stands_on_it() {
    runner::simulate(1, || {
        let engine = model::open(&MemoryStore::new());
        let size = 300 << 10;
        for number in [1, 2] {
            let mut batch = Batch::new();
            batch.put(SPACE, &key(number), &vec![7; size]);
            engine.write(batch, Durability::Gathered).unwrap();
        }
        engine.flush().unwrap();
        let scans = || engine.stats().memory.scans;
        let before = scans();
        let mut cursor = engine.cursor(SPACE, &Bounds::all()).unwrap();
        assert!(cursor.seek_to_first().unwrap());
        let on_first = scans() - before;
        // A block that is decompressed is no part of the section that was read.
        assert!((size as u64..2 * size as u64).contains(&on_first), "{on_first}");
        assert!(cursor.next().unwrap() && cursor.value_slice().len() == size);
        let on_second = scans() - before;
        assert!((size as u64..2 * size as u64).contains(&on_second), "{on_second}");
        drop(cursor);
        assert!(scans() < before + (64 << 10), "{}", scans());
    });
}

/// A store whose logs say that they hold this many bytes.
#[derive(Default)]
struct Holding(MemoryStore, Arc<AtomicUsize>);

impl Layer for Holding {
    fn below(&self) -> &dyn Store {
        &self.0
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let writer = self.0.create(options)?;
        let held = Arc::clone(&self.1);
        let is_log = options.kind == FileKind::Log;
        Ok(if is_log { Box::new(HoldingWriter(writer, held)) } else { writer })
    }
}

struct HoldingWriter(Box<dyn FileWriter>, Arc<AtomicUsize>);

impl FileWriter for HoldingWriter {
    fn id(&self) -> FileId {
        self.0.id()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.append(bytes)
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.0.write_out()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.0.sync()
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.0.finish()
    }

    fn memory(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

#[test]
fn the_log_counts_with_the_bytes_that_its_writer_holds() {
    runner::simulate(1, || {
        let layer = Holding::default();
        let held = Arc::clone(&layer.1);
        let engine = Engine::open(Arc::new(layer), model::decider(), model::options()).unwrap();
        for bytes in [70_000, 5, 0, 1 << 20] {
            held.store(bytes, Ordering::Relaxed);
            let mut batch = Batch::new();
            batch.put(SPACE, b"key", b"value");
            engine.write(batch, Durability::Gathered).unwrap();
            let memory = engine.stats().memory;
            assert_eq!(memory.log, bytes as u64, "{memory:?}");
            assert!(memory.used >= bytes as u64 && memory.peak >= bytes as u64, "{memory:?}");
        }
    });
}
