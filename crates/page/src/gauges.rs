//! [`Gauges`]: everything of a picture that is sent whole in each frame: levels, jobs, counts,
//! waits, latencies, space. Counts are sums since the store was opened; the page makes rates of
//! them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use terrace::live::{Latencies, LiveSnapshot};
use terrace::{Job, Stats};

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// Seconds since the store was opened, or since the run began.
    pub seconds: f64,
    /// Levels that hold tables.
    pub levels: Vec<LevelGauge>,
    /// Running flushes and merges, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobGauge>,
    /// Counts since the store was opened.
    pub totals: Totals,
    /// Nanoseconds of waits by cause since the store was opened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, u64>,
    /// Latencies, where they are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<Latencies>,
    /// The use of space.
    pub space: SpaceGauge,
    /// The number of memtables, and their bytes.
    pub memtables: (u64, u64),
    /// Error that has stopped all writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The phase of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// A level of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelGauge {
    /// The level; 0 is the newest.
    pub level: u8,
    /// Sorted runs.
    pub runs: u64,
    /// Tables.
    pub tables: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// A running job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobGauge {
    /// Its name for people.
    pub name: String,
    /// Its levels: the newest input, and the oldest output; none for a flush.
    pub levels: Option<(u8, u8)>,
    /// The share that is done, an estimate.
    pub share: f64,
    /// Seconds since it began.
    pub seconds: f64,
}

/// Counts since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Puts and deletes.
    pub puts: u64,
    /// Point reads.
    pub gets: u64,
    /// Scans.
    pub scans: u64,
    /// Bytes of keys and values that clients wrote.
    pub user_bytes: u64,
    /// Bytes written to the medium, by cause in the order of `Cause::ALL`.
    pub written: Vec<u64>,
    /// Bytes read from it, likewise.
    pub read: Vec<u64>,
    /// Zones reset.
    pub resets: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Merges.
    pub merges: u64,
}

/// The use of space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceGauge {
    /// Bytes that files could ever occupy.
    pub capacity: u64,
    /// Bytes of files that exist.
    pub live: u64,
    /// The valid share of the space in use, on a device.
    pub efficiency: Option<f64>,
}

impl Gauges {
    /// The gauges of a snapshot.
    #[must_use]
    pub fn of(snapshot: &LiveSnapshot) -> Self {
        let stats = &snapshot.overview.stats;
        let is_measured = snapshot.latencies != Latencies::default();
        Self {
            seconds: snapshot.age as f64 / 1e9,
            levels: levels(stats),
            jobs: jobs(stats),
            totals: Totals {
                puts: stats.entries_written,
                gets: stats.gets,
                scans: stats.scans,
                user_bytes: stats.user_bytes,
                written: stats.io.written_bytes.to_vec(),
                read: stats.io.read_bytes.to_vec(),
                resets: stats.io.zones_reset,
                flushes: stats.flushes,
                merges: stats.compactions,
            },
            waits: stats.waits.iter().map(|(cause, it)| (cause.name().into(), it.nanos)).collect(),
            latencies: is_measured.then_some(snapshot.latencies),
            space: SpaceGauge {
                capacity: stats.space.capacity.0,
                live: stats.space.live.0,
                efficiency: snapshot.overview.space_efficiency,
            },
            memtables: (stats.memtables, stats.memtable_bytes),
            failure: stats.failure.clone(),
            phase: None,
        }
    }
}

fn levels(stats: &Stats) -> Vec<LevelGauge> {
    let filled = stats.levels.iter().filter(|level| level.segments > 0);
    let of = |it: &terrace::LevelStats| LevelGauge {
        level: it.level,
        runs: it.runs,
        tables: it.segments,
        bytes: it.bytes,
    };
    filled.map(of).collect()
}

fn jobs(stats: &Stats) -> Vec<JobGauge> {
    let of = |it: &terrace::JobStats| {
        let (name, levels) = match it.job {
            Job::Flush { memory } => (format!("flush of {memory}"), None),
            Job::Compaction { from, to, inputs } => {
                (format!("merge L{from} to L{to}, {inputs} tables"), Some((from, to)))
            }
            _ => ("job".to_owned(), None),
        };
        JobGauge { name, levels, share: it.share(), seconds: it.nanos as f64 / 1e9 }
    };
    stats.jobs.iter().map(of).collect()
}
