//! Rules broken on purpose: the suites must notice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_fs::canary::{Rule, set};

use crate::journal_cuts::cut_everywhere;
use crate::{flushes, leaks, log_cuts};

#[test]
fn a_journal_that_acknowledges_early_is_noticed() {
    set(Some(Rule::JournalDurableBeforeAck));
    let noticed = catch_unwind(AssertUnwindSafe(|| cut_everywhere(0, 20, 200))).is_err();
    set(None);
    assert!(noticed, "acknowledged transactions were lost and no test saw it");
    cut_everywhere(0, 20, 200);
}

/// Whether a suite notices at one of the seeds that a rule is broken.
pub(crate) fn is_noticed<T>(rule: Rule, seeds: u64, suite: impl Fn(u64) -> T) -> bool {
    (0..seeds).any(|seed| {
        set(Some(rule));
        let outcome = catch_unwind(AssertUnwindSafe(|| suite(seed)));
        set(None);
        outcome.is_err()
    })
}

#[test]
fn the_canary_of_a_flush_that_does_not_await_earlier_ones_is_noticed() {
    assert!(is_noticed(Rule::FlushAwaitsEarlierOnes, 200, |seed| {
        assert_eq!(flushes::fail_amid(seed).1, None);
    }));
}

#[test]
fn the_canaries_of_blocks_that_leak_are_noticed() {
    assert!(is_noticed(Rule::FailedWritesGivenBack, 100, leaks::fail_writers));
    assert!(is_noticed(Rule::FailedCopiesGivenBack, 40, leaks::fail_copies));
}

#[test]
fn the_canary_of_a_forced_frame_behind_volatile_ones_is_noticed() {
    assert!(is_noticed(Rule::FramesDurableInOrder, 6, log_cuts::cut_frames_under_way));
}

#[test]
#[cfg(debug_assertions)]
fn the_canaries_of_blocks_reused_under_a_read_are_noticed() {
    for rule in [Rule::ReadHoldsPin, Rule::NoResetUnderReader, Rule::CacheFollowsWrites] {
        assert!(is_noticed(rule, 40, crate::crowd::explored), "{rule:?}");
    }
}

#[test]
fn the_canary_of_a_journal_zone_reused_before_the_superblock_is_noticed() {
    let cut = |seed| cut_everywhere(seed, 60, 400);
    assert!(is_noticed(Rule::SuperblockBeforeRelease, 4, cut));
}
