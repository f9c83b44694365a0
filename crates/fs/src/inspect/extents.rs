//! [`Extents`]: reads a file that is no log for an inspection, from the places that the catalog
//! names, without a mount.
//!
//! Bytes are not verified, and reading trimmed ones is an error. Of an unsealed file it finds the
//! state that the journal recorded last. The store must not be written meanwhile, because nothing
//! keeps the blocks in place.

use std::sync::Arc;

use terrace_env::store::{FileReader, StoreError};
use terrace_env::{Cause, FileId};

use crate::BLOCK;
use crate::catalog::ExtentMap;
use crate::media::Media;

/// Reads a file that is no log.
pub(super) struct Extents {
    pub(super) media: Arc<Media>,
    pub(super) id: FileId,
    pub(super) map: Arc<ExtentMap>,
    pub(super) size: u64,
}

impl Extents {
    fn out_of_range(&self, start: u64, len: usize, valid: String) -> StoreError {
        StoreError::OutOfRange { id: self.id, start, end: start + len as u64, valid }
    }
}

impl FileReader for Extents {
    fn id(&self) -> FileId {
        self.id
    }

    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            let (start, valid) = (offset.min(self.size), format!("{} bytes", self.size));
            return Err(self.out_of_range(start, into.len(), valid));
        }
        let mut done = 0;
        while done < into.len() {
            let from = offset + done as u64;
            let block = u32::try_from(from / BLOCK as u64).unwrap_or(u32::MAX);
            let skip = (from % BLOCK as u64) as usize;
            let (Some(piece), Some(at)) = (self.map.find(block), self.map.locate(block)) else {
                let valid = format!("bytes without byte {from}, which was given back");
                return Err(self.out_of_range(offset, into.len(), valid));
            };
            let wanted = (skip + into.len() - done).div_ceil(BLOCK) as u32;
            let blocks = wanted.min(piece.end() - block);
            let read = self.media.read_blocks(at, blocks, cause);
            let read =
                read.map_err(|error| StoreError::io(format!("file {} at {at}", self.id), error))?;
            let len = (read.len() - skip).min(into.len() - done);
            into[done..done + len].copy_from_slice(&read[skip..skip + len]);
            done += len;
        }
        Ok(())
    }
}
