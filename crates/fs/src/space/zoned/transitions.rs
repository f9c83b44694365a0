//! Transitions of zones: the ways in which a zone's use, contents, active slot and holder change.
//!
//! | transition | from | to |
//! |---|---|---|
//! | `take` | free or written | leased, by a job that finishes or empties the zone |
//! | `lease` | free or written | leased, by a writer, with an active slot |
//! | `end_lease` | leased | written, or free if nothing came of it |
//! | `end_emptying` | leased | written, or free if all was moved |
//! | `end_writing` | leased, written, journal or failed | full: written, read-only or offline |
//! | `give_to_journal` | free | journal |
//! | `take_from_journal` | journal | free, with old bytes |
//!
//! The others count blocks or the levels of deleted tables, mark an active slot or a reset, or name
//! a holder. A written zone of which nothing is used any more becomes free within the same
//! transition.
//!
//! A transition asks no device. The owner takes a zone first, then resets, finishes or writes it,
//! and reports the end by another transition. A transition panics if it would leave more blocks in
//! use than are written. The owner of the table locks it.

use terrace_env::ZoneId;
use terrace_env::store::PlacementHint;
use terrace_policy::RECLAIM_STREAM;

use super::zone::Condition;
#[cfg(test)]
use super::zone::Zone;
use super::zone_table::ZoneTable;
use crate::space::{ReservationId, Share};

impl ZoneTable {
    /// A job takes a zone, which no other job gets meanwhile.
    pub(crate) fn take(&mut self, zone: ZoneId) {
        self.change(zone, |z| {
            debug_assert!(matches!(z.condition, Condition::Free | Condition::Written), "{z:?}");
            z.condition = Condition::Leased;
        });
    }

    /// A writer takes a zone for files of this level and stream.
    pub(crate) fn lease(&mut self, zone: ZoneId, hint: &PlacementHint) {
        self.change(zone, |z| {
            debug_assert!(matches!(z.condition, Condition::Free | Condition::Written), "{z:?}");
            z.condition = Condition::Leased;
            z.active = true;
            (z.level, z.stream) = (hint.level, hint.stream);
        });
    }

    /// A writer gives a zone back. A zone that was emptied for this lease, and not written, has no
    /// active slot.
    pub(crate) fn end_lease(&mut self, zone: ZoneId) {
        self.change(zone, |z| {
            if z.condition == Condition::Leased {
                z.condition = Condition::Written;
            }
            z.active &= z.written > 0;
        });
    }

    /// A writer is about to write the zone's next blocks. `now`: in blocks written since the mount.
    pub(crate) fn claim(&mut self, zone: ZoneId, blocks: u32, now: u64) {
        self.change(zone, |z| {
            debug_assert!(blocks > 0 && z.room() >= blocks, "{z:?} has room for {blocks}");
            z.written += blocks;
            z.unsealed += blocks;
            if z.stream != RECLAIM_STREAM {
                z.written_at = now;
            }
        });
    }

    /// Reclaim has moved blocks of a victim to a zone, which is as young as the younger of them.
    pub(crate) fn note_moved(&mut self, victim: ZoneId, to: ZoneId) {
        debug_assert_ne!(victim, to, "a victim takes none of its own blocks");
        let written_at = self.get(victim).written_at;
        self.change(to, |z| z.written_at = z.written_at.max(written_at));
    }

    /// Nothing more is written to a zone until it has been reset, or for good if the condition says
    /// so. `active`: the zone still takes a slot.
    pub(crate) fn end_writing(&mut self, zone: ZoneId, condition: Condition, active: bool) {
        debug_assert!(
            matches!(condition, Condition::Written | Condition::ReadOnly | Condition::Offline),
            "zone {zone} is still written: {condition:?}"
        );
        self.change(zone, |z| (z.written, z.condition, z.active) = (z.capacity, condition, active));
    }

    /// Reclaim gives a zone back. A zone on which it `failed` is left alone until the next mount.
    pub(crate) fn end_emptying(&mut self, zone: ZoneId, failed: bool) {
        self.change(zone, |z| {
            if z.condition == Condition::Leased {
                z.condition = Condition::Written;
            }
            z.quarantined |= failed;
        });
    }

    /// The journal takes a zone.
    pub(crate) fn give_to_journal(&mut self, zone: ZoneId) {
        self.change(zone, |z| {
            debug_assert!(z.condition == Condition::Free && z.used() == 0, "{z:?}");
            z.condition = Condition::Journal;
        });
    }

    /// The journal gives a zone back. `active`: the zone still takes a slot.
    pub(crate) fn take_from_journal(&mut self, zone: ZoneId, active: bool) {
        self.change(zone, |z| {
            debug_assert!(z.condition == Condition::Journal, "{z:?}");
            (z.condition, z.written, z.stale, z.active) = (Condition::Free, 0, true, active);
        });
    }

    /// The device has said whether a zone takes an active slot.
    pub(crate) fn mark_active(&mut self, zone: ZoneId, active: bool) {
        self.change(zone, |z| z.active = active);
    }

    /// A zone has been reset, or needed no reset, and can be written from its start.
    pub(crate) fn mark_reset(&mut self, zone: ZoneId) {
        self.change(zone, |z| {
            debug_assert!(z.written == 0 && z.used() == 0, "{z:?} is not empty");
            z.stale = false;
        });
    }

    /// From now on only writers with this reservation go on in a zone.
    pub(crate) fn hold(&mut self, zone: ZoneId, holder: ReservationId) {
        self.change(zone, |z| {
            debug_assert!(holder != 0 && (z.holder == 0 || z.holder == holder), "{z:?}");
            z.holder = holder;
        });
    }

    /// Any writer may go on in a zone.
    pub(crate) fn let_go(&mut self, zone: ZoneId) {
        self.change(zone, |z| z.holder = 0);
    }

    /// A table of this level is deleted that has blocks in a zone.
    pub(crate) fn bury(&mut self, zone: ZoneId, level: u8) {
        self.change(zone, |z| z.levels_dead += u64::from(level));
    }

    /// Blocks of a zone that counted as `share` are dead.
    pub(crate) fn remove(&mut self, zone: ZoneId, share: Share, blocks: u32) {
        self.change(zone, |z| {
            debug_assert!(z.condition.holds_data() && *z.share(share) >= blocks, "{z:?}");
            *z.share(share) -= blocks;
        });
    }

    /// Blocks of a zone that counted as `from` count as `to`.
    pub(crate) fn turn(&mut self, zone: ZoneId, from: Share, to: Share, blocks: u32) {
        self.change(zone, |z| {
            debug_assert!(z.condition.holds_data() && *z.share(from) >= blocks, "{z:?}");
            *z.share(from) -= blocks;
            *z.share(to) += blocks;
        });
    }

    /// Puts a zone into the state that a test wants.
    #[cfg(test)]
    pub(crate) fn set(&mut self, zone: ZoneId, to: Zone) {
        self.change(zone, |z| *z = to);
    }
}
