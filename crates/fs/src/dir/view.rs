//! [`Views`]: a bound on the bytes of mapped files. More mapped bytes than the host has memory
//! would gain nothing: each read could wait for a page, and a mapped file brings one page after the
//! other.
//!
//! Any thread; no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::ByteCount;
use terrace_env::store::MappedFile;

/// The sum of the views of a store.
pub(super) struct Views {
    bytes: AtomicU64,
    most: u64,
}

/// A view that counts.
struct View {
    file: MappedFile,
    bytes: u64,
    views: Arc<Views>,
    /// The file's reader, which ends after the file is not mapped any more.
    _reader: Arc<dyn Send + Sync>,
}

impl Views {
    pub(super) fn new(most: ByteCount) -> Self {
        Self { bytes: AtomicU64::new(0), most: most.0 }
    }

    /// The view that `map` makes of a file of this size, for this reader; `None` if the views would
    /// have too many bytes, or the file cannot be mapped.
    pub(super) fn add(
        self: &Arc<Self>,
        bytes: u64,
        map: impl FnOnce() -> Option<MappedFile>,
        reader: Arc<dyn Send + Sync>,
    ) -> Option<MappedFile> {
        let fits = |sum: u64| sum.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        let Some(file) = map() else {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        };
        let views = Arc::clone(self);
        Some(Arc::new(View { file, bytes, views, _reader: reader }))
    }
}

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        (*self.file).as_ref()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.views.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_count_until_they_end_and_failed_ones_do_not() {
        let views = Arc::new(Views::new(ByteCount(100)));
        let reader: Arc<dyn Send + Sync> = Arc::new(());
        let add = |bytes: usize| {
            let map = || Some(Arc::new(vec![7_u8; bytes]) as MappedFile);
            views.add(bytes as u64, map, Arc::clone(&reader))
        };
        let first = add(60).unwrap();
        assert_eq!((*first).as_ref(), [7; 60]);
        assert!(add(41).is_none() && views.add(40, || None, Arc::clone(&reader)).is_none());
        let second = add(40).unwrap();
        assert_eq!((add(1).is_none(), Arc::strong_count(&reader)), (true, 3));
        drop(first);
        assert!(add(60).is_some());
        drop(second);
        assert_eq!((views.bytes.load(Ordering::Relaxed), Arc::strong_count(&reader)), (0, 1));
        assert!(Arc::new(Views::new(ByteCount(0))).add(1, || None, reader).is_none());
    }
}
