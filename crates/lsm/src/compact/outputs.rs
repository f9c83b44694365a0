//! [`Outputs`]: finished tables of a job that are not committed yet, in the order in which they
//! ended.
//!
//! The caller puts them into an edit, commits it, and then calls [`committed`](Outputs::committed).
//! If they are dropped before that, their bytes are counted as discarded, and their files are
//! removed, because they are not sealed. One actor at a time has them.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_policy::{Place, SetView};

use crate::canary::{self, Rule};
use crate::counters::{Count, Counters};
use crate::table::BuiltTable;
use crate::tree::{Edit, NewTable, TableRecord};

/// A table that a job has written, and its place in the tree.
pub(crate) struct Output {
    pub(crate) place: Place,
    pub(crate) stream: u16,
    pub(crate) built: BuiltTable,
}

/// See the [module](self).
pub(crate) struct Outputs {
    tables: Vec<Output>,
    bytes: u64,
    /// Whether the tables are a set.
    is_set: bool,
    discarded: Arc<Count>,
}

impl Outputs {
    /// No tables yet. `discarded` counts the bytes of those that are not committed.
    pub(crate) fn new(is_set: bool, discarded: Arc<Count>) -> Self {
        Self { tables: Vec::new(), bytes: 0, is_set, discarded }
    }

    pub(crate) fn push(&mut self, output: Output) {
        self.bytes += output.built.size.0;
        self.tables.push(output);
    }

    /// Takes all of them, for a job that goes on without them.
    pub(crate) fn take(&mut self) -> Self {
        let none = Self::new(self.is_set, Arc::clone(&self.discarded));
        std::mem::replace(self, none)
    }

    /// Puts the tables into a change of the tree.
    pub(crate) fn put_into(&self, edit: &mut Edit) {
        let sizes = || self.tables.iter().map(|table| table.built.size.0);
        debug_assert_eq!(self.bytes, sizes().sum::<u64>(), "bytes of the tables");
        let set = self.set();
        for Output { place, stream, built } in &self.tables {
            let histogram = built.histogram.clone();
            let record = TableRecord::new(built.tag, &built.properties);
            let (old_versions, expiries) = (built.old_versions.clone(), built.expiries.clone());
            let record = TableRecord { set, histogram, old_versions, expiries, ..record };
            let (id, size, tail) = (built.writer.id(), built.size, built.tail.clone());
            edit.put(NewTable { id, size, stream: *stream, place: *place, record, tail });
        }
    }

    /// The set that they form, if they are one.
    pub(crate) fn set(&self) -> Option<SetView> {
        let first = self.tables.first().filter(|_| self.is_set)?;
        let tables = u32::try_from(self.tables.len()).expect("tables of one job");
        Some(SetView { id: first.built.writer.id(), tables, size: ByteCount(self.bytes) })
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts and drops them, after a transaction has made them part of the tree. Returns their
    /// bytes.
    pub(crate) fn committed(mut self, counters: &Counters) -> ByteCount {
        for Output { place, built, .. } in &self.tables {
            if place.level > 1 && canary::is_broken(Rule::TablesCounted) {
                continue;
            }
            counters.levels[usize::from(place.level)].bytes_written.add(built.size.0);
        }
        ByteCount(std::mem::take(&mut self.bytes))
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.discarded.add(self.bytes);
    }
}
