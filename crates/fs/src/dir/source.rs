//! [`BlockSource`] over a file of the host, for the scan of frames.
//!
//! The size of the file is taken once, when the source is made. An incomplete block at its end does
//! not count as written.
//!
//! A scan has to know the form of a torn write. Here, units of 512 bytes are taken to be written
//! whole or not at all, and bytes that a power cut lost to read as zeros. The latter holds only if
//! writers cut off the bytes that a failed write or an earlier crash has left after the end, and
//! sync the cut.

use std::sync::Arc;

use terrace_env::IoBuf;
use terrace_env::store::StoreError;

use super::FileHandle;
use crate::BLOCK;
use crate::frame::BlockSource;

/// Unit that disks write whole, at least: a sector. File systems promise no more.
const SECTOR: usize = 512;

/// A file that holds frames.
pub(super) struct FileSource {
    file: Arc<dyn FileHandle>,
    name: String,
    blocks: u32,
    written: u32,
}

impl FileSource {
    /// A file of all its whole blocks; or of exactly `blocks`, even if the file is shorter or
    /// longer.
    pub(super) fn new(
        file: &Arc<dyn FileHandle>,
        name: String,
        blocks: Option<u32>,
    ) -> Result<Self, StoreError> {
        let size = file.size().map_err(|error| StoreError::io(name.clone(), error))?;
        let there = u32::try_from(size / BLOCK as u64).unwrap_or(u32::MAX);
        let blocks = blocks.unwrap_or(there);
        Ok(Self { file: Arc::clone(file), name, blocks, written: there.min(blocks) })
    }
}

impl BlockSource for FileSource {
    fn blocks(&self) -> u32 {
        self.blocks
    }

    fn extent_end(&self, _block: u32) -> u32 {
        self.blocks
    }

    fn written_end(&self, _block: u32) -> u32 {
        self.written
    }

    fn atomic(&self) -> usize {
        SECTOR
    }

    fn lost_reads_as_zeros(&self) -> bool {
        true
    }

    fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
        let mut bytes = IoBuf::zeroed(count as usize * BLOCK);
        let read = self.file.read_at(u64::from(block) * BLOCK as u64, &mut bytes);
        read.map_err(|error| StoreError::io(format!("reading {}", self.name), error))?;
        Ok(bytes)
    }

    fn place(&self, block: u32) -> (String, u64) {
        (self.name.clone(), u64::from(block) * BLOCK as u64)
    }
}
