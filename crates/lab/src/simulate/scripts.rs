//! Scripts of all operations, compared with ordered maps ([`model`](crate::model)).

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_env::runner;

use crate::model::{Failure, Operation, Setting, Tally, play, shrink};

/// Number of plays that make a failing script short.
const SHRINK_TRIES: usize = 1_000;

/// Plays a script in a simulation; a panic is a failure, too.
pub fn outcome(script: &[Operation], setting: &Setting, seed: u64) -> Result<Tally, Failure> {
    let simulated = || runner::simulate(seed, || play(script, setting, seed));
    catch_unwind(AssertUnwindSafe(simulated))
        .unwrap_or_else(|panic| Err(Failure { at: 0, what: super::world::text(&*panic) }))
}

/// Plays a script; if it fails, the error has the shortest script found that fails, too.
pub fn check(script: Vec<Operation>, setting: &Setting, seed: u64) -> Result<Tally, String> {
    outcome(&script, setting, seed).map_err(|failure| {
        let fails = |script: &[Operation]| outcome(script, setting, seed).is_err();
        let small = shrink(script, SHRINK_TRIES, fails);
        let shorter = outcome(&small, setting, seed).err();
        let shorter = shorter.map_or_else(|| "nothing".to_owned(), |failure| failure.to_string());
        let lines: Vec<String> =
            small.iter().map(|operation| format!("    {operation:?}")).collect();
        format!("{failure}\n  shrunk to: {shorter}\n{}\n  on {setting:?}", lines.join("\n"))
    })
}
