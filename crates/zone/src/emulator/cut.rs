//! [`PowerCut`]: decides which volatile changes of a drive a power cut, or a failed flush, leaves.
//!
//! - [`DropUnflushed`](PowerCut::DropUnflushed) loses volatile changes, except where the active
//!   limit forbids it (below).
//! - [`KeepAll`](PowerCut::KeepAll) loses nothing.
//! - [`Prefixes`](PowerCut::Prefixes) and [`Blocks`](PowerCut::Blocks) draw at random, for each
//!   zone by itself: whether its reset and its finish happened, and which volatile physical blocks
//!   are on the medium. `Prefixes` keeps the first ones, `Blocks` any of them. The zone's pointer
//!   is after the last block that is durable or kept; with `Blocks` it may be further.
//!
//! *Sequential zones.* A block below the pointer that is not on the medium is a *hole*. It reads as
//! zeros, as garbage, or as the zone's bytes before its last reset if the medium remembers them.
//!
//! *Conventional zones* have no holes: each physical block is as one of the volatile overwrites
//! left it, or as it was before them. On shingled tracks a block may also be destroyed. If no block
//! of a write was kept, the write destroyed nothing. Otherwise each block that it destroyed is old
//! or destroyed, by itself.
//!
//! Open zones are closed; those that hold nothing become empty. The active limit also holds after a
//! cut: where undoing changes would make too many zones active, a zone keeps the state and the
//! pointer that it had.
//!
//! Requests in flight count as volatile. [`Drive::cut`] empties the cache, so the caller must not
//! complete them. The caller holds the drive's lock.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use terrace_env::random::{Random, Rng, RngCore};
use terrace_env::{IoBuf, ZoneId, reached};

use super::cache::{Cache, Pending};
use super::drive::Drive;
use super::overwrite::{Old, Overwrite};
use crate::state::ZoneStatus;
use crate::{DeviceError, ZoneState};

/// Fate of volatile data when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerCut {
    /// Everything that is not durable is lost, unless that would make too many zones active.
    DropUnflushed,
    /// Everything reached the medium.
    KeepAll,
    /// A random prefix of each zone's volatile blocks reached the medium.
    Prefixes,
    /// A random subset of each zone's volatile blocks reached the medium; the zone's pointer is
    /// after the last of them or further.
    Blocks,
}

impl PowerCut {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::DropUnflushed, Self::KeepAll, Self::Prefixes, Self::Blocks];

    /// One of the modes.
    pub fn any(random: &mut Random) -> Self {
        Self::ALL[random.random_range(0..Self::ALL.len())]
    }

    /// Whether a request in flight at the power cut is carried out, to be torn, or not at all.
    pub(super) fn carries_out_pending(self) -> bool {
        matches!(self, Self::Prefixes | Self::Blocks)
    }

    fn keeps_change(self, random: &mut Random) -> bool {
        match self {
            Self::DropUnflushed => false,
            Self::KeepAll => true,
            Self::Prefixes | Self::Blocks => random.random_bool(0.5),
        }
    }
}

/// Draws, one after another, whether each volatile block is kept.
struct Survivors {
    cut: PowerCut,
    /// For `Prefixes`, the number of blocks still to be kept; for `Blocks`, the number kept of
    /// eight, on average.
    dial: u64,
}

impl Survivors {
    fn draw(cut: PowerCut, blocks: u64, random: &mut Random) -> Self {
        let dial = match cut {
            PowerCut::Blocks => [1, 4, 7][random.random_range(0..3)],
            _ => random.random_range(0..=blocks),
        };
        Self { cut, dial }
    }

    fn keeps(&mut self, random: &mut Random) -> bool {
        match self.cut {
            PowerCut::DropUnflushed => false,
            PowerCut::KeepAll => true,
            PowerCut::Blocks => random.random_range(0..8) < self.dial,
            PowerCut::Prefixes => {
                let kept = self.dial > 0;
                self.dial = self.dial.saturating_sub(1);
                kept
            }
        }
    }
}

/// State of a sequential zone after a cut.
struct Outcome {
    reset: bool,
    status: ZoneStatus,
    /// Volatile blocks that did not reach the medium.
    lost: Vec<Range<u64>>,
}

fn settled(full: bool, written: u64, capacity: u64) -> ZoneStatus {
    let state = match written {
        _ if full || written == capacity => ZoneState::Full,
        0 => ZoneState::Empty,
        _ => ZoneState::Closed,
    };
    ZoneStatus { state, written }
}

fn outcome(
    pending: &Pending,
    cut: PowerCut,
    step: u64,
    capacity: u64,
    random: &mut Random,
) -> Outcome {
    if let Some(refinished) = pending.may_be_reset()
        && cut.keeps_change(random)
    {
        let status = settled(refinished && cut.keeps_change(random), 0, capacity);
        return Outcome { reset: true, status, lost: Vec::new() };
    }
    if pending.may_be_reset().is_some() {
        reached!("zone: a volatile reset is lost");
    }
    let volatile = pending.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
    let mut survivors = Survivors::draw(cut, volatile / step, random);
    let mut written = pending.floor;
    let mut lost: Vec<Range<u64>> = Vec::new();
    for range in &pending.ranges {
        for block in (range.start..range.end).step_by(step as usize) {
            if survivors.keeps(random) {
                written = written.max(block + step);
                continue;
            }
            match lost.last_mut() {
                Some(last) if last.end == block => last.end += step,
                _ => lost.push(block..block + step),
            }
        }
    }
    if cut == PowerCut::Blocks && random.random_bool(0.5) {
        written += random.random_range(0..=(pending.written - written) / step) * step;
    }
    match (lost.is_empty(), written > pending.floor) {
        (false, false) => reached!("zone: all volatile writes of a zone are lost"),
        (false, true) => reached!("zone: a part of the volatile writes of a zone is lost"),
        (true, _) => {}
    }
    let finishes = pending.may_be_finished();
    let full = pending.full || (finishes && cut.keeps_change(random));
    if finishes && !full {
        reached!("zone: a volatile finish is lost");
    }
    Outcome { reset: false, status: settled(full, written, capacity), lost }
}

impl Drive {
    /// Applies a power cut to the volatile changes. Their zones, and all open ones, are closed
    /// afterwards.
    pub(super) fn cut(&mut self, cut: PowerCut, random: &mut Random) -> Result<(), DeviceError> {
        for zone in self.table.close_all() {
            self.medium.record(zone, self.table.status(zone))?;
        }
        let cache = self.cache.take();
        for (zone, outcome) in self.outcomes(&cache, cut, random) {
            self.settle(zone, outcome, random)?;
        }
        for (zone, log) in cache.conventional {
            self.undo(zone, log, cut, random)?;
        }
        Ok(())
    }

    fn outcomes(
        &self,
        cache: &Cache,
        cut: PowerCut,
        random: &mut Random,
    ) -> Vec<(ZoneId, Outcome)> {
        let geometry = &self.geometry;
        let step = geometry.physical_step();
        let mut active = self.table.active();
        let mut outcomes = Vec::with_capacity(cache.sequential.len());
        for (zone, pending) in &cache.sequential {
            let outcome = outcome(pending, cut, step, geometry.zone_capacity(*zone), random);
            active -= usize::from(self.table.status(*zone).state.is_active());
            active += usize::from(outcome.status.state.is_active());
            outcomes.push((*zone, outcome));
        }
        let limit = geometry.max_active.map_or(usize::MAX, |limit| limit as usize);
        for (zone, outcome) in &mut outcomes {
            let now = self.table.status(*zone);
            if active > limit && outcome.status.state.is_active() && !now.state.is_active() {
                outcome.status = now;
                outcome.reset = cache.sequential[zone].may_be_reset().is_some();
                active -= 1;
            }
        }
        outcomes
    }

    fn settle(
        &mut self,
        zone: ZoneId,
        outcome: Outcome,
        random: &mut Random,
    ) -> Result<(), DeviceError> {
        let Outcome { reset, status, lost } = outcome;
        if reset {
            self.medium.erase(zone)?;
        } else {
            let fill = random.random_range(0..3);
            for hole in lost {
                let (start, end) = (hole.start, hole.end.min(status.written));
                if start < end {
                    reached!("zone: a hole below the write pointer");
                    self.fill(zone, start..end, fill, random)?;
                }
            }
        }
        self.table.set(zone, status);
        self.medium.record(zone, status)
    }

    fn fill(
        &mut self,
        zone: ZoneId,
        hole: Range<u64>,
        fill: u32,
        random: &mut Random,
    ) -> Result<(), DeviceError> {
        let offset = self.bytes(hole.start);
        let len = self.bytes(hole.end - hole.start) as usize;
        let mut bytes = IoBuf::with_capacity(len);
        match fill {
            0 => bytes.resize(len),
            1 => self.medium.earlier(zone, offset, len, &mut bytes),
            _ => {
                bytes.resize(len);
                random.fill_bytes(&mut bytes);
            }
        }
        self.medium.write(zone, offset, &bytes)
    }

    /// Puts back, last overwrite first, the old bytes of a conventional zone: each block as it was
    /// before the first of the overwrites after the last one that reached the medium.
    fn undo(
        &mut self,
        zone: ZoneId,
        log: Vec<Overwrite>,
        cut: PowerCut,
        random: &mut Random,
    ) -> Result<(), DeviceError> {
        let unit = u64::from(self.geometry.physical_block);
        let units = |overwrite: &Overwrite| {
            let range = overwrite.range();
            range.start / unit..range.end.div_ceil(unit)
        };
        let own = log.iter().filter(|overwrite| !overwrite.before.harm);
        let total = own.map(|overwrite| units(overwrite).count() as u64).sum();
        let mut survivors = Survivors::draw(cut, total, random);
        let mut reached_in_part = BTreeSet::new();
        let mut kept: Vec<Vec<bool>> = Vec::with_capacity(log.len());
        for overwrite in &log {
            let harms = match cut {
                PowerCut::KeepAll => true,
                _ => reached_in_part.contains(&overwrite.ticket),
            };
            let blocks: Vec<bool> = units(overwrite)
                .map(|_| match overwrite.before.harm {
                    true => harms && cut.keeps_change(random),
                    false => survivors.keeps(random),
                })
                .collect();
            if !overwrite.before.harm && blocks.contains(&true) {
                reached_in_part.insert(overwrite.ticket);
            }
            kept.push(blocks);
        }
        let mut reached = BTreeSet::new();
        for (overwrite, kept) in log.iter().zip(kept).rev() {
            for (block, kept) in units(overwrite).zip(kept) {
                if kept {
                    reached.insert(block);
                } else if !reached.contains(&block) {
                    reached!("zone: an overwrite of a conventional zone is undone");
                    self.restore(zone, overwrite, block * unit..(block + 1) * unit)?;
                }
            }
        }
        Ok(())
    }

    /// Puts back the bytes that an overwrite has replaced in a physical block.
    fn restore(
        &mut self,
        zone: ZoneId,
        overwrite: &Overwrite,
        block: Range<u64>,
    ) -> Result<(), DeviceError> {
        let range = overwrite.range();
        let part = block.start.max(range.start)..block.end.min(range.end);
        match &overwrite.before.old {
            Old::Bytes(bytes) => {
                let within = |at: u64| (at - range.start) as usize;
                self.put(zone, part.start, &bytes[within(part.start)..within(part.end)])
            }
            Old::Unwritten(_) => self.blank(zone, part),
            Old::Destroyed(_) => self.destroy(zone, part),
        }
    }
}
