//! Load-aware compaction of overlapping bands, as in workload 3 of table 5.1 of SMRDB's thesis: a
//! load without a rest, and then few writes and many scans. Cost and gain of slices, compared with
//! the row alone.

use terrace_env::random::Random;
use terrace_policy::{ByteCount, Load, LoadRule, Row, System};

use crate::replay::store::{Replay, Shape};
use crate::replay::uniform::{flush, tables_of_a_key};

const SHAPE: Shape = Shape { zones: 1200, capacity: 64, memtable: 64, workers: 1 };
/// Flushes of the load, and of the mix.
const FLUSHES: (u64, u64) = (440, 20);
/// Seven scans to three writes.
const MIX: Load = Load { written: ByteCount(3), scans: 7, seek: ByteCount(16) };

/// Bytes that merges write for one in the load and in the mix, and tables of a key in the mix.
fn play(load: LoadRule) -> (f64, f64, f64) {
    let mut store = Replay::new(&System { load, ..System::of(Row::Smrdb) }, SHAPE);
    let mut random = Random::seeded(1);
    store.level0_least = 10;
    for _ in 1..FLUSHES.0 {
        flush(&mut store, SHAPE.memtable, &mut random);
    }
    store.level0_least = 0;
    flush(&mut store, SHAPE.memtable, &mut random);
    let merged = |store: &Replay| store.counts["merged"] as f64;
    let before = merged(&store);
    store.load = MIX;
    let mut met = 0.0;
    for _ in 0..FLUSHES.1 {
        flush(&mut store, SHAPE.memtable, &mut random);
        met += tables_of_a_key(&store.tree);
    }
    let bytes = |flushes: u64| (flushes * SHAPE.memtable) as f64;
    let mix = (merged(&store) - before) / bytes(FLUSHES.1);
    (before / bytes(FLUSHES.0), mix, met / FLUSHES.1 as f64)
}

#[test]
fn slices_write_a_fraction_of_what_the_row_does_and_leave_a_key_in_fewer_tables() {
    let (own, aware) = (play(LoadRule::Off), play(LoadRule::Aware));
    println!("{own:?}, in slices {aware:?}");
    assert!(aware.0 < own.0 + 2.0, "the load pays a byte or two: {own:?}, {aware:?}");
    assert!(aware.1 < 15.0 && 2.0 * aware.1 < own.1, "{own:?}, {aware:?}");
    assert!(aware.2 < 0.75 * own.2, "{own:?}, {aware:?}");
}
