//! [`Reserved`]: space set aside for a job. Writers under it count down the bytes that they append;
//! the pool's governor counts the zones or blocks that are set aside. Dropping it gives the rest
//! back. A reservation is good for the pool that granted it.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::ByteCount;
use terrace_env::store::ReservedSpace;

use super::Pool;

/// A reservation's name in its pool; 0 is none.
pub(crate) type ReservationId = u64;

/// The store's side of a [`Reservation`](terrace_env::store::Reservation).
pub(crate) struct Reserved {
    pool: Arc<dyn Pool>,
    id: ReservationId,
    left: Arc<AtomicU64>,
}

impl Reserved {
    pub(super) fn new(pool: Arc<dyn Pool>, id: ReservationId, bytes: ByteCount) -> Self {
        Self { pool, id, left: Arc::new(AtomicU64::new(bytes.0)) }
    }

    /// The reservation's name in the pool.
    pub(crate) fn id(&self) -> ReservationId {
        self.id
    }

    /// Whether it is of this pool.
    pub(crate) fn is_of(&self, pool: &Arc<dyn Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// The bytes that are left, for its writers to count down.
    pub(crate) fn meter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.left)
    }
}

impl ReservedSpace for Reserved {
    fn remaining(&self) -> ByteCount {
        ByteCount(self.left.load(Ordering::Relaxed))
    }

    fn admits(&self, files: u32, size: ByteCount) -> bool {
        self.pool.admits(self.id, files, size)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.pool.end_reservation(self.id);
    }
}
