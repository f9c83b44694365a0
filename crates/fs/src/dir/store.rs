//! [`DirStore`]: the [`Store`] in a plain directory: open, close, and the calls of the trait.
//!
//! Calls that create, open, read, write or commit can wait for the disk. So can `reserve` and
//! `space`, and closing or dropping the store. `info`, `lookup` and `list` take locks and do not
//! wait for the disk. A directory of the host stays locked until `close`, or until the store and
//! all its handles are dropped.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use terrace_env::store::{
    Annotation, CreateOptions, FileInfo, FileKind, FileReader, FileWriter, IoCounts, LogSpace,
    Rank, Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, Cause, FileId, IoBuf, Users, Uuid};

use super::ahead::Ahead;
use super::data_writer::DataWriter;
use super::log_writer::LogWriter;
use super::node::{Node, usual_cause};
use super::reader::Reader;
use super::reservation::{self, Allowance};
use super::volume::Volume;
use super::{Files, OsFiles, Room, opening};
use crate::Access;
use crate::BLOCK;
use crate::Beside;
use crate::catalog::FileRecord;

/// How to open a [`DirStore`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirOptions {
    /// For writing: by one process alone; a missing directory and a missing store are made. For
    /// reading: by any number of processes, and nothing is written. Next to a writer
    /// ([`Access::Beside`]): without a lock, as [`Beside`] describes; a call then fails, with an
    /// error of any kind, if the writer has removed a file that it needs.
    pub access: Access,
}

/// A store in a plain directory; see the [module](super).
///
/// It has a file for each table, and opens and closes them as it needs them: all directories of a
/// process together use at most half of the descriptors that it may have.
pub struct DirStore(Arc<Volume>);

impl DirStore {
    /// Opens the store in the directory `path`, which stays locked until the store is
    /// [closed](Self::close), or it and all its handles are dropped.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another opening has the store open; [`StoreError::Invalid`] if the
    /// directory holds something else; [`StoreError::Corruption`] if the store is damaged.
    pub fn open(path: impl AsRef<Path>, options: DirOptions) -> Result<Arc<Self>, StoreError> {
        let files = OsFiles::open(path.as_ref(), options.access)?;
        Self::open_on(Arc::new(files), options)
    }

    /// Opens the store in a directory for writing. If the directory is empty or missing, a store is
    /// made that has this annotation of its own from its first durable write on.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_annotated(
        path: impl AsRef<Path>,
        first: Annotation,
    ) -> Result<Arc<Self>, StoreError> {
        let files = OsFiles::open(path.as_ref(), Access::ReadWrite)?;
        Self::open_annotated_on(Arc::new(files), first)
    }

    /// The same on files that need not be a directory's.
    pub fn open_annotated_on(
        files: Arc<dyn Files>,
        first: Annotation,
    ) -> Result<Arc<Self>, StoreError> {
        Ok(Arc::new(Self(Arc::new(opening::open(files, Access::ReadWrite, first)?))))
    }

    /// Whether a directory holds no files except those that an interrupted or failed start of a
    /// store may leave: an opening for writing makes a new store of it. A missing directory counts
    /// as blank.
    pub fn is_blank(path: impl AsRef<Path>) -> Result<bool, StoreError> {
        opening::is_blank(path.as_ref())
    }

    /// Opens a store on files that need not be a directory's.
    pub fn open_on(files: Arc<dyn Files>, options: DirOptions) -> Result<Arc<Self>, StoreError> {
        Ok(Arc::new(Self(Arc::new(opening::open(files, options.access, Annotation::default())?))))
    }

    /// Ends all writing, records the end of every log, and unlocks the directory. Frames that a
    /// later opening misses before a recorded end are known to be lost. If a file still has a
    /// writer, or the ends cannot be recorded, no data are lost: the store is then as after a
    /// crash. All commits are durable already. The call waits for writes in flight. Later calls of
    /// handles that are still open fail; a read that has begun may still succeed. Closing again
    /// does nothing.
    pub fn close(&self) {
        self.0.gate.shut();
        self.0.remove_pinned();
        let _ = self.0.record_ends();
        self.0.close();
    }

    fn writer(&self, node: Arc<Node>, cause: Cause, allowance: Allowance) -> Box<dyn FileWriter> {
        let (volume, ahead) = (Arc::clone(&self.0), Ahead::default());
        if node.kind == FileKind::Log {
            let (buffer, gathered, failed, tail) = (IoBuf::default(), 0, None, None);
            Box::new(LogWriter {
                volume,
                node,
                cause,
                allowance,
                ahead,
                failed,
                buffer,
                gathered,
                tail,
            })
        } else {
            Box::new(DataWriter { volume, node, cause, allowance, ahead, failed: None })
        }
    }
}

impl Beside for DirStore {
    fn vouch(&self, _file: FileId, _bytes: Range<u64>) -> Result<(), StoreError> {
        self.0.watch.as_ref().map_or(Ok(()), |watch| watch.check_store(&self.0.files))
    }

    fn has_changed(&self) -> Result<bool, StoreError> {
        self.0.watch.as_ref().map_or(Ok(false), |watch| watch.has_changed(&self.0.files))
    }
}

impl Store for DirStore {
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let allowance = Allowance::new(&self.0, options.rank, options.reservation)?;
        let node = self.0.create(options.kind)?;
        Ok(self.writer(node, options.cause, allowance))
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        let _pass = self.0.gate.pass()?;
        self.0.lock().check()?;
        let (node, end) = self.0.claim(id, |_, node| {
            let mut state = node.lock();
            if state.sealed || state.has_writer {
                let expected = "an unsealed file without a writer";
                return Err(node.wrong_state(expected, &state));
            }
            state.has_writer = true;
            Ok(match node.kind {
                FileKind::Log => {
                    state.log.close_open_frame();
                    u64::from(state.log.block) * BLOCK as u64
                }
                FileKind::Table | FileKind::Client => state.size,
            })
        })?;
        let allowance = Allowance::new(&self.0, Rank::Log, None)?;
        let writer = self.writer(Arc::clone(&node), usual_cause(node.kind), allowance);
        // Bytes that a power cut left after the end are useless. Those of a log must not come back:
        // if another cut takes parts of a frame there, these must read as zeros.
        let cut = node.file.size().and_then(|size| {
            node.file.set_size(end)?;
            if size > end && node.kind == FileKind::Log { node.file.sync() } else { Ok(()) }
        });
        cut.map_err(|error| StoreError::io(format!("cutting file {id} to {end} bytes"), error))?;
        Ok(writer)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        self.0.lock().check_open()?;
        let (node, map) = self.0.claim(id, |record, node| {
            node.lock().readers += 1;
            Ok(record.sealed.then(|| Arc::clone(&record.extents)))
        })?;
        Ok(Arc::new(Reader::new(Arc::clone(&self.0), node, map)))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        self.0.commit(transaction)
    }

    fn info(&self, id: FileId) -> Option<FileInfo> {
        let state = self.0.lock();
        let mut info = state.catalog.info(id)?;
        if let Some(record) = state.catalog.get(id) {
            info.size = state.size(id, record);
        }
        Some(info)
    }

    fn lookup(&self, name: &str) -> Option<FileId> {
        self.0.lock().catalog.lookup(name)
    }

    fn list(&self) -> Vec<FileInfo> {
        let state = self.0.lock();
        let info = |(id, record): (FileId, &FileRecord)| FileInfo {
            size: state.size(id, record),
            ..record.info(id)
        };
        state.catalog.files().map(info).collect()
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        reservation::reserve(&self.0, rank, bytes)
    }

    fn space(&self) -> SpaceInfo {
        // If the file system cannot tell its size, no room is promised.
        let nothing = Room { total: ByteCount(0), available: ByteCount(0) };
        let room = self.0.files.room().unwrap_or(nothing);
        let mut state = self.0.lock();
        let occupied = |(id, record): (FileId, &FileRecord)| {
            if record.sealed {
                record.extents.blocks() * BLOCK as u64
            } else {
                state.size(id, record)
            }
        };
        let committed: u64 = state.catalog.files().map(occupied).sum();
        let uncommitted = |node: &Arc<Node>| {
            let file = node.lock();
            if file.committed { 0 } else { file.size }
        };
        let live = committed + state.nodes.values().map(uncommitted).sum::<u64>();
        let pinned: u64 = state.pinned.values().map(|pinned| pinned.bytes).sum();
        let reserved = state.reserved();
        let free = room.available.0.saturating_sub(reserved);
        let kept = reservation::kept(Rank::Log);
        SpaceInfo {
            capacity: room.total,
            free: ByteCount(free),
            kept: ByteCount(kept),
            for_puts: ByteCount(free.saturating_sub(kept)),
            live: ByteCount(live),
            dead: ByteCount(0),
            pinned: ByteCount(pinned),
            reserved: ByteCount(reserved),
        }
    }

    fn log_space(&self) -> Option<LogSpace> {
        None
    }

    /// A directory does not know its disk.
    fn rotational(&self) -> bool {
        false
    }

    fn log_unit(&self) -> ByteCount {
        ByteCount(0)
    }

    fn users(&self) -> &Users {
        &self.0.users
    }

    fn uuid(&self) -> Option<Uuid> {
        Some(self.0.uuid)
    }

    fn io(&self) -> IoCounts {
        self.0.io()
    }

    fn waits(&self) -> Waits {
        self.0.waits.read()
    }
}

impl Drop for DirStore {
    fn drop(&mut self) {
        // A panic must not become two.
        if !std::thread::panicking() {
            let _ = self.0.record_ends();
        }
    }
}

impl std::fmt::Debug for DirStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DirStore({})", self.0.files.describe())
    }
}
