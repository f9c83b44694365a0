//! Slices: a merge is cut into stretches of the key space of about equal bytes. They are carried
//! out by several workers at once and committed one after the other, front to back, each as an
//! instalment; so a large merge never holds all of its output beside all of its input.
//!
//! Each slice ends with a table that is cut short, half a one on average, and what lies above it
//! later overlaps one table more. With up to four tables, as at commit 8119541, compaction under
//! `leveldb-greedy` wrote 19.8 bytes for each in `geardb/fig3` at 1/16, with up to sixteen 18.1:
//! these hold a whole merge of one table with the ten below it. So slices are as large as that, as
//! long as an instalment may take the space.
//!
//! Where slices end follows from the indexes of the tables, the workers and, where it is short, the
//! free space. A merge of a few tables is one slice, and nothing is read for that.

use terrace_env::{ByteCount, Cause};
use terrace_policy::{Key, Merge, Span};

use crate::Error;
use crate::inputs::find;
use crate::run::Segment;
use crate::version::Version;

/// A merge is shared out among workers in slices of at least so many tables.
const TABLES_MIN: u64 = 4;
/// A slice has about as many at most.
const TABLES_MAX: u64 = 16;
/// And takes at most this part of what is free before it gives any back, but for
/// [`TABLES_MIN`] tables.
const FREE_PART: u64 = 16;
/// Into how many stretches a slice's share of one table is told apart.
const STRETCHES: u64 = 16;

/// A stretch of a merge's keys, and about what lies in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slice {
    /// `None`: from the first key on.
    pub(crate) start: Option<Key>,
    /// `None`: to the last key.
    pub(crate) end: Option<Key>,
    pub(crate) entries: u64,
    /// Bytes of keys with trailers and values.
    pub(crate) plain: u64,
}

impl Slice {
    /// What of a range lies in the slice, if anything does.
    pub(crate) fn clip(&self, span: &Span) -> Option<Span> {
        let start = self.start.as_ref().map_or(&span.start, |start| start.max(&span.start));
        let end = self.end.as_ref().map_or(&span.end, |end| end.min(&span.end));
        let clipped = Span { start: start.clone(), end: end.clone() };
        (!clipped.is_empty()).then_some(clipped)
    }
}

/// What lies in a table before a key, and behind the stretch before.
struct Stretch {
    end: Key,
    bytes: u64,
    entries: u64,
    plain: u64,
}

/// The slices of a merge, in key order; at least one.
pub(crate) fn cut(
    version: &Version,
    merge: &Merge,
    workers: usize,
    free: ByteCount,
) -> Result<Vec<Slice>, Error> {
    let table_size = merge.routes.iter().map(|route| route.cut.size.0).min().unwrap_or(0).max(1);
    let parts = merge.inputs.iter().flat_map(|i| i.parts.iter().map(|part| (i.place, part)));
    let segments = parts.map(|(place, part)| find(version, place, part));
    let segments: Vec<Segment> = segments.collect::<Result<_, _>>()?;
    let total: u64 = segments.iter().map(|segment| segment.size.0).sum();
    let count = count(total, table_size, workers as u64, free.0);
    let mut stretches = Vec::new();
    for segment in segments {
        let table = segment.table.table(Cause::Compaction)?;
        let (whole, properties) = (table.data_end().max(1), table.properties());
        let share = |of: u64, bytes: u64| {
            let of = u128::from(of) * u128::from(bytes.min(whole));
            of.div_ceil(u128::from(whole)) as u64
        };
        let of_table = match count {
            1 => vec![(segment.span.end.clone(), segment.size)],
            _ => table.stretches(&segment.span, ByteCount(total / count / STRETCHES))?,
        };
        for (end, ByteCount(bytes)) in of_table {
            let entries = share(properties.entries, bytes);
            let plain = share(properties.plain_bytes, bytes);
            stretches.push(Stretch { end, bytes, entries, plain });
        }
    }
    stretches.sort_by(|a, b| a.end.cmp(&b.end));
    Ok(sweep(&stretches, count, |key| {
        merge.moves.iter().any(|one| &one.part.span.start < key && key < &one.part.span.end)
    }))
}

/// How many slices so many bytes make: as many for each worker, where they are not too small.
fn count(total: u64, table_size: u64, workers: u64, free: u64) -> u64 {
    let (least, most) =
        (table_size.saturating_mul(TABLES_MIN), table_size.saturating_mul(TABLES_MAX));
    let wanted = total.div_ceil((free / FREE_PART).clamp(least, most)).max(1);
    let even = wanted.next_multiple_of(workers.max(1));
    even.min(total / least).max(1)
}

/// Goes through what lies in the tables, in key order, and ends a slice where its share is full.
fn sweep(stretches: &[Stretch], count: u64, within_move: impl Fn(&Key) -> bool) -> Vec<Slice> {
    let total: u64 = stretches.iter().map(|stretch| stretch.bytes).sum();
    let (mut slices, mut current, mut seen) = (Vec::new(), Slice::default(), 0);
    let last = stretches.last().map(|stretch| &stretch.end);
    for (at, stretch) in stretches.iter().enumerate() {
        seen += stretch.bytes;
        current.entries += stretch.entries;
        current.plain += stretch.plain;
        let next = slices.len() as u64 + 1;
        let full = u128::from(seen) * u128::from(count) >= u128::from(total) * u128::from(next);
        let together = stretches.get(at + 1).is_some_and(|behind| behind.end == stretch.end);
        if full && next < count && !together && Some(&stretch.end) != last {
            let end = stretch.end.clone();
            if !within_move(&end) {
                let start = Some(end.clone());
                slices.push(Slice { end: Some(end), ..current });
                current = Slice { start, ..Slice::default() };
            }
        }
    }
    slices.push(current);
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(ends: &[(&str, u64)]) -> Vec<Stretch> {
        let stretch = |(end, bytes): &(&str, u64)| {
            let (end, bytes) = (end.as_bytes().into(), *bytes);
            Stretch { end, bytes, entries: bytes / 10, plain: bytes * 2 }
        };
        ends.iter().map(stretch).collect()
    }

    fn ends(slices: &[Slice]) -> Vec<&str> {
        let text = |key: &'_ Key| std::str::from_utf8(key).unwrap().to_owned().leak() as &str;
        slices.iter().filter_map(|slice| slice.end.as_ref()).map(text).collect()
    }

    #[test]
    fn small_merges_are_one_slice_and_large_ones_as_many_for_each_worker() {
        let (plenty, half, little) = (1 << 20, 16 * 80, 16 * 10);
        for (total, workers, free, slices) in [
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
            assert_eq!(count(total, 10, workers, free), slices, "{of}");
        }
    }

    #[test]
    fn slices_are_about_equal_and_hold_everything() {
        let all = stretches(&[("b", 10), ("c", 30), ("d", 40), ("f", 40), ("g", 40), ("z", 80)]);
        let slices = sweep(&all, 3, |_| false);
        assert_eq!(ends(&slices), ["d", "g"]);
        assert_eq!(slices.iter().map(|slice| slice.plain).collect::<Vec<_>>(), [160, 160, 160]);
        assert_eq!(slices.iter().map(|slice| slice.entries).sum::<u64>(), 24);
        assert_eq!(slices[1].start, slices[0].end);
        assert!(slices[0].start.is_none() && slices[2].end.is_none());
    }

    #[test]
    fn no_slice_ends_within_what_moves_or_at_the_end_of_all() {
        let all = stretches(&[("b", 10), ("c", 30), ("d", 40), ("f", 40), ("z", 0), ("z", 80)]);
        assert_eq!(ends(&sweep(&all, 2, |_| false)), ["f"]);
        assert_eq!(ends(&sweep(&all, 2, |key| &key[..] == b"f")), [""; 0]);
        assert_eq!(ends(&sweep(&all, 100, |_| false)), ["b", "c", "d", "f"]);
        assert_eq!(sweep(&[], 2, |_| false).len(), 1);
    }
}
