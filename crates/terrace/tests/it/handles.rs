//! Handles know their store. A key space of another store, or of an earlier opening, is refused. A
//! store is open for writing once, within a process and between two, by any path, and its files are
//! those of the directory that was opened. Remaining handles of a closed store return the error
//! that it is closed.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace::{
    Batch, ByteCount, Db, Durability, Error, ErrorKind, Event, FormatOptions, Listener,
    MemoryStore, Options,
};
use terrace_env::Uuid;
use terrace_env::runner;
use terrace_env::store::StoreError;
use terrace_env::sync::Mutex;
use terrace_fs::{Access, Fs, MountOptions};
use terrace_zone::{Access as ImageAccess, DeviceError, Emulator, Geometry};

use crate::devices::{contents, drive, options};

/// Small tables, so that a few hundred entries are in several of them.
fn small() -> Options {
    options().memory(ByteCount::mib(8))
}

fn in_memory() -> Db {
    Db::open(Arc::new(MemoryStore::new()), small()).unwrap()
}

fn is_other_store<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.expect_err("a key space of another store");
    assert_eq!(error.kind(), ErrorKind::OtherStore, "{error}");
    assert!(error.to_string().contains("\"space\" belongs to another store"), "{error}");
}

fn is_in_use<T>(result: Result<T, Error>) {
    let error = result.err().expect("a second opening is refused");
    let text = error.to_string();
    assert!(text.contains("is in use"), "{text}");
}

fn is_closed<T>(what: &str, result: Result<T, Error>) {
    match result {
        Err(error) => assert!(error.to_string() == "the store has been closed", "{what}: {error}"),
        Ok(_) => panic!("{what}: works though the store has been closed"),
    }
}

#[test]
fn a_key_space_of_one_store_is_refused_by_another() {
    let (one, two) = (in_memory(), in_memory());
    let (foreign, own) =
        (one.create_key_space("space").unwrap(), two.create_key_space("own").unwrap());
    assert_eq!(foreign.id(), own.id(), "so that the number alone would not tell");
    own.put(b"key", b"own").unwrap();

    let mut batch = Batch::new();
    batch.put(b"key", b"value");
    batch.key_space(&foreign).put(b"key", b"foreign");
    is_other_store(two.write(batch.clone()));
    is_other_store(two.write_with(batch.clone(), Durability::Synced));
    one.write(batch.clone()).unwrap();
    batch.clear();
    batch.key_space(&own).put(b"other", b"own");
    two.write(batch).unwrap();
    // Key spaces of two stores in one batch: neither takes it, as a whole.
    let mut batch = Batch::new();
    batch.key_space(&foreign).delete(b"key");
    batch.key_space(&own).delete_range(..);
    let error = one.write(batch.clone()).expect_err("a batch of two stores");
    assert!(error.to_string().contains("\"own\" belongs to another store"), "{error}");
    is_other_store(two.write(batch));

    let snapshot = two.snapshot();
    is_other_store(snapshot.key_space(&foreign));
    let mut ingest = two.ingest().unwrap();
    is_other_store(ingest.key_space(&foreign));
    ingest.key_space(&own).unwrap().put(b"key", b"ingested").unwrap();
    assert_eq!(ingest.finish().unwrap().entries, 1);

    assert!(two.get(b"key").unwrap().is_none(), "nothing of a refused batch is there");
    assert_eq!(own.get(b"key").unwrap().as_deref(), Some(&b"ingested"[..]));
    assert_eq!(own.get(b"other").unwrap().as_deref(), Some(&b"own"[..]));
    assert_eq!(foreign.get(b"key").unwrap().as_deref(), Some(&b"foreign"[..]));
}

#[test]
fn a_key_space_of_an_earlier_opening_is_refused() {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), small()).unwrap();
    let old = db.create_key_space("space").unwrap();
    db.close().unwrap();
    let db = Db::open(store, small()).unwrap();
    let mut batch = Batch::new();
    batch.key_space(&old).put(b"key", b"value");
    is_other_store(db.write(batch));
    is_closed("its own put", old.put(b"key", b"value"));
    db.key_space("space").unwrap().put(b"key", b"value").unwrap();
}

/// Place of a store, and how it is opened there.
enum Place {
    Memory(Arc<MemoryStore>),
    Device(Arc<Emulator>),
    Directory(tempfile::TempDir),
}

impl Place {
    fn all() -> [Self; 3] {
        let device = drive(ByteCount::mib(1), 48, 7);
        Fs::format(device.clone(), &FormatOptions::default()).unwrap();
        [
            Self::Memory(Arc::default()),
            Self::Device(device),
            Self::Directory(tempfile::tempdir().unwrap()),
        ]
    }

    fn open(&self, options: Options) -> Result<Db, Error> {
        match self {
            Self::Memory(store) => Db::open(store.clone(), options),
            Self::Device(device) => Db::open_device(device.clone(), options),
            Self::Directory(directory) => Db::open_directory(directory.path(), options),
        }
    }
}

#[test]
fn one_store_is_open_once_in_a_process() {
    for place in Place::all() {
        let reading = || small().read_only(true);
        let db = place.open(small()).unwrap();
        is_in_use(place.open(small()));
        is_in_use(place.open(reading()));
        db.put(b"key", b"value").unwrap();
        db.sync().unwrap();
        let (scan, snapshot, space) = (db.scan(..).unwrap(), db.snapshot(), db.clone());
        db.close().unwrap();
        // The closed store is free now, even with remaining handles: for one writer or many
        // readers.
        let readers = [place.open(reading()).unwrap(), place.open(reading()).unwrap()];
        is_in_use(place.open(small()));
        let [first, second] = readers;
        first.close().unwrap();
        is_in_use(place.open(small()));
        drop(second);
        let again = place.open(small()).unwrap();
        assert_eq!(again.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
        // Dropped without a close, with an open scan.
        let left = again.scan(..).unwrap();
        drop(again);
        let last = place.open(small()).unwrap();
        last.put(b"key", b"another").unwrap();
        drop((scan, snapshot, space, left));
        is_in_use(place.open(small()));
    }
}

#[test]
fn a_panic_gives_the_store_up() {
    for place in Place::all() {
        let place = Arc::new(place);
        let of = Arc::clone(&place);
        let panicked = terrace_env::runner::spawn("panics", move || {
            let db = of.open(small()).unwrap();
            db.write_with(batch(b"key"), Durability::Synced).unwrap();
            let _scan = db.scan(..).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.try_join().is_err());
        let db = place.open(small()).expect("a store that nobody has open");
        assert!(db.get(b"key").unwrap().is_some());
    }
}

fn batch(key: &[u8]) -> Batch {
    let mut batch = Batch::new();
    batch.put(key, b"value");
    batch
}

#[test]
fn a_mounted_device_is_neither_mounted_nor_formatted_again() {
    let device = drive(ByteCount::mib(1), 48, 7);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), small()).unwrap();
    let format = || Db::create_device(device.clone(), &FormatOptions::default(), small());
    is_in_use(format());
    is_in_use(db.checkpoint_device(device.clone(), &FormatOptions::default()));
    // The mounted file system is one store, too.
    is_in_use(Db::open(Arc::clone(db.fs().unwrap()) as _, small()));
    is_in_use(db.checkpoint(Arc::clone(db.store())));
    let fs = Arc::clone(db.fs().unwrap());
    drop(db);
    let mount = |access| Fs::mount(device.clone(), &MountOptions { access, ..Default::default() });
    let mounted = mount(Access::ReadWrite).expect("a device that nobody has mounted");
    for access in [Access::ReadWrite, Access::ReadOnly] {
        assert!(matches!(mount(access), Err(StoreError::InUse(_))));
    }
    drop((mounted, fs));
    drop(format().unwrap());
}

#[test]
fn one_image_is_open_once_by_whatever_path() {
    let directory = tempfile::tempdir().unwrap();
    let [image, hard, soft] = ["image", "hard", "soft"].map(|name| directory.path().join(name));
    let geometry = Geometry::uniform(ByteCount::mib(1), 48);
    let device = Arc::new(Emulator::create_image(&image, geometry, Uuid([7; 16])).unwrap());
    std::fs::hard_link(&image, &hard).unwrap();
    symlink(&image, &soft).unwrap();
    let db = Db::create_device(device, &FormatOptions::default(), small()).unwrap();
    db.write_with(batch(b"key"), Durability::Synced).unwrap();
    for path in [&image, &hard, &soft] {
        for access in [ImageAccess::ReadWrite, ImageAccess::ReadOnly] {
            let refused = Emulator::open_image(path, access);
            assert!(matches!(refused, Err(DeviceError::InUse { .. })), "{refused:?}");
        }
    }
    assert!(!in_another_process(&image), "another process opened the image");
    // Handles that are left do not keep the image, and neither do reads in flight.
    fill(&db);
    let (clone, left) = (db.clone(), Left::of(&db));
    db.close().unwrap();
    assert!(in_another_process(&image), "another process is refused the closed image");
    for path in [&image, &hard, &soft] {
        let device = Arc::new(Emulator::open_image(path, ImageAccess::ReadWrite).unwrap());
        let db = Db::open_device(device, small()).unwrap();
        assert!(db.get(b"key").unwrap().is_some());
    }
    check_clone(&clone);
    left.check();
}

#[test]
fn one_directory_is_open_once_by_whatever_path() {
    let place = tempfile::tempdir().unwrap();
    let [directory, soft] = ["directory", "soft"].map(|name| place.path().join(name));
    let db = Db::open_directory(&directory, small()).unwrap();
    symlink(&directory, &soft).unwrap();
    for path in [&directory, &soft, &directory.join("../directory")] {
        is_in_use(Db::open_directory(path, small()));
    }
    assert!(!in_another_process(&directory), "another process opened the directory");
    let scan = db.scan(..).unwrap();
    db.close().unwrap();
    assert!(in_another_process(&directory), "another process is refused the closed directory");
    drop(scan);
}

/// Variable with the store that the test below opens as the other process.
const OTHER_PROCESS: &str = "TERRACE_TEST_OPEN";

/// Whether another process can open a store.
fn in_another_process(path: &Path) -> bool {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "handles::the_other_process_opens_a_store"])
        .env(OTHER_PROCESS, path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    status.unwrap().success()
}

/// Run by [`in_another_process`]; without it, the test does nothing.
#[test]
fn the_other_process_opens_a_store() {
    let Some(path) = std::env::var_os(OTHER_PROCESS).map(PathBuf::from) else { return };
    let db = if path.is_dir() {
        Db::open_directory(path, small())
    } else {
        let device = Emulator::open_image(path, ImageAccess::ReadWrite).unwrap();
        Db::open_device(Arc::new(device), small())
    };
    db.unwrap().close().unwrap();
}

#[test]
fn what_is_left_of_a_closed_store_says_that_it_is_closed() {
    for place in Place::all() {
        for dropped in [false, true] {
            let db = place.open(small()).unwrap();
            fill(&db);
            let clone = (!dropped).then(|| db.clone());
            let left = Left::of(&db);
            if dropped {
                drop(db)
            } else {
                db.close().unwrap()
            }
            // Later writes free, reset and reuse the space of earlier ones.
            let next = place.open(small()).unwrap();
            next.delete_range(..).unwrap();
            fill(&next);
            next.compact_all().unwrap();
            next.wait_idle().unwrap();
            left.check();
            if let Some(clone) = clone {
                check_clone(&clone);
                is_closed("creating a key space", clone.create_key_space("new"));
                clone.close().expect("closing it again does nothing");
            }
            next.verify().unwrap();
        }
    }
}

fn fill(db: &Db) {
    for number in 0..3000_u32 {
        db.put(&number.to_be_bytes(), &[number as u8; 100]).unwrap();
    }
    db.flush().unwrap();
}

/// Handles of a store that are not the store.
struct Left {
    /// Three scans: one that has not begun, one in the middle, one at its back.
    scans: [terrace::Scan; 3],
    cursor: terrace::Cursor,
    snapshot: terrace::Snapshot,
    ingests: [terrace::Ingest; 2],
}

impl Left {
    fn of(db: &Db) -> Self {
        let [fresh, mut middle, mut back] = [(); 3].map(|()| db.scan(..).unwrap());
        assert!(middle.advance().unwrap() && back.advance_back().unwrap());
        let mut cursor = db.cursor(..).unwrap();
        assert!(cursor.seek(&1000_u32.to_be_bytes()).unwrap());
        let mut begun = db.ingest().unwrap();
        begun.put(b"a", &[1; 1000]).unwrap();
        let ingests = [begun, db.ingest().unwrap()];
        Self { scans: [fresh, middle, back], cursor, snapshot: db.snapshot(), ingests }
    }

    fn check(self) {
        let Self { scans, mut cursor, snapshot, ingests } = self;
        for mut scan in scans {
            is_closed("a scan", scan.advance());
            assert!(scan.next().is_none(), "a scan ends after its first error");
        }
        is_closed("next", cursor.next());
        assert!(!cursor.is_on_key());
        is_closed("prev", cursor.prev());
        is_closed("seek", cursor.seek(b"a"));
        is_closed("seek_back", cursor.seek_back(b"a"));
        is_closed("seek_to_first", cursor.seek_to_first());
        is_closed("seek_to_last", cursor.seek_to_last());
        is_closed("get of a snapshot", snapshot.get(b"a"));
        is_closed("scan of a snapshot", snapshot.scan(..));
        is_closed("cursor of a snapshot", snapshot.cursor(..));
        for mut ingest in ingests {
            is_closed("put of an ingest", ingest.put(b"b", b"value"));
            is_closed("finish of an ingest", ingest.finish());
        }
    }
}

fn check_clone(db: &Db) {
    is_closed("put", db.put(b"a", b"value"));
    is_closed("delete", db.delete(b"a"));
    is_closed("delete_range", db.delete_range(..));
    is_closed("an empty batch", db.write(Batch::new()));
    is_closed("sync", db.sync());
    is_closed("get", db.get(b"a"));
    is_closed("scan", db.scan(..));
    is_closed("cursor", db.cursor(..));
    is_closed("snapshot", db.snapshot().get(b"a"));
    is_closed("flush", db.flush());
    is_closed("compact", db.compact(..));
    is_closed("compact_all", db.compact_all());
    is_closed("wait_idle", db.wait_idle());
    is_closed("resume", db.resume());
    is_closed("verify", db.verify());
    is_closed("ingest", db.ingest());
    is_closed("checkpoint", db.checkpoint(Arc::new(MemoryStore::new())));
    is_closed("drop_key_space", db.drop_key_space("none"));
}

#[test]
fn a_directory_that_is_renamed_keeps_its_files_when_another_store_takes_its_name() {
    let place = tempfile::tempdir().unwrap();
    let (path, moved) = (place.path().join("store"), place.path().join("moved"));
    let fill = |db: &Db, value: &[u8]| {
        (0..500_u32).for_each(|number| db.put(&number.to_be_bytes(), value).unwrap());
        db.flush().unwrap();
        db.compact(..).unwrap();
    };
    let first = Db::open_directory(&path, small()).unwrap();
    fill(&first, b"one");
    std::fs::rename(&path, &moved).unwrap();
    let second = Db::open_directory(&path, small()).unwrap();
    fill(&first, b"two");
    fill(&second, b"three");
    fill(&first, b"four");
    first.close().unwrap();
    second.close().unwrap();
    for (path, value) in [(&moved, &b"four"[..]), (&path, b"three")] {
        let db = Db::open_directory(path, small()).unwrap();
        db.verify().unwrap();
        let found = contents(&db);
        assert!(found.len() == 500 && found.values().all(|found| found == value), "{path:?}");
        db.close().unwrap();
    }
}

/// Drops a handle when a job ends, once it is the last one.
#[derive(Default)]
struct DropsHandle {
    handle: Mutex<Option<Db>>,
    is_last: AtomicBool,
}

impl Listener for DropsHandle {
    fn notice(&self, event: &Event) {
        if !matches!(event, Event::Ended { .. }) {
            return;
        }
        while !self.is_last.load(Ordering::Relaxed) {
            runner::sleep(Duration::from_millis(1));
        }
        let handle = self.handle.lock().take();
        drop(handle);
    }
}

#[test]
fn the_last_handle_may_be_dropped_by_a_listener() {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(Arc::clone(&store) as _, small()).unwrap();
    let listener = Arc::new(DropsHandle::default());
    db.listen(Arc::clone(&listener) as _);
    *listener.handle.lock() = Some(db.clone());
    // More than a memtable.
    for number in 0..40_u32 {
        db.put(&number.to_be_bytes(), &[7; 10_000]).unwrap();
    }
    drop(db);
    listener.is_last.store(true, Ordering::Relaxed);
    let again = (0..10_000).find_map(|_| {
        runner::sleep(Duration::from_millis(1));
        Db::open(Arc::clone(&store) as _, small()).ok()
    });
    assert_eq!(contents(&again.expect("the store is released")).len(), 40);
}
