//! The live window, from both sides in one process: a client sees the data of the store, and no
//! client can stop the store.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use terrace::fs::NewFile;
use terrace::live::{Happening, Live, Overview};
use terrace::{
    Bounds, ByteCount, Db, Emulator, ErrorKind, FormatOptions, Geometry, MemoryStore, Options,
    Store, TableComparison,
};
use terrace_env::store::{Failure, FileKind, PlacementHint, Rank};
use terrace_env::{Uuid, runner};

use crate::devices::options;

/// Times that an event is looked for, each after a pause of 10 ms.
const LOOKS: u32 = 12_000;

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        runner::sleep(Duration::from_millis(10));
    }
    panic!("{what}: did not come");
}

/// A store in a directory, with a window.
fn directory() -> (tempfile::TempDir, Db) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let db = Db::open_directory(&path, options().live(&path)).unwrap();
    assert_eq!(db.live_socket().unwrap().unwrap(), path.canonicalize().unwrap().join("LIVE"));
    (place, db)
}

/// A store on an image of this name.
fn image(path: &Path) -> Db {
    let geometry = Geometry::uniform(ByteCount::mib(1), 32);
    let drive = Emulator::create_image(path, geometry, Uuid([7; 16])).unwrap().unsynced();
    Db::create_device(
        Arc::new(drive) as Arc<dyn terrace::Device>,
        &FormatOptions::default(),
        options().live(path),
    )
    .unwrap()
}

fn connect(path: &Path) -> Live {
    Live::connect(path).unwrap().expect("a window")
}

fn socket(db: &Db) -> PathBuf {
    db.live_socket().expect("a window was asked for").expect("a window").to_owned()
}

#[test]
fn a_client_sees_what_the_store_has() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("drive.img");
    let db = image(&path);
    let large = vec![7; 3 << 20];
    for number in 0..2000u32 {
        db.put(format!("key{number:05}").as_bytes(), &[number as u8; 100]).unwrap();
    }
    db.put(b"large", &large).unwrap();
    let other = db.create_key_space("other").unwrap();
    other.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    db.wait_idle().unwrap();

    let mut live = connect(&path);
    assert_eq!(live.owner().pid, std::process::id());
    let snapshot = live.snapshot(0).unwrap();
    let here = Overview::of(&db).unwrap();
    assert_eq!(snapshot.overview.stats.sequence, here.stats.sequence);
    assert_eq!(snapshot.overview.stats.levels, here.stats.levels);
    assert_eq!(snapshot.overview.key_spaces, ["default", "other"]);
    assert_eq!(snapshot.overview.system, db.system().to_string());
    assert_eq!(snapshot.overview.geometry, Some(db.fs().unwrap().geometry().clone()));
    let ended = |happening: &Happening| matches!(happening, Happening::Ended { .. });
    assert!(snapshot.events.iter().any(|event| ended(&event.event)), "{:?}", snapshot.events);
    let last = snapshot.events.last().unwrap().number;
    // The event of a job's end may come after the store is idle.
    let later = live.snapshot(last).unwrap().events;
    assert!(later.iter().all(|event| event.number > last), "{later:?}");
    let map = live.zone_map().unwrap();
    assert_eq!(map.zones, db.fs().unwrap().zones().unwrap());

    assert_eq!(live.get("default", b"large").unwrap().unwrap(), large);
    assert_eq!(live.get("default", b"none").unwrap(), None);
    assert_eq!(live.get("other", b"k").unwrap().as_deref(), Some(&b"v"[..]));
    let error = live.get("nowhere", b"k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownKeySpace);
    assert!(error.to_string().contains("\"nowhere\""), "{error}");
    assert_eq!(live.get("other", b"k").unwrap().as_deref(), Some(&b"v"[..]), "it goes on");

    for reverse in [false, true] {
        let scan = connect(&path).scan("default", Bounds::all(), reverse, u64::MAX, true).unwrap();
        let found: Vec<_> = scan.map(|entry| entry.unwrap()).collect();
        let found = found.into_iter().map(|entry| (entry.key, entry.value.unwrap()));
        let expected = db.scan(..).unwrap().map(Result::unwrap);
        match reverse {
            false => assert!(found.eq(expected)),
            true => assert!(found.eq(db.scan(..).unwrap().rev().map(Result::unwrap))),
        }
    }
    let bounds = Bounds::starting_at(b"key00010").until(b"key00020");
    let scan = connect(&path).scan("default", bounds, false, 3, false).unwrap();
    let found: Vec<_> = scan.map(|entry| entry.unwrap()).collect();
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0].key[..], found[0].size), (&b"key00010"[..], 100));
    assert_eq!(found[0].value, None);
    db.close().unwrap();
}

#[test]
fn a_checkpoint_through_the_window_is_the_store_of_one_moment_while_it_is_written() {
    let (_place, db) = directory();
    let path = socket(&db).parent().unwrap().to_owned();
    for number in 0..3000u32 {
        db.put(format!("key{number:05}").as_bytes(), &[3; 200]).unwrap();
    }
    let hint = PlacementHint::default();
    let (kind, rank) = (FileKind::Client, Rank::Log);
    let new = NewFile { kind, hint, size: None, rank, modified: 0 };
    let mut file = db.files().begin(&new).unwrap();
    file.append(b"bytes").unwrap();
    db.files().publish(&mut *file, &["a"], &new).unwrap();
    drop(file);
    let writer = db.clone();
    let writing = runner::spawn("writer", move || {
        for number in 3000..6000u32 {
            writer.put(format!("key{number:05}").as_bytes(), &[3; 200]).unwrap();
        }
    });
    let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (mut done, mut all) = (ByteCount(0), ByteCount(0));
    let copied = connect(&path).checkpoint(&target, &mut |so_far, total| {
        (done, all) = (so_far, total);
    });
    let copied = copied.unwrap();
    writing.join();
    assert!(copied.tables > 0 && done == all && done == copied.bytes, "{copied:?} {done} {all}");
    assert_eq!((copied.left_files, copied.left_bytes), (1, ByteCount(5)));
    let copy = Db::open(target, options()).unwrap();
    copy.verify().unwrap();
    let count = copy.scan(..).unwrap().count();
    assert!((3000..=6000).contains(&count), "{count}");
    for (number, entry) in copy.scan(..).unwrap().enumerate() {
        assert_eq!(entry.unwrap().0, format!("key{number:05}"), "a prefix of the writes");
    }
    // A target that is not empty is refused, and the connection can be used again.
    let taken: Arc<dyn Store> = Arc::clone(copy.store());
    let mut live = connect(&path);
    assert_eq!(live.checkpoint(&taken, &mut |_, _| {}).unwrap_err().kind(), ErrorKind::InUse);
    copy.close().unwrap();
    let error = live.checkpoint(&taken, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
    assert!(live.snapshot(0).is_ok());
    db.close().unwrap();
}

/// Whatever operation of the target fails.
#[test]
fn a_copy_to_a_target_that_fails_leaves_the_connection_as_it_was() {
    let (_place, db) = directory();
    (0..2000u32).for_each(|key| db.put(&key.to_be_bytes(), &[3; 200]).unwrap());
    let mut live = connect(socket(&db).parent().unwrap());
    for comparison in [None, Some(TableComparison::Whole)] {
        for number in 0.. {
            let memory = Arc::new(MemoryStore::new());
            memory.fail_at(number, Failure::Once);
            let target: Arc<dyn Store> = memory.clone();
            let copied = match comparison {
                None => live.checkpoint(&target, &mut |_, _| {}).map(drop),
                Some(comparison) => live.backup(&target, comparison, &mut |_, _| {}).map(drop),
            };
            let next = live.snapshot(0);
            assert!(next.is_ok(), "{comparison:?}, operation {number}: {copied:?}");
            if memory.operations() <= number {
                copied.unwrap();
                assert!(number > 3, "{number} operations");
                break;
            }
        }
    }
    db.close().unwrap();
}

#[test]
fn a_backup_through_the_window_copies_only_new_tables() {
    let (_place, db) = directory();
    let path = socket(&db).parent().unwrap().to_owned();
    let put = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            db.put(format!("key{number:05}").as_bytes(), &[3; 200]).unwrap();
        }
    };
    // On a store of many files, each with an annotation, whose description takes several frames.
    let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut live = connect(&path);
    for (round, comparison) in [
        TableComparison::Ends,
        TableComparison::Ends,
        TableComparison::Whole,
        TableComparison::Whole,
    ]
    .into_iter()
    .enumerate()
    {
        let from = round as u32 * 4000;
        put(from..from + 4000);
        let (mut done, mut all) = (ByteCount(0), ByteCount(0));
        let copied = live.backup(&target, comparison, &mut |so_far, total| {
            (done, all) = (so_far, total);
        });
        let copied = copied.unwrap();
        assert!(done == all && done == copied.bytes, "{copied:?} {done} {all}");
        assert_eq!(copied.kept_tables > 0, round > 0, "{copied:?}");
        let copy = Db::open(Arc::clone(&target), options().read_only(true)).unwrap();
        copy.verify().unwrap();
        assert!(
            copy.scan(..).unwrap().map(Result::unwrap).eq(db.scan(..).unwrap().map(Result::unwrap))
        );
        copy.close().unwrap();
    }
    let again = live.backup(&target, TableComparison::Whole, &mut |_, _| {}).unwrap();
    assert_eq!(again.kept_tables, again.tables);
    let copy = Db::open(Arc::clone(&target), options()).unwrap();
    copy.close().unwrap();
    let error = live.backup(&target, TableComparison::Ends, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TargetNotEmpty, "{error}");
    assert!(live.snapshot(0).is_ok());
    db.close().unwrap();
}

#[test]
fn latencies_are_told_to_those_who_look() {
    let (_place, db) = directory();
    let mut live = connect(socket(&db).parent().unwrap());
    live.snapshot(0).unwrap();
    for number in 0..200u32 {
        db.put(&number.to_le_bytes(), b"value").unwrap();
        db.get(&number.to_le_bytes()).unwrap();
    }
    let latencies = live.snapshot(0).unwrap().latencies;
    assert!(latencies.writes.measured > 0 && latencies.gets.measured > 0, "{latencies:?}");
    db.close().unwrap();
}

#[test]
fn the_socket_has_the_rights_of_the_stores_file_and_ends_with_the_store() {
    let place = tempfile::tempdir().unwrap();
    for (name, mode, expected) in
        [("a.img", 0o600, 0o600), ("b.img", 0o640, 0o660), ("c.img", 0o644, 0o666)]
    {
        let path = place.path().join(name);
        image(&path).close().unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let drive = Emulator::open_image(&path, terrace::device::Access::ReadWrite).unwrap();
        let drive: Arc<dyn terrace::Device> = Arc::new(drive.unsynced());
        let db = Db::open_device(drive, options().live(&path)).unwrap();
        let found = std::fs::metadata(socket(&db)).unwrap();
        let file = std::fs::metadata(&path).unwrap();
        assert!(found.file_type().is_socket());
        assert_eq!(found.mode() & 0o777, expected, "{name}");
        assert_eq!((found.uid(), found.gid()), (file.uid(), file.gid()));
        let socket = socket(&db);
        assert_eq!(socket.file_name().unwrap().to_str().unwrap(), format!("{name}.live"));
        db.close().unwrap();
        assert!(!socket.exists(), "{socket:?}");
        assert!(Live::connect(&path).unwrap().is_none());
    }
}

#[test]
fn no_path_is_too_long_for_a_window() {
    let place = tempfile::tempdir().unwrap();
    let deep = (0..6).fold(place.path().to_owned(), |path, _| path.join("d".repeat(60)));
    std::fs::create_dir_all(&deep).unwrap();
    // The second name is too long for an ending: its socket is elsewhere.
    for length in [40, 253] {
        let path = deep.join("n".repeat(length));
        let db = image(&path);
        db.put(b"key", b"value").unwrap();
        let found = connect(&path).get("default", b"key").unwrap();
        assert_eq!(found.as_deref(), Some(&b"value"[..]));
        assert_eq!(socket(&db).starts_with(deep.canonicalize().unwrap()), length < 250);
        // Through a link, too.
        let link = place.path().join(format!("link{length}"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Live::connect(&link).unwrap().is_some());
        db.close().unwrap();
    }
}

#[test]
fn a_stale_socket_is_replaced_and_another_file_is_not() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    Db::open_directory(&path, options()).unwrap().close().unwrap();
    // Dropped without a message, like by a kill.
    drop(std::os::unix::net::UnixListener::bind(path.join("LIVE")).unwrap());
    assert!(Live::connect(&path).unwrap().is_none(), "no process listens");
    let db = Db::open_directory(&path, options().live(&path)).unwrap();
    assert!(connect(&path).snapshot(0).is_ok());
    db.close().unwrap();
    std::fs::write(path.join("LIVE"), b"mine").unwrap();
    let db = Db::open_directory(&path, options().live(&path)).unwrap();
    let error = db.live_socket().unwrap().unwrap_err();
    assert!(error.to_string().contains("expected a socket or nothing, found a file"), "{error}");
    db.put(b"the store", b"is open").unwrap();
    db.close().unwrap();
    assert_eq!(std::fs::read(path.join("LIVE")).unwrap(), b"mine");
}

#[test]
fn a_store_ends_while_clients_look_and_each_is_told() {
    let (place, db) = directory();
    let path = place.path().join("store");
    for number in 0..5000u32 {
        db.put(format!("key{number:05}").as_bytes(), &[5; 1000]).unwrap();
    }
    let mut idle = connect(&path);
    idle.snapshot(0).unwrap();
    let mut scan = connect(&path).scan("default", Bounds::all(), false, u64::MAX, true).unwrap();
    scan.next().unwrap().unwrap();
    // Dropped, not closed: the clients do not hold it.
    drop(db);
    assert_eq!(idle.snapshot(0).unwrap_err().kind(), ErrorKind::Closed);
    let last = scan.last().unwrap();
    assert_eq!(last.unwrap_err().kind(), ErrorKind::Closed);
    let db = Db::open_directory(&path, options().live(&path)).unwrap();
    assert_eq!(db.scan(..).unwrap().count(), 5000);
    assert!(connect(&path).snapshot(0).is_ok());
    db.close().unwrap();
}

#[test]
fn clients_that_send_anything_or_nothing_do_the_store_no_harm() {
    let (_place, db) = directory();
    let socket = socket(&db);
    let path = socket.parent().unwrap().to_owned();
    let junk: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 64],
        &[0; 64],
        // A greeting of another version, and a request without a greeting.
        &[10, 0, 0, 0, 0, b'T', b'E', b'R', b'R', b'L', b'I', b'V', b'E', 9, 0],
        &[1, 0, 0, 0, 1, 2],
    ];
    for bytes in junk {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // It is disconnected; perhaps before it has written everything.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 1000, "{bytes:?}");
        db.put(b"key", bytes).unwrap();
    }
    // Silent clients take all places; one more gets an error, and there is a place when they have
    // gone.
    let silent: Vec<_> = (0..8).map(|_| connect(&path)).collect();
    let error = wait_for("a refusal", || Live::connect(&path).err());
    assert!(error.to_string().contains("at most 8 programs"), "{error}");
    db.put(b"key", b"value").unwrap();
    drop(silent);
    wait_for("room", || Live::connect(&path).ok().flatten());
    db.close().unwrap();
}

#[test]
fn a_store_offers_a_window_only_where_it_is_asked_for_and_may_be_written() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    let db = Db::open_directory(&path, options()).unwrap();
    assert!(db.live_socket().is_none() && Live::connect(&path).unwrap().is_none());
    db.close().unwrap();
    let db = Db::open_directory(&path, options().read_only(true).live(&path)).unwrap();
    assert!(db.live_socket().is_none() && !path.join("LIVE").exists());
    db.close().unwrap();
    runner::simulate(1, || {
        let store = Arc::new(MemoryStore::new());
        let db = Db::open(store, Options::default().live(&path)).unwrap();
        assert!(db.live_socket().is_none() && !path.join("LIVE").exists());
        db.close().unwrap();
    });
    assert!(Live::connect(place.path().join("none")).unwrap().is_none());
    // A place that does not exist: the store opens, and reports why there is no window.
    let db = Db::open(Arc::new(MemoryStore::new()), options().live("/none/such")).unwrap();
    assert_eq!(db.live_socket().unwrap().unwrap_err().kind(), ErrorKind::NotFound);
    db.close().unwrap();
}

#[test]
fn a_store_that_was_moved_does_not_take_the_socket_of_its_successor() {
    let (place, old) = directory();
    let (path, moved) = (place.path().join("store"), place.path().join("moved"));
    std::fs::rename(&path, &moved).unwrap();
    let new = Db::open_directory(&path, options().live(&path)).unwrap();
    new.put(b"key", b"new").unwrap();
    old.put(b"key", b"old").unwrap();
    assert_eq!(connect(&moved).get("default", b"key").unwrap().as_deref(), Some(&b"old"[..]));
    old.close().unwrap();
    assert_eq!(connect(&path).get("default", b"key").unwrap().as_deref(), Some(&b"new"[..]));
    assert!(!moved.join("LIVE").exists(), "a socket is left in the directory that was moved");
    new.close().unwrap();
    assert!(!path.join("LIVE").exists());

    let (path, moved) = (place.path().join("drive.img"), place.path().join("moved.img"));
    let old = image(&path);
    std::fs::rename(&path, &moved).unwrap();
    let new = image(&path);
    old.close().unwrap();
    assert!(connect(&path).get("default", b"key").unwrap().is_none());
    new.close().unwrap();
    assert!(!place.path().join("drive.img.live").exists());
}
