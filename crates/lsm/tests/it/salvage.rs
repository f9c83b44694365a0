//! Reads from damaged tables, against an ordered map. A salvage is repeated while one bit of one
//! table is read wrongly, each time at another random place: every entry that is found is the
//! newest of its key, and every key that is missing lies in a range that is listed as left out. A
//! verification finds damage of open tables, and does not read blocks outside of all segments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use terrace_env::random::{Random, Rng};
use terrace_env::store::{
    CrashMode, FileInfo, FileKind, FileReader, Layer, MemoryStore, Store, StoreError,
};
use terrace_env::{ByteCount, Cause, FileId, runner};
use terrace_lsm::{Bounds, Durability, Engine, EngineOptions, KeySpaceId, TableOptions};

use terrace_policy::{
    Choice, Compaction, Cut, Input, Merge, Part, Place, Plan, Pressure, Route, Span, TreeView,
    Urgency,
};

use crate::model::{self, Change, Model, batch, contents, decider, options};
use crate::routed;

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

/// A store of which one byte is read wrongly, or not at all.
pub(crate) struct Damaged {
    store: MemoryStore,
    file: FileId,
    at: Arc<AtomicU64>,
    fails: bool,
}

impl Damaged {
    /// A store of which one bit of a file is read wrongly, of the byte at `at`.
    pub(crate) fn flipped(store: &MemoryStore, file: FileId, at: Arc<AtomicU64>) -> Self {
        Self { store: store.clone(), file, at, fails: false }
    }
}

struct DamagedReader {
    reader: Arc<dyn FileReader>,
    at: Arc<AtomicU64>,
    fails: bool,
}

impl FileReader for DamagedReader {
    fn id(&self) -> FileId {
        self.reader.id()
    }

    fn len(&self) -> u64 {
        self.reader.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.reader.read_at(offset, into, cause)?;
        let at = self.at.load(Relaxed).checked_sub(offset).and_then(|at| into.get_mut(at as usize));
        match at {
            Some(_) if self.fails => {
                Err(StoreError::io("read", std::io::Error::other("a block that cannot be read")))
            }
            Some(byte) => {
                *byte ^= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Layer for Damaged {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let reader = self.store.open(id)?;
        let (at, fails) = (Arc::clone(&self.at), self.fails);
        Ok(if id == self.file { Arc::new(DamagedReader { reader, at, fails }) } else { reader })
    }
}

/// Merges the upper half of the first table into a level further down, once: the rest of it stays.
#[derive(Debug)]
struct UpperHalf;

impl Compaction for UpperHalf {
    fn name(&self) -> &'static str {
        "upper-half"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], _: Urgency) -> Option<Choice> {
        let run = tree.runs(0).first().filter(|_| state.is_empty())?;
        let segment = run.segments.first()?;
        let span = Span { start: routed::full_key(50), end: segment.span.end.clone() };
        let parts = vec![Part { file: segment.file, span }];
        let inputs = vec![Input { place: Place { level: 0, run: run.id }, parts }];
        let cut = Cut::at(ByteCount::mib(8));
        let routes = vec![Route { end: None, to: routed::to(2), stream: 18, cut }];
        let plan = Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false });
        Some(Choice { plan, state: vec![1] })
    }

    fn manual_compaction(&self, _: &TreeView, _: &[u8], _: &Span) -> Option<Choice> {
        None
    }

    fn pressure(&self, _: &TreeView) -> Pressure {
        Pressure(0.0)
    }
}

#[test]
fn a_verification_leaves_out_blocks_that_count_no_more() {
    runner::simulate(1, || {
        let store = MemoryStore::new();
        let open = |file: FileId, at: u64| {
            let at = Arc::new(AtomicU64::new(at));
            let store = Arc::new(Damaged { store: store.clone(), file, at, fails: true });
            Engine::open(store, Arc::new(UpperHalf), routed::options()).unwrap()
        };
        let engine = open(FileId(u64::MAX), 0);
        let (mut model, mut random) = (Model::default(), Random::seeded(1));
        // A block for each entry, all of one size.
        let puts = (0..100).map(|number| routed::put(&mut random, number, 10 << 10));
        routed::write(&engine, &mut model, puts.collect());
        engine.flush().unwrap();
        engine.wait_idle().unwrap();
        let levels = engine.stats().levels;
        assert!(levels[0].bytes > 0 && levels[2].bytes > 0, "{levels:?}");
        drop(engine);
        let tables = store.list().into_iter().filter(|file| file.kind == FileKind::Table);
        let first = tables.min_by_key(|table| table.id).unwrap();
        let block = |number: u64| first.size * number / 100 + (5 << 10);
        // Its first 50 blocks are in the segment; only a look into the next one tells that it is
        // not.
        for number in [51, 52, 90] {
            let engine = open(first.id, block(number));
            let verified = engine.verify().unwrap_or_else(|error| panic!("{number}: {error}"));
            assert_eq!(verified.entries, 100);
            assert_eq!(contents(&engine), model.now);
        }
        assert!(open(first.id, block(49)).verify().is_err());
    });
}

type Held = BTreeMap<Vec<u8>, Vec<u8>>;

/// Writes keys again and again, so that older runs have older versions; returns the final contents.
fn fill(engine: &Engine, random: &mut Random) -> Held {
    let mut held = Held::new();
    for number in 0..1500u32 {
        let key = format!("key-{:03}", random.random_range(0..400)).into_bytes();
        let change = if number % 100 == 99 {
            let end = [&key[..5], b"~"].concat();
            held.retain(|held, _| *held < key || *held >= end);
            Change::Range(SPACE, key, Some(end))
        } else if number % 10 == 0 {
            held.remove(&key);
            Change::Key((SPACE, key, None))
        } else if number % 5 == 1 {
            let operand = model::operand(random);
            held.entry(key.clone()).or_default().extend_from_slice(&operand);
            Change::Merge(SPACE, key, operand)
        } else {
            // Values that do not compress: no table holds most keys.
            let mut value = vec![0; 60];
            random.fill(&mut value[..]);
            held.insert(key.clone(), value.clone());
            Change::Key((SPACE, key, Some(value)))
        };
        engine.write(batch(&[change]), Durability::Gathered).unwrap();
    }
    engine.flush().unwrap();
    engine.wait_idle().unwrap();
    held
}

/// Reads all undamaged entries; returns the number of keys that were left out, or `None` if none
/// was.
fn check(engine: &Engine, held: &Held) -> Option<usize> {
    let salvage = engine.salvage(SPACE, &Bounds::all()).unwrap();
    let left_out = salvage.left_out().to_vec();
    let within = |key: &[u8]| {
        let part = |end: &Option<bytes::Bytes>| end.as_ref().is_none_or(|end| key < &end[..]);
        left_out.iter().any(|one| one.start[..] <= *key && part(&one.end))
    };
    let mut found = Held::new();
    for entry in salvage {
        let (key, value) = entry.unwrap_or_else(|error| panic!("{error}, {left_out:?}"));
        assert!(found.last_key_value().is_none_or(|(last, _)| last[..] < key[..]), "in order");
        assert_eq!(
            held.get(&key[..]).map(|value| &value[..]),
            Some(&value[..]),
            "{key:?} is stale"
        );
        found.insert(key.to_vec(), value.to_vec());
    }
    let missing: Vec<_> = held.keys().filter(|key| !found.contains_key(*key)).collect();
    for key in &missing {
        assert!(within(key), "{} is missing, and not listed", key.escape_ascii());
    }
    (!left_out.is_empty()).then_some(missing.len())
}

/// Damages tables at `count` places, one after the other.
fn damage(seed: u64, block_size: ByteCount, count: usize) {
    runner::simulate(seed, || {
        let tables = TableOptions { block_size: Some(block_size), ..options().tables };
        let options = || EngineOptions { tables, ..options() };
        let mut random = Random::seeded(seed);
        let store = MemoryStore::new();
        let engine = Engine::open(Arc::new(store.clone()), decider(), options()).unwrap();
        let held = fill(&engine, &mut random);
        assert_eq!(check(&engine, &held), None, "nothing is damaged");
        engine.close().unwrap();
        drop(engine);
        let tables: Vec<_> =
            store.list().into_iter().filter(|file| file.kind == FileKind::Table).collect();
        let (mut listed, mut some) = (0, 0);
        for _ in 0..count {
            let table = &tables[random.random_range(0..tables.len())];
            let (file, at) = (table.id, random.random_range(0..table.size));
            let store = store.crash(CrashMode::KeepUnsynced, &mut random);
            let at = Arc::new(AtomicU64::new(at));
            let store = Arc::new(Damaged { store, file, at, fails: false });
            let engine = Engine::open(store, decider(), options()).unwrap();
            if let Some(missing) = check(&engine, &held) {
                listed += 1;
                some += usize::from(missing < held.len() / 4);
                assert!(missing < held.len(), "everything was left out");
            }
        }
        // The others were in filters, in padding, or in parts outside of the segments of a table.
        assert!(listed > count / 2 && some > count / 2, "{listed} of {count}, {some} small");
    });
}

#[test]
fn all_but_what_is_listed_is_there_and_nothing_is_stale() {
    damage(1, ByteCount(512), 150);
}

/// Each entry is a block, so that indexes have partitions and damage is at the ends of them.
#[test]
fn damage_at_the_ends_of_partitions_is_gone_round() {
    damage(2, ByteCount(1), 150);
}

#[test]
fn a_verification_notices_damage_of_an_open_table() {
    for block_size in [ByteCount(512), ByteCount(1)] {
        runner::simulate(3, || {
            let tables = TableOptions { block_size: Some(block_size), ..options().tables };
            let options = || EngineOptions { tables, ..options() };
            let store = MemoryStore::new();
            let engine = Engine::open(Arc::new(store.clone()), decider(), options()).unwrap();
            let held = fill(&engine, &mut Random::seeded(3));
            engine.close().unwrap();
            drop(engine);
            let tables = store.list().into_iter().filter(|file| file.kind == FileKind::Table);
            let FileInfo { id: file, size, .. } = tables.max_by_key(|table| table.size).unwrap();
            let at = Arc::new(AtomicU64::new(u64::MAX));
            let store = Arc::new(Damaged { store, file, at: Arc::clone(&at), fails: false });
            let engine = Engine::open(store, decider(), options()).unwrap();
            assert_eq!(check(&engine, &held), None);
            // Footer, properties, index and filter, and some of the data.
            for from_end in 1..size {
                at.store(size - from_end, Relaxed);
                let damage = engine.verify().unwrap_err();
                assert!(damage.is_corruption(), "byte {}: {damage}", size - from_end);
            }
            at.store(u64::MAX, Relaxed);
            engine.verify().unwrap();
        });
    }
}
