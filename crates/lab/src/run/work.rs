//! Metrics of the work that jobs do: bytes, merges and tables by level, jobs by kind, the times and
//! sizes of merges, and how often the drive writes bands again for them.

use std::collections::BTreeMap;

use terrace::{LevelWork, Written};

/// Kinds of jobs, as they are counted.
pub(super) const JOB_KINDS: [&str; 5] = ["flush", "merge", "gear", "trivial_move", "delete_only"];

/// Names of the metrics of `merge_seconds`.
pub(super) const MERGE_SECONDS: [&str; 3] = ["total", "mean", "max"];

/// Names of the metrics of `merge_mib`.
pub(super) const MERGE_MIB: [&str; 3] = ["read", "written", "set"];

/// Names of the metrics of `rewrites`.
pub(super) const REWRITES: [&str; 3] = ["count", "mib", "per_merge"];

/// A number for each level that has one.
pub(super) fn by_level(
    written: &Written,
    of: impl Fn(&LevelWork) -> Option<f64>,
) -> BTreeMap<String, f64> {
    let levels = written.levels.iter().enumerate();
    levels.filter_map(|(at, level)| Some((at.to_string(), of(level)?))).collect()
}

/// Bytes of each level per byte of keys and values; nothing where clients wrote nothing.
pub(super) fn per_byte(written: &Written, of: fn(&LevelWork) -> u64) -> BTreeMap<String, f64> {
    let user_bytes = written.user_bytes;
    by_level(written, |level| (user_bytes > 0).then(|| of(level) as f64 / user_bytes as f64))
}

pub(super) fn merge_seconds(merges: &[f64]) -> BTreeMap<String, f64> {
    let Some(longest) = merges.iter().copied().max_by(f64::total_cmp) else {
        return BTreeMap::new();
    };
    let total: f64 = merges.iter().sum();
    let values = [total, total / merges.len() as f64, longest];
    MERGE_SECONDS.map(str::to_owned).into_iter().zip(values).collect()
}

/// The MiB of the full drive that a merge reads and writes.
pub(super) fn merge_mib(written: &Written, shrunk: f64) -> BTreeMap<String, f64> {
    let sum =
        |levels: &[LevelWork], of: fn(&LevelWork) -> u64| -> u64 { levels.iter().map(of).sum() };
    let (all, below) = (&written.levels[..], written.levels.get(1..).unwrap_or_default());
    let (merges, of_sets) = (sum(all, |it| it.merges), sum(below, |it| it.merges));
    let sets = sum(below.get(1..).unwrap_or_default(), |it| it.bytes_written);
    let values = [
        ("read", sum(all, |it| it.bytes_read), merges),
        ("written", written.bytes.compaction, merges),
        ("set", sets, of_sets),
    ];
    let mean = |bytes: u64, merges: u64| bytes as f64 * shrunk / merges as f64 / 1_048_576.0;
    let there = values.into_iter().filter(|(_, _, merges)| *merges > 0);
    there.map(|(name, bytes, merges)| (name.to_owned(), mean(bytes, merges))).collect()
}

/// How often the drive wrote bands again, and how much of each.
pub(super) fn rewrites(
    (count, bytes): (u64, u64),
    written: &Written,
    shrunk: f64,
) -> BTreeMap<String, f64> {
    if count == 0 {
        return BTreeMap::new();
    }
    let mib = bytes as f64 * shrunk / count as f64 / 1_048_576.0;
    let merges: u64 = written.levels.iter().map(|level| level.merges).sum();
    let per_merge = count as f64 / merges.max(1) as f64;
    let values = [count as f64, mib, per_merge];
    REWRITES.map(str::to_owned).into_iter().zip(values).collect()
}

pub(super) fn jobs_by_kind(written: &Written) -> BTreeMap<String, f64> {
    let kinds = [
        written.flushes,
        written.compactions,
        written.gear_compactions,
        written.trivial_moves,
        written.delete_only_compactions,
    ];
    JOB_KINDS.map(str::to_owned).into_iter().zip(kinds.map(|count| count as f64)).collect()
}
