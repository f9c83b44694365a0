//! [`IndexBuilder`]: collects the index and the filter of a table while its data blocks are
//! written.
//!
//! The order of calls: [`IndexBuilder::add_key`] for each entry, in key order;
//! [`IndexBuilder::add_block`] for each block but the last, when the next key is known and before
//! it is added; [`IndexBuilder::add_last_block`]; then [`IndexBuilder::finish`]. (A table of only
//! range tombstones has no blocks.)
//!
//! - The index is cut into partitions as it grows. A small index is joined at the end, with one
//!   filter. In a larger one each partition has a filter of its own. With `filter_bits` of 0 there
//!   are no filters.
//! - Filters may have other bits per key from one key space to the next
//!   ([`IndexBuilder::set_filter_bits`]). The index then stays in partitions, however small it is.
//! - With `first_keys` the entry of a block also has the block's first key, and its own key lies
//!   close to the block's last.
//! - Memory until the end of the table: index and filters, not compressed, and eight bytes for each
//!   key whose filter is not made yet.
//!
//! One owner. It writes nothing: the builder of the table writes the result of
//! [`IndexBuilder::finish`].

use super::block_builder::{BlockBuilder, join};
use super::filter;
use super::first_key;
use super::frame::Handle;
use crate::key::{self, Trailer};

/// Layout of index and filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexLayout {
    /// Size at which a partition is closed.
    pub(crate) partition_size: usize,
    /// Size from which on an index stays in partitions.
    pub(crate) whole_max: usize,
    /// Bits per key; 0: no filter.
    pub(crate) filter_bits: u8,
    /// Whether entries have the first keys of their blocks.
    pub(crate) first_keys: bool,
}

/// A data block that was written.
#[derive(Debug)]
pub(crate) struct WrittenBlock {
    pub(crate) handle: Handle,
    /// Its first key; not used in an index without first keys.
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
}

/// Index of the byte of a near separator that is raised, counted from the first byte in which the
/// keys differ. With keys of decimal digits, two leave at most a hundredth of the gap between the
/// keys.
const NEAR_BYTES: usize = 2;

/// The filter of a partition.
#[derive(Debug)]
enum PartitionFilter {
    /// Hashes of the keys of a filter that is still to be made.
    Hashes(Vec<u64>),
    Block(Vec<u8>),
}

/// A closed partition.
#[derive(Debug)]
struct Closed {
    index: Vec<u8>,
    filter: PartitionFilter,
    /// An internal key that is not before its last key and is before all of the next partition.
    end: Vec<u8>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    layout: IndexLayout,
    /// Bits per key of the filter of the partition that is being filled.
    filter_bits: u8,
    /// The partition that is being filled: its index, and its keys.
    index: BlockBuilder,
    hashes: Vec<u64>,
    closed: Vec<Closed>,
    /// Bytes of the closed partitions' indexes, and of their filters.
    index_bytes: usize,
    filter_bytes: usize,
    partitioned: bool,
    /// Whether the last block has been added.
    is_ended: bool,
}

/// Index and filters to write at a table's end.
#[derive(Debug)]
pub(crate) enum Finished {
    Whole { index: Vec<u8>, filter: Option<Vec<u8>> },
    Partitions(Vec<FinishedPartition>),
}

/// A partition that is to be written.
#[derive(Debug)]
pub(crate) struct FinishedPartition {
    pub(crate) index: Vec<u8>,
    pub(crate) filter: Option<Vec<u8>>,
    pub(crate) end: Vec<u8>,
}

impl IndexBuilder {
    pub(crate) fn new(layout: IndexLayout) -> Self {
        Self {
            layout,
            filter_bits: layout.filter_bits,
            index: BlockBuilder::new(1),
            hashes: Vec::new(),
            closed: Vec::new(),
            index_bytes: 0,
            filter_bytes: 0,
            partitioned: false,
            is_ended: false,
        }
    }

    /// Adds a key to the filter; `new`: it differs from the key before.
    pub(crate) fn add_key(&mut self, full_key: &[u8], new: bool) {
        if self.filter_bits > 0 && (new || self.hashes.is_empty()) {
            self.hashes.push(filter::hash(full_key));
        }
    }

    /// Adds a block; `next` is the next block's first key, which must not have been added yet.
    pub(crate) fn add_block(&mut self, block: &WrittenBlock, next: &[u8]) {
        let last = &block.last;
        let separator = match self.layout.first_keys {
            true => near_separator(last, next),
            false => separator(last, next),
        };
        debug_assert!(key::compare(&separator, next).is_lt(), "a separator before the next key");
        self.add_entry(&separator, block);
        if self.index.size() >= self.layout.partition_size {
            self.close_partition(boundary(last, next));
        }
    }

    /// Adds the last block.
    pub(crate) fn add_last_block(&mut self, block: WrittenBlock) {
        debug_assert!(!self.is_ended, "a table has one last block");
        self.add_entry(&block.last, &block);
        self.close_partition(block.last);
        self.is_ended = true;
    }

    fn add_entry(&mut self, separator: &[u8], block: &WrittenBlock) {
        debug_assert!(key::compare(&block.last, separator).is_le(), "a separator of the block");
        let mut value = block.handle.encode();
        if self.layout.first_keys {
            first_key::append(&mut value, separator, &block.first);
        }
        self.index.add(separator, &value);
    }

    fn close_partition(&mut self, end: Vec<u8>) {
        let index = self.index.finish();
        self.index_bytes += index.len();
        debug_assert!(
            self.closed.last().is_none_or(|before| key::compare(&before.end, &end).is_lt()),
            "partitions in the order of their keys"
        );
        let filter = PartitionFilter::Hashes(std::mem::take(&mut self.hashes));
        self.closed.push(Closed { index, filter, end });
        if self.partitioned {
            self.make_filter(self.closed.len() - 1);
        } else if self.index_bytes > self.layout.whole_max {
            self.make_partitions();
        }
    }

    /// Keeps the partitions apart, each with a filter of its own.
    fn make_partitions(&mut self) {
        self.partitioned = true;
        (0..self.closed.len()).for_each(|at| self.make_filter(at));
    }

    /// Sets the bits per key of the filters of the keys that follow. `between`: the last key and
    /// the next one, once the block of the last key has been added; `None` if there is no key yet.
    /// A partition ends between the two if the bits differ.
    pub(crate) fn set_filter_bits(&mut self, bits: u8, between: Option<(&[u8], &[u8])>) {
        if bits == self.filter_bits {
            return;
        }
        if let Some((last, next)) = between {
            if !self.index.is_empty() {
                self.close_partition(boundary(last, next));
            }
            if !self.partitioned {
                self.make_partitions();
            }
        }
        self.filter_bits = bits;
    }

    fn make_filter(&mut self, at: usize) {
        let made = &mut self.closed[at].filter;
        if let PartitionFilter::Hashes(hashes) = made {
            let block = match self.filter_bits {
                0 => Vec::new(),
                bits => filter::build(hashes, bits),
            };
            self.filter_bytes += block.len();
            *made = PartitionFilter::Block(block);
        }
    }

    /// Approximate bytes of index and filter.
    pub(crate) fn size(&self) -> usize {
        let hashes = self.hash_count() * usize::from(self.filter_bits) / 8;
        self.index_bytes + self.filter_bytes + self.index.size() + hashes
    }

    /// Memory of the builder.
    pub(crate) fn memory(&self) -> usize {
        let hashes = self.hash_count() * size_of::<u64>();
        self.index_bytes + self.filter_bytes + self.index.size() + hashes
    }

    /// Number of keys whose filter is still to be made.
    fn hash_count(&self) -> usize {
        let closed = if self.partitioned { &[] } else { &self.closed[..] };
        let count = |closed: &Closed| match &closed.filter {
            PartitionFilter::Hashes(hashes) => hashes.len(),
            PartitionFilter::Block(_) => 0,
        };
        closed.iter().map(count).sum::<usize>() + self.hashes.len()
    }

    /// Index and filters to write, after the last block.
    pub(crate) fn finish(self) -> Finished {
        let is_whole = self.is_ended || (self.closed.is_empty() && self.index.is_empty());
        assert!(is_whole && self.hashes.is_empty(), "the last block was added");
        if self.partitioned {
            return Finished::Partitions(self.closed.into_iter().map(Closed::finish).collect());
        }
        let mut hashes: Vec<u64> = Vec::new();
        let mut index = Vec::new();
        for closed in self.closed {
            if let PartitionFilter::Hashes(more) = closed.filter {
                // The entries of a key may go on in the next partition.
                let twice = hashes.last().is_some_and(|last| more.first() == Some(last));
                hashes.extend(&more[usize::from(twice)..]);
            }
            index.push(closed.index);
        }
        let bits = self.filter_bits;
        let filter = (bits > 0).then(|| filter::build(&hashes, bits));
        Finished::Whole { index: join(index), filter }
    }
}

impl Closed {
    fn finish(self) -> FinishedPartition {
        let filter = match self.filter {
            PartitionFilter::Block(block) if !block.is_empty() => Some(block),
            _ => None,
        };
        FinishedPartition { index: self.index, filter, end: self.end }
    }
}

/// A short internal key that is not before `last` and before `next`, two keys in order.
fn separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    between(last, next, 1)
}

/// The same, with hardly any key between `last` and it. A scan that begins in the gap before the
/// next block then finds the first key of that block, and need not read this block.
fn near_separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    let (last_key, _) = key::split(last);
    let (next_key, _) = key::split(next);
    let shared = last_key.iter().zip(next_key).take_while(|(a, b)| a == b).count();
    // Up to the first byte that differs, the keys are in order. A larger byte after it makes a key
    // after the last one and still before the next one.
    let near = (shared + NEAR_BYTES).max(key::SPACE_BYTES);
    let raised = last_key.iter().skip(near).position(|&byte| byte < u8::MAX).map(|at| near + at);
    match raised {
        Some(at) if shared < next_key.len() && at + 1 < last_key.len() => {
            let mut full_key = last_key[..=at].to_vec();
            full_key[at] += 1;
            key::internal_key(&full_key, Trailer::NEWEST)
        }
        _ => last.to_vec(),
    }
}

/// The same as [`separator`], and its full key is before the full key of `next`, or not after the
/// one of `last`: so all entries of a full key are on one side of it.
fn boundary(last: &[u8], next: &[u8]) -> Vec<u8> {
    between(last, next, 0)
}

/// `whole`: 1 if it may be the whole full key of `next`.
fn between(last: &[u8], next: &[u8], whole: usize) -> Vec<u8> {
    let (last_key, _) = key::split(last);
    let (next_key, _) = key::split(next);
    let shared = last_key.iter().zip(next_key).take_while(|(a, b)| a == b).count();
    // A prefix of the next key up to and with the first different byte is already after the last
    // key. It must be before the next *entry*, too: `NEWEST` is before every entry of that full
    // key.
    let cut = (shared + 1).max(key::SPACE_BYTES);
    if last_key == next_key || cut >= last_key.len() || cut >= next_key.len() + whole {
        return last.to_vec();
    }
    key::internal_key(&next_key[..cut], Trailer::NEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind, compare, full_key, internal_key};
    use std::cmp::Ordering;
    use terrace_env::SeqNo;

    const NO_FILTER: IndexLayout =
        IndexLayout { partition_size: 512, whole_max: 1 << 20, filter_bits: 0, first_keys: false };

    #[test]
    #[should_panic(expected = "the last block was added")]
    fn an_index_is_not_finished_where_a_partition_ends_without_the_last_block() {
        let key = |user: &[u8]| internal_key(&full_key(KeySpaceId(1), user), Trailer::NEWEST);
        // A block fills a partition, and without filters there is no trace of the next block.
        let mut index =
            IndexBuilder::new(IndexLayout { partition_size: 1, whole_max: 1, ..NO_FILTER });
        let (first, last) = (key(b"a"), key(b"a"));
        let block = WrittenBlock { handle: Handle { offset: 0, size: 9 }, first, last };
        index.add_block(&block, &key(b"b"));
        index.add_key(&key(b"b"), true);
        index.finish();
    }

    #[test]
    fn a_separator_lies_between_and_is_short() {
        let key = |user: &[u8], sequence| {
            let full = full_key(KeySpaceId(1), user);
            internal_key(&full, Trailer::new(SeqNo(sequence), Kind::Put))
        };
        let cases: [(&[u8], &[u8]); 6] = [
            (b"apple pie", b"apricot"),
            (b"a", b"ab"),
            (b"same", b"same"),
            (b"abcdef", b"abcdefg"),
            (b"abcdefgh", b"abcx"),
            (b"", b"x"),
        ];
        for (left, right) in cases {
            let (last, next) = (key(left, 9), key(right, 3));
            let between = separator(&last, &next);
            assert_ne!(compare(&between, &last), Ordering::Less, "{left:?} {right:?}");
            assert_eq!(compare(&between, &next), Ordering::Less, "{left:?} {right:?}");
            assert!(between.len() <= last.len());
            let end = boundary(&last, &next);
            assert_ne!(compare(&end, &last), Ordering::Less, "{left:?} {right:?}");
            let behind = key::split(&end).0 < key::split(&next).0 || end == last;
            assert!(behind, "{left:?} {right:?}");
        }
        assert_eq!(separator(&key(b"apple pie", 1), &key(b"apricot", 1)).len(), 4 + 3 + 8);
        let other_space = internal_key(&full_key(KeySpaceId(2), b"a"), Trailer::NEWEST);
        let between = separator(&key(b"zzzz", 1), &other_space);
        assert_eq!(compare(&between, &key(b"zzzz", 1)), Ordering::Greater);
    }

    #[test]
    fn a_near_separator_leaves_hardly_any_key_before_it() {
        let key = |user: &[u8], sequence| {
            let full = full_key(KeySpaceId(1), user);
            internal_key(&full, Trailer::new(SeqNo(sequence), Kind::Put))
        };
        let cases: [(&[u8], &[u8], &[u8]); 9] = [
            (b"1234567890", b"1300000000", b"1235"),
            (b"1234567890", b"9000000000", b"124"),
            (b"12\xff\xff\xff56", b"13", b"12\xff\xff\xff6"),
            (b"1\xff\xff\xff56", b"2", b"1\xff\xff\xff6"),
            (b"apple", b"apple pie", b""),
            (b"same", b"same", b""),
            (b"abc", b"abd", b""),
            (b"", b"x", b""),
            (b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\xff", b""),
        ];
        for (left, right, expected) in cases {
            let (last, next) = (key(left, 9), key(right, 3));
            let near = near_separator(&last, &next);
            let whole = if expected.is_empty() { left } else { expected };
            let expected = full_key(KeySpaceId(1), whole);
            assert_eq!(key::split(&near).0, expected, "{left:?} {right:?}");
            assert_ne!(compare(&near, &last), Ordering::Less, "{left:?} {right:?}");
            assert_eq!(compare(&near, &next), Ordering::Less, "{left:?} {right:?}");
            assert!(near.len() <= last.len());
        }
        let other_space = internal_key(&full_key(KeySpaceId(2), b"a"), Trailer::NEWEST);
        let near = near_separator(&key(b"zzzz", 1), &other_space);
        assert_eq!(key::split(&near).0, full_key(KeySpaceId(1), b"z{"));
    }
}
