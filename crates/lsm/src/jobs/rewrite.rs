//! The job behind flush and compaction: sorted entries in, what somebody may still see out, routed
//! into new tables.
//!
//! It goes by steps of a bounded size and may be dropped between any two: its tables are not
//! sealed, so nothing of it is left. Memory: one or two read-ahead buffers per input run, the table
//! being written (see [`TableBuilder`]), and what is known of the tables that are done.
//!
//! Tables end as the route's [`Cut`](terrace_policy::Cut) says, and always between two full keys.
//! When a job has written as much as it may, it ends there, at its *boundary*: entries before it
//! are done, and entries behind it stay where they are, for a later job.

use std::sync::Arc;

use terrace_env::store::{CreateOptions, FileKind, Rank, Reservation, Store};
use terrace_env::{ByteCount, Cause, MemoryGauge, SeqNo};
use terrace_policy::{Key, Route};

use super::outputs::{Output, Outputs};
use super::retention::{Retention, Verdict};
use super::tombstone_elision::TombstoneElision;
use crate::Error;
use crate::canary::{self, Rule};
use crate::cost;
use crate::counters::Count;
use crate::key;
use crate::options::EngineOptions;
use crate::ranges::JobRanges;
use crate::reading::Merge;
use crate::table::TableBuilder;
use crate::tree::table_hint;

/// How many bytes of entries a step goes through: some milliseconds of work.
const STEP_BYTES: usize = 256 << 10;
/// After how many hidden entries in a row the inputs leap to the end of what hides them.
const LEAP_AFTER: u32 = 16;

/// Where the tables of a job come from.
pub(crate) struct TableSource {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: EngineOptions,
    /// Counts what jobs hold.
    pub(crate) memory: MemoryGauge,
    /// The last level that holds anything.
    pub(crate) last_level: u8,
    pub(crate) rank: Rank,
    pub(crate) cause: Cause,
    /// The job's worst case; without it the job takes what its rank may, and fails if that is not
    /// enough.
    pub(crate) reservation: Option<Arc<Reservation>>,
    /// How much the job may write before it ends at its next key.
    pub(crate) budget: ByteCount,
    /// The most that all its tables can take together.
    pub(crate) worst: ByteCount,
    /// Counts the bytes that are written and not committed.
    pub(crate) discarded: Arc<Count>,
}

/// A table may become larger than its cut by its last entry and the rest of a block.
const OVERSHOOT_SHARE: u64 = 32;

impl TableSource {
    /// `written`: the bytes of the job's tables so far.
    fn begin(&self, route: &Route, written: u64) -> Result<TableBuilder, Error> {
        let whole = route.cut.size.0.saturating_add(route.cut.size.0 / OVERSHOOT_SHARE);
        let left = self.worst.0.min(self.budget.0).saturating_sub(written);
        let writer = self.store.create(&CreateOptions {
            kind: FileKind::Table,
            hint: table_hint(route.to.level, route.stream),
            size: Some(ByteCount(whole.min(left))),
            rank: self.rank,
            reservation: self.reservation.as_deref(),
            group: None,
            cause: self.cause,
        })?;
        let layout = self.options.layout(route.to.level, self.last_level);
        Ok(TableBuilder::new(writer, layout, &self.memory))
    }
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Point in key order that the table being written comes to.
enum Passed {
    Cut,
    Grandparent(ByteCount),
    /// Where a range tombstone starts.
    Start,
}

/// Entries that a job has gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RewriteCounts {
    pub(crate) entries: u64,
    pub(crate) dropped: u64,
}

/// The job.
pub(crate) struct Rewrite {
    merge: Merge,
    started: bool,
    retention: Retention,
    ranges: JobRanges,
    /// How many entries in a row were hidden by range tombstones.
    hidden: u32,
    elision: TombstoneElision,
    routes: Vec<Route>,
    route: usize,
    /// Within the route: the cuts and grandparents passed, and their size since the table began.
    cut: usize,
    grandparent: usize,
    overlap: u64,
    /// Whether the route has got an entry.
    is_route_begun: bool,
    source: TableSource,
    builder: Option<TableBuilder>,
    outputs: Outputs,
    /// Where the job ended, if it was before the end.
    boundary: Option<Key>,
    counts: RewriteCounts,
}

/// Result of a job.
pub(crate) struct Rewritten {
    pub(crate) outputs: Outputs,
    /// The first key that was not gone through; `None`: all were.
    pub(crate) boundary: Option<Key>,
    pub(crate) counts: RewriteCounts,
}

impl Rewrite {
    pub(crate) fn new(
        merge: Merge,
        snapshots: Vec<SeqNo>,
        ranges: JobRanges,
        elision: TombstoneElision,
        routes: Vec<Route>,
        source: TableSource,
    ) -> Self {
        let outputs = Outputs::new(Arc::clone(&source.discarded));
        assert!(routes.last().is_some_and(|route| route.end.is_none()), "a route to the end");
        Self {
            merge,
            started: false,
            retention: Retention::new(snapshots),
            ranges,
            hidden: 0,
            elision,
            routes,
            route: 0,
            cut: 0,
            grandparent: 0,
            overlap: 0,
            is_route_begun: false,
            source,
            builder: None,
            outputs,
            boundary: None,
            counts: RewriteCounts::default(),
        }
    }

    /// Goes on for a bounded number of bytes.
    pub(crate) fn step(&mut self) -> Result<Progress, Error> {
        if !self.started {
            self.merge.seek_to_first()?;
            self.started = true;
        }
        let (mut bytes, mut entries) = (0, 0);
        while bytes < STEP_BYTES {
            self.merge.ready()?;
            let Some(found) = self.merge.key() else {
                self.end_all()?;
                self.count(entries, bytes);
                return Ok(Progress::Done);
            };
            let (full_key, trailer) = key::split(found);
            bytes += found.len() + self.merge.value_slice().len();
            entries += 1;
            if self.ranges.hides(full_key, trailer.sequence()) {
                self.counts.dropped += 1;
                self.pass_hidden()?;
                continue;
            }
            let elision = &self.elision;
            let verdict = self.retention.judge(full_key, trailer, |key| elision.may_hold(key));
            match verdict {
                Verdict::Keep { first } if first && self.must_end() => {
                    self.follow_route()?;
                    self.boundary = self.merge.key().map(|key| key::split(key).0.into());
                    self.end_table(self.boundary.clone())?;
                    self.count(entries, bytes);
                    return Ok(Progress::Done);
                }
                Verdict::Keep { first } => {
                    self.hidden = 0;
                    self.write(first)?;
                }
                Verdict::Drop => self.counts.dropped += 1,
            }
            self.merge.next()?;
        }
        self.count(entries, bytes);
        Ok(Progress::More)
    }

    fn count(&mut self, entries: u32, bytes: usize) {
        self.counts.entries += u64::from(entries);
        cost::charge_merge(entries, bytes);
    }

    /// Result of the job, once it is done.
    pub(crate) fn into_rewritten(mut self) -> Rewritten {
        let (outputs, boundary) = (self.outputs.take(), self.boundary.take());
        Rewritten { outputs, boundary, counts: self.counts }
    }

    /// Whether the job has written as much as it may.
    fn must_end(&self) -> bool {
        self.outputs.bytes() + self.filled() >= self.source.budget.0
    }

    /// About the bytes of the table that is being written.
    fn filled(&self) -> u64 {
        let entries = self.builder.as_ref().map_or(0, |builder| builder.estimated_size().0);
        entries + self.ranges.pending_bytes()
    }

    /// Goes on behind an entry that is hidden; where many were, as far as all older ones are.
    fn pass_hidden(&mut self) -> Result<(), Error> {
        self.hidden += 1;
        if self.hidden >= LEAP_AFTER {
            self.hidden = 0;
            let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
            if let Some((cover, until)) = self.ranges.hides_from_all(full_key) {
                self.merge.leap(cover, &until)?;
                return Ok(());
            }
        }
        self.merge.next()
    }

    /// Writes the entry that the merge stands on.
    fn write(&mut self, first_of_key: bool) -> Result<(), Error> {
        if first_of_key || canary::is_broken(Rule::VersionsInOneTable) {
            self.follow_route()?;
            self.pass_cuts()?;
        }
        let key = self.merge.key().expect("a merge that stands on an entry");
        let builder = match &mut self.builder {
            Some(builder) => builder,
            None => self
                .builder
                .insert(self.source.begin(&self.routes[self.route], self.outputs.bytes())?),
        };
        builder.add(key, self.merge.value_slice())
    }

    /// The full key that the merge stands on; `None` where no range tombstone needs it.
    fn current_key(&self) -> Option<Key> {
        if self.ranges.is_done() {
            return None;
        }
        self.merge.key().map(|key| key::split(key).0.into())
    }

    /// Goes over to the route that the key belongs to.
    fn follow_route(&mut self) -> Result<(), Error> {
        while let Some(end) = &self.routes[self.route].end {
            let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
            if full_key < &end[..] {
                break;
            }
            self.end_route()?;
        }
        Ok(())
    }

    /// Ends what goes to a route, which is not the last one.
    fn end_route(&mut self) -> Result<(), Error> {
        let end = self.routes[self.route].end.clone();
        self.pass_ranges(end.as_ref())?;
        self.end_table(end)?;
        self.route += 1;
        (self.cut, self.grandparent, self.overlap) = (0, 0, 0);
        self.is_route_begun = false;
        Ok(())
    }

    /// Ends what goes to this route and to all behind.
    fn end_all(&mut self) -> Result<(), Error> {
        while !self.ranges.is_done() && self.route + 1 < self.routes.len() {
            self.end_route()?;
        }
        self.pass_ranges(None)?;
        self.end_table(None)
    }

    /// Ends the table if it must not go on before the key that the merge stands on.
    fn pass_cuts(&mut self) -> Result<(), Error> {
        if !self.ranges.is_done() {
            let here = self.current_key();
            self.pass_ranges(here.as_ref())?;
            if self.filled() >= self.routes[self.route].cut.size.0 {
                self.end_table(here.clone())?;
                // A range tombstone that begins at this very key belongs to the table that begins
                // here too.
                self.pass_ranges(here.as_ref())?;
            }
            return Ok(());
        }
        let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
        let cut = &self.routes[self.route].cut;
        let passed = cut.keys[self.cut..].partition_point(|key| &key[..] <= full_key);
        self.cut += passed;
        let grandparents_before = self.grandparent;
        while let Some(grandparent) = cut.grandparents.get(self.grandparent) {
            if full_key < &grandparent.end[..] {
                break;
            }
            self.overlap += grandparent.size.0;
            self.grandparent += 1;
        }
        let carries = cut.carry_overlap && self.is_route_begun;
        self.is_route_begun = true;
        let Some(builder) = &self.builder else {
            // Overlaps that lie before a table are none of its business.
            self.overlap = if carries { self.overlap } else { 0 };
            return Ok(());
        };
        let size = builder.estimated_size();
        let aligned = self.grandparent > grandparents_before && size >= cut.aligned_from;
        let wide = self.overlap > cut.overlap_max.0;
        if passed > 0 || size >= cut.size || wide || aligned {
            let carried = if carries && !wide { self.overlap } else { 0 };
            self.end_table(None)?;
            self.overlap = carried;
        }
        Ok(())
    }

    /// The same where range tombstones are about, which span cuts and grandparents without an
    /// entry and fill tables of their own. `to`: the place that the job has come to; `None`: the
    /// end.
    fn pass_ranges(&mut self, to: Option<&Key>) -> Result<(), Error> {
        loop {
            let cut = &self.routes[self.route].cut;
            let key = cut.keys.get(self.cut).map(|key| (key, Passed::Cut));
            let grandparent = cut.grandparents.get(self.grandparent);
            let grandparent = grandparent.map(|one| (&one.end, Passed::Grandparent(one.size)));
            let start = self.ranges.next_start().map(|start| (start, Passed::Start));
            let next = [key, grandparent, start].into_iter().flatten().min_by_key(|(key, _)| *key);
            let Some((at, passed)) = next.filter(|(at, _)| to.is_none_or(|to| *at <= to)) else {
                return Ok(());
            };
            let (at, size, overlap_max) = (at.clone(), cut.size, cut.overlap_max);
            let aligned_from = cut.aligned_from;
            match passed {
                Passed::Cut => {
                    self.cut += 1;
                    self.end_table(Some(at))?;
                }
                Passed::Grandparent(size) => {
                    self.grandparent += 1;
                    let open = self.builder.is_some() || self.ranges.begin_before(&at);
                    self.overlap = if open { self.overlap + size.0 } else { 0 };
                    if self.overlap > overlap_max.0 || self.filled() >= aligned_from.0 {
                        self.end_table(Some(at))?;
                    }
                }
                Passed::Start => {
                    if self.filled() >= size.0 {
                        self.end_table(Some(at))?;
                    }
                    self.ranges.count_next();
                }
            }
        }
    }

    /// Ends the table, if there is one. `end`: where the next one begins at the earliest, which
    /// takes the range tombstones from there on; `None`: none is left behind.
    fn end_table(&mut self, end: Option<Key>) -> Result<(), Error> {
        self.overlap = 0;
        let ranges = self.ranges.take_until(end.as_deref());
        if !ranges.is_empty() {
            let builder = match &mut self.builder {
                Some(builder) => builder,
                None => self
                    .builder
                    .insert(self.source.begin(&self.routes[self.route], self.outputs.bytes())?),
            };
            builder.add_ranges(ranges);
        }
        if let Some(builder) = self.builder.take() {
            let route = &self.routes[self.route];
            let built = builder.finish()?;
            self.outputs.push(Output { place: route.to, stream: route.stream, built });
        }
        Ok(())
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.builder {
            self.source.discarded.add(unfinished.estimated_size().0);
        }
    }
}
