//! [`Claim`]: the part of the tree that a plan may change. Plans whose claims do not meet may be
//! carried out side by side.
//!
//! A claim is a rectangle: a range of keys, and a range of ages (levels and runs). The range of
//! keys goes from the first key of all parts that the plan takes to the last. The ages go from the
//! newest place that the plan takes from or writes to, to the oldest. Two claims meet if they share
//! both a key and an age. Example: during a merge of level 0 into level 1, another plan may merge
//! tables of level 2 into level 3. A second merge of level 0 into level 1 may run at the same time
//! if all its keys lie before, or after, all keys of the first.
//!
//! Why this is enough, even if the plans commit piece by piece (in *instalments*), in any order:
//! - Two such plans share no input, and their outputs are not in each other's way.
//! - If both move entries of one key, all places of one plan are newer than all places of the
//!   other. So the newer entry stays the newer one.
//! - A merge may drop a tombstone if no older entry of its key lies below. If another plan moves
//!   such an older entry, the entry lies below the merge before and after. So the merge keeps the
//!   tombstone, whether the other plan has committed or not.
//!
//! Data that comes into the tree at a deeper place than on top claims its keys from the top to its
//! place: [`Claim::of_intake`].
//!
//! [`Claims`] are those of all running plans. They tell a decider which plans may begin,
//! which runs are taken from, and how many bytes leave a level.

use std::fmt;

use terrace_env::ByteCount;

use crate::plan::{Part, Place, Plan};
use crate::tree::{RunId, Span, TreeView};

/// Part of the tree that one plan may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    span: Span,
    newest: Place,
    oldest: Place,
    /// Parts of segments that the plan takes out of the tree, or to another level.
    leaving: Vec<(Place, Part)>,
    /// Whether it may hold anything of a run: the runs that it takes from.
    sources: Vec<Place>,
}

impl Claim {
    /// Claim of a plan; `None` if the plan takes nothing.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let (mut parts, mut to): (Vec<(Place, &Part)>, Vec<Place>) = (Vec::new(), Vec::new());
        let mut leaving = Vec::new();
        let moves = match plan {
            Plan::Merge(merge) => {
                to.extend(merge.routes.iter().map(|route| route.to));
                for input in &merge.inputs {
                    let place = input.place;
                    parts.extend(input.parts.iter().map(|part| (place, part)));
                    if to.iter().any(|to| to.level != place.level) {
                        leaving.extend(input.parts.iter().map(|part| (place, part.clone())));
                    }
                }
                &merge.moves
            }
            Plan::TrivialMove(moves) => moves,
        };
        for one in moves {
            parts.push((one.from, &one.part));
            to.extend(one.to);
            // A part that is dropped leaves its level, too.
            if one.to.is_none_or(|to| to.level != one.from.level) {
                leaving.push((one.from, one.part.clone()));
            }
        }
        let spans = parts.iter().map(|(_, part)| part.span.clone());
        let span = spans.reduce(|hull, span| hull.hull(&span))?;
        let places = || parts.iter().map(|(place, _)| *place).chain(to.iter().copied());
        let newest = places().min_by_key(Place::age)?;
        let oldest = places().max_by_key(Place::age)?;
        let mut sources: Vec<Place> = parts.iter().map(|(place, _)| *place).collect();
        sources.dedup();
        debug_assert!(newest.age() <= oldest.age(), "{newest} is older than {oldest}");
        debug_assert!(parts.iter().all(|(_, part)| !part.span.is_empty()), "{plan:?}");
        Some(Self { span, newest, oldest, leaving, sources })
    }

    /// Claim of data that is newer than the whole tree and goes to `to`: on its way there.
    #[must_use]
    pub fn of_intake(span: Span, to: Place) -> Self {
        let newest = Place { level: 0, run: RunId(u64::MAX) };
        debug_assert!(newest.age() <= to.age(), "{to} is newer than all runs");
        Self { span, newest, oldest: to, leaving: Vec::new(), sources: Vec::new() }
    }

    /// Whether plans of both may not run at once.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let ages =
            self.newest.age() <= other.oldest.age() && other.newest.age() <= self.oldest.age();
        ages && self.span.overlaps(&other.span)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} from {} to {}", self.span, self.newest, self.oldest)
    }
}

/// The claims of all running plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims(Vec<Claim>);

impl Claims {
    /// The claims of these plans.
    #[must_use]
    pub fn new(claims: Vec<Claim>) -> Self {
        Self(claims)
    }

    /// Whether no plan is running.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The claim that another one meets, if there is any.
    #[must_use]
    pub fn met_by(&self, claim: &Claim) -> Option<&Claim> {
        self.0.iter().find(|other| other.meets(claim))
    }

    /// Whether a plan may begin now.
    #[must_use]
    pub fn allow(&self, plan: &Plan) -> bool {
        Claim::of(plan).is_some_and(|claim| self.met_by(&claim).is_none())
    }

    /// Whether keys of this span at this place may be taken out while all these plans run.
    #[must_use]
    pub fn allow_taking(&self, place: Place, span: &Span) -> bool {
        let age = place.age();
        !self.0.iter().any(|claim| {
            claim.newest.age() <= age && age <= claim.oldest.age() && claim.span.overlaps(span)
        })
    }

    /// Whether some plan takes from this run.
    #[must_use]
    pub fn take_from(&self, run: Place) -> bool {
        self.0.iter().any(|claim| claim.sources.contains(&run))
    }

    /// How many bytes of a level leave it with the running plans.
    #[must_use]
    pub fn leaving(&self, tree: &TreeView, level: usize) -> ByteCount {
        let of_level = |(place, _): &&(Place, Part)| usize::from(place.level) == level;
        let leaving = self.0.iter().flat_map(|claim| &claim.leaving).filter(of_level);
        let size = |(place, part): &(Place, Part)| -> u64 {
            let run = tree.runs(level).iter().find(|run| run.id == place.run);
            let within = run.map(|run| run.overlapping(&part.span));
            let of_file = within.iter().flat_map(|within| within.iter());
            of_file.filter(|segment| segment.file == part.file).map(|s| s.size.0).sum()
        };
        ByteCount(leaving.map(size).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use crate::plan::{Cut, Input, Merge, Move, Route};
    use crate::tree::{LevelView, RunView, SegmentView};
    use terrace_env::FileId;

    fn place(level: u8, run: u64) -> Place {
        Place { level, run: RunId(run) }
    }

    fn part(file: u64, span: &str) -> Part {
        let (start, end) = span.split_once('-').expect("start-end");
        Part { file: FileId(file), span: Span::new(start.as_bytes(), end.as_bytes()) }
    }

    fn merge(inputs: &[(Place, &str)], to: Place) -> Plan {
        let input = |(at, (place, span)): (usize, &(Place, &str))| Input {
            place: *place,
            parts: vec![part(at as u64, span)],
        };
        let inputs = inputs.iter().enumerate().map(input).collect();
        let routes = vec![Route { end: None, to, stream: 0, cut: Cut::at(ByteCount(1)) }];
        Plan::Merge(Merge { inputs, routes, moves: Vec::new(), set: false })
    }

    fn meet(a: &Plan, b: &Plan) -> bool {
        let claims = [a, b].map(|plan| Claim::of(plan).expect("a plan that takes something"));
        let met = claims[0].meets(&claims[1]);
        assert_eq!(met, claims[1].meets(&claims[0]), "both see it");
        assert_eq!(!met, Claims::new(vec![claims[0].clone()]).allow(b));
        met
    }

    #[test]
    fn plans_meet_where_they_share_a_key_and_an_age() {
        let down = |level: u8, span| {
            let (from, to) = (place(level, 1), place(level + 1, 1));
            merge(&[(from, span), (to, span)], to)
        };
        assert!(meet(&down(1, "a-m"), &down(1, "k-z")), "the same input");
        assert!(meet(&down(1, "a-m"), &down(2, "k-z")), "one puts where the other takes");
        assert!(!meet(&down(1, "a-k"), &down(1, "k-z")), "no key in common");
        assert!(!meet(&down(1, "a-m"), &down(3, "a-m")), "no age in common");
    }

    #[test]
    fn a_claim_holds_the_keys_between_its_parts_and_the_ages_between_its_places() {
        let apart = merge(&[(place(1, 1), "a-c"), (place(3, 1), "x-z")], place(3, 1));
        assert!(meet(&apart, &merge(&[(place(2, 1), "f-g")], place(2, 1))));
        assert!(!meet(&apart, &merge(&[(place(4, 1), "f-g")], place(4, 1))));
    }

    #[test]
    fn runs_of_one_level_are_of_different_ages() {
        // The newer run of a level may be put in while older ones are taken out.
        let in_at_the_top = merge(&[(place(0, 9), "a-z"), (place(0, 8), "a-z")], place(1, 4));
        let out_below = merge(&[(place(1, 3), "a-z"), (place(1, 2), "a-z")], place(2, 1));
        assert!(!meet(&in_at_the_top, &out_below));
        assert!(meet(&in_at_the_top, &merge(&[(place(1, 4), "a-z")], place(2, 1))));
    }

    #[test]
    fn a_move_claims_like_a_merge() {
        let (from, to) = (place(1, 1), Some(place(2, 1)));
        let moves = Plan::TrivialMove(vec![Move { part: part(1, "c-d"), from, to }]);
        assert!(meet(&moves, &merge(&[(place(2, 1), "a-z")], place(3, 1))));
        assert!(!meet(&moves, &merge(&[(place(2, 1), "d-z")], place(3, 1))));
        assert_eq!(Claim::of(&Plan::TrivialMove(Vec::new())), None);
    }

    #[test]
    fn bytes_that_are_dropped_or_merged_to_another_level_leave_theirs() {
        let segment = SegmentView {
            file: FileId(5),
            span: part(5, "a-c").span,
            size: ByteCount(10),
            entries: 1,
            tombstones: 0,
            set: None,
            histogram: Histogram::default(),
        };
        let run = RunView { id: RunId(1), segments: [segment].into_iter().collect() };
        let levels = vec![LevelView::default(), LevelView { runs: vec![run] }];
        let tree = TreeView { levels };
        let leaves = |plan: &Plan| {
            let claims = Claims::new(vec![Claim::of(plan).expect("a claim")]);
            claims.leaving(&tree, 1)
        };
        let merged = |to| {
            let mut plan = merge(&[(place(1, 1), "a-c")], to);
            let Plan::Merge(merge) = &mut plan else { unreachable!("a merge") };
            merge.inputs[0].parts = vec![part(5, "a-c")];
            leaves(&plan)
        };
        assert_eq!(merged(place(2, 1)), ByteCount(10));
        assert_eq!(merged(place(1, 2)), ByteCount(0), "it stays on its level");
        let moved = |to| {
            let one = Move { from: place(1, 1), to, part: part(5, "a-c") };
            leaves(&Plan::TrivialMove(vec![one]))
        };
        assert_eq!(moved(None), ByteCount(10), "a drop");
        assert_eq!(moved(Some(place(2, 1))), ByteCount(10));
        assert_eq!(moved(Some(place(1, 2))), ByteCount(0));
    }
}
