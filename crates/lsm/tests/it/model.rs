//! The model: the expected contents of an engine, as plain ordered maps, and every state that it
//! may have after a power cut; and the options, deciders and stores that most tests share.
//!
//! After a cut an engine may hold the result of any prefix of the written batches that has all
//! synced batches. The user of a [`Model`] tells it of each batch that may have been written, in
//! order, refused ones included, and of each sync. Writes that go to no log do not fit the model: a
//! cut may take them from between others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{Latency, MemoryStore, Store};
use terrace_env::{ByteCount, Date, runner};
use terrace_lsm::{
    Append, Batch, Bounds, Compression, Engine, EngineOptions, Error, KeySpaceId, LevelCompression,
    Operator, TableOptions,
};
use terrace_policy::{Compaction, Leveled, LeveledOptions};

/// One write: a value, or `None` for a delete.
pub(crate) type Write = (KeySpaceId, Vec<u8>, Option<Vec<u8>>);

/// One entry of a batch.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A write of one key.
    Key(Write),
    /// A delete of a range: its key space, its first key, and the first after it, or `None` for all
    /// later keys.
    Range(KeySpaceId, Vec<u8>, Option<Vec<u8>>),
    /// An operand, which is appended to the value.
    Merge(KeySpaceId, Vec<u8>, Vec<u8>),
}

impl From<Write> for Change {
    fn from(write: Write) -> Self {
        Self::Key(write)
    }
}

/// Begin of a value that expires, before its expiry.
const EXPIRES: &[u8] = b"expires!";
/// Length of a day. Expiries are at the beginning of a day, and the date of a run is in the middle,
/// so that no date passes during an operation.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A value that expires at the beginning of a day: an earlier one, or up to three days from now.
pub(crate) fn expiring_value(random: &mut Random) -> Vec<u8> {
    let midday = runner::date().0 / DAY.as_millis() as u64;
    let day = Date((midday + random.random_range(0..4)) * DAY.as_millis() as u64);
    let mut value = [EXPIRES, &day.0.to_le_bytes()].concat();
    value.resize(16 + random.random_range(0..150), b'e');
    value
}

/// Sets the date to the middle of a day.
pub(crate) fn begin_dates() {
    let day = runner::date().0 / DAY.as_millis() as u64;
    runner::set_date(Date(day * DAY.as_millis() as u64) + DAY / 2);
}

/// Goes on to the next day.
pub(crate) fn next_day() {
    runner::set_date(runner::date() + DAY);
}

/// The expiry of a value, which is part of the value here, so that plain maps have it.
pub(crate) fn expiry_of(value: &[u8]) -> Option<Date> {
    let millis = value.strip_prefix(EXPIRES)?.first_chunk::<8>()?;
    Some(Date(u64::from_le_bytes(*millis)))
}

/// Begin of an operand. No other value contains it.
const OPERAND: &[u8] = b"+operand ";

/// A random operand.
pub(crate) fn operand(random: &mut Random) -> Vec<u8> {
    let mut operand = [OPERAND, &random.random_range(0..1000_u32).to_le_bytes()].concat();
    operand.resize(OPERAND.len() + 4 + random.random_range(0..30), b'o');
    operand
}

/// Removes expired entries; of a value with operands, all but these.
pub(crate) fn expire(contents: &mut Contents) {
    contents.retain(|_, value| {
        if expiry_of(value).is_none_or(|expiry| runner::date() < expiry) {
            return true;
        }
        let operands = value.windows(OPERAND.len()).position(|window| window == OPERAND);
        *value = operands.map_or_else(Vec::new, |at| value.split_off(at));
        !value.is_empty()
    });
}

/// The contents of all key spaces.
pub(crate) type Contents = BTreeMap<(KeySpaceId, Vec<u8>), Vec<u8>>;

/// Expected contents of an engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// Current contents.
    pub(crate) now: Contents,
    /// Contents that survive any power cut, before the writes in `unsynced`.
    durable: Contents,
    /// Batches that a power cut may take back, in order.
    unsynced: Vec<Vec<Change>>,
}

fn apply(contents: &mut Contents, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Key((space, key, Some(value))) => {
                contents.insert((*space, key.clone()), value.clone());
            }
            Change::Key((space, key, None)) => {
                contents.remove(&(*space, key.clone()));
            }
            Change::Merge(space, key, operand) => {
                contents.entry((*space, key.clone())).or_default().extend_from_slice(operand);
            }
            Change::Range(space, start, end) => contents.retain(|(of, key), _| {
                of != space || key < start || end.as_ref().is_some_and(|end| key >= end)
            }),
        }
    }
}

impl Model {
    /// Notes a batch that was written.
    pub(crate) fn write<W: Into<Change>>(&mut self, writes: Vec<W>) {
        let changes: Vec<Change> = writes.into_iter().map(Into::into).collect();
        apply(&mut self.now, &changes);
        self.unsynced.push(changes);
        self.expire();
    }

    /// Removes the entries that have expired by now.
    pub(crate) fn expire(&mut self) {
        expire(&mut self.now);
        expire(&mut self.durable);
    }

    /// Notes the drop of a key space, which no power cut takes back.
    pub(crate) fn dropped(&mut self, space: KeySpaceId) {
        self.now.retain(|(of, _), _| *of != space);
        self.durable.retain(|(of, _), _| *of != space);
        for changes in &mut self.unsynced {
            changes.retain(|change| match change {
                Change::Key((of, ..)) | Change::Range(of, ..) | Change::Merge(of, ..) => {
                    *of != space
                }
            });
        }
    }

    /// Notes that all earlier writes are durable.
    pub(crate) fn synced(&mut self) {
        for writes in self.unsynced.drain(..) {
            apply(&mut self.durable, &writes);
        }
        self.expire();
        assert_eq!(self.durable, self.now);
    }

    /// Checks that `found` is the result of a prefix of the writes with all durable ones, and goes
    /// on from there.
    pub(crate) fn recovered(&mut self, found: Contents) {
        self.expire();
        let mut state = self.durable.clone();
        let mut kept = 0;
        while state != found {
            let Some(writes) = self.unsynced.get(kept) else {
                panic!("{}", self.difference(&found));
            };
            apply(&mut state, writes);
            expire(&mut state);
            kept += 1;
        }
        // Recovered changes stay: they are in a log that was found, or in a table.
        *self = Self { now: found.clone(), durable: found, unsynced: Vec::new() };
    }

    fn difference(&self, found: &Contents) -> String {
        let missing = self.durable.iter().filter(|(key, value)| found.get(key) != Some(value));
        let missing: Vec<_> = missing.map(|(key, _)| key).take(5).collect();
        format!(
            "no prefix of {} unsynced batches leaves the {} keys that were found; {} are durable, \
             which differ at {missing:?}",
            self.unsynced.len(),
            found.len(),
            self.durable.len(),
        )
    }
}

/// A batch of these writes.
pub(crate) fn batch<W: Clone + Into<Change>>(writes: &[W]) -> Batch {
    let mut batch = Batch::new();
    for change in writes.iter().cloned().map(Into::into) {
        match change {
            Change::Key((space, key, Some(value))) => match expiry_of(&value) {
                Some(expiry) => batch.put_with_expiry(space, &key, &value, expiry),
                None => batch.put(space, &key, &value),
            },
            Change::Key((space, key, None)) => batch.delete(space, &key),
            Change::Merge(space, key, operand) => batch.merge(space, &key, &operand),
            Change::Range(space, start, Some(end)) => {
                batch.delete_range(space, &Bounds::from(start..end))
            }
            Change::Range(space, start, None) => {
                batch.delete_range(space, &Bounds::starting_at(&start))
            }
        };
    }
    batch
}

/// All entries of an engine, by scans.
pub(crate) fn contents(engine: &Engine) -> Contents {
    let mut contents = Contents::new();
    for terrace_lsm::KeySpaceEntry { id: space, .. } in engine.key_spaces() {
        for entry in engine.scan(space, &Bounds::all()).expect("a scan") {
            let (key, value) = entry.expect("an entry");
            contents.insert((space, key.to_vec()), value.to_vec());
        }
    }
    contents
}

/// Options under which a few hundred writes make a tree of several levels.
pub(crate) fn options() -> EngineOptions {
    EngineOptions {
        memtable_size: ByteCount::kib(6),
        memtables_max: 2,
        table_size: ByteCount::kib(6),
        tables: TableOptions {
            block_size: Some(ByteCount(512)),
            compression: Some(LevelCompression {
                upper: Compression::Lz4,
                last: Compression::Zstd,
            }),
            ..TableOptions::default()
        },
        memory: ByteCount::mib(2),
        merge_operator: Some(Operator::new(Append::new(b""))),
        ..EngineOptions::default()
    }
}

pub(crate) fn decider() -> Arc<Leveled> {
    decider_of(1)
}

/// The same, with at most `jobs` compactions in flight.
pub(crate) fn decider_of(jobs: usize) -> Arc<Leveled> {
    Arc::new(Leveled::new(LeveledOptions { jobs, ..leveled() }))
}

/// Levels so small that a test fills several.
pub(crate) fn leveled() -> LeveledOptions {
    LeveledOptions {
        level0_runs: 2,
        level0_slow: 4,
        level0_stop: 6,
        level1_size: ByteCount::kib(12),
        factor: 3,
        table_size: ByteCount::kib(6),
        levels: 5,
        overlap_tables: 4,
        ..LeveledOptions::default()
    }
}

pub(crate) fn open(store: &MemoryStore) -> Engine {
    try_open(store).expect("an engine")
}

/// An engine with at most `jobs` compactions in flight.
pub(crate) fn open_with(store: &MemoryStore, jobs: usize) -> Engine {
    open_under(store, decider_of(jobs))
}

pub(crate) fn open_under(store: &MemoryStore, decider: Arc<dyn Compaction>) -> Engine {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, decider, options()).expect("an engine")
}

pub(crate) fn try_open(store: &MemoryStore) -> Result<Engine, Error> {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Engine::open(store, decider(), options())
}

/// A store whose operations take up to these times.
pub(crate) fn slow_store(seed: u64) -> MemoryStore {
    slowed(MemoryStore::new(), seed)
}

/// Sets the times of a store, which the copy after a crash does not have.
pub(crate) fn slowed(store: MemoryStore, seed: u64) -> MemoryStore {
    let micros = Duration::from_micros;
    let latency =
        Latency { append: micros(20), sync: micros(300), commit: micros(400), read: micros(50) };
    store.with_latency(seed, latency)
}
