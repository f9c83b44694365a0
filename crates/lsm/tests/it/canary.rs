//! Rules broken on purpose: a suite must notice each of those here within a given number of seeds.
//! Of the other rules of [`terrace_lsm::canary`], one is broken in `barriers`, and the remaining
//! ones in the tests of the `lab` crate.
//!
//! A rule is broken for the calling thread alone. This suffices, because the suites named here run
//! in simulations, whose actors share one thread. Five of the rules need debug assertions: the
//! explored schedules are built only with these.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_lsm::canary::{Rule, set};

use crate::{
    faults, filtered, full, group_faults, histories, leads, model, plans, ranges, rest,
    transactions, unlogged, versions,
};
#[cfg(debug_assertions)]
use crate::{moments, schedules};

/// The first of the seeds at which a suite notices that a rule is broken; `None`: it does not.
fn noticed_at(rule: Rule, seeds: u64, suite: impl Fn(u64)) -> Option<u64> {
    (0..seeds).find(|seed| {
        set(Some(rule));
        let outcome = catch_unwind(AssertUnwindSafe(|| suite(*seed)));
        set(None);
        outcome.is_err()
    })
}

#[test]
#[cfg(debug_assertions)]
fn the_canaries_of_what_readers_see_are_noticed_by_explored_schedules() {
    for rule in [Rule::InsertBeforePublish, Rule::ViewBeforeSequence, Rule::SnapshotKnownToJobs] {
        let noticed = noticed_at(rule, 1000, |seed| {
            schedules::explore(seed);
        });
        println!("{rule:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn the_canaries_of_ingests_beside_reads_are_noticed_by_explored_schedules() {
    let rules = [
        (Rule::SequenceOfTheView, moments::Read::Scan),
        (Rule::SequenceOfTheView, moments::Read::MultiGet),
        (Rule::SequenceOfTheView, moments::Read::Cursor),
        (Rule::SequenceOfTheView, moments::Read::Salvage),
        (Rule::IngestVisibleWithItsTables, moments::Read::Snapshot),
    ];
    for (rule, read) in rules {
        let noticed = noticed_at(rule, 1000, |seed| moments::explore(seed, read));
        println!("{rule:?}, {read:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}, {read:?}");
    }
}

#[test]
fn the_canaries_of_guards_are_noticed() {
    let rules = [Rule::GuardsHeldInTheLead, Rule::GuardsSeeTheirGroup];
    for rule in rules {
        let noticed = noticed_at(rule, 100, transactions::rivals);
        println!("{rule:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}");
    }
    #[cfg(debug_assertions)]
    for rule in rules {
        let noticed = noticed_at(rule, 100, |seed| {
            histories::explore(seed);
        });
        println!("{rule:?} in a history: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}");
    }
}

#[test]
fn the_canary_of_versions_in_two_tables_is_noticed() {
    let noticed = noticed_at(Rule::VersionsInOneTable, 30, |seed| {
        versions::many_versions(seed);
    });
    println!("seed {noticed:?}");
    assert!(noticed.is_some());
}

#[test]
fn the_canary_of_a_sync_that_leaves_out_what_is_in_no_log_is_noticed() {
    let noticed = noticed_at(Rule::SyncFlushesUnlogged, 40, |seed| {
        terrace_env::runner::simulate(seed, || unlogged::lives(seed, &mut Default::default()));
    });
    println!("seed {noticed:?}");
    assert!(noticed.is_some());
}

#[test]
fn the_canary_of_jobs_that_wake_each_other_for_lack_of_space_is_noticed() {
    assert!(noticed_at(Rule::LackIsNoNews, 1, full::lack_of_space).is_some());
}

#[test]
fn the_canary_of_old_versions_that_are_not_counted_is_noticed() {
    assert!(noticed_at(Rule::OldVersionsCounted, 1, rest::a_snapshot_ends).is_some());
}

#[test]
fn the_canaries_of_rare_errors_are_noticed() {
    let suites: [(Rule, fn(u64)); 4] = [
        (Rule::GroupFailsWithItsLeader, leads::a_leader_of_others_panics),
        (Rule::OpeningOutlivesFullStore, full::no_room_at_an_opening),
        (Rule::IngestFlushesRangeDeletes, ranges::ingest_under_a_range_delete),
        (Rule::LogAheadIsKept, faults::a_switch_of_logs_fails),
    ];
    for (rule, suite) in suites {
        assert!(noticed_at(rule, 1, suite).is_some(), "{rule:?}");
        suite(0);
    }
}

#[test]
fn the_canaries_of_groups_are_noticed_by_faults_in_groups_of_several() {
    let rules =
        [Rule::GroupFailsWithItsLeader, Rule::AppendFailsItsWrites, Rule::FollowersShareTheError];
    for rule in rules {
        let noticed = noticed_at(rule, 5, |seed| {
            group_faults::groups_meet_faults(seed..seed + 1);
        });
        println!("{rule:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}");
    }
    let noticed = noticed_at(Rule::GroupFailsWithItsLeader, 20, |seed| {
        terrace_env::runner::simulate(seed, || {
            leads::crowd(model::slow_store(seed), 20 + seed as i64)
        });
    });
    assert!(noticed.is_some(), "a crowd");
}

#[test]
fn the_canary_of_two_plans_that_take_one_input_is_noticed() {
    for jobs in [2, 4] {
        let noticed = noticed_at(Rule::ClaimsDoNotMeet, 30, |seed| {
            plans::arbitrary(seed, jobs);
        });
        println!("{jobs} jobs: seed {noticed:?}");
        assert!(noticed.is_some(), "{jobs} jobs");
    }
}

#[test]
fn the_canaries_of_compaction_filters_are_noticed() {
    for rule in [Rule::FilteredBecomesDelete, Rule::FilterSparesSnapshots] {
        let noticed = noticed_at(rule, 12, |seed| {
            filtered::filtered(seed);
        });
        println!("{rule:?}: seed {noticed:?}");
        assert!(noticed.is_some(), "{rule:?}");
    }
}
