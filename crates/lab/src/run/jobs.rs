//! [`Jobs`]: a listener of the engine that counts running flushes and merges, and notes how long
//! each merge took. On a device without zones it also tells the notes of `addresses` when a merge
//! has ended. A merge that came to nothing is only counted while it runs.
//!
//! Register it before any job begins: it does not count jobs that were running before. It may be
//! shared between threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace::{Event, Job, Listener};
use terrace_env::sync::Mutex;

use super::addresses::Notes;

/// Listens to the engine.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    flushes: AtomicU64,
    compactions: AtomicU64,
    /// Times of the merges that did not fail, in the order in which they ended.
    merges: Mutex<Vec<Duration>>,
    /// On a device without zones: notes that are told when a merge has ended.
    notes: Option<Arc<Mutex<Notes>>>,
}

impl Jobs {
    /// A listener that also tells the notes when a merge has ended.
    pub(super) fn noting(notes: Option<Arc<Mutex<Notes>>>) -> Self {
        Self { notes, ..Self::default() }
    }

    /// Flushes and compactions.
    pub(super) fn under_way(&self) -> (u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (count(&self.flushes), count(&self.compactions))
    }

    /// How long each merge took that has ended since the last call; those that came to nothing are
    /// left out.
    pub(super) fn take_merges(&self) -> Vec<Duration> {
        std::mem::take(&mut self.merges.lock())
    }

    fn of(&self, job: &Job) -> Option<&AtomicU64> {
        match job {
            Job::Flush { .. } => Some(&self.flushes),
            Job::Compaction { .. } => Some(&self.compactions),
            _ => None,
        }
    }
}

impl Listener for Jobs {
    fn notice(&self, event: &Event) {
        match event {
            Event::Began { job } => {
                self.of(job).map(|count| count.fetch_add(1, Ordering::Relaxed));
            }
            Event::Ended { job, written, time } => {
                if let (Job::Compaction { .. }, Some(_)) = (job, written) {
                    self.merges.lock().push(*time);
                    self.notes.iter().for_each(|notes| notes.lock().end_merge());
                }
                // The job that was running when the listener began was not counted.
                let less = |count: u64| Some(count.saturating_sub(1));
                let of = self.of(job);
                of.map(|count| count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less));
            }
            _ => {}
        }
    }
}
