//! [`Pending`]: bytes that were appended to a log and are not written yet.
//!
//! The bytes of a frame in flight are among them, until `note_written`. Bytes leave at the front,
//! so frames have to complete in order. Offsets count from the first byte that is not written.
//!
//! The bytes lie in pieces of one size, so that memory is given up as bytes are written, without
//! moving others. One free piece is kept for the next bytes, until `give_back`. So the memory
//! exceeds the bytes by less than three pieces: the free one, and the unused parts of the first and
//! the last.
//!
//! It has no lock of its own.

use std::collections::VecDeque;

use terrace_env::IoBuf;

/// Bytes of a piece: enough to be mapped, so that it goes back to the system when it is dropped.
const PIECE: usize = 256 << 10;

/// Bytes of a log after its last frame. Some of them may be on their way to the medium.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Buffers with the bytes; all but the last are full.
    pieces: VecDeque<IoBuf>,
    /// Bytes at the front of the first piece that are written.
    written: usize,
    len: usize,
    spare: Option<IoBuf>,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        (self.pieces.len() + usize::from(self.spare.is_some())) * PIECE
    }

    /// The bytes from `from` to `to`, piece by piece.
    pub(crate) fn parts(&self, from: usize, to: usize) -> impl Iterator<Item = &[u8]> {
        debug_assert!(from <= to && to <= self.len, "{from} to {to} of {} bytes", self.len);
        let (from, to) = (self.written + from, self.written + to);
        let pieces = self.pieces.iter().enumerate().skip(from / PIECE);
        pieces.map_while(move |(index, piece)| {
            let start = index * PIECE;
            (start < to).then(|| &piece[from.saturating_sub(start)..piece.len().min(to - start)])
        })
    }

    /// Copies the bytes from `from` on.
    pub(crate) fn copy(&self, from: usize, into: &mut [u8]) {
        let mut done = 0;
        for part in self.parts(from, from + into.len()) {
            into[done..done + part.len()].copy_from_slice(part);
            done += part.len();
        }
        debug_assert_eq!(done, into.len(), "all bytes that were asked for");
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.pieces.back().map_or(0, |last| PIECE - last.len());
            if room == 0 {
                let fresh = self.spare.take().unwrap_or_else(|| IoBuf::with_capacity(PIECE));
                self.pieces.push_back(fresh);
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min(room));
            self.pieces.back_mut().expect("a piece with room").extend(now);
            rest = later;
        }
        self.len += bytes.len();
        debug_assert!(self.adds_up(), "{} + {} bytes of {self:?}", self.written, self.len);
    }

    /// The first `len` bytes are written.
    pub(crate) fn note_written(&mut self, len: usize) {
        debug_assert!(len <= self.len, "more written than was appended");
        (self.written, self.len) = (self.written + len, self.len - len);
        while self.written >= PIECE || (self.len == 0 && !self.pieces.is_empty()) {
            let mut done = self.pieces.pop_front().expect("the piece that was written");
            self.written = self.written.saturating_sub(done.len());
            done.clear();
            self.spare = Some(done);
        }
        debug_assert!(self.written < PIECE && self.adds_up(), "{} of {self:?}", self.written);
    }

    /// Whether the pieces hold the written bytes of the first one, and the others.
    fn adds_up(&self) -> bool {
        self.pieces.iter().map(|piece| piece.len()).sum::<usize>() == self.written + self.len
    }

    /// The bytes are lost, and so is the memory.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Gives back the memory that no byte is in.
    pub(crate) fn give_back(&mut self) {
        self.spare = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pending: &Pending) -> Vec<u8> {
        pending.parts(0, pending.len()).collect::<Vec<_>>().concat()
    }

    #[test]
    fn what_is_written_goes_and_the_rest_stays() {
        for step in [7, 50_000, PIECE - 1, PIECE, 3 * PIECE + 5] {
            let mut pending = Pending::default();
            let mut expected: Vec<u8> = Vec::new();
            for round in 0..60_u8 {
                let fresh = vec![round; step + usize::from(round % 5)];
                pending.append(&fresh);
                expected.extend(&fresh);
                let written = expected.len() * usize::from(round % 17) / 16;
                pending.note_written(written);
                expected.drain(..written);
                assert_eq!((bytes(&pending), pending.len()), (expected.clone(), expected.len()));
                assert!(pending.memory() <= expected.len() + 3 * PIECE, "of {}", expected.len());
                let from = expected.len() / 3;
                let mut copy = vec![0; expected.len() / 2];
                pending.copy(from, &mut copy);
                assert_eq!(copy[..], expected[from..from + copy.len()]);
            }
            pending.note_written(expected.len());
            pending.give_back();
            assert_eq!((pending.len(), pending.memory()), (0, 0));
        }
    }

    #[test]
    fn what_is_lost_takes_no_memory() {
        let mut pending = Pending::default();
        pending.append(&[7; 1000]);
        pending.clear();
        assert_eq!((pending.len(), pending.memory()), (0, 0));
    }
}
