//! [`Sample`]: values of a run at one moment of a phase, such as throughput since the sample
//! before. [`ZoneShare`]: how full a zone is at the end of a phase.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A sample: events since the sample before, and the state at its time. Times and rates are those
/// of the full drive; counts of operations are those of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds since the phase began.
    pub seconds: f64,
    /// Operations of clients since the phase began.
    pub operations: u64,
    /// Values that can be drawn, by name:
    ///
    /// | name | meaning |
    /// |---|---|
    /// | `kv_per_second` | operations of clients, in the interval |
    /// | `read_mib_per_second`, `write_mib_per_second` | transfers of the drive in the interval |
    /// | `CAUSE_share` | share of the interval that the mechanism worked for this cause |
    /// | `valid_share` | referenced table bytes over the store's space |
    /// | `used_share` | space in use, such as zones that hold anything, over the store's space |
    /// | `valid_efficiency`, `live_efficiency` | as in [`SpaceEfficiency`][efficiency] |
    /// | `zones` | zones that hold anything |
    /// | `runs` | sorted runs in the tree |
    /// | `flushes`, `compactions` | running jobs |
    /// | `write_amplification` | since the phase began |
    /// | `waits.CAUSE` | how many waited for this at once, on average over the interval |
    ///
    /// [efficiency]: super::SpaceEfficiency
    pub values: BTreeMap<String, f64>,
}

/// A zone that holds anything, at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZoneShare {
    /// Its number.
    pub zone: u32,
    /// Referenced bytes per byte of its capacity.
    pub valid: f64,
    /// Written bytes per byte of its capacity.
    pub written: f64,
}
