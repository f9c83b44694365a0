//! [`Pages`]: zeroed memory of a fixed size that is mapped from the operating system and unmapped
//! when it is dropped.
//!
//! It is for large buffers, of [`MAPPED_MIN`] bytes or more: an allocator may keep memory that was
//! freed, and the process then stays larger than its memory budget allows. Mapping has a price:
//! fresh pages cost time when they are first written. A job that needs such a buffer again and
//! again should keep it.
//!
//! Memory that will be written as a whole is made by [`Pages::resident`]: one call to the system
//! makes all pages, which costs two thirds of a page fault for each of them.
//!
//! If the memory cannot be mapped, the process ends as at a failed allocation. A length of zero, or
//! one that no allocation can have, is a panic.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Buffers of this size and larger are mapped. The allocator of the GNU C library begins with the
/// same threshold, and raises it when a mapped block is freed.
pub const MAPPED_MIN: usize = 128 << 10;

/// Zeroed memory that begins on a page. Pages that are never written take no memory.
pub struct Pages(MmapMut);

impl Pages {
    /// Memory of `len` bytes. As with any allocation, the process ends when no memory is left.
    ///
    /// # Panics
    /// When it is to be of no bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        assert!(len > 0, "pages of nothing");
        match MmapMut::map_anon(len) {
            Ok(map) => Self(map),
            Err(_) => match Layout::array::<u8>(len) {
                Ok(layout) => handle_alloc_error(layout),
                Err(_) => panic!("{len} bytes of memory"),
            },
        }
    }

    /// The same, with all pages in memory at once, if the system can do that. They take memory even
    /// if they are never written.
    ///
    /// # Panics
    /// When it is to be of no bytes.
    #[must_use]
    pub fn resident(len: usize) -> Self {
        let pages = Self::new(len);
        // Linux before 5.14 refuses: then the pages come at the first write to each.
        #[cfg(all(target_os = "linux", not(miri)))]
        let _ = pages.0.advise(memmap2::Advice::PopulateWrite);
        pages
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pages({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "tells something of a system's memory only")]
    fn resident_pages_are_zeros_too_and_are_in_memory_before_they_are_written() {
        let probe = MmapMut::map_anon(4096).unwrap();
        if probe.advise(memmap2::Advice::PopulateWrite).is_err() {
            return;
        }
        let len = 64 << 20;
        let in_memory = || {
            let status = std::fs::read_to_string("/proc/self/statm").ok()?;
            let pages: usize = status.split(' ').nth(1)?.parse().ok()?;
            Some(pages * 4096)
        };
        let before = in_memory();
        let pages = Pages::resident(len);
        if let (Some(before), Some(after)) = (before, in_memory()) {
            assert!(after > before + len / 2, "{before} bytes before, {after} after");
        }
        assert!(pages.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn pages_begin_as_zeros_and_keep_what_is_written() {
        let mut pages = Pages::new(3 * 4096 + 1);
        assert_eq!(pages.len(), 3 * 4096 + 1);
        assert!(pages.iter().all(|&byte| byte == 0));
        assert!(pages.as_ptr().addr().is_multiple_of(4096));
        pages[3 * 4096] = 7;
        assert_eq!(pages.last(), Some(&7));
    }
}
