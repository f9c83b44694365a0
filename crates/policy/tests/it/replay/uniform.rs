//! Keys drawn evenly from many: memtables of them, and the tables that a reader of one meets.

use std::collections::BTreeSet;

use terrace_env::random::{Random, Rng};
use terrace_policy::TreeView;

use super::store::Replay;

/// Number of different keys.
const KEYS: u32 = 1 << 24;

/// Flushes a memtable of `keys` keys.
pub(crate) fn flush(store: &mut Replay, keys: u64, random: &mut Random) {
    let mut memtable = BTreeSet::new();
    while (memtable.len() as u64) < keys {
        memtable.insert(random.random_range(0..KEYS));
    }
    store.flush(&mut memtable);
}

/// Tables that a key lies within, on average over some keys. Tables of a run do not overlap, so
/// these are the runs that have one around the key.
pub(crate) fn tables_of_a_key(tree: &TreeView) -> f64 {
    let keys = (0..KEYS).step_by(KEYS as usize / 400).map(u32::to_be_bytes);
    let segments = || tree.levels.iter().flat_map(|level| &level.runs).flat_map(|r| &r.segments);
    let within = |key: &[u8]| segments().filter(|segment| segment.span.contains(key)).count();
    let counts: Vec<usize> = keys.map(|key| within(&key)).collect();
    counts.iter().sum::<usize>() as f64 / counts.len() as f64
}
