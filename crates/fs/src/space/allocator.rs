//! Hands regions to writers and zones to the journal, and takes back what transactions free.
//!
//! # Rules
//! - A free zone is reset when it is taken, never before: nothing is lost by a free zone that still
//!   shows old bytes.
//! - Leases are limited by the device's open zones, partly written zones by its active zones. When
//!   leases run short, that of a resting writer is taken away; when active zones do, another
//!   stream's zone is filled up if the placement says so, else the fullest is finished.
//! - Whoever finds no space waits for reclaim as long as reclaim can give back anything, and no
//!   longer; reclaim and the journal never wait.
//!
//! # Threads
//! One lock around the counts, never held over a device call: a zone that is being reset or finished
//! is leased meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use terrace_env::store::{FileKind, PlacementHint, Rank, StoreError};
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::{ByteCount, Cause, Time, ZoneId, runner};
use terrace_policy::{
    CandidateZone, PartZone, Placement, PlacementChoice, PlacementRequest, RECLAIM_STREAM, Reclaim,
    ReclaimChoice, ReclaimView, SpaceView,
};
use terrace_zone::{Device, ZoneState};

use super::governor::{ReservationId, journal_zones};
use super::{Condition, Governor, Region, Reserved, Share, Totals, Zone, ZoneTable};
use crate::block::{BLOCK, BlockAddr};
use crate::catalog::Extent;
use crate::journal::JournalSpace;
use crate::medium::Medium;

/// The longest that anybody waits for reclaim or for an open zone. Emptying a full 256 MiB zone on
/// a disk takes about five seconds.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest that anybody waits for readers to let go of deleted files.
const PIN_WAIT_MAX: Duration = Duration::from_millis(100);
/// How often a waiter looks again without being told.
const WAIT_STEP: Duration = Duration::from_millis(50);

/// Reclaim starts unasked when the log may take fewer free zones than this share of all.
const LOW_WATER_SHARE: u32 = 64;
/// And when it may take fewer than this many: so much is written while a zone is emptied.
const LOW_WATER_MAX: u32 = 8;
/// A zone is emptied unasked if at least this share of it is dead: less would be copied again and
/// again for little.
const CHEAP_SHARE: u32 = 4;

/// How the work on a victim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is empty, or the work was interrupted.
    Done,
    /// There is no zone to copy to, or nothing to copy until a commit is durable.
    NoRoom,
    /// It cannot be emptied.
    Failed,
}

/// How many zones may be in use at once, journal and superblock apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Zones that are leased.
    pub(crate) leases: u32,
    /// Zones that are partly written.
    pub(crate) active: u32,
}

/// Who wants a region.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) hint: PlacementHint,
    pub(crate) kind: FileKind,
    pub(crate) rank: Rank,
    /// 0 without one.
    pub(crate) reservation: ReservationId,
    /// The fewest blocks that are of use.
    pub(crate) least: u32,
    pub(crate) cause: Cause,
}

/// See the [module](self).
pub(crate) struct Allocator {
    medium: Arc<Medium>,
    placement: Arc<dyn Placement>,
    limits: Limits,
    zone_blocks: u32,
    state: Mutex<State>,
    /// Space, a lease or an active slot may have come free.
    changed: Condvar,
    /// Reclaim may have something to do.
    wanted: Condvar,
}

struct State {
    table: ZoneTable,
    governor: Governor,
    leases: BTreeMap<ZoneId, Lease>,
    next_lease: u64,
    /// Writers that wait for space.
    waiters: u32,
    /// How often something has died.
    deaths: u64,
    /// The count of deaths when reclaim last found nothing worth doing.
    refused: Option<u64>,
    reclaim: ReclaimState,
    /// A victim is being emptied.
    reclaiming: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReclaimState {
    /// Nobody reclaims: there is nothing to wait for.
    Absent,
    /// Somebody does, when there is something to do.
    Present,
}

struct Lease {
    id: u64,
    in_flight: u32,
    /// Logs keep theirs: a further one costs them a journal write.
    revocable: bool,
}

enum Choice {
    Append(ZoneId),
    Open(ZoneId),
    Finish(ZoneId),
    Revoke(ZoneId),
    AwaitLease,
    Full,
}

impl Allocator {
    /// Over these zones. `zone_blocks` is the capacity of an ordinary zone.
    pub(crate) fn new(
        medium: Arc<Medium>,
        placement: Arc<dyn Placement>,
        limits: Limits,
        table: ZoneTable,
        zone_blocks: u32,
    ) -> Self {
        let state = State {
            table,
            governor: Governor::new(journal_zones(0, zone_blocks)),
            leases: BTreeMap::new(),
            next_lease: 1,
            waiters: 0,
            deaths: 0,
            refused: None,
            reclaim: ReclaimState::Absent,
            reclaiming: false,
        };
        let (state, changed, wanted) = (Mutex::new(state), Condvar::new(), Condvar::new());
        Self { medium, placement, limits, zone_blocks, state, changed, wanted }
    }

    /// The sums over all zones, and the free zones that reservations hold.
    pub(crate) fn totals(&self) -> (Totals, u32) {
        let state = self.state.lock();
        (*state.table.totals(), state.governor.granted())
    }

    /// A copy of what is known of each zone, from `first` on.
    pub(crate) fn zones(&self) -> Vec<Zone> {
        let state = self.state.lock();
        (0..state.table.len()).map(|zone| *state.table.get(ZoneId(zone))).collect()
    }

    /// Blocks of an ordinary zone.
    pub(crate) fn zone_blocks(&self) -> u32 {
        self.zone_blocks
    }

    /// Whether a zone holds data and nobody writes to it.
    pub(crate) fn is_written(&self, zone: ZoneId) -> bool {
        self.state.lock().table.get(zone).condition == Condition::Written
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
        let started = runner::now();
        let mut state = self.state.lock();
        loop {
            match state.choose(ask, self.limits, &*self.placement) {
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
                    let finished = self.medium.finish(zone, ask.cause);
                    state = self.state.lock();
                    state.table.change(zone, |z| {
                        z.written = z.capacity;
                        z.condition = Condition::Written;
                    });
                    if finished.is_err() {
                        state.table.change(zone, |z| z.condition = Condition::ReadOnly);
                    }
                }
                Choice::Revoke(zone) => state.end_lease(zone),
                Choice::AwaitLease if runner::now().since(started) < WAIT_MAX => {
                    self.changed.wait_for(&mut state, WAIT_STEP);
                }
                Choice::AwaitLease => return Err(state.busy(u64::from(self.zone_blocks))),
                Choice::Full => self.await_space(&mut state, ask.rank, 1, started)?,
            }
        }
    }

    /// Keeps enough zones for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        let zones = journal_zones(bytes, self.zone_blocks);
        self.state.lock().governor.set_journal(zones);
    }

    /// Sets space aside, waiting for reclaim where that helps.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        rank: Rank,
        bytes: ByteCount,
    ) -> Result<Reserved, StoreError> {
        let started = runner::now();
        let zones = Governor::zones_for(bytes.0.div_ceil(BLOCK as u64), self.zone_blocks);
        let mut state = self.state.lock();
        loop {
            let State { table, governor, .. } = &mut *state;
            if let Some(id) = governor.grant(rank, zones, self.zone_blocks, table) {
                drop(state);
                return Ok(Reserved::new(Arc::clone(self), id, bytes));
            }
            self.await_space(&mut state, rank, zones, started)?;
        }
    }

    /// Waits until space may have come free; an error if nothing can free any.
    fn await_space(
        &self,
        state: &mut MutexGuard<'_, State>,
        rank: Rank,
        zones: u32,
        started: Time,
    ) -> Result<(), StoreError> {
        let needed = u64::from(zones) * u64::from(self.zone_blocks);
        let waited = runner::now().since(started);
        if rank > Rank::Reclaim && state.reclaim_helps() && waited < WAIT_MAX {
            state.waiters += 1;
            self.wanted.notify_all();
            self.changed.wait_for(state, WAIT_STEP);
            state.waiters -= 1;
            return Ok(());
        }
        // Less than is needed would not help when it came free.
        if state.table.totals().pinned < needed {
            return Err(state.no_space(rank, needed));
        }
        if waited < PIN_WAIT_MAX {
            self.changed.wait_for(state, WAIT_STEP);
            return Ok(());
        }
        Err(state.busy(needed))
    }

    /// Empties a zone that is about to be written; whether it can be.
    fn prepare(&self, zone: ZoneId, cause: Cause) -> bool {
        let stale = self.state.lock().table.get(zone).stale;
        if stale && self.medium.reset(zone, cause).is_err() {
            return false;
        }
        self.state.lock().table.change(zone, |z| z.stale = false);
        true
    }

    /// Ends all writing to a zone for as long as the store is mounted: a zone that has failed once
    /// is not given a second chance to fail.
    pub(super) fn retire(&self, zone: ZoneId) {
        let offline = match self.medium.report(zone, 1).as_deref() {
            Ok([report]) => report.state == ZoneState::Offline,
            _ => true,
        };
        let mut state = self.state.lock();
        state.leases.remove(&zone);
        let State { table, governor, .. } = &mut *state;
        governor.let_go(zone, table);
        table.change(zone, |z| {
            z.written = z.capacity;
            z.condition = if offline { Condition::Offline } else { Condition::ReadOnly };
        });
        self.changed.notify_all();
    }

    pub(super) fn rest(&self, zone: ZoneId, lease: u64) -> Option<(BlockAddr, u32)> {
        let state = self.state.lock();
        state.leases.get(&zone).filter(|held| held.id == lease)?;
        let entry = state.table.get(zone);
        Some((BlockAddr { zone, block: entry.written }, entry.room()))
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
        Some((BlockAddr { zone, block: entry.written }, blocks))
    }

    pub(super) fn settle(&self, zone: ZoneId, lease: u64) {
        let mut state = self.state.lock();
        if let Some(held) = state.leases.get_mut(&zone).filter(|held| held.id == lease) {
            held.in_flight -= 1;
            self.changed.notify_all();
        }
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

    /// Somebody reclaims from now on, so that it makes sense to wait.
    pub(crate) fn start_reclaim(&self) {
        self.state.lock().reclaim = ReclaimState::Present;
    }

    /// Nobody reclaims any more: ends the waits for it, and the reclaimer's own.
    pub(crate) fn stop_reclaim(&self) {
        self.state.lock().reclaim = ReclaimState::Absent;
        self.changed.notify_all();
        self.wanted.notify_all();
    }

    /// Waits until there is something to reclaim; `false` when reclaim is to end.
    pub(crate) fn await_work(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match state.reclaim {
                ReclaimState::Absent => return false,
                ReclaimState::Present if state.reclaim_is_due() => return true,
                _ => self.wanted.wait(&mut state),
            }
        }
    }

    /// Whether reclaim is to end.
    pub(crate) fn is_reclaim_stopped(&self) -> bool {
        self.state.lock().reclaim == ReclaimState::Absent
    }

    /// Lets the policy choose a victim and keeps everybody else off it. `None` if there is none.
    pub(crate) fn choose_victim(&self, policy: &dyn Reclaim) -> Option<ReclaimChoice> {
        let mut state = self.state.lock();
        let as_bytes = |blocks: u32| ByteCount(u64::from(blocks) * BLOCK as u64);
        let candidates: Vec<CandidateZone> = state
            .table
            .candidates()
            .take(ReclaimView::CANDIDATES_MAX)
            .map(|(zone, entry)| CandidateZone {
                zone,
                capacity: as_bytes(entry.capacity),
                live: as_bytes(entry.live),
                gain: as_bytes(entry.dead()),
            })
            .collect();
        let choice = policy.victim(&ReclaimView { candidates: &candidates });
        let choice = choice.filter(|choice| candidates.iter().any(|z| z.zone == choice.victim));
        match choice {
            Some(choice) => {
                state.table.change(choice.victim, |z| z.condition = Condition::Leased);
                state.reclaiming = true;
            }
            None => state.refused = Some(state.deaths),
        }
        drop(state);
        self.changed.notify_all();
        choice
    }

    /// The zones that could be victims next.
    pub(crate) fn candidates(&self) -> BTreeSet<ZoneId> {
        let state = self.state.lock();
        state.table.candidates().take(ReclaimView::CANDIDATES_MAX).map(|(zone, _)| zone).collect()
    }

    /// Ends the work on a victim. One that could not be read or moved is left alone until the next
    /// mount; where only room was missing, nothing is tried again until something more has died.
    pub(crate) fn end_victim(&self, victim: ZoneId, outcome: Outcome) {
        let mut state = self.state.lock();
        state.reclaiming = false;
        state.table.change(victim, |z| {
            if z.condition == Condition::Leased {
                z.condition = Condition::Written;
            }
            z.stubborn |= outcome == Outcome::Failed;
        });
        state.deaths += 1;
        if outcome == Outcome::NoRoom {
            state.refused = Some(state.deaths);
        }
        self.changed.notify_all();
    }

    /// Counts blocks of files as `to` instead of as `from`.
    pub(crate) fn turn(&self, extents: &[Extent], from: Share, to: Share) {
        let mut state = self.state.lock();
        for extent in extents {
            state.table.turn(extent.zone, from, to, extent.blocks);
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
            state.table.remove(extent.zone, share, extent.blocks);
        }
        state.deaths += 1;
        self.changed.notify_all();
        self.wanted.notify_all();
    }
}

impl JournalSpace for Allocator {
    fn take(&self) -> Result<ZoneId, StoreError> {
        loop {
            let mut state = self.state.lock();
            let Some(zone) = state.table.next_free(true) else {
                return Err(state.no_space(Rank::Journal, u64::from(self.zone_blocks)));
            };
            state.table.change(zone, |z| z.condition = Condition::Journal);
            drop(state);
            if self.prepare(zone, Cause::Journal) {
                return Ok(zone);
            }
            self.retire(zone);
        }
    }

    fn release(&self, zone: ZoneId) {
        let active = match self.medium.report(zone, 1).as_deref() {
            Ok([report]) => report.state.is_active(),
            _ => true,
        };
        let mut state = self.state.lock();
        state.table.change(zone, |z| {
            z.condition = Condition::Free;
            z.stale = true;
            z.written = 0;
            z.active = active;
        });
        state.deaths += 1;
        self.changed.notify_all();
    }
}

impl State {
    /// What to do for a writer that wants a region.
    fn choose(&self, ask: &Ask, limits: Limits, placement: &dyn Placement) -> Choice {
        if self.table.totals().leased >= limits.leases {
            return self.revoke();
        }
        let own = |zone: &Zone| {
            let strange = zone.stream == RECLAIM_STREAM && ask.rank > Rank::Reclaim;
            let room = zone.room() >= ask.least;
            room && !strange && (zone.holder == 0 || zone.holder == ask.reservation)
        };
        let partly: Vec<PartZone> = self
            .table
            .partly()
            .filter(|(_, zone)| own(zone))
            .map(|(id, zone)| PartZone {
                zone: id,
                room: ByteCount(u64::from(zone.room()) * BLOCK as u64),
                level: zone.level,
                stream: zone.stream,
            })
            .collect();
        let allowed = self.governor.available_to(ask.reservation, ask.rank, &self.table);
        let may_activate = self.table.totals().active < limits.active;
        let next = if allowed > 0 { self.table.next_free(may_activate) } else { None };
        let view = SpaceView { partly: &partly, free: if next.is_some() { allowed } else { 0 } };
        let request = PlacementRequest { hint: &ask.hint, kind: ask.kind, rank: ask.rank };
        match (placement.place(&view, &request), next) {
            (Some(PlacementChoice::Append(zone)), _) if partly.iter().any(|z| z.zone == zone) => {
                Choice::Append(zone)
            }
            (Some(PlacementChoice::OpenNew), Some(zone)) => Choice::Open(zone),
            _ if allowed > 0 && next.is_none() => self.finish_fullest(),
            _ => Choice::Full,
        }
    }

    /// Frees an active slot.
    fn finish_fullest(&self) -> Choice {
        let unheld = self.table.partly().filter(|(_, zone)| zone.holder == 0);
        match unheld.min_by_key(|(id, zone)| (zone.room(), *id)) {
            Some((zone, _)) => Choice::Finish(zone),
            None => self.revoke(),
        }
    }

    /// Takes the lease of a writer that rests.
    fn revoke(&self) -> Choice {
        let resting = self.leases.iter().filter(|(_, held)| held.revocable && held.in_flight == 0);
        let oldest = resting.min_by_key(|(_, held)| held.id);
        oldest.map_or(Choice::AwaitLease, |(zone, _)| Choice::Revoke(*zone))
    }

    fn lease(&mut self, zone: ZoneId, ask: &Ask) -> u64 {
        let id = self.next_lease;
        self.next_lease += 1;
        let revocable = ask.kind != FileKind::Log;
        self.leases.insert(zone, Lease { id, in_flight: 0, revocable });
        self.table.change(zone, |z| {
            z.condition = Condition::Leased;
            z.active = true;
            z.level = ask.hint.level;
            z.stream = ask.hint.stream;
        });
        id
    }

    /// Charges a free zone that has just been leased to whom it is due.
    fn open(&mut self, zone: ZoneId, ask: &Ask) {
        self.governor.taken(ask.reservation, zone, &mut self.table);
    }

    fn end_lease(&mut self, zone: ZoneId) {
        self.leases.remove(&zone);
        if self.table.get(zone).room() == 0 {
            self.governor.let_go(zone, &mut self.table);
        }
        self.table.change(zone, |z| {
            if z.condition == Condition::Leased {
                z.condition = Condition::Written;
            }
        });
        self.deaths += 1;
    }

    /// Whether waiting for reclaim may give space.
    fn reclaim_helps(&self) -> bool {
        match self.reclaim {
            ReclaimState::Absent => false,
            ReclaimState::Present => self.reclaiming || self.has_garbage(),
        }
    }

    /// Whether there is a candidate that the policy has not refused already.
    fn has_garbage(&self) -> bool {
        self.table.totals().reclaimable > 0 && self.refused != Some(self.deaths)
    }

    /// Whether reclaim should work: somebody waits, or free zones run short and a zone is cheap.
    fn reclaim_is_due(&self) -> bool {
        if !self.has_garbage() {
            return false;
        }
        if self.waiters > 0 {
            return true;
        }
        let low = (self.table.len() / LOW_WATER_SHARE).clamp(1, LOW_WATER_MAX);
        let cheap = self
            .table
            .candidates()
            .next()
            .is_some_and(|(_, zone)| zone.dead() >= zone.capacity / CHEAP_SHARE);
        cheap && self.governor.available(Rank::Log, &self.table) < low
    }

    fn no_space(&self, rank: Rank, blocks: u64) -> StoreError {
        let zones = self.governor.available(rank, &self.table);
        let totals = self.table.totals();
        let all =
            if totals.free_zones == 0 { 0 } else { totals.free / u64::from(totals.free_zones) };
        StoreError::NoSpace {
            rank,
            needed: bytes(blocks),
            available: bytes(all * u64::from(zones)),
        }
    }

    fn busy(&self, blocks: u64) -> StoreError {
        StoreError::Busy { needed: bytes(blocks), pinned: bytes(self.table.totals().pinned) }
    }
}

fn bytes(blocks: u64) -> ByteCount {
    ByteCount(blocks * BLOCK as u64)
}
