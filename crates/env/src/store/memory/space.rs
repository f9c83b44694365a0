//! The space of a [`MemoryStore`](super::MemoryStore): a capacity, and how much of it each [`Rank`]
//! must leave free.
//!
//! The most urgent rank may use the whole capacity. Each rank after it must leave one fixed step
//! more free than the rank before. A reservation counts as used from the beginning, so a writer's
//! share of it is not checked again.
//!
//! The caller holds the store's lock, but not to read the remainder of a reservation, nor to drop
//! one: the drop takes the lock itself.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::store::Shared;
use crate::ByteCount;
use crate::store::{Rank, ReservedSpace, StoreError};

/// How much there is and how it is shared out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    pub(super) total: u64,
    pub(super) step: u64,
}

impl Capacity {
    /// A capacity larger than any contents.
    pub(super) const UNLIMITED: Self = Self { total: 1 << 60, step: 0 };

    /// Bytes that `rank` may still take when `used` bytes are taken.
    pub(super) fn available(self, rank: Rank, used: u64) -> u64 {
        self.total.saturating_sub(self.step * rank as u64).saturating_sub(used)
    }

    /// Checks that `rank` may take `needed` bytes.
    pub(super) fn check(
        self,
        rank: Rank,
        needed: u64,
        used: u64,
        pinned: u64,
    ) -> Result<(), StoreError> {
        let available = self.available(rank, used + pinned);
        if needed <= available {
            return Ok(());
        }
        let (needed_bytes, available) = (ByteCount(needed), ByteCount(available));
        if needed <= self.available(rank, used) {
            let (needed, pinned) = (needed_bytes, ByteCount(pinned));
            return Err(StoreError::Busy { needed, pinned, device: None });
        }
        Err(StoreError::NoSpace {
            rank,
            needed: needed_bytes,
            available,
            on_host: false,
            empty: used + pinned == 0,
            device: None,
        })
    }
}

/// Bytes left of a reservation; shared with the writers that use it.
#[derive(Debug, Default)]
pub(super) struct Reserved(AtomicU64);

impl Reserved {
    pub(super) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    pub(super) fn remaining(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes up to `bytes` out; returns how many. Called under the store's lock.
    pub(super) fn take(&self, bytes: u64) -> u64 {
        let taken = bytes.min(self.remaining());
        self.0.fetch_sub(taken, Ordering::Relaxed);
        taken
    }

    /// Puts back the bytes of an append that did not happen. Called under the store's lock.
    pub(super) fn put_back(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The store's side of a [`Reservation`](crate::store::Reservation).
pub(super) struct MemoryReservation {
    pub(super) shared: Arc<Shared>,
    pub(super) reserved: Arc<Reserved>,
}

impl ReservedSpace for MemoryReservation {
    fn remaining(&self) -> ByteCount {
        ByteCount(self.reserved.remaining())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.shared.release(&self.reserved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_urgent_ranks_run_out_first_and_pins_are_told_apart() {
        let capacity = Capacity { total: 100, step: 10 };
        assert_eq!(capacity.available(Rank::Journal, 30), 70);
        assert_eq!(capacity.available(Rank::Log, 30), 20);
        assert!(capacity.check(Rank::Log, 20, 30, 0).is_ok());
        let full = capacity.check(Rank::Log, 21, 30, 0);
        assert!(matches!(full, Err(StoreError::NoSpace { available: ByteCount(20), .. })));
        let busy = capacity.check(Rank::Log, 20, 30, 1);
        assert!(matches!(busy, Err(StoreError::Busy { pinned: ByteCount(1), .. })));
    }
}
