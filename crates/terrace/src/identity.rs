//! [`Identity`]: tells which opening of a store a handle belongs to.
//!
//! A key space is known by a number, which means something else in another store. So a handle of a
//! key space, and a batch that was made with one, carry the identity of their opening, and it is
//! compared before they are used. Each opening has an identity of its own, because the key space
//! may be dropped between two openings.
//!
//! Identities are numbers that a process gives out one after the other, and does not use again.
//! They are compared and not shown. Any thread; no locks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, KeySpace};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// An opening of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64);

impl Identity {
    /// One that no other opening has.
    pub(crate) fn new() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Checks that a key space is of this opening.
    pub(crate) fn check(self, space: &KeySpace) -> Result<(), Error> {
        if space.inner.identity == self { Ok(()) } else { Err(Error::other_store(&space.name)) }
    }
}
