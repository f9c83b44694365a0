//! [`Filter`]: answers whether a table may have a key, without a read of data. It is a Bloom filter
//! whose bits for one key lie in one line of 64 bytes. The layout is `docs/format/table.md`.
//!
//! - A filter knows the full keys (key space and user key) of entries. "No" is certain for them.
//!   With more bits per key, more absent keys get this answer. A filter does not cover range
//!   tombstones.
//! - A block of an unknown kind, or with an impossible header, counts as no filter: the answer is
//!   "maybe" for every key.
//! - One line costs one cache miss instead of one per probe. In exchange, some more absent keys get
//!   the answer "maybe" (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom
//!   Filters", 2007). In the block the lines begin after a header of 8 bytes, so a filter in memory
//!   is a copy whose lines are cache lines.
//! - All probes of a line are made, without a branch: for an absent key, no processor predicts
//!   which probe fails.
//!
//! A filter does not change: any number of threads.

use terrace_env::codec::Writer;
use xxhash_rust::xxh3::xxh3_64;

use super::inspect::FilterParameters;

const KIND_BLOCKED_BLOOM: u8 = 1;
const LINE_BYTES: usize = 64;
const HEADER_BYTES: usize = 8;
const PROBES_MAX: u8 = 16;

/// Hash of a full key for filters.
pub(crate) fn hash(full_key: &[u8]) -> u64 {
    xxh3_64(full_key)
}

fn line_of(hash: u64, lines: u32) -> usize {
    (((hash >> 32) * u64::from(lines)) >> 32) as usize
}

/// The bits of a key within its line.
fn bits_of(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    let mut state = hash as u32;
    (0..probes).map(move |_| {
        state = state.wrapping_mul(0x9e37_79b1);
        (state >> 23) as usize & 511
    })
}

/// The block for these keys at `bits_per_key`; 69 % of the bits per key as probes is best.
pub(crate) fn build(hashes: &[u64], bits_per_key: u8) -> Vec<u8> {
    let bits = hashes.len() * usize::from(bits_per_key);
    let lines = bits.div_ceil(LINE_BYTES * 8).max(1);
    let lines = u32::try_from(lines).expect("a filter of at most 256 GiB");
    let probes = ((u32::from(bits_per_key) * 69 / 100) as u8).clamp(1, PROBES_MAX);
    let mut block = Vec::with_capacity(HEADER_BYTES + lines as usize * LINE_BYTES + 8);
    block.put_u8(KIND_BLOCKED_BLOOM);
    block.put_u8(probes);
    block.put_u16(0);
    block.put_u32(lines);
    block.resize(HEADER_BYTES + lines as usize * LINE_BYTES, 0);
    for &hash in hashes {
        let start = HEADER_BYTES + line_of(hash, lines) * LINE_BYTES;
        let line = &mut block[start..start + LINE_BYTES];
        for bit in bits_of(hash, probes) {
            line[bit / 8] |= 1 << (bit % 8);
        }
    }
    block
}

/// A line of a filter, on a cache line of its own: word `i` has the bits from 64 `i` on.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Line([u64; LINE_BYTES / 8]);

impl Line {
    fn new(stored: &[u8]) -> Self {
        let mut words = [0; LINE_BYTES / 8];
        for (word, stored) in words.iter_mut().zip(stored.as_chunks().0) {
            *word = u64::from_le_bytes(*stored);
        }
        Self(words)
    }
}

/// A filter in memory.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    lines: Box<[Line]>,
    probes: u8,
}

impl Filter {
    /// A filter from its block; `None` if the block is of an unknown kind: then there is no filter.
    pub(crate) fn new(block: &[u8]) -> Option<Self> {
        let (header, lines) = block.split_first_chunk::<HEADER_BYTES>()?;
        let (kind, probes) = (header[0], header[1]);
        let count = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let known = kind == KIND_BLOCKED_BLOOM
            && (1..=PROBES_MAX).contains(&probes)
            && count > 0
            && lines.len() as u64 == u64::from(count) * LINE_BYTES as u64;
        let lines = || lines.chunks_exact(LINE_BYTES).map(Line::new).collect();
        known.then(|| Self { lines: lines(), probes })
    }

    /// Whether the key may be in the table; `false` is certain.
    #[inline]
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        let Line(words) = &self.lines[line_of(hash, self.lines.len() as u32)];
        let set = |bit: usize| words[bit / 64] >> (bit % 64);
        bits_of(hash, self.probes).fold(1, |all, bit| all & set(bit)) & 1 == 1
    }

    /// Memory of the filter.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Parameters of the filter, for people.
    pub(super) fn parameters(&self) -> FilterParameters {
        FilterParameters { lines: self.lines.len() as u32, probes: self.probes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(from: u32, count: u32) -> Vec<u64> {
        (from..from + count).map(|i| hash(&i.to_be_bytes())).collect()
    }

    #[test]
    fn what_is_in_is_never_denied_and_what_is_not_nearly_always() {
        let inside = hashes(0, 10_000);
        let filter = Filter::new(&build(&inside, 10)).unwrap();
        assert!(inside.iter().all(|&hash| filter.may_hold(hash)));
        let wrong = hashes(1 << 20, 10_000).iter().filter(|&&h| filter.may_hold(h)).count();
        assert!(wrong < 200, "{wrong} of 10,000 absent keys pass; about 100 are expected");
    }

    #[test]
    fn an_unknown_or_damaged_filter_is_no_filter() {
        let block = build(&hashes(0, 10), 10);
        for (at, value) in [(0, 2), (1, 0), (1, 17), (4, 9)] {
            let mut other = block.clone();
            other[at] = value;
            assert!(Filter::new(&other).is_none(), "{at} {value}");
        }
        assert!(Filter::new(&[1, 7]).is_none());
        assert!(Filter::new(&build(&[], 10)).is_some_and(|f| !f.may_hold(7)));
    }
}
