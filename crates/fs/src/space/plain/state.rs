//! State of the pool of a device without zones, under the pool's lock, and the choice of a run of
//! blocks for a writer. A choice changes nothing; the pool then leases the run. No method waits or
//! uses the device.

use std::collections::BTreeMap;
use std::ops::Range;

use terrace_env::store::{Rank, StoreError};
use terrace_env::{ByteCount, DeviceId};
use terrace_policy::Fit;

use super::free_map::FreeMap;
use super::gathering::Gathering;
use super::governor::Governor;
use super::guard::Guard;
use crate::block::BLOCK;
use crate::space::{Ask, ReservationId, Share};

/// The most blocks of a region: 64 MiB, a usual memtable's log.
pub(super) const REGION_MAX: u32 = 16 << 10;
/// Blocks of a region where it is not known how large a file becomes.
const REGION_USUAL: u64 = 256;

/// State under the pool's lock.
pub(super) struct State {
    pub(super) device: DeviceId,
    /// Blocks of the device that files and journal may have.
    pub(super) capacity: u64,
    pub(super) free: FreeMap,
    pub(super) guard: Guard,
    /// Where writers of a device that holds tables get their blocks. `None`: of the end of a free
    /// run, so that stretches at the start of the device stay whole for the journal.
    pub(super) fit: Option<Fit>,
    /// The first block after the region that was given out last.
    pub(super) cursor: u64,
    pub(super) governor: Governor,
    pub(super) leases: BTreeMap<u64, Lease>,
    pub(super) next_lease: u64,
    pub(super) live: u64,
    pub(super) unsealed: u64,
    pub(super) pinned: u64,
    /// Stretches that the journal has.
    pub(super) journal: u32,
    /// Blocks where the medium has failed: not given out until the next mount.
    pub(super) shunned: FreeMap,
    /// Blocks there that would be free.
    pub(super) lost: u64,
    pub(super) gathering: Gathering,
    /// Why the store takes no commits any more.
    pub(super) stopped: Option<StoreError>,
}

/// A region that has a writer.
pub(super) struct Lease {
    /// The whole region.
    pub(super) region: Range<u64>,
    /// The first block after the region's guard, which no other writer gets while the lease lasts.
    pub(super) guard_end: u64,
    /// The next block that is claimed.
    pub(super) next: u64,
    pub(super) reservation: ReservationId,
    /// Blocks of the region that were set aside for it.
    pub(super) own: u64,
    /// A group's, to which no file is being written.
    pub(super) idle: bool,
}

impl State {
    /// After a commit of unknown outcome, an unacknowledged transaction may be on the medium, and
    /// the blocks that it names must not be overwritten.
    pub(super) fn check_running(&self) -> Result<(), StoreError> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Blocks that a writer may take: those that are not set aside, but for the blocks kept for
    /// ranks above; or those that its own reservation has set aside, even if others have used up
    /// the rest.
    pub(super) fn available(&self, rank: Rank, reservation: ReservationId) -> u64 {
        let stretch = self.free.stretch(0).end;
        let own = self.governor.quota(reservation);
        debug_assert!(own <= self.governor.granted(), "{:?}", self.governor);
        let others = self.governor.stretches_kept(rank, self.journal) * stretch
            + (self.governor.granted() - own);
        let left = self.free.writable().saturating_sub(others);
        left.saturating_sub(self.governor.blocks_kept(rank)).max(left.min(own))
    }

    /// The blocks that a writer gets: of the run that fits all that it wants, else of the longest
    /// run, else of the blocks next to the stretches that stay whole for the journal. After them,
    /// their guard is free. `most`: the most blocks that it gets.
    pub(super) fn choose(&self, ask: &Ask, most: u32) -> Option<Range<u64>> {
        let least = u64::from(ask.least.max(1));
        let available = self.available(ask.rank, ask.reservation).min(most.into());
        if available < least {
            return None;
        }
        let wanted = ask.left.map_or(REGION_USUAL, |left| {
            let blocks = blocks_of_bytes(left);
            blocks + blocks / 16
        });
        let wanted = wanted.clamp(least, available);
        // The blocks of a reservation include a guard. Without a reservation, the available blocks
        // must cover the guard, too.
        let most = if ask.reservation == 0 { available } else { u64::MAX };
        let shorter = wanted.saturating_sub(self.guard.most()).max(least);
        self.choose_of(ask.rank, (least, wanted), most, &(0..0)).or_else(|| {
            let shorter = (shorter < wanted).then_some(shorter)?;
            self.choose_of(ask.rank, (least, shorter), most, &(0..0))
        })
    }

    /// A region of `least` to `wanted` blocks, of no run that meets `barred`. While it is leased,
    /// others can write at most `cost` blocks fewer.
    pub(super) fn choose_of(
        &self,
        rank: Rank,
        (least, wanted): (u64, u64),
        cost: u64,
        barred: &Range<u64>,
    ) -> Option<Range<u64>> {
        let kept = self.governor.stretches_kept(rank, self.journal);
        let outside = |run: &Range<u64>| run.end <= barred.start || run.start >= barred.end;
        // Gathered blocks must not be cut in two again.
        let is_whole =
            |run: &Range<u64>, region: &Range<u64>| barred.is_empty() || region.start == run.start;
        let is_cheap = |run: &Range<u64>, region: &Range<u64>| {
            is_whole(run, region) && self.cost(run, region) <= cost
        };
        let cut = |run: Range<u64>, blocks: u64| {
            self.cut(&run, blocks, kept).filter(|region| is_cheap(&run, region))
        };
        if let Some(region) = self.fitting(wanted).filter(outside).find_map(|run| cut(run, wanted))
        {
            return Some(region);
        }
        let shorter = self.free.below(wanted + self.guard.most()).filter(outside);
        let shorter = shorter.map(|run| (self.guard.writable(&run).min(wanted), run));
        let mut shorter = shorter.filter(|(blocks, _)| *blocks >= least);
        if let Some(region) = shorter.find_map(|(blocks, run)| cut(run, blocks)) {
            return Some(region);
        }
        let beside = |run: Range<u64>| {
            let region = self.beside_stretches(&run, least, wanted, kept);
            region.filter(|region| is_cheap(&run, region))
        };
        let long = || self.free.at_least(least).filter(outside);
        long().find_map(beside).or_else(|| long().find_map(|run| cut(run, least)))
    }

    /// How many blocks fewer can be written while a region of a free run is leased: those of the
    /// region, and its guard as far as others could use it.
    fn cost(&self, run: &Range<u64>, region: &Range<u64>) -> u64 {
        let rest = [run.start..region.start, self.guard.behind_in(region, || run.end)..run.end];
        let rest: u64 = rest.iter().map(|rest| self.guard.writable(rest)).sum();
        self.guard.writable(run).saturating_sub(rest)
    }

    /// The runs that may hold `blocks` blocks, in the order of the fit's preference.
    fn fitting(&self, blocks: u64) -> Box<dyn Iterator<Item = Range<u64>> + '_> {
        match self.fit.unwrap_or(Fit::Best) {
            Fit::Best => Box::new(self.free.at_least(blocks)),
            Fit::First => Box::new(self.free.runs()),
            Fit::Next => Box::new(self.free.runs_from(self.cursor).chain(self.free.runs())),
        }
    }

    /// A region of `blocks` blocks of a free run, if it and its guard fit in the run and `kept`
    /// stretches stay whole.
    fn cut(&self, run: &Range<u64>, blocks: u64, kept: u64) -> Option<Range<u64>> {
        let room = self.guard.writable(run);
        let before = if self.fit.is_some() { 0 } else { room.checked_sub(blocks)? };
        let start = run.start + before;
        let region = (blocks <= room).then_some(start..start + blocks)?;
        self.leaves(run, &region, kept).then_some(region)
    }

    /// The longest region, from `least` to `most` blocks, that lies before the first or after the
    /// last whole stretch of a free run.
    fn beside_stretches(
        &self,
        run: &Range<u64>,
        least: u64,
        most: u64,
        kept: u64,
    ) -> Option<Range<u64>> {
        let stretch = self.free.stretch(0).end;
        let (first, last) = (run.start.next_multiple_of(stretch), run.end / stretch * stretch);
        let parts = [run.start..first.min(run.end), last.max(run.start)..run.end];
        parts.into_iter().find_map(|part| {
            let blocks = self.guard.writable(&part).min(most);
            let region = (blocks >= least).then_some(part.start..part.start + blocks)?;
            self.leaves(run, &region, kept).then_some(region)
        })
    }

    /// Whether `kept` stretches stay whole if a region is cut from a run. Where fewer are whole
    /// already, because the journal has taken some, a region that breaks none is still good.
    fn leaves(&self, run: &Range<u64>, region: &Range<u64>, kept: u64) -> bool {
        let rest = [run.start..region.start, self.guard.behind_in(region, || run.end)..run.end];
        let whole: u64 = rest.iter().map(|rest| self.free.stretches_in(rest)).sum();
        let broken = self.free.stretches_in(run) - whole;
        broken == 0 || self.free.whole() >= broken + kept
    }

    /// Leases blocks that were chosen.
    pub(super) fn lease(&mut self, ask: &Ask, region: Range<u64>) -> u64 {
        debug_assert!(!region.is_empty(), "a writer gets blocks");
        debug_assert!(region.end - region.start >= u64::from(ask.least), "{region:?}, {ask:?}");
        let serial = self.next_lease;
        let run_end = || self.free.runs_from(region.start).next().map_or(region.end, |run| run.end);
        let (writable, guard_end) = (self.free.writable(), self.guard.behind_in(&region, run_end));
        self.free.take(region.start..guard_end);
        let own = self.governor.taken(ask.reservation, writable - self.free.writable());
        (self.cursor, self.next_lease) = (region.end, serial + 1);
        let (next, reservation) = (region.start, ask.reservation);
        let lease = Lease { region, guard_end, next, reservation, own, idle: false };
        let former = self.leases.insert(serial, lease);
        debug_assert!(former.is_none(), "lease {serial} is given twice");
        serial
    }

    /// Ends a lease: its unclaimed part is free, and so is its guard.
    pub(super) fn end_lease(&mut self, serial: u64) {
        let Some(lease) = self.leases.remove(&serial) else { return };
        debug_assert!(
            lease.region.start <= lease.next && lease.next <= lease.region.end,
            "{} of {:?}",
            lease.next,
            lease.region
        );
        debug_assert!(lease.region.end <= lease.guard_end, "a guard comes after its region");
        let writable = self.free.writable();
        self.release(lease.next..lease.guard_end);
        let freed = self.free.writable().saturating_sub(writable);
        self.governor.returned(lease.reservation, lease.own.min(freed));
    }

    /// Ends the oldest idle lease; whether there was one.
    pub(super) fn end_idle_lease(&mut self) -> bool {
        let idle = self.leases.iter().find(|(_, lease)| lease.idle).map(|(serial, _)| *serial);
        idle.map(|serial| self.end_lease(serial)).is_some()
    }

    /// Blocks lose their owner.
    pub(super) fn release(&mut self, run: Range<u64>) {
        self.gathering.in_vain = false;
        let mut next = run.start;
        let bad: Vec<Range<u64>> =
            self.shunned.runs().filter(|bad| bad.end > run.start && bad.start < run.end).collect();
        for bad in bad {
            let (start, end) = (bad.start.max(run.start), bad.end.min(run.end));
            self.free.put(next..start);
            self.lost += end - start;
            next = end;
        }
        self.free.put(next..run.end);
    }

    /// The medium has failed somewhere in these blocks.
    pub(super) fn shun(&mut self, run: Range<u64>) {
        self.shunned.take_any(&run);
        self.shunned.put(run.clone());
        self.lost += self.free.take_any(&run);
        debug_assert!(self.lost <= self.shunned.blocks(), "more is lost than has failed");
    }

    /// The count of blocks of this kind.
    pub(super) fn count(&mut self, share: Share) -> &mut u64 {
        match share {
            Share::Live => &mut self.live,
            Share::Unsealed => &mut self.unsealed,
            Share::Pinned => &mut self.pinned,
        }
    }

    pub(super) fn no_space(&self, rank: Rank, blocks: u64) -> StoreError {
        StoreError::NoSpace {
            rank,
            needed: bytes(blocks),
            available: bytes(self.available(rank, 0)),
            on_host: false,
            empty: self.live + self.unsealed + self.pinned == 0,
            device: Some(self.device),
        }
    }

    pub(super) fn busy(&self, blocks: u64) -> StoreError {
        let (needed, pinned) = (bytes(blocks), bytes(self.pinned));
        StoreError::Busy { needed, pinned, device: Some(self.device) }
    }
}

/// Blocks that `bytes` take.
pub(super) fn blocks_of_bytes(bytes: ByteCount) -> u64 {
    bytes.0.div_ceil(BLOCK as u64)
}

pub(super) fn bytes(blocks: u64) -> ByteCount {
    ByteCount(blocks * BLOCK as u64)
}
