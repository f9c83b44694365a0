//! Compaction: the decider is asked, and what it chose is carried out without thinking. One actor.
//!
//! The job goes by steps and is dropped when the engine closes. Its tables, its inputs' end and the
//! decider's new state are committed by one transaction. Where space is too short for all of a
//! plan, the job is one instalment of it: what lies before its boundary is committed and its inputs
//! are trimmed, so that their space comes back; the decider then chooses anew.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_env::{ByteCount, Cause, runner};
use terrace_policy::{Choice, Input, Merge, Move, Place, Plan, Urgency};

use crate::Error;
use crate::edit::Edit;
use crate::event::Job;
use crate::inputs::{self, find};
use crate::job::{with_ranges, worst_case};
use crate::merge::{self, Source};
use crate::ranges::{Fragment, JobRanges, RangeTombstone};
use crate::rewrite::{Rewrite, Rewritten, TableSource};
use crate::run_cursor::RunCursor;
use crate::shared::{CompactionRequest, PanicGuard, Retry, Shared};
use crate::table::Walk;
use crate::version::{Run, Version};

/// How often a client's request is tried again before the client is told that there is no space.
const REQUEST_TRIES: u32 = 5;

/// What the actor does next.
enum Task {
    Request(CompactionRequest),
    Pick { urgency: Urgency, tree: u64 },
}

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "a compaction" };
    let (mut retry, mut tries) = (Retry::new(), 0);
    while let Some(task) = next(shared) {
        let result = match &task {
            Task::Request(request) => shared.push_down(request),
            Task::Pick { urgency, tree } => shared.keep_shape(*urgency, *tree),
        };
        {
            let mut state = shared.state.lock();
            state.compacting = false;
            state.throttle.compaction_ends(runner::now());
        }
        shared.changed.notify_all();
        match result {
            Ok(()) => (retry, tries) = (Retry::new(), 0),
            Err(error) if error.is_space() => {
                shared.note_no_space(&error);
                tries += 1;
                if let Task::Request(request) = &task
                    && tries >= REQUEST_TRIES
                {
                    shared.answer(request, Err(error));
                    tries = 0;
                }
                retry.wait(shared, shared.state.lock());
            }
            Err(error) => shared.fail("a compaction", error),
        }
    }
    shared.end_requests();
}

/// Waits for something to do; `None` when there is nothing more to do.
fn next(shared: &Shared) -> Option<Task> {
    let mut state = shared.state.lock();
    loop {
        if state.closing {
            return None;
        }
        let tree = state.tree_changes;
        let spaceless = state.no_space.is_some() && state.spaceless_at != Some(tree);
        let task = if state.failure.is_some() {
            None
        } else if let Some(request) = state.requests.front() {
            Some(Task::Request(request.clone()))
        } else if spaceless {
            Some(Task::Pick { urgency: Urgency::Space, tree })
        } else if state.settled_at != Some(tree) {
            Some(Task::Pick { urgency: Urgency::Shape, tree })
        } else {
            None
        };
        if task.is_some() {
            state.compacting = true;
            // What a client asks for is no burden that writers bring.
            if matches!(task, Some(Task::Pick { .. })) {
                state.throttle.compaction_begins(runner::now());
            }
            return task;
        }
        shared.changed.wait(&mut state);
    }
}

impl Shared {
    fn keep_shape(&self, urgency: Urgency, tree: u64) -> Result<(), Error> {
        let version = self.view().version.clone();
        if self.drop_covered(&version)? {
            return Ok(());
        }
        match self.decider.pick(&version.view(), &self.decider_state(), urgency) {
            Some(choice) => self.carry_out_choice(&version, choice),
            None => {
                let mut state = self.state.lock();
                state.settled_at = Some(tree);
                if urgency == Urgency::Space {
                    state.spaceless_at = Some(tree);
                }
                Ok(())
            }
        }
    }

    fn push_down(&self, request: &CompactionRequest) -> Result<(), Error> {
        let version = self.view().version.clone();
        if self.drop_covered(&version)? {
            return Ok(());
        }
        match self.decider.push_down(&version.view(), &self.decider_state(), &request.span) {
            Some(choice) => self.carry_out_choice(&version, choice),
            None => {
                self.answer(request, Ok(()));
                Ok(())
            }
        }
    }

    fn answer(&self, request: &CompactionRequest, result: Result<(), Error>) {
        let mut state = self.state.lock();
        let waiting = state.requests.len();
        state.requests.retain(|waiting| waiting.ticket != request.ticket);
        // Who was told of a failure has gone.
        if state.requests.len() < waiting {
            state.answered.insert(request.ticket, result);
        }
        self.changed.notify_all();
    }

    fn end_requests(&self) {
        let mut state = self.state.lock();
        let error = state.check_writable().err().unwrap_or(Error::Closed);
        state.end_requests(&error);
        self.changed.notify_all();
    }

    fn carry_out_choice(&self, version: &Version, choice: Choice) -> Result<(), Error> {
        self.check_plan(version, &choice.plan)?;
        match choice.plan {
            Plan::Relink(moves) => self.relink(version, &moves, choice.state),
            Plan::Merge(plan) => {
                let job = describe(&plan);
                self.tell_of_job(job, || self.merge(version, plan, choice.state))
            }
        }
    }

    /// A decider's bug must not make the tree wrong.
    fn check_plan(&self, version: &Version, plan: &Plan) -> Result<(), Error> {
        match inputs::defect(version, plan) {
            None => Ok(()),
            Some(defect) => Err(Error::IllegalPlan { decider: self.decider.name(), defect }),
        }
    }

    fn relink(&self, version: &Version, moves: &[Move], state: Vec<u8>) -> Result<(), Error> {
        let mut edit = Edit::default();
        let mut bytes = Vec::new();
        for one in moves {
            bytes.extend(edit.carry(version, one)?);
        }
        self.commit(edit, Some(state), None)?;
        self.count_relinked(bytes);
        self.counters.relinks.add(1);
        Ok(())
    }

    fn count_relinked(&self, relinked: Vec<(Place, ByteCount)>) {
        for (place, bytes) in relinked {
            self.counters.levels[usize::from(place.level)].bytes_relinked.add(bytes.0);
        }
    }

    /// Returns what it wrote; `None` if the engine closes first.
    fn merge(
        &self,
        version: &Version,
        mut plan: Merge,
        state: Vec<u8>,
    ) -> Result<Option<ByteCount>, Error> {
        let mut sources = Vec::new();
        let mut tombstones = Vec::new();
        let (mut entries, mut plain) = (0, 0);
        for input in &plan.inputs {
            let mut segments = Vec::new();
            for part in &input.parts {
                let segment = find(version, input.place, part)?;
                let table = segment.table.table(Cause::Compaction)?;
                entries += table.properties().entries;
                plain += table.properties().plain_bytes;
                for Fragment { span, sequences } in segment.ranges(Cause::Compaction)? {
                    let of = |sequence| RangeTombstone { span: span.clone(), sequence };
                    tombstones.extend(sequences.into_iter().map(of));
                }
                segments.push(segment);
            }
            let run = Arc::new(Run::new(input.place.run, segments));
            let walk = Walk::Job(Cause::Compaction);
            sources.push(Source::Run(Box::new(RunCursor::new(run, walk))));
        }
        let table_size = plan.routes.iter().map(|route| route.cut.size).min();
        let table_size = table_size.unwrap_or(ByteCount(1));
        let snapshots: Vec<_> = self.state.lock().snapshots.keys().copied().collect();
        inputs::add_barriers(version, &mut plan);
        let below = inputs::below(version, &plan);
        let Merge { inputs, routes, moves } = plan;
        let ranges = JobRanges::new(&tombstones, &snapshots, below.spans());
        let worst = worst_case(self.options.filter_bits, table_size, entries, plain);
        let worst = with_ranges(worst, &ranges, table_size, &routes);
        let source = self.compaction_source(version.last_level(), worst, table_size)?;
        let merge = merge::Merge::new(sources);
        let job = Rewrite::new(merge, snapshots, ranges, below, routes, source);
        let Some(done) = self.carry_out(job)? else { return Ok(None) };
        self.commit_merge(version, &inputs, &moves, done, state).map(Some)
    }

    /// Where the tables go. Where space is short, the job gets what can be set aside, and goes only
    /// as far as that reaches.
    fn compaction_source(
        &self,
        last_level: u8,
        worst: ByteCount,
        table_size: ByteCount,
    ) -> Result<TableSource, Error> {
        let (mut wanted, least) = (worst, ByteCount(table_size.0 / 2));
        let reservation = loop {
            match self.store.reserve(Rank::Compaction, wanted) {
                Ok(reservation) => break reservation,
                Err(error) if error.is_space() && wanted.0 / 2 >= least.0 => wanted.0 /= 2,
                Err(error) => return Err(error.into()),
            }
        };
        // The table that is being written when the budget is used up must still be ended.
        let whole = wanted == worst;
        let budget = if whole { u64::MAX } else { (wanted.0 - wanted.0 / 8).max(1) };
        Ok(TableSource {
            store: Arc::clone(&self.store),
            options: self.options.clone(),
            memory: self.memory.jobs.clone(),
            last_level,
            rank: Rank::Compaction,
            cause: Cause::Compaction,
            reservation: Some(Arc::new(reservation)),
            budget: ByteCount(budget),
        })
    }

    /// Commits a merge, as far as it went. The decider's state moves on only with all of it.
    fn commit_merge(
        &self,
        version: &Version,
        inputs: &[Input],
        moves: &[Move],
        done: Rewritten,
        state: Vec<u8>,
    ) -> Result<ByteCount, Error> {
        let mut edit = Edit::default();
        let mut read = Vec::new();
        for (place, part) in inputs.iter().flat_map(|i| i.parts.iter().map(|p| (i.place, p))) {
            let mut taken = part.clone();
            if let Some(boundary) = &done.boundary {
                taken.span.end = taken.span.end.min(Arc::clone(boundary));
            }
            if !taken.span.is_empty() {
                read.push((place, find(version, place, &taken)?.size.0));
                edit.take(place, &taken);
            }
        }
        let mut relinked = Vec::new();
        for one in moves {
            let mut one = one.clone();
            if let Some(boundary) = &done.boundary {
                one.part.span.end = one.part.span.end.min(Arc::clone(boundary));
            }
            if !one.part.span.is_empty() {
                relinked.extend(edit.carry(version, &one)?);
            }
        }
        let state = done.boundary.is_none().then_some(state);
        let written = self.commit_outputs(done.outputs, edit, state, None)?;
        self.count_relinked(relinked);
        for (place, bytes) in read {
            self.counters.levels[usize::from(place.level)].bytes_read.add(bytes);
        }
        self.counters.entries_dropped.add(done.counts.dropped);
        self.counters.compactions.add(1);
        Ok(written)
    }
}

/// What listeners are told of a plan.
fn describe(plan: &Merge) -> Job {
    let from = plan.inputs.iter().map(|input| input.place.level).min().unwrap_or(0);
    let to = plan.routes.iter().map(|route| route.to.level).max().unwrap_or(0);
    let inputs = plan.inputs.iter().map(|input| input.parts.len()).sum();
    Job::Compaction { from, to, inputs }
}
