//! SEALDB over long replayed loads: how much lies dead in sets in the second half of a load, and
//! how much is written, compared with LevelDB with sets and with the paper's choice of victims.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_policy::System;

use crate::replay::store::{Replay, Shape};

/// Tables and memtables of 16 entries.
const SHAPE: Shape = Shape { zones: 900, capacity: 256, memtable: 16, workers: 2 };
const KEYS: u32 = 20_000;
const PUTS: u32 = 60_000;

type Draw = fn(u32, &mut Random) -> u32;

/// The loads, each with its name.
const LOADS: [(&str, Draw); 4] = [
    ("uniform", |_, random| random.random_range(0..KEYS)),
    ("skewed", |_, random| (random.random_range(0.0_f64..1.0).powi(4) * f64::from(KEYS)) as u32),
    ("mixed", |n, random| if n / 4000 % 2 == 0 { n % KEYS } else { random.random_range(0..KEYS) }),
    // After a third over all keys, a part of them after the other.
    ("parts", |n, random| {
        if n < PUTS / 3 {
            return random.random_range(0..KEYS);
        }
        let part = (n - PUTS / 3) / (PUTS / 10) % 7;
        KEYS / 7 * part + random.random_range(0..KEYS / 7)
    }),
];

/// Plays a load; the dead share of sets at worst and on average, in percent, in the second half,
/// and the write amplification.
fn play(system: &str, draw: Draw) -> (f64, f64, f64) {
    let system: System = format!("{system},free_min=0").parse().expect("a system");
    let mut store = Replay::new(&system, SHAPE);
    let (mut memtable, mut random) = (BTreeSet::new(), Random::seeded(1));
    let (mut worst, mut sum, mut samples) = (0.0_f64, 0.0, 0);
    for n in 0..PUTS {
        memtable.insert(draw(n, &mut random));
        if memtable.len() as u64 == SHAPE.memtable {
            store.flush(&mut memtable);
            if n >= PUTS / 2 {
                let (dead, all) = store.dead_in_sets();
                let share = 100.0 * dead as f64 / all as f64;
                worst = worst.max(share);
                sum += share;
                samples += 1;
            }
        }
    }
    let count = |what| store.counts.get(what).copied().unwrap_or(0);
    let (flushed, merged) = (count("flushed"), count("merged"));
    (worst, sum / f64::from(samples), (flushed + merged) as f64 / flushed as f64)
}

#[test]
fn little_is_dead_in_sets_under_any_load_and_no_more_is_written_than_by_leveldb() {
    for (name, draw) in LOADS {
        let (worst, mean, written) = play("sealdb:jobs=1", draw);
        let (_, of_pointer, by_leveldb) = play("leveldb-sets:jobs=1", draw);
        let case = format!(
            "{name}: {worst:.1} % dead at worst, {mean:.1} % on average, {of_pointer:.1} % by \
             pointer; {written:.2} bytes written for one, {by_leveldb:.2} by LevelDB"
        );
        assert!(worst < 15.0 && mean < 8.0, "{case}");
        assert!(written <= by_leveldb * 1.02, "{case}");
    }
}

#[test]
fn the_preference_for_dead_sets_leaves_more_dead_and_writes_more() {
    let (_, draw) = LOADS[0];
    let (_, by_set, written) = play("sealdb:victim=set,whole_inputs=on", draw);
    let (_, by_pointer, in_turn) = play("sealdb:victim=pointer,whole_inputs=on", draw);
    assert!(by_set > by_pointer && written > in_turn, "{by_set} {by_pointer} {written} {in_turn}");
}
