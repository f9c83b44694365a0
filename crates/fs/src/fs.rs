//! [`Fs`]: the [`Store`] on devices. This file has the calls of the trait, and some more for
//! programs, such as to unmount; `format`, `mount`, `check` and `reclaim`, for example, have files
//! of their own. The work is done by the [`Volume`], by writers and readers of files, and by the
//! pools of space.
//!
//! # Threads
//! Calls that create, open, reopen, read, write, commit or reserve can wait for devices or space.
//! So can calls that begin a group, roll the journal, forget a device or unmount, and dropping the
//! store. The caller must hold no lock over any of these. The calls of
//! this file that ask for names, files and counts, such as `lookup`, `info` and `io`, take locks
//! and wait for no device.

use std::sync::Arc;

use terrace_env::store::{
    CreateOptions, FileInfo, FileKind, FileReader, FileWriter, GroupOptions, IoCounts, LogSpace,
    PlacementGroup, PlacementHint, Rank, Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, Cause, Claim, DeviceId, FileId, Users, Uuid};
use terrace_policy::{Placement, RECLAIM_STREAM, Reclaim};
use terrace_zone::{Device as _, Geometry};

use crate::BLOCK;
use crate::cache::CachePolicy;
use crate::catalog::FileRecord;
use crate::file::{Body, DataWriter, FileState, LogEnd, LogWriter, OpenFile, Pin, Reader, Tail};
use crate::frame::Binding;
use crate::mount::Access;
use crate::reclaim::Reclaimer;
use crate::space::{Ask, Group, GroupLease, Member, Reserved};
use crate::volume::Volume;
use crate::watch::Watch;

/// The sequence of a log's first frame.
const FIRST_SEQUENCE: u64 = 1;

/// Files on a device: in its zones, on its shingled tracks or anywhere on a plain one. A second,
/// plain device may hold the journal and the logs, or offloaded tables. Made by [`Fs::mount`].
///
/// # Threads
/// Everything may be called from any actor. A background actor reclaims space while the store is
/// mounted for writing; [`unmount`](Fs::unmount), or dropping the last handle, ends it.
///
/// # Users
/// A device is mounted once for writing, or any number of times for reading, in a process; it is
/// free for another mount as soon as this one is unmounted or dropped. Handles that are left then
/// reach the device no more.
pub struct Fs {
    pub(crate) volume: Arc<Volume>,
    pub(crate) access: Access,
    /// Of a mount next to a writer.
    pub(crate) watch: Option<Watch>,
    pub(crate) reclaimer: Option<Arc<Reclaimer>>,
    pub(crate) background: Mutex<Option<terrace_env::runner::JoinHandle<()>>>,
    /// Claims of the devices, until the store is unmounted.
    pub(crate) claims: Mutex<Vec<Claim>>,
    /// The users of the store.
    pub(crate) users: Users,
}

impl std::fmt::Debug for Fs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { volume, access, .. } = self;
        f.debug_struct("Fs").field("uuid", &volume.uuid).field("access", access).finish()
    }
}

impl Fs {
    /// The store's identity.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.volume.uuid
    }

    /// Goes on under other deciders than those of the mount. Bytes already written stay where they
    /// are.
    pub fn decide_by(&self, placement: Arc<dyn Placement>, reclaim: Arc<dyn Reclaim>) {
        self.volume.pools.decide_by(placement, reclaim);
    }

    /// Sets about how many bytes a job has in flight at once: writers of tables and reclaim write
    /// by halves of it. Default: 2 MiB.
    pub fn set_io_size(&self, io_size: ByteCount) {
        let blocks = io_size.0 / 2 / BLOCK as u64;
        self.volume.set_write_blocks(u32::try_from(blocks).unwrap_or(u32::MAX));
    }

    /// Sets the most bytes in a frame of logs that get a writer from now on; it is no more than a
    /// large write, and a limit below 64 KiB counts as 64 KiB. When writes do not get through, nine
    /// times as much of the written log is in memory. Default: 1 MiB.
    pub fn set_log_frame(&self, size: ByteCount) {
        self.volume.set_log_frame_bytes(usize::try_from(size.0).unwrap_or(usize::MAX));
    }

    /// Sets the bytes after which jobs flush each device of the store; with 0 they never do.
    /// Default: [`FLUSH_EVERY`](crate::FLUSH_EVERY) on disks, so that a put does not wait until a
    /// full write cache has reached the medium, and 0 on other devices.
    pub fn set_flush_every(&self, bytes: ByteCount) {
        for medium in self.volume.media.present() {
            medium.set_flush_every(bytes.0);
        }
    }

    /// From now on keeps up to `size` of the bytes written to files in memory, and drops them as
    /// the policy says. With 0, as after the mount, nothing is kept.
    pub fn set_cache(&self, size: ByteCount, policy: CachePolicy) {
        self.volume.cache.set(size, policy);
    }

    /// The capacity of the device of the tables, which does not change as the journal grows.
    #[must_use]
    pub fn device_capacity(&self) -> ByteCount {
        self.volume.media.tables().geometry().capacity()
    }

    /// The capacity of an ordinary zone of the device of the tables; `None` if it has no zones.
    #[must_use]
    pub fn zone_capacity(&self) -> Option<ByteCount> {
        let zoned = self.volume.pools.zoned()?;
        Some(ByteCount(u64::from(zoned.zone_blocks()) * BLOCK as u64))
    }

    /// The shape of the device of the tables.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        self.volume.media.tables().geometry()
    }

    /// The longest guard of a table on shingled tracks, as
    /// [`Geometry::guard_max`](terrace_zone::Geometry::guard_max) has it.
    #[must_use]
    pub fn guard_max(&self) -> ByteCount {
        self.volume.media.tables().geometry().guard_max()
    }

    /// On shingled tracks, the bytes of the tables' device that puts leave to the journal, deletes,
    /// flushes, compaction and reclaim, with the guards of these. 0 elsewhere.
    #[must_use]
    pub fn kept_on_tracks(&self) -> ByteCount {
        let pool = self.volume.pools.tables_without_zones();
        pool.map_or(ByteCount(0), |pool| pool.kept_on_tracks())
    }

    /// Ends background work and waits for it, records where every log ends, so that a later opening
    /// knows missing bytes before it to be lost, and gives the device up. Everything committed is
    /// durable already; requests of handles that are still open fail from now on if they need the
    /// device. Calling it again does nothing.
    ///
    /// Where the ends cannot be recorded, or a log still has a writer, nothing is lost: the store
    /// is then as after a crash.
    pub fn unmount(&self) {
        self.volume.pools.stop_reclaim();
        let background = self.background.lock().take();
        if let Some(actor) = background {
            actor.join();
        }
        if self.access == Access::ReadWrite {
            let _ = self.volume.record_ends();
        }
        self.give_up_devices();
    }

    fn give_up_devices(&self) {
        self.volume.media.shut();
        let claims = std::mem::take(&mut *self.claims.lock());
        drop(claims);
    }

    /// Rolls the journal into a snapshot now.
    pub fn roll_journal(&self) -> Result<(), StoreError> {
        self.volume.journal.roll()
    }

    /// Makes the store one on device 0 alone, after its [offload
    /// device](crate::superblock::Role::Offload) was lost
    /// ([`Devices::without_offload`](crate::Devices::without_offload)). An error if a file still
    /// has blocks on that device: delete such files first.
    pub fn forget_offload(&self) -> Result<(), StoreError> {
        self.writable("to forget a device")?;
        if !self.volume.media.is_offload_lost() {
            return Err(StoreError::Invalid(
                "expected a store that is mounted without its offload device".into(),
            ));
        }
        let mut left = 0;
        let device = DeviceId(1);
        self.volume.for_each_file(|_, record| {
            left += u64::from(record.extents.extents().any(|extent| extent.device() == device));
        });
        if left > 0 {
            let expected = "expected no file on the lost offload device";
            return Err(StoreError::Invalid(format!("{expected}, found {left}")));
        }
        // Replay must not meet an address of that device.
        // The first roll may be one that was running before such files were deleted.
        self.volume.journal.roll()?;
        self.volume.journal.roll()?;
        self.volume.journal.forget_others()
    }

    fn writable(&self, what: &'static str) -> Result<(), StoreError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly | Access::Beside => Err(StoreError::ReadOnly(what)),
        }
    }

    fn ask(
        &self,
        hint: PlacementHint,
        kind: FileKind,
        rank: Rank,
        reservation: u64,
        cause: Cause,
    ) -> Ask {
        Ask { hint, kind, rank, reservation, least: 1, left: None, cause }
    }

    fn writer(
        &self,
        file: &Arc<OpenFile>,
        part: (Ask, Member),
        reserved: Option<&Reserved>,
        offload: bool,
    ) -> Box<dyn FileWriter> {
        let (volume, file) = (Arc::clone(&self.volume), Arc::clone(file));
        let meter = reserved.map(Reserved::meter);
        let end = file.lock().log_end;
        match end {
            Some(end) => {
                let mut writer = LogWriter::new(volume, file, part, meter, end);
                writer.lease_early();
                Box::new(writer)
            }
            None => {
                let writer = DataWriter::new(volume, file, part, meter);
                Box::new(if offload { writer.offloaded() } else { writer })
            }
        }
    }

    /// The store's side of the reservation in the options.
    fn reserved<'a>(
        &self,
        reservation: Option<&'a Reservation>,
    ) -> Result<Option<&'a Reserved>, StoreError> {
        let Some(reservation) = reservation else { return Ok(None) };
        let reserved = reservation.space().as_any().downcast_ref::<Reserved>();
        match reserved.filter(|reserved| reserved.is_of(self.volume.pools.tables())) {
            Some(reserved) => Ok(Some(reserved)),
            None => Err(StoreError::Invalid(
                "expected a reservation made by this store, found another store's".into(),
            )),
        }
    }

    /// The store's side of the group in the options.
    fn group(&self, options: &CreateOptions<'_>) -> Result<Option<Arc<Group>>, StoreError> {
        let Some(group) = options.group else { return Ok(None) };
        let lease = group.space().and_then(|space| space.as_any().downcast_ref::<GroupLease>());
        let pool = self.volume.pools.of_kind(options.kind);
        match lease.and_then(|lease| lease.of(pool)) {
            Some(group) => Ok(Some(Arc::clone(group))),
            None => Err(StoreError::Invalid(
                "expected a group begun with this store, for files on the same device, found \
                 another"
                    .into(),
            )),
        }
    }

    /// Streams of jobs; reclaim has one of its own.
    fn check_stream(hint: &PlacementHint) -> Result<(), StoreError> {
        if hint.stream != RECLAIM_STREAM {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "expected a stream below {RECLAIM_STREAM}, which is reclaim's own"
        )))
    }

    /// Gives an unsealed file a writer, unless it has one.
    fn take_over(&self, id: FileId) -> Result<Arc<OpenFile>, StoreError> {
        let wrong = |expected, got| Err(StoreError::WrongState { id, expected, got });
        let Some(file) = self.volume.unsealed(id) else {
            self.volume.journal.read(|catalog| catalog.file(id).map(drop))?;
            return wrong("an unsealed file", "a sealed one");
        };
        let mut state = file.lock();
        if !state.committed {
            return Err(StoreError::NotFound(id));
        }
        if state.has_writer {
            return wrong("a file without a writer", "one that is being written");
        }
        if state.log_end.is_some_and(|end| end.broken) {
            return wrong("a log that ends with a whole append", "a log whose writer failed");
        }
        (state.has_writer, state.finished) = (true, false);
        drop(state);
        Ok(file)
    }

    /// Puts the bytes of a file's last, partial block back into the buffer that is written next.
    fn load_partial_block(&self, file: &OpenFile) -> Result<(), StoreError> {
        let (size, buffered) = {
            let mut state = file.lock();
            let size = state.size;
            let tail = state.tail();
            (size, u64::from(tail.at) * BLOCK as u64 + tail.buffer.len() as u64)
        };
        if buffered == size {
            return Ok(());
        }
        let start = size - size % BLOCK as u64;
        let mut partial = terrace_env::IoBuf::zeroed((size - start) as usize);
        let from = (&*self.volume.media, &self.volume.cache);
        file.read_at(from, start, &mut partial, Cause::Client)?;
        let mut state = file.lock();
        let tail = state.tail();
        tail.at = (start / BLOCK as u64) as u32;
        tail.buffer = partial;
        Ok(())
    }
}

impl Store for Fs {
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        self.writable("a new file")?;
        Self::check_stream(&options.hint)?;
        let reserved = self.reserved(options.reservation)?;
        let member = Member::of(self.group(options)?);
        let id = self.volume.journal.new_file();
        let pin = Pin::new(&self.volume.pools);
        let state = match options.kind {
            FileKind::Log => {
                let epoch = self.volume.journal.epoch();
                let binding = Binding { uuid: self.volume.uuid, owner: id.0, epoch };
                let cursor = binding.start(FIRST_SEQUENCE);
                let synced = FIRST_SEQUENCE;
                let (broken, failed) = (false, false);
                let end = LogEnd { epoch, cursor, block: 0, synced, broken, failed };
                FileState { log_end: Some(end), ..FileState::empty_log(pin) }
            }
            FileKind::Table | FileKind::Client => {
                FileState::empty(pin, Body::Growing(Tail::default()))
            }
        };
        let file = Arc::new(OpenFile::new(id, options.kind, state));
        self.volume.register(&file);
        let reservation = reserved.map_or(0, Reserved::id);
        let hint = options.hint;
        let ask = self.ask(hint, options.kind, options.rank, reservation, options.cause);
        let part = (Ask { left: options.size, ..ask }, member);
        let offload = options.offload && options.kind == FileKind::Table && options.group.is_none();
        Ok(self.writer(&file, part, reserved, offload))
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        self.writable("an append")?;
        let file = self.take_over(id)?;
        if file.kind != FileKind::Log
            && let Err(error) = self.load_partial_block(&file)
        {
            file.lock().has_writer = false;
            return Err(error);
        }
        let hint = self.volume.journal.read(|catalog| {
            catalog.get(id).map(|record| record.annotation.hint).unwrap_or_default()
        });
        let cause = if file.kind == FileKind::Log { Cause::Log } else { Cause::Client };
        let ask = self.ask(hint, file.kind, Rank::Log, 0, cause);
        Ok(self.writer(&file, (ask, Member::of(None)), None, false))
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let file = self.volume.open(id)?;
        Ok(Arc::new(Reader::new(Arc::clone(&self.volume), file)))
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        self.writable("a commit")?;
        if transaction.is_empty() {
            return Ok(());
        }
        self.volume.commit(&transaction)
    }

    fn info(&self, id: FileId) -> Option<FileInfo> {
        let mut info = self.volume.journal.read(|catalog| catalog.info(id))?;
        self.volume.refresh(&mut info);
        Some(info)
    }

    fn lookup(&self, name: &str) -> Option<FileId> {
        self.volume.journal.read(|catalog| catalog.lookup(name))
    }

    fn list(&self) -> Vec<FileInfo> {
        let mut files: Vec<FileInfo> = self
            .volume
            .journal
            .read(|catalog| catalog.files().map(|(id, record)| record.info(id)).collect());
        for info in files.iter_mut().filter(|info| !info.sealed) {
            self.volume.refresh(info);
        }
        files
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        self.writable("a reservation")?;
        let reserved = Arc::clone(self.volume.pools.tables()).reserve(rank, bytes)?;
        Ok(Reservation::new(Arc::new(reserved)))
    }

    fn await_reclaim(&self) {
        self.wait_reclaim_idle();
    }

    fn begin_group(&self, options: &GroupOptions<'_>) -> Result<PlacementGroup, StoreError> {
        self.writable("a group")?;
        let &GroupOptions { kind, hint, size, rank, reservation, cause } = options;
        Self::check_stream(&hint)?;
        let reservation = self.reserved(reservation)?.map_or(0, Reserved::id);
        let ask = self.ask(hint, kind, rank, reservation, cause);
        let pool = Arc::clone(self.volume.pools.of_kind(kind));
        Ok(PlacementGroup::new(Box::new(Group::begin(pool, ask, size))))
    }

    fn space(&self) -> SpaceInfo {
        self.volume.pools.tables().room()
    }

    fn log_space(&self) -> Option<LogSpace> {
        if !self.volume.media.has_log_device() {
            return None;
        }
        let space = self.volume.pools.of_kind(FileKind::Log).room();
        let medium = self.volume.media.logs();
        Some(LogSpace { device: medium.id(), size: medium.geometry().capacity(), space })
    }

    fn offload_space(&self) -> Option<SpaceInfo> {
        Some(self.volume.pools.offload()?.room())
    }

    fn offloaded_bytes(&self) -> ByteCount {
        let medium = self.volume.media.offload();
        medium.map_or(ByteCount(0), |medium| medium.io().written(Cause::Flush))
    }

    fn is_offloaded(&self, file: FileId) -> bool {
        let Some(medium) = self.volume.media.offload() else { return false };
        let holds = |record: &FileRecord| {
            record.extents.extents().any(|extent| extent.device() == medium.id())
        };
        self.volume.journal.read(|catalog| catalog.get(file).is_some_and(holds))
    }

    fn is_lost(&self, file: FileId) -> bool {
        self.volume.media.is_offload_lost() && self.is_offloaded(file)
    }

    fn rotational(&self) -> bool {
        self.volume.media.tables().geometry().rotational
    }

    fn keeps_queue_short(&self) -> bool {
        self.volume.flushes_for_jobs(FileKind::Table)
    }

    fn log_unit(&self) -> ByteCount {
        ByteCount(BLOCK as u64)
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn uuid(&self) -> Option<Uuid> {
        Some(self.volume.uuid)
    }

    fn io(&self) -> IoCounts {
        let rolls = self.volume.journal.rolls();
        let cache = self.volume.cache.counts();
        IoCounts { journal_rolls: rolls, cache, ..self.volume.media.io() }
    }

    fn waits(&self) -> Waits {
        self.volume.waits()
    }
}

impl Drop for Fs {
    fn drop(&mut self) {
        self.volume.pools.stop_reclaim();
        // Reclaim looks between two steps whether it is to end, so this waits for one at most. A
        // panic must not become two; then reclaim ends because no request passes any more.
        if std::thread::panicking() {
            self.give_up_devices();
        } else {
            self.unmount();
        }
    }
}
