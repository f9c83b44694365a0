//! [`PointReads`]: the source of blocks for one or several point reads.
//!
//! - For several reads in key order, the last block is kept: consecutive keys of one block need one
//!   read. A single read keeps no block.
//! - Reads of further blocks can be submitted before the keys are looked up. A lookup waits for a
//!   read when it needs the block. The caller must bound the number of reads, and with it the
//!   memory.
//! - After an error, submitted reads may be left. Their drop may wait for the device.
//!
//! Used by one actor at a time, without a lock.

use std::collections::VecDeque;

use terrace_env::FileId;
use terrace_env::store::PendingRead;

use super::block::Block;
use crate::ReadOptions;

/// Options of point reads, and their blocks.
#[derive(Debug, Default)]
pub(crate) struct PointReads {
    options: ReadOptions,
    /// Whether the last block is kept for the next read.
    several: bool,
    last: Option<Block>,
    /// Submitted reads that were not needed so far, in the order of their submission.
    submitted: VecDeque<Submitted>,
}

/// A block that is being read.
#[derive(Debug)]
struct Submitted {
    file: FileId,
    offset: u64,
    read: PendingRead,
}

impl Submitted {
    fn is(&self, file: FileId, offset: u64) -> bool {
        self.file == file && self.offset == offset
    }
}

impl PointReads {
    /// For one read.
    pub(crate) fn one(options: ReadOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// For reads in the order of their keys.
    pub(crate) fn several(options: ReadOptions) -> Self {
        Self { options, several: true, ..Self::default() }
    }

    /// Whether a block that was read goes into the cache.
    pub(super) fn fill_cache(&self) -> bool {
        self.options.fill_cache
    }

    /// The block at `offset` of `file`, if it was the last one.
    pub(super) fn last(&self, file: FileId, offset: u64) -> Option<Block> {
        let last = self.last.as_ref()?;
        (last.table.file == file && last.offset == offset).then(|| last.clone())
    }

    /// Notes that this block was needed.
    pub(super) fn note(&mut self, block: &Block) {
        if self.several {
            self.last = Some(block.clone());
        }
    }

    /// Whether this block is the last one, or its read was submitted and not needed so far.
    pub(super) fn expects(&self, file: FileId, offset: u64) -> bool {
        let is_last =
            self.last.as_ref().is_some_and(|last| last.table.file == file && last.offset == offset);
        is_last || self.submitted.iter().any(|one| one.is(file, offset))
    }

    /// Adds a submitted read of the block at `offset` of `file`.
    pub(super) fn submit(&mut self, file: FileId, offset: u64, read: PendingRead) {
        self.submitted.push_back(Submitted { file, offset, read });
    }

    /// The read of the block, if it was submitted.
    pub(super) fn take(&mut self, file: FileId, offset: u64) -> Option<PendingRead> {
        let at = self.submitted.iter().position(|one| one.is(file, offset))?;
        self.submitted.remove(at).map(|submitted| submitted.read)
    }

    /// Number of submitted reads that were not taken.
    pub(crate) fn left(&self) -> usize {
        self.submitted.len()
    }
}
