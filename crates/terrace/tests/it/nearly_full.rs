//! Nearly full stores, under every system: a store is filled until a put is refused, a tenth of its
//! keys is deleted, and the same load comes again. It ends, by itself or by a refusal that says
//! why, and moves no more bytes than a stated limit. Simulated; rows run side by side.

use std::sync::Arc;

use terrace::{ByteCount, Compression, Db, Error, FormatOptions, Options, Row, System};
use terrace_env::random::{Random, RngCore};
use terrace_env::{Cause, runner};
use terrace_zone::{Emulator, Geometry, Tracks};

use crate::devices::{Contents, contents};

const VALUE: usize = 1000;

/// Zones of a drive, and their size. Tracks take three times the bytes, because of their guards.
const ZONES: u32 = 128;
const ZONE: ByteCount = ByteCount::kib(128);

/// Bytes that compactions and reclaim may move for each byte that is put or deleted.
const MOVED_MAX: u64 = 100;

/// The same for puts in the order of keys.
const MOVED_IN_ORDER_MAX: f64 = 25.0;

fn moved(db: &Db) -> u64 {
    let io = db.stats().io;
    io.written(Cause::Compaction).0 + io.written(Cause::Reclaim).0
}

struct Store {
    db: Db,
    held: Contents,
    random: Random,
}

impl Store {
    fn new(system: System) -> Self {
        let size = ByteCount(ZONE.0 * u64::from(ZONES));
        let geometry = match system.row {
            Row::Sealdb => {
                Geometry::tracks(ByteCount(3 * size.0), Tracks { blocks: 24, overlap: 2 })
            }
            _ => Geometry::uniform(ZONE, ZONES),
        };
        let device = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
        let options = Options::default().compression(Compression::None).system(system);
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        Self { db, held: Contents::new(), random: Random::seeded(1) }
    }

    /// Puts a value under a key; numbers are keys in no order.
    fn put(&mut self, number: u32) -> Result<(), Error> {
        let key = number.wrapping_mul(0x9E37_79B1).to_be_bytes();
        let mut value = vec![0; VALUE];
        self.random.fill_bytes(&mut value);
        self.db.put(&key, &value)?;
        self.held.insert(key.to_vec(), value);
        Ok(())
    }

    fn put_in_order(&mut self, number: u32) -> Result<(), Error> {
        let value = vec![number as u8; VALUE];
        self.db.put(&number.to_be_bytes(), &value)?;
        self.held.insert(number.to_be_bytes().to_vec(), value);
        Ok(())
    }

    /// Puts the first so many keys until one is refused; returns how many were put.
    fn load(&mut self, keys: u32) -> (u32, Option<Error>) {
        for number in 0..keys {
            if let Err(error) = self.put(number) {
                assert!(error.is_space(), "{error}");
                return (number, Some(error));
            }
        }
        (keys, None)
    }

    /// Deletes one key in `step`; returns their bytes.
    fn delete(&mut self, step: usize) -> u64 {
        let doomed: Vec<_> = self.held.keys().step_by(step).cloned().collect();
        for key in &doomed {
            self.db.delete(key).unwrap();
            self.held.remove(key);
        }
        (doomed.len() * (VALUE + 4)) as u64
    }
}

fn fill_delete_and_fill_again(system: System) {
    let mut store = Store::new(system);
    let (keys, refused) = store.load(u32::MAX);
    assert!(refused.is_some() && keys > 1000, "{system}: {keys} keys");
    let bytes = store.delete(10);
    let before = moved(&store.db);
    let (again, refused) = store.load(keys);
    let moved = moved(&store.db) - before;
    let taken = u64::from(again) * (VALUE as u64 + 4);
    let capacity = store.db.stats().space.capacity.0;
    let text = refused.map_or("taken".to_owned(), |error| error.to_string());
    println!(
        "{system}: {again} of {keys} again, {:.1} moved for one, {:.1} times the store; {text}",
        moved as f64 / taken.max(1) as f64,
        moved as f64 / capacity as f64
    );
    let limit = MOVED_MAX * (taken + bytes);
    assert!(moved <= limit, "{system}: {moved} moved for {taken}: {text}");
    assert!(contents(&store.db) == store.held, "{system}: something acknowledged is lost");
    // With a part of it deleted, the store takes what it is told again.
    store.delete(2);
    let (again, refused) = store.load(keys / 4);
    assert_eq!(again, keys / 4, "{system}: {refused:?}");
    assert!(contents(&store.db) == store.held, "{system}: something acknowledged is lost");
    store.db.close().unwrap();
}

/// Fills a store in the order of keys, deletes the first tenth, and overwrites half of the
/// others in their order. A memtable meets few tables, so its space costs little however full the
/// store is.
fn overwrite_in_order(system: System) {
    let mut store = Store::new(system);
    let mut keys = 0;
    while store.put_in_order(keys).is_ok() {
        keys += 1;
    }
    let first = keys / 10;
    for key in (0..first).map(u32::to_be_bytes) {
        store.db.delete(&key).unwrap();
        store.held.remove(&key[..]);
    }
    let before = moved(&store.db);
    for key in first..keys / 2 {
        let put = store.put_in_order(key);
        put.unwrap_or_else(|error| panic!("{system}: {key} of {keys}: {error}"));
    }
    let taken = u64::from(keys / 2 - first) * (VALUE as u64 + 4);
    let for_one = (moved(&store.db) - before) as f64 / taken as f64;
    println!("{system}: {keys} keys in order, {for_one:.1} moved for one that is overwritten");
    assert!(for_one < MOVED_IN_ORDER_MAX, "{system}: {for_one} moved for one");
    assert!(contents(&store.db) == store.held, "{system}: something acknowledged is lost");
    store.db.close().unwrap();
}

#[test]
fn a_nearly_full_store_ends_a_load_within_its_limit_of_work() {
    for_each_row(fill_delete_and_fill_again);
}

#[test]
fn a_full_store_is_overwritten_in_the_order_of_keys() {
    for_each_row(overwrite_in_order);
}

fn for_each_row(test: fn(System)) {
    let begin = |row: Row| {
        runner::spawn(System::of(row).name(), move || {
            runner::simulate(1, || test(System::of(row)));
        })
    };
    let rows: Vec<_> = Row::ALL.into_iter().map(begin).collect();
    rows.into_iter().for_each(runner::JoinHandle::join);
}
