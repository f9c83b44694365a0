//! `Copy`: a copy in progress: the files that are written, and the transaction that ends it.
//!
//! The writers are dropped only when their files are sealed; before, the store would remove them.

use std::sync::Arc;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{
    CreateOptions, FileKind, FileReader, FileWriter, PlacementHint, Rank, Store, StoreError,
    Transaction,
};
use terrace_env::{ByteCount, Cause, FileId};

use super::same::end_of;
use super::target::EarlierTable;
use super::verified::{CHUNK, copy_verified};
use crate::Error;
use crate::batch::Predecessor;
use crate::canary::{self, Rule};
use crate::cost;
use crate::tree::{LogRecord, Origin, SegmentRecord, TableHandle, TableRecord, table_hint};

/// A table to copy or to keep.
pub(super) struct SourceTable {
    pub(super) handle: Arc<TableHandle>,
    /// Its segments in the tree, by start.
    pub(super) segments: Vec<SegmentRecord>,
}

impl SourceTable {
    /// Start of the first segment.
    pub(super) fn first(&self) -> &[u8] {
        self.segments.first().map_or(&[][..], |segment| &segment.span.start[..])
    }

    /// Offset of the first byte that is needed. Only bytes before the first segment may have been
    /// freed.
    pub(super) fn needed_from(&self) -> Result<u64, Error> {
        if self.handle.record().smallest[..] < *self.first() {
            self.handle.table(Cause::Client)?.offset_of(self.first(), Cause::Client)
        } else {
            Ok(0)
        }
    }

    /// Annotation of the copy. The copy's tables have other ids and places, so they are no sets.
    fn record(&self) -> TableRecord {
        let record = self.handle.record().clone();
        TableRecord { segments: self.segments.clone(), set: None, ..record }
    }
}

/// A log to copy unchanged.
pub(super) struct LogCopy {
    pub(super) record: LogRecord,
    pub(super) file: Arc<dyn FileReader>,
    /// Checksum of the bytes that the opening has read. The opening has verified the frames; they
    /// are not verified again.
    pub(super) checksum: Option<u32>,
}

/// A copy in progress.
pub(super) struct Copy<'a> {
    target: &'a dyn Store,
    writers: Vec<Box<dyn FileWriter>>,
    transaction: Transaction,
    /// Origins of the copied and of the kept tables, if these are wanted.
    origins: Option<Vec<Origin>>,
}

impl<'a> Copy<'a> {
    pub(super) fn new(target: &'a dyn Store, remembers_origins: bool) -> Self {
        let (writers, transaction) = (Vec::new(), Transaction::new());
        Self { target, writers, transaction, origins: remembers_origins.then(Vec::new) }
    }

    /// The origins of all tables, by file.
    pub(super) fn take_origins(&mut self) -> Vec<Origin> {
        let mut origins = self.origins.take().unwrap_or_default();
        origins.sort_unstable_by_key(|origin| origin.file);
        origins
    }

    /// Commits the copied and the kept files, together with these changes of the caller. A success
    /// ends the copy.
    pub(super) fn commit(mut self, add: impl FnOnce(&mut Transaction)) -> Result<(), StoreError> {
        debug_assert!(self.origins.is_none(), "the record names the origins");
        add(&mut self.transaction);
        self.target.commit(self.transaction)
    }

    fn create(
        &self,
        kind: FileKind,
        hint: PlacementHint,
        size: u64,
    ) -> Result<Box<dyn FileWriter>, StoreError> {
        let (rank, cause, size) = (Rank::Log, Cause::Client, Some(ByteCount(size)));
        self.target.create(&CreateOptions {
            kind,
            hint,
            size,
            rank,
            reservation: None,
            group: None,
            offload: false,
            cause,
        })
    }

    /// Copies a table.
    pub(super) fn table(
        &mut self,
        table: &SourceTable,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let handle = &table.handle;
        let level = table.segments.first().map_or(0, |segment| segment.place.level);
        let stream = handle.stream();
        let mut writer =
            self.create(FileKind::Table, table_hint(level, stream), handle.size().0)?;
        let from = table.needed_from()?;
        zeros(&mut *writer, from)?;
        progress(from);
        copy_verified(handle.file(), from, &mut |bytes| {
            writer.append(bytes)?;
            progress(bytes.len() as u64);
            cost::charge_merge(0, bytes.len());
            Ok(())
        })?;
        writer.finish()?;
        let id = writer.id();
        if let Some(origins) = &mut self.origins {
            let end = end_of(handle.file(), from)?;
            origins.push(Origin { file: id, source: handle.id(), end });
        }
        self.transaction.seal(id, table.record().annotation(stream));
        self.trim(id, from);
        self.writers.push(writer);
        Ok(())
    }

    /// Keeps a table of the target that equals this one, with the places of this one.
    pub(super) fn keep(&mut self, table: &SourceTable, from: u64, earlier: &EarlierTable) {
        let file = earlier.origin.file;
        self.origins.iter_mut().for_each(|origins| origins.push(earlier.origin));
        let annotation = table.record().annotation(table.handle.stream());
        // With the same segments, the same bytes are freed already.
        if annotation != *earlier.annotation {
            self.transaction.annotate(file, annotation);
            self.trim(file, from);
        }
    }

    fn trim(&mut self, file: FileId, from: u64) {
        if from > 0 {
            self.transaction.trim(file, 0, from);
        }
    }

    /// Copies a log.
    pub(super) fn log(
        &mut self,
        LogCopy { record, file, checksum }: &LogCopy,
    ) -> Result<(), Error> {
        let mut writer = self.create(FileKind::Log, LogRecord::hint(), file.len())?;
        let mut offset = Predecessor::bytes_in(&**file)?;
        let mut note = vec![0; offset as usize];
        file.read_at(0, &mut note, Cause::Client)?;
        let mut got = crc32c(&note);
        while offset < file.len() {
            let mut bytes = vec![0; (file.len() - offset).min(CHUNK) as usize];
            file.read_at(offset, &mut bytes, Cause::Client)?;
            got = crc32c_append(got, &bytes);
            writer.append(&bytes)?;
            offset += bytes.len() as u64;
        }
        let checksum = checksum.filter(|_| !canary::is_broken(Rule::CopiedLogsAsRead));
        if let Some(expected) = checksum.filter(|expected| *expected != got) {
            let expected = format!("bytes of checksum {expected:#010x}, as at the opening");
            let got = format!("{got:#010x}");
            return Err(Error::corruption(format!("log {}", file.id()), 0, expected, got));
        }
        writer.finish()?;
        self.transaction.seal(writer.id(), record.annotation());
        self.writers.push(writer);
        Ok(())
    }
}

fn zeros(writer: &mut dyn FileWriter, mut count: u64) -> Result<(), Error> {
    let piece = vec![0; count.min(CHUNK) as usize];
    while count > 0 {
        let now = count.min(CHUNK);
        writer.append(&piece[..now as usize])?;
        count -= now;
    }
    Ok(())
}
