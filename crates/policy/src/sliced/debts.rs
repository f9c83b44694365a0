//! [`Debts`]: how far the levels above the last one are over their limits. The furthest is merged
//! next, and writers are slowed by it. See steps 3 and 4 of [sliced compaction](super).
//!
//! A debt is 1 at its limit. Writers are slowed from [`SLOW`] on, and no debt should exceed
//! [`STOP`].
//!
//! - *A tier above the deepest*: its runs / `runs`. While a merge of it is unfinished: 1 + the runs
//!   that have come since / `runs`.
//! - *Runs* of the deepest tier: its runs / `tier_most`.
//! - *Bytes*: those of all levels above the last, over `share` percent of the last level, or over
//!   the runs of two tiers in a small store. A slice is a small step, so this is held closely: a
//!   tenth over the limit counts like twice the runs of a tier. A tombstone counts as an entry of
//!   the last level, which it hides: both are garbage of the same size, one above and one below.
//! - *Zones*: where zones are few, slices go on although the bytes are below their limit. The fewer
//!   free zones, the greater the debt: it is 1 at [`Band::low`], and [`STOP`] where the next
//!   memtable might have to wait. A sweep that has little to merge is not due for zones
//!   ([`SWEEP_MOST`]).
//!
//! Pure; threads: any.

use terrace_env::ByteCount;

use super::SlicedOptions;
use crate::compaction::Pressure;
use crate::reclaim::Supply;
use crate::tree::{SegmentView, TreeView};

/// Debt from which on writers are slowed.
const SLOW: f64 = 2.0;
/// No debt should exceed this.
const STOP: f64 = 3.0;

/// A debt of bytes grows by one with each such part of their limit.
const BYTES_OVER: f64 = 0.1;

/// Slices are not due for zones where the last level has more than this times the bytes of the
/// levels above it: a sweep would write about as many bytes for each one that it gives back.
const SWEEP_MOST: f64 = 64.0;

/// The greatest pressure by bytes: writers go half as fast as compaction, so the debt falls. A
/// store that was written under another system may begin with many times the limit.
const BYTES_PRESSURE_MAX: f64 = 1.0;
/// The greatest pressure by zones.
const ZONES_PRESSURE_MAX: f64 = 2.0;

/// The band in which slices go on for zones is this part of all zones at most, and one: a drive of
/// few zones would be swept all the time.
const BAND_PART: u32 = 64;

/// Slices take their part of the deepest levels that have this share of the bytes above the last.
const TAKEN_LEAST: f64 = 0.9;
/// They also take that of a level whose runs have at least this part of a slice in each slice: to
/// read it is worth a request.
const PIECE_PART: f64 = 512.0;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Debts {
    /// Debt of each tier above the deepest.
    tiers: Vec<f64>,
    /// Runs of such a tier at its limit.
    tier_runs: f64,
    runs: f64,
    bytes: f64,
    zones: f64,
}

impl Debts {
    pub(super) fn of(
        tree: &TreeView,
        deepest: usize,
        options: &SlicedOptions,
        supply: Option<Supply>,
    ) -> Self {
        let runs_of = |level: usize| tree.runs(level).len() as f64;
        let tier_runs = options.tiers.runs as f64;
        let tiers = (0..deepest).map(|level| runs_of(level) / tier_runs).collect();
        let last = size(tree, deepest + 1);
        let hidden = hidden_by_tombstone(tree, deepest + 1);
        let upper: f64 = (0..=deepest).map(|level| weight(tree, level, hidden)).sum();
        let first_tier = options.memtable_size.0 as f64 * 2.0 * tier_runs;
        let table = options.tiers.table_size.0 as f64;
        let limit = (last * options.share as f64 / 100.0).max(first_tier).max(table);
        let over = upper / limit;
        let bytes = if over < 1.0 { over } else { 1.0 + (over - 1.0) / BYTES_OVER };
        let is_of_use = upper > 0.0 && upper * SWEEP_MOST >= last;
        let zones = supply.filter(|_| is_of_use).map_or(0.0, |supply| {
            let Band { low, least } = Band::of(options, supply.zones);
            1.0 + (low - f64::from(supply.spare)) * (STOP - 1.0) / (low - least)
        });
        let runs = runs_of(deepest) / options.tier_most as f64;
        debug_assert!(
            bytes.is_finite() && bytes >= 0.0 && zones.is_finite() && runs >= 0.0,
            "{bytes} of bytes, {zones} of zones, {runs} of runs"
        );
        Self { tiers, tier_runs, runs, bytes, zones }
    }

    /// The levels that are due, the one with the greatest debt first; of equals the upper one.
    /// `since`: how many runs have come into a tier since its merge began, if one has.
    pub(super) fn due(&self, since: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
        let of_tier = |(level, debt): (usize, &f64)| match since(level) {
            Some(runs) => 1.0 + runs as f64 / self.tier_runs,
            None => *debt,
        };
        let tiers = self.tiers.iter().enumerate().map(of_tier);
        let upper = self.runs.max(self.bytes).max(self.zones);
        let debts = tiers.chain([upper]).enumerate();
        let mut due: Vec<(usize, f64)> = debts.filter(|(_, debt)| *debt >= 1.0).collect();
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        due.into_iter().map(|(level, _)| level).collect()
    }

    /// How far writers are slowed by the debts of slices.
    pub(super) fn pressure(&self) -> Pressure {
        let of = |debt, most: f64| Pressure::of(debt, SLOW, STOP).0.min(most);
        let of_runs = of(self.runs, Pressure::MATCH.0);
        let of_bytes = of(self.bytes, BYTES_PRESSURE_MAX);
        Pressure(of_runs.max(of_bytes).max(of(self.zones, ZONES_PRESSURE_MAX)))
    }
}

/// Numbers of free zones for new data between which slices go on for zones.
struct Band {
    /// Slices begin to be due.
    low: f64,
    /// The next memtable, or its log, might have to wait.
    least: f64,
}

impl Band {
    fn of(options: &SlicedOptions, zones: u32) -> Self {
        let zone = options.zone_capacity.0.max(1);
        let filled = |bytes: ByteCount| bytes.0.div_ceil(zone) as f64;
        // The flush and the log each set aside the zones that a memtable fills, and one more.
        let least = 2.0 * (filled(options.memtable_size) + 1.0);
        // The slice that is being merged does, too. Two more zones leave time to slow writers.
        let band = filled(options.slice) + 1.0 + 2.0;
        Self { low: least + band.min(1.0 + f64::from(zones / BAND_PART)), least }
    }
}

fn size(tree: &TreeView, level: usize) -> f64 {
    tree.runs(level).iter().map(|run| run.size().0).sum::<u64>() as f64
}

/// Bytes of the last level that a tombstone hides: those of an entry, on average.
pub(super) fn hidden_by_tombstone(tree: &TreeView, last: usize) -> f64 {
    let entries: u64 = segments(tree, last).map(|segment| segment.entries).sum();
    size(tree, last) / entries.max(1) as f64
}

/// The bytes of a level, and those that its tombstones hide.
fn weight(tree: &TreeView, level: usize, hidden: f64) -> f64 {
    let tombstones: u64 = segments(tree, level).map(|segment| segment.tombstones).sum();
    size(tree, level) + tombstones as f64 * hidden
}

fn segments(tree: &TreeView, level: usize) -> impl Iterator<Item = &SegmentView> {
    tree.runs(level).iter().flat_map(|run| run.segments.iter())
}

/// The uppermost level that a slice takes its part of.
pub(super) fn top_of_slice(tree: &TreeView, deepest: usize, slice: ByteCount) -> usize {
    let hidden = hidden_by_tombstone(tree, deepest + 1);
    let weight = |level| weight(tree, level, hidden);
    let upper: f64 = (0..=deepest).map(weight).sum();
    let slices = (upper + size(tree, deepest + 1)) / slice.0 as f64;
    let piece_least = slice.0 as f64 / PIECE_PART;
    let mut taken = 0.0;
    for level in (0..=deepest).rev() {
        let runs = tree.runs(level).len() as f64;
        let is_large = runs > 0.0 && weight(level) / runs / slices.max(1.0) >= piece_least;
        if taken >= upper * TAKEN_LEAST && !is_large {
            return level + 1;
        }
        taken += weight(level);
    }
    0
}
