//! [`limits`]: how many runs go at once.

use terrace_env::ByteCount;
use terrace_lab::run::RunPlan;
use terrace_lab::series::{self, Limits};

use crate::failure::Failure;
use crate::output::Output;

/// A part of the memory that is left to others.
const MEMORY_KEPT: u64 = 10;

/// As many runs at once as were asked for, or as there are processors. Their drives are in memory,
/// of which a part is left to others.
pub(crate) fn limits(
    plans: &[RunPlan],
    jobs: Option<u64>,
    fresh: bool,
    output: &Output,
) -> Result<Limits, Failure> {
    let processors = terrace_env::runner::processors();
    let jobs = jobs.map_or(processors, |jobs| usize::try_from(jobs).unwrap_or(usize::MAX));
    let available = series::available();
    let memory = available.map(|bytes| ByteCount(bytes.0 - bytes.0 / MEMORY_KEPT));
    let estimates = plans.iter().map(series::estimate);
    let mut estimates: Vec<ByteCount> = estimates.collect::<Result<_, _>>()?;
    estimates.sort_unstable();
    let together: u64 = estimates.iter().rev().take(jobs).map(|bytes| bytes.0).sum();
    if let (Some(memory), Some(largest)) = (memory, estimates.last())
        && together > memory.0
    {
        output.note(format_args!(
            "note: a run takes up to {largest} of memory, and {memory} can be had: not always \
             {jobs} runs at once"
        ));
    }
    Ok(Limits { jobs, memory, fresh })
}
