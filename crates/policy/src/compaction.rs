//! [`Compaction`]: the decider that chooses which tables are merged or moved next, and where the
//! result goes. It also says where new data goes, and how writers are let in ([`Pressure`],
//! [`WriteRule`]).
//!
//! A choice follows from the decider's parameters and from the arguments, such as tree, state,
//! [`Urgency`], claims and [`Load`]. Some deciders also look at zones, through a
//! [`ZonesSource`](crate::ZonesSource).
//!
//! The state of a decider is a byte string: an argument of a choice, and a part of it ([`Choice`]).
//! It may be empty, as in a new store. It may have been left by the same system with other
//! parameters; state that a decider does not understand counts as none.
//!
//! Threads: a decider may be called from several threads at once. But a choice needs the state of
//! the last one, so one thread at a time should ask for plans.

use std::fmt::Debug;
use std::time::Duration;

use terrace_env::{ByteCount, FileId};

use crate::claims::Claims;
use crate::intake::{FlushRoute, deepest_free};
use crate::load::Load;
use crate::plan::{Place, Plan};
use crate::tree::{Span, TreeView};

/// How much a compaction is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Only compactions that keep the tree in shape.
    Shape,
    /// Writers are idle: also compactions that make reads cheaper at little cost.
    Rest,
    /// Space is short: all plans that may drop overwritten or deleted entries, the one that moves
    /// fewest bytes first.
    Space,
    /// Eager compaction, for comparisons: all plans that may drop such entries, the newest first.
    /// No shortage asks for it.
    All,
}

/// How far the tree is out of shape, as far as writers are concerned: 0 in shape, growing as debt
/// grows. By pressure alone, writers are held back in proportion to its excess over
/// [`START`](Self::START), and never stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Pressure(pub f64);

impl Pressure {
    /// Pressure from which on writers are held back: early, so that the delay can be gentle.
    pub const START: Self = Self(0.5);
    /// Pressure at which writers write as fast as compaction has been taking their data; at 1, half
    /// as fast.
    pub const MATCH: Self = Self(0.75);

    /// Pressure of a `debt`: 0.5 at `start`, where writers begin to be held back, and 1 at `limit`,
    /// which the debt should never exceed.
    #[must_use]
    pub fn of(debt: f64, start: f64, limit: f64) -> Self {
        debug_assert!(!debt.is_nan() && start >= 0.0, "a debt of {debt}, from {start} on");
        let start = start.max(f64::MIN_POSITIVE);
        if debt < start {
            return Self(0.5 * (debt / start).max(0.0));
        }
        Self(0.5 + 0.5 * (debt - start) / (limit - start).max(1.0))
    }
}

/// How writers are let in, as the tree stands.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum WriteRule {
    /// Writers write as fast as the [`Pressure`] allows: in proportion to the work that a byte
    /// causes.
    Paced(Pressure),
    /// Writers are not slowed.
    Free,
    /// Each group of writes waits for [`WriteRule::DELAY`], as LevelDB has it.
    Delayed,
    /// As `Delayed`, and no memtable is begun before level 0 has fewer runs.
    Stopped,
}

impl WriteRule {
    /// LevelDB's delay (`db/db_impl.cc`, `MakeRoomForWrite`).
    pub const DELAY: Duration = Duration::from_millis(1);
}

/// A plan, and the decider's state once it is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The plan to carry out.
    pub plan: Plan,
    /// Committed in the same transaction as the plan's outcome, or its last instalment.
    pub state: Vec<u8>,
}

/// Choices that only move tables and are one commit, unless a decider says otherwise: a commit
/// costs a disk a revolution or more.
pub const MOVES_TOGETHER: usize = 64;

/// A way to keep a tree in shape. Pure: the same arguments give the same choice. Where zones matter
/// to it, it was made with a [`ZonesSource`](crate::ZonesSource), whose values are then arguments,
/// too.
///
/// Every decider accepts every legal tree, and state that it does not understand is no state. It
/// first drains levels that break its layout, so that a store can be opened under another decider.
pub trait Compaction: Send + Sync + Debug {
    /// The name in options, reports, goldens and the store's annotation.
    fn name(&self) -> &'static str;

    /// The next plan, or `None` when nothing is due.
    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice>;

    /// The plans that could be next, if not all of them are worth their cost now; the first one is
    /// that of [`pick`](Self::pick). Each is legal by itself.
    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        self.pick(tree, state, urgency).into_iter().collect()
    }

    /// The plans that scans may pay for though the tree is in shape, the best first:
    /// [`LoadAware`](crate::LoadAware) asks its row for them. By default those of eager
    /// compaction, which end with every key in one run.
    fn choices_for_scans(&self, tree: &TreeView, state: &[u8]) -> Vec<Choice> {
        self.choices(tree, state, Urgency::All)
    }

    /// The next plan under a load, where the decider heeds it.
    fn pick_under(
        &self,
        tree: &TreeView,
        state: &[u8],
        urgency: Urgency,
        _load: &Load,
    ) -> Option<Choice> {
        self.pick(tree, state, urgency)
    }

    /// Whether more scans alone may make it choose a plan at rest, though the tree is as it was.
    fn heeds_load(&self) -> bool {
        false
    }

    /// The number of point reads that search a table of this size without success, and have to
    /// search another one, after which the table is worth a merge
    /// ([`pick_after_seeks`](Self::pick_after_seeks)); `None`: it never is.
    fn seeks_allowed(&self, _size: ByteCount) -> Option<u64> {
        None
    }

    /// The plan that brings such a table a level deeper; `None`: it is gone, or in the last level.
    /// Asked when nothing else is due.
    fn pick_after_seeks(&self, _tree: &TreeView, _state: &[u8], _table: FileId) -> Option<Choice> {
        None
    }

    /// A merge that leaves readers fewer runs for few bytes, in a row whose tables may overlap in
    /// every level; `None`: there is none. [`LoadAware`](crate::LoadAware) asks its row for it, in
    /// place of merges that are due within a level.
    fn for_readers(&self, _tree: &TreeView, _state: &[u8]) -> Option<Choice> {
        None
    }

    /// The most plans that may run at once.
    fn jobs_max(&self) -> usize {
        1
    }

    /// Another plan, to be carried out next to the running ones; `None` when nothing is due, or
    /// nothing that is due is free of their claims. `state` is the state after the last chosen
    /// plan, whether that has been carried out or not. Asked only where several plans may run at
    /// once.
    fn pick_beside(&self, _tree: &TreeView, _claims: &Claims, _state: &[u8]) -> Option<Choice> {
        None
    }

    /// The next plan on the way to where each key of `span` is in one run only; `None` when it is.
    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice>;

    /// How many successive choices that only move tables may be one commit; at least 1.
    fn moves_together(&self) -> usize {
        MOVES_TOGETHER
    }

    /// Where a memtable goes whose keys all lie in `span`, as [`FlushRoute::check`] allows it: by
    /// default as a whole on top. No table of it goes to two places. At most
    /// [`flush_routes_max`](Self::flush_routes_max) routes.
    fn flush_routes(&self, _tree: &TreeView, _span: &Span) -> Vec<FlushRoute> {
        FlushRoute::all_to(None)
    }

    /// The most routes that a flush may have: space for the ends of their tables is set aside
    /// before the memtable is filled.
    fn flush_routes_max(&self) -> usize {
        1
    }

    /// Where a table of an ingest goes whose keys all lie in `span`, as [`check_place`] allows it;
    /// `None`: on top.
    ///
    /// [`check_place`]: crate::check_place
    fn ingest_place(&self, tree: &TreeView, span: &Span) -> Option<Place> {
        deepest_free(tree, span)
    }

    /// The most bytes that the [`Histogram`](crate::Histogram) of a table may take; 0: the decider
    /// does not look at histograms, and new tables have none.
    fn histogram_max(&self) -> ByteCount {
        ByteCount(0)
    }

    /// Whether the bytes that a merge writes to a destination have to lie in key order, also across
    /// tables. A merge is then written by one worker, and its tables for a destination follow each
    /// other in a zone; otherwise several workers write at once, each to a zone of its own.
    fn writes_in_order(&self) -> bool {
        false
    }

    /// Whether a merge that writes a [set](crate::SetView) reads inputs of a run by one request, if
    /// they lie one after the other on the device, as far as memory allows. Otherwise it reads each
    /// table for itself, in pieces, as it comes to it.
    fn reads_sets(&self) -> bool {
        false
    }

    /// Whether tables of a level deeper than level 0 may overlap in its layout, so that merges
    /// within such a level are for readers alone. Otherwise they drain another layout.
    fn allows_overlaps(&self) -> bool {
        false
    }

    /// How far the tree is out of shape.
    fn pressure(&self, tree: &TreeView) -> Pressure;

    /// How writers are let in.
    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        WriteRule::Paced(self.pressure(tree))
    }
}
