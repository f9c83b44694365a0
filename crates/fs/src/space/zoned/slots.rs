//! The device's active slots: how zones give theirs back.
//!
//! A device may limit how many zones are *active*, which means open or closed. A user of such a
//! slot is counted before it takes one, and until the device has said that it has none:
//!
//! | takes a slot | is counted |
//! |---|---|
//! | a zone with files | in [`Totals::active`](super::zone_table::Totals), from its lease on |
//! | a zone that is free, or not used | there too, if the device reports it as active |
//! | the end of the journal, and the zone that it changes to | as [`JOURNAL_OPEN`] |
//! | the end of the superblock's log | as one |
//!
//! A full zone is counted until the write that fills it has completed. If whole blocks do not fill
//! its capacity, it is counted until it is finished; a zone that cannot be finished stays counted.
//!
//! A power cut can undo the finish of a zone whose slot another zone has taken since. A mount then
//! finds too many slots taken. [`ZonedPool::free_slots`] finishes zones until the count is within
//! its limit, or no zone is left to finish.
//!
//! # Threads
//! The pool's lock is not held over a device call. A zone that is being finished is leased, or
//! cannot be given to another writer.

use terrace_env::{Cause, ZoneId, reached};
use terrace_zone::{Device, DeviceError, ZoneState};

use super::state::State;
use super::{Condition, ZonedPool};
use crate::block::is_filled_by_blocks;
use crate::format::JOURNAL_OPEN;
use crate::space::pool::LeaseId;

impl ZonedPool {
    /// Makes a zone with files full, so that its slot comes free. If that fails, the zone is not
    /// written before it has been reset; it is not reset either, unless the zone is sound and only
    /// the host's disk is full.
    pub(super) fn finish(&self, zone: ZoneId, cause: Cause) {
        let (finished, condition) = match self.medium.finish(zone, cause) {
            Ok(()) => (true, Condition::Written),
            Err(DeviceError::HostFull { .. }) => (false, Condition::Written),
            Err(_) => (false, Condition::ReadOnly),
        };
        let active = !finished && self.is_active(zone);
        self.state.lock().table.end_writing(zone, condition, active);
    }

    /// Whether a lease has not ended yet.
    pub(super) fn is_held(&self, lease: LeaseId) -> bool {
        let state = self.state.lock();
        state.leases.get(&ZoneId(lease.stretch)).is_some_and(|held| held.id == lease.serial)
    }

    /// Whether no other writer has a lease of the zone.
    pub(super) fn is_free_or_held(&self, lease: LeaseId) -> bool {
        let state = self.state.lock();
        state.leases.get(&ZoneId(lease.stretch)).is_none_or(|held| held.id == lease.serial)
    }

    /// Ends all writing to a zone for as long as the store is mounted: a zone that has failed once
    /// is not given a second chance to fail.
    pub(super) fn retire_zone(&self, zone: ZoneId) {
        let offline = match self.medium.report(zone, 1).as_deref() {
            Ok([report]) => report.state == ZoneState::Offline,
            _ => true,
        };
        let condition = if offline { Condition::Offline } else { Condition::ReadOnly };
        self.end_writing(zone, condition);
    }

    /// Ends all writing to a zone: until it has been reset, unless the condition rules that out.
    pub(super) fn end_writing(&self, zone: ZoneId, condition: Condition) {
        let active = !self.end_slot(zone, Cause::Recovery);
        let mut state = self.state.lock();
        let State { table, governor, leases, .. } = &mut *state;
        match leases.remove(&zone) {
            // Its reservation has got nothing for a zone that could not be emptied.
            Some(lease) if !lease.prepared => governor.not_taken(zone, table),
            _ => governor.let_go(zone, table),
        }
        table.end_writing(zone, condition, active);
        self.changed.notify_all();
    }

    /// A claimed write has completed. If it is the one that fills the zone, the slot ends; the
    /// lease cannot be taken away meanwhile.
    pub(super) fn end_write(&self, lease: LeaseId, written: bool) {
        let (zone, lease) = (ZoneId(lease.stretch), lease.serial);
        let mut state = self.state.lock();
        let Some(held) = state.leases.get(&zone).filter(|held| held.id == lease) else { return };
        let (is_last, cause) = (written && held.in_flight == 1, held.cause);
        let is_full = is_last && state.table.get(zone).room() == 0;
        let mut ended = is_full;
        if is_full && !is_filled_by_blocks(self.medium.geometry(), zone) {
            drop(state);
            ended = self.end_slot(zone, cause);
            state = self.state.lock();
        }
        let State { table, leases, .. } = &mut *state;
        if let Some(held) = leases.get_mut(&zone) {
            debug_assert!(held.in_flight > 0, "no write to zone {zone} is on its way");
            held.in_flight -= 1;
        }
        if ended {
            table.mark_active(zone, false);
        }
        self.changed.notify_all();
    }

    /// Finishes a zone that is active; whether it is none that takes a slot afterwards.
    pub(super) fn end_slot(&self, zone: ZoneId, cause: Cause) -> bool {
        !self.is_active(zone) || self.medium.finish(zone, cause).is_ok()
    }

    /// A zone that cannot be asked may be active.
    fn is_active(&self, zone: ZoneId) -> bool {
        match self.medium.report(zone, 1).as_deref() {
            Ok([report]) => report.state.is_active(),
            _ => true,
        }
    }

    /// Frees the slots that journal and superblock may need, before the first write of a mount:
    /// those of the zones in `ended`, which get no more writes before a reset, and those of other
    /// zones until the limit is kept. A zone that cannot be finished keeps its slot.
    ///
    /// No byte is changed, so a mount that ends here has lost nothing.
    pub(crate) fn free_slots(&self, ended: &[ZoneId]) {
        for zone in ended {
            let active = !self.end_slot(*zone, Cause::Recovery);
            self.state.lock().table.mark_active(*zone, active);
        }
        let candidates: Vec<ZoneId> = {
            let table = &self.state.lock().table;
            // A free zone loses nothing by it: it is reset before it is written.
            let mut partly: Vec<_> = table.partly().map(|(zone, z)| (z.room(), zone)).collect();
            partly.sort_unstable();
            table.free_and_active().chain(partly.into_iter().map(|(_, zone)| zone)).collect()
        };
        for zone in candidates {
            let mut state = self.state.lock();
            if state.table.totals().active <= self.limits.active {
                return;
            }
            state.table.take(zone);
            drop(state);
            reached!("fs: a mount finishes a zone to keep the active limit");
            self.finish(zone, Cause::Recovery);
        }
    }

    /// Compares the zones that are counted as active with those that the device reports. It returns
    /// the differences, in words; nothing may be written meanwhile.
    pub(crate) fn audit_slots(&self) -> Vec<String> {
        let Ok(reports) = self.medium.report(ZoneId(0), self.medium.geometry().zones) else {
            return Vec::new();
        };
        let state = self.state.lock();
        let (mut problems, mut journal, mut superblock) = (Vec::new(), 0, 0);
        for report in reports {
            let zone = report.zone;
            let (entry, active) = (state.table.get(zone), report.state.is_active());
            match entry.condition {
                Condition::Journal => journal += u32::from(active),
                Condition::Superblock => superblock += u32::from(active),
                _ if active && !entry.active => {
                    problems
                        .push(format!("zone {zone}: active, and not counted as such: {entry:?}"));
                }
                // A leased zone need not be written yet; a zone may fail unseen.
                Condition::Leased | Condition::ReadOnly | Condition::Offline => {}
                _ if matches!(report.state, ZoneState::ReadOnly | ZoneState::Offline) => {}
                _ if entry.active && !active => {
                    let found = report.state;
                    problems
                        .push(format!("zone {zone}: {found:?}, and counted as active: {entry:?}"));
                }
                _ => {}
            }
        }
        for (what, taken, most) in
            [("journal", journal, JOURNAL_OPEN), ("superblock", superblock, 1)]
        {
            if taken > most {
                problems.push(format!("{taken} zones of the {what} are active, expected {most}"));
            }
        }
        let (counted, most) = (state.table.totals().active, self.limits.active);
        if counted > most {
            problems.push(format!("{counted} active zones are counted, the limit is {most}"));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use terrace_env::store::{FileKind, PlacementHint, Rank};
    use terrace_env::{ByteCount, DeviceId, IoBuf, runner};
    use terrace_policy::{Greedy, LevelSeparated};
    use terrace_zone::emulator::{FaultPlan, RequestKind};
    use terrace_zone::{Emulator, Geometry};

    use super::super::{Limits, Zone, ZoneTable};
    use super::*;
    use crate::medium::Medium;
    use crate::space::{Ask, Pool, Share};

    const ZONE: u32 = 16;

    fn space() -> (Arc<Emulator>, Arc<ZonedPool>) {
        let geometry = Geometry::uniform(ByteCount(u64::from(ZONE) * crate::BLOCK as u64), 32);
        let drive = Arc::new(Emulator::in_memory(geometry, 1).expect("a possible shape"));
        let medium = Arc::new(Medium::new(DeviceId::FIRST, Arc::clone(&drive) as Arc<dyn Device>));
        let limits = Limits { leases: 5, active: 5, zone_blocks: ZONE };
        let table = ZoneTable::new(vec![Zone::empty(Condition::Free, ZONE); 32]);
        let deciders = (Arc::new(LevelSeparated) as _, Arc::new(Greedy::default()) as _);
        (drive, Arc::new(ZonedPool::new(medium, deciders, limits, table)))
    }

    fn log() -> Ask {
        Ask { kind: FileKind::Log, rank: Rank::Log, cause: Cause::Log, ..ask() }
    }

    /// Zones that are half written, from the last one down.
    fn halves(space: &ZonedPool, zones: u32, holder: u64) {
        let mut state = space.state.lock();
        for zone in 32 - zones..32 {
            let half = Zone { written: 8, live: 8, ..Zone::empty(Condition::Written, ZONE) };
            state.table.set(ZoneId(zone), Zone { active: true, holder, ..half });
        }
    }

    fn ask() -> Ask {
        let (kind, rank, cause) = (FileKind::Table, Rank::Flush, Cause::Flush);
        let hint = PlacementHint::default();
        Ask { hint, kind, rank, reservation: 0, least: 1, left: None, cause }
    }

    fn counted(space: &ZonedPool) -> u32 {
        space.state.lock().table.totals().active
    }

    #[test]
    fn a_full_zone_keeps_its_slot_until_the_write_that_fills_it_has_completed() {
        let (_, space) = space();
        let region = Arc::clone(&space).lease(&ask()).expect("a region");
        let (addr, blocks) = region.claim(ZONE).expect("a claim");
        assert_eq!((blocks, counted(&space)), (ZONE, 1), "claimed, and not written");
        let data = IoBuf::zeroed(ZONE as usize * crate::BLOCK);
        let ticket = space.medium.submit_blocks(addr, data, false, Cause::Flush);
        assert_eq!(counted(&space), 1, "in flight");
        space.medium.wait(ticket).expect("a write");
        region.settle(true);
        assert_eq!(counted(&space), 0);
        assert_eq!(space.audit_slots(), Vec::<String>::new());
    }

    #[test]
    fn a_lease_that_nothing_was_written_to_leaves_no_slot_taken() {
        let (_, space) = space();
        let region = Arc::clone(&space).lease(&ask()).expect("a region");
        assert_eq!(counted(&space), 1);
        drop(region);
        assert_eq!((counted(&space), space.audit_slots()), (0, Vec::new()));
    }

    #[test]
    fn a_log_that_is_made_ahead_leaves_a_slot_to_what_frees_space() {
        for (held, leased) in [(2, true), (3, false)] {
            let (_, space) = space();
            halves(&space, held, 7);
            let first = Arc::clone(&space).lease(&log()).expect("a region");
            let ahead = Arc::clone(&space).lease_spare(&log());
            assert_eq!(ahead.is_some(), leased, "{held} zones are set aside");
            drop(first);
        }
    }

    #[test]
    fn room_is_set_aside_once_an_older_log_is_gone() {
        runner::simulate(1, || {
            let (_, space) = space();
            let logs = [(); 2].map(|()| Arc::clone(&space).lease(&Ask { least: ZONE, ..log() }));
            let [older, newer] = logs.map(|log| log.expect("a region"));
            // Twelve free zones are left, all of which a compaction leaves to others, and room.
            for zone in 14..32 {
                let unused = Zone::empty(Condition::Unused, ZONE);
                space.state.lock().table.set(ZoneId(zone), unused);
            }
            halves(&space, 3, 0);
            let flush = runner::spawn("flush", move || {
                runner::sleep(Duration::from_secs(1));
                drop(older);
            });
            let began = runner::now();
            let reserved =
                Arc::clone(&space).reserve(Rank::Compaction, ByteCount(8 * crate::BLOCK as u64));
            assert!(runner::now().since(began) >= Duration::from_secs(1));
            drop((reserved.expect("room"), newer));
            flush.join();
        });
    }

    #[test]
    fn a_zone_that_has_failed_stays_retired_when_a_later_write_finds_the_host_full() {
        let (_, space) = space();
        let region = Arc::clone(&space).lease(&ask()).expect("a region");
        let claims = [(); 2].map(|()| region.claim(1).expect("a claim"));
        // The first of two writes in flight fails on the medium, the second on the host.
        region.retire();
        region.abandon();
        for (first, blocks) in claims {
            let dead = crate::catalog::Extent { first, blocks, crc: None };
            space.free(&[dead], Share::Unsealed);
        }
        let condition = space.state.lock().table.get(ZoneId(0)).condition;
        assert_eq!(condition, Condition::ReadOnly);
    }

    #[test]
    fn a_reservation_keeps_its_zones_when_one_of_them_cannot_be_emptied() {
        let (drive, space) = space();
        let (rank, size) = (Rank::Compaction, ByteCount(crate::BLOCK as u64));
        let reserved = Arc::clone(&space).reserve(rank, size).expect("free zones");
        let granted = || space.state.lock().governor.granted();
        assert_eq!(granted(), 2);
        let old = Zone { stale: true, ..Zone::empty(Condition::Free, ZONE) };
        space.state.lock().table.set(ZoneId(0), old);
        drive.set_faults(Some(FaultPlan::new(1).fail_in(ZoneId(0), RequestKind::Reset, 0)));
        let ask = Ask { rank, reservation: reserved.id(), ..ask() };
        let region = Arc::clone(&space).lease(&ask).expect("another zone");
        assert_eq!(region.rest().map(|(at, _)| space.grid.zone(at)), Some(ZoneId(1)));
        assert_eq!(granted(), 1, "one zone was written to, and none is lost");
        drop(region);
        assert_eq!(granted(), 2);
        drop(reserved);
        assert_eq!(granted(), 0);
    }

    #[test]
    fn an_audit_finds_a_zone_that_is_active_and_not_counted() {
        let (drive, space) = space();
        drive.write(terrace_env::Lba(0), IoBuf::zeroed(crate::BLOCK), true, Cause::Flush).unwrap();
        assert_eq!(space.audit_slots().len(), 1);
    }

    #[test]
    fn a_zone_that_is_given_up_and_cannot_be_finished_keeps_its_slot_until_it_is_reset() {
        let (drive, space) = space();
        let region = Arc::clone(&space).lease(&ask()).expect("a region");
        let (addr, blocks) = region.claim(1).expect("a claim");
        let data = IoBuf::zeroed(crate::BLOCK);
        let ticket = space.medium.submit_blocks(addr, data, false, Cause::Flush);
        space.medium.wait(ticket).expect("a write");
        region.settle(true);
        let lost = crate::catalog::Extent { first: addr, blocks, crc: None };
        space.free(&[lost], Share::Unsealed);
        drive.set_faults(Some(FaultPlan::new(1).fail(RequestKind::Finish, 0)));
        region.abandon();
        drop(region);
        assert_eq!((counted(&space), space.audit_slots()), (1, Vec::new()));
        let again = Arc::clone(&space).lease(&ask()).expect("a region");
        let (first, _) = again.rest().expect("a lease");
        assert_eq!(first, addr, "the zone that has a slot is taken first");
        drop(again);
        assert_eq!((counted(&space), space.audit_slots()), (0, Vec::new()));
    }
}
