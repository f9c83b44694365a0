//! Locks that know the runner (placeholder for the contract).

pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Panics in debug builds when the calling actor holds a lock: called before every device call and
/// every wait.
pub fn assert_no_lock_held(_what: &str) {}
