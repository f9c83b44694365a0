//! Checkpoint: copies a store into another, empty one, as it is at one moment, while writes go on.
//!
//! 1. The target is marked as an unfinished copy, unless it is marked already: by who made it for
//!    this checkpoint ([`mark_of_unfinished_copy`](crate::mark_of_unfinished_copy)), or by a
//!    checkpoint that was interrupted. A marked store cannot be opened.
//! 2. The engine flushes its memtables twice. Writes go on during the first flush. They wait during
//!    the second, which has what was written during the first. Then the version holds the writes
//!    before this moment and no others. (A read-only engine copies its logs instead of flushing.)
//! 3. Tables are copied byte by byte, and their checksums are verified on the way. If the front of
//!    a table counts no more, the copy has zeros there, and trims them. A log whose entries the
//!    opening has read into memory is compared, by checksum, with what it read then. A log's note
//!    of the log before it is left out.
//! 4. One transaction seals the copied files, deletes the target's empty logs and writes the
//!    target's annotation, without the mark. It is that of the source, for example with the same
//!    key spaces, all in one list, and the decider's state; only the counts of what was written in
//!    a store's life begin at zero.
//!
//! A target is empty if it holds no key space of its own and no file but empty logs. It is claimed
//! until the copy is done. If step 2 or 3 fails, a target that this checkpoint has marked gets its
//! own annotation back, and is the empty store that it was. If the process ends before step 4 or
//! the power is cut, the mark stays, and so it does if step 4 fails and has not taken effect. The
//! tables that are copied stay pinned meanwhile, so their space does not come free.
//!
//! A checkpoint runs in the thread of its client, except for the flushes, and holds no lock over
//! I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{
    Annotation, CreateOptions, FileKind, FileReader, FileWriter, PlacementHint, Rank, Store,
    StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, SeqNo};

use crate::Error;
use crate::batch::Predecessor;
use crate::canary::{self, Rule};
use crate::cost;
use crate::lifetime::Written;
use crate::readers::{ReaderKind, Readers};
use crate::table::{Part, TableFile};
use crate::tree::Segment;
use crate::tree::TableHandle;
use crate::tree::Version;
use crate::tree::{LogRecord, SegmentRecord, StoreRecord, TableRecord, table_hint};
use crate::write::Writer;

/// How much is read and written at once.
const CHUNK: u64 = 1 << 20;

/// Counts of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpointed {
    /// Tables.
    pub tables: u64,
    /// Logs: only of a store that was open for reading only.
    pub logs: u64,
    /// Their bytes.
    pub bytes: ByteCount,
    /// The newest write that is in it.
    pub sequence: SeqNo,
}

/// How far a checkpoint is: bytes done, and bytes to do in all.
pub type CheckpointProgress<'a> = &'a mut dyn FnMut(ByteCount, ByteCount);

/// State to copy, as it was at one moment.
struct Moment {
    version: Arc<Version>,
    record: StoreRecord,
    logs: Vec<LogCopy>,
    sequence: SeqNo,
}

/// A log that is copied as it is.
struct LogCopy {
    record: LogRecord,
    file: Arc<dyn FileReader>,
    /// Checksum of the bytes that the opening has read: frames are verified then, and not once
    /// more.
    checksum: Option<u32>,
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
        let claim = target.users().claim_to_write();
        let _claim = claim.ok_or(StoreError::InUse("the target of a checkpoint".into()))?;
        let Empty { logs, own, is_marked } = Empty::of(target)?;
        if is_marked {
            return self.fill(target, &logs, progress, &mut false);
        }
        let record = match own.opaque.is_empty() {
            true => StoreRecord::new(),
            false => StoreRecord::decode(&own.opaque)?,
        };
        annotate(target, record.marked().annotation())?;
        let mut may_be_whole = false;
        let filled = self.fill(target, &logs, progress, &mut may_be_whole);
        if filled.is_err() && !may_be_whole {
            // If that fails, the mark says what the target is. The error of the copy says more.
            let _ = annotate(target, (*own).clone());
        }
        filled
    }

    /// Copies everything into a marked store, and takes the mark away. `may_be_whole` is set before
    /// the transaction that does.
    fn fill(
        &self,
        target: &dyn Store,
        empty_logs: &[FileId],
        progress: CheckpointProgress<'_>,
        may_be_whole: &mut bool,
    ) -> Result<Checkpointed, Error> {
        let moment = if self.writer.read_only { self.as_opened()? } else { self.as_of_now()? };
        let _reading = self.readers.begin(ReaderKind::Checkpoint, moment.sequence);
        let mut copy = Copy { target, writers: Vec::new(), transaction: Transaction::new() };
        let _memory = self.writer.memory.jobs.lease(CHUNK as usize);
        let tables = by_table(&moment.version);
        let all = tables.iter().map(|(table, _)| table.size().0).sum::<u64>()
            + moment.logs.iter().map(|log| log.file.len()).sum::<u64>();
        let mut done = 0;
        for (table, segments) in &tables {
            copy.table(table, segments, &mut |bytes| {
                done += bytes;
                progress(ByteCount(done), ByteCount(all));
            })?;
        }
        for log in &moment.logs {
            copy.log(log)?;
            done += log.file.len();
            progress(ByteCount(done), ByteCount(all));
        }
        let Copy { writers, mut transaction, .. } = copy;
        // The copy begins a life of its own.
        let record = StoreRecord { lifetime: Written::default(), ..moment.record };
        transaction.annotate(FileId::STORE, record.annotation());
        for log in empty_logs {
            transaction.delete(*log);
        }
        *may_be_whole = true;
        target.commit(transaction)?;
        drop(writers);
        let (tables, logs) = (tables.len() as u64, moment.logs.len() as u64);
        let (bytes, sequence) = (ByteCount(all), moment.sequence);
        Ok(Checkpointed { tables, logs, bytes, sequence })
    }

    /// Everything that was written before, in tables.
    fn as_of_now(&self) -> Result<Moment, Error> {
        // Most of it is flushed before anybody has to wait.
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
            // Under the same lead: a key space that is dropped meanwhile is then among those to be
            // hidden when the checkpoint is opened, because its range delete has to wait.
            let record = self.writer.tree.whole_record();
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

/// A target that holds nothing.
struct Empty {
    /// None if nobody has opened it yet; an empty one, or several, if it was opened and nothing was
    /// written.
    logs: Vec<FileId>,
    /// The store's own annotation.
    own: Arc<Annotation>,
    /// It is an unfinished copy.
    is_marked: bool,
}

impl Empty {
    /// A target with entries, or with key spaces of its own, is refused.
    fn of(target: &dyn Store) -> Result<Self, Error> {
        let files = target.list();
        let own = target.info(FileId::STORE).map(|info| info.annotation).unwrap_or_default();
        let (mut has_spaces, mut is_marked) = (false, false);
        if !own.opaque.is_empty() {
            let record = StoreRecord::decode_target(&own.opaque)?;
            (has_spaces, is_marked) = (record.spaces.len() > 1, record.is_marked());
        }
        if has_spaces || files.iter().any(|file| file.kind != FileKind::Log || file.size > 0) {
            return Err(Error::TargetNotEmpty { files: files.len() });
        }
        Ok(Self { logs: files.iter().map(|file| file.id).collect(), own, is_marked })
    }
}

/// Gives a store its own annotation.
fn annotate(store: &dyn Store, annotation: Annotation) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, annotation);
    store.commit(transaction)
}

/// The tables of a version, by id, each with what counts of it.
fn by_table(version: &Version) -> Vec<(Arc<TableHandle>, Vec<SegmentRecord>)> {
    let mut tables: BTreeMap<FileId, (Arc<TableHandle>, Vec<SegmentRecord>)> = BTreeMap::new();
    for (place, Segment { table, span, size }) in version.segments() {
        let record = SegmentRecord { place, size: *size, span: span.clone() };
        let (_, segments) =
            tables.entry(table.id()).or_insert_with(|| (Arc::clone(table), Vec::new()));
        segments.push(record);
    }
    for (_, segments) in tables.values_mut() {
        segments.sort_by(|a, b| a.span.start.cmp(&b.span.start));
    }
    tables.into_values().collect()
}

/// A copy on its way.
struct Copy<'a> {
    target: &'a dyn Store,
    /// Dropped only when the files are sealed: before, they would be gone.
    writers: Vec<Box<dyn FileWriter>>,
    transaction: Transaction,
}

impl Copy<'_> {
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

    fn table(
        &mut self,
        handle: &Arc<TableHandle>,
        segments: &[SegmentRecord],
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let level = segments.first().map_or(0, |segment| segment.place.level);
        let stream = handle.stream();
        let mut writer =
            self.create(FileKind::Table, table_hint(level, stream), handle.size().0)?;
        let first = segments.first().map_or(&[][..], |segment| &segment.span.start[..]);
        let record = handle.record();
        // Only what lies before the first segment may have been given back.
        let from = if record.smallest[..] < *first {
            handle.table(Cause::Client)?.offset_of(first, Cause::Client)?
        } else {
            0
        };
        zeros(&mut *writer, from)?;
        progress(from);
        copy_verified(handle.file(), from, &mut |bytes| {
            writer.append(bytes)?;
            progress(bytes.len() as u64);
            cost::charge_merge(0, bytes.len());
            Ok(())
        })?;
        writer.finish()?;
        // The copy's tables have other ids and places: no set of the source is one there.
        let record = TableRecord { segments: segments.to_vec(), set: None, ..record.clone() };
        let id = writer.id();
        self.transaction.seal(id, record.annotation(stream));
        if from > 0 {
            self.transaction.trim(id, 0, from);
        }
        self.writers.push(writer);
        Ok(())
    }

    fn log(&mut self, LogCopy { record, file, checksum }: &LogCopy) -> Result<(), Error> {
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

/// Hands out a table's bytes from `from` on, the start of a data block, in order. All that is
/// handed out has been verified.
fn copy_verified(
    file: &Arc<dyn FileReader>,
    from: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let window = Arc::new(Window { file: Arc::clone(file), held: Mutex::default() });
    let table = TableFile::open(Arc::clone(&window) as Arc<dyn FileReader>)?;
    let mut chunk: Vec<Part> = Vec::new();
    let mut at = from;
    for entry in table.walk_index()? {
        let block = entry?.block;
        if block.offset < at {
            continue;
        }
        at = block.offset + u64::from(block.size);
        chunk.push(block);
        if at - chunk[0].offset >= CHUNK {
            copy_chunk(&window, &table, &mut chunk, take)?;
        }
    }
    copy_chunk(&window, &table, &mut chunk, take)?;
    // Everything behind the data blocks, from the very bytes that are handed out.
    let tail = window.hold(at, file.len() - at)?;
    let held = TableFile::open(Arc::clone(&window) as Arc<dyn FileReader>)?;
    held.read_properties()?;
    held.read_ranges()?;
    held.read_filter()?;
    held.walk_index()?.try_for_each(|entry| entry.map(drop))?;
    take(&tail)
}

fn copy_chunk(
    window: &Window,
    table: &TableFile,
    chunk: &mut Vec<Part>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { return Ok(()) };
    let end = last.offset + u64::from(last.size);
    let bytes = window.hold(first.offset, end - first.offset)?;
    for block in chunk.drain(..) {
        if !canary::is_broken(Rule::CopiesVerified) {
            table.read_block(block)?;
        }
    }
    take(&bytes)
}

/// A file of which a chunk is held in memory: what is read of that comes from there.
struct Window {
    file: Arc<dyn FileReader>,
    held: Mutex<Held>,
}

/// A chunk of a file.
#[derive(Clone, Default)]
struct Held {
    offset: u64,
    bytes: Arc<Vec<u8>>,
}

impl Window {
    /// Reads a chunk and holds it, instead of the one before.
    fn hold(&self, offset: u64, size: u64) -> Result<Arc<Vec<u8>>, Error> {
        let mut bytes = vec![0; usize::try_from(size).expect("a chunk that fits memory")];
        self.file.read_at(offset, &mut bytes, Cause::Client)?;
        let bytes = Arc::new(bytes);
        *self.held.lock() = Held { offset, bytes: Arc::clone(&bytes) };
        Ok(bytes)
    }
}

impl FileReader for Window {
    fn id(&self) -> FileId {
        self.file.id()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        let Held { offset: start, bytes } = self.held.lock().clone();
        let within = offset.checked_sub(start).and_then(|skip| usize::try_from(skip).ok());
        let found = within.and_then(|skip| bytes.get(skip..skip.checked_add(into.len())?));
        match found {
            Some(found) => into.copy_from_slice(found),
            None => self.file.read_at(offset, into, cause)?,
        }
        Ok(())
    }
}
