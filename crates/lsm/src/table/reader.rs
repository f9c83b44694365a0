//! [`Table`]: an open table, for searches. Its [`Outline`] (properties, range tombstones, places of
//! indexes and filters) is in memory while the table is open; other parts are read when they are
//! needed.
//!
//! - Index and filter, or their partitions, stay in slots of the table while the memory budget
//!   allows. Data blocks of point reads go to the block cache, unless the options of the read say
//!   otherwise, or the store maps the file into memory: then clients read them there.
//! - [`Table::get`] searches entries only, with their stored sequence numbers. The caller looks up
//!   range tombstones with [`Table::ranges`], and passes the newest one as `cover`.
//! - The table keeps its file open. So its bytes can be read even if the file is deleted or trimmed
//!   later. A read of bytes that were trimmed before is an [`Error::Store`].
//!
//! Threads: any number of readers. A call may wait for the device, so the caller holds no lock.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
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
use super::view::View;
use crate::Error;
use crate::expiry::{self, EXPIRY_BYTES};
use crate::key::{self, Kind};
use crate::memory::Memory;
use crate::memory::{Owner, Part, PartClass, Slot};
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
    /// Made when a client first reads a block; `None` if the file is not mapped.
    view: OnceLock<Option<View>>,
    _lease: MemoryLease,
}

/// Index and filter of a partition, if they are in memory.
#[derive(Default)]
struct Slots {
    index: Slot<Part<Index>>,
    /// `None`: the filter is of an unknown kind.
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
        let lease = memory.parts(PartClass::Filter).lease(bytes);
        let memory = Arc::clone(memory);
        let this = |this: &Weak<Self>| Self {
            this: this.clone(),
            file,
            outline,
            slots,
            memory,
            view: OnceLock::new(),
            _lease: lease,
        };
        Arc::new_cyclic(this)
    }

    /// The same table by another reader of its file, with its parts in memory.
    pub(crate) fn by(&self, file: Arc<dyn FileReader>) -> Arc<Self> {
        let table = Self::new(file, Arc::clone(&self.outline), &self.memory);
        for (at, Slots { index, filter }) in self.slots.iter().enumerate() {
            if let Some(index) = index.get() {
                table.keep_index(at, index);
            }
            if let Some(filter) = filter.get() {
                table.keep_filter(at, filter);
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

    /// The first entry at or after `seek_key`, if it has the same full key, whose
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
        // Only this partition may have the key: the end of a partition never lies between two
        // entries of a full key unless it is one of them.
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
            // A separator may lie after the block's last key: then the entry is in the next block.
            let Some(found) = cursor.key() else { continue };
            let (full_key, trailer) = key::split(found);
            if full_key != key::split(seek_key).0 {
                break;
            }
            let value = || cursor.value_slice();
            let kind = self.kind_of(found, value, cursor.block_offset())?;
            let hidden = cover.is_some_and(|cover| trailer.sequence() < cover);
            let copies = &self.memory.large_buffers;
            let found = match kind {
                _ if hidden => Found::Deleted,
                Kind::Put => Found::Value(cursor.value(copies)),
                Kind::PutWithExpiry => {
                    let split = expiry::split_bytes(cursor.value(copies));
                    split.map_or(Found::Deleted, |(expiry, value)| Found::Expiring(expiry, value))
                }
                Kind::Operand => Found::Operand(trailer.sequence(), cursor.value(copies)),
                Kind::Delete | Kind::RangeDelete => Found::Deleted,
            };
            return Ok(Lookup::Searched(Some(found)));
        }
        Ok(Lookup::Searched(None))
    }

    /// Submits the read of the first block that [`get`](Self::get) with the same key needs, unless
    /// the block is in memory. Returns whether `get` looks into a block. If index or filter would
    /// have to be read to know, nothing is submitted, and the answer is `true`: `get` reads them.
    pub(crate) fn submit(&self, seek_key: &[u8], hash: u64, reads: &mut PointReads) -> bool {
        let partition = self.partition_of(seek_key);
        if partition == self.partitions() {
            return false;
        }
        if self.filter_handle(partition).is_some() {
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
        // `get` reports a damaged handle.
        let (file, Ok(handle)) = (self.name().file, self.handle(&index, at)) else { return true };
        if self.is_mapped() {
            return true;
        }
        if !reads.expects(file, handle.offset) && self.peek(handle).is_none() {
            let read =
                self.submit_read(handle.offset, ReadBuf::zeroed(handle.size as usize), Cause::Read);
            reads.submit(file, handle.offset, read);
        }
        true
    }

    /// The partition with the first entry at or after `target`, or the one before it; the number of
    /// partitions if all entries are before `target`.
    pub(super) fn partition_of(&self, target: &[u8]) -> usize {
        self.outline.top.as_ref().map_or(0, |top| top.seek(target))
    }

    /// The internal key of the partition's last entry; `None` if there is only one partition.
    pub(super) fn partition_end(&self, partition: usize) -> Option<Vec<u8>> {
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
        let Some(handle) = self.filter_handle(partition) else { return Ok(true) };
        let filter = self.read_filter(handle, Cause::Read)?;
        let answer = allows(&filter, hash);
        self.keep_filter(partition, self.counted(filter));
        Ok(answer)
    }

    fn counted(&self, filter: Option<Filter>) -> Arc<Part<Option<Filter>>> {
        let bytes = filter.as_ref().map_or(0, Filter::bytes);
        self.memory.parts(PartClass::Filter).part(filter, bytes)
    }

    /// Keeps the filter of a partition.
    fn keep_filter(&self, partition: usize, filter: Arc<Part<Option<Filter>>>) {
        let slot = &self.slots[partition].filter;
        self.keep(PartClass::Filter, slot, filter, 2 * partition + 1);
    }

    /// Keeps a filter whose stored bytes a reader has in memory; not one that is damaged: a search
    /// reads it again, and reports that.
    pub(super) fn keep_stored_filter(&self, partition: usize, stored: &Bytes) {
        let Some(handle) = self.filter_handle(partition) else { return };
        if let Ok(contents) = self.name().open("filter", handle.offset, stored) {
            self.keep_filter(partition, self.counted(Filter::new(&contents)));
        }
    }

    fn read_filter(&self, handle: Handle, cause: Cause) -> Result<Option<Filter>, Error> {
        let stored = self.read(handle.offset, handle.size as usize, cause)?;
        Ok(Filter::new(&self.name().open("filter", handle.offset, &stored)?))
    }

    /// Reads and checks all filters.
    pub(crate) fn check_filters(&self, cause: Cause) -> Result<(), Error> {
        let handles = self.outline.partitions.iter().filter_map(|partition| partition.filter);
        for handle in handles {
            self.read_filter(handle, cause)?;
        }
        Ok(())
    }

    /// The index of a partition, which is kept. A job needs it several times: to cut a merge, to
    /// estimate a part of a table, to read it, and to free it. A caller that only passes an index
    /// keeps none.
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

    /// Keeps the index of a partition while there is room.
    pub(super) fn keep_index(&self, partition: usize, index: Arc<Part<Index>>) {
        self.keep(PartClass::Index, &self.slots[partition].index, index, 2 * partition);
    }

    /// The index of a partition if it is in memory.
    pub(super) fn index_in_memory(&self, partition: usize) -> Option<Arc<Part<Index>>> {
        self.slots[partition].index.get()
    }

    pub(super) fn filter_handle(&self, partition: usize) -> Option<Handle> {
        self.outline.partitions[partition].filter
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
        Ok(self.memory.parts(PartClass::Index).part(index, bytes))
    }

    fn keep<T>(&self, class: PartClass, slot: &Slot<T>, part: Arc<T>, number: usize) {
        let this: Weak<Self> = self.this.clone();
        let number = u32::try_from(number).expect("a table of less than 2^31 partitions");
        self.memory.keep(class, slot, part, this, number);
    }

    /// The data block that an index entry names.
    pub(super) fn handle(&self, index: &Index, at: usize) -> Result<Handle, Error> {
        let handle = index.handle(at, self.data_end());
        handle.map_err(|e| Error::decode(self.name().region("index"), index.offset(), &e))
    }

    /// The kind of an entry of the block at `offset`; an error if its key or value is damaged.
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

    /// A data block for a point read: the last one, a submitted one, one from the cache, or one
    /// that is read, and goes to the cache.
    fn point_block(&self, handle: Handle, reads: &mut PointReads) -> Result<Block, Error> {
        if let Some(block) = reads.last(self.name().file, handle.offset) {
            return Ok(block);
        }
        if let Some(block) = self.lent_block(handle)? {
            reads.note(&block);
            return Ok(block);
        }
        let submitted = reads.take(self.name().file, handle.offset);
        let in_memory = if submitted.is_some() { None } else { self.peek(handle) };
        let block = match in_memory {
            Some(block) => block,
            None => {
                let stored = match submitted {
                    Some(read) => stored(read.wait()?),
                    None => self.read_block(handle)?,
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

    /// The stored bytes of a data block, in the memory of an evicted block if there is one.
    fn read_block(&self, handle: Handle) -> Result<Bytes, Error> {
        let size = handle.size as usize;
        match self.memory.cache.take_spare(size) {
            Some(mut into) => {
                self.read_into(handle.offset, &mut into, Cause::Read)?;
                Ok(into.freeze())
            }
            None => self.read(handle.offset, size, Cause::Read),
        }
    }

    /// A data block in the mapped file, for a client's read; `None` if it must be read otherwise.
    pub(super) fn lent_block(&self, handle: Handle) -> Result<Option<Block>, Error> {
        let Some(view) = self.view() else { return Ok(None) };
        let Some(contents) = view.contents(self.name(), handle)? else { return Ok(None) };
        Block::lent(self.name(), handle.offset, contents).map(Some)
    }

    /// The mapped file.
    fn view(&self) -> Option<&View> {
        let view = || self.file.mapped().map(View::new);
        self.view.get_or_init(|| self.memory.maps_tables.then(view).flatten()).as_ref()
    }

    /// Whether reads of blocks by clients need no read of the store, unless blocks are compressed.
    pub(super) fn is_mapped(&self) -> bool {
        self.view().is_some()
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

    /// Stored bytes.
    fn read(&self, offset: u64, size: usize, cause: Cause) -> Result<Bytes, Error> {
        read(&*self.file, offset, size, cause)
    }

    /// Fills `into` with stored bytes.
    pub(super) fn read_into(
        &self,
        offset: u64,
        into: &mut [u8],
        cause: Cause,
    ) -> Result<(), Error> {
        Ok(self.file.read_at(offset, into, cause)?)
    }

    /// Whether reads that are submitted may be in flight together.
    pub(super) fn queues_reads(&self) -> bool {
        self.file.queues()
    }

    /// Begins to fill `into` with stored bytes.
    pub(super) fn submit_read(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        self.file.submit(offset, into, cause)
    }

    /// Reads a part of the file, and by the same request adjacent parts of other files; see
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

    /// End of the data blocks, and their size, because the file begins with them.
    pub(crate) fn data_end(&self) -> u64 {
        self.outline.data_end
    }

    /// End of the indexes of all partitions.
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

/// Whether a filter admits a key of this hash; a filter of an unknown kind admits every key.
fn allows(filter: &Option<Filter>, hash: u64) -> bool {
    filter.as_ref().is_none_or(|filter| filter.may_hold(hash))
}

/// Stored bytes of a file.
pub(super) fn read(
    file: &dyn FileReader,
    offset: u64,
    size: usize,
    cause: Cause,
) -> Result<Bytes, Error> {
    Ok(file.read(offset, size, cause)?.into())
}
