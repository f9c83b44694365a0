//! [`IoBuf`]: a growable byte buffer for device I/O. Its bytes begin at an address that is a
//! multiple of 4096, as direct I/O needs it.
//!
//! If its capacity is [`MAPPED_MIN`] bytes (128 KiB) or more, its memory is
//! [`Pages`](crate::Pages). When the buffer is dropped, the next buffer gets them, or they go back
//! to the operating system ([`spare_pages`](crate::spare_pages)). A smaller buffer has memory from
//! the allocator. A clone copies the bytes. A buffer that grows beyond its capacity is copied to
//! new memory.

use std::fmt;
use std::ops::{Deref, DerefMut};

use aligned_vec::{AVec, ConstAlign};

use crate::pages::MAPPED_MIN;
use crate::spare_pages::SparePages;

/// A growable byte buffer aligned to [`IoBuf::ALIGNMENT`].
pub struct IoBuf(Memory);

type SmallBytes = AVec<u8, ConstAlign<{ IoBuf::ALIGNMENT }>>;

enum Memory {
    Small(SmallBytes),
    /// The bytes are the first `len` of the pages.
    Large {
        pages: SparePages,
        len: usize,
        /// Bytes from here on are zeros, as fresh pages begin.
        used: usize,
    },
}

impl IoBuf {
    /// The alignment of the first byte: the page, which is also the largest physical block.
    pub const ALIGNMENT: usize = 4096;

    /// An empty buffer that can hold `capacity` bytes without moving.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        if capacity >= MAPPED_MIN {
            let (pages, is_fresh) = SparePages::new(capacity.next_multiple_of(Self::ALIGNMENT));
            let used = if is_fresh { 0 } else { pages.len() };
            return Self(Memory::Large { pages, len: 0, used });
        }
        Self(Memory::Small(AVec::with_capacity(Self::ALIGNMENT, capacity)))
    }

    /// A buffer of `len` zero bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let mut buf = Self::with_capacity(len);
        buf.resize(len);
        buf
    }

    /// A copy of `bytes`.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buf = Self::with_capacity(bytes.len());
        buf.extend(bytes);
        buf
    }

    /// How many bytes it can hold without moving: the memory that it takes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.0 {
            Memory::Small(bytes) => bytes.capacity(),
            Memory::Large { pages, .. } => pages.len(),
        }
    }

    /// Makes room for `more` bytes, and at least doubles the capacity when it is exceeded, so that
    /// a growing buffer is seldom moved.
    fn reserve(&mut self, more: usize) {
        let (len, capacity) = (self.len(), self.capacity());
        if more <= capacity - len {
            return;
        }
        let needed = len.checked_add(more).expect("a buffer that fits the address space");
        let mut grown = Self::with_capacity(needed.max(capacity.saturating_mul(2)));
        grown.append_within(self);
        *self = grown;
    }

    /// Appends bytes that there is room for.
    fn append_within(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Memory::Small(own) => own.extend_from_slice(bytes),
            Memory::Large { pages, len, used } => {
                pages[*len..*len + bytes.len()].copy_from_slice(bytes);
                *len += bytes.len();
                *used = (*len).max(*used);
            }
        }
    }

    /// Appends `bytes`.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.append_within(bytes);
    }

    /// Appends zero bytes until the length is a multiple of `block`; returns how many.
    pub fn pad_to(&mut self, block: usize) -> usize {
        assert!(block > 0, "a block of no bytes");
        let padding = self.len().next_multiple_of(block) - self.len();
        self.resize(self.len() + padding);
        padding
    }

    /// Shortens to `len` bytes, or does nothing if it is shorter already.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Memory::Small(bytes) => bytes.truncate(len),
            Memory::Large { len: now, .. } => *now = len.min(*now),
        }
    }

    /// Sets the length, and fills new bytes with zeros.
    pub fn resize(&mut self, len: usize) {
        self.reserve(len.saturating_sub(self.len()));
        match &mut self.0 {
            Memory::Small(bytes) => resize(bytes, len),
            Memory::Large { pages, len: now, used } => {
                // To fill fresh pages would make the system fill them a second time.
                let end = len.min(*used);
                if end > *now {
                    pages[*now..end].fill(0);
                }
                *now = len;
                *used = len.max(*used);
            }
        }
    }

    /// Removes all bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

/// Sets the length, and fills new bytes with zeros. `AVec::resize` writes byte by byte, and
/// only with link-time optimisation does the compiler turn that into a fill. Without it, the loop
/// takes longer than to read a block into the buffer from the host's page cache.
fn resize(bytes: &mut SmallBytes, len: usize) {
    static ZEROS: [u8; IoBuf::ALIGNMENT] = [0; IoBuf::ALIGNMENT];
    bytes.truncate(len);
    while bytes.len() < len {
        let more = ZEROS.len().min(len - bytes.len());
        bytes.extend_from_slice(&ZEROS[..more]);
    }
}

impl Clone for IoBuf {
    fn clone(&self) -> Self {
        Self::copy_of(self)
    }
}

impl Default for IoBuf {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl AsRef<[u8]> for IoBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for IoBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Small(bytes) => bytes,
            Memory::Large { pages, len, .. } => &pages[..*len],
        }
    }
}

impl DerefMut for IoBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Small(bytes) => bytes,
            Memory::Large { pages, len, .. } => &mut pages[..*len],
        }
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
        for len in [1, 5_000, 100_000, 1_000_000, 3_000_001] {
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
    fn bytes_stay_when_a_buffer_becomes_large_and_when_it_is_used_again() {
        let bytes: Vec<u8> = (0..MAPPED_MIN + 5).map(|i| i as u8).collect();
        let mut buf = IoBuf::copy_of(&bytes[..MAPPED_MIN - 1]);
        buf.extend(&bytes[MAPPED_MIN - 1..]);
        assert_eq!(buf[..], bytes[..]);
        assert_eq!(buf.clone()[..], bytes[..]);
        let capacity = buf.capacity();
        buf.clear();
        buf.extend(b"new");
        buf.resize(MAPPED_MIN);
        assert_eq!((&buf[..3], buf.capacity()), (&b"new"[..], capacity));
        assert!(buf[3..].iter().all(|&byte| byte == 0), "old bytes are left");
        assert_eq!(IoBuf::zeroed(MAPPED_MIN)[..], vec![0; MAPPED_MIN][..]);
    }

    #[test]
    fn new_bytes_are_zeros_however_many_and_nothing_is_left_of_what_was_there() {
        for len in [0, 1, 4095, 4096, 4097, 3 * 4096 + 7, MAPPED_MIN + 9] {
            let mut buf = IoBuf::copy_of(&vec![7; len]);
            buf.clear();
            buf.resize(len);
            assert_eq!(buf[..], vec![0; len][..]);
            assert_eq!(IoBuf::zeroed(len)[..], vec![0; len][..]);
            buf.resize(len / 2);
            assert_eq!(buf.len(), len / 2);
        }
    }

    #[test]
    fn fresh_bytes_of_a_large_buffer_are_zeros_and_so_are_used_ones() {
        let mut buf = IoBuf::with_capacity(3 * MAPPED_MIN);
        buf.extend(&vec![7; MAPPED_MIN]);
        buf.truncate(10);
        buf.resize(2 * MAPPED_MIN);
        assert!(buf[10..].iter().all(|&byte| byte == 0));
        buf[2 * MAPPED_MIN - 1] = 7;
        buf.clear();
        buf.resize(3 * MAPPED_MIN);
        assert!(buf.iter().all(|&byte| byte == 0), "old bytes are left");
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
