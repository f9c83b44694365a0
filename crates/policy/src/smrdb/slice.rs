//! [`Slice`]: a range of keys in which the newer runs of a level are merged into one, so that a
//! reader of these keys meets fewer bands. Slices are not of the thesis; nothing but
//! [`LoadAware`](crate::LoadAware) asks for them.
//!
//! 1. Runs are taken from the newest on: all of them, if that is worth it (step 3), or else all but
//!    the oldest, and so on.
//! 2. A slice begins at the first key at which a band of the others lies over one of the oldest run
//!    taken. It ends with a band, as soon as [`SLICE_TABLES`] bands of bytes lie in it, as far as
//!    histograms tell.
//! 3. It is merged if the oldest of these runs has at most [`OLDER_MAX`] times as many bytes in it
//!    as the others together. Otherwise the next slice is looked at, from the end of this one on.
//!
//! Bands that reach out of a slice are trimmed. As slices follow each other in key order, a band is
//! soon merged as a whole.
//!
//! Cost, with `q` for [`OLDER_MAX`]: when no slice is left, each run has more than `q`
//! times the bytes of all newer ones, wherever they overlap, as far as slices are no smaller. So in
//! a level of `D` bytes, which gets `F` at a time, a key lies in `1 + log(D / F) / log(1 + q)`
//! runs at most. A byte comes to an older run one time less than that, and each time at most `1 +
//! q` bytes are written for it.

use std::sync::Arc;

use terrace_env::ByteCount;

use super::bands::Level;
use crate::tree::{Key, RunView, Span};

/// Few, because level 0 waits for the running slice: 16 bands of 256 MiB take a disk 40
/// seconds, and meanwhile level 0 fills with memtables of 4 MiB. Not fewer, because bands are
/// trimmed at both ends of a slice. `docs/lab/arrivals.md` has the costs of 2, 4, 8 and 16.
const SLICE_TABLES: u64 = 4;

/// The most older bytes that are merged with a newer one: more than in a leveled row, because level
/// 0 comes in whole memtables. `docs/lab/arrivals.md` has its cost in `arrivals/low-rates`.
const OLDER_MAX: u64 = 8;

/// A slice that is to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) span: Span,
    /// How many runs, from the newest on.
    pub(super) runs: usize,
}

impl Slice {
    /// The first slice that is worth it; `None`: there is none.
    pub(super) fn first(level: &Level<'_>, table_size: ByteCount) -> Option<Self> {
        let most = table_size.0 * SLICE_TABLES;
        (2..=level.runs.len()).rev().find_map(|count| {
            let runs = &level.runs[..count];
            let (oldest, newer) = runs.split_last()?;
            let mut from: Key = Key::from(&[][..]);
            let bands = runs.iter().flat_map(|run| &run.segments);
            let mut ends: Vec<&Key> = bands.map(|band| &band.span.end).collect();
            ends.sort_unstable();
            loop {
                let start = first_overlap(runs, &from)?;
                let span = Span { end: end(runs, &ends, &start, most)?, start };
                debug_assert!(from <= span.start && !span.is_empty(), "{span:?} after {from:?}");
                let bytes =
                    |runs: &[RunView]| runs.iter().map(|run| within(run, &span)).sum::<u64>();
                if within(oldest, &span) <= OLDER_MAX * bytes(newer) {
                    return Some(Self { span, runs: count });
                }
                from = span.end;
            }
        })
    }
}

/// About how many bytes of a run lie in a range.
fn within(run: &RunView, span: &Span) -> u64 {
    run.overlapping(span).into_iter().map(|band| band.size_within(span).0).sum()
}

/// The first key, from this one on, at which a band of these runs lies over one of the last.
fn first_overlap(runs: &[RunView], from: &Key) -> Option<Key> {
    let (oldest, newer) = runs.split_last()?;
    let of = |run: &RunView| {
        let behind = run.segments.partition_point(|band| band.span.end <= *from);
        let bands = run.segments.slice(behind..run.segments.len());
        bands.into_iter().find_map(|band| {
            let start = Arc::clone((&band.span.start).max(from));
            let rest = Span { start, end: Arc::clone(&band.span.end) };
            let older = oldest.overlapping(&rest);
            older.first().map(|older| Arc::clone((&older.span.start).max(&rest.start)))
        })
    };
    newer.iter().filter_map(of).min()
}

/// The first end of a band up to which `most` bytes lie, or else the last end. `ends`: those of
/// all bands, in order.
fn end(runs: &[RunView], ends: &[&Key], start: &Key, most: u64) -> Option<Key> {
    let ends = &ends[ends.partition_point(|end| *end <= start)..];
    let is_too_near = |end: &&Key| {
        let span = Span { start: Arc::clone(start), end: Arc::clone(end) };
        runs.iter().map(|run| within(run, &span)).sum::<u64>() < most
    };
    // The end is near, so it is looked for in steps that double.
    let mut reach = 1;
    while reach < ends.len() && is_too_near(&ends[reach - 1]) {
        reach *= 2;
    }
    let at = ends[..reach.min(ends.len())].partition_point(is_too_near);
    ends.get(at).or(ends.last()).map(|end| Arc::clone(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::tree::{RunId, RunView, SegmentView};
    use terrace_env::FileId;

    /// A band of 100 bytes, a part to each letter of its range.
    fn band(keys: &str) -> SegmentView {
        let (start, end) = (keys.as_bytes()[0], keys.as_bytes()[1]);
        let inner: Vec<[u8; 1]> = (start + 1..end).map(|key| [key]).collect();
        SegmentView {
            file: FileId(1),
            span: Span::new(&[start][..], &[end][..]),
            size: ByteCount(100),
            entries: 100,
            tombstones: 0,
            set: None,
            histogram: Histogram::new(inner.iter().map(|key| &key[..])),
        }
    }

    /// The first slice of runs of bands, newest first.
    fn slice(runs: &[&str], table_size: u64) -> Option<Slice> {
        let run = |bands: &&str| bands.split(' ').map(band).collect();
        let ids = (1..=runs.len() as u64).rev().map(RunId);
        let runs: Vec<RunView> =
            ids.zip(runs.iter().map(run)).map(|(id, segments)| RunView { id, segments }).collect();
        Slice::first(&Level { number: 1, runs: &runs }, ByteCount(table_size))
    }

    /// A slice of `runs` runs.
    fn of(keys: &str, runs: usize) -> Option<Slice> {
        Some(Slice { span: Span::new(&keys.as_bytes()[..1], &keys.as_bytes()[1..]), runs })
    }

    #[test]
    fn a_slice_begins_where_bands_overlap_and_has_so_many_bytes() {
        let runs = ["ak ku", "ak ku"];
        assert_eq!(slice(&runs, 1000), of("au", 2));
        assert_eq!(slice(&runs, 51), of("au", 2), "204 bytes");
        assert_eq!(slice(&runs, 50), of("ak", 2), "200 bytes");
        assert_eq!(slice(&["ak ku", "ku"], 1000), of("ku", 2));
    }

    #[test]
    fn nothing_is_merged_where_nothing_overlaps_or_too_much_is_older() {
        assert_eq!(slice(&["ak ku"], 1000), None);
        assert_eq!(slice(&["ak", "ku"], 1000), None);
        assert_eq!(slice(&["au", "ac ce eg gi ik km mo oq qs su"], 1000), None);
        assert_eq!(slice(&["au", "af fk kp pu"], 1000), of("au", 2));
    }

    #[test]
    fn newer_runs_are_merged_with_each_other_where_the_oldest_one_has_too_much() {
        let oldest = "ab bc cd de ef fg gh hi ij jk kl lm mn no op pq qr rs st tu";
        assert_eq!(slice(&["au", "au", oldest], 1000), of("au", 2));
        assert_eq!(slice(&["au", "ac", oldest], 1), of("ab", 3));
    }
}
