//! [`Histogram`]: keys that divide the bytes of a table into about equal parts (an equi-depth
//! histogram). It tells where in its range a table has many bytes.
//!
//! [`HistogramBuilder`] makes it in one pass over the blocks of a table. Parts end with blocks.
//! When the keys exceed a limit in bytes, every second key is dropped, and parts become twice as
//! large. The last part may be smaller than the others. A part joins the next one if its end key is
//! the same as that of the part before, does not fit within the limit by itself, or has 64 KiB or
//! more.
//!
//! Encoding, also on the medium: each key in order, with its length (2 bytes, little-endian) before
//! it.

use std::sync::Arc;

use terrace_env::ByteCount;

/// Keys that divide a table's bytes into equal parts; see the [module](self).
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Histogram(Arc<[u8]>);

/// Bytes of the length before a key.
const LENGTH_BYTES: usize = 2;

impl Histogram {
    /// A histogram with these boundaries, which are in key order. A key of 64 KiB or more is left
    /// out.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut packed = Vec::new();
        for key in keys {
            if let Ok(length) = u16::try_from(key.len()) {
                packed.extend(length.to_le_bytes());
                packed.extend(key);
            }
        }
        Self(packed.into())
    }

    /// The histogram of these bytes; `None` if they are not one: keys do not grow, or the last one
    /// is cut off.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let histogram = Self(bytes.into());
        let used: usize = histogram.keys().map(|key| LENGTH_BYTES + key.len()).sum();
        let grows = histogram.keys().zip(histogram.keys().skip(1)).all(|(a, b)| a < b);
        (used == bytes.len() && grows).then_some(histogram)
    }

    /// The bytes of the histogram.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it has no boundary: nothing is known of the table but its range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The boundaries, in key order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>()?;
            let (key, behind) = behind.split_at_checked(u16::from_le_bytes(*length).into())?;
            rest = behind;
            Some(key)
        })
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys().map(|key| key.escape_ascii().to_string())).finish()
    }
}

/// Makes a histogram of a table that is being written.
#[derive(Clone, Debug)]
pub struct HistogramBuilder {
    max: usize,
    keys: Vec<Box<[u8]>>,
    /// Bytes of the keys with their lengths.
    packed: usize,
    /// Bytes of the table so far.
    seen: u64,
    /// Bytes of a part; 0 before the first block.
    depth: u64,
    /// Where the next boundary is due.
    next: u64,
}

impl HistogramBuilder {
    /// A builder of a histogram of at most `max` bytes; 0: it stays empty.
    #[must_use]
    pub fn new(max: ByteCount) -> Self {
        let max = max.0.try_into().unwrap_or(usize::MAX);
        Self { max, keys: Vec::new(), packed: 0, seen: 0, depth: 0, next: 0 }
    }

    /// Adds a block of the table: its bytes, and the first key of the next block. Where that is the
    /// key of the boundary before, there is no boundary.
    pub fn add(&mut self, bytes: ByteCount, end: &[u8]) {
        self.seen += bytes.0;
        if self.max == 0 || bytes.0 == 0 {
            return;
        }
        if self.depth == 0 {
            (self.depth, self.next) = (bytes.0, bytes.0);
        }
        if self.seen < self.next {
            return;
        }
        let cost = LENGTH_BYTES + end.len();
        let grows = self.keys.last().is_none_or(|last| &last[..] < end);
        if grows && cost <= self.max && end.len() <= usize::from(u16::MAX) {
            self.keys.push(end.into());
            self.packed += cost;
        }
        while self.packed > self.max {
            self.thin();
        }
        self.next = (self.seen / self.depth + 1) * self.depth;
        debug_assert!(self.packed <= self.max, "{} of {} bytes", self.packed, self.max);
        debug_assert!(self.seen < self.next, "the next boundary lies before byte {}", self.seen);
    }

    /// Drops every second key, from the first on.
    fn thin(&mut self) {
        self.depth *= 2;
        let mut stays = true;
        self.keys.retain(|_| {
            stays = !stays;
            stays
        });
        self.packed = self.keys.iter().map(|key| LENGTH_BYTES + key.len()).sum();
    }

    /// The histogram of all added keys.
    #[must_use]
    pub fn finish(&self) -> Histogram {
        debug_assert!(self.keys.is_sorted_by(|a, b| a < b), "boundaries in order");
        let histogram = Histogram::new(self.keys.iter().map(|key| &key[..]));
        debug_assert_eq!(histogram.as_bytes().len(), self.packed, "the bytes that were counted");
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_blocks(max: u64, blocks: u32, size: impl Fn(u32) -> u64) -> Histogram {
        let mut builder = HistogramBuilder::new(ByteCount(max));
        for block in 0..blocks {
            builder.add(ByteCount(size(block)), &block.to_be_bytes());
        }
        builder.finish()
    }

    #[test]
    fn parts_are_equal_by_bytes_and_keys_take_no_more_than_the_limit() {
        let histogram = of_blocks(4096, 10_000, |_| 4000);
        let keys: Vec<u32> =
            histogram.keys().map(|key| u32::from_be_bytes(key.try_into().unwrap())).collect();
        assert!((2048..=4096).contains(&histogram.as_bytes().len()));
        assert!(keys.windows(2).all(|pair| pair[1] - pair[0] == keys[1] - keys[0]), "{keys:?}");
        // Blocks of the second half are three times as large: there the boundaries are closer.
        let uneven = of_blocks(4096, 10_000, |block| if block < 5_000 { 1000 } else { 3000 });
        let first = uneven.keys().filter(|key| *key < &5_000_u32.to_be_bytes()[..]).count();
        let share = first as f64 / uneven.keys().count() as f64;
        assert!((0.23..0.27).contains(&share), "{share}");
    }

    #[test]
    fn a_histogram_reads_back_and_what_is_none_is_refused() {
        let histogram = of_blocks(64, 10, |_| 1);
        assert_eq!(Histogram::from_bytes(histogram.as_bytes()), Some(histogram.clone()));
        assert_eq!(Histogram::from_bytes(&[]), Some(Histogram::default()));
        for cut in [1, 3, 7] {
            assert_eq!(Histogram::from_bytes(&histogram.as_bytes()[..cut]), None);
        }
        let falling = Histogram::new([&b"b"[..], b"a"]);
        assert_eq!(Histogram::from_bytes(falling.as_bytes()), None);
    }

    #[test]
    fn without_a_limit_or_with_longer_keys_there_is_no_boundary() {
        assert!(of_blocks(0, 100, |_| 1000).is_empty());
        let mut builder = HistogramBuilder::new(ByteCount(100));
        builder.add(ByteCount(1), &[7; 200]);
        builder.add(ByteCount(1), &[8; 20]);
        assert_eq!(builder.finish().keys().count(), 1);
    }
}
