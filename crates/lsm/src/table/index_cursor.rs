//! [`IndexCursor`]: walks the entries of a table's index, over its partitions, with the index of
//! one partition at a time.
//!
//! A scan leaves the indexes that it reads in the slots of the table, for the next reader. A job
//! uses indexes in memory, reads other partitions (several by one request, if they are small), and
//! leaves none, because it reads them only once.
//!
//! After an error of a move the cursor stands on no entry until the next seek. An error in its
//! current entry does not move it. One owner, which holds no lock: a call that comes to another
//! partition may wait for the device.

use std::sync::Arc;

use super::frame::Handle;
use super::index::Index;
use super::read_ahead::{Area, ReadAhead};
use super::reader::Table;
use crate::Error;
use crate::key::{self, Trailer};
use crate::memory::Part;
use crate::memory::Walk;

/// Stands on the entry of a data block, or on none.
#[derive(Debug)]
pub(super) struct IndexCursor {
    table: Arc<Table>,
    walk: Walk,
    partition: usize,
    /// The index of the partition; `None`: it stands on no entry.
    index: Option<Arc<Part<Index>>>,
    at: usize,
    /// Read-ahead of the index, for jobs; scans keep the index in memory.
    ahead: ReadAhead,
}

impl IndexCursor {
    /// A cursor that stands on no entry until it seeks.
    pub(super) fn new(table: Arc<Table>, walk: Walk) -> Self {
        let ahead = ReadAhead::new(&table, walk, Area::Index);
        Self { table, walk, partition: 0, index: None, at: 0, ahead }
    }

    /// The table that it walks.
    pub(super) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub(super) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        self.load(self.table.partition_of(target))?;
        if let Some(index) = &self.index {
            self.at = index.seek(target);
            if self.at == index.len() {
                self.load(self.partition + 1)?;
            }
        }
        Ok(())
    }

    pub(super) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.load(0)
    }

    pub(super) fn seek_to_last(&mut self) -> Result<(), Error> {
        match self.table.partitions().checked_sub(1) {
            Some(last) => self.load_from_end(last),
            None => Ok(()),
        }
    }

    pub(super) fn next(&mut self) -> Result<(), Error> {
        let Some(index) = &self.index else { return Ok(()) };
        self.at += 1;
        if self.at == index.len() {
            self.load(self.partition + 1)?;
        }
        Ok(())
    }

    pub(super) fn prev(&mut self) -> Result<(), Error> {
        if self.index.is_none() {
            return Ok(());
        }
        match (self.at.checked_sub(1), self.partition.checked_sub(1)) {
            (Some(at), _) => self.at = at,
            (None, Some(partition)) => self.load_from_end(partition)?,
            (None, None) => self.index = None,
        }
        Ok(())
    }

    /// The data block of its entry, or `None` if it stands on none.
    pub(super) fn handle(&self) -> Result<Option<Handle>, Error> {
        let handle = |index: &Arc<Part<Index>>| self.table.handle(index, self.at);
        self.index.as_ref().map(handle).transpose()
    }

    /// Reads the first key of that block into `into`; `false`: it stands on no entry, or the index
    /// does not have the first keys of blocks.
    pub(super) fn first_key(&self, into: &mut Vec<u8>) -> bool {
        self.index.as_ref().is_some_and(|index| index.first_key(self.at, into))
    }

    /// End of the data blocks that may hold keys before `end`, a full key, by the current
    /// partition.
    pub(super) fn end_of(&self, end: &[u8]) -> Result<u64, Error> {
        let Some(index) = &self.index else { return Ok(self.table.data_end()) };
        let at = index.seek(&key::internal_key(end, Trailer::NEWEST));
        if at == index.len() {
            return Ok(self.table.data_end());
        }
        // An entry before a separator may be before the key, too.
        let handle = self.table.handle(index, at)?;
        Ok(handle.offset + u64::from(handle.size))
    }

    /// Like [`end_of`](Self::end_of), but at most the end of the current partition: it is not known
    /// whether a walk up to `end` needs anything after that.
    pub(super) fn certain_end_of(&self, end: &[u8]) -> Result<u64, Error> {
        let Some(index) = &self.index else { return Ok(0) };
        let at = index.seek(&key::internal_key(end, Trailer::NEWEST)).min(index.len() - 1);
        let handle = self.table.handle(index, at)?;
        Ok(handle.offset + u64::from(handle.size))
    }

    /// Whether the keys after its block are not before `end`, a full key.
    pub(super) fn reaches(&self, end: &[u8]) -> bool {
        self.index.as_ref().is_some_and(|index| index.compare_full_key(self.at, end).is_ge())
    }

    /// Moves to a partition's last entry.
    fn load_from_end(&mut self, partition: usize) -> Result<(), Error> {
        self.load(partition)?;
        self.at = self.index.as_ref().map_or(0, |index| index.len() - 1);
        Ok(())
    }

    /// Moves to a partition's first entry; to none, if there is no such partition.
    fn load(&mut self, partition: usize) -> Result<(), Error> {
        self.at = 0;
        if self.index.is_some() && self.partition == partition {
            return Ok(());
        }
        self.index = None;
        self.partition = partition;
        if partition < self.table.partitions() {
            self.index = Some(self.read(partition)?).filter(|index| index.len() > 0);
        }
        Ok(())
    }

    fn read(&mut self, partition: usize) -> Result<Arc<Part<Index>>, Error> {
        if self.walk == Walk::Scan {
            return self.table.index(partition, self.walk.cause());
        }
        let handle = self.table.index_handle(partition);
        let stored = match self.ahead.get(handle) {
            Some(stored) => stored,
            None => match self.table.index_in_memory(partition) {
                Some(index) => return Ok(index),
                None => self.ahead.fill(&self.table, handle, self.table.indexes_end())?,
            },
        };
        self.table.index_of(partition, &stored)
    }
}
