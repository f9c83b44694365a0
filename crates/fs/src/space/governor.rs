//! Who may take a free zone: ranked reserves, and reservations.
//!
//! The currency is the free zone, because that is what a writer is leased. A rank may take a free
//! zone as long as all that is kept for the ranks above it, and all that reservations hold, stays
//! free:
//!
//! | rank | must leave free, beside what is reserved |
//! |---|---|
//! | journal | nothing |
//! | reclaim | what the journal may still need, beside what it has, until a roll is through |
//! | compaction | and reclaim's |
//! | flush | and compaction's |
//! | log | and flush's |
//!
//! A reservation of `n` bytes is a right to as many free zones as `n` bytes fill, and one more: for
//! the padding of many files, and for a second writer whose zone is not full yet. One job therefore
//! never runs out within its reservation while it keeps to two open files at a time. Where too few
//! zones are free, room in partly written zones is set aside instead, as many blocks as the job may
//! take and the second writer strand: it is reserved by zone, so that nobody else goes on there.
//!
//! Room is what becomes of a free zone that was taken and not filled. So that it comes back to whom
//! the zone was kept for, flush and log leave as much room as the ranks above them, down to
//! compaction, lack in free zones. Without that a compaction that takes its reserve, and makes no
//! zone empty by it, would leave the room behind its tables to logs: and a full store would never
//! again have space for the compaction that carries out its deletes.
//!
//! Pure; whoever owns the governor locks it.

use std::collections::BTreeMap;

use terrace_env::ZoneId;
use terrace_env::store::Rank;
use terrace_policy::RECLAIM_STREAM;

use super::Limits;
use super::zone_table::{Zone, ZoneTable};
use crate::BLOCK;

/// Bytes that the journal may take at least: a roll is due at half of them, and the rest is for the
/// snapshot and for what is committed while it is written.
const JOURNAL_BYTES: u64 = 512 << 10;
/// Zones that the journal takes beside those that its bytes fill: the head's, which holds older
/// frames too, the tail's, and one to go on in.
const JOURNAL_SPARE: u32 = 3;

/// Zones that the journal may come to take, with a snapshot of this many bytes: the chain before a
/// roll, at most two snapshots' worth, the new snapshot, and as much again for what is committed
/// while it is written.
pub(crate) fn journal_zones(snapshot: u64, zone_blocks: u32) -> u32 {
    let bytes = JOURNAL_BYTES.max(snapshot.saturating_mul(4));
    let zones = bytes.div_ceil(u64::from(zone_blocks.max(1)) * BLOCK as u64);
    u32::try_from(zones).unwrap_or(u32::MAX).saturating_add(JOURNAL_SPARE)
}

/// Zones kept for reclaim. A victim holds less than a zone of live blocks, so one is enough, and
/// emptying the victim gives it back.
pub(crate) const RECLAIM_RESERVE: u32 = 1;
/// Zones kept for compaction: what the smallest reservation takes.
pub(crate) const COMPACTION_RESERVE: u32 = 2;
/// Zones kept for flushes: what the smallest reservation takes.
pub(crate) const FLUSH_RESERVE: u32 = 2;

/// Active slots that room in partly written zones is not set aside in: the log's, which has no
/// reservation and must go on, and one for whoever is to free space.
const SLOTS_KEPT: u32 = 2;

/// One block in so many is added to a reservation for the padding of files and frames.
const PADDING_SHARE: u64 = 16;

/// The names of reservations; 0 is none.
pub(crate) type ReservationId = u64;

#[derive(Debug)]
struct Quota {
    /// Free zones it may still take.
    zones: u32,
    /// Zones it was given instead, or has opened and not filled.
    partly: Vec<ZoneId>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Governor {
    /// Zones that the journal may come to take.
    journal: u32,
    quotas: BTreeMap<ReservationId, Quota>,
    /// The zones of all quotas together.
    granted: u32,
    next: ReservationId,
}

impl Governor {
    /// Without reservations, for a journal that may come to take this many zones.
    pub(crate) fn new(journal: u32) -> Self {
        Self { journal, quotas: BTreeMap::new(), granted: 0, next: 1 }
    }

    /// The journal may come to take this many zones.
    pub(crate) fn set_journal(&mut self, zones: u32) {
        self.journal = zones;
    }

    /// Free zones that `rank` must leave to the ranks above it.
    fn floor(&self, rank: Rank, table: &ZoneTable) -> u32 {
        let reclaim = self.journal.saturating_sub(table.totals().journal).max(1);
        let compaction = reclaim + RECLAIM_RESERVE;
        let flush = compaction + COMPACTION_RESERVE;
        match rank {
            Rank::Journal => 0,
            Rank::Reclaim => reclaim,
            Rank::Compaction => compaction,
            Rank::Flush => flush,
            Rank::Log => flush + FLUSH_RESERVE,
        }
    }

    /// Free zones that a writer of `rank` may take.
    pub(crate) fn available(&self, rank: Rank, table: &ZoneTable) -> u32 {
        let free = table.totals().free_zones;
        if rank == Rank::Journal {
            return free;
        }
        free.saturating_sub(self.granted).saturating_sub(self.floor(rank, table))
    }

    /// Free zones that a writer under a reservation may take: what is left of its right, or
    /// whatever its rank may.
    pub(crate) fn available_to(&self, id: ReservationId, rank: Rank, table: &ZoneTable) -> u32 {
        let own = self.quotas.get(&id).map_or(0, |quota| quota.zones);
        own.min(table.totals().free_zones).max(self.available(rank, table))
    }

    /// Blocks of room in partly written zones that a writer of `rank` may set aside, or take as
    /// they are.
    pub(crate) fn spare_room(&self, rank: Rank, zone_blocks: u32, table: &ZoneTable) -> u64 {
        let kept = self.room_kept(rank, zone_blocks, table);
        if kept == 0 {
            return u64::MAX;
        }
        let room: u64 = common(table).map(|(_, zone)| u64::from(zone.room())).sum();
        room.saturating_sub(kept)
    }

    /// Blocks of room in partly written zones that a writer of `rank` must leave: as much as the
    /// ranks above it lack in free zones.
    fn room_kept(&self, rank: Rank, zone_blocks: u32, table: &ZoneTable) -> u64 {
        let unreserved = table.totals().free_zones.saturating_sub(self.granted);
        let lacking = self.floor(rank, table).saturating_sub(unreserved);
        // What reclaim and the journal lack, room cannot give: they take free zones.
        let most = match rank {
            Rank::Journal | Rank::Reclaim | Rank::Compaction => 0,
            Rank::Flush => COMPACTION_RESERVE,
            Rank::Log => COMPACTION_RESERVE + FLUSH_RESERVE,
        };
        u64::from(lacking.min(most)) * u64::from(zone_blocks)
    }

    /// Blocks that a job which writes so many takes in the worst case.
    pub(crate) fn padded(blocks: u64) -> u64 {
        blocks + blocks.div_ceil(PADDING_SHARE)
    }

    /// Sets free zones aside for `rank`, or room in partly written ones where too few are free,
    /// that hold this many blocks [with padding](Self::padded); `None` if there is not enough.
    pub(crate) fn grant(
        &mut self,
        rank: Rank,
        blocks: u64,
        limits: Limits,
        table: &mut ZoneTable,
    ) -> Option<ReservationId> {
        let zone = u64::from(limits.zone_blocks.max(1));
        let zones = u32::try_from(blocks.div_ceil(zone) + 1).unwrap_or(u32::MAX);
        let free = self.available(rank, table).min(zones);
        let partly = if free == zones {
            Vec::new()
        } else {
            let spare = self.spare_room(rank, limits.zone_blocks, table);
            roomy(table, blocks, u64::from(free) * zone, zone).filter(|(_, room)| *room <= spare)?.0
        };
        let held = table.partly().filter(|(_, zone)| zone.holder != 0).count() + partly.len();
        if !partly.is_empty() && held as u64 + u64::from(SLOTS_KEPT) > u64::from(limits.active) {
            return None;
        }
        let id = self.next;
        self.next += 1;
        for zone in &partly {
            table.change(*zone, |z| z.holder = id);
        }
        self.granted += free;
        self.quotas.insert(id, Quota { zones: free, partly });
        Some(id)
    }

    /// Records that a writer has taken a free zone.
    pub(crate) fn taken(&mut self, id: ReservationId, zone: ZoneId, table: &mut ZoneTable) {
        let Some(quota) = self.quotas.get_mut(&id) else { return };
        if quota.zones > 0 {
            quota.zones -= 1;
            self.granted -= 1;
        }
        quota.partly.push(zone);
        table.change(zone, |z| z.holder = id);
    }

    /// Records that a zone is full, failed or free again, and so nobody's.
    pub(crate) fn let_go(&mut self, zone: ZoneId, table: &mut ZoneTable) {
        let holder = table.get(zone).holder;
        if holder == 0 {
            return;
        }
        table.change(zone, |z| z.holder = 0);
        if let Some(quota) = self.quotas.get_mut(&holder) {
            quota.partly.retain(|held| *held != zone);
        }
    }

    /// Ends a reservation: what it holds is everybody's again.
    pub(crate) fn release(&mut self, id: ReservationId, table: &mut ZoneTable) {
        let Some(quota) = self.quotas.remove(&id) else { return };
        self.granted -= quota.zones;
        for zone in quota.partly {
            if table.get(zone).holder == id {
                table.change(zone, |z| z.holder = 0);
            }
        }
    }

    /// Free zones that reservations hold.
    pub(crate) fn granted(&self) -> u32 {
        self.granted
    }
}

/// Partly written zones, the roomiest first, that together with free zones hold `blocks` even if a
/// second writer holds one of them that the last block would need, and the room in them; `None` if
/// there are not enough. `free`: the blocks of those free zones, each of `zone`.
fn roomy(table: &ZoneTable, blocks: u64, free: u64, zone: u64) -> Option<(Vec<ZoneId>, u64)> {
    let mut zones: Vec<(u64, ZoneId)> =
        common(table).map(|(id, zone)| (u64::from(zone.room()), id)).collect();
    zones.sort_unstable_by(|a, b| b.cmp(a));
    let stranded = if free > 0 { zone } else { zones.first()?.0 };
    let wanted = (blocks + stranded).saturating_sub(free);
    let mut room = 0;
    let mut chosen = Vec::new();
    for (blocks_free, zone) in zones {
        if room >= wanted {
            break;
        }
        room += blocks_free;
        chosen.push(zone);
    }
    (room >= wanted).then_some((chosen, room))
}

/// Partly written zones whose room may be set aside, or taken without a reservation.
fn common(table: &ZoneTable) -> impl Iterator<Item = (ZoneId, &Zone)> {
    let is_common = |zone: &Zone| zone.holder == 0 && zone.stream != RECLAIM_STREAM;
    table.partly().filter(move |(_, zone)| is_common(zone))
}

#[cfg(test)]
mod tests {
    use super::super::zone_table::Condition;
    use super::*;

    const ZONE: u32 = 16;
    const BLOCKS: u64 = ZONE as u64;
    const LIMITS: Limits = Limits { leases: 6, active: 6, zone_blocks: ZONE };
    const WIDE: Limits = Limits { leases: 32, active: 32, ..LIMITS };

    fn table(free: u32, half: u32) -> ZoneTable {
        let mut zones = vec![Zone::empty(Condition::Free, ZONE); free as usize];
        let written = Zone { written: 8, live: 8, ..Zone::empty(Condition::Written, ZONE) };
        zones.extend(vec![written; half as usize]);
        ZoneTable::new(zones)
    }

    #[test]
    fn each_rank_leaves_what_the_ranks_above_it_need() {
        let (governor, table) = (Governor::new(2), table(9, 0));
        let ranks = [Rank::Log, Rank::Flush, Rank::Compaction, Rank::Reclaim, Rank::Journal];
        let available: Vec<u32> = ranks.iter().map(|r| governor.available(*r, &table)).collect();
        assert_eq!(available, [2, 4, 6, 7, 9]);
    }

    #[test]
    fn what_is_reserved_is_nobody_elses() {
        let (mut governor, mut table) = (Governor::new(2), table(9, 0));
        let id = governor.grant(Rank::Flush, 2 * BLOCKS, LIMITS, &mut table).unwrap();
        assert_eq!(governor.available(Rank::Flush, &table), 1);
        assert_eq!(governor.available(Rank::Log, &table), 0);
        assert_eq!(governor.available_to(id, Rank::Flush, &table), 3);
        governor.taken(id, ZoneId(0), &mut table);
        assert_eq!(governor.granted(), 2);
        governor.release(id, &mut table);
        assert_eq!((governor.granted(), table.get(ZoneId(0)).holder), (0, 0));
    }

    #[test]
    fn room_in_partly_written_zones_is_reserved_when_zones_are_short() {
        let (mut governor, mut table) = (Governor::new(2), table(5, 4));
        assert_eq!(governor.available(Rank::Flush, &table), 0);
        let id = governor.grant(Rank::Flush, BLOCKS + 8, LIMITS, &mut table).unwrap();
        let held = table.partly().filter(|(_, z)| z.holder == id).count();
        assert_eq!(held, 4, "24 blocks, and half a zone that a second writer holds");
        assert!(governor.grant(Rank::Flush, 1, LIMITS, &mut table).is_none());
        governor.release(id, &mut table);
        let id = governor.grant(Rank::Flush, 1, LIMITS, &mut table).unwrap();
        let held = table.partly().filter(|(_, z)| z.holder == id).count();
        assert_eq!(held, 2, "one for each of two writers");
    }

    #[test]
    fn a_zone_that_is_missing_is_made_up_for_by_room() {
        let (mut governor, mut table) = (Governor::new(2), table(6, 4));
        assert_eq!(governor.available(Rank::Flush, &table), 1);
        let id = governor.grant(Rank::Flush, BLOCKS, LIMITS, &mut table).unwrap();
        let held = table.partly().filter(|(_, z)| z.holder == id).count();
        assert_eq!((governor.granted(), held), (1, 2), "either may be a second writer's");
    }

    #[test]
    fn room_is_left_for_who_lacks_zones() {
        // What flush must leave: 3 zones for the ranks above compaction, and its 2.
        for (free, halves, most) in [(5, 3, 2), (4, 5, 2), (4, 3, 0), (3, 5, 0), (3, 6, 1)] {
            let (mut governor, mut table) = (Governor::new(2), table(free, halves));
            let case = format!("{free} free zones and {halves} halves");
            let kept = governor.room_kept(Rank::Flush, ZONE, &table);
            assert_eq!(kept, BLOCKS * u64::from(5 - free), "{case}");
            let mut grant = |blocks| governor.grant(Rank::Flush, blocks, WIDE, &mut table);
            assert!(grant(most * 8 + 1).is_none(), "{case}");
            assert!(most == 0 || grant(most * 8).is_some(), "{case}");
            // It was kept for this.
            assert!(governor.grant(Rank::Compaction, 8, WIDE, &mut table).is_some(), "{case}");
        }
    }

    #[test]
    fn slots_are_left_for_who_has_no_reservation() {
        let (mut governor, mut table) = (Governor::new(2), table(5, 4));
        let mut grant = |active| {
            governor.grant(Rank::Flush, BLOCKS + 8, Limits { active, ..LIMITS }, &mut table)
        };
        assert!(grant(5).is_none(), "all four, and a single one that is left");
        assert!(grant(6).is_some());
    }
}
