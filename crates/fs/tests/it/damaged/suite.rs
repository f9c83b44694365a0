//! The tests: by seed, a store in a directory or on zones is closed or its process is killed, a
//! file of it is damaged, and the bytes read are compared with the oracle.

use std::collections::BTreeMap;

use terrace_env::random::Random;
use terrace_env::{runner, test_seeds};

use super::harm::Harm;
use super::oracle::{Outcome, Part};
use super::specimen::{End, Specimen};
use super::{directory, zones};

/// Damages that are done to each store.
const PER_STORE: usize = 250;

/// A medium that holds a specimen, and can be damaged.
pub(super) trait Medium {
    /// Does one damage to a copy, and compares the rest with the required state.
    fn damage(
        &self,
        specimen: &Specimen,
        random: &mut Random,
    ) -> (Part, Harm, Result<Outcome, String>);
}

/// How often which damage ended how.
type Tally = BTreeMap<(Part, Harm, Outcome), usize>;

/// Damages specimens of a seed on both media; the first that is lost in silence is the error.
fn of_seed(seed: u64, tally: &mut Tally) -> Result<(), String> {
    for end in [End::Closed, End::Killed] {
        for on_zones in [false, true] {
            let random = &mut Random::seeded(seed);
            let (medium, specimen): (Box<dyn Medium>, Specimen) = if on_zones {
                let (zones, specimen) = zones::Zones::make(seed, end, random);
                (Box::new(zones), specimen)
            } else {
                let (directory, specimen) = directory::Directory::make(end, random);
                (Box::new(directory), specimen)
            };
            for number in 0..PER_STORE {
                let (part, harm, outcome) = medium.damage(&specimen, random);
                let outcome = outcome.map_err(|wrong| {
                    let place = if on_zones { "on zones" } else { "in a directory" };
                    format!("seed {seed}, {end:?} {place}, {number}: {harm:?} of {part:?}: {wrong}")
                })?;
                *tally.entry((part, harm, outcome)).or_default() += 1;
            }
        }
    }
    Ok(())
}

#[test]
fn no_damaged_file_of_any_store_is_lost_in_silence() {
    let mut tally = Tally::new();
    for seed in test_seeds(4) {
        eprintln!("seed {seed}: TERRACE_TEST_SEED={seed} repeats it");
        let done = runner::simulate(seed, || of_seed(seed, &mut tally));
        done.unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    println!("{tally:#?}");
    if test_seeds(4).count() >= 4 {
        for part in [Part::Superblock, Part::Journal, Part::Log, Part::Table, Part::Client] {
            let reported = tally
                .iter()
                .filter(|((of, _, outcome), _)| *of == part && *outcome == Outcome::Reported);
            assert!(reported.count() > 2, "{part:?} was hardly ever found damaged");
        }
    }
}

#[cfg(debug_assertions)]
#[test]
fn the_canary_of_logs_whose_ends_are_not_recorded_is_noticed_by_damage() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use terrace_fs::canary::{self, Rule};

    let noticed = (0..8).any(|seed| {
        canary::set(Some(Rule::LogEndRecorded));
        let run = || runner::simulate(seed, || of_seed(seed, &mut Tally::new()));
        let outcome = catch_unwind(AssertUnwindSafe(run));
        canary::set(None);
        !matches!(outcome, Ok(Ok(())))
    });
    assert!(noticed);
}
