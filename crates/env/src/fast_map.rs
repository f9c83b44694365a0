//! [`FastMap`] and [`FastSet`]: hash tables for hot look-ups, with a hasher that is the same in
//! every run.
//!
//! After the same insertions and removals in the same order, iteration has the same order. But the
//! order means nothing: where it can be seen, use a `BTreeMap`. Make empty tables with `default()`.
//! Do not use them for keys that an adversary chooses: the hash has no secret. Like the standard
//! tables they have no lock.

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
