//! Power cuts at every request that changes a drive: in the life of a new store, and in the life of
//! a recovered one, with its recovery.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it cuts` repeats one seed.

use std::cell::Cell;

use terrace::Row;
use terrace_env::marks::{self, Marks};
#[cfg(debug_assertions)]
use terrace_env::random::Random;
use terrace_env::{runner, test_seeds};
use terrace_lab::crash::{Activity, Setup};
#[cfg(debug_assertions)]
use terrace_lab::crash::{live, recover};
use terrace_lab::simulate::cuts::{self, Tally};
#[cfg(debug_assertions)]
use terrace_zone::PowerCut;

const BATCHES: usize = 600;

/// A row for plain drives, and one for raw tracks.
const ROWS_WITHOUT_ZONES: [Row; 2] = [Row::LeveldbDisk, Row::Sealdb];

/// Cuts one life at every request.
pub(crate) fn every_write(seed: u64) -> Result<Tally, String> {
    cuts::every_write(&Setup::small(seed), BATCHES, seed)
}

/// Cuts a short life at every request.
fn short_life(setup: &Setup, seed: u64) -> Result<Tally, String> {
    cuts::every_write(setup, BATCHES / 3, seed)
}

/// Cuts a life at some requests, lets it live on, and cuts that life at every request.
pub(crate) fn second_lives(seed: u64) -> Result<Tally, String> {
    cuts::second_lives(&Setup::small(seed), BATCHES / 2, 61, seed)
}

/// Losses of the emulator. Cuts that lose nothing prove nothing.
const LOSSES: [&str; 5] = [
    "zone: all volatile writes of a zone are lost",
    "zone: a part of the volatile writes of a zone is lost",
    "zone: a hole below the write pointer",
    "zone: a volatile reset is lost",
    "zone: an overwrite of a conventional zone is undone",
];

/// Branches of recovery that they must reach; docs/reliability.md has those that they do not.
const RECOVERIES: [&str; 8] = [
    "fs: the journal goes on where it ended",
    "fs: the journal goes on by a splice",
    "fs: a torn or stale frame ends a log",
    "fs: a mount journals the end of a log",
    "lsm: an opening continues a log",
    "lsm: an opening deletes a log without entries",
    "lsm: an opening seals a log that waits for its flush",
    "lsm: an opening flushes a part of a log",
];

/// Runs the seeds. Every kind of work must have been running at some cut, and all branches of
/// `must` have been reached: a cut proves nothing about work that was never done, or about a loss
/// that never came. That is not asked of a single seed that is repeated.
fn each_seed(default: u64, must: &[&[&str]], run: impl Fn(u64) -> Result<Tally, String>) {
    let total = Cell::new(Tally::default());
    let mut marks = Marks::default();
    let seeds = test_seeds(default);
    for seed in seeds.clone() {
        let (lived, reached) = marks::during(|| runner::simulate(seed, || run(seed)));
        marks.add(&reached);
        let tally = lived.unwrap_or_else(|wrong| {
            panic!("seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
        });
        total.set(total.get().and(tally));
    }
    let Tally { trials, activity } = total.get();
    println!("{trials} cuts under {activity:?}, which reached {marks:?}");
    if seeds.end - seeds.start < default {
        return;
    }
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
    assert!(activity.is_complete(), "a kind of work was never cut: {activity:?}");
    if cfg!(debug_assertions) {
        marks.must_have(&must.concat());
    }
}

/// The suite fails on drives that keep all writes: their marks are missing.
#[test]
#[cfg(debug_assertions)]
fn cuts_that_lose_nothing_are_noticed() {
    let ((), marks) = marks::during(|| {
        runner::simulate(0, || {
            let (random, setup) = (&mut Random::seeded(0), Setup::small(2));
            let life = live(&setup, BATCHES / 6, random);
            for point in &life.cuts {
                recover(&setup, &life.history, point, PowerCut::KeepAll, 0, random)
                    .unwrap_or_else(|failure| panic!("request {}: {failure}", point.number));
            }
        });
    });
    assert_eq!(marks.missing(&LOSSES), LOSSES);
}

#[test]
fn a_store_survives_a_power_cut_at_every_write() {
    each_seed(2, &[&LOSSES, &RECOVERIES], every_write);
}

#[test]
fn a_store_survives_cuts_during_recovery_and_in_the_life_after_it() {
    each_seed(2, &[&LOSSES, &RECOVERIES], second_lives);
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

/// Seed 1 has an offload drive, which fails and loses its power by itself.
#[test]
fn a_store_survives_a_power_cut_with_buffers_over_a_last_level() {
    let row = Row::SmrdbLeveled;
    let setup = Setup::small(1).under(row).with_buffers();
    let tally = cut_short_life(&setup, row, 1, short_life);
    assert!(tally.activity.offloaded_bytes > 0, "{:?}", tally.activity);
    for seed in test_seeds(1) {
        cut_short_life(&Setup::small(seed).under(row).with_buffers(), row, seed, short_life);
    }
}

#[test]
fn a_store_survives_a_power_cut_on_plain_drives_and_on_raw_tracks() {
    on_drives_without_zones(short_life);
}

#[test]
fn a_store_without_zones_survives_cuts_during_recovery_and_in_the_life_after_it() {
    on_drives_without_zones(|setup, seed| cuts::second_lives(setup, BATCHES / 3, 499, seed));
}

/// Runs each row for drives without zones on such a drive. Compactions must have been running on
/// each kind.
fn on_drives_without_zones(run: impl Fn(&Setup, u64) -> Result<Tally, String>) {
    for seed in test_seeds(1) {
        let mut activity = Activity::default();
        for row in ROWS_WITHOUT_ZONES {
            let setup = Setup::small(seed).under(row).at_home();
            activity = activity.and(cut_short_life(&setup, row, seed, &run).activity);
        }
        let Activity { compactions_on_plain, compactions_on_tracks, .. } = activity;
        assert!(compactions_on_plain > 0 && compactions_on_tracks > 0, "{activity:?}");
    }
}

fn cut_under(row: Row, jobs: u16, seed: u64) {
    cut_short_life(&Setup::small(seed).under(row).with_jobs(jobs), row, seed, short_life);
}

/// Runs a short test of cuts under a row.
fn cut_short_life(
    setup: &Setup,
    row: Row,
    seed: u64,
    run: impl Fn(&Setup, u64) -> Result<Tally, String>,
) -> Tally {
    let tally = runner::simulate(seed, || run(setup, seed)).unwrap_or_else(|wrong| {
        panic!("{setup:?}, seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
    });
    let Activity { flushes, compactions, .. } = tally.activity;
    println!("{row:?}: {} cuts under {:?}", tally.trials, tally.activity);
    assert!(flushes > 0 && compactions > 0, "{row:?}: {:?}", tally.activity);
    assert!(tally.trials > 100, "{row:?}: a run of only {} cuts proves little", tally.trials);
    tally
}
