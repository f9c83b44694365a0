//! [`Plan::check`]: whether a plan may be carried out on a tree, whichever decider made it.
//!
//! 1. A plan takes something. Every part is in the tree, within one segment, and taken once. The
//!    inputs of a merge are newest first, each run once, and their parts are in key order. Its
//!    routes cover all keys in order; the routes of a set have one destination. Its parts go to
//!    levels below [`LEVELS_MAX`].
//! 2. Parts that a plan puts into a run overlap neither segments that stay there nor other parts
//!    that come there, except for parts that are merged with each other.
//! 3. The order of age is kept. If a part is newer than a segment that stays in the tree and
//!    overlaps it, it is newer afterwards, and the other way round. The same holds for two parts
//!    that are not merged with each other. Parts that are dropped are not compared. Example: a part
//!    of level 1 may not move below a segment of level 2 that overlaps it and stays.
//! 4. A plan makes no run in level 0 that is newer than all others there: such runs come from new
//!    data.
//!
//! The check compares ranges of keys, not single keys. So it may refuse a plan that would do no
//! harm.
//!
//! It does not check that no reader can see a part that the plan drops, nor that outputs of a merge
//! end before segments that stay in their run ([cut](crate::Cut::keys)).

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Input, Merge, Move, Part, Place, Plan, Route};
use crate::tree::{LEVELS_MAX, RunView, Span, TreeView};

/// Why a plan may not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Illegal {
    /// The plan takes nothing.
    #[error("a plan of at least one part, found none")]
    Empty,
    /// A part is not in the tree.
    #[error("{from}: expected a segment that holds {part}")]
    Missing {
        /// The part.
        part: Part,
        /// Where it was to be.
        from: Place,
    },
    /// A part is taken twice, or parts are not in key order.
    #[error("{from}: expected parts in key order without overlap, found {part}")]
    Disorder {
        /// The later part of the two.
        part: Part,
        /// Their run.
        from: Place,
    },
    /// A merge's inputs are not in the order of their age, each run once.
    #[error("expected inputs from the newest to the oldest, found {place} after an older one")]
    InputOrder {
        /// The input that comes too late.
        place: Place,
    },
    /// Routes do not cover all keys, one after the other.
    #[error("expected routes in key order, the last without an end, found {count} that are not")]
    Routes {
        /// How many there are.
        count: usize,
    },
    /// The tables of a set would go to several destinations.
    #[error("expected a set with one destination, found {count}")]
    Set {
        /// How many there are.
        count: usize,
    },
    /// There is no such level, or only a flush may make such a run.
    #[error(
        "expected a level below {LEVELS_MAX}, and in level 0 no run above its newest, found {to}"
    )]
    Destination {
        /// Where something was to go.
        to: Place,
    },
    /// The run would hold two segments with the same keys.
    #[error("{part} would overlap in {to} with a part that is there or comes there")]
    Overlap {
        /// The part that was to go there.
        part: Part,
        /// The run.
        to: Place,
    },
    /// New data may not go below older data.
    #[error("new data of {span:?} to {to} would meet {other}, or go below it")]
    Intake {
        /// The keys of the data.
        span: Span,
        /// Where it was to go.
        to: Place,
        /// Where something of these keys is.
        other: Place,
    },
    /// Something older would be found before something newer.
    #[error("{part} from {from} to {to} would overtake, or be overtaken by, {other}")]
    Age {
        /// The part that was to go.
        part: Part,
        /// Where it is.
        from: Place,
        /// Where it was to go.
        to: Place,
        /// Whose keys it shares.
        other: Place,
    },
}

/// A part, as far as it goes to one place.
struct Piece {
    part: Part,
    to: Option<Place>,
    merged: bool,
}

/// Parts that a plan takes, by place; in key order.
type Pieces = BTreeMap<Place, Vec<Piece>>;

impl Plan {
    /// Whether the plan may be carried out on this tree; entries that it drops are taken to be
    /// invisible.
    pub fn check(&self, tree: &TreeView) -> Result<(), Illegal> {
        let mut pieces = Pieces::new();
        match self {
            Self::Merge(merge) => {
                check_merge(merge)?;
                for input in &merge.inputs {
                    let of_run = pieces.entry(input.place).or_default();
                    of_run.extend(routed(input, &merge.routes));
                }
                add_moves(&mut pieces, &merge.moves);
            }
            Self::TrivialMove(moves) => add_moves(&mut pieces, moves),
        }
        if pieces.values().all(Vec::is_empty) {
            return Err(Illegal::Empty);
        }
        for (from, of_run) in &mut pieces {
            of_run.sort_by(|a, b| a.part.span.start.cmp(&b.part.span.start));
            check_parts(tree, *from, of_run)?;
        }
        for (from, piece) in each(&pieces) {
            check_destination(tree, piece)?;
            check_against_rest(tree, &pieces, from, piece)?;
            check_against_others(&pieces, from, piece)?;
        }
        Ok(())
    }
}

fn each(pieces: &Pieces) -> impl Iterator<Item = (Place, &Piece)> {
    pieces.iter().flat_map(|(from, of_run)| of_run.iter().map(move |piece| (*from, piece)))
}

fn check_merge(merge: &Merge) -> Result<(), Illegal> {
    let ends: Vec<_> = merge.routes.iter().map(|route| &route.end).collect();
    let bounded = ends.len().saturating_sub(1);
    let growing = ends[..bounded].windows(2).all(|pair| pair[0] < pair[1]);
    let whole = ends.last().is_some_and(|end| end.is_none());
    if !whole || !growing || ends[..bounded].iter().any(|end| end.is_none()) {
        return Err(Illegal::Routes { count: ends.len() });
    }
    let destinations = || merge.routes.iter().map(|route| (route.to, route.stream));
    let count = destinations().collect::<BTreeSet<_>>().len();
    if merge.set && count > 1 {
        return Err(Illegal::Set { count });
    }
    for pair in merge.inputs.windows(2) {
        if pair[0].place.age() >= pair[1].place.age() {
            return Err(Illegal::InputOrder { place: pair[1].place });
        }
    }
    for Input { place, parts } in &merge.inputs {
        for pair in parts.windows(2) {
            if pair[0].span.end > pair[1].span.start {
                return Err(Illegal::Disorder { part: pair[1].clone(), from: *place });
            }
        }
    }
    Ok(())
}

/// The parts of an input, cut at the ends of the routes.
fn routed(input: &Input, routes: &[Route]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for part in &input.parts {
        if part.span.is_empty() {
            pieces.push(Piece { part: part.clone(), to: None, merged: true });
        }
        let mut rest = part.span.clone();
        for route in routes {
            let end = route.end.as_ref().map_or(&rest.end, |end| end.min(&rest.end));
            let span = Span { start: rest.start.clone(), end: end.clone() };
            if !span.is_empty() {
                rest.start = span.end.clone();
                let part = Part { file: part.file, span };
                pieces.push(Piece { part, to: Some(route.to), merged: true });
            }
        }
    }
    pieces
}

fn add_moves(pieces: &mut Pieces, moves: &[Move]) {
    for one in moves {
        let piece = Piece { part: one.part.clone(), to: one.to, merged: false };
        pieces.entry(one.from).or_default().push(piece);
    }
}

/// Rule 1.
fn check_parts(tree: &TreeView, from: Place, pieces: &[Piece]) -> Result<(), Illegal> {
    for piece in pieces {
        let part = &piece.part;
        let held = find(tree, from).is_some_and(|run| {
            run.overlapping(&part.span).iter().any(|segment| {
                let (of, part) = (&segment.span, &part.span);
                segment.file == piece.part.file && of.start <= part.start && part.end <= of.end
            })
        });
        if !held || part.span.is_empty() {
            return Err(Illegal::Missing { part: part.clone(), from });
        }
    }
    for pair in pieces.windows(2) {
        if pair[0].part.span.end > pair[1].part.span.start {
            return Err(Illegal::Disorder { part: pair[1].part.clone(), from });
        }
    }
    Ok(())
}

/// Rule 4.
fn check_destination(tree: &TreeView, piece: &Piece) -> Result<(), Illegal> {
    let Some(to) = piece.to else { return Ok(()) };
    let newest = tree.runs(0).first().map(|run| run.id);
    let flushed = to.level == 0 && newest.is_none_or(|newest| to.run > newest);
    if usize::from(to.level) >= LEVELS_MAX || flushed {
        return Err(Illegal::Destination { to });
    }
    Ok(())
}

/// Rules 2 and 3, against the segments that stay.
fn check_against_rest(
    tree: &TreeView,
    pieces: &Pieces,
    from: Place,
    piece: &Piece,
) -> Result<(), Illegal> {
    let Some(to) = piece.to else { return Ok(()) };
    let part = &piece.part;
    for (level, runs) in tree.levels.iter().enumerate() {
        for run in &runs.runs {
            let other = Place { level: level as u8, run: run.id };
            if !stays(run, pieces.get(&other).map_or(&[], |taken| taken), &part.span) {
                continue;
            }
            if other == to {
                return Err(Illegal::Overlap { part: part.clone(), to });
            }
            if from.age().cmp(&other.age()) != to.age().cmp(&other.age()) {
                return Err(Illegal::Age { part: part.clone(), from, to, other });
            }
        }
    }
    Ok(())
}

/// Whether anything of the run within `span` is not taken.
fn stays(run: &RunView, taken: &[Piece], span: &Span) -> bool {
    run.overlapping(span).iter().any(|segment| {
        let (start, end) = (&segment.span.start, &segment.span.end);
        let mut at = start.max(&span.start);
        let end = end.min(&span.end);
        let first = taken.partition_point(|piece| &piece.part.span.end <= at);
        for piece in &taken[first..] {
            if &piece.part.span.start > at || at >= end {
                break;
            }
            at = at.max(&piece.part.span.end);
        }
        at < end
    })
}

/// Rules 2 and 3, against the other parts that the plan takes.
fn check_against_others(pieces: &Pieces, from: Place, piece: &Piece) -> Result<(), Illegal> {
    let (Some(to), part) = (piece.to, &piece.part) else { return Ok(()) };
    for (other, of_run) in pieces.iter().filter(|(other, _)| **other != from) {
        let first = of_run.partition_point(|one| one.part.span.end <= part.span.start);
        let behind = of_run.partition_point(|one| one.part.span.start < part.span.end);
        for one in of_run.get(first..behind).unwrap_or_default() {
            let Some(its) = one.to else { continue };
            if piece.merged && one.merged {
                continue;
            }
            if its == to {
                return Err(Illegal::Overlap { part: part.clone(), to });
            }
            if from.age().cmp(&other.age()) != to.age().cmp(&its.age()) {
                return Err(Illegal::Age { part: part.clone(), from, to, other: its });
            }
        }
    }
    Ok(())
}

fn find(tree: &TreeView, place: Place) -> Option<&RunView> {
    tree.runs(usize::from(place.level)).iter().find(|run| run.id == place.run)
}
