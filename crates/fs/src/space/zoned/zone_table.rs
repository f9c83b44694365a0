//! [`ZoneTable`]: all [zones](super::zone) of a device, with the counts for decisions about space.
//!
//! # Invariants
//! - `live + unsealed + pinned <= written <= capacity` in a zone that may hold files. A change that
//!   breaks this panics.
//! - A written zone without live, unsealed or pinned blocks is free: at once when its last block
//!   goes, or when its lease ends. A zone that is read-only or offline does not become free.
//! - Totals and indexes equal those that a walk over all zones would find ([`ZoneTable::verify`]).
//!
//! One function makes all changes. It takes the zone's share out of totals and indexes, changes the
//! zone, and puts the new share in. So a change costs the logarithm of the number of zones: a drive
//! of 14 TB with zones of 256 MiB has 52,000.
//!
//! Pure; the owner of the table locks it.

use std::collections::BTreeSet;

use terrace_env::ZoneId;
use terrace_policy::{ReclaimView, Sight};

use super::zone::{Condition, Zone};

/// Sums over all zones; blocks unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Capacity of all zones that hold data.
    pub(crate) capacity: u64,
    /// Zones that hold data.
    pub(crate) zones: u32,
    /// Number of free zones.
    pub(crate) free_zones: u32,
    /// Blocks of free zones.
    pub(crate) free: u64,
    /// Unwritten blocks of partly written zones, with and without a holder.
    pub(crate) room: u64,
    pub(crate) live: u64,
    pub(crate) unsealed: u64,
    pub(crate) pinned: u64,
    pub(crate) dead: u64,
    /// Blocks that readers keep from coming free: pinned blocks, and dead ones in the same zones.
    pub(crate) held_up: u64,
    /// Dead blocks of zones that can be reclaimed.
    pub(crate) reclaimable: u64,
    /// Room in zones that can be emptied, but for those that reclaim itself writes.
    pub(crate) scattered: u64,
    /// Room in zones that reclaim writes.
    pub(crate) gathering: u64,
    /// Zones that take an active slot, those of journal and superblock apart.
    pub(crate) active: u32,
    /// Number of the journal's zones.
    pub(crate) journal: u32,
}

/// All zones of a device; see the [module](self).
#[derive(Debug)]
pub(crate) struct ZoneTable {
    zones: Vec<Zone>,
    totals: Totals,
    /// Free zones; first those that take an active slot already, then by address.
    free: BTreeSet<(bool, ZoneId)>,
    /// Whether zones with old bytes are taken before empty ones.
    stale_first: bool,
    partly: BTreeSet<ZoneId>,
    /// Zones that can be reclaimed, by live blocks.
    candidates: BTreeSet<(u32, ZoneId)>,
    /// Zones with room that can be gathered, by live blocks.
    scattered: BTreeSet<(u32, ZoneId)>,
}

impl ZoneTable {
    /// A table of these zones; written ones that hold nothing become free.
    pub(crate) fn new(zones: Vec<Zone>) -> Self {
        let mut table = Self {
            zones: Vec::new(),
            totals: Totals::default(),
            free: BTreeSet::new(),
            stale_first: false,
            partly: BTreeSet::new(),
            candidates: BTreeSet::new(),
            scattered: BTreeSet::new(),
        };
        table.zones = zones;
        for index in 0..table.zones.len() {
            table.zones[index].settle();
            table.count(ZoneId(index as u32), true);
        }
        table
    }

    /// The number of zones.
    pub(crate) fn len(&self) -> u32 {
        self.zones.len() as u32
    }

    /// A zone of the device.
    pub(crate) fn get(&self, zone: ZoneId) -> &Zone {
        &self.zones[zone.0 as usize]
    }

    /// The sums.
    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// From now on takes zones with old bytes before empty ones, or not. The reset of such a zone
    /// of an image gives space back to the host, and an empty one needs space of the host.
    pub(crate) fn take_stale_first(&mut self, stale_first: bool) {
        self.stale_first = stale_first;
    }

    /// The free zone of at least `least` blocks to take next. Where the device has no active slot
    /// left, only one that has a slot already.
    pub(crate) fn next_free(&self, may_activate: bool, least: u32) -> Option<ZoneId> {
        let allowed = self.free.iter().take_while(|(fresh, _)| may_activate || !fresh);
        let fitting =
            allowed.map(|(_, zone)| *zone).filter(|zone| self.get(*zone).capacity >= least);
        let stale = self.stale_first.then(|| fitting.clone().find(|zone| self.get(*zone).stale));
        let found = stale.flatten().or_else(|| fitting.clone().next());
        debug_assert!(
            found
                .map(|zone| self.get(zone))
                .is_none_or(|zone| { zone.condition == Condition::Free && zone.holder == 0 }),
            "{found:?} is not free for all"
        );
        found
    }

    /// Free zones that take an active slot, by address.
    pub(crate) fn free_and_active(&self) -> impl Iterator<Item = ZoneId> {
        self.free.iter().take_while(|(fresh, _)| !fresh).map(|(_, zone)| *zone)
    }

    /// Partly written zones without a writer, by address.
    pub(crate) fn partly(&self) -> impl Iterator<Item = (ZoneId, &Zone)> {
        debug_assert!(self.partly.len() + self.free.len() <= self.zones.len());
        self.partly.iter().map(|zone| (*zone, self.get(*zone)))
    }

    /// Zones that can be reclaimed and that a policy of this sight is shown, fewest live blocks
    /// first.
    pub(crate) fn candidates(&self, sight: Sight) -> impl Iterator<Item = (ZoneId, &Zone)> {
        let all = self.candidates.len();
        let last = if sight == Sight::FewestLive { ReclaimView::CANDIDATES_MAX } else { all };
        let shown = self.candidates.iter().take(last).enumerate();
        let shown = shown.filter(move |(at, _)| sight.shows(*at, all));
        shown.map(|(_, (_, zone))| (*zone, self.get(*zone)))
    }

    /// Zones whose room can be gathered, fewest live blocks first.
    pub(crate) fn scattered(&self) -> impl Iterator<Item = (ZoneId, &Zone)> {
        let first = self.scattered.iter().take(ReclaimView::CANDIDATES_MAX);
        first.map(|(_, zone)| (*zone, self.get(*zone)))
    }

    /// Whether at least one zone more is free once the room of partly written zones is gathered.
    pub(crate) fn can_gather(&self, zone_blocks: u32) -> bool {
        let Totals { scattered, gathering, room, .. } = self.totals;
        debug_assert!(scattered + gathering <= room, "{scattered} and {gathering} of {room}");
        scattered > 0 && scattered + gathering >= u64::from(zone_blocks)
    }

    /// Changes a zone. Afterwards, if the zone is written and nothing of it is used, it is free.
    /// Each [transition](super::transitions) is such a change.
    pub(super) fn change(&mut self, zone: ZoneId, change: impl FnOnce(&mut Zone)) {
        self.count(zone, false);
        let entry = &mut self.zones[zone.0 as usize];
        change(entry);
        entry.settle();
        assert!(
            entry.written <= entry.capacity
                && (!entry.condition.holds_data() || entry.used() <= entry.written),
            "zone {zone}: more blocks than it has: {entry:?}"
        );
        debug_assert!(
            entry.condition != Condition::Free || entry.written == 0,
            "zone {zone} is free and not empty: {entry:?}"
        );
        self.count(zone, true);
    }

    /// Counts everything anew and compares; returns the difference, in words.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let fresh = Self::new(self.zones.clone());
        if fresh.totals != self.totals {
            return Err(format!("totals {:?}, counted anew {:?}", self.totals, fresh.totals));
        }
        let same = fresh.free == self.free
            && fresh.partly == self.partly
            && fresh.candidates == self.candidates
            && fresh.scattered == self.scattered;
        if same { Ok(()) } else { Err("an index of zones differs from the zones".to_owned()) }
    }

    /// Puts a zone's share into the totals and indexes, or takes it out.
    fn count(&mut self, id: ZoneId, put: bool) {
        let zone = self.zones[id.0 as usize];
        let data = zone.condition.holds_data();
        let free = zone.condition == Condition::Free;
        let gone = matches!(zone.condition, Condition::ReadOnly | Condition::Offline);
        let (candidate, scattered) = (zone.is_candidate(), zone.is_scattered());
        let leased = zone.condition == Condition::Leased;
        let open = zone.is_partly() || (leased && zone.room() > 0);
        let blocks = |counted: bool, blocks: u32| if counted { u64::from(blocks) } else { 0 };
        let totals = &mut self.totals;
        let sum = |total: &mut u64, part: u64| {
            *total = if put { *total + part } else { *total - part };
        };
        sum(&mut totals.capacity, blocks(data && !gone, zone.capacity));
        sum(&mut totals.free, blocks(free, zone.capacity));
        sum(&mut totals.room, blocks(open, zone.room()));
        sum(&mut totals.live, blocks(data, zone.live));
        sum(&mut totals.unsealed, blocks(data, zone.unsealed));
        sum(&mut totals.pinned, blocks(data, zone.pinned));
        sum(&mut totals.dead, blocks(data, zone.dead()));
        let held_up = data && !gone && zone.pinned > 0;
        sum(&mut totals.held_up, blocks(held_up, zone.pinned + zone.dead()));
        sum(&mut totals.reclaimable, blocks(candidate, zone.dead()));
        sum(&mut totals.scattered, blocks(scattered, zone.room()));
        sum(&mut totals.gathering, blocks(zone.is_gathering(), zone.room()));
        let tally = |total: &mut u32, counted: bool| {
            *total = if put { *total + u32::from(counted) } else { *total - u32::from(counted) };
        };
        tally(&mut totals.zones, data && !gone);
        tally(&mut totals.free_zones, free);
        let apart = matches!(zone.condition, Condition::Journal | Condition::Superblock);
        tally(&mut totals.active, zone.active && !apart);
        tally(&mut totals.journal, zone.condition == Condition::Journal);
        index(&mut self.free, free, (!zone.active, id), put);
        index(&mut self.partly, zone.is_partly(), id, put);
        index(&mut self.candidates, candidate, (zone.live, id), put);
        index(&mut self.scattered, scattered, (zone.live, id), put);
    }
}

fn index<K: Ord>(set: &mut BTreeSet<K>, belongs: bool, key: K, put: bool) {
    if belongs && put {
        set.insert(key);
    } else if belongs {
        set.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};

    use super::*;
    use crate::space::Share;

    fn table(zones: u32) -> ZoneTable {
        ZoneTable::new(vec![Zone::empty(Condition::Free, 16); zones as usize])
    }

    fn write(table: &mut ZoneTable, zone: u32, blocks: u32) {
        table.change(ZoneId(zone), |z| {
            z.condition = Condition::Written;
            z.active = true;
            z.written += blocks;
            z.live += blocks;
        });
    }

    #[test]
    fn a_zone_is_free_as_soon_as_the_last_of_it_is_gone() {
        let mut table = table(4);
        write(&mut table, 2, 10);
        assert_eq!(table.totals().free_zones, 3);
        table.turn(ZoneId(2), Share::Live, Share::Pinned, 10);
        assert_eq!(table.totals().free_zones, 3, "a reader still holds it");
        table.remove(ZoneId(2), Share::Pinned, 10);
        assert_eq!(table.totals().free_zones, 4);
        assert!(table.get(ZoneId(2)).stale, "it shows old bytes until it is reset");
    }

    #[test]
    fn a_free_zone_that_takes_a_slot_already_is_taken_first() {
        let mut table = table(4);
        write(&mut table, 2, 10);
        table.remove(ZoneId(2), Share::Live, 10);
        assert_eq!(table.next_free(false, 1), Some(ZoneId(2)));
        table.change(ZoneId(2), |z| z.condition = Condition::Leased);
        assert_eq!(table.next_free(false, 1), None);
        assert_eq!(table.next_free(true, 1), Some(ZoneId(0)));
    }

    #[test]
    fn a_zone_with_old_bytes_is_taken_first_while_the_host_is_short() {
        let mut table = table(4);
        write(&mut table, 2, 16);
        table.remove(ZoneId(2), Share::Live, 16);
        table.change(ZoneId(2), |z| z.active = false);
        assert_eq!(table.next_free(true, 1), Some(ZoneId(0)));
        table.take_stale_first(true);
        assert_eq!(table.next_free(true, 1), Some(ZoneId(2)));
        table.change(ZoneId(2), |z| z.stale = false);
        assert_eq!(table.next_free(true, 1), Some(ZoneId(0)), "there is no such zone");
    }

    #[test]
    fn a_free_zone_that_is_too_short_is_passed_over() {
        let mut table = table(3);
        table.change(ZoneId(0), |z| z.capacity = 4);
        assert_eq!(table.next_free(true, 4), Some(ZoneId(0)));
        assert_eq!(table.next_free(true, 5), Some(ZoneId(1)));
        assert_eq!(table.next_free(true, 17), None);
    }

    #[test]
    fn candidates_come_in_the_order_of_their_live_blocks() {
        let mut table = table(4);
        for (zone, dead) in [(0, 3), (1, 9), (2, 0), (3, 5)] {
            write(&mut table, zone, 16);
            table.remove(ZoneId(zone), Share::Live, dead);
        }
        let order = |table: &ZoneTable| -> Vec<u32> {
            table.candidates(Sight::FewestLive).map(|(zone, _)| zone.0).collect()
        };
        assert_eq!(order(&table), [1, 3, 0], "zone 2 gives nothing back");
        table.change(ZoneId(1), |z| z.quarantined = true);
        table.turn(ZoneId(3), Share::Live, Share::Pinned, 1);
        assert_eq!(order(&table), [0]);
    }

    #[test]
    fn a_spread_view_of_many_candidates_shows_full_zones_and_empty_ones() {
        let zones = 5 * ReclaimView::CANDIDATES_MAX as u32;
        let mut table = ZoneTable::new(vec![Zone::empty(Condition::Free, 1024); zones as usize]);
        for zone in 0..zones {
            write(&mut table, zone, 1024);
            table.remove(ZoneId(zone), Share::Live, zone + 1);
        }
        let shown = |sight| -> Vec<u32> { table.candidates(sight).map(|(z, _)| z.0).collect() };
        let (fewest, spread) = (shown(Sight::FewestLive), shown(Sight::Spread));
        assert_eq!((fewest.len(), spread.len()), (64, 64));
        assert_eq!((fewest[0], fewest[63]), (zones - 1, zones - 64));
        assert_eq!(spread[0], zones - 1, "the emptiest is always shown");
        assert!(spread.windows(2).all(|pair| pair[0] - pair[1] == 5), "{spread:?}");
    }

    #[test]
    fn counts_stay_what_a_walk_would_find() {
        let mut random = Random::seeded(7);
        let mut table = table(12);
        for _ in 0..20_000 {
            let zone = ZoneId(random.random_range(0..12));
            let entry = *table.get(zone);
            match random.random_range(0..6) {
                0 if entry.room() > 0 => {
                    let blocks = random.random_range(1..=entry.room());
                    write(&mut table, zone.0, blocks);
                }
                1 if entry.live > 0 => {
                    table.remove(zone, Share::Live, random.random_range(1..=entry.live));
                }
                2 if entry.live > 0 => {
                    let blocks = random.random_range(1..=entry.live);
                    table.turn(zone, Share::Live, Share::Pinned, blocks);
                }
                3 if entry.pinned > 0 => table.remove(zone, Share::Pinned, entry.pinned),
                4 if entry.condition == Condition::Written => {
                    table.change(zone, |z| z.written = z.capacity);
                }
                5 if entry.condition == Condition::Free => {
                    table.change(zone, |z| (z.stale, z.active) = (false, false));
                }
                _ => {}
            }
        }
        table.verify().unwrap();
        assert!(table.totals().dead > 0, "the walk left nothing to count");
    }
}
