//! [`ReadBuf`]: the buffer that a submitted read fills, over its whole length.
//!
//! If [`ReadBuf::zeroed`] makes a buffer of [`MAPPED_MIN`] bytes (128 KiB) or more, the buffer has
//! pages of its own, which go back to the operating system when the buffer is dropped. A smaller
//! buffer is a `Vec`. A buffer that is made from a `Vec` stays that `Vec`, at any size.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::{IoBuf, MAPPED_MIN};

/// See the [module](self).
#[derive(Clone)]
pub enum ReadBuf {
    /// Less than [`MAPPED_MIN`] bytes, or made from a vector.
    Small(Vec<u8>),
    /// Pages of its own.
    Large(IoBuf),
}

impl ReadBuf {
    /// A buffer of `len` zero bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        if len < MAPPED_MIN { Self::Small(vec![0; len]) } else { Self::Large(IoBuf::zeroed(len)) }
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self {
            Self::Small(bytes) => bytes.capacity(),
            Self::Large(bytes) => bytes.capacity(),
        }
    }
}

impl Default for ReadBuf {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl From<Vec<u8>> for ReadBuf {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Small(bytes)
    }
}

impl Deref for ReadBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

impl DerefMut for ReadBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

impl fmt::Debug for ReadBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadBuf({} bytes)", self.len())
    }
}
