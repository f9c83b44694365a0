//! Reads from the file cache: copies the blocks that the cache has, and returns the parts that have
//! to be read from the medium.
//!
//! A read for [`Cause::Recovery`] takes nothing from the cache. In a simulation the actor sleeps as
//! long as a copy takes, so the caller must hold no lock.

use std::time::Duration;

use terrace_env::{Cause, FileId, runner};

use super::open_file::Piece;
use crate::BLOCK;
use crate::cache::FileCache;

/// Time to find a KiB in the cache and copy it, in a simulation.
const COPY_KIB: Duration = Duration::from_nanos(100);

/// Copies the cached parts of the pieces; returns the rest.
pub(super) fn serve(
    cache: &FileCache,
    file: FileId,
    pieces: Vec<Piece>,
    into: &mut [u8],
    cause: Cause,
) -> Vec<Piece> {
    if !cache.is_enabled() || cause == Cause::Recovery {
        return pieces;
    }
    let mut left = Vec::with_capacity(pieces.len());
    let mut copied = 0;
    for piece in pieces {
        let mut next = 0;
        for (at, block) in cache.find(file, piece.at..piece.at + piece.blocks, cause) {
            let index = at - piece.at;
            left.extend(piece.part(next, index));
            if let Some(Piece { skip, into: to, len, .. }) = piece.part(index, index + 1) {
                into[to..to + len].copy_from_slice(&block[skip..skip + len]);
                copied += len;
            }
            next = index + 1;
        }
        left.extend(piece.part(next, piece.blocks));
    }
    if copied > 0 {
        runner::charge(COPY_KIB * copied.div_ceil(1 << 10) as u32);
    }
    left
}

impl Piece {
    /// The part of it in blocks `from` to `to`, if there is one.
    fn part(&self, from: u32, to: u32) -> Option<Self> {
        let start = self.skip.max(from as usize * BLOCK);
        let end = (self.skip + self.len).min(to as usize * BLOCK);
        (start < end).then(|| Self {
            at: self.at + from,
            addr: self.addr.plus(from),
            blocks: to - from,
            skip: start - from as usize * BLOCK,
            into: self.into + (start - self.skip),
            len: end - start,
        })
    }
}
