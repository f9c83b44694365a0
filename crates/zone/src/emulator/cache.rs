//! [`Cache`]: the volatile write cache of an emulated drive: which changes a power cut may still
//! take back.
//!
//! - *Sequential zones.* Bytes go to the medium at once, and the cache remembers which ranges are
//!   volatile. That is enough because a sequential zone is not overwritten: after a reset the old
//!   bytes stay on the medium until the reset is durable.
//! - *Conventional zones* are overwritten in place, so the cache keeps the old bytes. Plain devices
//!   and shingled tracks count as one conventional zone. Of tracks it also keeps the bytes that
//!   writes have destroyed.
//!
//! A change is *in flight* until an actor has waited for it, then it is *complete*. A flush that
//! has been waited for makes those changes durable that were complete when the flush was submitted.
//! Real drives may make more durable.
//!
//! Some changes become durable without a flush: a forced write once it is complete, a reset with
//! the next write to its zone, and all changes of a zone that fails. If the old bytes of
//! conventional zones exceed [`UNDO_BYTES_MAX`], all complete overwrites become durable, as on a
//! drive whose cache is full.
//!
//! The cache does not touch the medium: it tells the drive which zones to erase. The caller holds
//! the drive's lock.

use std::collections::BTreeMap;
use std::ops::Range;

use terrace_env::ZoneId;

use super::overwrite::{Before, Overwrite, Progress};
use crate::ZoneState;
use crate::state::ZoneStatus;

/// A usual cache size of a disk.
const UNDO_BYTES_MAX: u64 = 64 << 20;

/// Blocks of a sequential zone that a power cut may take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VolatileRange {
    pub(super) start: u64,
    pub(super) end: u64,
    progress: Progress,
    /// Durable on completion.
    forced: bool,
}

/// The volatile changes of a sequential zone: of its *base life*, the one that is on the medium,
/// and the reset that would end it.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Whether the zone is durably full.
    pub(super) full: bool,
    /// The least place of the pointer after any power cut.
    pub(super) floor: u64,
    /// The pointer, were everything durable but the reset.
    pub(super) written: u64,
    /// Volatile blocks below `written`, ascending.
    pub(super) ranges: Vec<VolatileRange>,
    finish: Option<Progress>,
    reset: Option<Progress>,
    /// A finish after the reset.
    refinish: Option<Progress>,
}

impl Pending {
    fn new(status: ZoneStatus) -> Self {
        Self {
            full: status.state == ZoneState::Full,
            floor: status.written,
            written: status.written,
            ranges: Vec::new(),
            finish: None,
            reset: None,
            refinish: None,
        }
    }

    /// Whether the base life may turn out finished, beyond being durably full.
    pub(super) fn may_be_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether the base life may turn out to be over, and if so, whether the zone was finished
    /// since.
    pub(super) fn may_be_reset(&self) -> Option<bool> {
        self.reset.map(|_| self.refinish.is_some())
    }

    fn is_durable(&self) -> bool {
        self.ranges.is_empty() && self.finish.is_none() && self.reset.is_none()
    }

    fn commit_reset(&mut self) -> bool {
        let committed = self.reset.take().is_some();
        if committed {
            let finish = self.refinish.take();
            let empty = ZoneStatus { state: ZoneState::Empty, written: 0 };
            *self = Self { finish, ..Self::new(empty) };
        }
        committed
    }

    fn complete(&mut self, ticket: u64, flushes: u64) {
        for change in [&mut self.finish, &mut self.reset, &mut self.refinish].into_iter().flatten()
        {
            change.complete(ticket, flushes);
        }
        let mut ranges = self.ranges.iter_mut();
        let Some(index) = ranges.position(|s| s.progress.complete(ticket, flushes)) else {
            return;
        };
        let range = self.ranges[index];
        if range.forced {
            self.floor = self.floor.max(range.end);
            self.ranges.remove(index);
            return;
        }
        let joins =
            |a: &VolatileRange, b: &VolatileRange| a.end == b.start && a.progress == b.progress;
        if let Some(next) = self.ranges.get(index + 1)
            && joins(&range, next)
        {
            self.ranges[index].end = next.end;
            self.ranges.remove(index + 1);
        }
        if index > 0 && joins(&self.ranges[index - 1], &range) {
            self.ranges[index - 1].end = self.ranges[index].end;
            self.ranges.remove(index);
        }
    }

    /// Makes the changes durable that a flush covers; returns whether that ended the base life.
    fn flush(&mut self, flush: u64) -> bool {
        let covered = |change: Option<Progress>| change.is_some_and(|p| p.covered(flush));
        let reset = covered(self.reset) && self.commit_reset();
        let floor = &mut self.floor;
        self.ranges.retain(|range| {
            let durable = range.progress.covered(flush);
            if durable {
                *floor = range.end.max(*floor);
            }
            !durable
        });
        if covered(self.finish) {
            self.finish = None;
            self.full = true;
        }
        reset
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) sequential: BTreeMap<ZoneId, Pending>,
    pub(super) conventional: BTreeMap<ZoneId, Vec<Overwrite>>,
    undo_bytes: u64,
    /// Flushes submitted so far.
    flushes: u64,
}

impl Cache {
    /// A write of a sequential zone, from its `before` on, has been submitted. A pending reset has
    /// been committed already.
    pub(super) fn write(
        &mut self,
        zone: ZoneId,
        before: ZoneStatus,
        end: u64,
        ticket: u64,
        forced: bool,
    ) {
        let pending = self.sequential.entry(zone).or_insert_with(|| Pending::new(before));
        assert!(pending.reset.is_none(), "zone {zone} is written under a volatile reset");
        let progress = Progress::InFlight { ticket };
        pending.ranges.push(VolatileRange { start: before.written, end, progress, forced });
        pending.written = end;
    }

    pub(super) fn finish(&mut self, zone: ZoneId, before: ZoneStatus, ticket: u64) {
        let pending = self.sequential.entry(zone).or_insert_with(|| Pending::new(before));
        let progress = Some(Progress::InFlight { ticket });
        if pending.reset.is_some() {
            pending.refinish = progress;
        } else {
            pending.finish = progress;
        }
    }

    pub(super) fn reset(&mut self, zone: ZoneId, before: ZoneStatus, ticket: u64) {
        let pending = self.sequential.entry(zone).or_insert_with(|| Pending::new(before));
        pending.refinish = None;
        pending.reset.get_or_insert(Progress::InFlight { ticket });
    }

    /// Makes a zone's pending reset durable; returns whether there was one.
    pub(super) fn commit_reset(&mut self, zone: ZoneId) -> bool {
        self.sequential.get_mut(&zone).is_some_and(Pending::commit_reset)
    }

    /// Remembers the bytes of a conventional zone that a write is about to change.
    pub(super) fn overwrite(
        &mut self,
        zone: ZoneId,
        before: impl IntoIterator<Item = Before>,
        ticket: u64,
        forced: bool,
    ) {
        let log = self.conventional.entry(zone).or_default();
        for before in before {
            let overwrite = Overwrite::new(before, ticket, forced);
            self.undo_bytes += overwrite.cached();
            log.push(overwrite);
        }
        if self.undo_bytes > UNDO_BYTES_MAX {
            self.commit_overwrites(None, |overwrite| {
                matches!(overwrite.progress, Progress::Complete { .. })
            });
        }
    }

    /// An actor has waited for a request that changed `zone`.
    pub(super) fn complete(&mut self, zone: ZoneId, ticket: u64) {
        let flushes = self.flushes;
        if let Some(pending) = self.sequential.get_mut(&zone) {
            pending.complete(ticket, flushes);
            if pending.is_durable() {
                self.sequential.remove(&zone);
            }
        }
        let mut forced = false;
        for overwrite in self.conventional.get_mut(&zone).into_iter().flatten() {
            forced |= overwrite.progress.complete(ticket, flushes) && overwrite.forced;
        }
        if forced {
            self.commit_overwrites(Some(zone), |o| o.forced && o.progress.covered(flushes));
        }
    }

    /// A flush has been submitted; gives its number.
    pub(super) fn submit_flush(&mut self) -> u64 {
        self.flushes += 1;
        self.flushes - 1
    }

    /// A flush has completed. Gives the zones whose reset it made durable.
    pub(super) fn flush(&mut self, flush: u64) -> Vec<ZoneId> {
        let mut reset = Vec::new();
        self.sequential.retain(|zone, pending| {
            if pending.flush(flush) {
                reset.push(*zone);
            }
            !pending.is_durable()
        });
        self.commit_overwrites(None, |overwrite| overwrite.progress.covered(flush));
        reset
    }

    /// Forgets the durable overwrites, of one zone or of all, and the parts of earlier overwrites
    /// that these replaced: to undo such a part would undo durable bytes.
    fn commit_overwrites(&mut self, zone: Option<ZoneId>, durable: impl Fn(&Overwrite) -> bool) {
        let bytes = |log: &[Overwrite]| log.iter().map(Overwrite::cached).sum::<u64>();
        self.conventional.retain(|id, log| {
            if zone.is_some_and(|zone| zone != *id) {
                return true;
            }
            self.undo_bytes -= bytes(log);
            let mut committed: Vec<Range<u64>> = Vec::new();
            let mut keep = Vec::new();
            for overwrite in log.drain(..).rev() {
                if durable(&overwrite) {
                    committed.push(overwrite.range());
                } else {
                    keep.extend(overwrite.without(&committed));
                }
            }
            keep.reverse();
            self.undo_bytes += bytes(&keep);
            *log = keep;
            !log.is_empty()
        });
    }

    /// Makes everything about a zone durable; returns whether that included a reset.
    pub(super) fn settle_zone(&mut self, zone: ZoneId) -> bool {
        let freed = self.conventional.remove(&zone).unwrap_or_default();
        self.undo_bytes -= freed.iter().map(Overwrite::cached).sum::<u64>();
        self.sequential.remove(&zone).is_some_and(|pending| pending.reset.is_some())
    }

    /// Takes everything out, and forgets it.
    pub(super) fn take(&mut self) -> Self {
        let flushes = self.flushes;
        std::mem::replace(self, Self { flushes, ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::overwrite::Old;
    use super::*;
    use std::sync::Arc;

    const ZONE: ZoneId = ZoneId(3);

    #[test]
    fn complete_ranges_that_touch_become_one() {
        let mut cache = Cache::default();
        let order = [5, 0, 3, 1, 9, 2, 4, 8, 6, 7];
        for block in 0..10 {
            let before = ZoneStatus { state: ZoneState::ImplicitlyOpen, written: block };
            cache.write(ZONE, before, block + 1, block, false);
        }
        order.iter().for_each(|ticket| cache.complete(ZONE, *ticket));
        let pending = &cache.sequential[&ZONE];
        assert_eq!(pending.ranges.len(), 1);
        assert_eq!((pending.ranges[0].start, pending.ranges[0].end), (0, 10));
        let flush = cache.submit_flush();
        assert!(cache.flush(flush).is_empty());
        assert!(cache.sequential.is_empty());
    }

    #[test]
    fn what_is_kept_of_conventional_zones_is_bounded() {
        const BLOCK: u64 = 1 << 20;
        let mut cache = Cache::default();
        let bytes: Arc<[u8]> = vec![0; BLOCK as usize].into();
        for ticket in 0..1000 {
            // A write, and the harm that it does where nothing is written.
            let own =
                Before { offset: ticket * BLOCK, old: Old::Bytes(bytes.clone()), harm: false };
            let harm =
                Before { offset: own.offset + BLOCK, old: Old::Unwritten(BLOCK), harm: true };
            cache.overwrite(ZONE, [own, harm], ticket, false);
            cache.complete(ZONE, ticket);
            assert!(cache.undo_bytes <= UNDO_BYTES_MAX + BLOCK);
            let kept = cache.conventional.get(&ZONE).map_or(0, |log| log.len() as u64 / 2 * BLOCK);
            assert_eq!(kept, cache.undo_bytes);
        }
    }
}
