//! A table as the tree knows it: its record, a pin on its file, and the open table once somebody
//! has needed it.
//!
//! Opening reads the footer, the index and the filter, and is a role: others wait, no lock is held.
//! A handle pins the file, so that a version that is still in use can be read though the tables
//! were deleted since.

use std::sync::{Arc, OnceLock};

use terrace_env::store::{FileReader, Store};
use terrace_env::{ByteCount, Cause, FileId, MemoryGauge};

use crate::Error;
use crate::annotation::TableRecord;
use crate::cache::BlockCache;
use crate::role::Role;
use crate::table::Table;

/// What tables are opened with.
#[derive(Clone, Debug)]
pub(crate) struct TableSpace {
    pub(crate) cache: Arc<BlockCache>,
    pub(crate) gauge: MemoryGauge,
}

/// A table of the tree.
pub(crate) struct TableHandle {
    file: Arc<dyn FileReader>,
    /// As committed first; where its segments are *now* is the version's to say.
    record: TableRecord,
    stream: u16,
    space: TableSpace,
    table: OnceLock<Arc<Table>>,
    opening: Role,
}

impl TableHandle {
    /// Pins the file.
    pub(crate) fn new(
        store: &dyn Store,
        id: FileId,
        record: TableRecord,
        stream: u16,
        space: &TableSpace,
    ) -> Result<Arc<Self>, Error> {
        let (file, space) = (store.open(id)?, space.clone());
        let (table, opening) = (OnceLock::new(), Role::default());
        Ok(Arc::new(Self { file, record, stream, space, table, opening }))
    }

    pub(crate) fn id(&self) -> FileId {
        self.file.id()
    }

    pub(crate) fn size(&self) -> ByteCount {
        ByteCount(self.file.len())
    }

    pub(crate) fn record(&self) -> &TableRecord {
        &self.record
    }

    pub(crate) fn stream(&self) -> u16 {
        self.stream
    }

    /// The open table.
    pub(crate) fn table(&self, cause: Cause) -> Result<&Arc<Table>, Error> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let _opening = self.opening.take();
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let (file, cache) = (Arc::clone(&self.file), Arc::clone(&self.space.cache));
        let table = Table::open(file, cache, &self.space.gauge, cause)?;
        self.check(&table)?;
        Ok(self.table.get_or_init(|| Arc::new(table)))
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

impl std::fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableHandle({})", self.id())
    }
}
