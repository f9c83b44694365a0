//! [`ZonedPool`]: hands regions to writers and zones to the journal, and takes back blocks that
//! transactions free.
//!
//! - **Reset**: a free zone may show old bytes. It is then reset when it is taken to be written.
//! - **Leases** are limited by the device's open zones. If they run short, an idle writer loses its
//!   lease, but a log does not while it is written. If all are writing, a writer that may wait does
//!   so, and gets `Busy` after a minute.
//! - **Active zones** are limited by the device. If they run short, a zone of another stream is
//!   filled up if the placement says so. Otherwise the fullest zone that is not set aside is
//!   finished. If there is none, an idle writer loses its lease.
//! - **Space**: a writer that finds none gets the space of idle leases, but for those under a
//!   reservation. Then it waits for reclaim, as long as reclaim can help and [`SpaceWait`] allows.
//!   After that, if readers pin enough space, it waits for them briefly and gets `Busy`;
//!   else it gets `NoSpace`. Reclaim itself does not wait for reclaim.
//! - **Stop**: once the journal has failed, files get no zones any more. It is unknown whether its
//!   last write is on the medium, and so whether the zones that it frees are free.
//!
//! # Threads
//! One lock around the counts, not held over a device call. Once the store is mounted, a zone that
//! is being reset or finished is leased meanwhile, or the journal's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{Rank, StoreError};
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::wait::WaitCause;
use terrace_env::{Cause, ZoneId};
use terrace_policy::{Placement, Reclaim, Supply};

use super::moved::Moved;
use super::reserves::journal_zones;
use super::space_wait::{PIN_WAIT_MAX, SpaceWait};
use super::state::{Choice, ReclaimState, State};
use super::{Governor, Limits, Zone, ZoneTable};
use crate::ZoneGrid;
use crate::format::{JOURNAL_OPEN, OPEN_ZONES_MIN};
use crate::medium::Medium;
use crate::space::pool::LeaseId;
use crate::space::{Ask, Pool, Region};

/// How often a waiter looks again without being told.
pub(super) const WAIT_STEP: Duration = Duration::from_millis(50);
/// Zones that must be left to others than logs, whose leases are not taken away: a flush, a
/// compaction, and reclaim.
pub(super) const OTHERS_OPEN: u32 = OPEN_ZONES_MIN - JOURNAL_OPEN - 1;

/// See the [module](self).
pub(crate) struct ZonedPool {
    pub(super) medium: Arc<Medium>,
    pub(super) grid: ZoneGrid,
    pub(super) limits: Limits,
    pub(super) state: Mutex<State>,
    /// Space, a lease or an active slot may have come free.
    pub(super) changed: Condvar,
    /// Reclaim may have something to do.
    pub(super) wanted: Condvar,
}

impl ZonedPool {
    /// A pool over these zones.
    pub(crate) fn new(
        medium: Arc<Medium>,
        (placement, victims): (Arc<dyn Placement>, Arc<dyn Reclaim>),
        limits: Limits,
        table: ZoneTable,
    ) -> Self {
        let state = State {
            device: None,
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
            reclaiming: 0,
            claimed: 0,
            moved: Moved::default(),
            stopped: None,
        };
        let (state, changed, wanted) = (Mutex::new(state), Condvar::new(), Condvar::new());
        let grid = *medium.grid();
        Self { medium, grid, limits, state, changed, wanted }
    }

    /// The journal and the logs have a device of their own: nothing is kept for the journal.
    pub(crate) fn beside_log_device(self) -> Self {
        let mut state = self.state.lock();
        state.governor.set_journal(0);
        state.device = Some(self.grid.device());
        drop(state);
        self
    }

    /// From now on these decide where files go and which zones are emptied.
    pub(crate) fn decide_by(&self, placement: Arc<dyn Placement>, victims: Arc<dyn Reclaim>) {
        let mut state = self.state.lock();
        (state.placement, state.victims) = (placement, victims);
        // This policy may choose a victim that the former one refused.
        state.refused = None;
        drop(state);
        self.wanted.notify_all();
    }

    /// A copy of the record of each zone.
    pub(crate) fn zones(&self) -> Vec<Zone> {
        let state = self.state.lock();
        (0..state.table.len()).map(|zone| *state.table.get(ZoneId(zone))).collect()
    }

    /// Counts of these zones.
    pub(crate) fn counts(&self, zones: &[ZoneId]) -> Vec<Zone> {
        let state = self.state.lock();
        zones.iter().map(|zone| *state.table.get(*zone)).collect()
    }

    /// How many zones are free.
    pub(crate) fn supply(&self) -> Supply {
        self.state.lock().supply()
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

    /// Locks the state, to take a free zone that suits the host.
    pub(super) fn lock_for_zone(&self) -> MutexGuard<'_, State> {
        let is_short = self.medium.is_host_short();
        let mut state = self.state.lock();
        state.table.take_stale_first(is_short);
        state
    }

    /// Leases a region to a writer without a wait, as long as `may` allows it. `finish`: other
    /// zones may be finished for it.
    pub(super) fn lease_if(
        self: &Arc<Self>,
        ask: &Ask,
        finish: bool,
        may: impl Fn(&State) -> bool,
    ) -> Option<Region> {
        let mut state = self.lock_for_zone();
        loop {
            state.check_running().ok()?;
            if !may(&state) {
                return None;
            }
            let zone = match state.choose(ask, self.limits) {
                Choice::Append(zone) => {
                    let lease = state.lease(zone, ask);
                    return Some(self.region(zone, lease));
                }
                Choice::Open(zone) => zone,
                Choice::Finish(zone) if finish => {
                    state.table.take(zone);
                    drop(state);
                    self.finish(zone, ask.cause);
                    state = self.state.lock();
                    continue;
                }
                _ => return None,
            };
            let lease = state.open(zone, ask);
            drop(state);
            let region = self.region(zone, lease);
            if self.prepare(zone, ask.cause) {
                return Some(region);
            }
            region.retire();
            drop(region);
            state = self.state.lock();
        }
    }

    /// The region of a lease that was just made.
    pub(super) fn region(self: &Arc<Self>, zone: ZoneId, serial: u64) -> Region {
        let pool = Arc::clone(self) as Arc<dyn Pool>;
        Region::new(pool, LeaseId { stretch: zone.0, serial })
    }

    /// Keeps enough zones for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        let zones = journal_zones(bytes, self.limits.zone_blocks);
        self.state.lock().governor.set_journal(zones);
    }

    /// Adds `blocks` to the live blocks on the offload device; a negative number takes away.
    pub(crate) fn owe(&self, blocks: i64) {
        self.state.lock().governor.owe(blocks);
        if blocks < 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until space may have come free; an error if nothing can free any.
    pub(super) fn await_space(
        &self,
        state: &mut MutexGuard<'_, State>,
        rank: Rank,
        needed: u64,
        wait: &mut SpaceWait<'_>,
    ) -> Result<(), StoreError> {
        if state.end_idle_lease() {
            self.changed.notify_all();
            return Ok(());
        }
        let in_time = wait.goes_on(state.table.totals().free_zones);
        if rank > Rank::Reclaim && state.reclaim_helps() && in_time {
            wait.clock.on(WaitCause::Zones(rank));
            let writes = u32::from(rank > Rank::Compaction);
            state.waiters += 1;
            state.writers_waiting += writes;
            self.wanted.notify_all();
            self.changed.wait_for(state, WAIT_STEP);
            debug_assert!(state.writers_waiting >= writes && state.waiters > 0);
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

    /// Empties a zone that was just opened, whose lease no other writer takes meanwhile; returns
    /// whether it can be written.
    pub(super) fn prepare(&self, zone: ZoneId, cause: Cause) -> bool {
        let stale = self.state.lock().table.get(zone).stale;
        if stale && self.medium.reset(zone, cause).is_err() {
            return false;
        }
        let mut state = self.state.lock();
        state.table.mark_reset(zone);
        debug_assert!(
            state.leases.get(&zone).is_none_or(|lease| lease.in_flight == 0),
            "zone {zone} was emptied under a write"
        );
        if let Some(lease) = state.leases.get_mut(&zone) {
            lease.prepared = true;
        }
        // A writer may wait for this zone.
        self.changed.notify_all();
        true
    }
}
