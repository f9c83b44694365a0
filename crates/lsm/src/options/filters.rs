//! [`CompactionFilters`]: functions that say which values of a key space compactions keep.
//!
//! Two of them are equal if they hold the same functions. The store does not remember them. Any
//! thread; compactions call a function from several threads at once.

use std::fmt;
use std::sync::Arc;

/// Answer whether a key and its value are kept.
pub(crate) type Keep = dyn Fn(&[u8], &[u8]) -> bool + Send + Sync;

/// Functions that say which values compactions keep, by the names of key spaces.
#[derive(Clone, Default)]
pub struct CompactionFilters(Vec<(String, Arc<Keep>)>);

impl CompactionFilters {
    /// Sets the filter of a key space, in place of the one that it had.
    pub fn set(
        &mut self,
        key_space: impl Into<String>,
        keep: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static,
    ) {
        let name = key_space.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, Arc::new(keep)));
    }

    /// Whether no key space has a filter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of key spaces, each with its filter.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Keep>)> {
        self.0.iter().map(|(name, keep)| (&name[..], keep))
    }
}

impl PartialEq for CompactionFilters {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &(String, Arc<Keep>), b: &(String, Arc<Keep>)| {
            a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1)
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| same(a, b))
    }
}

impl Eq for CompactionFilters {}

impl fmt::Debug for CompactionFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_space_has_one_filter_the_one_that_was_set_last() {
        let mut filters = CompactionFilters::default();
        assert!(filters.is_empty());
        filters.set("default", |_, _| true);
        let first = filters.clone();
        assert_eq!(filters, first, "a clone has the same functions");
        filters.set("default", |key, _| key.is_empty());
        filters.set("other", |_, value| value.is_empty());
        assert_ne!(filters, first);
        assert_eq!(format!("{filters:?}"), r#"["default", "other"]"#);
        let kept: Vec<bool> = filters.iter().map(|(_, keep)| keep(b"key", b"")).collect();
        assert_eq!(kept, [false, true]);
    }
}
