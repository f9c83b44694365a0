//! [`ScanBuffers`]: idle buffers of scans that have ended, for scans that begin. A fresh buffer
//! costs page faults and zeros, for a short scan as much as half of its copies.
//!
//! - A buffer has 16, 32 or [64 KiB](BUFFER_BYTES), the least that suffices: a client that keeps a
//!   value keeps the whole buffer. Its contents are those of earlier reads.
//! - An idle buffer counts as memory of scans. All idle buffers together have at most
//!   [`IDLE_BYTES_MAX`] bytes, and at most a sixteenth of the scans' share.
//!
//! Threads: any number. The list has a lock, which is held for a push or a pop.

use bytes::BytesMut;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge, MemoryLease};

/// Bytes of a buffer: the most that a scan reads at once if the host has the file in memory. With
/// it the copy, the checksums and the use of the bytes all stay within a processor's cache.
pub(super) const BUFFER_BYTES: usize = 64 << 10;
/// The least buffer.
const LEAST_BYTES: usize = 16 << 10;
/// The most idle bytes: those of a few scans over a few runs each.
const IDLE_BYTES_MAX: u64 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ScanBuffers {
    gauge: MemoryGauge,
    most: u64,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    bytes: u64,
    /// The buffers of each size.
    buffers: [Vec<(BytesMut, MemoryLease)>; 3],
}

impl Idle {
    /// Bytes of all buffers.
    fn counted(&self) -> u64 {
        self.buffers.iter().flatten().map(|(buffer, _)| buffer.len() as u64).sum()
    }
}

/// Index of a size among the idle buffers.
fn class(len: usize) -> usize {
    (len / LEAST_BYTES).ilog2() as usize
}

impl ScanBuffers {
    /// No buffers yet; `share` is that of scans, which `gauge` counts.
    pub(super) fn new(gauge: MemoryGauge, share: ByteCount) -> Self {
        Self { gauge, most: (share.0 / 16).min(IDLE_BYTES_MAX), idle: Mutex::default() }
    }

    /// Size of the buffer for `len` bytes; `None` if it is none of these buffers.
    pub(crate) fn size_for(len: usize) -> Option<usize> {
        (len <= BUFFER_BYTES).then(|| len.next_power_of_two().max(LEAST_BYTES))
    }

    /// A buffer of a size that [`size_for`](Self::size_for) has returned. The caller counts it.
    pub(crate) fn take(&self, size: usize) -> BytesMut {
        let found = {
            let mut idle = self.idle.lock();
            let found = idle.buffers[class(size)].pop();
            idle.bytes -= found.as_ref().map_or(0, |(buffer, _)| buffer.len() as u64);
            found
        };
        found.map_or_else(|| BytesMut::zeroed(size), |(buffer, _)| buffer)
    }

    /// Keeps a buffer that is not needed any more. The caller counts it no longer.
    pub(crate) fn put(&self, buffer: BytesMut) {
        let len = buffer.len();
        debug_assert_eq!(Self::size_for(len), Some(len), "a buffer of a scan");
        let mut idle = self.idle.lock();
        if idle.bytes + len as u64 <= self.most {
            idle.bytes += len as u64;
            idle.buffers[class(len)].push((buffer, self.gauge.lease(len)));
            debug_assert_eq!(idle.bytes, idle.counted(), "bytes of the idle buffers");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_and_count_while_they_are_idle() {
        let gauge = MemoryGauge::new("test");
        let buffers = ScanBuffers::new(gauge.clone(), ByteCount::mib(2));
        let sizes =
            [1, LEAST_BYTES + 1, BUFFER_BYTES].map(|len| ScanBuffers::size_for(len).unwrap());
        assert_eq!(sizes, [16 << 10, 32 << 10, 64 << 10]);
        let [small, middle, large] = sizes.map(|size| buffers.take(size));
        let places = [small.as_ptr(), middle.as_ptr()];
        assert_eq!(gauge.used().0, 0);
        [large, middle, small].into_iter().rev().for_each(|buffer| buffers.put(buffer));
        assert_eq!(gauge.used().0, 112 << 10);
        assert_eq!(buffers.take(sizes[1]).as_ptr(), places[1]);
        assert_eq!(buffers.take(sizes[0]).as_ptr(), places[0]);
        assert_eq!(gauge.used().0, 64 << 10);
        (0..9).for_each(|_| buffers.put(BytesMut::zeroed(LEAST_BYTES)));
        assert_eq!(gauge.used().0, 128 << 10);
    }

    #[test]
    fn a_small_share_keeps_none() {
        let buffers = ScanBuffers::new(MemoryGauge::new("test"), ByteCount::kib(128));
        buffers.put(buffers.take(LEAST_BYTES));
        assert_eq!(buffers.idle.lock().bytes, 0);
    }
}
