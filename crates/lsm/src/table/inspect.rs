//! [`TableFile`]: a table taken apart for people. Each part is read on its own, so that a damaged
//! part hides as little as possible of the others.
//!
//! - Some parts have the places of others. Without the footer no part is found; without the
//!   properties, no range tombstones; without the index of partitions, no index and no filter;
//!   without an index, none of its blocks.
//! - It needs no open engine: no cache, no tree and no memory budget.
//! - It repairs nothing. A part that does not verify is an error, and the caller can go on with the
//!   next part.
//! - Entries have their stored sequence numbers. In a table of an ingest these have no meaning (see
//!   `global_sequence`).
//!
//! A `TableFile` does not change: any number of threads. A call may wait for the device.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::codec::{DecodeError, Reader};
use terrace_env::store::FileReader;
use terrace_env::{Cause, Date, SeqNo};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::filter::Filter;
use super::first_key;
use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{FRAME_BYTES, Handle, TableName};
use super::index::Index;
use super::partition::{self, PartitionHandles};
use super::range_block;
use super::reader::read;
use crate::Error;
use crate::expiry;
use crate::key::{self, FullKey, Kind};
use crate::ranges::Fragment;

/// One entry of a table or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: FullKey,
    /// Its place in the order of writes.
    pub sequence: SeqNo,
    /// The number of its kind; see [`kind_name`](crate::key::kind_name).
    pub kind: u8,
    /// Its value; empty for a delete. For a range delete, the first key after the range, or empty
    /// if there is none.
    pub value: Bytes,
    /// Its expiry, if it has one.
    pub expiry: Option<Date>,
}

impl Entry {
    /// An entry as stored. If it should have an expiry and is too short for one, it has none.
    pub(crate) fn new(key: FullKey, sequence: SeqNo, kind: u8, stored: Bytes) -> Self {
        let expires = kind == Kind::PutWithExpiry as u8;
        let (expiry, value) = match expiry::split_bytes(stored.clone()).filter(|_| expires) {
            Some((expiry, value)) => (Some(expiry), value),
            None => (None, stored),
        };
        Self { key, sequence, kind, value, expiry }
    }
}

/// Cause of the reads.
const CAUSE: Cause = Cause::Recovery;

/// Place of a part of a table, frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u32,
}

impl From<Handle> for Part {
    fn from(handle: Handle) -> Self {
        Self { offset: handle.offset, size: handle.size }
    }
}

/// A table's file whose footer verified.
#[derive(Clone)]
pub struct TableFile {
    file: Arc<dyn FileReader>,
    name: TableName,
    footer: Footer,
}

impl TableFile {
    /// Reads the footer, without which no part of a table can be found.
    pub fn open(file: Arc<dyn FileReader>) -> Result<Self, Error> {
        let (id, length) = (file.id(), file.len());
        let Some(start) = length.checked_sub(FOOTER_BYTES as u64) else {
            let expected = format!("at least {FOOTER_BYTES} bytes");
            return Err(Error::corruption(format!("table {id}"), 0, expected, length));
        };
        let footer = Footer::decode(id, length, &read(&*file, start, FOOTER_BYTES, CAUSE)?)?;
        let name = TableName { file: id, tag: footer.tag };
        Ok(Self { file, name, footer })
    }

    /// The file id under which the table was written.
    #[must_use]
    pub fn tag(&self) -> u64 {
        self.footer.tag
    }

    /// Bytes of the file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.footer.length
    }

    /// Place of the footer.
    #[must_use]
    pub fn footer(&self) -> Part {
        let offset = self.footer.length - FOOTER_BYTES as u64;
        Part { offset, size: FOOTER_BYTES as u32 }
    }

    /// Place of the index block.
    #[must_use]
    pub fn index(&self) -> Part {
        self.footer.index.into()
    }

    /// Place of the filter block, if there is one.
    #[must_use]
    pub fn filter(&self) -> Option<Part> {
        self.footer.filter.map(Part::from)
    }

    /// Place of the properties block.
    #[must_use]
    pub fn properties(&self) -> Part {
        self.footer.properties.into()
    }

    /// Reads the properties.
    pub fn read_properties(&self) -> Result<Properties, Error> {
        let at = self.footer.properties;
        let contents = self.contents("properties", at)?.0;
        Properties::decode(&contents)
            .map_err(|error| Error::decode(self.name.region("properties"), at.offset, &error))
    }

    /// Parameters of the filter, for all partitions together; `None` without a filter, or with one
    /// of an unknown kind.
    pub fn read_filter(&self) -> Result<Option<FilterParameters>, Error> {
        let mut parameters: Option<FilterParameters> = None;
        for at in self.partitions()?.iter().filter_map(|partition| partition.filter) {
            let Some(filter) = Filter::new(&self.contents("filter", at)?.0) else { continue };
            let more = filter.parameters();
            let lines = parameters.map_or(0, |parameters| parameters.lines);
            parameters = Some(FilterParameters { lines: lines.saturating_add(more.lines), ..more });
        }
        Ok(parameters)
    }

    /// Number of levels of the index.
    #[must_use]
    pub fn index_levels(&self) -> u32 {
        self.footer.index_levels
    }

    /// Places of the partitions of index and filter: one of each, with an index of one level.
    fn partitions(&self) -> Result<Box<[PartitionHandles]>, Error> {
        let (index, filter) = (self.footer.index, self.footer.filter);
        if self.footer.index_levels == 1 {
            return Ok([PartitionHandles { index, filter }].into());
        }
        let top = Index::new(self.name, index.offset, self.contents("index", index)?.0)?;
        partition::all(self.name, &top)
    }

    /// The range tombstones, cut into ranges in key order; none if the table has none.
    pub fn read_ranges(&self) -> Result<Vec<RangeRecord>, Error> {
        let properties = self.read_properties()?;
        let Some((handle, _)) = properties.ranges else { return Ok(Vec::new()) };
        let at = self.footer.properties.offset;
        let handle = handle
            .before(at)
            .map_err(|error| Error::decode(self.name.region("properties"), at, &error))?;
        let contents = self.contents("range block", handle)?.0;
        let ranges = range_block::decode(&contents).map_err(|error| {
            Error::decode(self.name.region("range block"), handle.offset, &error)
        })?;
        let record = |fragment: &Fragment| RangeRecord {
            start: FullKey::of(&fragment.span.start),
            end: FullKey::of(&fragment.span.end),
            sequences: fragment.sequences.clone(),
        };
        Ok(ranges.iter().map(record).collect())
    }

    /// The index's entries, one per data block, in order.
    pub fn walk_index(&self) -> Result<IndexWalk, Error> {
        let (contents, compression) = self.contents("index", self.footer.index)?;
        let plain_size = contents.len() as u64;
        let partitions = self.partitions()?;
        let limit = self.footer.data_end(&partitions);
        let mut partitions: Vec<Handle> = partitions.iter().map(|one| one.index).collect();
        partitions.reverse();
        let (table, cursor, state) = (self.clone(), None, WalkState::Fresh);
        Ok(IndexWalk { table, partitions, cursor, limit, compression, plain_size, state })
    }

    /// A walk over the index block at `at`.
    fn index_block(&self, at: Handle) -> Result<BlockCursor, Error> {
        let contents = self.contents("index", at)?.0;
        Ok(BlockCursor::new(Block::new(self.name, at.offset, contents)?))
    }

    /// Reads and checks a data block.
    pub fn read_block(&self, at: Part) -> Result<DataBlock, Error> {
        let handle = Handle { offset: at.offset, size: at.size };
        let (contents, compression) = self.contents("data block", handle)?;
        let plain_size = contents.len() as u64;
        let block = Block::new(self.name, at.offset, contents)?;
        Ok(DataBlock { name: self.name, at, compression, plain_size, block })
    }

    /// A block's contents, and the number of its compression.
    fn contents(&self, part: &str, at: Handle) -> Result<(Bytes, u8), Error> {
        let stored = read(&*self.file, at.offset, at.size as usize, CAUSE)?;
        let contents = self.name.open(part, at.offset, &stored)?;
        let compression = stored.len().checked_sub(FRAME_BYTES).and_then(|at| stored.get(at));
        Ok((contents, compression.copied().unwrap_or_default()))
    }
}

/// Parameters of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterParameters {
    /// Lines of 64 bytes.
    pub lines: u32,
    /// Bits set per key.
    pub probes: u8,
}

/// A range of keys, and the sequences of the range tombstones over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRecord {
    /// The first key in the range.
    pub start: FullKey,
    /// The first key after the range.
    pub end: FullKey,
    /// Newest first.
    pub sequences: Vec<SeqNo>,
}

/// An index entry for a data block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// A key that is not before the block's last key and not after the next block's first key.
    pub separator: FullKey,
    /// Place of the block.
    pub block: Part,
}

/// An index's entries. After an error it goes on with the next partition, if there is one.
pub struct IndexWalk {
    table: TableFile,
    /// Partitions to come; the next one is last.
    partitions: Vec<Handle>,
    cursor: Option<BlockCursor>,
    /// End of the data blocks.
    limit: u64,
    compression: u8,
    plain_size: u64,
    state: WalkState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkState {
    Fresh,
    On,
    Ended,
}

impl IndexWalk {
    /// The number of the index block's compression; with two levels, of the index of partitions.
    #[must_use]
    pub fn compression(&self) -> u8 {
        self.compression
    }

    /// Bytes of the same block, before compression.
    #[must_use]
    pub fn plain_size(&self) -> u64 {
        self.plain_size
    }

    fn step(&mut self) -> Result<Option<IndexEntry>, Error> {
        loop {
            if let Some(cursor) = &mut self.cursor {
                step(cursor, &mut self.state)?;
                if let Some(key) = cursor.key() {
                    let separator = FullKey::of(key::split(key).0);
                    let (at, region) = (cursor.block_offset(), self.table.name.region("index"));
                    let has_first_keys = self.table.footer.features.has(Features::FIRST_KEYS);
                    let block = block_of(key, cursor.value_slice(), has_first_keys, self.limit)
                        .map_err(|error| Error::decode(region, at, &error))?;
                    return Ok(Some(IndexEntry { separator, block: block.into() }));
                }
            }
            let Some(partition) = self.partitions.pop() else { return Ok(None) };
            self.cursor = Some(self.table.index_block(partition)?);
            self.state = WalkState::Fresh;
        }
    }
}

impl Iterator for IndexWalk {
    type Item = Result<IndexEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == WalkState::Ended {
            return None;
        }
        let entry = self.step().transpose();
        match &entry {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.cursor = None,
            None => self.state = WalkState::Ended,
        }
        entry
    }
}

/// A data block that verified.
#[derive(Clone, Debug)]
pub struct DataBlock {
    name: TableName,
    /// Its place.
    pub at: Part,
    /// The number of its compression.
    pub compression: u8,
    /// Bytes before compression.
    pub plain_size: u64,
    block: Block,
}

impl DataBlock {
    /// Number of restart points.
    #[must_use]
    pub fn restarts(&self) -> usize {
        self.block.restarts()
    }

    /// Its entries, in order.
    #[must_use]
    pub fn entries(&self) -> BlockEntries {
        let cursor = BlockCursor::new(self.block.clone());
        BlockEntries { name: self.name, cursor, state: WalkState::Fresh }
    }
}

/// A data block's entries. Ends after the first error, because the start of the next entry is then
/// unknown.
pub struct BlockEntries {
    name: TableName,
    cursor: BlockCursor,
    state: WalkState,
}

impl BlockEntries {
    fn step(&mut self) -> Result<Option<Entry>, Error> {
        step(&mut self.cursor, &mut self.state)?;
        let Some(found) = self.cursor.key() else { return Ok(None) };
        if let Err(defect @ key::KeyDefect::Length(_)) = key::check(found) {
            let (region, at) = (self.name.region("data block"), self.cursor.block_offset());
            return Err(Error::corruption(region, at, "an internal key", defect));
        }
        let (full_key, trailer) = key::split(found);
        let (key, kind) = (FullKey::of(full_key), trailer.kind_number());
        let value = Bytes::copy_from_slice(self.cursor.value_slice());
        Ok(Some(Entry::new(key, trailer.sequence(), kind, value)))
    }
}

impl Iterator for BlockEntries {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == WalkState::Ended {
            return None;
        }
        let entry = self.step().transpose();
        if !matches!(entry, Some(Ok(_))) {
            self.state = WalkState::Ended;
        }
        entry
    }
}

/// The block that an index entry names, which must end by `limit`.
fn block_of(
    separator: &[u8],
    value: &[u8],
    has_first_keys: bool,
    limit: u64,
) -> Result<Handle, DecodeError> {
    if !has_first_keys {
        return Handle::decode(value, limit);
    }
    first_key::read(value, separator, &mut Vec::new())?;
    Handle::read(&mut Reader::new(value), limit)
}

fn step(cursor: &mut BlockCursor, state: &mut WalkState) -> Result<(), Error> {
    if *state == WalkState::Fresh {
        *state = WalkState::On;
        return cursor.seek_to_first();
    }
    cursor.next()
}
