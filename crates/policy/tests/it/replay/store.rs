//! [`Replay`]: a store whose deciders are played: the tree, and the jobs on it.
//!
//! Every entry is one byte. A full memtable is flushed to level 0; the decider's routes are
//! ignored. Plans follow one another, and there are no logs. Merges go by subcompactions, several
//! at once where there are workers, much as the engine carries them out, and the consumed inputs
//! are trimmed when all subcompactions that run at once are done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::{fmt, mem};

use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId};
use terrace_policy::{
    Compaction, FlushRoute, Histogram, HistogramBuilder, Key, Load, Merge, Part, Place, Plan,
    Route, RunId, RunView, SegmentView, SetView, Span, StoreShape, Supply, System, TreeView,
    Urgency, ZonesSource, ZonesView,
};

use super::zones::Zones;

/// A subcompaction has at least as many tables, and at most about as many, as in the engine where
/// there is space.
const SUBCOMPACTION_TABLES: (usize, usize) = (4, 16);

/// The zones, while a decider chooses. Most do not look at them, and a view of all is dear.
#[derive(Default)]
struct Sight(Mutex<Option<Zones>>);

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sight")
    }
}

impl ZonesSource for Sight {
    fn placed(&self, _: &[FileId]) -> ZonesView {
        self.0.lock().as_ref().map(Zones::view).unwrap_or_default()
    }

    fn supply(&self) -> Option<Supply> {
        self.0.lock().as_ref().map(Zones::supply)
    }
}

pub(crate) struct Replay {
    pub(crate) zones: Zones,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Entries that the largest merge read.
    pub(crate) largest_merge: usize,
    /// Keys whose newest entry is a delete. Wherever such a key lies, it counts as a tombstone.
    pub(crate) deleted: BTreeSet<u32>,
    /// Whether deciders are told nothing of zones, as over a plain directory.
    pub(crate) blind: bool,
    compaction: Arc<dyn Compaction>,
    sight: Arc<Sight>,
    table_size: u64,
    workers: usize,
    /// Whether tables have histograms, if the decider looks at them.
    pub(crate) histograms: bool,
    pub(crate) tree: TreeView,
    /// Load that deciders are told of.
    pub(crate) load: Load,
    /// Whether deciders route flushes. Otherwise all of them go on top.
    pub(crate) routes_flushes: bool,
    /// The number of runs of level 0 from which on compactions begin.
    pub(crate) level0_least: usize,
    /// Plans that were only looked at, and found legal.
    pub(crate) checked: usize,
    /// Whether all choices are looked at, and not only the one that is carried out.
    pub(crate) checks_choices: bool,
    state: Vec<u8>,
    next: u64,
}

/// The parts of the store that deciders are fitted to.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) zones: usize,
    pub(crate) capacity: usize,
    pub(crate) memtable: u64,
    pub(crate) workers: usize,
}

/// A table that is to be written.
struct NewTable {
    keys: Vec<u32>,
    to: Place,
    stream: u16,
    size: u64,
    together: bool,
    set: Option<SetView>,
}

fn full_key(key: u32) -> Vec<u8> {
    key.to_be_bytes().to_vec()
}

impl Replay {
    pub(crate) fn new(system: &System, shape: Shape) -> Self {
        let Shape { zones, capacity, workers, .. } = shape;
        let sight: Arc<Sight> = Arc::default();
        let mut replay = Self {
            zones: Zones::new((system.placement(), system.reclaim()), zones, capacity),
            counts: BTreeMap::new(),
            largest_merge: 0,
            deleted: BTreeSet::new(),
            blind: false,
            compaction: system.compaction(&store_shape(shape), Arc::clone(&sight) as _),
            sight,
            table_size: 0,
            workers,
            histograms: true,
            tree: TreeView::default(),
            load: Load::default(),
            routes_flushes: false,
            level0_least: 0,
            checked: 0,
            checks_choices: false,
            state: Vec::new(),
            next: 1,
        };
        replay.open_under(system, shape);
        replay
    }

    /// Goes on under another system.
    pub(crate) fn open_under(&mut self, system: &System, shape: Shape) {
        self.reopen(system, shape);
        // The state of another decider is no state.
        self.state.clear();
        self.counts.clear();
    }

    /// Goes on under a system of the same decider.
    pub(crate) fn reopen(&mut self, system: &System, shape: Shape) {
        let of = store_shape(shape);
        (self.zones.placement, self.zones.reclaim) = (system.placement(), system.reclaim());
        self.compaction = system.compaction(&of, Arc::clone(&self.sight) as _);
        self.table_size = system.table_size(&of).0;
    }

    pub(crate) fn count(&mut self, what: &'static str, entries: usize) {
        *self.counts.entry(what).or_default() += entries as u64;
    }

    fn new_file(&mut self) -> FileId {
        self.next += 1;
        FileId(self.next - 1)
    }

    /// Each entry is a block, if the decider looks at histograms.
    fn histogram(&self, keys: &[u32]) -> Histogram {
        if !self.histograms {
            return Histogram::default();
        }
        let mut builder = HistogramBuilder::new(self.compaction.histogram_max());
        keys.iter().for_each(|key| builder.add(ByteCount(1), &full_key(*key)));
        builder.finish()
    }

    fn put_table(&mut self, table: NewTable) {
        let NewTable { keys, to, stream, size, together, set } = table;
        let file = self.new_file();
        let (first, last) = (keys[0], keys[keys.len() - 1]);
        let segment = SegmentView {
            file,
            span: Span::new(full_key(first), full_key(last + 1)),
            size: ByteCount(keys.len() as u64),
            entries: keys.len() as u64,
            tombstones: keys.iter().filter(|key| self.deleted.contains(key)).count() as u64,
            set,
            histogram: self.histogram(&keys),
        };
        self.zones.put(file, keys, (to.level, stream), size, together);
        self.put_segment(segment, to);
    }

    fn put_segment(&mut self, segment: SegmentView, to: Place) {
        let level = usize::from(to.level);
        let levels = self.tree.levels.len().max(level + 1);
        self.tree.levels.resize(levels, Default::default());
        let runs = &mut self.tree.levels[level].runs;
        let at = runs.iter().position(|run| run.id <= to.run).unwrap_or(runs.len());
        if runs.get(at).is_none_or(|run| run.id != to.run) {
            runs.insert(at, RunView { id: to.run, ..RunView::default() });
        }
        let segments = &mut runs[at].segments;
        let at = segments.partition_point(|other| other.span.start < segment.span.start);
        let apart = |other: &SegmentView| !other.span.overlaps(&segment.span);
        let around = segments.slice(at.saturating_sub(1)..segments.len()).iter().take(2);
        assert!(around.into_iter().all(apart), "{segment:?} overlaps others of {to}");
        segments.splice(at..at, vec![segment]);
    }

    /// Takes a part out of the tree; the rest of its segment stays.
    fn take(&mut self, from: Place, part: &Part) -> Option<SegmentView> {
        let runs = &mut self.tree.levels[usize::from(from.level)].runs;
        let run = runs.iter_mut().find(|run| run.id == from.run)?;
        let at = run.segments.partition_point(|s| s.span.end <= part.span.start);
        run.segments.get(at).filter(|s| s.file == part.file && s.span.overlaps(&part.span))?;
        let whole = run.segments[at].clone();
        let rest = whole.span.without(&part.span).into_iter().map(|span| {
            let keys = self.zones.keys(whole.file, &span.start, &span.end).len() as u64;
            SegmentView { span, size: ByteCount(keys), entries: keys, ..whole.clone() }
        });
        run.segments.splice(at..at + 1, rest.collect());
        let keys = self.zones.keys(part.file, &part.span.start, &part.span.end).len() as u64;
        let span = part.span.clone();
        let runs = &mut self.tree.levels[usize::from(from.level)].runs;
        runs.retain(|run| !run.segments.is_empty());
        Some(SegmentView { span, size: ByteCount(keys), entries: keys, ..whole })
    }

    pub(crate) fn flush(&mut self, memtable: &mut BTreeSet<u32>) {
        let keys: Vec<u32> = std::mem::take(memtable).into_iter().collect();
        self.count("flushed", keys.len());
        let top = Place { level: 0, run: RunId(self.next) };
        let span = Span::new(full_key(keys[0]), full_key(keys[keys.len() - 1] + 1));
        let routes = match self.routes_flushes {
            true => self.compaction.flush_routes(&self.tree, &span),
            false => FlushRoute::all_to(None),
        };
        FlushRoute::check(&routes, &span, &self.tree).expect("legal routes");
        let mut left = &keys[..];
        for FlushRoute { end, to, stream } in routes {
            let within = |key: &u32| end.as_ref().is_none_or(|end| full_key(*key)[..] < end[..]);
            let (routed, others) = left.split_at(left.partition_point(within));
            for part in routed.chunks(self.table_size as usize) {
                let (keys, to, size) = (part.to_vec(), to.unwrap_or(top), part.len() as u64);
                self.put_table(NewTable { keys, to, stream, size, together: false, set: None });
            }
            left = others;
        }
        self.settle();
    }

    /// Compacts and reclaims until nothing is due.
    fn settle(&mut self) {
        self.collect();
        let mut plans = 0;
        while self.tree.runs(0).len() >= self.level0_least {
            let choice = self.in_sight(|store| {
                store.check_choices();
                let (tree, state) = (&store.tree, &store.state);
                store.compaction.pick_under(tree, state, Urgency::Shape, &store.load)
            });
            let Some(choice) = choice else { break };
            plans += 1;
            assert!(plans < 1000, "still busy after {plans} plans: {choice:?}");
            choice.plan.check(&self.tree).expect("a legal plan");
            match choice.plan {
                Plan::TrivialMove(moves) => self.trivial_move(&moves),
                Plan::Merge(merge) => self.merge(&merge),
            }
            self.state = choice.state;
            self.collect();
        }
    }

    /// Calls deciders, which see the zones, if they are told of them.
    fn in_sight<T>(&mut self, choose: impl FnOnce(&mut Self) -> T) -> T {
        if self.blind {
            return choose(self);
        }
        let none = self.zones.none();
        *self.sight.0.lock() = Some(mem::replace(&mut self.zones, none));
        let chosen = choose(self);
        self.zones = self.sight.0.lock().take().expect("the zones that were lent");
        chosen
    }

    /// Each of several choices is legal by itself, and the first one is the decider's pick.
    fn check_choices(&mut self) {
        for urgency in [Urgency::Shape, Urgency::Rest, Urgency::Space] {
            if !self.checks_choices {
                return;
            }
            let choices = self.compaction.choices(&self.tree, &self.state, urgency);
            let picked = self.compaction.pick(&self.tree, &self.state, urgency);
            assert_eq!(choices.first(), picked.as_ref(), "{urgency:?} of {:?}", self.tree);
            let checked = choices.iter().map(|choice| choice.plan.check(&self.tree));
            checked.for_each(|checked| checked.expect("a legal plan"));
            self.checked += choices.len();
            let for_scans = self.compaction.choices_for_scans(&self.tree, &self.state);
            let checked = for_scans.iter().map(|choice| choice.plan.check(&self.tree));
            checked.for_each(|checked| checked.expect("a legal plan for scans"));
        }
    }

    fn trivial_move(&mut self, moves: &[terrace_policy::Move]) {
        for one in moves {
            let segment = self.take(one.from, &one.part).expect("a part of the tree");
            self.count("trivially moved", segment.entries as usize);
            self.put_segment(segment, one.to.expect("a place"));
        }
    }

    fn merge(&mut self, merge: &Merge) {
        self.trivial_move(&merge.moves);
        let inputs = merge.inputs.iter();
        let parts: Vec<(Place, &Part)> =
            inputs.flat_map(|input| input.parts.iter().map(|part| (input.place, part))).collect();
        let mut read: Vec<u32> = Vec::new();
        for (_, part) in &parts {
            read.extend(self.zones.keys(part.file, &part.span.start, &part.span.end));
        }
        read.sort_unstable();
        self.largest_merge = self.largest_merge.max(read.len());
        if read.is_empty() {
            // Parts of tables in which no key lies.
            self.trim_tree(&parts, &Span::new(&[][..], &[u8::MAX; 5][..]));
        }
        let in_order = self.compaction.writes_in_order() || merge.set;
        let workers = if in_order { 1 } else { self.workers };
        let mut start: Key = full_key(0).into();
        for wave in subcompactions(&read, merge, workers).chunks(workers) {
            // The first table of each subcompaction, then the second of each, and so on.
            let kept = wave.iter().map(|keys| self.without_deleted(keys, merge));
            let outputs: Vec<_> = kept.map(|keys| cut(&keys, &merge.routes)).collect();
            let last =
                wave.last().and_then(|keys| keys.last()).expect("a subcompaction of some keys");
            let end: Key = full_key(last + 1).into();
            let span = Span { start, end: end.clone() };
            self.trim_tree(&parts, &span);
            let set = merge.set.then(|| self.set_of(&outputs[0]));
            for at in 0..outputs.iter().map(Vec::len).max().unwrap_or(0) {
                let tables = outputs.iter().filter_map(|of_one| of_one.get(at));
                for (i, (keys, route)) in tables.enumerate() {
                    self.count("merged", keys.len());
                    let (to, stream, size) = (route.to, route.stream, route.cut.size.0);
                    let (keys, together) = (keys.clone(), i > 0);
                    self.put_table(NewTable { keys, to, stream, size, together, set });
                }
            }
            let trims = parts.iter().map(|(_, part)| (part.file, clip(&part.span, &span)));
            let emptied = trims.map(|(file, span)| self.zones.trim(file, &span.start, &span.end));
            let emptied = emptied.sum();
            self.count("zones emptied", emptied);
            start = end;
        }
    }

    /// The set that these tables will be, one worker's.
    fn set_of(&self, outputs: &[(Vec<u32>, &Route)]) -> SetView {
        let size = outputs.iter().map(|(keys, _)| keys.len() as u64).sum();
        SetView { id: FileId(self.next), tables: outputs.len() as u32, size: ByteCount(size) }
    }

    /// The entries that are dead in sets of which something is left, and all that are live.
    pub(crate) fn dead_in_sets(&self) -> (u64, u64) {
        let runs = self.tree.levels.iter().flat_map(|level| &level.runs);
        let (mut sets, mut all) = (BTreeMap::<SetView, u64>::new(), 0);
        for segment in runs.flat_map(|run| &run.segments) {
            all += segment.size.0;
            if let Some(set) = segment.set {
                *sets.entry(set).or_default() += segment.size.0;
            }
        }
        (sets.iter().map(|(set, live)| set.size.0 - live).sum(), all)
    }

    /// The keys without the deletes that have nothing below them to hide.
    fn without_deleted(&self, keys: &[u32], merge: &Merge) -> Vec<u32> {
        let is_kept = |key: &&u32| {
            let at = full_key(**key);
            let within = |route: &&Route| route.end.as_ref().is_none_or(|end| at[..] < end[..]);
            let level = merge.routes.iter().find(within).map_or(0, |route| route.to.level);
            let span = Span::new(at.clone(), full_key(**key + 1));
            !self.deleted.contains(key) || self.tree.overlaps_below(level.into(), &span)
        };
        keys.iter().filter(is_kept).copied().collect()
    }

    fn trim_tree(&mut self, parts: &[(Place, &Part)], span: &Span) {
        for (from, part) in parts {
            let span = clip(&part.span, span);
            if !span.is_empty() {
                self.take(*from, &Part { file: part.file, span }).expect("a part of the tree");
            }
        }
    }

    fn collect(&mut self) {
        if !self.zones.is_reclaim_due() {
            return;
        }
        let mut levels: BTreeMap<FileId, u64> = BTreeMap::new();
        for (level, of_level) in (0..).zip(&self.tree.levels) {
            let segments = of_level.runs.iter().flat_map(|run| &run.segments);
            levels.extend(segments.map(|segment| (segment.file, level)));
        }
        let done = self.zones.collect(|file| levels.get(&file).copied().unwrap_or(0));
        if done.zones > 0 {
            self.count("moved by reclaim", done.moved);
            self.count("zones reclaimed", done.zones);
        }
    }

    pub(crate) fn level_of(&self, file: FileId) -> char {
        let holds = |run: &RunView| run.segments.iter().any(|segment| segment.file == file);
        let level = self.tree.levels.iter().position(|level| level.runs.iter().any(holds));
        level.map_or('?', |level| char::from(b'0' + level as u8))
    }
}

/// The keys of each subcompaction.
fn subcompactions(read: &[u32], merge: &Merge, workers: usize) -> Vec<Vec<u32>> {
    let table = merge.routes.iter().map(|route| route.cut.size.0).min().unwrap_or(1) as usize;
    let (least, most) = SUBCOMPACTION_TABLES;
    let wanted = read.len().div_ceil(table * most).max(1).next_multiple_of(workers);
    let count = wanted.min(read.len() / (table * least)).max(1);
    let mut subcompactions: Vec<Vec<u32>> = Vec::new();
    let mut from = 0;
    for subcompaction in 1..=count {
        let mut to = (read.len() * subcompaction / count).max(from);
        while to > 0 && to < read.len() && read[to] == read[to - 1] {
            to += 1;
        }
        let mut keys = read[from..to].to_vec();
        keys.dedup();
        if !keys.is_empty() {
            subcompactions.push(keys);
        }
        from = to;
    }
    subcompactions
}

fn store_shape(shape: Shape) -> StoreShape {
    StoreShape {
        capacity: ByteCount((shape.zones * shape.capacity) as u64),
        zone_capacity: Some(ByteCount(shape.capacity as u64)),
        guard: ByteCount(0),
        kept: ByteCount(0),
        memtable_size: ByteCount(shape.memtable),
    }
}

fn clip(span: &Span, to: &Span) -> Span {
    let start = Arc::clone((&span.start).max(&to.start));
    Span { start, end: Arc::clone((&span.end).min(&to.end)) }
}

/// A table that is being filled.
struct Table<'a> {
    keys: Vec<u32>,
    overlap: u64,
    route: &'a Route,
}

impl Table<'_> {
    /// Whether it goes where the route goes.
    fn is_of(&self, route: &Route) -> bool {
        (self.route.to, self.route.stream) == (route.to, route.stream)
    }
}

/// Tables of the merged keys, cut as a job cuts them, with their routes; in the order in which they
/// end. Here a job may have one table open for each destination.
fn cut<'a>(keys: &[u32], routes: &'a [Route]) -> Vec<(Vec<u32>, &'a Route)> {
    let (mut ended, mut open, mut rest) = (Vec::new(), Vec::new(), keys);
    for route in routes {
        let end = route.end.as_ref();
        let within = |key: &u32| end.is_none_or(|end| full_key(*key)[..] < end[..]);
        let (own, behind) = rest.split_at(rest.partition_point(within));
        cut_route(own, route, &mut open, &mut ended);
        rest = behind;
    }
    ended.extend(open);
    ended.into_iter().map(|table| (table.keys, table.route)).collect()
}

fn cut_route<'a>(
    keys: &[u32],
    route: &'a Route,
    open: &mut Vec<Table<'a>>,
    ended: &mut Vec<Table<'a>>,
) {
    let (mut passed, mut barrier, cut) = (0, 0, &route.cut);
    for key in keys {
        let at = full_key(*key);
        let own = open.iter().position(|table| table.is_of(route));
        let mut table = own.map(|at| open.remove(at));
        let mut ends = table.as_ref().is_some_and(|t| t.keys.len() as u64 >= cut.size.0);
        while cut.keys.get(barrier).is_some_and(|key| key[..] <= at[..]) {
            barrier += 1;
            ends = true;
        }
        while cut.grandparents.get(passed).is_some_and(|o| o.end[..] <= at[..]) {
            if let Some(table) = &mut table {
                ends |= table.keys.len() as u64 >= cut.aligned_from.0;
                table.overlap += cut.grandparents[passed].size.0;
            }
            passed += 1;
        }
        let overlap = table.as_ref().map_or(0, |table| table.overlap);
        let wide = overlap > cut.overlap_max.0;
        ended.extend(table.take_if(|_| ends || wide));
        let carried = if cut.carry_overlap && !wide { overlap } else { 0 };
        let mut table = table.unwrap_or_else(|| {
            // The tables of a run must not overlap.
            let of_run = |table: &mut Table<'_>| table.route.to == route.to;
            ended.extend(open.extract_if(.., of_run));
            Table { keys: Vec::new(), overlap: carried, route }
        });
        table.keys.push(*key);
        open.push(table);
    }
    // A cut between two routes.
    let end = route.end.as_ref();
    if cut.keys.get(barrier).is_some_and(|key| end.is_some_and(|end| key <= end)) {
        ended.extend(open.extract_if(.., |table| table.is_of(route)));
    }
}
