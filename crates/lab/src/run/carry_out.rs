//! Carries out a plan in virtual time: opens the store, runs the phases, and returns an outcome for
//! each measured phase.
//!
//! After the last phase all contents of the store are verified. If they are wrong, or if another
//! step fails, `carry_out` returns an error and no outcome.
//!
//! Each run is a simulation of its own on the calling thread. So do not call `carry_out` inside a
//! simulation. Several threads may each carry out a run.

use std::io::Write;

use terrace_env::runner::SimulationOptions;

use super::plan::RunPlan;
use super::stage::Stage;
use super::{Outcome, RunError};

/// How far a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Operations that are done.
    pub operations: u64,
    /// Operations that there are to do.
    pub of: u64,
}

/// Carries a plan out; returns the outcome of each phase that is measured. In virtual time and on
/// the calling thread: any number of runs may go on at once on different threads, and each comes to
/// the same as alone.
///
/// All contents of the store at the end are held against the writes to it: a metric of a
/// store that has lost data would be worth nothing.
pub fn carry_out(
    plan: &RunPlan,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Outcome>, RunError> {
    carry_out_traced(plan, None, watch)
}

/// The same, with every request to the drive, and to a second one that takes time, written to
/// `trace`, a line each: when it was submitted, when the drive began to serve it, when it
/// completed, its cause, its kind, its first block, the number of blocks, and flags.
pub fn carry_out_traced(
    plan: &RunPlan,
    trace: Option<Box<dyn Write + Send>>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Outcome>, RunError> {
    SimulationOptions::seeded(plan.seed).unlimited().run(|| {
        let stage = Stage::open(plan, trace)?;
        let mut outcomes = Vec::new();
        for phase in 0..plan.phases.len() {
            let outcome = stage.phase(phase, watch).map_err(|error| stage.explain(error))?;
            outcomes.extend(outcome);
        }
        stage.finish()?;
        Ok(outcomes)
    })
}
