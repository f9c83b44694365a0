//! [`TableBuilder`]: writes a table, entry by entry.
//!
//! - The caller must add entries in the order of their internal keys, each once, and range
//!   tombstones as fragments, in order and without overlap. [`TableBuilder::finish`] panics if
//!   there is neither an entry nor a fragment.
//! - A finished table has been handed to the store, and is not yet durable or visible: the caller
//!   seals its file in a transaction. If the builder, or the [`BuiltTable`], is dropped before, the
//!   store removes the file.
//! - After an error the caller must drop the builder.
//! - The whole index, the filters, the histogram and the range tombstones are in memory until the
//!   end. Of the data, only the current block and the writes in flight are.
//!
//! One owner. A call may wait for the store to write. The caller decides when a table is large
//! enough.

use bytes::Bytes;
use terrace_env::checksum::crc32c;
use terrace_env::store::FileWriter;
use terrace_env::{ByteCount, FileId, MemoryGauge, MemoryLease, SeqNo};
use terrace_policy::{Histogram, HistogramBuilder};

use super::block_builder::BlockBuilder;
use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{Handle, TableName};
use super::index_builder::{Finished, FinishedPartition, IndexBuilder, IndexLayout, WrittenBlock};
use super::partition::PartitionHandles;
use super::range_block;
use super::space_layouts::{BlockLayout, SpaceLayouts};
use crate::Error;
use crate::compression::Compression;
use crate::expiries::{Expiries, ExpiriesBuilder};
use crate::expiry;
use crate::key::{self, Kind, Trailer};
use crate::memory::writer_bytes;
use crate::old_versions::{HeldBy, OldVersions, OldVersionsBuilder};
use crate::options::ShapeOptions;
use crate::ranges::{Fragment, Fragments};

/// Entries from one restart point of a data block to the next: 16 costs a search 8 entries on
/// average and a block some 5 % (LevelDB's and RocksDB's choice).
const RESTART_INTERVAL: usize = 16;
/// Least bytes of a filter, properties and footer, in an estimate of the file's size.
const TAIL_BYTES: u64 = FOOTER_BYTES as u64 + 256;

/// Least size of a value that is not copied into the block that it ends, if the block is not
/// compressed: a copy of the largest would take a fifth of a default store's memory.
const LARGE_VALUE: usize = 64 << 10;

/// Bounds of the size of an index partition: smaller ones save nothing, larger ones are no longer
/// read at once.
const PARTITION_BYTES: std::ops::RangeInclusive<u64> = 512..=64 << 10;
/// The most partitions of an index that is kept in one piece. With partitions of 4 KiB, it is read
/// like a large block, and a second level would cost a search more than it saves.
const WHOLE_PARTITIONS: usize = 16;

/// How tables are laid out and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableLayout {
    /// Size at which a data block is closed.
    pub(crate) block_size: ByteCount,
    pub(crate) compression: Compression,
    pub(crate) index: IndexLayout,
    /// The most bytes of a table's histogram; 0: it has none.
    pub(crate) histogram_max: ByteCount,
    /// Bytes in flight to the medium, for an estimate of their memory.
    pub(crate) io_size: ByteCount,
}

impl TableLayout {
    /// A layout whose index has partitions of about a block's size.
    pub(crate) fn new(block_size: ByteCount, compression: Compression, filter_bits: u8) -> Self {
        let (least, most) = (*PARTITION_BYTES.start(), *PARTITION_BYTES.end());
        let partition_size = block_size.0.clamp(least, most) as usize;
        let whole_max = partition_size * WHOLE_PARTITIONS;
        let index = IndexLayout { partition_size, whole_max, filter_bits, first_keys: false };
        let (histogram_max, io_size) = (ByteCount(0), ByteCount::mib(2));
        Self { block_size, compression, index, histogram_max, io_size }
    }

    /// The layout of a table of `level`, where `last` is the last level that holds anything.
    pub(crate) fn of(options: &ShapeOptions, level: u8, last: u8) -> Self {
        let shape = options.shape;
        let compression = shape.compression.of(level, last);
        // Partitions of indexes and filters do not grow with the blocks of the last level.
        let layout = Self::new(shape.block_size, compression, shape.filter_bits);
        let block_size = options.shape_in(level, last).block_size;
        Self { block_size, io_size: options.io_size, ..layout }.with_first_keys(shape.first_keys)
    }

    /// The same, with or without the first keys of blocks in the index.
    pub(crate) fn with_first_keys(self, first_keys: bool) -> Self {
        Self { index: IndexLayout { first_keys, ..self.index }, ..self }
    }

    /// The same for a table of this size, with a histogram of at most `max` bytes.
    pub(crate) fn with_histogram(self, max: ByteCount, size: ByteCount) -> Self {
        Self { histogram_max: max.min(ByteCount(size.0 / HISTOGRAM_PART)), ..self }
    }
}

/// Divisor of a table's size for its histogram, which is also kept in the file system's journal and
/// in memory.
const HISTOGRAM_PART: u64 = 1024;

/// A table whose bytes have been handed to the store, and which is not sealed yet.
pub(crate) struct BuiltTable {
    /// Dropped only when the file is sealed; before, the store would remove the file.
    pub(crate) writer: Box<dyn FileWriter>,
    pub(crate) tag: u64,
    pub(crate) size: ByteCount,
    pub(crate) properties: Properties,
    /// Places of its bytes; for the table's annotation.
    pub(crate) histogram: Histogram,
    /// Its entries that only snapshots keep; for the annotation, too.
    pub(crate) old_versions: OldVersions,
    /// Its entries that expire; for the annotation, too.
    pub(crate) expiries: Expiries,
    /// Its last bytes, from the filters on, if they are still in memory: then the table is opened
    /// without a read.
    pub(crate) tail: Option<Bytes>,
}

/// Writes a table.
pub(crate) struct TableBuilder {
    writer: Box<dyn FileWriter>,
    layout: TableLayout,
    /// The form of the entries that come now.
    now: BlockLayout,
    spaces: Option<SpaceLayouts>,
    name: TableName,
    offset: u64,
    block: BlockBuilder,
    /// The first key of the current block, if the index has first keys.
    first: Vec<u8>,
    index: IndexBuilder,
    histogram: HistogramBuilder,
    old_versions: OldVersionsBuilder,
    expiries: ExpiriesBuilder,
    /// The closed block that is not yet in the index.
    closed: Option<WrittenBlock>,
    features: Features,
    ranges: Vec<Fragment>,
    properties: Properties,
    /// Bytes written after the data.
    tail: Option<Vec<u8>>,
    memory: MemoryLease,
}

impl TableBuilder {
    /// A table in an empty file; `jobs` counts the memory.
    pub(crate) fn new(
        writer: Box<dyn FileWriter>,
        layout: TableLayout,
        jobs: &MemoryGauge,
    ) -> Self {
        let file: FileId = writer.id();
        let TableLayout { block_size, compression, index, .. } = layout;
        let filter_bits = index.filter_bits;
        Self {
            writer,
            layout,
            now: BlockLayout { block_size, compression, filter_bits },
            spaces: None,
            name: TableName { file, tag: file.0 },
            offset: 0,
            block: BlockBuilder::new(RESTART_INTERVAL),
            first: Vec::new(),
            index: IndexBuilder::new(layout.index),
            histogram: HistogramBuilder::new(layout.histogram_max),
            old_versions: OldVersionsBuilder::default(),
            expiries: ExpiriesBuilder::default(),
            closed: None,
            features: Features::default(),
            ranges: Vec::new(),
            properties: Properties { first_sequence: SeqNo::MAX, ..Properties::default() },
            tail: None,
            memory: jobs.lease(writer_bytes(layout.io_size)),
        }
    }

    /// The same table, in which entries have the form of their key space.
    pub(crate) fn with_spaces(self, spaces: SpaceLayouts) -> Self {
        Self { spaces: Some(spaces), ..self }
    }

    /// Adds an entry after all others.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let layout = self.spaces.as_mut().and_then(|spaces| spaces.turn_to(key));
        let layout = layout.filter(|layout| *layout != self.now);
        if layout.is_some() {
            self.close_block()?;
        }
        if let Some(closed) = self.closed.take() {
            debug_assert!(key::compare(&closed.last, key).is_lt(), "a key after the last block");
            self.index.add_block(&closed, key);
            self.histogram.add(ByteCount(closed.handle.size.into()), key::split(key).0);
            if let Some(layout) = layout {
                self.index.set_filter_bits(layout.filter_bits, Some((&closed.last, key)));
            }
        } else if let Some(layout) = layout {
            self.index.set_filter_bits(layout.filter_bits, None);
        }
        self.now = layout.unwrap_or(self.now);
        if self.layout.index.first_keys && self.block.is_empty() {
            self.first.extend_from_slice(key);
        }
        let (full_key, trailer) = key::split(key);
        debug_assert!(
            self.properties.entries == 0 || self.properties.largest.as_slice() <= full_key,
            "entries come in the order of their keys"
        );
        self.count(full_key, trailer, value);
        self.block.begin_entry(key, value.len());
        let grown = self.block.size() + value.len();
        let closes = grown as u64 >= self.now.block_size.0;
        if closes && value.len() >= LARGE_VALUE && self.now.compression == Compression::None {
            return self.close_block_around(value);
        }
        self.block.put_value(value);
        if self.block.size() as u64 >= self.now.block_size.0 {
            self.close_block()?;
        }
        Ok(())
    }

    /// Counts an added entry or range tombstone, of `bytes`, as one that only these snapshots keep.
    pub(crate) fn count_old_version(&mut self, held_by: HeldBy, bytes: u64) {
        self.old_versions.add(held_by, bytes);
    }

    /// Adds range tombstones at the end.
    pub(crate) fn add_ranges(&mut self, fragments: Vec<Fragment>) {
        for fragment in &fragments {
            let properties = &mut self.properties;
            let newest = fragment.sequences.iter().max().copied().unwrap_or_default();
            let oldest = fragment.sequences.iter().min().copied().unwrap_or_default();
            properties.first_sequence = properties.first_sequence.min(oldest);
            properties.last_sequence = properties.last_sequence.max(newest);
            properties.plain_bytes += fragment.bytes() as u64;
        }
        debug_assert!(
            self.ranges
                .last()
                .zip(fragments.first())
                .is_none_or(|(a, b)| a.span.end <= b.span.start),
            "range tombstones in order"
        );
        self.ranges.extend(fragments);
    }

    /// Waits for the writes in flight, before the job turns to another table.
    pub(crate) fn rest(&mut self) -> Result<(), Error> {
        Ok(self.writer.rest()?)
    }

    /// Approximate size of the file if it were finished now.
    pub(crate) fn estimated_size(&self) -> ByteCount {
        let blocks = self.offset + (self.block.size() + self.index.size()) as u64;
        ByteCount(blocks + TAIL_BYTES)
    }

    /// Writes the remaining parts and ends the file; it can then be sealed.
    pub(crate) fn finish(mut self) -> Result<BuiltTable, Error> {
        let ranges = Fragments::new(std::mem::take(&mut self.ranges));
        assert!(self.properties.entries > 0 || !ranges.is_empty(), "a table of nothing");
        self.close_block()?;
        if let Some(closed) = self.closed.take() {
            self.index.add_last_block(closed);
            if self.layout.index.first_keys {
                self.features.add(Features::FIRST_KEYS);
            }
        }
        debug_assert_eq!(self.writer.len(), self.offset, "the file ends with the last block");
        let index = std::mem::replace(&mut self.index, IndexBuilder::new(self.layout.index));
        let (index_levels, index, filter) = match index.finish() {
            Finished::Whole { index, filter } => {
                self.tail = Some(Vec::new());
                let filter = self.write_filter(filter)?;
                (1, self.write_block(index, self.layout.compression)?, filter)
            }
            Finished::Partitions(partitions) => (2, self.write_partitions(partitions)?, None),
        };
        self.write_ranges(&ranges)?;
        let properties = self.write_block(self.properties.encode(), Compression::None)?;
        let length = self.offset + FOOTER_BYTES as u64;
        let plain = self.properties.plain_bytes;
        let old_versions = self.old_versions.finish(ByteCount(length), plain);
        let expiries = self.expiries.finish(ByteCount(length), plain);
        let (features, tag) = (self.features, self.name.tag);
        let footer = Footer { features, tag, index_levels, index, filter, properties, length };
        let footer = footer.encode();
        self.writer.append(&footer)?;
        self.writer.finish()?;
        debug_assert_eq!(self.writer.len(), length, "the file ends with the footer");
        let mut tail = self.tail.unwrap_or_default();
        tail.extend_from_slice(&footer);
        Ok(BuiltTable {
            writer: self.writer,
            tag: self.name.tag,
            size: ByteCount(length),
            properties: self.properties,
            histogram: self.histogram.finish(),
            old_versions,
            expiries,
            tail: Some(tail.into()),
        })
    }

    fn write_ranges(&mut self, ranges: &Fragments) -> Result<(), Error> {
        let Some(summary) = ranges.summary() else { return Ok(()) };
        if self.properties.entries == 0 {
            self.properties.smallest = summary.span.start.to_vec();
            self.properties.largest = summary.span.start.to_vec();
        }
        let handle = self.write_block(range_block::encode(ranges), self.layout.compression)?;
        self.properties.ranges = Some((handle, summary));
        self.features.add(Features::RANGES);
        Ok(())
    }

    fn write_filter(&mut self, filter: Option<Vec<u8>>) -> Result<Option<Handle>, Error> {
        filter.map(|block| self.write_block(block, Compression::None)).transpose()
    }

    /// Writes the filters, then the indexes of the partitions, then the index of these, which it
    /// returns. In this order, the whole index can be read at once.
    fn write_partitions(&mut self, partitions: Vec<FinishedPartition>) -> Result<Handle, Error> {
        self.tail = Some(Vec::new());
        let mut filters = Vec::with_capacity(partitions.len());
        let mut rest = Vec::with_capacity(partitions.len());
        for FinishedPartition { index, filter, end } in partitions {
            filters.push(self.write_filter(filter)?);
            rest.push((index, end));
        }
        let mut top = BlockBuilder::new(1);
        for ((index, end), filter) in rest.into_iter().zip(filters) {
            let index = self.write_block(index, self.layout.compression)?;
            top.add(&end, &PartitionHandles { index, filter }.encode());
        }
        self.write_block(top.finish(), self.layout.compression)
    }

    fn count(&mut self, full_key: &[u8], trailer: Trailer, value: &[u8]) {
        let properties = &mut self.properties;
        let first = properties.entries == 0;
        debug_assert!(first || full_key >= &properties.largest[..], "entries in order");
        properties.entries += 1;
        properties.tombstones += u64::from(trailer.kind() == Some(Kind::Delete));
        properties.first_sequence = properties.first_sequence.min(trailer.sequence());
        properties.last_sequence = properties.last_sequence.max(trailer.sequence());
        let plain = (full_key.len() + key::TRAILER_BYTES + value.len()) as u64;
        properties.plain_bytes += plain;
        if trailer.kind() == Some(Kind::PutWithExpiry)
            && let Some((expiry, _)) = expiry::split(value)
        {
            self.expiries.add(expiry, plain);
        }
        if first {
            properties.smallest.extend_from_slice(full_key);
        }
        let new = first || full_key != &properties.largest[..];
        if new {
            properties.largest.clear();
            properties.largest.extend_from_slice(full_key);
        }
        self.index.add_key(full_key, new);
    }

    fn close_block(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let last = self.block.last_key().to_vec();
        let mut contents = self.block.finish();
        if contents.len() >= LARGE_VALUE {
            // The block counts twice, for its compression.
            let memory = writer_bytes(self.layout.io_size) + self.index.memory();
            self.memory.resize(memory + 2 * contents.len());
        }
        let handle = self.seal_block(&mut contents, self.now.compression)?;
        self.block.recycle(contents);
        self.closed = Some(WrittenBlock { handle, first: std::mem::take(&mut self.first), last });
        self.memory.resize(writer_bytes(self.layout.io_size) + self.index.memory());
        Ok(())
    }

    /// Closes the block with the announced value, which is written without a copy, and read once
    /// for the checksums of the block and of the file.
    fn close_block_around(&mut self, value: &[u8]) -> Result<(), Error> {
        let last = self.block.last_key().to_vec();
        let (front, mut back) = self.block.finish_around_value();
        let offset = self.offset;
        let crc = crc32c(value);
        back.extend(self.name.seal_around(&front, (value.len(), crc), &back, offset));
        self.writer.append(&front)?;
        self.writer.append_summed(value, crc)?;
        self.writer.append(&back)?;
        self.offset += (front.len() + value.len() + back.len()) as u64;
        let size = u32::try_from(self.offset - offset).expect("a block below its limit");
        self.block.recycle(front);
        let (handle, first) = (Handle { offset, size }, std::mem::take(&mut self.first));
        self.closed = Some(WrittenBlock { handle, first, last });
        self.memory.resize(writer_bytes(self.layout.io_size) + self.index.memory());
        Ok(())
    }

    fn write_block(
        &mut self,
        mut contents: Vec<u8>,
        compression: Compression,
    ) -> Result<Handle, Error> {
        self.seal_block(&mut contents, compression)
    }

    fn seal_block(
        &mut self,
        contents: &mut Vec<u8>,
        compression: Compression,
    ) -> Result<Handle, Error> {
        let offset = self.offset;
        if self.name.seal(contents, compression, offset) == Compression::Zstd {
            self.features.add(Features::ZSTD);
        }
        self.writer.append(contents)?;
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(contents);
        }
        self.offset += contents.len() as u64;
        let size = u32::try_from(contents.len()).expect("a block below its limit");
        Ok(Handle { offset, size })
    }
}
