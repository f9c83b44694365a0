//! [`FastMap`] and [`FastSet`]: the standard hash tables with a faster hasher, whose seed is fixed.
//! So a program that makes the same calls finds the same order of iteration in each run.
//!
//! That order has no meaning. Use a `BTreeMap` where the order can be seen. Make empty tables with
//! `default()`: `new()` is for the standard hasher. Do not use these tables for keys that an
//! adversary chooses, because the hash has no secret. As with the standard tables, a shared table
//! needs a lock.

use foldhash::fast::FixedState;

/// A hash map whose order of iteration is the same in every run.
#[expect(clippy::disallowed_types, reason = "the hasher is fixed here")]
pub type FastMap<K, V> = std::collections::HashMap<K, V, FixedState>;

/// A hash set whose order of iteration is the same in every run.
#[expect(clippy::disallowed_types, reason = "the hasher is fixed here")]
pub type FastSet<K> = std::collections::HashSet<K, FixedState>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iteration_order_is_a_function_of_what_was_inserted() {
        let order = || (0..1000u64).collect::<FastSet<_>>().into_iter().collect::<Vec<_>>();
        assert_eq!(order(), order());
    }
}
