//! [`Checkpointer`]: the steps of a checkpoint, which the [module](super) lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::store::{Annotation, FileKind, Store, StoreError, Transaction};
use terrace_env::{ByteCount, FileId, SeqNo, Uuid};

use super::copy::{Copy, LogCopy, SourceTable};
use super::same::{TableComparison, can_be_opened, end_of, has_same_bytes, may_be_same};
use super::target::{Earlier, EarlierTable, State};
use super::verified::CHUNK;
use crate::Error;
use crate::canary::{self, Rule};
use crate::lifetime::Written;
use crate::readers::{ReaderKind, Readers};
use crate::tree::{BackupRecord, LogRecord, Segment, SegmentRecord, StoreRecord, Version};
use crate::write::Writer;

/// Counts of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpointed {
    /// Tables of the copy.
    pub tables: u64,
    /// Logs; only of a store that was open for reading.
    pub logs: u64,
    /// Their bytes.
    pub bytes: ByteCount,
    /// Tables that an earlier backup had, and that were not copied; they count among the tables.
    pub kept_tables: u64,
    /// Their bytes; they count among the bytes.
    pub kept_bytes: ByteCount,
    /// Sequence of the newest write in the copy.
    pub sequence: SeqNo,
    /// Files of clients next to the store, which the copy does not have.
    pub left_files: u64,
    /// Their bytes.
    pub left_bytes: ByteCount,
}

/// Progress of a checkpoint: bytes done, and bytes to do in all. Bytes of kept tables count in
/// both.
pub type CheckpointProgress<'a> = &'a mut dyn FnMut(ByteCount, ByteCount);

/// State to copy, at one moment.
struct Moment {
    version: Arc<Version>,
    record: StoreRecord,
    logs: Vec<LogCopy>,
    sequence: SeqNo,
}

/// A checkpoint that remembers its source.
#[derive(Clone, Copy)]
struct Backup {
    source: Uuid,
    comparison: TableComparison,
}

/// The engine that is copied.
pub(crate) struct Checkpointer<'a> {
    pub(crate) writer: &'a Writer,
    pub(crate) readers: &'a Readers,
}

impl Checkpointer<'_> {
    /// Copies everything into an empty store.
    pub(crate) fn copy(
        &self,
        target: &dyn Store,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        self.run(target, None, progress)
    }

    /// Makes an empty store, or an earlier backup of this store, a backup of this moment.
    pub(crate) fn back_up(
        &self,
        target: &dyn Store,
        comparison: TableComparison,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        let source = self.writer.room.store.uuid().ok_or_else(|| {
            let message = "a backup: expected a store with a UUID, found one without";
            StoreError::Invalid(message.to_owned())
        })?;
        self.run(target, Some(Backup { source, comparison }), progress)
    }

    fn run(
        &self,
        target: &dyn Store,
        backup: Option<Backup>,
        progress: CheckpointProgress<'_>,
    ) -> Result<Checkpointed, Error> {
        let claim = target.users().claim_to_write();
        let _claim = claim.ok_or(StoreError::InUse("the target of a checkpoint".into()))?;
        let earlier = Earlier::of(target, backup.map(|backup| backup.source))?;
        let own = Arc::clone(&earlier.own);
        let mut may_be_whole = false;
        if earlier.state != State::Empty {
            return self.fill(target, earlier, backup, progress, &mut may_be_whole);
        }
        let record = match own.opaque.is_empty() {
            true => StoreRecord::new(),
            false => StoreRecord::decode(&own.opaque)?,
        };
        annotate(target, record.marked().annotation())?;
        let filled = self.fill(target, earlier, backup, progress, &mut may_be_whole);
        if filled.is_err() && !may_be_whole {
            // If this fails, the mark shows the state of the target. The error of the copy says
            // more.
            let _ = annotate(target, (*own).clone());
        }
        filled
    }

    /// Copies everything that the target lacks, and gives it the annotation of a whole store.
    /// `may_be_whole` is set before the transaction that does so.
    fn fill(
        &self,
        target: &dyn Store,
        mut earlier: Earlier,
        backup: Option<Backup>,
        progress: CheckpointProgress<'_>,
        may_be_whole: &mut bool,
    ) -> Result<Checkpointed, Error> {
        let moment = if self.writer.read_only { self.as_opened()? } else { self.as_of_now()? };
        let _reading = self.readers.begin(ReaderKind::Checkpoint, moment.sequence);
        if moment.sequence < earlier.sequence {
            // Its numbers may be those of other tables by now.
            earlier.tables.clear();
        }
        let mut copy = Copy::new(target, backup.is_some());
        let _share = self.writer.memory.job();
        let _memory = self.writer.memory.jobs.lease(CHUNK as usize);
        let tables = by_table(&moment.version);
        let all = tables.iter().map(|table| table.handle.size().0).sum::<u64>()
            + moment.logs.iter().map(|log| log.file.len()).sum::<u64>();
        let (mut done, mut kept_tables, mut kept_bytes) = (0, 0, 0);
        for table in &tables {
            let size = table.handle.size().0;
            let kept = earlier.tables.get(&table.handle.id());
            if let (Some(Backup { comparison, .. }), Some(kept)) = (backup, kept)
                && let Some(from) = same_from(table, target, kept, comparison)?
            {
                copy.keep(table, from, kept);
                earlier.files.remove(&kept.origin.file);
                (kept_tables, kept_bytes, done) = (kept_tables + 1, kept_bytes + size, done + size);
                progress(ByteCount(done), ByteCount(all));
                continue;
            }
            copy.table(table, &mut |bytes| {
                done += bytes;
                progress(ByteCount(done), ByteCount(all));
            })?;
        }
        for log in &moment.logs {
            copy.log(log)?;
            done += log.file.len();
            progress(ByteCount(done), ByteCount(all));
        }
        debug_assert_eq!(done, all, "the progress ends with the last file");
        let backup = backup.map(|Backup { source, .. }| {
            let (sequence, tables) = (moment.sequence, copy.take_origins());
            BackupRecord { source, sequence, tables }
        });
        // The copy begins its own life.
        let record = StoreRecord { lifetime: Written::default(), backup, ..moment.record };
        *may_be_whole = true;
        copy.commit(|transaction| {
            transaction.annotate(FileId::STORE, record.annotation());
            for file in &earlier.files {
                transaction.delete(*file);
            }
        })?;
        debug_assert!(
            earlier.files.iter().all(|file| target.info(*file).is_none()),
            "files that the copy does not keep are deleted"
        );
        let (tables, logs) = (tables.len() as u64, moment.logs.len() as u64);
        let (bytes, sequence) = (ByteCount(all), moment.sequence);
        let kept_bytes = ByteCount(kept_bytes);
        let files = self.writer.room.store.list().into_iter();
        let left: Vec<u64> = files
            .filter(|file| file.kind == FileKind::Client && !file.names.is_empty())
            .map(|file| file.size)
            .collect();
        let (left_files, left_bytes) = (left.len() as u64, ByteCount(left.iter().sum()));
        Ok(Checkpointed {
            tables,
            logs,
            bytes,
            kept_tables,
            kept_bytes,
            sequence,
            left_files,
            left_bytes,
        })
    }

    /// All earlier writes, in tables.
    fn as_of_now(&self) -> Result<Moment, Error> {
        // Most memtables are flushed before writers have to wait.
        self.writer.rotate_memtable()?;
        self.writer.room.wait_for_flushes()?;
        self.writer.lane.leading(|log| {
            self.writer
                .room
                .rotate_if_filled(log)
                .inspect_err(|error| self.writer.room.note(error.clone()))?;
            self.writer.room.wait_for_flushes()?;
            let (version, sequence) =
                (self.writer.tree.view().version.clone(), self.writer.tree.visible());
            // In the same lead: so a key space that is dropped meanwhile is among those to hide
            // when the checkpoint is opened, because its range delete has to wait.
            let record = self.writer.tree.whole_record();
            debug_assert!(
                self.writer.tree.view().memtables().all(|memtable| memtable.is_empty()),
                "all earlier writes are in tables"
            );
            Ok(Moment { version, record, logs: Vec::new(), sequence })
        })
    }

    /// State found by an engine that only reads.
    fn as_opened(&self) -> Result<Moment, Error> {
        let mut logs = Vec::new();
        let read: BTreeMap<FileId, u32> = self
            .writer
            .tree
            .view()
            .memtables()
            .filter_map(|memtable| memtable.replayed())
            .collect();
        for file in self.writer.room.store.list() {
            if file.kind == FileKind::Log && file.size > 0 {
                let record = LogRecord::decode(file.id, &file.annotation.opaque)?;
                let checksum = read.get(&file.id).copied();
                logs.push(LogCopy {
                    record,
                    file: self.writer.room.store.open(file.id)?,
                    checksum,
                });
            }
        }
        let record = self.writer.tree.whole_record();
        let (version, sequence) =
            (self.writer.tree.view().version.clone(), self.writer.tree.visible());
        Ok(Moment { version, record, logs, sequence })
    }
}

/// Offset from which on the earlier backup's table equals this one; `None` if it may differ.
fn same_from(
    table: &SourceTable,
    target: &dyn Store,
    earlier: &EarlierTable,
    comparison: TableComparison,
) -> Result<Option<u64>, Error> {
    let file = table.handle.file();
    if !may_be_same(earlier, table.handle.size().0, table.first())
        || !can_be_opened(target, earlier)
    {
        return Ok(None);
    }
    let from = table.needed_from()?;
    let is_unseen = canary::is_broken(Rule::KeptTablesCompared);
    let same = (is_unseen || end_of(file, from)? == earlier.origin.end)
        && match comparison {
            TableComparison::Ends => true,
            TableComparison::Whole => has_same_bytes(file, from, target, earlier)?,
        };
    Ok(same.then_some(from))
}

/// Gives a store its own annotation.
fn annotate(store: &dyn Store, annotation: Annotation) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, annotation);
    store.commit(transaction)
}

/// The tables of a version, by id, each with its segments.
fn by_table(version: &Version) -> Vec<SourceTable> {
    let mut tables: BTreeMap<FileId, SourceTable> = BTreeMap::new();
    for (place, Segment { table, span, size }) in version.segments() {
        let record = SegmentRecord { place, size: *size, span: span.clone() };
        let found = tables.entry(table.id()).or_insert_with(|| {
            let (handle, segments) = (Arc::clone(table), Vec::new());
            SourceTable { handle, segments }
        });
        found.segments.push(record);
    }
    for table in tables.values_mut() {
        table.segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
    }
    tables.into_values().collect()
}
