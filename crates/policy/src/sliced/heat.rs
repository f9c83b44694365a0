//! Where the sweep goes on: at its pointer, or in a part of the keys that has got much more new
//! data. See step 9 of [sliced compaction](super).
//!
//! A sweep rewrites all parts of the last level equally often. If some of them get more new data
//! than others, that is not the cheapest way. With `a` bytes of new data for a byte of a part of
//! the last level and unit of time, and a time `T` between two visits, the part's `L` bytes are
//! rewritten at a rate of `L / T`, and on average `a L T / 2` bytes of it are in the tiers. For
//! given bytes in the tiers, least is rewritten if `T` falls with the root of `a`: so where `a T`,
//! upper bytes over bytes of the last level, times the age `T` is the same at each visit. This
//! product is the *heat* of a part. If a tenth of the keys gets nine tenths of the writes, the
//! sweep then rewrites 0.36 of the bytes that it would rewrite in turn.
//!
//! 1. The last level is divided in key order into stretches of about two zones. One begins at the
//!    pointer.
//! 2. The age of a stretch is told by the ids of its tables, which rise.
//! 3. The sweep goes on at the pointer, unless the stretch there has less than [`JUMP_BELOW`] of
//!    the heat of the hottest one. Then it goes on where the stretches around the hottest one begin
//!    to have as much. The last few tables of all are not left out: alone, they are hot or cold by
//!    chance.
//!
//! Where writes are spread evenly, the stretch at the pointer is the oldest, and the sweep never
//! jumps. A jump leaves two zones in part rewritten, so that a small difference is no reason: a
//! tenth of the heat is about a third of the age.
//!
//! Pure; threads: any.

use terrace_env::ByteCount;

use super::debts::hidden_by_tombstone;
use crate::tree::{Key, SegmentView, Segments, Span, TreeView};

/// The sweep jumps if the next stretch has less than this of the heat of the hottest one.
const JUMP_BELOW: f64 = 0.1;
/// At least this many zones make a stretch, so that most zones are passed over as a whole.
const STRETCH_ZONES: u64 = 2;
/// The last level is divided into about this many stretches at most.
const STRETCHES_MAX: u64 = 256;

/// A part of the last level, in key order.
struct Stretch {
    /// It reaches to the next one. The first one also has the keys before, and the last one those
    /// after.
    start: Key,
    bytes: f64,
    /// Sum over its tables: bytes, times the tables that were made since.
    aged: f64,
    /// Bytes of the tiers in it, and those that their tombstones hide.
    upper: f64,
}

impl Stretch {
    fn heat(&self) -> f64 {
        let bytes = self.bytes.max(1.0);
        self.upper / bytes * (self.aged / bytes)
    }
}

/// The key at which the sweep goes on, if not at its pointer. All tiers count, also those that a
/// slice leaves out: the merge of one into the next goes by steps, and moves bytes of a part of the
/// keys first.
pub(super) fn jump(
    tree: &TreeView,
    deepest: usize,
    pointer: &[u8],
    zone: ByteCount,
) -> Option<Key> {
    let tables = tree.runs(deepest + 1).last()?.segments.as_slice();
    let (mut stretches, next) = divide(tables, pointer, zone)?;
    let hidden = hidden_by_tombstone(tree, deepest + 1);
    for run in (0..=deepest).flat_map(|level| tree.runs(level)) {
        run.segments.iter().for_each(|segment| add(&mut stretches, segment, hidden));
    }
    let heats: Vec<f64> = stretches.iter().map(Stretch::heat).collect();
    let hottest = (0..heats.len()).max_by(|a, b| heats[*a].total_cmp(&heats[*b]))?;
    debug_assert!(heats.iter().all(|heat| heat.is_finite() && *heat >= 0.0), "{heats:?}");
    debug_assert!(next < stretches.len(), "stretch {next} of {}", stretches.len());
    let is_hot = |at: &usize| heats[*at] >= JUMP_BELOW * heats[hottest];
    if is_hot(&next) || stretches[next].bytes < stretches[hottest].bytes / 2.0 {
        return None;
    }
    let first = (0..=hottest).rev().take_while(is_hot).last()?;
    Some(stretches.swap_remove(first).start)
}

/// Steps 1 and 2: the stretches, without bytes of the tiers, and which of them begins at the
/// pointer.
fn divide(tables: Segments<'_>, pointer: &[u8], zone: ByteCount) -> Option<(Vec<Stretch>, usize)> {
    let all: u64 = tables.iter().map(|table| table.size.0).sum();
    let newest = tables.iter().map(|table| table.file.0).max()?;
    let least = (STRETCH_ZONES * zone.0).max(all / STRETCHES_MAX);
    let at = tables.partition_point(|table| &table.span.end[..] <= pointer);
    let at = if at == tables.len() { 0 } else { at };
    let (mut stretches, mut next): (Vec<Stretch>, usize) = (Vec::new(), 0);
    for (index, table) in tables.iter().enumerate() {
        let is_full = stretches.last().is_none_or(|stretch| stretch.bytes >= least as f64);
        if is_full || index == at {
            let start = table.span.start.clone();
            stretches.push(Stretch { start, bytes: 0.0, aged: 0.0, upper: 0.0 });
        }
        if index == at {
            next = stretches.len() - 1;
        }
        let stretch = stretches.last_mut()?;
        stretch.bytes += table.size.0 as f64;
        stretch.aged += table.size.0 as f64 * (newest - table.file.0 + 1) as f64;
    }
    let is_small = stretches.last().is_some_and(|last| last.bytes < least as f64 / 2.0);
    if is_small && next + 1 < stretches.len() && stretches.len() > 1 {
        let small = stretches.pop()?;
        let before = stretches.last_mut()?;
        before.bytes += small.bytes;
        before.aged += small.aged;
    }
    Some((stretches, next))
}

/// Adds a segment of a tier to the stretches in which it lies.
fn add(stretches: &mut [Stretch], segment: &SegmentView, hidden: f64) {
    let weight = 1.0 + segment.tombstones as f64 * hidden / (segment.size.0 as f64).max(1.0);
    let Span { start, end } = &segment.span;
    let first = stretches.partition_point(|stretch| stretch.start <= *start).saturating_sub(1);
    let behind = stretches.partition_point(|stretch| stretch.start < *end).max(first + 1);
    for at in first..behind {
        let from = if at == first { start } else { &stretches[at].start };
        let to = if at + 1 == behind { end } else { &stretches[at + 1].start };
        let span = Span { start: from.clone(), end: to.clone() };
        stretches[at].upper += weight * segment.even_share(&span).0 as f64;
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::FileId;

    use super::*;
    use crate::histogram::Histogram;
    use crate::tree::{LevelView, RunId, RunView};

    fn table(number: u16, tables: u16, size: u64) -> SegmentView {
        SegmentView {
            file: FileId(u64::from(number) + 1),
            span: Span::new(number.to_be_bytes(), (number + tables).to_be_bytes()),
            size: ByteCount(size),
            entries: 1,
            tombstones: 0,
            set: None,
            histogram: Histogram::default(),
        }
    }

    fn level(tables: impl Iterator<Item = SegmentView>) -> LevelView {
        LevelView { runs: vec![RunView { id: RunId(1), segments: tables.collect() }] }
    }

    #[test]
    fn however_large_the_last_level_is_its_stretches_are_limited() {
        for tables in [2000, 20_000] {
            let last = level((0..tables).map(|number| table(number, 1, 100)));
            let zone = ByteCount(1);
            let (stretches, next) = divide(last.runs[0].segments.as_slice(), &[], zone).unwrap();
            assert_eq!(next, 0);
            let most = STRETCHES_MAX as usize + 1;
            assert!((most / 2..=most).contains(&stretches.len()), "{}", stretches.len());
            let bytes: f64 = stretches.iter().map(|stretch| stretch.bytes).sum();
            assert_eq!(bytes, f64::from(tables) * 100.0);
        }
    }

    #[test]
    fn the_sweep_jumps_to_new_data_unless_the_last_few_tables_are_next() {
        // Four stretches of ten tables. All new data is in the second one.
        let upper = level(std::iter::once(table(10, 10, 500)));
        let last = level((0..40).map(|number| table(number, 1, 10)));
        let tree = TreeView { levels: vec![upper, last] };
        let jump = |pointer: u16| jump(&tree, 0, &pointer.to_be_bytes(), ByteCount(50));
        let hot = 10_u16.to_be_bytes();
        assert_eq!(jump(20).as_deref(), Some(&hot[..]));
        assert_eq!(jump(30).as_deref(), Some(&hot[..]));
        assert_eq!(jump(36), None, "four tables are left");
        assert_eq!(jump(10), None, "it is there");
    }
}
