//! Readers next to a writer, without a lock: on a small drive whose zones are reset all the time,
//! and in a directory. A view has the first n writes and no others; n is at least the number of
//! writes that had returned when the refresh began, and never becomes smaller.
//!
//! The writes are numbered, and each stores its number under a key that comes first. So a view
//! tells which writes it should have.

mod judge;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use terrace::fs::{DirOptions, DirStore};
use terrace::{
    ByteCount, Db, Durability, Emulator, ErrorKind, FormatOptions, Geometry, Options, Reader,
    System,
};
use terrace_env::random::{Random, RngCore};
use terrace_env::sync::Mutex;
use terrace_env::{Uuid, runner, test_seeds};
use terrace_fs::canary::{Rule, set};
use terrace_fs::dir::MemoryFiles;
use terrace_zone::emulator::RandomLatency;
use terrace_zone::{Access, Device, DeviceLayer, Op, Request, Ticket};

use judge::{AT, Judge, Load, Met, STEADY, Shared, write, write_one};

use crate::devices::{Contents, options};

/// Options under which a few thousand writes make a tree, and reuse all zones.
fn small() -> Options {
    let system = System {
        table_size: Some(ByteCount::kib(64)),
        level1_size: Some(ByteCount::kib(160)),
        ..System::default()
    };
    options().memtable_size(ByteCount::kib(64)).system(system).durability(Durability::Written)
}

/// A writer and a reader on these devices, in a simulation. Returns the counts, and the number of
/// zones that were reset.
fn on_drive(seed: u64, geometry: Geometry, load: Load) -> (Met, u64) {
    runner::simulate(seed, || {
        let device = Arc::new(Emulator::in_memory(geometry, seed).unwrap());
        let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
        let latency = (Duration::from_micros(20), Duration::from_millis(1));
        device.set_timing(Some(Box::new(RandomLatency::new(latency.0, latency.1, seed))));
        let reader = Reader::on_devices(device as Arc<dyn Device>, small()).unwrap();
        let met = next_to_each_other(&db, reader, load, seed);
        let resets = db.stats().io.zones_reset;
        db.close().unwrap();
        (met, resets)
    })
}

fn next_to_each_other(db: &Db, reader: Reader, load: Load, seed: u64) -> Met {
    let story = Shared::default();
    let judge = Judge::new(reader, &story, seed);
    let writer = runner::spawn("writer", {
        let (db, story) = (db.clone(), Arc::clone(&story));
        move || write(&db, &story, load, seed)
    });
    let met = judge.run();
    writer.join();
    met
}

fn tight_drive() -> Geometry {
    Geometry::uniform(ByteCount::kib(256), 28)
}

fn small_drive() -> Geometry {
    Geometry::uniform(ByteCount::kib(256), 48)
}

#[test]
fn a_view_on_zones_that_are_reset_all_the_time_has_a_prefix_of_the_writes() {
    for seed in test_seeds(4) {
        let (met, resets) = on_drive(seed, small_drive(), STEADY);
        assert!(resets > 48, "{resets} resets");
        assert!(met.views > 10 && met.moved > 0, "{met:?}");
    }
}

#[test]
fn a_view_on_a_plain_device_has_a_prefix_of_the_writes() {
    for seed in test_seeds(2) {
        let (met, _) = on_drive(seed, Geometry::plain(ByteCount::mib(16)), STEADY);
        assert!(met.views > 10, "{met:?}");
    }
}

#[test]
fn a_view_of_a_directory_has_a_prefix_of_the_writes() {
    for seed in test_seeds(4) {
        runner::simulate(seed, || {
            let files = Arc::new(MemoryFiles::new().with_sync_time(Duration::from_micros(300)));
            let store = DirStore::open_on(files.clone(), DirOptions::default()).unwrap();
            let db = Db::open(store.clone(), small()).unwrap();
            let reader = Reader::on_files(files, small()).unwrap();
            let met = next_to_each_other(&db, reader, STEADY, seed);
            db.close().unwrap();
            store.close();
            assert!(met.views > 10, "{met:?}");
        });
    }
}

/// Breaks a rule until dropped.
struct Broken;

impl Drop for Broken {
    fn drop(&mut self) {
        set(None);
    }
}

#[test]
fn reads_that_are_not_vouched_for_are_noticed() {
    set(Some(Rule::ReadsBesideVouched));
    let _broken = Broken;
    let is_noticed = test_seeds(4).any(|seed| {
        let run = || logs_are_overwritten(seed);
        std::panic::catch_unwind(run).is_err()
    });
    assert!(is_noticed);
}

/// A drive on which something happens just before a certain read.
struct Interrupted {
    below: Arc<Emulator>,
    /// Number of reads until then.
    left: AtomicU32,
    work: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl DeviceLayer for Interrupted {
    fn below(&self) -> &dyn Device {
        &*self.below
    }

    fn submit(&self, request: Request) -> Ticket {
        let is_read = matches!(request.op, Op::Read { .. });
        if is_read && self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            let work = self.work.lock().take();
            work.into_iter().for_each(|work| work());
        }
        self.below.submit(request)
    }
}

/// Writes of a writer between two reads.
type Burst = fn(&Db, &Shared, u64);

/// Overwrites everything, so that all zones are reused.
fn overwrite(db: &Db, story: &Shared, seed: u64) {
    write(db, story, Load { writes: 1500, pause: Duration::ZERO }, seed);
}

/// Overwrites one key again and again. The zones of logs are reused, and most tables stay.
fn overwrite_one(db: &Db, story: &Shared, seed: u64) {
    for _ in 0..90 {
        let mut value = vec![0; 60_000];
        Random::seeded(seed).fill_bytes(&mut value);
        write_one(db, story, b"\0hot", Some(value));
        db.flush().unwrap();
    }
}

/// A point at which a writer comes between two reads.
#[derive(Clone, Copy)]
struct Point {
    seed: u64,
    /// Writes before the opening.
    writes: u32,
    /// The read before which the burst comes: of the opening, or of a scan of an opened reader.
    read: u32,
    opens: bool,
    burst: Burst,
}

impl Point {
    /// Opens a reader, compares its contents, and returns whether there was such a read.
    fn is_met(self) -> bool {
        let Self { seed, writes, read, opens, burst } = self;
        runner::simulate(seed, || {
            let device = Arc::new(Emulator::in_memory(tight_drive(), seed).unwrap());
            let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
            let story = Shared::default();
            write(&db, &story, Load { writes, pause: Duration::ZERO }, seed);
            let work: Box<dyn FnOnce() + Send> = Box::new({
                let (db, story) = (db.clone(), Arc::clone(&story));
                move || burst(&db, &story, seed + 1)
            });
            let resets = db.stats().io.zones_reset;
            let left = AtomicU32::new(if opens { read } else { u32::MAX });
            let layer = Arc::new(Interrupted { below: device, left, work: Mutex::new(Some(work)) });
            let reader = Reader::on_devices(layer.clone() as Arc<dyn Device>, small()).unwrap();
            let mut judge = Judge::new(reader, &story, seed);
            if !opens {
                layer.left.store(read, Ordering::Relaxed);
            }
            judge.compare_view(writes.into());
            let is_met = layer.work.lock().is_none();
            assert!(!is_met || db.stats().io.zones_reset > resets + 14);
            judge.look();
            // Else the burst may have come during the look.
            assert!(!is_met || judge.at == story.lock().begun());
            db.close().unwrap();
            is_met
        })
    }

    /// The same at this read and at later ones, as long as there are any. Returns their number.
    fn everywhere(self, stride: usize) -> usize {
        let reads = (self.read..).step_by(stride);
        reads.take_while(|read| Self { read: *read, ..self }.is_met()).count()
    }
}

#[test]
fn a_reader_under_which_everything_is_overwritten_at_any_read_sees_a_prefix_of_the_writes() {
    for seed in test_seeds(1) {
        for opens in [true, false] {
            let (writes, read, burst) = (300, seed as u32 % 5, overwrite as Burst);
            let points = Point { seed, writes, read, opens, burst }.everywhere(5);
            assert!(points > 2, "{points} reads");
        }
    }
}

/// Everything is in the log, which is deleted and overwritten while the reader opens.
fn logs_are_overwritten(seed: u64) {
    let (writes, read, opens, burst) = (20, 0, true, overwrite_one as Burst);
    let points = Point { seed, writes, read, opens, burst }.everywhere(1);
    assert!(points > 10, "{points} reads");
}

#[test]
fn a_reader_under_which_logs_are_overwritten_at_any_read_sees_a_prefix_of_the_writes() {
    test_seeds(1).for_each(logs_are_overwritten);
}

/// Reads of a drive so far.
fn reads(drive: &Emulator) -> u64 {
    drive.io().reads.iter().sum()
}

#[test]
fn a_look_costs_a_few_reads_and_a_cached_value_none() {
    let conventional = std::iter::once(0..1).collect();
    let zones = Geometry::uniform(ByteCount::mib(1), 64);
    let shapes = [
        ("with a conventional zone", Geometry { conventional, ..zones.clone() }),
        ("of sequential zones", zones),
        ("without zones", Geometry::plain(ByteCount::mib(64))),
    ];
    for (shape, geometry) in shapes {
        // The number of logs depends on the time that jobs take.
        runner::simulate(1, || count_reads(shape, geometry));
    }
}

fn count_reads(shape: &str, geometry: Geometry) {
    let drive = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), small()).unwrap();
    let story = Shared::default();
    write(&db, &story, Load { writes: 1000, pause: Duration::ZERO }, 1);
    db.wait_idle().unwrap();
    let before = reads(&drive);
    let reader = Reader::on_devices(drive.clone() as Arc<dyn Device>, small()).unwrap();
    let opening = reads(&drive) - before;
    let mut costs = Vec::new();
    let mut cost = |work: &dyn Fn()| {
        let before = reads(&drive);
        work();
        costs.push(reads(&drive) - before);
    };
    cost(&|| assert!(!reader.refresh().unwrap()));
    let key = story.lock().writes[0].0.clone();
    let get = || drop(reader.get(&key).unwrap());
    cost(&get);
    cost(&get);
    db.put(b"key", b"value").unwrap();
    cost(&|| assert!(reader.refresh().unwrap()));
    // docs/decisions/0058 has these figures.
    println!("{shape}: opening {opening}; look, get, get again, refresh: {costs:?}");
    assert!(costs[0] <= 8 && costs[1] <= 8 && costs[2] == 0, "{shape}: {costs:?}");
    db.close().unwrap();
}

#[test]
fn an_image_and_a_directory_are_read_by_path_while_another_opening_has_their_lock() {
    let place = tempfile::tempdir().unwrap();
    let (image, directory) = (place.path().join("drive.img"), place.path().join("store"));
    let drive = Emulator::create_image(&image, small_drive(), Uuid([7; 16])).unwrap().unsynced();
    let drive: Arc<dyn Device> = Arc::new(drive);
    let format = FormatOptions::default();
    let on_image = Db::create_device(drive, &format, small()).unwrap();
    let in_directory = Db::open_directory(&directory, small()).unwrap();
    for (path, db) in [(&image, on_image), (&directory, in_directory)] {
        let refused = match path.is_dir() {
            true => Db::open_directory(path, small().read_only(true)).map(drop),
            false => Emulator::open_image(path, Access::ReadOnly).map(drop).map_err(Into::into),
        };
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::InUse);
        let before = bytes_of(path);
        let reader = Db::open_reader(path, small()).unwrap().with_max_age(Duration::ZERO);
        assert_eq!(reader.get(AT).unwrap(), None);
        assert_eq!(bytes_of(path), before, "a reader writes nothing");
        let story = Shared::default();
        let writer = runner::spawn("writer", {
            let (db, story) = (db.clone(), Arc::clone(&story));
            move || write(&db, &story, Load { writes: 3000, pause: Duration::from_micros(400) }, 3)
        });
        let met = Judge::new(reader.clone(), &story, 3).run();
        writer.join();
        assert!(met.views > 1, "{met:?}");
        db.create_key_space("other").unwrap().put(b"key", b"value").unwrap();
        assert_eq!(reader.key_spaces().unwrap(), ["default", "other"]);
        let entries: Vec<_> = reader.scan_key_space("other", ..).unwrap().collect();
        assert_eq!(entries.len(), 1);
        let found = reader.read(|db| db.key_space("other")?.get(b"key")).unwrap();
        assert_eq!(found.as_deref(), Some(&b"value"[..]));
        let error = reader.read(|db| db.put(b"key", b"value")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly);
        db.close().unwrap();
        assert_eq!(reader.multi_get(&[AT, b"none"]).unwrap()[1], None, "without a writer");
    }
}

/// Also if it goes into a block of the log that an earlier view has read.
#[test]
fn each_small_write_is_seen_by_the_next_look() {
    let place = tempfile::tempdir().unwrap();
    let (image, directory) = (place.path().join("drive.img"), place.path().join("store"));
    let drive = Emulator::create_image(&image, small_drive(), Uuid([7; 16])).unwrap().unsynced();
    let drive: Arc<dyn Device> = Arc::new(drive);
    let on_image = Db::create_device(drive, &FormatOptions::default(), small()).unwrap();
    let in_directory = Db::open_directory(&directory, small()).unwrap();
    for (path, db) in [(&image, on_image), (&directory, in_directory)] {
        let db = db.with_durability(Durability::Written);
        let reader = Db::open_reader(path, small()).unwrap().with_max_age(Duration::ZERO);
        for number in 0..50u8 {
            db.put(&[number], b"value").unwrap();
            assert!(reader.get(&[number]).unwrap().is_some(), "write {number} to {path:?}");
        }
        db.close().unwrap();
    }
}

/// Whatever was written to it.
#[test]
fn a_store_that_takes_the_place_of_another_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let in_directory = || Db::open_directory(&path, small()).unwrap();
    for writes in [0, 5, 9] {
        replace(
            in_directory,
            || Db::open_reader(&path, small()).unwrap(),
            writes,
            || {
                std::fs::remove_dir_all(&path).unwrap();
            },
        );
        std::fs::remove_dir_all(&path).unwrap();
        for geometry in [small_drive(), Geometry::plain(ByteCount::mib(16))] {
            let drive: Arc<dyn Device> = Arc::new(Emulator::in_memory(geometry, 1).unwrap());
            let format = FormatOptions::default();
            let on_drive = || Db::create_device(Arc::clone(&drive), &format, small()).unwrap();
            let read = || Reader::on_devices(Arc::clone(&drive), small()).unwrap();
            replace(on_drive, read, writes, || {});
        }
    }
}

/// Makes a store with five writes, and then one with some writes in its place.
fn replace(
    make: impl Fn() -> Db,
    read: impl FnOnce() -> Reader,
    writes: u8,
    remove: impl FnOnce(),
) {
    let write = |db: Db, writes| {
        (0..writes).for_each(|number| db.put(&[number], b"value").unwrap());
        db.close().unwrap();
    };
    write(make(), 5);
    let reader = read();
    assert!(!reader.refresh().unwrap());
    remove();
    write(make(), writes);
    let error = reader.refresh().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
}

/// All bytes at a path.
fn bytes_of(path: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let read = |path: &Path| (path.file_name().unwrap().into(), std::fs::read(path).unwrap());
    if path.is_file() {
        return vec![read(path)];
    }
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.map(|path| read(&path)).collect();
    all.sort();
    all
}

#[test]
fn a_scan_that_goes_on_has_every_key_that_stayed_and_no_value_of_elsewhere() {
    for seed in test_seeds(2) {
        runner::simulate(seed, || {
            let device = Arc::new(Emulator::in_memory(tight_drive(), seed).unwrap());
            let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
            let story = Shared::default();
            write(&db, &story, Load { writes: 600, pause: Duration::ZERO }, seed);
            let reader = Reader::on_devices(device as Arc<dyn Device>, small()).unwrap();
            for backward in [false, true] {
                let begun = story.lock().begun();
                let mut scan = reader.scan(..).unwrap().going_on();
                let mut seen = Vec::new();
                while let Some(entry) = if backward { scan.next_back() } else { scan.next() } {
                    let (key, value) = entry.unwrap();
                    seen.push((key.to_vec(), value.to_vec()));
                    if seen.len() == 20 {
                        overwrite(&db, &story, seed + u64::from(backward));
                    }
                }
                if backward {
                    seen.reverse();
                }
                assert!(seen.is_sorted_by(|one, next| one.0 < next.0));
                let story = story.lock();
                let ever = |key: &Vec<u8>, value: &Vec<u8>| {
                    story.writes.iter().any(|(k, v)| k == key && v.as_ref() == Some(value))
                };
                assert!(seen.iter().all(|(key, value)| key == AT || ever(key, value)));
                let (mut held, seen) = (Contents::new(), seen.into_iter().collect::<Contents>());
                story.advance(&mut held, 0, begun);
                let is_touched =
                    |key: &Vec<u8>| story.writes[begun as usize..].iter().any(|(k, _)| k == key);
                let stayed = held.iter().filter(|(key, _)| !is_touched(key));
                assert!({ stayed }.all(|(key, value)| seen.get(key) == Some(value)));
            }
            db.close().unwrap();
        });
    }
}

/// Bytes of tables that are damaged, in a store that changes before each read of the reader.
#[test]
fn damage_in_a_store_that_changes_all_the_time_is_told_as_damage() {
    runner::simulate(1, || {
        let files = Arc::new(MemoryFiles::new());
        let store = DirStore::open_on(files.clone(), DirOptions::default()).unwrap();
        let db = Db::open(store.clone(), small()).unwrap();
        (0..2000_u32).for_each(|number| db.put(&number.to_be_bytes(), &[7; 100]).unwrap());
        db.flush().unwrap();
        db.compact(..).unwrap();
        for file in db.store().list() {
            let name = format!("{:06}.table", file.id.0);
            let Some(mut bytes) = files.bytes(&name).filter(|bytes| !bytes.is_empty()) else {
                continue;
            };
            bytes[100] ^= 1;
            files.overwrite(&name, bytes);
        }
        let reader = Reader::on_files(files, small()).unwrap();
        let mut tries = 0;
        let found = reader.read(|view| {
            tries += 1;
            db.put(b"key", b"value")?;
            view.get(&0_u32.to_be_bytes())
        });
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Corruption);
        assert_eq!(tries, 2, "a second view decides");
        for goes_on in [false, true] {
            let scan = reader.scan(..).unwrap();
            let mut scan = if goes_on { scan.going_on() } else { scan };
            db.put(b"key", b"value").unwrap();
            let error = scan.next().expect("an entry or an error").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert!(scan.next().is_none());
        }
        db.close().unwrap();
        store.close();
    });
}
