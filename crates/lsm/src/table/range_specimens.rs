//! Tests of tables with range tombstones, with and without entries. The tables must be written as
//! in the golden files, be read back, and report damage. Other tests search with a range tombstone,
//! and walk a table without entries.

use std::sync::Arc;

use terrace_env::{Cause, SeqNo};
use terrace_policy::Span;

use super::specimens::{Entry, build_with, entries, layout, newest, open, read, two_levels};
use super::{Lookup, PointReads, TableCursor, hash};
use crate::Error;
use crate::compression::Compression;
use crate::golden::{damaged, specimen};
use crate::key::{KeySpaceId, Trailer, full_key, internal_key};
use crate::memory::Walk;
use crate::memtable::Found;
use crate::ranges::Fragment;

fn fragment(start: &[u8], end: &[u8], sequences: &[u64]) -> Fragment {
    let full = |user_key| full_key(KeySpaceId(0), user_key);
    let sequences = sequences.iter().copied().map(SeqNo).collect();
    Fragment { span: Span::new(full(start), full(end)), sequences }
}

/// One before all entries except the first, two over some, one after all of their key space.
fn ranges() -> Vec<Fragment> {
    vec![
        fragment(b"a", b"b", &[900, 3]),
        fragment(b"user0006", b"user0020", &[1500]),
        fragment(b"user0020", b"user0030", &[1600, 1500]),
        Fragment {
            span: Span::new(full_key(KeySpaceId(0), b"z"), full_key(KeySpaceId(1), b"")),
            sequences: vec![SeqNo(3000)],
        },
    ]
}

fn kept() -> [(Vec<Entry>, Vec<u8>); 3] {
    let beside = build_with(&entries(), ranges(), layout(Compression::Lz4, 10));
    let large = build_with(&entries(), ranges(), two_levels(Compression::None, 10));
    let alone = build_with(&[], ranges(), layout(Compression::None, 10));
    [
        (entries(), specimen("table-ranges.bin", &beside)),
        (Vec::new(), specimen("table-only-ranges.bin", &alone)),
        (entries(), specimen("table-two-levels-ranges.bin", &large)),
    ]
}

#[test]
fn range_tombstones_are_written_as_ever_and_read_back() {
    for (entries, bytes) in kept() {
        let table = open(&bytes).unwrap();
        assert_eq!(table.ranges().iter().cloned().collect::<Vec<_>>(), ranges());
        let properties = table.properties();
        let summary = properties.ranges.as_ref().map(|(_, summary)| summary);
        assert_eq!(summary, table.ranges().summary().as_ref());
        assert_eq!(properties.entries, entries.len() as u64);
        assert_eq!((properties.first_sequence, properties.last_sequence), (SeqNo(3), SeqNo(3000)));
        let (walked, found) = read(&bytes, Walk::Scan).unwrap();
        if entries.is_empty() {
            assert!(found.iter().all(|lookup| *lookup == Lookup::RuledOut));
        } else {
            assert_eq!(found, newest());
        }
        assert_eq!(walked, entries);
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_told() {
    for (_, bytes) in kept() {
        for (what, damaged) in damaged(&bytes) {
            let error = read(&damaged, Walk::Scan).expect_err(&what);
            assert!(matches!(error, Error::Corruption { .. }), "{what}: {error}");
        }
    }
}

#[test]
fn a_search_that_is_told_of_a_tombstone_returns_only_what_is_newer() {
    let [(_, bytes), ..] = kept();
    let table = open(&bytes).unwrap();
    let get = |user_key: &[u8], at: u64| {
        let full = full_key(KeySpaceId(0), user_key);
        let cover = table.ranges().cover(&full, SeqNo(at));
        let seek_key = internal_key(&full, Trailer::seek(SeqNo(at)));
        match table.get(&seek_key, hash(&full), cover, &mut PointReads::default()).unwrap() {
            Lookup::Searched(found) => found,
            Lookup::RuledOut => panic!("a filter that denies a key that is there"),
        }
    };
    // Entry 2 has sequence 1002.
    assert!(matches!(get(b"user0006/name", 1499), Some(Found::Value(_))));
    assert_eq!(get(b"user0006/name", 1500), Some(Found::Deleted));
    assert!(matches!(get(b"user0003/name", 5000), Some(Found::Value(_))));
}

#[test]
fn a_cursor_in_a_table_without_entries_stands_nowhere() {
    let [_, (_, bytes), _] = kept();
    let table = open(&bytes).unwrap();
    let mut cursor = TableCursor::new(Arc::clone(&table), Walk::Job(Cause::Compaction));
    let target = internal_key(&full_key(KeySpaceId(0), b"user"), Trailer::NEWEST);
    cursor.seek_to_first().unwrap();
    assert_eq!(cursor.key(), None);
    cursor.seek_to_last().unwrap();
    assert_eq!(cursor.key(), None);
    cursor.seek(&target).unwrap();
    assert_eq!(cursor.key(), None);
    cursor.seek_before(&target).unwrap();
    assert_eq!(cursor.key(), None);
    assert_eq!(table.size_of(&[0; 4], &[9; 4]).unwrap().0, 0);
}
