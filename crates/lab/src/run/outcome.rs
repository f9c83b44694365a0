//! [`Outcome`]: the result of a phase of a run, with the run's names, scale and seed: metrics,
//! samples, merges, zones, addresses and costs.
//!
//! The processor time among the costs depends on the machine. The rest follows from the plan and
//! the engine.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use super::{Addresses, Metrics, Sample, ZoneShare};

/// Outcome of a phase of a run. All but the processor time in `cost` is the same for the same
/// inputs on every machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The experiment: `geardb/fig3`.
    pub experiment: String,
    /// The system, as the experiment has it.
    pub system: String,
    /// The variant, if the experiment has variants.
    pub variant: Option<String>,
    /// The phase.
    pub phase: String,
    /// The scale: `1/64`.
    pub scale: String,
    /// The seed.
    pub seed: u64,
    /// Metrics by which the phase is judged.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Taken at even times.
    pub samples: Vec<Sample>,
    /// Seconds that each merge took, in the order in which they ended, to tenths of a millisecond.
    #[serde(default)]
    pub merges: Vec<f64>,
    /// Zones of tables that held anything at the end, by number.
    pub zones: Vec<ZoneShare>,
    /// Where tables lie on a device without zones.
    #[serde(default)]
    pub addresses: Addresses,
    /// Cost of the phase. A series adds that of the phases right before it that are not measured.
    pub cost: Cost,
}

/// Cost of a run for the machine it ran on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor seconds of the thread that ran it.
    pub processor_seconds: f64,
    /// Gigabytes that the drive moved, read and written.
    pub gigabytes_moved: f64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.processor_seconds += other.processor_seconds;
        self.gigabytes_moved += other.gigabytes_moved;
    }
}

impl Cost {
    /// Processor seconds per gigabyte moved.
    #[must_use]
    pub fn seconds_per_gigabyte(&self) -> f64 {
        if self.gigabytes_moved > 0.0 { self.processor_seconds / self.gigabytes_moved } else { 0.0 }
    }
}

#[cfg(test)]
impl Outcome {
    /// An invented outcome, for tests.
    pub(crate) fn made_up(system: &str) -> Self {
        let sample = |seconds: f64, valid: f64, reclaim: f64| Sample {
            seconds,
            operations: 0,
            values: [("valid_share", valid), ("reclaim_share", reclaim)]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
        };
        let zone = |zone, valid| ZoneShare { zone, valid, written: 1.0 };
        Self {
            experiment: "test".into(),
            system: system.into(),
            variant: None,
            phase: "fillrandom".into(),
            scale: "1/64".into(),
            seed: 1,
            metrics: Metrics { kv_per_second: 300.0, ..Metrics::default() },
            samples: vec![sample(1.0, 0.5, 0.1), sample(2.0, 0.71, 0.4), sample(3.0, 0.72, 0.6)],
            merges: vec![0.25, 1.5, 0.5],
            zones: vec![zone(1, 0.1), zone(2, 0.45), zone(3, 0.8), zone(4, 1.0)],
            addresses: Addresses::default(),
            cost: Cost::default(),
        }
    }
}
