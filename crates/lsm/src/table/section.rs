//! [`Section`]: the memory of a part of a table that was read by one request.
//!
//! - The memory is used again for the next section if it fits and no client has a value in it.
//! - A section that was read into another buffer can replace the current one. The memory of the
//!   current one, if it is large and free, can then be filled again.
//! - A section can take its memory from buffers that other sections have left. Small memory goes
//!   there when the section is dropped or takes other memory; large memory when the last value in
//!   it is dropped.
//! - A large section ([`MAPPED_MIN`] bytes or more) counts until the last value in it is dropped. A
//!   small one counts while its owner has it, unless the owner says that it does not count.
//!
//! One owner; its values may go to any thread. A section does not read: the caller gives a function
//! that fills it.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use terrace_env::store::ReadBuf;
use terrace_env::{IoBuf, MAPPED_MIN, MemoryGauge, MemoryLease};

use crate::Error;
use crate::memory::{LargeBuffer, LargeBuffers, ScanBuffers};

/// Where sections leave their memory to others.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// Small memory.
    pub(super) small: Option<Arc<ScanBuffers>>,
    /// Large memory.
    pub(super) large: Option<Arc<LargeBuffers>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Section {
    gauge: MemoryGauge,
    pools: Pools,
    bytes: Bytes,
    /// All of its memory, if it is small: `bytes` is the front of it.
    whole: Bytes,
    /// The memory of `bytes`, if it is large.
    large: Option<Arc<Large>>,
    /// Lease that counts its memory, if it is small.
    lease: MemoryLease,
}

#[derive(Debug)]
struct Large {
    bytes: LargeBuffer,
    lease: MemoryLease,
}

/// Large memory that can be filled again, and counts meanwhile.
#[derive(Debug)]
pub(super) struct Spare {
    bytes: LargeBuffer,
    lease: MemoryLease,
}

impl Spare {
    /// Bytes that it counts.
    pub(super) fn counted(&self) -> u64 {
        self.lease.bytes()
    }
}

/// Owner that the values in a large section share.
struct Owner(Arc<Large>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Section {
    /// No bytes yet; `gauge` counts them.
    pub(super) fn new(gauge: &MemoryGauge, pools: Pools) -> Self {
        let (gauge, lease) = (gauge.clone(), gauge.lease(0));
        Self { gauge, pools, bytes: Bytes::new(), whole: Bytes::new(), large: None, lease }
    }

    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A buffer of `len` bytes to read into for a later [`replace`](Self::replace), and the lease
    /// that counts it: `spare`, if it fits.
    pub(super) fn buffer(&self, spare: Option<Spare>, len: usize) -> (ReadBuf, MemoryLease) {
        match spare {
            Some(Spare { mut bytes, lease })
                if len >= MAPPED_MIN && is_fit(bytes.capacity(), len) =>
            {
                bytes.resize(len);
                (ReadBuf::Large(bytes.into_bytes()), lease)
            }
            _ => {
                let bytes = match &self.pools.large {
                    Some(pool) if len >= MAPPED_MIN => {
                        ReadBuf::Large(pool.take_to_fill(len).into_bytes())
                    }
                    _ => ReadBuf::zeroed(len),
                };
                let lease = self.gauge.lease(bytes.capacity());
                (bytes, lease)
            }
        }
    }

    /// Bytes that it counts.
    pub(super) fn counted(&self) -> u64 {
        self.large.as_ref().map_or(self.lease.bytes(), |large| large.lease.bytes())
    }

    /// Drops the bytes and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(0);
    }

    /// Drops the bytes and frees the memory.
    pub(super) fn release(&mut self) {
        *self = Self::new(&self.gauge, std::mem::take(&mut self.pools));
    }

    /// Replaces the bytes by these, which the caller counts.
    pub(super) fn share(&mut self, bytes: Bytes) {
        self.release();
        self.bytes = bytes;
    }

    /// Replaces the bytes by those of a buffer that `lease` counts. Returns the memory of the old
    /// bytes, if it is large and has no other user.
    pub(super) fn replace(&mut self, bytes: ReadBuf, lease: MemoryLease) -> Option<Spare> {
        (self.bytes, self.whole) = (Bytes::new(), Bytes::new());
        let before = self.large.take().and_then(|large| Arc::try_unwrap(large).ok());
        match bytes {
            ReadBuf::Small(bytes) => {
                self.whole = bytes.into();
                (self.bytes, self.lease) = (self.whole.clone(), lease);
            }
            ReadBuf::Large(bytes) => {
                self.lease.resize(0);
                let bytes = match &self.pools.large {
                    Some(pool) => pool.adopt(bytes),
                    None => bytes.into(),
                };
                self.set_large(Large { bytes, lease });
            }
        }
        before.map(|large| Spare { bytes: large.bytes, lease: large.lease })
    }

    fn set_large(&mut self, large: Large) {
        let large = Arc::new(large);
        self.bytes = Bytes::from_owner(Owner(Arc::clone(&large)));
        self.large = Some(large);
    }

    /// Replaces the bytes by `len` bytes: those of `kept` first, and then those that `read` fills
    /// in. After an error: those of `kept`. `counts`: whether a small section counts, too.
    pub(super) fn refill(
        &mut self,
        kept: Range<usize>,
        len: usize,
        counts: bool,
        read: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let front = kept.len();
        let (bytes, large) = (std::mem::take(&mut self.bytes), self.large.take());
        if len < MAPPED_MIN {
            let mut buffer = self.small(bytes, kept, len, counts);
            drop(large);
            self.lease.resize(if counts { buffer.len() } else { 0 });
            let result = read(&mut buffer[front..len]);
            self.whole = buffer.freeze();
            self.bytes = self.whole.slice(..if result.is_ok() { len } else { front });
            return result;
        }
        self.whole = Bytes::new();
        self.lease.resize(0);
        let mut large = self.large(bytes, large, kept, len);
        let result = read(&mut large.bytes[front..]);
        large.bytes.truncate(if result.is_ok() { len } else { front });
        self.set_large(large);
        result
    }

    /// Large memory for `len` bytes that begin with those of `kept`: the old memory, if it fits and
    /// has no other user.
    fn large(
        &self,
        bytes: Bytes,
        before: Option<Arc<Large>>,
        kept: Range<usize>,
        len: usize,
    ) -> Large {
        let front = kept.len();
        let fits = |before: &Arc<Large>| is_fit(before.bytes.capacity(), len);
        let old = match before.filter(fits) {
            None => bytes,
            Some(before) => {
                drop(bytes);
                match Arc::try_unwrap(before) {
                    Ok(mut large) => {
                        large.bytes.copy_within(kept, 0);
                        large.bytes.resize(len);
                        return large;
                    }
                    Err(before) => Bytes::from_owner(Owner(before)),
                }
            }
        };
        let mut fresh = match &self.pools.large {
            Some(pool) => pool.take_to_fill(len),
            None => IoBuf::zeroed(len).into(),
        };
        fresh[..front].copy_from_slice(&old[kept]);
        let lease = self.gauge.lease(fresh.capacity());
        Large { bytes: fresh, lease }
    }

    /// The same for small memory, which may be longer than `len`. `lasts`: whether it may be taken
    /// from the buffers, because no block that stays in memory will lie in it.
    fn small(&mut self, bytes: Bytes, kept: Range<usize>, len: usize, lasts: bool) -> BytesMut {
        let front = kept.len();
        let (mut old, whole) = (bytes, std::mem::take(&mut self.whole));
        let can_reuse = match (self.is_buffer(&whole), ScanBuffers::size_for(len)) {
            (true, Some(size)) => lasts && is_fit(whole.len(), size),
            (true, None) => false,
            (false, _) => is_fit(whole.len(), len),
        };
        if can_reuse {
            drop(old);
            match whole.try_into_mut() {
                Ok(mut buffer) => {
                    buffer.copy_within(kept, 0);
                    return buffer;
                }
                Err(whole) => old = whole,
            }
        } else {
            self.whole = whole;
        }
        let mut fresh = match (&self.pools.small, ScanBuffers::size_for(len)) {
            (Some(buffers), Some(size)) if lasts => buffers.take(size),
            _ => BytesMut::zeroed(len),
        };
        fresh[..front].copy_from_slice(&old[kept]);
        drop(old);
        self.put_back();
        fresh
    }

    fn is_buffer(&self, whole: &Bytes) -> bool {
        self.pools.small.is_some() && ScanBuffers::size_for(whole.len()) == Some(whole.len())
    }

    /// Leaves its memory to other sections, if it came from them and no client has a value in it.
    fn put_back(&mut self) {
        let whole = std::mem::take(&mut self.whole);
        if let (true, Some(buffers)) = (self.is_buffer(&whole), &self.pools.small)
            && let Ok(buffer) = whole.try_into_mut()
        {
            self.lease.resize(0);
            buffers.put(buffer);
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        self.bytes = Bytes::new();
        self.put_back();
    }
}

/// Whether memory is enough for `len` bytes, and not far too much.
fn is_fit(capacity: usize, len: usize) -> bool {
    capacity >= len && capacity / 4 <= len
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::options::EngineOptions;

    fn fill(section: &mut Section, kept: Range<usize>, len: usize, with: u8) {
        let read = |into: &mut [u8]| {
            into.fill(with);
            Ok(())
        };
        section.refill(kept, len, true, read).unwrap();
    }

    #[test]
    fn what_is_kept_stays_in_front_whatever_the_sizes_are() {
        let sizes = [10, 5_000, MAPPED_MIN, MAPPED_MIN + 1, 3 * MAPPED_MIN, 20];
        for before in sizes {
            for after in sizes {
                for held in [false, true] {
                    let mut section = Section::new(&MemoryGauge::new("test"), Pools::default());
                    fill(&mut section, 0..0, before, 1);
                    let value = held.then(|| section.bytes().slice(..));
                    fill(&mut section, before - 10..before, after, 2);
                    let expected = [vec![1; 10], vec![2; after - 10]].concat();
                    assert_eq!(section.bytes()[..], expected[..], "{before} {after} {held}");
                    assert!(value.is_none_or(|value| value[..] == vec![1; before][..]));
                }
            }
        }
    }

    #[test]
    fn a_section_takes_a_buffer_that_another_one_has_left_and_no_value_lies_in_it() {
        let memory = Memory::new(&EngineOptions::default());
        let gauge = &memory.scans;
        let buffers = || Pools { small: Some(Arc::clone(&memory.scan_buffers)), large: None };
        let mut one = Section::new(gauge, buffers());
        fill(&mut one, 0..0, 5_000, 1);
        let place = one.bytes().as_ptr();
        // Of the sizes that follow, each is kept at the front of the next.
        for (before, after) in [(5_000, 9_000), (9_000, 16_384), (16_384, 100)] {
            fill(&mut one, before - 10..before, after, 2);
            assert_eq!((one.bytes().as_ptr(), one.bytes().len()), (place, after));
        }
        // A larger read takes a larger buffer, and leaves this one.
        fill(&mut one, 90..100, 30_000, 2);
        assert_eq!(gauge.used().0, 48 << 10);
        drop(one);
        assert_eq!(gauge.used().0, 48 << 10);
        let mut two = Section::new(gauge, buffers());
        fill(&mut two, 0..0, 8_000, 3);
        assert_eq!(two.bytes().as_ptr(), place);
        let value = two.bytes().slice(7..20);
        fill(&mut two, 0..0, 8_000, 4);
        assert_ne!(two.bytes().as_ptr(), place);
        drop(two);
        assert_eq!((&value[..], gauge.used().0), (&[3; 13][..], 48 << 10));
    }

    #[test]
    fn a_large_section_takes_memory_that_the_last_value_in_another_one_has_left() {
        let memory = Memory::new(&EngineOptions::default());
        let (gauge, len) = (&memory.jobs, 2 * MAPPED_MIN);
        let pools = || Pools { small: None, large: Some(Arc::clone(&memory.large_buffers)) };
        let mut one = Section::new(gauge, pools());
        fill(&mut one, 0..0, len, 1);
        let place = one.bytes().as_ptr();
        // The walk still has the last value of the section when it reads the next one.
        let value = one.bytes().slice(len - 10..);
        fill(&mut one, len - 5..len, len, 2);
        assert_ne!(one.bytes().as_ptr(), place);
        assert_eq!(gauge.used().0, 2 * len as u64);
        drop(value);
        assert_eq!(gauge.used().0, len as u64, "idle memory is no job's");
        let value = one.bytes().slice(..7);
        fill(&mut one, 0..3, len - 4096, 3);
        assert_eq!((one.bytes().as_ptr(), one.bytes().len()), (place, len - 4096));
        assert_eq!(
            (&one.bytes()[..4], &value[..]),
            (&[1, 1, 1, 3][..], &[1, 1, 1, 1, 1, 2, 2][..])
        );
    }

    #[test]
    fn a_read_that_fails_leaves_what_was_kept() {
        for len in [50, MAPPED_MIN] {
            let mut section = Section::new(&MemoryGauge::new("test"), Pools::default());
            fill(&mut section, 0..0, 100, 1);
            section.refill(90..100, len, true, |_| Err(Error::Closed)).unwrap_err();
            assert_eq!(section.bytes()[..], [1; 10]);
        }
    }

    #[test]
    fn memory_is_used_again_and_counts_as_long_as_anybody_has_a_value_out_of_it() {
        let gauge = MemoryGauge::new("test");
        let mut section = Section::new(&gauge, Pools::default());
        fill(&mut section, 0..0, 2 * MAPPED_MIN, 1);
        let place = section.bytes().as_ptr();
        fill(&mut section, 0..0, MAPPED_MIN, 2);
        assert_eq!((section.bytes().as_ptr(), gauge.used().0), (place, 2 * MAPPED_MIN as u64));
        let value = section.bytes().slice(5..10);
        fill(&mut section, 0..0, MAPPED_MIN, 3);
        assert_eq!((&value[..], gauge.used().0), (&[2; 5][..], 3 * MAPPED_MIN as u64));
        section.release();
        assert_eq!(gauge.used().0, 2 * MAPPED_MIN as u64);
        drop(value);
        assert_eq!(gauge.used().0, 0);
    }
}
