//! [`PerThread`]: copies of a value, so that threads that count at once seldom touch the same cache
//! line.
//!
//! - A thread always gets the same copy. With more than [`COPIES`] threads, several threads share
//!   one, so a copy must be safe to share.
//! - A reader adds up all copies ([`PerThread::iter`]). Copies that change meanwhile may be of
//!   different moments.
//! - All actors of a simulation run on one thread, and get the same copy.
//!
//! No locks: any number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of copies: enough for the readers of a usual machine, at 128 bytes or more for each.
const COPIES: usize = 16;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COPY: usize = THREADS.fetch_add(1, Ordering::Relaxed) % COPIES;
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct PerThread<T>([Padded<T>; COPIES]);

/// A copy on cache lines of its own. Processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

impl<T> PerThread<T> {
    /// The copy of the calling thread.
    #[inline]
    pub fn own(&self) -> &T {
        // A thread that ends has no number any more.
        &self.0[COPY.try_with(|copy| *copy).unwrap_or(0)].0
    }

    /// All copies.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|copy| &copy.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::runner;

    #[test]
    fn the_copies_of_all_threads_add_up() {
        let counts = std::sync::Arc::new(PerThread::<AtomicU64>::default());
        let threads: Vec<_> = (0..2 * COPIES)
            .map(|_| {
                let counts = std::sync::Arc::clone(&counts);
                runner::spawn("count", move || {
                    (0..100).for_each(|_| _ = counts.own().fetch_add(1, Ordering::Relaxed));
                })
            })
            .collect();
        threads.into_iter().for_each(runner::JoinHandle::join);
        let sum: u64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 2 * COPIES as u64 * 100);
    }

    #[test]
    fn copies_lie_on_different_cache_lines() {
        let counts = PerThread::<AtomicU64>::default();
        let places: Vec<_> = counts.iter().map(|count| std::ptr::from_ref(count).addr()).collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 128), "{places:?}");
    }
}
