//! Writes that go to no log: a power cut takes back those of memtables that were not flushed, each
//! as a whole. Of the writes that go to the log, it takes only the newest that were not synced. A
//! flush, a sync, a close or the drop of the engine makes them durable, with all writes before
//! them.
//!
//! In the random lives one client writes, in order, so that the found writes tell which ones were
//! lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use terrace_env::random::{Random, Rng};
use terrace_env::store::CrashMode;
use terrace_env::sync::Mutex;
use terrace_env::{SeqNo, runner, test_seeds};
use terrace_lsm::{Batch, Durability, Engine, KeySpaceId};

use crate::model::{self, Contents, contents, open};

const SPACE: KeySpaceId = KeySpaceId(0);

/// Expected state of the writes of one life, by number.
#[derive(Clone, Default)]
struct Known {
    /// Whether each write that was begun goes to the log.
    logged: BTreeMap<u64, bool>,
    /// All writes up to this one must be found.
    durable: u64,
    /// All logged writes up to this one must be found.
    synced: u64,
    /// The newest sequence when a write had returned.
    sequences: BTreeMap<u64, SeqNo>,
}

/// Puts a write's number under three keys of its own and a common one.
fn write(engine: &Engine, number: u64, durability: Durability) -> Result<(), terrace_lsm::Error> {
    let mut batch = Batch::new();
    let value = number.to_be_bytes().repeat(20);
    for part in 0..3 {
        batch.put(SPACE, &key(number, part), &value);
    }
    batch.put(SPACE, b"last", &number.to_be_bytes());
    engine.write(batch, durability)
}

fn key(number: u64, part: u8) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[part]].concat()
}

fn run_client(engine: &Engine, first: u64, known: &Mutex<Known>, random: &mut Random) {
    for number in first.. {
        let durability = match random.random_range(0..10) {
            0..5 => Durability::Unlogged,
            5..9 => Durability::Gathered,
            _ => Durability::Synced,
        };
        known.lock().logged.insert(number, durability != Durability::Unlogged);
        if write(engine, number, durability).is_err() {
            return;
        }
        let sequence = engine.snapshot().sequence();
        known.lock().sequences.insert(number, sequence);
        if durability == Durability::Synced {
            known.lock().synced = number;
        }
        let durable = match random.random_range(0..60) {
            0 => engine.sync(),
            1 => engine.flush(),
            _ => continue,
        };
        if durable.is_err() {
            return;
        }
        known.lock().durable = number;
    }
}

/// The numbers of the writes that were found, each whole.
fn found_numbers(found: &Contents) -> Result<BTreeSet<u64>, String> {
    let mut parts = BTreeMap::<u64, usize>::new();
    for (_, key) in found.keys().filter(|(_, key)| key.len() == 9) {
        *parts.entry(u64::from_be_bytes(key[..8].try_into().unwrap())).or_default() += 1;
    }
    if let Some((number, parts)) = parts.iter().find(|(_, parts)| **parts != 3) {
        return Err(format!("write {number} is there with {parts} of 3 keys"));
    }
    let numbers: BTreeSet<u64> = parts.into_keys().collect();
    let last = found.get(&(SPACE, b"last".to_vec()));
    let last = last.map(|value| u64::from_be_bytes(value[..].try_into().unwrap()));
    if last != numbers.last().copied() {
        return Err(format!("the newest is {:?}, and the common key has {last:?}", numbers.last()));
    }
    Ok(numbers)
}

/// Checks the writes that were found: all up to some write, which were flushed; and after it the
/// first of those that go to the log, and no others. Returns the number of unlogged writes that are
/// lost while a newer write is there.
fn judge(before: &BTreeSet<u64>, known: &Known, found: &BTreeSet<u64>) -> Result<usize, String> {
    let lost = |what: &str, number: &u64| Err(format!("{what}: write {number} is lost"));
    if let Some(number) = before.iter().find(|number| !found.contains(number)) {
        return lost("from an earlier life", number);
    }
    let begun = |number: &u64| before.contains(number) || known.logged.contains_key(number);
    if let Some(number) = found.iter().find(|number| !begun(number)) {
        return Err(format!("write {number} was lost once, and is there again"));
    }
    let newest = |logged: bool| {
        let of =
            known.logged.iter().filter(|(number, is)| **is == logged && found.contains(number));
        of.map(|(number, _)| *number).next_back().unwrap_or(0)
    };
    let (flushed, logged_to) = (newest(false), newest(true));
    let mut overtaken = 0;
    for (number, logged) in &known.logged {
        if found.contains(number) {
            continue;
        }
        match logged {
            _ if *number <= flushed => return lost("flushed with a newer one", number),
            _ if *number <= known.durable => return lost("synced or flushed", number),
            true if *number <= logged_to => return lost("logged before a newer one", number),
            true if *number <= known.synced => return lost("synced", number),
            false if *number < logged_to => overtaken += 1,
            _ => {}
        }
    }
    Ok(overtaken)
}

/// Results of some lives.
#[derive(Default)]
pub(crate) struct Shown {
    flushed: usize,
    overtaken: usize,
}

/// Lives of one store, each ended by a power cut.
pub(crate) fn lives(seed: u64, shown: &mut Shown) {
    let mut random = Random::seeded(seed);
    let (mut store, mut before, mut first) = (model::slow_store(seed), BTreeSet::new(), 1);
    for _ in 0..4 {
        let (engine, known) = (Arc::new(open(&store)), Arc::new(Mutex::new(Known::default())));
        let client = {
            let (engine, known, mut random) = (engine.clone(), known.clone(), random.fork());
            runner::spawn("client", move || run_client(&engine, first, &known, &mut random))
        };
        runner::sleep(Duration::from_micros(random.random_range(0..120_000)));
        let modes = [CrashMode::DropUnsynced, CrashMode::TearUnsynced];
        let survivor = store.crash(modes[random.random_range(0..2)], &mut random);
        let then = known.lock().clone();
        engine.close().ok();
        client.join();
        drop(engine);

        let engine = open(&survivor);
        let judged = found_numbers(&contents(&engine))
            .and_then(|found| Ok((judge(&before, &then, &found)?, found)));
        let (overtaken, found) = judged.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let newest = found.last().and_then(|last| then.sequences.get(last));
        let sequence = engine.snapshot().sequence();
        assert!(newest.is_none_or(|newest| *newest <= sequence), "seed {seed}: {sequence} is old");
        engine.verify().expect("sound tables");
        drop(engine);
        shown.overtaken += overtaken;
        shown.flushed += found.iter().filter(|n| then.logged.get(n) == Some(&false)).count();
        first = then.logged.keys().next_back().map_or(first, |last| last + 1);
        (before, store) = (found, model::slowed(survivor, seed));
    }
}

#[test]
fn a_power_cut_takes_back_what_is_in_no_log_and_not_flushed_and_nothing_else() {
    let mut shown = Shown::default();
    for seed in test_seeds(40) {
        runner::simulate(seed, || lives(seed, &mut shown));
    }
    let Shown { flushed, overtaken } = shown;
    assert!(flushed > 100 && overtaken > 100, "{flushed} flushed, {overtaken} overtaken");
}

#[test]
fn the_judge_notices_what_must_not_be() {
    let known = Known {
        logged: (1..=8).map(|number| (number, number % 2 == 0)).collect(),
        durable: 2,
        synced: 6,
        sequences: BTreeMap::new(),
    };
    let of = |found: &[u64]| judge(&BTreeSet::new(), &known, &found.iter().copied().collect());
    assert_eq!(of(&[1, 2, 4, 6]), Ok(2));
    assert_eq!(of(&[1, 2, 3, 4, 5, 6, 8]), Ok(1));
    for wrong in [&[1, 4, 6][..], &[2, 4, 6], &[1, 2, 4], &[1, 2, 4, 5, 6], &[1, 2, 6], &[1, 2, 8]]
    {
        assert!(of(wrong).is_err(), "{wrong:?}");
    }
    assert!(judge(&BTreeSet::from([9]), &known, &BTreeSet::from([1, 2, 4, 6])).is_err());
    assert!(of(&[1, 2, 4, 6, 11]).is_err(), "never begun");
}

#[test]
fn a_clean_end_and_a_sync_keep_what_is_in_no_log() {
    // An engine that goes on is returned.
    type End = fn(Engine) -> Option<Engine>;
    let ends: [(&str, End); 4] = [
        ("close", |engine| engine.close().map(|()| None).unwrap()),
        ("drop", |engine| {
            drop(engine);
            None
        }),
        ("sync", |engine| engine.sync().map(|()| Some(engine)).unwrap()),
        ("flush", |engine| engine.flush().map(|()| Some(engine)).unwrap()),
    ];
    for (how, end) in ends {
        runner::simulate(7, || {
            let store = model::slow_store(7);
            let engine = open(&store);
            for number in 1..=100 {
                write(&engine, number, Durability::Unlogged).unwrap();
            }
            write(&engine, 101, Durability::Gathered).unwrap();
            write(&engine, 102, Durability::Unlogged).unwrap();
            let left = end(engine);
            let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(7));
            let found = found_numbers(&contents(&open(&survivor)));
            assert_eq!(found, Ok((1..=102).collect()), "{how}");
            drop(left);
        });
    }
}

#[test]
fn what_is_in_no_log_writes_no_log() {
    let store = terrace_env::store::MemoryStore::new();
    let engine = open(&store);
    for number in 1..=200 {
        write(&engine, number, Durability::Unlogged).unwrap();
    }
    engine.flush().unwrap();
    let stats = engine.stats();
    assert!(stats.flushes > 3, "{} flushes", stats.flushes);
    assert_eq!(stats.io.written(terrace_env::Cause::Log).0, 0);
    engine.close().unwrap();
}

/// The first batch of a memtable is so large that the memtable is made anew for its keys.
#[test]
fn a_sync_flushes_a_large_first_batch_that_is_in_no_log() {
    runner::simulate(1, || {
        for entries in [1, 10, 100, 1000_u32] {
            let store = model::slow_store(1);
            let engine = open(&store);
            let mut batch = Batch::new();
            for number in 0..entries {
                batch.put(SPACE, &number.to_be_bytes(), b"in no log");
            }
            engine.write(batch, Durability::Unlogged).unwrap();
            engine.sync().unwrap();
            let survivor = store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
            assert_eq!(contents(&open(&survivor)).len(), entries as usize);
        }
    });
}
