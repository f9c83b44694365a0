//! The buffer all device I/O goes through: its memory starts on a page, so that direct I/O accepts
//! it.

use std::fmt;
use std::ops::{Deref, DerefMut};

use aligned_vec::{AVec, ConstAlign};

/// A growable byte buffer aligned to [`IoBuf::ALIGNMENT`].
#[derive(Clone)]
pub struct IoBuf(AVec<u8, ConstAlign<{ IoBuf::ALIGNMENT }>>);

impl IoBuf {
    /// The alignment of the first byte: the page, which is also the largest physical block.
    pub const ALIGNMENT: usize = 4096;

    /// An empty buffer that can hold `capacity` bytes without moving.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(AVec::with_capacity(Self::ALIGNMENT, capacity))
    }

    /// A buffer of `len` zero bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let mut buf = Self::with_capacity(len);
        buf.0.resize(len, 0);
        buf
    }

    /// A copy of `bytes`.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buf = Self::with_capacity(bytes.len());
        buf.extend(bytes);
        buf
    }

    /// Appends `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends zero bytes until the length is a multiple of `block`; returns how many.
    pub fn pad_to(&mut self, block: usize) -> usize {
        assert!(block > 0, "a block of no bytes");
        let padding = self.len().next_multiple_of(block) - self.len();
        self.0.resize(self.len() + padding, 0);
        padding
    }

    /// Shortens to `len` bytes, or does nothing if it is shorter already.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Sets the length, filling with zero bytes what is new.
    pub fn resize(&mut self, len: usize) {
        self.0.resize(len, 0);
    }

    /// Removes all bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Default for IoBuf {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Deref for IoBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for IoBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for IoBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoBuf({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_stays_on_a_page_while_the_buffer_grows() {
        let mut buf = IoBuf::default();
        for len in [1, 5_000, 100_000] {
            buf.resize(len);
            assert!(buf.as_ptr().addr().is_multiple_of(IoBuf::ALIGNMENT), "at {len} bytes");
        }
    }

    #[test]
    fn padding_fills_the_last_block_with_zeros_and_adds_none_to_a_full_one() {
        let mut buf = IoBuf::copy_of(&[7; 513]);
        assert_eq!(buf.pad_to(512), 511);
        assert_eq!((buf.len(), &buf[513..]), (1024, &[0; 511][..]));
        assert_eq!(buf.pad_to(512), 0);
    }

    #[test]
    fn a_shortened_buffer_grows_back_with_zeros() {
        let mut buf = IoBuf::copy_of(b"abcdef");
        buf.truncate(2);
        buf.resize(4);
        assert_eq!(&buf[..], b"ab\0\0");
        buf.clear();
        assert!(buf.is_empty());
    }
}
