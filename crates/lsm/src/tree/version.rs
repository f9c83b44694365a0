//! [`Version`]: the contents of the tree at one moment, as a value that does not change.
//!
//! - A reader that has an `Arc` of a version needs no lock. A change makes a new version, which
//!   shares the runs that did not change, and most segments of the others ([`Run`]).
//! - The runs of a level are ordered from the newest to the oldest. The segments of a run are in
//!   key order and do not overlap. A run has at least one segment.
//! - [`Version::new`] checks that no segments of a run overlap; an overlap is
//!   [`Error::Corruption`]. [`Version::changed`] checks nothing: [`Version::check_change`] must
//!   have checked the change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::{ByteCount, Cause, FileId};
use terrace_policy::{LevelView, Part, Place, TreeView};

use super::handle::TableHandle;
use super::run::{Added, Run, Segment, Sought};
use super::split_tables::{Places, SplitTables};
use crate::Error;
use crate::memtable::Found;
use crate::table::PointReads;

/// The runs of a level, newest first.
pub(crate) type Level = Vec<Arc<Run>>;

/// Change of a version's runs. If a segment of a table is removed, all segments of the table are,
/// and the remaining ones are added again.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// By index in the run.
    pub(crate) removed: BTreeMap<Place, BTreeSet<usize>>,
    pub(crate) added: BTreeMap<Place, Vec<Segment>>,
}

/// Contents of the tree at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    levels: Vec<Level>,
    split: SplitTables,
    /// Deciders' view of it.
    view: TreeView,
}

impl Version {
    /// A version of these segments.
    pub(crate) fn new(segments: Vec<(Place, Segment)>) -> Result<Self, Error> {
        let mut change = Change::default();
        for (place, segment) in segments {
            change.added.entry(place).or_default().push(segment);
        }
        let version = Self::default();
        let added = change.added.iter().map(|(place, segments)| {
            (*place, segments.iter().map(|s| (s.table.id(), &s.span)).collect())
        });
        version.check_change(&change.removed, &added.collect())?;
        Ok(version.changed(change))
    }

    /// A part that a plan names, as a segment. If the part is smaller than its segment, the table's
    /// index tells the size. This may wait for the device, so the caller holds no lock.
    ///
    /// # Panics
    /// If the part is not here. The caller must have checked the plan, and have kept its parts in
    /// the tree since, by the plan's claim or the turn to choose a plan.
    pub(crate) fn part(&self, place: Place, part: &Part) -> Result<Segment, Error> {
        let holds = |segment: &&Segment| {
            let within = segment.span.start <= part.span.start && part.span.end <= segment.span.end;
            within && segment.table.id() == part.file
        };
        let first = self.run(place).and_then(|run| run.overlapping(&part.span).1.first());
        let segment = first.filter(holds).unwrap_or_else(|| {
            panic!("a plan that was checked takes {part:?} out of {place}, where it is not")
        });
        let (table, span) = (Arc::clone(&segment.table), part.span.clone());
        let size = if span == segment.span {
            segment.size
        } else {
            ByteCount(table.table(Cause::Compaction)?.size_of(&span.start, &span.end)?.0.max(1))
        };
        Ok(Segment { table, span, size })
    }

    /// Checks that no segment of the next version overlaps another one of its run. Compares added
    /// segments with their neighbours only.
    pub(crate) fn check_change(
        &self,
        removed: &BTreeMap<Place, BTreeSet<usize>>,
        added: &BTreeMap<Place, Vec<Added<'_>>>,
    ) -> Result<(), Error> {
        let none = BTreeSet::new();
        for (place, added) in added {
            let empty = Run::empty(place.run);
            let run = self.run(*place).map_or(&empty, |run| &**run);
            let removed = removed.get(place).unwrap_or(&none);
            run.check_change(removed, added, || format!("the tree, {place}"))?;
        }
        Ok(())
    }

    /// The next version, after a change that has been [checked](Self::check_change).
    pub(crate) fn changed(&self, mut change: Change) -> Self {
        let split = self.split.clone().changed(self.places_after(&change));
        let mut levels = self.levels.clone();
        let places: BTreeSet<Place> =
            change.removed.keys().chain(change.added.keys()).copied().collect();
        for place in places {
            let level = usize::from(place.level);
            levels.resize_with(levels.len().max(level + 1), Vec::new);
            let runs = &mut levels[level];
            let at = runs.partition_point(|run| run.id > place.run);
            if runs.get(at).is_none_or(|run| run.id != place.run) {
                runs.insert(at, Arc::new(Run::empty(place.run)));
            }
            let removed = change.removed.remove(&place).unwrap_or_default();
            debug_assert!(
                removed.last().is_none_or(|last| *last < runs[at].segments.len()),
                "{place}: a removed segment is there"
            );
            let added = change.added.remove(&place).unwrap_or_default();
            runs[at] = Arc::new(runs[at].changed(&removed, added));
            if runs[at].segments.is_empty() {
                runs.remove(at);
            }
        }
        while levels.last().is_some_and(Vec::is_empty) {
            levels.pop();
        }
        let view = |runs: &Level| LevelView { runs: runs.iter().map(|run| run.view()).collect() };
        let view = TreeView { levels: levels.iter().map(view).collect() };
        let version = Self { levels, split, view };
        debug_assert!(
            version.levels.iter().flatten().all(|run| !run.segments.is_empty()),
            "a run has at least one segment"
        );
        debug_assert!(
            version.levels.iter().all(|runs| runs.is_sorted_by(|a, b| a.id > b.id)),
            "runs of a level go from the newest to the oldest"
        );
        debug_assert_eq!(
            version.levels.len(),
            version.view.levels.len(),
            "deciders see all levels"
        );
        debug_assert_eq!(
            version.split,
            SplitTables::among(version.segments().map(|(place, s)| (place, s.table.id()))),
            "a change of all segments of its tables"
        );
        version
    }

    /// Places of the tables of a change after it.
    fn places_after(&self, change: &Change) -> Places {
        let mut places = Places::new();
        for (place, removed) in &change.removed {
            let Some(run) = self.run(*place) else { continue };
            let segments = removed.iter().filter_map(|at| run.segments.get(*at));
            places.extend(segments.map(|segment| (segment.table.id(), BTreeSet::new())));
        }
        for (place, added) in &change.added {
            for segment in added {
                places.entry(segment.table.id()).or_default().insert(*place);
            }
        }
        places
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

    /// Places of a table's segments, if these are in several runs.
    pub(crate) fn split_places(&self, file: FileId) -> Option<&BTreeSet<Place>> {
        self.split.places(file)
    }

    /// The last level that is not empty; 0 if all are.
    pub(crate) fn last_level(&self) -> u8 {
        self.levels.len().saturating_sub(1) as u8
    }

    /// Deciders' view of it.
    pub(crate) fn view(&self) -> &TreeView {
        &self.view
    }

    /// Tables whose range contains a full key, newest first.
    pub(crate) fn tables_of(&self, full_key: &[u8]) -> impl Iterator<Item = &Arc<TableHandle>> {
        let segments = self.places().filter_map(|(_, run)| run.segment_of(full_key));
        segments.map(|segment| &segment.table)
    }

    /// The newest entry at or after `seek_key`, an internal key, with the same full key. Calls
    /// `searched` with each table that had to be searched, and its level.
    pub(crate) fn get(
        &self,
        seek_key: &[u8],
        reads: &mut PointReads,
        mut searched: impl FnMut(u8, &Arc<TableHandle>),
    ) -> Result<Option<Found>, Error> {
        let mut sought = Sought::new(seek_key);
        for (place, run) in self.places() {
            let found = run.get(&mut sought, reads, |table| searched(place.level, table))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
