//! [`Medium`]: a device in the file system's blocks, with its requests counted, reads and writes by
//! cause.
//!
//! - **Shape**: a device without zones is shown as conventional zones of [`STRETCH`] blocks, its
//!   *stretches*. So code that takes zones can take stretches instead. A request may cross from one
//!   stretch to the next.
//! - **Counts**: the medium is itself a [`Device`]. It counts a request when it is submitted, even
//!   if it fails later, because a failed write may have moved bytes. It does not count reports,
//!   requests to open or close a zone, and requests that it refuses. The time that actors wait for
//!   requests is counted by cause, too.
//! - **Flushes**: after a flush has failed, later ones fail; see [`Flushes`]. Jobs flush a disk
//!   after each [`FLUSH_EVERY`] bytes ([`Medium::flush_if_due`]), and so does a client's file while
//!   others flush ([`Medium::flush_if_shared`]). Otherwise a sync of the log, for
//!   which a put waits, would find a full write cache, and would have to wait until the disk has
//!   emptied it.
//! - **Shutting**: a medium that is *shut* refuses requests and reports with `Unmounted`. Another
//!   mount may own the device by then, and a write by an old handle would destroy its data. A shut
//!   medium has given up its device, and with it the lock of an image, even if handles of the store
//!   are left. Shutting waits for requests that are just being handed over, and for reads in
//!   flight, unless a panic unwinds. Another request in flight keeps the device until it has been
//!   waited for.
//!
//! # Threads
//! Any number of requests may be in flight. Submitting does not wait for the request. Waiting for a
//! flush also waits for earlier ones. No lock is held over either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::store::IoCounts;
use terrace_env::sync::{Mutex, RwLock};
use terrace_env::wait::{WaitCause, WaitCounts};
use terrace_env::{ByteCount, Cause, DeviceId, FastMap, IoBuf, Users, ZoneId, runner};
use terrace_zone::{
    Completion, Device, DeviceError, Geometry, Layout, Op, Request, Ticket, ZoneReport, ZoneState,
};

use crate::block::{BLOCK, logical_per_block};
use crate::canary::{self, Rule};
use crate::flushes::{Flush, Flushes};
use crate::{BlockAddr, ZoneGrid};

const CAUSES: usize = Cause::ALL.len();

/// Blocks of a stretch of a device without zones: a snapshot of a small store fits in, and little
/// is wasted where the journal goes on in another one.
pub(crate) const STRETCH: u32 = 256;

/// Bytes after which jobs flush a disk: a good third of the write cache of usual disks, which have
/// 64 MiB and more. Decision 0069 has the measurements.
pub const FLUSH_EVERY: ByteCount = ByteCount::mib(24);

/// See the [module](self).
pub(crate) struct Medium {
    /// `None` once it is shut.
    device: RwLock<Option<Arc<dyn Device>>>,
    users: Users,
    /// The shape as it is shown: that of a device without zones cut into stretches.
    shape: Geometry,
    grid: ZoneGrid,
    counts: Counts,
    /// Waits in the file system, for requests to the device and for all else.
    pub(crate) waits: WaitCounts,
    /// Requests that have not been waited for, by ticket.
    under_way: Mutex<FastMap<u64, UnderWay>>,
    flushes: Flushes,
    /// Bytes written since the last flush, and bytes after which jobs flush; 0: they never do.
    unflushed: AtomicU64,
    flush_every: AtomicU64,
    /// Whether a client's file has flushed, and no one else since then.
    is_alone: AtomicBool,
    /// How many requests are being handed over, and [`SHUT`] once there must be no more.
    passing: AtomicU64,
}

/// The bit of [`Medium::passing`] that says that the medium is shut.
const SHUT: u64 = 1 << 63;
/// The ticket of a request that was not handed over.
const REFUSED: u64 = u64::MAX;
/// How long [`Medium::shut`] sleeps between two looks: handing over takes about so long.
const SHUT_POLL: Duration = Duration::from_micros(10);

/// Facts about a request until it is waited for.
struct UnderWay {
    device: Arc<dyn Device>,
    cause: Cause,
    is_read: bool,
    flush: Option<Flush>,
}

#[derive(Default)]
struct Counts {
    read_bytes: [AtomicU64; CAUSES],
    reads: [AtomicU64; CAUSES],
    written_bytes: [AtomicU64; CAUSES],
    writes: [AtomicU64; CAUSES],
    flushes: AtomicU64,
    zones_reset: AtomicU64,
    zones_finished: AtomicU64,
}

impl Medium {
    /// The device that has this number in its store. Counts from zero.
    pub(crate) fn new(id: DeviceId, device: Arc<dyn Device>) -> Self {
        let (counts, waits) = (Counts::default(), WaitCounts::default());
        let (passing, under_way) = (AtomicU64::new(0), Mutex::default());
        let geometry = device.geometry();
        let shape =
            if geometry.layout.is_zoned() { geometry.clone() } else { in_stretches(geometry) };
        let (grid, flushes) = (ZoneGrid::new(id, &shape), Flushes::default());
        let is_alone = AtomicBool::new(false);
        let flush_every = AtomicU64::new(if shape.rotational { FLUSH_EVERY.0 } else { 0 });
        let unflushed = AtomicU64::new(0);
        let users = device.users().clone();
        Self {
            device: RwLock::new(Some(device)),
            users,
            shape,
            grid,
            counts,
            waits,
            under_way,
            flushes,
            unflushed,
            flush_every,
            is_alone,
            passing,
        }
    }

    /// The number of the device in its store.
    pub(crate) fn id(&self) -> DeviceId {
        self.grid.device()
    }

    /// How its blocks may be written.
    pub(crate) fn layout(&self) -> Layout {
        self.shape.layout
    }

    /// The zones that addresses lie in.
    pub(crate) fn grid(&self) -> &ZoneGrid {
        &self.grid
    }

    /// Lets no request pass from now on.
    pub(crate) fn shut(&self) {
        self.passing.fetch_or(SHUT, Ordering::SeqCst);
        // Unwinding must not wait: a panic in a simulation would wait for actors that never run.
        while self.passing.load(Ordering::SeqCst) != SHUT && !std::thread::panicking() {
            runner::sleep(SHUT_POLL);
        }
        let device = self.device.write().take();
        // The drop of the last owner may wait.
        drop(device);
        if !std::thread::panicking() {
            self.end_reads();
        }
    }

    /// Waits for the reads in flight. A scan that is left may never do so.
    fn end_reads(&self) {
        let mut under_way = self.under_way.lock();
        let reads = under_way.iter().filter(|(_, request)| request.is_read);
        let mut tickets: Vec<u64> = reads.map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        let reads: Vec<_> = tickets
            .into_iter()
            .filter_map(|ticket| Some((Ticket(ticket), under_way.remove(&ticket)?)))
            .collect();
        drop(under_way);
        for (ticket, read) in reads {
            let _ = read.device.wait(ticket);
        }
    }

    fn device(&self) -> Result<Arc<dyn Device>, DeviceError> {
        self.device.read().clone().ok_or(DeviceError::Unmounted)
    }

    /// Bytes and requests moved; journal rolls are not known here.
    pub(crate) fn io(&self) -> IoCounts {
        let load = |counts: &[AtomicU64; CAUSES]| {
            std::array::from_fn(|cause| counts[cause].load(Ordering::Relaxed))
        };
        IoCounts {
            read_bytes: load(&self.counts.read_bytes),
            reads: load(&self.counts.reads),
            written_bytes: load(&self.counts.written_bytes),
            writes: load(&self.counts.writes),
            flushes: self.counts.flushes.load(Ordering::Relaxed),
            zones_reset: self.counts.zones_reset.load(Ordering::Relaxed),
            zones_finished: self.counts.zones_finished.load(Ordering::Relaxed),
            ..IoCounts::default()
        }
    }

    /// Starts to read whole blocks of one extent.
    pub(crate) fn submit_read(&self, at: BlockAddr, blocks: u32, cause: Cause) -> Ticket {
        debug_assert!(blocks > 0, "a read of nothing");
        debug_assert_eq!(at.device(), self.id(), "block {at} is on another device");
        let blocks = blocks * logical_per_block(self.geometry()) as u32;
        let lba = self.grid.lba(at);
        self.submit(Request { op: Op::Read { lba, blocks }, cause })
    }

    /// Starts to write whole blocks: on a device with zones, at a zone's pointer.
    pub(crate) fn submit_blocks(
        &self,
        at: BlockAddr,
        data: IoBuf,
        fua: bool,
        cause: Cause,
    ) -> Ticket {
        debug_assert!(!data.is_empty(), "a write of nothing");
        debug_assert!(data.len().is_multiple_of(BLOCK), "a write of broken blocks");
        debug_assert_eq!(at.device(), self.id(), "block {at} is on another device");
        let lba = self.grid.lba(at);
        self.submit(Request { op: Op::Write { lba, data, fua }, cause })
    }

    /// Empties a zone.
    pub(crate) fn reset(&self, zone: ZoneId, cause: Cause) -> Result<(), DeviceError> {
        self.control(Op::Reset(zone), cause)
    }

    /// State of a device without zones that has failed as a whole: read-only or offline. `None` for
    /// a device with zones, which fail one by one, and if the device gives no report.
    pub(crate) fn failed(&self) -> Option<ZoneState> {
        if self.layout().is_zoned() {
            return None;
        }
        let state = self.device().ok()?.report(ZoneId(0), 1).ok()?.first()?.state;
        matches!(state, ZoneState::ReadOnly | ZoneState::Offline).then_some(state)
    }

    /// Makes a zone full.
    pub(crate) fn finish(&self, zone: ZoneId, cause: Cause) -> Result<(), DeviceError> {
        self.control(Op::Finish(zone), cause)
    }

    /// Makes everything durable that has completed.
    pub(crate) fn flush(&self, cause: Cause) -> Result<(), DeviceError> {
        self.control(Op::Flush, cause)
    }

    /// Sets the bytes after which jobs flush; 0: they never do.
    pub(crate) fn set_flush_every(&self, bytes: u64) {
        self.flush_every.store(bytes, Ordering::Relaxed);
    }

    /// Whether jobs flush, so that a flush is shorter for others.
    pub(crate) fn flushes_for_jobs(&self) -> bool {
        self.flush_every.load(Ordering::Relaxed) > 0
    }

    /// Whether a log gains by an early flush: forced writes after it must not flush, too.
    pub(crate) fn gains_by_early_flushes(&self) -> bool {
        self.flushes_for_jobs() && self.forces_writes()
    }

    /// Whether the host of an image has no room for two zones more that were never written.
    pub(crate) fn is_host_short(&self) -> bool {
        let zone = self.shape.zone_size * u64::from(self.shape.logical_block);
        self.host_room().is_some_and(|room| room.0 < 2 * zone)
    }

    /// Flushes for a job, if enough was written since the last flush. Promises nothing: if this
    /// flush fails, the next one reports it.
    pub(crate) fn flush_if_due(&self, cause: Cause) {
        self.flush_after_bytes(cause);
    }

    /// The same for a client's file. A flush stops the file's writes for a turn of the disk. So
    /// clients' files flush once after each flush of others: as long as no other flushes, none
    /// gains by it.
    pub(crate) fn flush_if_shared(&self, cause: Cause) {
        if !self.is_alone.load(Ordering::Relaxed) && self.flush_after_bytes(cause) {
            self.is_alone.store(true, Ordering::Relaxed);
        }
    }

    /// Flushes if enough was written since the last flush; returns whether it did.
    fn flush_after_bytes(&self, cause: Cause) -> bool {
        let every = self.flush_every.load(Ordering::Relaxed);
        let is_due = |bytes: u64| every > 0 && bytes >= every;
        // Of several jobs, one flushes.
        let flushes = is_due(self.unflushed.load(Ordering::Relaxed))
            && is_due(self.unflushed.swap(0, Ordering::Relaxed));
        if flushes {
            let _ = self.flush(cause);
        }
        flushes
    }

    /// Notes bytes that a flush is to make durable, or a flush.
    fn note_unflushed(&self, op: &Op) {
        match op {
            Op::Write { data, .. } | Op::Append { data, .. } => {
                self.unflushed.fetch_add(data.len() as u64, Ordering::Relaxed);
            }
            Op::Flush => {
                self.unflushed.store(0, Ordering::Relaxed);
                self.is_alone.store(false, Ordering::Relaxed);
            }
            Op::Read { .. } | Op::Reset(_) | Op::Finish(_) | Op::Open(_) | Op::Close(_) => {}
        }
    }
}

impl Counts {
    fn add(&self, request: &Request, logical_block: u32) {
        let cause = request.cause as usize;
        let bump = |count: &AtomicU64, by: u64| {
            count.fetch_add(by, Ordering::Relaxed);
        };
        match &request.op {
            Op::Read { blocks, .. } => {
                bump(&self.read_bytes[cause], u64::from(*blocks) * u64::from(logical_block));
                bump(&self.reads[cause], 1);
            }
            Op::Write { data, .. } | Op::Append { data, .. } => {
                bump(&self.written_bytes[cause], data.len() as u64);
                bump(&self.writes[cause], 1);
            }
            Op::Flush if canary::is_broken(Rule::RequestsCounted) => {}
            Op::Flush => bump(&self.flushes, 1),
            Op::Reset(_) => bump(&self.zones_reset, 1),
            Op::Finish(_) => bump(&self.zones_finished, 1),
            Op::Open(_) | Op::Close(_) => {}
        }
    }
}

/// A device without zones, in stretches.
fn in_stretches(plain: &Geometry) -> Geometry {
    let per_block = logical_per_block(plain);
    let size = u64::from(STRETCH) * per_block;
    let blocks = plain.blocks() / per_block * per_block;
    let zones = u32::try_from(blocks.div_ceil(size)).unwrap_or(u32::MAX);
    let rest = blocks % size;
    Geometry {
        zone_size: size,
        zone_capacity: size,
        zones,
        last_zone_size: (rest > 0).then_some(rest),
        conventional: std::iter::once(0..zones).collect(),
        ..plain.clone()
    }
}

impl Device for Medium {
    fn geometry(&self) -> &Geometry {
        &self.shape
    }

    fn report(&self, first: ZoneId, count: u32) -> Result<Vec<ZoneReport>, DeviceError> {
        if self.layout().is_zoned() {
            return self.device()?.report(first, count);
        }
        let whole = self.device()?.report(ZoneId(0), 1)?;
        let end = first.0.saturating_add(count).min(self.shape.zones);
        let stretch = |zone| {
            let (start, capacity) = (self.shape.zone_start(zone), self.shape.zone_capacity(zone));
            whole.first().map(|whole| ZoneReport { zone, start, capacity, ..*whole })
        };
        Ok((first.0..end).filter_map(|zone| stretch(ZoneId(zone))).collect())
    }

    fn users(&self) -> &Users {
        &self.users
    }

    fn host_room(&self) -> Option<ByteCount> {
        self.device().ok()?.host_room()
    }

    fn forces_writes(&self) -> bool {
        self.device().is_ok_and(|device| device.forces_writes())
    }

    fn submit(&self, request: Request) -> Ticket {
        let before = self.passing.fetch_add(1, Ordering::SeqCst);
        let device = if before & SHUT == 0 { self.device().ok() } else { None };
        let Some(device) = device else {
            self.passing.fetch_sub(1, Ordering::SeqCst);
            return Ticket(REFUSED);
        };
        self.counts.add(&request, self.geometry().logical_block);
        self.note_unflushed(&request.op);
        let (cause, is_flush) = (request.cause, matches!(request.op, Op::Flush));
        let is_read = matches!(request.op, Op::Read { .. });
        let submit = || device.submit(request);
        let (ticket, flush) = if is_flush {
            let (ticket, flush) = self.flushes.submit(submit);
            (ticket, Some(flush))
        } else {
            (submit(), None)
        };
        self.under_way.lock().insert(ticket.0, UnderWay { device, cause, is_read, flush });
        // Now a shut finds the request.
        self.passing.fetch_sub(1, Ordering::SeqCst);
        ticket
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        if ticket.0 == REFUSED {
            return Err(DeviceError::Unmounted);
        }
        let known = self.under_way.lock().remove(&ticket.0);
        let Some(UnderWay { device, cause, flush, .. }) = known else {
            return self.device()?.wait(ticket);
        };
        self.waits.during(WaitCause::Device(cause), || {
            let result = device.wait(ticket);
            match flush {
                Some(flush) => self.flushes.end(flush, result),
                None => result,
            }
        })
    }
}
