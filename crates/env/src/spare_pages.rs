//! [`SparePages`]: the memory of a large buffer, which the next buffer of the same size gets when
//! this one is dropped.
//!
//! A fresh page costs a page fault when it is first written. In a virtual machine that takes longer
//! than to read its 4 KiB from the page cache of the host. So the process keeps some memory of
//! dropped buffers, those that were dropped last: as much as [`keep_spare_pages`] allows, and none
//! before the first call. A buffer of more than [`EACH_MAX`] bytes is not kept.
//!
//! Any thread may make and drop buffers, also under a lock: if another thread is in here, memory is
//! mapped or unmapped instead of a wait.

#![expect(clippy::disallowed_types, reason = "a drop in a simulation must not switch actors")]

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::pages::Pages;

/// Most bytes that any process keeps.
const KEPT_MAX: usize = 4 << 20;
/// Largest memory of one buffer that is kept.
const EACH_MAX: usize = 1 << 20;

/// Most bytes that this process keeps.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// Kept memory, first the one that was kept first.
static SPARE: Mutex<Vec<Pages>> = Mutex::new(Vec::new());

/// Lets the process keep `bytes` of the memory of dropped buffers, and at most 4 MiB. A smaller
/// number than that of an earlier call changes nothing.
pub fn keep_spare_pages(bytes: usize) {
    LIMIT.fetch_max(bytes.min(KEPT_MAX), Ordering::Relaxed);
}

/// See the [module](self).
pub(crate) struct SparePages(Option<Pages>);

impl SparePages {
    /// Memory of `len` bytes, and whether it is fresh. Fresh memory is zeros, other memory has any
    /// bytes.
    pub(crate) fn new(len: usize) -> (Self, bool) {
        let kept = SPARE.try_lock().and_then(|mut spare| {
            let at = spare.iter().rposition(|pages| pages.len() == len)?;
            Some(spare.remove(at))
        });
        let is_fresh = kept.is_none();
        (Self(Some(kept.unwrap_or_else(|| Pages::new(len)))), is_fresh)
    }
}

impl Deref for SparePages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().expect("taken only on drop")
    }
}

impl DerefMut for SparePages {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().expect("taken only on drop")
    }
}

impl Drop for SparePages {
    fn drop(&mut self) {
        let limit = LIMIT.load(Ordering::Relaxed);
        let is_kept = |pages: &Pages| pages.len() <= EACH_MAX.min(limit);
        let Some(pages) = self.0.take().filter(is_kept) else { return };
        let Some(mut spare) = SPARE.try_lock() else { return };
        spare.push(pages);
        let mut bytes: usize = spare.iter().map(|pages| pages.len()).sum();
        let is_over = |pages: &&Pages| {
            let is_over = bytes > limit;
            bytes -= pages.len();
            is_over
        };
        let over = spare.iter().take_while(is_over).count();
        let over: Vec<Pages> = spare.drain(..over).collect();
        // They are unmapped without the lock.
        drop(spare);
        drop(over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that no other test uses.
    const SIZE: usize = 300 << 10;

    #[test]
    fn the_memory_of_a_dropped_buffer_is_that_of_the_next_one_of_its_size() {
        keep_spare_pages(KEPT_MAX);
        let (mut pages, _) = SparePages::new(SIZE);
        pages[SIZE - 1] = 7;
        drop(pages);
        let (other, _) = SparePages::new(SIZE + 4096);
        assert_eq!(other.len(), SIZE + 4096);
        let (again, is_fresh) = SparePages::new(SIZE);
        // Another test may have had the lock, or have dropped larger buffers meanwhile.
        assert_eq!(again[SIZE - 1], if is_fresh { 0 } else { 7 });
    }

    #[test]
    fn no_more_than_the_limit_is_kept_and_nothing_that_is_too_large() {
        keep_spare_pages(2 * KEPT_MAX);
        let kept = || SPARE.lock().iter().map(|pages| pages.len()).sum::<usize>();
        drop(SparePages::new(EACH_MAX + 4096).0);
        assert!(SPARE.lock().iter().all(|pages| pages.len() <= EACH_MAX));
        let all: Vec<SparePages> = (0..40).map(|_| SparePages::new(SIZE + 8192).0).collect();
        drop(all);
        assert!(kept() <= KEPT_MAX, "{} bytes", kept());
    }
}
