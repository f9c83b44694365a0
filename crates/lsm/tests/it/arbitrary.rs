//! [`Arbitrary`]: a decider that draws plans, routes of flushes and places of ingests, and chooses
//! legal ones. If no draw is legal, it chooses nothing. A choice follows only from the tree and the
//! state of the decider. A manual compaction is not drawn: it merges everything into one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::ByteCount;
use terrace_env::random::{Random, Rng};
use terrace_policy::{
    Choice, Claims, Compaction, Cut, FlushRoute, Grandparent, Input, Key, Merge, Move, Part, Place,
    Plan, Pressure, Route, RunId, SegmentView, Segments, Span, TreeView, Urgency, check_place,
};

const LEVELS: u8 = 5;

/// A decider of random legal plans. Its state is a number that grows with each choice, so that the
/// same tree and state give the same choice.
#[derive(Debug)]
pub(crate) struct Arbitrary {
    /// The most plans in flight.
    jobs: usize,
    /// Number of plans that were chosen in addition to others.
    pub(crate) beside: AtomicU64,
    /// Number of flushed ranges that were to go below level 0.
    pub(crate) below: AtomicU64,
}

impl Arbitrary {
    pub(crate) fn new(jobs: usize) -> Arc<Self> {
        Arc::new(Self { jobs, beside: AtomicU64::new(0), below: AtomicU64::new(0) })
    }
}

/// Source of a drawn proposal.
struct Draw<'a> {
    tree: &'a TreeView,
    /// Newest first.
    runs: Vec<(Place, Segments<'a>)>,
    /// Begins and ends of all segments.
    keys: Vec<Key>,
    random: Random,
}

impl<'a> Draw<'a> {
    fn new(tree: &'a TreeView, state: &[u8]) -> Self {
        let runs = tree.levels.iter().enumerate().flat_map(|(level, runs)| {
            let place = move |run| Place { level: level as u8, run };
            runs.runs.iter().map(move |run| (place(run.id), run.segments.as_slice()))
        });
        let runs: Vec<_> = runs.collect();
        let segments = || runs.iter().flat_map(|(_, segments)| segments.iter());
        let ends = segments().flat_map(|s| [s.span.start.clone(), s.span.end.clone()]);
        let mut keys: Vec<Key> = ends.collect();
        keys.sort();
        keys.dedup();
        let files = segments().fold(0, |sum: u64, s| sum.wrapping_mul(31).wrapping_add(s.file.0));
        Self { tree, keys, random: Random::seeded(files ^ number(state)), runs }
    }

    fn key(&mut self) -> Key {
        self.keys[self.random.random_range(0..self.keys.len())].clone()
    }

    /// A run that exists, or a new one.
    fn place(&mut self) -> Place {
        if self.random.random_bool(0.6) {
            return self.runs[self.random.random_range(0..self.runs.len())].0;
        }
        let (level, run) = (self.random.random_range(1..LEVELS), self.random.random_range(1..30));
        Place { level, run: RunId(run) }
    }

    /// Parts of a run between two keys: parts of segments, or whole ones.
    fn parts(&mut self, segments: Segments<'_>, span: &Span) -> Vec<Part> {
        let clips = self.random.random_bool(0.5);
        let part = |s: &SegmentView| {
            let start = s.span.start.clone().max(span.start.clone());
            let inside = Span { start, end: s.span.end.clone().min(span.end.clone()) };
            let span = if clips { inside.clone() } else { s.span.clone() };
            (!inside.is_empty()).then_some(Part { file: s.file, span })
        };
        segments.iter().filter_map(part).collect()
    }

    fn span(&mut self) -> Span {
        if self.random.random_bool(0.2) {
            return Span {
                start: self.keys[0].clone(),
                end: self.keys[self.keys.len() - 1].clone(),
            };
        }
        let (a, b) = (self.key(), self.key());
        Span { start: a.clone().min(b.clone()), end: a.max(b) }
    }

    fn moves(&mut self) -> Vec<Move> {
        let at = self.random.random_range(0..self.runs.len());
        let (from, segments) = self.runs[at];
        let (span, to) = (self.span(), self.place());
        let parts = self.parts(segments, &span).into_iter();
        parts.map(|part| Move { part, from, to: Some(to) }).collect()
    }

    fn grandparent(&mut self) -> Grandparent {
        Grandparent { end: self.key(), size: ByteCount(self.random.random_range(1..6_000)) }
    }

    fn merge(&mut self) -> Merge {
        let first = self.random.random_range(0..self.runs.len());
        let behind = self.random.random_range(first..self.runs.len()) + 1;
        let span = self.span();
        let chosen = self.runs[first..behind].to_vec();
        let inputs = chosen
            .iter()
            .map(|(place, segments)| Input { place: *place, parts: self.parts(*segments, &span) });
        let inputs: Vec<Input> = inputs.filter(|input| !input.parts.is_empty()).collect();
        let mut ends: Vec<Key> = (0..self.random.random_range(0..3)).map(|_| self.key()).collect();
        ends.sort();
        ends.dedup();
        let ends = ends.into_iter().map(Some).chain([None]);
        let routes = ends.map(|end| {
            let oldest = chosen[chosen.len() - 1].0;
            let to = if self.random.random_bool(0.6) { oldest } else { self.place() };
            let mut cut = Cut::at(ByteCount(self.random.random_range(1000..12_000)));
            if self.random.random_bool(0.3) {
                cut.keys = (0..3).map(|_| self.key()).collect();
                cut.keys.sort();
            }
            if self.random.random_bool(0.3) {
                cut.grandparents = (0..6).map(|_| self.grandparent()).collect();
                cut.grandparents.sort_by(|a, b| a.end.cmp(&b.end));
                cut.overlap_max = ByteCount(self.random.random_range(1000..12_000));
                cut.carry_overlap = self.random.random_bool(0.5);
                cut.aligned_from = ByteCount(self.random.random_range(1..12_000));
            }
            Route { end, to, stream: self.random.random_range(16..20), cut }
        });
        let routes: Vec<Route> = routes.collect();
        let moves = if self.random.random_bool(0.2) { self.moves() } else { Vec::new() };
        let is_one =
            routes.windows(2).all(|of| (of[0].to, of[0].stream) == (of[1].to, of[1].stream));
        let set = is_one && self.random.random_bool(0.5);
        Merge { inputs, routes, moves, set }
    }

    /// A legal plan, if chance finds one.
    fn plan(mut self) -> Option<Plan> {
        if self.runs.is_empty() || self.random.random_bool(0.2) {
            return None;
        }
        (0..40).find_map(|_| {
            let trivial = self.random.random_bool(0.3);
            let plan =
                if trivial { Plan::TrivialMove(self.moves()) } else { Plan::Merge(self.merge()) };
            plan.check(self.tree).is_ok().then_some(plan)
        })
    }
}

fn number(state: &[u8]) -> u64 {
    state.try_into().map_or(0, u64::from_le_bytes)
}

pub(crate) fn choice(plan: Plan, state: &[u8]) -> Choice {
    Choice { plan, state: (number(state) + 1).to_le_bytes().to_vec() }
}

impl Compaction for Arbitrary {
    fn name(&self) -> &'static str {
        "arbitrary"
    }

    fn pick(&self, tree: &TreeView, state: &[u8], _: Urgency) -> Option<Choice> {
        Some(choice(Draw::new(tree, state).plan()?, state))
    }

    fn jobs_max(&self) -> usize {
        self.jobs
    }

    /// A legal plan that is free of the claims, if chance finds one. Sometimes none, so that there
    /// is an end: as long as a plan is in flight, a store is not idle.
    fn pick_beside(&self, tree: &TreeView, claims: &Claims, state: &[u8]) -> Option<Choice> {
        if Draw::new(tree, state).random.random_bool(0.3) {
            return None;
        }
        let draws = (1..5).map(|draw| number(state).wrapping_add(draw << 32).to_le_bytes());
        let mut plans = draws.filter_map(|draw| Draw::new(tree, &draw).plan());
        let plan = plans.find(|plan| claims.allow(plan))?;
        self.beside.fetch_add(1, Ordering::Relaxed);
        Some(choice(plan, state))
    }

    /// Up to three ranges, each to a place where it may go, or on top.
    fn flush_routes(&self, tree: &TreeView, span: &Span) -> Vec<FlushRoute> {
        let mut draw = Draw::new(tree, &[]);
        draw.keys.extend([span.start.clone(), span.end.clone()]);
        let ends = (0..draw.random.random_range(0..self.flush_routes_max())).map(|_| draw.key());
        let mut ends: Vec<Key> = ends.collect();
        ends.sort();
        ends.dedup();
        let mut routes = Vec::new();
        for end in ends.into_iter().map(Some).chain([None]) {
            let stream = draw.random.random_range(16..20);
            routes.push(FlushRoute { end, to: None, stream });
        }
        for at in 0..routes.len() {
            for _ in 0..10 {
                let to = Place {
                    level: draw.random.random_range(1..LEVELS),
                    run: RunId(draw.random.random_range(1..30)),
                };
                routes[at].to = Some(to);
                if FlushRoute::check(&routes, span, tree).is_ok() {
                    self.below.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                routes[at].to = None;
            }
        }
        routes
    }

    fn flush_routes_max(&self) -> usize {
        3
    }

    fn ingest_place(&self, tree: &TreeView, span: &Span) -> Option<Place> {
        let mut draw = Draw::new(tree, &[]);
        let level = draw.random.random_range(0..LEVELS);
        let to = Place { level, run: RunId(draw.random.random_range(1..30)) };
        check_place(to, span, tree).is_ok().then_some(to)
    }

    /// Everything into one run.
    fn manual_compaction(&self, tree: &TreeView, state: &[u8], _: &Span) -> Option<Choice> {
        let draw = Draw::new(tree, state);
        if draw.runs.len() < 2 {
            return None;
        }
        let part = |s: &SegmentView| Part { file: s.file, span: s.span.clone() };
        let inputs = draw.runs.iter().map(|(place, segments)| Input {
            place: *place,
            parts: segments.iter().map(part).collect(),
        });
        let to = Place { level: LEVELS - 1, run: RunId(1) };
        let cut = Cut::at(ByteCount::kib(6));
        let routes = vec![Route { end: None, to, stream: 16, cut }];
        let merge = Merge { inputs: inputs.collect(), routes, moves: Vec::new(), set: false };
        Some(choice(Plan::Merge(merge), state))
    }

    fn pressure(&self, tree: &TreeView) -> Pressure {
        Pressure::of(tree.runs(0).len() as f64, 10.0, 20.0)
    }
}
