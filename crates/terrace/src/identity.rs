//! Which store a handle is of.
//!
//! A key space is a number within its store, and so are the writes of a batch. The same number
//! means something else in every other store, so a handle remembers whose it is, and is compared
//! before it is used. Each opening has an identity of its own: what became of a key space while the
//! store was closed, an old handle cannot know.
//!
//! Identities are numbers that a process gives out one after the other. They are compared and never
//! shown, so nothing depends on their order.
//!
//! # Threads
//! Any number.

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
