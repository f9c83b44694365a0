//! Tests of compaction of overlapping bands ([`Bands`]). Random trees, from seeds: each plan is
//! legal, the newest entry of each key stays in front, and the tree comes to rest. Of plans that
//! follow the thesis to the letter, the check refuses those that would return stale keys. There are
//! also goldens of single choices.

use std::collections::BTreeMap;

use terrace_env::random::{Random, Rng};
use terrace_env::{ByteCount, FileId};
use terrace_policy::{
    Bands, BandsOptions, Compaction, Cut, Histogram, Input, Merge, Part, Place, Plan, Route, RunId,
    RunView, SegmentView, Span, Throttle, TreeView, Urgency,
};

use crate::compaction::{decide, tree};
use crate::golden::check;

/// A level 0 of two runs is due, and a band that overlaps two others.
fn bands() -> Bands {
    Bands::new(options())
}

fn options() -> BandsOptions {
    BandsOptions {
        level0_runs: 2,
        level0_slow: 4,
        level0_stop: 6,
        throttle: Throttle::Paced,
        overlap_bands: Some(2),
        table_size: ByteCount(BAND as u64),
        capacity: ByteCount(1 << 20),
    }
}

#[test]
fn overlapping_bands_are_merged_as_far_as_it_takes() {
    check("compaction-smrdb", |input| decide(&bands(), input));
}

/// Entries of a band.
const BAND: usize = 8;
/// Keys of a store.
const KEYS: u8 = 120;

/// A store of entries: for each key of a table the number of its newest write.
#[derive(Clone, Default)]
struct Entries {
    tree: TreeView,
    tables: BTreeMap<FileId, BTreeMap<u8, u64>>,
    /// The newest write of each key.
    expected: BTreeMap<u8, u64>,
    writes: u64,
    next: u64,
}

impl Entries {
    /// A flush of random keys of a range.
    fn flush(&mut self, random: &mut Random) {
        let (from, wide) = (random.random_range(0..KEYS), random.random_range(1..KEYS));
        let mut memtable = BTreeMap::new();
        for _ in 0..BAND {
            self.writes += 1;
            let key = from.saturating_add(random.random_range(0..wide)).min(KEYS - 1);
            memtable.insert(key, self.writes);
            self.expected.insert(key, self.writes);
        }
        let run = RunId(self.writes);
        self.put(Place { level: 0, run }, memtable);
    }

    fn put(&mut self, to: Place, entries: BTreeMap<u8, u64>) {
        self.next += 1;
        let file = FileId(self.next);
        let (first, last) = (entries.keys().next().unwrap(), entries.keys().last().unwrap());
        let inner: Vec<[u8; 1]> = entries.keys().skip(1).map(|key| [*key]).collect();
        let segment = SegmentView {
            file,
            span: Span::new([*first], [last + 1]),
            size: ByteCount(entries.len() as u64),
            entries: entries.len() as u64,
            tombstones: 0,
            set: None,
            histogram: Histogram::new(inner.iter().map(|key| &key[..])),
        };
        self.tables.insert(file, entries);
        self.put_segment(to, segment);
    }

    fn put_segment(&mut self, to: Place, segment: SegmentView) {
        let level = usize::from(to.level);
        self.tree.levels.resize(self.tree.levels.len().max(level + 1), Default::default());
        let runs = &mut self.tree.levels[level].runs;
        let at = runs.iter().position(|run| run.id <= to.run).unwrap_or(runs.len());
        if runs.get(at).is_none_or(|run| run.id != to.run) {
            runs.insert(at, RunView { id: to.run, ..RunView::default() });
        }
        let segments = &mut runs[at].segments;
        assert!(segments.iter().all(|other| !other.span.overlaps(&segment.span)), "{to}");
        let at = segments.partition_point(|other| other.span.start < segment.span.start);
        segments.splice(at..at, vec![segment]);
    }

    fn take(&mut self, from: Place, part: &Part) -> SegmentView {
        let runs = &mut self.tree.levels[usize::from(from.level)].runs;
        let run = runs.iter_mut().find(|run| run.id == from.run).expect("a run");
        let at = run.segments.iter().position(|s| s.file == part.file).expect("a segment");
        let segment = run.segments[at].clone();
        assert_eq!(segment.span, part.span, "bands are taken whole");
        run.segments.splice(at..at + 1, Vec::new());
        runs.retain(|run| !run.segments.is_empty());
        segment
    }

    fn carry_out(&mut self, plan: &Plan) {
        match plan {
            Plan::TrivialMove(moves) => {
                let taken: Vec<SegmentView> =
                    moves.iter().map(|one| self.take(one.from, &one.part)).collect();
                for (one, segment) in moves.iter().zip(taken) {
                    self.put_segment(one.to.expect("a place"), segment);
                }
            }
            Plan::Merge(merge) => {
                let mut merged: BTreeMap<u8, u64> = BTreeMap::new();
                // Oldest first: newer entries come on top.
                for input in merge.inputs.iter().rev() {
                    for part in &input.parts {
                        let segment = self.take(input.place, part);
                        merged.extend(self.tables.remove(&segment.file).expect("a table"));
                    }
                }
                let all: Vec<(u8, u64)> = merged.into_iter().collect();
                for output in all.chunks(BAND) {
                    self.put(merge.routes[0].to, output.iter().copied().collect());
                }
            }
        }
    }

    /// The write that a read of a key finds.
    fn get(&self, key: u8) -> Option<u64> {
        let runs = self.tree.levels.iter().flat_map(|level| &level.runs);
        let mut segments = runs.flat_map(|run| &run.segments).filter(|s| s.span.contains(&[key]));
        segments.find_map(|segment| self.tables[&segment.file].get(&key).copied())
    }

    fn stale(&self) -> usize {
        self.expected.iter().filter(|(key, write)| self.get(**key) != Some(**write)).count()
    }

    fn overlaps(&self) -> bool {
        let runs = self.tree.levels.iter().flat_map(|level| &level.runs);
        let all: Vec<&SegmentView> = runs.flat_map(|run| &run.segments).collect();
        all.iter().enumerate().any(|(at, a)| all[..at].iter().any(|b| a.span.overlaps(&b.span)))
    }

    /// Carries out due plans until none is due; returns their number.
    fn settle(&mut self, next: impl Fn(&TreeView) -> Option<Plan>) -> usize {
        for plans in 0.. {
            let Some(plan) = next(&self.tree) else { return plans };
            let tables = self.tables.len();
            assert_eq!(plan.check(&self.tree), Ok(()), "{plan:?} on {:?}", self.tree);
            self.carry_out(&plan);
            assert_eq!(self.stale(), 0, "after {plan:?}");
            assert!(plans <= 10 + 4 * tables, "still busy after {plans} plans: {plan:?}");
        }
        unreachable!("the loop ends by itself")
    }
}

fn pick(urgency: Urgency) -> impl Fn(&TreeView) -> Option<Plan> {
    move |tree| bands().pick(tree, &[], urgency).map(|choice| choice.plan)
}

#[test]
fn every_plan_is_legal_keeps_the_newest_in_front_and_the_tree_comes_to_rest() {
    for seed in 0..60 {
        let random = &mut Random::seeded(seed);
        let mut store = Entries::default();
        for _ in 0..60 {
            store.flush(random);
            if random.random_bool(0.7) {
                store.settle(pick(Urgency::Shape));
                assert!(store.tree.runs(0).len() < 2, "{:?}", store.tree);
            }
        }
        let mut short = store.clone();
        short.settle(pick(Urgency::Space));
        assert!(!short.overlaps(), "{:?}", short.tree);
    }
}

#[test]
fn a_manual_compaction_ends_with_one_run_without_overlap_in_its_range() {
    for seed in 0..60 {
        let random = &mut Random::seeded(seed);
        let mut store = Entries::default();
        for _ in 0..20 {
            store.flush(random);
            if random.random_bool(0.3) {
                store.settle(pick(Urgency::Shape));
            }
        }
        let (start, end) = (random.random_range(0..KEYS / 2), random.random_range(KEYS / 2..KEYS));
        for span in [Span::new([start], [end]), Span::new([0], [255])] {
            store.settle(|tree| bands().manual_compaction(tree, &[], &span).map(|c| c.plan));
            let runs = store.tree.levels.iter().flat_map(|level| &level.runs);
            let within = runs.filter(|run| !run.overlapping(&span).is_empty()).count();
            assert!(within <= 1, "{span:?}: {:?}", store.tree);
        }
        assert!(!store.overlaps(), "{:?}", store.tree);
    }
}

/// The thesis taken literally: bands of level 1 under newer ones, each with the newer bands that it
/// overlaps itself.
fn literal(tree: &TreeView) -> Vec<Plan> {
    let runs = tree.runs(1);
    let with_newer = |at: usize, band: &SegmentView| -> Option<Plan> {
        let input = |(of, run): (usize, &RunView)| {
            let met = run.overlapping(&band.span);
            let met = met.iter().filter(|segment| of < at || segment.file == band.file);
            let parts: Vec<Part> =
                met.map(|met| Part { file: met.file, span: met.span.clone() }).collect();
            let place = Place { level: 1, run: run.id };
            (!parts.is_empty()).then_some(Input { place, parts })
        };
        let inputs: Vec<Input> = runs[..=at].iter().enumerate().filter_map(input).collect();
        let to = Place { level: 1, run: RunId(runs[0].id.0 + 1) };
        let cut = Cut::at(ByteCount(BAND as u64));
        let routes = vec![Route { end: None, to, stream: 17, cut }];
        let merge = Merge { inputs, routes, moves: Vec::new(), set: false };
        (merge.inputs.len() > 1).then_some(Plan::Merge(merge))
    };
    let bands = runs.iter().enumerate();
    let bands = bands.flat_map(|(at, run)| run.segments.iter().map(move |band| (at, band)));
    bands.filter_map(|(at, band)| with_newer(at, band)).collect()
}

#[test]
fn the_thesis_taken_literally_would_return_stale_keys_and_is_refused() {
    // Bands overlap without a limit.
    let patient = Bands::new(BandsOptions { overlap_bands: Some(1000), ..options() });
    let (mut refused, mut stale) = (0, 0);
    for seed in 0..20 {
        let random = &mut Random::seeded(seed);
        let mut store = Entries::default();
        for _ in 0..20 {
            store.flush(random);
            let pick = |tree: &TreeView| patient.pick(tree, &[], Urgency::Shape);
            store.settle(|tree| pick(tree).map(|choice| choice.plan));
        }
        for plan in literal(&store.tree) {
            let is_legal = plan.check(&store.tree).is_ok();
            let mut after = store.clone();
            after.carry_out(&plan);
            assert!(!is_legal || after.stale() == 0, "a plan that passed the check: {plan:?}");
            refused += usize::from(!is_legal);
            stale += after.stale();
        }
    }
    assert!(refused > 0 && stale > 0, "{refused} plans refused, {stale} keys stale");
}

#[test]
fn trees_of_other_systems_are_drained_without_a_rewrite() {
    let mut tree = tree(
        "
        level=0 run=9 a-g:10
        level=1 run=5 a-d:30 e-h:30
        level=3 run=6 a-c:10 d-e:10
        level=3 run=1 a-m:10
        level=6 run=1 a-m:10",
    );
    let mut moved = 0;
    while let Some(Plan::TrivialMove(moves)) = pick(Urgency::Shape)(&tree) {
        let plan = Plan::TrivialMove(moves.clone());
        plan.check(&tree).expect("a legal plan");
        moved += moves.len();
        let mut store = Entries { tree, ..Entries::default() };
        store.carry_out(&plan);
        tree = store.tree;
    }
    assert!(moved >= 5 && (1..6).all(|level| tree.runs(level).is_empty()), "{tree:?}");
    assert_eq!(tree.runs(6).len(), 4, "{tree:?}");
}
