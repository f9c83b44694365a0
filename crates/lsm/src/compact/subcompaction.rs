//! Subcompactions: cuts a merge into ranges of keys with about equal bytes of input.
//!
//! - A subcompaction reads at most about the bytes of [`TABLES_MAX`] tables. If space is short, it
//!   reads less, down to about the bytes of [`TABLES_MIN`] tables.
//! - With several workers, the number of subcompactions is raised to a multiple of theirs, if each
//!   keeps about the bytes of [`TABLES_MIN`] tables.
//! - No cut lies within a range that the plan moves without reading it.
//!
//! The cuts are estimated from the indexes of the tables. [`Load`] estimates how much a
//! subcompaction reads. Any thread; its caller holds no lock, because the indexes may have to be
//! read from the device. Nothing is written.

use terrace_env::{ByteCount, Cause};
use terrace_policy::{Key, Merge, Span};

use crate::Error;
use crate::tree::Segment;
use crate::tree::Version;

/// The fewest tables in a subcompaction of a merge that workers share.
const TABLES_MIN: u64 = 4;
/// The most tables in a subcompaction, approximately. Each subcompaction ends with a table that is
/// cut short, and tables above it later overlap one table more. A merge of one table with ten stays
/// whole. In `geardb/fig3` at 1/16 (`leveldb-greedy`, commit 8119541), compaction wrote 19.8 bytes
/// for each byte that clients wrote with at most 4 tables in a subcompaction, and 18.1 with 16.
const TABLES_MAX: u64 = 16;
/// Divisor of the free space for the most that a subcompaction takes before it frees any, except
/// for [`TABLES_MIN`] tables.
const FREE_PART: u64 = 16;
/// Number of pieces that a subcompaction's share of one table is divided into.
const PIECES: u64 = 16;

/// A piece of a merge's keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subcompaction {
    /// `None`: the first key.
    pub(crate) start: Option<Key>,
    /// `None`: after the last key.
    pub(crate) end: Option<Key>,
}

impl Subcompaction {
    /// The part of a range in the subcompaction, if there is one.
    pub(crate) fn clip(&self, span: &Span) -> Option<Span> {
        let start = self.start.as_ref().map_or(&span.start, |start| start.max(&span.start));
        let end = self.end.as_ref().map_or(&span.end, |end| end.min(&span.end));
        let clipped = Span { start: start.clone(), end: end.clone() };
        (!clipped.is_empty()).then_some(clipped)
    }
}

/// Estimate of the bytes that a merge reads of some tables, from their indexes. It is not too low
/// if the entries of a table are of about equal size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) entries: u64,
    /// Bytes of values and of keys with trailers.
    pub(crate) plain: u64,
}

impl Load {
    /// Adds the contents of a segment.
    pub(crate) fn add(&mut self, segment: &Segment) -> Result<(), Error> {
        let table = segment.table.table(Cause::Compaction)?;
        let (whole, properties) = (table.data_end().max(1), table.properties());
        let is_whole = segment.size >= segment.table.size();
        let bytes = if is_whole {
            whole
        } else {
            table.blocks_of(&segment.span, Cause::Compaction)?.0.min(whole)
        };
        let share = |of: u64| (u128::from(of) * u128::from(bytes)).div_ceil(u128::from(whole));
        self.entries += share(properties.entries) as u64;
        self.plain += share(properties.plain_bytes) as u64;
        Ok(())
    }
}

/// Half of the bytes of a piece of a table, at either end of it.
///
/// A cut goes through pieces of most of the merge's runs. Pieces that are counted whole at their
/// end would all belong to the subcompaction after the cut, and the first subcompactions would be
/// larger than the others, the more runs there are. Counted by halves, the bytes before a cut are
/// right on average.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Half {
    at: Key,
    bytes: u64,
}

/// The subcompactions of a merge, in key order; at least one.
pub(crate) fn cut(
    version: &Version,
    merge: &Merge,
    workers: usize,
    free: ByteCount,
) -> Result<Vec<Subcompaction>, Error> {
    let table_size = merge.routes.iter().map(|route| route.cut.size.0).min().unwrap_or(0).max(1);
    let parts = merge.inputs.iter().flat_map(|i| i.parts.iter().map(|part| (i.place, part)));
    let segments = parts.map(|(place, part)| version.part(place, part));
    let segments: Vec<Segment> = segments.collect::<Result<_, _>>()?;
    let total: u64 = segments.iter().map(|segment| segment.size.0).sum();
    let count = count(total, table_size, workers as u64, free.0);
    if count == 1 {
        return Ok(vec![Subcompaction::default()]);
    }
    let mut halves = Vec::new();
    for Segment { table, span, .. } in segments {
        let table = table.table(Cause::Compaction)?;
        let mut start = span.start.clone();
        for (end, ByteCount(bytes)) in table.pieces(&span, ByteCount(total / count / PIECES))? {
            halves.push(Half { at: std::mem::replace(&mut start, end.clone()), bytes: bytes / 2 });
            halves.push(Half { at: end, bytes: bytes - bytes / 2 });
        }
    }
    halves.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(sweep(&halves, count, |key| {
        merge.moves.iter().any(|one| &one.part.span.start < key && key < &one.part.span.end)
    }))
}

/// Number of subcompactions for `total` bytes: equal for each worker, unless they would be too
/// small.
fn count(total: u64, table_size: u64, workers: u64, free: u64) -> u64 {
    let (least, most) =
        (table_size.saturating_mul(TABLES_MIN), table_size.saturating_mul(TABLES_MAX));
    let wanted = total.div_ceil((free / FREE_PART).clamp(least, most)).max(1);
    let even = wanted.next_multiple_of(workers.max(1));
    even.min(total / least).max(1)
}

/// Goes through the halves in key order, and ends a subcompaction when its share is full.
fn sweep(halves: &[Half], count: u64, within_move: impl Fn(&Key) -> bool) -> Vec<Subcompaction> {
    let total: u64 = halves.iter().map(|half| half.bytes).sum();
    let (mut subcompactions, mut start, mut seen) = (Vec::new(), None, 0);
    let (first, last) = (halves.first().map(|half| &half.at), halves.last().map(|half| &half.at));
    for (at, half) in halves.iter().enumerate() {
        seen += half.bytes;
        let next = subcompactions.len() as u64 + 1;
        let full = u128::from(seen) * u128::from(count) >= u128::from(total) * u128::from(next);
        let together = halves.get(at + 1).is_some_and(|behind| behind.at == half.at);
        let inner = Some(&half.at) != first && Some(&half.at) != last;
        if full && next < count && !together && inner && !within_move(&half.at) {
            let end = Some(half.at.clone());
            subcompactions.push(Subcompaction { start, end: end.clone() });
            start = end;
        }
    }
    subcompactions.push(Subcompaction { start, end: None });
    debug_assert!(subcompactions.len() as u64 <= count, "{subcompactions:?} are more than {count}");
    debug_assert!(
        subcompactions.iter().all(|one| one.start < one.end || one.end.is_none()),
        "each subcompaction has keys: {subcompactions:?}"
    );
    subcompactions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The halves of pieces, each with its start, its end and its bytes.
    fn halves(pieces: &[(&str, &str, u64)]) -> Vec<Half> {
        let half = |at: &str, bytes: u64| Half { at: at.as_bytes().into(), bytes };
        let of = |(start, end, bytes): &(&str, &str, u64)| {
            [half(start, bytes / 2), half(end, bytes - bytes / 2)]
        };
        let mut halves: Vec<Half> = pieces.iter().flat_map(of).collect();
        halves.sort_by(|a, b| a.at.cmp(&b.at));
        halves
    }

    fn ends(subcompactions: &[Subcompaction]) -> Vec<&str> {
        let text = |key: &'_ Key| std::str::from_utf8(key).unwrap().to_owned().leak() as &str;
        subcompactions
            .iter()
            .filter_map(|subcompaction| subcompaction.end.as_ref())
            .map(text)
            .collect()
    }

    #[test]
    fn small_merges_are_one_subcompaction_and_large_ones_as_many_for_each_worker() {
        let (plenty, half, little) = (1 << 20, 16 * 80, 16 * 10);
        for (total, workers, free, subcompactions) in [
            (0, 2, plenty, 1),
            (79, 2, plenty, 1),
            (80, 2, plenty, 2),
            (119, 4, plenty, 2),
            (160, 1, plenty, 1),
            (161, 1, plenty, 2),
            (200, 2, plenty, 2),
            (400, 2, plenty, 4),
            (1_600, 4, plenty, 12),
            (1_600, 1, plenty, 10),
            (1_600, 1, half, 20),
            (1_600, 1, little, 40),
            (1_600, 1, 0, 40),
        ] {
            let of = format!("{total} bytes, {workers} workers, {free} free");
            assert_eq!(count(total, 10, workers, free), subcompactions, "{of}");
        }
    }

    #[test]
    fn subcompactions_are_about_equal_and_hold_everything() {
        let runs = [("a", "c", 40), ("c", "e", 40), ("e", "g", 40), ("b", "d", 40), ("d", "z", 80)];
        let subcompactions = sweep(&halves(&runs), 3, |_| false);
        assert_eq!(ends(&subcompactions), ["c", "e"]);
        assert_eq!(subcompactions[1].start, subcompactions[0].end);
        assert!(subcompactions[0].start.is_none() && subcompactions[2].end.is_none());
    }

    #[test]
    fn a_first_subcompaction_is_no_larger_than_the_others_however_many_runs_there_are() {
        // Runs of ten pieces of ten keys each. Each run begins a key later than the one before.
        let runs = 10;
        let key = |at: u64| format!("{at:04}");
        let texts: Vec<(String, String)> = (0..runs)
            .flat_map(|run| (0..10).map(move |at| (run + at * 10, run + at * 10 + 10)))
            .map(|(start, end)| (key(start), key(end)))
            .collect();
        let pieces: Vec<(&str, &str, u64)> =
            texts.iter().map(|(start, end)| (&start[..], &end[..], 100)).collect();
        let subcompactions = sweep(&halves(&pieces), 5, |_| false);
        // Ten bytes of each run to a key, where all runs have keys.
        let bytes = |subcompaction: &Subcompaction| -> u64 {
            let number = |key: &Key| std::str::from_utf8(key).unwrap().parse::<u64>().unwrap();
            let (start, end) =
                (subcompaction.start.as_ref().map_or(0, number), subcompaction.end.as_ref());
            let end = end.map_or(200, number);
            let of_run = |run: u64| end.min(run + 100).saturating_sub(start.max(run)) * 10;
            (0..runs).map(of_run).sum()
        };
        let sizes: Vec<u64> = subcompactions.iter().map(bytes).collect();
        assert_eq!(sizes.iter().sum::<u64>(), 10_000);
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(*least >= 1_700 && *most <= 2_300, "{sizes:?}");
    }

    #[test]
    fn no_subcompaction_ends_within_what_moves_or_at_either_end_of_all() {
        let all = halves(&[
            ("a", "b", 10),
            ("b", "c", 30),
            ("c", "d", 40),
            ("d", "f", 40),
            ("f", "z", 80),
        ]);
        assert_eq!(ends(&sweep(&all, 2, |_| false)), ["d"]);
        assert_eq!(ends(&sweep(&all, 2, |key| &key[..] == b"d")), ["f"]);
        assert_eq!(ends(&sweep(&all, 2, |key| key[..] >= b"d"[..])), [""; 0]);
        assert_eq!(ends(&sweep(&all, 100, |_| false)), ["b", "c", "d", "f"]);
        assert_eq!(sweep(&[], 2, |_| false).len(), 1);
    }
}
