//! [`IndexCursor`]: walks the entries of a table's index, over its partitions, with the index of
//! one partition at a time.
//!
//! A scan leaves the indexes that it reads in the slots of the table, for the next reader. A job
//! uses what is there, reads other partitions (several by one request, if they are small), and
//! leaves nothing, because it comes by once.
//!
//! After an error of a move the cursor stands nowhere until the next seek. An error in the entry at
//! which it stands leaves it there. One owner, which holds no lock: a call that comes to another
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

/// Stands on the entry of a data block, or nowhere.
#[derive(Debug)]
pub(super) struct IndexCursor {
    table: Arc<Table>,
    walk: Walk,
    partition: usize,
    /// The index of the partition; `None`: it stands nowhere.
    index: Option<Arc<Part<Index>>>,
    at: usize,
    /// Jobs read the index itself ahead; scans keep it in memory.
    ahead: ReadAhead,
}

impl IndexCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(super) fn new(table: Arc<Table>, walk: Walk) -> Self {
        let ahead = ReadAhead::new(&table, walk, Area::Index);
        Self { table, walk, partition: 0, index: None, at: 0, ahead }
    }

    /// The table that it walks.
    pub(super) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Moves to the first entry at or behind `target`, an internal key.
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

    /// The data block whose entry it stands on, or `None` if it stands nowhere.
    pub(super) fn handle(&self) -> Result<Option<Handle>, Error> {
        let handle = |index: &Arc<Part<Index>>| self.table.handle(index, self.at);
        self.index.as_ref().map(handle).transpose()
    }

    /// Puts the first key of that block in the place of `into`; `false`: it stands nowhere, or the
    /// index does not have the first keys of blocks.
    pub(super) fn first_key(&self, into: &mut Vec<u8>) -> bool {
        self.index.as_ref().is_some_and(|index| index.first_key(self.at, into))
    }

    /// Where the data blocks end that may hold keys before `end`, a full key; as far as the
    /// partition tells on whose entry it stands.
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

    /// As [`end_of`](Self::end_of), but no further than the partition reaches on whose entry it
    /// stands: whether a walk up to `end` needs anything behind that is not known.
    pub(super) fn certain_end_of(&self, end: &[u8]) -> Result<u64, Error> {
        let Some(index) = &self.index else { return Ok(0) };
        let at = index.seek(&key::internal_key(end, Trailer::NEWEST)).min(index.len() - 1);
        let handle = self.table.handle(index, at)?;
        Ok(handle.offset + u64::from(handle.size))
    }

    /// Whether what lies behind the block whose entry it stands on is not before `end`, a full key.
    pub(super) fn reaches(&self, end: &[u8]) -> bool {
        self.index.as_ref().is_some_and(|index| key::split(index.key(self.at)).0 >= end)
    }

    /// Stands on a partition's last entry.
    fn load_from_end(&mut self, partition: usize) -> Result<(), Error> {
        self.load(partition)?;
        self.at = self.index.as_ref().map_or(0, |index| index.len() - 1);
        Ok(())
    }

    /// Stands on a partition's first entry; nowhere, if there is no such partition.
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
