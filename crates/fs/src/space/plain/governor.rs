//! [`Governor`] of a device without zones: decides how many blocks each rank leaves to others, and
//! counts reservations.
//!
//! A rank may take blocks if these stay free, beside the blocks that other jobs' reservations hold:
//!
//! | rank | must leave |
//! |---|---|
//! | journal | nothing, not even what is reserved |
//! | reclaim, compaction | `J` whole stretches |
//! | urgent log | `J` whole stretches and `C` blocks |
//! | flush | `J` whole stretches and `C + U` blocks |
//! | log | `J` whole stretches and `C + U + F` blocks |
//!
//! - `J` is the number of stretches that the journal may still need until a snapshot is complete,
//!   beside those that it has; 1 at least. A device of tables keeps them even if the journal is on
//!   a log device, and an offload device keeps one. If fewer stretches are whole already, as many
//!   blocks stay free instead. On shingled tracks, a stretch here is a *unit*: a stretch with its
//!   guard.
//! - `U` is [`URGENT_RESERVE`], a MiB: so deletes can be logged though puts have filled the device.
//! - `C` and `F`, of [`jobs_reserve`] blocks each, are kept for compactions and for flushes.
//!   They are 0 on a device of logs alone and on an offload device.
//! - While files lie on an offload device, the urgent log, flushes and logs leave as many blocks
//!   more, and a sixteenth: compactions write them here, and free nothing here for it.
//!
//! Known weakness: on shingled tracks compactions may break up free runs until guards take what is
//! kept for flushes. A store that was filled with keys of which none was overwritten can then
//! refuse deletes.
//!
//! Nothing is kept for reclaim, because a block that comes free can be written without being copied
//! or reset.
//!
//! Pure; the owner locks it.

use std::collections::BTreeMap;

use terrace_env::store::Rank;

use crate::space::ReservationId;

/// Blocks that puts leave to the log of deletes: a MiB.
pub(super) const URGENT_RESERVE: u64 = 256;
/// The most blocks kept for compactions, and the most for flushes: 16 MiB each, as much as several
/// instalments of a merge that has little space.
const JOBS_RESERVE_MAX: u64 = 4096;

/// Blocks that a device which holds tables, and has so many blocks, keeps for compactions, and as
/// many again for flushes.
pub(super) fn jobs_reserve(capacity: u64) -> u64 {
    (capacity / 32).min(JOBS_RESERVE_MAX)
}

/// Blocks to set aside for so many blocks of files: a sixteenth more, as their regions have.
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
    /// Live blocks on the offload device.
    owed: i64,
    quotas: BTreeMap<ReservationId, Quota>,
    next: ReservationId,
}

/// A reservation.
#[derive(Debug)]
struct Quota {
    /// Blocks that are set aside: what the reservation's leases may still take.
    left: u64,
    /// Blocks that its files may still come to have, as it was promised.
    unwritten: u64,
}

impl Governor {
    /// For a journal that may come to take so many stretches, and jobs for which so many blocks are
    /// kept.
    pub(super) fn new(journal: u32, jobs: u64) -> Self {
        Self { journal, jobs, owed: 0, quotas: BTreeMap::new(), next: 1 }
    }

    /// So many live blocks more are on the offload device; or less, if it is negative.
    pub(super) fn owe(&mut self, blocks: i64) {
        self.owed += blocks;
    }

    /// The journal may come to take so many stretches.
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
            Rank::Journal | Rank::Reclaim | Rank::Compaction => 0,
            Rank::UrgentLog => self.jobs + owed,
            Rank::Flush => self.jobs + URGENT_RESERVE + owed,
            Rank::Log => 2 * self.jobs + URGENT_RESERVE + owed,
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

    /// Sets aside what files of so many blocks need; `most` is the guard that a file may need.
    pub(super) fn grant(&mut self, blocks: u64, most: u64) -> ReservationId {
        let id = self.next;
        self.next += 1;
        self.quotas.insert(id, Quota { left: with_slack(blocks) + most, unwritten: blocks });
        id
    }

    /// Blocks to be set aside so that `files` can be written at once under a reservation, each of
    /// `size` blocks at most. A file's region is as long as the file may come to be; what the file
    /// has not claimed of it is of no use to the others. So the reservation has to have all that
    /// is unwritten beside the regions that its files hold now, and a region more for each further
    /// file.
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
