//! Transactions and conditional writes of the library: over several key spaces, on threads, with
//! errors that a program can tell apart. `terrace-lsm` tests them with other writes.

use std::sync::Arc;

use terrace::{
    Bounds, Conflict, Db, Durability, Emulator, EngineError, ErrorKind, FormatOptions, Geometry,
    MemoryStore, Options, Swap,
};
use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, runner};

fn memory() -> Db {
    Db::open(Arc::new(MemoryStore::new()), Options::default()).expect("a store")
}

#[test]
fn money_that_threads_move_between_key_spaces_is_neither_lost_nor_made() {
    let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1).expect("a shape");
    let format = FormatOptions::default();
    let db = Db::create_device(Arc::new(drive), &format, Options::default()).expect("a store");
    let spaces = ["cash", "savings"].map(|name| db.create_key_space(name).expect("a key space"));
    for account in 0..8u8 {
        spaces[0].put(&[account], &100u32.to_le_bytes()).expect("a put");
    }
    let amount = |value: Option<&[u8]>| {
        value.map_or(0, |value| u32::from_le_bytes(*value.first_chunk().expect("an amount")))
    };
    let movers: Vec<_> = (0..4)
        .map(|seed| {
            let (db, spaces) = (db.clone(), spaces.clone());
            runner::spawn("mover", move || {
                let mut random = Random::seeded(seed);
                for _ in 0..100 {
                    let mut place = || (random.random_range(0..2), [random.random_range(0..8u8)]);
                    let (from, to) = (place(), place());
                    if from == to {
                        continue;
                    }
                    db.transact(|transaction| {
                        let source = transaction.key_space(&spaces[from.0])?;
                        let target = transaction.key_space(&spaces[to.0])?;
                        let have = amount(source.get(&from.1)?.as_deref());
                        let moved = have.min(30);
                        let there = amount(target.get(&to.1)?.as_deref());
                        source.put(&from.1, &(have - moved).to_le_bytes())?;
                        target.put(&to.1, &(there + moved).to_le_bytes())
                    })
                    .expect("a transfer");
                }
            })
        })
        .collect();
    // Readers see all of a transfer or none of it.
    let sum = || {
        let transaction = db.transaction().expect("a transaction");
        let of = |space| {
            let scan = transaction.key_space(space).unwrap().scan(..).unwrap();
            scan.map(|entry| amount(Some(&entry.unwrap().1))).sum::<u32>()
        };
        spaces.iter().map(of).sum::<u32>()
    };
    for _ in 0..50 {
        assert_eq!(sum(), 800);
    }
    movers.into_iter().for_each(runner::JoinHandle::join);
    assert_eq!(sum(), 800);
    db.close().expect("an end");
}

#[test]
fn transactions_that_are_committed_together_have_answers_of_their_own() {
    let (db, other) = (memory(), memory());
    db.put(b"read", b"1").unwrap();
    let begin = |key: &[u8]| {
        let transaction = db.transaction().unwrap();
        transaction.get(b"read").unwrap();
        transaction.put(key, b"2").unwrap();
        transaction
    };
    let scanning = db.transaction().unwrap();
    assert_eq!(scanning.scan(b"x".to_vec()..).unwrap().count(), 0);
    scanning.put(b"after", b"2").unwrap();
    let empty = db.transaction().unwrap();
    empty.get(b"read").unwrap();
    let foreign = other.transaction().unwrap();
    foreign.put(b"foreign", b"2").unwrap();
    // The third one writes what the later ones have read.
    let all = vec![begin(b"a"), empty, begin(b"read"), foreign, begin(b"x"), scanning];
    let kinds: Vec<_> = db.commit_each(all).into_iter().map(|one| one.err()).collect();
    let kinds: Vec<_> = kinds.iter().map(|one| one.as_ref().map(terrace::Error::kind)).collect();
    let (conflict, foreign) = (Some(ErrorKind::Conflict), Some(ErrorKind::OtherStore));
    assert_eq!(kinds, [None, None, None, foreign, conflict, None]);
    let value = |key: &[u8]| db.get(key).unwrap();
    assert!(value(b"a").is_some() && value(b"after").is_some());
    assert!(value(b"x").is_none() && other.get(b"foreign").unwrap().is_none());
    assert!(db.commit_each(Vec::new()).is_empty());
    db.clone().close().unwrap();
    let late = db.transaction().map(|transaction| db.commit_each(vec![transaction]));
    assert!(late.is_err() || late.unwrap()[0].is_err(), "the store is closed");
}

#[test]
fn transactions_that_are_committed_together_share_the_syncs_of_the_log() {
    runner::simulate(1, || {
        let drive = Emulator::in_memory(Geometry::uniform(ByteCount::mib(1), 64), 1).unwrap();
        let drive = Arc::new(drive);
        let format = FormatOptions::default();
        let db = Db::create_device(drive.clone(), &format, Options::default()).unwrap();
        let db = db.with_durability(Durability::Synced);
        let before = drive.io().writes.iter().sum::<u64>();
        let begin = |number: u8| {
            let transaction = db.transaction().unwrap();
            transaction.put(&[number], b"value").unwrap();
            transaction
        };
        let answers = db.commit_each((0..50).map(begin).collect());
        assert!(answers.iter().all(Result::is_ok));
        let writes = drive.io().writes.iter().sum::<u64>() - before;
        assert!(writes <= 3, "{writes} writes for 50 transactions");
        db.close().unwrap();
    });
}

#[test]
fn a_conflict_is_an_error_of_its_kind_with_the_key() {
    let db = memory();
    let users = db.create_key_space("users").unwrap();
    let transaction = db.transaction().unwrap();
    let of_users = transaction.key_space(&users).unwrap();
    assert!(!of_users.contains(b"ada").unwrap());
    of_users.put(b"ada", b"1").unwrap();
    users.put(b"ada", b"2").unwrap();
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let Some(EngineError::Conflict(conflict)) = error.get_ref().downcast_ref() else {
        panic!("{error:?}");
    };
    let Conflict { name, start, end, .. } = &**conflict;
    assert_eq!((&name[..], &start[..], end), ("users", &b"ada"[..], &None));
    assert!(error.to_string().contains("begin the transaction again"), "{error}");
}

#[test]
fn a_transaction_refuses_key_spaces_of_another_store_and_dropped_ones() {
    let (db, other) = (memory(), memory());
    let (foreign, doomed) =
        (other.key_space("default").unwrap(), db.create_key_space("d").unwrap());
    let transaction = db.transaction().unwrap();
    let error = transaction.key_space(&foreign).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OtherStore);
    db.drop_key_space("d").unwrap();
    let of_doomed = transaction.key_space(&doomed).unwrap();
    assert_eq!(of_doomed.get(b"k").unwrap_err().kind(), ErrorKind::UnknownKeySpace);
    assert_eq!(of_doomed.scan(..).unwrap_err().kind(), ErrorKind::UnknownKeySpace);
    assert_eq!(doomed.put_if(b"k", None, b"").unwrap_err().kind(), ErrorKind::UnknownKeySpace);
}

#[test]
fn an_attempt_that_fails_writes_nothing_and_one_that_conflicts_is_repeated() {
    let db = memory();
    let refused = db.transact(|transaction| {
        transaction.put(b"k", b"v")?;
        transaction.put(&[0; 70_000], b"")
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(!db.contains(b"k").unwrap());
    let mut attempts = 0;
    db.transact(|transaction| {
        attempts += 1;
        let count = transaction.scan(Bounds::prefix(b"k"))?.count();
        if attempts < 3 {
            db.put(&[b'k', attempts], b"")?;
        }
        transaction.put(b"count", &[count as u8])
    })
    .unwrap();
    assert_eq!((attempts, db.get(b"count").unwrap().as_deref()), (3, Some(&[2][..])));
}

#[test]
fn conditional_writes_say_what_they_did() {
    let db = memory().with_durability(Durability::Synced);
    assert!(db.put_if(b"k", None, b"a").unwrap());
    assert!(!db.put_if(b"k", None, b"b").unwrap());
    assert!(!db.delete_if(b"k", b"b").unwrap());
    let kept = db.compare_and_swap(b"k", Some(b"b"), Some(b"c")).unwrap();
    assert_eq!(kept, Swap::Kept(Some("a".into())));
    assert!(db.put_if(b"k", Some(b"a"), b"b").unwrap());
    assert!(db.delete_if(b"k", b"b").unwrap());
    assert!(!db.contains(b"k").unwrap());
}
