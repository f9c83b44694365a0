//! Carries out a series of runs, several at once. Runs whose outcomes are known are left out,
//! unless [`Limits::fresh`] is set.
//!
//! - Each run that is carried out has a thread. As many go on at once as the limits and the memory
//!   allow, but at least one.
//! - An outcome is kept when its run ends. If the program stops, only the running ones are lost.
//! - A run that fails or panics does not stop the others.
//! - A run may be the beginning of another run, its *host*, or equal to an earlier one. It then
//!   waits until the hosts have ended, and takes its outcomes from the results. If they are not
//!   there, it is carried out by itself.
//!
//! The caller's `watch` is called from the threads of the runs, several at once, and from the
//! caller's own.

use std::any::Any;
use std::sync::Arc;

use terrace_env::runner::{self, JoinHandle};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{ByteCount, Time};

use super::{ResultError, Results, memory, results};
use crate::run::{self, Outcome, PlanError, Progress, RunError, RunPlan};

/// How much may go on at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most runs at once.
    pub jobs: usize,
    /// Memory of all of them together; `None`: no limit is known.
    pub memory: Option<ByteCount>,
    /// Whether runs of which results are known are carried out all the same.
    pub fresh: bool,
}

/// Event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// The outcome is known.
    Known,
    /// The run has a file that cannot be trusted: it is carried out again.
    Distrusted(&'a ResultError),
    /// The run has begun.
    Began,
    /// The progress of a phase, and the time passed on the full drive since the run began.
    Did(Progress<'a>, Time),
    /// The run has ended.
    Ended(Result<&'a [Outcome], &'a SeriesError>),
}

/// A run of a series that came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// The run cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run panicked: an error in the program.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The outcome could not be kept.
    #[error(transparent)]
    Result(#[from] ResultError),
}

/// Outcomes of a run's measured phases, or the error that ended it.
pub type Carried = Result<Vec<Outcome>, SeriesError>;

/// Told each event, with the run's place among the plans; from several threads.
type Watch = dyn Fn(usize, Event<'_>) + Send + Sync;

/// Carries out all runs; returns the outcome of each, in the order of the plans.
pub fn carry_out_all(
    plans: &[RunPlan],
    results: &Results,
    limits: Limits,
    watch: &Arc<Watch>,
) -> Vec<Carried> {
    let mut all: Vec<Option<Carried>> = Vec::new();
    let mut waiting = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        let known = known(index, plan, results, limits, watch);
        if known.is_none() {
            waiting.push(index);
        }
        all.push(known.map(Ok));
    }
    let (hosts, guests) = guests(plans, &waiting);
    carry_out_these(&hosts, plans, results, limits, watch, &mut all);
    let mut left = Vec::new();
    for index in guests {
        let limits = Limits { fresh: false, ..limits };
        match known(index, &plans[index], results, limits, watch) {
            Some(outcomes) => all[index] = Some(Ok(outcomes)),
            // The other run has failed, perhaps later than this one goes.
            None => left.push(index),
        }
    }
    carry_out_these(&left, plans, results, limits, watch, &mut all);
    all.into_iter().map(|one| one.expect("every run is known or was carried out")).collect()
}

/// The runs that must be carried out, and the runs that are contained in one of these.
fn guests(plans: &[RunPlan], waiting: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let nameless: Vec<RunPlan> = plans.iter().map(RunPlan::nameless).collect();
    let begins_like = |guest: &RunPlan, host: &RunPlan| {
        let last = guest.phases.len().checked_sub(1);
        last.is_some_and(|last| host.phases.len() > last && host.as_far_as(last) == *guest)
    };
    let hosted = |index: usize| {
        waiting.iter().any(|other| {
            let (own, others) = (&nameless[index], &nameless[*other]);
            // Of equal ones the first is carried out.
            begins_like(own, others) && (own != others || *other < index)
        })
    };
    waiting.iter().partition(|index| !hosted(**index))
}

/// Carries out the runs at these places.
fn carry_out_these(
    these: &[usize],
    plans: &[RunPlan],
    results: &Results,
    limits: Limits,
    watch: &Arc<Watch>,
    all: &mut [Option<Carried>],
) {
    let slots = Arc::new(Slots::new(limits));
    let mut running: Vec<(usize, JoinHandle<Carried>)> = Vec::new();
    for &index in these {
        let plan = plans[index].clone();
        let memory = match memory::estimate(&plan) {
            Ok(memory) => memory,
            Err(error) => {
                all[index] = Some(Err(error.into()));
                continue;
            }
        };
        let slot = Slot::wait(&slots, memory);
        let (results, watch) = (results.clone(), Arc::clone(watch));
        let body = move || {
            let _slot = slot;
            one(index, &plan, &results, &watch)
        };
        running.push((index, runner::spawn("run", body)));
    }
    for (index, handle) in running {
        let panicked = |panic: Box<dyn Any + Send>| {
            let error = SeriesError::Panicked(said(panic.as_ref()));
            watch(index, Event::Ended(Err(&error)));
            Err(error)
        };
        all[index] = Some(handle.try_join().unwrap_or_else(panicked));
    }
}

fn known(
    index: usize,
    plan: &RunPlan,
    results: &Results,
    limits: Limits,
    watch: &Arc<Watch>,
) -> Option<Vec<Outcome>> {
    if limits.fresh {
        return None;
    }
    match results.find(plan) {
        Ok(found) => {
            found.iter().for_each(|_| watch(index, Event::Known));
            found
        }
        Err(error) => {
            watch(index, Event::Distrusted(&error));
            None
        }
    }
}

fn one(index: usize, plan: &RunPlan, results: &Results, watch: &Arc<Watch>) -> Carried {
    watch(index, Event::Began);
    let time_scale = plan.time_scale();
    let mut progress = |progress: Progress<'_>| {
        // This is inside of the run, on its clock.
        watch(index, Event::Did(progress, Time(runner::now().0.saturating_mul(time_scale))));
    };
    // Another run that shares a phase with this one may ask for its metrics.
    let carried_out = run::carry_out(&plan.all_measured(), &mut progress);
    let outcome = carried_out.map_err(SeriesError::from).and_then(|outcomes| {
        results.keep(plan, &outcomes)?;
        Ok(results::measured(plan.phases.iter().zip(outcomes)))
    });
    watch(index, Event::Ended(outcome.as_deref()));
    outcome
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "for a reason that is no text".to_owned())
}

/// Threads and memory taken by the active runs.
struct Slots {
    limits: Limits,
    taken: Mutex<(usize, u64)>,
    changed: Condvar,
}

impl Slots {
    fn new(limits: Limits) -> Self {
        Self { limits, taken: Mutex::new((0, 0)), changed: Condvar::new() }
    }

    fn fits(&self, (jobs, memory): (usize, u64), more: ByteCount) -> bool {
        let most = self.limits.memory.map_or(u64::MAX, |most| most.0);
        jobs == 0 || (jobs < self.limits.jobs && memory.saturating_add(more.0) <= most)
    }
}

/// A run's slot, given back when it is dropped, also by a panic.
struct Slot {
    slots: Arc<Slots>,
    memory: ByteCount,
}

impl Slot {
    fn wait(slots: &Arc<Slots>, memory: ByteCount) -> Self {
        let mut taken = slots.taken.lock();
        slots.changed.wait_while(&mut taken, |taken| !slots.fits(*taken, memory));
        taken.0 += 1;
        taken.1 += memory.0;
        Self { slots: Arc::clone(slots), memory }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        taken.0 -= 1;
        taken.1 -= self.memory.0;
        self.slots.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::series::plans;

    #[test]
    fn runs_wait_for_a_slot_and_for_memory_but_one_is_always_tried() {
        let memory = Some(ByteCount::mib(100));
        let slots = Slots::new(Limits { jobs: 2, memory, fresh: false });
        assert!(slots.fits((0, 0), ByteCount::gib(1)));
        assert!(slots.fits((1, 60 << 20), ByteCount::mib(40)));
        assert!(!slots.fits((1, 61 << 20), ByteCount::mib(40)));
        assert!(!slots.fits((2, 0), ByteCount::mib(1)));
    }

    #[test]
    fn a_run_that_begins_another_is_not_carried_out_and_of_equal_ones_only_the_first() {
        let text = include_str!("../experiment/test.toml");
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        let whole = plans(&experiment, &[], "1/64".parse().unwrap(), 1).unwrap().remove(0);
        let named = RunPlan { experiment: "other".into(), ..whole.clone() };
        let mut unmeasured = named.clone();
        unmeasured.phases[0].measured = false;
        let other = RunPlan { seed: 2, ..named.clone() };
        let plans = [whole.as_far_as(0), whole, unmeasured, named, other.as_far_as(0)];
        assert_eq!(guests(&plans, &[0, 1, 2, 3, 4]), (vec![1, 4], vec![0, 2, 3]));
        assert_eq!(guests(&plans, &[2, 3]), (vec![2], vec![3]));
        assert_eq!(guests(&plans, &[0, 4]), (vec![0, 4], vec![]));
    }

    #[test]
    fn a_slot_is_given_back_by_a_panic() {
        let slots = Arc::new(Slots::new(Limits { jobs: 1, memory: None, fresh: false }));
        let slot = Slot::wait(&slots, ByteCount::mib(1));
        let run = runner::spawn("run", move || {
            let _slot = slot;
            panic!("a run that fails");
        });
        drop(Slot::wait(&slots, ByteCount::mib(1)));
        let panic = run.try_join().expect_err("a panic");
        assert_eq!(said(panic.as_ref()), "a run that fails");
    }
}
