//! Sweeps (`lifetime`) over long replayed loads: zones that hold anything take at most the live
//! entries, a quarter more, and four zones for each level; and a store of just that size needs no
//! collector.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_policy::System;

use crate::replay::store::{Replay, Shape};

/// Tables and memtables of 16 entries, eight tables to a zone.
const SHAPE: Shape = Shape { zones: 400, capacity: 128, memtable: 16, workers: 2 };
const KEYS: u32 = 8_000;
const PUTS: u32 = 100_000;

/// Plays a load on a store of `zones` zones; returns the largest value of the bound in it.
fn play(zones: usize, name: &str, key: impl Fn(u32, &mut Random) -> u32) -> usize {
    let system: System = "lifetime".parse().expect("a system");
    let mut store = Replay::new(&system, Shape { zones, ..SHAPE });
    let (mut memtable, mut random, mut most) = (BTreeSet::new(), Random::seeded(1), 0);
    for n in 0..PUTS {
        memtable.insert(key(n, &mut random));
        if memtable.len() as u64 == SHAPE.memtable {
            store.flush(&mut memtable);
            let (live, room) = store.zones.used();
            // The bound, over all levels.
            let bound = live + live / 4 + 4 * store.tree.levels.len() * SHAPE.capacity;
            assert!(room <= bound, "{name}: {room} where {bound} is enough, {live} live");
            most = most.max(bound);
        }
    }
    assert!(!store.counts.contains_key("moved by reclaim"), "{name}: {:?}", store.counts);
    most
}

#[test]
fn loads_over_all_keys_need_their_tables_a_quarter_and_a_few_zones_and_no_collector() {
    type Draw = fn(u32, &mut Random) -> u32;
    let uniform: Draw = |_, random| random.random_range(0..KEYS);
    let skewed: Draw =
        |_, random| (random.random_range(0.0_f64..1.0).powi(4) * f64::from(KEYS)) as u32;
    let mixed: Draw = |n, random| {
        if n / 4000 % 2 == 0 { n % KEYS } else { random.random_range(0..KEYS) }
    };
    for (name, draw) in [("uniform", uniform), ("skewed", skewed), ("mixed", mixed)] {
        let bound = play(SHAPE.zones, name, draw);
        // A store that has no more than that, and the zones kept for reclaim.
        play(bound.div_ceil(SHAPE.capacity) + 2, name, draw);
    }
}
