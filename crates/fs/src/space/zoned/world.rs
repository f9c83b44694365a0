//! A test of all events that change the space of a store of a few zones, in every order: deletes
//! lead out of each state that is reached.
//!
//! # The world
//! The zones' counts and the governor are the real ones. A zone has two blocks. Around them is the
//! smallest engine possible:
//!
//! - A put is a block of data that is flushed at once. None is made while a delete is in the
//!   memtable.
//! - A delete goes into a log of one block and a memtable. Its flush writes a block of tombstones.
//! - An *instalment* of a compaction reads a block of data, writes it elsewhere and frees the old
//!   one. Once each block of data has been passed since the flush, each tombstone is dropped with a
//!   block of data.
//! - A job that finds no space waits for reclaim, which goes on as long as it gives anything.
//! - A reader can begin to pin freed blocks, and end. Power can be cut at any time.
//!
//! Where a choice is free, such as which zone is written, every choice is tried (of choices that
//! are alike, one). Three parts have no choice. The last instalment drops the first blocks that it
//! finds. Reclaim takes the victim with the fewest live blocks, and goes on in the zone that it
//! writes. A compaction does not give way to writers: it takes all that the governor lets it have.
//!
//! # Checks
//! In each state that a store of twelve empty zones leads to:
//!
//! - Once readers have gone, deletes, flushes and instalments alone, one after the other, empty the
//!   store.
//! - For any pins of readers, the first delete after a put is let in and can be flushed, though no
//!   earlier deleted block has come free.
//!
//! From one more state, in which four zones are pinned, four deletes are let in, one after the
//! other, whose tombstones fill half a zone each. With some reserves taken away, the test must find
//! a state that is stuck.
//!
//! # Limits
//! Old places of moved blocks are not pinned here: a reader holds deleted blocks, and moved ones
//! only as long as a read takes. Trimmed tables are not in this world, nor are bytes, files and
//! time.

mod blocks;

use std::collections::BTreeSet;

use terrace_env::ZoneId;
use terrace_env::store::Rank;
use terrace_policy::RECLAIM_STREAM;

use self::blocks::{Blocks, ZONE};
use super::governor::Governor;
use super::reserves::{PINNED_RESERVE, Reserves};
use super::{Condition, Limits, ZoneTable};

const LIMITS: Limits = Limits { leases: 64, active: 64, zone_blocks: ZONE };
/// Zones that the journal may come to take.
const JOURNAL: u32 = 1;

impl std::fmt::Display for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letters = |of: u8, letter: &str| letter.repeat(of.into());
        for zone in self.zones.iter() {
            let held = zone.live() + zone.log + zone.pinned;
            let dead = zone.written.saturating_sub(held);
            let parts = [(zone.data, "d"), (zone.tombstones, "t"), (zone.log, "l")];
            let parts: String = parts.iter().map(|(of, letter)| letters(*of, letter)).collect();
            let rest = letters(zone.pinned, "p") + &letters(dead, "x");
            let room = letters((ZONE as u8).saturating_sub(zone.written), ".");
            let gathered = if zone.gathered { "*" } else { "" };
            let free = if held == 0 { ".".repeat(ZONE as usize) } else { parts + &rest + &room };
            write!(f, "{free}{gathered} ")?;
        }
        let Self { deleting, left, reader, owed, .. } = self;
        write!(f, "deleting {deleting}, {left} left, reader {reader}, owed {owed}")
    }
}

/// State of the world: everything that decides how it goes on. Zones are in order, because their
/// addresses mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct World {
    zones: Vec<Blocks>,
    /// A delete is in the memtable.
    deleting: bool,
    /// Instalments until the tombstone has met all data.
    left: u8,
    /// A reader pins freed blocks.
    reader: bool,
    /// Deletes that must be let in, in any order of events.
    owed: u8,
}

/// A rule of the world that a canary takes away.
#[derive(Clone, Copy, Debug)]
struct Rules {
    reserves: Reserves,
    /// Whether reclaim gathers room.
    gathers: bool,
    /// Whether puts are made, readers come and go, and power is cut.
    all: bool,
}

const RULES: Rules = Rules {
    reserves: Reserves {
        reclaim: super::RECLAIM_RESERVE,
        compaction: super::COMPACTION_RESERVE,
        urgent: super::URGENT_RESERVE,
        flush: super::FLUSH_RESERVE,
        pinned: PINNED_RESERVE,
    },
    gathers: true,
    all: true,
};

/// Kind of a block that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Tombstone,
    Log,
}

impl World {
    fn empty(zones: usize) -> Self {
        let zones = vec![Blocks::default(); zones];
        Self { zones, deleting: false, left: 0, reader: false, owed: 0 }
    }

    /// A world in which readers pin four whole zones, and the last put has just been let in: it
    /// left the required zones free.
    fn pinned(rules: Rules) -> Self {
        let full = Blocks { written: ZONE as u8, ..Blocks::default() };
        let pinned = Blocks { pinned: ZONE as u8, ..full };
        let data = Blocks { data: ZONE as u8, ..full };
        let put = Blocks { data: 1, written: 1, ..Blocks::default() };
        let mut world = Self { reader: true, ..Self::empty(0) };
        world.zones = [vec![pinned; 4], vec![data], vec![put]].concat();
        let floor = governor(rules).kept_from_puts(&world.table());
        // One of the two that its flush was given is the one that it was written to.
        world.zones.extend(vec![Blocks::default(); floor as usize - 1]);
        world.sorted()
    }

    fn sorted(mut self) -> Self {
        for zone in &mut self.zones {
            if zone.is_free() {
                *zone = Blocks::default();
            }
        }
        self.zones.sort();
        self
    }

    fn count(&self, of: fn(&Blocks) -> u8) -> u32 {
        self.zones.iter().map(|zone| u32::from(of(zone))).sum()
    }

    /// Instalments until tombstones have met all data: the last one drops them.
    fn pass(&self) -> u8 {
        self.count(|zone| zone.data).max(1) as u8
    }

    fn table(&self) -> ZoneTable {
        ZoneTable::new(self.zones.iter().map(|zone| zone.zone()).collect())
    }

    fn free(&mut self, zone: usize, block: fn(&mut Blocks) -> &mut u8) {
        *block(&mut self.zones[zone]) -= 1;
        self.zones[zone].pinned += u8::from(self.reader);
    }

    /// The world after reclaim has done all that it can, for a writer that waits.
    fn reclaimed(mut self, rules: Rules) -> Self {
        loop {
            let table = self.table();
            let mut victims: Vec<ZoneId> =
                table.candidates(terrace_policy::Sight::FewestLive).map(|(zone, _)| zone).collect();
            if victims.is_empty() && rules.gathers && table.can_gather(ZONE) {
                victims = table.scattered().map(|(zone, _)| zone).collect();
            }
            let mut moved = self.clone();
            if !victims.first().is_some_and(|victim| moved.empty_zone(victim.0 as usize, rules)) {
                return self;
            }
            self = moved;
        }
    }

    /// Moves the live blocks of a zone elsewhere; `false` if there is no room.
    fn empty_zone(&mut self, victim: usize, rules: Rules) -> bool {
        let Blocks { data, tombstones, .. } = self.zones[victim];
        self.zones[victim].data = 0;
        self.zones[victim].tombstones = 0;
        for tombstone in (0..data).map(|_| false).chain((0..tombstones).map(|_| true)) {
            let gathering = |(at, zone): &(usize, &Blocks)| {
                *at != victim && zone.gathered && u32::from(zone.written) < ZONE && !zone.is_free()
            };
            let found = self.zones.iter().enumerate().find(gathering).map(|(at, _)| at);
            let found = found.or_else(|| {
                let mut table = self.table();
                // It is free only once the copies are committed.
                table.take(ZoneId(victim as u32));
                let may = governor(rules).available(Rank::Reclaim, &table) > 0;
                table.next_free(true, 1).filter(|_| may).map(|zone| zone.0 as usize)
            });
            let Some(to) = found else { return false };
            let zone = &mut self.zones[to];
            if zone.is_free() {
                *zone = Blocks { gathered: true, ..Blocks::default() };
            }
            zone.written += 1;
            *(if tombstone { &mut zone.tombstones } else { &mut zone.data }) += 1;
        }
        if self.zones[victim].is_free() {
            self.zones[victim] = Blocks::default();
        }
        true
    }

    /// The worlds after a block has been written at this rank, wherever a placement may put it.
    /// `reserved`: with space set aside for it.
    fn written(&self, rank: Rank, kind: Kind, reserved: bool, rules: Rules) -> Vec<Self> {
        let found = self.clone().sorted().write(rank, kind, reserved, rules);
        if !found.is_empty() {
            return found;
        }
        self.clone().reclaimed(rules).sorted().write(rank, kind, reserved, rules)
    }

    fn write(self, rank: Rank, kind: Kind, reserved: bool, rules: Rules) -> Vec<Self> {
        let (mut table, mut governor) = (self.table(), governor(rules));
        let mut id = 0;
        if reserved {
            let Some(granted) = governor.grant(rank, 1, LIMITS, &mut table) else {
                return Vec::new();
            };
            id = granted;
        }
        let may_open = governor.available_to(id, rank, &table) > 0;
        let spare = governor.spare_room(rank, ZONE, &table);
        let mut found = Vec::new();
        let (mut seen, mut opened) = (BTreeSet::new(), false);
        for at in 0..self.zones.len() {
            let (zone, blocks) = (table.get(ZoneId(at as u32)), self.zones[at]);
            let open = zone.condition == Condition::Free && may_open && !opened;
            let own = zone.holder == id && id != 0;
            let common = zone.holder == 0 && u64::from(zone.room()) <= spare;
            let partly = zone.condition == Condition::Written
                && zone.room() > 0
                && zone.stream != RECLAIM_STREAM
                && (own || common);
            if !(open || partly) || !seen.insert(blocks) {
                continue;
            }
            opened |= open;
            let mut after = self.clone();
            let zone = &mut after.zones[at];
            if open {
                *zone = Blocks::default();
            }
            zone.written += 1;
            *match kind {
                Kind::Data => &mut zone.data,
                Kind::Tombstone => &mut zone.tombstones,
                Kind::Log => &mut zone.log,
            } += 1;
            found.push(after);
        }
        found
    }

    /// The worlds after a delete has been written: with space for its flush set aside first.
    fn deletes(&self, rules: Rules) -> Vec<Self> {
        let waits = self.left > 0 && (rules.all || self.owed == 0);
        if waits { Vec::new() } else { self.deletes_at_once(rules) }
    }

    /// The same, though earlier deletes have not met all data.
    fn deletes_at_once(&self, rules: Rules) -> Vec<Self> {
        if self.deleting || self.count(|zone| zone.data) == 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for world in [self.clone(), self.clone().reclaimed(rules)] {
            let mut table = world.table();
            if governor(rules).grant(Rank::Flush, 1, LIMITS, &mut table).is_some() {
                found.extend(world.written(Rank::UrgentLog, Kind::Log, false, rules));
            }
        }
        for world in &mut found {
            (world.deleting, world.owed) = (true, self.owed.saturating_sub(1));
        }
        found
    }

    /// The worlds after the memtable has been flushed, if there is anything in it.
    fn flushes(&self, rules: Rules) -> Vec<Self> {
        if !self.deleting {
            return Vec::new();
        }
        let mut found = self.written(Rank::Flush, Kind::Tombstone, true, rules);
        for world in &mut found {
            let log = world.zones.iter().position(|zone| zone.log > 0).expect("the log");
            // No reader opens a log, so no reader pins it.
            world.zones[log].log -= 1;
            world.deleting = false;
            world.left = world.pass();
        }
        found
    }

    /// The worlds after an instalment, if a compaction has anything to do.
    fn instalments(&self, rules: Rules) -> Vec<Self> {
        if self.left == 0 {
            return Vec::new();
        }
        let mut found = Vec::new();
        if self.left == 1 {
            // The last block of data goes with its tombstone, and nothing is written.
            let mut world = self.clone();
            world.left = 0;
            while let Some(at) = world.zones.iter().position(|zone| zone.tombstones > 0) {
                world.free(at, |zone| &mut zone.tombstones);
                if let Some(at) = world.zones.iter().position(|zone| zone.data > 0) {
                    world.free(at, |zone| &mut zone.data);
                }
            }
            return vec![world];
        }
        for mut after in self.written(Rank::Compaction, Kind::Data, true, rules) {
            after.left -= 1;
            let mut seen = BTreeSet::new();
            for at in 0..after.zones.len() {
                if after.zones[at].data > 0 && seen.insert(after.zones[at]) {
                    let mut world = after.clone();
                    world.free(at, |zone| &mut zone.data);
                    found.push(world);
                }
            }
        }
        found
    }

    fn unpinned(&self) -> Self {
        let mut world = self.clone();
        world.reader = false;
        for zone in &mut world.zones {
            zone.pinned = 0;
        }
        world
    }

    /// All that can happen next.
    fn next(&self, rules: Rules) -> Vec<Self> {
        let mut next = Vec::new();
        if !self.deleting && rules.all {
            let puts = self.written(Rank::Log, Kind::Data, true, rules);
            next.extend(puts.into_iter().map(|world| Self { owed: 1, ..world }));
        }
        next.extend(self.deletes(rules));
        next.extend(self.flushes(rules));
        next.extend(self.instalments(rules));
        if !rules.all {
            return next.into_iter().map(Self::sorted).collect();
        }
        match self.reader {
            true => next.push(self.unpinned()),
            false => next.push(Self { reader: true, ..self.clone() }),
        }
        // A power cut: the merge has lost its place, and begins anew.
        let mut cut = self.unpinned();
        if cut.left > 0 {
            cut.left = cut.pass();
        }
        next.push(cut);
        next.into_iter().map(Self::sorted).collect()
    }

    /// Whether deletes alone do not lead out of here: the first of all ways is taken, since every
    /// way's states are looked at on their own.
    fn is_stuck(&self, rules: Rules) -> bool {
        let mut world = self.unpinned().sorted();
        while world.count(|zone| zone.live()) > 0 || world.deleting {
            let next = world.flushes(rules).pop();
            let next = next.or_else(|| world.instalments(rules).pop());
            let Some(next) = next.or_else(|| world.deletes(rules).pop()) else { return true };
            world = next.sorted();
        }
        false
    }
}

impl World {
    /// Whether the first delete since a put is refused, or cannot be flushed from some place of its
    /// log, with the pins of readers.
    fn refuses_deletes(&self, rules: Rules) -> bool {
        let deleted = self.deletes_at_once(rules);
        let may = self.owed > 0 && !self.deleting && self.count(|zone| zone.data) > 0;
        may && (deleted.is_empty() || deleted.iter().any(|world| world.flushes(rules).is_empty()))
    }
}

fn governor(rules: Rules) -> Governor {
    let mut governor = Governor::new(JOURNAL, ZONE);
    governor.keep(rules.reserves);
    governor
}

/// Goes through all states that the first leads to; one in which it is stuck, and how many states
/// there are.
fn explore(first: World, rules: Rules) -> (Option<World>, usize) {
    let (mut seen, mut due) = (BTreeSet::from([first.clone()]), vec![first]);
    while let Some(world) = due.pop() {
        if world.is_stuck(rules) || world.refuses_deletes(rules) {
            return (Some(world), seen.len());
        }
        for next in world.next(rules) {
            if seen.insert(next.clone()) {
                due.push(next);
            }
        }
    }
    (None, seen.len())
}

#[test]
fn deletes_lead_out_of_every_state_of_a_small_store() {
    let (stuck, states) = explore(World::empty(12), RULES);
    assert!(stuck.is_none(), "{}", stuck.expect("a world that is stuck"));
    assert!(states > 100_000, "{states} states are too few to be all of them");
}

/// Deletes, of half a zone of tombstones each, that are let in while readers pin four zones.
const UNDER_READERS: u8 = 4;

/// Explores deletes that are made while readers pin; the first state in which one of `owed` deletes
/// is refused, and the number of states.
fn deletes_under_readers(owed: u8, rules: Rules) -> (Option<World>, usize) {
    let rules = Rules { all: false, ..rules };
    explore(World { owed, ..World::pinned(rules) }, rules)
}

#[test]
fn deletes_are_let_in_one_after_the_other_while_readers_pin() {
    let (stuck, states) = deletes_under_readers(UNDER_READERS, RULES);
    assert!(stuck.is_none(), "{}", stuck.expect("a world that is stuck"));
    assert!(states > 1000, "{states} states are too few to be all of them");
}

#[test]
fn without_what_puts_leave_for_it_deletes_are_refused_while_readers_pin() {
    let reserves = Reserves { pinned: 0, ..RULES.reserves };
    let (stuck, _) = deletes_under_readers(UNDER_READERS, Rules { reserves, ..RULES });
    assert!(stuck.is_some(), "as many deletes are let in without it");
}

#[test]
fn a_store_without_one_of_its_reserves_is_found_stuck() {
    let Rules { reserves, .. } = RULES;
    for (taken, kept) in [
        ("a flush's second zone", Reserves { flush: 1, ..reserves }),
        ("the zones of deletes", Reserves { urgent: 0, flush: 0, ..reserves }),
        ("compaction's and reclaim's", Reserves { reclaim: 0, compaction: 0, ..reserves }),
    ] {
        let rules = Rules { reserves: kept, ..RULES };
        let stuck = (5..=9).find_map(|zones| explore(World::empty(zones), rules).0);
        assert!(stuck.is_some(), "without {taken} no store is ever stuck");
    }
}
