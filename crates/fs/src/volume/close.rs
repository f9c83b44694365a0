//! Closing of a store: records in the journal where the unsealed logs end.
//!
//! Why: a log ends where its frames stop being valid. This alone does not tell a torn tail from
//! damage to acknowledged frames. A recorded end does.
//!
//! [`record_ends`](Volume::record_ends) records how far the unsealed logs are durable, and that the
//! store is closed; then it records in the superblock where the journal ends. If a log has a
//! writer, or its writer has failed, or it ends within an append, the store is not recorded as
//! closed. If the flush of the logs fails, nothing is recorded. A store that is not recorded as
//! closed is treated as after a crash.
//!
//! [`fresh`] makes the records of logs that are durable further than the catalog knows, for any
//! commit.
//!
//! `record_ends` waits for the device and the journal, so the caller must hold no lock.

use std::sync::Arc;

use terrace_env::Cause;
use terrace_env::FileId;
use terrace_env::store::{FileKind, StoreError};

use super::Volume;
use crate::canary::{self, Rule};
use crate::catalog::{Catalog, LogMark, Record};
use crate::file::OpenFile;

/// Durable ends of logs, as their writers have noted them.
pub(super) type Marks = Vec<(FileId, LogMark)>;

impl Volume {
    /// How far all logs are durable that have been synced since they were opened.
    pub(super) fn marks(&self) -> Marks {
        let logs = self.unsealed_logs();
        logs.iter().filter_map(|file| Some((file.id, file.lock().durable?))).collect()
    }

    fn unsealed_logs(&self) -> Vec<Arc<OpenFile>> {
        let files = self.files.lock();
        let logs = files.unsealed.values().filter(|file| file.kind == FileKind::Log);
        logs.cloned().collect()
    }

    /// Records that the store is closed and where its logs end. If [`settle`] refuses a log, only
    /// the durable ends of the logs are recorded.
    pub(crate) fn record_ends(&self) -> Result<(), StoreError> {
        if self.journal.read(Catalog::is_closed) {
            return Ok(());
        }
        let logs = self.unsealed_logs();
        let is_volatile = |file: &Arc<OpenFile>| {
            file.lock().log_end.is_some_and(|end| end.synced < end.cursor.sequence)
        };
        if logs.iter().any(is_volatile) {
            let flushed = self.flush_of(FileKind::Log, Cause::Log);
            flushed.map_err(|error| StoreError::io("flush of the logs", error))?;
        }
        let settled = logs.iter().filter(|file| settle(file)).count();
        if settled < logs.len() {
            let marks = self.marks();
            return self.commit_made(false, |catalog| Ok(fresh(catalog, &marks)));
        }
        let marks = self.marks();
        self.journal.close(|catalog| {
            let mut records = fresh(catalog, &marks);
            records.push(Record::Close);
            records
        })
    }
}

/// Marks a log, all of whose frames are durable now, as durable to its end. Returns `false`, and
/// changes nothing, if the log has a writer, if its writer has failed, or if it ends within an
/// append.
fn settle(file: &OpenFile) -> bool {
    let mut state = file.lock();
    let Some(mut end) = state.log_end.filter(|end| !end.failed && !end.broken) else {
        return false;
    };
    if state.has_writer {
        return false;
    }
    end.synced = end.cursor.sequence;
    (state.log_end, state.durable) = (Some(end), state.mark_at(&end));
    true
}

/// Records of the marks that are beyond those in the catalog.
pub(super) fn fresh(catalog: &Catalog, marks: &Marks) -> Vec<Record> {
    if canary::is_broken(Rule::LogEndRecorded) {
        return Vec::new();
    }
    let is_news = |(id, mark): &&(FileId, LogMark)| {
        let record = catalog.get(*id).filter(|record| record.is_leased());
        record.is_some_and(|record| {
            let known = record.durable.map(|known| known.sequence);
            let start = record.runs.last().map_or(0, |run| run.sequence);
            mark.sequence > known.unwrap_or(start)
        })
    };
    let record = |(id, mark): &(FileId, LogMark)| {
        let LogMark { block: end, sequence, size } = *mark;
        Record::LogDurable { id: *id, end, size, sequence }
    };
    marks.iter().filter(is_news).map(record).collect()
}
