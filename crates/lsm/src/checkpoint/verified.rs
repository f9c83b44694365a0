//! [`copy_verified`]: passes on the bytes of a table, and verifies its checksums in these bytes.
//!
//! One thread reads; no lock is held over a read.

use std::sync::Arc;

use terrace_env::store::{FileReader, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, FileId};

use crate::Error;
use crate::canary::{self, Rule};
use crate::table::{Part, TableFile};

/// Bytes that are read and written at once.
pub(super) const CHUNK: u64 = 1 << 20;

/// Passes on a table's bytes from `from` on, the start of a data block, in order, and verified.
pub(super) fn copy_verified(
    file: &Arc<dyn FileReader>,
    from: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let window = Arc::new(Window { file: Arc::clone(file), held: Mutex::default() });
    let table = TableFile::open(Arc::clone(&window) as Arc<dyn FileReader>)?;
    let mut chunk: Vec<Part> = Vec::new();
    let mut at = from;
    for entry in table.walk_index()? {
        let block = entry?.block;
        if block.offset < at {
            continue;
        }
        at = block.offset + u64::from(block.size);
        chunk.push(block);
        if at - chunk[0].offset >= CHUNK {
            copy_chunk(&window, &table, &mut chunk, take)?;
        }
    }
    copy_chunk(&window, &table, &mut chunk, take)?;
    // All parts after the data blocks, read from the bytes that are passed on.
    let tail = window.hold(at, file.len() - at)?;
    let held = TableFile::open(Arc::clone(&window) as Arc<dyn FileReader>)?;
    held.read_properties()?;
    held.read_ranges()?;
    held.read_filter()?;
    held.walk_index()?.try_for_each(|entry| entry.map(drop))?;
    take(&tail)
}

fn copy_chunk(
    window: &Window,
    table: &TableFile,
    chunk: &mut Vec<Part>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { return Ok(()) };
    let end = last.offset + u64::from(last.size);
    let bytes = window.hold(first.offset, end - first.offset)?;
    for block in chunk.drain(..) {
        if !canary::is_broken(Rule::CopiesVerified) {
            table.read_block(block)?;
        }
    }
    take(&bytes)
}

/// A file with a chunk in memory: reads of that chunk come from there.
struct Window {
    file: Arc<dyn FileReader>,
    held: Mutex<Held>,
}

/// A chunk of a file.
#[derive(Clone, Default)]
struct Held {
    offset: u64,
    bytes: Arc<Vec<u8>>,
}

impl Window {
    /// Reads a chunk into memory, in place of the one before.
    fn hold(&self, offset: u64, size: u64) -> Result<Arc<Vec<u8>>, Error> {
        let mut bytes = vec![0; usize::try_from(size).expect("a chunk that fits memory")];
        self.file.read_at(offset, &mut bytes, Cause::Client)?;
        let bytes = Arc::new(bytes);
        *self.held.lock() = Held { offset, bytes: Arc::clone(&bytes) };
        Ok(bytes)
    }
}

impl FileReader for Window {
    fn id(&self) -> FileId {
        self.file.id()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        let Held { offset: start, bytes } = self.held.lock().clone();
        let within = offset.checked_sub(start).and_then(|skip| usize::try_from(skip).ok());
        let found = within.and_then(|skip| bytes.get(skip..skip.checked_add(into.len())?));
        match found {
            Some(found) => into.copy_from_slice(found),
            None => self.file.read_at(offset, into, cause)?,
        }
        Ok(())
    }
}
