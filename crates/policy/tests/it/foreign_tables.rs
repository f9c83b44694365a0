//! A model of an engine that knows nothing of zones, as RocksDB over the file system: leveled
//! compaction of tables, four to a zone, each level in zones of its own. It tells which space
//! efficiency a collector reaches, and how many bytes it moves for that.
//!
//! All tables are of one size. In a round, each level takes one table of the level above, at a
//! random place, together with the ten tables of its own there, and writes as many. So the sizes of
//! levels stay, and a level ten times as large lives ten times as long. A compaction's inputs die
//! once its output is written. (The model of `replay` has tables of all sizes and rows of a store's
//! own, and no clock of writes.)

use std::collections::BTreeMap;

use terrace_env::ZoneId;
use terrace_env::random::{Random, Rng};
use terrace_policy::{
    ByteCount, CandidateZone, Greedy, Lean, RECLAIM_STREAM, Reclaim, ReclaimView, Supply,
};

/// Tables in a zone.
const ZONE: usize = 4;
/// Zones of the drive.
const ZONES: usize = 1000;
/// Free zones that only reclaim may take.
const KEPT: usize = 11;
/// Tables of each level, and of a table's overlap with the next one.
const LEVELS: [usize; 4] = [3, 30, 290, 2877];
const OVERLAP: usize = 10;
/// Rounds until each table of the last level has been written about three times, and as many that
/// count.
const ROUNDS: usize = 1000;

/// Where a table lies.
type Place = (usize, usize);

#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Empty,
    Dead,
    /// The level, and the place in it.
    Live(usize, usize),
}

struct Drive<'a> {
    policy: &'a dyn Reclaim,
    zones: Vec<[Slot; ZONE]>,
    /// By level, in the order of keys.
    tables: Vec<Vec<Place>>,
    /// The zone that each level, and reclaim under a number of its own, writes to.
    open: BTreeMap<usize, usize>,
    /// Tables written since the beginning, and by zone, when its youngest one was.
    clock: usize,
    written_at: Vec<usize>,
    counts: Counts,
    /// When a table was moved, in tables written, and how many slots were free.
    moved_at: BTreeMap<(usize, usize), (usize, usize)>,
}

#[derive(Default, Debug)]
struct Counts {
    written: usize,
    moved: usize,
    in_vain: usize,
    efficiency: f64,
    efficiency_least: f64,
    samples: usize,
}

impl<'a> Drive<'a> {
    fn new(policy: &'a dyn Reclaim) -> Self {
        let counts = Counts { efficiency_least: 100.0, ..Counts::default() };
        let (tables, open) = (vec![Vec::new(); LEVELS.len()], BTreeMap::new());
        let zones = vec![[Slot::Empty; ZONE]; ZONES];
        let (clock, written_at, moved_at) = (0, vec![0; ZONES], BTreeMap::new());
        let mut drive = Self { policy, zones, tables, open, clock, written_at, counts, moved_at };
        for (level, size) in LEVELS.iter().enumerate() {
            for at in 0..*size {
                let place = drive.write(level, Slot::Live(level, at));
                drive.tables[level].push(place);
            }
        }
        drive
    }

    fn free(&self) -> usize {
        self.zones.iter().filter(|zone| is_free(zone)).count()
    }

    /// Appends a table to the open zone of a level.
    fn write(&mut self, stream: usize, table: Slot) -> Place {
        let room = |zone: &[Slot; ZONE]| zone.iter().position(|slot| *slot == Slot::Empty);
        let open =
            self.open.get(&stream).copied().filter(|zone| room(&self.zones[*zone]).is_some());
        let zone = open.unwrap_or_else(|| {
            let free = self.zones.iter().position(is_free).expect("a free zone");
            self.zones[free] = [Slot::Empty; ZONE];
            self.written_at[free] = 0;
            self.open.insert(stream, free);
            free
        });
        let at = room(&self.zones[zone]).expect("room");
        self.zones[zone][at] = table;
        self.counts.written += 1;
        self.clock += 1;
        if stream != usize::from(RECLAIM_STREAM) {
            self.written_at[zone] = self.clock;
        }
        (zone, at)
    }

    /// One round: each level takes a table from the one above.
    fn round(&mut self, random: &mut Random) {
        for (level, size) in LEVELS.into_iter().enumerate() {
            let first = random.random_range(0..size.saturating_sub(OVERLAP).max(1));
            let taken: Vec<usize> = (first..size.min(first + OVERLAP)).collect();
            // The table from above stands for one that this level gives to the next.
            let old: Vec<Place> = taken.iter().map(|at| self.tables[level][*at]).collect();
            self.collect();
            for at in &taken {
                let place = self.write(level, Slot::Live(level, *at));
                self.tables[level][*at] = place;
                let now = self.clock;
                let moved = self.moved_at.remove(&(level, *at));
                let in_vain = moved.is_some_and(|(then, free)| now - then < free);
                self.counts.in_vain += usize::from(in_vain);
            }
            for (zone, at) in old {
                self.zones[zone][at] = Slot::Dead;
            }
        }
        let live: usize = LEVELS.iter().sum();
        let efficiency = 100.0 * live as f64 / (ZONE * (ZONES - self.free())) as f64;
        self.counts.samples += 1;
        self.counts.efficiency += efficiency;
        self.counts.efficiency_least = self.counts.efficiency_least.min(efficiency);
    }

    /// Empties zones for as long as the policy wants.
    fn collect(&mut self) {
        loop {
            let free = self.free();
            let spare = free.saturating_sub(KEPT) as u32;
            let supply = Supply {
                zones: ZONES as u32,
                free: free as u32,
                spare,
                wanted: spare == 0,
                in_use: ByteCount((ZONE * (ZONES - free)) as u64),
                live: ByteCount(self.zones.iter().map(|zone| live(zone) as u64).sum()),
            };
            if !self.policy.is_due(&supply) {
                return;
            }
            let candidates = self.candidates();
            let view = ReclaimView { supply, candidates: &candidates };
            let Some(choice) = self.policy.victim(&view) else { return };
            let victim = choice.victim.0 as usize;
            for slot in self.zones[victim] {
                let Slot::Live(level, at) = slot else { continue };
                let free = ZONE * self.free();
                let place = self.write(RECLAIM_STREAM.into(), slot);
                self.written_at[place.0] = self.written_at[place.0].max(self.written_at[victim]);
                self.tables[level][at] = place;
                self.moved_at.insert((level, at), (self.clock, free));
                self.counts.moved += 1;
            }
            self.zones[victim] = [Slot::Dead; ZONE];
        }
    }

    fn candidates(&self) -> Vec<CandidateZone> {
        let open = |zone: &usize| self.open.values().any(|other| other == zone);
        let full = self
            .zones
            .iter()
            .enumerate()
            .filter(|(id, zone)| !is_free(zone) && zone.contains(&Slot::Dead) && !open(id));
        let view = |(id, zone): (usize, &[Slot; ZONE])| CandidateZone {
            zone: ZoneId(id as u32),
            capacity: ByteCount(ZONE as u64),
            live: ByteCount(live(zone) as u64),
            gain: ByteCount((ZONE - live(zone)) as u64),
            tables: live(zone) as u64,
            levels: zone
                .iter()
                .map(|slot| match slot {
                    Slot::Live(level, _) => *level as u64 + 1,
                    _ => 0,
                })
                .sum(),
            levels_dead: 0,
            age: ByteCount((self.clock - self.written_at[id]) as u64),
        };
        let mut candidates: Vec<CandidateZone> = full.map(view).collect();
        candidates.sort_by_key(|zone| (zone.live, zone.zone));
        let (sight, all) = (self.policy.sight(), candidates.len());
        let shown = candidates.into_iter().enumerate().filter(|(at, _)| sight.shows(*at, all));
        shown.map(|(_, zone)| zone).collect()
    }
}

fn live(zone: &[Slot; ZONE]) -> usize {
    zone.iter().filter(|slot| matches!(slot, Slot::Live(..))).count()
}

fn is_free(zone: &[Slot; ZONE]) -> bool {
    live(zone) == 0 && (zone[0] == Slot::Empty || zone[ZONE - 1] == Slot::Dead)
}

/// Counts of a collector on a drive that is 80 % full.
fn play(policy: &dyn Reclaim) -> Counts {
    let (mut drive, mut random) = (Drive::new(policy), Random::seeded(1));
    for _ in 0..ROUNDS {
        drive.round(&mut random);
    }
    drive.counts = Counts { efficiency_least: 100.0, ..Counts::default() };
    drive.moved_at.clear();
    for _ in 0..ROUNDS {
        drive.round(&mut random);
    }
    let Drive { counts, .. } = drive;
    let (efficiency, moved) = (counts.efficiency(), counts.moved());
    println!("{policy:?}: efficiency {efficiency:.1} %, moved {moved:.1} % of written bytes");
    println!("of that for nothing {:.1} %", counts.in_vain());
    counts
}

impl Counts {
    /// Average space efficiency, in percent.
    fn efficiency(&self) -> f64 {
        self.efficiency / self.samples as f64
    }

    /// Share of all writes that reclaim made, in percent.
    fn moved(&self) -> f64 {
        100.0 * self.moved as f64 / self.written as f64
    }

    /// Share of the moved bytes that died soon after, in percent.
    fn in_vain(&self) -> f64 {
        100.0 * self.in_vain as f64 / self.moved as f64
    }
}

#[test]
fn reclaim_that_waits_for_need_fills_the_drive_with_garbage() {
    let counts = play(&Greedy::default());
    // All zones are in use but for the kept ones and the spare ones.
    let spare = 8;
    let live: usize = LEVELS.iter().sum();
    let closed_form = 100.0 * live as f64 / (ZONE * (ZONES - KEPT - spare)) as f64;
    let found = counts.efficiency();
    assert!((found - closed_form).abs() < 0.5, "{found} %, expected {closed_form} %");
}

#[test]
fn lean_reclaim_holds_nine_tenths_and_moves_half_of_what_greedy_reclaim_moves_for_that() {
    let lean = play(&Lean::default());
    assert!(lean.efficiency() > 89.9 && lean.efficiency_least > 89.5, "{lean:?}");
    let greedy = play(&Greedy { free_min: 11, ..Greedy::default() });
    assert!(greedy.efficiency() < lean.efficiency(), "{greedy:?}");
    assert!(lean.moved() < 0.6 * greedy.moved(), "{} %, {} %", lean.moved(), greedy.moved());
    assert!(lean.in_vain() < 10.0, "{} % moved for nothing", lean.in_vain());
    assert!(lean.in_vain() < greedy.in_vain() / 2.0, "{} %", greedy.in_vain());
}
