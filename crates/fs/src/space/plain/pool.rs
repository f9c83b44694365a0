//! Implements [`Pool`] for a [`PlainPool`]: writers lease, claim, free and reserve blocks of a
//! device without zones.
//!
//! - **Lack of space**: `lease` and `reserve` first end idle leases of placement groups, the oldest
//!   first. On shingled tracks they then wait for free blocks to be gathered, if that may help. If
//!   that is not enough, and readers pin the missing number of blocks, they wait for the readers,
//!   about 100 ms in all, and then fail with `Busy`. If readers pin fewer blocks, they fail with
//!   `NoSpace` at once. The other ways to lease give nothing instead.
//! - **Failed writes**: `settle` does nothing, and `abandon` only ends the lease: a block can be
//!   written after any outcome of an earlier write to it. After `retire`, no block of the region is
//!   given out again before the next mount.
//! - **Stop**: after `stop`, nothing is leased or reserved.
//!
//! # Threads
//! `lease` and `reserve` can wait, without the pool's lock; no other call does. No call uses the
//! device.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Rank, SpaceInfo, StoreError};
use terrace_env::sync::MutexGuard;
use terrace_env::wait::{WaitCause, WaitClock};
use terrace_env::{ByteCount, Time, runner};

use super::PlainPool;
use super::governor::with_slack;
use super::plain_pool::blocks_of;
use super::state::{REGION_MAX, State, bytes};
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::catalog::Extent;
use crate::space::pool::LeaseId;
use crate::space::{Ask, Pool, Region, ReservationId, Reserved, Share};

/// The longest wait for readers to let go of deleted files.
const PIN_WAIT_MAX: Duration = Duration::from_millis(100);
/// How often a waiter looks again without being told.
const WAIT_STEP: Duration = Duration::from_millis(50);

impl PlainPool {
    fn address(&self, block: u64) -> BlockAddr {
        BlockAddr::new(self.medium.id(), block)
    }

    /// Leases a region in a state in which there is one.
    fn lease_in(self: Arc<Self>, state: &mut State, ask: &Ask, most: u32) -> Option<Region> {
        let region = state.choose(ask, most)?;
        Some(self.lease_chosen(state, ask, region))
    }

    pub(super) fn lease_chosen(
        self: Arc<Self>,
        state: &mut State,
        ask: &Ask,
        region: Range<u64>,
    ) -> Region {
        let serial = state.lease(ask, region);
        Region::new(self, LeaseId { stretch: serial as u32, serial })
    }

    fn lease_now(self: Arc<Self>, ask: &Ask, most: u32) -> Option<Region> {
        let pool = Arc::clone(&self);
        let mut state = pool.state.lock();
        state.check_running().ok()?;
        self.lease_in(&mut state, ask, most)
    }

    /// Waits for free blocks to be gathered, if that may help.
    fn await_gathering_for(
        &self,
        state: &mut MutexGuard<'_, State>,
        (rank, needed): (Rank, u64),
        patience: &mut Option<u64>,
        clock: &mut WaitClock<'_>,
    ) -> bool {
        if !state.calls_gathering((rank, needed), patience) {
            return false;
        }
        self.gather.notify_all();
        clock.on(WaitCause::Zones(rank));
        self.changed.wait_for(state, WAIT_STEP);
        true
    }

    /// Waits for readers, if they pin enough blocks; an error if that does not help.
    fn await_readers(
        &self,
        state: &mut MutexGuard<'_, State>,
        (rank, needed): (Rank, u64),
        since: Time,
        clock: &mut WaitClock<'_>,
    ) -> Result<(), StoreError> {
        if state.pinned < needed {
            return Err(state.no_space(rank, needed));
        }
        if runner::now().since(since) >= PIN_WAIT_MAX {
            return Err(state.busy(needed));
        }
        clock.on(WaitCause::Pinned);
        self.changed.wait_for(state, WAIT_STEP);
        Ok(())
    }
}

impl Pool for PlainPool {
    fn region_blocks(&self) -> u32 {
        REGION_MAX
    }

    fn lease(self: Arc<Self>, ask: &Ask) -> Result<Region, StoreError> {
        let (since, mut clock) = (runner::now(), self.medium.waits.clock());
        let (mut state, mut patience) = (self.state.lock(), None);
        loop {
            state.check_running()?;
            if let Some(region) = Arc::clone(&self).lease_in(&mut state, ask, REGION_MAX) {
                return Ok(region);
            }
            if state.end_idle_lease() {
                continue;
            }
            let needed = (ask.rank, u64::from(ask.least));
            if self.await_gathering_for(&mut state, needed, &mut patience, &mut clock) {
                continue;
            }
            self.await_readers(&mut state, needed, since, &mut clock)?;
        }
    }

    /// The lease may take at most half of the available blocks. A log is made ahead with the size
    /// that the active log is going to have, about half of which is written: the remaining blocks
    /// are enough for the other half. And leases that are not needed yet never take more than half
    /// of the free blocks.
    fn lease_spare(self: Arc<Self>, ask: &Ask) -> Option<Region> {
        let pool = Arc::clone(&self);
        let mut state = pool.state.lock();
        state.check_running().ok()?;
        let region = state.choose(ask, REGION_MAX)?;
        let left = state.available(ask.rank, ask.reservation);
        (region.end - region.start <= left / 2).then(|| self.lease_chosen(&mut state, ask, region))
    }

    fn lease_at_once(self: Arc<Self>, ask: &Ask) -> Option<Region> {
        self.lease_now(ask, REGION_MAX)
    }

    fn lease_group(self: Arc<Self>, ask: &Ask, _size: ByteCount) -> Option<Region> {
        let blocks = ask.left.map_or(0, |left| left.0.div_ceil(BLOCK as u64));
        let whole = u32::try_from(blocks).unwrap_or(u32::MAX).max(ask.least);
        let in_one = Arc::clone(&self).lease_now(&Ask { least: whole, ..ask.clone() }, u32::MAX);
        in_one.or_else(|| self.lease_now(ask, u32::MAX))
    }

    fn set_idle(&self, lease: LeaseId, idle: bool) {
        if let Some(held) = self.state.lock().leases.get_mut(&lease.serial) {
            held.idle = idle;
        }
    }

    fn rest(&self, lease: LeaseId) -> Option<(BlockAddr, u32)> {
        let state = self.state.lock();
        let held = state.leases.get(&lease.serial)?;
        // At the device's end there is no block; nothing is left there either.
        let at = held.next.min(held.region.end - 1);
        Some((self.address(at), (held.region.end - held.next) as u32))
    }

    fn claim(&self, lease: LeaseId, blocks: u32) -> Option<(BlockAddr, u32)> {
        let mut state = self.state.lock();
        let held = state.leases.get_mut(&lease.serial)?;
        let (at, blocks) = (held.next, u64::from(blocks).min(held.region.end - held.next));
        if blocks == 0 {
            return None;
        }
        held.next += blocks;
        debug_assert!(held.next <= held.region.end, "{at} and {blocks} of {:?}", held.region);
        let reservation = held.reservation;
        state.governor.claimed(reservation, blocks);
        state.unsealed += blocks;
        let owned = state.live + state.unsealed + state.pinned;
        debug_assert!(owned <= state.capacity, "files have {owned} of {} blocks", state.capacity);
        Some((self.address(at), blocks as u32))
    }

    fn settle(&self, _lease: LeaseId, _written: bool) {
        // Blocks are counted by their claim and by the fate of the file; a run can be written after
        // any outcome of the writes before it.
    }

    fn end_lease(&self, lease: LeaseId) {
        self.state.lock().end_lease(lease.serial);
        self.changed.notify_all();
    }

    fn abandon(&self, lease: LeaseId) {
        self.end_lease(lease);
    }

    fn retire(&self, lease: LeaseId) {
        let mut state = self.state.lock();
        let Some(held) = state.leases.get(&lease.serial) else { return };
        let region = held.region.clone();
        state.end_lease(lease.serial);
        state.shun(region);
        drop(state);
        self.changed.notify_all();
    }

    fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        debug_assert_ne!(from, to, "nothing turns");
        let mut state = self.state.lock();
        for extent in extents {
            debug_assert_eq!(extent.device(), self.medium.id(), "{extent:?} of another device");
            debug_assert!(*state.count(from) >= u64::from(extent.blocks), "{extent:?}");
            *state.count(from) -= u64::from(extent.blocks);
            *state.count(to) += u64::from(extent.blocks);
        }
    }

    fn free(&self, extents: &[Extent], share: Share) {
        if extents.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for extent in extents {
            debug_assert_eq!(extent.device(), self.medium.id(), "{extent:?} of another device");
            debug_assert!(*state.count(share) >= u64::from(extent.blocks), "{extent:?}");
            *state.count(share) -= u64::from(extent.blocks);
            state.release(blocks_of(extent));
        }
        self.changed.notify_all();
    }

    fn reserve(self: Arc<Self>, rank: Rank, bytes: ByteCount) -> Result<Reserved, StoreError> {
        let wanted = bytes.0.div_ceil(BLOCK as u64);
        let (since, mut clock) = (runner::now(), self.medium.waits.clock());
        let (mut state, mut patience) = (self.state.lock(), None);
        // The guard is that of a region that is cut from the midst of a run.
        let guard = state.guard.most();
        let blocks = with_slack(wanted).saturating_add(guard);
        loop {
            state.check_running()?;
            if state.available(rank, 0) >= blocks {
                let id = state.governor.grant(wanted, guard);
                drop(state);
                return Ok(Reserved::new(Arc::clone(&self) as Arc<dyn Pool>, id, bytes));
            }
            if state.end_idle_lease() {
                continue;
            }
            if self.await_gathering_for(&mut state, (rank, blocks), &mut patience, &mut clock) {
                continue;
            }
            self.await_readers(&mut state, (rank, blocks), since, &mut clock)?;
        }
    }

    /// The space that is set aside in addition is some that puts could take: a job can go on with
    /// fewer files.
    fn admits(&self, id: ReservationId, files: u32, size: ByteCount) -> bool {
        let mut state = self.state.lock();
        let size = size.0.div_ceil(BLOCK as u64);
        let more = state.governor.to_admit(id, files, size, state.guard.most());
        if state.stopped.is_some() || more > state.available(Rank::Log, 0) {
            return false;
        }
        state.governor.add(id, more);
        true
    }

    fn end_reservation(&self, id: ReservationId) {
        let mut state = self.state.lock();
        state.governor.release(id);
        state.gathering.in_vain = false;
        drop(state);
        self.changed.notify_all();
    }

    fn room(&self) -> SpaceInfo {
        let state = self.state.lock();
        let stretch = state.free.stretch(0).end;
        let journal = state.governor.stretches_kept(Rank::Log, state.journal) * stretch;
        let free = state.free.writable().saturating_sub(state.governor.granted());
        SpaceInfo {
            capacity: bytes(state.capacity - u64::from(state.journal) * stretch),
            free: bytes(state.free.writable()),
            live: bytes(state.live + state.unsealed),
            dead: bytes(state.free.blocks() - state.free.writable()),
            pinned: bytes(state.pinned),
            reserved: bytes(state.governor.granted()),
            // Kept blocks may be in use: no more of them are left than are free.
            kept: bytes((journal + state.governor.blocks_kept(Rank::Log)).min(free)),
            for_puts: bytes(state.available(Rank::Log, 0)),
        }
    }

    fn stop(&self, error: &StoreError) {
        self.state.lock().stopped.get_or_insert_with(|| error.clone());
        self.changed.notify_all();
    }
}
