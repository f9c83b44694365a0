//! Writes a table, entry by entry, in order.
//!
//! Memory: the block being filled, the index (one entry per block) and eight bytes per key for the
//! filter. Dropped before it is finished, the file is gone.

use terrace_env::store::FileWriter;
use terrace_env::{ByteCount, FileId, SeqNo};

use super::block_builder::BlockBuilder;
use super::compression::Compression;
use super::filter;
use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{Handle, TableName};
use super::range_block;
use crate::Error;
use crate::key::{self, Kind, Trailer};
use crate::ranges::{Fragment, Fragments};

/// A data block shares nothing with the key before at every so many entries: 16 costs a search 8
/// entries on average and a block some 5 % (LevelDB's and RocksDB's choice).
const RESTART_INTERVAL: usize = 16;
/// What a filter, properties and footer take at least, in an estimate of the file's size.
const TAIL_BYTES: u64 = FOOTER_BYTES as u64 + 256;

/// How tables are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableLayout {
    /// A data block is closed when it has grown to this.
    pub(crate) block_size: ByteCount,
    pub(crate) compression: Compression,
    /// 0: no filter.
    pub(crate) filter_bits: u8,
}

/// A table whose bytes have been handed to the store, and that is not sealed yet.
pub(crate) struct BuiltTable {
    /// Dropped only when the file is sealed: before, the file would be gone.
    pub(crate) writer: Box<dyn FileWriter>,
    pub(crate) tag: u64,
    pub(crate) size: ByteCount,
    pub(crate) properties: Properties,
}

/// Writes a table.
pub(crate) struct TableBuilder {
    writer: Box<dyn FileWriter>,
    layout: TableLayout,
    name: TableName,
    offset: u64,
    block: BlockBuilder,
    index: BlockBuilder,
    /// The block that is closed and not yet in the index, and its last key.
    closed: Option<(Handle, Vec<u8>)>,
    hashes: Vec<u64>,
    features: Features,
    ranges: Vec<Fragment>,
    properties: Properties,
}

impl TableBuilder {
    pub(crate) fn new(writer: Box<dyn FileWriter>, layout: TableLayout) -> Self {
        let file: FileId = writer.id();
        Self {
            writer,
            layout,
            name: TableName { file, tag: file.0 },
            offset: 0,
            block: BlockBuilder::new(RESTART_INTERVAL),
            index: BlockBuilder::new(1),
            closed: None,
            hashes: Vec::new(),
            features: Features::default(),
            ranges: Vec::new(),
            properties: Properties { first_sequence: SeqNo::MAX, ..Properties::default() },
        }
    }

    /// Adds an entry behind all others.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        if let Some((handle, last)) = self.closed.take() {
            self.add_to_index(&separator(&last, key), handle);
        }
        let (full_key, trailer) = key::split(key);
        self.count(full_key, trailer, value.len());
        self.block.add(key, value);
        if self.block.size() as u64 >= self.layout.block_size.0 {
            self.close_block()?;
        }
        Ok(())
    }

    /// Adds range tombstones behind all others.
    pub(crate) fn add_ranges(&mut self, fragments: Vec<Fragment>) {
        for fragment in &fragments {
            let properties = &mut self.properties;
            let newest = fragment.sequences.iter().max().copied().unwrap_or_default();
            let oldest = fragment.sequences.iter().min().copied().unwrap_or_default();
            properties.first_sequence = properties.first_sequence.min(oldest);
            properties.last_sequence = properties.last_sequence.max(newest);
            properties.plain_bytes += fragment.bytes() as u64;
        }
        self.ranges.extend(fragments);
    }

    /// About the size of the file if it were finished now.
    pub(crate) fn estimated_size(&self) -> ByteCount {
        let filter = self.hashes.len() as u64 * u64::from(self.layout.filter_bits) / 8;
        let blocks = self.offset + (self.block.size() + self.index.size()) as u64;
        ByteCount(blocks + filter + TAIL_BYTES)
    }

    /// Writes what is left and ends the file; it can then be sealed.
    pub(crate) fn finish(mut self) -> Result<BuiltTable, Error> {
        let ranges = Fragments::new(std::mem::take(&mut self.ranges));
        assert!(self.properties.entries > 0 || !ranges.is_empty(), "a table of nothing");
        self.close_block()?;
        if let Some((handle, last)) = self.closed.take() {
            self.add_to_index(&last, handle);
        }
        let filter = if self.layout.filter_bits > 0 {
            let block = filter::build(&self.hashes, self.layout.filter_bits);
            Some(self.write_block(block, Compression::None)?)
        } else {
            None
        };
        let index = self.index.finish();
        let index = self.write_block(index, self.layout.compression)?;
        self.write_ranges(&ranges)?;
        let properties = self.write_block(self.properties.encode(), Compression::None)?;
        let length = self.offset + FOOTER_BYTES as u64;
        let (features, tag) = (self.features, self.name.tag);
        let footer = Footer { features, tag, index_levels: 1, index, filter, properties, length };
        self.writer.append(&footer.encode())?;
        self.writer.finish()?;
        Ok(BuiltTable {
            writer: self.writer,
            tag: self.name.tag,
            size: ByteCount(length),
            properties: self.properties,
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

    fn count(&mut self, full_key: &[u8], trailer: Trailer, value_len: usize) {
        let properties = &mut self.properties;
        let first = properties.entries == 0;
        debug_assert!(first || full_key >= &properties.largest[..], "entries in order");
        properties.entries += 1;
        properties.tombstones += u64::from(trailer.kind() == Some(Kind::Delete));
        properties.first_sequence = properties.first_sequence.min(trailer.sequence());
        properties.last_sequence = properties.last_sequence.max(trailer.sequence());
        properties.plain_bytes += (full_key.len() + key::TRAILER_BYTES + value_len) as u64;
        if first {
            properties.smallest.extend_from_slice(full_key);
        }
        if first || full_key != &properties.largest[..] {
            properties.largest.clear();
            properties.largest.extend_from_slice(full_key);
            if self.layout.filter_bits > 0 {
                self.hashes.push(filter::hash(full_key));
            }
        }
    }

    fn close_block(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let last = self.block.last_key().to_vec();
        let contents = self.block.finish();
        let handle = self.write_block(contents, self.layout.compression)?;
        self.closed = Some((handle, last));
        Ok(())
    }

    fn write_block(
        &mut self,
        mut contents: Vec<u8>,
        compression: Compression,
    ) -> Result<Handle, Error> {
        let offset = self.offset;
        if self.name.seal(&mut contents, compression, offset) == Compression::Zstd {
            self.features.add(Features::ZSTD);
        }
        self.writer.append(&contents)?;
        self.offset += contents.len() as u64;
        let size = u32::try_from(contents.len()).expect("a block below its limit");
        Ok(Handle { offset, size })
    }

    fn add_to_index(&mut self, key: &[u8], handle: Handle) {
        self.index.add(key, &handle.encode());
    }
}

/// A short internal key that is not before `last` and before `next`, two keys in order.
fn separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    let (last_key, _) = key::split(last);
    let (next_key, _) = key::split(next);
    let shared = last_key.iter().zip(next_key).take_while(|(a, b)| a == b).count();
    // Cut behind the first byte that differs, the next key's start is already behind the last key.
    // It must be before the next *entry*, too: `NEWEST` is before every entry of that full key.
    let cut = (shared + 1).max(key::SPACE_BYTES);
    if last_key == next_key || cut >= last_key.len() {
        return last.to_vec();
    }
    key::internal_key(&next_key[..cut], Trailer::NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, compare, full_key, internal_key};
    use std::cmp::Ordering;

    #[test]
    fn a_separator_lies_between_and_is_short() {
        let key = |user: &[u8], sequence| {
            let full = full_key(KeySpaceId(1), user);
            internal_key(&full, Trailer::new(SeqNo(sequence), Kind::Put))
        };
        let cases: [(&[u8], &[u8]); 6] = [
            (b"apple pie", b"apricot"),
            (b"a", b"ab"),
            (b"same", b"same"),
            (b"abcdef", b"abcdefg"),
            (b"abcdefgh", b"abcx"),
            (b"", b"x"),
        ];
        for (left, right) in cases {
            let (last, next) = (key(left, 9), key(right, 3));
            let between = separator(&last, &next);
            assert_ne!(compare(&between, &last), Ordering::Less, "{left:?} {right:?}");
            assert_eq!(compare(&between, &next), Ordering::Less, "{left:?} {right:?}");
            assert!(between.len() <= last.len());
        }
        assert_eq!(separator(&key(b"apple pie", 1), &key(b"apricot", 1)).len(), 4 + 3 + 8);
        let other_space = internal_key(&full_key(KeySpaceId(2), b"a"), Trailer::NEWEST);
        let between = separator(&key(b"zzzz", 1), &other_space);
        assert_eq!(compare(&between, &key(b"zzzz", 1)), Ordering::Greater);
    }
}
