//! Codec of a frame: header, payload and checksum.
//!
//! A frame verifies for the store and the log that it was written for. A reader must also compare
//! its epoch, sequence and chain with the due ones; the [`Scanner`](super::Scanner) does.
//!
//! An encoded frame starts on a block of its buffer and is padded to a block. Its payload is at
//! most [`PAYLOAD_MAX`] bytes. Encoding moves the cursor, so if the frame is not written, the
//! caller has to put the cursor back.

use terrace_env::checksum::{crc32c, crc32c_append, crc32c_combine};
use terrace_env::codec::{Reader, Writer};
use terrace_env::{IoBuf, Uuid};

use crate::BLOCK;
use crate::growing::SEQUENCE_END;

/// Bytes before the payload.
pub const HEADER: usize = 40;

/// The most payload bytes in one frame.
pub const PAYLOAD_MAX: usize = 1 << 20;

/// The owner of the journal's frames.
const JOURNAL: u64 = 0;

/// The format's version of a frame.
const VERSION: u8 = 1;

/// Flag: the payload goes on in the next frame.
const CONTINUES: u16 = 1;

/// The sequence and chain that a log goes on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The sequence of the next frame.
    pub sequence: u64,
    /// Chain that the next frame must carry: the checksum of the frame before it.
    pub chain: u32,
}

/// Whose frames these are. None of it is trusted from the medium: a frame counts only for the
/// binding that it was written under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The store.
    pub uuid: Uuid,
    /// The log's file id; 0 for the journal.
    pub owner: u64,
    /// The epoch; a recovery that leaves garbage after the end raises it.
    pub epoch: u32,
}

impl Binding {
    /// Checksum of the store's UUID. It tells "a frame of another store" from "a damaged frame".
    #[must_use]
    pub fn tag(&self) -> u32 {
        crc32c(&self.uuid.0)
    }

    fn seed(&self) -> u32 {
        crc32c_append(crc32c(&self.uuid.0), &self.owner.to_le_bytes())
    }

    /// Where a run of this binding starts, if its first frame has this sequence.
    #[must_use]
    pub fn start(&self, sequence: u64) -> Cursor {
        Cursor { sequence, chain: crc32c_append(self.seed(), &self.epoch.to_le_bytes()) }
    }

    /// The checksum of two pieces, bound to store and log.
    pub(crate) fn checksum_of(&self, head: &[u8], payload: &[u8]) -> u32 {
        crc32c_append(self.checksum(head), payload)
    }

    /// The checksum of a frame, given its bytes from the payload length on.
    fn checksum(&self, bytes: &[u8]) -> u32 {
        crc32c_append(self.seed(), bytes)
    }
}

/// Fields of a frame that its writer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// All frames of the owner with a smaller sequence are durable.
    pub synced: u64,
    /// Kind of the payload; the owner's affair.
    pub kind: u8,
    /// Whether the payload goes on in the next frame.
    pub continues: bool,
}

/// Blocks that a frame with this much payload takes.
#[must_use]
pub fn blocks_for(payload: usize) -> u32 {
    debug_assert!(payload <= PAYLOAD_MAX, "a frame of {payload} bytes");
    (HEADER + payload).div_ceil(BLOCK) as u32
}

/// The most payload that fits one frame of at most this many blocks.
#[must_use]
pub fn payload_room(blocks: u32) -> usize {
    (blocks as usize).saturating_mul(BLOCK).saturating_sub(HEADER).min(PAYLOAD_MAX)
}

/// Appends a frame and its padding, and moves the cursor past it.
///
/// # Panics
/// If the payload is longer than [`PAYLOAD_MAX`].
pub fn encode_frame(
    binding: &Binding,
    cursor: &mut Cursor,
    head: FrameHead,
    payload: &[u8],
    to: &mut IoBuf,
) {
    encode_frame_of(binding, cursor, head, payload.len(), std::iter::once(payload), to);
}

/// The bytes of a frame before its payload of `len` bytes, whose CRC32C is `payload`, for a writer
/// that copies no payload. Padding to a block follows it. Moves the cursor past the frame.
///
/// # Panics
/// If the payload is longer than [`PAYLOAD_MAX`].
pub(crate) fn encode_head(
    binding: &Binding,
    cursor: &mut Cursor,
    head: FrameHead,
    (len, payload): (usize, u32),
) -> [u8; HEADER] {
    assert!(len <= PAYLOAD_MAX, "a frame of {len} bytes");
    let mut bytes = Vec::with_capacity(HEADER);
    put_head(binding, *cursor, head, len, &mut bytes);
    let crc = crc32c_combine(binding.checksum(&bytes[4..]), payload, len as u64);
    let mut encoded = [0; HEADER];
    encoded.copy_from_slice(&bytes);
    encoded[..4].copy_from_slice(&crc.to_le_bytes());
    *cursor = Cursor { sequence: cursor.sequence + 1, chain: crc };
    encoded
}

/// A head without its checksum.
fn put_head(binding: &Binding, cursor: Cursor, head: FrameHead, len: usize, to: &mut impl Writer) {
    assert!(head.synced <= cursor.sequence, "no frame vouches for itself");
    to.put_u32(0);
    to.put_u32(len as u32);
    to.put_u64(cursor.sequence);
    to.put_u64(head.synced);
    to.put_u32(binding.epoch);
    to.put_u32(cursor.chain);
    to.put_u32(binding.tag());
    to.put_u8(head.kind);
    to.put_u8(VERSION);
    to.put_u16(if head.continues { CONTINUES } else { 0 });
}

/// Like [`encode_frame`], for a payload in parts, of `len` bytes together.
///
/// # Panics
/// If the payload is longer than [`PAYLOAD_MAX`].
pub(crate) fn encode_frame_of<'a>(
    binding: &Binding,
    cursor: &mut Cursor,
    head: FrameHead,
    len: usize,
    parts: impl Iterator<Item = &'a [u8]>,
    to: &mut IoBuf,
) {
    assert!(len <= PAYLOAD_MAX, "a frame of {len} bytes");
    assert!(to.len().is_multiple_of(BLOCK), "a frame starts on a block");
    let start = to.len();
    put_head(binding, *cursor, head, len, to);
    debug_assert_eq!(to.len() - start, HEADER);
    for part in parts {
        to.put(part);
    }
    debug_assert_eq!(to.len() - start, HEADER + len);
    let crc = binding.checksum(&to[start + 4..]);
    to[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    to.pad_to(BLOCK);
    debug_assert_eq!(to.len() - start, blocks_for(len) as usize * BLOCK, "a frame's blocks");
    *cursor = Cursor { sequence: cursor.sequence + 1, chain: crc };
}

/// A frame that verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it starts, in blocks of its source.
    pub block: u32,
    /// How many blocks it takes.
    pub blocks: u32,
    /// Its sequence.
    pub sequence: u64,
    /// All frames with a smaller sequence were durable when it was written.
    pub synced: u64,
    /// Its checksum: the chain of the frame after it.
    pub crc: u32,
    /// Kind of its payload.
    pub kind: u8,
    /// Whether its payload goes on in the next frame.
    pub continues: bool,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The header's fields as they stand on the medium: not verified.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawHeader {
    pub(super) crc: u32,
    pub(super) len: u32,
    pub(super) sequence: u64,
    pub(super) synced: u64,
    epoch: u32,
    pub(super) chain: u32,
    tag: u32,
    kind: u8,
    version: u8,
    flags: u16,
}

impl RawHeader {
    /// Reads a header; `None` if there are too few bytes for one.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader::new(bytes);
        let mut header = || {
            Ok::<_, terrace_env::codec::DecodeError>(Self {
                crc: from.u32("crc")?,
                len: from.u32("payload length")?,
                sequence: from.u64("sequence")?,
                synced: from.u64("synced")?,
                epoch: from.u32("epoch")?,
                chain: from.u32("chain")?,
                tag: from.u32("store tag")?,
                kind: from.u8("type")?,
                version: from.u8("version")?,
                flags: from.u16("flags")?,
            })
        };
        header().ok()
    }

    /// Whether it claims to be a frame of this binding with a plausible length and sequence.
    pub(super) fn claims(&self, binding: &Binding) -> bool {
        let is_bound = self.tag == binding.tag() && self.epoch == binding.epoch;
        is_bound && self.len as usize <= PAYLOAD_MAX && self.sequence < SEQUENCE_END
    }

    /// Whether it is the header of the expected frame, perhaps damaged: a bit of the chain, or all
    /// of one other field that is known beforehand.
    ///
    /// Only the chain tells it from a frame of another log of the same epoch, which a torn write
    /// leaves standing where a zone was recycled: two chains that do not belong together differ in
    /// about sixteen bits.
    pub(super) fn is_in_place(&self, binding: &Binding, cursor: Cursor) -> bool {
        let agree = [
            self.tag == binding.tag(),
            self.epoch == binding.epoch,
            self.sequence == cursor.sequence,
            self.chain == cursor.chain,
        ];
        let chained = (self.chain ^ cursor.chain).count_ones() <= 1;
        chained && agree.iter().filter(|agrees| **agrees).count() >= 3
    }

    /// Whether the checksum holds for the frame that starts these bytes.
    pub(super) fn verifies(&self, binding: &Binding, bytes: &[u8]) -> bool {
        let end = HEADER + self.len as usize;
        bytes.len() >= end && binding.checksum(&bytes[4..end]) == self.crc
    }

    /// Whether the checksum holds, and the chain, in the journal of the store that the header's own
    /// tag stands for. `before`: the checksum of the frame before it; `None`: it is the first.
    pub(super) fn verifies_by_its_tag(&self, before: Option<u32>, bytes: &[u8]) -> bool {
        let seed = crc32c_append(self.tag, &JOURNAL.to_le_bytes());
        let chain = before.unwrap_or_else(|| crc32c_append(seed, &self.epoch.to_le_bytes()));
        let end = HEADER + self.len as usize;
        let is_whole = bytes.len() >= end && self.chain == chain;
        is_whole && crc32c_append(seed, &bytes[4..end]) == self.crc
    }

    /// Whether a change of one bit of the length makes the checksum hold: then it is the length
    /// that is damaged, and all the frame's blocks are there.
    pub(super) fn verifies_with_another_length(&self, binding: &Binding, bytes: &[u8]) -> bool {
        (0..32).any(|bit| {
            let len = self.len ^ (1 << bit);
            let end = HEADER + len as usize;
            if len as usize > PAYLOAD_MAX || end > bytes.len() {
                return false;
            }
            let crc = crc32c_append(binding.seed(), &len.to_le_bytes());
            crc32c_append(crc, &bytes[8..end]) == self.crc
        })
    }

    /// The frame, once it has verified; `None` if this version cannot read it.
    pub(super) fn into_frame(self, block: u32, bytes: &[u8]) -> Option<Frame> {
        if self.version != VERSION || self.flags & !CONTINUES != 0 {
            return None;
        }
        let payload = bytes.get(HEADER..HEADER + self.len as usize)?.to_vec();
        Some(Frame {
            block,
            blocks: blocks_for(payload.len()),
            sequence: self.sequence,
            synced: self.synced,
            crc: self.crc,
            kind: self.kind,
            continues: self.flags & CONTINUES != 0,
            payload,
        })
    }

    /// The version and flags, for the error that this version cannot read the frame.
    pub(super) fn describe_version(&self) -> String {
        format!("version {} with flags {:#06x}", self.version, self.flags)
    }
}
