//! [`Governor`]: grants reservations on a device with zones, and counts the free zones that they
//! hold. [`reserves`](super::reserves) says how many free zones a writer leaves to higher ranks.
//!
//! - **Size**: a reservation of `n` bytes holds the zones that `n` bytes and a sixteenth for
//!   padding fill, and one more for a second writer, whose zone may not get full. That is meant for
//!   a job with at most two files open. Before a job opens a third file, it asks for one more zone,
//!   and may be refused.
//! - **Room**: if too few zones are free for a rank, the reservation gets those that are, and room
//!   in partly written zones for the rest. If there is too little room as well, or too few active
//!   slots for its zones, the reservation is refused. Room is reserved by zone: other writers do
//!   not append to the zone, and reclaim leaves it alone.
//! - **Ranks**: zones that are kept for a rank may have been taken and only partly filled. Flushes
//!   and logs therefore leave room, too: the room of the free zones that higher ranks lack, up to a
//!   limit. No room is kept for reclaim and the journal.
//! - **Debt**: files on an [offload device](crate::superblock::Role::Offload) are written here by
//!   compactions, which free nothing here for them. So the urgent log, flushes and logs also leave
//!   the zones that a reservation of these bytes would hold, and compactions take them.
//!
//! Pure; its owner locks it.

use std::collections::BTreeMap;

use terrace_env::ZoneId;
use terrace_env::store::Rank;
use terrace_policy::RECLAIM_STREAM;

use super::Limits;
use super::reserves::Reserves;
use super::zone::Zone;
use super::zone_table::ZoneTable;
use crate::space::ReservationId;

/// Zones of the smallest reservation: one, and one for a second writer.
const SMALLEST_GRANT: u32 = 2;

/// Files that may be open at once under any reservation.
const FILES_OPEN: u32 = 2;

/// Active slots that neither logs nor room that is set aside may take, in addition to the one of
/// the log that must go on: one for the job that frees space.
const SLOTS_TO_FREE: u32 = 1;

/// One block in this number is added to a reservation for the padding of files and frames.
const PADDING_SHARE: u64 = 16;

#[derive(Debug)]
struct Quota {
    rank: Rank,
    /// How many files may be open at once.
    files: u32,
    /// Free zones it may still take.
    zones: u32,
    /// Zones it was given instead, or has opened and not filled.
    partly: Vec<ZoneId>,
    /// Those of them that were taken out of `zones`.
    paid: Vec<ZoneId>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Governor {
    /// Zones that the journal may come to take.
    journal: u32,
    /// Blocks of an ordinary zone.
    zone_blocks: u32,
    reserves: Reserves,
    quotas: BTreeMap<ReservationId, Quota>,
    /// The zones of all quotas together.
    granted: u32,
    /// Live blocks on the offload device.
    owed: i64,
    next: ReservationId,
}

impl Governor {
    /// Without reservations, for a journal that may come to take this many zones.
    pub(crate) fn new(journal: u32, zone_blocks: u32) -> Self {
        Self {
            journal,
            zone_blocks,
            reserves: Reserves::KEPT,
            quotas: BTreeMap::new(),
            granted: 0,
            owed: 0,
            next: 1,
        }
    }

    /// The journal may come to take this many zones.
    pub(crate) fn set_journal(&mut self, zones: u32) {
        self.journal = zones;
    }

    /// Adds `blocks` to the live blocks on the offload device; a negative number takes away.
    pub(crate) fn owe(&mut self, blocks: i64) {
        self.owed += blocks;
    }

    /// Free zones that `rank` must leave to the ranks above it.
    fn floor(&self, rank: Rank, table: &ZoneTable) -> u32 {
        let journal = self.journal.saturating_sub(table.totals().journal).max(1);
        let floor = self.reserves.floor(rank, journal, self.zones_held_up(table));
        floor.saturating_add(self.zones_owed(rank))
    }

    /// Free zones that `rank` must leave to compactions of files on the offload device.
    fn zones_owed(&self, rank: Rank) -> u32 {
        let owed = u64::try_from(self.owed).unwrap_or(0);
        match rank {
            Rank::Journal | Rank::Reclaim | Rank::Compaction => 0,
            Rank::UrgentLog | Rank::Flush | Rank::Log if owed == 0 => 0,
            Rank::UrgentLog | Rank::Flush | Rank::Log => {
                Self::zones_for(Self::padded(owed), self.zone_blocks)
            }
        }
    }

    /// Number of zones that pinned blocks would fill, together with the dead blocks in the same
    /// zones.
    fn zones_held_up(&self, table: &ZoneTable) -> u32 {
        let totals = table.totals();
        u32::try_from(totals.held_up / u64::from(self.zone_blocks.max(1))).unwrap_or(u32::MAX)
    }

    /// Zones that puts leave to jobs that give space back: those of all ranks above theirs, and
    /// those that the flush of the smallest memtable is given.
    pub(crate) fn kept_from_puts(&self, table: &ZoneTable) -> u32 {
        self.floor(Rank::Log, table) + SMALLEST_GRANT
    }

    /// Free zones that puts may come to take: those there are, and those that reclaim makes of dead
    /// blocks and of room.
    pub(crate) fn left_for_puts(&self, table: &ZoneTable) -> u32 {
        let totals = table.totals();
        let dead = totals.dead.saturating_sub(totals.held_up.saturating_sub(totals.pinned));
        let slack = totals.free + totals.room + dead;
        let zones = slack / u64::from(self.zone_blocks.max(1));
        let zones = u32::try_from(zones).unwrap_or(u32::MAX);
        zones.saturating_sub(self.granted).saturating_sub(self.kept_from_puts(table))
    }

    /// Free zones that a writer of `rank` may take.
    pub(crate) fn available(&self, rank: Rank, table: &ZoneTable) -> u32 {
        let free = table.totals().free_zones;
        if rank == Rank::Journal {
            return free;
        }
        free.saturating_sub(self.granted).saturating_sub(self.floor(rank, table))
    }

    /// Free zones that a writer under a reservation may take: the remainder of its right, or all
    /// that its rank may take.
    pub(crate) fn available_to(&self, id: ReservationId, rank: Rank, table: &ZoneTable) -> u32 {
        let own = self.quotas.get(&id).map_or(0, |quota| quota.zones);
        own.min(table.totals().free_zones).max(self.available(rank, table))
    }

    /// The most free zones that a reservation of `blocks` takes; they hold the blocks [with
    /// padding](Self::padded).
    pub(crate) fn zones_for(blocks: u64, zone_blocks: u32) -> u32 {
        let zones = blocks.div_ceil(u64::from(zone_blocks.max(1))) + 1;
        u32::try_from(zones).unwrap_or(u32::MAX)
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

    /// Blocks of room in partly written zones that a writer of `rank` must leave: the room of the
    /// free zones that the ranks above it lack.
    fn room_kept(&self, rank: Rank, zone_blocks: u32, table: &ZoneTable) -> u64 {
        let unreserved = table.totals().free_zones.saturating_sub(self.granted);
        let lacking = self.floor(rank, table).saturating_sub(unreserved);
        let most = self.reserves.in_room(rank).saturating_add(self.zones_owed(rank));
        u64::from(lacking.min(most)) * u64::from(zone_blocks)
    }

    /// Blocks that a job which writes `blocks` takes in the worst case.
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
        let (zones, partly) = self.offer(rank, blocks, limits, table)?;
        let id = self.next;
        self.next += 1;
        for zone in &partly {
            debug_assert!(table.get(*zone).room() > 0, "zone {zone} has no room to set aside");
            table.hold(*zone, id);
        }
        self.granted += zones;
        let paid = Vec::new();
        self.quotas.insert(id, Quota { rank, files: FILES_OPEN, zones, partly, paid });
        debug_assert!(self.adds_up(), "{self:?}");
        Some(id)
    }

    /// Whether there is enough to [`grant`](Self::grant).
    pub(crate) fn could_grant(
        &self,
        rank: Rank,
        blocks: u64,
        limits: Limits,
        table: &ZoneTable,
    ) -> bool {
        self.offer(rank, blocks, limits, table).is_some()
    }

    /// The free zones, and the partly written ones, that such a reservation would be given.
    fn offer(
        &self,
        rank: Rank,
        blocks: u64,
        limits: Limits,
        table: &ZoneTable,
    ) -> Option<(u32, Vec<ZoneId>)> {
        let zone = u64::from(limits.zone_blocks.max(1));
        let zones = Self::zones_for(blocks, limits.zone_blocks);
        let free = self.available(rank, table).min(zones);
        if free == zones {
            return Some((zones, Vec::new()));
        }
        let spare = self.spare_room(rank, limits.zone_blocks, table);
        let found = roomy(table, blocks, u64::from(free) * zone, zone);
        let (partly, _) = found.filter(|(_, room)| *room <= spare)?;
        let slots = self.slots_with(table, 1).saturating_add(partly.len() as u32);
        (partly.is_empty() || slots <= limits.active).then_some((free, partly))
    }

    /// Free zones that a reservation must be given before `files` files are open under it, and its
    /// rank.
    pub(crate) fn zones_to_admit(&self, id: ReservationId, files: u32) -> (Rank, u32) {
        let quota = self.quotas.get(&id).expect("a reservation that is held");
        (quota.rank, files.saturating_sub(quota.files))
    }

    /// Lets `files` files be open at once under a reservation, if its rank may take the number of
    /// free zones that they could strand.
    pub(crate) fn admit(&mut self, id: ReservationId, files: u32, table: &ZoneTable) -> bool {
        let (rank, more) = self.zones_to_admit(id, files);
        if more > self.available(rank, table) {
            return false;
        }
        let quota = self.quotas.get_mut(&id).expect("a reservation that is held");
        quota.files += more;
        quota.zones += more;
        self.granted += more;
        debug_assert!(self.adds_up(), "{self:?}");
        true
    }

    /// Active slots that are spoken for while logs hold `logs` zones: theirs, those of zones whose
    /// room is set aside, and [`SLOTS_TO_FREE`].
    pub(crate) fn slots_with(&self, table: &ZoneTable, logs: u32) -> u32 {
        let held = table.partly().filter(|(_, zone)| zone.holder != 0).count() as u32;
        held.saturating_add(logs).saturating_add(SLOTS_TO_FREE)
    }

    /// Records that a writer has taken a free zone.
    pub(crate) fn taken(&mut self, id: ReservationId, zone: ZoneId, table: &mut ZoneTable) {
        let Some(quota) = self.quotas.get_mut(&id) else { return };
        quota.paid.retain(|paid| *paid != zone);
        if quota.zones > 0 {
            quota.zones -= 1;
            self.granted -= 1;
            quota.paid.push(zone);
        }
        // It may have been taken before, filled with nothing that lasted, and come free again.
        if !quota.partly.contains(&zone) {
            quota.partly.push(zone);
        }
        table.hold(zone, id);
        debug_assert!(self.adds_up(), "{self:?}");
    }

    /// Records that a writer gives back a zone to which it has written nothing, or gets none
    /// because the zone could not be emptied. A zone that the writer took beyond the right of its
    /// reservation is not added to the right.
    pub(crate) fn not_taken(&mut self, zone: ZoneId, table: &mut ZoneTable) {
        let holder = table.get(zone).holder;
        debug_assert_eq!(table.get(zone).written, 0, "zone {zone} is written");
        let was_paid = self.quotas.get(&holder).is_some_and(|quota| quota.paid.contains(&zone));
        self.let_go(zone, table);
        if let Some(quota) = self.quotas.get_mut(&holder).filter(|_| was_paid) {
            quota.zones += 1;
            self.granted += 1;
        }
        debug_assert!(self.adds_up(), "{self:?}");
    }

    /// Records that a zone is full, failed or free again, and so has no holder.
    pub(crate) fn let_go(&mut self, zone: ZoneId, table: &mut ZoneTable) {
        let holder = table.get(zone).holder;
        if holder == 0 {
            return;
        }
        table.let_go(zone);
        if let Some(quota) = self.quotas.get_mut(&holder) {
            quota.partly.retain(|held| *held != zone);
            quota.paid.retain(|paid| *paid != zone);
        }
    }

    /// Ends a reservation: its zones are free for all writers again.
    pub(crate) fn release(&mut self, id: ReservationId, table: &mut ZoneTable) {
        let Some(quota) = self.quotas.remove(&id) else { return };
        debug_assert!(quota.paid.iter().all(|paid| quota.partly.contains(paid)), "{quota:?}");
        self.granted -= quota.zones;
        for zone in quota.partly {
            if table.get(zone).holder == id {
                table.let_go(zone);
            }
        }
        debug_assert!(self.adds_up(), "{self:?}");
    }

    /// Whether the zones of all quotas are those that are granted.
    fn adds_up(&self) -> bool {
        self.granted == self.quotas.values().map(|quota| quota.zones).sum::<u32>()
    }

    /// Keeps other reserves.
    #[cfg(test)]
    pub(super) fn keep(&mut self, reserves: Reserves) {
        self.reserves = reserves;
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
    use super::super::zone::Condition;
    use super::*;
    use crate::space::Share;

    const RANKS: [Rank; 6] =
        [Rank::Log, Rank::Flush, Rank::UrgentLog, Rank::Compaction, Rank::Reclaim, Rank::Journal];

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
        let governor = Governor::new(2, ZONE);
        let available = |table: &ZoneTable| RANKS.map(|rank| governor.available(rank, table));
        assert_eq!(available(&table(11, 0)), [1, 4, 5, 8, 9, 11]);
        // For each zone that readers pin, flushes leave one zone less to compaction, and compaction
        // leaves one more to flushes. Puts leave one more as well.
        for (pinned, left) in [(1, [0, 5, 6, 7]), (3, [0, 7, 8, 5]), (9, [0, 7, 8, 0])] {
            let mut table = table(11, 2 * pinned);
            for zone in 11..11 + 2 * pinned {
                table.turn(ZoneId(zone), Share::Live, Share::Pinned, 8);
            }
            assert_eq!(available(&table)[..4], left, "{pinned} zones are pinned");
        }
        let mut table = table(16, 12);
        for (zone, left) in [(16, 6), (18, 5), (20, 4), (22, 3), (24, 2), (26, 2)] {
            assert_eq!(governor.available(Rank::Log, &table), left, "before zone {zone}");
            for zone in [zone, zone + 1] {
                table.turn(ZoneId(zone), Share::Live, Share::Pinned, 8);
            }
        }
    }

    #[test]
    fn what_is_reserved_is_nobody_elses() {
        let (mut governor, mut table) = (Governor::new(2, ZONE), table(11, 0));
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
        let (mut governor, mut table) = (Governor::new(2, ZONE), table(7, 4));
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
        let (mut governor, mut table) = (Governor::new(2, ZONE), table(8, 4));
        assert_eq!(governor.available(Rank::Flush, &table), 1);
        let id = governor.grant(Rank::Flush, BLOCKS, LIMITS, &mut table).unwrap();
        let held = table.partly().filter(|(_, z)| z.holder == id).count();
        assert_eq!((governor.granted(), held), (1, 2), "either may be a second writer's");
    }

    #[test]
    fn room_is_left_for_who_lacks_zones() {
        // Flush must leave 3 zones for the ranks above compaction, its own 3, and the log's.
        for (free, halves, most) in [(7, 3, 2), (6, 5, 2), (6, 3, 0), (5, 5, 0), (4, 8, 1)] {
            let (mut governor, mut table) = (Governor::new(2, ZONE), table(free, halves));
            let case = format!("{free} free zones and {halves} halves");
            let kept = governor.room_kept(Rank::Flush, ZONE, &table);
            assert_eq!(kept, BLOCKS * u64::from(7 - free), "{case}");
            let mut grant = |blocks| governor.grant(Rank::Flush, blocks, WIDE, &mut table);
            assert!(grant(most * 8 + 1).is_none(), "{case}");
            assert!(most == 0 || grant(most * 8).is_some(), "{case}");
            // It was kept for this.
            assert!(governor.grant(Rank::Compaction, 8, WIDE, &mut table).is_some(), "{case}");
        }
    }

    #[test]
    fn a_third_file_at_once_takes_a_zone_more_and_is_refused_where_there_is_none() {
        let (mut governor, table) = (Governor::new(2, ZONE), &mut table(13, 0));
        let id = governor.grant(Rank::Compaction, BLOCKS, LIMITS, table).unwrap();
        assert!(governor.admit(id, 2, table) && governor.granted() == 2);
        assert!(governor.admit(id, 4, table) && governor.granted() == 4);
        assert!(governor.admit(id, 3, table) && governor.granted() == 4, "asked for before");
        let left = governor.available(Rank::Compaction, table);
        assert!(!governor.admit(id, 5 + left, table) && governor.granted() == 4);
        assert!(governor.admit(id, 4 + left, table));
        assert_eq!(governor.available(Rank::Compaction, table), 0);
        assert_eq!(governor.available_to(id, Rank::Compaction, table), 4 + left);
        governor.release(id, table);
        assert_eq!(governor.granted(), 0);
    }

    #[test]
    fn a_zone_that_a_writer_took_beyond_its_right_does_not_come_back_as_a_right() {
        let (mut governor, table) = (Governor::new(2, ZONE), &mut table(13, 0));
        let id = governor.grant(Rank::Compaction, 1, LIMITS, table).unwrap();
        assert_eq!(governor.granted(), 2);
        (0..3).for_each(|zone| governor.taken(id, ZoneId(zone), table));
        assert_eq!(governor.granted(), 0);
        governor.not_taken(ZoneId(2), table);
        assert_eq!(governor.granted(), 0, "the third zone was not set aside");
        governor.not_taken(ZoneId(1), table);
        assert_eq!(governor.granted(), 1, "the second one was");
        // The same zone again, once by right and once beyond it.
        governor.taken(id, ZoneId(2), table);
        assert_eq!(governor.granted(), 0);
        governor.not_taken(ZoneId(2), table);
        governor.taken(id, ZoneId(4), table);
        governor.taken(id, ZoneId(2), table);
        governor.not_taken(ZoneId(2), table);
        assert_eq!(governor.granted(), 0);
        governor.release(id, table);
        assert_eq!((governor.granted(), table.get(ZoneId(0)).holder), (0, 0));
    }

    #[test]
    fn slots_are_left_for_who_has_no_reservation() {
        let (mut governor, mut table) = (Governor::new(2, ZONE), table(7, 4));
        let mut grant = |active| {
            governor.grant(Rank::Flush, BLOCKS + 8, Limits { active, ..LIMITS }, &mut table)
        };
        assert!(grant(5).is_none(), "all four, and a single one that is left");
        assert!(grant(6).is_some());
    }
}
