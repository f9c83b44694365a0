//! Power cuts at every request that changes a drive: in the life of a new store, and in the life of
//! a recovered one, with its recovery.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it cuts` repeats one seed.

use std::cell::Cell;

use terrace::Row;
use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};
use terrace_lab::crash::{Activity, Life, Setup, live, recover};
use terrace_zone::PowerCut;

const BATCHES: usize = 600;

/// How many trials were made, and what was under way meanwhile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    trials: usize,
    activity: Activity,
}

/// The cuts of one life: at every point, each way of losing what is volatile.
fn cut_everywhere(setup: &Setup, life: &Life, random: &mut Random) -> Result<usize, String> {
    let mut trials = 0;
    for point in &life.cuts {
        for cut in [PowerCut::DropUnflushed, PowerCut::Prefixes, PowerCut::Blocks] {
            recover(setup, &life.history, point, cut, 0, random)
                .map_err(|failure| format!("cut {cut:?} at request {}: {failure}", point.number))?;
            trials += 1;
        }
    }
    Ok(trials)
}

/// Cuts one life at every request.
pub(crate) fn every_write(seed: u64) -> Result<Tally, String> {
    let random = &mut Random::seeded(seed);
    let setup = Setup::small(seed);
    let life = live(&setup, BATCHES, random);
    let trials = cut_everywhere(&setup, &life, random)?;
    Ok(Tally { trials, activity: life.activity })
}

/// Cuts a short life under one system at every request; `jobs` compactions at once.
fn under(row: Row, jobs: u16, seed: u64) -> Result<Tally, String> {
    let random = &mut Random::seeded(seed);
    let setup = Setup::small(seed).under(row).with_jobs(jobs);
    let life = live(&setup, BATCHES / 3, random);
    let trials = cut_everywhere(&setup, &life, random)?;
    Ok(Tally { trials, activity: life.activity })
}

/// Cuts a life at some requests, lets it live on, and cuts that life at every request.
pub(crate) fn second_lives(seed: u64) -> Result<Tally, String> {
    let random = &mut Random::seeded(seed);
    let setup = Setup::small(seed);
    let first = live(&setup, BATCHES / 2, random);
    let mut tally = Tally { trials: 0, activity: first.activity };
    for point in first.cuts.iter().step_by(31) {
        let cut = PowerCut::any(random);
        let at = |wrong: String| format!("first cut {cut:?} at {}: {wrong}", point.number);
        let more = random.random_range(1..40);
        let survivor = recover(&setup, &first.history, point, cut, more, random)
            .map_err(|failure| at(failure.to_string()))?;
        let second = survivor.life.expect("a life of its own");
        tally.activity = tally.activity.and(second.activity);
        tally.trials += cut_everywhere(&setup, &second, random).map_err(at)?;
    }
    Ok(tally)
}

/// Runs the seeds. Every kind of work must have been under way at some cut: one proves nothing
/// about work that was never done.
fn each_seed(default: u64, run: impl Fn(u64) -> Result<Tally, String>) {
    let total = Cell::new(Tally::default());
    for seed in test_seeds(default) {
        let tally = runner::simulate(seed, || run(seed)).unwrap_or_else(|wrong| {
            panic!("seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
        });
        let Tally { trials, activity } = total.get();
        let activity = activity.and(tally.activity);
        total.set(Tally { trials: trials + tally.trials, activity });
    }
    let Tally { trials, activity } = total.get();
    println!("{trials} cuts under {activity:?}");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
    assert!(activity.is_complete(), "a kind of work was never cut: {activity:?}");
}

#[test]
fn a_store_survives_a_power_cut_at_every_write() {
    each_seed(5, every_write);
}

#[test]
fn a_store_survives_cuts_during_recovery_and_in_the_life_after_it() {
    each_seed(5, second_lives);
}

#[test]
fn a_store_survives_a_power_cut_under_any_system() {
    for (seed, row) in test_seeds(1).flat_map(|seed| Row::ALL.map(|row| (seed, row))) {
        cut_under(row, 1, seed);
    }
}

#[test]
fn a_store_survives_a_power_cut_with_several_compactions_at_once() {
    for seed in test_seeds(1) {
        for (row, jobs) in [(Row::Bluefs, 2), (Row::LeveldbGreedy, 4), (Row::Tiered, 4)] {
            cut_under(row, jobs, seed);
        }
    }
}

fn cut_under(row: Row, jobs: u16, seed: u64) {
    let tally = runner::simulate(seed, || under(row, jobs, seed)).unwrap_or_else(|wrong| {
        panic!("{row:?}, {jobs} jobs, seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
    });
    let Activity { flushes, compactions, .. } = tally.activity;
    println!("{row:?}, {jobs} jobs: {} cuts under {:?}", tally.trials, tally.activity);
    assert!(flushes > 0 && compactions > 0, "{row:?}: {:?}", tally.activity);
    assert!(tally.trials > 300, "{row:?}: a run of only {} cuts proves little", tally.trials);
}
