//! Key spaces that are created and dropped: a dropped one is gone at once for new reads and writes,
//! for snapshots as well, and its tables are dropped soon; open scans go on. Its id is not used
//! again. A drop that a failure and a power cut interrupt has happened or not, and the next opening
//! completes it.

use std::time::Duration;

use terrace_env::random::Random;
use terrace_env::runner;
use terrace_env::store::{CrashMode, Failure, MemoryStore};
use terrace_lsm::{Batch, Bounds, Durability, Engine, Error, KeySpaceId, KeySpaceOptions};

use crate::model::{self, batch, contents, open, try_open};

fn fill(engine: &Engine, space: KeySpaceId, keys: u32) {
    for number in 0..keys {
        let mut batch = Batch::new();
        batch.put(space, &number.to_be_bytes(), &[7; 100]);
        engine.write(batch, Durability::Gathered).unwrap();
    }
}

fn entries(engine: &Engine) -> u64 {
    engine.stats().levels.iter().map(|level| level.entries).sum()
}

#[test]
fn a_dropped_key_space_is_gone_at_once_and_its_tables_soon() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let doomed = engine.create_key_space("doomed").unwrap();
        let other = engine.create_key_space("other").unwrap();
        for space in [KeySpaceId::DEFAULT, doomed, other] {
            fill(&engine, space, 800);
        }
        engine.flush().unwrap();
        let snapshot = engine.snapshot();
        let mut scan = engine.scan(doomed, &Bounds::all()).unwrap();
        let mut mixed = Batch::new();
        mixed.put(other, b"k", b"v").put(doomed, b"k", b"v");
        assert!(engine.drop_key_space("doomed").unwrap());
        let unknown = |error| assert!(matches!(error, Error::UnknownKeySpace(id) if id == doomed));
        unknown(engine.get(doomed, b"k").unwrap_err());
        unknown(engine.scan(doomed, &Bounds::all()).unwrap_err());
        unknown(engine.cursor(doomed, &Bounds::all()).unwrap_err());
        unknown(snapshot.get(doomed, b"k").unwrap_err());
        unknown(engine.write(mixed, Durability::Gathered).unwrap_err());
        assert_eq!(engine.get(other, b"k").unwrap(), None, "a batch in part");
        // A reader that has begun may end.
        assert_eq!(scan.by_ref().map(Result::unwrap).count(), 800);
        drop((scan, snapshot));
        assert!(matches!(engine.drop_key_space("default"), Err(Error::DefaultKeySpace)));
        assert_eq!(engine.key_spaces().len(), 2);
        let again = engine.create_key_space("doomed").unwrap();
        assert!(again > other);
        assert_eq!(engine.scan(again, &Bounds::all()).unwrap().count(), 0);
        engine.flush().unwrap();
        engine.compact_all().unwrap();
        engine.wait_idle().unwrap();
        assert_eq!(entries(&engine), 1600);
    });
}

#[test]
fn a_drop_that_is_cut_short_is_taken_to_its_end() {
    let (mut kept, mut dropped) = (0, 0);
    for nth in 0..40 {
        runner::simulate(nth, || {
            let store = model::slow_store(nth);
            let engine = open(&store);
            let doomed = engine.create_key_space("doomed").unwrap();
            fill(&engine, doomed, 60);
            fill(&engine, KeySpaceId::DEFAULT, 60);
            engine.sync().unwrap();
            let before = contents(&engine);
            store.fail_at(store.operations() + nth / 4, Failure::Sticky);
            let result = engine.drop_key_space("doomed");
            let mode = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced][nth as usize % 2];
            let survivor = store.crash(mode, &mut Random::seeded(nth));
            let engine = try_open(&survivor).unwrap();
            let found = contents(&engine);
            if engine.key_space("doomed").is_some() {
                assert!(result.is_err());
                assert_eq!(found, before);
                kept += 1;
                return;
            }
            dropped += 1;
            assert!(found.keys().all(|(space, _)| *space == KeySpaceId::DEFAULT));
            assert_eq!(found.len(), 60);
            let late = batch(&[(doomed, b"late".to_vec(), Some(Vec::new()))]);
            engine.write(late, Durability::Gathered).unwrap_err();
            assert!(engine.create_key_space("doomed").unwrap() > doomed);
            engine.compact_all().unwrap();
            engine.wait_idle().unwrap();
            assert_eq!(entries(&engine), 60);
        });
    }
    assert!(kept > 2 && dropped > 10, "{kept} kept, {dropped} dropped");
}

#[test]
fn an_ingest_learns_with_its_next_key_that_its_key_space_was_dropped() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let doomed = engine.create_key_space("doomed").unwrap();
        let mut ingest = engine.ingest().unwrap();
        ingest.put(doomed, b"a", b"1").unwrap();
        assert!(engine.drop_key_space("doomed").unwrap());
        let unknown = |error| assert!(matches!(error, Error::UnknownKeySpace(id) if id == doomed));
        unknown(ingest.put(doomed, b"b", b"2").unwrap_err());
        assert_eq!(ingest.entries(), 1);
        unknown(ingest.finish().unwrap_err());
    });
}

/// A name with which a page lists nine key spaces, and the store's own annotation nine and the
/// default one.
pub(crate) fn long_name(number: u64) -> String {
    format!("{number:0200}")
}

/// A change of the list by number: one that makes a key space on a page with room, one on a new
/// page; one that drops a key space of the annotation, and one of a page.
fn change(engine: &Engine, number: u64, spaces: u64) -> Result<(), Error> {
    match number % 3 {
        0 => engine.create_key_space(&long_name(spaces)).map(|_| ()),
        1 => engine.drop_key_space(&long_name(3)).map(|_| ()),
        _ => engine.drop_key_space(&long_name(spaces - 1)).map(|_| ()),
    }
}

#[test]
fn a_change_of_options_that_is_cut_short_has_happened_or_not() {
    let (mut kept, mut changed) = (0, 0);
    for nth in 0..48 {
        runner::simulate(nth, || {
            // In the store's annotation, or in a page.
            let number = [0, 38][nth as usize / 2 % 2];
            let store = model::slow_store(nth);
            let engine = open(&store);
            let before = KeySpaceOptions::default().filter_bits(7);
            let spaces: Vec<KeySpaceId> = (0..40)
                .map(|number| engine.create_key_space_with(&long_name(number), before).unwrap())
                .collect();
            let hour = KeySpaceOptions::default().ttl(Duration::from_secs(3600));
            store.fail_at(store.operations() + nth / 16, Failure::Sticky);
            let result = engine.set_key_space_options(spaces[number], hour);
            let mode = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced][nth as usize % 2];
            let survivor = store.crash(mode, &mut Random::seeded(nth));
            let engine = try_open(&survivor).unwrap();
            let found = engine.key_space_options(spaces[number]);
            if found == before {
                assert!(result.is_err());
                kept += 1;
            } else {
                assert_eq!(found, hour.or(before));
                changed += 1;
            }
            for (other, space) in spaces.iter().enumerate().filter(|(other, _)| *other != number) {
                assert_eq!(engine.key_space_options(*space), before, "{other}");
            }
            engine.set_key_space_options(spaces[number], hour).unwrap();
            drop(engine);
            let engine = try_open(&survivor).unwrap();
            assert_eq!(engine.key_space_options(spaces[number]), hour.or(before));
        });
    }
    assert!(kept > 5 && changed > 5, "{kept} kept, {changed} changed");
}

#[test]
fn a_change_of_a_list_in_pages_that_is_cut_short_has_happened_or_not() {
    let (mut kept, mut changed) = (0, 0);
    for nth in 0..72 {
        runner::simulate(nth, || {
            // The last page is full, has one key space, or has room.
            let spaces = [36, 37, 40][nth as usize / 3 % 3];
            let store = model::slow_store(nth);
            let engine = open(&store);
            for number in 0..spaces {
                engine.create_key_space(&long_name(number)).unwrap();
            }
            let before = engine.key_spaces();
            store.fail_at(store.operations() + nth / 24, Failure::Sticky);
            let result = change(&engine, nth, spaces);
            let mode = [CrashMode::DropUnsynced, CrashMode::KeepUnsynced][nth as usize % 2];
            let survivor = store.crash(mode, &mut Random::seeded(nth));
            let engine = try_open(&survivor).unwrap();
            if engine.key_spaces() == before {
                assert!(result.is_err());
                kept += 1;
                change(&engine, nth, spaces).unwrap();
            } else {
                changed += 1;
            }
            let after = engine.key_spaces();
            let is_new = |id: KeySpaceId| before.iter().all(|other| other.id != id);
            let made = after.iter().filter(|made| is_new(made.id)).count();
            let gone = before.len() + made - after.len();
            assert_eq!((made, gone), if nth % 3 == 0 { (1, 0) } else { (0, 1) });
            // No id is used again, and the list can be filled and emptied.
            let next = engine.create_key_space("next").unwrap();
            assert!(before.iter().chain(&after).all(|space| space.id < next));
            for terrace_lsm::KeySpaceEntry { name, .. } in engine.key_spaces().into_iter().skip(1) {
                assert!(engine.drop_key_space(&name).unwrap());
            }
            drop(engine);
            assert_eq!(try_open(&survivor).unwrap().key_spaces().len(), 1);
        });
    }
    assert!(kept > 10 && changed > 10, "{kept} kept, {changed} changed");
}
