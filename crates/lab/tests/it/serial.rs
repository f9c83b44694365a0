//! [`Serial`]: a simple timing model for tests: one request after the other.

use std::time::Duration;

use terrace_env::Time;
use terrace_zone::emulator::{Command, Progress, Timing};

/// A drive that carries out one request after the other: 150 MB a second, and a tenth of a
/// millisecond for each.
#[derive(Default)]
pub(crate) struct Serial {
    free: Time,
}

impl Timing for Serial {
    fn submit(&mut self, now: Time, _: u64, command: &Command) -> Progress {
        let bytes = command.blocks * 4096;
        let start = self.free.max(now);
        self.free = start + Duration::from_micros(100) + Duration::from_nanos(bytes * 1000 / 150);
        Progress::Decided { start, end: self.free }
    }
}
