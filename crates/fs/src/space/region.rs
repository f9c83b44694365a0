//! [`Region`]: a writer's lease of a run of blocks. On a device with zones it is the rest of a
//! zone, on a device without zones free blocks.
//!
//! No other writer writes there. The holder claims blocks before it submits a write, submits writes
//! in the order of their claims, and settles a claim when its write has completed. After a write
//! that fails, it abandons, retires or drops the region.
//!
//! The pool can take the lease away while no claim is open. On a device with zones, it does so if
//! leases or active zones are short, but not while a log is written there. If space is short, it
//! takes *idle* leases: a placement group holds them between two files. A device without zones
//! takes idle ones alone. After the loss, a claim gives nothing, and the holder asks for another
//! region.

use std::sync::Arc;

use super::Pool;
use super::pool::LeaseId;
use crate::BlockAddr;

/// See the [module](self). Its drop lets other writers write after the claimed blocks.
pub(crate) struct Region {
    pool: Arc<dyn Pool>,
    lease: LeaseId,
}

impl Region {
    pub(super) fn new(pool: Arc<dyn Pool>, lease: LeaseId) -> Self {
        Self { pool, lease }
    }

    /// Whether both are leases of one stretch.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool) && self.lease.stretch == other.lease.stretch
    }

    /// Whether it is a lease of this pool.
    pub(crate) fn is_in(&self, pool: &Arc<dyn Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// Where the next claim starts and how many blocks are left; `None` if the lease was taken.
    pub(crate) fn rest(&self) -> Option<(BlockAddr, u32)> {
        self.pool.rest(self.lease)
    }

    /// Takes the next blocks, at most `blocks` of them, for a write that is submitted next; `None`
    /// if nothing is left or the lease was taken away.
    pub(crate) fn claim(&self, blocks: u32) -> Option<(BlockAddr, u32)> {
        self.pool.claim(self.lease, blocks)
    }

    /// The writers of this region are idle for a while, or write again. An idle lease ends where
    /// another writer lacks space or a lease.
    pub(crate) fn set_idle(&self, idle: bool) {
        self.pool.set_idle(self.lease, idle);
    }

    /// One claimed write has completed. `written`: all of it is where it was claimed. Of a write
    /// that has failed, [`abandon`](Self::abandon) or [`retire`](Self::retire) comes first.
    pub(crate) fn settle(&self, written: bool) {
        self.pool.settle(self.lease, written);
    }

    /// A write was not carried out, though the medium has not failed: the device is no longer
    /// written where the next claim is. Nothing is written here until all of it is free.
    pub(crate) fn abandon(&self) {
        self.pool.abandon(self.lease);
    }

    /// The medium failed under a write: nothing is written here any more.
    pub(crate) fn retire(&self) {
        self.pool.retire(self.lease);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.pool.end_lease(self.lease);
    }
}
