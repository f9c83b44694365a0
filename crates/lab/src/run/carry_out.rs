//! Carries out a plan in virtual time: opens the store, runs the phases, and returns an outcome for
//! each measured phase.
//!
//! After the last phase all contents of the store are verified. If they are wrong, or if another
//! step fails, `carry_out` returns an error and no outcome.
//!
//! Each run is a simulation of its own on the calling thread. So do not call `carry_out` inside a
//! simulation. Several threads may each carry out a run.

use std::io::Write;
use std::sync::Arc;

use terrace_env::runner::SimulationOptions;

use super::observer::{Observation, Observer};
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
    carry_out_with(plan, trace, None, watch)
}

/// The same as [`carry_out`], while `observer` is shown the store at even times.
pub fn carry_out_observed(
    plan: &RunPlan,
    observer: Arc<dyn Observer>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Outcome>, RunError> {
    carry_out_with(plan, None, Some(observer), watch)
}

fn carry_out_with(
    plan: &RunPlan,
    trace: Option<Box<dyn Write + Send>>,
    observer: Option<Arc<dyn Observer>>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Outcome>, RunError> {
    SimulationOptions::seeded(plan.seed).unlimited().run(|| {
        let stage = Stage::open(plan, trace)?;
        let observation = observer.map(|observer| stage.observed(observer));
        let outcomes = phases(&stage, plan, observation.as_ref(), watch);
        // After an error, too: the run may not end before its observation.
        let observed = observation.map_or(Ok(()), Observation::stop);
        let outcomes = outcomes?;
        observed.map_err(|error| RunError::Store { place: "observing".into(), error })?;
        stage.finish()?;
        Ok(outcomes)
    })
}

fn phases(
    stage: &Stage<'_>,
    plan: &RunPlan,
    observation: Option<&Observation>,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Outcome>, RunError> {
    let mut outcomes = Vec::new();
    for (at, phase) in plan.phases.iter().enumerate() {
        observation.iter().for_each(|it| it.enter(&phase.name));
        outcomes.extend(stage.phase(at, watch).map_err(|error| stage.explain(error))?);
    }
    Ok(outcomes)
}
