//! Nearly full stores, under every system: a store is filled until a put is refused, a tenth of its
//! keys is deleted, and the same load comes again. It ends, by itself or by a refusal with its
//! reason, and moves no more bytes than a stated limit. A store warns once before it is full, and
//! statistics have the bytes that deletes will free. Simulated; rows run in parallel.

use std::sync::Arc;

use terrace::{
    ByteCount, Compression, Db, Error, Event, FormatOptions, Listener, Options, Row, System,
};
use terrace_env::random::{Random, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, runner};
use terrace_zone::{Emulator, Geometry, Tracks};

use crate::devices::{Contents, contents};

const VALUE: usize = 1000;

/// Zones of a drive, and their size. Tracks take three times the bytes, because of their guards.
const ZONES: u32 = 128;
const ZONE: ByteCount = ByteCount::kib(128);

/// Zones of a drive that is filled in random order twice, which moves most bytes.
const ZONES_FILLED_TWICE: u32 = 80;

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
        Self::of_zones(system, ZONES)
    }

    fn of_zones(system: System, zones: u32) -> Self {
        let size = ByteCount(ZONE.0 * u64::from(zones));
        let geometry = match system.row {
            Row::Sealdb => {
                Geometry::tracks(ByteCount(3 * size.0), Tracks { blocks: 24, overlap: 2 })
            }
            _ => Geometry::uniform(ZONE, zones),
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

    /// Puts the first `keys` keys until one is refused; returns the number of puts.
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
    let mut store = Store::of_zones(system, ZONES_FILLED_TWICE);
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
    // With a part of it deleted, the store takes writes again.
    store.delete(2);
    let (again, refused) = store.load(keys / 4);
    assert_eq!(again, keys / 4, "{system}: {refused:?}");
    assert!(contents(&store.db) == store.held, "{system}: something acknowledged is lost");
    store.db.close().unwrap();
}

/// Fills a store in the order of keys, deletes the first tenth, and overwrites half of the others
/// in their order. A memtable overlaps few tables, so its space costs little even in a full store.
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

/// Warnings of a store: the share of its space in use at each.
#[derive(Default)]
struct Warnings(Mutex<Vec<(ByteCount, ByteCount)>>);

impl Listener for Warnings {
    fn notice(&self, event: &Event) {
        if let Event::NearlyFull { live, room } = event {
            self.0.lock().push((*live, *room));
        }
    }
}

impl Warnings {
    fn of(db: &Db) -> Arc<Self> {
        let warnings = Arc::new(Self::default());
        db.listen(Arc::clone(&warnings) as Arc<dyn Listener>);
        warnings
    }

    fn count(&self) -> usize {
        self.0.lock().len()
    }
}

/// Fills a store: it warns once, before it refuses a put. A later listener gets the warning at
/// once. After two thirds are deleted and the store is filled again, it warns once more.
fn warn_once_before_the_end(system: System, ordered: bool) {
    let mut store = Store::new(system);
    let warnings = Warnings::of(&store.db);
    let (mut keys, mut at) = (0, None);
    let put = |store: &mut Store, key| {
        if ordered { store.put_in_order(key) } else { store.put(key) }
    };
    while put(&mut store, keys).is_ok() {
        keys += 1;
        if at.is_none() && warnings.count() > 0 {
            at = Some(keys);
        }
    }
    let (live, room) = warnings.0.lock()[0];
    let share = f64::from(at.unwrap_or(keys)) / f64::from(keys);
    println!("{system}: warned at {share:.2} of {keys} keys: {live}, room for {room}");
    assert_eq!(warnings.count(), 1, "{system}: {:?}", warnings.0.lock());
    assert!((0.7..0.95).contains(&share), "{system}: {share}");
    assert_eq!(Warnings::of(&store.db).count(), 1, "{system}: told to a later listener");
    // Of three, one stays.
    let doomed: Vec<_> = (0..keys).filter(|key| key % 3 > 0).collect();
    for key in &doomed {
        let key = if ordered { *key } else { key.wrapping_mul(0x9E37_79B1) };
        store.db.delete(&key.to_be_bytes()).unwrap();
        store.held.remove(&key.to_be_bytes()[..]);
    }
    store.db.compact(..).unwrap();
    assert_eq!(Warnings::of(&store.db).count(), 0, "{system}: there is room");
    for key in doomed {
        if put(&mut store, key).is_err() {
            break;
        }
    }
    assert_eq!(warnings.count(), 2, "{system}: {:?}", warnings.0.lock());
    assert!(contents(&store.db) == store.held, "{system}: something acknowledged is lost");
    store.db.close().unwrap();
}

#[test]
fn a_store_warns_once_before_it_refuses_puts() {
    for_each_row(|system| {
        warn_once_before_the_end(system, false);
        warn_once_before_the_end(system, true);
    });
}

#[test]
fn a_store_that_is_loaded_again_and_again_does_not_warn() {
    for_each_row(|system| {
        for ordered in [false, true] {
            let mut store = Store::new(system);
            let warnings = Warnings::of(&store.db);
            // A quarter of the drive, or of a third of the tracks.
            let keys = (u64::from(ZONES) * ZONE.0 / 4 / VALUE as u64) as u32;
            for key in (0..3).flat_map(|_| 0..keys) {
                let put = if ordered { store.put_in_order(key) } else { store.put(key) };
                put.unwrap_or_else(|error| panic!("{system}: {key}: {error}"));
            }
            assert_eq!(warnings.count(), 0, "{system}: {:?}", warnings.0.lock());
            store.db.close().unwrap();
        }
    });
}

/// Deletes a tenth of a store's keys, one by one, and another tenth by a range; before a
/// compaction, the statistics estimate the bytes that will be freed.
#[test]
fn statistics_tell_what_deletes_will_give_back() {
    for_each_row(|system| {
        let mut store = Store::new(system);
        let keys = 6000;
        (0..keys).for_each(|key| store.put_in_order(key).unwrap());
        store.db.compact(..).unwrap();
        assert_eq!(store.db.stats().deleted, 0, "{system}");
        let entry = VALUE as u64 + 4;
        let told = |store: &Store, keys: u32| {
            let (told, expected) = (store.db.stats().deleted, u64::from(keys) * entry);
            println!("{system}: {told} told, {expected} deleted");
            let limits = expected * 3 / 4..=expected * 5 / 4;
            assert!(limits.contains(&told), "{system}: {told} told, {expected} deleted");
        };
        for key in (0..keys).step_by(10) {
            store.db.delete(&key.to_be_bytes()).unwrap();
        }
        told(&store, keys / 10);
        let (from, to) = (3000_u32.to_be_bytes(), 3600_u32.to_be_bytes());
        store.db.delete_range(&from[..]..&to[..]).unwrap();
        told(&store, keys / 5);
        store.db.compact(..).unwrap();
        assert_eq!(store.db.stats().deleted, 0, "{system}: it has come back");
        store.db.close().unwrap();
    });
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
