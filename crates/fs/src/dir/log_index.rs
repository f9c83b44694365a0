//! Index of a log's frames: for each frame, its bytes of the log, their place in the file, and
//! their checksum. With the checksum, a reader can verify a frame each time it reads it.
//!
//! Frames are added in the order of the log. [`LogIndex::scan`] reads and verifies a log from its
//! start to the end that it finds.

use terrace_env::checksum::crc32c;
use terrace_env::store::StoreError;

use crate::BLOCK;
use crate::frame::{HEADER, LogScan, LogTail};

/// The payload of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The log's byte that it starts with.
    pub(super) offset: u64,
    /// Its first byte in the file.
    pub(super) place: u64,
    pub(super) len: u32,
    /// The CRC32C of the payload alone: a frame that was whole when it was indexed is verified
    /// again each time it is read.
    pub(super) crc: u32,
}

impl Spot {
    /// The log's byte after its last one.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// The frames of a log, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct LogIndex {
    spots: Vec<Spot>,
}

impl LogIndex {
    /// Reads a whole log; every frame of it is verified.
    pub(super) fn scan(mut scan: LogScan<'_>) -> Result<(Self, LogTail), StoreError> {
        let mut index = Self::default();
        while let Some(append) = scan.next_append()? {
            let mut rest = &append.payload[..];
            for span in &append.spans {
                let (payload, after) = rest.split_at(span.len as usize);
                index.push(span.block, payload);
                rest = after;
            }
        }
        Ok((index, scan.tail()))
    }

    /// The payload bytes of all frames.
    pub(super) fn size(&self) -> u64 {
        self.spots.last().map_or(0, Spot::end)
    }

    /// The block at which the last frame starts.
    pub(super) fn last_block(&self) -> Option<u32> {
        let last = self.spots.last()?;
        u32::try_from((last.place - HEADER as u64) / BLOCK as u64).ok()
    }

    /// How many frames there are.
    pub(super) fn frames(&self) -> u64 {
        self.spots.len() as u64
    }

    /// Adds the frame that starts at `block` of the file.
    pub(super) fn push(&mut self, block: u32, payload: &[u8]) {
        self.push_summed(block, payload.len(), crc32c(payload));
    }

    /// Adds the frame that starts at `block` of the file; `crc` is the CRC32C of its payload of
    /// `len` bytes.
    pub(super) fn push_summed(&mut self, block: u32, len: usize, crc: u32) {
        let place = u64::from(block) * BLOCK as u64 + HEADER as u64;
        let (offset, len) = (self.size(), len as u32);
        debug_assert!(self.spots.last().is_none_or(|last| last.place < place), "{block}");
        self.spots.push(Spot { offset, place, len, crc });
    }

    /// The frame that holds the byte at `offset`; `None` beyond the end.
    pub(super) fn find(&self, offset: u64) -> Option<Spot> {
        let after = self.spots.partition_point(|spot| spot.end() <= offset);
        self.spots.get(after).copied().filter(|spot| spot.offset <= offset)
    }
}
