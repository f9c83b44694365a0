//! [`Sealdb`]: leveled compaction by sets (Yao et al., "A Set-aware Key-Value Store on Shingled
//! Magnetic Recording Drives with Dynamic Band", MSST '18, sections III-A and III-C).
//!
//! 1. Levels, scores, flushes and moves are those of [`Leveled`], which follows LevelDB. Levels 0
//!    and 1 have no sets of their own, because a table of level 1 is merged with several of level 0
//!    at once (III-A).
//! 2. A table of a level from 1 on, the *victim*, is merged with the tables that it overlaps in the
//!    next level. At the pointer, the merge may grow by neighbours of the victim. The outputs are a
//!    *set*: they are to be written one after the other, so that the next merge of these keys finds
//!    its tables in one run of blocks (III-A). The merge reads them by one request, as far as
//!    memory allows ([`Compaction::reads_sets`]).
//! 3. Tables that a merge has taken are dead, and their blocks are free at once. That part of their
//!    set is dead, too ("marked", III-C). Each table names its set and the set's size, so that the
//!    dead part is known ([`SetView`]).
//! 4. [`Victim`] says which table is the victim. The paper "gives priority to compact the set with
//!    more invalid SSTables" (III-C).
//!
//! # Sets of which a merge takes a part
//! The paper says that tables of a set are "either valid or invalid at the same time". That holds
//! if sets end where victims end. But the victims that overlap a set later are others than the one
//! that wrote it. Here:
//! - The rest stays where it is, in its old set, until it is merged. With `victim=bounded`, a merge
//!   may take it along: see below.
//! - With `whole_inputs` off, a set ends where the *next* table of the victim's level begins. If a
//!   table of the next level lies across this key, the merge takes the part before it, and the next
//!   merge takes the rest. So a set has the keys of one table of the level above (of several if the
//!   merge grew), as in figure 5.
//! - With `whole_inputs` on, as in LevelDB, a merge takes whole tables. Its last output then
//!   reaches into the next victim's keys, and the next merge takes this table. So most sets soon
//!   lose their last table.
//!
//! # Cost of each victim
//! Measured with a replay of 60,000 random writes (`tests/golden/metrics.txt`). Each field has the
//! write amplification, and the bytes that are dead in sets as a share of live bytes, on average
//! and at worst.
//!
//! | victim | whole tables | up to the next victim |
//! |---|---|---|
//! | `pointer` | 15.15; 21 %, 31 % (`leveldb-sets`) | 14.44; 3.5 %, 5.3 % |
//! | `set` | 18.63; 38 %, 42 % | 23.16; 27 %, 36 % |
//! | `bounded` | 15.57; 15 %, 23 % | 14.57; 1.8 %, 3.8 % |
//!
//! `set`, the paper's, is the worst because it breaks the order of the pointer. Victims in turn go
//! on where the last one ended. A victim out of turn leaves the sets on both sides of its keys
//! partly dead.
//!
//! # Bound
//! With `bounded`, a merge at the pointer that writes a set also takes tables of the next level
//! that lie next before its keys. Of their sets at most `rest_max` percent may be left, and
//! together they may not be larger than the tables of that level that the merge takes anyway. Then
//! most dead bytes are in the sets at each pointer, and in sets of which more is left, which the
//! next sweep of the pointer takes.
//!
//! These are a few sets for each level, so their share gets smaller as the store grows. On a store
//! of 1,250 tables, less than 8 % of the live bytes are dead in sets on average, and less than 15 %
//! at worst (`tests/it/sealdb_loads.rs`). The bound holds while levels are compacted: no merge is
//! begun because of dead bytes in sets.
//!
//! State: that of [`Leveled`]. A victim out of turn moves no pointer. Plans that run next to others
//! ([`Compaction::pick_beside`]) go by pointer, for any `victim`. Manual compactions are those of
//! [`Leveled`].

use std::collections::BTreeMap;

use terrace_env::{ByteCount, FileId};

use crate::claims::Claims;
use crate::compaction::{Choice, Compaction, Pressure, Urgency, WriteRule};
use crate::intake::FlushRoute;
use crate::leveled::{Leveled, LeveledOptions, part};
use crate::plan::{Input, Part, Plan};
use crate::pointers::Pointers;
use crate::sets::{self, SetRest};
use crate::tree::{RunView, SegmentView, SetView, Span, TreeView};

/// Which table of a level that is too large goes down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// The one at the level's pointer, as in LevelDB.
    Pointer,
    /// The first one of the level's set with the most dead tables; at the pointer if no set of the
    /// level has a dead one. The paper's.
    Set,
    /// The one at the pointer. With it, the merge takes the remaining tables of mostly dead sets
    /// that lie next before its keys in the next level.
    #[default]
    Bounded,
}

/// The parameters of leveled compaction by sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealdbOptions {
    /// Parameters of the compaction.
    pub leveled: LeveledOptions,
    /// Which table goes down.
    pub victim: Victim,
    /// How much of a set may be left for a merge to take it along, in percent of the set.
    pub rest_max: u8,
}

/// Leveled compaction by sets.
#[derive(Clone, Debug)]
pub struct Sealdb {
    leveled: Leveled,
    victim: Victim,
    rest_max: u8,
}

impl Sealdb {
    /// A decider with these parameters.
    ///
    /// # Panics
    /// When [`Leveled::new`] does.
    #[must_use]
    pub fn new(options: SealdbOptions) -> Self {
        let SealdbOptions { leveled, victim, rest_max } = options;
        Self { leveled: Leveled::new(LeveledOptions { sets: true, ..leveled }), victim, rest_max }
    }

    /// The choice for a level that is too large.
    fn turn(&self, tree: &TreeView, state: &Pointers, level: usize) -> Option<Choice> {
        let in_turn = || self.leveled.round_robin(tree, state, level);
        match self.victim {
            Victim::Pointer => in_turn(),
            Victim::Set => match most_dead(tree, level) {
                Some(victim) => Some(self.leveled.segment_down(tree, level, victim, state)),
                None => in_turn(),
            },
            Victim::Bounded => in_turn().map(|choice| self.with_rests(tree, choice)),
        }
    }

    /// The choice, if it writes a set, with the remaining tables of sets next before its keys.
    fn with_rests(&self, tree: &TreeView, choice: Choice) -> Choice {
        let Choice { plan: Plan::Merge(mut merge), state } = choice else { return choice };
        if let Some(route) = merge.routes.first_mut().filter(|_| merge.set)
            && let Some(Input { place, parts }) = merge.inputs.last_mut()
            && *place == route.to
        {
            let level = usize::from(place.level);
            let run = tree.runs(level).iter().find(|run| run.id == place.run);
            let along = run.map_or(Vec::new(), |run| self.rests_before(tree, run, parts));
            if let Some(first) = along.first() {
                let hull =
                    parts.iter().fold(first.span.clone(), |hull, part| hull.hull(&part.span));
                route.cut = self.leveled.cut(tree, level, &hull);
                parts.splice(0..0, along);
                debug_assert!(
                    parts.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start),
                    "{parts:?}"
                );
            }
        }
        Choice { plan: Plan::Merge(merge), state }
    }

    /// Tables of a run that come next before these parts and are left of sets of which little is,
    /// in key order; not more bytes than the parts have.
    fn rests_before(&self, tree: &TreeView, run: &RunView, parts: &[Part]) -> Vec<Part> {
        let Some(first) = parts.first() else { return Vec::new() };
        let rests: BTreeMap<SetView, SetRest> =
            sets::rests(tree).into_iter().map(|rest| (rest.set, rest)).collect();
        let mut taken: BTreeMap<SetView, u64> = BTreeMap::new();
        let mut room = 0;
        for segment in parts.iter().flat_map(|part| run.overlapping(&part.span)) {
            room += segment.size.0;
            if let Some(set) = segment.set {
                *taken.entry(set).or_default() += segment.size.0;
            }
        }
        let is_due = |set: SetView| {
            let live = rests.get(&set).map_or(0, |rest| rest.live().0);
            let left = live.saturating_sub(taken.get(&set).copied().unwrap_or(0));
            u128::from(left) * 100 <= u128::from(set.size.0) * u128::from(self.rest_max)
        };
        let before = run.segments.partition_point(|segment| segment.span.start < first.span.start);
        let mut along = Vec::new();
        for segment in run.segments.slice(0..before).iter().rev() {
            let fits = segment.size.0 <= room;
            if !fits || !segment.set.is_some_and(is_due) {
                break;
            }
            debug_assert!(segment.span.end <= first.span.start, "{segment:?} is not before");
            room -= segment.size.0;
            along.push(part(segment));
        }
        along.reverse();
        along
    }
}

/// The first table of the level's set with the most dead tables; `None` if no set has one.
fn most_dead(tree: &TreeView, level: usize) -> Option<&SegmentView> {
    let rests = sets::rests(tree);
    let with_dead = |rest: &&SetRest| rest.level == level && rest.dead_tables() > 0;
    // Of equals the first: `max_by_key` takes the last.
    let most = rests.iter().filter(with_dead).rev().max_by_key(|rest| rest.dead_tables());
    sets::first_of(tree, level, most?.set)
}

impl Compaction for Sealdb {
    fn name(&self) -> &'static str {
        "sealdb"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Option<Choice> {
        let state = self.leveled.pointers(tree, state);
        self.leveled.pick_with(tree, &state, urgency, |level| self.turn(tree, &state, level))
    }

    fn choices(&self, tree: &TreeView, state: &[u8], urgency: Urgency) -> Vec<Choice> {
        let state = self.leveled.pointers(tree, state);
        self.leveled.choices_with(tree, &state, urgency, |level| self.turn(tree, &state, level))
    }

    fn seeks_allowed(&self, size: ByteCount) -> Option<u64> {
        self.leveled.seeks_allowed(size)
    }

    fn pick_after_seeks(&self, tree: &TreeView, state: &[u8], table: FileId) -> Option<Choice> {
        self.leveled.pick_after_seeks(tree, state, table)
    }

    fn jobs_max(&self) -> usize {
        self.leveled.jobs_max()
    }

    fn moves_together(&self) -> usize {
        self.leveled.moves_together()
    }

    fn reads_sets(&self) -> bool {
        self.leveled.reads_sets()
    }

    fn pick_beside(&self, tree: &TreeView, claims: &Claims, state: &[u8]) -> Option<Choice> {
        self.leveled.pick_beside(tree, claims, state)
    }

    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        self.leveled.flush_routes(tree, span)
    }

    fn manual_compaction(&self, tree: &TreeView, state: &[u8], span: &Span) -> Option<Choice> {
        self.leveled.manual_compaction(tree, state, span)
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        self.leveled.pressure(tree)
    }

    fn write_rule(&self, tree: &TreeView) -> WriteRule {
        self.leveled.write_rule(tree)
    }
}
