//! [`measure()`]: does one job, such as random reads of 4 KiB at depth 8, on a model of a whole
//! drive.
//!
//! - A job of depth *n* has *n* clients, each with one request at a time. But resets and finishes
//!   are done one by one, on up to three zones, after writing these as far as the job says.
//! - The first reads and writes are not counted, because caches are still filling.
//! - A sequential job over the whole drive works at several places, spread evenly, and moves the
//!   same bytes at each. The mean rate is then about that of a pass over the drive.
//! - Nothing is written before a job of reads: the drive's model takes its time without data too.
//!
//! Each measurement starts a simulation of its own, so do not call it inside one.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::runner::{self, SimulationOptions};
use terrace_env::{Cause, IoBuf, Lba, ZoneId};
use terrace_zone::timing::{Drive, Job, Metric, Pattern, Rate, Region, Scale, Span as Nanos};
use terrace_zone::{Device, DeviceError, Emulator, Geometry, GeometryError, Op, ZoneType};

use super::load::{Load, Span};

/// Bytes of writes that are not counted: more than any drive's write cache.
const WARM_UP: u64 = 96 << 20;
/// Reads that are not counted.
const WARM_UP_READS: u64 = 64;
/// Bytes that a sequential job moves at each place.
const COUNTED: u64 = 128 << 20;
/// Requests that count at most, and at least.
const REQUESTS: (u64, u64) = (3000, 64);
/// Number of places at which a sequential job over the whole drive works.
const PLACES: u32 = 16;
/// Zones that are reset or finished.
const ZONES: u32 = 3;

/// Outcome of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Requests that were counted.
    pub requests: u64,
    /// Bytes of the requests.
    pub bytes: u64,
    /// The time they took together.
    pub elapsed: Duration,
    /// The times they took each, summed.
    pub latency: Duration,
}

impl Measured {
    /// Requests per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Bytes per second.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate((self.bytes as f64 / self.elapsed.as_secs_f64().max(1e-9)) as u64)
    }

    /// The average time of a request.
    #[must_use]
    pub fn mean_latency(&self) -> Duration {
        Duration::from_nanos(self.latency.as_nanos() as u64 / self.requests.max(1))
    }

    /// The metric that compares with `published`.
    #[must_use]
    pub fn like(&self, published: &Metric) -> Metric {
        match published {
            Metric::Rate(_) => Metric::Rate(self.rate()),
            Metric::PerSecond(_) => Metric::PerSecond(self.per_second()),
            Metric::Latency(_) => Metric::Latency(Nanos(self.mean_latency().as_nanos() as u64)),
        }
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.elapsed += other.elapsed;
        self.latency += other.latency;
    }
}

/// A job that could not be measured.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MeasureError {
    /// The drive has no such place, or takes no such requests.
    #[error("{drive}: {job}: expected {expected}")]
    Impossible {
        /// The drive.
        drive: String,
        /// The job.
        job: String,
        /// Property that the drive would have to have.
        expected: &'static str,
    },
    /// The drive cannot be made.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The drive refused a request.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Does a job on a model of the whole drive, at full scale.
pub fn measure(drive: &Drive, job: &Job) -> Result<Measured, MeasureError> {
    let mut geometry = drive.geometry(Scale::FULL)?;
    if !drive.is_zoned() {
        geometry.conventional = std::iter::once(0..geometry.zones).collect();
    }
    let spans = spans(drive, &geometry, job)?;
    check_room(drive, &geometry, job, &spans)?;
    let timing = drive.timing(Scale::FULL)?;
    SimulationOptions::seeded(1).unlimited().run(|| {
        let emulator = Arc::new(Emulator::in_memory(geometry, 1)?);
        emulator.set_timing(Some(timing));
        let mut measured = Measured::default();
        for (index, span) in spans.into_iter().enumerate() {
            measured.add(&match job.pattern {
                Pattern::Reset | Pattern::Finish => operate(&emulator, job, span)?,
                _ => load(&emulator, job, span, index as u64)?,
            });
        }
        Ok(measured)
    })
}

/// The zones that a job works in: one run, or one for each place.
fn spans(drive: &Drive, geometry: &Geometry, job: &Job) -> Result<Vec<Span>, MeasureError> {
    let impossible = |expected| MeasureError::Impossible {
        drive: drive.name().to_owned(),
        job: job.to_string(),
        expected,
    };
    let conventional = geometry.conventional.first().map_or(0, |run| run.end);
    let sequential = if conventional == geometry.zones { 0 } else { conventional };
    let part = |from: u32, to: u32| {
        let zones = u64::from(geometry.zones - sequential);
        let at = |tenths: u32| sequential + (zones * u64::from(tenths) / 20) as u32;
        Span { first: at(from), end: at(to).max(at(from) + 1).min(geometry.zones) }
    };
    let writes = !matches!(job.pattern, Pattern::SequentialRead | Pattern::RandomRead);
    let whole = match job.pattern {
        Pattern::RandomRead => Span { first: 0, end: geometry.zones },
        _ => Span { first: sequential, end: geometry.zones },
    };
    let span = match job.region {
        Region::Whole => whole,
        Region::Outer => part(0, 2),
        Region::Middle => part(9, 11),
        Region::Inner => part(18, 20),
        Region::Conventional if conventional == 0 => {
            return Err(impossible("conventional zones"));
        }
        Region::Conventional => Span { first: 0, end: conventional },
    };
    let zoned = geometry.zone_type(ZoneId(span.first)) == ZoneType::Sequential;
    match job.pattern {
        Pattern::RandomWrite if zoned => return Err(impossible("zones that take random writes")),
        Pattern::Append if geometry.max_append.is_none() => return Err(impossible("append")),
        Pattern::Reset | Pattern::Finish if !zoned => return Err(impossible("sequential zones")),
        _ => {}
    }
    let random = matches!(job.pattern, Pattern::RandomRead | Pattern::RandomWrite);
    let operates = matches!(job.pattern, Pattern::Reset | Pattern::Finish);
    if job.region != Region::Whole || random || operates {
        return Ok(vec![span]);
    }
    let place = |index: u32| {
        let zones = u64::from(span.end - span.first);
        // Half a step from either end, as the mean over a range wants it.
        let offset = zones * (2 * u64::from(index) + 1) / (2 * u64::from(PLACES));
        Span { first: span.first + offset as u32, end: span.end }
    };
    debug_assert!(writes || job.pattern == Pattern::SequentialRead);
    Ok((0..PLACES).map(place).collect())
}

/// A sequential load goes on after its span, and the drive must go on there, too.
fn check_room(
    drive: &Drive,
    geometry: &Geometry,
    job: &Job,
    spans: &[Span],
) -> Result<(), MeasureError> {
    if !matches!(job.pattern, Pattern::SequentialRead | Pattern::SequentialWrite | Pattern::Append)
    {
        return Ok(());
    }
    let (size, (warm_up, counted)) = (job.size.0.max(1), requests(job));
    let in_zone = |zone| {
        let bytes = geometry.zone_capacity(zone) * u64::from(geometry.logical_block);
        bytes / size
    };
    let behind = |span: &Span| (span.first..geometry.zones).map(ZoneId).map(in_zone).sum::<u64>();
    if spans.iter().all(|span| behind(span) >= warm_up + counted) {
        return Ok(());
    }
    let expected = "a larger drive, so that the job ends before the drive does";
    Err(MeasureError::Impossible { drive: drive.name().to_owned(), job: job.to_string(), expected })
}

/// How many requests of a load are not counted, and how many are.
fn requests(job: &Job) -> (u64, u64) {
    let size = job.size.0.max(1);
    let reads = matches!(job.pattern, Pattern::SequentialRead | Pattern::RandomRead);
    let warm_up = if reads { WARM_UP_READS } else { WARM_UP / size };
    (warm_up, (COUNTED / size).clamp(REQUESTS.1, REQUESTS.0))
}

fn load(drive: &Arc<Emulator>, job: &Job, span: Span, seed: u64) -> Result<Measured, MeasureError> {
    let (warm_up, counted) = requests(job);
    let load = Arc::new(Load::new(drive, job, span, warm_up, counted, seed + 1));
    let clients: Vec<_> = (0..job.depth)
        .map(|_| {
            let (load, drive) = (Arc::clone(&load), Arc::clone(drive));
            runner::spawn("client", move || load.run(&drive))
        })
        .collect();
    for client in clients {
        client.join()?;
    }
    Ok(load.measured())
}

/// Writes some zones as far as the job says, and resets or finishes them.
fn operate(drive: &Arc<Emulator>, job: &Job, span: Span) -> Result<Measured, MeasureError> {
    const STEP: u64 = 1 << 20;
    let geometry = drive.geometry().clone();
    let block = u64::from(geometry.logical_block);
    let mut measured = Measured::default();
    for zone in (span.first..span.end).take(ZONES as usize).map(ZoneId) {
        let bytes = geometry.zone_capacity(zone) * block * job.written.min(100) / 100;
        let mut data = IoBuf::zeroed(STEP as usize);
        for step in 0..bytes / STEP {
            let lba = Lba(geometry.zone_start(zone).0 + step * STEP / block);
            data = drive.write(lba, data, false, Cause::Client)?;
        }
        drive.control(Op::Flush, Cause::Client)?;
        // Work that the drive still has to do for the writes is not part of the operation.
        runner::sleep(Duration::from_secs(1));
        let before = runner::now();
        let op = match job.pattern {
            Pattern::Reset => Op::Reset(zone),
            _ => Op::Finish(zone),
        };
        drive.control(op, Cause::Client)?;
        measured.requests += 1;
        measured.elapsed += runner::now() - before;
        measured.latency += runner::now() - before;
    }
    Ok(measured)
}
