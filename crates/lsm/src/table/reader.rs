//! [`Table`]: an open table, for searches. Its [`Outline`] (properties, range tombstones, places of
//! indexes and filters) is in memory as long as the table is open; the rest is read when it is
//! needed.
//!
//! - Index and filter, or their partitions, stay in slots of the table as long as the memory budget
//!   allows. Data blocks of point reads go to the block cache, unless the options of the read say
//!   otherwise.
//! - [`Table::get`] looks at entries alone, with the sequence numbers that are stored. The caller
//!   asks [`Table::ranges`] for range tombstones, and hands over the newest one as `cover`.
//! - The table keeps its file open. So its bytes can be read even if the file is deleted or trimmed
//!   later. Bytes that were trimmed before are an [`Error::Store`].
//!
//! Threads: any number of readers. A call may wait for the device, so the caller holds no lock.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use terrace_env::codec::Reader;
use terrace_env::store::{FileReader, JointRead, PendingRead, ReadBuf};
use terrace_env::{ByteCount, Cause, FileId, MemoryLease, SeqNo};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::filter::Filter;
use super::footer::Properties;
use super::frame::{Handle, TableName};
use super::index::Index;
use super::open::Outline;
use super::point_reads::PointReads;
use crate::Error;
use crate::expiry::{self, EXPIRY_BYTES};
use crate::key::{self, Kind};
use crate::memory::Memory;
use crate::memory::{Owner, Part, Slot};
use crate::memtable::Found;
use crate::ranges::Fragments;

/// An open table.
pub(crate) struct Table {
    this: Weak<Self>,
    file: Arc<dyn FileReader>,
    outline: Arc<Outline>,
    /// Slots of each partition.
    slots: Box<[Slots]>,
    memory: Arc<Memory>,
    _lease: MemoryLease,
}

/// Index and filter of a partition, where they are in memory.
#[derive(Default)]
struct Slots {
    index: Slot<Part<Index>>,
    /// `None`: the filter is of a kind that is not understood.
    filter: Slot<Part<Option<Filter>>>,
}

/// Result of a search in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The filter rules the key out.
    RuledOut,
    /// Entry found, or `None` if the table has none.
    Searched(Option<Found>),
}

impl Table {
    /// A table whose end has been read; no partition is in memory yet.
    pub(super) fn new(
        file: Arc<dyn FileReader>,
        outline: Arc<Outline>,
        memory: &Arc<Memory>,
    ) -> Arc<Self> {
        let slots: Box<[Slots]> = outline.partitions.iter().map(|_| Slots::default()).collect();
        let bytes = size_of::<Self>() + size_of_val(&*slots) + outline.bytes();
        let lease = memory.parts.lease(bytes);
        let memory = Arc::clone(memory);
        let this = |this: &Weak<Self>| Self {
            this: this.clone(),
            file,
            outline,
            slots,
            memory,
            _lease: lease,
        };
        Arc::new_cyclic(this)
    }

    /// The same table by another reader of its file, with what is in memory of it.
    pub(crate) fn by(&self, file: Arc<dyn FileReader>) -> Arc<Self> {
        let table = Self::new(file, Arc::clone(&self.outline), &self.memory);
        for (at, Slots { index, filter }) in self.slots.iter().enumerate() {
            if let Some(index) = index.get() {
                table.keep(&table.slots[at].index, index, 2 * at);
            }
            if let Some(filter) = filter.get() {
                table.keep(&table.slots[at].filter, filter, 2 * at + 1);
            }
        }
        table
    }

    pub(crate) fn name(&self) -> TableName {
        self.outline.name
    }

    pub(crate) fn properties(&self) -> &Properties {
        &self.outline.properties
    }

    pub(crate) fn ranges(&self) -> &Fragments {
        &self.outline.ranges
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The first entry at or behind `seek_key`, if it is of the same full key, whose
    /// [`hash`](super::hash) this is. `cover`: the newest range tombstone over the key.
    pub(crate) fn get(
        &self,
        seek_key: &[u8],
        hash: u64,
        cover: Option<SeqNo>,
        reads: &mut PointReads,
    ) -> Result<Lookup, Error> {
        let partition = self.partition_of(seek_key);
        if partition == self.partitions() || !self.may_hold(partition, hash)? {
            return Ok(Lookup::RuledOut);
        }
        // The key sought is in this partition or nowhere: the end of a partition is never within a
        // full key's entries unless it is one of them.
        let glance = self.slots[partition].index.glance();
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
            let block = self.point_block(self.handle(index, at)?, reads)?;
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
            let value = || cursor.value_slice();
            let kind = self.kind_of(found, value, cursor.block_offset())?;
            let hidden = cover.is_some_and(|cover| trailer.sequence() < cover);
            let found = match kind {
                _ if hidden => Found::Deleted,
                Kind::Put => Found::Value(cursor.value()),
                Kind::PutWithExpiry => {
                    let split = expiry::split_bytes(cursor.value());
                    split.map_or(Found::Deleted, |(expiry, value)| Found::Expiring(expiry, value))
                }
                Kind::Operand => Found::Operand(trailer.sequence(), cursor.value()),
                Kind::Delete | Kind::RangeDelete => Found::Deleted,
            };
            return Ok(Lookup::Searched(Some(found)));
        }
        Ok(Lookup::Searched(None))
    }

    /// Submits the read of the block in which [`get`](Self::get) with the same key looks first,
    /// unless the block is in memory. Returns whether `get` looks into a block. If index or filter
    /// would have to be read to know, nothing is submitted, and the answer is `true`: `get` reads
    /// them.
    pub(crate) fn submit(&self, seek_key: &[u8], hash: u64, reads: &mut PointReads) -> bool {
        let partition = self.partition_of(seek_key);
        if partition == self.partitions() {
            return false;
        }
        if self.outline.partitions[partition].filter.is_some() {
            let Some(filter) = self.slots[partition].filter.glance() else { return true };
            if !allows(&filter, hash) {
                return false;
            }
        }
        let Some(index) = self.slots[partition].index.glance() else { return true };
        let at = index.seek(seek_key);
        if at == index.len() {
            return false;
        }
        // A damaged handle is reported by `get`.
        let (file, Ok(handle)) = (self.name().file, self.handle(&index, at)) else { return true };
        if !reads.expects(file, handle.offset) && self.peek(handle).is_none() {
            let read =
                self.submit_read(handle.offset, ReadBuf::zeroed(handle.size as usize), Cause::Read);
            reads.submit(file, handle.offset, read);
        }
        true
    }

    /// The partition that holds the first entry at or behind `target`, or the one before it; their
    /// number if all entries are before `target`.
    pub(super) fn partition_of(&self, target: &[u8]) -> usize {
        self.outline.top.as_ref().map_or(0, |top| top.seek(target))
    }

    /// The key that the partition's last entry has, an internal one; `None` where there is only one
    /// partition.
    pub(super) fn partition_end(&self, partition: usize) -> Option<&[u8]> {
        let top = self.outline.top.as_ref()?;
        (partition < top.len()).then(|| top.key(partition))
    }

    pub(super) fn partitions(&self) -> usize {
        self.slots.len()
    }

    /// Whether the key of this hash may be in the partition; `false` is certain.
    fn may_hold(&self, partition: usize, hash: u64) -> Result<bool, Error> {
        let slot = &self.slots[partition].filter;
        if let Some(filter) = slot.glance() {
            return Ok(allows(&filter, hash));
        }
        let Some(handle) = self.outline.partitions[partition].filter else { return Ok(true) };
        let filter = self.read_filter(handle, Cause::Read)?;
        let bytes = filter.as_ref().map_or(0, Filter::bytes);
        let filter = self.memory.parts.part(filter, bytes);
        let answer = allows(&filter, hash);
        self.keep(slot, filter, 2 * partition + 1);
        Ok(answer)
    }

    fn read_filter(&self, handle: Handle, cause: Cause) -> Result<Option<Filter>, Error> {
        let stored = self.read(handle.offset, handle.size as usize, cause)?;
        Ok(Filter::new(self.name().open("filter", handle.offset, &stored)?))
    }

    /// Reads and checks all filters.
    pub(crate) fn check_filters(&self, cause: Cause) -> Result<(), Error> {
        let handles = self.outline.partitions.iter().filter_map(|partition| partition.filter);
        for handle in handles {
            self.read_filter(handle, cause)?;
        }
        Ok(())
    }

    /// The index of a partition, which is kept. A job that asks for it will ask again: where a
    /// merge is cut, what a part of a table comes to, when it is read and when it is given back. A
    /// caller that only passes an index keeps none.
    pub(super) fn index(&self, partition: usize, cause: Cause) -> Result<Arc<Part<Index>>, Error> {
        if let Some(index) = self.index_in_memory(partition) {
            return Ok(index);
        }
        let handle = self.index_handle(partition);
        let stored = self.read(handle.offset, handle.size as usize, cause)?;
        let index = self.index_of(partition, &stored)?;
        self.keep_index(partition, Arc::clone(&index));
        Ok(index)
    }

    /// Keeps the index of a partition as long as there is room.
    pub(super) fn keep_index(&self, partition: usize, index: Arc<Part<Index>>) {
        self.keep(&self.slots[partition].index, index, 2 * partition);
    }

    /// The index of a partition if it is in memory.
    pub(super) fn index_in_memory(&self, partition: usize) -> Option<Arc<Part<Index>>> {
        self.slots[partition].index.get()
    }

    pub(super) fn index_handle(&self, partition: usize) -> Handle {
        self.outline.partitions[partition].index
    }

    /// The index of a partition, as stored.
    pub(super) fn index_of(
        &self,
        partition: usize,
        stored: &Bytes,
    ) -> Result<Arc<Part<Index>>, Error> {
        let offset = self.index_handle(partition).offset;
        let contents = self.name().open("index", offset, stored)?;
        let mut index = Index::new(self.name(), offset, contents)?;
        if self.outline.first_keys {
            index = index.with_first_keys()?;
        }
        index.check_entries(self.properties().entries)?;
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
        let (value, limit) = (index.value(at), self.data_end());
        let handle = match index.has_first_keys() {
            true => Handle::read(&mut Reader::new(value), limit),
            false => Handle::decode(value, limit),
        };
        handle.map_err(|e| Error::decode(self.name().region("index"), index.offset(), &e))
    }

    /// The kind of an entry of the block at `offset`, whose key and value are sound.
    pub(super) fn kind_of<'a>(
        &self,
        internal_key: &[u8],
        value: impl FnOnce() -> &'a [u8],
        offset: u64,
    ) -> Result<Kind, Error> {
        let region = || self.name().region("data block");
        if let Err(defect) = key::check(internal_key) {
            let expected = "an internal key of a known kind";
            return Err(Error::corruption(region(), offset, expected, defect));
        }
        let kind = key::split(internal_key).1.kind().unwrap_or(Kind::Delete);
        if kind == Kind::PutWithExpiry {
            let bytes = value().len();
            if bytes < EXPIRY_BYTES {
                let (expected, got) = ("an expiry of 8 bytes", format!("{bytes} bytes"));
                return Err(Error::corruption(region(), offset, expected, got));
            }
        }
        Ok(kind)
    }

    /// A data block for a point read: the last one, one whose read was submitted, from the cache,
    /// or into it.
    fn point_block(&self, handle: Handle, reads: &mut PointReads) -> Result<Block, Error> {
        if let Some(block) = reads.last(self.name().file, handle.offset) {
            return Ok(block);
        }
        let submitted = reads.take(self.name().file, handle.offset);
        let in_memory = if submitted.is_some() { None } else { self.peek(handle) };
        let block = match in_memory {
            Some(block) => block,
            None => {
                let stored = match submitted {
                    Some(read) => stored(read.wait()?),
                    None => self.read(handle.offset, handle.size as usize, Cause::Read)?,
                };
                let block = self.block(handle, &stored)?;
                if reads.fill_cache() {
                    self.cache(&block);
                }
                block
            }
        };
        reads.note(&block);
        Ok(block)
    }

    /// A data block if it is in the cache.
    pub(super) fn peek(&self, handle: Handle) -> Option<Block> {
        let contents = self.memory.cache.get(self.name().file, handle.offset)?;
        Some(Block::new(self.name(), handle.offset, contents).expect("only checked blocks go in"))
    }

    /// Puts a data block into the cache.
    pub(super) fn cache(&self, block: &Block) {
        self.memory.cache.insert(self.name().file, block.offset, block.contents.clone());
    }

    /// Checks a data block's stored bytes.
    pub(super) fn block(&self, handle: Handle, stored: &Bytes) -> Result<Block, Error> {
        let contents = self.name().open("data block", handle.offset, stored)?;
        Block::new(self.name(), handle.offset, contents)
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

    /// Begins to fill `into` with stored bytes, as they are.
    pub(super) fn submit_read(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        self.file.submit(offset, into, cause)
    }

    /// Reads a part of the file, and by the same request parts of others that lie behind it; see
    /// [`FileReader::read_joint`].
    pub(crate) fn read_joint(
        &self,
        part: Range<u64>,
        behind: &[(FileId, Range<u64>)],
        most: ByteCount,
        cause: Cause,
    ) -> Option<JointRead> {
        self.file.read_joint(part, behind, most, cause)
    }

    /// Where the data blocks end, with which the file begins: how many bytes they are, too.
    pub(crate) fn data_end(&self) -> u64 {
        self.outline.data_end
    }

    /// Where the indexes of all partitions end.
    pub(super) fn indexes_end(&self) -> u64 {
        self.outline.indexes_end
    }
}

impl Owner for Table {
    fn release(&self, part: u32) -> bool {
        let Slots { index, filter } = &self.slots[part as usize / 2];
        if part.is_multiple_of(2) { index.release() } else { filter.release() }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({}, {} entries)", self.name().file, self.properties().entries)
    }
}

/// The bytes of a buffer, without a copy.
fn stored(buffer: ReadBuf) -> Bytes {
    match buffer {
        ReadBuf::Small(bytes) => bytes.into(),
        ReadBuf::Large(bytes) => Bytes::from_owner(bytes),
    }
}

/// Whether a filter allows for a key of this hash; one of a kind that is not understood allows for
/// every key.
fn allows(filter: &Option<Filter>, hash: u64) -> bool {
    filter.as_ref().is_none_or(|filter| filter.may_hold(hash))
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
