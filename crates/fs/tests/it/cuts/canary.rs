//! Proofs that the suite fails when a rule is broken.

use terrace_env::test_seeds;
use terrace_fs::canary::{Rule, set};

use super::everywhere::{Reach, cut_everywhere, is_on_tracks, is_on_two};
use crate::readers::bytes_stay_while_their_zones_are_wanted;

/// Breaks a rule until dropped, so that a failing test leaves none broken.
struct Broken;

impl Broken {
    fn rule(rule: Rule) -> Self {
        set(Some(rule));
        Self
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        set(None);
    }
}

/// Whether a cut of some run is noticed.
fn is_noticed(rule: Rule) -> bool {
    is_noticed_at(rule, test_seeds(24))
}

fn is_noticed_at(rule: Rule, mut seeds: impl Iterator<Item = u64>) -> bool {
    let _broken = Broken::rule(rule);
    seeds.any(|seed| {
        // The broken rule may also trip an assertion of the client or the file system.
        let cut = || cut_everywhere(seed, &mut Reach::default());
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(cut)) {
            Ok(Ok(())) => false,
            Ok(Err((recovery, what))) => {
                println!("{rule:?}: noticed at {recovery:?}: {what}");
                true
            }
            Err(_) => true,
        }
    })
}

#[test]
fn the_suite_notices_a_journal_that_acknowledges_early() {
    assert!(is_noticed(Rule::JournalDurableBeforeAck));
}

#[test]
fn the_suite_notices_an_extent_pointed_at_a_copy_that_is_not_durable() {
    assert!(is_noticed(Rule::CopyDurableBeforeMove));
}

#[test]
fn the_suite_notices_a_recovered_log_whose_end_is_not_journaled() {
    assert!(is_noticed(Rule::LogEndJournaled));
}

#[test]
fn the_suite_notices_a_commit_before_the_flush_of_the_other_device() {
    let on_two = test_seeds(24).filter(|seed| is_on_two(*seed));
    assert!(is_noticed_at(Rule::OtherDevicesFlushed, on_two));
}

#[test]
fn the_suite_notices_a_mark_that_replaces_the_last_one_too_early() {
    let on_two = test_seeds(24).filter(|seed| is_on_two(*seed));
    assert!(is_noticed_at(Rule::OldMarkKept, on_two));
}

#[test]
fn the_suite_notices_a_pool_of_tracks_whose_guards_or_gaps_are_too_small() {
    for rule in [Rule::RunHasGuard, Rule::GuardIsWhole, Rule::GapHasGuard] {
        let on_tracks = test_seeds(24).filter(|seed| is_on_tracks(*seed));
        assert!(is_noticed_at(rule, on_tracks), "{rule:?}");
    }
}

#[test]
fn the_suite_notices_a_zone_that_is_reset_under_a_reader() {
    let _broken = Broken::rule(Rule::NoResetUnderReader);
    let kept = bytes_stay_while_their_zones_are_wanted();
    assert!(kept.is_err(), "the damage was not noticed");
}
