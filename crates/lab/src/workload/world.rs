//! [`World`]: a store together with the ledger of its writes, so that its contents can
//! be verified.
//!
//! The store is empty at first, and only clients of this world write to it. There must be no writes
//! during [`World::verify`] and [`World::checksum`], which read everything.

use std::sync::Arc;

use terrace::{Bounds, Db};
use terrace_env::checksum::crc32c_append;

use super::client::Client;
use super::entries::Entries;
use super::error::{ClientError, Defect};
use super::ledger::Ledger;

/// A store that is written by [`Client`]s alone. Clones are the same world.
#[derive(Clone)]
pub struct World {
    pub(super) db: Db,
    pub(super) entries: Arc<Entries>,
    pub(super) ledger: Arc<Ledger>,
}

impl World {
    /// An empty store.
    #[must_use]
    pub fn new(db: Db, entries: Arc<Entries>) -> Self {
        Self { db, entries, ledger: Arc::new(Ledger::new()) }
    }

    /// This world with the store opened again, and the same records. All writes in the ledger must
    /// be there.
    #[must_use]
    pub fn reopened(self, db: Db) -> Self {
        Self { db, ..self }
    }

    /// The store.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// How keys and values are made.
    #[must_use]
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Expected contents of the store: records, and bytes of their keys and newest values.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A checksum over all keys and values in order: stores that hold the same have the same.
    pub fn checksum(&self) -> Result<u32, ClientError> {
        let mut crc = 0;
        let mut scan = self.db.scan(..)?;
        while scan.advance()? {
            let (key, value) = (scan.key(), scan.value_slice());
            // With the lengths before them, no two sequences of keys and values read the same.
            let lengths = [(key.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes()];
            for bytes in [lengths.as_flattened(), key, value] {
                crc = crc32c_append(crc, bytes);
            }
        }
        Ok(crc)
    }

    /// Goes through everything in order while no client writes, verifies every record, and that
    /// none is missing; returns how many there are. `watch` is told after each.
    pub fn verify(&self, watch: &mut dyn FnMut(u64)) -> Result<u64, ClientError> {
        let found = Client::new(self).walk(Bounds::all(), None, u64::MAX, watch)?;
        let (expected, undecided) = (self.ledger.held().records, self.ledger.undecided());
        if found.records.abs_diff(expected) <= undecided {
            return Ok(found.records);
        }
        let defect = Defect::Count(expected, found.records);
        Err(ClientError::Mismatch { record: found.records, defect })
    }
}
