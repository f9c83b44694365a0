//! Entries that expire, under every system: they are unseen at once, `stats` shows them, their
//! space is freed, and a store that they have filled takes puts again. Simulated, with the date of
//! the simulation; rows run in parallel.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use terrace::{
    Batch, ByteCount, Compression, Date, Db, Durability, ErrorKind, FormatOptions, MemoryStore,
    Options, System,
};
use terrace_env::random::{Random, RngCore};
use terrace_env::runner;
use terrace_env::store::Latency;

use crate::devices::{Contents, contents, drive, options_under};
use crate::rows::for_each_row;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const KEYS: u32 = 1_500;
const VALUE: usize = 1_000;

fn plain(system: System) -> Options {
    options_under(system).compression(Compression::None)
}

fn expired(db: &Db) -> u64 {
    db.stats().levels.iter().map(|level| level.expired_bytes).sum()
}

fn bytes(db: &Db) -> u64 {
    db.stats().levels.iter().map(|level| level.bytes).sum()
}

#[test]
fn expired_entries_are_unseen_at_once_and_their_space_comes_back() {
    for_each_row(|system| {
        let name = system.name();
        let device = drive(ByteCount::mib(1), 64, 1);
        let format = FormatOptions::default();
        let db = Db::create_device(device.clone(), &format, plain(system)).unwrap();
        let (mut held, mut random) = (Contents::new(), Random::seeded(1));
        let tomorrow = Date::from_now(DAY);
        for number in 0..KEYS {
            // 7,919 is a prime, so that each key comes once, in an order that is not theirs.
            let key = (u64::from(number) * 7_919 % u64::from(KEYS)) as u32;
            let mut value = vec![0; VALUE];
            random.fill_bytes(&mut value);
            if key.is_multiple_of(3) {
                db.put(&key.to_be_bytes(), &value).unwrap();
                held.insert(key.to_be_bytes().to_vec(), value);
            } else {
                db.put(&key.to_be_bytes(), b"older").unwrap();
                db.put_with_expiry(&key.to_be_bytes(), &value, tomorrow).unwrap();
            }
        }
        db.compact(..).unwrap();
        assert_eq!(contents(&db).len(), KEYS as usize, "{name}");
        assert_eq!(expired(&db), 0, "{name}");
        let before = bytes(&db);
        runner::set_date(tomorrow);
        assert_eq!(contents(&db), held, "{name}");
        assert!(expired(&db) > before / 2, "{name}: {} of {before}", expired(&db));
        // The next change of the tree wakes the jobs.
        db.put(b"wake", b"").unwrap();
        held.insert(b"wake".to_vec(), Vec::new());
        db.flush().unwrap();
        db.wait_idle().unwrap();
        assert!(bytes(&db) < before / 2, "{name}: {} of {before} bytes", bytes(&db));
        db.compact(..).unwrap();
        let levels = db.stats().levels;
        let entries: u64 = levels.iter().map(|level| level.entries).sum();
        assert_eq!((entries, expired(&db)), (held.len() as u64, 0), "{name}: {levels:?}");
        assert_eq!(contents(&db), held, "{name}");
        db.verify().unwrap();
        db.close().unwrap();
        let db = Db::open_device(device, plain(system)).unwrap();
        assert_eq!(contents(&db), held, "{name}");
        db.close().unwrap();
    });
}

#[test]
fn a_store_that_entries_have_filled_takes_puts_again_once_they_have_expired() {
    for_each_row(|system| {
        let name = system.name();
        let device = drive(ByteCount::kib(256), 96, 1);
        let db = Db::create_device(device, &FormatOptions::default(), plain(system)).unwrap();
        let mut random = Random::seeded(1);
        let tomorrow = Date::from_now(DAY);
        let mut put = |number: u32, expiry| {
            let mut value = vec![0; VALUE];
            random.fill_bytes(&mut value);
            db.put_with_expiry(&number.to_be_bytes(), &value, expiry)
        };
        let mut filled = 0;
        while let Err(error) = (filled..100_000).try_for_each(|number| {
            put(number, tomorrow)?;
            filled = number + 1;
            Ok(())
        }) {
            let error: terrace::Error = error;
            assert!(error.is_space(), "{name}: {error}");
            db.wait_idle().unwrap_or_else(|error| assert!(error.is_space(), "{error}"));
            if put(filled, tomorrow).is_err() {
                break;
            }
        }
        assert!(filled > 5_000, "{name}: {filled} entries");
        runner::set_date(tomorrow);
        let mut refused = 0;
        for number in 0..filled / 2 {
            while let Err(error) = put(number, Date::MAX) {
                assert!(error.is_space(), "{name}: {error}");
                refused += 1;
                assert!(refused < 20, "{name}: {error}; {:?}", db.stats().levels);
                db.wait_idle().unwrap_or_else(|error| assert!(error.is_space(), "{error}"));
            }
        }
        assert_eq!(contents(&db).len() as u32, filled / 2, "{name}");
        db.close().unwrap();
    });
}

#[test]
fn every_handle_writes_entries_that_expire() {
    runner::simulate(1, || {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let users = db.create_key_space("users").unwrap();
        let (expiry, hour) = (Date::from_now(DAY), HOUR);
        db.put_with_ttl(b"1", b"", hour).unwrap();
        db.put_with_expiry(b"2", b"", expiry).unwrap();
        users.put_with_ttl(b"3", b"", hour).unwrap();
        users.put_with_expiry(b"4", b"", expiry).unwrap();
        let mut batch = Batch::new();
        batch.put_with_ttl(b"5", b"", hour).put_with_expiry(b"6", b"", expiry);
        batch.key_space(&users).put_with_ttl(b"7", b"", hour).put_with_expiry(b"8", b"", expiry);
        db.write(batch).unwrap();
        db.transact(|transaction| {
            transaction.put_with_ttl(b"9", b"", hour)?;
            transaction.put_with_expiry(b"10", b"", expiry)?;
            let users = transaction.key_space(&users)?;
            users.put_with_ttl(b"11", b"", hour)?;
            users.put_with_expiry(b"12", b"", expiry)
        })
        .unwrap();
        assert!(db.put_if_with_ttl(b"13", None, b"", hour).unwrap());
        assert!(!db.put_if_with_ttl(b"13", None, b"", hour).unwrap());
        assert!(db.put_if_with_expiry(b"14", None, b"", expiry).unwrap());
        assert!(users.put_if_with_ttl(b"15", None, b"", hour).unwrap());
        assert!(users.put_if_with_expiry(b"16", None, b"", expiry).unwrap());
        db.put_with_expiry(b"17", b"", SystemTime::UNIX_EPOCH).unwrap();
        let count = || db.scan(..).unwrap().count() + users.scan(..).unwrap().count();
        assert_eq!(count(), 16);
        runner::sleep(hour);
        assert_eq!(count(), 8, "those of an hour have gone with the clock");
        runner::set_date(expiry);
        assert_eq!(count(), 0);
        assert!(db.is_empty(..).unwrap() && users.is_empty(..).unwrap());
    });
}

/// The swap waits for the sync of an earlier write, and its value expires meanwhile.
#[test]
fn a_swap_of_a_value_that_expires_before_its_turn_finds_none() {
    let late = (0..20).filter(|&seed| {
        runner::simulate(seed, move || {
            let latency = Latency::uniform(Duration::from_millis(20));
            let store = MemoryStore::new().with_latency(seed, latency);
            let db = Db::open(Arc::new(store), Options::default()).unwrap();
            let db = db.with_durability(Durability::Synced);
            let (begun, ttl) = (runner::now(), Duration::from_millis(100));
            db.put_with_ttl(b"key", b"old", ttl).unwrap();
            let margin = Duration::from_millis(1);
            runner::sleep((begun + ttl).since(runner::now()) - margin);
            let other = db.clone();
            let writer = runner::spawn("writer", move || {
                other.put(b"other", b"").unwrap();
                runner::now()
            });
            runner::sleep(margin / 10);
            let swapped = db.put_if(b"key", Some(b"old"), b"new").unwrap();
            let is_late = writer.join() > begun + ttl;
            assert!(!(is_late && swapped), "seed {seed}");
            db.close().unwrap();
            is_late
        })
    });
    assert!(late.count() > 5, "the value expires while the swap waits");
}

#[test]
fn a_transaction_that_reads_what_expires_is_tried_again() {
    runner::simulate(1, || {
        let db = Db::open(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        db.put_with_ttl(b"offer", b"half price", HOUR).unwrap();
        let mut tries = 0;
        let bought = db.transact(|transaction| {
            tries += 1;
            let price = transaction.get(b"offer")?;
            transaction.put(b"bought", b"")?;
            if tries == 1 {
                runner::sleep(HOUR);
            }
            Ok(price.is_some())
        });
        assert!(!bought.unwrap() && tries == 2);
        db.put_with_ttl(b"offer", b"half price", HOUR).unwrap();
        let transaction = db.transaction().unwrap();
        assert!(transaction.contains(b"offer").unwrap());
        transaction.put(b"bought", b"").unwrap();
        runner::sleep(HOUR);
        assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Conflict);
    });
}
