//! [`Governor`] of a device without zones: decides how many blocks each rank leaves to others, and
//! counts reservations.
//!
//! A rank may take blocks if these stay free, in addition to the blocks that other jobs'
//! reservations hold:
//!
//! | rank | must leave |
//! |---|---|
//! | journal | nothing, not even reserved blocks |
//! | reclaim | `J` whole stretches |
//! | compaction | `J` whole stretches and `R` blocks |
//! | urgent log | `J` whole stretches and `R + C` blocks |
//! | flush | `J` whole stretches and `R + C + U` blocks |
//! | log | `J` whole stretches and `R + C + U + F + G` blocks |
//!
//! A writer under a reservation gets the blocks set aside by it, even if ranks above have used up
//! the rest.
//!
//! - `J` is the number of stretches that the journal may still need until a snapshot is complete,
//!   in addition to those that it has; 1 at least. A device of tables keeps them even if the
//!   journal is on a log device, and an offload device keeps one. If fewer stretches are whole
//!   already, as many blocks stay free instead. On shingled tracks, a stretch here is a *unit*: a
//!   stretch with its guard.
//! - `U` is [`URGENT_RESERVE`], a MiB: so deletes can be logged though puts have filled the device.
//! - `C` and `F`, of [`jobs_reserve`] blocks each, are kept for compactions and for flushes.
//!   They are 0 on a device of logs alone and on an offload device.
//! - While files lie on an offload device, the urgent log, flushes and logs also leave the number
//!   of blocks of these files, and a sixteenth more: compactions write them here, and free nothing
//!   here for it.
//! - `R` and `G` are 0 but on shingled tracks that hold tables. On a plain device nothing is kept
//!   for reclaim, because a block that comes free can be written without being copied or reset.
//!
//! # Shingled tracks
//! Blocks are counted here that can be written, without the guards at the ends of free runs. With
//! each compaction there may be more runs, and fewer such blocks, though no less is free. So the
//! blocks that puts leave would not last. Reclaim gathers free blocks when a rank below it lacks
//! the blocks kept for it ([`gathering`](super::gathering)). The argument that deletes are then
//! taken as on a plain device, where `g` is the longest guard:
//!
//! 1. When gathering is exhausted, a *section* - the blocks between two things that cannot be
//!    moved - has at most `g` free blocks that cannot be written, for any number of files. Such
//!    things are units of the journal, logs, open leases, and files that were deleted under a
//!    reader or that are larger than there is room for a copy. `G` is [`GUARDS`] times `g`: enough
//!    for [`GUARDS`] sections.
//! 2. To be moved, a file needs a copy's room: its number of blocks, in pieces if need be, a guard
//!    after them, and a guard that its old place may need. `R` is [`jobs_reserve`] of half the
//!    device and two guards: enough for files of a 64th of the device, which no table is larger
//!    than, or of 16 MiB.
//! 3. `C`, `F` and `U` have a guard more each: the guard of the data written there.
//!
//! Limits: with more than [`GUARDS`] sections - under many readers of deleted files, or if a log
//! lies in many pieces - or with files larger than `R`, a delete may be refused until a reader, a
//! log or a file is gone. The refusal is `NoSpace`. So it is if the journal comes to need more
//! stretches than it did when puts were refused, as on a plain device.
//!
//! Pure; the owner locks it.

use std::collections::BTreeMap;

use terrace_env::store::Rank;

use crate::space::ReservationId;

/// Blocks that puts leave to the log of deletes: a MiB.
pub(super) const URGENT_RESERVE: u64 = 256;
/// The most blocks kept for compactions, and the most for flushes: 16 MiB each, enough for several
/// instalments of a merge that has little space.
const JOBS_RESERVE_MAX: u64 = 4096;

/// Guards that puts leave: one for each stretch between things that gathering cannot move.
const GUARDS: u64 = 8;

/// Blocks that a device of tables with `capacity` blocks keeps for compactions, and again for
/// flushes.
fn jobs_reserve(capacity: u64) -> u64 {
    (capacity / 32).min(JOBS_RESERVE_MAX)
}

/// Blocks to set aside for `blocks` blocks of files: a sixteenth more, as their regions have.
pub(super) fn with_slack(blocks: u64) -> u64 {
    blocks.saturating_add(blocks.div_ceil(16))
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Governor {
    /// Stretches that the journal may come to take.
    journal: u32,
    /// Blocks kept for compactions, and as many for flushes.
    jobs: u64,
    /// Blocks kept for reclaim.
    reclaim: u64,
    /// Blocks kept for the log of deletes.
    urgent: u64,
    /// Blocks that puts leave for guards that gathering cannot join.
    guards: u64,
    /// Live blocks on the offload device.
    owed: i64,
    quotas: BTreeMap<ReservationId, Quota>,
    next: ReservationId,
}

/// A reservation.
#[derive(Debug)]
struct Quota {
    /// Blocks that are set aside: those that the reservation's leases may still take.
    left: u64,
    /// Blocks that its files may still come to have, as it was promised.
    unwritten: u64,
}

impl Governor {
    /// The governor of a device of tables with `capacity` blocks, and a journal that may come to
    /// take `journal` stretches. `guard`: the longest guard of a file.
    pub(super) fn new(journal: u32, capacity: u64, guard: u64) -> Self {
        let jobs = jobs_reserve(capacity) + guard;
        let reclaim = if guard > 0 { jobs_reserve(capacity / 2) + 2 * guard } else { 0 };
        let (urgent, guards) = (URGENT_RESERVE + guard, GUARDS * guard);
        Self { jobs, reclaim, urgent, guards, ..Self::without_tables(journal) }
    }

    /// The governor of a device that holds no tables, or only such as may as well lie on another
    /// one.
    pub(super) fn without_tables(journal: u32) -> Self {
        let (jobs, reclaim, urgent, guards, owed) = (0, 0, URGENT_RESERVE, 0, 0);
        Self { journal, jobs, reclaim, urgent, guards, owed, quotas: BTreeMap::new(), next: 1 }
    }

    /// Adds `blocks` to the live blocks on the offload device; a negative number takes away.
    pub(super) fn owe(&mut self, blocks: i64) {
        self.owed += blocks;
    }

    /// Sets the number of stretches that the journal may come to take.
    pub(super) fn set_journal(&mut self, stretches: u32) {
        self.journal = stretches;
    }

    /// Whole stretches that stay free for the journal, which has `held`.
    pub(super) fn stretches_kept(&self, rank: Rank, held: u32) -> u64 {
        match rank {
            Rank::Journal => 0,
            _ => self.journal.saturating_sub(held).max(1).into(),
        }
    }

    /// Blocks that stay free for the ranks above, the journal apart.
    pub(super) fn blocks_kept(&self, rank: Rank) -> u64 {
        let owed = with_slack(u64::try_from(self.owed).unwrap_or(0));
        match rank {
            Rank::Journal | Rank::Reclaim => 0,
            Rank::Compaction => self.reclaim,
            Rank::UrgentLog => self.reclaim + self.jobs + owed,
            Rank::Flush => self.reclaim + self.jobs + self.urgent + owed,
            Rank::Log => self.blocks_kept_from_puts() + owed,
        }
    }

    /// Blocks that puts leave to the ranks above, the journal apart, while nothing lies on an
    /// offload device.
    pub(super) fn blocks_kept_from_puts(&self) -> u64 {
        self.reclaim + 2 * self.jobs + self.urgent + self.guards
    }

    /// Blocks that are kept for a rank.
    pub(super) fn kept_for(&self, rank: Rank) -> u64 {
        match rank {
            Rank::Journal | Rank::Log => 0,
            Rank::Reclaim => self.reclaim,
            Rank::Compaction | Rank::Flush => self.jobs,
            Rank::UrgentLog => self.urgent,
        }
    }

    /// Blocks that reservations hold.
    pub(super) fn granted(&self) -> u64 {
        self.quotas.values().map(|quota| quota.left).sum()
    }

    /// Blocks that a reservation may still take.
    pub(super) fn quota(&self, id: ReservationId) -> u64 {
        self.quotas.get(&id).map_or(0, |quota| quota.left)
    }

    /// Sets aside the space for files of `blocks` blocks; `most` is the guard that a file may need.
    pub(super) fn grant(&mut self, blocks: u64, most: u64) -> ReservationId {
        let id = self.next;
        self.next += 1;
        debug_assert!(!self.quotas.contains_key(&id), "reservation {id} is given twice");
        self.quotas.insert(id, Quota { left: with_slack(blocks) + most, unwritten: blocks });
        id
    }

    /// Blocks to be set aside so that `files` can be written at once under a reservation, each of
    /// `size` blocks at most. A file's region is as long as the file may come to be; the unclaimed
    /// part of it is of no use to the others. So the reservation must have space for all unwritten
    /// blocks in addition to the regions that its files hold now, and a region more for each
    /// further file.
    pub(super) fn to_admit(&self, id: ReservationId, files: u32, size: u64, guard: u64) -> u64 {
        let Some(quota) = self.quotas.get(&id) else { return u64::MAX };
        let further = u64::from(files.saturating_sub(1));
        let regions = further.saturating_mul(with_slack(size).saturating_add(guard));
        let needed = with_slack(quota.unwritten).saturating_add(guard).saturating_add(regions);
        needed.saturating_sub(quota.left)
    }

    /// Sets more blocks aside for a reservation.
    pub(super) fn add(&mut self, id: ReservationId, blocks: u64) {
        if let Some(quota) = self.quotas.get_mut(&id) {
            quota.left += blocks;
        }
    }

    /// A file under a reservation has got blocks.
    pub(super) fn claimed(&mut self, id: ReservationId, blocks: u64) {
        if let Some(quota) = self.quotas.get_mut(&id) {
            quota.unwritten = quota.unwritten.saturating_sub(blocks);
        }
    }

    /// A writer under a reservation has taken blocks; how many of them were set aside.
    pub(super) fn taken(&mut self, id: ReservationId, blocks: u64) -> u64 {
        let Some(quota) = self.quotas.get_mut(&id) else { return 0 };
        let own = blocks.min(quota.left);
        quota.left -= own;
        own
    }

    /// Blocks that were taken under a reservation have not been written.
    pub(super) fn returned(&mut self, id: ReservationId, blocks: u64) {
        if let Some(quota) = self.quotas.get_mut(&id) {
            quota.left += blocks;
        }
    }

    /// Ends a reservation.
    pub(super) fn release(&mut self, id: ReservationId) {
        self.quotas.remove(&id);
    }
}
