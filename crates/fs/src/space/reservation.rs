//! Space set aside for a job, given back when the last handle is dropped.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::ByteCount;
use terrace_env::store::ReservedSpace;

use super::Allocator;
use super::governor::ReservationId;

/// What is behind a [`Reservation`](terrace_env::store::Reservation) of this store.
pub(crate) struct Reserved {
    space: Arc<Allocator>,
    id: ReservationId,
    left: Arc<AtomicU64>,
}

impl Reserved {
    pub(super) fn new(space: Arc<Allocator>, id: ReservationId, bytes: ByteCount) -> Self {
        Self { space, id, left: Arc::new(AtomicU64::new(bytes.0)) }
    }

    /// Its name in the governor.
    pub(crate) fn id(&self) -> ReservationId {
        self.id
    }

    /// Whether it was made by this store.
    pub(crate) fn is_of(&self, space: &Arc<Allocator>) -> bool {
        Arc::ptr_eq(&self.space, space)
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

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.space.end_reservation(self.id);
    }
}
