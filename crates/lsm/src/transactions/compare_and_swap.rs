//! Compare and swap: a write of one key that takes effect if the key has an expected value.
//!
//! 1. A snapshot is taken, and the key is read in it. If it does not have the expected value, its
//!    value is returned.
//! 2. The batch is written with a guard over the key. If the guard does not hold, another write of
//!    the key has come first, or the value has expired, and the operation begins again. So among
//!    all concurrent writers of a key, one succeeds.
//!
//! It is linearizable: it takes effect when its batch does, or, if nothing is written, at the
//! moment of the snapshot, which lies within the call.
//!
//! Threads: any, without locks. It may wait for the device, for jobs and for other writers.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::Date;

use crate::key::{self, KeySpaceId};
use crate::read::{Reader, Snapshot};
use crate::write::{Guard, ReadSet, Writer};
use crate::{Batch, Durability, Error, ReadOptions};

/// Outcome of a compare and swap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Swap {
    /// The key had the expected value, and now has the new one.
    Swapped,
    /// The key has another value, this one, and nothing was written. `None`: it has none.
    Kept(Option<Bytes>),
}

impl Swap {
    /// Whether the new value was written.
    #[must_use]
    pub fn is_swapped(&self) -> bool {
        *self == Self::Swapped
    }
}

/// A compare and swap, with its owners and options.
pub(crate) struct Exchange<'a> {
    pub(crate) reader: &'a Arc<Reader>,
    pub(crate) writer: &'a Writer,
    pub(crate) options: ReadOptions,
    pub(crate) durability: Durability,
}

impl Exchange<'_> {
    /// Puts `new` under the key, with its expiry if it has one, or deletes the key, if the key has
    /// the value `expected`; `None`: no value.
    pub(crate) fn swap(
        &self,
        (space, user_key): (KeySpaceId, &[u8]),
        expected: Option<&[u8]>,
        new: Option<(&[u8], Option<Date>)>,
    ) -> Result<Swap, Error> {
        loop {
            let snapshot = Snapshot::new(self.reader);
            let found = snapshot.get_shown(space, user_key, self.options)?;
            let expires = found.as_ref().and_then(|found| found.expiry);
            let found = found.map(|found| found.value);
            if found.as_deref() != expected {
                return Ok(Swap::Kept(found));
            }
            let mut batch = Batch::new();
            match new {
                Some((value, None)) => batch.put(space, user_key, value),
                Some((value, Some(expiry))) => {
                    batch.put_with_expiry(space, user_key, value, expiry)
                }
                None => batch.delete(space, user_key),
            };
            batch.defect()?;
            let full_key = key::full_key(space, user_key);
            let mut reads = ReadSet::of_key(full_key.clone());
            reads.note_expiry(&full_key, expires);
            let guard = Guard::new(reads, snapshot.sequence(), None);
            match self.writer.write_guarded(batch, self.durability, guard) {
                Err(Error::Conflict(_)) => {}
                other => return other.map(|()| Swap::Swapped),
            }
        }
    }
}
