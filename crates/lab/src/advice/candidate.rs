//! [`Candidate`]: the results of one system on the model of a [question](super::Question).

use serde::Serialize;

use super::Model;
use crate::run::Outcome;

/// See the [module](self). Rates are those of the full drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The system, with its parameters.
    pub system: String,
    /// Overwrites a second, one after the other.
    pub writes_per_second: f64,
    /// Bytes written to the drive for a byte of entries, with the log.
    pub written_for_one: f64,
    /// The longest overwrite, in seconds.
    pub longest_write: f64,
    /// Bytes of newest versions over the space in use, in percent, at worst.
    pub live_worst_percent: f64,
    /// Sorted runs, on average.
    pub runs: f64,
    /// Point reads a second, at rest.
    pub reads_per_second: f64,
    /// Scans of 50 entries a second, at rest.
    pub scans_per_second: f64,
}

impl Candidate {
    /// From the measured phases of a run; `None`: one of them is missing.
    #[must_use]
    pub fn of(system: &str, outcomes: &[Outcome]) -> Option<Self> {
        let phase = |name: &str| outcomes.iter().find(|outcome| outcome.phase == name);
        let writes = &phase(Model::WRITES)?.metrics;
        Some(Self {
            system: system.to_owned(),
            writes_per_second: writes.kv_per_second,
            written_for_one: writes.write_amplification.total,
            longest_write: writes.stall_worst_seconds,
            live_worst_percent: writes.space_efficiency.live_worst * 100.0,
            runs: writes.runs_average,
            reads_per_second: phase(Model::READS)?.metrics.kv_per_second,
            scans_per_second: phase(Model::SCANS)?.metrics.kv_per_second,
        })
    }
}
