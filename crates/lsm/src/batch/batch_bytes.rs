//! [`BatchBytes`]: the bytes of a batch while it grows. They begin in a vector. When a caller
//! reserves room for [`MAPPED_MIN`] bytes or more in all ([`BatchBytes::reserve`]), they move to an
//! [`IoBuf`], whose memory returns to the system when the batch is dropped.
//!
//! They never move back. A caller must reserve before it puts: bytes without a reservation stay in
//! the vector. One thread at a time; no I/O.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use terrace_env::codec::Writer;
use terrace_env::{IoBuf, MAPPED_MIN};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) enum BatchBytes {
    Small(Vec<u8>),
    Large(IoBuf),
}

impl BatchBytes {
    /// Zeros of this length.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::Small(vec![0; len])
    }

    /// Makes room for `more` bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        if let Self::Small(bytes) = self {
            let len = bytes.len() + more;
            if len < MAPPED_MIN {
                bytes.reserve(more);
                return;
            }
            let mut large = IoBuf::with_capacity(len);
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

    pub(crate) fn freeze(self) -> Bytes {
        match self {
            Self::Small(bytes) => bytes.into(),
            Self::Large(bytes) => Bytes::from_owner(bytes),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(bytes.freeze()[..], [0, 0, 0, 0, 9]);
    }
}
