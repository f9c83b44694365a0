//! Measures a piece of work: its time, its processor time, and the peak of memory.
//!
//! Time is that of the runner: real on threads, virtual in a simulation. Processor time and memory
//! are those of the whole process, with all its threads. The peak of memory comes from Linux's
//! `/proc`; where that is missing, it is unknown.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use terrace_env::{ByteCount, Time, runner};

/// A moment to measure from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    wall: Time,
    processor: Duration,
}

/// Time passed since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) wall: Duration,
    /// User and system time of all threads of the process, also of those that have ended.
    pub(super) processor: Duration,
}

impl Meter {
    pub(super) fn start() -> Self {
        Self { wall: runner::now(), processor: processor_time() }
    }

    pub(super) fn spent(self) -> Spent {
        let wall = runner::now().since(self.wall);
        Spent { wall, processor: processor_time().saturating_sub(self.processor) }
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Lets the peak begin anew with the present memory, where the system can: see `clear_refs` in
/// proc(5). Elsewhere the peak remains that of the whole process.
pub(super) fn forget_peak_memory() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that this process has held since its peak was forgotten, where the system says.
#[must_use]
pub(super) fn peak_memory() -> Option<ByteCount> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteCount::kib(kib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen_on_both_clocks_and_on_every_thread() {
        let meter = Meter::start();
        let work = || (0..3_000_000u64).fold(1u64, |sum, n| sum.wrapping_mul(31).wrapping_add(n));
        let alone = (std::hint::black_box(work()), meter.spent()).1;
        assert!(alone.processor > Duration::ZERO && alone.wall > Duration::ZERO, "{alone:?}");
        let other = runner::spawn("work", move || std::hint::black_box(work()));
        other.join();
        assert!(meter.spent().processor > alone.processor);
    }

    #[test]
    fn a_peak_is_seen_after_the_memory_is_gone() {
        let Some(before) = peak_memory() else { return };
        let large = std::hint::black_box(vec![1u8; 64 << 20]);
        drop(large);
        let grown = peak_memory().expect("as before").0.saturating_sub(before.0);
        // Other tests of the process may have held as much before.
        assert!(before > ByteCount::mib(64) || grown > 32 << 20, "{before}, and {grown} more");
    }
}
