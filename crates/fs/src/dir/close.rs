//! Closing of a directory's store: records in the journal how far its unsealed logs are durable and
//! that the store is closed, and in `CURRENT` the end of the journal.
//!
//! Why: a reader finds the end of a log or journal at the last valid frame. This alone does not
//! tell a torn tail from damage to acknowledged frames. A recorded end does.
//!
//! Nothing is recorded if a file has a writer, if a deleted file has a reader, if bytes of a log
//! are only in the tail, or if a cut or a sync of a log has failed before. `record_ends` fails, and
//! records nothing, if the store takes no more commits, or if a log cannot be cut to its end or
//! synced now. The next opening then treats the store as after a crash. If only `CURRENT` cannot be
//! written, `record_ends` fails as well, and the journal says that the store is closed. A store
//! that is closed already, or open for reading, is left as it is.

use terrace_env::FileId;
use terrace_env::store::{FileKind, StoreError};

use super::commit::Work;
use super::journal::RollError;
use super::node::Node;
use super::volume::{State, Volume};
use crate::canary::{self, Rule};
use crate::catalog::{LogMark, Record};
use crate::superblock::Features;
use crate::{Access, BLOCK};

impl Volume {
    /// Records that the store is closed, and the ends of its logs and its journal. If a file has a
    /// writer, a log has failed, or a deleted file has a reader, nothing is recorded: the store is
    /// then as after a crash.
    pub(super) fn record_ends(&self) -> Result<(), StoreError> {
        let nodes: Vec<_> = {
            let state = self.lock();
            if self.access != Access::ReadWrite || state.catalog.is_closed() {
                return Ok(());
            }
            state.check()?;
            if !state.pinned.is_empty() {
                return Ok(());
            }
            state.nodes.values().cloned().collect()
        };
        if nodes.iter().any(|node| node.lock().has_writer) {
            return Ok(());
        }
        for node in nodes.iter().filter(|node| node.kind == FileKind::Log) {
            if !self.settle(node)? {
                return Ok(());
            }
        }
        let mut records = self.lock().fresh_marks();
        records.push(Record::Close);
        self.enqueue(Work::Records(records))?;
        self.vouch()
    }

    /// Makes a log durable to its end, and cuts the bytes after it. Returns whether the end is
    /// known.
    fn settle(&self, node: &Node) -> Result<bool, StoreError> {
        let (end, failed, is_over) = {
            let mut state = node.lock();
            state.log.close_open_frame();
            let end = u64::from(state.log.block) * BLOCK as u64;
            let failed = state.log.failed || state.log.in_tail > 0;
            (end, failed, state.sealed || state.deleted)
        };
        if is_over || failed {
            return Ok(!failed);
        }
        let what = |error| StoreError::io(format!("closing log {}", node.id), error);
        if node.file.size().map_err(what)? > end {
            node.file.set_size(end).map_err(what)?;
            node.file.sync().map_err(what)?;
        }
        node.sync()?;
        Ok(true)
    }

    /// Writes `CURRENT` anew, with the present end of the journal.
    fn vouch(&self) -> Result<(), StoreError> {
        let while_open = |state: &State| if state.closed { Err(None) } else { Ok(()) };
        let written = self.commits.leading(while_open, |journal| {
            let entries = journal.entries;
            // No log has bytes in the tail: a program that does not know it may open the store.
            journal.put_in_force(Features::default(), || entries)
        });
        match written {
            Ok(written) => written.map_err(RollError::into_error),
            Err(lost) => lost.map_or(Ok(()), Err),
        }
    }
}

impl State {
    /// Records of how far logs are durable, if that is further than the catalog knows.
    pub(super) fn fresh_marks(&self) -> Vec<Record> {
        if canary::is_broken(Rule::LogEndRecorded) {
            return Vec::new();
        }
        let fresh = |(id, node): (&FileId, &std::sync::Arc<Node>)| {
            let record = self.catalog.get(*id).filter(|record| record.is_leased())?;
            let LogMark { block: end, sequence, size } = node.lock().log.durable?;
            let start = record.runs.last().map_or(0, |run| run.sequence);
            let known = record.durable.map_or(start, |known| known.sequence);
            (sequence > known).then_some(Record::LogDurable { id: *id, end, size, sequence })
        };
        self.nodes.iter().filter_map(fresh).collect()
    }
}
