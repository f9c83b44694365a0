//! [`MemoryStore`]: the store in memory, with calls to configure it, to make operations fail, and
//! to cut the power or end the process. The [module](super) has the fault model.
//!
//! A crash returns a new store, with the files, names and annotations that survive, and with the
//! capacity and the delays of the old one. Reservations, counts, planned failures and open handles
//! stay with the old store, which works on.

use std::sync::Arc;
use std::time::Duration;

use super::catalog::{Body, Catalog, Content, Record};
use super::handles::{MemoryReader, MemoryWriter};
use super::space::{Capacity, MemoryReservation, Reserved};
use crate::random::{Random, Rng};
use crate::store::{
    CreateOptions, FileInfo, FileKind, FileReader, FileWriter, IoCounts, LogSpace, Rank,
    Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use crate::sync::{Mutex, assert_no_lock_held};
use crate::wait::{WaitCause, WaitCounts, Waits};
use crate::{ByteCount, Cause, FileId, Users, Uuid, runner};

/// Kinds of crash: the fate of appended bytes that were not synced (power cut), or not written (end
/// of the process).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashMode {
    /// The process ends. Written bytes are kept, and of each log a random number of appends that
    /// were only gathered.
    EndProcess,
    /// All unsynced appends are lost.
    DropUnsynced,
    /// All unsynced appends are kept.
    KeepUnsynced,
    /// A random prefix of each file is kept.
    TearUnsynced,
}

/// How long an injected failure lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The one operation fails.
    Once,
    /// The operation and all later ones that write fail; reads work.
    Sticky,
}

/// The longest that each kind of operation takes; how long is drawn evenly from zero up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// An append, and a finish.
    pub append: Duration,
    /// A sync.
    pub sync: Duration,
    /// A commit: half of it before the transaction is durable, half after.
    pub commit: Duration,
    /// A read.
    pub read: Duration,
}

impl Latency {
    /// The same for all operations.
    #[must_use]
    pub fn uniform(max: Duration) -> Self {
        Self { append: max, sync: max, commit: max, read: max }
    }
}

/// A store in memory; see the [module](super) for the faults it can have. Clones share the files.
#[derive(Clone)]
pub struct MemoryStore(pub(super) Arc<Shared>);

/// State shared by a store and its handles.
#[derive(Default)]
pub(super) struct Shared(pub(super) Mutex<State>, WaitCounts, Users);

pub(super) struct State {
    pub(super) catalog: Catalog,
    pub(super) io: IoCounts,
    /// Drawn when it is first asked for, so that other stores take no randomness.
    uuid: Option<Uuid>,
    next_id: u64,
    capacity: Capacity,
    reservations: Vec<Arc<Reserved>>,
    latency: Latency,
    random: Random,
    operations: u64,
    fault: Option<(u64, Failure)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            catalog: Catalog::default(),
            io: IoCounts::default(),
            uuid: None,
            next_id: 1,
            capacity: Capacity::UNLIMITED,
            reservations: Vec::new(),
            latency: Latency::default(),
            random: Random::seeded(0),
            operations: 0,
            fault: None,
        }
    }
}

/// An operation that can be slow and can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Append,
    WriteOut,
    Sync,
    Finish,
    Commit,
    Read,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store of unlimited capacity, without faults or delays.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Limits the capacity. A rank must leave `step` bytes free for each rank more urgent than it.
    #[must_use]
    pub fn with_capacity(self, total: ByteCount, step: ByteCount) -> Self {
        self.0.0.lock().capacity = Capacity { total: total.0, step: step.0 };
        self
    }

    /// Makes operations take time, drawn from `seed`.
    #[must_use]
    pub fn with_latency(self, seed: u64, latency: Latency) -> Self {
        let mut state = self.0.0.lock();
        state.latency = latency;
        state.random = Random::seeded(seed);
        drop(state);
        self
    }

    /// How many appends, write-outs of something, syncs, finishes, commits and reads have been
    /// asked for.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.0.0.lock().operations
    }

    /// Makes the operation number `nth` fail, counted like [`operations`](Self::operations) from
    /// zero; replaces an earlier request.
    pub fn fail_at(&self, nth: u64, failure: Failure) {
        self.0.0.lock().fault = Some((nth, failure));
    }

    /// Takes back [`fail_at`](Self::fail_at).
    pub fn heal(&self) {
        self.0.0.lock().fault = None;
    }

    /// A store with the state that would be found again if the power were cut now. This one works
    /// on, so that actors that still use it come to an end.
    #[must_use]
    pub fn crash(&self, mode: CrashMode, random: &mut Random) -> Self {
        self.survivor(|_, kind, content| match mode {
            CrashMode::EndProcess if kind == FileKind::Log => {
                let written = content.written;
                let gathered = content.ends.partition_point(|end| *end <= written);
                let kept = random.random_range(gathered..=content.ends.len());
                kept.checked_sub(1).map_or(written, |last| content.ends[last].max(written))
            }
            CrashMode::EndProcess => content.bytes.len(),
            CrashMode::DropUnsynced => content.durable,
            CrashMode::KeepUnsynced => content.bytes.len(),
            CrashMode::TearUnsynced if kind == FileKind::Log => {
                let kept = random.random_range(0..=content.ends.len());
                kept.checked_sub(1).map_or(content.durable, |last| content.ends[last])
            }
            CrashMode::TearUnsynced => random.random_range(content.durable..=content.bytes.len()),
        })
    }

    /// A store with all committed files, of which each unsealed one keeps the number of bytes that
    /// `keep` returns.
    pub(in crate::store) fn survivor(
        &self,
        mut keep: impl FnMut(FileId, FileKind, &Content) -> usize,
    ) -> Self {
        let mut state = self.0.0.lock();
        let mut catalog =
            Catalog { annotation: Arc::clone(&state.catalog.annotation), ..Catalog::default() };
        catalog.names.clone_from(&state.catalog.names);
        for (id, record) in state.catalog.files.iter().filter(|(_, record)| record.committed) {
            let mut content = record.body.content.lock().clone();
            if !record.sealed {
                let kept = keep(*id, record.kind, &content);
                content.truncate(kept);
            }
            let body = Arc::new(Body { id: *id, content: Mutex::new(content) });
            let record = Record { has_writer: false, finished: false, body, ..record.clone() };
            catalog.files.insert(*id, record);
        }
        let survivor = State {
            catalog,
            uuid: state.uuid,
            next_id: state.next_id,
            capacity: state.capacity,
            latency: state.latency,
            random: state.random.fork(),
            ..State::default()
        };
        Self(Arc::new(Shared(Mutex::new(survivor), WaitCounts::default(), Users::default())))
    }
}

impl State {
    /// Bytes of files that exist, and bytes of deleted files that are still read.
    fn live_and_pinned(&mut self) -> (u64, u64) {
        let live = self.catalog.files.values().map(Record::occupied).sum();
        self.catalog.deleted.retain(|body| body.strong_count() > 0);
        let held = self.catalog.deleted.iter().filter_map(std::sync::Weak::upgrade);
        let pinned = held.map(|body| body.content.lock().bytes.len() as u64).sum();
        (live, pinned)
    }

    fn reserved(&self) -> u64 {
        self.reservations.iter().map(|reserved| reserved.remaining()).sum()
    }

    /// Whether appends have to watch the capacity.
    pub(super) fn is_limited(&self) -> bool {
        self.capacity.total < Capacity::UNLIMITED.total
    }

    /// Lets `rank` take `bytes` that no reservation covers.
    pub(super) fn take_space(&mut self, rank: Rank, bytes: u64) -> Result<(), StoreError> {
        let (live, pinned) = self.live_and_pinned();
        self.capacity.check(rank, bytes, live + self.reserved(), pinned)
    }
}

impl Shared {
    /// The first half of every operation that can be slow or fail: counts it, and takes its time.
    pub(super) fn begin(&self, operation: Operation, cause: Cause) -> Result<(), StoreError> {
        assert_no_lock_held("a store call");
        let mut state = self.0.lock();
        let number = state.operations;
        state.operations += 1;
        let fails = match state.fault {
            Some((nth, Failure::Once)) => number == nth,
            Some((nth, Failure::Sticky)) => {
                number == nth || (number > nth && operation != Operation::Read)
            }
            None => false,
        };
        drop(state);
        self.delay(operation, cause);
        if fails {
            let what = format!("{operation:?} (operation {number})").to_lowercase();
            return Err(StoreError::io(what, std::io::Error::other("an injected failure")));
        }
        Ok(())
    }

    /// Sleeps for as long as the operation takes; half as long for each half of a commit.
    fn delay(&self, operation: Operation, cause: Cause) {
        let mut state = self.0.lock();
        let latency = state.latency;
        let longest = match operation {
            Operation::Append | Operation::Finish => latency.append,
            // Taken together with the appends.
            Operation::WriteOut => Duration::ZERO,
            Operation::Sync => latency.sync,
            Operation::Commit => latency.commit / 2,
            Operation::Read => latency.read,
        };
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        if longest == 0 {
            return;
        }
        let delay = Duration::from_nanos(state.random.random_range(0..=longest));
        drop(state);
        self.1.during(WaitCause::Device(cause), || runner::sleep(delay));
    }

    /// Gives back the remainder of a reservation.
    pub(super) fn release(&self, reserved: &Arc<Reserved>) {
        let mut state = self.0.lock();
        reserved.take(u64::MAX);
        state.reservations.retain(|other| !Arc::ptr_eq(other, reserved));
    }
}

impl Store for MemoryStore {
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        let reserved = match options.reservation {
            Some(reservation) => {
                let own = reservation.space().as_any().downcast_ref::<MemoryReservation>();
                let own = own.filter(|own| Arc::ptr_eq(&own.shared, &self.0)).ok_or_else(|| {
                    StoreError::Invalid("expected a reservation of this store".to_owned())
                })?;
                Some(Arc::clone(&own.reserved))
            }
            None => None,
        };
        let mut state = self.0.0.lock();
        let id = FileId(state.next_id);
        state.next_id += 1;
        let record = Record::new(id, options.kind);
        let body = Arc::clone(&record.body);
        state.catalog.files.insert(id, record);
        let shared = Arc::clone(&self.0);
        let (rank, cause) = (options.rank, options.cause);
        Ok(Box::new(MemoryWriter { shared, body, rank, cause, reserved }))
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        let mut state = self.0.0.lock();
        let record = state.catalog.files.get_mut(&id).filter(|record| record.committed);
        let record = record.ok_or(StoreError::NotFound(id))?;
        if record.sealed || record.has_writer {
            return Err(record.wrong_state("an unsealed file without a writer"));
        }
        record.has_writer = true;
        let cause = if record.kind == FileKind::Log { Cause::Log } else { Cause::Client };
        let body = Arc::clone(&record.body);
        let shared = Arc::clone(&self.0);
        Ok(Box::new(MemoryWriter { shared, body, rank: Rank::Log, cause, reserved: None }))
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let state = self.0.0.lock();
        let record = state.catalog.committed(id).ok_or(StoreError::NotFound(id))?;
        let (body, trims) = (Arc::clone(&record.body), Arc::clone(&record.trims));
        Ok(Arc::new(MemoryReader { shared: Arc::clone(&self.0), body, trims }))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        self.0.begin(Operation::Commit, Cause::Journal)?;
        let mut state = self.0.0.lock();
        state.catalog.apply(&transaction)?;
        state.io.writes[Cause::Journal as usize] += 1;
        state.io.flushes += 1;
        drop(state);
        self.0.delay(Operation::Commit, Cause::Journal);
        Ok(())
    }

    fn info(&self, id: FileId) -> Option<FileInfo> {
        let state = self.0.0.lock();
        if id == FileId::STORE {
            let annotation = Arc::clone(&state.catalog.annotation);
            let (kind, names) = (FileKind::Table, Vec::new());
            return Some(FileInfo { id, kind, size: 0, sealed: true, annotation, names });
        }
        state.catalog.committed(id).map(Record::info)
    }

    fn lookup(&self, name: &str) -> Option<FileId> {
        self.0.0.lock().catalog.names.get(name).copied()
    }

    fn list(&self) -> Vec<FileInfo> {
        let state = self.0.0.lock();
        let committed = state.catalog.files.values().filter(|record| record.committed);
        committed.map(Record::info).collect()
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        let mut state = self.0.0.lock();
        state.take_space(rank, bytes.0)?;
        let reserved = Arc::new(Reserved::new(bytes.0));
        state.reservations.push(Arc::clone(&reserved));
        let shared = Arc::clone(&self.0);
        Ok(Reservation::new(Arc::new(MemoryReservation { shared, reserved })))
    }

    fn space(&self) -> SpaceInfo {
        let mut state = self.0.0.lock();
        let (live, pinned) = state.live_and_pinned();
        let (capacity, reserved) = (state.capacity.total, state.reserved());
        let free = capacity.saturating_sub(live + pinned + reserved);
        let for_puts = state.capacity.available(Rank::Log, live + pinned + reserved);
        SpaceInfo {
            capacity: ByteCount(capacity),
            free: ByteCount(free),
            kept: ByteCount(state.capacity.step * Rank::Log as u64),
            for_puts: ByteCount(for_puts),
            live: ByteCount(live),
            dead: ByteCount(0),
            pinned: ByteCount(pinned),
            reserved: ByteCount(reserved),
        }
    }

    fn log_space(&self) -> Option<LogSpace> {
        None
    }

    fn rotational(&self) -> bool {
        false
    }

    fn log_unit(&self) -> ByteCount {
        ByteCount(0)
    }

    fn users(&self) -> &Users {
        &self.0.2
    }

    fn uuid(&self) -> Option<Uuid> {
        let mut state = self.0.0.lock();
        Some(*state.uuid.get_or_insert_with(|| runner::fork_random().uuid()))
    }

    fn io(&self) -> IoCounts {
        self.0.0.lock().io.clone()
    }

    fn waits(&self) -> Waits {
        self.0.1.read()
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryStore({} files)", self.0.0.lock().catalog.files.len())
    }
}
