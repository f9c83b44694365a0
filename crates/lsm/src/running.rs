//! [`RunningJobs`]: the flushes and merges that are running, with their progress. It notifies
//! listeners of the begin and the end of each, and gives each a part in the memory of jobs.
//!
//! - A job is listed from its begin until its [`Running`] is dropped, also after an error.
//! - Progress is counted in entries. A merge has parts, one after the other or several at once. The
//!   approximate number of entries of a part is known once the part begins. A flush has one part.
//! - If a part ends early, its remainder becomes another part.
//!
//! The lock is held for a few instructions, when a job begins or ends and when the list is read.
//! The entries are counted without a lock, once for each step of a job. Any thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Time, runner};

use crate::Error;
use crate::counters::Count;
use crate::event::{Event, Job, Listeners};
use crate::memory::Memory;

/// A flush or a merge that is running.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStats {
    /// The job.
    pub job: Job,
    /// Time since it began, in nanoseconds.
    pub nanos: u64,
    /// Entries that it has processed.
    pub entries_done: u64,
    /// Approximate number of entries in the parts that have begun.
    pub entries: u64,
    /// Parts that have begun.
    pub parts_begun: u64,
    /// All known parts.
    pub parts: u64,
}

impl JobStats {
    /// Approximate share of the job that is done, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.entries == 0 || self.parts == 0 {
            return 0.0;
        }
        let of_begun = self.entries_done as f64 / self.entries as f64;
        of_begun.min(1.0) * (self.parts_begun as f64 / self.parts as f64).min(1.0)
    }
}

/// All jobs that are running.
#[derive(Debug)]
pub(crate) struct RunningJobs {
    listeners: Arc<Listeners>,
    memory: Arc<Memory>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    jobs: BTreeMap<u64, (Job, Time, Arc<JobProgress>)>,
}

/// Counts of one job. Its actor and its workers share them.
#[derive(Debug, Default)]
pub(crate) struct JobProgress {
    entries_done: Count,
    entries: Count,
    parts_begun: Count,
    parts: Count,
}

impl JobProgress {
    /// Adds further parts of the job.
    pub(crate) fn add_parts(&self, parts: u64) {
        self.parts.add(parts);
    }

    /// Begins a part of about this number of entries.
    pub(crate) fn begin_part(&self, entries: u64) {
        self.entries.add(entries);
        self.parts_begun.add(1);
        let (begun, all) = (self.parts_begun.get(), self.parts.get());
        debug_assert!(begun <= all, "part {begun} of {all}");
    }

    /// Adds processed entries.
    pub(crate) fn add(&self, entries: u64) {
        self.entries_done.add(entries);
    }

    fn stats(&self, job: Job, began: Time) -> JobStats {
        JobStats {
            job,
            nanos: u64::try_from(runner::now().since(began).as_nanos()).unwrap_or(u64::MAX),
            entries_done: self.entries_done.get(),
            entries: self.entries.get(),
            parts_begun: self.parts_begun.get(),
            parts: self.parts.get(),
        }
    }
}

/// Lists a job until it is dropped.
#[derive(Debug)]
struct Running<'a> {
    of: &'a RunningJobs,
    number: u64,
    progress: Arc<JobProgress>,
}

impl RunningJobs {
    pub(crate) fn new(listeners: Arc<Listeners>, memory: Arc<Memory>) -> Self {
        Self { listeners, memory, state: Mutex::default() }
    }

    /// Carries out the work of a job, which returns the bytes that it wrote, and notifies listeners
    /// of its begin and its end.
    pub(crate) fn carry_out(
        &self,
        job: Job,
        work: impl FnOnce(&Arc<JobProgress>) -> Result<Option<ByteCount>, Error>,
    ) -> Result<(), Error> {
        self.listeners.tell(|| Event::Began { job });
        let start = runner::now();
        let _share = self.memory.job();
        let running = self.begin(job);
        let result = work(&running.progress);
        drop(running);
        let written = result.as_ref().ok().copied().flatten();
        let time = runner::now().since(start);
        self.listeners.tell(|| Event::Ended { job, written, time });
        result.map(drop)
    }

    /// Lists a job that begins.
    fn begin(&self, job: Job) -> Running<'_> {
        let (progress, now) = (Arc::new(JobProgress::default()), runner::now());
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.jobs.insert(number, (job, now, Arc::clone(&progress)));
        drop(state);
        Running { of: self, number, progress }
    }

    /// The flush that runs: time since it began, and the share that is done, from 0 to 1.
    pub(crate) fn flush(&self) -> Option<(Duration, f64)> {
        let state = self.state.lock();
        let of = |(job, began, progress): &(Job, Time, Arc<JobProgress>)| {
            matches!(job, Job::Flush { .. }).then(|| progress.stats(*job, *began))
        };
        let stats = state.jobs.values().find_map(of)?;
        Some((Duration::from_nanos(stats.nanos), stats.share()))
    }

    /// The jobs, in the order in which they began.
    pub(crate) fn stats(&self) -> Vec<JobStats> {
        let jobs = &self.state.lock().jobs;
        jobs.values().map(|(job, began, progress)| progress.stats(*job, *began)).collect()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let ended = self.of.state.lock().jobs.remove(&self.number);
        debug_assert!(ended.is_some(), "a job is listed until it ends");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::EngineOptions;

    #[test]
    fn a_job_is_listed_with_its_share_until_it_ends() {
        let jobs = RunningJobs::new(Arc::default(), Memory::new(&EngineOptions::default()));
        let flush = Job::Flush { memory: ByteCount(7) };
        let merge = Job::Compaction { from: 0, to: 1, inputs: 3 };
        let (one, other) = (jobs.begin(flush), jobs.begin(merge));
        assert_eq!(jobs.stats()[1].share(), 0.0, "nothing is known yet");
        other.progress.add_parts(4);
        other.progress.begin_part(100);
        other.progress.add(50);
        let listed = jobs.stats();
        assert_eq!(listed.iter().map(|job| job.job).collect::<Vec<_>>(), [flush, merge]);
        assert_eq!(listed[1].share(), 0.125, "half of one part of four");
        other.progress.add(1000);
        assert_eq!(jobs.stats()[1].share(), 0.25, "an estimate that was too small");
        drop(one);
        assert_eq!(jobs.stats().len(), 1);
        drop(other);
        assert!(jobs.stats().is_empty());
    }
}
