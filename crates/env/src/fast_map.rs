//! Hash tables for hot look-ups, with a hasher that is the same in every run.
//!
//! The order of iteration is the same after the same insertions and removals in the same order, but
//! means nothing: where order can be seen, use a `BTreeMap`. Empty ones are made with `default()`.
//! Not for keys that an adversary chooses: the hash has no secret.

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
