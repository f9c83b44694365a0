//! Merge operators, under every system: operands are combined by every read and by compactions,
//! through power cuts and openings; counters of several threads add up; a compaction filter sees
//! combined values; errors have their kind. Rows are simulated and run side by side.

use std::sync::Arc;

use terrace::{
    Append, Batch, Bounds, ByteCount, Counter, Db, Durability, ErrorKind, FormatOptions,
    MemoryStore, MergeKey, MergeOperator, MergeRefused, Options, System,
};
use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_zone::PowerCut;

use crate::devices::{Contents, contents, drive, options_under};
use crate::rows::for_each_row;

const KEYS: u32 = 300;

fn joined(system: System) -> Options {
    options_under(system).merge_operator(Append::new(b"+"))
}

/// Writes of every kind, most of them operands.
fn write(db: &Db, held: &mut Contents, random: &mut Random) {
    let at = random.random_range(0..KEYS);
    let (key, bytes) = (at.to_be_bytes(), vec![random.random(); random.random_range(1..150)]);
    match random.random_range(0..20) {
        0 => {
            db.delete(&key).unwrap();
            held.remove(&key[..]);
        }
        1 => {
            let end = (at + random.random_range(1..20)).to_be_bytes();
            db.delete_range(Bounds::from(key.to_vec()..end.to_vec())).unwrap();
            held.retain(|held, _| !(key.to_vec()..end.to_vec()).contains(held));
        }
        2..7 => {
            db.put(&key, &bytes).unwrap();
            held.insert(key.to_vec(), bytes);
        }
        _ => {
            db.merge(&key, &bytes).unwrap();
            let value = held.entry(key.to_vec()).or_default();
            if !value.is_empty() {
                value.push(b'+');
            }
            value.extend_from_slice(&bytes);
        }
    }
}

#[test]
fn operands_are_combined_under_every_system() {
    for_each_row(|system| {
        let (name, device) = (system.name(), drive(ByteCount::mib(1), 64, 1));
        let format = FormatOptions::default();
        let db = Db::create_device(device.clone(), &format, joined(system)).unwrap();
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        for _ in 0..4_000 {
            write(&db, &mut held, &mut random);
        }
        let (snapshot, then) = (db.snapshot(), held.clone());
        for _ in 0..4_000 {
            write(&db, &mut held, &mut random);
        }
        let seen = |snapshot: &terrace::Snapshot| -> Contents {
            let scan = snapshot.scan(..).unwrap().map(Result::unwrap);
            scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
        };
        assert_eq!((contents(&db), seen(&snapshot)), (held.clone(), then.clone()), "{name}");
        db.compact(..).unwrap();
        assert_eq!((contents(&db), seen(&snapshot)), (held.clone(), then), "{name}");
        drop(snapshot);
        db.sync().unwrap();
        drop(db);
        device.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(2)).unwrap();
        device.power_on();
        let db = Db::open_device(device.clone(), joined(system)).unwrap();
        assert_eq!(contents(&db), held, "{name}");
        // Every earlier entry has a newer one to merge with.
        for key in 0..KEYS {
            db.merge(&key.to_be_bytes(), b"last").unwrap();
            let value = held.entry(key.to_be_bytes().to_vec()).or_default();
            value.extend_from_slice(if value.is_empty() { b"last" } else { b"+last" });
        }
        db.compact(..).unwrap();
        assert_eq!(contents(&db), held, "{name}");
        let levels = db.stats().levels;
        let entries: u64 = levels.iter().map(|level| level.entries - level.range_tombstones).sum();
        assert_eq!(entries, held.len() as u64, "{name}: {levels:?}");
        db.verify().unwrap();
        db.close().unwrap();
    });
}

#[test]
fn counters_of_several_threads_add_up_also_after_a_power_cut() {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 2_000;
    let device = drive(ByteCount::mib(1), 64, 1);
    let options = || options_under(System::default()).merge_operator(Counter);
    let db = Db::create_device(device.clone(), &FormatOptions::default(), options()).unwrap();
    let visits = db.create_key_space("visits").unwrap();
    let count = |thread: i64| {
        let (db, visits) = (db.clone(), visits.clone());
        move || {
            for round in 0..ROUNDS {
                match round % 4 {
                    0 => visits.merge(b"all", &Counter::bytes(1)).unwrap(),
                    1 => {
                        let mut batch = Batch::new();
                        batch.key_space(&visits).merge(b"all", &Counter::bytes(3));
                        batch.key_space(&visits).merge(b"all", &Counter::bytes(-2));
                        db.write(batch).unwrap();
                    }
                    2 => {
                        let transaction = db.transaction().unwrap();
                        let seen = transaction.key_space(&visits).unwrap();
                        seen.merge(b"all", &Counter::bytes(1)).unwrap();
                        transaction.commit().expect("no conflict: it has read nothing");
                    }
                    // Reads, so that others may write first.
                    _ => db
                        .transact(|transaction| {
                            let seen = transaction.key_space(&visits)?;
                            let before = seen.get(b"all")?.unwrap_or_default();
                            let number = Counter::number(&before).unwrap_or_default();
                            seen.put(b"all", &Counter::bytes(number + 1))
                        })
                        .unwrap(),
                }
                if round % 500 == thread {
                    db.flush().unwrap();
                }
            }
        }
    };
    let threads: Vec<_> = (0..THREADS).map(|at| runner::spawn("counter", count(at))).collect();
    threads.into_iter().for_each(runner::JoinHandle::join);
    let number = |db: &Db| {
        let value = db.key_space("visits").unwrap().get(b"all").unwrap().unwrap();
        Counter::number(&value).unwrap()
    };
    assert_eq!(number(&db), THREADS * ROUNDS);
    db.sync().unwrap();
    drop((visits, db));
    device.power_cut(PowerCut::DropUnflushed, &mut Random::seeded(1)).unwrap();
    device.power_on();
    let db = Db::open_device(device, options()).unwrap();
    assert_eq!(number(&db), THREADS * ROUNDS);
    db.compact_all().unwrap();
    assert_eq!(number(&db), THREADS * ROUNDS);
}

/// Appends in one key space, and adds in the others.
struct BySpace;

impl MergeOperator for BySpace {
    fn name(&self) -> &str {
        "lists append, others count"
    }

    fn merge(
        &self,
        key: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        match key.key_space {
            "lists" => Append::new(b",").merge(key, older, newer),
            _ => Counter.merge(key, older, newer),
        }
    }
}

#[test]
fn an_operator_may_go_by_the_key_space() {
    let options = Options::default().shared_merge_operator(Arc::new(BySpace));
    let db = Db::open(Arc::new(MemoryStore::new()), options).unwrap();
    let lists = db.create_key_space("lists").unwrap();
    for at in [1, 2] {
        db.merge(b"k", &Counter::bytes(at)).unwrap();
        lists.merge(b"k", at.to_string().as_bytes()).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(lists.get(b"k").unwrap().as_deref(), Some(&b"1,2"[..]));
        assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&Counter::bytes(3)[..]));
        db.compact_all().unwrap();
    }
}

#[test]
fn a_compaction_filter_is_asked_about_combined_values_alone() {
    let options = Options::default().merge_operator(Append::new(b""));
    let options = options.compaction_filter("default", |_, value| {
        assert_ne!(value, b"operand", "never about an operand by itself");
        !value.ends_with(b"doomed")
    });
    let db = Db::open(Arc::new(MemoryStore::new()), options).unwrap();
    for (key, operand) in [(b"a", "operand"), (b"b", " doomed"), (b"c", "operand")] {
        db.put(key, b"value ").unwrap();
        db.flush().unwrap();
        db.merge(key, operand.as_bytes()).unwrap();
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    let held = contents(&db);
    assert_eq!(held.keys().map(|key| &key[..]).collect::<Vec<_>>(), [b"a", b"c"]);
    assert!(held.values().all(|value| value == b"value operand"));
    assert_eq!(db.stats().values_filtered, 1);
}

#[test]
fn errors_of_operators_have_their_kind() {
    let store = Arc::new(MemoryStore::new());
    let counting = || Options::default().merge_operator(Counter).durability(Durability::Synced);
    let db = Db::open(store.clone(), counting()).unwrap();
    let no_operand = db.merge(b"k", b"no number").unwrap_err();
    db.put(b"k", b"no number").unwrap();
    db.merge(b"k", &Counter::bytes(1)).unwrap();
    let refused = db.get(b"k").unwrap_err();
    db.close().unwrap();
    let appending = Options::default().merge_operator(Append::new(b"-"));
    let other = Db::open(store.clone(), appending).unwrap_err();
    let db = Db::open(store, Options::default()).unwrap();
    for (error, parts) in [
        (no_operand, [Counter::NAME, "\"k\"", "an operand of 8 bytes, found 9"]),
        (refused, [Counter::NAME, "\"k\"", "a number of 8 bytes, found 9"]),
        (other, [Counter::NAME, "terrace.append:-", "expected"]),
        (db.get(b"k").unwrap_err(), [Counter::NAME, "merge operator", "expected"]),
        (db.merge(b"x", b"").unwrap_err(), [Counter::NAME, "merge operator", "expected"]),
    ] {
        assert_eq!(error.kind(), ErrorKind::MergeOperator, "{error}");
        parts.iter().for_each(|part| assert!(error.to_string().contains(part), "{error}"));
    }
    db.put(b"k", b"a value").unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"a value"[..]));
}

#[test]
fn an_open_store_tells_its_operator() {
    let store = Arc::new(MemoryStore::new());
    let opened = |options| Db::open(store.clone(), options).unwrap();
    let shipped = || Options::default().shipped_merge_operators(true);
    let db = opened(shipped());
    assert_eq!(db.merge_operator(), None, "the store has no operands yet");
    db.close().unwrap();
    let db = opened(Options::default().merge_operator(Append::new(b"-")));
    assert_eq!(db.merge_operator(), Some("terrace.append:-"));
    db.merge(b"k", b"a").unwrap();
    db.close().unwrap();
    let db = opened(shipped());
    assert_eq!(db.merge_operator(), Some("terrace.append:-"), "the remembered one");
    db.close().unwrap();
    assert_eq!(opened(Options::default()).merge_operator(), None);
}
