//! Scripts of all operations against ordered maps.
//!
//! `TERRACE_TEST_SEED=N cargo test -p terrace-lab --test it model` repeats one seed, and shrinks it
//! if it fails.

use terrace_env::test_seeds;
#[cfg(debug_assertions)]
use terrace_lab::model::Failure;
use terrace_lab::model::{Kind, METAMORPHIC_SETTINGS, Operation, Setting, Tally, script};
use terrace_lab::simulate::scripts::check;
#[cfg(debug_assertions)]
use terrace_lab::simulate::scripts::outcome;

/// Operations of a script that is played once.
const LENGTH: usize = 300;

/// Plays a script and, if it fails, tells the shortest one that does.
fn must_agree(script: Vec<Operation>, setting: &Setting, seed: u64, which: &str) -> Tally {
    check(script, setting, seed).unwrap_or_else(|failure| {
        panic!("seed {seed} (TERRACE_TEST_SEED={seed} repeats it){which}: {failure}")
    })
}

/// Plays a seed's script on the seed's drive.
#[cfg(debug_assertions)]
pub(crate) fn of_seed(seed: u64) -> Result<Tally, Failure> {
    outcome(&script(seed, LENGTH, Kind::Everything), &Setting::any(seed), seed)
}

#[test]
fn any_operations_on_any_drive_under_any_options_agree_with_ordered_maps() {
    let mut tally = Tally::default();
    for seed in test_seeds(1_500) {
        let script = script(seed, LENGTH, Kind::Everything);
        tally = tally.and(must_agree(script, &Setting::any(seed), seed, ""));
    }
    println!("{tally:?}");
    if test_seeds(2).count() > 1 {
        let Tally { flushes, compactions, openings, reads, refused, pairs } = tally;
        let all = [flushes, compactions, openings, reads, refused];
        assert!(all.iter().all(|&count| count > 1_000), "something was hardly done: {tally:?}");
        let missing = pairs.missing();
        assert!(missing.is_empty(), "features that have not met: {missing:?}");
    }
}

#[test]
fn one_list_of_operations_reads_back_the_same_under_sixteen_settings() {
    for seed in test_seeds(12) {
        let script = script(seed, 700, Kind::Determined);
        for number in 0..METAMORPHIC_SETTINGS {
            let setting = Setting::metamorphic(number);
            let which = format!(" under setting {number}");
            let tally = must_agree(script.clone(), &setting, seed, &which);
            assert_eq!(
                tally.refused, 0,
                "setting {number}: a drive that is too small proves little"
            );
        }
    }
}
