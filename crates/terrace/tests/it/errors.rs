//! Tests of [`Error`](terrace::Error), the one type of error that a user of the library sees: its
//! kind, its text, its source, and the error of the layer below. A drive that fails stops writing,
//! and later errors keep the kind of the first.

use std::error::Error as _;
use std::sync::Arc;

use terrace::device::Access;
use terrace::{
    Batch, ByteCount, Db, DeviceError, Emulator, EngineError, Error, ErrorKind, FormatOptions,
    Geometry, GeometryError, KEY_BYTES_MAX, MemoryStore, Options, StoreError, System,
    VALUE_BYTES_MAX,
};

fn in_memory() -> Db {
    Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap()
}

/// Checks kind and text of an expected error.
fn fails<T>(result: Result<T, impl Into<Error>>, kind: ErrorKind, parts: &[&str]) -> Error {
    let error: Error = result.err().expect("an error").into();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in {text:?}");
    }
    error
}

#[test]
fn a_mistake_of_the_caller_is_told_by_its_kind() {
    let db = in_memory();
    let long = vec![0; KEY_BYTES_MAX + 1];
    fails(db.put(&long, b""), ErrorKind::TooLarge, &["a key of 65536 bytes", "65535"]);
    fails(db.delete(&long), ErrorKind::TooLarge, &["a key of 65536 bytes"]);
    let large = vec![0; VALUE_BYTES_MAX + 1];
    fails(db.put(b"key", &large), ErrorKind::TooLarge, &["a value of 67108865 bytes"]);
    let mut ingest = db.ingest().unwrap();
    ingest.put(b"b", b"").unwrap();
    fails(ingest.put(b"a", b""), ErrorKind::OutOfOrder, &["after \"b\"", "found \"a\""]);
    fails(db.create_key_space(""), ErrorKind::Invalid, &["1 to 255 bytes"]);
    fails(db.drop_key_space("default"), ErrorKind::Invalid, &["always exists"]);
    let target = Arc::clone(db.store());
    fails(db.checkpoint(target), ErrorKind::InUse, &["in use"]);
    let options = Options::default().filter_bits(33);
    let refused = Db::open(Arc::new(MemoryStore::new()), options);
    fails(refused, ErrorKind::Option, &["filter_bits is 33", "0 to 32"]);
    let system = "leveldb:tables=1MiB".parse::<terrace::System>();
    fails(system, ErrorKind::Option, &["expected a system"]);
    fails("12 parsecs".parse::<ByteCount>(), ErrorKind::Invalid, &["12 parsecs"]);
}

#[test]
fn an_option_out_of_its_range_leaves_no_directory() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    let slow = System { level0_slow: Some(9), level0_stop: Some(5), ..System::default() };
    for (options, part) in [
        (Options::default().memory(ByteCount(1)), "memory is 1 B"),
        (Options::default().filter_bits(33), "filter_bits is 33"),
        (Options::default().memtable_size(ByteCount(1)), "memtable_size is 1 B"),
        (Options::default().memory(ByteCount::kib(64)).memtables_max(9), "memtables_max"),
        (Options::default().system(slow), "level0_slow"),
    ] {
        fails(Db::open_directory(&store, options), ErrorKind::Option, &[part]);
        assert!(!store.exists(), "{part}");
    }
    Db::open_directory(&store, Options::default()).unwrap().close().unwrap();
}

#[test]
fn a_key_space_that_is_not_there_is_named_with_what_to_do() {
    let db = in_memory();
    let accounts = db.create_key_space("accounts").unwrap();
    let parts = ["\"acounts\"", "\"default\", \"accounts\"", "`create_key_space`"];
    fails(db.key_space("acounts"), ErrorKind::UnknownKeySpace, &parts);
    assert_eq!(db.key_space("accounts").unwrap().id(), accounts.id());

    let (snapshot, mut ingest) = (db.snapshot(), db.ingest().unwrap());
    assert!(db.drop_key_space("accounts").unwrap());
    let gone = |what: Error| {
        fails(Err::<(), _>(what), ErrorKind::UnknownKeySpace, &["\"accounts\"", "was dropped"]);
    };
    gone(accounts.put(b"key", b"").unwrap_err());
    gone(accounts.delete(b"key").unwrap_err());
    gone(accounts.delete_range(..).unwrap_err());
    gone(accounts.get(b"key").unwrap_err());
    gone(accounts.scan(..).unwrap_err());
    gone(accounts.cursor(..).unwrap_err());
    gone(accounts.compact(..).unwrap_err());
    let then = snapshot.key_space(&accounts).unwrap();
    gone(then.get(b"key").unwrap_err());
    gone(then.scan(..).unwrap_err());
    gone(then.cursor(..).unwrap_err());
    gone(ingest.key_space(&accounts).unwrap().put(b"key", b"").unwrap_err());
    let mut batch = Batch::new();
    batch.key_space(&accounts).put(b"key", b"");
    fails(db.write(batch), ErrorKind::UnknownKeySpace, &["was dropped"]);
}

#[test]
fn the_error_of_the_layer_below_and_its_source_are_kept() {
    let db = in_memory();
    let error = db.put(&[0; KEY_BYTES_MAX + 1], b"").unwrap_err();
    let below = error.get_ref().downcast_ref::<EngineError>();
    let max = KEY_BYTES_MAX;
    assert!(
        matches!(below, Some(EngineError::KeyTooLong { max: m, .. }) if *m == max),
        "{below:?}"
    );

    let image = tempfile::tempdir().unwrap().path().join("none.img");
    let missing = Emulator::open_image(&image, Access::ReadOnly);
    let error = fails(missing, ErrorKind::NotFound, &["none.img"]);
    assert!(error.get_ref().is::<DeviceError>());
    let source = error.source().expect("the error of the operating system");
    assert!(source.to_string().contains("No such file"), "{source}");

    let none = Geometry::uniform(ByteCount(0), 4);
    let error = fails(Emulator::in_memory(none, 1), ErrorKind::Invalid, &[]);
    assert!(error.get_ref().is::<GeometryError>());

    let place = tempfile::tempdir().unwrap();
    let _first = Db::open_directory(place.path(), Options::default()).unwrap();
    let second = Db::open_directory(place.path(), Options::default());
    let error = fails(second, ErrorKind::InUse, &["close or drop the other handle"]);
    assert!(error.get_ref().is::<StoreError>());
}

#[test]
fn a_failed_drive_stops_writing_and_its_kind_is_kept() {
    let drive = Arc::new(Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 48), 1).unwrap());
    let options = Options::fitting(ByteCount::mib(48));
    let db = Db::create_device(drive.clone(), &FormatOptions::default(), options).unwrap();
    db.put(b"key", b"value").unwrap();
    let random = &mut terrace::device::Random::seeded(7);
    drive.power_cut(terrace::device::PowerCut::Blocks, random).unwrap();
    assert!(db.sync().is_err(), "without power");
    let error = fails(db.put(b"key", b"again"), ErrorKind::Stopped, &["stopped taking writes"]);
    assert_eq!(error.origin(), ErrorKind::Io, "{error}");
    assert!(!error.is_space() && !error.is_corruption());
    assert!(db.get(b"key").unwrap().is_some(), "reads still work");
    let same = error.clone();
    assert_eq!(same.to_string(), error.to_string());
}
