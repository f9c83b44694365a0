//! Damaged blocks and files of a closed store: each damage is harmless or reported.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it flips` repeats one seed.

use std::collections::BTreeMap;

use terrace_env::random::Random;
use terrace_env::{runner, test_seeds};
use terrace_lab::crash::{Directory, Outcome, Setup, damage, live};

const PER_STORE: usize = 2_500;
const PER_DIRECTORY: usize = 500;

#[test]
fn damaged_blocks_of_a_closed_store_are_harmless_or_reported() {
    let mut outcomes = BTreeMap::<Outcome, usize>::new();
    for seed in test_seeds(4) {
        eprintln!("seed {seed}: TERRACE_TEST_SEED={seed} repeats it");
        runner::simulate(seed, || {
            let random = &mut Random::seeded(seed);
            let setup = Setup::small(seed);
            let life = live(&setup, 150, random);
            let snapshot = life.drives.snapshot().expect("a medium in memory does not fail");
            for _ in 0..PER_STORE {
                let outcome = damage(&setup, &life, &snapshot, random)
                    .unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
                *outcomes.entry(outcome).or_default() += 1;
            }
        });
    }
    println!("{outcomes:?}");
    let reported = outcomes.get(&Outcome::Reported).copied().unwrap_or_default();
    assert!(reported > 0, "no damage was ever noticed: {outcomes:?}");
}

#[test]
fn damaged_files_of_a_closed_store_in_a_directory_are_harmless_or_reported() {
    let mut outcomes = BTreeMap::<Outcome, usize>::new();
    for seed in test_seeds(4) {
        eprintln!("seed {seed}: TERRACE_TEST_SEED={seed} repeats it");
        runner::simulate(seed, || {
            let random = &mut Random::seeded(seed);
            let setup = Setup::small(seed);
            let directory = Directory::live(&setup, 150, random);
            for _ in 0..PER_DIRECTORY {
                let outcome = directory
                    .damage(&setup, random)
                    .unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
                *outcomes.entry(outcome).or_default() += 1;
            }
        });
    }
    println!("{outcomes:?}");
    let reported = outcomes.get(&Outcome::Reported).copied().unwrap_or_default();
    assert!(reported > 0, "no damage was ever noticed: {outcomes:?}");
}
