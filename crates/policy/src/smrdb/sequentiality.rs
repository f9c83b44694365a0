//! The sequentiality metric: how much of a band's content would stay in place if everything in the
//! tree were reordered (the thesis that `smrdb` names, section 3.2.3, "Compactions"). A band is a
//! table.
//!
//! 1. Every band is divided into parts of equal bytes by its [`Histogram`](crate::Histogram). Where
//!    in a part the bytes lie is not known: half of them count at either end of it.
//! 2. Of a part of `w` bytes, into whose range of keys other bands bring `f` bytes, the share
//!    `w / (w + f)` counts as staying in place.
//! 3. The sequentiality of a band is the mean of its parts: from 0 to 1, and 1 if no bytes of
//!    another band count within its range.
//!
//! So a band with one far key loses one part. If the ranges of whole bands were compared, it would
//! lose all of them.
//!
//! A band without a histogram, such as one of another system, is one part. All bands of all levels
//! count, also those of level 0.
//!
//! The gain of histograms depends on the load. The golden `metrics-bands.txt` has replays of 500
//! bands with and without them:
//!
//! | load | bytes written for one, with and without | tables to a key, with and without |
//! |---|---|---|
//! | random keys | 9.04, 8.18 | 6.8, 9.3 |
//! | 95 % of writes to 1 % of the keys | 4.12, 4.59 | 4.4, 6.1 |
//! | in order, but one key in forty is any | 6.65, 6.16 | 3.0, 2.4 |
//!
//! - Random keys: more is written for fewer tables to a key. With histograms and 40 overlaps as the
//!   trigger both are smaller than without histograms: 7.47 and 8.3.
//! - Hot keys: both are smaller. Most bytes of a band lie in a small part of its range, which a
//!   range alone does not show.
//! - Far keys: both are larger. A band with one far key overlaps all bands up to it and is merged
//!   because of that sooner or later, but its score is high, so that others are merged before it.
//!
//! Cost: of each histogram only every n-th boundary is used, so that all together have about
//! [`BOUNDARIES_MAX`] at most.

use std::ops::Range;

use crate::tree::{SegmentView, TreeView};

/// The most keys that are sorted: that takes some tens of milliseconds, a merge of bands seconds.
const BOUNDARIES_MAX: usize = 1 << 16;

/// A key at which bytes lie: after it, or, for the end of a segment, before it.
type Point<'a> = (&'a [u8], Side);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Front,
    Behind,
}

/// Where the bytes of a tree lie.
pub(super) struct Density<'a> {
    /// Keys at which bytes lie, in order.
    points: Vec<Point<'a>>,
    /// The bytes before each of these keys; and the bytes of all.
    before: Vec<f64>,
    /// Of a histogram each boundary of this number is used.
    step: usize,
}

/// The boundaries of a segment that are used, its ends not among them.
fn boundaries(segment: &SegmentView, step: usize) -> impl Iterator<Item = &[u8]> {
    let (start, end) = (&segment.span.start[..], &segment.span.end[..]);
    let every = segment.histogram.keys().skip(step - 1).step_by(step);
    every.filter(move |key| start < *key && *key < end)
}

impl<'a> Density<'a> {
    pub(super) fn of(tree: &'a TreeView) -> Self {
        let runs = || tree.levels.iter().flat_map(|level| &level.runs);
        let segments = || runs().flat_map(|run| run.segments.iter());
        let count: usize = segments().map(|segment| segment.histogram.keys().count() + 2).sum();
        let step = count.div_ceil(BOUNDARIES_MAX).max(1);
        let mut points: Vec<(Point<'_>, f64)> = Vec::new();
        for segment in segments() {
            let part = part_bytes(segment, step);
            points.push(((&segment.span.start, Side::Behind), part / 2.0));
            points.extend(boundaries(segment, step).map(|key| ((key, Side::Behind), part)));
            points.push(((&segment.span.end, Side::Front), part / 2.0));
        }
        points.sort_by_key(|(point, _)| *point);
        let mut sum = 0.0;
        let sums = points.iter().map(|(_, bytes)| {
            let before = sum;
            sum += bytes;
            before
        });
        let mut before: Vec<f64> = sums.collect();
        before.push(sum);
        debug_assert_eq!(before.len(), points.len() + 1, "the bytes before each key, and of all");
        Self { points: points.into_iter().map(|(point, _)| point).collect(), before, step }
    }

    /// The bytes from `start` up to, and without, `end`.
    fn within(&self, Range { start, end }: Range<&[u8]>) -> f64 {
        let before = |key: &[u8]| {
            let point = (key, Side::Behind);
            self.before[self.points.partition_point(|other| *other < point)]
        };
        before(end) - before(start)
    }

    /// The sequentiality of a segment of the tree.
    pub(super) fn sequentiality(&self, segment: &SegmentView) -> f64 {
        let part = part_bytes(segment, self.step).max(f64::MIN_POSITIVE);
        let last = &segment.span.end[..];
        let (mut start, mut parts, mut stays) = (&segment.span.start[..], 0.0, 0.0);
        for end in boundaries(segment, self.step).chain([last]) {
            // Its own bytes: half a part at its start, one at each boundary, half a part at its
            // end.
            let at_start = if parts == 0.0 { part / 2.0 } else { part };
            let at_end = if end == last { part / 2.0 } else { 0.0 };
            let others = (self.within(start..end) - at_start - at_end).max(0.0);
            stays += part / (part + others);
            parts += 1.0;
            start = end;
        }
        debug_assert!(0.0 <= stays && stays <= parts, "{stays} of {parts} parts");
        stays / parts
    }
}

/// The bytes of a part of a segment.
fn part_bytes(segment: &SegmentView, step: usize) -> f64 {
    segment.size.0 as f64 / (boundaries(segment, step).count() + 1) as f64
}

#[cfg(test)]
mod tests {
    use terrace_env::{ByteCount, FileId};

    use super::*;
    use crate::Histogram;
    use crate::tree::{LevelView, RunId, RunView, Span};

    /// A band of 100 bytes, with its start, its boundaries and its end.
    fn band(keys: &str) -> SegmentView {
        let keys: Vec<&str> = keys.split(' ').collect();
        let inner = keys[1..keys.len() - 1].iter().map(|key| key.as_bytes());
        SegmentView {
            file: FileId(1),
            span: Span::new(keys[0].as_bytes(), keys[keys.len() - 1].as_bytes()),
            size: ByteCount(100),
            entries: 100,
            tombstones: 0,
            set: None,
            histogram: Histogram::new(inner),
        }
    }

    fn scores(bands: &[&str]) -> Vec<f64> {
        let run = |(id, keys): (u64, &&str)| RunView {
            id: RunId(id),
            segments: [band(keys)].into_iter().collect(),
        };
        let runs = (1..).zip(bands).map(run).collect();
        let tree = TreeView { levels: vec![LevelView { runs }] };
        let density = Density::of(&tree);
        let all = tree.levels[0].runs.iter();
        all.map(|run| density.sequentiality(&run.segments[0])).collect()
    }

    #[test]
    fn a_band_that_no_other_band_brings_keys_into_has_the_highest_score() {
        assert_eq!(scores(&["a c e", "f h k", "k l m"]), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_same_keys_twice_are_half_as_sequential() {
        for score in scores(&["b d f h", "b d f h"]) {
            assert!((0.45..0.65).contains(&score), "{score}");
        }
    }

    #[test]
    fn one_far_key_takes_one_part_and_not_all() {
        // The first band has one part in which the others lie, the others lie in it whole.
        let [wide, within, _] = scores(&["a b c d z", "f g h k m", "n p q r s"])[..] else {
            panic!("three bands")
        };
        assert!((0.75..0.85).contains(&wide), "{wide}");
        assert!(within > wide, "{within}: nothing is known to lie between its keys");
    }

    #[test]
    fn more_bytes_of_others_make_a_band_less_sequential() {
        let one = scores(&["b d f h", "c e g"])[0];
        let two = scores(&["b d f h", "c e g", "c d e f"])[0];
        assert!(one > two && two > 0.2, "{one} {two}");
    }
}
