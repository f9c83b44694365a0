//! Carrying out a merge: its [slices](crate::slice) are begun in key order, by as many workers at
//! once as there are and as space allows, and committed in key order by the compaction's actor,
//! each as an instalment: outputs in, inputs trimmed. The tree is legal after each of them, and the
//! decider's state moves with the last.
//!
//! Where the decider wants what is written to lie in key order, one slice follows the other.
//!
//! Where space is short for a slice, those before it are finished first. Where it is still short,
//! the slice gets what can be set aside, and ends the merge where that is used up: the decider then
//! chooses anew, out of a tree with more space. A slice that was estimated too small ends the same
//! way. If not even half a table can be written, the merge fails for lack of space.
//!
//! Memory: per slice that is under way a read-ahead buffer for each input run and the table that is
//! written; all of them share what [jobs may hold](crate::memory). No version is held for longer
//! than a slice takes, so that what was trimmed comes free.

use std::sync::Arc;

use terrace_env::store::Rank;
use terrace_env::{ByteCount, Cause, Time, runner};
use terrace_policy::{Key, Merge, Move, Part, Place};

use crate::Error;
use crate::below::Below;
use crate::edit::Edit;
use crate::inputs::{self, find};
use crate::job::{with_ranges, worst_case};
use crate::merge::{self, Source};
use crate::ranges::{Fragment, JobRanges, RangeTombstone};
use crate::rewrite::{Rewrite, Rewritten, TableSource};
use crate::run::Run;
use crate::run_cursor::RunCursor;
use crate::shared::{Refused, Shared};
use crate::slice::{self, Slice};
use crate::table::Walk;
use crate::version::Version;
use crate::worker::SliceWork;

/// Slices that are begun, or wait for a worker, beside one for each worker: one, so that a worker
/// that is done early has something to go on with.
const AHEAD: usize = 1;

/// A merge on its way.
pub(crate) struct MergeJob {
    merge: Merge,
    slices: Vec<Slice>,
    last_level: u8,
    table_size: ByteCount,
}

impl MergeJob {
    fn new(
        version: &Version,
        mut merge: Merge,
        workers: usize,
        free: ByteCount,
    ) -> Result<Self, Error> {
        let slices = slice::cut(version, &merge, workers, free)?;
        inputs::add_barriers(version, &mut merge);
        let table_size = merge.routes.iter().map(|route| route.cut.size).min();
        let table_size = table_size.unwrap_or(ByteCount(1));
        Ok(Self { merge, slices, last_level: version.last_level(), table_size })
    }

    /// What a slice takes out of each run, up to `end` if it ends there: the parts with their
    /// places, and the moves.
    fn taken(&self, slice: &Slice, end: Option<&Key>) -> (Vec<(Place, Part)>, Vec<Move>) {
        let mut slice = slice.clone();
        slice.end = end.or(slice.end.as_ref()).cloned();
        let clip = |part: &Part| Some(Part { file: part.file, span: slice.clip(&part.span)? });
        let inputs = self.merge.inputs.iter();
        let parts = inputs.flat_map(|input| input.parts.iter().map(|part| (input.place, part)));
        let parts = parts.filter_map(|(place, part)| Some((place, clip(part)?))).collect();
        let moves = self.merge.moves.iter();
        let moves = moves.filter_map(|one| Some(Move { part: clip(&one.part)?, ..one.clone() }));
        (parts, moves.collect())
    }
}

/// How far a merge has come.
#[derive(Default)]
struct Progress {
    begun: usize,
    committed: usize,
    written: u64,
}

impl Shared {
    /// Carries out a merge; returns what it wrote, or `None` if the engine closes first.
    pub(crate) fn merge(
        &self,
        version: Arc<Version>,
        merge: Merge,
        state: Vec<u8>,
    ) -> Result<Option<ByteCount>, Error> {
        let workers = if self.decider.writes_in_order() { 1 } else { self.workers };
        let space = self.store.space();
        let free = ByteCount(space.free.0.saturating_sub(space.reserved.0));
        let job = MergeJob::new(&version, merge, workers, free)?;
        // What is trimmed must come free.
        drop(version);
        let mut progress = Progress::default();
        let whole = if workers > 1 && job.slices.len() > 1 {
            let whole = self.merge_at_once(&job, &mut progress, &state);
            self.clear_slices();
            whole?
        } else {
            self.merge_in_turn(&job, &mut progress, &state)?
        };
        if !whole && progress.committed == 0 {
            return Ok(None);
        }
        self.counters.compactions.add(1);
        Ok(Some(ByteCount(progress.written)))
    }

    /// One slice after the other, here; whether all were committed.
    fn merge_in_turn(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        state: &[u8],
    ) -> Result<bool, Error> {
        while progress.committed < job.slices.len() {
            let begun = runner::now();
            let rewrite = self.slice(job, progress.committed, true)?;
            let Some(done) = self.carry_out(rewrite)? else { return Ok(false) };
            if !self.commit_slice(job, progress, done, state, begun)? {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Several slices at once, by the workers; whether all were committed.
    fn merge_at_once(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        state: &[u8],
    ) -> Result<bool, Error> {
        while progress.committed < job.slices.len() {
            while progress.begun < job.slices.len()
                && progress.begun - progress.committed < self.workers + AHEAD
            {
                let (at, alone) = (progress.begun, progress.begun == progress.committed);
                match self.slice(job, at, alone) {
                    Ok(rewrite) => self.begin_slice(SliceWork { at, rewrite }),
                    Err(error) if error.is_space() && !alone => break,
                    Err(error) => return Err(error),
                }
                progress.begun += 1;
            }
            let Some((result, begun)) = self.await_slice(progress.committed) else {
                return Ok(false);
            };
            let Some(done) = result? else { return Ok(false) };
            if !self.commit_slice(job, progress, done, state, begun)? {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Makes a slice ready to be carried out. `alone`: no other is under way.
    fn slice(&self, job: &MergeJob, at: usize, alone: bool) -> Result<Rewrite, Error> {
        let slice = &job.slices[at];
        let version = self.view().version.clone();
        let (parts, _) = job.taken(slice, None);
        let (mut sources, mut tombstones) = (Vec::new(), Vec::new());
        for of_run in parts.chunk_by(|(a, _), (b, _)| a == b) {
            let mut segments = Vec::new();
            for (place, part) in of_run {
                let segment = find(&version, *place, part)?;
                for Fragment { span, sequences } in segment.ranges(Cause::Compaction)? {
                    let of = |sequence| RangeTombstone { span: span.clone(), sequence };
                    tombstones.extend(sequences.into_iter().map(of));
                }
                segments.push(segment);
            }
            let run = Arc::new(Run::new(of_run[0].0.run, segments));
            let walk = Walk::Job(Cause::Compaction);
            sources.push(Source::Run(Box::new(RunCursor::new(run, walk))));
        }
        let snapshots: Vec<_> = self.state.lock().snapshots.keys().copied().collect();
        let below = Below::of(&version, &job.merge, slice);
        let ranges = JobRanges::new(&tombstones, &snapshots, || below.spans());
        let source = self.slice_source(job, at, &ranges, alone)?;
        let (merge, routes) = (merge::Merge::new(sources), job.merge.routes.clone());
        Ok(Rewrite::new(merge, snapshots, ranges, below, routes, source))
    }

    /// Where a slice's tables go. Alone, it takes what there is.
    fn slice_source(
        &self,
        job: &MergeJob,
        at: usize,
        ranges: &JobRanges,
        alone: bool,
    ) -> Result<TableSource, Error> {
        let slice = &job.slices[at];
        let bits = self.options.filter_bits;
        let worst = worst_case(bits, job.table_size, slice.entries, slice.plain);
        let worst = with_ranges(worst, ranges, job.table_size, &job.merge.routes);
        let (mut wanted, least) = (worst, ByteCount(job.table_size.0 / 2));
        let reservation = loop {
            match self.store.reserve(Rank::Compaction, wanted) {
                Ok(reservation) => break reservation,
                Err(error) if error.is_space() && alone && wanted.0 / 2 >= least.0 => wanted.0 /= 2,
                Err(error) => {
                    if error.is_space() && alone {
                        let mut state = self.state.lock();
                        state.refused = Some(Refused { at: state.tree_changes, bytes: wanted });
                    }
                    return Err(error.into());
                }
            }
        };
        // The table that is being written when the budget is used up must still be ended. What
        // lies in a whole input is known, in a part of one it is estimated.
        let (whole, known) = (wanted == worst, job.slices.len() == 1);
        let budget = match (whole, known) {
            (true, true) => u64::MAX,
            (true, false) => wanted.0,
            (false, _) => (wanted.0 - wanted.0 / 8).max(1),
        };
        Ok(TableSource {
            store: Arc::clone(&self.store),
            options: self.options.clone(),
            memory: self.memory.jobs.clone(),
            last_level: job.last_level,
            rank: Rank::Compaction,
            cause: Cause::Compaction,
            reservation: Some(Arc::new(reservation)),
            budget: ByteCount(budget),
            worst,
        })
    }

    /// Commits the slice that is due, as far as it went; `false` if the merge ends there.
    fn commit_slice(
        &self,
        job: &MergeJob,
        progress: &mut Progress,
        done: Rewritten,
        state: &[u8],
        begun: Time,
    ) -> Result<bool, Error> {
        let slice = &job.slices[progress.committed];
        let version = self.view().version.clone();
        let (parts, moves) = job.taken(slice, done.boundary.as_ref());
        let (mut edit, mut read, mut relinked) = (Edit::default(), Vec::new(), Vec::new());
        for (place, part) in parts {
            read.push((place, find(&version, place, &part)?.size));
            edit.take(place, &part);
        }
        for one in moves {
            relinked.extend(edit.carry(&version, &one)?);
        }
        drop(version);
        let goes_on = done.boundary.is_none();
        let last = goes_on && progress.committed + 1 == job.slices.len();
        let state = last.then(|| state.to_vec());
        progress.written += self.commit_outputs(done.outputs, edit, state, None)?.0;
        progress.committed += 1;
        self.count_relinked(relinked);
        for (place, bytes) in read {
            self.counters.levels[usize::from(place.level)].bytes_read.add(bytes.0);
        }
        self.counters.entries_dropped.add(done.counts.dropped);
        self.counters.stepped(runner::now().since(begun));
        Ok(goes_on)
    }

    pub(crate) fn count_relinked(&self, relinked: Vec<(Place, ByteCount)>) {
        for (place, bytes) in relinked {
            self.counters.levels[usize::from(place.level)].bytes_relinked.add(bytes.0);
        }
    }
}
