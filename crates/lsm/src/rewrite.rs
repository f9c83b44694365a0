//! The job behind flush and compaction: sorted entries in, what somebody may still see out, routed
//! into new tables.
//!
//! It goes by steps of a bounded size and may be dropped between any two: its tables are not
//! sealed, so nothing of it is left. Memory: a read-ahead buffer per input run, the table being
//! written (see [`TableBuilder`]), and what is known of the tables that are done.
//!
//! Tables end as the route's [`Cut`](terrace_policy::Cut) says, and always between two full keys.
//! When a job has written as much as it may, it ends there, at its *boundary*: what lies before it
//! is done, and what lies behind stays where it is, for a later job.

use std::sync::Arc;

use terrace_env::store::{CreateOptions, FileKind, Rank, Reservation, Store};
use terrace_env::{ByteCount, Cause, SeqNo};
use terrace_policy::{Key, Place, Route, Span};

use crate::Error;
use crate::annotation::table_hint;
use crate::cost;
use crate::key;
use crate::merge::Merge;
use crate::options::EngineOptions;
use crate::retention::{Retention, Verdict};
use crate::table::{BuiltTable, TableBuilder};

/// How many bytes of entries a step goes through: some milliseconds of work.
const STEP_BYTES: usize = 256 << 10;

/// Where the tables of a job come from.
pub(crate) struct TableSource {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: EngineOptions,
    /// The last level that holds anything.
    pub(crate) last_level: u8,
    pub(crate) rank: Rank,
    pub(crate) cause: Cause,
    /// The job's worst case; without it the job takes what its rank may, and fails if that is not
    /// enough.
    pub(crate) reservation: Option<Arc<Reservation>>,
    /// How much the job may write before it ends at its next key.
    pub(crate) budget: ByteCount,
}

impl TableSource {
    fn begin(&self, route: &Route) -> Result<TableBuilder, Error> {
        let writer = self.store.create(&CreateOptions {
            kind: FileKind::Table,
            hint: table_hint(route.to.level, route.stream, None),
            rank: self.rank,
            reservation: self.reservation.as_deref(),
            cause: self.cause,
        })?;
        let layout = self.options.layout(route.to.level, self.last_level);
        Ok(TableBuilder::new(writer, layout))
    }
}

/// A table that a job has written, and where it goes.
pub(crate) struct Output {
    pub(crate) place: Place,
    pub(crate) stream: u16,
    pub(crate) built: BuiltTable,
}

/// What may lie below a job's inputs.
#[derive(Debug)]
pub(crate) enum Below {
    /// Anything.
    Unknown,
    /// Per older run, what it holds, in key order, and how far the job has come in it.
    Runs(Vec<(Vec<Span>, usize)>),
}

impl Below {
    /// Whether anything older of the key may be there. Keys come in order.
    fn may_hold(&mut self, full_key: &[u8]) -> bool {
        let Self::Runs(runs) = self else { return true };
        runs.iter_mut().any(|(spans, at)| {
            while spans.get(*at).is_some_and(|span| &span.end[..] <= full_key) {
                *at += 1;
            }
            spans.get(*at).is_some_and(|span| span.contains(full_key))
        })
    }
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// What a job has gone through.
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
    below: Below,
    routes: Vec<Route>,
    route: usize,
    /// Within the route: the cuts and obstacles passed, and their size since the table began.
    cut: usize,
    obstacle: usize,
    overlap: u64,
    source: TableSource,
    builder: Option<TableBuilder>,
    outputs: Vec<Output>,
    /// Bytes of `outputs`.
    written: u64,
    /// Where the job ended, if it was before the end.
    boundary: Option<Key>,
    counts: RewriteCounts,
}

/// What a job leaves.
pub(crate) struct Rewritten {
    /// In key order.
    pub(crate) outputs: Vec<Output>,
    /// The first key that was not gone through; `None`: all were.
    pub(crate) boundary: Option<Key>,
    pub(crate) counts: RewriteCounts,
}

impl Rewrite {
    pub(crate) fn new(
        merge: Merge,
        snapshots: Vec<SeqNo>,
        below: Below,
        routes: Vec<Route>,
        source: TableSource,
    ) -> Self {
        assert!(routes.last().is_some_and(|route| route.end.is_none()), "a route to the end");
        Self {
            merge,
            started: false,
            retention: Retention::new(snapshots),
            below,
            routes,
            route: 0,
            cut: 0,
            obstacle: 0,
            overlap: 0,
            source,
            builder: None,
            outputs: Vec::new(),
            written: 0,
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
            let Some(found) = self.merge.key() else {
                self.end_table()?;
                self.count(entries, bytes);
                return Ok(Progress::Done);
            };
            let (full_key, trailer) = key::split(found);
            bytes += found.len() + self.merge.value_slice().len();
            entries += 1;
            let below = &mut self.below;
            let verdict = self.retention.judge(full_key, trailer, |key| below.may_hold(key));
            match verdict {
                Verdict::Keep { first } if first && self.must_end() => {
                    self.boundary = self.merge.key().map(|key| key::split(key).0.into());
                    self.end_table()?;
                    self.count(entries, bytes);
                    return Ok(Progress::Done);
                }
                Verdict::Keep { first } => self.write(first)?,
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

    /// What the job leaves, once it is done.
    pub(crate) fn into_rewritten(self) -> Rewritten {
        let Self { outputs, boundary, counts, .. } = self;
        Rewritten { outputs, boundary, counts }
    }

    /// Whether the job has written as much as it may.
    fn must_end(&self) -> bool {
        let current = self.builder.as_ref().map_or(0, |builder| builder.estimated_size().0);
        self.written + current >= self.source.budget.0
    }

    /// Writes the entry that the merge stands on.
    fn write(&mut self, first_of_key: bool) -> Result<(), Error> {
        if first_of_key {
            self.follow_route()?;
            if self.must_cut() {
                self.end_table()?;
            }
        }
        let builder = match &mut self.builder {
            Some(builder) => builder,
            None => self.builder.insert(self.source.begin(&self.routes[self.route])?),
        };
        let key = self.merge.key().expect("a merge that stands on an entry");
        builder.add(key, self.merge.value_slice())
    }

    /// Whether the key that the merge stands on is beyond the route.
    fn beyond_route(&self) -> bool {
        let key = self.merge.key().expect("a merge that stands on an entry");
        let end = self.routes[self.route].end.as_ref();
        end.is_some_and(|end| &end[..] <= key::split(key).0)
    }

    /// Goes over to the route that the key belongs to.
    fn follow_route(&mut self) -> Result<(), Error> {
        while self.beyond_route() {
            self.end_table()?;
            self.route += 1;
            (self.cut, self.obstacle) = (0, 0);
        }
        Ok(())
    }

    /// Whether the table must end before the key that the merge stands on.
    fn must_cut(&mut self) -> bool {
        let (full_key, _) = key::split(self.merge.key().expect("a merge on an entry"));
        let cut = &self.routes[self.route].cut;
        let passed = cut.keys[self.cut..].partition_point(|key| &key[..] <= full_key);
        self.cut += passed;
        while let Some(obstacle) = cut.obstacles.get(self.obstacle) {
            if full_key < &obstacle.end[..] {
                break;
            }
            self.overlap += obstacle.size.0;
            self.obstacle += 1;
        }
        let Some(builder) = &self.builder else {
            // What lies before a table is none of its business.
            self.overlap = 0;
            return false;
        };
        passed > 0 || builder.estimated_size() >= cut.size || self.overlap > cut.overlap_max.0
    }

    fn end_table(&mut self) -> Result<(), Error> {
        self.overlap = 0;
        if let Some(builder) = self.builder.take() {
            let route = &self.routes[self.route];
            let built = builder.finish()?;
            self.written += built.size.0;
            self.outputs.push(Output { place: route.to, stream: route.stream, built });
        }
        Ok(())
    }
}
