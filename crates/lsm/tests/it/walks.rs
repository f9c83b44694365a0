//! Walks in both directions: a cursor and a scan against an ordered map. [`Walk`] moves a cursor at
//! random and checks its position; [`check_both_ends`] takes a scan from both ends until they meet.
//! `operations` uses both during all other operations; the tests here are single behaviours. The
//! map has the range when the cursor or the scan was made: later writes are not seen.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use terrace_env::random::{Random, Rng};
use terrace_env::runner;
use terrace_env::store::MemoryStore;
use terrace_lsm::{Bounds, Cursor, Durability, KeySpaceId, Scan};

use crate::model::{Write, batch, open};

/// Contents of a range.
pub(crate) type Held = BTreeMap<Vec<u8>, Vec<u8>>;

/// A cursor, with its expected position and the entries that it must see.
pub(crate) struct Walk {
    cursor: Cursor,
    held: Held,
    at: Option<Vec<u8>>,
}

impl Walk {
    pub(crate) fn new(cursor: Cursor, held: Held) -> Self {
        assert!(!cursor.is_on_key());
        Self { cursor, held, at: None }
    }

    /// Moves once, at random; `sought` is a key to seek.
    pub(crate) fn step(&mut self, random: &mut Random, sought: &[u8]) {
        let first = || self.held.iter().next();
        let last = || self.held.iter().next_back();
        // Walks go on in a direction for a while, and turn at times.
        let (moved, expected) = match random.random_range(0..20) {
            0..9 => {
                let from = |at: &Vec<u8>| self.held.range((Excluded(at.clone()), Unbounded)).next();
                (self.cursor.next(), self.at.as_ref().map_or_else(first, from))
            }
            9..16 => {
                let to = |at: &Vec<u8>| self.held.range(..at.clone()).next_back();
                (self.cursor.prev(), self.at.as_ref().map_or_else(last, to))
            }
            16 => (self.cursor.seek_to_first(), first()),
            17 => (self.cursor.seek_to_last(), last()),
            18 => (self.cursor.seek(sought), self.held.range(sought.to_vec()..).next()),
            _ => {
                let to = (Unbounded, Included(sought.to_vec()));
                (self.cursor.seek_back(sought), self.held.range(to).next_back())
            }
        };
        assert_eq!(moved.unwrap(), expected.is_some(), "{:?}", self.cursor);
        assert_eq!(self.cursor.is_on_key(), expected.is_some());
        self.at = expected.map(|(key, _)| key.clone());
        if let Some((key, value)) = expected {
            assert_eq!((self.cursor.key(), &self.cursor.value()[..]), (&key[..], &value[..]));
            assert_eq!(self.cursor.value_slice(), &value[..]);
        }
    }
}

/// Takes a scan's entries from both ends, at random, until they meet.
pub(crate) fn check_both_ends(mut scan: Scan, held: &Held, random: &mut Random) {
    let mut expected = held.iter();
    let from_the_front = random.random_range(0.0..1.0);
    loop {
        let (found, next) = if random.random_bool(from_the_front) {
            (scan.next(), expected.next())
        } else {
            (scan.next_back(), expected.next_back())
        };
        let found = found.map(|entry| entry.unwrap());
        let found = found.as_ref().map(|(key, value)| (&key[..], &value[..]));
        assert_eq!(found, next.map(|(key, value)| (&key[..], &value[..])));
        if found.is_none() {
            assert!(scan.next().is_none() && scan.next_back().is_none(), "a scan ends once");
            return;
        }
    }
}

const SPACE: KeySpaceId = KeySpaceId::DEFAULT;

fn put(key: &[u8], value: &[u8]) -> Write {
    (SPACE, key.to_vec(), Some(value.to_vec()))
}

#[test]
fn a_walk_backward_takes_the_newest_visible_version_and_passes_over_deleted_keys() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let write = |writes: &[Write]| engine.write(batch(writes), Durability::Gathered).unwrap();
        write(&[put(b"a", b"1"), put(b"b", b"1"), put(b"c", b"1"), put(b"d", b"1")]);
        engine.flush().unwrap();
        write(&[put(b"b", b"2"), (SPACE, b"c".to_vec(), None)]);
        let then = engine.snapshot();
        write(&[put(b"b", b"3"), put(b"c", b"3"), (SPACE, b"d".to_vec(), None)]);
        write(&[(SPACE, b"a".to_vec(), None)]);
        let backward = |scan: Scan| -> Vec<(u8, u8)> {
            scan.rev().map(|entry| entry.unwrap()).map(|(key, value)| (key[0], value[0])).collect()
        };
        for _ in 0..2 {
            let now = backward(engine.scan(SPACE, &Bounds::all()).unwrap());
            assert_eq!(now, [(b'c', b'3'), (b'b', b'3')]);
            let before = backward(then.scan(SPACE, &Bounds::all()).unwrap());
            assert_eq!(before, [(b'd', b'1'), (b'b', b'2'), (b'a', b'1')]);
            engine.compact_all().unwrap();
        }
    });
}

#[test]
fn a_cursor_keeps_to_its_bounds_and_its_key_space() {
    runner::simulate(1, || {
        let engine = open(&MemoryStore::new());
        let spaces = [SPACE, engine.create_key_space("b").unwrap(), KeySpaceId(u32::MAX)];
        for (space, flushed) in spaces.into_iter().zip([true, true, false]) {
            if flushed {
                let writes: Vec<Write> =
                    (0..50u8).map(|key| (space, vec![key], Some(vec![key]))).collect();
                engine.write(batch(&writes), Durability::Gathered).unwrap();
                engine.flush().unwrap();
            }
            let mut cursor = engine.cursor(space, &Bounds::from(vec![10]..vec![20])).unwrap();
            let found = cursor.seek(&[0]).unwrap();
            assert_eq!((found, found.then(|| cursor.key()[0])), (flushed, flushed.then_some(10)));
            assert!(!cursor.seek(&[20]).unwrap());
            let found = cursor.seek_back(&[99]).unwrap();
            assert_eq!((found, found.then(|| cursor.key()[0])), (flushed, flushed.then_some(19)));
            assert!(!cursor.seek_back(&[9]).unwrap());
            // From no key, a step leads to the last key or the first.
            assert_eq!(cursor.prev().unwrap(), flushed);
            assert!(!cursor.next().unwrap());
            assert_eq!(cursor.next().unwrap(), flushed);
            let mut inverted = engine.cursor(space, &Bounds::from(vec![20]..vec![10])).unwrap();
            assert!(!inverted.next().unwrap() && !inverted.prev().unwrap());
            assert!(!inverted.seek(&[15]).unwrap() && !inverted.seek_back(&[15]).unwrap());
        }
    });
}
