//! An open table: footer, index, filter and properties in memory, data blocks on demand.
//!
//! Immutable; any number of readers. The file stays readable as long as the table lives.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::store::FileReader;
use terrace_env::{ByteCount, Cause, MemoryGauge, MemoryLease, SeqNo};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::filter::Filter;
use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{Handle, TableName};
use super::range_block;
use crate::Error;
use crate::cache::BlockCache;
use crate::key::{self, Kind};
use crate::memtable::Found;
use crate::ranges::Fragments;

/// An open table.
pub(crate) struct Table {
    file: Arc<dyn FileReader>,
    name: TableName,
    index: Block,
    filter: Option<Filter>,
    properties: Properties,
    ranges: Fragments,
    data_end: u64,
    cache: Arc<BlockCache>,
    _memory: MemoryLease,
}

impl Table {
    /// Reads and checks everything but the data blocks.
    pub(crate) fn open(
        file: Arc<dyn FileReader>,
        cache: Arc<BlockCache>,
        gauge: &MemoryGauge,
        cause: Cause,
    ) -> Result<Self, Error> {
        let (id, length) = (file.id(), file.len());
        let Some(start) = length.checked_sub(FOOTER_BYTES as u64) else {
            let expected = format!("at least {FOOTER_BYTES} bytes");
            return Err(Error::corruption(format!("table {id}"), 0, expected, length));
        };
        let footer = read(&*file, start, FOOTER_BYTES, cause)?;
        let footer = Footer::decode(id, length, &footer)?;
        let name = TableName { file: id, tag: footer.tag };
        let part = |part: &str, handle: Handle| {
            let stored = read(&*file, handle.offset, handle.size as usize, cause)?;
            name.open(part, handle.offset, &stored)
        };
        let index = Block::new(name, footer.index.offset, part("index", footer.index)?)?;
        let filter = footer.filter.map(|handle| part("filter", handle)).transpose()?;
        let filter = filter.and_then(Filter::new);
        let properties = part("properties", footer.properties)?;
        let properties = Properties::decode(&properties)
            .map_err(|e| Error::decode(name.region("properties"), footer.properties.offset, &e))?;
        let ranges = match &properties.ranges {
            None => Fragments::default(),
            Some((handle, _)) => {
                let limit = footer.properties.offset;
                let handle = handle.before(limit).map_err(|error| {
                    Error::decode(name.region("properties"), footer.properties.offset, &error)
                })?;
                range_block::decode(&part("range block", handle)?)
                    .map_err(|e| Error::decode(name.region("range block"), handle.offset, &e))?
            }
        };
        if footer.features.has(Features::RANGES) == ranges.is_empty()
            || properties.ranges.as_ref().map(|(_, summary)| summary) != ranges.summary().as_ref()
        {
            let expected = format!("{:?}", properties.ranges);
            let (region, at) = (name.region("range block"), footer.properties.offset);
            return Err(Error::corruption(region, at, expected, format!("{:?}", ranges.summary())));
        }
        let blocks = [footer.filter, Some(footer.index), Some(footer.properties)];
        let data_end = blocks.iter().flatten().map(|handle| handle.offset).min().unwrap_or(0);
        let memory =
            index.contents().len() + filter.as_ref().map_or(0, Filter::bytes) + ranges.bytes();
        let memory = gauge.lease(memory);
        Ok(Self { file, name, index, filter, properties, ranges, data_end, cache, _memory: memory })
    }

    pub(crate) fn name(&self) -> TableName {
        self.name
    }

    pub(crate) fn properties(&self) -> &Properties {
        &self.properties
    }

    pub(crate) fn ranges(&self) -> &Fragments {
        &self.ranges
    }

    /// Whether the key of this [`hash`](super::hash) may be in the table; `false` is certain.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_hold(hash))
    }

    /// The first entry at or behind `seek_key`, if it is of the same full key. `cover`: the newest
    /// range tombstone over the key.
    pub(crate) fn get(
        &self,
        seek_key: &[u8],
        cover: Option<SeqNo>,
    ) -> Result<Option<Found>, Error> {
        let mut index = BlockCursor::new(self.index.clone());
        index.seek(seek_key)?;
        let mut data: Option<BlockCursor> = None;
        while index.key().is_some() {
            let block = self.cached_block(self.handle(&index)?)?;
            let cursor = match &mut data {
                Some(cursor) => {
                    cursor.replace(block);
                    cursor
                }
                None => data.insert(BlockCursor::new(block)),
            };
            cursor.seek(seek_key)?;
            // A separator may lie behind the block's last key: then the entry sought is in the
            // next block.
            let Some(found) = cursor.key() else {
                index.next()?;
                continue;
            };
            let (full_key, trailer) = key::split(found);
            if full_key != key::split(seek_key).0 {
                return Ok(None);
            }
            let kind = self.kind_of(found, cursor.block_offset())?;
            let hidden = cover.is_some_and(|cover| trailer.sequence() < cover);
            return Ok(Some(match kind {
                Kind::Put if !hidden => Found::Value(cursor.value()),
                Kind::Put | Kind::Delete | Kind::RangeDelete => Found::Deleted,
            }));
        }
        Ok(None)
    }

    /// A cursor over the index.
    pub(super) fn index_cursor(&self) -> BlockCursor {
        BlockCursor::new(self.index.clone())
    }

    /// The data block that an index entry names.
    pub(super) fn handle(&self, index: &BlockCursor) -> Result<Handle, Error> {
        Handle::decode(index.value_slice(), self.data_end)
            .map_err(|e| Error::decode(self.name.region("index"), index.block_offset(), &e))
    }

    /// The kind of an entry of the block at `offset`.
    pub(super) fn kind_of(&self, internal_key: &[u8], offset: u64) -> Result<Kind, Error> {
        match key::check(internal_key) {
            Ok(()) => Ok(key::split(internal_key).1.kind().unwrap_or(Kind::Delete)),
            Err(defect) => {
                let expected = "an internal key of a known kind";
                Err(Error::corruption(self.name.region("data block"), offset, expected, defect))
            }
        }
    }

    /// A data block for a point read: from the cache, or into it.
    fn cached_block(&self, handle: Handle) -> Result<Block, Error> {
        if let Some(block) = self.peek(handle) {
            return Ok(block);
        }
        let stored = self.read(handle.offset, handle.size as usize, Cause::Read)?;
        let block = self.block(handle, &stored)?;
        self.cache.insert(self.name.file, handle.offset, block.contents().clone());
        Ok(block)
    }

    /// A data block if it is in the cache.
    pub(super) fn peek(&self, handle: Handle) -> Option<Block> {
        let contents = self.cache.get(self.name.file, handle.offset)?;
        Some(Block::new(self.name, handle.offset, contents).expect("only checked blocks go in"))
    }

    /// Checks a data block's stored bytes.
    pub(super) fn block(&self, handle: Handle, stored: &Bytes) -> Result<Block, Error> {
        let contents = self.name.open("data block", handle.offset, stored)?;
        Block::new(self.name, handle.offset, contents)
    }

    /// Stored bytes, as they are.
    pub(super) fn read(&self, offset: u64, size: usize, cause: Cause) -> Result<Bytes, Error> {
        read(&*self.file, offset, size, cause)
    }

    /// Where the data blocks end.
    pub(super) fn data_end(&self) -> u64 {
        self.data_end
    }

    /// Where the first data block begins that may hold keys from `start` on.
    pub(crate) fn offset_of(&self, start: &[u8]) -> Result<u64, Error> {
        let mut index = self.index_cursor();
        index.seek(&key::internal_key(start, key::Trailer::NEWEST))?;
        match index.key() {
            Some(_) => Ok(self.handle(&index)?.offset),
            None => Ok(self.data_end),
        }
    }

    /// About the bytes of the data blocks with keys in `start..end`.
    pub(crate) fn size_of(&self, start: &[u8], end: &[u8]) -> Result<ByteCount, Error> {
        Ok(ByteCount(self.offset_of(end)?.saturating_sub(self.offset_of(start)?)))
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}, {} entries)", self.name.file, self.properties.entries)
    }
}

/// Stored bytes of a file, as they are.
pub(super) fn read(
    file: &dyn FileReader,
    offset: u64,
    size: usize,
    cause: Cause,
) -> Result<Bytes, Error> {
    let mut bytes = vec![0; size];
    file.read_at(offset, &mut bytes, cause)?;
    Ok(bytes.into())
}
