//! [`Event`]s for [`Listener`]s: flushes and merges that begin and end in the background, writes
//! that were stalled, a failure that stops all writing, and its end, and a store that is nearly
//! full.
//!
//! - The actor that does the work calls the listeners, and holds no lock meanwhile. So a slow
//!   listener delays a job, or the call of a client. Several actors may call at once.
//! - A listener cannot be removed. Without listeners no event is built.
//! - Not told are, among others: trivial moves, delete-only compactions, ingests, checkpoints, and
//!   what an opening flushes.

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
        /// The memory that it takes.
        memory: ByteCount,
    },
    /// Merges tables. A compaction that only moves tables by metadata is done at once and not told.
    Compaction {
        /// The level of the newest input.
        from: u8,
        /// The level of the oldest output.
        to: u8,
        /// How many ranges of tables go in.
        inputs: usize,
    },
}

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A job began.
    Began {
        /// Which.
        job: Job,
    },
    /// A job ended. Where several compactions are under way, it is one of those that began with
    /// the same `job`.
    Ended {
        /// Which.
        job: Job,
        /// The tables that it wrote; `None` if it came to nothing, and will be begun again: it
        /// failed, found no space, or the engine closes.
        written: Option<ByteCount>,
        /// How long it took.
        time: Duration,
    },
    /// A group of writes took [`STALL_MIN`](Self::STALL_MIN) or longer, because it had to wait.
    Stalled {
        /// How long it took, from its first wait on.
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
    /// The store has come near the point where puts are refused. Told once, and again only after
    /// room for half as much as it holds has come back; a listener that comes later is told when it
    /// comes.
    NearlyFull {
        /// About the bytes of tables that stay: garbage that compactions can free is left out.
        live: ByteCount,
        /// About the bytes that puts can still bring, such garbage included.
        room: ByteCount,
    },
}

impl Event {
    /// The shortest stall that is told.
    pub const STALL_MIN: Duration = Duration::from_secs(1);
}

/// A receiver of events.
pub trait Listener: Send + Sync {
    /// Told of something that happened. It should return soon, because the job waits for it; it
    /// must not panic, and must not call what waits for jobs: to write, flush, compact or close.
    fn notice(&self, event: &Event);
}

/// All listeners.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Vec<Arc<dyn Listener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: Arc<dyn Listener>) {
        self.0.lock().push(listener);
    }

    /// Tells them; the caller holds no lock.
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
