//! Time that a step takes: by the clock, and of processors.
//!
//! Processor time is that of this program and of the processes that it has started and waited for,
//! with those that they have waited for. Linux counts it in `/proc/self/stat`. Elsewhere it counts
//! as none. A step that waits or leaves a processor idle takes more time by the clock than of
//! processors; on a machine that others use as well, only the latter says how dear it is.

use std::fmt;
use std::time::{Duration, Instant};

/// Ticks of a second in `/proc`, which are not those of the kernel's own clock: 100 on every
/// architecture that Rust has a standard library for.
const TICKS: u32 = 100;

/// Counts from its start.
pub(crate) struct Watch {
    start: Instant,
    processor: Duration,
}

impl Watch {
    /// Starts to count.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), processor: processor_time() }
    }

    /// The time since the start.
    pub(crate) fn spent(&self) -> Spent {
        let processor = processor_time().saturating_sub(self.processor);
        Spent { clock: self.start.elapsed(), processor }
    }
}

/// An amount of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) clock: Duration,
    pub(crate) processor: Duration,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (clock, processor) = (self.clock.as_secs_f64(), self.processor.as_secs_f64());
        write!(f, "{clock:.1} s, {processor:.1} s of processors")
    }
}

fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_secs(ticks(&stat).unwrap_or(0)) / TICKS
}

/// The ticks of a process and of its children, in user mode and in the kernel: the 14th to the
/// 17th field of proc_pid_stat(5).
fn ticks(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may have blanks and parentheses in it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_those_of_the_process_and_of_its_children() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 1000 200 30 4 20 0 1";
        assert_eq!(ticks(stat), Some(1234));
        assert_eq!(ticks(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_computes_takes_processor_time() {
        let watch = Watch::start();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        std::process::Command::new("sh").args(["-c", script]).status().unwrap();
        let spent = watch.spent();
        assert!(spent.processor >= Duration::from_millis(10), "{spent}");
    }
}
