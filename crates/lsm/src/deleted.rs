//! Estimate of the bytes of tables that deletes will free: [`deleted`].
//!
//! - A delete of a key counts as one entry of mean size, while it is in a memtable, or in a table
//!   that has an older table below it. It is not known whether the key has an older entry, so a
//!   delete of an absent key counts as well.
//! - A delete of a range counts as the bytes of older tables that it covers. If it covers a part of
//!   a table, the keys of the table are assumed to be evenly spread numbers. The range tombstones
//!   of a table count one by one while the table is open, otherwise as one range from the first to
//!   the last.
//! - Snapshots are not considered: the space that they keep counts, and is freed when they end.
//!
//! Nothing is read: memtables and the records of tables have all the facts. Any thread.

use terrace_env::ByteCount;
use terrace_policy::Span;

use crate::ranges::unite;
use crate::tree::{Segment, View};

/// Approximate bytes of tables that deletes hide. Compactions of the tables free them.
pub(crate) fn deleted(view: &View) -> ByteCount {
    let mut keys: u64 = view.memtables().map(|memtable| memtable.deletes()).sum();
    let (mut bytes, mut with_value) = (0, 0_u64);
    for (place, segment) in view.version.segments() {
        let (entries, tombstones) = segment.entries_and_tombstones();
        bytes += segment.size.0;
        with_value += entries.saturating_sub(tombstones);
        let mut older = view.version.places().filter(|(other, _)| other.age() > place.age());
        if tombstones > 0 && older.any(|(_, run)| !run.overlapping(&segment.span).1.is_empty()) {
            keys += tombstones;
        }
    }
    let of_keys = keys.saturating_mul(bytes / with_value.max(1));
    ByteCount(of_keys.saturating_add(in_ranges(view)).min(bytes))
}

/// Bytes of tables that newer range tombstones cover.
fn in_ranges(view: &View) -> u64 {
    let in_memory = view.memtables().flat_map(|memtable| memtable.ranges().iter());
    let mut covers = unite(in_memory.map(|range| range.span.clone()).collect());
    let mut bytes = 0;
    for (_, run) in view.version.places() {
        for cover in &covers {
            let covered = run.view();
            let covered = covered.overlapping(cover);
            bytes += covered.iter().map(|segment| segment.even_share(cover).0).sum::<u64>();
        }
        if run.has_ranges() {
            covers.extend(run.segments.iter().flat_map(range_tombstones));
            covers = unite(covers);
        }
    }
    bytes
}

/// The known spans of a segment's range tombstones.
fn range_tombstones(segment: &Segment) -> Vec<Span> {
    let Some(summary) = &segment.table.record().ranges else { return Vec::new() };
    match segment.table.glance() {
        Some(table) => table.ranges().within(&segment.span).map(|found| found.span).collect(),
        None => vec![summary.span.clone()],
    }
}
