//! Reports misses of tables to the [`Board`](crate::compact::Board): [`Search`] for a point read,
//! whose searches it also counts, and [`Samples`] for a scan or a cursor.
//!
//! Each belongs to one reader, on one thread at a time.

use std::sync::Arc;

use super::reader::Reader;
use crate::tree::{TableHandle, Version};

/// The searches of one point read.
pub(super) struct Search<'a> {
    reader: &'a Reader,
    searched: u32,
    /// The first table that was searched, if misses count.
    first: Option<Arc<TableHandle>>,
}

impl<'a> Search<'a> {
    /// A read that has searched no table yet.
    pub(super) fn new(reader: &'a Reader) -> Self {
        Self { reader, searched: 0, first: None }
    }

    /// A table of a level was searched. If it is the second one, the first was a miss.
    pub(super) fn searched(&mut self, level: u8, table: &Arc<TableHandle>) {
        self.reader.counters.searched(level);
        self.searched += 1;
        match self.searched {
            1 if self.reader.board.seeks().count() => self.first = Some(Arc::clone(table)),
            2 => {
                if let Some(table) = self.first.take() {
                    self.reader.board.searched_in_vain(&table);
                }
            }
            _ => {}
        }
    }
}

/// Samples of the bytes that a scan or a cursor passes. The reader merges all tables in its range,
/// so each sample stands for a miss of the first of several tables.
#[derive(Clone)]
pub(super) struct Samples {
    reader: Arc<Reader>,
    version: Arc<Version>,
}

impl Samples {
    /// Samples of a reader of this version; `None` if misses do not count.
    pub(super) fn new(reader: &Arc<Reader>, version: &Arc<Version>) -> Option<Self> {
        let (reader, version) = (Arc::clone(reader), Arc::clone(version));
        reader.board.seeks().count().then_some(Self { reader, version })
    }

    /// The reader passed an entry of `bytes`.
    pub(super) fn pass(&self, full_key: &[u8], bytes: usize) {
        if !self.reader.board.seeks().pass(bytes as u64) {
            return;
        }
        let mut tables = self.version.tables_of(full_key);
        if let (Some(first), Some(_)) = (tables.next(), tables.next()) {
            self.reader.board.searched_in_vain(first);
        }
    }
}
