//! [`Joint`]: plan of a request that reads parts of several files, because the files lie one after
//! the other on a device.
//!
//! 1. [`Joint::add`] takes the part of a file if the file is sealed, so that all of it is on the
//!    device, and if it follows the file before it: its first block for the part follows the last
//!    block of that file. Between the two parts lies the rest of that file.
//! 2. The plan holds the pin of each file's state, so that the blocks are not written again before
//!    the plan is dropped.
//!
//! On zones there is no such request: [`Joint::read`] gives `None`.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::JointRead;
use terrace_env::{ByteCount, Cause};

use super::{Body, OpenFile, Pin};
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::catalog::{ExtentMap, Mapped};
use crate::media::Media;

/// See the [module](self).
pub(super) struct Joint {
    /// First block of the request, once a part is in it.
    first: Option<BlockAddr>,
    /// How many blocks it has.
    blocks: u32,
    /// How many it has up to the end of its last file; `None`: nothing can follow that file.
    file_end: Option<u32>,
    blocks_max: u32,
    starts: Vec<usize>,
    pins: Vec<Arc<Pin>>,
}

impl Joint {
    /// An empty plan for at most `most` bytes.
    pub(super) fn new(most: ByteCount) -> Self {
        let blocks_max = u32::try_from(most.0 / BLOCK as u64).unwrap_or(u32::MAX);
        let (file_end, starts, pins) = (Some(0), Vec::new(), Vec::new());
        Self { first: None, blocks: 0, file_end, blocks_max, starts, pins }
    }

    /// Takes a part of the next file; `false` if it does not follow.
    pub(super) fn add(&mut self, file: &OpenFile, part: &Range<u64>) -> bool {
        let Some(at) = self.file_end else { return false };
        let state = file.lock();
        let is_sealed = matches!(state.body, Body::Sealed);
        if !is_sealed || part.end > state.size || part.is_empty() {
            return false;
        }
        let block = |byte: u64| u32::try_from(byte).unwrap_or(u32::MAX);
        let from = block(part.start / BLOCK as u64);
        let to = block(part.end.div_ceil(BLOCK as u64));
        let Some(addr) = state.map.locate(from) else { return false };
        let blocks = at.saturating_add(to - from);
        let is_behind = |first: BlockAddr| {
            first.device() == addr.device() && first.block() + u64::from(at) == addr.block()
        };
        let end = end_of_piece(&state.map, from);
        if !self.first.is_none_or(is_behind) || end < to || blocks > self.blocks_max {
            return false;
        }
        self.first.get_or_insert(addr);
        debug_assert!(from < to && self.blocks < blocks, "{part:?} adds no block");
        self.starts.push(at as usize * BLOCK + (part.start % BLOCK as u64) as usize);
        self.blocks = blocks;
        self.file_end = at.checked_add(end - from).filter(|_| end == state.map.end());
        self.pins.push(Arc::clone(&state.pin));
        true
    }

    /// Carries it out, by one request.
    pub(super) fn read(self, media: &Media, cause: Cause) -> Option<JointRead> {
        let first = self.first.filter(|first| !media.of(first.device()).layout().is_zoned())?;
        let bytes = media.read_blocks(first, self.blocks, cause).ok()?;
        debug_assert!(
            self.starts.is_sorted() && self.starts.last().is_none_or(|last| *last < bytes.len()),
            "{:?} in {} bytes",
            self.starts,
            bytes.len()
        );
        drop(self.pins);
        Some(JointRead { bytes, starts: self.starts })
    }
}

/// Where the blocks of a file end that follow its block `from` on the device without a gap.
fn end_of_piece(map: &ExtentMap, from: u32) -> u32 {
    let pieces = map.pieces();
    let at = pieces.partition_point(|piece| piece.end() <= from);
    let joined = |[before, behind]: &&[Mapped; 2]| {
        before.end() == behind.at && before.extent.ends_at(behind.extent.first)
    };
    let further = pieces[at..].array_windows().take_while(joined).count();
    pieces[at + further].end()
}
