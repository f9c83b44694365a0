//! [`test_seeds`]: the range of seeds that a randomised test runs.
//!
//! A test passes its default number of seeds. Three environment variables change the range; text in
//! them that is no unsigned 64-bit integer is a panic. So is a range that would reach beyond seed
//! 2^64 - 2, the last that a range can hold.
//!
//! - `TERRACE_TEST_SEED=N` runs seed N alone, to repeat a failure. It overrides the other two.
//! - `TERRACE_TEST_SEEDS=F` runs F times as many seeds.
//! - `TERRACE_TEST_ROUND=R` runs the R-th batch of seeds, counted from 0. Example: for a test with
//!   10 seeds by default, F = 2 and R = 1 run seeds 20 to 39.

use std::ffi::OsStr;
use std::ops::Range;

/// The seeds to run for a test that runs `default` of them unless the environment says otherwise.
///
/// # Panics
/// When a variable is set to something that is not a number, or when they ask for seeds beyond the
/// last: a run that was asked for and did not happen would look like one that passed.
#[must_use]
pub fn test_seeds(default: u64) -> Range<u64> {
    let number = |name: &str| Some(parse(name, &std::env::var_os(name)?));
    choose(
        default,
        number("TERRACE_TEST_SEED"),
        number("TERRACE_TEST_SEEDS"),
        number("TERRACE_TEST_ROUND"),
    )
}

fn parse(name: &str, text: &OsStr) -> u64 {
    let parsed = text.to_str().and_then(|text| text.parse().ok());
    parsed.unwrap_or_else(|| panic!("{name}: expected a number, found {text:?}"))
}

fn choose(default: u64, only: Option<u64>, times: Option<u64>, round: Option<u64>) -> Range<u64> {
    let range = match only {
        Some(seed) => seed.checked_add(1).map(|end| seed..end),
        None => batch(default, times.unwrap_or(1), round.unwrap_or(0)),
    };
    range.unwrap_or_else(|| {
        panic!(
            "expected seeds of at most {}, found seed {only:?}, times {times:?}, round {round:?} \
             with {default} by default",
            u64::MAX - 1
        )
    })
}

/// `None` if the batch reaches beyond the last seed.
fn batch(default: u64, times: u64, round: u64) -> Option<Range<u64>> {
    let count = default.checked_mul(times)?;
    let first = count.checked_mul(round)?;
    Some(first..first.checked_add(count)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

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

    #[test]
    fn a_number_is_read_from_a_variable() {
        assert_eq!(parse("N", OsStr::new("18446744073709551615")), u64::MAX);
    }

    #[test]
    #[should_panic = "TERRACE_TEST_SEED: expected a number, found \"4\\xFF\""]
    fn a_variable_that_is_not_unicode_is_refused() {
        parse("TERRACE_TEST_SEED", OsStr::from_bytes(b"4\xff"));
    }

    #[test]
    #[should_panic = "expected seeds of at most 18446744073709551614, found seed Some(184467"]
    fn the_largest_number_is_no_seed() {
        choose(100, Some(u64::MAX), None, None);
    }

    #[test]
    #[should_panic = "found seed None, times Some(2), round Some(92233720368547758) with 100"]
    fn a_round_beyond_the_last_seed_is_refused() {
        choose(100, None, Some(2), Some(u64::MAX / 200));
    }
}
