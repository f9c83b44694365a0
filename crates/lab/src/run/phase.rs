//! [`PhasePlan`]: the work of clients in one phase, with defaults filled in and scaled.
//!
//! A phase cannot be planned if its workload, chooser, sizes or arrivals cannot be read, if a size
//! of keys or values is outside of its limits or the scale makes values too small, or if there are
//! no clients or more clients than operations. A run has at least one phase, and all of its phases
//! have keys of one size.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_lsm::KEY_BYTES_MAX;

use super::PlanError;
use super::scaling::Scaling;
use crate::arrivals::Process;
use crate::experiment::PhaseDescription;
use crate::workload::{
    Chooser, KEY_SIZE_MIN, Preset, Sizes, VALUE_SIZE_MAX, VALUE_SIZE_MIN, Workload,
};

/// The size of keys, as in `db_bench`.
const KEY_SIZE: usize = 16;
const VALUE_SIZE: &str = "100";

/// The reads and scans of the full drive, with an n-th of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllReads {
    /// The n of the head.
    pub times: u32,
    /// Operations that the phase would have with an n-th of the reads.
    pub counted: u64,
}

/// A phase of a run; counts and sizes are those of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhasePlan {
    /// Name of the phase.
    pub name: String,
    /// The name of its workload.
    pub workload: String,
    /// Operations, of all clients.
    pub operations: u64,
    /// Of a scaled run with the full drive's number of reads.
    // A plan from before there was a choice has the same hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_reads: Option<AllReads>,
    /// Records there are to choose from; `None`: the records that earlier phases have left, or one
    /// for each operation.
    pub records: Option<u64>,
    /// Bytes of a key.
    pub key_size: usize,
    /// Bytes of values.
    pub value_size: String,
    /// How a record is chosen, where not as the workload has it.
    pub chooser: Option<String>,
    /// Records of a scan, where not as the workload has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_length: Option<u32>,
    /// Clients at once.
    pub clients: u32,
    /// When operations arrive; times are those of the run.
    // A plan from before there were arrivals has the same hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Whether metrics are taken of it.
    pub measured: bool,
    /// Whether it ends when nothing is due any more.
    pub wait_idle: bool,
}

impl PhasePlan {
    pub(super) fn new(
        phase: &PhaseDescription,
        scaling: &Scaling,
        factor: f64,
    ) -> Result<Self, PlanError> {
        let name = phase.name.clone().unwrap_or_else(|| phase.workload.clone());
        let impossible = |what: &str, expected: String, found: String| PlanError::Impossible {
            what: format!("{what} of phase {name}"),
            expected,
            found,
        };
        let preset = parsed::<Preset>(&name, "workload", &phase.workload)?;
        if let Some(chooser) = &phase.chooser {
            parsed::<Chooser>(&name, "chooser", chooser)?;
        }
        let keys = KEY_SIZE_MIN..=KEY_BYTES_MAX;
        let key_size = phase.key_size.unwrap_or(KEY_SIZE);
        if !keys.contains(&key_size) {
            let expected = format!("{} to {} bytes", keys.start(), keys.end());
            return Err(impossible("key_size", expected, key_size.to_string()));
        }
        let values = phase.value_size.as_deref().unwrap_or(VALUE_SIZE);
        let values = parsed::<Sizes>(&name, "value_size", values)?;
        let values =
            scaling.values(&format!("value_size of phase {name}"), values, key_size as u64)?;
        let allowed = VALUE_SIZE_MIN..=VALUE_SIZE_MAX;
        if !allowed.contains(&(values.min() as usize))
            || !allowed.contains(&(values.max() as usize))
        {
            let expected = format!("values of {} to {} bytes", allowed.start(), allowed.end());
            return Err(impossible("value_size", expected, values.to_string()));
        }
        let clients = phase.clients.unwrap_or(1);
        let counted = scaling.count((phase.operations as f64 * factor).round() as u64);
        let all_reads = scaling.all_reads().filter(|_| preset.reads());
        let all_reads = all_reads.map(|times| AllReads { times, counted });
        let operations = all_reads.map_or(counted, |AllReads { times, .. }| {
            let usual = preset.workload(values, 2, 0).proportions();
            let more = usual.with_reads(times.into()).sum() / usual.sum();
            (counted as f64 * more).round() as u64
        });
        if clients == 0 || u64::from(clients) > operations {
            let expected = format!("1 to {operations}, the number of operations");
            return Err(impossible("clients", expected, clients.to_string()));
        }
        if let (true, Some(arrivals)) = (scaling.has_all_reads(), &phase.arrivals) {
            let expected = "none, for all_reads is set".to_owned();
            return Err(impossible("arrivals", expected, arrivals.clone()));
        }
        let arrivals = phase.arrivals.as_ref().map(|text| {
            let process = parsed::<Process>(&name, "arrivals", text)?;
            Ok::<_, PlanError>(process.hastened(scaling.time_scale()).to_string())
        });
        Ok(Self {
            workload: phase.workload.clone(),
            operations,
            all_reads,
            records: phase.records.map(|n| scaling.count((n as f64 * factor).round() as u64)),
            key_size,
            value_size: values.to_string(),
            chooser: phase.chooser.clone(),
            scan_length: phase.scan_length,
            clients,
            arrivals: arrivals.transpose()?,
            measured: phase.measured,
            wait_idle: phase.wait_idle,
            name,
        })
    }

    /// One store has keys of one size: that of the first phase.
    pub(super) fn check_all(phases: &[Self]) -> Result<(), PlanError> {
        let Some(first) = phases.first() else {
            return Err(PlanError::no_phases());
        };
        match phases.iter().find(|phase| phase.key_size != first.key_size) {
            None => Ok(()),
            Some(phase) => Err(PlanError::Impossible {
                what: format!("key_size of phase {}", phase.name),
                expected: format!("{} bytes, as in phase {}", first.key_size, first.name),
                found: phase.key_size.to_string(),
            }),
        }
    }

    /// The number of its operations, counted as if it had an n-th of the reads.
    pub(super) fn counted(&self, operations: u64) -> u64 {
        let Some(AllReads { counted, .. }) = self.all_reads else { return operations };
        let part = u128::from(operations) * u128::from(counted) / u128::from(self.operations);
        u64::try_from(part).unwrap_or(counted)
    }

    pub(super) fn preset(&self) -> Result<Preset, PlanError> {
        parsed(&self.name, "workload", &self.workload)
    }

    pub(super) fn values(&self) -> Result<Sizes, PlanError> {
        parsed(&self.name, "value_size", &self.value_size)
    }

    /// When its operations arrive, and for how long about; `None`: as soon as a client is free.
    pub(super) fn process(&self) -> Result<Option<(Process, Duration)>, PlanError> {
        let Some(text) = &self.arrivals else { return Ok(None) };
        let process: Process = parsed(&self.name, "arrivals", text)?;
        let span = Duration::from_secs_f64(self.operations as f64 / process.rate());
        Ok(Some((process, span)))
    }

    /// The sequence of its operations on a store of `left` records.
    pub(super) fn workload(&self, left: u64, seed: u64) -> Result<Workload, PlanError> {
        let preset = self.preset()?;
        let drawn = self.counted(self.operations);
        let usual = if preset.begins_empty() || left == 0 { drawn } else { left };
        let records = self.records.unwrap_or(usual).max(1);
        let workload = preset.workload(self.values()?, records, seed);
        let workload = match self.scan_length {
            Some(length) => workload.with_scan_length(length),
            None => workload,
        };
        let workload = match &self.chooser {
            Some(chooser) => workload.with_chooser(parsed(&self.name, "chooser", chooser)?),
            None => workload,
        };
        Ok(match self.all_reads {
            Some(AllReads { times, .. }) => workload.with_reads(times),
            None => workload,
        })
    }
}

/// Reads a field; the error of its type tells the possible values.
fn parsed<T: FromStr>(phase: &str, field: &str, text: &str) -> Result<T, PlanError>
where
    T::Err: Display,
{
    text.parse().map_err(|error: T::Err| PlanError::Field {
        field: format!("{field} of phase {phase}"),
        problem: error.to_string(),
    })
}
