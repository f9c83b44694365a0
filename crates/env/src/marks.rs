//! Marks of branches that tests must reach: [`reached!`](crate::reached!) in the code of a branch,
//! and [`during`] in the test that must get there.
//!
//! A branch of recovery is correct for a test that never takes it. So a suite names the marks that
//! its runs together must reach, and fails if a mark is missing. A change that makes a fault
//! impossible, such as an emulator that loses nothing, then fails instead of passing faster.
//!
//! Marks are counted for the calling thread. A simulation runs its actors on one thread, so its
//! marks are complete; those of real threads are not seen. In a crate that is built without debug
//! assertions, a mark is no code.

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static REACHED: RefCell<Option<Marks>> = const { RefCell::new(None) };
}

/// How many times each mark was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<&'static str, u64>);

impl Marks {
    /// How many times a mark was reached.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Adds the marks of another run.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Those of `names` that were never reached.
    #[must_use]
    pub fn missing<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        names.iter().copied().filter(|name| self.count(name) == 0).collect()
    }

    /// Checks that each of `names` was reached.
    ///
    /// # Panics
    /// When one was not; the message has those that are missing, and all counts.
    pub fn must_have(&self, names: &[&str]) {
        let missing = self.missing(names);
        assert!(missing.is_empty(), "never reached: {missing:?}; reached: {:?}", self.0);
    }
}

/// Counts a mark; call [`reached!`](crate::reached!) instead.
pub fn note(name: &'static str) {
    REACHED.with_borrow_mut(|marks| {
        if let Some(Marks(counts)) = marks {
            *counts.entry(name).or_default() += 1;
        }
    });
}

/// Carries out some work, and returns its marks on this thread in addition to its result. Work
/// inside of other such work counts for the inner one alone.
pub fn during<T>(work: impl FnOnce() -> T) -> (T, Marks) {
    let outer = REACHED.replace(Some(Marks::default()));
    let restore = Restore(outer);
    let result = work();
    let marks = REACHED.with_borrow_mut(Option::take).unwrap_or_default();
    drop(restore);
    (result, marks)
}

/// Counts go to the outer work again, also after a panic.
struct Restore(Option<Marks>);

impl Drop for Restore {
    fn drop(&mut self) {
        REACHED.set(self.0.take());
    }
}

/// Marks a branch by a name, for tests that must reach it (see [`marks`](crate::marks)). A name
/// begins with that of the crate, as in `"fs: torn tail of the journal"`, and stands once in the
/// sources.
#[macro_export]
macro_rules! reached {
    ($name:literal) => {
        if cfg!(debug_assertions) {
            $crate::marks::note($name);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_during_the_work_alone() {
        note("before");
        let ((), marks) = during(|| {
            note("one");
            let ((), inner) = during(|| note("two"));
            assert_eq!((inner.count("one"), inner.count("two")), (0, 1));
            note("one");
        });
        note("after");
        let counts = ["before", "one", "two", "after"].map(|name| marks.count(name));
        assert_eq!(counts, [0, 2, 0, 0]);
        assert_eq!(marks.missing(&["one", "two"]), ["two"]);
    }

    #[test]
    fn marks_of_runs_add_up() {
        let ((), mut marks) = during(|| note("one"));
        marks.add(&during(|| note("two")).1);
        marks.must_have(&["one", "two"]);
    }

    #[test]
    #[should_panic = "never reached: [\"three\"]; reached: {\"one\": 1}"]
    fn a_mark_that_is_missing_is_named() {
        during(|| note("one")).1.must_have(&["one", "three"]);
    }

    #[test]
    fn a_panic_ends_the_count_of_the_work() {
        let ((), marks) = during(|| {
            let inner = || during(|| panic!("expected"));
            std::panic::catch_unwind(inner).expect_err("a panic");
            note("one");
        });
        assert_eq!(marks.count("one"), 1);
    }
}
