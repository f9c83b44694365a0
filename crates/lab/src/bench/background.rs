//! [`Jobs`]: how many flushes and compactions a store ended, how long they took, and how much the
//! slowest of each wrote.
//!
//! `Background` listens to the engine's events. It counts a flush or compaction when the engine
//! reports its end, also if the job failed or wrote nothing; it ignores other events and other
//! kinds of job. The engine does not report compactions that only move or delete tables.
//! `Background` may be shared between threads.

use std::time::Duration;

use serde::Serialize;
use terrace::{Event, Job, Listener};
use terrace_env::ByteCount;
use terrace_env::sync::Mutex;

/// The jobs of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JobTimes {
    /// How many there were.
    pub count: u64,
    /// Seconds that all of them took together.
    pub seconds: f64,
    /// Seconds that the slowest took.
    pub seconds_max: f64,
    /// Bytes that the slowest of them wrote.
    pub slowest_written: ByteCount,
}

impl JobTimes {
    fn add(&mut self, time: Duration, written: ByteCount) {
        let seconds = time.as_secs_f64();
        self.count += 1;
        self.seconds += seconds;
        if seconds > self.seconds_max {
            (self.seconds_max, self.slowest_written) = (seconds, written);
        }
    }
}

/// Flushes and compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Jobs {
    /// Memtables into tables.
    pub flush: JobTimes,
    /// Tables merged into tables.
    pub compaction: JobTimes,
}

/// Listens to the engine and keeps count.
#[derive(Default)]
pub(super) struct Background(Mutex<Jobs>);

impl Background {
    pub(super) fn jobs(&self) -> Jobs {
        *self.0.lock()
    }
}

impl Listener for Background {
    fn notice(&self, event: &Event) {
        let Event::Ended { job, written, time, .. } = event else { return };
        let written = written.unwrap_or_default();
        let mut jobs = self.0.lock();
        match job {
            Job::Flush { .. } => jobs.flush.add(*time, written),
            Job::Compaction { .. } => jobs.compaction.add(*time, written),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_job_is_told_with_what_it_wrote() {
        let background = Background::default();
        for (millis, mib) in [(20, 1), (50, 2), (30, 4)] {
            let (written, time) = (Some(ByteCount::mib(mib)), Duration::from_millis(millis));
            let job = Job::Compaction { from: 0, to: 1, inputs: 3 };
            background.notice(&Event::Ended { job, written, time });
        }
        let Jobs { flush, compaction } = background.jobs();
        assert_eq!(flush, JobTimes::default());
        assert_eq!((compaction.count, compaction.seconds_max), (3, 0.05));
        assert_eq!(compaction.slowest_written, ByteCount::mib(2));
        assert!((compaction.seconds - 0.1).abs() < 1e-9);
    }
}
