//! Power cuts at every request that changes the drive.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it cuts` repeats one seed.

use std::cell::Cell;

use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};
use terrace_lab::crash::{Activity, Life, Setup, live, recover};
use terrace_zone::PowerCut;

const BATCHES: usize = 600;

/// The cuts of one life: at every point, each way of losing what is volatile.
fn cut_everywhere(setup: &Setup, life: &Life, random: &mut Random) -> usize {
    let mut trials = 0;
    for point in &life.cuts {
        for cut in [PowerCut::DropUnflushed, PowerCut::Prefixes, PowerCut::Blocks] {
            if let Err(failure) = recover(setup, &life.history, point, cut, 0, random) {
                panic!("cut {cut:?} at request {}: {failure}", point.number);
            }
            trials += 1;
        }
    }
    trials
}

/// Every kind of work must have been under way, in one life or another.
fn expect_complete(activity: Activity) {
    println!("{activity:?}");
    assert!(activity.is_complete(), "a kind of work was never cut: {activity:?}");
}

fn each_seed(default: u64, test: impl Fn(u64, &mut Random) -> usize) -> usize {
    let mut trials = 0;
    for seed in test_seeds(default) {
        eprintln!("seed {seed}: TERRACE_TEST_SEED={seed} repeats it");
        trials += runner::simulate(seed, || test(seed, &mut Random::seeded(seed)));
    }
    trials
}

#[test]
fn a_store_survives_a_power_cut_at_every_write() {
    let activity = Cell::new(Activity::default());
    let trials = each_seed(4, |seed, random| {
        let setup = Setup::small(seed);
        let life = live(&setup, BATCHES, random);
        activity.set(activity.get().and(life.activity));
        cut_everywhere(&setup, &life, random)
    });
    expect_complete(activity.get());
    println!("{trials} cuts");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
}

#[test]
fn a_store_survives_cuts_during_recovery_and_in_the_life_after_it() {
    let trials = each_seed(4, |seed, random| {
        let setup = Setup::small(seed);
        let first = live(&setup, BATCHES / 2, random);
        let mut trials = 0;
        for point in first.cuts.iter().step_by(31) {
            let cut = PowerCut::any(random);
            let more = random.random_range(1..40);
            let survivor = recover(&setup, &first.history, point, cut, more, random)
                .unwrap_or_else(|failure| {
                    panic!("cut {cut:?} at request {}: {failure}", point.number)
                });
            let second = survivor.life.expect("a life of its own");
            trials += cut_everywhere(&setup, &second, random);
        }
        trials
    });
    println!("{trials} second cuts");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
}
