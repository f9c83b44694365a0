//! Extreme numbers, and checksums that fit them.

use terrace_env::Uuid;
use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::random::{Random, Rng};
use terrace_fs::BLOCK;

/// Bytes of a frame's header.
const HEADER: usize = 40;
const LEN: usize = 4;
const CHAIN: usize = 28;

/// Ends of the ranges of numbers, and their neighbours.
const EXTREMES: [u64; 20] = [
    0,
    1,
    255,
    65_535,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 2,
    (1 << 32) - 1,
    1 << 48,
    (1 << 55) - 1,
    (1 << 56) - 1,
    1 << 56,
    (1 << 61) - 1,
    1 << 61,
    (1 << 62) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// A number put in the place of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patch {
    pub(super) at: usize,
    pub(super) width: usize,
    pub(super) value: u64,
}

impl Patch {
    /// An extreme number at one of these bytes.
    pub(super) fn draw(at: usize, random: &mut Random) -> Self {
        let width = [1, 2, 4, 8, 8, 8][random.random_range(0..6)];
        let value = EXTREMES[random.random_range(0..EXTREMES.len())];
        Self { at, width, value }
    }

    /// Each extreme number of this width.
    pub(super) fn all(at: usize, width: usize) -> impl Iterator<Item = Self> {
        EXTREMES.into_iter().map(move |value| Self { at, width, value })
    }

    pub(super) fn apply(self, bytes: &mut [u8]) {
        let number = self.value.to_le_bytes();
        let end = bytes.len().min(self.at + self.width);
        bytes[self.at..end].copy_from_slice(&number[..end - self.at]);
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The payload bytes of the journal's frames that stand in these blocks, one after the other.
pub(super) fn payloads(blocks: &[u8], uuid: Uuid) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + HEADER <= blocks.len() && number(blocks, at + CHAIN + 4) == crc32c(&uuid.0) {
        let len = number(blocks, at + LEN) as usize;
        found.push(at + HEADER..at + HEADER + len);
        at += (HEADER + len).next_multiple_of(BLOCK);
    }
    found
}

/// Makes the chain and the checksums of these frames right again.
pub(super) fn reseal(blocks: &mut [u8], uuid: Uuid) {
    let seed = crc32c_append(crc32c(&uuid.0), &0u64.to_le_bytes());
    let mut chain = None;
    for payload in payloads(blocks, uuid) {
        let start = payload.start - HEADER;
        if let Some(chain) = chain {
            blocks[start + CHAIN..start + CHAIN + 4].copy_from_slice(&u32::to_le_bytes(chain));
        }
        let crc = crc32c_append(seed, &blocks[start + 4..payload.end]);
        blocks[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        chain = Some(crc);
    }
}

/// Makes the checksum of a superblock right again.
pub(super) fn reseal_superblock(block: &mut [u8]) {
    let crc = crc32c(&block[..BLOCK - 4]);
    block[BLOCK - 4..BLOCK].copy_from_slice(&crc.to_le_bytes());
}
