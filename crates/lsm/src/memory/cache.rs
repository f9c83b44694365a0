//! [`BlockCache`]: contents of data blocks that were read, checked and decompressed. All tables of
//! an engine share it.
//!
//! - A block is found by the id of its file and its offset. That is safe because a table never
//!   changes, and a store does not use an id again.
//! - A reader that has an evicted block keeps it; the cache no longer counts its memory.
//! - If the cache is made with a capacity below [`CAPACITY_MIN`], it keeps and finds nothing.
//! - The memory of an evicted block is kept for the next read of the same thread
//!   ([`BlockCache::take_spare`]), if it has at most [`SPARE_BYTES_MAX`] bytes and no reader has
//!   the block. There are at most sixteen such buffers, and they are not counted.
//! - The hash function and the number of shards are fixed, so the same calls in the same order
//!   evict the same blocks.
//!
//! Threads: any number. A call takes the lock of one shard; [`BlockCache::resize`] takes all, one
//! after the other. A thread that keeps or takes a buffer takes a lock that it shares with few
//! other threads.

use std::hash::{BuildHasher, Hasher};

use bytes::{Bytes, BytesMut};
use quick_cache::sync::Cache;
use quick_cache::{Lifecycle, OptionsBuilder, Weighter};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, MemoryGauge, PerThread};
use xxhash_rust::xxh3::Xxh3;

/// Number of shards, each with a lock. More than the cores of a large machine are of no use.
const SHARDS: usize = 16;
/// Bytes of an entry without the block.
const ENTRY_BYTES: u64 = 96;
/// Least size of a cache: with less, a shard would hold fewer than a few blocks.
const CAPACITY_MIN: u64 = SHARDS as u64 * 32 * 1024;

/// The largest buffer that is kept: two of the usual blocks.
const SPARE_BYTES_MAX: usize = 8 << 10;
/// The most blocks that the cache makes room for at once; it makes room for others as they come.
const BLOCKS_EXPECTED_MAX: u64 = 1 << 22;

type Key = (FileId, u64);

#[derive(Clone, Debug, Default)]
struct FixedHash;

impl BuildHasher for FixedHash {
    type Hasher = Mix;

    fn build_hasher(&self) -> Mix {
        Mix(0)
    }
}

/// Hasher that mixes the two words of a key.
#[derive(Debug)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut whole = Xxh3::with_seed(self.0);
        whole.update(bytes);
        self.0 = whole.digest();
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[derive(Clone, Debug)]
struct BlockWeight;

impl Weighter<Key, Bytes> for BlockWeight {
    fn weight(&self, _: &Key, block: &Bytes) -> u64 {
        block.len() as u64 + ENTRY_BYTES
    }
}

/// Counts evicted blocks, and drops them after the shard's lock is free.
#[derive(Clone, Debug)]
struct Counted(MemoryGauge);

impl Lifecycle<Key, Bytes> for Counted {
    /// Evicted blocks: usually one or two for a new block.
    type RequestState = [Option<Bytes>; 2];

    fn begin_request(&self) -> Self::RequestState {
        [None, None]
    }

    fn on_evict(&self, state: &mut Self::RequestState, key: Key, block: Bytes) {
        self.0.give_back(BlockWeight.weight(&key, &block));
        if let Some(free) = state.iter_mut().find(|kept| kept.is_none()) {
            *free = Some(block);
        }
    }
}

type Blocks = Cache<Key, Bytes, BlockWeight, FixedHash, Counted>;

/// The block cache.
#[derive(Debug)]
pub(crate) struct BlockCache {
    blocks: Option<Blocks>,
    gauge: MemoryGauge,
    /// Memory of evicted blocks.
    spares: PerThread<Mutex<Option<BytesMut>>>,
}

impl BlockCache {
    /// A cache of about this many bytes; none if it would be too small to be of use.
    pub(crate) fn new(capacity: ByteCount, block_size: ByteCount, gauge: MemoryGauge) -> Self {
        if capacity.0 < CAPACITY_MIN {
            return Self { blocks: None, gauge, spares: PerThread::default() };
        }
        let blocks = capacity.0 / block_size.0.saturating_add(ENTRY_BYTES);
        let blocks = blocks.clamp(1, BLOCKS_EXPECTED_MAX);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(usize::try_from(blocks).unwrap_or(usize::MAX))
            .weight_capacity(capacity.0)
            .shards(SHARDS)
            .build()
            .expect("all options are given");
        let lifecycle = Counted(gauge.clone());
        let blocks = Cache::with_options(options, BlockWeight, FixedHash, lifecycle);
        Self { blocks: Some(blocks), gauge, spares: PerThread::default() }
    }

    /// The contents of the block at `offset` of `file`.
    pub(crate) fn get(&self, file: FileId, offset: u64) -> Option<Bytes> {
        self.blocks.as_ref()?.get(&(file, offset))
    }

    pub(crate) fn insert(&self, file: FileId, offset: u64, block: Bytes) {
        if let Some(blocks) = &self.blocks {
            let key = (file, offset);
            self.gauge.take(BlockWeight.weight(&key, &block));
            let evicted = blocks.insert_with_lifecycle(key, block);
            evicted.into_iter().flatten().for_each(|block| self.keep_spare(block));
        }
    }

    fn keep_spare(&self, block: Bytes) {
        if block.len() <= SPARE_BYTES_MAX
            && let Ok(buffer) = block.try_into_mut()
            && buffer.capacity() <= SPARE_BYTES_MAX
        {
            *self.spares.own().lock() = Some(buffer);
        }
    }

    /// A buffer of `len` bytes with any contents, from an evicted block of about this size.
    pub(crate) fn take_spare(&self, len: usize) -> Option<BytesMut> {
        if len > SPARE_BYTES_MAX {
            return None;
        }
        let mut buffer = self.spares.own().lock().take()?;
        // The block may have been cut off a buffer that is a little longer.
        let is_fit = buffer.capacity() >= len && buffer.capacity() - len <= len / 8;
        is_fit.then(|| {
            buffer.resize(len, 0);
            buffer
        })
    }

    /// Changes the capacity.
    pub(crate) fn resize(&self, capacity: ByteCount) {
        if let Some(blocks) = &self.blocks {
            blocks.set_capacity(capacity.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> (BlockCache, Vec<u64>) {
        let gauge = MemoryGauge::new("test");
        let cache = BlockCache::new(ByteCount::mib(1), ByteCount::kib(4), gauge);
        for i in 0..1000 {
            cache.insert(FileId(i % 7), i * 4096, Bytes::from(vec![i as u8; 4000]));
        }
        let kept = (0..1000).filter(|i| cache.get(FileId(i % 7), i * 4096).is_some()).collect();
        (cache, kept)
    }

    #[test]
    fn what_it_keeps_fits_and_is_the_same_in_every_run() {
        let (cache, kept) = filled();
        assert!(kept.len() > 100 && kept.len() < 262, "{}", kept.len());
        assert_eq!(kept, filled().1);
        assert_eq!(cache.get(FileId(9), 0), None);
    }

    #[test]
    fn what_it_keeps_is_counted_whatever_goes() {
        let (cache, _) = filled();
        let weight = |cache: &BlockCache| cache.blocks.as_ref().unwrap().weight();
        assert_eq!(cache.gauge.used().0, weight(&cache));
        assert!(cache.gauge.used() <= ByteCount::mib(1));
        // A block that is there already, and one that is too large.
        cache.insert(FileId(1), 0, Bytes::from(vec![7; 3000]));
        cache.insert(FileId(1), 0, Bytes::from(vec![7; 3]));
        cache.insert(FileId(2), 0, Bytes::from(vec![7; 1 << 20]));
        assert_eq!(cache.gauge.used().0, weight(&cache));
        cache.resize(ByteCount::kib(200));
        assert_eq!(cache.gauge.used().0, weight(&cache));
        assert!(cache.gauge.used() <= ByteCount::kib(200));
    }

    #[test]
    fn a_read_takes_the_memory_of_an_evicted_block_of_about_its_size_that_no_reader_has() {
        let (cache, _) = filled();
        assert_eq!(cache.take_spare(3900).map(|buffer| buffer.len()), Some(3900));
        assert!(cache.take_spare(3900).is_none());
        let mut held: Vec<_> =
            (0..1000).filter_map(|i| cache.get(FileId(i % 7), i * 4096)).collect();
        for i in 1000..1500 {
            let block = Bytes::from(vec![1; 4000]);
            held.push(block.clone());
            cache.insert(FileId(8), i, block);
        }
        assert!(cache.take_spare(4000).is_none(), "readers have all blocks");
        for (size, fits) in [(4001, false), (4000, true), (2000, false)] {
            (0..1000).for_each(|i| cache.insert(FileId(9), i, Bytes::from(vec![2; 4000])));
            assert_eq!(cache.take_spare(size).is_some(), fits, "{size}");
        }
    }

    #[test]
    fn a_cache_of_nothing_keeps_nothing() {
        let gauge = MemoryGauge::new("test");
        let cache = BlockCache::new(ByteCount(0), ByteCount::kib(4), gauge);
        cache.insert(FileId(1), 0, Bytes::from_static(b"block"));
        assert_eq!(cache.get(FileId(1), 0), None);
    }
}
