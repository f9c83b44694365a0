//! Tests of ingests: sorted input, with concurrent ordinary writes and snapshots, reads back like
//! an ordered map. An ingest is newer than the writes made while it was filled, refuses keys that
//! are out of order, and takes effect as a whole or not at all: after a lack of space, a drop, and
//! a power cut. Most tests are simulated from seeds.

use std::sync::Arc;

use terrace::{ByteCount, Db, Durability, FormatOptions, Ingest, MemoryStore};
use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{runner, test_seeds};
use terrace_zone::emulator::Event;
use terrace_zone::{PowerCut, Snapshot};

use crate::devices::{Contents, churn, contents, drive, options};

fn value(number: u32, by: &str) -> Vec<u8> {
    format!("{by} {number} ").repeat(1 + (number % 20) as usize).into_bytes()
}

/// Some keys of a range, in order.
fn keys(random: &mut Random, most: u32) -> Vec<u32> {
    let from = random.random_range(0..most);
    let (count, step) = (random.random_range(1..800), random.random_range(1..5));
    (0..count).map(|i| from + i * step).collect()
}

fn put_all(ingest: &mut Ingest, keys: &[u32], by: &str, held: &mut Contents) {
    for &number in keys {
        let (key, value) = (number.to_be_bytes(), value(number, by));
        ingest.put(&key, &value).unwrap();
        held.insert(key.to_vec(), value);
    }
}

#[test]
fn ingests_among_other_writes_read_back_as_an_ordered_map_does() {
    for seed in test_seeds(4) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let format = FormatOptions::default();
            let mut db = Db::create_device(device.clone(), &format, options()).unwrap();
            let (mut held, mut random) = (Contents::new(), Random::seeded(seed));
            let mut snapshots = Vec::new();
            for round in 0..24 {
                let writes = random.random_range(0..400);
                churn(&db, &mut held, 3000, writes, &mut random);
                if random.random_bool(0.3) {
                    snapshots.push((db.snapshot(), held.clone()));
                }
                let mut ingest = db.ingest().unwrap();
                put_all(
                    &mut ingest,
                    &keys(&mut random, 3000),
                    &format!("round {round}"),
                    &mut held,
                );
                let done = ingest.finish().unwrap();
                assert!(done.tables > 0 && done.entries > 0);
                if random.random_bool(0.2) {
                    db.compact_all().unwrap();
                }
                for (key, expected) in held.iter().step_by(97) {
                    assert_eq!(db.get(key).unwrap().as_deref(), Some(&expected[..]));
                }
                if random.random_bool(0.2) {
                    snapshots.clear();
                    db.close().unwrap();
                    db = Db::open_device(device.clone(), options()).unwrap();
                }
            }
            assert_eq!(contents(&db), held);
            let back = db.scan(..).unwrap().rev().map(Result::unwrap);
            let back: Contents = back.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            assert_eq!(back, held);
            for (snapshot, then) in &snapshots {
                let scan = snapshot.scan(..).unwrap().map(Result::unwrap);
                let seen: Contents =
                    scan.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
                assert_eq!(&seen, then, "a snapshot saw what was ingested later");
                for key in held.keys().step_by(53) {
                    let got = snapshot.get(key).unwrap().map(|value| value.to_vec());
                    assert_eq!(got.as_ref(), then.get(key));
                }
            }
            drop(snapshots);
            db.wait_idle().unwrap();
            db.compact_all().unwrap();
            assert_eq!(contents(&db), held);
            db.verify().unwrap();
            db.close().unwrap();
        });
    }
}

#[test]
fn an_ingest_is_newer_than_what_was_written_while_it_was_filled() {
    runner::simulate(1, || {
        let db = Db::open(Arc::new(MemoryStore::new()), options()).unwrap();
        db.put(b"key", b"before").unwrap();
        let mut ingest = db.ingest().unwrap();
        ingest.put(b"key", b"ingested").unwrap();
        db.put(b"key", b"meanwhile").unwrap();
        db.flush().unwrap();
        db.put(b"key", b"in memory").unwrap();
        let before = db.snapshot();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"in memory"[..]));
        ingest.finish().unwrap();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"ingested"[..]));
        assert_eq!(before.get(b"key").unwrap().as_deref(), Some(&b"in memory"[..]));
        db.put(b"key", b"after").unwrap();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"after"[..]));
    });
}

#[test]
fn keys_out_of_order_are_refused_and_left_out() {
    runner::simulate(1, || {
        let db = Db::open(Arc::new(MemoryStore::new()), options()).unwrap();
        let first = db.create_key_space("first").unwrap();
        let mut ingest = db.ingest().unwrap();
        ingest.put(b"b", b"1").unwrap();
        for key in [&b"b"[..], b"a", b""] {
            let error = ingest.put(key, b"2").unwrap_err().to_string();
            assert!(error.contains("in order") || error.contains("after"), "{error}");
        }
        ingest.key_space(&first).unwrap().put(b"a", b"3").unwrap();
        ingest.put(b"c", b"4").unwrap_err();
        assert_eq!(ingest.finish().unwrap().entries, 2);
        assert_eq!(db.scan(..).unwrap().count(), 1);
        assert_eq!(first.get(b"a").unwrap().as_deref(), Some(&b"3"[..]));
        // An empty ingest has no tables.
        assert_eq!(db.ingest().unwrap().finish().unwrap().tables, 0);
    });
}

#[test]
fn several_ingests_and_writers_at_once_are_each_there_as_a_whole() {
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::mib(1), 64, seed);
            let db = Db::create_device(device, &FormatOptions::default(), options()).unwrap();
            let actors: Vec<_> = (0..4u32)
                .map(|actor| {
                    let db = db.clone();
                    runner::spawn("ingest", move || {
                        let mut random = Random::seeded(seed * 10 + u64::from(actor));
                        for round in 0..6u32 {
                            let mut ingest = db.ingest().unwrap();
                            let by = format!("{actor} {round}");
                            for key in 0..300u32 {
                                ingest.put(&key.to_be_bytes(), by.as_bytes()).unwrap();
                                if random.random_bool(0.05) {
                                    let key = 1000 + random.random_range(0..300u32);
                                    db.put(&key.to_be_bytes(), &[7; 500]).unwrap();
                                }
                            }
                            ingest.finish().unwrap();
                            // Of overlapping ingests, one is the newest, the same for all keys.
                            let bounds = 0u32.to_be_bytes()..300u32.to_be_bytes();
                            let scan = db.scan(bounds).unwrap().map(Result::unwrap);
                            let found: Vec<_> = scan.map(|(_, value)| value).collect();
                            assert_eq!(found.len(), 300);
                            assert!(found.iter().all(|value| *value == found[0]), "a mixture");
                        }
                    })
                })
                .collect();
            actors.into_iter().for_each(runner::JoinHandle::join);
            db.wait_idle().unwrap();
            db.verify().unwrap();
            db.close().unwrap();
        });
    }
}

#[test]
fn sorted_input_into_an_empty_range_is_written_once() {
    runner::simulate(1, || {
        let device = drive(ByteCount::mib(4), 64, 1);
        let db = Db::create_device(device, &FormatOptions::default(), options()).unwrap();
        for part in 0..3u32 {
            let mut ingest = db.ingest().unwrap();
            for key in 0..10_000u32 {
                let key = (part * 10_000 + key).to_be_bytes();
                ingest.put(&key, &[part as u8 ^ key[3]; 200]).unwrap();
            }
            ingest.finish().unwrap();
        }
        db.wait_idle().unwrap();
        let stats = db.stats();
        assert_eq!(stats.compactions, 0, "{:?}", stats.levels);
        assert!(stats.write_amplification.total < 1.2, "{:?}", stats.write_amplification);
        assert_eq!(db.scan(..).unwrap().count(), 30_000);
        db.close().unwrap();
    });
}

#[test]
fn an_ingest_that_finds_no_space_or_is_dropped_leaves_nothing_behind() {
    runner::simulate(1, || {
        let device = drive(ByteCount::kib(256), 28, 1);
        let options = options().memtable_size(ByteCount::kib(64));
        let db = Db::create_device(device, &FormatOptions::default(), options).unwrap();
        db.put(b"key", b"value").unwrap();
        db.flush().unwrap();
        db.wait_idle().unwrap();
        let files = db.store().list().len();
        let mut dropped = db.ingest().unwrap();
        (0..2000u32).for_each(|key| dropped.put(&key.to_be_bytes(), &[1; 500]).unwrap());
        drop(dropped);
        let mut ingest = db.ingest().unwrap();
        let failed = (0..100_000u32).find_map(|key| {
            let mut value = vec![0; 500];
            Random::seeded(u64::from(key)).fill(&mut value[..]);
            ingest.put(&key.to_be_bytes(), &value).err()
        });
        assert!(failed.expect("a full drive").is_space());
        // A caller that goes on nevertheless does not get a part of it.
        let after = ingest.put(&u32::MAX.to_be_bytes(), b"value");
        assert!(after.expect_err("a lost ingest").is_space());
        assert!(ingest.finish().expect_err("a lost ingest").is_space());
        assert_eq!(db.store().list().len(), files);
        assert_eq!(db.scan(..).unwrap().count(), 1);
        // The space is free again.
        for key in 0..1000u32 {
            db.put(&key.to_be_bytes(), &[2; 500]).unwrap();
        }
        db.wait_idle().unwrap();
        assert_eq!(db.fs().unwrap().audit(), [""; 0]);
        db.close().unwrap();
    });
}

/// The drive at some write, and how many rounds were finished and begun then.
type Moment = (Snapshot, u32, u32);

#[test]
fn a_power_cut_leaves_an_ingest_as_a_whole_or_not_at_all() {
    for seed in test_seeds(3) {
        runner::simulate(seed, || {
            let device = drive(ByteCount::kib(512), 48, seed);
            let format = FormatOptions::default();
            let db = Db::create_device(device.clone(), &format, options()).unwrap();
            let rounds: Arc<Mutex<(u32, u32)>> = Arc::default();
            let moments: Arc<Mutex<Vec<Moment>>> = Arc::default();
            let (seen, into) = (Arc::clone(&rounds), Arc::clone(&moments));
            let chance = Mutex::new(Random::seeded(seed));
            device.set_observer(Some(Arc::new(move |event: &Event<'_>| {
                if chance.lock().random_range(0..2) == 0 {
                    let (done, begun) = *seen.lock();
                    into.lock().push((event.snapshot().unwrap(), done, begun));
                }
            })));
            for round in 1..=16u32 {
                rounds.lock().1 = round;
                // Before each ingest a write, which must not be lost while the ingest is open.
                db.put(b"written", &round.to_be_bytes()).unwrap();
                let mut ingest = db.ingest().unwrap();
                for key in 0..400u32 {
                    let key = [&b"k"[..], &key.to_be_bytes()].concat();
                    ingest.put(&key, &[&round.to_be_bytes()[..], &[3; 300]].concat()).unwrap();
                }
                ingest.finish().unwrap();
                rounds.lock().0 = round;
            }
            device.set_observer(None);
            db.close().unwrap();
            let moments = std::mem::take(&mut *moments.lock());
            assert!(moments.len() > 20, "{} moments", moments.len());
            let mut random = Random::seeded(seed);
            for (snapshot, done, begun) in &moments {
                let cut = PowerCut::any(&mut random);
                let survivor = Arc::new(snapshot.cut(cut, &mut random));
                let db = Db::open_device(survivor, options()).unwrap();
                let number = |value: &[u8]| u32::from_be_bytes(value[..4].try_into().unwrap());
                let scan = db.scan(b"k".as_slice()..b"l").unwrap().map(Result::unwrap);
                let found: Vec<u32> = scan.map(|(_, value)| number(&value)).collect();
                let round = found.first().copied().unwrap_or(0);
                assert!(found.len() == if round == 0 { 0 } else { 400 }, "{cut:?}: a part");
                assert!(found.iter().all(|other| *other == round), "{cut:?}: a mixture");
                assert!((*done..=*begun).contains(&round), "{cut:?}: {round} of {done}..={begun}");
                let written = db.get(b"written").unwrap().map_or(0, |value| number(&value));
                assert!(written >= round, "{cut:?}: write {written} is older than ingest {round}");
                db.write_with(terrace::Batch::new(), Durability::Synced).unwrap();
            }
        });
    }
}
