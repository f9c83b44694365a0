//! A store remembers the options that shape its tables, so that no later opening changes them by
//! accident: a compaction keeps the compression, an opening that states another one is refused, and
//! a requested change survives the process.

use std::sync::Arc;

use terrace::{
    ByteCount, Compression, Db, ErrorKind, FormatOptions, LevelCompression, MemoryStore, Options,
    TableOptions,
};
use terrace_env::random::Random;
use terrace_env::store::CrashMode;

use crate::devices::drive;

const KEYS: u32 = 2000;
/// Keys and values, which compress to a tenth of their size or less.
const PLAIN: u64 = KEYS as u64 * 500;

/// Overwrites all keys, and merges everything into one run.
fn rewrite(db: &Db, round: u8) {
    for key in 0..KEYS {
        db.put(&key.to_be_bytes(), &[round; 500]).unwrap();
    }
    db.flush().unwrap();
    db.compact_all().unwrap();
}

fn table_bytes(db: &Db) -> u64 {
    db.stats().levels.iter().map(|level| level.bytes).sum()
}

fn is_compressed(db: &Db) -> bool {
    let bytes = table_bytes(db);
    assert!(!(PLAIN / 5..=PLAIN).contains(&bytes), "{bytes} of {PLAIN}");
    bytes < PLAIN / 5
}

fn usual() -> Options {
    Options::default().memory(ByteCount::mib(8)).memtable_size(ByteCount::kib(256))
}

fn all() -> TableOptions {
    TableOptions {
        block_size: Some(ByteCount::kib(16)),
        compression: Some(LevelCompression::MIXED),
        filter_bits: Some(0),
        first_keys: Some(true),
    }
}

#[test]
fn a_compaction_by_a_later_opening_without_options_keeps_the_compression() {
    let device = drive(ByteCount::mib(1), 64, 1);
    let options = usual().compression(Compression::Lz4);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options).unwrap();
    rewrite(&db, 1);
    assert!(is_compressed(&db));
    db.close().unwrap();

    let db = Db::open_device(device, usual()).unwrap();
    let remembered = db.table_options();
    assert_eq!(remembered.compression, Some(Compression::Lz4.into()));
    assert_eq!((remembered.filter_bits, remembered.block_size), (None, None));
    rewrite(&db, 2);
    assert!(is_compressed(&db));
    db.close().unwrap();
}

#[test]
fn an_opening_that_states_other_options_is_refused_and_the_store_stays_as_it_was() {
    let store = Arc::new(MemoryStore::new());
    Db::open(store.clone(), usual().with_tables(all())).unwrap().close().unwrap();
    let others = [
        (usual().compression(Compression::Lz4), "compression is lz4: expected mixed"),
        (usual().filter_bits(10), "filter_bits is 10: expected 0"),
        (usual().block_size(ByteCount::kib(4)), "block_size is 4 KiB: expected 16 KiB"),
        (usual().first_keys(false), "first_keys is off: expected on"),
    ];
    for (options, text) in others {
        let error = Db::open(store.clone(), options.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Option);
        let found = error.to_string();
        assert!(found.starts_with(text) && found.contains("`set_table_options`"), "{found}");
        // It makes no tables.
        let db = Db::open(store.clone(), options.read_only(true)).unwrap();
        assert_eq!(db.table_options(), all());
    }
    let db = Db::open(store, usual().with_tables(all())).unwrap();
    assert_eq!(db.table_options(), all());
}

#[test]
fn what_was_never_stated_is_the_default_until_an_opening_states_it() {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), usual()).unwrap();
    assert_eq!(db.table_options(), TableOptions::default());
    rewrite(&db, 1);
    assert!(!is_compressed(&db));
    db.close().unwrap();
    let db = Db::open(store.clone(), usual().compression(Compression::Zstd)).unwrap();
    rewrite(&db, 2);
    assert!(is_compressed(&db));
    db.close().unwrap();
    let db = Db::open(store, usual()).unwrap();
    assert_eq!(db.table_options().compression, Some(Compression::Zstd.into()));
}

#[test]
fn a_change_counts_for_the_next_table_and_survives_a_power_cut() {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), usual()).unwrap();
    rewrite(&db, 1);
    assert!(!is_compressed(&db));
    let compression = Some(Compression::Lz4.into());
    db.set_table_options(TableOptions { compression, ..TableOptions::default() }).unwrap();
    rewrite(&db, 2);
    assert!(is_compressed(&db));
    db.set_table_options(TableOptions { filter_bits: Some(0), ..all() }).unwrap();
    let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
    let db = Db::open(Arc::new(survivor), usual()).unwrap();
    assert_eq!(db.table_options(), all());
    let wrong = TableOptions { filter_bits: Some(33), ..TableOptions::default() };
    let error = db.set_table_options(wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Option);
    assert_eq!(db.table_options(), all());
}

#[test]
fn a_copy_has_the_options_of_its_source_and_not_those_of_its_target() {
    let source = Db::open(Arc::new(MemoryStore::new()), usual().with_tables(all())).unwrap();
    rewrite(&source, 1);
    let target = Arc::new(MemoryStore::new());
    Db::open(target.clone(), usual().compression(Compression::None)).unwrap().close().unwrap();
    source.checkpoint(target.clone()).unwrap();
    let copy = Db::open(target, usual()).unwrap();
    assert_eq!(copy.table_options(), all());
    rewrite(&copy, 2);
    assert!(is_compressed(&copy));
}
