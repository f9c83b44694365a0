//! [`PointReads`]: where one or several point reads get their blocks from.
//!
//! - For several reads in key order, the last block is kept: keys of one block that are looked up
//!   one after the other need one read. A single read keeps no block.
//! - Reads of further blocks can be submitted before the keys are looked up. Each is waited for
//!   when its block is needed. The caller must bound their number, and with it the memory.
//! - Reads may have been submitted and not taken, as after an error. To drop them may wait for the
//!   device.
//!
//! Used by one actor at a time, without a lock.

use std::collections::VecDeque;

use terrace_env::FileId;
use terrace_env::store::PendingRead;

use super::block::Block;
use crate::ReadOptions;

/// How point reads take their blocks.
#[derive(Debug, Default)]
pub(crate) struct PointReads {
    options: ReadOptions,
    /// Whether the last block is kept for the next read.
    several: bool,
    last: Option<Block>,
    /// Blocks that were submitted and not needed so far, in the order of their submission.
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

    /// Takes a read of the block at `offset` of `file`, for when the block is needed.
    pub(super) fn submit(&mut self, file: FileId, offset: u64, read: PendingRead) {
        self.submitted.push_back(Submitted { file, offset, read });
    }

    /// The read of the block, if it was submitted.
    pub(super) fn take(&mut self, file: FileId, offset: u64) -> Option<PendingRead> {
        let at = self.submitted.iter().position(|one| one.is(file, offset))?;
        self.submitted.remove(at).map(|submitted| submitted.read)
    }

    /// How many submitted reads nobody has taken.
    pub(crate) fn left(&self) -> usize {
        self.submitted.len()
    }
}
