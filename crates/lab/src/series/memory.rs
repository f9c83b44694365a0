//! [`estimate`] says how much memory a run takes, and [`available`] how much the machine has left,
//! from Linux's `/proc/meminfo`.
//!
//! The estimate assumes that the drive is written full, so it is usually too high. It ignores a
//! file cache and an offload device, and may be too low for a phase with far more records than
//! operations.

use terrace_env::ByteCount;
use terrace_zone::timing::Drive;

use crate::run::{PlanError, RunPlan};

/// Memory of a run in addition to its drive and the engine's budget: entries that are drawn, facts
/// remembered to verify them, tables of the file system, samples.
const BESIDE: u64 = 96 << 20;
/// A drive in memory takes one part in this number more than its blocks. Without this part the
/// estimate of three runs of LevelDB at 1/16 was 4.5 GB, and 5.0 GB were resident.
const OVERHEAD_PART: u64 = 8;
/// Bytes that are remembered of a record to verify it.
const PER_RECORD: u64 = 8;

/// About the most memory that a run takes: its drive is in memory, and may be written full; so is
/// its log device, if it has one.
pub fn estimate(plan: &RunPlan) -> Result<ByteCount, PlanError> {
    let records: u64 = plan.phases.iter().map(|phase| phase.operations * PER_RECORD).sum();
    let devices = space(plan)? + plan.log_memory().0;
    Ok(ByteCount(devices + devices / OVERHEAD_PART + plan.store.memory + records + BESIDE))
}

/// Bytes of the zones that the store has.
fn space(plan: &RunPlan) -> Result<u64, PlanError> {
    let drive = Drive::find(&plan.drive)?;
    let geometry = drive.geometry(plan.scale()).map_err(|problem| PlanError::Geometry {
        drive: drive.name().to_owned(),
        scale: plan.scale().to_string(),
        problem,
    })?;
    Ok(u64::from(plan.zones) * geometry.zone_capacity * u64::from(geometry.logical_block))
}

/// The memory that this machine has left; `None` where it does not say.
#[must_use]
pub fn available() -> Option<ByteCount> {
    // Linux, `proc_meminfo(5)`: an estimate of the memory to be had without swapping, in KiB.
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    Some(ByteCount(kib << 10))
}
