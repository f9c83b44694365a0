//! Intake: the places for data that is newer than the whole tree, from a flush or an ingest. The
//! compaction decider chooses a place for each range of keys; [`FlushRoute::check`] and
//! [`check_place`] say whether it is allowed.
//!
//! Data may go to a place below level 0 if no segment overlaps its keys in the levels above that
//! place, nor in the run of the place, nor in newer runs of its level. (A *segment* is a table with
//! the range of its keys that counts.) Example: a sequential load, whose keys come after all
//! others, need not be written to level 0 first.
//!
//! [`deepest_free`] is the default place of an ingest, [`leveldb_flush`] the place of a flush in
//! LevelDB. A flush may be divided: each range of keys has its own destination and stream
//! ([`FlushRoute`]).

use terrace_env::ByteCount;

use crate::legality::Illegal;
use crate::plan::Place;
use crate::tree::{Key, LEVELS_MAX, RunId, Span, TreeView};

/// The stream of flushes, where the decider does not divide them.
pub const FLUSH_STREAM: u16 = 2;

/// Where a range of a flushed memtable goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushRoute {
    /// The first key after the range; `None`: to the end. Routes are in key order.
    pub end: Option<Key>,
    /// The run that gets it. `None`: on top, which is a run of level 0 that is newer than all.
    pub to: Option<Place>,
    /// The stream its tables are written to.
    pub stream: u16,
}

impl FlushRoute {
    /// Everything to one run.
    #[must_use]
    pub fn all_to(to: Option<Place>) -> Vec<Self> {
        vec![Self { end: None, to, stream: FLUSH_STREAM }]
    }

    /// Whether a flush of these keys may be routed so: the routes are in order, and each range
    /// finds nothing of its keys in its run and above it.
    pub fn check(routes: &[Self], span: &Span, tree: &TreeView) -> Result<(), Illegal> {
        let (ends, last) = match routes {
            [ends @ .., last] => (ends, last),
            [] => return Err(Illegal::Routes { count: 0 }),
        };
        let ordered = ends.is_sorted_by(|a, b| a.end < b.end);
        if !ordered || last.end.is_some() || ends.iter().any(|route| route.end.is_none()) {
            return Err(Illegal::Routes { count: routes.len() });
        }
        let mut rest = span.clone();
        for route in routes {
            let end = route.end.as_ref().map_or(&rest.end, |end| end.min(&rest.end)).clone();
            let range = Span { start: rest.start.clone(), end: end.clone() };
            if let Some(to) = route.to.filter(|_| !range.is_empty()) {
                check_place(to, &range, tree)?;
            }
            rest.start = end.max(rest.start);
        }
        Ok(())
    }
}

/// Whether data of this range, newer than the whole tree, may go there.
pub fn check_place(to: Place, span: &Span, tree: &TreeView) -> Result<(), Illegal> {
    let level = usize::from(to.level);
    if level == 0 || level >= LEVELS_MAX {
        return Err(Illegal::Destination { to });
    }
    let upper = (0..level).flat_map(|level| tree.runs(level).iter().map(move |run| (level, run)));
    let own = tree.runs(level).iter().filter(|run| run.id >= to.run).map(|run| (level, run));
    match upper.chain(own).find(|(_, run)| !run.overlapping(span).is_empty()) {
        None => Ok(()),
        Some((level, run)) => {
            let other = Place { level: level as u8, run: run.id };
            Err(Illegal::Intake { span: span.clone(), to, other })
        }
    }
}

/// The deepest place for data of this range: the last level, and from there as far up as it takes
/// until neither that level nor one above it holds anything of the range. A tree of at most one
/// level counts as one of two. `None`: only the top is free.
#[must_use]
pub fn deepest_free(tree: &TreeView, span: &Span) -> Option<Place> {
    let free = tree.levels.iter().take_while(|level| !level.overlaps(span)).count();
    if free == 0 && !tree.levels.is_empty() {
        return None;
    }
    // An empty tree gets its first tables where they need not be merged with each other.
    let level = free.saturating_sub(1).max(usize::from(tree.levels.len() <= 1));
    let run = tree.runs(level).first().map_or(RunId(1), |run| run.id);
    let to = Place { level: level as u8, run };
    debug_assert!(level == 0 || check_place(to, span, tree).is_ok(), "{span:?} to {to}");
    (level > 0).then_some(to)
}

/// Where leveled compaction, as LevelDB does it, lets a flush go (`db/version_set.cc`,
/// `PickLevelForMemTableOutput`): down to `deepest` at most, past levels without anything of its
/// range, as long as the level after that holds at most `overlap_max` bytes of the range.
#[must_use]
pub(crate) fn leveldb_flush(
    tree: &TreeView,
    span: &Span,
    deepest: usize,
    overlap_max: ByteCount,
) -> Option<Place> {
    let is_free = |level: usize| {
        let runs = tree.runs(level);
        (level == 0 || runs.len() <= 1) && runs.iter().all(|run| run.overlapping(span).is_empty())
    };
    let below = |level: usize| -> u64 {
        let runs = tree.runs(level + 1).iter();
        runs.flat_map(|run| run.overlapping(span)).map(|segment| segment.size.0).sum()
    };
    let levels = 1..=deepest.min(LEVELS_MAX - 1);
    let free = levels.take_while(|level| is_free(*level) && below(*level) <= overlap_max.0);
    let level = free.last().filter(|_| is_free(0))?;
    let run = tree.runs(level).first().map_or(RunId(1), |run| run.id);
    let to = Place { level: level as u8, run };
    debug_assert!(check_place(to, span, tree).is_ok(), "{span:?} to {to}");
    Some(to)
}
