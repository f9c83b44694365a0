//! Tests of tables of many shapes against the sorted list of their entries. Shapes come from seeds:
//! small blocks and partitions, down to one byte, with and without filters, with and without first
//! keys in the index, small and large values, few and many entries, little and much memory.
//! Searches, scans and jobs must find the same entries. Two more tests bound the size of a table,
//! and the memory of a large one.

use std::sync::Arc;

use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{ByteCount, Cause, MemoryGauge, SeqNo, test_seeds};

use super::index_builder::IndexLayout;
use super::specimens::{Entry, File, build_in, entry, open_with};
use super::{Lookup, PointReads, Table, TableBuilder, TableCursor, TableLayout, hash};
use crate::compact::{Load, worst_case};
use crate::compression::Compression;
use crate::key::{self, KeySpaceId, Kind, Trailer, internal_key};
use crate::memory::Walk;
use crate::memory::{Memory, writer_bytes};
use crate::memtable::Found;
use crate::options::{EngineOptions, KeySpaceOptions, ShapeOptions, SpaceOptions, TableOptions};

fn any_layout(random: &mut Random) -> TableLayout {
    let size = |random: &mut Random, most: u32| 1 << random.random_range(0..=most);
    let codecs = [Compression::None, Compression::Lz4, Compression::Zstd];
    let filter_bits = if random.random_bool(0.3) { 0 } else { random.random_range(1..20) };
    let block_size = ByteCount(size(random, 13) as u64);
    let layout = TableLayout::new(block_size, codecs[random.random_range(0..3)], filter_bits);
    let (partition_size, whole_max) = (size(random, 10), size(random, 14));
    let first_keys = random.random();
    let index = IndexLayout { partition_size, whole_max, filter_bits, first_keys };
    TableLayout { index, ..layout }
}

/// Options of some key spaces, in a store whose tables have this layout.
fn any_spaces(layout: TableLayout, random: &mut Random) -> ShapeOptions {
    let mut spaces = SpaceOptions::default();
    for space in 0..4 {
        if random.random() {
            let (other, mut options) = (any_layout(random), KeySpaceOptions::default());
            options.block_size = random.random::<bool>().then_some(other.block_size);
            options.filter_bits = random.random::<bool>().then_some(other.index.filter_bits);
            options.compression = random.random::<bool>().then_some(other.compression.into());
            spaces.set(KeySpaceId(space), options);
        }
    }
    let tables = TableOptions {
        block_size: Some(layout.block_size),
        compression: Some(layout.compression.into()),
        filter_bits: Some(layout.index.filter_bits),
        first_keys: Some(layout.index.first_keys),
    };
    ShapeOptions::new(&EngineOptions::default(), &tables, Arc::new(spaces))
}

/// Keys with common prefixes of all lengths, some with many versions, in order.
fn any_entries(random: &mut Random) -> Vec<Entry> {
    let count = if random.random_bool(0.1) { 1 } else { 1 << random.random_range(1..10) };
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..count {
        let length = random.random_range(0..9);
        let user_key: Vec<u8> = (0..length).map(|_| random.random_range(b'a'..b'd')).collect();
        let space = random.random_range(0..4);
        let versions = if random.random_bool(0.05) { 40 } else { 1 };
        for _ in 0..versions {
            let kind = if random.random_bool(0.2) { Kind::Delete } else { Kind::Put };
            let length = match random.random_range(0..50) {
                0 => random.random_range(0..40_000),
                _ => random.random_range(0..40),
            };
            let mut value = vec![7; if kind == Kind::Put { length } else { 0 }];
            if random.random() {
                random.fill_bytes(&mut value);
            }
            entries.push(entry(space, &user_key, random.random_range(1..1000), kind, &value));
        }
    }
    let order = |a: &Entry, b: &Entry| key::compare(&a.0, &b.0);
    entries.sort_by(order);
    entries.dedup_by(|a, b| {
        key::split(&a.0).1.sequence() == key::split(&b.0).1.sequence()
            && key::split(&a.0).0 == key::split(&b.0).0
    });
    entries
}

/// Expected result of a search at `seek_key`.
fn expected(entries: &[Entry], seek_key: &[u8]) -> Option<Found> {
    let at = entries.partition_point(|(key, _)| key::compare(key, seek_key).is_lt());
    let (key, value) = entries.get(at)?;
    let (full_key, trailer) = key::split(key);
    (full_key == key::split(seek_key).0).then(|| match trailer.kind() {
        Some(Kind::Put) => Found::Value(value.clone().into()),
        _ => Found::Deleted,
    })
}

fn check_gets(table: &Table, entries: &[Entry], sought: &[Entry]) {
    let at = [SeqNo(0), SeqNo(500), SeqNo::MAX];
    for (key, _) in entries.iter().chain(sought) {
        let (full_key, _) = key::split(key);
        for sequence in at {
            for seek_key in [Trailer::seek(sequence), Trailer::NEWEST] {
                let seek_key = internal_key(full_key, seek_key);
                let expected = expected(entries, &seek_key);
                match table
                    .get(&seek_key, hash(full_key), None, &mut PointReads::default())
                    .unwrap()
                {
                    Lookup::Searched(found) => assert_eq!(found, expected, "{seek_key:?}"),
                    Lookup::RuledOut => assert_eq!(expected, None, "{seek_key:?}"),
                }
            }
        }
    }
}

/// Checks walks. Without `ready` a cursor may stand at the first entry of a block that it has not
/// read.
fn check_walks(
    table: &Arc<Table>,
    entries: &[Entry],
    sought: &[Entry],
    walk: Walk,
    random: &mut Random,
) {
    let mut cursor = TableCursor::new(Arc::clone(table), walk);
    let stands = |cursor: &TableCursor| cursor.key().map(|key| (key.to_vec(), cursor.value()));
    let entry = |entry: Option<&Entry>| entry.map(|(key, value)| (key.clone(), value.clone()));
    let is = |cursor: &TableCursor, expected: Option<&Entry>| {
        let found = stands(cursor).map(|(key, value)| (key, value.to_vec()));
        assert_eq!(found, entry(expected));
    };
    cursor.seek_to_first().unwrap();
    for one in entries {
        cursor.ready().unwrap();
        is(&cursor, Some(one));
        cursor.next().unwrap();
    }
    is(&cursor, None);
    cursor.seek_to_last().unwrap();
    for one in entries.iter().rev() {
        is(&cursor, Some(one));
        cursor.prev().unwrap();
    }
    is(&cursor, None);
    for (target, _) in sought.iter().chain(entries.iter().step_by(7)) {
        let at = entries.partition_point(|(key, _)| key::compare(key, target).is_lt());
        cursor.seek(target).unwrap();
        for one in entries[at..].iter().take(3) {
            assert_eq!(cursor.key(), Some(&one.0[..]));
            if random.random() {
                cursor.ready().unwrap();
                is(&cursor, Some(one));
            }
            cursor.next().unwrap();
        }
        cursor.seek_before(target).unwrap();
        for one in entries[..at].iter().rev().take(3) {
            is(&cursor, Some(one));
            cursor.prev().unwrap();
        }
    }
}

#[test]
fn tables_of_any_shape_hold_what_was_put_in() {
    let mut levels = [0; 2];
    for seed in test_seeds(150) {
        let random = &mut Random::seeded(seed);
        let (layout, entries) = (any_layout(random), any_entries(random));
        let sought: Vec<Entry> = any_entries(random).into_iter().take(50).collect();
        // From very little memory to plenty.
        let memory = ByteCount(1 << random.random_range(0..26));
        let io_size = ByteCount(1 << random.random_range(0..22));
        let memory = Memory::new(&EngineOptions { memory, io_size, ..EngineOptions::default() });
        let spaces = random.random::<bool>().then(|| any_spaces(layout, random));
        let bytes = build_in(&entries, layout, spaces.as_ref());
        let table = open_with(&bytes, &memory).unwrap();
        levels[usize::from(table.partitions() > 1)] += 1;
        check_gets(&table, &entries, &sought);
        for walk in [Walk::Scan, Walk::Job(Cause::Compaction)] {
            check_walks(&table, &entries, &sought, walk, random);
        }
        table.check_filters(Cause::Recovery).unwrap();
        drop(table);
        assert_eq!(memory.stats().tables, 0, "seed {seed}");
    }
    assert!(levels.iter().all(|&count| count > 10 || test_seeds(150).count() < 150), "{levels:?}");
}

/// Blocks down to one byte: an entry each, with a frame and an entry of the index for each.
#[test]
fn tables_of_any_shape_take_no_more_than_the_worst_case_says() {
    for seed in test_seeds(150) {
        let random = &mut Random::seeded(seed);
        let TableLayout { block_size, index, .. } = any_layout(random);
        let layout = TableLayout::new(block_size, Compression::None, index.filter_bits);
        let layout = layout.with_first_keys(index.first_keys);
        let options = any_spaces(layout, random);
        let entries = any_entries(random);
        let plain = entries.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
        let load = Load { entries: entries.len() as u64, plain };
        let worst = worst_case(&options, ByteCount::mib(64), 1, load);
        let size = build_in(&entries, layout, Some(&options)).len() as u64;
        assert!(size <= worst.0, "seed {seed}: {size} of {worst}, blocks of {block_size}");
    }
}

#[test]
fn a_large_table_is_written_and_read_with_little_in_memory() {
    let (file, jobs) = (File::default(), MemoryGauge::new("jobs"));
    let layout = TableLayout::new(ByteCount::kib(4), Compression::None, 10);
    let mut builder = TableBuilder::new(Box::new(file.clone()), layout, &jobs);
    let key = |i: u64| entry(0, format!("{:016}", i * 3).as_bytes(), 9, Kind::Put, &[]).0;
    let count = 250_000;
    for i in 0..count {
        builder.add(&key(i), &[i as u8; 100]).unwrap();
    }
    let size = builder.finish().unwrap().size;
    assert!(size > ByteCount::mib(26), "{size}");
    let held = jobs.peak().0 - writer_bytes(layout.io_size) as u64;
    assert!(held < size.0 / 40, "{held} of {size} while it was written");

    let memory = ByteCount::mib(1);
    let options = EngineOptions { memory, memtable_size: ByteCount(1), ..EngineOptions::default() };
    let memory = Memory::new(&options);
    let bytes = file.bytes();
    let table = open_with(&bytes, &memory).unwrap();
    assert!(memory.stats().tables < 32 << 10, "{:?}", memory.stats());
    for i in (0..count).step_by(101) {
        let key = key(i);
        let (full_key, _) = key::split(&key);
        let found = table.get(&key, hash(full_key), None, &mut PointReads::default()).unwrap();
        assert_eq!(found, Lookup::Searched(Some(Found::Value(vec![i as u8; 100].into()))));
    }
    assert!(memory.stats().peak <= 1 << 20, "{:?}", memory.stats());
}

/// Memory of an index per block: random keys of 16 digits, a block each.
fn index_bytes(first_keys: bool) -> f64 {
    let mut random = Random::seeded(1);
    let mut numbers: Vec<u32> = (0..4000).map(|_| random.random_range(0..20_000_000)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: &u32| entry(0, format!("{number:016}").as_bytes(), 9, Kind::Put, &[7; 4096]);
    let entries: Vec<Entry> = numbers.iter().map(of).collect();
    let layout = TableLayout::new(ByteCount::kib(4), Compression::None, 10);
    let bytes = build_in(&entries, layout.with_first_keys(first_keys), None);
    let table = open_with(&bytes, &Memory::new(&EngineOptions::default())).unwrap();
    let index = |partition| table.index(partition, Cause::Read).unwrap().bytes();
    let bytes: usize = (0..table.partitions()).map(index).sum();
    bytes as f64 / entries.len() as f64
}

#[test]
fn an_index_takes_at_most_fifteen_bytes_for_a_block_and_thirty_with_first_keys() {
    let (without, with) = (index_bytes(false), index_bytes(true));
    assert!(without > 8.0 && without <= 15.0, "{without} bytes for a block");
    assert!(with > without && with <= 30.0, "{with} bytes for a block");
}
