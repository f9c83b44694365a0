//! [`Rewrite`]: the work of a flush or a subcompaction. It takes sorted entries, drops those that
//! no reader needs any more, and writes the others to tables. Each route sends a range of keys to a
//! place in the tree.
//!
//! - It goes by steps, and may be dropped between two of them: its tables are not sealed, so none
//!   of its output stays.
//! - An entry that had expired when the job began is a delete to the job.
//! - Operands of a key that the same readers see are combined ([`Combining`]).
//! - A table ends as the [`Cut`](terrace_policy::Cut) of its route says; [`Destinations`] may end
//!   it earlier. The entries of one full key (key space and user key) lie in one table.
//! - A job that has used its budget ends at the next full key that it would keep, its *boundary*.
//!   The boundary and the keys after it are left to a later job.
//!
//! The job holds all range tombstones of its inputs in memory, but not the entries of input tables.
//! One actor carries out a job. The caller seals and commits the tables.

use std::sync::Arc;

use terrace_env::{ByteCount, Date, SeqNo, runner};
use terrace_policy::{Key, Route};

use super::combining::Combining;
use super::destinations::Destinations;
use super::outputs::Outputs;
use super::pacer::Pacer;
use super::retention::{Retention, Verdict};
use super::table_source::TableSource;
use super::tombstone_elision::TombstoneElision;
use super::value_filter::ValueFilter;
use crate::Error;
use crate::canary::{self, Rule};
use crate::cost;
use crate::expiry;
use crate::key::{self, Kind, Trailer};
use crate::lifecycle::Lifecycle;
use crate::merge::Merge;
use crate::old_versions::HeldBy;
use crate::ranges::JobRanges;
use crate::running::JobProgress;

/// Bytes of entries that a step processes: some milliseconds of work.
const STEP_BYTES: usize = 256 << 10;
/// Hidden entries in a row after which the inputs skip to the end of the hiding range.
const LEAP_AFTER: u32 = 16;

/// Progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// A point in key order that the open table comes to.
enum Passed {
    Cut,
    Grandparent(ByteCount),
    /// The start of a range tombstone.
    Start,
}

/// Counts of the entries that a job has processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RewriteCounts {
    pub(crate) entries: u64,
    pub(crate) dropped: u64,
    /// Values that the filters of users dropped.
    pub(crate) filtered: u64,
}

/// The job.
pub(crate) struct Rewrite {
    merge: Merge,
    started: bool,
    retention: Retention,
    ranges: JobRanges,
    /// Entries in a row that range tombstones hid.
    hidden: u32,
    elision: TombstoneElision,
    filter: ValueFilter,
    combining: Combining,
    routes: Vec<Route>,
    route: usize,
    /// Number of cuts and grandparents of the route that have been passed.
    cut: usize,
    grandparent: usize,
    /// Whether the route has an entry.
    is_route_begun: bool,
    tables: Destinations,
    /// Key at which the job ended early.
    boundary: Option<Key>,
    counts: RewriteCounts,
    /// Entries that have expired at this date become deletes.
    date: Date,
    /// An additional count of the entries.
    progress: Option<Arc<JobProgress>>,
    /// Bytes that the last step processed, and the limit of their rate.
    stepped: u64,
    pacer: Option<Arc<Pacer>>,
}

/// Result of a job.
pub(crate) struct Rewritten {
    pub(crate) outputs: Outputs,
    /// The first key that was not processed; `None` if all were.
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
        assert!(routes.last().is_some_and(|route| route.end.is_none()), "a route to the end");
        debug_assert!(
            routes.is_sorted_by(|a, b| a.end.is_some() && (b.end.is_none() || a.end < b.end)),
            "routes in key order"
        );
        debug_assert!(
            routes.iter().all(|route| route.cut.keys.is_sorted()
                && route.cut.grandparents.is_sorted_by(|a, b| a.end <= b.end)),
            "cuts in key order"
        );
        Self {
            merge,
            started: false,
            retention: Retention::new(snapshots),
            ranges,
            hidden: 0,
            elision,
            filter: ValueFilter::default(),
            combining: Combining::default(),
            tables: Destinations::new(&routes, source),
            routes,
            route: 0,
            cut: 0,
            grandparent: 0,
            is_route_begun: false,
            boundary: None,
            counts: RewriteCounts::default(),
            date: runner::date(),
            progress: None,
            stepped: 0,
            pacer: None,
        }
    }

    /// The same job, which also counts its entries there.
    pub(crate) fn counted_by(self, progress: Arc<JobProgress>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// The same job, which drops the values that the filter drops.
    pub(crate) fn filtered_by(self, filter: ValueFilter) -> Self {
        Self { filter, ..self }
    }

    /// The same job, which combines operands.
    pub(crate) fn combined_by(self, combining: Combining) -> Self {
        Self { combining, ..self }
    }

    /// The same job, at the rate of this pacer.
    pub(crate) fn paced_by(self, pacer: Arc<Pacer>) -> Self {
        Self { pacer: Some(pacer), ..self }
    }

    /// Processes a bounded number of bytes.
    pub(crate) fn step(&mut self) -> Result<Progress, Error> {
        if !self.started {
            self.merge.seek_to_first()?;
            self.started = true;
        }
        let (mut bytes, mut entries) = (0, 0);
        while bytes < STEP_BYTES {
            self.merge.ready()?;
            if self.combining.is_begun() && self.end_key()? {
                continue;
            }
            let Some(found) = self.merge.key() else {
                self.end_all()?;
                self.count(entries, bytes);
                return Ok(Progress::Done);
            };
            let (full_key, trailer) = key::split(found);
            bytes += found.len() + self.merge.value_slice().len();
            let expired = expiry::as_deleted(trailer, self.merge.value_slice(), self.date);
            let trailer = expired.unwrap_or(trailer);
            entries += 1;
            if self.ranges.hides(full_key, trailer.sequence()) {
                self.counts.dropped += 1;
                self.pass_hidden()?;
                continue;
            }
            let cover = self.ranges.oldest_cover(full_key, trailer.sequence());
            let is_filtered = self.filter.drops(full_key, trailer, self.merge.value_slice());
            if is_filtered && canary::is_broken(Rule::FilteredBecomesDelete) {
                self.merge.next()?;
                continue;
            }
            let trailer =
                if is_filtered { Trailer::new(trailer.sequence(), Kind::Delete) } else { trailer };
            let elision = &self.elision;
            let older_below = |key: &[u8]| elision.may_hold(key);
            let verdict = self.retention.judge(full_key, trailer, cover, older_below);
            match verdict {
                Verdict::Keep { first, .. } if first && self.must_end() => {
                    self.follow_route()?;
                    self.boundary = self.merge.key().map(|key| key::split(key).0.into());
                    // Range tombstones may begin after a cut that no entry has passed.
                    self.pass_ranges(self.boundary.clone().as_ref())?;
                    self.take_ranges(self.boundary.clone())?;
                    self.tables.end_all()?;
                    self.count(entries, bytes);
                    return Ok(Progress::Done);
                }
                Verdict::Keep { first, held_by, joins } => {
                    self.hidden = 0;
                    let is_operand = trailer.is_operand();
                    if is_operand && self.combining.is_on() {
                        self.push_operand((first, joins), held_by)?;
                    } else if !(self.combining.is_begun() && self.joins_operands(joins, trailer)?) {
                        let deleted = is_filtered || expired.is_some();
                        self.write(first, held_by, deleted.then_some(trailer))?;
                    }
                }
                Verdict::Drop => self.counts.dropped += 1,
            }
            self.counts.filtered += u64::from(is_filtered);
            self.merge.next()?;
        }
        self.count(entries, bytes);
        Ok(Progress::More)
    }

    fn count(&mut self, entries: u32, bytes: usize) {
        self.counts.entries += u64::from(entries);
        self.stepped = bytes as u64;
        if let Some(progress) = &self.progress {
            progress.add(entries.into());
        }
        cost::charge_merge(entries, bytes);
    }

    /// Carries the job to its end; `None` if the engine closes or fails first: then none of its
    /// output stays.
    pub(crate) fn carry_out(mut self, lifecycle: &Lifecycle) -> Result<Option<Rewritten>, Error> {
        loop {
            let progress = self.step()?;
            if let Some(pacer) = &self.pacer {
                pacer.pace(self.stepped, lifecycle);
            }
            if progress == Progress::Done {
                return Ok(Some(self.into_rewritten()));
            }
            if lifecycle.must_stop() {
                return Ok(None);
            }
        }
    }

    /// Result of the job, once it is done.
    fn into_rewritten(mut self) -> Rewritten {
        debug_assert!(
            self.boundary.is_some() || self.ranges.is_done() && !self.combining.is_begun(),
            "a job that is done has written all"
        );
        debug_assert!(self.counts.dropped <= self.counts.entries, "{:?}", self.counts);
        let (outputs, boundary) = (self.tables.take_outputs(), self.boundary.take());
        Rewritten { outputs, boundary, counts: self.counts }
    }

    /// Whether the job has used its budget.
    fn must_end(&self) -> bool {
        self.tables.are_over_budget(self.ranges.pending_bytes())
    }

    /// Approximate bytes of the route's table.
    fn filled(&self) -> u64 {
        self.tables.filled(self.route).unwrap_or(0) + self.ranges.pending_bytes()
    }

    /// Skips a hidden entry; after many in a row, all older entries of the hiding range.
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

    /// Writes the current entry of the merge. `delete`: the trailer of the delete that is written
    /// instead of it.
    fn write(
        &mut self,
        first_of_key: bool,
        held_by: Option<HeldBy>,
        delete: Option<Trailer>,
    ) -> Result<(), Error> {
        self.begin_entry(first_of_key)?;
        let key = self.merge.key().expect("a merge that stands on an entry");
        let route = (self.route, &self.routes[self.route]);
        if let Some(trailer) = delete {
            let key = key::internal_key(key::split(key).0, trailer);
            return self.tables.add(route, (&key, &[]), held_by);
        }
        self.tables.add(route, (key, self.merge.value_slice()), held_by)
    }

    /// Finds the route and the table of an entry that is to be written.
    fn begin_entry(&mut self, first_of_key: bool) -> Result<(), Error> {
        if first_of_key || canary::is_broken(Rule::VersionsInOneTable) {
            self.follow_route()?;
            self.pass_cuts()?;
            self.check_place();
        }
        Ok(())
    }

    /// Checks that route, cut and grandparent are those of the merge's current key.
    fn check_place(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
        let is_before = |end: &Key| full_key < &end[..];
        let Route { end, cut, .. } = &self.routes[self.route];
        let before = self.route.checked_sub(1).and_then(|before| self.routes[before].end.as_ref());
        debug_assert!(end.as_ref().is_none_or(is_before), "a route that has ended");
        debug_assert!(!before.is_some_and(is_before), "a route that has not begun");
        debug_assert_eq!(self.cut, cut.keys.partition_point(|key| !is_before(key)), "cuts");
        let passed = cut.grandparents.partition_point(|one| !is_before(&one.end));
        debug_assert_eq!(self.grandparent, passed, "grandparents");
    }

    /// Full key of the merge's current entry; `None` if no range tombstone needs it.
    fn current_key(&self) -> Option<Key> {
        if self.ranges.is_done() {
            return None;
        }
        self.merge.key().map(|key| key::split(key).0.into())
    }

    /// Goes on to the route of the key.
    fn follow_route(&mut self) -> Result<(), Error> {
        while let Some(end) = &self.routes[self.route].end {
            let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
            if full_key < &end[..] {
                break;
            }
            self.leave_route()?;
        }
        Ok(())
    }

    /// Goes on to the next route. The table of this one stays open: a later route may go on with
    /// it, if no cut lies between.
    fn leave_route(&mut self) -> Result<(), Error> {
        let end = self.routes[self.route].end.clone();
        self.pass_ranges(end.as_ref())?;
        self.take_ranges(end)?;
        self.route += 1;
        (self.cut, self.grandparent, self.is_route_begun) = (0, 0, false);
        Ok(())
    }

    /// Ends all tables, after the remaining range tombstones of this route and the later ones.
    fn end_all(&mut self) -> Result<(), Error> {
        while !self.ranges.is_done() && self.route + 1 < self.routes.len() {
            self.leave_route()?;
        }
        self.pass_ranges(None)?;
        self.take_ranges(None)?;
        self.tables.end_all()
    }

    /// Ends the table if it must not go on to the merge's current key.
    fn pass_cuts(&mut self) -> Result<(), Error> {
        if !self.ranges.is_done() {
            let here = self.current_key();
            self.pass_ranges(here.as_ref())?;
            if self.filled() >= self.routes[self.route].cut.size.0 {
                self.end_table(here.clone())?;
                // A range tombstone that begins at exactly this key belongs to the table that
                // begins here.
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
            *self.tables.overlap(self.route) += grandparent.size.0;
            self.grandparent += 1;
        }
        let carries = cut.carry_overlap && self.is_route_begun;
        self.is_route_begun = true;
        let overlap = *self.tables.overlap(self.route);
        let Some(size) = self.tables.filled(self.route) else {
            // Overlaps before a table do not count for it.
            *self.tables.overlap(self.route) = if carries { overlap } else { 0 };
            return Ok(());
        };
        let aligned = self.grandparent > grandparents_before && size >= cut.aligned_from.0;
        let wide = overlap > cut.overlap_max.0;
        if passed > 0 || size >= cut.size.0 || wide || aligned {
            self.tables.end_table(self.route)?;
            *self.tables.overlap(self.route) = if carries && !wide { overlap } else { 0 };
        }
        Ok(())
    }

    /// Passes cuts and grandparents for range tombstones, which span them without an entry and fill
    /// tables of their own. `to`: the current place of the job; `None`: the end.
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
                    let is_open = self.tables.filled(self.route).is_some();
                    let is_open = is_open || self.ranges.begin_before(&at);
                    let overlap = self.tables.overlap(self.route);
                    *overlap = if is_open { *overlap + size.0 } else { 0 };
                    if *overlap > overlap_max.0 || self.filled() >= aligned_from.0 {
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

    /// Ends the route's table, if there is one. `end`: the earliest start of the next table, which
    /// takes the range tombstones from there on.
    fn end_table(&mut self, end: Option<Key>) -> Result<(), Error> {
        self.take_ranges(end)?;
        self.tables.end_table(self.route)
    }

    /// Gives the route's table the range tombstones up to a key; `None`: all remaining ones.
    fn take_ranges(&mut self, end: Option<Key>) -> Result<(), Error> {
        let fragments = self.ranges.take_until(end.as_deref());
        let held = fragments.iter().flat_map(|fragment| self.ranges.held_by(fragment)).collect();
        self.tables.add_ranges((self.route, &self.routes[self.route]), fragments, held)
    }
}

mod operands;
