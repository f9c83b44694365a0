//! Carries out a merge in [subcompactions](super::subcompaction).
//!
//! 1. The compaction's actor begins subcompactions, and workers carry them out. With one worker, or
//!    one subcompaction, the actor does the work itself. If the outputs are to lie in key order on
//!    the device, or the plan asks for a [set](super::set), the subcompactions run one after the
//!    other.
//! 2. The actor commits each subcompaction on its own, as an instalment: the outputs are added to
//!    the tree, the merged keys are taken from the inputs, and the moves of the plan in its range
//!    are made.
//! 3. The decider's state is committed with the last instalment, unless a part of the merge was
//!    left undone or a later choice has committed its state.
//!
//! Where space is short:
//! - A subcompaction that has used up its budget of space ends between two keys. The rest becomes
//!   the next subcompaction to begin.
//! - If there is no space for one more subcompaction, those in flight are committed first. If there
//!   is still too little, the subcompaction gets a half, a quarter, and so on, of the space that it
//!   may need. The merge ends when that is used up.
//! - If not even a small instalment can be reserved, the merge fails for lack of space. Its
//!   committed instalments stay.
//!
//! After each instalment, a merge of [`Urgency::Rest`] checks whether a batch has been written
//! since it began. If so, it begins no further subcompaction.
//!
//! Threads: the compaction's actor, and [workers](super::worker). No lock is held over I/O.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_env::{ByteCount, Cause, Time, runner};
use terrace_policy::{Key, Merge, Move, Part, Place, Urgency};

use super::combining::Combining;
use super::compactor::Compactor;
use super::inputs;
use super::rewrite::{Rewrite, Rewritten};
use super::set::Set;
use super::subcompaction::{self, Load, Subcompaction};
use super::table_source::{TABLES_OPEN_MAX, TableSource};
use super::tombstone_elision::TombstoneElision;
use super::worker::MergeSubcompactions;
use super::worst_case::{with_ranges, worst_case};
use crate::Error;
use crate::memory::Walk;
use crate::merge::{self, RunCursor, Source};
use crate::ranges::{Fragment, JobRanges, RangeTombstone};
use crate::running::JobProgress;
use crate::tree::Run;
use crate::tree::Version;
use crate::tree::{DeciderState, Edit};

/// Number of subcompactions that are begun in addition to one for each worker, so that a worker
/// that ends early finds another one.
const AHEAD: usize = 1;

/// The smallest instalment. Where space is short, an instalment takes the space that is kept for it
/// (a zone, if the store has zones), for any size of the merge's tables.
const INSTALMENT_MIN: ByteCount = ByteCount::kib(64);

/// A merge in flight.
pub(crate) struct MergeJob {
    merge: Merge,
    last_level: u8,
    table_size: ByteCount,
    /// Number of destinations of its routes.
    destinations: u64,
    /// Number of groups when it began, for a merge that ends when writers write again.
    groups: Option<u64>,
    /// For a merge whose tables are a set.
    set: Option<Set>,
    progress: Arc<JobProgress>,
}

impl MergeJob {
    fn new(
        version: &Version,
        mut merge: Merge,
        free: ByteCount,
        groups: Option<u64>,
        progress: Arc<JobProgress>,
    ) -> Result<Self, Error> {
        let set = Set::of(version, &merge, free)?;
        inputs::add_barriers(version, &mut merge);
        let cuts = merge.routes.iter().map(|route| &route.cut);
        let table_size = cuts.map(|cut| cut.size.min(cut.aligned_from)).min();
        let table_size = table_size.unwrap_or(ByteCount(1));
        let routes = merge.routes.iter();
        let destinations: BTreeSet<_> = routes.map(|route| (route.to, route.stream)).collect();
        let (last_level, destinations) = (version.last_level(), destinations.len() as u64);
        Ok(Self { merge, last_level, table_size, destinations, groups, set, progress })
    }

    /// Parts that a subcompaction takes out of each run, with their places, and its moves. `end`:
    /// where the subcompaction ends early.
    fn taken(
        &self,
        subcompaction: &Subcompaction,
        end: Option<&Key>,
    ) -> (Vec<(Place, Part)>, Vec<Move>) {
        let mut subcompaction = subcompaction.clone();
        subcompaction.end = end.or(subcompaction.end.as_ref()).cloned();
        let clip =
            |part: &Part| Some(Part { file: part.file, span: subcompaction.clip(&part.span)? });
        let inputs = self.merge.inputs.iter();
        let parts = inputs.flat_map(|input| input.parts.iter().map(|part| (input.place, part)));
        let parts = parts.filter_map(|(place, part)| Some((place, clip(part)?))).collect();
        let moves = self.merge.moves.iter();
        let moves = moves.filter_map(|one| Some(Move { part: clip(&one.part)?, ..one.clone() }));
        (parts, moves.collect())
    }
}

/// A subcompaction in flight.
struct Begun {
    /// Its name for the workers.
    at: usize,
    subcompaction: Subcompaction,
    /// Whether it was given less space than it may take. Then the merge ends when that is used up.
    short: bool,
}

/// Progress of a merge.
struct Progress {
    /// Subcompactions that have not begun, in key order.
    due: VecDeque<Subcompaction>,
    /// Subcompactions in flight, in the order in which they are committed.
    under_way: VecDeque<Begun>,
    begun: usize,
    committed: usize,
    written: u64,
    /// Whether due subcompactions were left to a later merge.
    is_cut_short: bool,
}

impl Progress {
    fn new(subcompactions: Vec<Subcompaction>) -> Self {
        let (due, under_way) = (subcompactions.into(), VecDeque::new());
        let (begun, committed, written) = (0, 0, 0);
        Self { due, under_way, begun, committed, written, is_cut_short: false }
    }

    /// Whether all subcompactions are committed.
    fn is_done(&self) -> bool {
        self.due.is_empty() && self.under_way.is_empty()
    }

    /// Leaves the subcompactions that have not begun to a later merge.
    fn cut_short(&mut self) {
        self.is_cut_short |= !self.due.is_empty();
        self.due.clear();
    }

    /// Adds a prepared subcompaction to those in flight.
    fn begin(&mut self, subcompaction: Subcompaction, short: bool) -> usize {
        let at = self.begun;
        self.begun += 1;
        self.under_way.push_back(Begun { at, subcompaction, short });
        at
    }
}

impl Compactor {
    /// Carries out a merge; returns its output, or `None` if the engine closes first.
    pub(crate) fn merge(
        &self,
        version: Arc<Version>,
        merge: Merge,
        state: DeciderState,
        urgency: Urgency,
        running: &Arc<JobProgress>,
    ) -> Result<Option<ByteCount>, Error> {
        let in_order = self.decider.writes_in_order() || merge.set;
        let workers = if in_order { 1 } else { self.workers.count() };
        let space = self.store.space();
        let free = ByteCount(space.free.0.saturating_sub(space.reserved.0));
        let subcompactions = subcompaction::cut(&version, &merge, workers, free)?;
        let groups = (urgency == Urgency::Rest).then(|| self.counters.groups.get());
        running.add_parts(subcompactions.len() as u64);
        let job = MergeJob::new(&version, merge, free, groups, Arc::clone(running))?;
        // Files of trimmed inputs must become free.
        drop(version);
        let at_once = workers > 1 && subcompactions.len() > 1;
        let mut progress = Progress::new(subcompactions);
        let ended = if at_once {
            self.merge_at_once(&job, &mut progress, &state)?
        } else {
            self.merge_in_turn(&job, &mut progress, &state)?
        };
        if !ended && progress.committed == 0 {
            return Ok(None);
        }
        self.counters.merged(&job.merge);
        Ok(Some(ByteCount(progress.written)))
    }

    /// Runs one subcompaction after the other, in this actor; `false` if the engine closes first.
    fn merge_in_turn(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        state: &DeciderState,
    ) -> Result<bool, Error> {
        while let Some(subcompaction) = progress.due.pop_front() {
            let begun = runner::now();
            let (rewrite, short) = self.subcompaction(job, &subcompaction, true)?;
            progress.begin(subcompaction, short);
            let Some(done) = rewrite.carry_out(&self.lifecycle)? else { return Ok(false) };
            if !self.commit_subcompaction(job, progress, done, state, begun)? {
                break;
            }
            self.give_way(job, progress);
        }
        Ok(true)
    }

    /// Ends a merge for idle writers, between two subcompactions, once they write again.
    fn give_way(&self, job: &MergeJob, progress: &mut Progress) {
        if job.groups.is_some_and(|groups| groups != self.counters.groups.get()) {
            progress.cut_short();
        }
    }

    /// Runs several subcompactions at once, in the workers; `false` if the engine closes first.
    fn merge_at_once(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        state: &DeciderState,
    ) -> Result<bool, Error> {
        let subcompactions = self.workers.begin_merge();
        while !progress.is_done() {
            self.begin_subcompactions(&subcompactions, job, progress)?;
            let front = progress.under_way.front().expect("a subcompaction in flight").at;
            let Some((result, begun)) = subcompactions.fetch(front, &self.lifecycle) else {
                return Ok(false);
            };
            let Some(done) = result? else { return Ok(false) };
            if !self.commit_subcompaction(job, progress, done, state, begun)? {
                break;
            }
            self.give_way(job, progress);
        }
        Ok(true)
    }

    /// Begins subcompactions, at least one, as far as there are workers and space.
    fn begin_subcompactions(
        &self,
        subcompactions: &MergeSubcompactions<'_>,
        job: &MergeJob,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        while progress.under_way.len() < self.workers.count() + AHEAD
            // If this one ends the merge, the subcompactions after it would be thrown away.
            && !progress.under_way.front().is_some_and(|begun| begun.short)
            && let Some(subcompaction) = progress.due.front()
        {
            let alone = progress.under_way.is_empty();
            let (rewrite, short) = match self.subcompaction(job, subcompaction, alone) {
                Err(error) if error.is_space() && !alone => return Ok(()),
                made => made?,
            };
            let subcompaction =
                progress.due.pop_front().expect("the subcompaction that was made ready");
            let at = progress.begin(subcompaction, short);
            subcompactions.begin(at, rewrite);
        }
        Ok(())
    }

    /// Prepares a subcompaction, and says whether it was given less space than it may take.
    /// `alone`: no other is in flight.
    fn subcompaction(
        &self,
        job: &MergeJob,
        subcompaction: &Subcompaction,
        alone: bool,
    ) -> Result<(Rewrite, bool), Error> {
        let version = self.tree.view().version.clone();
        let (parts, _) = job.taken(subcompaction, None);
        let (mut sources, mut tombstones) = (Vec::new(), Vec::new());
        let mut load = Load::default();
        for of_run in parts.chunk_by(|(a, _), (b, _)| a == b) {
            let mut segments = Vec::new();
            for (place, part) in of_run {
                let segment = version.part(*place, part)?;
                for Fragment { span, sequences } in segment.ranges(Cause::Compaction)? {
                    let of = |sequence| RangeTombstone { span: span.clone(), sequence };
                    tombstones.extend(sequences.into_iter().map(of));
                }
                load.add(&segment)?;
                segments.push(segment);
            }
            let run = Arc::new(Run::new(of_run[0].0.run, segments));
            // A merge of sets has only sets as inputs. A request for each of many runs, as in level
            // 0, would leave no memory to the last ones.
            let cursor = if job.merge.set && self.decider.reads_sets() {
                RunCursor::joint(run, Cause::Compaction)
            } else {
                RunCursor::new(run, Walk::Job(Cause::Compaction))
            };
            sources.push(Source::Run(Box::new(cursor)));
        }
        let snapshots = self.tree.snapshots();
        let elision = TombstoneElision::of(&version, &job.merge, subcompaction);
        let ranges = JobRanges::new(&tombstones, &snapshots, || elision.spans());
        let ranges = ranges.counted_by(&self.memory.jobs);
        let (source, short) = self.subcompaction_source(job, load, &ranges, alone)?;
        let (merge, routes) = (merge::Merge::new(sources), job.merge.routes.clone());
        job.progress.begin_part(load.entries);
        let filter = self.value_filter(&snapshots);
        let rewrite = Rewrite::new(merge, snapshots, ranges, elision, routes, source);
        let combining = Combining::of(&self.operands, &self.tree, &self.memory);
        let rewrite = rewrite.filtered_by(filter).combined_by(combining);
        let rewrite = rewrite.paced_by(Arc::clone(&self.pacer));
        Ok((rewrite.counted_by(Arc::clone(&job.progress)), short))
    }

    /// The table source of a subcompaction that reads `load`, and whether it was given less space
    /// than it may take. A subcompaction that is alone takes all available space.
    fn subcompaction_source(
        &self,
        job: &MergeJob,
        load: Load,
        ranges: &JobRanges,
        alone: bool,
    ) -> Result<(TableSource, bool), Error> {
        let options = self.committer.options_now();
        let worst = worst_case(&options, job.table_size, job.destinations, load);
        let worst = with_ranges(worst, ranges, job.table_size, &job.merge.routes);
        // With a minimum of 0, halving would never end.
        let least = INSTALMENT_MIN.0.min(job.table_size.0 / 2).max(1);
        let mut wanted = worst;
        let reservation = loop {
            match self.store.reserve(Rank::Compaction, wanted) {
                Ok(reservation) => break reservation,
                Err(error) if error.is_space() && alone && wanted.0 / 2 >= least => wanted.0 /= 2,
                Err(error) => {
                    if error.is_space() && alone {
                        self.space.refuse(self.tree.changes(), wanted);
                    }
                    return Err(error.into());
                }
            }
        };
        let short = wanted < worst;
        // The open tables must still be ended when the budget is used up. The worst case has an
        // allowance for the tails of tables, which is enough for that. A part of the worst case may
        // have too little.
        let budget = if short { (wanted.0 - wanted.0 / 8).max(1) } else { wanted.0 };
        let group = job.set.as_ref().map(|set| set.group(&*self.store, &reservation));
        let source = TableSource {
            store: Arc::clone(&self.store),
            options,
            memory: Arc::clone(&self.memory),
            histogram_max: self.decider.histogram_max(),
            last_level: job.last_level,
            rank: Rank::Compaction,
            cause: Cause::Compaction,
            reservation: Some(Arc::new(reservation)),
            group: group.transpose()?,
            offload: false,
            budget: ByteCount(budget),
            worst,
            // A part of the worst case has no space for the remainders of several zones.
            tables_open: if short { 1 } else { TABLES_OPEN_MAX },
            discarded: Arc::clone(&self.counters.bytes_discarded),
        };
        Ok((source, short))
    }

    /// Commits the first subcompaction in flight, as far as it went, and puts its remainder first
    /// among those that are due; `false` if the merge ends there.
    fn commit_subcompaction(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        done: Rewritten,
        state: &DeciderState,
        begun: Time,
    ) -> Result<bool, Error> {
        let Begun { subcompaction, short, .. } =
            progress.under_way.pop_front().expect("a subcompaction that was begun");
        let Rewritten { outputs, boundary, counts } = done;
        let version = self.tree.view().version.clone();
        let (parts, moves) = job.taken(&subcompaction, boundary.as_ref());
        let (mut edit, mut read, mut moved) = (Edit::default(), Vec::new(), Vec::new());
        for (place, part) in parts {
            read.push((place, version.part(place, &part)?.size));
            edit.take(place, &part);
        }
        for one in moves {
            moved.extend(edit.carry(&version, &one)?);
        }
        drop(version);
        debug_assert!(
            boundary.is_none() || subcompaction.start < boundary,
            "a subcompaction ends early after its first key"
        );
        debug_assert!(
            boundary.is_none() || subcompaction.end.is_none() || boundary < subcompaction.end,
            "a subcompaction ends early before its end"
        );
        let ended_early = boundary.is_some();
        if let Some(start) = boundary {
            self.counters.steps_ended_early.add(1);
            job.progress.add_parts(1);
            progress.due.push_front(Subcompaction { start: Some(start), end: subcompaction.end });
        }
        debug_assert!(
            progress.due.iter().is_sorted_by(|a, b| a.end.is_some() && a.end <= b.start),
            "subcompactions in key order"
        );
        let last = progress.is_done() && !progress.is_cut_short;
        let state = last.then(|| state.clone());
        outputs.put_into(&mut edit);
        let (newer, all) = bytes_read(&read);
        self.space.merged(newer, all.saturating_sub(outputs.bytes()));
        self.commit(edit, state)?;
        progress.written += outputs.committed(&self.counters).0;
        progress.committed += 1;
        self.count_moved(moved);
        for (place, bytes) in read {
            self.counters.levels[usize::from(place.level)].bytes_read.add(bytes.0);
        }
        self.counters.entries_dropped.add(counts.dropped);
        self.counters.values_filtered.add(counts.filtered);
        self.counters.stepped(runner::now().since(begun));
        Ok(!(short && ended_early))
    }

    pub(crate) fn count_moved(&self, moved: Vec<(Place, ByteCount)>) {
        for (place, bytes) in moved {
            self.counters.levels[usize::from(place.level)].bytes_moved.add(bytes.0);
        }
    }
}

/// Bytes of the parts above the oldest place, and of all parts.
fn bytes_read(parts: &[(Place, ByteCount)]) -> (u64, u64) {
    let oldest = parts.iter().map(|(place, _)| place.age()).max();
    let all: u64 = parts.iter().map(|(_, bytes)| bytes.0).sum();
    let of_oldest = parts.iter().filter(|(place, _)| Some(place.age()) == oldest);
    (all - of_oldest.map(|(_, bytes)| bytes.0).sum::<u64>(), all)
}
