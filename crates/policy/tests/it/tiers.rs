//! Load-aware tiers, as in `arrivals/low-rates`: a load without a rest, and then two mixes of few
//! writes and many scans. Cost and gain of a tier that takes older data along, compared with one
//! that goes down as a whole.

use terrace_env::random::Random;
use terrace_policy::{ByteCount, Load, LoadRule, Row, System};

use crate::replay::store::{Replay, Shape};
use crate::replay::uniform::{flush, tables_of_a_key};

const SHAPE: Shape = Shape { zones: 1200, capacity: 64, memtable: 64, workers: 1 };
/// Flushes of a mix.
const FLUSHES: u64 = 20;
/// Seven scans to three writes; a seek costs the same as a thousand entries.
const MIX: Load = Load { written: ByteCount(3), scans: 7, seek: ByteCount(1000) };

/// Bytes that merges write for one in a load of `load` flushes and in two mixes, and runs of a key
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
        // Flushes back to back: merges are late.
        store.level0_least = if phase == 0 { 8 } else { 0 };
        store.load = if phase == 0 { Load::default() } else { MIX };
        for _ in 0..flushes {
            flush(&mut store, SHAPE.memtable, &mut random);
            if phase > 0 {
                runs[phase - 1] += tables_of_a_key(&store.tree) / flushes as f64;
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
