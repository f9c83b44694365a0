//! [`LogWrites`]: ways of writing the log, so that the steps of BlueFS's publication can be
//! compared with ours.
//!
//! - [`Gathered`] is ours: appends gather in memory, and a sync is usually one forced write.
//! - [`Waiting`] syncs the log after each append, or before the append that would exceed a *chunk*.
//!   The device writes logs unforced, so a disk may keep them in its cache.
//! - [`Forced`] does the same with forced writes.
//! - [`Journaled`] commits a transaction to the journal after each sync of the log.
//!
//! A log without chunks may also have a buffer of a given size, as SMRDB's has. An append that
//! fills the buffer waits for a sync, which empties it; so does each sync that the engine asks for.
//! An append that is longer than the rest of the buffer is divided.
//!
//! For runs only: with [`Waiting`], a power cut may lose a write that was acknowledged as synced.
//! With a buffer, a power cut may leave a part of a batch.
//!
//! [`Forced`]: LogWrites::Forced
//! [`Gathered`]: LogWrites::Gathered
//! [`Waiting`]: LogWrites::Waiting
//! [`Journaled`]: LogWrites::Journaled

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::store::{
    CreateOptions, EarlyFlush, FileKind, FileWriter, Layer, Store, StoreError, Transaction,
};
use terrace_env::{Cause, FileId};
use terrace_zone::timing::Size;
use terrace_zone::{Device, DeviceLayer, Op, Request, Ticket};

use super::PlanError;
use super::plan::{BLOCK, IO_SIZE_MIN};
use super::scaling::Scaling;
use crate::experiment::StoreDescription;

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogWrites {
    /// Several at a time, without a wait; a sync is one forced write. Ours.
    #[default]
    Gathered,
    /// Each append is a write of its own that is waited for, and that a cut may take back: the
    /// first iteration of BlueFS (section 5.3). With a chunk, the appends that fit into it are one
    /// write.
    Waiting,
    /// As `Waiting`, on a disk that keeps no writes in its cache: a write waits for the medium.
    Forced,
    /// Each sync is followed by a metadata write, as where a log grows that was not allocated
    /// before: BlueFS before it recycled logs (sections 4 and 5.7).
    Journaled,
}

impl LogWrites {
    /// Whether each append, or each chunk of them, is written and waited for.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Waiting | Self::Forced)
    }

    /// The device of the log, as a log is to be written to it.
    pub(super) fn device(self, device: Arc<dyn Device>) -> Arc<dyn Device> {
        match self {
            Self::Waiting => Arc::new(UnforcedLog(device)),
            Self::Gathered | Self::Forced | Self::Journaled => device,
        }
    }

    /// The store, as it is to be used. Of a waiting log, writes have up to `chunk` bytes; 0: each
    /// append is written by itself. With a `buffer`, that many bytes of a log may be unsynced.
    pub(super) fn store(
        self,
        store: Arc<dyn Store>,
        chunk: u64,
        buffer: Option<u64>,
    ) -> Arc<dyn Store> {
        match (self, buffer) {
            (Self::Gathered, None) => store,
            _ => Arc::new(LesserStore { store, writes: self, chunk, buffer }),
        }
    }
}

/// The size of a chunk at a scale, in whole blocks; 0: a log has none.
pub(super) fn log_chunk(store: &StoreDescription, scaling: &Scaling) -> Result<u64, PlanError> {
    let Some(chunk) = store.log_chunk else { return Ok(0) };
    if store.log_writes.is_some_and(LogWrites::waits) {
        return Ok((scaling.bytes(chunk.0) / BLOCK * BLOCK).max(IO_SIZE_MIN));
    }
    Err(PlanError::Impossible {
        what: "log_chunk".into(),
        expected: "log_writes = \"waiting\" or \"forced\"".into(),
        found: "another way of writing the log, which has no chunks".into(),
    })
}

/// Settings of how long writes last that would contradict each other.
pub(super) fn check_syncs(store: &StoreDescription) -> Result<(), PlanError> {
    let impossible = |what: &str, expected: &str, found: &str| {
        let (expected, found) = (expected.to_owned(), found.to_owned());
        Err(PlanError::Impossible { what: what.to_owned(), expected, found })
    };
    let synced = store.synced == Some(true);
    match (store.synced_every, store.log_buffer) {
        (Some(0), _) => impossible("synced_every", "at least 1", "0"),
        (Some(_), _) if synced => {
            impossible("synced_every", "none if every write is synced", "one")
        }
        (_, Some(_)) if store.log_chunk.is_some() => {
            impossible("log_buffer", "none if a log is written by chunks", "one")
        }
        (_, Some(Size(0))) => impossible("log_buffer", "more than nothing", "0 B"),
        (every, _) if store.logged == Some(false) && (synced || every.is_some()) => {
            impossible("logged", "a log if writes are synced", "none")
        }
        _ => Ok(()),
    }
}

/// The head of a frame takes less than this.
const HEAD: u64 = 128;

/// A device that writes logs unforced.
struct UnforcedLog(Arc<dyn Device>);

impl DeviceLayer for UnforcedLog {
    fn below(&self) -> &dyn Device {
        &*self.0
    }

    fn submit(&self, mut request: Request) -> Ticket {
        if let (Cause::Log, Op::Write { fua, .. }) = (request.cause, &mut request.op) {
            *fua = false;
        }
        self.below().submit(request)
    }
}

/// A store whose logs are written as the publication's were.
struct LesserStore {
    store: Arc<dyn Store>,
    writes: LogWrites,
    chunk: u64,
    buffer: Option<u64>,
}

/// The writer of such a log.
struct LesserLog {
    writer: Box<dyn FileWriter>,
    store: Arc<dyn Store>,
    writes: LogWrites,
    chunk: u64,
    /// Bytes that were appended since the last write that was waited for.
    gathered: u64,
    buffer: Option<u64>,
    /// Bytes that were appended since the last sync, fewer than the buffer has.
    unsynced: u64,
}

impl LesserStore {
    fn writer(&self, kind: FileKind, writer: Box<dyn FileWriter>) -> Box<dyn FileWriter> {
        if kind != FileKind::Log {
            return writer;
        }
        let (store, writes) = (Arc::clone(&self.store), self.writes);
        let (chunk, buffer) = (self.chunk, self.buffer);
        Box::new(LesserLog { writer, store, writes, chunk, gathered: 0, buffer, unsynced: 0 })
    }
}

impl LesserLog {
    /// Appends bytes that go beyond no buffer.
    fn append_whole(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if !self.writes.waits() {
            return self.writer.append(bytes);
        }
        let appended = bytes.len() as u64;
        // A chunk is whole blocks, and so is its write with the head of its frame.
        if self.gathered > 0 && self.gathered + appended + HEAD > self.chunk {
            self.writer.sync()?;
            self.gathered = 0;
        }
        self.writer.append(bytes)?;
        self.gathered += appended;
        if self.chunk > 0 {
            return Ok(());
        }
        self.gathered = 0;
        self.writer.sync()
    }
}

impl FileWriter for LesserLog {
    fn id(&self) -> FileId {
        self.writer.id()
    }

    fn len(&self) -> u64 {
        self.writer.len()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(buffer) = self.buffer else { return self.append_whole(bytes) };
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = (buffer - self.unsynced).min(rest.len() as u64);
            let (now, later) = rest.split_at(room as usize);
            self.append_whole(now)?;
            self.unsynced += room;
            if self.unsynced == buffer {
                self.sync()?;
            }
            rest = later;
        }
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.writer.write_out()
    }

    fn begin_write_out(&mut self) -> Result<(), StoreError> {
        self.writer.begin_write_out()
    }

    fn early_flush(&mut self) -> Option<EarlyFlush> {
        self.writer.early_flush()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.writer.sync()?;
        (self.gathered, self.unsynced) = (0, 0);
        if self.writes == LogWrites::Journaled
            && let Some(info) = self.store.info(self.id())
        {
            let mut transaction = Transaction::new();
            transaction.annotate(info.id, (*info.annotation).clone());
            self.store.commit(transaction)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.writer.finish()
    }

    fn memory(&self) -> usize {
        self.writer.memory()
    }
}

impl Layer for LesserStore {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        Ok(self.writer(options.kind, self.store.create(options)?))
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        let kind = self.store.info(id).map_or(FileKind::Client, |info| info.kind);
        Ok(self.writer(kind, self.store.reopen(id)?))
    }
}
