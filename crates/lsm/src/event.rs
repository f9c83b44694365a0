//! [`Event`]s for [`Listener`]s: begin and end of flushes and merges in the background, stalled
//! writes, a failure that stops all writing, and its end, and a store that is nearly full.
//!
//! - The actor that does the work calls the listeners, and holds no lock meanwhile. So a slow
//!   listener delays a job, or the call of a client. Several actors may call at once.
//! - A listener cannot be removed. Without listeners no event is built.
//! - There are no events for, among others, trivial moves, delete-only compactions, ingests,
//!   checkpoints, and flushes of an opening.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_env::ByteCount;
use terrace_env::sync::Mutex;
use terrace_env::wait::Waits;

use crate::Error;

/// A job in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Job {
    /// Writes a memtable into tables, of level 0 or below.
    Flush {
        /// Memory of the memtable.
        memory: ByteCount,
    },
    /// Merges tables. A compaction that only moves tables by metadata is done at once, without an
    /// event.
    Compaction {
        /// The level of the newest input.
        from: u8,
        /// The level of the oldest output.
        to: u8,
        /// Number of input ranges of tables.
        inputs: usize,
    },
}

/// An event.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A job began.
    Began {
        /// The job.
        job: Job,
    },
    /// A job ended. If several compactions are in flight, it is one of those that began with the
    /// same `job`.
    Ended {
        /// The job.
        job: Job,
        /// Bytes of its tables; `None` if the job is begun again later: it failed, found no space,
        /// or the engine closes.
        written: Option<ByteCount>,
        /// Duration.
        time: Duration,
    },
    /// A group of writes took [`STALL_MIN`](Self::STALL_MIN) or longer, because it had to wait.
    Stalled {
        /// Duration, from its first wait on.
        time: Duration,
        /// Waits of the write, by cause.
        waits: Waits,
    },
    /// A failure has stopped all writing.
    Stopped {
        /// Error that writers get from now on.
        error: Error,
    },
    /// Writing goes on after a failure.
    Resumed,
    /// The store has come near the point where puts are refused. The event comes once, and again
    /// only after the room was half of the live bytes. A new listener gets it at once.
    NearlyFull {
        /// Approximate live bytes of tables, without garbage that compactions can free.
        live: ByteCount,
        /// Approximate bytes that puts can still write, including such garbage.
        room: ByteCount,
    },
}

impl Event {
    /// Duration of the shortest stall with an event.
    pub const STALL_MIN: Duration = Duration::from_secs(1);
}

/// A receiver of events.
pub trait Listener: Send + Sync {
    /// Receives an event. It should return soon, because the job waits for it. It must not panic,
    /// and must not call a method that waits for jobs: to write, flush, compact or close.
    fn notice(&self, event: &Event);
}

/// All listeners.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Arc<dyn Listener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: Arc<dyn Listener>) {
        self.0.lock().push(listener);
    }

    /// Passes an event to all; the caller holds no lock.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        let listeners = self.0.lock().clone();
        if !listeners.is_empty() {
            let event = event();
            listeners.iter().for_each(|listener| listener.notice(&event));
        }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.lock().len())
    }
}
