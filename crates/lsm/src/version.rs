//! Versions: what the tree holds at one moment, as an immutable value.
//!
//! Readers take an `Arc` of the current version and need no lock afterwards. A change makes a new
//! version that shares all untouched runs. There is no manifest: at open, the version is rebuilt
//! from the files' annotations.
//!
//! Invariants, checked when a version is made: the runs of a level have falling ids; the segments
//! of a run are in key order, do not overlap, and there is at least one.

use std::sync::{Arc, OnceLock};

use terrace_env::{ByteCount, Cause, SeqNo};
use terrace_policy::{LevelView, Place, RunId, RunView, SegmentView, Span, TreeView};

use crate::Error;
use crate::handle::TableHandle;
use crate::key;
use crate::memtable::Found;
use crate::ranges::{Fragment, Stretch};
use crate::stamp;
use crate::table::{Lookup, Table, hash};

/// A range of a table that counts.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) table: Arc<TableHandle>,
    pub(crate) span: Span,
    pub(crate) size: ByteCount,
}

impl Segment {
    /// Whether its table has range tombstones.
    pub(crate) fn has_ranges(&self) -> bool {
        self.table.record().ranges.is_some()
    }

    /// The range tombstones that count, cut to its span. Opens the table if it has any.
    pub(crate) fn ranges(&self, cause: Cause) -> Result<Vec<Fragment>, Error> {
        if !self.has_ranges() {
            return Ok(Vec::new());
        }
        Ok(self.table.table(cause)?.ranges().within(&self.span).collect())
    }

    fn view(&self) -> SegmentView {
        let (record, whole) = (self.table.record(), self.table.size().0.max(1));
        let share = |count: u64| {
            let part = u128::from(count) * u128::from(self.size.0.min(whole)) / u128::from(whole);
            part as u64
        };
        let ranges = record.ranges.as_ref().map_or(0, |ranges| share(ranges.count).max(1));
        SegmentView {
            file: self.table.id(),
            span: self.span.clone(),
            size: self.size,
            entries: share(record.entries) + ranges,
            tombstones: share(record.tombstones) + ranges,
        }
    }
}

/// A sorted run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) segments: Vec<Segment>,
    has_ranges: bool,
}

impl Run {
    /// A run of segments in key order.
    pub(crate) fn new(id: RunId, segments: Vec<Segment>) -> Self {
        let has_ranges = segments.iter().any(Segment::has_ranges);
        Self { id, segments, has_ranges }
    }

    /// Whether any of its tables has range tombstones.
    pub(crate) fn has_ranges(&self) -> bool {
        self.has_ranges
    }

    /// What its range tombstones mean for a key and for those around it, as far as its segment or
    /// the gap between two goes.
    pub(crate) fn ranges_at(&self, full_key: &[u8], at: SeqNo) -> Result<Stretch, Error> {
        let next = self.segments.partition_point(|segment| &segment.span.end[..] <= full_key);
        let Some(segment) = self.segment_of(full_key) else {
            let from = next.checked_sub(1).map(|before| self.segments[before].span.end.clone());
            let until = self.segments.get(next).map(|behind| behind.span.start.clone());
            return Ok(Stretch { cover: None, from, until });
        };
        let Span { start, end } = segment.span.clone();
        let within = Stretch { cover: None, from: Some(start), until: Some(end) };
        if !segment.has_ranges() {
            return Ok(within);
        }
        Ok(segment.table.table(Cause::Read)?.ranges().at(full_key, at).and(within))
    }

    /// The only segment that may hold the key.
    fn segment_of(&self, full_key: &[u8]) -> Option<&Segment> {
        let at = self.segments.partition_point(|segment| &segment.span.end[..] <= full_key);
        self.segments.get(at).filter(|segment| &segment.span.start[..] <= full_key)
    }
}

/// The runs of a level, newest first.
pub(crate) type Level = Vec<Arc<Run>>;

/// What the tree holds at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    levels: Vec<Level>,
    /// What deciders see of it, once one has looked.
    view: OnceLock<TreeView>,
}

impl Version {
    /// A version of these segments.
    pub(crate) fn new(segments: Vec<(Place, Segment)>) -> Result<Self, Error> {
        let mut levels: Vec<Vec<Run>> = Vec::new();
        for (place, segment) in segments {
            let level = usize::from(place.level);
            levels.resize_with(levels.len().max(level + 1), Vec::new);
            let runs = &mut levels[level];
            match runs.iter_mut().find(|run| run.id == place.run) {
                Some(run) => run.segments.push(segment),
                None => {
                    runs.push(Run { id: place.run, segments: vec![segment], has_ranges: false })
                }
            }
        }
        let mut version = Self::default();
        for (level, mut runs) in levels.into_iter().enumerate() {
            runs.sort_by_key(|run| std::cmp::Reverse(run.id));
            for run in &mut runs {
                run.segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
                check_run(level, run)?;
                run.has_ranges = run.segments.iter().any(Segment::has_ranges);
            }
            version.levels.push(runs.into_iter().map(Arc::new).collect());
        }
        while version.levels.last().is_some_and(Vec::is_empty) {
            version.levels.pop();
        }
        Ok(version)
    }

    /// All segments, with their places.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Place, &Segment)> {
        self.places().flat_map(|(place, run)| run.segments.iter().map(move |s| (place, s)))
    }

    /// All runs from the newest to the oldest.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Place, &Arc<Run>)> {
        self.levels.iter().enumerate().flat_map(|(level, runs)| {
            runs.iter().map(move |run| (Place { level: level as u8, run: run.id }, run))
        })
    }

    /// The run at a place.
    pub(crate) fn run(&self, place: Place) -> Option<&Arc<Run>> {
        self.levels.get(usize::from(place.level))?.iter().find(|run| run.id == place.run)
    }

    /// The last level that holds anything; 0 when none does.
    pub(crate) fn last_level(&self) -> u8 {
        self.levels.len().saturating_sub(1) as u8
    }

    /// What the decider sees.
    pub(crate) fn view(&self) -> &TreeView {
        self.view.get_or_init(|| self.look())
    }

    fn look(&self) -> TreeView {
        let run = |run: &Arc<Run>| RunView {
            id: run.id,
            segments: run.segments.iter().map(Segment::view).collect(),
        };
        let level = |runs: &Level| LevelView { runs: runs.iter().map(run).collect() };
        TreeView { levels: self.levels.iter().map(level).collect() }
    }

    /// The newest entry at or behind `seek_key`, an internal key, that is of the same full key.
    /// Also tells how many tables had to be searched.
    pub(crate) fn get(&self, seek_key: &[u8]) -> Result<(Option<Found>, u32), Error> {
        let (full_key, trailer) = key::split(seek_key);
        let (mut key_hash, mut searched) = (None, 0);
        for (_, run) in self.places() {
            let Some(segment) = run.segment_of(full_key) else { continue };
            let hash = *key_hash.get_or_insert_with(|| hash(full_key));
            let stamp = segment.table.record().stamp;
            let search = |table: &Table| {
                let cover = table.ranges().cover(full_key, trailer.sequence());
                Ok::<_, Error>((stamp::get(table, stamp, seek_key, hash, cover)?, cover))
            };
            let (lookup, cover) = match segment.table.glance() {
                Some(table) => search(&table)?,
                None => search(&*segment.table.table(Cause::Read)?)?,
            };
            if let Lookup::Searched(found) = lookup {
                searched += 1;
                if found.is_some() {
                    return Ok((found, searched));
                }
            }
            // What is older than the tombstone is hidden, and nothing further down is newer.
            if cover.is_some() {
                return Ok((Some(Found::Deleted), searched));
            }
        }
        Ok((None, searched))
    }
}

fn check_run(level: usize, run: &Run) -> Result<(), Error> {
    for pair in run.segments.windows(2) {
        let (left, right) = (&pair[0], &pair[1]);
        if left.span.end > right.span.start {
            let region = format!("the tree, level {level} run {}", run.id);
            let expected = format!("table {} to begin behind {:?}", right.table.id(), left.span);
            return Err(Error::corruption(region, 0, expected, format!("{:?}", right.span)));
        }
    }
    Ok(())
}
