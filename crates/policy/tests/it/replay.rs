//! A load replayed through a system's deciders on a tree and zones of a few entries each, and a
//! picture of what it leaves: a line per zone, a letter per entry - the level of the table it is
//! in, `R` beside what reclaim has moved, `x` for a dead one, `.` for what is not written.
//!
//! Every entry is one byte, a memtable is flushed when it is full, jobs follow one another, and
//! there are no logs: only what deciders choose is of interest here.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::random::{Random, Rng};
use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_env::{ByteCount, FileId, ZoneId};
use terrace_policy::{
    CandidateZone, Compaction, Cut, Merge, NoZones, Part, PartZone, Place, Placement,
    PlacementChoice, PlacementRequest, Plan, RECLAIM_STREAM, Reclaim, ReclaimView, Room, RunId,
    RunView, SegmentView, SpaceView, Span, StoreShape, System, TreeView, Urgency,
};

use crate::golden::{check, number};

const FLUSH_STREAM: u16 = 2;
/// Free zones that tables leave to reclaim.
const RESERVE: u32 = 2;

/// What an entry of a zone is.
type Slot = Option<(FileId, u32)>;

#[derive(Clone, Default)]
struct Zone {
    slots: Vec<Slot>,
    level: Option<u8>,
    stream: u16,
}

struct Replay {
    placement: std::sync::Arc<dyn Placement>,
    reclaim: std::sync::Arc<dyn Reclaim>,
    compaction: std::sync::Arc<dyn Compaction>,
    capacity: usize,
    table_size: u64,
    zones: Vec<Zone>,
    tree: TreeView,
    tables: BTreeMap<FileId, Vec<u32>>,
    state: Vec<u8>,
    next: u64,
    counts: BTreeMap<&'static str, u64>,
}

fn full_key(key: u32) -> Vec<u8> {
    key.to_be_bytes().to_vec()
}

impl Replay {
    fn new(system: &System, zones: usize, capacity: usize, memtable: u64) -> Self {
        let shape = StoreShape {
            capacity: ByteCount((zones * capacity) as u64),
            zone_capacity: Some(ByteCount(capacity as u64)),
            memtable_size: ByteCount(memtable),
        };
        Self {
            placement: system.placement(),
            reclaim: system.reclaim(),
            compaction: system.compaction(&shape, std::sync::Arc::new(NoZones)),
            capacity,
            table_size: system.table_size(&shape).0,
            zones: vec![Zone::default(); zones],
            tree: TreeView::default(),
            tables: BTreeMap::new(),
            state: Vec::new(),
            next: 1,
            counts: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str, entries: usize) {
        *self.counts.entry(what).or_default() += entries as u64;
    }

    fn free(&self) -> u32 {
        self.zones.iter().filter(|zone| zone.slots.is_empty()).count() as u32
    }

    /// The zone for what is left of a file.
    fn place(&self, level: Option<u8>, stream: u16, left: Option<u64>, kept: u32) -> usize {
        let of_reclaim = stream == RECLAIM_STREAM;
        let partly: Vec<PartZone> = (0..)
            .zip(&self.zones)
            .filter(|(_, zone)| (1..self.capacity).contains(&zone.slots.len()))
            .filter(|(_, zone)| of_reclaim || zone.stream != RECLAIM_STREAM)
            .map(|(id, zone)| PartZone {
                zone: ZoneId(id),
                room: ByteCount((self.capacity - zone.slots.len()) as u64),
                level: zone.level,
                stream: zone.stream,
            })
            .collect();
        let free = self.free().saturating_sub(kept);
        let view = SpaceView { partly: &partly, free, slot: true };
        let hint = PlacementHint { level, stream, ..PlacementHint::default() };
        let (kind, rank, left) = (FileKind::Table, Rank::Compaction, left.map(ByteCount));
        match self.placement.place(&view, &PlacementRequest { hint: &hint, kind, rank, left }) {
            Some(PlacementChoice::Append(zone)) => zone.0 as usize,
            Some(PlacementChoice::OpenNew) => {
                self.zones.iter().position(|zone| zone.slots.is_empty()).expect("a free zone")
            }
            None => panic!("the replayed store is full"),
        }
    }

    fn write(&mut self, slots: &[(FileId, u32)], level: Option<u8>, stream: u16, size: u64) {
        let kept = if stream == RECLAIM_STREAM { 0 } else { RESERVE };
        let mut at = usize::MAX;
        for (written, slot) in slots.iter().enumerate() {
            if at == usize::MAX || self.zones[at].slots.len() == self.capacity {
                let left = size.saturating_sub(written as u64);
                let left = (stream != RECLAIM_STREAM).then_some(left);
                at = self.place(level, stream, left, kept);
                (self.zones[at].level, self.zones[at].stream) = (level, stream);
            }
            self.zones[at].slots.push(Some(*slot));
        }
    }

    fn put_table(&mut self, keys: Vec<u32>, to: Place, stream: u16, size: u64) {
        let file = FileId(self.next);
        self.next += 1;
        let slots: Vec<(FileId, u32)> = keys.iter().map(|key| (file, *key)).collect();
        self.write(&slots, Some(to.level), stream, size);
        let (first, last) = (keys[0], keys[keys.len() - 1]);
        let segment = SegmentView {
            file,
            span: Span::new(full_key(first), full_key(last + 1)),
            size: ByteCount(keys.len() as u64),
            entries: keys.len() as u64,
            tombstones: 0,
        };
        self.tables.insert(file, keys);
        self.put_segment(segment, to);
    }

    fn put_segment(&mut self, segment: SegmentView, to: Place) {
        let level = usize::from(to.level);
        let levels = self.tree.levels.len().max(level + 1);
        self.tree.levels.resize(levels, Default::default());
        let runs = &mut self.tree.levels[level].runs;
        let at = runs.iter().position(|run| run.id <= to.run).unwrap_or(runs.len());
        if runs.get(at).is_none_or(|run| run.id != to.run) {
            runs.insert(at, RunView { id: to.run, segments: Vec::new() });
        }
        runs[at].segments.push(segment);
        runs[at].segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
    }

    fn take_segment(&mut self, part: &Part) -> SegmentView {
        let mut taken = None;
        for run in self.tree.levels.iter_mut().flat_map(|level| &mut level.runs) {
            if let Some(at) = run.segments.iter().position(|s| s.file == part.file) {
                taken = Some(run.segments.remove(at));
            }
        }
        for level in &mut self.tree.levels {
            level.runs.retain(|run| !run.segments.is_empty());
        }
        taken.filter(|segment| segment.span == part.span).expect("a whole segment of the tree")
    }

    fn delete(&mut self, file: FileId) {
        self.tables.remove(&file);
        let mut reset = 0;
        for zone in &mut self.zones {
            for slot in &mut zone.slots {
                *slot = slot.filter(|(of, _)| *of != file);
            }
            if !zone.slots.is_empty() && zone.slots.iter().all(Option::is_none) {
                *zone = Zone::default();
                reset += 1;
            }
        }
        self.count("zones emptied", reset);
    }

    fn flush(&mut self, memtable: &mut BTreeSet<u32>) {
        let keys: Vec<u32> = std::mem::take(memtable).into_iter().collect();
        self.count("flushed", keys.len());
        let to = Place { level: 0, run: RunId(self.next) };
        for part in keys.chunks(self.table_size as usize) {
            self.put_table(part.to_vec(), to, FLUSH_STREAM, part.len() as u64);
        }
        self.settle();
    }

    /// Compacts and reclaims until nothing is due.
    fn settle(&mut self) {
        self.collect();
        while let Some(choice) = self.compaction.pick(&self.tree, &self.state, Urgency::Shape) {
            match choice.plan {
                Plan::Relink(moves) => {
                    for one in moves {
                        let segment = self.take_segment(&one.part);
                        self.count("relinked", segment.entries as usize);
                        self.put_segment(segment, one.to.expect("a place"));
                    }
                }
                Plan::Merge(merge) => self.merge(&merge),
            }
            self.state = choice.state;
            self.collect();
        }
    }

    fn merge(&mut self, merge: &Merge) {
        let parts: Vec<Part> = merge.inputs.iter().flat_map(|i| i.parts.clone()).collect();
        let keys: BTreeSet<u32> =
            parts.iter().flat_map(|part| self.tables[&part.file].clone()).collect();
        for part in &parts {
            self.take_segment(part);
        }
        let [route] = &merge.routes[..] else { panic!("leveled compaction has one route") };
        self.count("merged", keys.len());
        for output in cut(&keys, &route.cut) {
            self.put_table(output, route.to, route.stream, route.cut.size.0);
        }
        parts.iter().for_each(|part| self.delete(part.file));
    }

    fn collect(&mut self) {
        loop {
            let (zones, free) = (self.zones.len() as u32, self.free());
            let spare = free.saturating_sub(RESERVE);
            let room = Room { zones, free, spare, wanted: spare == 0 };
            let live = |zone: &Zone| zone.slots.iter().flatten().count();
            let mut candidates: Vec<CandidateZone> = (0..)
                .zip(&self.zones)
                .filter(|(_, zone)| live(zone) < zone.slots.len())
                .map(|(id, zone)| CandidateZone {
                    zone: ZoneId(id),
                    capacity: ByteCount(self.capacity as u64),
                    live: ByteCount(live(zone) as u64),
                    gain: ByteCount((zone.slots.len() - live(zone)) as u64),
                    levels: self.levels_in(zone),
                })
                .collect();
            candidates.sort_by_key(|zone| (zone.live, zone.zone));
            let view = ReclaimView { room, candidates: &candidates };
            let due = self.reclaim.is_due(&room);
            let Some(choice) = due.then(|| self.reclaim.victim(&view)).flatten() else { return };
            let victim = self.zones[choice.victim.0 as usize].clone();
            let moved: Vec<(FileId, u32)> = victim.slots.into_iter().flatten().collect();
            self.count("moved by reclaim", moved.len());
            self.count("zones reclaimed", 1);
            self.write(&moved, None, choice.stream, moved.len() as u64);
            self.zones[choice.victim.0 as usize] = Zone::default();
        }
    }

    /// The levels of a zone's tables, added up.
    fn levels_in(&self, zone: &Zone) -> u64 {
        let tables: BTreeSet<FileId> = zone.slots.iter().flatten().map(|(of, _)| *of).collect();
        tables.into_iter().filter_map(|of| self.level_of(of).to_digit(10)).map(u64::from).sum()
    }

    fn level_of(&self, file: FileId) -> char {
        let holds = |run: &RunView| run.segments.iter().any(|segment| segment.file == file);
        let level = self.tree.levels.iter().position(|level| level.runs.iter().any(holds));
        level.map_or('?', |level| char::from(b'0' + level as u8))
    }

    fn picture(&self) -> String {
        let mut text = String::new();
        for (what, count) in &self.counts {
            text += &format!("{what}: {count}\n");
        }
        let (mut live, mut used) = (0, 0);
        for (id, zone) in self.zones.iter().enumerate().filter(|(_, zone)| !zone.slots.is_empty()) {
            let mark = |slot: &Slot| slot.map_or('x', |(file, _)| self.level_of(file));
            let slots: String = zone.slots.iter().map(mark).collect();
            let reclaimed = if zone.stream == RECLAIM_STREAM { " R" } else { "" };
            text += &format!("{id:>4} {slots:.<width$}{reclaimed}\n", width = self.capacity);
            live += zone.slots.iter().flatten().count();
            used += self.capacity;
        }
        let valid = 100 * live / used.max(1);
        text + &format!("{} zones free; {valid} % of the others are valid", self.free())
    }
}

/// Tables of the merged keys, cut as a job cuts them.
fn cut(keys: &BTreeSet<u32>, cut: &Cut) -> Vec<Vec<u32>> {
    let (mut tables, mut table, mut passed, mut overlap) = (Vec::new(), Vec::new(), 0, 0);
    for key in keys {
        while cut.obstacles.get(passed).is_some_and(|o| o.end[..] <= full_key(*key)[..]) {
            overlap += if table.is_empty() { 0 } else { cut.obstacles[passed].size.0 };
            passed += 1;
        }
        if table.len() as u64 >= cut.size.0 || overlap > cut.overlap_max.0 {
            tables.push(std::mem::take(&mut table));
            overlap = 0;
        }
        table.push(*key);
    }
    tables.push(table);
    tables.retain(|table| !table.is_empty());
    tables
}

/// Replays `load sequential entries=N`, `load random entries=N keys=K`, and `open under SYSTEM`.
fn replay(input: &str) -> String {
    let mut lines = input.lines();
    let first = lines.next().expect("a store");
    let system = |line: &str| -> System {
        line.split_whitespace().last().expect("a system").parse().expect("a system")
    };
    let size = |key| number::<usize>(first, key).expect("a size");
    let memtable_size = size("memtable") as u64;
    let mut store = Replay::new(&system(first), size("zones"), size("capacity"), memtable_size);
    let (mut random, mut memtable) = (Random::seeded(1), BTreeSet::new());
    for line in lines {
        if line.contains("open under") {
            let other = Replay::new(&system(line), size("zones"), size("capacity"), memtable_size);
            (store.placement, store.reclaim) = (other.placement, other.reclaim);
            (store.compaction, store.table_size) = (other.compaction, other.table_size);
            // The state of another decider is no state.
            store.state.clear();
            store.counts.clear();
            continue;
        }
        let entries: u32 = number(line, "entries").expect("entries");
        let keys: u32 = number(line, "keys").unwrap_or(entries);
        for i in 0..entries {
            let sequential = line.contains("sequential");
            memtable.insert(if sequential { i } else { random.random_range(0..keys) });
            if memtable.len() as u64 == memtable_size {
                store.flush(&mut memtable);
            }
        }
    }
    store.picture()
}

#[test]
fn a_replayed_load_leaves_the_zones_that_the_systems_are_known_for() {
    check("replay", replay);
}
