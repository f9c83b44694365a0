//! Options that key spaces have of their own: under every system the tables' own metadata show that
//! each key space's part of a table is made as asked, whoever made the table; the store remembers
//! them over reopening, power cuts and checkpoints; a time to live counts for every kind of put.
//! Simulated; rows run side by side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace::{
    Batch, ByteCount, Compression, Date, Db, ErrorKind, FormatOptions, KeySpace, KeySpaceId,
    KeySpaceOptions, LevelCompression, MemoryStore, Options,
};
use terrace_env::random::Random;
use terrace_env::runner;
use terrace_env::store::{CrashMode, FileKind};
use terrace_lsm::inspect::{Role, TableFile};

use crate::devices::{drive, options_under};
use crate::rows::for_each_row;

const KEYS: u32 = 800;
const VALUE: usize = 300;
const HOUR: Duration = Duration::from_secs(3600);
/// Numbers of compressions in `docs/format/table.md`.
const NONE: u8 = 0;
const LZ4: u8 = 1;
const ZSTD: u8 = 2;

fn own() -> KeySpaceOptions {
    KeySpaceOptions::default()
}

/// Key spaces by name, with options.
fn shapes() -> [(&'static str, KeySpaceOptions); 5] {
    [
        ("as the store", own()),
        ("zstd", own().compression(Compression::Zstd).filter_bits(20)),
        ("large blocks", own().block_size(ByteCount::kib(16)).compression(Compression::None)),
        ("no filter", own().filter_bits(0).block_size(ByteCount(512))),
        ("by level", own().compression(LevelCompression::MIXED).filter_bits(10)),
    ]
}

/// The part of one key space in the tables of a store.
#[derive(Debug, Default)]
struct Found {
    keys: u64,
    /// Blocks by the number of their compression.
    blocks: BTreeMap<u8, u64>,
    /// The bytes of each block, before compression.
    sizes: Vec<u64>,
}

/// The part of each key space in the whole tables, the lines of their filters, and their number.
/// Of a table that a merge has taken a part of, the front is gone.
fn look(db: &Db) -> (BTreeMap<KeySpaceId, Found>, u64, u64) {
    db.wait_idle().unwrap();
    let fs = db.fs();
    let (mut found, mut lines, mut tables) = (BTreeMap::<_, Found>::new(), 0, 0);
    for file in db.store().list().into_iter().filter(|file| file.kind == FileKind::Table) {
        let role = Role::of(file.id, file.kind, &file.annotation).unwrap();
        let is_whole = fs.is_none_or(|fs| fs.place_of(file.id, 0).is_some());
        let Some(Role::Table { .. }) = role.filter(|_| is_whole) else { continue };
        let table = TableFile::open(db.store().open(file.id).unwrap()).unwrap();
        tables += 1;
        lines += table.read_filter().unwrap().map_or(0, |filter| u64::from(filter.lines));
        for entry in table.walk_index().unwrap() {
            let block = table.read_block(entry.unwrap().block).unwrap();
            let entries: Vec<_> = block.entries().map(Result::unwrap).collect();
            let space = entries[0].key.space;
            assert!(entries.iter().all(|entry| entry.key.space == space), "a block of two");
            let found = found.entry(space).or_default();
            found.keys += entries.len() as u64;
            *found.blocks.entry(block.compression).or_default() += 1;
            found.sizes.push(block.plain_size);
        }
    }
    (found, lines, tables)
}

fn fill(space: &KeySpace, round: u8, step: usize) {
    for key in (0..KEYS).step_by(step) {
        space.put(&key.to_be_bytes(), &[round; VALUE]).unwrap();
    }
}

fn holds(space: &KeySpace, round: u8) {
    let scan = space.scan(..).unwrap().map(Result::unwrap);
    let found: Vec<(u32, u8)> = scan
        .map(|(key, value)| (u32::from_be_bytes((*key).try_into().unwrap()), value[0]))
        .collect();
    assert_eq!(found, (0..KEYS).map(|key| (key, round)).collect::<Vec<_>>(), "{}", space.name());
    assert_eq!(space.get(&(KEYS / 2).to_be_bytes()).unwrap().unwrap()[0], round);
    assert_eq!(space.get(b"absent").unwrap(), None);
}

/// Each block has the form of its key space, and there are as many lines of filters as they ask.
fn check_forms(db: &Db, what: &str) {
    let (found, lines, tables) = look(db);
    let mut lines_expected = 0;
    for (name, options) in shapes() {
        let space = db.key_space(name).unwrap();
        assert_eq!(space.options(), options, "{what}");
        let found = &found[&space.id()];
        let codecs: &[u8] = match name {
            "zstd" => &[ZSTD],
            "large blocks" => &[NONE],
            "by level" => &[LZ4, ZSTD],
            _ => &[LZ4],
        };
        let is_expected = found.blocks.keys().all(|codec| codecs.contains(codec));
        assert!(is_expected, "{what}: {name} has {:?}", found.blocks);
        let size = options.block_size.unwrap_or(ByteCount::kib(4)).0;
        let most = found.sizes.iter().max().copied().unwrap();
        let full = size..size + 2 * VALUE as u64;
        assert!(full.contains(&most), "{what}: {name} has blocks up to {most}, not {size}");
        lines_expected += (found.keys * u64::from(options.filter_bits.unwrap_or(10))).div_ceil(512);
    }
    // Each filter has its last line for itself.
    let filters = tables * shapes().len() as u64;
    let range = lines_expected..lines_expected + filters + lines_expected / 8;
    assert!(range.contains(&lines), "{what}: {lines} lines of filters, not {range:?}");
}

#[test]
fn tables_are_made_as_each_key_space_asks_whoever_makes_them() {
    for_each_row(|system| {
        let what = system.name();
        let device = drive(ByteCount::mib(1), 64, 1);
        let options = options_under(system).compression(Compression::Lz4);
        let format = FormatOptions::default();
        let db = Db::create_device(device.clone(), &format, options.clone()).unwrap();
        let open = |db: &Db| shapes().map(|(name, _)| db.key_space(name).unwrap());
        for (name, options) in shapes() {
            db.create_key_space_with(name, options).unwrap();
        }
        // An ingest, flushes, merges.
        let mut ingest = db.ingest().unwrap();
        for space in open(&db) {
            for key in 0..KEYS {
                ingest.key_space(&space).unwrap().put(&key.to_be_bytes(), &[1; VALUE]).unwrap();
            }
        }
        ingest.finish().unwrap();
        check_forms(&db, &format!("{what}, ingested"));
        open(&db).iter().for_each(|space| fill(space, 2, 3));
        db.flush().unwrap();
        check_forms(&db, &format!("{what}, flushed"));
        db.close().unwrap();
        let db = Db::open_device(device.clone(), options.clone()).unwrap();
        open(&db).iter().for_each(|space| fill(space, 3, 1));
        db.compact_all().unwrap();
        check_forms(&db, &format!("{what}, compacted"));
        open(&db).iter().for_each(|space| holds(space, 3));
        db.verify().unwrap();
        // A copy, and its tables.
        let store = Arc::new(MemoryStore::new());
        db.checkpoint(store.clone()).unwrap();
        let copy = Db::open(store, options).unwrap();
        open(&copy).iter().for_each(|space| fill(space, 4, 1));
        copy.compact_all().unwrap();
        check_forms(&copy, &format!("{what}, copied"));
        open(&copy).iter().for_each(|space| holds(space, 4));
    });
}

#[test]
fn a_key_space_is_not_opened_with_other_options_than_it_remembers() {
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), Options::default()).unwrap();
    let space = db.create_key_space("space").unwrap();
    assert_eq!(space.options(), own());
    let stated = own().filter_bits(15).ttl(HOUR);
    // An option that was never stated is taken on.
    db.create_key_space_with("space", stated).unwrap();
    assert_eq!(space.options(), stated);
    for (asked, text) in [
        (own().filter_bits(10), "filter_bits is 10: expected 15"),
        (own().ttl(2 * HOUR), "ttl (ms) is 7200000: expected 3600000"),
    ] {
        let error = db.create_key_space_with("space", asked).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Option);
        let found = error.to_string();
        assert!(found.starts_with(text) && found.contains("`set_options`"), "{found}");
    }
    let beyond = db.create_key_space_with("new", own().filter_bits(33)).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::Option);
    assert!(db.key_space("new").is_err(), "nothing is made");
    db.create_key_space_with("space", own().block_size(ByteCount::kib(8))).unwrap();
    space.set_options(own().ttl(Duration::ZERO)).unwrap();
    let now = stated.ttl(Duration::ZERO).block_size(ByteCount::kib(8));
    drop((space, db));
    let db = Db::open(store.clone(), Options::default()).unwrap();
    assert_eq!(db.key_space("space").unwrap().options(), now);
    assert!(db.drop_key_space("space").unwrap());
    assert_eq!(db.create_key_space("space").unwrap().options(), own(), "a new one");
    drop(db);
    let db = Db::open(store, Options::default().read_only(true)).unwrap();
    let space = db.create_key_space_with("space", stated).unwrap();
    assert_eq!(space.options(), own(), "an opening for reading states nothing");
}

#[test]
fn options_of_very_many_key_spaces_are_kept_over_a_power_cut_and_in_a_copy() {
    const SPACES: u32 = 1000;
    let store = Arc::new(MemoryStore::new());
    let db = Db::open(store.clone(), Options::default()).unwrap();
    let name = |number: u32| format!("space {number}");
    let options = |number: u32| match number % 3 {
        0 => own(),
        1 => own().filter_bits((number % 32) as u8),
        _ => own().ttl(Duration::from_millis(u64::from(number))).block_size(ByteCount::kib(1)),
    };
    for number in 0..SPACES {
        db.create_key_space_with(&name(number), options(number)).unwrap();
    }
    for number in (0..SPACES).step_by(7) {
        let all = own().filter_bits(1).compression(Compression::Zstd).ttl(HOUR);
        db.key_space(&name(number)).unwrap().set_options(all).unwrap();
    }
    let expected = |number: u32| match number % 7 {
        0 => own().filter_bits(1).compression(Compression::Zstd).ttl(HOUR).or(options(number)),
        _ => options(number),
    };
    let check = |db: &Db| {
        for number in 0..SPACES {
            let space = db.key_space(&name(number)).unwrap();
            assert_eq!(space.options(), expected(number), "{number}");
        }
    };
    check(&db);
    let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
    check(&Db::open(Arc::new(survivor), Options::default()).unwrap());
    let copy = Arc::new(MemoryStore::new());
    db.checkpoint(copy.clone()).unwrap();
    let copy = Db::open(copy, Options::default()).unwrap();
    check(&copy);
    (0..SPACES).for_each(|number| assert!(copy.drop_key_space(&name(number)).unwrap()));
    assert_eq!(copy.key_spaces(), ["default"]);
}

#[test]
fn a_time_to_live_counts_for_every_put_without_an_expiry() {
    runner::simulate(1, || {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let space = db.create_key_space("space").unwrap();
        space.put(b"before", b"v").unwrap();
        space.set_options(own().ttl(HOUR)).unwrap();
        let later = Date::from_now(3 * HOUR);
        space.put(b"put", b"v").unwrap();
        space.put_with_ttl(b"own expiry", b"v", 2 * HOUR).unwrap();
        let mut batch = Batch::new();
        batch.put(b"default", b"v");
        batch.key_space(&space).put(b"batch", b"v").delete(b"no");
        batch.key_space(&space).delete_range(b"x".to_vec()..);
        batch.key_space(&space).put_with_expiry(b"batch, own", b"v", later);
        db.write(batch).unwrap();
        assert!(space.put_if(b"swap", None, b"v").unwrap());
        let transaction = db.transaction().unwrap();
        transaction.key_space(&space).unwrap().put(b"transaction", b"v").unwrap();
        transaction.commit().unwrap();
        let mut ingest = db.ingest().unwrap();
        ingest.key_space(&space).unwrap().put(b"ingest", b"value").unwrap();
        ingest.finish().unwrap();
        let all = ["batch", "batch, own", "before", "ingest", "own expiry", "put", "swap"];
        let keys = |space: &KeySpace| -> Vec<String> {
            let scan = space.scan(..).unwrap().map(Result::unwrap);
            scan.map(|(key, _)| String::from_utf8(key.to_vec()).unwrap()).collect()
        };
        let there: Vec<&str> = all.into_iter().chain(["transaction"]).collect();
        assert_eq!(keys(&space), there);
        assert_eq!(&space.get(b"ingest").unwrap().unwrap()[..], b"value");
        runner::set_date(Date::from_now(HOUR));
        let stay = ["batch, own", "before", "own expiry"];
        assert_eq!(keys(&space), stay);
        assert_eq!(space.get(b"ingest").unwrap(), None);
        assert!(db.contains(b"default").unwrap());
        db.flush().unwrap();
        db.compact_all().unwrap();
        assert_eq!(keys(&space), stay);
        let expired: u64 = db.stats().levels.iter().map(|level| level.expired_bytes).sum();
        assert_eq!(expired, 0, "their space came back");
        // No longer.
        space.set_options(own().ttl(Duration::ZERO)).unwrap();
        space.put(b"stays", b"v").unwrap();
        runner::set_date(Date::from_now(100 * HOUR));
        assert_eq!(keys(&space), ["before", "stays"]);
    });
}
