//! Reclaim's part of the pool: decides when to reclaim and which zone, and records the outcome.
//!
//! - Reclaim is due when the policy says so and it can gain something: dead blocks or, while a
//!   writer waits, room in partly written zones that makes a whole zone when it is gathered.
//! - The policy chooses among zones with something dead; its [`Sight`](terrace_policy::Sight) says
//!   which of them it is shown. If there is none, and a writer waits or a client has asked, it
//!   chooses among those with room, if that room makes a whole zone. It is not shown zones that a
//!   writer holds, that have unsealed or pinned blocks, whose room is set aside, or that reclaim
//!   has failed on.
//! - If the policy chooses no victim, or a copy finds no room, reclaim is not due until something
//!   has changed. Examples of a change are a lease that ends, blocks that are freed or sealed, and
//!   another policy. If the policy chose none while no writer waited and no client had asked, a
//!   writer that begins to wait is a change, too.
//! - A compaction gives way to logs and flushes that wait, if reclaim can help them. It also gives
//!   way to reclaim, while too few zones are spare; see `gives_way`.
//!
//! # Threads
//! Runs under the pool's lock, except while the levels of tables are asked for, because that may
//! take the journal's lock. `await_work` and `await_reclaim_idle` wait, and give the lock up
//! meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use terrace_env::store::Rank;
use terrace_env::{ByteCount, FileId, ZoneId};
use terrace_policy::{CandidateZone, ReclaimChoice, ReclaimView, Supply};

use super::state::{ReclaimState, Refusal, State};
use super::{Zone, ZonedPool};
use crate::block::BLOCK;
use crate::catalog::{Extent, Levels};

/// How the work on a victim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The victim is empty, or the work was interrupted.
    Done,
    /// There is no zone to copy to.
    NoRoom,
    /// The victim cannot be emptied.
    Failed,
}

impl ZonedPool {
    /// An actor reclaims from now on, so that it makes sense to wait.
    pub(crate) fn start_reclaim(&self) {
        self.state.lock().reclaim = ReclaimState::Present;
    }

    /// The reclaimer ends: ends the waits for it, and its own.
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

    /// Waits until no victim is being emptied and reclaim is not due; not at all where no actor
    /// reclaims.
    pub(crate) fn await_reclaim_idle(&self) {
        let mut state = self.state.lock();
        let works = |state: &State| state.reclaiming > 0 || state.reclaim_is_due();
        while state.reclaim == ReclaimState::Present && works(&state) {
            // Reclaim can become due without a call, as when a free zone is opened. Where
            // writers go on, the next blocks that are freed call it.
            self.wanted.notify_all();
            self.changed.wait(&mut state);
        }
    }

    /// Whether reclaim is to end.
    pub(crate) fn is_reclaim_stopped(&self) -> bool {
        self.state.lock().reclaim == ReclaimState::Absent
    }

    /// Lets the policy choose a victim and keeps other jobs off it. `None` if there is none.
    /// `asked`: a caller wants a zone emptied, though no writer waits for it. `levels`: those of
    /// the live tables in each of these zones.
    pub(crate) fn choose_victim(
        &self,
        asked: bool,
        levels: impl FnOnce(BTreeSet<ZoneId>) -> BTreeMap<ZoneId, Levels>,
    ) -> Option<ReclaimChoice> {
        // Asked for without the lock: a zone that comes in sight meanwhile counts as one without
        // live tables.
        let levels = levels(self.candidates());
        let mut state = self.state.lock();
        let supply = Supply { wanted: asked || state.waiters > 0, ..state.supply() };
        let as_bytes = |blocks: u32| ByteCount(u64::from(blocks) * BLOCK as u64);
        let candidate = |zone: ZoneId, entry: &Zone, gain: u32| {
            debug_assert!(0 < gain && gain <= entry.capacity, "{zone} gives back {gain}");
            let of_live = levels.get(&zone).copied().unwrap_or_default();
            CandidateZone {
                zone,
                capacity: as_bytes(entry.capacity),
                live: as_bytes(entry.live),
                gain: as_bytes(gain),
                tables: of_live.tables,
                levels: of_live.sum,
                levels_dead: entry.levels_dead,
                age: ByteCount((state.claimed - entry.written_at) * BLOCK as u64),
            }
        };
        let dead = state.table.candidates(state.victims.sight());
        let mut candidates: Vec<CandidateZone> =
            dead.map(|(zone, entry)| candidate(zone, entry, entry.dead())).collect();
        if candidates.is_empty() && supply.wanted && state.table.can_gather(self.zone_blocks()) {
            let scattered = state.table.scattered();
            candidates.extend(scattered.map(|(zone, z)| candidate(zone, z, z.room())));
        }
        let choice = state.victims.victim(&ReclaimView { supply, candidates: &candidates });
        let choice = choice.filter(|choice| candidates.iter().any(|z| z.zone == choice.victim));
        match choice {
            Some(choice) => {
                debug_assert!(!state.leases.contains_key(&choice.victim), "{choice:?}");
                state.table.take(choice.victim);
                state.reclaiming += 1;
            }
            None => state.refuse(supply.wanted),
        }
        drop(state);
        self.changed.notify_all();
        choice
    }

    /// A table of this level is deleted that has blocks in these zones.
    pub(crate) fn note_deleted(&self, zones: impl Iterator<Item = ZoneId>, level: u8) {
        let mut state = self.state.lock();
        for zone in zones {
            state.table.bury(zone, level);
        }
    }

    /// Reclaim has moved blocks of a file from a victim to these extents.
    pub(crate) fn note_moved(&self, file: FileId, victim: ZoneId, to: &[Extent]) {
        let State { table, moved, claimed, .. } = &mut *self.state.lock();
        for extent in to {
            table.note_moved(victim, self.grid.zone(extent.first));
            moved.note(file, extent.blocks.into(), *claimed, table.totals().free);
        }
    }

    /// A file is deleted.
    pub(crate) fn note_gone(&self, file: FileId) {
        let State { moved, claimed, .. } = &mut *self.state.lock();
        moved.note_deleted(file, *claimed);
    }

    /// The zones that could be victims next.
    pub(crate) fn candidates(&self) -> BTreeSet<ZoneId> {
        let state = self.state.lock();
        state.table.candidates(state.victims.sight()).map(|(zone, _)| zone).collect()
    }

    /// Ends the work on a victim. One that could not be read or moved is left alone until the next
    /// mount, or until it has come free. Where only room was missing, reclaim is not due until
    /// something has changed.
    pub(crate) fn end_victim(&self, victim: ZoneId, outcome: Outcome) {
        let mut state = self.state.lock();
        debug_assert!(state.reclaiming > 0, "no victim is being emptied");
        debug_assert!(!state.leases.contains_key(&victim), "{victim} has a writer");
        state.reclaiming -= 1;
        state.table.end_emptying(victim, outcome == Outcome::Failed);
        state.deaths += 1;
        if outcome == Outcome::NoRoom {
            state.refuse(true);
        }
        self.changed.notify_all();
    }
}

impl State {
    /// Whether waiting for reclaim may give space.
    pub(super) fn reclaim_helps(&self) -> bool {
        match self.reclaim {
            ReclaimState::Absent => false,
            ReclaimState::Present => self.reclaiming > 0 || self.has_garbage(true),
        }
    }

    /// Notes that reclaim has found nothing worth doing. `wanted`: although a writer waits.
    pub(super) fn refuse(&mut self, wanted: bool) {
        self.refused = Some(Refusal { deaths: self.deaths, wanted });
    }

    /// Whether there is a candidate that the policy has not refused already. `wanted`: whether a
    /// writer waits, or would.
    fn has_garbage(&self, wanted: bool) -> bool {
        let refused = self.refused.is_some_and(|refusal| {
            // A victim that is not worth it while no writer waits may be once one does.
            refusal.deaths == self.deaths && (refusal.wanted || !wanted)
        });
        let gathers = || wanted && self.table.can_gather(self.zone_blocks);
        !refused && (self.table.totals().reclaimable > 0 || gathers())
    }

    /// Whether reclaim should work, if it finds something worth it.
    fn reclaim_is_due(&self) -> bool {
        self.has_garbage(self.waiters > 0) && self.victims.is_due(&self.supply())
    }

    /// Whether a reservation of `zones` free zones must wait, so that logs and flushes find zones.
    /// Only a compaction must:
    /// - while a log or a flush waits, if reclaim can give back anything at all;
    /// - while reclaim works or is due, unless half of the zones that should be spare
    ///   ([`Supply::spare_min`]) stay spare in addition to those that it wants.
    ///
    /// Example: four zones should be spare, and a compaction wants two. It waits until four are, or
    /// until reclaim finds no zone that is worth its copying.
    ///
    /// So a compaction takes the zones that puts leave to it only once reclaim has nothing to do.
    /// Otherwise a put would wait until all of them are free again.
    pub(super) fn gives_way(&self, rank: Rank, zones: u32) -> bool {
        if rank != Rank::Compaction {
            return false;
        }
        let supply = self.supply();
        let is_enough = supply.spare >= zones.saturating_add(supply.spare_min() / 2);
        let at_work = self.reclaiming > 0 || self.reclaim_is_due();
        (self.writers_waiting > 0 && self.reclaim_helps()) || (at_work && !is_enough)
    }

    pub(super) fn supply(&self) -> Supply {
        let totals = self.table.totals();
        let bytes = |blocks: u64| ByteCount(blocks * BLOCK as u64);
        Supply {
            zones: totals.zones,
            free: totals.free_zones,
            spare: self.governor.available(Rank::Log, &self.table),
            wanted: self.waiters > 0,
            in_use: bytes(totals.capacity - totals.free),
            live: bytes(totals.live + totals.unsealed + totals.pinned),
        }
    }
}
