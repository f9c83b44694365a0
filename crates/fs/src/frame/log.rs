//! [`LogScan`]: reads a write-ahead log by the catalog's record of it, one run of frames after the
//! other. The first run begins where the log was created, a further one where a recovery found the
//! log's end. Reading may wait for the device. After an error the scan cannot go on;
//! [`LogWalk`](crate::inspect::LogWalk) reads logs after damage.

use std::sync::Arc;

use terrace_env::store::StoreError;
use terrace_env::{FileId, Uuid};

use super::{Append, AppendScan, Binding, BlockSource, Cursor};
use crate::catalog::{FileRecord, LogMark, LogRun};

/// The type of a write-ahead file's frames.
pub const LOG_FRAME: u8 = 1;

/// Where a log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogTail {
    /// The block of the file where the next frame starts.
    pub block: u32,
    /// Chain and sequence that the next frame must carry, if it belongs to the same run.
    pub cursor: Cursor,
    /// Payload bytes before it.
    pub size: u64,
    /// The epoch of the last run.
    pub epoch: u32,
}

/// Reads a log's appends in order, across its runs.
///
/// A run that a recovery has closed must be whole up to where the next one starts, a sealed log up
/// to its end, and an unsealed one up to where the catalog knows it to be durable: anything else is
/// corruption. Only after that may the last run of an unsealed log have a torn tail.
pub struct LogScan<'a> {
    source: &'a dyn BlockSource,
    uuid: Uuid,
    owner: FileId,
    runs: Arc<[LogRun]>,
    index: usize,
    known_end: u32,
    durable: Option<LogMark>,
    scan: AppendScan<'a>,
    size: u64,
}

impl<'a> LogScan<'a> {
    /// Starts at the first frame of a log whose blocks `source` gives.
    ///
    /// # Panics
    /// If the file is not a log.
    #[must_use]
    pub fn new(
        source: &'a dyn BlockSource,
        uuid: Uuid,
        owner: FileId,
        record: &FileRecord,
    ) -> Self {
        let runs = Arc::clone(&record.runs);
        assert!(!record.runs.is_empty(), "log {owner} has no run");
        let (known_end, durable) = (record.known_end(), record.durable);
        let scan = run_scan(source, uuid, owner, &runs, 0, known_end);
        Self { source, uuid, owner, runs, index: 0, known_end, durable, scan, size: 0 }
    }

    /// The next append, or `None` at the log's end.
    pub fn next_append(&mut self) -> Result<Option<Append>, StoreError> {
        loop {
            if let Some(append) = self.scan.next_append()? {
                self.size += append.payload.len() as u64;
                return Ok(Some(append));
            }
            let Some(next) = self.runs.get(self.index + 1) else {
                return self.check_mark().map(|()| None);
            };
            let (_, cursor) = self.scan.end();
            if cursor.sequence != next.sequence || self.size != next.offset {
                let expected = format!("frame {} at byte {}", next.sequence, next.offset);
                let got = format!("frame {} at byte {}", cursor.sequence, self.size);
                let (region, offset) = self.source.place(next.block);
                return Err(StoreError::Corruption { region, offset, expected, got });
            }
            self.index += 1;
            let (source, uuid, owner) = (self.source, self.uuid, self.owner);
            self.scan = run_scan(source, uuid, owner, &self.runs, self.index, self.known_end);
        }
    }

    /// A log that ends just where it is known to be durable must have the recorded numbers of
    /// frames and bytes.
    fn check_mark(&self) -> Result<(), StoreError> {
        let (block, cursor) = self.scan.end();
        let Some(mark) = self.durable.filter(|mark| mark.block == block) else { return Ok(()) };
        if (mark.sequence, mark.size) == (cursor.sequence, self.size) {
            return Ok(());
        }
        let expected = format!("frame {} at byte {}", mark.sequence, mark.size);
        let got = format!("frame {} at byte {}", cursor.sequence, self.size);
        let (region, offset) = self.source.place(block);
        Err(StoreError::Corruption { region, offset, expected, got })
    }

    /// Where the appends returned so far end; the log's end after the last one.
    #[must_use]
    pub fn tail(&self) -> LogTail {
        let (block, cursor) = self.scan.end();
        LogTail { block, cursor, size: self.size, epoch: self.runs[self.index].epoch }
    }
}

fn run_scan<'a>(
    source: &'a dyn BlockSource,
    uuid: Uuid,
    owner: FileId,
    runs: &[LogRun],
    index: usize,
    known_end: u32,
) -> AppendScan<'a> {
    let run = runs[index];
    debug_assert!(
        runs.get(index + 1).is_none_or(|next| run.block <= next.block),
        "runs of log {owner} in order: {runs:?}"
    );
    let binding = Binding { uuid, owner: owner.0, epoch: run.epoch };
    let (limit, known_end) = match runs.get(index + 1) {
        Some(next) => (next.block, next.block),
        None => (source.blocks(), known_end),
    };
    AppendScan::new(source, binding, run.block, binding.start(run.sequence), known_end).until(limit)
}
