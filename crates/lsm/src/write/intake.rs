//! [`Intake`]: asks the decider (the compaction policy) where the tables of a flush or an ingest
//! go, and keeps compactions away from data that goes below level 0.
//!
//! 1. The decider answers for the current tree. An answer that breaks a rule, for example one that
//!    the tree does not allow, is an error.
//! 2. If any of the data is to go below level 0, the [`Board`] must admit it. This waits while an
//!    actor of compaction has the turn to choose. The board can refuse, for example if a plan in
//!    flight, or other new data, may change the same part of the tree.
//! 3. The answer is checked again, because the tree may have changed meanwhile.
//! 4. If the data is admitted, no compaction begins until the returned [`Admitted`] is dropped. The
//!    caller must keep it until its commit.
//!
//! If the board refuses, or the second check fails, all of the data goes on top of level 0. A flush
//! that could not reserve its space goes there, too: it may have to wait for a compaction, and so
//! must not keep compactions from beginning.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_policy::{
    Claim, Compaction, Cut, FlushRoute, Illegal, Place, Route, Span, TreeView, check_place,
};

use crate::Error;
use crate::compact::{Admitted, Board};
use crate::key;
use crate::memtable::{MemoryCursor, Memtable};
use crate::tree::Tree;

/// See the [module](self).
pub(crate) struct Intake {
    pub(crate) tree: Arc<Tree>,
    pub(crate) decider: Arc<dyn Compaction>,
    pub(crate) board: Arc<Board>,
    pub(crate) table_size: ByteCount,
}

impl Intake {
    /// Routes of a memtable's flush, with the guard that keeps compactions away until its commit.
    /// `on_top`: the place on top of the tree. `has_space`: the space for the flush is reserved. If
    /// it is not, all data goes to level 0, because the flush may have to wait for a compaction.
    pub(crate) fn flush_routes(
        &self,
        memtable: &Arc<Memtable>,
        on_top: Place,
        has_space: bool,
    ) -> Result<(Vec<Route>, Option<Admitted<'_>>), Error> {
        let Some(span) = span_of(memtable) else {
            return Ok((self.routes(FlushRoute::all_to(None), on_top), None));
        };
        let mut routes = {
            let view = self.tree.view();
            self.decider.flush_routes(view.version.view(), &span)
        };
        let most = self.decider.flush_routes_max();
        let check = |tree: &TreeView| match routes.len() {
            count if count > most => Err(Illegal::Routes { count }),
            _ => FlushRoute::check(&routes, &span, tree),
        };
        check(self.tree.view().version.view()).map_err(|defect| self.illegal_intake(&defect))?;
        let deepest = routes.iter().filter_map(|route| route.to).max_by_key(Place::age);
        let admitted = match deepest {
            Some(to) if has_space => {
                let admitted = self.board.admit(Claim::of_intake(span.clone(), to));
                admitted.filter(|_| check(self.tree.view().version.view()).is_ok())
            }
            _ => None,
        };
        if admitted.is_none() {
            routes.iter_mut().for_each(|route| route.to = None);
        }
        debug_assert!(
            routes.last().is_some_and(|route| route.end.is_none()),
            "the last route has no end"
        );
        Ok((self.routes(routes, on_top), admitted))
    }

    /// Routes of tables that do not extend from one route into another. Whether their run has
    /// tables in between was not checked.
    fn routes(&self, routes: Vec<FlushRoute>, on_top: Place) -> Vec<Route> {
        let mut start = None;
        let route = |route: FlushRoute| {
            let mut cut = Cut::at(self.table_size);
            cut.keys.extend(start.take());
            start.clone_from(&route.end);
            let to = route.to.unwrap_or(on_top);
            Route { end: route.end, to, stream: route.stream, cut }
        };
        routes.into_iter().map(route).collect()
    }

    /// Places of an ingest's tables, with the guard that keeps compactions away until its commit.
    pub(crate) fn ingest_places(
        &self,
        spans: &[Span],
        on_top: Place,
    ) -> Result<(Vec<Place>, Option<Admitted<'_>>), Error> {
        let places: Vec<Option<Place>> = {
            let view = self.tree.view();
            spans.iter().map(|span| self.decider.ingest_place(view.version.view(), span)).collect()
        };
        let check = |tree: &TreeView| {
            let mut below = spans.iter().zip(&places).filter_map(|(span, to)| Some((span, (*to)?)));
            below.try_for_each(|(span, to)| check_place(to, span, tree))
        };
        check(self.tree.view().version.view()).map_err(|defect| self.illegal_intake(&defect))?;
        let deepest = places.iter().flatten().copied().max_by_key(Place::age);
        let hull = spans.iter().cloned().reduce(|hull, span| hull.hull(&span));
        let claim = hull.zip(deepest).map(|(hull, to)| Claim::of_intake(hull, to));
        let admitted = claim
            .and_then(|claim| self.board.admit(claim))
            .filter(|_| check(self.tree.view().version.view()).is_ok());
        let of = |to: Option<Place>| to.filter(|_| admitted.is_some()).unwrap_or(on_top);
        Ok((places.into_iter().map(of).collect(), admitted))
    }

    fn illegal_intake(&self, defect: &Illegal) -> Error {
        Error::IllegalPlan { decider: self.decider.name(), defect: defect.to_string() }
    }
}

/// Range of a memtable's keys, including range tombstones; `None` if it is empty.
fn span_of(memtable: &Arc<Memtable>) -> Option<Span> {
    let full_key = |cursor: &MemoryCursor| cursor.key().map(|key| key::split(key).0.to_vec());
    let mut cursor = MemoryCursor::new(Arc::clone(memtable));
    cursor.seek_to_first();
    let first = full_key(&cursor);
    cursor.seek_to_last();
    let last = full_key(&cursor);
    let entries = first.zip(last).map(|(first, last)| Span::new(first, key::successor(&last)));
    let ranges = memtable.ranges().iter().map(|range| range.span.clone());
    ranges.chain(entries).reduce(|hull, span| hull.hull(&span))
}
