//! Tests of the writer, of room and of the log over a store in memory, without flushes and
//! compactions in the background: the tests say when a memtable is flushed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use terrace_env::random::Random;
use terrace_env::store::{CrashMode, Failure, MemoryStore};
use terrace_env::{ByteCount, SeqNo, runner};

use crate::batch::Batch;
use crate::memtable::Found;
use crate::opening::Rig;
use crate::options::EngineOptions;
use crate::{Durability, Error, KeySpaceId, key};

fn options() -> EngineOptions {
    let memtable_size = ByteCount::kib(64);
    EngineOptions { memtable_size, memtables_max: 1, ..EngineOptions::default() }
}

fn put(number: u32, bytes: usize) -> Batch {
    let mut batch = Batch::new();
    batch.put(KeySpaceId::DEFAULT, &number.to_be_bytes(), &vec![7; bytes]);
    batch
}

fn delete(number: u32) -> Batch {
    let mut batch = Batch::new();
    batch.delete(KeySpaceId::DEFAULT, &number.to_be_bytes());
    batch
}

/// Whether readers see a value of the key, in memory.
fn is_seen(rig: &Rig, number: u32) -> bool {
    seen(rig, number).is_some()
}

/// Bytes of the value of the key that readers see, in memory.
fn seen(rig: &Rig, number: u32) -> Option<usize> {
    let key = key::seek_key(KeySpaceId::DEFAULT, &number.to_be_bytes(), rig.tree.visible());
    let view = rig.tree.view();
    let found = view.memtables().find_map(|memtable| memtable.get(&key, Bytes::copy_from_slice));
    found.and_then(Found::shown).map(|shown| shown.value.len())
}

/// Flushes the oldest memtable that waits.
fn flush_one(rig: &Rig) {
    let next = rig.memtables.await_next(&rig.writer.lifecycle).expect("a memtable that waits");
    rig.flusher.flush(&next, &Arc::default()).unwrap();
}

#[test]
fn a_batch_whose_append_failed_is_not_seen_and_stops_all_writes() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        rig.writer.write(put(1, 10), Durability::Written).unwrap();
        let before = rig.tree.visible();
        rig.store.fail_at(rig.store.operations(), Failure::Once);
        let failed = rig.writer.write(put(2, 10), Durability::Synced);
        assert!(matches!(failed, Err(Error::Store(_))), "{failed:?}");
        assert!(!is_seen(&rig, 2) && rig.tree.visible() == before);
        let stopped = rig.writer.write(put(3, 10), Durability::Gathered);
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
    });
}

#[test]
fn a_batch_whose_sync_failed_gets_the_error_and_may_be_seen() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        // The append is the first operation, the sync the last.
        rig.writer.write(put(1, 10), Durability::Synced).unwrap();
        let operations = rig.store.operations();
        rig.writer.write(put(2, 10), Durability::Synced).unwrap();
        let each = rig.store.operations() - operations;
        rig.store.fail_at(rig.store.operations() + each - 1, Failure::Once);
        let failed = rig.writer.write(put(3, 10), Durability::Synced);
        assert!(matches!(failed, Err(Error::Store(_))), "{failed:?}");
        assert!(is_seen(&rig, 3), "it is in the log, and may survive");
        assert!(rig.writer.lifecycle.check_writable().is_err());
    });
}

#[test]
fn space_for_the_flush_is_set_aside_before_the_first_group_of_a_memtable() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        let admitted = || rig.writer.lane.leading(|log| Ok((log.admitted, log.hold.is_some())));
        assert_eq!(admitted().unwrap(), (0, false));
        rig.writer.write(put(1, 10), Durability::Gathered).unwrap();
        assert_eq!(admitted().unwrap(), (64 << 10, true));
    });
}

#[test]
fn where_space_is_short_it_is_set_aside_for_a_smaller_memtable() {
    runner::simulate(1, || {
        let size = ByteCount::mib(8);
        let options = EngineOptions { memtable_size: size, ..options() };
        let store = MemoryStore::new().with_capacity(ByteCount::mib(6), ByteCount::kib(1));
        let rig = Rig::new(store, options);
        rig.writer.write(put(1, 10), Durability::Gathered).unwrap();
        let admitted = rig.writer.lane.leading(|log| Ok(log.admitted as u64)).unwrap();
        assert!(admitted > 0 && admitted <= size.0 / 2, "{admitted}");
    });
}

#[test]
fn a_writer_waits_while_as_many_memtables_as_may_wait_for_their_flush() {
    runner::simulate(1, || {
        let rig = Arc::new(Rig::new(MemoryStore::new(), options()));
        let writing = Arc::clone(&rig);
        let writer = runner::spawn("writer", move || {
            (0..300).for_each(|number| {
                writing.writer.write(put(number, 1 << 10), Durability::Gathered).unwrap();
            });
        });
        runner::sleep(Duration::from_secs(1));
        let seen = rig.tree.visible();
        assert_eq!(rig.tree.view().immutable.len(), 1, "one waits, and the active one is full");
        runner::sleep(Duration::from_secs(60));
        assert_eq!(rig.tree.visible(), seen, "nothing is written meanwhile");
        flush_one(&rig);
        runner::sleep(Duration::from_secs(1));
        assert!(rig.tree.visible() > seen);
        while rig.tree.visible() < SeqNo(300) {
            flush_one(&rig);
            runner::sleep(Duration::from_secs(1));
        }
        writer.join();
    });
}

#[test]
fn a_full_store_refuses_puts_and_takes_deletes() {
    runner::simulate(1, || {
        let store = MemoryStore::new().with_capacity(ByteCount::kib(700), ByteCount::kib(60));
        let rig = Rig::new(store, options());
        let flusher = Arc::clone(&rig.flusher);
        let actor = runner::spawn("flush", move || flusher.run());
        let mut number = 0;
        let refused = loop {
            let written = rig.writer.write(put(number, 1 << 10), Durability::Gathered);
            if let Err(error) = written {
                break error;
            }
            number += 1;
            assert!(number < 10_000, "a store of 700 KiB never gets full");
        };
        assert!(refused.is_space() && number > 100, "{refused} after {number}");
        assert!(!is_seen(&rig, number));
        rig.writer.write(delete(0), Durability::Gathered).unwrap();
        assert!(rig.writer.lifecycle.check_writable().is_ok(), "lack of space stops nothing");
        rig.writer.lifecycle.close();
        rig.writer.lifecycle.wake_all();
        actor.join();
    });
}

#[test]
fn the_log_that_a_flush_deletes_takes_no_later_write() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        rig.writer.write(put(1, 10), Durability::Gathered).unwrap();
        let log = || rig.writer.lane.leading(|log| Ok(log.id())).unwrap();
        let first = log();
        rig.writer.rotate_memtable().unwrap();
        assert!(log() > first);
        flush_one(&rig);
        assert!(terrace_env::store::Store::info(&rig.store, first).is_none());
        rig.writer.write(put(2, 10), Durability::Synced).unwrap();
        assert!(is_seen(&rig, 2) && !is_seen(&rig, 1), "the first is in a table");
    });
}

#[test]
fn batches_that_are_given_together_take_effect_in_their_order_and_have_answers_of_their_own() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        let each = |batches: Vec<Batch>| {
            let writes = batches.into_iter().map(|batch| (batch, Durability::Gathered, None));
            let answers = rig.writer.write_each(writes);
            answers.iter().map(Result::is_ok).collect::<Vec<_>>()
        };
        let (again, last) = ([put(1, 10), delete(1), put(1, 10)], [put(3, 10), delete(3)]);
        let all = again.into_iter().chain([delete(2), put(2, 10)]).chain(last);
        assert_eq!(each(all.collect()), [true; 7]);
        assert_eq!([1, 2, 3].map(|number| is_seen(&rig, number)), [true, true, false]);
        let mut too_long = Batch::new();
        too_long.put(KeySpaceId::DEFAULT, &[0; key::KEY_BYTES_MAX + 1], b"");
        let some = [put(4, 10), too_long, Batch::new(), put(5, 10)];
        assert_eq!(each(some.into()), [true, false, true, true]);
        assert!(is_seen(&rig, 4) && is_seen(&rig, 5));
    });
}

#[test]
fn a_log_that_is_given_up_without_entries_is_deleted_when_the_next_one_begins() {
    runner::simulate(1, || {
        let rig = Rig::new(MemoryStore::new(), options());
        let files = || terrace_env::store::Store::list(&rig.store).len();
        assert_eq!(files(), 1);
        let room = &rig.writer.room;
        let replaced = rig.writer.lane.leading(|log| {
            room.give_up_log(log);
            room.begin_again(log, false)
        });
        replaced.unwrap();
        assert_eq!(files(), 1);
        rig.writer.write(put(1, 10), Durability::Synced).unwrap();
        assert!(is_seen(&rig, 1));
    });
}

#[test]
fn of_several_logs_that_an_opening_replays_the_newest_counts_and_the_oldest_is_flushed_first() {
    runner::simulate(1, || {
        let options = || EngineOptions { memtables_max: 4, ..options() };
        let rig = Rig::new(MemoryStore::new(), options());
        for bytes in 1..=4 {
            rig.writer.write(put(7, bytes), Durability::Synced).unwrap();
            if bytes < 4 {
                rig.writer.rotate_memtable().unwrap();
            }
        }
        let check = |rig: &Rig| {
            assert_eq!(seen(rig, 7), Some(4));
            let view = rig.tree.view();
            let ends = view.memtables().map(|memtable| memtable.end()).collect::<Vec<_>>();
            assert_eq!(ends, [5, 4, 3, 2].map(SeqNo), "newest first");
        };
        check(&rig);
        let survivor = rig.store.crash(CrashMode::DropUnsynced, &mut Random::seeded(1));
        let rig = Rig::new(survivor, options());
        check(&rig);
        for end in [2, 3, 4].map(SeqNo) {
            let next = rig.memtables.await_next(&rig.writer.lifecycle).expect("a memtable");
            assert_eq!(next.memtable.end(), end, "the oldest first");
            flush_one(&rig);
            assert_eq!(seen(&rig, 7), Some(4));
        }
    });
}
