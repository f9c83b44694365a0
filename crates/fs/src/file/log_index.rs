//! Index of a log's frames: converts an offset in the log, as clients count, to an offset in the
//! file, where heads of frames and padding count too.
//!
//! Frames are added in the order of the log. [`LogIndex::scan`] reads a log to its end and verifies
//! its frames. The index keeps no checksums, so bytes that are read by it later are not verified
//! again.

use terrace_env::store::StoreError;

use crate::frame::{HEADER, LogScan, LogTail};

/// Where a frame's payload lies.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// The log's byte that the payload starts with.
    offset: u64,
    /// The block of the file where the frame starts.
    block: u32,
    len: u32,
}

/// The frames of a log, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogIndex {
    spots: Vec<Spot>,
    size: u64,
}

impl LogIndex {
    /// Reads a whole log; every frame of it is verified.
    pub(crate) fn scan(mut scan: LogScan<'_>) -> Result<(Self, LogTail), StoreError> {
        let mut index = Self::default();
        while let Some(append) = scan.next_append()? {
            for span in &append.spans {
                index.push(span.block, span.len);
            }
        }
        let tail = scan.tail();
        Ok((index, tail))
    }

    /// The payload bytes of all frames.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// How many frames there are.
    pub(crate) fn frames(&self) -> u64 {
        self.spots.len() as u64
    }

    /// Adds the next frame.
    pub(crate) fn push(&mut self, block: u32, len: u32) {
        debug_assert!(
            self.spots.last().is_none_or(|last| last.block < block),
            "the frame at block {block} lies before the last one"
        );
        self.spots.push(Spot { offset: self.size, block, len });
        self.size += u64::from(len);
    }

    /// Where the bytes from `offset` on lie: the byte of the file, frames and padding counted, and
    /// how many follow it without a gap. `None` beyond the end.
    pub(crate) fn locate(&self, offset: u64) -> Option<(u64, u64)> {
        let after = self.spots.partition_point(|spot| spot.offset <= offset);
        let spot = self.spots.get(after.checked_sub(1)?)?;
        let skip = offset - spot.offset;
        let left = u64::from(spot.len).checked_sub(skip).filter(|left| *left > 0)?;
        let start = u64::from(spot.block) * crate::BLOCK as u64 + HEADER as u64;
        Some((start + skip, left))
    }
}
