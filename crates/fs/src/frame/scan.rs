//! [`Scanner`]: reads the frames of a log in order, and tells a torn tail from damage.
//!
//! Where frame `s` is expected and is not found whole, the scan decides as follows:
//!
//! 1. If the place lies before an end that the caller knows, such as that of a sealed log:
//!    corruption. A frame that verifies is corruption anywhere if its version or flags are unknown,
//!    or if it says `synced > s`.
//! 2. A header is taken for that of frame `s` if at most one of its fields store, epoch, sequence
//!    and chain differs, and the chain by at most one bit. Then the frame is corrupt in three
//!    cases. It is no longer than the device writes as a whole. Its checksum holds once one bit of
//!    its length is changed. Or lost blocks read as zeros on this medium, the frame takes several
//!    blocks, and no unit that the device writes as a whole reads as zeros in it. (The last case is
//!    not applied to a frame of one block. Such a frame may have been written several times, each
//!    time longer, so a torn one can mix old and new parts.)
//! 3. If a later frame of the same log and epoch verifies and says `synced > s`, then frame `s` was
//!    acknowledged: corruption. To find such a frame, the rest of the written blocks is read.
//! 4. Otherwise the tail is torn, or the log ends here, and the scan ends. An acknowledged last
//!    frame whose damage looks like a torn write is taken for torn, too: the two cannot be told
//!    apart (decision 0004).
//!
//! If a block cannot be read, [`next_frame`](Scanner::next_frame) returns the error of the source.

use terrace_env::store::StoreError;
use terrace_env::{IoBuf, reached};

use super::codec::RawHeader;
use super::{Binding, BlockSource, Cursor, Frame, HEADER, PAYLOAD_MAX, blocks_for};
use crate::BLOCK;

/// Blocks read at once: large enough that a disk streams, small enough to hold many at a time.
const READ_AHEAD: u32 = 64;

/// Reads a log's frames in order, and tells a torn tail from damage.
pub struct Scanner<S> {
    source: S,
    binding: Binding,
    cursor: Cursor,
    block: u32,
    known_end: u32,
    limit: u32,
    window: Window,
}

#[derive(Default)]
struct Window {
    first: u32,
    bytes: IoBuf,
}

/// Why a frame does not verify.
struct Broken {
    expected: String,
    got: String,
    /// The block can only be damaged, not torn.
    damaged: bool,
}

enum Found {
    Frame(Frame),
    Broken(Broken),
    Nothing,
}

impl<S: BlockSource> Scanner<S> {
    /// Starts at `block`, where the frame that `cursor` describes is expected. Frames that start
    /// before `known_end` are known to have been acknowledged.
    #[must_use]
    pub fn new(source: S, binding: Binding, block: u32, cursor: Cursor, known_end: u32) -> Self {
        let (limit, window) = (source.blocks(), Window::default());
        Self { source, binding, cursor, block, known_end, limit, window }
    }

    /// Ends the scan at block `limit`, where another run starts.
    #[must_use]
    pub fn until(mut self, limit: u32) -> Self {
        self.limit = limit.min(self.source.blocks());
        self
    }

    /// Where the next frame is expected: the log's end, once [`next_frame`](Self::next_frame) has
    /// returned `None`.
    #[must_use]
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Chain and sequence that the next frame must carry.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The next frame, or `None` at the log's end.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, StoreError> {
        match self.look_at(self.block)? {
            Found::Frame(frame) => {
                debug_assert!(frame.blocks > 0 && frame.sequence == self.cursor.sequence);
                debug_assert!(self.block + frame.blocks <= self.limit, "a frame in two runs");
                self.block += frame.blocks;
                self.cursor = Cursor { sequence: frame.sequence + 1, chain: frame.crc };
                Ok(Some(frame))
            }
            Found::Broken(broken) => {
                if broken.damaged || self.block < self.known_end {
                    return Err(self.corruption(broken.expected, broken.got));
                }
                self.look_on()?;
                reached!("fs: a torn or stale frame ends a log");
                Ok(None)
            }
            Found::Nothing => {
                if self.block < self.known_end {
                    let expected = format!("frame {}", self.cursor.sequence);
                    return Err(self.corruption(expected, "nothing".into()));
                }
                self.look_on()?;
                Ok(None)
            }
        }
    }

    /// The blocks that it reads.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.source
    }

    /// For inspection of damage: after an error, goes on at the next frame of the same binding that
    /// verifies, after any gap; `false` if there is none. The blocks are read one frame at a time,
    /// so that one that cannot be read does not hide the others.
    pub fn skip_damage(&mut self, error: &StoreError) -> bool {
        // The read-ahead may have failed, and the frame itself be sound.
        let is_here = !matches!(error, StoreError::Corruption { .. });
        let from = if is_here { self.block } else { self.block.saturating_add(1) };
        let Some((block, cursor)) = self.find_frame(from) else { return false };
        debug_assert!(
            block >= self.block && cursor.sequence >= self.cursor.sequence,
            "the scan goes back to block {block}"
        );
        (self.block, self.cursor) = (block, cursor);
        true
    }

    /// The first frame of the same binding that verifies at or after a block and is not older than
    /// the expected one: its block, and its cursor.
    pub(crate) fn find_frame(&mut self, mut block: u32) -> Option<(u32, Cursor)> {
        while block < self.limit {
            if block >= self.source.written_end(block) {
                block = self.source.extent_end(block).max(block + 1);
                continue;
            }
            if let Some(cursor) = self.verified_at(block) {
                return Some((block, cursor));
            }
            block += 1;
        }
        None
    }

    /// The cursor of a frame that verifies at a block, not older than the one expected.
    fn verified_at(&mut self, block: u32) -> Option<Cursor> {
        let binding = self.binding;
        let room = self.source.extent_end(block).min(self.limit).checked_sub(block)?;
        let header = RawHeader::read(self.load_alone(block, 1)?)?;
        if !header.claims(&binding) || header.sequence < self.cursor.sequence {
            return None;
        }
        let blocks = blocks_for(header.len as usize);
        if blocks > room {
            return None;
        }
        let verifies = header.verifies(&binding, self.load_alone(block, blocks)?);
        verifies.then_some(Cursor { sequence: header.sequence, chain: header.chain })
    }

    /// Makes the window hold these blocks and no others.
    fn load_alone(&mut self, block: u32, count: u32) -> Option<&[u8]> {
        let end = self.source.written_end(block);
        let bytes = self.source.read(block, count.min(end.saturating_sub(block))).ok()?;
        self.window = Window { first: block, bytes };
        Some(&self.window.bytes)
    }

    /// The error for damage at the current block.
    #[must_use]
    pub fn corruption(&self, expected: String, got: String) -> StoreError {
        let (region, offset) = self.source.place(self.block);
        StoreError::Corruption { region, offset, expected, got }
    }

    /// Makes the window hold at least the block, and `count` blocks if they may be written.
    fn load(&mut self, block: u32, count: u32) -> Result<&[u8], StoreError> {
        let have = (self.window.bytes.len() / BLOCK) as u32;
        let Window { first, .. } = self.window;
        // Nothing of the next run: a log that was opened often has as many short runs.
        let end = self.source.written_end(block).min(self.limit);
        let wanted = count.min(end.saturating_sub(block));
        if block < first || block + wanted > first + have {
            let count = wanted.max(READ_AHEAD.min(end.saturating_sub(block)));
            self.window = Window { first: block, bytes: self.source.read(block, count)? };
        }
        let skip = (block - self.window.first) as usize * BLOCK;
        debug_assert!(skip <= self.window.bytes.len(), "block {block} is not in the window");
        Ok(&self.window.bytes[skip..])
    }

    fn look_at(&mut self, block: u32) -> Result<Found, StoreError> {
        if block >= self.limit || block >= self.source.written_end(block) {
            return Ok(Found::Nothing);
        }
        let (binding, cursor, atomic) = (self.binding, self.cursor, self.source.atomic());
        let zeros_if_lost = self.source.lost_reads_as_zeros();
        let room = self.source.extent_end(block).min(self.limit) - block;
        let Some(header) = RawHeader::read(self.load(block, 1)?) else {
            return Ok(Found::Nothing);
        };
        let fits = |len: u32| len as usize <= PAYLOAD_MAX && blocks_for(len as usize) <= room;
        if header.claims(&binding) && fits(header.len) {
            let bytes = self.load(block, blocks_for(header.len as usize))?;
            let expected = header.sequence == cursor.sequence && header.chain == cursor.chain;
            if expected && header.verifies(&binding, bytes) {
                if header.synced > header.sequence {
                    return Ok(Found::Broken(Broken {
                        expected: format!("synced at most {}", header.sequence),
                        got: format!("synced {}", header.synced),
                        damaged: true,
                    }));
                }
                return Ok(match header.into_frame(block, bytes) {
                    Some(frame) => Found::Frame(frame),
                    None => Found::Broken(Broken {
                        expected: "a frame of version 1 with known flags".into(),
                        got: header.describe_version(),
                        damaged: true,
                    }),
                });
            }
        }
        if !header.is_in_place(&binding, cursor) {
            let expected = format!("frame {}", cursor.sequence);
            let got = "bytes that are no frame of this log here".into();
            return Ok(Found::Broken(Broken { expected, got, damaged: false }));
        }
        let most = blocks_for(PAYLOAD_MAX).min(room);
        let whole = HEADER + header.len as usize <= atomic;
        let bytes = self.load(block, most)?;
        let damaged = whole
            || header.verifies_with_another_length(&binding, bytes)
            || zeros_if_lost && nothing_is_lost(bytes, header.len as usize, atomic);
        let expected = format!("frame {} whose checksum holds", cursor.sequence);
        let got = format!("checksum {:#010x}, which does not", header.crc);
        Ok(Found::Broken(Broken { expected, got, damaged }))
    }

    /// Looks for a later frame that vouches for the one that does not verify.
    fn look_on(&mut self) -> Result<(), StoreError> {
        let expected = self.cursor.sequence;
        let mut block = self.block;
        while block < self.limit {
            if block >= self.source.written_end(block) {
                block = self.source.extent_end(block).max(block + 1);
                continue;
            }
            let binding = self.binding;
            let room = self.source.extent_end(block).min(self.limit) - block;
            let header = RawHeader::read(self.load(block, 1)?);
            let vouches = |header: &RawHeader| {
                header.claims(&binding)
                    && header.synced > expected
                    && blocks_for(header.len as usize) <= room
            };
            if let Some(header) = header.filter(vouches) {
                let bytes = self.load(block, blocks_for(header.len as usize))?;
                if header.verifies(&binding, bytes) {
                    let got = format!(
                        "no such frame, and frame {} at block {block} that says it was durable",
                        header.sequence
                    );
                    return Err(self.corruption(format!("frame {expected}"), got));
                }
            }
            block += 1;
        }
        Ok(())
    }
}

/// Whether all of a frame with `payload` bytes is there, and no unit of it is all zeros.
fn nothing_is_lost(bytes: &[u8], payload: usize, unit: usize) -> bool {
    let end = HEADER.saturating_add(payload);
    let Some(frame) = bytes.get(..end).filter(|_| unit > 0 && end > BLOCK) else { return false };
    frame.chunks(unit).all(|unit| unit.iter().any(|byte| *byte != 0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use terrace_env::Uuid;

    use super::*;
    use crate::frame::{FrameHead, MemorySource, encode_frame};

    const BINDING: Binding = Binding { uuid: Uuid([3; 16]), owner: 7, epoch: 2 };

    /// Counts the blocks that are read.
    struct Counting(MemorySource, Cell<u32>);

    impl BlockSource for Counting {
        fn blocks(&self) -> u32 {
            self.0.blocks()
        }

        fn extent_end(&self, block: u32) -> u32 {
            self.0.extent_end(block)
        }

        fn written_end(&self, block: u32) -> u32 {
            self.0.written_end(block)
        }

        fn atomic(&self) -> usize {
            self.0.atomic()
        }

        fn read(&self, block: u32, count: u32) -> Result<IoBuf, StoreError> {
            self.1.set(self.1.get() + count);
            self.0.read(block, count)
        }

        fn place(&self, block: u32) -> (String, u64) {
            self.0.place(block)
        }
    }

    #[test]
    fn the_scan_of_a_short_run_reads_no_block_of_the_next_one() {
        let (mut bytes, mut cursor) = (IoBuf::default(), BINDING.start(1));
        let head = FrameHead { synced: 1, kind: 1, continues: false };
        encode_frame(&BINDING, &mut cursor, head, b"a frame of one block", &mut bytes);
        let mut bytes = bytes.to_vec();
        bytes.resize(READ_AHEAD as usize * BLOCK, 0);
        let memory = MemorySource { region: "log".into(), bytes, atomic: 512 };
        let source = Counting(memory, Cell::new(0));
        let mut scan = Scanner::new(&source, BINDING, 0, BINDING.start(1), 1).until(1);
        assert!(scan.next_frame().unwrap().is_some());
        assert!(scan.next_frame().unwrap().is_none());
        assert_eq!(source.1.get(), 1);
    }
}
