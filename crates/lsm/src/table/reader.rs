//! An open table: footer, properties and the top of the index in memory, everything else on demand.
//!
//! The index and the filter, or the partitions of them, are kept in slots of the table as long as
//! there is room ([`Clock`](crate::resident::Clock)), data blocks in the block
//! cache. A table with an index of one level is one with a single partition and nothing above it.
//!
//! Immutable but for its slots; any number of readers. The file stays readable as long as the table
//! lives.

use std::fmt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use terrace_env::store::{FileReader, StoreError};
use terrace_env::{ByteCount, Cause, MemoryLease, SeqNo};
use terrace_policy::{Key, Span};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::filter::Filter;
use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{Handle, TableName};
use super::index::Index;
use super::partition::PartitionHandles;
use super::range_block;
use crate::Error;
use crate::key::{self, Kind};
use crate::memory::Memory;
use crate::memtable::Found;
use crate::resident::{Owner, Part, Slot};

/// What is read of a file's end at once for a client: footer and properties, unless keys are very
/// long. Stores read whole blocks, so more would often be two of them. A job reads the index next,
/// which lies before them.
const TAIL_BYTES: u64 = 1 << 10;
use crate::ranges::Fragments;

/// An open table.
pub(crate) struct Table {
    this: Weak<Self>,
    file: Arc<dyn FileReader>,
    name: TableName,
    properties: Properties,
    ranges: Fragments,
    /// Finds the partition of a key, where there are several.
    top: Option<Index>,
    partitions: Box<[Partition]>,
    data_end: u64,
    /// Where the indexes of all partitions end.
    indexes_end: u64,
    memory: Arc<Memory>,
    _lease: MemoryLease,
}

/// A stretch of the keys, with its part of index and filter.
struct Partition {
    handles: PartitionHandles,
    index: Slot<Part<Index>>,
    /// `None`: the filter is of a kind that is not understood.
    filter: Slot<Part<Option<Filter>>>,
}

impl Partition {
    fn new(handles: PartitionHandles) -> Self {
        Self { handles, index: Slot::default(), filter: Slot::default() }
    }
}

/// What a search in a table finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The filter rules the key out.
    RuledOut,
    /// What there is.
    Searched(Option<Found>),
}

impl Table {
    /// Reads and checks the table's end.
    pub(crate) fn open(
        file: Arc<dyn FileReader>,
        memory: &Arc<Memory>,
        cause: Cause,
    ) -> Result<Arc<Self>, Error> {
        let (id, length) = (file.id(), file.len());
        if length < FOOTER_BYTES as u64 {
            let expected = format!("at least {FOOTER_BYTES} bytes");
            return Err(Error::corruption(format!("table {id}"), 0, expected, length));
        }
        let tail_bytes = match cause {
            Cause::Read => TAIL_BYTES,
            _ => TAIL_BYTES.max(memory.job_index_ahead() as u64),
        };
        let (tail_start, tail) = read_tail(&*file, length, tail_bytes, cause)?;
        let footer = Footer::decode(id, length, &tail[tail.len() - FOOTER_BYTES..])?;
        let name = TableName { file: id, tag: footer.tag };
        let in_tail = |handle: Handle| {
            let at = handle.offset.checked_sub(tail_start)? as usize;
            Some(tail.slice(at..at + handle.size as usize))
        };
        let part = |part: &str, handle: Handle| {
            let stored = match in_tail(handle) {
                Some(stored) => stored,
                None => read(&*file, handle.offset, handle.size as usize, cause)?,
            };
            name.open(part, handle.offset, &stored)
        };
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
        let Handle { offset: index_offset, size: index_size } = footer.index;
        let top = match footer.index_levels {
            1 => None,
            _ => Some(Index::new(name, index_offset, part("index", footer.index)?)?),
        };
        let partitions: Box<[Partition]> = match &top {
            None => {
                let (index, filter) = (footer.index, footer.filter);
                [Partition::new(PartitionHandles { index, filter })].into()
            }
            Some(top) => {
                check_entries(name, top, properties.entries)?;
                partitions(name, top)?
            }
        };
        let blocks = [footer.filter, Some(footer.index), Some(footer.properties)];
        let offsets = partitions.iter().map(|partition| &partition.handles).flat_map(|handles| {
            [Some(handles.index), handles.filter].into_iter().flatten().map(|handle| handle.offset)
        });
        let others = blocks.iter().flatten().map(|handle| handle.offset);
        let data_end = offsets.chain(others).min().unwrap_or(0);
        let indexes_end = index_offset + if top.is_none() { u64::from(index_size) } else { 0 };
        let bytes = top.as_ref().map_or(0, Index::bytes)
            + size_of_val(&*partitions)
            + ranges.bytes()
            + size_of::<Self>()
            + properties.smallest.len()
            + properties.largest.len();
        let lease = memory.parts.lease(bytes);
        let memory = Arc::clone(memory);
        let only_index = if top.is_none() { in_tail(footer.index) } else { None };
        let table = Arc::new_cyclic(|this| Self {
            this: this.clone(),
            file,
            name,
            properties,
            ranges,
            top,
            partitions,
            data_end,
            indexes_end,
            memory,
            _lease: lease,
        });
        if let Some(stored) = only_index {
            let index = table.index_of(0, &stored)?;
            table.keep(&table.partitions[0].index, index, 0);
        }
        Ok(table)
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

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The first entry at or behind `seek_key`, if it is of the same full key, whose
    /// [`hash`](super::hash) this is. `cover`: the newest range tombstone over the key.
    pub(crate) fn get(
        &self,
        seek_key: &[u8],
        hash: u64,
        cover: Option<SeqNo>,
    ) -> Result<Lookup, Error> {
        let partition = self.partition_of(seek_key);
        if partition == self.partitions.len() || !self.may_hold(partition, hash)? {
            return Ok(Lookup::RuledOut);
        }
        // What is sought is in this partition or nowhere: the end of a partition is never within a
        // full key's entries unless it is one of them.
        let glance = self.partitions[partition].index.glance();
        let loaded;
        let index: &Index = match &glance {
            Some(index) => index,
            None => {
                loaded = self.index(partition, Cause::Read)?;
                &loaded
            }
        };
        let mut data: Option<BlockCursor> = None;
        for at in index.seek(seek_key)..index.len() {
            let block = self.cached_block(self.handle(index, at)?)?;
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
            let Some(found) = cursor.key() else { continue };
            let (full_key, trailer) = key::split(found);
            if full_key != key::split(seek_key).0 {
                break;
            }
            let kind = self.kind_of(found, cursor.block_offset())?;
            let hidden = cover.is_some_and(|cover| trailer.sequence() < cover);
            let found = match kind {
                Kind::Put if !hidden => Found::Value(cursor.value()),
                Kind::Put | Kind::Delete | Kind::RangeDelete => Found::Deleted,
            };
            return Ok(Lookup::Searched(Some(found)));
        }
        Ok(Lookup::Searched(None))
    }

    /// The partition that holds the first entry at or behind `target`, or the one before it; their
    /// number if all entries are before `target`.
    pub(super) fn partition_of(&self, target: &[u8]) -> usize {
        self.top.as_ref().map_or(0, |top| top.seek(target))
    }

    pub(super) fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Whether the key of this hash may be in the partition; `false` is certain.
    fn may_hold(&self, partition: usize, hash: u64) -> Result<bool, Error> {
        let Partition { handles, filter: slot, .. } = &self.partitions[partition];
        let Some(handle) = handles.filter else { return Ok(true) };
        let answer = |filter: &Option<Filter>| filter.as_ref().is_none_or(|f| f.may_hold(hash));
        if let Some(filter) = slot.glance() {
            return Ok(answer(&filter));
        }
        let filter = self.read_filter(handle, Cause::Read)?;
        let bytes = filter.as_ref().map_or(0, Filter::bytes);
        let filter = self.memory.parts.part(filter, bytes);
        let answer = answer(&filter);
        self.keep(slot, filter, 2 * partition + 1);
        Ok(answer)
    }

    fn read_filter(&self, handle: Handle, cause: Cause) -> Result<Option<Filter>, Error> {
        let stored = self.read(handle.offset, handle.size as usize, cause)?;
        Ok(Filter::new(self.name.open("filter", handle.offset, &stored)?))
    }

    /// Reads and checks all filters.
    pub(crate) fn check_filters(&self, cause: Cause) -> Result<(), Error> {
        let handles = self.partitions.iter().filter_map(|partition| partition.handles.filter);
        for handle in handles {
            self.read_filter(handle, cause)?;
        }
        Ok(())
    }

    /// The index of a partition, which is kept. A job that asks for it will ask again: where a
    /// merge is cut, what a part of a table comes to, when it is read and when it is given back.
    /// What only comes by an index keeps none.
    pub(super) fn index(&self, partition: usize, cause: Cause) -> Result<Arc<Part<Index>>, Error> {
        let slot = &self.partitions[partition].index;
        if let Some(index) = slot.get() {
            return Ok(index);
        }
        let handle = self.index_handle(partition);
        let stored = self.read(handle.offset, handle.size as usize, cause)?;
        let index = self.index_of(partition, &stored)?;
        self.keep(slot, Arc::clone(&index), 2 * partition);
        Ok(index)
    }

    /// The index of a partition if it is in memory.
    pub(super) fn index_in_memory(&self, partition: usize) -> Option<Arc<Part<Index>>> {
        self.partitions[partition].index.get()
    }

    pub(super) fn index_handle(&self, partition: usize) -> Handle {
        self.partitions[partition].handles.index
    }

    /// The index of a partition, as stored.
    pub(super) fn index_of(
        &self,
        partition: usize,
        stored: &Bytes,
    ) -> Result<Arc<Part<Index>>, Error> {
        let offset = self.index_handle(partition).offset;
        let contents = self.name.open("index", offset, stored)?;
        let index = Index::new(self.name, offset, contents)?;
        check_entries(self.name, &index, self.properties.entries)?;
        let bytes = index.bytes();
        Ok(self.memory.parts.part(index, bytes))
    }

    fn keep<T>(&self, slot: &Slot<T>, part: Arc<T>, number: usize) {
        let this: Weak<Self> = self.this.clone();
        let number = u32::try_from(number).expect("a table of less than 2^31 partitions");
        self.memory.parts.keep(slot, part, this, number);
        self.memory.balance();
    }

    /// The data block that an index entry names.
    pub(super) fn handle(&self, index: &Index, at: usize) -> Result<Handle, Error> {
        Handle::decode(index.value(at), self.data_end)
            .map_err(|e| Error::decode(self.name.region("index"), index.offset(), &e))
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
        self.cache(&block);
        Ok(block)
    }

    /// A data block if it is in the cache.
    pub(super) fn peek(&self, handle: Handle) -> Option<Block> {
        let contents = self.memory.cache.get(self.name.file, handle.offset)?;
        Some(Block::new(self.name, handle.offset, contents).expect("only checked blocks go in"))
    }

    /// Puts a data block into the cache.
    pub(super) fn cache(&self, block: &Block) {
        self.memory.cache.insert(self.name.file, block.offset, block.contents.clone());
    }

    /// Checks a data block's stored bytes.
    pub(super) fn block(&self, handle: Handle, stored: &Bytes) -> Result<Block, Error> {
        let contents = self.name.open("data block", handle.offset, stored)?;
        Block::new(self.name, handle.offset, contents)
    }

    /// Stored bytes, as they are.
    fn read(&self, offset: u64, size: usize, cause: Cause) -> Result<Bytes, Error> {
        read(&*self.file, offset, size, cause)
    }

    /// Fills `into` with stored bytes, as they are.
    pub(super) fn read_into(
        &self,
        offset: u64,
        into: &mut [u8],
        cause: Cause,
    ) -> Result<(), Error> {
        Ok(self.file.read_at(offset, into, cause)?)
    }

    /// The bytes of all data blocks.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.data_end
    }

    /// Keys that part what the table holds of a range into stretches of about `every` bytes, each
    /// with the bytes of data blocks in front of it; the last is the range's end.
    pub(crate) fn stretches(
        &self,
        span: &Span,
        every: ByteCount,
    ) -> Result<Vec<(Key, ByteCount)>, Error> {
        let (mut stretches, mut bytes) = (Vec::new(), 0);
        let target = key::internal_key(&span.start, key::Trailer::NEWEST);
        'partitions: for partition in self.partition_of(&target)..self.partitions.len() {
            let index = self.index(partition, Cause::Compaction)?;
            for at in index.seek(&target)..index.len() {
                bytes += u64::from(self.handle(&index, at)?.size);
                let (full_key, _) = key::split(index.key(at));
                if full_key >= &span.end[..] {
                    break 'partitions;
                }
                if bytes >= every.0 && full_key > &span.start[..] {
                    stretches.push((full_key.into(), ByteCount(std::mem::take(&mut bytes))));
                }
            }
        }
        stretches.push((span.end.clone(), ByteCount(bytes)));
        Ok(stretches)
    }

    /// Where the data blocks end.
    pub(super) fn data_end(&self) -> u64 {
        self.data_end
    }

    /// Where the indexes of all partitions end.
    pub(super) fn indexes_end(&self) -> u64 {
        self.indexes_end
    }

    /// Where the first data block begins that may hold keys from `start` on.
    pub(crate) fn offset_of(&self, start: &[u8]) -> Result<u64, Error> {
        let target = key::internal_key(start, key::Trailer::NEWEST);
        for partition in self.partition_of(&target)..self.partitions.len() {
            let index = self.index(partition, Cause::Compaction)?;
            let at = index.seek(&target);
            if at < index.len() {
                return Ok(self.handle(&index, at)?.offset);
            }
        }
        Ok(self.data_end)
    }

    /// About the bytes of the data blocks with keys in `start..end`.
    pub(crate) fn size_of(&self, start: &[u8], end: &[u8]) -> Result<ByteCount, Error> {
        Ok(ByteCount(self.offset_of(end)?.saturating_sub(self.offset_of(start)?)))
    }
}

impl Owner for Table {
    fn release(&self, part: u32) -> bool {
        let Partition { index, filter, .. } = &self.partitions[part as usize / 2];
        if part.is_multiple_of(2) { index.release() } else { filter.release() }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}, {} entries)", self.name.file, self.properties.entries)
    }
}

/// Only a table without entries has an index without any.
fn check_entries(name: TableName, index: &Index, entries: u64) -> Result<(), Error> {
    if index.len() > 0 || entries == 0 {
        return Ok(());
    }
    let expected = format!("an entry, as the table has {entries}");
    Err(Error::corruption(name.region("index"), index.offset(), expected, "none"))
}

/// The partitions that the top of an index names.
fn partitions(name: TableName, top: &Index) -> Result<Box<[Partition]>, Error> {
    let partition = |at| {
        PartitionHandles::decode(top.value(at), top.offset())
            .map(Partition::new)
            .map_err(|e| Error::decode(name.region("index of partitions"), top.offset(), &e))
    };
    (0..top.len()).map(partition).collect()
}

/// The file's last bytes and where they begin: fewer of them, down to the footer, where what lies
/// before has been given back.
fn read_tail(
    file: &dyn FileReader,
    length: u64,
    bytes: u64,
    cause: Cause,
) -> Result<(u64, Bytes), Error> {
    for bytes in [bytes, TAIL_BYTES] {
        let start = length.saturating_sub(bytes);
        match read(file, start, (length - start) as usize, cause) {
            Err(Error::Store(StoreError::OutOfRange { .. })) => {}
            other => return Ok((start, other?)),
        }
    }
    let start = length - FOOTER_BYTES as u64;
    Ok((start, read(file, start, FOOTER_BYTES, cause)?))
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
