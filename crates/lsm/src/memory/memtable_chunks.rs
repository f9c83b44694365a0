//! [`MemtableChunks`]: the large chunks of memtables, and idle ones of memtables that were flushed.
//! To fill fresh pages costs about five times as much as to fill pages that were written before.
//!
//! - A memtable takes chunks, and puts them back when it is dropped. It counts the chunks that it
//!   has, by a lease of its own.
//! - Idle chunks are counted here, apart from memtables: they delay no writer. Together they have
//!   at most as many bytes as one memtable.
//! - If no idle chunk fits, idle chunks of the wanted size are freed before a fresh one is made. So
//!   memtables and idle chunks together never grow beyond the most that memtables alone have had.
//! - All are freed when writers are idle ([`free_idle`](MemtableChunks::free_idle)).
//! - A fresh chunk is in memory as a whole if it is a small part of a memtable, which will fill it.
//! - If no idle bytes are allowed, chunks are mapped and unmapped page by page.
//! - The contents of a chunk are those of an earlier memtable, or zeros.
//!
//! Threads: any number. The list has a lock, held for a push or a search. No other lock is taken
//! under it.

use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge, MemoryLease, Pages};

/// A chunk is taken for a wanted size if at most this part of that size stays unused.
const UNUSED_PART: usize = 8;

/// Divisor of a memtable for the largest chunk that is in memory as a whole.
const RESIDENT_PART: u64 = 8;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MemtableChunks {
    memtables: MemoryGauge,
    most: u64,
    idle: Mutex<Idle>,
}

#[derive(Debug)]
struct Idle {
    /// The chunk that was put back last is the last.
    chunks: Vec<Pages>,
    bytes: usize,
    lease: MemoryLease,
}

impl MemtableChunks {
    /// No chunks yet. `memtables` counts those in use, `idle` the idle ones, of `most` bytes at
    /// most.
    pub(crate) fn new(memtables: MemoryGauge, idle: &MemoryGauge, most: ByteCount) -> Self {
        let idle = Idle { chunks: Vec::new(), bytes: 0, lease: idle.lease(0) };
        Self { memtables, most: most.0, idle: Mutex::new(idle) }
    }

    /// Chunks that are counted by this gauge and never idle.
    #[cfg(test)]
    pub(crate) fn counted_by(gauge: &MemoryGauge) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self::new(gauge.clone(), &MemoryGauge::new("idle"), ByteCount(0)))
    }

    /// Counts memory of a memtable.
    pub(crate) fn lease(&self, bytes: usize) -> MemoryLease {
        self.memtables.lease(bytes)
    }

    /// A chunk of `len` bytes, or of some more.
    pub(crate) fn take(&self, len: usize) -> Pages {
        let fits = |chunk: &Pages| (len..=len + len / UNUSED_PART).contains(&chunk.len());
        let mut freed = Vec::new();
        let mut idle = self.idle.lock();
        if let Some(at) = idle.chunks.iter().rposition(fits) {
            let chunk = idle.chunks.swap_remove(at);
            let bytes = idle.bytes - chunk.len();
            idle.count(bytes);
            return chunk;
        }
        let mut bytes = idle.bytes;
        while idle.bytes - bytes < len
            && let Some(chunk) = idle.chunks.pop()
        {
            bytes -= chunk.len();
            freed.push(chunk);
        }
        idle.count(bytes);
        drop(idle);
        drop(freed);
        if len as u64 <= self.most / RESIDENT_PART { Pages::resident(len) } else { Pages::new(len) }
    }

    /// Keeps a chunk that its memtable does not need any more, if there is room for it.
    pub(crate) fn put_back(&self, chunk: Pages) {
        let mut idle = self.idle.lock();
        let bytes = idle.bytes + chunk.len();
        if bytes as u64 <= self.most {
            idle.chunks.push(chunk);
            idle.count(bytes);
        }
    }

    /// Frees all idle chunks.
    pub(crate) fn free_idle(&self) {
        let mut idle = self.idle.lock();
        let freed = std::mem::take(&mut idle.chunks);
        idle.count(0);
        drop(idle);
        drop(freed);
    }
}

impl Idle {
    fn count(&mut self, bytes: usize) {
        let all = || self.chunks.iter().map(|chunk| chunk.len()).sum::<usize>();
        debug_assert_eq!(bytes, all(), "bytes of the idle chunks");
        self.bytes = bytes;
        self.lease.resize(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn chunks() -> (MemtableChunks, MemoryGauge) {
        let idle = MemoryGauge::new("idle");
        (MemtableChunks::new(MemoryGauge::new("test"), &idle, ByteCount::mib(4)), idle)
    }

    #[test]
    fn a_chunk_is_used_again_and_counts_while_it_is_idle() {
        let (chunks, idle) = chunks();
        let chunk = chunks.take(MIB);
        let place = chunk.as_ptr();
        assert_eq!(idle.used().0, 0);
        chunks.put_back(chunk);
        assert_eq!(idle.used().0, 1 << 20);
        let again = chunks.take(MIB - MIB / 10);
        assert_eq!((again.as_ptr(), again.len(), idle.used().0), (place, MIB, 0));
    }

    #[test]
    fn a_fresh_chunk_takes_the_place_of_idle_ones() {
        let (chunks, idle) = chunks();
        let all: Vec<_> = (0..4).map(|_| chunks.take(MIB)).collect();
        all.into_iter().for_each(|chunk| chunks.put_back(chunk));
        assert_eq!(idle.used().0, 4 << 20);
        let small = chunks.take(MIB / 2);
        assert_eq!((small.len(), idle.used().0), (MIB / 2, 3 << 20));
        let large = chunks.take(MIB + MIB / 2);
        assert_eq!((large.len(), idle.used().0), (MIB + MIB / 2, 1 << 20));
        let larger = chunks.take(9 * MIB);
        assert_eq!((larger.len(), idle.used().0), (9 * MIB, 0));
    }

    #[test]
    fn idle_chunks_have_a_bound_and_are_freed_at_rest() {
        let (chunks, idle) = chunks();
        let all: Vec<_> = (0..5).map(|_| chunks.take(MIB)).collect();
        all.into_iter().for_each(|chunk| chunks.put_back(chunk));
        assert_eq!(idle.used().0, 4 << 20);
        chunks.put_back(chunks.take(5 * MIB));
        assert_eq!(idle.used().0, 0, "all made room, and the chunk is beyond the bound");
        chunks.put_back(chunks.take(MIB));
        chunks.free_idle();
        assert_eq!(idle.used().0, 0);
    }
}
