//! The tests: power cuts at each request of a crowd that changes the drive, during recovery, in
//! second lives and after a reformat.

use terrace_env::random::{Random, Rng};
use terrace_env::{runner, test_seeds};
use terrace_zone::PowerCut;

use super::oracle::Account;
use super::scene::{Life, first_life, inspect, live, recover};

const TRANSACTIONS: usize = 40;

fn cut_everywhere(life: &Life, random: &mut Random) -> Result<usize, String> {
    let mut trials = 0;
    for point in &life.cuts {
        for cut in [PowerCut::DropUnflushed, PowerCut::Prefixes, PowerCut::Blocks] {
            recover(&life.accounts, point, cut, false, random)
                .map_err(|wrong| format!("cut {cut:?} at request {}: {wrong}", point.number))?;
            trials += 1;
        }
    }
    Ok(trials)
}

fn each_seed(default: u64, test: impl Fn(u64, &mut Random) -> Result<usize, String>) -> usize {
    let mut trials = 0;
    for seed in test_seeds(default) {
        let outcome = runner::simulate(seed, || test(seed, &mut Random::seeded(seed)));
        trials += outcome.unwrap_or_else(|wrong| {
            panic!("seed {seed} (TERRACE_TEST_SEED={seed} repeats it): {wrong}")
        });
    }
    trials
}

/// Cuts one life at every request.
pub(super) fn every_write(seed: u64, random: &mut Random) -> Result<usize, String> {
    let life = first_life(seed, TRANSACTIONS, random);
    cut_everywhere(&life, random)
}

/// Cuts a life at some requests, lets it live on, and cuts the second life at every request.
pub(super) fn second_lives(seed: u64, random: &mut Random) -> Result<usize, String> {
    let first = first_life(seed, TRANSACTIONS / 2, random);
    let mut trials = 0;
    for point in first.cuts.iter().step_by(31) {
        let cut = PowerCut::any(random);
        let at = |wrong: String| format!("first cut {cut:?} at {}: {wrong}", point.number);
        let (found, drives) = recover(&first.accounts, point, cut, true, random).map_err(at)?;
        let accounts: Vec<Account> = first
            .accounts
            .iter()
            .zip(&found)
            .map(|(account, found)| account.after(found))
            .collect();
        let transactions = random.random_range(1..8);
        let second = live(drives, accounts, false, transactions, random)
            .map_err(|error| at(error.to_string()))?;
        trials += cut_everywhere(&second, random).map_err(at)?;
    }
    Ok(trials)
}

/// Formats a used drive again, and cuts the new store's first life at every request.
fn reformatted(seed: u64, random: &mut Random) -> Result<usize, String> {
    let first = first_life(seed, TRANSACTIONS, random);
    let accounts = (0..first.accounts.len() as u8).map(Account::new).collect();
    let second =
        live(first.drives, accounts, true, 6, random).map_err(|error| error.to_string())?;
    let mut trials = cut_everywhere(&second, random)?;
    for point in second.cuts.iter().step_by(7) {
        let (found, drives) = recover(&second.accounts, point, PowerCut::Blocks, true, random)?;
        let accounts: Vec<Account> =
            second.accounts.iter().zip(&found).map(|(old, found)| old.after(found)).collect();
        let third = live(drives, accounts, false, 2, random).map_err(|error| error.to_string())?;
        trials += cut_everywhere(&third, random)?;
    }
    Ok(trials)
}

#[test]
fn everything_promised_survives_a_cut_at_every_write() {
    let trials = each_seed(5, every_write);
    println!("{trials} cuts");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
}

#[test]
fn everything_promised_survives_cuts_during_recovery_and_after_it() {
    let trials = each_seed(5, second_lives);
    println!("{trials} second cuts");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
}

#[test]
fn nothing_of_an_old_store_comes_back_after_a_reformat_and_two_cuts() {
    let trials = each_seed(5, reformatted);
    println!("{trials} cuts after a reformat");
    assert!(trials > 1_000, "a run of only {trials} cuts proves little");
}

#[test]
fn a_closed_store_holds_exactly_what_was_written() {
    each_seed(20, |seed, random| {
        let life = first_life(seed, TRANSACTIONS, random);
        let promises: Vec<_> = life.accounts.iter().map(Account::everything).collect();
        inspect(&life.drives, &life.accounts, &promises, true).map(|_| 1)
    });
}
