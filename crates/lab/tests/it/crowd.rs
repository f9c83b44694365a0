//! Crowds of writers over stores that fail and then lose their power.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it crowd` repeats one seed.

use terrace_env::{runner, test_seeds};
use terrace_lab::crash::crowd::Met;
use terrace_lab::simulate::crowds::{On, crowd};

fn each_seed(on: On, default: u64, run: impl Fn(u64) -> Result<Met, String>) -> Met {
    let mut met = Met::default();
    for seed in test_seeds(default) {
        met = met.and(run(seed).unwrap_or_else(|wrong| {
            panic!("seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
        }));
    }
    println!("{on:?}: {met:?}");
    let Met { refused, acked, groups, synced, .. } = met;
    assert!(is_alone() || refused > 0, "no failure was met: {met:?}");
    assert!(groups * 4 < acked * 3, "{acked} writes in {groups} groups: no writer followed");
    assert!(synced > 0, "nothing was promised: {met:?}");
    met
}

/// Whether one seed alone is to run, which may not meet everything.
fn is_alone() -> bool {
    let seeds = test_seeds(2);
    seeds.end - seeds.start == 1
}

/// Some stores took writes again after a failure. A drive whose flush has failed never does, and
/// most other faults it is spared.
fn expect_resumed(met: &Met) {
    assert!(is_alone() || met.resumed > 0, "no store went on after a failure: {met:?}");
}

#[test]
fn a_crowd_over_a_failing_drive_loses_nothing_that_was_synced() {
    let _ = each_seed(On::Drive, 200, |seed| runner::simulate(seed, || crowd(On::Drive, seed)));
}

#[test]
fn a_crowd_over_a_failing_directory_loses_nothing_that_was_synced() {
    let met =
        each_seed(On::Directory, 200, |seed| runner::simulate(seed, || crowd(On::Directory, seed)));
    expect_resumed(&met);
}

#[test]
fn a_crowd_over_a_failing_store_loses_nothing_that_was_synced() {
    let met = each_seed(On::Memory, 200, |seed| runner::simulate(seed, || crowd(On::Memory, seed)));
    expect_resumed(&met);
}

#[test]
fn crowds_of_threads_over_failing_places_lose_nothing_that_was_synced() {
    for on in [On::Drive, On::Directory, On::Memory] {
        // Among so few crowds, none may happen to resume.
        let _ = each_seed(on, 10, |seed| crowd(on, seed));
    }
}
