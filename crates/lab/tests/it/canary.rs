//! Rules of the file system and of the engine, broken on purpose: a suite of this crate must notice
//! each of them. The suites are cuts, scripts, crowds, checkpoints and statistics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_env::runner;
use terrace_fs::canary::{self, Rule};
use terrace_lab::simulate::crowds::{On, crowd};
use terrace_lab::simulate::cuts::Tally;
use terrace_lsm::canary as engine;

use crate::checkpoints::damage_sources;
use crate::cuts::{every_write, second_lives};
use crate::model;
use crate::statistics::recount;

/// More than any rule needs: a canary that lives that long is dead.
const SEEDS_MAX: u64 = 12;
/// The same for scripts, each of which is cut a few times instead of everywhere.
const SCRIPTS_MAX: u64 = 300;
/// And for crowds, most of which lose their power where nothing is at stake.
const CROWDS_MAX: u64 = 200;

fn is_noticed(rule: Rule, run: fn(u64) -> Result<Tally, String>) -> bool {
    (0..SEEDS_MAX).any(|seed| {
        canary::set(Some(rule));
        let outcome = catch_unwind(AssertUnwindSafe(|| runner::simulate(seed, || run(seed))));
        canary::set(None);
        !matches!(outcome, Ok(Ok(_)))
    })
}

#[test]
fn the_canary_of_a_journal_that_acknowledges_early_is_noticed() {
    assert!(is_noticed(Rule::JournalDurableBeforeAck, every_write));
}

#[test]
fn the_canary_of_an_extent_pointed_at_a_volatile_copy_is_noticed() {
    assert!(is_noticed(Rule::CopyDurableBeforeMove, every_write));
}

/// Only where the store is on two drives: those of seed 4 have a log drive, those of seed 1 an
/// offload drive.
#[test]
fn the_canary_of_a_commit_before_the_flush_of_the_other_drive_is_noticed() {
    for seed in [4, 1] {
        canary::set(Some(Rule::OtherDevicesFlushed));
        let run = || runner::simulate(seed, || every_write(seed));
        let outcome = catch_unwind(AssertUnwindSafe(run));
        canary::set(None);
        assert!(!matches!(outcome, Ok(Ok(_))), "seed {seed}: tables were lost and no cut saw it");
    }
}

#[test]
fn the_canary_of_a_recovered_log_without_a_journaled_end_is_noticed() {
    assert!(is_noticed(Rule::LogEndJournaled, second_lives));
}

#[test]
fn the_canary_of_a_zone_reset_under_a_reader_is_noticed() {
    assert!(is_noticed(Rule::NoResetUnderReader, every_write));
}

#[test]
fn the_canaries_of_what_is_acknowledged_are_noticed_by_scripts_too() {
    for rule in [
        Rule::JournalDurableBeforeAck,
        Rule::CopyDurableBeforeMove,
        Rule::LogEndJournaled,
        Rule::CacheFollowsWrites,
    ] {
        let noticed = (0..SCRIPTS_MAX).any(|seed| {
            canary::set(Some(rule));
            let outcome = model::of_seed(seed);
            canary::set(None);
            outcome.is_err()
        });
        assert!(noticed, "{rule:?}");
    }
}

/// The first of some crowds that notices that a rule of the engine is broken.
fn crowd_that_notices(rule: engine::Rule, on: On) -> Option<u64> {
    (0..CROWDS_MAX).find(|seed| {
        engine::set(Some(rule));
        let body = || runner::simulate(*seed, || crowd(on, *seed));
        let outcome = catch_unwind(AssertUnwindSafe(body));
        engine::set(None);
        !matches!(outcome, Ok(Ok(_)))
    })
}

#[test]
fn the_canaries_of_errors_that_nobody_is_told_of_are_noticed_by_crowds() {
    use engine::Rule;
    for (rule, on) in [
        (Rule::FollowersShareTheError, On::Memory),
        (Rule::FollowersShareTheError, On::Directory),
        (Rule::FollowersShareTheError, On::Drive),
        (Rule::AppendFailsItsWrites, On::Memory),
        (Rule::LogGoesWithItsTables, On::Memory),
        (Rule::LogGoesWithItsTables, On::Drive),
    ] {
        let noticed = crowd_that_notices(rule, on);
        println!("{rule:?} {on:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?} on a {on:?}");
    }
}

/// Whether a suite notices at one of the first seeds that a rule of the engine is broken.
fn suite_notices(rule: engine::Rule, suite: impl Fn(u64)) -> bool {
    (0..SEEDS_MAX).any(|seed| {
        engine::set(Some(rule));
        let outcome = catch_unwind(AssertUnwindSafe(|| suite(seed)));
        engine::set(None);
        outcome.is_err()
    })
}

#[test]
fn the_canaries_of_checkpoints_that_verify_nothing_are_noticed() {
    for rule in [engine::Rule::CopiesVerified, engine::Rule::CopiedLogsAsRead] {
        let noticed = suite_notices(rule, |seed| damage_sources(seed, &mut Default::default()));
        assert!(noticed, "{rule:?}");
    }
}

#[test]
fn the_canaries_of_metrics_that_leave_something_out_are_noticed() {
    assert!(suite_notices(engine::Rule::TablesCounted, |seed| _ = recount(seed)));
    let noticed = (0..SEEDS_MAX).any(|seed| {
        canary::set(Some(Rule::RequestsCounted));
        let outcome = catch_unwind(|| recount(seed));
        canary::set(None);
        outcome.is_err()
    });
    assert!(noticed, "requests that are not counted");
}
