//! The traits of a store: [`Store`], the handles [`FileWriter`] and [`FileReader`], and
//! [`ReservedSpace`], the store's side of a [`Reservation`]. Most of the values that they take and
//! return are here, too: kinds of files, ranks, options, information on files and space, counts of
//! I/O.
//!
//! The [module](super) has the invariants, and the rules for threads.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Annotation, EarlyFlush, GroupOptions, JointRead, PendingRead, PlacementGroup, PlacementHint,
    ReadBuf, StoreError, Transaction,
};
use crate::wait::Waits;
use crate::{ByteCount, Cause, DeviceId, FileId, Users, Uuid};

impl FileId {
    /// Not a file: the place of the store's own annotation (the engine's global state).
    pub const STORE: Self = Self(0);
}

/// How a file is written and found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Written by one job and sealed; never synced before.
    Table,
    /// Synced often: a sync is one forced write and no metadata write. After a power cut it holds a
    /// prefix of the appended bytes, with all synced ones, cut between two appends.
    Log,
    /// A foreign client's file: may be created, synced and reopened any number of times; each sync
    /// is also a metadata write.
    Client,
}

/// Rank of a request for space, the most urgent first. A rank may use the space that all lower
/// ranks must leave free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// The journal: without it nothing can be deleted.
    Journal,
    /// Reclaim: frees more than it takes.
    Reclaim,
    /// Compaction: frees its inputs in the end.
    Compaction,
    /// A log that takes nothing but deletes, which in the end free space.
    UrgentLog,
    /// Flush: frees log and memory.
    Flush,
    /// The write-ahead log, and foreign clients: new data.
    Log,
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Journal => "journal",
            Self::Reclaim => "reclaim",
            Self::Compaction => "compaction",
            Self::UrgentLog => "urgent log",
            Self::Flush => "flush",
            Self::Log => "log",
        })
    }
}

/// How to create a file.
#[derive(Debug)]
pub struct CreateOptions<'a> {
    /// How it is written.
    pub kind: FileKind,
    /// Facts for placement.
    pub hint: PlacementHint,
    /// Largest size that the file can reach, where that is known. A file that becomes larger after
    /// all is only placed worse.
    pub size: Option<ByteCount>,
    /// Whose space it takes when there is no reservation, or the reservation is used up.
    pub rank: Rank,
    /// Space set aside beforehand, from the same store.
    pub reservation: Option<&'a Reservation>,
    /// The files that it shall lie with, begun with the same store.
    pub group: Option<&'a PlacementGroup>,
    /// Whether a table without a group may lie on the store's offload device. Its bytes go there as
    /// long as there is room, and otherwise where tables go; so do those of a store without one.
    pub offload: bool,
    /// The cause its writes are counted under.
    pub cause: Cause,
}

/// Space set aside for a job's worst case. The unused part comes free when the reservation is
/// dropped.
pub struct Reservation(Arc<dyn ReservedSpace>);

/// State that a store keeps for a [`Reservation`].
pub trait ReservedSpace: Send + Sync + 'static {
    /// The bytes that are set aside and not yet used.
    fn remaining(&self) -> ByteCount;

    /// See [`Reservation::admits`]. Stores in which files do not stand in each other's way admit
    /// any number.
    fn admits(&self, _files: u32, _size: ByteCount) -> bool {
        true
    }

    /// The value as `Any`, so that the store that made it finds its own type again.
    fn as_any(&self) -> &dyn std::any::Any;
}

impl Reservation {
    /// Wraps a store's own reservation; the space comes free when it is dropped.
    #[must_use]
    pub fn new(space: Arc<dyn ReservedSpace>) -> Self {
        Self(space)
    }

    /// The bytes that are set aside and not yet used.
    #[must_use]
    pub fn remaining(&self) -> ByteCount {
        self.0.remaining()
    }

    /// Whether `files` files, each of at most `size` or in a group of that size, may be written at
    /// once under this reservation. In a zoned store each file that is being written has a zone to
    /// itself: it takes one of the device's open zones, and may leave the rest of the zone unused.
    /// On a device without zones each file holds all the space that it may come to take, though it
    /// may never take it. A yes sets the space for that aside, until the reservation is dropped. A
    /// no can become a yes later. Never waits; one file always may.
    #[must_use]
    pub fn admits(&self, files: u32, size: ByteCount) -> bool {
        files <= 1 || self.0.admits(files, size)
    }

    /// The store's own reservation.
    #[must_use]
    pub fn space(&self) -> &Arc<dyn ReservedSpace> {
        &self.0
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reservation({} left)", self.remaining())
    }
}

/// A store's knowledge of one file.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// The file.
    pub id: FileId,
    /// How it is written.
    pub kind: FileKind,
    /// Length of the file in bytes; of an unsealed file, the bytes appended so far.
    pub size: u64,
    /// Whether it is sealed.
    pub sealed: bool,
    /// Its annotation.
    pub annotation: Arc<Annotation>,
    /// Its names, in order.
    pub names: Vec<String>,
}

/// How a store's space is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceInfo {
    /// All bytes that files could ever occupy.
    pub capacity: ByteCount,
    /// Bytes that can be written without reclaim.
    pub free: ByteCount,
    /// Bytes of files that exist.
    pub live: ByteCount,
    /// Bytes that nothing refers to and that come back with reclaim or a reset.
    pub dead: ByteCount,
    /// Bytes of deleted files that readers hold.
    pub pinned: ByteCount,
    /// Bytes that are set aside by reservations.
    pub reserved: ByteCount,
    /// Bytes that new data must leave, in addition to reserved ones, to writes that give space
    /// back: deletes, flushes, compaction, the journal, reclaim.
    #[serde(default)]
    pub kept: ByteCount,
    /// Bytes that are there for new data: free ones, and dead ones that are not pinned, without
    /// those reserved and kept. At 0 puts are refused.
    #[serde(default)]
    pub for_puts: ByteCount,
}

/// Use of the space of a log device: of the device that holds the journal and all logs, where a
/// store has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSpace {
    /// The device.
    pub device: DeviceId,
    /// All its bytes.
    pub size: ByteCount,
    /// How the space is used that the journal and the superblock leave: files are logs here.
    pub space: SpaceInfo,
}

/// Bytes and requests moved, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCounts {
    /// Bytes read from the medium, indexed like [`Cause::ALL`].
    #[serde(with = "super::by_cause")]
    pub read_bytes: [u64; Cause::ALL.len()],
    /// Read requests.
    #[serde(with = "super::by_cause")]
    pub reads: [u64; Cause::ALL.len()],
    /// Bytes written to the medium, padding included.
    #[serde(with = "super::by_cause")]
    pub written_bytes: [u64; Cause::ALL.len()],
    /// Write requests.
    #[serde(with = "super::by_cause")]
    pub writes: [u64; Cause::ALL.len()],
    /// Cache flushes.
    pub flushes: u64,
    /// Zones reset.
    pub zones_reset: u64,
    /// Zones finished before they were full.
    pub zones_finished: u64,
    /// Times the journal was rolled into a snapshot.
    pub journal_rolls: u64,
    /// Bytes that were read from the store's own memory instead.
    #[serde(default)]
    pub cache: CacheCounts,
}

/// Size of the store's file cache, and the reads that it has saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// The bytes of memory that it may take; 0: there is no cache.
    pub size: u64,
    /// The bytes of memory that it takes, now.
    pub used: u64,
    /// Bytes of blocks that readers found there, indexed like [`Cause::ALL`].
    #[serde(with = "super::by_cause")]
    pub hit_bytes: [u64; Cause::ALL.len()],
    /// Bytes of blocks that they did not find there.
    #[serde(with = "super::by_cause")]
    pub miss_bytes: [u64; Cause::ALL.len()],
}

impl CacheCounts {
    /// The share of the bytes read for `cause` that were found there; `None` if none were read.
    #[must_use]
    pub fn hit_share(&self, cause: Cause) -> Option<f64> {
        let (hit, missed) = (self.hit_bytes[cause as usize], self.miss_bytes[cause as usize]);
        (hit + missed > 0).then(|| hit as f64 / (hit + missed) as f64)
    }
}

impl IoCounts {
    /// The sum of both: the bytes that several devices have moved. The cache is that of `self`.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        let by_cause = [
            (&mut self.read_bytes, &others.read_bytes),
            (&mut self.reads, &others.reads),
            (&mut self.written_bytes, &others.written_bytes),
            (&mut self.writes, &others.writes),
        ];
        for (sums, others) in by_cause {
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
        self.flushes += others.flushes;
        self.zones_reset += others.zones_reset;
        self.zones_finished += others.zones_finished;
        self.journal_rolls += others.journal_rolls;
        self
    }

    /// Bytes written for `cause`.
    #[must_use]
    pub fn written(&self, cause: Cause) -> ByteCount {
        ByteCount(self.written_bytes[cause as usize])
    }

    /// Bytes read for `cause`.
    #[must_use]
    pub fn read(&self, cause: Cause) -> ByteCount {
        ByteCount(self.read_bytes[cause as usize])
    }
}

/// The only writer of a file. Dropped before the file is sealed: a file that was committed with
/// [`Change::Create`](super::Change::Create) stays unsealed, any other is gone.
///
/// Bytes appended to a log take three steps: they are *gathered* in the memory of the process until
/// there are enough of them, *written* ([`write_out`](Self::write_out)), and *synced*
/// ([`sync`](Self::sync)). A writer that is dropped loses the bytes that are only gathered.
pub trait FileWriter: Send {
    /// The file.
    fn id(&self) -> FileId;

    /// How many bytes have been appended in the file's life.
    fn len(&self) -> u64;

    /// Whether nothing has been appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes. They can be read at once, and are durable after [`sync`](Self::sync) or the
    /// commit that seals the file. One append to a log is never split by a power cut.
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError>;

    /// The same; `crc` is the CRC32C of the bytes, for a store that needs it.
    fn append_summed(&mut self, bytes: &[u8], _crc: u32) -> Result<(), StoreError> {
        self.append(bytes)
    }

    /// Hands the appended bytes of a log to the medium without making them durable: they are there
    /// after the end of the process, and a power cut may still take them. Each call can cost a
    /// block of the medium, however few bytes it hands over ([`Store::log_unit`]). For files that
    /// are no logs, the call does nothing and promises nothing.
    fn write_out(&mut self) -> Result<(), StoreError>;

    /// Begins a [`write_out`](Self::write_out) without waiting for the medium. The medium has the
    /// bytes soon, unless the process ends at once.
    fn begin_write_out(&mut self) -> Result<(), StoreError> {
        self.write_out()
    }

    /// Says anew with which files the file lies and whose space it takes, as
    /// [`CreateOptions`] did. For a file that nothing was appended to: bytes that are written stay
    /// where they are, and so does room that a log took when it was made.
    fn place(&mut self, _hint: PlacementHint, _rank: Rank) {}

    /// Waits for the writes in flight, before the caller turns to another file. In a zoned store,
    /// an idle writer can be made to give its zone to another writer; one with writes in flight
    /// cannot, and the other writer would wait. Promises nothing else.
    fn rest(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A flush of what a log has handed to the medium, for another thread to carry out while the
    /// writer goes on. The sync after it waits less, and the writes until then cost more: each is
    /// forced to the medium. `None` if the next sync would gain nothing. May wait for writes in
    /// flight; promises nothing.
    fn early_flush(&mut self) -> Option<EarlyFlush> {
        None
    }

    /// Makes everything appended so far durable.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Hands the last bytes to the medium and ends writing: the file can now be sealed, and further
    /// appends are refused. Calling it again does nothing.
    fn finish(&mut self) -> Result<(), StoreError>;

    /// The memory that its buffers take, where the file is a log; nothing once it is finished.
    /// Other writers have as much on its way as they were told to, and need not say.
    fn memory(&self) -> usize {
        0
    }
}

/// The bytes of a file in memory. They do not change as long as this lives and the store is not
/// closed.
pub type MappedFile = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A handle for reading. The bytes that the file had when it was opened stay readable until the
/// last handle is dropped, even when the file is deleted, or trimmed there. A handle of an unsealed
/// file also sees later appends.
pub trait FileReader: Send + Sync {
    /// The file.
    fn id(&self) -> FileId;

    /// The bytes that can be read now.
    fn len(&self) -> u64;

    /// Whether the file holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` with the bytes from `offset` on; all of them, or an error.
    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError>;

    /// The `len` bytes from `offset` on, in memory of their own; all of them, or an error.
    fn read(&self, offset: u64, len: usize, cause: Cause) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; len];
        self.read_at(offset, &mut bytes, cause)?;
        Ok(bytes)
    }

    /// Begins to fill `into` with the bytes from `offset` on, as [`read_at`](Self::read_at) does,
    /// and returns before they are there if the store can. The bytes are those of a moment between
    /// this call and the end of the wait.
    fn submit(&self, offset: u64, mut into: ReadBuf, cause: Cause) -> PendingRead {
        PendingRead::done(self.read_at(offset, &mut into, cause).map(|()| into))
    }

    /// Whether [`submit`](Self::submit) may return before the bytes are there. If not, nothing is
    /// gained by a submission before the bytes are needed.
    fn queues(&self) -> bool {
        true
    }

    /// The whole file, if the operating system maps it into the memory of this process. Reads of
    /// this memory count nowhere. If the operating system cannot bring a page, or another program
    /// makes the file shorter, such a read ends the process.
    ///
    /// `None`: the file is not sealed, or parts of it were trimmed; or the store maps no file, or
    /// not this one. Then it is read by the other calls.
    fn mapped(&self) -> Option<MappedFile> {
        None
    }

    /// Reads a part of this file, and by the same request those parts of `behind` that follow it on
    /// the device: each in a sealed file that begins at the end of the file before it. The parts
    /// are ranges of bytes; the request has at most `most` bytes.
    ///
    /// `None`: this file's part does not lie in one piece, or is larger; or the store does not read
    /// like this; or the request failed. Then the parts can be read one by one, which tells the
    /// error.
    fn read_joint(
        &self,
        _part: Range<u64>,
        _behind: &[(FileId, Range<u64>)],
        _most: ByteCount,
        _cause: Cause,
    ) -> Option<JointRead> {
        None
    }
}

/// A place that keeps files; see the [module](super) for the rules.
pub trait Store: Send + Sync + 'static {
    /// Starts a file. It exists for others once it is committed.
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError>;

    /// Goes on appending to an unsealed file that has no writer, after its surviving bytes.
    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError>;

    /// Opens a file for reading, sealed or not.
    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError>;

    /// Applies a transaction as a whole; it is durable when this returns.
    fn commit(&self, transaction: Transaction) -> Result<(), StoreError>;

    /// The store's knowledge of a file, or `None` if no file has this id. For [`FileId::STORE`],
    /// the store's own annotation.
    fn info(&self, id: FileId) -> Option<FileInfo>;

    /// The file of this name.
    fn lookup(&self, name: &str) -> Option<FileId>;

    /// All committed files, by id.
    fn list(&self) -> Vec<FileInfo>;

    /// Sets aside space for a job's worst case, waiting for reclaim where that helps.
    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError>;

    /// Waits until reclaim rests that begins by itself: until enough is free, or nothing more is
    /// worth it. Not at all where nothing is reclaimed so.
    fn await_reclaim(&self) {}

    /// Begins a group of files that shall lie together; see [`PlacementGroup`]. Without a wait, and
    /// without an error where space is short. A store that does not choose where files lie returns
    /// a group that changes nothing.
    fn begin_group(&self, _options: &GroupOptions<'_>) -> Result<PlacementGroup, StoreError> {
        Ok(PlacementGroup::unplaced())
    }

    /// How the space is used: that of tables, where logs have a device of their own.
    fn space(&self) -> SpaceInfo;

    /// How the space of the log device is used; `None` if logs lie where tables do.
    fn log_space(&self) -> Option<LogSpace>;

    /// How the space of the offload device is used; `None` if the store has none.
    fn offload_space(&self) -> Option<SpaceInfo> {
        None
    }

    /// Bytes that flushes have written to the offload device since the store was mounted.
    fn offloaded_bytes(&self) -> ByteCount {
        ByteCount(0)
    }

    /// Whether bytes of a file lie on the offload device.
    fn is_offloaded(&self, _file: FileId) -> bool {
        false
    }

    /// Whether bytes of a file lie on a device that is lost: they cannot be read any more.
    fn is_lost(&self, _file: FileId) -> bool {
        false
    }

    /// Whether the medium turns under a head, so that jobs that run together send it back and
    /// forth; `false` where that is not known.
    fn rotational(&self) -> bool;

    /// Whether jobs are to keep the medium's queue short, so that the syncs of the log, for which
    /// writers wait, come to their turn sooner.
    fn keeps_queue_short(&self) -> bool {
        false
    }

    /// Least growth of a log each time that appended bytes are handed to the medium
    /// ([`FileWriter::write_out`]): a block of a drive.
    fn log_unit(&self) -> ByteCount;

    /// Claims on the store: an engine claims the store before it looks at it. A store that wraps
    /// another one returns the claims of the inner one.
    fn users(&self) -> &Users;

    /// Identity of the store, drawn at random when it was made, and kept with it; `None` if it has
    /// none. A store that wraps another one returns that of the inner one.
    fn uuid(&self) -> Option<Uuid> {
        None
    }

    /// Bytes and requests moved since the store was mounted, by cause.
    fn io(&self) -> IoCounts;

    /// Waits in the store since it was mounted, of its callers and of its own actors, by cause.
    fn waits(&self) -> Waits;
}
