//! [`Reading`]: the counters of engine and drives at a moment. [`Interval`]: the differences
//! between two readings of one run.
//!
//! If log or metadata lie on a part of the drive of tables that stands for a log device (`places`),
//! requests for them count as requests to that drive. Times are those of the run, not of the full
//! drive. Taking a reading costs no virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use terrace::{Db, Fs, WriteAmplification, Written};
use terrace_env::store::{CacheCounts, IoCounts};
use terrace_env::wait::Waits;
use terrace_env::{ByteCount, Cause, Time, runner};
use terrace_zone::Emulator;
use terrace_zone::timing::{DeviceTime, Work};

use super::places::Places;
use super::{Amplification, LogDeviceAmplification};

/// The counters at a moment.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: Time,
    device: DeviceTime,
    /// Times of the log device; all zero where it has none. Requests to conventional zones count as
    /// the drive's, in times and numbers.
    log_device: DeviceTime,
    /// Requests to the drive, and counts of the file cache.
    io: IoCounts,
    /// Requests to the log device; all zero without one.
    log_io: IoCounts,
    user_bytes: u64,
    gets: u64,
    /// Tables that point reads searched, by level.
    searched: Vec<u64>,
    waits: Waits,
    /// Jobs and their work on levels.
    written: Written,
}

impl Reading {
    /// The counters now. Costs no time of the run.
    pub(super) fn take(
        db: &Db,
        fs: &Fs,
        (drive, log_device): (&Emulator, Option<&Emulator>),
        places: Places,
    ) -> Self {
        let stats = db.stats();
        let (mut io, mut log_io) = (IoCounts::default(), IoCounts::default());
        for device in fs.devices() {
            *(if device.holds_tables { &mut io } else { &mut log_io }) = device.io;
        }
        let mut device = drive.device_time();
        let mut log_time = log_device.map(Emulator::device_time).unwrap_or_default();
        for cause in places.causes_on_drive() {
            device.take_requests(&mut log_time, cause);
            take_counts(&mut io, &mut log_io, cause);
        }
        Self {
            at: runner::now(),
            device,
            log_device: log_time,
            io: IoCounts { cache: stats.io.cache, ..io },
            log_io,
            user_bytes: stats.user_bytes,
            gets: stats.gets,
            searched: stats.tables_searched_by_level,
            waits: stats.waits,
            written: stats.process,
        }
    }

    /// This reading with the log device in the place of the drive.
    fn of_log_device(&self) -> Self {
        Self { device: self.log_device.clone(), io: self.log_io.clone(), ..self.clone() }
    }

    /// Interval since an earlier reading.
    pub(super) fn since<'a>(&'a self, earlier: &'a Self) -> Interval<'a> {
        Interval { from: earlier, to: self }
    }
}

/// Requests of one kind, and the bytes that they moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) requests: u64,
    pub(super) bytes: u64,
}

impl Moved {
    /// The bytes of one of them, on average.
    pub(super) fn mean(self) -> f64 {
        if self.requests > 0 { self.bytes as f64 / self.requests as f64 } else { 0.0 }
    }
}

/// Differences between two readings. Times are those of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval<'a> {
    from: &'a Reading,
    to: &'a Reading,
}

impl Interval<'_> {
    /// The readings of the interval, from and to, with the log device in the place of the drive.
    pub(super) fn of_log_device(&self) -> (Reading, Reading) {
        (self.from.of_log_device(), self.to.of_log_device())
    }

    pub(super) fn seconds(&self) -> f64 {
        self.to.at.since(self.from.at).as_secs_f64()
    }

    /// How long the mechanism worked for a cause, of `mechanisms` that work at once, each counted
    /// as its part of the whole.
    pub(super) fn worked(&self, cause: Cause, mechanisms: u64) -> f64 {
        self.spent(mechanisms, |reading| {
            let time = reading.device.of(cause);
            time.positioning + time.transfer
        })
    }

    /// How much of that went by before anything was read or written.
    pub(super) fn positioned(&self, cause: Cause, mechanisms: u64) -> f64 {
        self.spent(mechanisms, |reading| reading.device.of(cause).positioning)
    }

    fn spent(&self, mechanisms: u64, of: impl Fn(&Reading) -> Duration) -> f64 {
        let (from, to) = (of(self.from).as_secs_f64(), of(self.to).as_secs_f64());
        (to - from).max(0.0) / mechanisms as f64
    }

    /// How long requests were queued and served, by cause, summed; causes without any left out.
    pub(super) fn requests(&self) -> BTreeMap<Cause, (f64, f64)> {
        let of = |cause: Cause| {
            let (from, to) = (self.from.device.of(cause), self.to.device.of(cause));
            let queued = to.queued.saturating_sub(from.queued).as_secs_f64();
            let service = to.service.saturating_sub(from.service).as_secs_f64();
            (to.requests > from.requests).then_some((cause, (queued, service)))
        };
        Cause::ALL.into_iter().filter_map(of).collect()
    }

    /// Bytes and requests that the drive moved in the interval.
    fn io(&self) -> IoCounts {
        difference(&self.to.io, &self.from.io)
    }

    /// Requests that read and requests that wrote, by cause; causes without any left out.
    pub(super) fn reads_and_writes(&self) -> (BTreeMap<Cause, Moved>, BTreeMap<Cause, Moved>) {
        let io = self.io();
        let of = |requests: &[u64], bytes: &[u64]| {
            let moved = |at| Moved { requests: requests[at], bytes: bytes[at] };
            let all = Cause::ALL.into_iter().map(|cause| (cause, moved(cause as usize)));
            all.filter(|(_, moved)| moved.requests > 0).collect()
        };
        (of(&io.reads, &io.read_bytes), of(&io.writes, &io.written_bytes))
    }

    /// Waits in the interval.
    pub(super) fn waits(&self) -> Waits {
        self.to.waits.since(&self.from.waits)
    }

    /// Bytes read and written, for all causes.
    pub(super) fn moved(&self) -> (u64, u64) {
        let io = self.io();
        (io.read_bytes.iter().sum(), io.written_bytes.iter().sum())
    }

    /// The share of the tables' bytes read by compactions that was in the file cache, if there is
    /// one.
    pub(super) fn cache_hit_share(&self) -> Option<f64> {
        let at = Cause::Compaction as usize;
        let of = |counts: fn(&CacheCounts) -> &[u64]| {
            counts(&self.to.io.cache)[at] - counts(&self.from.io.cache)[at]
        };
        let (hit, missed) = (of(|cache| &cache.hit_bytes), of(|cache| &cache.miss_bytes));
        (hit + missed > 0).then(|| hit as f64 / (hit + missed) as f64)
    }

    /// Bytes read for clients.
    pub(super) fn read_for_clients(&self) -> u64 {
        self.io().read(Cause::Read).0
    }

    fn user_bytes(&self) -> u64 {
        self.to.user_bytes - self.from.user_bytes
    }

    pub(super) fn amplification(&self) -> Amplification {
        let WriteAmplification { log, flush, compaction, reclaim, metadata, total } =
            WriteAmplification::of(self.user_bytes(), &self.io());
        let device = self.auxiliary_amplification();
        let total = total * device;
        Amplification { log, flush, compaction, reclaim, metadata, device, total }
    }

    /// Bytes that the drive wrote for a byte that it was given.
    fn auxiliary_amplification(&self) -> f64 {
        let sum = |of: fn(&Work, Cause) -> ByteCount| -> u64 {
            let bytes = |reading: &Reading, cause| of(reading.device.work(), cause).0;
            Cause::ALL.into_iter().map(|it| bytes(self.to, it) - bytes(self.from, it)).sum()
        };
        let (given, written) = (sum(Work::host_written), sum(Work::medium_written));
        if given == 0 { 1.0 } else { written as f64 / given as f64 }
    }

    /// Bands that the drive wrote again, and the bytes of that.
    pub(super) fn rewrites(&self) -> (u64, u64) {
        let of = |reading: &Reading| reading.device.work().rewrites();
        let ((from, read), (to, written)) = (of(self.from), of(self.to));
        (to - from, written.0 - read.0)
    }

    pub(super) fn log_device_amplification(&self) -> LogDeviceAmplification {
        let io = difference(&self.to.log_io, &self.from.log_io);
        let written = WriteAmplification::of(self.user_bytes(), &io);
        let WriteAmplification { log, metadata, total, .. } = written;
        LogDeviceAmplification { log, metadata, total }
    }

    /// Bytes that flushes wrote to the second device per byte of keys and values.
    pub(super) fn log_device_flush(&self) -> f64 {
        let io = difference(&self.to.log_io, &self.from.log_io);
        WriteAmplification::of(self.user_bytes(), &io).flush
    }

    /// Jobs and their work on levels in the interval.
    pub(super) fn written(&self) -> Written {
        self.to.written.since(&self.from.written)
    }

    /// Tables of each level that a point read searched, if there was one.
    pub(super) fn tables_per_get(&self) -> Option<Vec<f64>> {
        let gets = self.to.gets - self.from.gets;
        let before = self.from.searched.iter().copied().chain(std::iter::repeat(0));
        let per_get = |(to, from): (&u64, u64)| (to - from) as f64 / gets as f64;
        (gets > 0).then(|| self.to.searched.iter().zip(before).map(per_get).collect())
    }
}

/// Takes over the bytes and requests of a cause.
fn take_counts(to: &mut IoCounts, from: &mut IoCounts, cause: Cause) {
    let moved = [
        (&mut to.read_bytes, &mut from.read_bytes),
        (&mut to.reads, &mut from.reads),
        (&mut to.written_bytes, &mut from.written_bytes),
        (&mut to.writes, &mut from.writes),
    ];
    for (to, from) in moved {
        to[cause as usize] += std::mem::take(&mut from[cause as usize]);
    }
}

/// Bytes and requests between two readings of the same counters.
fn difference(to: &IoCounts, from: &IoCounts) -> IoCounts {
    let mut io = to.clone();
    for at in 0..Cause::ALL.len() {
        io.read_bytes[at] -= from.read_bytes[at];
        io.reads[at] -= from.reads[at];
        io.written_bytes[at] -= from.written_bytes[at];
        io.writes[at] -= from.writes[at];
    }
    io
}
