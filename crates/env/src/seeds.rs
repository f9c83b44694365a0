//! [`test_seeds`]: the range of seeds that a randomised test runs.
//!
//! A test passes its default number of seeds. Three environment variables change the range; text in
//! them that is no unsigned 64-bit integer is a panic.
//!
//! - `TERRACE_TEST_SEED=N` runs seed N alone, to repeat a failure. It overrides the other two.
//! - `TERRACE_TEST_SEEDS=F` runs F times as many seeds.
//! - `TERRACE_TEST_ROUND=R` runs the R-th batch of seeds, counted from 0. Example: for a test with
//!   10 seeds by default, F = 2 and R = 1 run seeds 20 to 39.

use std::ops::Range;

/// The seeds to run for a test that runs `default` of them when nobody says otherwise.
///
/// # Panics
/// When a variable is set to something that is not a number: a run that was asked for and did not
/// happen would look like one that passed.
#[must_use]
pub fn test_seeds(default: u64) -> Range<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        let parsed = text.parse::<u64>();
        Some(parsed.unwrap_or_else(|_| panic!("{name}: expected a number, found {text:?}")))
    };
    choose(
        default,
        number("TERRACE_TEST_SEED"),
        number("TERRACE_TEST_SEEDS"),
        number("TERRACE_TEST_ROUND"),
    )
}

fn choose(default: u64, only: Option<u64>, times: Option<u64>, round: Option<u64>) -> Range<u64> {
    if let Some(seed) = only {
        return seed..seed + 1;
    }
    let count = default * times.unwrap_or(1);
    let first = count * round.unwrap_or(0);
    first..first + count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_seed_runs_alone() {
        assert_eq!(choose(100, Some(42), Some(3), Some(9)), 42..43);
    }

    #[test]
    fn rounds_follow_each_other_without_overlap() {
        assert_eq!(choose(100, None, None, None), 0..100);
        assert_eq!(choose(100, None, Some(3), None), 0..300);
        assert_eq!(choose(100, None, Some(3), Some(1)), 300..600);
        assert_eq!(choose(100, None, None, Some(2)), 200..300);
    }
}
