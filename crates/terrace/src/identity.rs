//! [`Identity`]: tells which opening of a store a handle belongs to.
//!
//! A key space is known by a number, which another store may use for another one. So its handle has
//! the identity of its opening. A store compares it with its own identity. Each opening has a new
//! identity, because the key space may be dropped between two openings.
//!
//! Identities are consecutive numbers of a process. Any thread may call this module; it takes no
//! lock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, KeySpace};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// An opening of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// A new identity.
    pub(crate) fn new() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Checks that a key space is of this opening.
    pub(crate) fn check(self, space: &KeySpace) -> Result<(), Error> {
        if space.inner.identity == self { Ok(()) } else { Err(Error::other_store(&space.name)) }
    }
}
