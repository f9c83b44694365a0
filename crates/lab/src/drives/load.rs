//! [`Load`]: a stream of requests of one pattern. Several clients each take the next request of it
//! and submit it to a drive.
//!
//! A sequential load begins with the first zone of its span. It goes on after the span if it has
//! requests left, so the drive must have enough zones there. A random load stays in its span. The
//! times of the first requests are not counted; the caller gives their number.
//!
//! Must run in a simulation: there no client comes between another one's taking and submitting a
//! request, so writes reach a zone in order.

use terrace_env::random::{Random, Rng};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, IoBuf, Lba, Time, ZoneId, runner};
use terrace_zone::timing::{Job, Pattern};
use terrace_zone::{Completion, Device, DeviceError, Emulator, Op, Request};

use super::Measured;

/// Where a load works: a run of zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: u32,
    pub(super) end: u32,
}

/// Requests that are still to be made, and the results of the others.
struct Progress {
    left: u64,
    /// Completions that are not counted yet: the caches fill up.
    warm_up: u64,
    zone: u32,
    /// Blocks from the start of `zone`, for sequential patterns.
    offset: u64,
    random: Random,
    started: Time,
    measured: Measured,
}

/// A stream of requests.
pub(super) struct Load {
    pattern: Pattern,
    blocks: u32,
    span: Span,
    progress: Mutex<Progress>,
}

impl Load {
    /// `warm_up` requests that are not counted and `counted` that are.
    pub(super) fn new(
        drive: &Emulator,
        job: &Job,
        span: Span,
        warm_up: u64,
        counted: u64,
        seed: u64,
    ) -> Self {
        let block = u64::from(drive.geometry().logical_block);
        let progress = Progress {
            left: warm_up + counted,
            warm_up,
            zone: span.first,
            offset: 0,
            random: Random::seeded(seed),
            started: runner::now(),
            measured: Measured::default(),
        };
        Self {
            pattern: job.pattern,
            blocks: u32::try_from(job.size.0 / block).unwrap_or(u32::MAX).max(1),
            span,
            progress: Mutex::new(progress),
        }
    }

    /// Makes requests until all are made.
    pub(super) fn run(&self, drive: &Emulator) -> Result<(), DeviceError> {
        let bytes = u64::from(self.blocks) * u64::from(drive.geometry().logical_block);
        let mut data = IoBuf::zeroed(bytes as usize);
        while let Some(op) = self.next(drive, &mut data) {
            let submitted = runner::now();
            let ticket = drive.submit(Request { op, cause: Cause::Client });
            if let Completion::Written { data: back, .. } = drive.wait(ticket)? {
                data = back;
            }
            self.complete(submitted, bytes);
        }
        Ok(())
    }

    fn next(&self, drive: &Emulator, data: &mut IoBuf) -> Option<Op> {
        let progress = &mut *self.progress.lock();
        progress.left = progress.left.checked_sub(1)?;
        let geometry = drive.geometry();
        let blocks = u64::from(self.blocks);
        let random = matches!(self.pattern, Pattern::RandomRead | Pattern::RandomWrite);
        let (zone, offset) = if random {
            let zone = ZoneId(progress.random.random_range(self.span.first..self.span.end));
            let step = geometry.physical_step();
            let places = (geometry.zone_capacity(zone).saturating_sub(blocks)) / step + 1;
            (zone, progress.random.random_range(0..places) * step)
        } else {
            if progress.offset + blocks > geometry.zone_capacity(ZoneId(progress.zone)) {
                progress.zone += 1;
                progress.offset = 0;
            }
            let at = (ZoneId(progress.zone), progress.offset);
            progress.offset += blocks;
            at
        };
        let lba = Lba(geometry.zone_start(zone).0 + offset);
        Some(match self.pattern {
            Pattern::SequentialRead | Pattern::RandomRead => Op::Read { lba, blocks: self.blocks },
            Pattern::Append => Op::Append { zone, data: std::mem::take(data), fua: false },
            _ => Op::Write { lba, data: std::mem::take(data), fua: false },
        })
    }

    fn complete(&self, submitted: Time, bytes: u64) {
        let now = runner::now();
        let progress = &mut *self.progress.lock();
        if progress.warm_up > 0 {
            progress.warm_up -= 1;
            progress.started = now;
            return;
        }
        let measured = &mut progress.measured;
        measured.requests += 1;
        measured.bytes += bytes;
        measured.elapsed = now - progress.started;
        measured.latency += now - submitted;
    }

    /// Sums over the requests that count.
    pub(super) fn measured(&self) -> Measured {
        self.progress.lock().measured
    }
}
