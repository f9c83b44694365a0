//! Hands regions to writers and zones to the journal, and takes back what transactions free.
//!
//! # Rules
//! - A free zone is reset when it is taken, never before: nothing is lost by a free zone that still
//!   shows old bytes.
//! - Leases are limited by the device's open zones, partly written zones by its active zones. When
//!   leases run short, that of a resting writer is taken away; when active zones do, another
//!   stream's zone is filled up if the placement says so, else the fullest is finished.
//! - Once the journal has failed, no zone is given out any more: whether what it wrote last is on
//!   the medium is unknown, and so is whether what that would free is free.
//! - A writer that finds no space waits while reclaim can give back anything, as long as
//!   [`SpaceWait`] allows. Then it waits shortly for readers, if they pin as much as it needs.
//!   Reclaim and the journal never wait.
//! - A compaction sets no space aside while a log or a flush waits for space, or while reclaim is
//!   due and few zones are spare, but for a minute at most; see `gives_way`. A compaction writes
//!   many times what a log writes. It would take every zone that comes free, and a put would wait
//!   until the compaction ends.
//!
//! # Threads
//! One lock around the counts, never held over a device call: a zone that is being reset or
//! finished is leased meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Rank, StoreError};
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::wait::WaitCause;
use terrace_env::{ByteCount, Cause, ZoneId, runner};
use terrace_policy::{Placement, Reclaim};

use super::governor::{ReservationId, journal_zones};
use super::space_wait::{PIN_WAIT_MAX, SpaceWait, WAIT_MAX};
use super::state::{Choice, ReclaimState, State};
use super::{Ask, Condition, Governor, Limits, Region, Reserved, Share, Totals, Zone, ZoneTable};
use crate::block::BLOCK;
use crate::catalog::Extent;
use crate::format::{JOURNAL_OPEN, OPEN_ZONES_MIN};
use crate::medium::Medium;
use crate::{BlockAddr, ZoneGrid};

/// How often a waiter looks again without being told.
const WAIT_STEP: Duration = Duration::from_millis(50);
/// Zones that must be left to others than logs, whose leases are not taken away: a flush, a
/// compaction, and reclaim.
const OTHERS_OPEN: u32 = OPEN_ZONES_MIN - JOURNAL_OPEN - 1;

/// See the [module](self).
pub(crate) struct Allocator {
    pub(super) medium: Arc<Medium>,
    grid: ZoneGrid,
    pub(super) limits: Limits,
    pub(super) state: Mutex<State>,
    /// Space, a lease or an active slot may have come free.
    pub(super) changed: Condvar,
    /// Reclaim may have something to do.
    pub(super) wanted: Condvar,
}

impl Allocator {
    /// Over these zones.
    pub(crate) fn new(
        medium: Arc<Medium>,
        (placement, victims): (Arc<dyn Placement>, Arc<dyn Reclaim>),
        limits: Limits,
        table: ZoneTable,
    ) -> Self {
        let state = State {
            placement,
            victims,
            table,
            governor: Governor::new(journal_zones(0, limits.zone_blocks), limits.zone_blocks),
            leases: BTreeMap::new(),
            next_lease: 1,
            waiters: 0,
            writers_waiting: 0,
            deaths: 0,
            refused: None,
            zone_blocks: limits.zone_blocks,
            reclaim: ReclaimState::Absent,
            reclaiming: false,
            stopped: None,
        };
        let (state, changed, wanted) = (Mutex::new(state), Condvar::new(), Condvar::new());
        let grid = *medium.grid();
        Self { medium, grid, limits, state, changed, wanted }
    }

    /// From now on these decide where files go and which zones are emptied.
    pub(crate) fn decide_by(&self, placement: Arc<dyn Placement>, victims: Arc<dyn Reclaim>) {
        let mut state = self.state.lock();
        (state.placement, state.victims) = (placement, victims);
        // What the former policy refused, this one may not.
        state.refused = None;
        drop(state);
        self.wanted.notify_all();
    }

    /// The sums over all zones, and the free zones that reservations hold.
    pub(crate) fn totals(&self) -> (Totals, u32) {
        let state = self.state.lock();
        (*state.table.totals(), state.governor.granted())
    }

    /// Zones that puts leave to others, and zones that they may come to take.
    pub(crate) fn of_puts(&self) -> (u32, u32) {
        let state = self.state.lock();
        let (governor, table) = (&state.governor, &state.table);
        (governor.kept_from_puts(table), governor.left_for_puts(table))
    }

    /// A copy of what is known of each zone, from `first` on.
    pub(crate) fn zones(&self) -> Vec<Zone> {
        let state = self.state.lock();
        (0..state.table.len()).map(|zone| *state.table.get(ZoneId(zone))).collect()
    }

    /// What is known of these zones.
    pub(crate) fn counts(&self, zones: &[ZoneId]) -> Vec<Zone> {
        let state = self.state.lock();
        zones.iter().map(|zone| *state.table.get(*zone)).collect()
    }

    /// Blocks of an ordinary zone.
    pub(crate) fn zone_blocks(&self) -> u32 {
        self.limits.zone_blocks
    }

    /// Live blocks of a zone.
    pub(crate) fn live(&self, zone: ZoneId) -> u32 {
        self.state.lock().table.get(zone).live
    }

    /// Counts everything anew and compares.
    pub(crate) fn verify(&self) -> Result<(), String> {
        self.state.lock().table.verify()
    }

    /// Leases a region to a writer, waiting for reclaim where that helps.
    pub(crate) fn acquire(self: &Arc<Self>, ask: &Ask) -> Result<Region, StoreError> {
        let zone = u64::from(self.limits.zone_blocks);
        let mut wait = SpaceWait::new(&self.medium.waits);
        let mut state = self.state.lock();
        loop {
            state.check_running()?;
            let choice = state.choose(ask, self.limits);
            if !matches!(choice, Choice::AwaitLease | Choice::Full) {
                wait.clock.off();
            }
            match choice {
                Choice::Append(zone) => {
                    let lease = state.lease(zone, ask);
                    return Ok(Region::new(Arc::clone(self), zone, lease));
                }
                Choice::Open(zone) => {
                    let lease = state.lease(zone, ask);
                    state.open(zone, ask);
                    drop(state);
                    let region = Region::new(Arc::clone(self), zone, lease);
                    if self.prepare(zone, ask.cause) {
                        return Ok(region);
                    }
                    region.retire();
                    drop(region);
                    state = self.state.lock();
                }
                Choice::Finish(zone) => {
                    state.table.change(zone, |z| z.condition = Condition::Leased);
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

    /// Leases a region to a log that does not need it yet; `None` where somebody would have to wait
    /// for it, or might later.
    pub(crate) fn acquire_spare(self: &Arc<Self>, ask: &Ask) -> Option<Region> {
        let Limits { leases, active, .. } = self.limits;
        self.acquire_if(ask, |state| {
            let logs = state.logs();
            let slots = state.governor.slots_with(&state.table, logs.saturating_add(1));
            logs.saturating_add(1 + OTHERS_OPEN) <= leases && slots <= active
        })
    }

    /// Leases a region to a writer if that takes neither a wait nor another writer's zone.
    pub(crate) fn acquire_at_once(self: &Arc<Self>, ask: &Ask) -> Option<Region> {
        self.acquire_if(ask, |_| true)
    }

    fn acquire_if(self: &Arc<Self>, ask: &Ask, may: impl Fn(&State) -> bool) -> Option<Region> {
        let mut state = self.state.lock();
        loop {
            state.check_running().ok()?;
            if !may(&state) {
                return None;
            }
            let zone = match state.choose(ask, self.limits) {
                Choice::Append(zone) => {
                    let lease = state.lease(zone, ask);
                    return Some(Region::new(Arc::clone(self), zone, lease));
                }
                Choice::Open(zone) => zone,
                _ => return None,
            };
            let lease = state.lease(zone, ask);
            state.open(zone, ask);
            drop(state);
            let region = Region::new(Arc::clone(self), zone, lease);
            if self.prepare(zone, ask.cause) {
                return Some(region);
            }
            region.retire();
            drop(region);
            state = self.state.lock();
        }
    }

    /// The journal has failed: nothing is given out any more, and nobody waits.
    pub(crate) fn stop(&self, error: &StoreError) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert_with(|| error.clone());
        state.reclaim = ReclaimState::Absent;
        self.changed.notify_all();
        self.wanted.notify_all();
    }

    /// Keeps enough zones for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        let zones = journal_zones(bytes, self.limits.zone_blocks);
        self.state.lock().governor.set_journal(zones);
    }

    /// Sets space aside, waiting for reclaim where that helps.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        rank: Rank,
        bytes: ByteCount,
    ) -> Result<Reserved, StoreError> {
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
            // Slots that logs take beside the one that is kept for them.
            let taken = state.logs().saturating_sub(1);
            let limits = Limits { active: self.limits.active.saturating_sub(taken), ..self.limits };
            let State { table, governor, .. } = &mut *state;
            if let Some(id) = governor.grant(rank, blocks, limits, table) {
                drop(state);
                return Ok(Reserved::new(Arc::clone(self), id, bytes));
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

    /// Waits until space may have come free; an error if nothing can free any.
    fn await_space(
        &self,
        state: &mut MutexGuard<'_, State>,
        rank: Rank,
        needed: u64,
        wait: &mut SpaceWait<'_>,
    ) -> Result<(), StoreError> {
        let in_time = wait.goes_on(state.table.totals().free_zones);
        if rank > Rank::Reclaim && state.reclaim_helps() && in_time {
            wait.clock.on(WaitCause::Zones(rank));
            let writes = u32::from(rank > Rank::Compaction);
            state.waiters += 1;
            state.writers_waiting += writes;
            self.wanted.notify_all();
            self.changed.wait_for(state, WAIT_STEP);
            state.waiters -= 1;
            state.writers_waiting -= writes;
            return Ok(());
        }
        // Less than is needed would not help when it came free.
        if state.table.totals().pinned < needed {
            return Err(state.no_space(rank, needed));
        }
        if wait.lasted() < PIN_WAIT_MAX {
            wait.clock.on(WaitCause::Pinned);
            self.changed.wait_for(state, WAIT_STEP);
            return Ok(());
        }
        Err(state.busy(needed))
    }

    /// Empties a zone that is about to be written; whether it can be.
    pub(super) fn prepare(&self, zone: ZoneId, cause: Cause) -> bool {
        let stale = self.state.lock().table.get(zone).stale;
        if stale && self.medium.reset(zone, cause).is_err() {
            return false;
        }
        self.state.lock().table.change(zone, |z| z.stale = false);
        true
    }

    pub(super) fn rest(&self, zone: ZoneId, lease: u64) -> Option<(BlockAddr, u32)> {
        let state = self.state.lock();
        state.leases.get(&zone).filter(|held| held.id == lease)?;
        let entry = state.table.get(zone);
        Some((self.grid.addr(zone, entry.written), entry.room()))
    }

    pub(super) fn claim(&self, zone: ZoneId, lease: u64, blocks: u32) -> Option<(BlockAddr, u32)> {
        let State { table, leases, .. } = &mut *self.state.lock();
        let held = leases.get_mut(&zone).filter(|held| held.id == lease)?;
        let entry = *table.get(zone);
        let blocks = blocks.min(entry.room());
        if blocks == 0 {
            return None;
        }
        held.in_flight += 1;
        table.change(zone, |z| {
            z.written += blocks;
            z.unsealed += blocks;
        });
        Some((self.grid.addr(zone, entry.written), blocks))
    }

    pub(super) fn end_lease(&self, zone: ZoneId, lease: u64) {
        let mut state = self.state.lock();
        if state.leases.get(&zone).is_some_and(|held| held.id == lease) {
            state.end_lease(zone);
            self.changed.notify_all();
        }
    }

    pub(super) fn end_reservation(&self, id: ReservationId) {
        let State { table, governor, .. } = &mut *self.state.lock();
        governor.release(id, table);
        self.changed.notify_all();
    }

    /// Counts blocks of files as `to` instead of as `from`.
    pub(crate) fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        let mut state = self.state.lock();
        for extent in extents {
            state.table.turn(self.grid.zone(extent.first), from, to, extent.blocks);
        }
        state.deaths += 1;
    }

    /// Counts blocks of files as dead.
    pub(crate) fn free(&self, extents: &[Extent], share: Share) {
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
}
