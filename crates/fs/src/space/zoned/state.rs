//! State of a zoned device's pool, under the pool's lock, and the choices made from it, such as the
//! zone for a writer.
//!
//! A choice changes nothing: the pool carries it out. That may take a wait or a device call without
//! the lock. If the writer has no region after that, the pool asks for a new choice, since other
//! writers may have been faster. Other methods begin and end leases. No method waits or uses the
//! device.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::store::{FileKind, Rank, StoreError};
use terrace_env::{ByteCount, Cause, DeviceId, ZoneId};
use terrace_policy::{
    PartZone, Placement, PlacementChoice, PlacementRequest, RECLAIM_STREAM, Reclaim, SpaceView,
};

use super::moved::Moved;
use super::{Governor, Zone, ZoneTable};
use crate::block::BLOCK;
use crate::space::Ask;

/// How many zones may be in use at once, journal and superblock apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Zones that are leased.
    pub(crate) leases: u32,
    /// Zones that are partly written.
    pub(crate) active: u32,
    /// Blocks of an ordinary zone.
    pub(crate) zone_blocks: u32,
}

/// State under the pool's lock.
pub(super) struct State {
    /// The number of the device, where the store has others: errors name it then.
    pub(super) device: Option<DeviceId>,
    pub(super) placement: Arc<dyn Placement>,
    pub(super) victims: Arc<dyn Reclaim>,
    pub(super) table: ZoneTable,
    pub(super) governor: Governor,
    pub(super) leases: BTreeMap<ZoneId, Lease>,
    pub(super) next_lease: u64,
    /// Writers that wait for space.
    pub(super) waiters: u32,
    /// Logs and flushes among them.
    pub(super) writers_waiting: u32,
    /// How often something has died.
    pub(super) deaths: u64,
    /// When reclaim last found nothing worth doing.
    pub(super) refused: Option<Refusal>,
    /// Blocks of an ordinary zone.
    pub(super) zone_blocks: u32,
    pub(super) reclaim: ReclaimState,
    /// How many victims are being emptied.
    pub(super) reclaiming: u32,
    /// Blocks that writers and reclaim have claimed since the mount.
    pub(super) claimed: u64,
    pub(super) moved: Moved,
    /// Why the store takes no commits any more.
    pub(super) stopped: Option<StoreError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReclaimState {
    /// No actor reclaims: there is nothing to wait for.
    Absent,
    /// An actor reclaims when there is something to do.
    Present,
}

/// Refusal of reclaim: it found nothing worth doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The count of deaths then.
    pub(super) deaths: u64,
    /// Whether a writer waited for space.
    pub(super) wanted: bool,
}

/// A zone that has a writer.
pub(super) struct Lease {
    pub(super) id: u64,
    pub(super) in_flight: u32,
    /// Whether the zone can be written: one that was just opened may have to be reset before.
    pub(super) prepared: bool,
    pub(super) of_log: bool,
    /// A group's, to which no file is being written.
    pub(super) idle: bool,
    pub(super) cause: Cause,
}

impl Lease {
    /// Logs keep theirs: a further one costs them a journal write. While a zone is being reset, its
    /// lease stays: the next writer could write to the zone before the reset is carried out.
    fn is_revocable(&self) -> bool {
        (self.idle || !self.of_log) && self.in_flight == 0 && self.prepared
    }
}

/// Next step for a writer that wants a region.
pub(super) enum Choice {
    Append(ZoneId),
    Open(ZoneId),
    Finish(ZoneId),
    Revoke(ZoneId),
    AwaitLease,
    Full,
}

impl State {
    /// After a commit of unknown outcome, an unacknowledged transaction may be on the medium, and
    /// the blocks that it names must not be overwritten.
    pub(super) fn check_running(&self) -> Result<(), StoreError> {
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Next step for a writer that wants a region.
    pub(super) fn choose(&self, ask: &Ask, limits: Limits) -> Choice {
        if self.leases.len() as u64 >= u64::from(limits.leases) {
            return self.revoke();
        }
        let spare = self.governor.spare_room(ask.rank, limits.zone_blocks, &self.table);
        let own = |zone: &Zone| {
            let strange = zone.stream == RECLAIM_STREAM && ask.rank > Rank::Reclaim;
            let room = zone.room() >= ask.least && !strange;
            let common = zone.holder == 0 && u64::from(zone.room()) <= spare;
            room && (common || (zone.holder == ask.reservation && ask.reservation != 0))
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
        let next = |activate| self.table.next_free(activate, ask.least).filter(|_| allowed > 0);
        let (next, with_slot) = (next(may_activate), next(true));
        let can_open = next.is_some() || (with_slot.is_some() && self.fullest().is_some());
        let free = if can_open { allowed } else { 0 };
        let view = SpaceView { partly: &partly, free, slot: next.is_some() };
        let Ask { ref hint, kind, rank, left, .. } = *ask;
        let request = PlacementRequest { hint, kind, rank, left };
        match (self.placement.place(&view, &request), next) {
            (Some(PlacementChoice::Append(zone)), _) if partly.iter().any(|z| z.zone == zone) => {
                Choice::Append(zone)
            }
            (Some(PlacementChoice::OpenNew), Some(zone)) => Choice::Open(zone),
            _ if next.is_none() && with_slot.is_some() => self.finish_fullest(),
            _ => Choice::Full,
        }
    }

    /// The partly written zone with the least room of those that no reservation holds.
    fn fullest(&self) -> Option<ZoneId> {
        let unheld = self.table.partly().filter(|(_, zone)| zone.holder == 0);
        unheld.min_by_key(|(id, zone)| (zone.room(), *id)).map(|(id, _)| id)
    }

    /// Zones that logs hold.
    pub(super) fn logs(&self) -> u32 {
        self.leases.values().filter(|lease| lease.of_log && !lease.idle).count() as u32
    }

    /// Frees an active slot.
    fn finish_fullest(&self) -> Choice {
        match self.fullest() {
            Some(zone) => Choice::Finish(zone),
            None => self.revoke(),
        }
    }

    /// Takes the lease of a writer that rests.
    fn revoke(&self) -> Choice {
        let resting = self.leases.iter().filter(|(_, held)| held.is_revocable());
        let oldest = resting.min_by_key(|(_, held)| held.id);
        oldest.map_or(Choice::AwaitLease, |(zone, _)| Choice::Revoke(*zone))
    }

    /// A lease of a zone that is written already.
    pub(super) fn lease(&mut self, zone: ZoneId, ask: &Ask) -> u64 {
        self.add_lease(zone, ask, true)
    }

    /// A lease of a free zone, which is to be prepared. It is charged to the reservation of the
    /// request.
    pub(super) fn open(&mut self, zone: ZoneId, ask: &Ask) -> u64 {
        let id = self.add_lease(zone, ask, false);
        self.governor.taken(ask.reservation, zone, &mut self.table);
        id
    }

    fn add_lease(&mut self, zone: ZoneId, ask: &Ask, prepared: bool) -> u64 {
        let id = self.next_lease;
        self.next_lease += 1;
        let of_log = ask.kind == FileKind::Log;
        let lease = Lease { id, in_flight: 0, prepared, of_log, idle: false, cause: ask.cause };
        let former = self.leases.insert(zone, lease);
        debug_assert!(former.is_none(), "zone {zone} has a writer already");
        self.table.lease(zone, &ask.hint);
        id
    }

    pub(super) fn end_lease(&mut self, zone: ZoneId) {
        let ended = self.leases.remove(&zone);
        debug_assert!(ended.is_some(), "zone {zone} has no writer");
        let entry = self.table.get(zone);
        if entry.room() == 0 {
            self.governor.let_go(zone, &mut self.table);
        } else if entry.written == 0 {
            self.governor.not_taken(zone, &mut self.table);
        }
        self.table.end_lease(zone);
        self.deaths += 1;
    }

    /// Ends the oldest idle lease; whether there was one. The room of a reservation is of no use to
    /// others, so its lease stays.
    pub(super) fn end_idle_lease(&mut self) -> bool {
        let common = |zone: &ZoneId| self.table.get(*zone).holder == 0;
        let idle = self.leases.iter().filter(|(zone, held)| held.idle && common(zone));
        let oldest = idle.min_by_key(|(_, held)| held.id).map(|(zone, _)| *zone);
        oldest.map(|zone| self.end_lease(zone)).is_some()
    }

    pub(super) fn no_space(&self, rank: Rank, blocks: u64) -> StoreError {
        let zones = self.governor.available(rank, &self.table);
        let totals = self.table.totals();
        let all =
            if totals.free_zones == 0 { 0 } else { totals.free / u64::from(totals.free_zones) };
        StoreError::NoSpace {
            rank,
            needed: bytes(blocks),
            available: bytes(all * u64::from(zones)),
            on_host: false,
            empty: totals.live + totals.unsealed + totals.pinned == 0,
            device: self.device,
        }
    }

    pub(super) fn busy(&self, blocks: u64) -> StoreError {
        let (needed, pinned) = (bytes(blocks), bytes(self.table.totals().pinned));
        StoreError::Busy { needed, pinned, device: self.device }
    }
}

fn bytes(blocks: u64) -> ByteCount {
    ByteCount(blocks * BLOCK as u64)
}
