//! Key spaces: made, found and dropped. Their list is a part of the store's annotation, and readers
//! find the same in their view.
//!
//! - Ids are not used twice. A write to a key space that does not exist is refused. A read is
//!   refused if the key space was dropped; under an id that was never given out, it finds nothing.
//! - A key space is dropped in three steps (`docs/format/annotation.md`):
//!   1. A transaction moves its id from the list to the *dropped* ones. From here on the key space
//!      does not exist.
//!   2. A range delete over all of its keys hides what it held.
//!   3. Once that is durable, a transaction removes the id from the dropped ones.
//! - If step 2 or 3 fails, the call fails, though the key space is gone. The next drop of a key
//!   space that exists tries again, and so does the next opening for writing.
//!
//! Threads: any.

use std::sync::Arc;

use super::store_record::{FEATURE_RANGE_DELETES, SPACE_NAME_BYTES_MAX, StoreRecord};
use crate::shared::Shared;
use crate::writing::Batch;
use crate::{Bounds, Durability, Error, KeySpaceId};

/// Which key spaces there are.
#[derive(Debug)]
pub(crate) struct Spaces {
    /// No id from here on was ever given out.
    end: u32,
    /// Those that exist, growing.
    existing: Vec<KeySpaceId>,
}

impl Spaces {
    pub(crate) fn of(record: &StoreRecord) -> Arc<Self> {
        let existing = record.spaces.iter().map(|(id, _)| *id).collect();
        Arc::new(Self { end: record.next_space, existing })
    }

    /// Whether it existed once.
    fn was_dropped(&self, space: KeySpaceId) -> bool {
        space.0 < self.end
            && self.existing.len() < self.end as usize
            && self.existing.binary_search(&space).is_err()
    }

    /// Checks that it may be read: it was not dropped.
    pub(crate) fn check_read(&self, space: KeySpaceId) -> Result<(), Error> {
        if self.was_dropped(space) { Err(Error::UnknownKeySpace(space)) } else { Ok(()) }
    }

    /// Checks that it may be written to: it exists.
    pub(crate) fn check_write(&self, space: KeySpaceId) -> Result<(), Error> {
        let unknown = space.0 >= self.end || self.was_dropped(space);
        if unknown { Err(Error::UnknownKeySpace(space)) } else { Ok(()) }
    }
}

impl Shared {
    /// Checks that a batch writes to key spaces that exist.
    pub(crate) fn check_spaces(&self, batch: &Batch) -> Result<(), Error> {
        let view = self.tree.glance();
        batch.spaces().try_for_each(|space| view.spaces.check_write(space))
    }

    /// The key space of this name, made if there is none.
    pub(crate) fn create_space(&self, name: &str) -> Result<KeySpaceId, Error> {
        if name.is_empty() || name.len() > SPACE_NAME_BYTES_MAX {
            return Err(Error::KeySpaceName { name: name.to_owned() });
        }
        self.commit_record(|record| {
            if !record.spaces.iter().any(|(_, existing)| existing == name) {
                record.spaces.push((KeySpaceId(record.next_space), name.to_owned()));
                record.next_space += 1;
            }
        })?;
        // It can only be missing if it was dropped in the meantime.
        self.space(name).ok_or_else(|| Error::KeySpaceName { name: name.to_owned() })
    }

    /// The key space of this name.
    pub(crate) fn space(&self, name: &str) -> Option<KeySpaceId> {
        self.tree.with_record(|record| {
            record.spaces.iter().find(|(_, existing)| existing == name).map(|(id, _)| *id)
        })
    }

    /// Drops the key space of this name. Whether there was one.
    pub(crate) fn drop_space(&self, name: &str) -> Result<bool, Error> {
        match self.space(name) {
            None => return Ok(false),
            Some(KeySpaceId::DEFAULT) => return Err(Error::DefaultKeySpace),
            Some(_) => {}
        }
        let mut found = false;
        self.commit_record(|record| {
            let at = record.spaces.iter().position(|(_, existing)| existing == name);
            if let Some(at) = at {
                record.features |= FEATURE_RANGE_DELETES;
                record.dropped.push(record.spaces.remove(at).0);
                record.dropped.sort_unstable();
                found = true;
            }
        })?;
        self.hide_dropped_spaces()?;
        Ok(found)
    }

    /// Hides what dropped key spaces held, where that has not been done yet.
    pub(crate) fn hide_dropped_spaces(&self) -> Result<(), Error> {
        let dropped = self.tree.record().dropped;
        if dropped.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        for space in &dropped {
            batch.delete_range(*space, &Bounds::all());
        }
        self.submit_unchecked(batch, Durability::Synced)?;
        self.commit_record(|record| record.dropped.retain(|space| !dropped.contains(space)))
    }
}
