//! Replays the loads of goldens: `load`, `open under` and the store are lines of text ([`replay`]).
//! The answer is a picture of the zones, or metrics of the second half of the last load.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_policy::{ByteCount, RECLAIM_STREAM, Span, System};

use super::store::{Replay, Shape};
use super::zones::Slot;
use crate::golden::{check, field, number};

fn picture(store: &Replay) -> String {
    let mut text = String::new();
    for (what, count) in &store.counts {
        text += &format!("{what}: {count}\n");
    }
    let zones = &store.zones;
    for (id, zone) in zones.all.iter().enumerate().filter(|(_, zone)| !zone.slots.is_empty()) {
        let mark = |slot: &Slot| slot.map_or('x', |(file, _)| store.level_of(file));
        let slots: String = zone.slots.iter().map(mark).collect();
        let reclaimed = if zone.stream == RECLAIM_STREAM { " R" } else { "" };
        text += &format!("{id:>4} {slots:.<width$}{reclaimed}\n", width = zones.capacity);
    }
    let (live, used) = zones.used();
    let valid = 100 * live / used.max(1);
    text + &format!("{} zones free; {valid} % of the others are valid", zones.free())
}

/// The valid share of occupied zones, after each flush of a load's second half.
#[derive(Default)]
struct Valid {
    samples: u32,
    sum: f64,
    least: f64,
    /// Entries that are dead in sets, in percent of all that are live, and the most of it.
    dead: f64,
    dead_most: f64,
}

impl Valid {
    fn sample(&mut self, store: &Replay) {
        let (live, used) = store.zones.used();
        let share = 100.0 * live as f64 / used.max(1) as f64;
        self.least = if self.samples == 0 { share } else { self.least.min(share) };
        self.samples += 1;
        self.sum += share;
        let (dead, all) = store.dead_in_sets();
        let dead = 100.0 * dead as f64 / all.max(1) as f64;
        self.dead += dead;
        self.dead_most = self.dead_most.max(dead);
    }

    fn metrics(&self, store: &Replay) -> String {
        let count = |what| store.counts.get(what).copied().unwrap_or(0);
        let (flushed, merged) = (count("flushed"), count("merged"));
        let moved = count("moved by reclaim");
        let amplification = |written: u64| (flushed + written) as f64 / flushed as f64;
        let samples = f64::from(self.samples.max(1));
        let dead = match self.dead_most {
            0.0 => String::new(),
            most => format!("; {:.1} % dead in sets, {most:.1} % at worst", self.dead / samples),
        };
        format!(
            "write amplification {:.2}, {:.2} with what reclaim moved; {:.1} % valid, {:.1} % at \
             worst{dead}",
            amplification(merged),
            amplification(merged + moved),
            self.sum / samples,
            self.least
        )
    }
}

/// A system as text, but sizes are numbers of entries, smaller than those of any real store.
fn system_of_few(text: &str) -> System {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let parameters: Vec<(&str, &str)> =
        parameters.split(',').filter_map(|parameter| parameter.split_once('=')).collect();
    let is_size = |name: &str| matches!(name, "table_size" | "level1_size");
    let rest = parameters.iter().filter(|(name, _)| !is_size(name));
    let rest: Vec<String> = rest.map(|(name, value)| format!("{name}={value}")).collect();
    let rest = if rest.is_empty() { String::new() } else { format!(":{}", rest.join(",")) };
    let system: System = format!("{name}{rest}").parse().expect("a system");
    let size = |wanted: &str| {
        let parameter = parameters.iter().find(|(name, _)| *name == wanted);
        parameter.map(|(_, value)| ByteCount(value.parse().expect("a number of entries")))
    };
    System { table_size: size("table_size"), level1_size: size("level1_size"), ..system }
}

/// Replays `load sequential entries=N`, also with `strays=EACH` or `streams=N`, `load random
/// entries=N keys=K`, also with `hot=PERCENT`, and `open under SYSTEM`; a store with
/// `histograms=none` has tables without histograms.
pub(crate) fn replay(input: &str) -> String {
    let mut lines = input.lines();
    let first = lines.next().expect("a store");
    let system =
        |line: &str| -> System { system_of_few(line.split_whitespace().last().expect("a system")) };
    let size = |key| number::<usize>(first, key).expect("a size");
    let shape = Shape {
        zones: size("zones"),
        capacity: size("capacity"),
        memtable: size("memtable") as u64,
        workers: number(first, "workers").unwrap_or(1),
    };
    let mut store = Replay::new(&system(first), shape);
    store.histograms = field(first, "histograms") != Some("none");
    let (mut random, mut memtable) = (Random::seeded(1), BTreeSet::new());
    let (mut valid, mut keys) = (Valid::default(), 0);
    for line in lines {
        if line.contains("open under") {
            store.open_under(&system(line), shape);
            continue;
        }
        valid = Valid::default();
        let entries: u32 = number(line, "entries").expect("entries");
        keys = number(line, "keys").unwrap_or(entries);
        for i in 0..entries {
            // Of a sequential load, one key in `strays` may be any.
            let strays = number(line, "strays").is_some_and(|each: u32| i % each == 0);
            let sequential = line.contains("sequential") && !strays;
            let streams = number(line, "streams").unwrap_or(1);
            let hot = number(line, "hot").is_some_and(|share| random.random_range(0..100) < share);
            memtable.insert(match () {
                // The next key of each of `streams` writers in turn, with a range each.
                () if sequential => i % streams * (entries / streams) + i / streams,
                // In some of a hundred writes, the key is one of a hundredth.
                () if hot => random.random_range(0..keys / 100) + keys / 2,
                () => random.random_range(0..keys),
            });
            if memtable.len() as u64 == shape.memtable {
                store.flush(&mut memtable);
                if i >= entries / 2 {
                    valid.sample(&store);
                }
            }
        }
    }
    match first.split_whitespace().next() {
        Some("metrics") => valid.metrics(&store),
        Some("bands") => format!("{}; {}", valid.metrics(&store), bands_of_a_key(&store, keys)),
        _ => picture(&store),
    }
}

/// How many tables a key lies within, on average and at most.
fn bands_of_a_key(store: &Replay, keys: u32) -> String {
    let runs = || store.tree.levels.iter().flat_map(|level| &level.runs);
    let within = |key: u32| {
        let holds = |span: &Span| span.contains(&key.to_be_bytes());
        runs().flat_map(|run| &run.segments).filter(|segment| holds(&segment.span)).count()
    };
    let keys = (0..keys).step_by(97);
    let counts: Vec<usize> = keys.map(within).collect();
    let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    let runs = runs().count();
    format!("{mean:.1} tables to a key, {} at most, in {runs} runs", counts.iter().max().unwrap())
}

#[test]
fn a_replayed_load_leaves_the_zones_that_the_systems_are_known_for() {
    check("replay", replay);
}

#[test]
fn bands_that_may_overlap_are_a_dial_between_what_is_written_and_what_is_read() {
    check("metrics-bands", replay);
}

#[test]
fn a_uniform_random_load_has_the_metrics_that_the_systems_are_known_for() {
    check("metrics", replay);
}
