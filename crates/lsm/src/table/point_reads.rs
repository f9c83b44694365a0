//! [`PointReads`]: how one or several point reads take the blocks that they need.
//!
//! Several reads in the order of their keys find the keys of one block one after the other. So the
//! last block is kept: a block is read once, also where the cache has no room for it or is not to
//! be filled. One block at most is held. One read at a time.

use terrace_env::FileId;

use super::block::Block;
use crate::ReadOptions;

/// How point reads take their blocks.
#[derive(Debug, Default)]
pub(crate) struct PointReads {
    options: ReadOptions,
    /// Whether the last block is kept for the next read.
    several: bool,
    last: Option<Block>,
}

impl PointReads {
    /// For one read.
    pub(crate) fn one(options: ReadOptions) -> Self {
        Self { options, several: false, last: None }
    }

    /// For reads in the order of their keys.
    pub(crate) fn several(options: ReadOptions) -> Self {
        Self { options, several: true, last: None }
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
}
