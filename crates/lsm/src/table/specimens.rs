//! Tests of whole tables: they must be written as in the golden files, be read back, and report
//! damage. Tables with Zstandard are read back and not compared: another version of the library may
//! compress in another way. Further tests are of estimates, seeks, sizes of ranges and inspection.
//!
//! Other tests of tables use the helpers here: a file in memory, entries, layouts.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::store::{FileReader, FileWriter, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, MAPPED_MIN, MemoryGauge, SeqNo};

use super::block::Block;
use super::footer::{FOOTER_BYTES, Footer};
use super::frame::TableName;
use super::index_builder::IndexLayout;
use super::{
    Lookup, PointReads, SpaceLayouts, Table, TableBuilder, TableCursor, TableFile, TableLayout,
    hash,
};
use crate::Error;
use crate::compression::Compression;
use crate::golden::{damaged, readable_specimen, specimen};
use crate::key::{self, KeySpaceId, Kind, Trailer, full_key, internal_key};
use crate::memory::Memory;
use crate::memory::Walk;
use crate::memtable::Found;
use crate::options::{EngineOptions, ShapeOptions};
use crate::ranges::Fragment;

const FILE: FileId = FileId(77);

/// A file in memory, written and read.
#[derive(Clone, Default)]
pub(super) struct File(Arc<Mutex<Vec<u8>>>);

impl File {
    /// A file with these bytes.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(bytes)))
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
    }
}

impl FileWriter for File {
    fn id(&self) -> FileId {
        FILE
    }

    fn len(&self) -> u64 {
        self.0.lock().len() as u64
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl FileReader for File {
    fn id(&self) -> FileId {
        FILE
    }

    fn len(&self) -> u64 {
        self.0.lock().len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8], _: Cause) -> Result<(), StoreError> {
        let bytes = self.0.lock();
        let (start, end) = (offset as usize, offset as usize + into.len());
        let out_of_range = || StoreError::OutOfRange {
            id: FILE,
            start: offset,
            end: end as u64,
            valid: format!("0..{}", bytes.len()),
        };
        into.copy_from_slice(bytes.get(start..end).ok_or_else(out_of_range)?);
        Ok(())
    }
}

pub(super) type Entry = (Vec<u8>, Vec<u8>);

pub(super) fn entry(space: u32, user_key: &[u8], sequence: u64, kind: Kind, value: &[u8]) -> Entry {
    let full = full_key(KeySpaceId(space), user_key);
    (internal_key(&full, Trailer::new(SeqNo(sequence), kind)), value.to_vec())
}

/// Several blocks, versions and tombstones, two key spaces, empty and long keys and values.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = vec![entry(0, b"", 50, Kind::Put, b"empty key")];
    for i in 0..24u32 {
        let user_key = format!("user{:04}/name", i * 3);
        let value = format!("value of {i}, ").repeat(2 + (i % 3) as usize);
        if i % 5 == 0 {
            entries.push(entry(0, user_key.as_bytes(), 2000 + u64::from(i), Kind::Delete, b""));
        }
        entries.push(entry(
            0,
            user_key.as_bytes(),
            1000 + u64::from(i),
            Kind::Put,
            value.as_bytes(),
        ));
    }
    entries.push(entry(9, &[0xff; 40], 7, Kind::Put, b""));
    entries
}

/// A layout of small blocks.
pub(super) fn layout(compression: Compression, filter_bits: u8) -> TableLayout {
    TableLayout::new(ByteCount(256), compression, filter_bits)
}

/// The same with an index of two levels: some partitions, of some blocks each.
pub(super) fn two_levels(compression: Compression, filter_bits: u8) -> TableLayout {
    let layout = layout(compression, filter_bits);
    let index = IndexLayout { partition_size: 120, whole_max: 0, ..layout.index };
    TableLayout { index, ..layout }
}

pub(super) fn build(entries: &[Entry], layout: TableLayout) -> Vec<u8> {
    build_with(entries, Vec::new(), layout)
}

pub(super) fn build_with(entries: &[Entry], ranges: Vec<Fragment>, layout: TableLayout) -> Vec<u8> {
    let file = File::default();
    let builder = TableBuilder::new(Box::new(file.clone()), layout, &MemoryGauge::new("jobs"));
    fill(builder, &file, entries, ranges)
}

/// A table in a store in which key spaces may have options of their own.
pub(super) fn build_in(
    entries: &[Entry],
    layout: TableLayout,
    options: Option<&ShapeOptions>,
) -> Vec<u8> {
    let file = File::default();
    let builder = TableBuilder::new(Box::new(file.clone()), layout, &MemoryGauge::new("jobs"));
    let builder = match options {
        Some(options) => builder.with_spaces(SpaceLayouts::new(options, 0, 0)),
        None => builder,
    };
    fill(builder, &file, entries, Vec::new())
}

fn fill(
    mut builder: TableBuilder,
    file: &File,
    entries: &[Entry],
    ranges: Vec<Fragment>,
) -> Vec<u8> {
    for (key, value) in entries {
        builder.add(key, value).unwrap();
    }
    builder.add_ranges(ranges);
    let built = builder.finish().unwrap();
    assert_eq!(built.properties.entries, entries.len() as u64);
    let bytes = file.0.lock().clone();
    assert_eq!(built.size, ByteCount(bytes.len() as u64));
    bytes
}

pub(super) fn open(bytes: &[u8]) -> Result<Arc<Table>, Error> {
    open_with(bytes, &Memory::new(&EngineOptions::default()))
}

pub(super) fn open_with(bytes: &[u8], memory: &Arc<Memory>) -> Result<Arc<Table>, Error> {
    let file = File::of(bytes.to_vec());
    Table::open(Arc::new(file), 0, memory, Cause::Read)
}

/// All entries by a walk.
pub(super) fn walk(table: &Arc<Table>, walk: Walk) -> Result<Vec<Entry>, Error> {
    let mut cursor = TableCursor::new(Arc::clone(table), walk);
    cursor.seek_to_first()?;
    let mut walked = Vec::new();
    while let Some(key) = cursor.key().map(<[u8]>::to_vec) {
        cursor.ready()?;
        walked.push((key, cursor.value().to_vec()));
        cursor.next()?;
    }
    Ok(walked)
}

/// All entries by a walk, and the first of each key by search.
pub(super) fn read(bytes: &[u8], by: Walk) -> Result<(Vec<Entry>, Vec<Lookup>), Error> {
    let table = open(bytes)?;
    let walked = walk(&table, by)?;
    let mut found = Vec::new();
    for (key, _) in entries() {
        let (full, _) = key::split(&key);
        let seek_key = internal_key(full, Trailer::seek(SeqNo::MAX));
        found.push(table.get(&seek_key, hash(full), None, &mut PointReads::default())?);
    }
    Ok((walked, found))
}

/// Expected results of searches: the newest entry of each key.
pub(super) fn newest() -> Vec<Lookup> {
    let entries = entries();
    let of = |key: &[u8]| {
        let (full, _) = key::split(key);
        let (found, value) = entries.iter().find(|(other, _)| key::split(other).0 == full)?;
        Some(match key::split(found).1.kind() {
            Some(Kind::Put) => Found::Value(Bytes::copy_from_slice(value)),
            _ => Found::Deleted,
        })
    };
    entries.iter().map(|(key, _)| Lookup::Searched(of(key))).collect()
}

type Specimen = (&'static str, fn(Compression, u8) -> TableLayout, Compression, u8);

fn with_first_keys(compression: Compression, filter_bits: u8) -> TableLayout {
    layout(compression, filter_bits).with_first_keys(true)
}

fn two_levels_with_first_keys(compression: Compression, filter_bits: u8) -> TableLayout {
    two_levels(compression, filter_bits).with_first_keys(true)
}

const SPECIMENS: [Specimen; 8] = [
    ("table-plain.bin", layout, Compression::None, 10),
    ("table-lz4.bin", layout, Compression::Lz4, 10),
    ("table-zstd.bin", layout, Compression::Zstd, 10),
    ("table-no-filter.bin", layout, Compression::None, 0),
    ("table-two-levels.bin", two_levels, Compression::None, 10),
    ("table-two-levels-no-filter.bin", two_levels, Compression::Lz4, 0),
    ("table-first-keys.bin", with_first_keys, Compression::None, 10),
    ("table-two-levels-first-keys.bin", two_levels_with_first_keys, Compression::Lz4, 10),
];

fn kept((name, layout, compression, filter_bits): Specimen) -> Vec<u8> {
    let written = build(&entries(), layout(compression, filter_bits));
    if compression == Compression::Zstd {
        readable_specimen(name, &written)
    } else {
        specimen(name, &written)
    }
}

#[test]
fn an_estimate_is_about_the_size() {
    for layout in [layout(Compression::None, 10), two_levels(Compression::None, 10)] {
        let (file, jobs) = (File::default(), MemoryGauge::new("jobs"));
        let mut builder = TableBuilder::new(Box::new(file), layout, &jobs);
        entries().iter().for_each(|(key, value)| builder.add(key, value).unwrap());
        let estimate = builder.estimated_size();
        let size = builder.finish().unwrap().size;
        assert!(estimate.0 < size.0 + 512 && size.0 < estimate.0 + 512, "{estimate} {size}");
    }
}

#[test]
fn tables_are_written_as_ever_and_read_back() {
    for one in SPECIMENS {
        let (name, kept) = (one.0, kept(one));
        for walk in [Walk::Scan, Walk::Job(Cause::Compaction)] {
            assert_eq!(read(&kept, walk).unwrap(), (entries(), newest()), "{name}");
        }
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_told() {
    for one in SPECIMENS {
        let (name, kept) = (one.0, kept(one));
        for (what, bytes) in damaged(&kept) {
            let error = match read(&bytes, Walk::Scan) {
                Err(error) => error,
                Ok(_) => panic!("{name}, {what}: nothing was noticed"),
            };
            let region =
                matches!(&error, Error::Corruption { region, .. } if region.contains("77"));
            assert!(region, "{name}, {what}: {error}");
        }
    }
}

#[test]
fn a_cursor_seeks_to_every_key_and_between() {
    for layout in [layout, with_first_keys, two_levels, two_levels_with_first_keys] {
        let table = open(&build(&entries(), layout(Compression::Lz4, 10))).unwrap();
        let entries = entries();
        let mut cursor = TableCursor::new(table, Walk::Scan);
        for (i, (key, value)) in entries.iter().enumerate() {
            cursor.seek(key).unwrap();
            assert_eq!(cursor.key(), Some(&key[..]));
            cursor.ready().unwrap();
            assert_eq!(cursor.value(), &value[..]);
            let (full, _) = key::split(key);
            cursor.seek(&internal_key(&key::successor(full), Trailer::NEWEST)).unwrap();
            let next = entries[i..].iter().find(|(other, _)| key::split(other).0 != full);
            assert_eq!(cursor.key(), next.map(|(key, _)| &key[..]));
        }
    }
}

/// A block is large by its size in memory, not by its size in the file.
#[test]
fn a_scan_keeps_the_small_block_where_it_begins_and_no_large_one() {
    for (block_size, kept) in [(16 << 10, true), (256 << 10, false)] {
        let value = vec![7; 1 << 10];
        let many: Vec<Entry> =
            (0..512u32).map(|i| entry(0, &i.to_be_bytes(), 1, Kind::Put, &value)).collect();
        let layout = TableLayout::new(ByteCount(block_size), Compression::Lz4, 10);
        let bytes = build(&many, layout);
        assert!(bytes.len() < MAPPED_MIN, "all of the table is small as it is stored");
        let memory = Memory::new(&EngineOptions::default());
        let table = open_with(&bytes, &memory).unwrap();
        let mut cursor = TableCursor::new(table, Walk::Scan);
        cursor.seek(&many[0].0).unwrap();
        assert_eq!(cursor.key(), Some(&many[0].0[..]));
        assert_eq!(memory.cache.get(FILE, 0).is_some(), kept, "blocks of {block_size} bytes");
    }
}

#[test]
fn a_range_of_a_table_has_about_its_share_of_the_bytes() {
    let many: Vec<Entry> =
        (0..4000u32).map(|i| entry(0, &i.to_be_bytes(), 1, Kind::Put, &[7; 40])).collect();
    let table = open(&build(&many, layout(Compression::None, 10))).unwrap();
    let bound = |i: u32| full_key(KeySpaceId(0), &i.to_be_bytes());
    let whole = table.size_of(&bound(0), &bound(4000)).unwrap().0;
    let quarter = table.size_of(&bound(1000), &bound(2000)).unwrap().0;
    assert!(quarter * 4 > whole * 9 / 10 && quarter * 4 < whole * 11 / 10, "{quarter} {whole}");
    assert_eq!(table.size_of(&bound(9000), &bound(9999)).unwrap(), ByteCount(0));
}

/// Result of an inspection: entries that it could read, and errors.
fn inspect(bytes: &[u8]) -> (Vec<Entry>, Vec<Error>) {
    let file: Arc<dyn FileReader> = Arc::new(File::of(bytes.to_vec()));
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let table = match TableFile::open(file) {
        Ok(table) => table,
        Err(error) => return (found, vec![error]),
    };
    errors.extend(table.read_properties().err());
    errors.extend(table.read_filter().err());
    let index = match table.walk_index() {
        Ok(index) => index,
        Err(error) => {
            errors.push(error);
            return (found, errors);
        }
    };
    for entry in index {
        match entry.and_then(|entry| table.read_block(entry.block)) {
            Err(error) => errors.push(error),
            Ok(block) => {
                for entry in block.entries() {
                    match entry {
                        Err(error) => errors.push(error),
                        Ok(entry) => {
                            let full = full_key(entry.key.space, &entry.key.user_key);
                            let kind = Kind::of(entry.kind).unwrap();
                            let key = internal_key(&full, Trailer::new(entry.sequence, kind));
                            found.push((key, entry.value.to_vec()));
                        }
                    }
                }
            }
        }
    }
    (found, errors)
}

#[test]
fn an_inspection_tells_of_every_flipped_bit_and_passes_over_one_block_at_most() {
    let all = entries();
    let largest = 256 / 12;
    for one in SPECIMENS {
        let (name, kept) = (one.0, kept(one));
        // Without the index of partitions, the filters cannot be found either; without a partition,
        // none of its blocks.
        let (errors_max, largest) =
            if name.contains("two-levels") { (2, all.len()) } else { (1, largest) };
        let (found, errors) = inspect(&kept);
        assert_eq!((found, errors.len()), (all.clone(), 0), "{name}");
        let mut passed_over = 0;
        for (what, bytes) in damaged(&kept) {
            let (found, errors) = inspect(&bytes);
            assert!((1..=errors_max).contains(&errors.len()), "{name}, {what}: {errors:?}");
            let mut left = all.iter();
            let in_order = found.iter().all(|entry| left.any(|other| other == entry));
            assert!(in_order, "{name}, {what}: another entry");
            let lost = all.len() - found.len();
            assert!(lost <= largest || found.is_empty(), "{name}, {what}: {lost} entries");
            passed_over += usize::from(lost > 0 && !found.is_empty());
        }
        assert!(passed_over > 1000, "{name}: {passed_over} flips in data blocks");
    }
}

/// The table with another sequence in the first key of its second block, as from a faulty writer:
/// every checksum holds.
fn with_a_wrong_first_key(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len();
    let footer = &bytes[length - FOOTER_BYTES..];
    let Footer { index, tag, .. } = Footer::decode(FILE, length as u64, footer).unwrap();
    let name = TableName { file: FILE, tag };
    let place = index.offset as usize..index.offset as usize + index.size as usize;
    let stored = Bytes::copy_from_slice(&bytes[place.clone()]);
    let mut contents = name.open("index", index.offset, &stored).unwrap().to_vec();
    let block = Block::new(name, index.offset, Bytes::from(contents.clone())).unwrap();
    let (_, _, value) = block.entry(block.restart(1).unwrap()).unwrap();
    // The last byte is the kind, the one before it the lowest of the sequence.
    contents[value.end - 2] ^= 1;
    name.seal(&mut contents, Compression::None, index.offset);
    bytes[place].copy_from_slice(&contents);
    bytes
}

#[test]
fn a_block_that_begins_with_another_key_than_the_index_says_is_corruption() {
    let bytes = with_a_wrong_first_key(build(&entries(), with_first_keys(Compression::None, 10)));
    for walk in [Walk::Scan, Walk::Job(Cause::Compaction)] {
        let error = read(&bytes, walk).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains("first key"), "{error}");
    }
    // A scan finds it when it reads the block, and then stands on no entry.
    let mut cursor = TableCursor::new(open(&bytes).unwrap(), Walk::Scan);
    cursor.seek_to_first().unwrap();
    cursor.ready().unwrap();
    let error = loop {
        match cursor.next().and_then(|()| cursor.ready()) {
            Ok(()) => assert!(cursor.key().is_some(), "nothing was noticed"),
            Err(error) => break error,
        }
    };
    assert!(error.is_corruption(), "{error}");
    assert_eq!(cursor.key(), None);
}
