//! [`LargeBuffers`]: idle buffers for the next uses: those of large batches that were written, of
//! copies of large values that clients have dropped, and of sections of tables that were read by
//! calls. To fill fresh pages costs about five times as much as to fill pages that were written
//! before.
//!
//! - A [`LargeBuffer`] is a buffer in use. When it is dropped, it becomes idle in the pool that it
//!   was taken from. It does not count as memory here while it is in use.
//! - [`LargeBuffers::copy_of`] copies a value for a client: into one of these buffers, or into
//!   memory of the allocator if the value is small.
//! - Idle buffers count as memory of batches. Together they have at most [`IDLE_BYTES_MAX`] bytes,
//!   and at most a 64th of the store's budget; further ones are freed.
//! - The contents of a buffer are cleared when it is taken, unless it is taken to be filled.
//!
//! Threads: any number. The list has a lock, which is held for a push or a search.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, IoBuf, MemoryGauge, MemoryLease};

/// The most idle bytes: those of some writers of values of 1 MiB.
const IDLE_BYTES_MAX: u64 = 8 << 20;
/// Divisor of the budget for the same.
const IDLE_PART: u64 = 64;
/// Idle buffers are searched one by one.
const IDLE_COUNT_MAX: usize = 32;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LargeBuffers {
    gauge: MemoryGauge,
    most: u64,
    idle: Mutex<Vec<(IoBuf, MemoryLease)>>,
}

impl LargeBuffers {
    /// Least capacity of a buffer. The allocator gives smaller memory without fresh pages.
    pub(crate) const LEAST: usize = 32 << 10;

    /// No buffers yet. `budget` is that of the store, `gauge` counts batches.
    pub(crate) fn new(gauge: MemoryGauge, budget: ByteCount) -> Self {
        let most = (budget.0 / IDLE_PART).min(IDLE_BYTES_MAX);
        Self { gauge, most, idle: Mutex::default() }
    }

    /// An empty buffer for `len` bytes.
    pub(crate) fn take(self: &Arc<Self>, len: usize) -> LargeBuffer {
        let mut bytes = self.find(len).unwrap_or_else(|| IoBuf::with_capacity(len));
        bytes.clear();
        LargeBuffer { bytes, home: Some(Arc::clone(self)) }
    }

    /// A buffer of `len` bytes, which the caller fills: they may be those of its last use.
    pub(crate) fn take_to_fill(self: &Arc<Self>, len: usize) -> LargeBuffer {
        let bytes = match self.find(len) {
            Some(mut bytes) => {
                bytes.resize(len);
                bytes
            }
            None => IoBuf::zeroed(len),
        };
        LargeBuffer { bytes, home: Some(Arc::clone(self)) }
    }

    /// The buffer in use that this memory is, which becomes idle here.
    pub(crate) fn adopt(self: &Arc<Self>, bytes: IoBuf) -> LargeBuffer {
        LargeBuffer { bytes, home: Some(Arc::clone(self)) }
    }

    /// An idle buffer that is large enough, and not far too large.
    fn find(&self, len: usize) -> Option<IoBuf> {
        let is_fit = |buffer: &IoBuf| buffer.capacity() >= len && buffer.capacity() / 4 <= len;
        let mut idle = self.idle.lock();
        // The one that was left last is most likely in the processor's cache.
        let at = idle.iter().rposition(|(buffer, _)| is_fit(buffer))?;
        Some(idle.remove(at).0)
    }

    /// A copy of a value.
    pub(crate) fn copy_of(self: &Arc<Self>, value: &[u8]) -> Bytes {
        if value.len() < Self::LEAST {
            return Bytes::copy_from_slice(value);
        }
        let mut buffer = self.take(value.len());
        buffer.extend(value);
        Bytes::from_owner(buffer)
    }

    /// Keeps a buffer, if there is room for it among the idle ones; the oldest ones make room.
    fn put_back(&self, buffer: IoBuf) {
        let size = buffer.capacity() as u64;
        if size > self.most || size < Self::LEAST as u64 {
            return;
        }
        let mut freed = Vec::new();
        let mut idle = self.idle.lock();
        let mut bytes: u64 = idle.iter().map(|(buffer, _)| buffer.capacity() as u64).sum();
        while bytes + size > self.most || idle.len() == IDLE_COUNT_MAX {
            let oldest = idle.remove(0);
            bytes -= oldest.0.capacity() as u64;
            freed.push(oldest);
        }
        idle.push((buffer, self.gauge.lease(size as usize)));
        debug_assert!(idle.len() <= IDLE_COUNT_MAX, "{} idle buffers", idle.len());
        drop(idle);
        drop(freed);
    }
}

/// A buffer in use.
#[derive(Debug)]
pub(crate) struct LargeBuffer {
    bytes: IoBuf,
    home: Option<Arc<LargeBuffers>>,
}

impl LargeBuffer {
    /// An empty buffer of no pool.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: IoBuf::with_capacity(capacity), home: None }
    }

    /// Its memory, which then belongs to no pool.
    pub(crate) fn into_bytes(mut self) -> IoBuf {
        self.home = None;
        std::mem::take(&mut self.bytes)
    }
}

/// Memory of no pool.
impl From<IoBuf> for LargeBuffer {
    fn from(bytes: IoBuf) -> Self {
        Self { bytes, home: None }
    }
}

/// A copy of the bytes, of no pool.
impl Clone for LargeBuffer {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), home: None }
    }
}

impl Drop for LargeBuffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl AsRef<[u8]> for LargeBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Deref for LargeBuffer {
    type Target = IoBuf;

    fn deref(&self) -> &IoBuf {
        &self.bytes
    }
}

impl DerefMut for LargeBuffer {
    fn deref_mut(&mut self) -> &mut IoBuf {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(budget: ByteCount) -> (Arc<LargeBuffers>, MemoryGauge) {
        let gauge = MemoryGauge::new("batches");
        (Arc::new(LargeBuffers::new(gauge.clone(), budget)), gauge)
    }

    #[test]
    fn a_buffer_is_used_again_and_counts_while_it_is_idle() {
        let (buffers, gauge) = buffers(ByteCount::mib(512));
        let mut first = buffers.take(1 << 20);
        first.extend(b"contents");
        let place = first.as_ptr();
        assert_eq!(gauge.used().0, 0);
        drop(first);
        assert_eq!(gauge.used().0, 1 << 20);
        let again = buffers.take(300 << 10);
        assert_eq!((again.as_ptr(), again.len(), gauge.used().0), (place, 0, 0));
        let copy = again.clone();
        drop((again, copy));
        assert_eq!(gauge.used().0, 1 << 20, "the copy belongs to no pool");
    }

    #[test]
    fn copies_of_large_values_use_memory_again_when_their_client_drops_them() {
        let (buffers, gauge) = buffers(ByteCount::mib(512));
        let value = vec![7; 100 << 10];
        let copy = buffers.copy_of(&value);
        let (place, part) = (copy.as_ptr(), copy.slice(5..9));
        assert!(copy == value && buffers.copy_of(&[]).is_empty());
        drop(copy);
        assert_eq!((&part[..], gauge.used().0), (&[7; 4][..], 0), "a part keeps the buffer");
        drop(part);
        assert!(gauge.used().0 >= 100 << 10);
        assert_eq!(buffers.copy_of(&value[..90 << 10]).as_ptr(), place);
        let small = buffers.copy_of(&value[..LargeBuffers::LEAST - 1]);
        assert!(gauge.used().0 >= 100 << 10 && small.len() == LargeBuffers::LEAST - 1);
    }

    #[test]
    fn a_buffer_that_is_taken_to_be_filled_is_not_filled_with_zeros_first() {
        let (buffers, _) = buffers(ByteCount::mib(512));
        let mut first = buffers.take_to_fill(200 << 10);
        assert!(first.iter().all(|byte| *byte == 0));
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        let again = buffers.take_to_fill(150 << 10);
        assert_eq!((again.as_ptr(), again.len(), again[0]), (place, 150 << 10, 7));
        drop(again);
        assert_eq!(buffers.take_to_fill(200 << 10)[150 << 10..], [0; 50 << 10]);
    }

    #[test]
    fn a_buffer_that_is_too_small_or_far_too_large_is_not_taken() {
        let (buffers, gauge) = buffers(ByteCount::mib(512));
        drop(buffers.take(1 << 20));
        let other = [buffers.take((1 << 20) + 1), buffers.take(255 << 10)];
        assert_eq!(gauge.used().0, 1 << 20);
        drop(other);
    }

    #[test]
    fn idle_buffers_have_a_bound_and_the_oldest_is_freed() {
        let (buffers, gauge) = buffers(ByteCount::mib(64));
        drop([buffers.take(600 << 10), buffers.take(400 << 10)]);
        assert_eq!(gauge.used().0, 1000 << 10);
        drop(buffers.take((2 << 20) + 1));
        assert_eq!(gauge.used().0, 1000 << 10, "a buffer beyond the bound");
        drop(buffers.take(500 << 10));
        assert_eq!(gauge.used().0, 1000 << 10, "one of them was taken");
        drop(buffers.take(612 << 10));
        assert_eq!(gauge.used().0, 612 << 10, "both made room");
        drop(buffers.take(1 << 10));
        assert_eq!(gauge.used().0, 612 << 10, "small memory is not kept");
    }
}
