//! [`Metrics`]: the metrics of a phase, by which runs are compared.
//!
//! Times, and sizes in bytes, are converted to the full drive. A delay of one operation by the
//! throttle is not converted: it is as long on the full drive. Counts of zones are those of the
//! scaled run. Some metrics are absent where there is nothing to measure, such as read
//! amplification if nothing was read.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use terrace::LevelWork;
use terrace_env::Cause;
use terrace_env::wait::{WaitCause, WaitStats, Waits};

use super::occupancy::Occupancy;
use super::reading::{Interval, Moved};
use super::recorder::TraceOf;
use super::sampler::{Samples, Scene};
use super::work::{by_level, jobs_by_kind, merge_mib, merge_seconds, per_byte, rewrites};
use crate::workload::{Tally, time_scale_of};

/// The metrics of a phase of a run. Times are device time, and those of the full drive: where the
/// scale shrinks delays and data together, the times of a run are multiplied by it. The throttle's
/// delay of one operation is not: see [`Tally`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Operations of clients per second.
    pub kv_per_second: f64,
    /// Seconds that the phase took.
    pub seconds: f64,
    /// Seconds that the drive's mechanism worked, by cause and `idle`; they add up to `seconds`.
    pub seconds_by_cause: BTreeMap<String, f64>,
    /// Seconds that requests waited for others before the drive began to serve them, by cause,
    /// summed over requests.
    pub queued_by_cause: BTreeMap<String, f64>,
    /// Seconds that the drive took to serve requests, by cause, summed over requests.
    pub service_by_cause: BTreeMap<String, f64>,
    /// Seconds of those in `seconds_by_cause` that the mechanism only moved to where it was to read
    /// or write.
    #[serde(default)]
    pub positioning_by_cause: BTreeMap<String, f64>,
    /// Requests that read, by cause. Their number is that of the full drive: the scale shrinks
    /// their size instead.
    #[serde(default)]
    pub reads_by_cause: BTreeMap<String, f64>,
    /// The bytes that each of them read, on average, as large as on the full drive.
    #[serde(default)]
    pub read_size_by_cause: BTreeMap<String, f64>,
    /// Requests that wrote, by cause.
    #[serde(default)]
    pub writes_by_cause: BTreeMap<String, f64>,
    /// The bytes that each of them wrote, on average.
    #[serde(default)]
    pub write_size_by_cause: BTreeMap<String, f64>,
    /// Forced writes and flushes that the drive, and a second device that takes time, carried out,
    /// by cause and in `total`.
    #[serde(default)]
    pub syncs_by_cause: BTreeMap<String, f64>,
    /// GiB that were read from the full drive, for all causes.
    #[serde(default)]
    pub read_gib: f64,
    /// GiB that were written to it.
    #[serde(default)]
    pub written_gib: f64,
    /// Bytes written to the drive per byte of keys and values.
    pub write_amplification: Amplification,
    /// Bytes written to the log device, or to the offload device, per byte of keys and values; zero
    /// without one.
    #[serde(default)]
    pub log_device_amplification: LogDeviceAmplification,
    /// Use of the offload device, if there is one: `share`, the part of the flushed bytes that went
    /// there; `written`, all bytes written to it per byte of keys and values; `wear`, how many
    /// times its size these bytes are; and `held`, the part of the tables' bytes that lies on it at
    /// the end.
    #[serde(default)]
    pub offloaded: BTreeMap<String, f64>,
    /// Bytes of tables written into each level per byte of keys and values, by level: `0`, `1` and
    /// so on; empty where nothing was written.
    #[serde(default)]
    pub written_by_level: BTreeMap<String, f64>,
    /// Bytes of tables read out of each level by merges, over the same.
    #[serde(default)]
    pub read_by_level: BTreeMap<String, f64>,
    /// Bytes of tables that came into each level by metadata alone, over the same.
    #[serde(default)]
    pub moved_by_level: BTreeMap<String, f64>,
    /// The part of the tables' bytes that lies in each level at the end; empty without tables.
    #[serde(default)]
    pub held_by_level: BTreeMap<String, f64>,
    /// Merges by the uppermost level of their inputs. As many as on the full drive: the scale
    /// shrinks tables, too.
    #[serde(default)]
    pub merges_by_level: BTreeMap<String, f64>,
    /// Tables that such a merge read, of all levels, on average.
    #[serde(default)]
    pub tables_per_merge_by_level: BTreeMap<String, f64>,
    /// Jobs by kind: `flush`, `merge`, `gear` (the merges with outputs in several levels),
    /// `trivial_move`, `delete_only`.
    #[serde(default)]
    pub jobs_by_kind: BTreeMap<String, f64>,
    /// Seconds that merges took: `total`, `mean` and `max`; empty without any.
    #[serde(default)]
    pub merge_seconds: BTreeMap<String, f64>,
    /// Bytes that a merge read and wrote on average, in MiB of the full drive: `read`, `written`;
    /// and `set`, the bytes written by merges whose inputs come from level 1 and deeper ones; empty
    /// without any.
    #[serde(default)]
    pub merge_mib: BTreeMap<String, f64>,
    /// Bands that a drive-managed disk wrote again: `count`, `mib` of each, and `per_merge`, how
    /// many for a merge of ours; empty if there were none. As many as on the full drive.
    #[serde(default)]
    pub rewrites: BTreeMap<String, f64>,
    /// As `seconds_by_cause`, of the log device, or of the offload device; empty, as those below,
    /// where it takes no time.
    #[serde(default)]
    pub log_device_seconds_by_cause: BTreeMap<String, f64>,
    /// As `queued_by_cause`, of the log device.
    #[serde(default)]
    pub log_device_queued_by_cause: BTreeMap<String, f64>,
    /// As `service_by_cause`, of the log device.
    #[serde(default)]
    pub log_device_service_by_cause: BTreeMap<String, f64>,
    /// As `positioning_by_cause`, of the log device.
    #[serde(default)]
    pub log_device_positioning_by_cause: BTreeMap<String, f64>,
    /// Requests that wrote to the log device, by cause; there are some without times, too.
    #[serde(default)]
    pub log_device_writes_by_cause: BTreeMap<String, f64>,
    /// As `write_size_by_cause`, of the log device.
    #[serde(default)]
    pub log_device_write_size_by_cause: BTreeMap<String, f64>,
    /// Bytes that were read for clients per byte of keys and values that they got; `None` where
    /// they read nothing.
    pub read_amplification: Option<f64>,
    /// The share of the tables' bytes read by compactions that was in the file cache; `None` if
    /// they looked nothing up in one.
    #[serde(default)]
    pub cache_hit_share: Option<f64>,
    /// Bytes that count, per byte of zones that hold anything.
    pub space_efficiency: SpaceEfficiency,
    /// The store's space, and how full it became.
    #[serde(default)]
    pub space: SpaceUse,
    /// The most zones that held anything.
    pub zones_peak: u64,
    /// Sorted runs in the tree, on average over time.
    pub runs_average: f64,
    /// Tables that a point read searched, on average; `None` where there was none.
    pub tables_per_get: Option<f64>,
    /// Tables of each level among them; empty where there was none.
    #[serde(default)]
    pub tables_per_get_by_level: BTreeMap<String, f64>,
    /// The longest that an operation of a client took.
    pub stall_worst_seconds: f64,
    /// Waits of the longest operation, in seconds, by cause; they add up to its latency, but for
    /// its wait for a client.
    #[serde(default)]
    pub longest_waits: BTreeMap<String, f64>,
    /// Seconds that clients and jobs waited, by cause, summed over all of them.
    #[serde(default)]
    pub waits_by_cause: BTreeMap<String, f64>,
    /// Latency of operations, by percentile: `p50`, `p90`, `p99`, `p99.9`, `max`; it counts from
    /// their arrival, where they have one.
    pub latency_seconds: BTreeMap<String, f64>,
    /// How long operations waited for a client after they had arrived, by percentile; a part of
    /// their latency. Empty where operations have no arrivals.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrival_wait_seconds: BTreeMap<String, f64>,
    /// A hash over every request to the drive, and to a second device that takes time, with its
    /// times, as sixteen hexadecimal digits.
    pub trace_hash: String,
}

impl Metrics {
    /// Cause that the longest operation waited for most; `None` where none waited.
    #[must_use]
    pub fn longest_cause(&self) -> Option<&str> {
        let most = self.longest_waits.iter().max_by(|a, b| a.1.total_cmp(b.1));
        most.map(|(cause, _)| cause.as_str())
    }
}

/// Bytes written to the drive per byte of keys and values that clients wrote, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amplification {
    /// The write-ahead log, if it is on the drive.
    pub log: f64,
    /// Memtables into tables.
    pub flush: f64,
    /// Tables merged into tables.
    pub compaction: f64,
    /// Bytes moved out of zones that are to be reset.
    pub reclaim: f64,
    /// Superblock, and the journal, if it is on the drive.
    pub metadata: f64,
    /// Bytes that the device wrote per byte that it was given: 1 but for a disk that hides shingled
    /// bands.
    pub device: f64,
    /// The sum of those by cause, times that of the device.
    pub total: f64,
}

/// Bytes written to the log device, or to the offload device, per byte of keys and values that
/// clients wrote, by cause. They are not part of the [`Amplification`] of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogDeviceAmplification {
    /// The write-ahead log.
    pub log: f64,
    /// Journal and superblock.
    pub metadata: f64,
    /// All bytes written for one, flushes to an offload device included.
    pub total: f64,
}

/// Space that counts, over the bytes of zones that hold anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceEfficiency {
    /// Bytes of tables that are referenced, at the end.
    pub valid_end: f64,
    /// The valid share, on average over time.
    pub valid_average: f64,
    /// Bytes of the newest versions of records, at the end.
    pub live_end: f64,
    /// The live share, on average over time.
    pub live_average: f64,
    /// The live share, at the worst once a tenth of the operations is done.
    pub live_worst: f64,
}

/// Space that the store's files could take, and how full it became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceUse {
    /// The used space in GiB of the full drive: without superblock, journal and the space kept for
    /// them.
    pub gib: f64,
    /// The largest share of it in zones that held anything.
    pub used_peak: f64,
    /// The largest share of it that was valid.
    pub valid_peak: f64,
    /// On a device without zones, the part of the used space that is fragments, at the end: free
    /// runs shorter than 7 tables.
    #[serde(default)]
    pub fragments: f64,
    /// On a device without zones, GiB of the full drive up to the last byte in use, at the end.
    #[serde(default)]
    pub span: f64,
}

/// Percentiles of latencies that are told.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Names of the metrics of `offloaded`.
pub(super) const OFFLOADED: [&str; 4] = ["share", "written", "wear", "held"];

/// Use of the offload device.
fn offloaded(scene: &Scene, interval: &Interval<'_>, held: &Occupancy) -> BTreeMap<String, f64> {
    let devices = scene.fs.devices();
    let Some(device) = devices.iter().find(|device| device.holds_offloaded) else {
        return BTreeMap::new();
    };
    let (here, there) = (interval.amplification().flush, interval.log_device_flush());
    let share = if here + there > 0.0 { there / (here + there) } else { 0.0 };
    let written = interval.log_device_amplification().total;
    let readings = interval.of_log_device();
    let (_, bytes) = readings.1.since(&readings.0).moved();
    let wear = bytes as f64 / device.capacity.0 as f64;
    let values = [share, written, wear, held.offloaded_share()];
    OFFLOADED.map(str::to_owned).into_iter().zip(values).collect()
}

/// Metrics of a phase.
pub(super) fn metrics(
    scene: &Scene,
    interval: &Interval<'_>,
    (samples, merges): (&Samples, &[f64]),
    end: &Occupancy,
    tally: &Tally,
    trace: TraceOf,
) -> Metrics {
    let (run_seconds, time_scale) = (interval.seconds(), scene.time_scale as f64);
    let latencies = tally.all_latencies();
    let longest = seconds_of(latencies.max());
    let readings = interval.of_log_device();
    let log_interval = readings.1.since(&readings.0);
    let (requests, log_requests) = (interval.requests(), log_interval.requests());
    let summed = |requests: &BTreeMap<Cause, (f64, f64)>, of: fn(&(f64, f64)) -> f64| {
        requests.iter().map(|(cause, times)| (cause.to_string(), of(times) * time_scale)).collect()
    };
    let (reads, writes) = interval.reads_and_writes();
    let (_, log_writes) = log_interval.reads_and_writes();
    let log_seconds = seconds_by_cause(scene, &log_interval, scene.log_mechanisms);
    let timed = log_seconds.len() > 1;
    let shrunk = (scene.time_scale * scene.rate) as f64;
    let got = tally.read.0;
    let written = interval.written();
    let gib = |bytes: u64| bytes as f64 * shrunk / (1_u64 << 30) as f64;
    let (read_bytes, written_bytes) = interval.moved();
    Metrics {
        kv_per_second: if run_seconds > 0.0 { tally.counted() / run_seconds } else { 0.0 },
        seconds: run_seconds * time_scale,
        seconds_by_cause: seconds_by_cause(scene, interval, scene.mechanisms),
        queued_by_cause: summed(&requests, |times| times.0),
        service_by_cause: summed(&requests, |times| times.1),
        positioning_by_cause: positioning_by_cause(scene, interval, scene.mechanisms),
        reads_by_cause: counts(&reads),
        read_size_by_cause: sizes(&reads, shrunk),
        writes_by_cause: counts(&writes),
        write_size_by_cause: sizes(&writes, shrunk),
        read_gib: gib(read_bytes),
        written_gib: gib(written_bytes),
        write_amplification: interval.amplification(),
        log_device_amplification: interval.log_device_amplification(),
        offloaded: offloaded(scene, interval, end),
        written_by_level: per_byte(&written, |level| level.bytes_written),
        read_by_level: per_byte(&written, |level| level.bytes_read),
        moved_by_level: per_byte(&written, |level| level.bytes_moved),
        held_by_level: held_by_level(scene),
        merges_by_level: by_level(&written, |level| Some(level.merges as f64)),
        tables_per_merge_by_level: by_level(&written, LevelWork::tables_per_merge),
        jobs_by_kind: jobs_by_kind(&written),
        merge_seconds: merge_seconds(merges),
        merge_mib: merge_mib(&written, shrunk),
        rewrites: rewrites(interval.rewrites(), &written, shrunk),
        log_device_seconds_by_cause: if timed { log_seconds } else { BTreeMap::new() },
        log_device_queued_by_cause: summed(&log_requests, |times| times.0),
        log_device_service_by_cause: summed(&log_requests, |times| times.1),
        log_device_positioning_by_cause: positioning_by_cause(
            scene,
            &log_interval,
            scene.log_mechanisms,
        ),
        log_device_writes_by_cause: counts(&log_writes),
        log_device_write_size_by_cause: sizes(&log_writes, shrunk),
        read_amplification: (got > 0).then(|| interval.read_for_clients() as f64 / got as f64),
        cache_hit_share: interval.cache_hit_share(),
        space_efficiency: SpaceEfficiency {
            valid_end: end.valid_efficiency(),
            valid_average: samples.valid_average(),
            live_end: end.live_efficiency(),
            live_average: samples.live_average(),
            live_worst: samples.live_worst.unwrap_or_else(|| end.live_efficiency()),
        },
        space: SpaceUse {
            fragments: end.fragments_share(),
            span: gib(end.space.span.0),
            gib: gib(end.space.capacity.0),
            used_peak: samples.used_peak.max(end.used_share()),
            valid_peak: samples.valid_peak.max(end.valid_share()),
        },
        zones_peak: samples.zones_peak.max(end.space.zones),
        runs_average: samples.runs_average(),
        tables_per_get: interval.tables_per_get().map(|levels| levels.iter().sum()),
        tables_per_get_by_level: tables_per_get_by_level(interval),
        stall_worst_seconds: longest,
        longest_waits: seconds_waited(&tally.longest.1, |cause| {
            time_scale_of(cause, scene.time_scale)
        }),
        waits_by_cause: seconds_waited(&interval.waits(), |_| scene.time_scale),
        latency_seconds: percentiles(&latencies),
        arrival_wait_seconds: match tally.arrival_waits() {
            none if none.is_empty() => BTreeMap::new(),
            waits => percentiles(waits),
        },
        syncs_by_cause: trace.syncs,
        trace_hash: trace.hash,
    }
}

fn seconds_of(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Percentiles of times in nanoseconds, in seconds, with the largest.
fn percentiles(times: &Histogram<u64>) -> BTreeMap<String, f64> {
    let of = |(name, at): (&str, f64)| (name.to_owned(), seconds_of(times.value_at_quantile(at)));
    let all = PERCENTILES.into_iter().map(of);
    all.chain([("max".to_owned(), seconds_of(times.max()))]).collect()
}

fn seconds_waited(waits: &Waits, time_scale: impl Fn(WaitCause) -> u64) -> BTreeMap<String, f64> {
    let seconds = |cause, stats: WaitStats| stats.time().as_secs_f64() * time_scale(cause) as f64;
    waits.iter().map(|(cause, stats)| (cause.to_string(), seconds(cause, stats))).collect()
}

/// How long it only moved.
fn positioning_by_cause(
    scene: &Scene,
    interval: &Interval<'_>,
    mechanisms: u64,
) -> BTreeMap<String, f64> {
    let of = |cause: Cause| interval.positioned(cause, mechanisms) * scene.time_scale as f64;
    let seconds = Cause::ALL.into_iter().map(|cause| (cause.to_string(), of(cause)));
    seconds.filter(|(_, seconds)| *seconds > 0.0).collect()
}

/// Tables of each level that a point read searched.
fn tables_per_get_by_level(interval: &Interval<'_>) -> BTreeMap<String, f64> {
    let levels = interval.tables_per_get().unwrap_or_default().into_iter().enumerate();
    levels.map(|(level, searched)| (level.to_string(), searched)).collect()
}

/// The part of the tables' bytes that lies in each level.
fn held_by_level(scene: &Scene) -> BTreeMap<String, f64> {
    let levels = scene.db.stats().levels;
    let all: u64 = levels.iter().map(|level| level.bytes).sum();
    let shares = levels.iter().map(|level| level.bytes as f64 / all.max(1) as f64).enumerate();
    shares.filter(|_| all > 0).map(|(level, share)| (level.to_string(), share)).collect()
}

fn counts(moved: &BTreeMap<Cause, Moved>) -> BTreeMap<String, f64> {
    moved.iter().map(|(cause, moved)| (cause.to_string(), moved.requests as f64)).collect()
}

/// `shrunk`: how much smaller than on the full drive requests are.
fn sizes(moved: &BTreeMap<Cause, Moved>, shrunk: f64) -> BTreeMap<String, f64> {
    moved.iter().map(|(cause, moved)| (cause.to_string(), moved.mean() * shrunk)).collect()
}

/// Seconds that the mechanism worked, by cause, and seconds that it was idle.
fn seconds_by_cause(
    scene: &Scene,
    interval: &Interval<'_>,
    mechanisms: u64,
) -> BTreeMap<String, f64> {
    let time_scale = scene.time_scale as f64;
    let mut left = interval.seconds() * time_scale;
    let mut seconds = BTreeMap::new();
    for cause in Cause::ALL {
        let worked = interval.worked(cause, mechanisms) * time_scale;
        if worked > 0.0 {
            left -= worked;
            seconds.insert(cause.to_string(), worked);
        }
    }
    seconds.insert("idle".into(), left.max(0.0));
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1,000 operations the 500th, the 900th, the 990th and the 999th decide, each with a time
    /// of its own.
    #[test]
    fn percentiles_are_those_of_known_times_in_seconds() {
        let mut times = crate::workload::latencies();
        let steps = [(499, 1), (1, 2), (399, 3), (1, 4), (89, 5), (1, 6), (8, 7), (1, 8), (1, 9)];
        for (count, seconds) in steps {
            times.record_n(seconds * 1_000_000_000, count).unwrap();
        }
        let found = percentiles(&times);
        let expected = [("p50", 2.0), ("p90", 4.0), ("p99", 6.0), ("p99.9", 8.0), ("max", 9.0)];
        assert_eq!(found.len(), expected.len());
        for (name, seconds) in expected {
            // The histogram keeps three digits.
            assert!((found[name] / seconds - 1.0).abs() <= 0.001, "{name}: {found:?}");
        }
    }
}
