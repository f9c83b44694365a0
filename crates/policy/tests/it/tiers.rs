//! Load-aware tiers, as in `arrivals/low-rates`: a load without a rest, and then two mixes of few
//! writes and many scans. What a tier that takes older data along costs and brings, beside one that
//! goes down as a whole.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_policy::{ByteCount, Load, LoadRule, Row, System, TreeView};

use crate::replay::store::{Replay, Shape};

const SHAPE: Shape = Shape { zones: 1200, capacity: 64, memtable: 64, workers: 1 };
/// Keys are drawn from so many.
const KEYS: u32 = 1 << 24;
/// Flushes of a mix.
const FLUSHES: u64 = 20;
/// Seven scans to three writes, where a seek costs as much as a thousand entries.
const MIX: Load = Load { written: ByteCount(3), scans: 7, seek: ByteCount(1000) };

/// Runs that have a table around a key, on average over some keys.
fn runs_of_a_key(tree: &TreeView) -> f64 {
    let keys = (0..KEYS).step_by(KEYS as usize / 400).map(u32::to_be_bytes);
    let segments = || tree.levels.iter().flat_map(|level| &level.runs).flat_map(|r| &r.segments);
    let within = |key: &[u8]| segments().filter(|segment| segment.span.contains(key)).count();
    let counts: Vec<usize> = keys.map(|key| within(&key)).collect();
    counts.iter().sum::<usize>() as f64 / counts.len() as f64
}

fn flush(store: &mut Replay, random: &mut Random) {
    let mut memtable = BTreeSet::new();
    while (memtable.len() as u64) < SHAPE.memtable {
        memtable.insert(random.random_range(0..KEYS));
    }
    store.flush(&mut memtable);
}

/// Bytes that merges write for one in a load of so many flushes and in two mixes, and runs of a key
/// in each mix.
fn play(along_max: u16, load: u64) -> ([f64; 3], [f64; 2]) {
    let tiered = System::of(Row::Tiered);
    let table_size = Some(ByteCount(16));
    let system = System { load: LoadRule::Aware, along_max, table_size, ..tiered };
    let mut store = Replay::new(&system, SHAPE);
    let mut random = Random::seeded(1);
    let merged = |store: &Replay| store.counts.get("merged").copied().unwrap_or(0) as f64;
    let (mut bytes, mut runs, mut before) = ([0.0; 3], [0.0; 2], 0.0);
    for (phase, flushes) in [load, FLUSHES, FLUSHES].into_iter().enumerate() {
        // Back to back, merges are behind.
        store.level0_least = if phase == 0 { 8 } else { 0 };
        store.load = if phase == 0 { Load::default() } else { MIX };
        for _ in 0..flushes {
            flush(&mut store, &mut random);
            if phase > 0 {
                runs[phase - 1] += runs_of_a_key(&store.tree) / flushes as f64;
            }
        }
        bytes[phase] = (merged(&store) - before) / (flushes * SHAPE.memtable) as f64;
        before = merged(&store);
    }
    (bytes, runs)
}

#[test]
fn a_tier_in_slices_writes_the_store_anew_in_no_mix_whatever_the_load_has_left() {
    for load in [440, 464, 512] {
        let ((whole, runs_whole), (sliced, runs_sliced)) = (play(0, load), play(10, load));
        println!("{load}: whole {whole:.1?} {runs_whole:.1?}, {sliced:.1?} {runs_sliced:.1?}");
        assert!(whole[1].max(whole[2]) > 22.0, "{load}: {whole:?}");
        assert!(sliced[1].max(sliced[2]) < 20.0, "{load}: {sliced:?}");
        assert!(sliced[0] < whole[0] + 1.0, "the load pays little: {whole:?}, {sliced:?}");
        let [of_whole, of_sliced] = [runs_whole, runs_sliced].map(|of| of[0] + of[1]);
        assert!(of_sliced < of_whole + 1.5, "{load}: {runs_whole:?}, {runs_sliced:?}");
    }
}
