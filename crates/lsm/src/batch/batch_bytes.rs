//! [`BatchBytes`]: the bytes of a batch while it grows. They begin in a vector. When a caller
//! reserves room for [`MAPPED_MIN`] bytes or more in all ([`BatchBytes::reserve`]), they move to a
//! [`LargeBuffer`], whose memory returns to the system when the batch is dropped. If the room is
//! known before ([`BatchBytes::with_room`]), the buffer is one of a store, and returns there.
//!
//! They never move back. A caller must reserve before it puts: bytes without a reservation stay in
//! the vector. One thread at a time; no I/O.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use terrace_env::MAPPED_MIN;
use terrace_env::codec::Writer;

use crate::memory::{LargeBuffer, LargeBuffers};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) enum BatchBytes {
    Small(Vec<u8>),
    Large(LargeBuffer),
}

impl BatchBytes {
    /// Zeros of this length.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::Small(vec![0; len])
    }

    /// Zeros of the length `len`, with room for `room` bytes in all. Large room is a buffer of
    /// these.
    pub(crate) fn with_room(len: usize, room: usize, buffers: &Arc<LargeBuffers>) -> Self {
        if room < LargeBuffers::LEAST {
            let mut bytes = Vec::with_capacity(room);
            bytes.resize(len, 0);
            return Self::Small(bytes);
        }
        let mut bytes = buffers.take(room);
        bytes.resize(len);
        Self::Large(bytes)
    }

    /// Makes room for `more` bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        if let Self::Small(bytes) = self {
            let len = bytes.len() + more;
            if len < MAPPED_MIN {
                bytes.reserve(more);
                return;
            }
            let mut large = LargeBuffer::with_capacity(len);
            large.extend(bytes);
            *self = Self::Large(large);
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Small(bytes) => bytes.truncate(len),
            Self::Large(bytes) => bytes.truncate(len),
        }
    }
}

impl Writer for BatchBytes {
    fn put(&mut self, bytes: &[u8]) {
        match self {
            Self::Small(own) => own.extend_from_slice(bytes),
            Self::Large(own) => own.extend(bytes),
        }
    }
}

impl Deref for BatchBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

impl DerefMut for BatchBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

/// The bytes of a batch that does not change any more.
#[derive(Clone, Debug)]
pub(crate) enum FrozenBytes {
    Built(BatchBytes),
    /// Read from a log.
    Read(Bytes),
}

impl Deref for FrozenBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Built(bytes) => bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use terrace_env::{ByteCount, MemoryGauge};

    #[test]
    fn bytes_stay_when_they_become_large() {
        let (mut bytes, mut expected) = (BatchBytes::zeroed(3), vec![0; 3]);
        for round in 0..40u8 {
            let more = vec![round; 10_000];
            bytes.reserve(more.len());
            bytes.put(&more);
            expected.put(&more);
            assert_eq!(bytes[..], expected[..]);
        }
        assert!(matches!(bytes, BatchBytes::Large(_)));
        bytes.truncate(5);
        bytes[4] = 9;
        assert_eq!(FrozenBytes::Built(bytes)[..], [0, 0, 0, 0, 9]);
    }
    #[test]
    fn room_is_enough_and_large_room_is_used_again() {
        let gauge = MemoryGauge::new("batches");
        let buffers = Arc::new(LargeBuffers::new(gauge.clone(), ByteCount::mib(512)));
        let mut places = Vec::new();
        for len in [100, 20_000, 40_000, 40_000, MAPPED_MIN, MAPPED_MIN, 30_000] {
            let mut bytes = BatchBytes::with_room(3, 3 + len, &buffers);
            let place = bytes.as_ptr();
            bytes.reserve(len);
            bytes.put(&vec![7; len]);
            assert_eq!(bytes.as_ptr(), place, "{len} bytes moved");
            assert_eq!((&bytes[..3], &bytes[3..]), (&[0; 3][..], &vec![7; len][..]));
            places.push(place);
        }
        assert!(places[2] == places[3] && places[4] == places[5], "{places:?}");
        assert!(gauge.used().0 >= (40_000 + MAPPED_MIN) as u64, "{:?}", gauge.used());
    }
}
