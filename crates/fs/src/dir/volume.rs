//! [`Volume`]: the state that all handles of a directory's store share.
//!
//! # Invariants
//! - A file id is given out once. A record in the journal sets ids aside before they are given out,
//!   so the next opening can begin after them.
//! - A file that was not committed is removed when its writer ends, unless the store is closed by
//!   then. If it is left, such as after a crash, the next opening for writing removes it.
//!
//! # Threads
//! The state has one lock, taken before that of a [`Node`], and not held over a file operation. So
//! a thread opens a file without the lock, and drops its own opening if another thread was faster.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use terrace_env::store::{FileKind, IoCounts, StoreError};
use terrace_env::sync::{GroupCommit, Mutex, QueueGuard};
use terrace_env::wait::{WaitCause, WaitCounts};
use terrace_env::{ByteCount, Cause, FileId, PerThread, Users, Uuid};

use super::commit::{Queue, Work};
use super::gate::Gate;
use super::journal::Journal;
use super::log_index::LogIndex;
use super::node::{Node, NodeState};
use super::pooled_files::PooledFiles;
use super::reservation::Reserved;
use super::source::FileSource;
use super::tail::Tail;
use super::view::Views;
use super::watch::Watch;
use super::{FileHandle, Files, names};
use crate::Access;
use crate::BLOCK;
use crate::catalog::{Catalog, FileRecord, Record};
use crate::frame::{LogScan, LogTail};

/// File ids set aside by one record: the number of files that are created without a further record,
/// and the most ids that are skipped when the store is opened again.
pub(super) const IDS: u64 = 256;

/// See the [module](self).
pub(super) struct Volume {
    pub(super) files: Arc<PooledFiles>,
    pub(super) access: Access,
    pub(super) uuid: Uuid,
    /// Epoch of the frames written since the store was opened.
    pub(super) epoch: u32,
    /// Number of files created since the store was opened. Their names need a sync of the
    /// directory.
    pub(super) created: AtomicU64,
    pub(super) commits: GroupCommit<State>,
    pub(super) gate: Arc<Gate>,
    /// The users of the store.
    pub(super) users: Users,
    /// Of an opening next to a writer.
    pub(super) watch: Option<Watch>,
    tail: Mutex<TailPlace>,
    /// Counts without those of reads.
    io: Mutex<IoCounts>,
    reads: PerThread<ReadCounts>,
    pub(super) waits: WaitCounts,
    pub(super) views: Arc<Views>,
}

/// Where the [`Tail`] of the directory is.
#[derive(Default)]
enum TailPlace {
    /// No log has asked for it.
    #[default]
    Unmapped,
    Free(Tail),
    /// A log has it; or the host has no mapped memory; or it holds bytes that are in no frame, and
    /// its log has no writer any more.
    Gone,
}

/// Reads and their bytes, by cause.
#[derive(Debug, Default)]
struct ReadCounts {
    reads: [AtomicU64; Cause::ALL.len()],
    bytes: [AtomicU64; Cause::ALL.len()],
}

/// State under the lock.
pub(super) struct State {
    pub(super) catalog: Catalog,
    /// Files with a handle, and unsealed ones that were written or recovered.
    pub(super) nodes: BTreeMap<FileId, Arc<Node>>,
    pub(super) next_file: u64,
    /// The first id that is not set aside. It is not given out: the next process would not know of
    /// it.
    pub(super) ids_end: u64,
    /// Deleted files that still have readers.
    pub(super) pinned: BTreeMap<FileId, Pinned>,
    pub(super) reservations: Vec<Weak<Reserved>>,
    pub(super) queue: Queue,
    /// Why nothing can be written.
    pub(super) refusal: Option<StoreError>,
    /// Whether the directory is unlocked.
    pub(super) closed: bool,
}

/// A deleted file that still has readers. It keeps its name in the directory, so that it can be
/// opened again.
pub(super) struct Pinned {
    pub(super) kind: FileKind,
    /// Its size.
    pub(super) bytes: u64,
    /// Its deletion is durable: the last reader removes it.
    pub(super) is_durable: bool,
}

impl Volume {
    pub(super) fn new(
        files: Arc<PooledFiles>,
        access: Access,
        uuid: Uuid,
        epoch: u32,
        (state, journal): (State, Option<Journal>),
    ) -> Self {
        let (created, io, waits) = (AtomicU64::new(0), Mutex::default(), WaitCounts::default());
        let reads = PerThread::default();
        let (users, gate) = (Users::default(), Arc::default());
        let commits = GroupCommit::new(state, journal);
        let (watch, tail) = (None, Mutex::default());
        // A writer next to this opening may punch bytes out of any file.
        let views_max = match access {
            Access::ReadWrite | Access::ReadOnly => files.views_max(),
            Access::Beside => ByteCount(0),
        };
        let views = Arc::new(Views::new(views_max));
        Self {
            files,
            access,
            uuid,
            epoch,
            created,
            commits,
            gate,
            users,
            watch,
            tail,
            io,
            reads,
            waits,
            views,
        }
    }

    /// The same, with this watch.
    pub(super) fn watched(mut self, watch: Option<Watch>) -> Self {
        self.watch = watch;
        self
    }

    /// Takes the tail for a log, if it can be had.
    pub(super) fn take_tail(&self) -> Option<Tail> {
        let place = std::mem::replace(&mut *self.tail.lock(), TailPlace::Gone);
        match place {
            TailPlace::Free(tail) => Some(tail),
            // Without it, logs write their blocks again and again: slower, and no less safe.
            TailPlace::Unmapped => Tail::map(&*self.files).ok().flatten(),
            TailPlace::Gone => None,
        }
    }

    /// Whether a log could take the tail.
    pub(super) fn has_tail(&self) -> bool {
        !matches!(*self.tail.lock(), TailPlace::Gone)
    }

    /// Gives the tail back. All bytes in it are in frames.
    pub(super) fn give_tail_back(&self, mut tail: Tail) {
        tail.restart();
        let former = std::mem::replace(&mut *self.tail.lock(), TailPlace::Free(tail));
        debug_assert!(matches!(former, TailPlace::Gone), "there is one tail");
    }

    pub(super) fn lock(&self) -> QueueGuard<'_, State> {
        self.commits.lock()
    }

    /// Ends all changes, after the commit in flight, and unlocks the directory. The [gate](Gate) is
    /// shut.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.refusal = Some(StoreError::Closed);
        self.commits.close(state, |state| state.closed = true);
        self.files.unlock();
    }

    pub(super) fn io(&self) -> IoCounts {
        let mut io = self.io.lock().clone();
        for counts in self.reads.iter() {
            for (sum, count) in io.reads.iter_mut().zip(&counts.reads) {
                *sum += count.load(Ordering::Relaxed);
            }
            for (sum, bytes) in io.read_bytes.iter_mut().zip(&counts.bytes) {
                *sum += bytes.load(Ordering::Relaxed);
            }
        }
        io
    }

    /// Counts the time that an operation on files takes, as one on a device.
    pub(super) fn timed<T>(&self, cause: Cause, operation: impl FnOnce() -> T) -> T {
        self.waits.during(WaitCause::Device(cause), operation)
    }

    pub(super) fn count_read(&self, cause: Cause, bytes: u64) {
        let counts = self.reads.own();
        counts.reads[cause as usize].fetch_add(1, Ordering::Relaxed);
        counts.bytes[cause as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn count_write(&self, cause: Cause, bytes: u64) {
        let mut io = self.io.lock();
        io.writes[cause as usize] += 1;
        io.written_bytes[cause as usize] += bytes;
    }

    pub(super) fn count_sync(&self) {
        self.io.lock().flushes += 1;
    }

    pub(super) fn count_roll(&self) {
        self.io.lock().journal_rolls += 1;
    }

    /// Makes a file with an id of its own, and its writer's node.
    pub(super) fn create(&self, kind: FileKind) -> Result<Arc<Node>, StoreError> {
        let _pass = self.gate.pass()?;
        let id = self.new_id()?;
        let name = names::file(id, kind);
        let file = self.files.create_pooled(&name);
        let file = file.map_err(|error| self.describe("creating", &name, error))?;
        self.created.fetch_add(1, Ordering::Relaxed);
        let mut fresh = NodeState { has_writer: true, crc: Some(0), ..NodeState::default() };
        if kind == FileKind::Log {
            fresh.log.start(self.uuid, id, self.epoch, 0, crate::catalog::FIRST_SEQUENCE);
        }
        let node = Arc::new(Node::new(id, kind, file, fresh));
        let former = self.lock().nodes.insert(id, Arc::clone(&node));
        debug_assert!(former.is_none(), "id {id} was given out twice");
        Ok(node)
    }

    /// An id that no file ever had, not even a file that was not committed.
    fn new_id(&self) -> Result<FileId, StoreError> {
        loop {
            let next = {
                let mut state = self.lock();
                state.check()?;
                let next = state.next_file;
                debug_assert!(next <= state.ids_end, "ids before {next} were not set aside");
                if next < state.ids_end {
                    state.next_file += 1;
                    return Ok(FileId(next));
                }
                next
            };
            let ids_end = next + IDS;
            let record = Record::Mount { epoch: self.epoch, next_file: FileId(ids_end) };
            self.enqueue(Work::Records(vec![record]))?;
            let mut state = self.lock();
            state.ids_end = state.ids_end.max(ids_end);
        }
    }

    /// The node of a committed file, opened if need be, once `claim` has marked its use. `claim`
    /// runs under the lock.
    pub(super) fn claim<T>(
        &self,
        id: FileId,
        claim: impl Fn(&FileRecord, &Node) -> Result<T, StoreError>,
    ) -> Result<(Arc<Node>, T), StoreError> {
        let mut loaded: Option<Arc<Node>> = None;
        loop {
            let record = {
                let mut state = self.lock();
                let State { catalog, nodes, .. } = &mut *state;
                let record = catalog.file(id)?;
                if let Some(node) = nodes.get(&id) {
                    let claimed = claim(record, node)?;
                    return Ok((Arc::clone(node), claimed));
                }
                if let Some(node) = loaded.take() {
                    let claimed = claim(record, &node)?;
                    nodes.insert(id, Arc::clone(&node));
                    return Ok((node, claimed));
                }
                record.clone()
            };
            match self.load(id, &record) {
                Ok(node) => loaded = Some(Arc::new(node)),
                // It may have been deleted in the meantime.
                Err(_) if self.lock().catalog.get(id).is_none() => {
                    return Err(StoreError::NotFound(id));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens a committed file.
    fn load(&self, id: FileId, record: &FileRecord) -> Result<Node, StoreError> {
        let access = if record.sealed { Access::ReadOnly } else { self.access };
        let mut state = NodeState {
            size: record.size,
            synced: record.size,
            recorded: record.size,
            crc: (record.size == 0).then_some(0),
            committed: true,
            sealed: record.sealed,
            ..NodeState::default()
        };
        let file = if record.kind == FileKind::Log {
            let (file, index, _) = open_log(&self.files, self.uuid, id, record, access)?;
            state.size = index.size();
            state.log.index = index;
            file
        } else {
            open_file(&self.files, id, record, access)?
        };
        Ok(Node::new(id, record.kind, file, state))
    }

    /// Ends a reader. The last reader removes a file that was deleted meanwhile, or punches out its
    /// trimmed bytes, unless the store is closed: another process may then own the directory.
    pub(super) fn reader_ended(&self, node: &Arc<Node>) {
        let pass = self.gate.pass();
        let holes = {
            let mut state = self.lock();
            let mut file = node.lock();
            debug_assert!(file.readers > 0, "file {} has no reader", node.id);
            file.readers -= 1;
            if file.readers > 0 {
                return;
            }
            if file.deleted {
                // If the commit that deletes the file is not durable yet, its leader removes the
                // file.
                let pinned = state.pinned.remove(&node.id);
                drop((file, state));
                if pass.is_ok() && pinned.is_some_and(|pinned| pinned.is_durable) {
                    self.remove(node.id, node.kind);
                }
                return;
            }
            if file.sealed && !file.has_writer {
                state.nodes.remove(&node.id);
            }
            std::mem::take(&mut file.holes)
        };
        if pass.is_ok() {
            self.punch(node.id, node.kind, &holes);
        }
    }

    /// Removes the deleted files that still have readers. The [gate](Gate) is shut, so they can
    /// read no more.
    pub(super) fn remove_pinned(&self) {
        let pinned = std::mem::take(&mut self.lock().pinned);
        for (id, pinned) in pinned.into_iter().filter(|(_, pinned)| pinned.is_durable) {
            self.remove(id, pinned.kind);
        }
    }

    /// Ends a writer. Its file is removed unless it was committed; after the store was closed, the
    /// file is left to the next opening.
    pub(super) fn writer_ended(&self, node: &Arc<Node>) {
        {
            let mut state = self.lock();
            let mut file = node.lock();
            debug_assert!(file.has_writer, "file {} has no writer", node.id);
            file.has_writer = false;
            file.finished = false;
            if file.committed {
                if file.sealed && file.readers == 0 {
                    state.nodes.remove(&node.id);
                }
                return;
            }
            file.deleted = true;
            state.nodes.remove(&node.id);
        }
        if let Ok(_pass) = self.gate.pass() {
            self.remove(node.id, node.kind);
        }
    }

    /// Removes a file that no record and no handle uses any more. If that fails, the next opening
    /// does it.
    pub(super) fn remove(&self, id: FileId, kind: FileKind) {
        let _ = self.files.remove(&names::file(id, kind));
    }

    /// Punches trimmed bytes out of a file, if the file system can do so.
    pub(super) fn punch(&self, id: FileId, kind: FileKind, holes: &[Range<u64>]) {
        if holes.is_empty() {
            return;
        }
        if let Ok(file) = self.files.open(&names::file(id, kind), Access::ReadWrite) {
            for hole in holes {
                let _ = file.punch(hole.clone());
            }
        }
    }

    pub(super) fn describe(&self, what: &str, name: &str, error: io::Error) -> StoreError {
        StoreError::io(format!("{what} {}/{name}", self.files.describe()), error)
    }
}

impl State {
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    pub(super) fn check_open(&self) -> Result<(), StoreError> {
        if self.closed { Err(StoreError::Closed) } else { Ok(()) }
    }

    pub(super) fn stop(&mut self, error: &StoreError) -> StoreError {
        let stopped = || StoreError::Stopped(Arc::new(error.clone()));
        self.refusal.get_or_insert_with(stopped).clone()
    }

    /// The length of a committed file.
    pub(super) fn size(&self, id: FileId, record: &FileRecord) -> u64 {
        let node = self.nodes.get(&id).filter(|_| !record.sealed);
        node.map_or(record.size, |node| node.lock().size)
    }
}

/// Opens the file of a record, and checks that it is as long as it must be.
pub(super) fn open_file(
    files: &PooledFiles,
    id: FileId,
    record: &FileRecord,
    access: Access,
) -> Result<Arc<dyn FileHandle>, StoreError> {
    let name = names::file(id, record.kind);
    let least = match record.kind {
        FileKind::Table | FileKind::Client => record.size,
        FileKind::Log => u64::from(record.known_end()) * BLOCK as u64,
    };
    let expected = || format!("a file of {least} bytes or more, which the journal names");
    let file = expect_file(files, &name, files.open_pooled(&name, access), expected)?;
    let region = names::path(files, &name);
    let size = file.size().map_err(|error| StoreError::io(format!("opening {region}"), error))?;
    if size < least {
        let got = format!("{size} bytes");
        return Err(StoreError::Corruption { region, offset: size, expected: expected(), got });
    }
    Ok(file)
}

/// Opens a file that must be there and be a file.
pub(super) fn open_named(
    files: &dyn Files,
    name: &str,
    access: Access,
    expected: impl Fn() -> String,
) -> Result<Arc<dyn FileHandle>, StoreError> {
    expect_file(files, name, files.open(name, access), expected)
}

/// The handle, or an error that names the object found instead of the file.
fn expect_file(
    files: &dyn Files,
    name: &str,
    opened: io::Result<Arc<dyn FileHandle>>,
    expected: impl Fn() -> String,
) -> Result<Arc<dyn FileHandle>, StoreError> {
    let region = names::path(files, name);
    opened.map_err(|error| {
        let got = match error.kind() {
            ErrorKind::NotFound => "no such file".to_owned(),
            ErrorKind::IsADirectory => error.to_string(),
            _ => return StoreError::io(format!("opening {region}"), error),
        };
        StoreError::Corruption { region, offset: 0, expected: expected(), got }
    })
}

/// Opens a log, and reads it to its end.
pub(super) fn open_log(
    files: &PooledFiles,
    uuid: Uuid,
    id: FileId,
    record: &FileRecord,
    access: Access,
) -> Result<(Arc<dyn FileHandle>, LogIndex, LogTail), StoreError> {
    let file = open_file(files, id, record, access)?;
    let blocks = record.sealed.then(|| record.extents.end());
    let name = names::path(files, &names::file(id, record.kind));
    let source = FileSource::new(&file, name, blocks)?;
    let (index, tail) = LogIndex::scan(LogScan::new(&source, uuid, id, record))?;
    Ok((file, index, tail))
}
