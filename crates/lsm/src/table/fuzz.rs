//! Damaged tables: each part by itself, and whole tables whose checksums are mended.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::codec::Reader;
use terrace_env::store::FileReader;
use terrace_env::{Cause, FileId};
use terrace_fuzz::{Target, fuzz};

use super::block::Block;
use super::block_builder::BlockBuilder;
use super::block_cursor::BlockCursor;
use super::filter::{self, Filter};
use super::footer::{FOOTER_BYTES, Footer, Properties};
use super::frame::{FRAME_BYTES, Handle, TableName};
use super::index::Index;
use super::specimens::{Entry, File, open, walk};
use super::{TableFile, hash, partition, range_block};
use crate::key::{self, KeySpaceId, Kind, Trailer, full_key, internal_key};
use crate::memory::Walk;
use crate::{expiry, golden};

const FILE: FileId = FileId(77);

/// A part of each table with a known place, without its frame.
fn parts(of: impl Fn(&Footer) -> Option<Handle>) -> Vec<Vec<u8>> {
    let tables = golden::kept("table");
    let part = |bytes: &Vec<u8>| {
        let start = bytes.len() - FOOTER_BYTES;
        let footer = Footer::decode(FILE, bytes.len() as u64, &bytes[start..]).unwrap();
        let at = of(&footer)?;
        contents(bytes, TableName { file: FILE, tag: footer.tag }, at)
    };
    let found: Vec<_> = tables.iter().filter_map(part).map(|part| part.to_vec()).collect();
    assert!(!found.is_empty());
    found
}

/// Contents of a block, if its frame verifies.
fn contents(table: &[u8], name: TableName, at: Handle) -> Option<Bytes> {
    let start = usize::try_from(at.offset).ok()?;
    let stored = table.get(start..start.checked_add(at.size as usize)?)?;
    name.open("part", at.offset, &Bytes::copy_from_slice(stored)).ok()
}

#[test]
fn footers() {
    let footers = golden::kept("table").into_iter();
    let footers = footers.map(|bytes| bytes[bytes.len() - FOOTER_BYTES..].to_vec()).collect();
    let length = |footer: &[u8]| Some(u64::from_le_bytes(*footer.get(64..)?.first_chunk()?));
    let recode =
        move |input: &[u8]| Some(Footer::decode(FILE, length(input)?, input).ok()?.encode());
    fuzz!(
        Target::recoding("footer of a table", footers, recode).mending(|input| mend_footer(input))
    );
}

#[test]
fn properties() {
    fuzz!(Target::recoding("properties of a table", parts(|of| Some(of.properties)), |input| {
        Some(Properties::decode(input).ok()?.encode())
    }));
}

#[test]
fn range_blocks() {
    let tables = golden::kept("table");
    let of = |bytes: &Vec<u8>| {
        let table = open(bytes).unwrap();
        (!table.ranges().is_empty()).then(|| range_block::encode(table.ranges()))
    };
    let blocks: Vec<_> = tables.iter().filter_map(of).collect();
    assert!(blocks.len() > 1);
    fuzz!(Target::recoding("range block", blocks, |input| {
        Some(range_block::encode(&range_block::decode(input).ok()?))
    }));
}

#[test]
fn filters() {
    fuzz!(Target::decoding("filter", parts(|of| of.filter), |input| {
        let Some(filter) = Filter::new(input) else { return false };
        assert!(filter.bytes() <= input.len());
        let held = [&b""[..], b"key", &[0xff; 40]].map(|key| filter.may_hold(hash(key)));
        let all_ones = input[8..].iter().all(|byte| *byte == 0xff);
        assert!(!all_ones || held == [true; 3]);
        true
    }));
    assert!(Filter::new(&filter::build(&[1], 10)).is_some_and(|filter| filter.may_hold(1)));
}

/// The entries of a block are written again. In the new block, walks both ways find the same
/// entries, and if these are sorted, so does a search for each.
#[test]
fn data_blocks() {
    let name = TableName { file: FILE, tag: 1 };
    let first = |table: Vec<u8>| {
        let file = TableFile::open(Arc::new(File::of(table.clone()))).unwrap();
        let at = file.walk_index().unwrap().next()?.unwrap().block;
        let name = TableName { file: FILE, tag: file.tag() };
        contents(&table, name, Handle { offset: at.offset, size: at.size })
    };
    let blocks: Vec<_> = golden::kept("table").into_iter().filter_map(first).collect();
    assert!(blocks.len() > 5);
    let blocks = blocks.iter().map(|block| block.to_vec()).collect();
    fuzz!(Target::recoding("data block", blocks, move |input| {
        let block = Block::new(name, 0, Bytes::copy_from_slice(input)).ok()?;
        let entries = forwards(&block)?;
        let mut cursor = BlockCursor::new(block);
        for (key, _) in &entries {
            let _ = cursor.seek(key).and_then(|()| cursor.prev());
        }
        let mut builder = BlockBuilder::new(4);
        entries.iter().for_each(|(key, value)| builder.add(key, value));
        let written = builder.finish();
        check_block(&Block::new(name, 0, written.clone().into()).unwrap(), &entries);
        Some(written)
    }));
}

/// Entries of a block, from the first one on.
fn forwards(block: &Block) -> Option<Vec<Entry>> {
    let mut cursor = BlockCursor::new(block.clone());
    let mut entries = Vec::new();
    cursor.seek_to_first().ok()?;
    while let Some(key) = cursor.key().map(<[u8]>::to_vec) {
        entries.push((key, cursor.value_slice().to_vec()));
        cursor.next().ok()?;
    }
    Some(entries)
}

fn check_block(block: &Block, entries: &[Entry]) {
    assert_eq!(forwards(block).as_deref(), Some(entries));
    let mut cursor = BlockCursor::new(block.clone());
    cursor.seek_to_last().unwrap();
    for (key, value) in entries.iter().rev() {
        assert_eq!((cursor.key(), cursor.value_slice()), (Some(&key[..]), &value[..]));
        cursor.prev().unwrap();
    }
    assert_eq!(cursor.key(), None);
    if entries.is_sorted_by(|(a, _), (b, _)| key::compare(a, b).is_lt()) {
        for (key, value) in entries {
            cursor.seek(key).unwrap();
            assert_eq!((cursor.key(), cursor.value_slice()), (Some(&key[..]), &value[..]));
        }
    }
}

#[test]
fn indexes() {
    let name = TableName { file: FILE, tag: 1 };
    let target = internal_key(&full_key(KeySpaceId(0), b"user0040"), Trailer::NEWEST);
    fuzz!(Target::decoding("index", parts(|of| Some(of.index)), move |input| {
        let Ok(index) = Index::new(name, 0, Bytes::copy_from_slice(input)) else { return false };
        assert!(index.seek(&target) <= index.len());
        for at in 0..index.len() {
            assert!(index.seek(&index.key(at)) <= index.len());
            let _ = Handle::read(&mut Reader::new(&index.value(at)), u64::MAX);
        }
        let _ = partition::all(name, &index);
        if let Ok(index) = index.with_first_keys() {
            let mut first = Vec::new();
            assert!((0..index.len()).all(|at| index.first_key(at, &mut first)));
        }
        true
    }));
}

/// Corrects the length and the checksum of a footer at the end.
fn mend_footer(input: &mut [u8]) {
    let len = input.len();
    let Some(start) = len.checked_sub(4) else { return };
    let begin = len.saturating_sub(FOOTER_BYTES);
    let crc = crc32c(&input[begin..start]);
    input[start..].copy_from_slice(&crc.to_le_bytes());
}

/// Corrects the checksum of a block.
fn mend_block(table: &mut [u8], tag: u64, at: Handle) {
    let start = usize::try_from(at.offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(at.size as usize);
    if (at.size as usize) < FRAME_BYTES || end > table.len() {
        return;
    }
    let place = [tag.to_le_bytes(), at.offset.to_le_bytes()].concat();
    let crc = crc32c_append(crc32c(&place), &table[start..end - 4]);
    table[end - 4..end].copy_from_slice(&crc.to_le_bytes());
}

/// Corrects the length in the footer, and the checksums of the footer and of all blocks that can be
/// found.
fn mend_table(table: &mut [u8]) {
    let length = table.len();
    let Some(start) = length.checked_sub(FOOTER_BYTES) else { return };
    table[start + 64..start + 72].copy_from_slice(&(length as u64).to_le_bytes());
    mend_footer(table);
    let Ok(footer) = Footer::decode(FILE, length as u64, &table[start..]) else { return };
    let name = TableName { file: FILE, tag: footer.tag };
    let known = [Some(footer.index), footer.filter, Some(footer.properties)];
    known.into_iter().flatten().for_each(|at| mend_block(table, footer.tag, at));
    let index =
        |table: &[u8], at: Handle| Index::new(name, at.offset, contents(table, name, at)?).ok();
    let mut indexes: Vec<_> = index(table, footer.index).into_iter().collect();
    if footer.index_levels > 1 {
        let top = indexes.pop();
        let partitions = top.and_then(|top| partition::all(name, &top).ok()).unwrap_or_default();
        for partition in partitions {
            mend_block(table, footer.tag, partition.index);
            partition.filter.into_iter().for_each(|at| mend_block(table, footer.tag, at));
            indexes.extend(index(table, partition.index));
        }
    }
    for index in indexes {
        for at in 0..index.len() {
            let handle = Handle::read(&mut Reader::new(&index.value(at)), u64::MAX);
            handle.into_iter().for_each(|at| mend_block(table, footer.tag, at));
        }
    }
    let properties = contents(table, name, footer.properties);
    let ranges = properties.and_then(|bytes| Properties::decode(&bytes).ok()?.ranges);
    ranges.into_iter().for_each(|(at, _)| mend_block(table, footer.tag, at));
}

/// Entries as an inspection finds them; `None` if it finds an error.
fn inspect(input: &[u8]) -> Option<Vec<Entry>> {
    let file: Arc<dyn FileReader> = Arc::new(File::of(input.to_vec()));
    let table = TableFile::open(file).ok()?;
    table.read_properties().ok()?;
    table.read_filter().ok()?;
    table.read_ranges().ok()?;
    let mut found = Vec::new();
    for entry in table.walk_index().ok()? {
        for entry in table.read_block(entry.ok()?.block).ok()?.entries() {
            let entry = entry.ok()?;
            let mut value = entry.expiry.map_or_else(Vec::new, |at| expiry::encode(at).into());
            value.extend_from_slice(&entry.value);
            let full = full_key(entry.key.space, &entry.key.user_key);
            let kind = Kind::of(entry.kind)?;
            found.push((internal_key(&full, Trailer::new(entry.sequence, kind)), value));
        }
    }
    Some(found)
}

/// The engine's reads and an inspection find the same entries, or one of them finds damage.
#[test]
fn whole_tables() {
    let target = Target::decoding("table", golden::kept("table"), |input| {
        let inspected = inspect(input);
        let Ok(table) = open(input) else { return false };
        let walked = [Walk::Scan, Walk::Job(Cause::Compaction)].map(|by| walk(&table, by));
        let [Ok(scanned), Ok(merged)] = walked else { return false };
        assert_eq!(scanned, merged);
        if let Some(inspected) = inspected {
            assert_eq!(scanned, inspected);
        }
        true
    });
    fuzz!(target.mending(|input| mend_table(input)).memory(8 << 20, 64));
}
