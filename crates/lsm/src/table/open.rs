//! Opens a table: reads its end, or takes it from the job that has just written the table, and
//! checks the parts that an open table always has in memory.
//!
//! - The last bytes of the file are read by one request: 1 KiB for a client's read, otherwise as
//!   much as a job reads of an index if that is more. A part that is not among them is read by
//!   itself. If the request reaches into a front that was given back, it is made again with fewer
//!   bytes.
//! - An index that comes with the end is kept.
//! - The table is not compared with its annotation here.
//!
//! Any thread; an opening may wait for the device, so its caller holds no lock. Two openings of one
//! table would both read, so the caller should let one begin at a time.

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
use crate::ranges::Fragments;

/// Bytes read from a file's end at once for a client: footer and properties, unless keys are very
/// long. Stores read whole blocks, so more would often be two of them. A job reads the index next,
/// which lies before them.
const TAIL_BYTES: u64 = 1 << 10;

/// The part of a table that is always in memory.
pub(super) struct Outline {
    pub(super) name: TableName,
    pub(super) properties: Properties,
    pub(super) ranges: Fragments,
    /// Whether the index has the first key of each data block.
    pub(super) first_keys: bool,
    /// Finds the partition of a key, where there are several.
    pub(super) top: Option<Index>,
    pub(super) partitions: Box<[PartitionHandles]>,
    /// Where the data blocks end.
    pub(super) data_end: u64,
    /// Where the indexes of all partitions end.
    pub(super) indexes_end: u64,
}

impl Outline {
    /// The memory that it takes beside its own size.
    pub(super) fn bytes(&self) -> usize {
        self.top.as_ref().map_or(0, Index::bytes)
            + size_of_val(&*self.partitions)
            + self.ranges.memory()
            + self.properties.smallest.len()
            + self.properties.largest.len()
    }
}

impl Table {
    /// Reads and checks the table's end. An index that comes with it is kept.
    pub(crate) fn open(
        file: Arc<dyn FileReader>,
        memory: &Arc<Memory>,
        cause: Cause,
    ) -> Result<Arc<Self>, Error> {
        let bytes = match cause {
            Cause::Read => TAIL_BYTES,
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
            if let Some(stored) = tail.stored(table.index_handle(partition)) {
                table.keep_index(partition, table.index_of(partition, &stored)?);
            }
        }
        Ok(table)
    }
}

/// A file's last bytes, and what the footer among them says.
struct Tail<'a> {
    file: &'a dyn FileReader,
    cause: Cause,
    start: u64,
    bytes: Bytes,
    name: TableName,
    footer: Footer,
}

impl<'a> Tail<'a> {
    /// Reads about so many bytes.
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

    /// A block as it is stored, if it is among the bytes.
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

    /// The range tombstones, which are those that the footer and the properties tell of.
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
