//! [`Outputs`]: finished tables of a job that are not committed yet, in the order in which they
//! ended.
//!
//! The caller commits them and then calls [`committed`](Outputs::committed). If they are dropped
//! before that, their bytes are counted as discarded, and their files are gone, because they are
//! not sealed. One actor at a time has them.

use std::sync::Arc;

use terrace_env::ByteCount;
use terrace_policy::{Place, SetView};

use crate::counters::Count;
use crate::table::BuiltTable;

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
    /// None yet. `discarded` counts the bytes of those that are not committed.
    pub(crate) fn new(is_set: bool, discarded: Arc<Count>) -> Self {
        Self { tables: Vec::new(), bytes: 0, is_set, discarded }
    }

    pub(crate) fn push(&mut self, output: Output) {
        self.bytes += output.built.size.0;
        self.tables.push(output);
    }

    /// All of them, for a job that goes on without them.
    pub(crate) fn take(&mut self) -> Self {
        let none = Self::new(self.is_set, Arc::clone(&self.discarded));
        std::mem::replace(self, none)
    }

    /// In the order in which they ended. Those of one destination are in key order.
    pub(crate) fn tables(&self) -> &[Output] {
        &self.tables
    }

    /// The set that they are, if they are one.
    pub(crate) fn set(&self) -> Option<SetView> {
        let first = self.tables.first().filter(|_| self.is_set)?;
        let tables = u32::try_from(self.tables.len()).expect("tables of one job");
        Some(SetView { id: first.built.writer.id(), tables, size: ByteCount(self.bytes) })
    }

    /// The bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Drops them after a transaction has made them part of the tree.
    pub(crate) fn committed(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.discarded.add(self.bytes);
    }
}
