//! Text goldens of compaction choices: a tree in, a plan and the next state out. There are also
//! random legal trees that must come to rest, and plans next to others.
//!
//! A tree is a line per run, newest first. A segment is `start-end:bytes` or
//! `start-end:bytes/tombstones`, and has 100 entries; files are numbered as they come. A table of a
//! set names the set and its original size: `start-end:bytes@id/tables/bytes`.
//! `start,key,key-end:bytes` has keys that divide the segment into parts of equal bytes.

use terrace_env::{ByteCount, FileId};
use terrace_policy::{
    Choice, Claim, Claims, Compaction, Cut, Histogram, Key, Leveled, LeveledOptions, Move, Part,
    Place, Plan, Pressure, RunId, RunView, Sealdb, SealdbOptions, SegmentView, SetView, Span,
    Sweep, SweepOptions, Throttle, Tiered, TieredOptions, TreeView, Urgency, Victim, WriteRule,
};

use crate::gear::{GEAR_VARIANTS, gear};
use crate::golden::{check, field, number};

pub(crate) fn tree(input: &str) -> TreeView {
    let mut tree = TreeView::default();
    let mut files = (1..).map(FileId);
    for line in input.lines().filter(|line| line.contains("level=")) {
        let level: usize = number(line, "level").expect("a level");
        let id = RunId(number(line, "run").expect("a run"));
        let words = line.split_whitespace().filter(|word| !word.contains('='));
        let segments = words.map(|word| segment(word, files.next().expect("a file"))).collect();
        tree.levels.resize(tree.levels.len().max(level + 1), Default::default());
        tree.levels[level].runs.push(RunView { id, segments });
    }
    tree
}

fn segment(word: &str, file: FileId) -> SegmentView {
    let (keys, size) = word.split_once(':').expect("keys:size");
    let (starts, end) = keys.split_once('-').expect("start-end");
    let (size, set) = size.split_once('@').map_or((size, None), |(size, set)| {
        let mut numbers = set.split('/').map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().expect("id/tables/bytes");
        let (id, tables, whole) = (FileId(next()), next() as u32, ByteCount(next()));
        (size, Some(SetView { id, tables, size: whole }))
    });
    let (size, tombstones) = size.split_once('/').unwrap_or((size, "0"));
    let mut keys = starts.split(',');
    let start = keys.next().expect("a start");
    SegmentView {
        file,
        span: Span::new(start.as_bytes(), end.as_bytes()),
        size: ByteCount(size.parse().expect("a size")),
        entries: 100,
        tombstones: tombstones.parse().expect("a number"),
        set,
        histogram: Histogram::new(keys.map(str::as_bytes)),
    }
}

fn leveled() -> Leveled {
    Leveled::new(options())
}

pub(crate) fn options() -> LeveledOptions {
    LeveledOptions {
        level0_runs: 2,
        level0_slow: 3,
        level0_stop: 4,
        level1_size: ByteCount(40),
        factor: 10,
        table_size: ByteCount(10),
        levels: 4,
        overlap_tables: 3,
        ..LeveledOptions::default()
    }
}

/// The state that a line `pointers 1=m 2=x` stands for.
pub(crate) fn state(input: &str) -> Vec<u8> {
    let mut lines = input.lines().map(str::trim_start);
    let Some(line) = lines.find(|line| line.starts_with("pointers")) else {
        return Vec::new();
    };
    let mut bytes = vec![1, 4];
    for level in 0..4 {
        let pointer = field(line, &level.to_string()).unwrap_or_default();
        bytes.extend((pointer.len() as u32).to_le_bytes());
        bytes.extend(pointer.as_bytes());
    }
    bytes
}

pub(crate) fn pointers(state: &[u8]) -> String {
    if state.is_empty() {
        return "no state".into();
    }
    let mut rest = &state[2..];
    let mut text = String::from("pointers");
    for level in 0..state[1] {
        let (len, behind) = rest.split_at(4);
        let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
        let (pointer, behind) = behind.split_at(len);
        if len > 0 {
            text += &format!(" {level}={}", pointer.escape_ascii());
        }
        rest = behind;
    }
    text
}

fn part(part: &Part) -> String {
    format!(" file {} {:?}", part.file, part.span)
}

fn trivial_move(one: &Move) -> String {
    let to = one.to.map_or("nowhere".into(), |to| to.to_string());
    format!("trivial move of{} from {} to {to}\n", part(&one.part), one.from)
}

fn describe(choice: Option<Choice>) -> String {
    let Some(choice) = choice else { return "nothing".into() };
    describe_plan(&choice.plan) + &pointers(&choice.state)
}

pub(crate) fn describe_plan(plan: &Plan) -> String {
    let mut text = String::new();
    match plan {
        Plan::Merge(merge) => {
            for input in &merge.inputs {
                let parts: String = input.parts.iter().map(part).collect();
                text += &format!("merge {}:{parts}\n", input.place);
            }
            for route in &merge.routes {
                let end =
                    route.end.as_ref().map_or("the end".into(), |e| e.escape_ascii().to_string());
                text += &format!("  up to {end} into {}, stream {}", route.to, route.stream);
                let Cut { size, overlap_max, carry_overlap, .. } = route.cut;
                let carried = if carry_overlap { " carried on" } else { "" };
                text += &format!(", cut at {size} or over {overlap_max}{carried} of");
                for grandparent in &route.cut.grandparents {
                    text += &format!(" {}:{}", grandparent.end.escape_ascii(), grandparent.size.0);
                }
                let keys = route.cut.keys.iter().map(|key| format!(" {}", key.escape_ascii()));
                let keys: String = keys.collect();
                text += &if keys.is_empty() { "\n".into() } else { format!("; before{keys}\n") };
            }
            text += if merge.set { "  as a set\n" } else { "" };
        }
        Plan::TrivialMove(moves) => {
            for one in moves {
                text += &trivial_move(one);
            }
        }
    }
    text
}

pub(crate) fn decide(decider: &dyn Compaction, input: &str) -> String {
    let (tree, state) = (tree(input), state(input));
    let first = input.lines().next().unwrap_or_default();
    if let Some(keys) = field(first, "push") {
        let (start, end) = keys.split_once('-').expect("start-end");
        let span = Span::new(start.as_bytes(), end.as_bytes());
        return describe(decider.manual_compaction(&tree, &state, &span));
    }
    if let Some(file) = number(first, "after-seeks") {
        return describe(decider.pick_after_seeks(&tree, &state, FileId(file)));
    }
    let urgency = match first {
        _ if first.contains("space") => Urgency::Space,
        _ if first.contains("rest") => Urgency::Rest,
        _ => Urgency::Shape,
    };
    let pressure = decider.pressure(&tree);
    let held = if pressure >= Pressure::START {
        format!("\nwriters are held back, pressure {:.2}", pressure.0)
    } else {
        String::new()
    };
    describe(decider.pick(&tree, &state, urgency)) + &held
}

#[test]
fn leveled_keeps_its_shape() {
    check("compaction-leveled", |input| decide(&leveled(), input));
}

/// The same with LevelDB's own ways.
pub(crate) fn leveldb() -> Leveled {
    let (throttle, growth, check_moves) = (Throttle::Leveldb, 6, true);
    let carry_overlap = true;
    Leveled::new(LeveledOptions { throttle, growth, check_moves, carry_overlap, ..options() })
}

#[test]
fn leveldb_grows_its_compactions_and_checks_its_moves() {
    check("compaction-leveldb", |input| decide(&leveldb(), input));
}

/// The thesis's buffers of ten, ten and a hundred bands before the last level, a tenth as large:
/// bands of ten bytes.
fn buffers() -> Leveled {
    let (level0_runs, levels, table_size) = (10, 4, ByteCount(10));
    let (throttle, level1_size) = (Throttle::Off, ByteCount(100));
    Leveled::new(LeveledOptions {
        level0_runs,
        levels,
        table_size,
        throttle,
        level1_size,
        ..LeveledOptions::default()
    })
}

#[test]
fn three_levels_of_buffers_lie_over_a_last_one_without_a_limit() {
    let pick = |input: &str| buffers().pick(&tree(input), &state(input), Urgency::Shape);
    check("compaction-buffers", |input| describe(pick(input)));
}

#[test]
fn writers_over_buffers_are_never_held_back() {
    for count in [0, 10, 100, 1000] {
        let runs: String = (0..count).map(|run| format!("level=0 run={run} a-m:10\n")).collect();
        let rule = buffers().write_rule(&tree(&(runs + "level=1 run=1 a-m:4000\n")));
        assert_eq!(rule, WriteRule::Free, "{count} runs");
    }
}

#[test]
fn leveldb_slows_and_stops_writers_by_the_runs_of_level_0_alone() {
    let with_runs = |count: usize| {
        let runs: String = (0..count).map(|run| format!("level=0 run={run} a-m:10\n")).collect();
        leveldb().write_rule(&tree(&(runs + "level=1 run=1 a-m:4000\n")))
    };
    let expected = [
        (0, WriteRule::Free),
        (2, WriteRule::Free),
        (3, WriteRule::Delayed),
        (4, WriteRule::Stopped),
        (9, WriteRule::Stopped),
    ];
    for (count, rule) in expected {
        assert_eq!(with_runs(count), rule, "{count} runs");
    }
}

fn sweep() -> Sweep {
    Sweep::new(SweepOptions {
        leveled: options(),
        extra_tables: 1,
        tzone: true,
        in_order: true,
        zone_capacity: ByteCount(25),
    })
}

#[test]
fn a_sweep_takes_all_that_lies_between_its_pointers() {
    check("compaction-lifetime", |input| decide(&sweep(), input));
}

fn tiered() -> Tiered {
    tiered_along(0)
}

fn tiered_along(along_max: usize) -> Tiered {
    let table_size = ByteCount(10);
    let (runs, level0_slow, level0_stop, levels, jobs) = (3, 4, 6, 4, 1);
    let limits = TieredOptions { runs, level0_slow, level0_stop, ..TieredOptions::default() };
    Tiered::new(TieredOptions { levels, table_size, jobs, along_max, ..limits })
}

#[test]
fn tiered_collects_runs_over_one_last_run() {
    check("compaction-tiered", |input| decide(&tiered(), input));
}

#[test]
fn a_merge_into_the_deepest_tier_takes_small_runs_and_a_slice_along() {
    check("compaction-tiered-along", |input| {
        let first = input.lines().next().unwrap_or_default();
        let decider = tiered_along(number(first, "along").expect("along=BYTES"));
        let tree = tree(input);
        let choice = match first.contains("scans") {
            true => decider.choices_for_scans(&tree, &[]).into_iter().next(),
            false => return decide(&decider, input),
        };
        if let Some(choice) = &choice {
            assert_eq!(choice.plan.check(&tree), Ok(()), "{input}");
        }
        describe(choice)
    });
}

pub(crate) fn sealdb(victim: Victim, whole_inputs: bool) -> Sealdb {
    let leveled = LeveledOptions { whole_inputs, ..options() };
    Sealdb::new(SealdbOptions { leveled, victim, rest_max: 50 })
}

#[test]
fn sealdb_chooses_victims_by_sets_and_ends_sets_where_victims_end() {
    check("compaction-sealdb", |input| {
        let first = input.lines().next().unwrap_or_default();
        let victim = match field(first, "victim") {
            Some("pointer") => Victim::Pointer,
            Some("set") => Victim::Set,
            _ => Victim::Bounded,
        };
        decide(&sealdb(victim, field(first, "whole_inputs") == Some("on")), input)
    });
}

/// Carries a plan out on the view alone: outputs are one segment per route.
fn carry_out(tree: &mut TreeView, choice: Choice, next: &mut u64) {
    choice.plan.check(tree).expect("a legal plan");
    let mut take = |part: &Part| {
        let runs = tree.levels.iter_mut().flat_map(|level| &mut level.runs);
        for run in runs {
            let holds = |s: &SegmentView| s.file == part.file && s.span.overlaps(&part.span);
            if let Some(at) = run.segments.iter().position(holds) {
                let whole = run.segments[at].clone();
                let rest = whole.span.without(&part.span).into_iter();
                let rest = rest.map(|span| SegmentView { span, ..whole.clone() });
                run.segments.splice(at..at + 1, rest.collect());
                return SegmentView { span: part.span.clone(), ..whole };
            }
        }
        panic!("{part:?} is not in the tree");
    };
    let outputs: Vec<(Place, SegmentView)> = match choice.plan {
        Plan::TrivialMove(moves) => {
            let to = |one: &Move| one.to.expect("a move to a place");
            moves.iter().map(|one| (to(one), take(&one.part))).collect()
        }
        Plan::Merge(merge) => {
            let parts = merge.inputs.iter().flat_map(|input| &input.parts);
            let taken: Vec<SegmentView> = parts.map(&mut take).collect();
            let total: u64 = taken.iter().map(|s| s.size.0).sum();
            let size = ByteCount(total.div_ceil(merge.routes.len() as u64));
            let mut start = Key::from(&b""[..]);
            let mut outputs = Vec::new();
            for route in &merge.routes {
                let end = route.end.clone().unwrap_or_else(|| Key::from(&b"\xff"[..]));
                let of_route = Span { start, end: end.clone() };
                let clipped = taken.iter().filter(|s| s.span.overlaps(&of_route)).map(|s| Span {
                    start: s.span.start.clone().max(of_route.start.clone()),
                    end: s.span.end.clone().min(end.clone()),
                });
                if let Some(span) = clipped.reduce(|a, b| a.hull(&b)) {
                    *next += 1;
                    let file = FileId(*next);
                    let histogram = Histogram::default();
                    let (entries, tombstones, set) = (100, 0, None);
                    let whole =
                        SegmentView { file, span, size, entries, tombstones, set, histogram };
                    outputs.push((route.to, whole));
                }
                start = end;
            }
            outputs
        }
    };
    for (to, segment) in outputs {
        let level = usize::from(to.level);
        tree.levels.resize(tree.levels.len().max(level + 1), Default::default());
        let runs = &mut tree.levels[level].runs;
        if !runs.iter().any(|run| run.id == to.run) {
            runs.push(RunView { id: to.run, ..RunView::default() });
            runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        }
        let run = runs.iter_mut().find(|run| run.id == to.run).unwrap();
        let at = run.segments.partition_point(|other| other.span.start < segment.span.start);
        run.segments.splice(at..at, vec![segment]);
        let (segments, behind) = (run.segments.iter(), run.segments.iter().skip(1));
        assert!(segments.zip(behind).all(|(a, b)| a.span.end <= b.span.start), "{run:?}");
    }
    tree.levels.iter_mut().for_each(|level| level.runs.retain(|run| !run.segments.is_empty()));
}

/// Carries out one plan after the other, until there is none; how many there were.
pub(crate) fn carry_out_all(
    tree: &mut TreeView,
    pick: impl Fn(&TreeView, &[u8]) -> Option<Choice>,
) -> usize {
    let (mut state, mut next, mut steps) = (Vec::new(), 1000, 0);
    while let Some(choice) = pick(tree, &state) {
        state.clone_from(&choice.state);
        carry_out(tree, choice, &mut next);
        steps += 1;
        assert!(steps < 100, "still busy after {steps} plans: {tree:?}");
    }
    steps
}

/// A legal tree that has the shape of no decider.
pub(crate) const OUT_OF_SHAPE: &str = "
    level=0 run=9 a-g:10
    level=0 run=8 c-k:10/90
    level=0 run=7 x-z:10
    level=1 run=5 a-d:30 e-h:30/60
    level=1 run=4 b-f:30 g-m:30
    level=1 run=2 a-z:30
    level=3 run=6 a-c:10 d-e:10
    level=3 run=1 a-m:10/100
    level=6 run=1 a-m:10";

#[test]
fn any_legal_tree_comes_to_rest_in_shape() {
    let [repaired, code, algorithm1] = GEAR_VARIANTS.map(gear);
    let [by_set, bounded] =
        [(Victim::Set, true), (Victim::Bounded, false)].map(|of| sealdb(of.0, of.1));
    let along = tiered_along(4);
    let deciders: [&dyn Compaction; 9] =
        [&leveled(), &tiered(), &along, &sweep(), &repaired, &code, &algorithm1, &by_set, &bounded];
    let urgencies = [Urgency::Shape, Urgency::Space];
    for (decider, urgency) in deciders.iter().flat_map(|d| urgencies.map(|u| (d, u))) {
        let mut tree = tree(OUT_OF_SHAPE);
        let steps = carry_out_all(&mut tree, |tree, state| decider.pick(tree, state, urgency));
        assert!(steps > 1, "{} did nothing", decider.name());
        let most = if decider.name() == "tiered" { 2 } else { 1 };
        assert!((0..tree.levels.len()).all(|level| tree.runs(level).len() <= most), "{tree:?}");
        assert!(tree.levels.last().is_some_and(|last| last.runs.len() == 1), "{tree:?}");
    }
}

#[test]
fn pushing_down_ends_with_every_key_in_one_run() {
    let text = "
        level=0 run=9 a-g:10
        level=0 run=8 c-k:10
        level=1 run=5 a-d:3 e-h:3
        level=2 run=4 b-f:30 g-m:30";
    let whole = Span::new(&b""[..], &b"\xff"[..]);
    let [repaired, code, algorithm1] = GEAR_VARIANTS.map(gear);
    let along = tiered_along(4);
    let deciders: [&dyn Compaction; 7] =
        [&leveled(), &tiered(), &along, &sweep(), &repaired, &code, &algorithm1];
    for decider in deciders {
        manual_compaction(decider, tree(text), &whole);
    }
}

pub(crate) fn manual_compaction(decider: &dyn Compaction, mut tree: TreeView, whole: &Span) {
    let (mut next, mut steps) = (1000, 0);
    while let Some(choice) = decider.manual_compaction(&tree, &[], whole) {
        carry_out(&mut tree, choice, &mut next);
        steps += 1;
        assert!(steps < 20, "still busy: {tree:?}");
    }
    let runs: Vec<&RunView> = tree.levels.iter().flat_map(|level| &level.runs).collect();
    for run in &runs {
        let others = runs.iter().filter(|other| !std::ptr::eq(**other, *run));
        for segment in others.flat_map(|other| &other.segments) {
            assert!(run.overlapping(&segment.span).is_empty(), "{tree:?}");
        }
    }
}

/// Level 0 is full; levels 1 and 2 are too large.
const OVERFULL: &str = "
    level=0 run=2 a-z:10
    level=0 run=1 a-z:10
    level=1 run=1 a-m:30 m-z:30
    level=2 run=1 a-m:300 m-z:300
    level=3 run=1 a-m:300 m-z:300
";

#[test]
fn tiered_compaction_passes_no_run_that_is_drained_by_another_plan() {
    // Five levels once, four now: the last one has three runs.
    let tree = tree(
        "
        level=2 run=4 x-z:10
        level=2 run=3 x-z:10
        level=3 run=3 x-z:10
        level=3 run=2 a-m:10
        level=3 run=1 a-z:100
        ",
    );
    let options = TieredOptions { levels: 4, runs: 2, jobs: 2, ..TieredOptions::default() };
    let decider = Tiered::new(options);
    let drain = decider.pick(&tree, &[], Urgency::Shape).expect("a drain");
    let claims = Claims::new(Claim::of(&drain.plan).into_iter().collect());
    assert_eq!(decider.pick_beside(&tree, &claims, &[]), None);
}

#[test]
fn leveled_compaction_chooses_beside_others_what_is_free_until_nothing_is() {
    let (tree, mut state) = (tree(OVERFULL), Vec::new());
    let decider = Leveled::new(LeveledOptions { jobs: 4, ..options() });
    let mut chosen = vec![decider.pick(&tree, &state, Urgency::Shape).expect("something is due")];
    loop {
        let claims: Vec<Claim> = chosen.iter().filter_map(|c| Claim::of(&c.plan)).collect();
        let claims = Claims::new(claims);
        state.clone_from(&chosen[chosen.len() - 1].state);
        let Some(next) = decider.pick_beside(&tree, &claims, &state) else { break };
        assert_eq!(next.plan.check(&tree), Ok(()));
        assert!(claims.allow(&next.plan), "{:?}", next.plan);
        chosen.push(next);
        assert!(chosen.len() < 10, "plans without end");
    }
    // One half of level 1 into level 2 and the other half of level 2 into level 3 have no key in
    // common. All else meets one of them.
    assert_eq!(chosen.len(), 2, "{chosen:?}");
    assert_eq!(leveled().jobs_max(), 1, "unless more are asked for");
}
