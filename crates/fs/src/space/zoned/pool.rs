//! Implements [`Pool`] for a device with zones.
//!
//! `lease` and `reserve` can wait for space or leases: see [`SpaceWait`]. Before that, `reserve`
//! can hold a compaction back, for a minute at most, so that logs, flushes or reclaim get zones.
//! All ways to lease can reset or finish a zone; `settle`, `abandon` and `retire` can finish one.
//! The pool's lock is not held over that, and the caller must hold no lock either.

use std::sync::Arc;

use terrace_env::store::{Rank, SpaceInfo, StoreError};
use terrace_env::wait::WaitCause;
use terrace_env::{ByteCount, ZoneId, runner};

use super::space_wait::{SpaceWait, WAIT_MAX};
use super::state::{Choice, ReclaimState, State};
use super::zoned_pool::{OTHERS_OPEN, WAIT_STEP};
use super::{Condition, Governor, Limits, ZonedPool};
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::catalog::Extent;
use crate::space::pool::LeaseId;
use crate::space::{Ask, Pool, Region, ReservationId, Reserved, Share};

/// The least number of free zones for a group to take a fresh one. On a small or full device,
/// others would miss the rest of that zone.
const GROUP_FREE_MIN: u32 = 16;

impl Pool for ZonedPool {
    fn region_blocks(&self) -> u32 {
        self.zone_blocks()
    }

    fn lease(self: Arc<Self>, ask: &Ask) -> Result<Region, StoreError> {
        let zone = u64::from(self.limits.zone_blocks);
        let mut wait = SpaceWait::new(&self.medium.waits);
        let mut state = self.lock_for_zone();
        loop {
            state.check_running()?;
            let choice = state.choose(ask, self.limits);
            if !matches!(choice, Choice::AwaitLease | Choice::Full) {
                wait.clock.off();
            }
            match choice {
                Choice::Append(zone) => {
                    let lease = state.lease(zone, ask);
                    return Ok(self.region(zone, lease));
                }
                Choice::Open(zone) => {
                    let lease = state.open(zone, ask);
                    drop(state);
                    let region = self.region(zone, lease);
                    if self.prepare(zone, ask.cause) {
                        return Ok(region);
                    }
                    region.retire();
                    drop(region);
                    state = self.state.lock();
                }
                Choice::Finish(zone) => {
                    state.table.take(zone);
                    drop(state);
                    self.finish(zone, ask.cause);
                    state = self.state.lock();
                }
                Choice::Revoke(zone) => state.end_lease(zone),
                Choice::AwaitLease if wait.lasted() < WAIT_MAX => {
                    wait.clock.on(WaitCause::OpenZones);
                    self.changed.wait_for(&mut state, WAIT_STEP);
                }
                Choice::AwaitLease => return Err(state.busy(zone)),
                Choice::Full => self.await_space(&mut state, ask.rank, zone, &mut wait)?,
            }
        }
    }

    fn lease_spare(self: Arc<Self>, ask: &Ask) -> Option<Region> {
        let Limits { leases, active, .. } = self.limits;
        self.lease_if(ask, false, |state| {
            let logs = state.logs();
            let slots = state.governor.slots_with(&state.table, logs.saturating_add(1));
            logs.saturating_add(1 + OTHERS_OPEN) <= leases && slots <= active
        })
    }

    fn lease_at_once(self: Arc<Self>, ask: &Ask) -> Option<Region> {
        self.lease_if(ask, false, |_| true)
    }

    fn lease_group(self: Arc<Self>, ask: &Ask, size: ByteCount) -> Option<Region> {
        let zone = u64::from(self.limits.zone_blocks);
        let blocks = ask.left.map_or(0, |left| left.0.div_ceil(BLOCK as u64));
        let is_large = size.0 > zone * BLOCK as u64;
        // No zone that holds anything has room for a whole zone: a fresh one is opened, if any is.
        let whole = if is_large { zone } else { Governor::padded(blocks).min(zone) } as u32;
        let ask = Ask { least: whole.max(ask.least), ..ask.clone() };
        self.lease_if(&ask, true, |state| {
            let has_plenty = state.table.totals().free_zones >= GROUP_FREE_MIN;
            has_plenty || matches!(state.choose(&ask, self.limits), Choice::Append(_))
        })
    }

    fn set_idle(&self, lease: LeaseId, idle: bool) {
        let mut state = self.state.lock();
        let held = state.leases.get_mut(&ZoneId(lease.stretch));
        if let Some(held) = held.filter(|held| held.id == lease.serial) {
            held.idle = idle;
            self.changed.notify_all();
        }
    }

    fn rest(&self, lease: LeaseId) -> Option<(BlockAddr, u32)> {
        let zone = ZoneId(lease.stretch);
        let state = self.state.lock();
        state.leases.get(&zone).filter(|held| held.id == lease.serial)?;
        let entry = state.table.get(zone);
        Some((self.grid.addr(zone, entry.written), entry.room()))
    }

    fn claim(&self, lease: LeaseId, blocks: u32) -> Option<(BlockAddr, u32)> {
        let zone = ZoneId(lease.stretch);
        let State { table, leases, claimed, .. } = &mut *self.state.lock();
        let held = leases.get_mut(&zone).filter(|held| held.id == lease.serial)?;
        let entry = *table.get(zone);
        let blocks = blocks.min(entry.room());
        if blocks == 0 {
            return None;
        }
        debug_assert!(held.prepared, "zone {zone} is written before it is emptied");
        debug_assert!(entry.condition == Condition::Leased && entry.active, "{entry:?}");
        held.in_flight += 1;
        *claimed += u64::from(blocks);
        table.claim(zone, blocks, *claimed);
        Some((self.grid.addr(zone, entry.written), blocks))
    }

    fn end_lease(&self, lease: LeaseId) {
        let zone = ZoneId(lease.stretch);
        let mut state = self.state.lock();
        if state.leases.get(&zone).is_some_and(|held| held.id == lease.serial) {
            state.end_lease(zone);
            self.changed.notify_all();
        }
    }

    fn settle(&self, lease: LeaseId, written: bool) {
        self.end_write(lease, written);
    }

    fn abandon(&self, lease: LeaseId) {
        // An earlier write of this lease may have failed as well. If it retired the zone, the zone
        // stays so.
        if self.is_held(lease) {
            self.end_writing(ZoneId(lease.stretch), Condition::Written);
        }
    }

    fn retire(&self, lease: LeaseId) {
        // Ends the zone's lease, whatever its number. No other writer can have one: the blocks of
        // the write that failed are counted in the zone until the writer gives them back, which it
        // does after this. Until then the lease is not revoked, and if an earlier write has ended
        // it, the zone is full, not free, and no victim of reclaim.
        debug_assert!(self.is_free_or_held(lease), "a lease of another writer: {lease:?}");
        self.retire_zone(ZoneId(lease.stretch));
    }

    /// A lease for each further file must be left in addition to all that are held, and to one each
    /// for a flush, a compaction and reclaim. Otherwise writers would take each other's zones in
    /// turns, and tables would lie in pieces. A file has no lease before its first write, so there
    /// must be at least `files` leases, even if fewer are held.
    fn admits(&self, id: ReservationId, files: u32, _size: ByteCount) -> bool {
        let mut state = self.state.lock();
        let held = u32::try_from(state.leases.len()).unwrap_or(u32::MAX);
        let leases = held.max(files).saturating_add(1 + OTHERS_OPEN);
        let slots = state.governor.slots_with(&state.table, leases);
        if leases > self.limits.leases || slots > self.limits.active {
            return false;
        }
        let (rank, more) = state.governor.zones_to_admit(id, files);
        if more > 0 && state.gives_way(rank, more) {
            return false;
        }
        let State { table, governor, .. } = &mut *state;
        governor.admit(id, files, table)
    }

    fn end_reservation(&self, id: ReservationId) {
        let State { table, governor, .. } = &mut *self.state.lock();
        governor.release(id, table);
        self.changed.notify_all();
    }

    fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        debug_assert_ne!(from, to, "nothing turns");
        let mut state = self.state.lock();
        for extent in extents {
            state.table.turn(self.grid.zone(extent.first), from, to, extent.blocks);
        }
        state.deaths += 1;
    }

    fn free(&self, extents: &[Extent], share: Share) {
        if extents.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for extent in extents {
            state.table.remove(self.grid.zone(extent.first), share, extent.blocks);
        }
        state.deaths += 1;
        self.changed.notify_all();
        self.wanted.notify_all();
    }
    fn reserve(self: Arc<Self>, rank: Rank, bytes: ByteCount) -> Result<Reserved, StoreError> {
        let asked = runner::now();
        let blocks = Governor::padded(bytes.0.div_ceil(BLOCK as u64));
        let zones = Governor::zones_for(blocks, self.limits.zone_blocks);
        // A second writer may strand as much.
        let needed = blocks + u64::from(self.limits.zone_blocks);
        let mut wait = SpaceWait::new(&self.medium.waits);
        let mut state = self.state.lock();
        loop {
            state.check_running()?;
            if state.gives_way(rank, zones) && runner::now().since(asked) < WAIT_MAX {
                wait.clock.on(WaitCause::Zones(rank));
                self.wanted.notify_all();
                self.changed.wait_for(&mut state, WAIT_STEP);
                // For itself it begins to wait only now.
                wait = SpaceWait::new(&self.medium.waits);
                continue;
            }
            // Slots that logs take in addition to the one that is kept for them.
            let taken = state.logs().saturating_sub(1);
            let limits = Limits { active: self.limits.active.saturating_sub(taken), ..self.limits };
            let State { table, governor, .. } = &mut *state;
            if let Some(id) = governor.grant(rank, blocks, limits, table) {
                drop(state);
                return Ok(Reserved::new(Arc::clone(&self) as Arc<dyn Pool>, id, bytes));
            }
            if governor.could_grant(rank, blocks, self.limits, table) && wait.lasted() < WAIT_MAX {
                // Until the memtable of an older log is flushed.
                wait.clock.on(WaitCause::OpenZones);
                self.changed.wait_for(&mut state, WAIT_STEP);
                continue;
            }
            self.await_space(&mut state, rank, needed, &mut wait)?;
        }
    }

    fn stop(&self, error: &StoreError) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert_with(|| error.clone());
        state.reclaim = ReclaimState::Absent;
        self.changed.notify_all();
        self.wanted.notify_all();
    }

    fn room(&self) -> SpaceInfo {
        let state = self.state.lock();
        let State { table, governor, .. } = &*state;
        let totals = table.totals();
        let bytes = |blocks: u64| ByteCount(blocks * BLOCK as u64);
        let zones = |zones: u32| bytes(u64::from(zones) * u64::from(self.zone_blocks()));
        SpaceInfo {
            capacity: bytes(totals.capacity),
            free: bytes(totals.free + totals.room),
            live: bytes(totals.live + totals.unsealed),
            dead: bytes(totals.dead),
            pinned: bytes(totals.pinned),
            reserved: zones(governor.granted()),
            kept: zones(governor.kept_from_puts(table)),
            for_puts: zones(governor.left_for_puts(table)),
        }
    }
}
