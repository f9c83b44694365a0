//! Opens a table: reads its end, or takes it from the job that has just written the table, and
//! checks the parts that an open table always has in memory.
//!
//! - The last bytes of the file are read by one request. For a client's read on a disk it has index
//!   and filter too, if they are small, or the index of partitions; elsewhere 1 KiB. A job reads at
//!   least the bytes of an index that it reads at once. Other parts are read separately. If the
//!   request includes bytes at the front that were freed, it is repeated with fewer bytes.
//! - Indexes and filters in these bytes are kept.
//! - The table is not compared with its annotation here.
//!
//! Any thread; an opening may wait for the device, so its caller holds no lock. Two openings of one
//! table would both read, so the caller should run one at a time.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::Cause;
use terrace_env::store::{FileReader, StoreError};

use super::footer::{FOOTER_BYTES, Features, Footer, Properties};
use super::frame::{Handle, TableName};
use super::index::Index;
use super::partition::{self, PartitionHandles};
use super::range_block;
use super::reader::{Table, read};
use crate::Error;
use crate::memory::Memory;
use crate::options::TableShape;
use crate::ranges::Fragments;

/// Bytes read from a file's end at once for a client: footer and properties, unless keys are very
/// long. Stores read whole blocks, so with more bytes the read would often cover two of them. A job
/// reads the index next, which lies before these bytes.
const TAIL_BYTES: u64 = 1 << 10;
/// The most bytes of index and filter that a client's read reads with them on a disk: their
/// transfer is a thirtieth of a seek.
const PARTS_MAX: u64 = 64 << 10;
/// Usual bytes of an entry of an index, for an estimate.
const INDEX_ENTRY_BYTES: u64 = 32;

/// Estimates which bytes at a file's end have the parts that a client's read of a table on a disk
/// needs: index and filter, or the index of partitions.
pub(crate) fn tail_on_disk(size: u64, entries: u64, shape: &TableShape) -> u64 {
    let blocks = entries.min(size / shape.block_size.0.max(1)).saturating_add(1);
    let index = blocks.saturating_mul(INDEX_ENTRY_BYTES);
    let filter = entries.saturating_mul(shape.filter_bits.into()) / 8;
    match index.saturating_add(filter) {
        parts if parts <= PARTS_MAX => TAIL_BYTES + parts,
        // A partition has some hundred entries, and one in the index of partitions.
        _ => TAIL_BYTES + (index / 64).min(PARTS_MAX),
    }
}

/// The part of a table that is always in memory.
pub(super) struct Outline {
    pub(super) name: TableName,
    pub(super) properties: Properties,
    pub(super) ranges: Fragments,
    /// Whether the index has the first key of each data block.
    pub(super) first_keys: bool,
    /// Index of partitions, if there are several.
    pub(super) top: Option<Index>,
    pub(super) partitions: Box<[PartitionHandles]>,
    /// End of the data blocks.
    pub(super) data_end: u64,
    /// End of the indexes of all partitions.
    pub(super) indexes_end: u64,
}

impl Outline {
    /// Memory in addition to its own size.
    pub(super) fn bytes(&self) -> usize {
        self.top.as_ref().map_or(0, Index::bytes)
            + size_of_val(&*self.partitions)
            + self.ranges.memory()
            + self.properties.smallest.len()
            + self.properties.largest.len()
    }
}

impl Table {
    /// Reads and checks the table's end, for a client's read at least `tail` bytes. Indexes and
    /// filters in the bytes are kept.
    pub(crate) fn open(
        file: Arc<dyn FileReader>,
        tail: u64,
        memory: &Arc<Memory>,
        cause: Cause,
    ) -> Result<Arc<Self>, Error> {
        let bytes = match cause {
            Cause::Read => TAIL_BYTES.max(tail),
            _ => TAIL_BYTES.max(memory.job_index_ahead() as u64),
        };
        Self::of(&Tail::read(&*file, bytes, cause)?, &file, memory)
    }

    /// Opens a table by its last bytes, which its writer still has, and reads nothing.
    pub(crate) fn open_by(
        file: Arc<dyn FileReader>,
        tail: Bytes,
        memory: &Arc<Memory>,
    ) -> Result<Arc<Self>, Error> {
        let start = file.len() - tail.len() as u64;
        Self::of(&Tail::new(&*file, start, tail, Cause::Compaction)?, &file, memory)
    }

    fn of(
        tail: &Tail<'_>,
        file: &Arc<dyn FileReader>,
        memory: &Arc<Memory>,
    ) -> Result<Arc<Self>, Error> {
        let table = Self::new(Arc::clone(file), Arc::new(tail.outline()?), memory);
        for partition in 0..table.partitions() {
            let filter = table.filter_handle(partition).and_then(|handle| tail.stored(handle));
            if let Some(stored) = filter {
                table.keep_stored_filter(partition, &stored);
            }
            if let Some(stored) = tail.stored(table.index_handle(partition)) {
                // A copy, so that the index does not keep the other bytes in memory.
                let stored = Bytes::copy_from_slice(&stored);
                table.keep_index(partition, table.index_of(partition, &stored)?);
            }
        }
        Ok(table)
    }
}

/// A file's last bytes, and the footer in them.
struct Tail<'a> {
    file: &'a dyn FileReader,
    cause: Cause,
    start: u64,
    bytes: Bytes,
    name: TableName,
    footer: Footer,
}

impl<'a> Tail<'a> {
    /// Reads about `bytes`.
    fn read(file: &'a dyn FileReader, bytes: u64, cause: Cause) -> Result<Self, Error> {
        let (id, length) = (file.id(), file.len());
        if length < FOOTER_BYTES as u64 {
            let expected = format!("at least {FOOTER_BYTES} bytes");
            return Err(Error::corruption(format!("table {id}"), 0, expected, length));
        }
        let (start, bytes) = read_tail(file, length, bytes, cause)?;
        Self::new(file, start, bytes, cause)
    }

    /// These bytes, which end with a footer.
    fn new(
        file: &'a dyn FileReader,
        start: u64,
        bytes: Bytes,
        cause: Cause,
    ) -> Result<Self, Error> {
        let (id, length) = (file.id(), file.len());
        let footer = Footer::decode(id, length, &bytes[bytes.len() - FOOTER_BYTES..])?;
        let name = TableName { file: id, tag: footer.tag };
        Ok(Self { file, cause, start, bytes, name, footer })
    }

    /// A stored block, if it is in the bytes.
    fn stored(&self, handle: Handle) -> Option<Bytes> {
        let at = handle.offset.checked_sub(self.start)? as usize;
        Some(self.bytes.slice(at..at + handle.size as usize))
    }

    /// A block's contents.
    fn contents(&self, part: &str, handle: Handle) -> Result<Bytes, Error> {
        let stored = match self.stored(handle) {
            Some(stored) => stored,
            None => read(self.file, handle.offset, handle.size as usize, self.cause)?,
        };
        self.name.open(part, handle.offset, &stored)
    }

    fn outline(&self) -> Result<Outline, Error> {
        let Self { name, footer, .. } = *self;
        let properties = self.properties()?;
        let ranges = self.ranges(&properties)?;
        let Footer { index, filter, .. } = footer;
        let (top, partitions) = match footer.index_levels {
            1 => (None, [PartitionHandles { index, filter }].into()),
            _ => {
                let top = Index::new(name, index.offset, self.contents("index", index)?)?;
                top.check_entries(properties.entries)?;
                let partitions = partition::all(name, &top)?;
                (Some(top), partitions)
            }
        };
        let data_end = footer.data_end(&partitions);
        let indexes_end = match top {
            None => index.offset + u64::from(index.size),
            Some(_) => index.offset,
        };
        let first_keys = footer.features.has(Features::FIRST_KEYS);
        Ok(Outline { name, properties, ranges, first_keys, top, partitions, data_end, indexes_end })
    }

    fn properties(&self) -> Result<Properties, Error> {
        let handle = self.footer.properties;
        Properties::decode(&self.contents("properties", handle)?)
            .map_err(|error| Error::decode(self.name.region("properties"), handle.offset, &error))
    }

    /// The range tombstones, by the footer and the properties.
    fn ranges(&self, properties: &Properties) -> Result<Fragments, Error> {
        let (name, limit) = (self.name, self.footer.properties.offset);
        let ranges = match &properties.ranges {
            None => Fragments::default(),
            Some((handle, _)) => {
                let handle = handle
                    .before(limit)
                    .map_err(|error| Error::decode(name.region("properties"), limit, &error))?;
                let contents = self.contents("range block", handle)?;
                range_block::decode(&contents).map_err(|error| {
                    Error::decode(name.region("range block"), handle.offset, &error)
                })?
            }
        };
        let told = properties.ranges.as_ref().map(|(_, summary)| summary);
        let announced = self.footer.features.has(Features::RANGES);
        if announced == ranges.is_empty() || told != ranges.summary().as_ref() {
            let expected = format!("{:?}", properties.ranges);
            let got = format!("{:?}", ranges.summary());
            return Err(Error::corruption(name.region("range block"), limit, expected, got));
        }
        Ok(ranges)
    }
}

/// The file's last bytes and their offset: fewer bytes, at least the footer, if earlier bytes have
/// been freed.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use terrace_env::store::FileWriter;
    use terrace_env::{ByteCount, FileId, SeqNo};

    use super::*;
    use crate::compression::Compression;
    use crate::key::{self, Kind, Trailer, internal_key};
    use crate::memtable::Found;
    use crate::options::EngineOptions;
    use crate::table::specimens::{Entry, File, build, entry};
    use crate::table::{Lookup, PointReads, TableLayout, hash};

    /// A file that counts its reads.
    struct Counting(File, AtomicU32);

    impl FileReader for Counting {
        fn id(&self) -> FileId {
            FileReader::id(&self.0)
        }

        fn len(&self) -> u64 {
            FileReader::len(&self.0)
        }

        fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read_at(offset, into, cause)
        }
    }

    fn entries(count: u32) -> Vec<Entry> {
        let value = vec![7; 4096];
        (0..count).map(|at| entry(0, &at.to_be_bytes(), 1, Kind::Put, &value)).collect()
    }

    /// Opens a table of `count` entries as a client's read on a disk does, searches the first two
    /// entries, and returns how many requests each step made. Bit `damage` of the byte before the
    /// index is flipped: that is the end of the filter's frame.
    fn requests(count: u32, damage: Option<u8>) -> (u32, [Result<u32, Error>; 2]) {
        let (entries, shape) = (entries(count), TableShape::default());
        let layout = TableLayout::new(shape.block_size, Compression::None, shape.filter_bits);
        let mut bytes = build(&entries, layout);
        let length = bytes.len() as u64;
        if let Some(bit) = damage {
            let footer = &bytes[bytes.len() - FOOTER_BYTES..];
            let index = Footer::decode(FileId(77), length, footer).unwrap().index;
            bytes[index.offset as usize - 1] ^= 1 << bit;
        }
        let mut file = File::default();
        file.append(&bytes).unwrap();
        let file = Arc::new(Counting(file, AtomicU32::new(0)));
        let memory = Memory::new(&EngineOptions::default());
        let tail = tail_on_disk(length, u64::from(count), &shape);
        let reader: Arc<dyn FileReader> = Arc::clone(&file) as _;
        let table = Table::open(reader, tail, &memory, Cause::Read).unwrap();
        let opening = file.1.swap(0, Ordering::Relaxed);
        let found = [0, 1].map(|at: usize| {
            let (full, _) = key::split(&entries[at].0);
            let seek_key = internal_key(full, Trailer::seek(SeqNo::MAX));
            let found = table.get(&seek_key, hash(full), None, &mut PointReads::default())?;
            assert!(matches!(found, Lookup::Searched(Some(Found::Value(_)))), "{found:?}");
            Ok(file.1.swap(0, Ordering::Relaxed))
        });
        (opening, found)
    }

    #[test]
    fn one_request_on_a_disk_opens_a_table_with_its_index_and_filter() {
        for count in [1, 50, 1000] {
            let (opening, found) = requests(count.max(2), None);
            assert_eq!((opening, found.map(Result::unwrap)), (1, [1, 1]), "{count} entries");
        }
        // A large index is in partitions: the first search reads one of them, and its filter.
        let (opening, found) = requests(4000, None);
        assert_eq!((opening, found.map(Result::unwrap)), (1, [3, 1]));
    }

    #[test]
    fn a_damaged_filter_is_told_by_a_search_and_not_by_the_opening() {
        let (opening, found) = requests(50, Some(3));
        assert_eq!(opening, 1);
        assert!(found.into_iter().all(|found| found.is_err_and(|error| error.is_corruption())));
    }

    #[test]
    fn the_end_of_a_table_is_estimated_by_its_entries_and_its_size() {
        let shape = TableShape::default();
        let tail = |mib: u64, entries| tail_on_disk(mib << 20, entries, &shape);
        assert_eq!(tail(4, 1000), 1024 + 1001 * 32 + 1250);
        assert_eq!(tail(4, 10), 1024 + 11 * 32 + 12);
        let large = TableShape { block_size: ByteCount::kib(64), ..shape };
        assert_eq!(tail_on_disk(4 << 20, 1000, &large), 1024 + 65 * 32 + 1250);
        // Only the index of partitions.
        assert_eq!(tail(64, 16_000), 1024 + 16_001 / 2);
        assert_eq!(tail_on_disk(u64::MAX, u64::MAX, &shape), 1024 + PARTS_MAX);
    }
}
