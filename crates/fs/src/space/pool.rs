//! [`Pool`]: the space of one device, as writers of files see it.
//!
//! A pool hands out *regions*: runs of blocks that one writer appends to. A writer leases a region,
//! claims blocks of it before each write, and settles the claim when the write has completed.
//! Blocks count as unsealed when they are claimed, and as live once a transaction has sealed their
//! file. When they leave the file, they are pinned as long as readers hold them, and then freed.
//!
//! Each kind of pool knows its device: which regions there are, and the steps before a region is
//! written again. The parts of the pool of zones alone, such as reclaim, are not in this trait; see
//! [`ZonedPool`](super::zoned::ZonedPool). The journal takes its zones by
//! [`JournalSpace`](crate::journal::JournalSpace).
//!
//! # Threads
//! Any thread may call any method, but the calls of a lease come from its holder. `lease` and
//! `reserve` can wait for space. All ways to lease, and `settle`, `abandon` and `retire`, can wait
//! for the device. The caller must hold no lock over these. After `stop`, `lease` and `reserve`
//! fail, and the other ways to lease give nothing. Claims of regions that are held go on.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_env::store::{Rank, SpaceInfo, StoreError};

use super::{Ask, Region, ReservationId, Reserved, Share};
use crate::BlockAddr;
use crate::catalog::Extent;

/// Name of a lease within its pool. Lives in the [`Region`] that stands for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseId {
    /// Which stretch of blocks: on a device with zones, the number of the zone; on a plain one, the
    /// low bits of the serial.
    pub(super) stretch: u32,
    /// Never used twice, so that a lease that was taken away is not mistaken for a later one of the
    /// same stretch.
    pub(super) serial: u64,
}

/// See the [module](self).
pub(crate) trait Pool: Send + Sync {
    /// The most blocks that a region has; on a device without zones, one of a placement group may
    /// have more.
    fn region_blocks(&self) -> u32;

    /// Leases a region to a writer. Waits for space or for a lease where that helps; otherwise
    /// [`NoSpace`](StoreError::NoSpace) or [`Busy`](StoreError::Busy).
    fn lease(self: Arc<Self>, ask: &Ask) -> Result<Region, StoreError>;

    /// Leases a region to a log that does not need it yet; `None` if that would make any writer
    /// wait, now or later.
    fn lease_spare(self: Arc<Self>, ask: &Ask) -> Option<Region>;

    /// Leases a region to a writer if that takes neither a wait nor another writer's region.
    fn lease_at_once(self: Arc<Self>, ask: &Ask) -> Option<Region>;

    /// Leases a region for the unwritten rest of a group, if that takes neither a wait nor another
    /// writer's region. It holds the rest in one piece, up to the size of a region. On a device
    /// without zones it may be shorter. `size`: the bytes of the whole group.
    fn lease_group(self: Arc<Self>, ask: &Ask, size: ByteCount) -> Option<Region>;

    /// The writers of a group's region are idle for a while, or write again. An idle lease ends
    /// where another writer lacks space or a lease.
    fn set_idle(&self, lease: LeaseId, idle: bool);

    /// Where the next claim starts and how many blocks are left; `None` if the lease was taken
    /// away.
    fn rest(&self, lease: LeaseId) -> Option<(BlockAddr, u32)>;

    /// Takes the next blocks of a lease, at most `blocks` of them, for a write that is submitted
    /// next; `None` if nothing is left or the lease was taken away.
    fn claim(&self, lease: LeaseId, blocks: u32) -> Option<(BlockAddr, u32)>;

    /// One claimed write has completed. `written`: all of it is where it was claimed. Of a write
    /// that has failed, [`abandon`](Self::abandon) or [`retire`](Self::retire) comes first.
    fn settle(&self, lease: LeaseId, written: bool);

    /// The writer wants nothing more of its region.
    fn end_lease(&self, lease: LeaseId);

    /// A claimed write was not carried out, though the medium has not failed: nothing is written to
    /// the stretch until all of it is free.
    fn abandon(&self, lease: LeaseId);

    /// The medium failed under a write: nothing is written to the stretch any more.
    fn retire(&self, lease: LeaseId);

    /// Counts blocks of files as `to` instead of as `from`.
    fn turn(&self, extents: &[Extent], from: Share, to: Share);

    /// Counts blocks of files, which were `share`, as dead.
    fn free(&self, extents: &[Extent], share: Share);

    /// Sets space aside for a job. Waits as [`lease`](Self::lease) does.
    fn reserve(self: Arc<Self>, rank: Rank, bytes: ByteCount) -> Result<Reserved, StoreError>;

    /// Whether `files` files may be written at once under a reservation, as
    /// [`Reservation::admits`](terrace_env::store::Reservation::admits) says. Never waits.
    fn admits(&self, id: ReservationId, files: u32, size: ByteCount) -> bool;

    /// Gives back the remainder of a reservation.
    fn end_reservation(&self, id: ReservationId);

    /// The sums: free blocks, by the ranks that may take them, and used ones.
    fn room(&self) -> SpaceInfo;

    /// The journal has failed: nothing is given out any more, and no writer waits.
    fn stop(&self, error: &StoreError);
}
