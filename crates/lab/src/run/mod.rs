//! Runs: a system, a modelled drive and a workload, in virtual time. The metrics of a run do not
//! depend on how fast the machine is.
//!
//! A [`RunPlan`] holds all that a run depends on, except the program. [`carry_out()`] carries it
//! out with the engine itself: clients, flushes, compactions and reclaim are actors on a virtual
//! clock, and the drive is an emulator with a model of its times. So stalls and interference are
//! not modelled; they happen.
//!
//! | file | content |
//! |---|---|
//! | `plan`, `store_plan`, `phase`, `device`, `scaling` | a run as plain values, scaled to `1/n` |
//! | `carry_out`, `stage` | a run from its first phase to its last, on drive and store |
//! | `places`, `log_device`, `log_timing` | where log and metadata lie, and the cost of that |
//! | `log_writes`, `metadata_writes` | other ways to write log and metadata, as publications do |
//! | `recorder` | the requests to the drive and their times, as a hash and as text |
//! | `reading`, `occupancy`, `jobs` | counters, zones, jobs at a moment |
//! | `sampler`, `sample`, `end_signal` | values at even times |
//! | `observer` | the store itself at even times, for pictures |
//! | `addresses` | where tables lie on a device without zones |
//! | `metrics`, `work`, `outcome`, `names` | results of a phase and of its jobs, and their names |
//! | `work_limit` | how many bytes a store may move before its run fails |
//! | `error` | why a plan or a run fails |
//!
//! A run is a simulation on one thread. Samples and readings take no virtual time and send no
//! request, so measuring does not change a run.

mod addresses;
mod carry_out;
mod device;
mod end_signal;
mod error;
mod jobs;
mod log_device;
mod log_timing;
mod log_writes;
mod metadata_writes;
mod metrics;
mod names;
mod observer;
mod occupancy;
mod outcome;
mod phase;
mod places;
mod plan;
mod reading;
mod recorder;
#[cfg(test)]
mod recount;
mod sample;
mod sampler;
mod scaling;
mod stage;
mod store_plan;
mod work;
mod work_limit;

pub use addresses::{Addresses, Piece, Stretch};
pub use carry_out::{Progress, carry_out, carry_out_observed, carry_out_traced};
pub use device::DevicePlan;
pub use error::{PlanError, RunError};
pub use log_writes::LogWrites;
pub use metadata_writes::MetadataWrites;
pub use metrics::{Amplification, LogDeviceAmplification, Metrics, SpaceEfficiency, SpaceUse};
pub use observer::{Moment, Observer};
pub use outcome::{Cost, Outcome};
pub use phase::PhasePlan;
pub use plan::{RunChoice, RunPlan};
pub use sample::{Sample, ZoneShare};
pub use store_plan::StorePlan;
pub use work_limit::TooMuchMoved;
