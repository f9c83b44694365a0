//! [`TableHandle`]: a table of the tree: its record, a reader that pins its file, and the open
//! table from its first use on.
//!
//! - Opening reads the parts at the end of the file. If they do not belong to the table that the
//!   record describes, it fails with [`Error::Corruption`]. A table that was just written can be
//!   opened from its last bytes, without a read.
//! - When memory is short, an open table that was not used for a while is closed, and opened again
//!   at its next use.
//! - The file can be read as long as there is a handle, even if the table has been deleted since.
//! - The segments in the record are not updated. The version has the current ones.
//!
//! Threads: any. One actor at a time opens a table, in a [`Turn`] without a lock; others wait. A
//! verification opens the table again, for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use terrace_env::store::{FileReader, Store};
use terrace_env::sync::Turn;
use terrace_env::{ByteCount, Cause, FileId};

use super::annotation::TableRecord;
use super::table_kind::TableKind;
use crate::Error;
use crate::memory::Memory;
use crate::memory::{Glance, Owner, PartClass, Slot};
use crate::table::{Table, tail_on_disk};

/// A table of the tree.
pub(crate) struct TableHandle {
    file: Arc<dyn FileReader>,
    /// Id of the file, stored here because deciders look at every table of the tree.
    id: FileId,
    size: ByteCount,
    on_disk: bool,
    /// As committed first. The version has the *current* places of its segments.
    record: TableRecord,
    stream: u16,
    memory: Arc<Memory>,
    table: Slot<Table>,
    opening: Turn,
    /// Misses of point reads, if the decider counts them.
    vain_searches: AtomicU64,
}

impl TableHandle {
    /// Pins the file.
    pub(crate) fn new(
        store: &dyn Store,
        id: FileId,
        record: TableRecord,
        stream: u16,
        memory: &Arc<Memory>,
    ) -> Result<Arc<Self>, Error> {
        let (file, memory) = (store.open(id)?, Arc::clone(memory));
        // A table is sealed, so its size does not change.
        let size = ByteCount(file.len());
        let on_disk = store.rotational();
        let (table, opening) = (Slot::default(), Turn::default());
        Ok(Arc::new(Self {
            file,
            id,
            size,
            on_disk,
            record,
            stream,
            memory,
            table,
            opening,
            vain_searches: AtomicU64::new(0),
        }))
    }

    /// A handle of the table after bytes at its front were freed. The handle before pins these.
    pub(crate) fn trimmed(&self, store: &dyn Store) -> Result<Arc<Self>, Error> {
        let trimmed = Self::new(store, self.id, self.record.clone(), self.stream, &self.memory)?;
        if let Some(table) = self.table.get() {
            trimmed.keep(table.by(Arc::clone(&trimmed.file)));
        }
        Ok(trimmed)
    }

    /// Opens the table by its last bytes, which its writer still has.
    pub(crate) fn open_by(self: &Arc<Self>, tail: Bytes) -> Result<(), Error> {
        let table = match self.record.kind {
            TableKind::Sorted => Table::open_by(Arc::clone(&self.file), tail, &self.memory)?,
        };
        self.check(&table)?;
        self.keep(table);
        Ok(())
    }

    /// Counts a miss of a point read. Returns the number so far.
    pub(crate) fn note_vain_search(&self) -> u64 {
        self.vain_searches.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn id(&self) -> FileId {
        self.id
    }

    /// Whether it lies on a drive with a head.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.on_disk
    }

    /// Whether reads that are submitted may be in flight together.
    pub(crate) fn queues_reads(&self) -> bool {
        self.file.queues()
    }

    pub(crate) fn size(&self) -> ByteCount {
        self.size
    }

    pub(crate) fn record(&self) -> &TableRecord {
        &self.record
    }

    /// Reader of the file's bytes.
    pub(crate) fn file(&self) -> &Arc<dyn FileReader> {
        &self.file
    }

    pub(crate) fn stream(&self) -> u16 {
        self.stream
    }

    /// The open table, for long use.
    pub(crate) fn table(self: &Arc<Self>, cause: Cause) -> Result<Arc<Table>, Error> {
        match self.table.get() {
            Some(table) => Ok(table),
            None => self.open(cause),
        }
    }

    /// The open table, if it is open, for one access.
    pub(crate) fn glance(&self) -> Option<Glance<Table>> {
        self.table.glance()
    }

    fn open(self: &Arc<Self>, cause: Cause) -> Result<Arc<Table>, Error> {
        let _opening = self.opening.take();
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let table = self.open_anew(cause)?;
        self.keep(Arc::clone(&table));
        Ok(table)
    }

    /// The table as it is on the device now, whether it is open or not. Only the caller has it.
    pub(crate) fn open_anew(&self, cause: Cause) -> Result<Arc<Table>, Error> {
        let tail = match self.on_disk {
            true => tail_on_disk(self.size.0, self.record.entries, self.memory.shape()),
            false => 0,
        };
        let table = match self.record.kind {
            TableKind::Sorted => Table::open(Arc::clone(&self.file), tail, &self.memory, cause)?,
        };
        self.check(&table)?;
        Ok(table)
    }

    fn keep(self: &Arc<Self>, table: Arc<Table>) {
        let this: Weak<Self> = Arc::downgrade(self);
        self.memory.keep(PartClass::Filter, &self.table, table, this, 0);
    }

    /// Checks that the file holds the table that the annotation describes.
    fn check(&self, table: &Table) -> Result<(), Error> {
        let (record, properties) = (&self.record, table.properties());
        let same = record.tag == table.name().tag
            && record.entries == properties.entries
            && record.smallest == properties.smallest
            && record.largest == properties.largest
            && record.ranges.as_ref() == properties.ranges.as_ref().map(|(_, summary)| summary);
        if same {
            return Ok(());
        }
        let expected = format!("tag {}, {} entries", record.tag, record.entries);
        let got = format!("tag {}, {} entries", table.name().tag, properties.entries);
        Err(Error::corruption(format!("table {}", self.id()), 0, expected, got))
    }
}

impl Owner for TableHandle {
    fn release(&self, _: u32) -> bool {
        self.table.release()
    }
}

impl std::fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableHandle({})", self.id())
    }
}
