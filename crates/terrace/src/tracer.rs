//! Passes events of a store on to `tracing`: the [events](crate::Event) of its jobs, and each
//! [`Error`](crate::Error) where it is made. With the cargo feature `tracing` alone.
//!
//! - The target is `terrace`. An event of a job is a child of the span in which the store was
//!   opened, which tells stores apart; an error is in the span of the caller.
//! - Fields: sizes are in bytes, times in seconds.
//!
//! | event | level | fields |
//! |---|---|---|
//! | a flush began | debug | `job`, `memory` |
//! | a flush ended | debug | `job`, `memory`, `written`, `seconds` |
//! | a compaction began | debug | `job`, `from`, `to`, `inputs` |
//! | a compaction ended | debug | `job`, `from`, `to`, `inputs`, `written`, `seconds` |
//! | either came to nothing | warn | the same without `written` |
//! | a write was stalled | warn | `seconds`, `waited`, `waits` |
//! | writing has stopped | error | `error` |
//! | writing goes on | info | |
//! | the store is nearly full | warn | `live`, `room` |
//! | an error was made | by its kind | `kind`, `origin`, `error` |
//!
//! A subscriber is called by the thread that does the work: it must not call the store. Any thread.

use std::fmt::Display;
use std::time::Duration;

use terrace_env::ByteCount;
use tracing::{Span, debug, error, info, warn};

use crate::error_kind::{ErrorKind, Kinds};
use crate::{Event, Job, Listener};

const TARGET: &str = "terrace";

/// Tells `tracing` of the events of a store.
pub(crate) struct Tracer {
    /// The span in which the store was opened.
    span: Span,
}

impl Tracer {
    /// For a store that is being opened in the current span.
    pub(crate) fn new() -> Self {
        Self { span: Span::current() }
    }

    fn began(&self, job: Job) {
        let parent = &self.span;
        match job {
            Job::Flush { memory } => {
                let memory = memory.0;
                debug!(target: TARGET, parent: parent, job = "flush", memory, "a flush began");
            }
            Job::Compaction { from, to, inputs } => debug!(
                target: TARGET, parent: parent, job = "compaction", from, to, inputs,
                "a compaction began"
            ),
            _ => {}
        }
    }

    fn ended(&self, job: Job, written: Option<ByteCount>, time: Duration) {
        let (parent, seconds) = (&self.span, time.as_secs_f64());
        match (job, written.map(|written| written.0)) {
            (Job::Flush { memory }, Some(written)) => debug!(
                target: TARGET, parent: parent, job = "flush", memory = memory.0, written, seconds,
                "a flush ended"
            ),
            (Job::Flush { memory }, None) => warn!(
                target: TARGET, parent: parent, job = "flush", memory = memory.0, seconds,
                "a flush came to nothing"
            ),
            (Job::Compaction { from, to, inputs }, Some(written)) => debug!(
                target: TARGET, parent: parent, job = "compaction", from, to, inputs, written,
                seconds, "a compaction ended"
            ),
            (Job::Compaction { from, to, inputs }, None) => warn!(
                target: TARGET, parent: parent, job = "compaction", from, to, inputs, seconds,
                "a compaction came to nothing"
            ),
            _ => {}
        }
    }
}

impl Listener for Tracer {
    fn notice(&self, event: &Event) {
        let parent = &self.span;
        match event {
            Event::Began { job } => self.began(*job),
            Event::Ended { job, written, time } => self.ended(*job, *written, *time),
            Event::Stalled { time, waits } => {
                let (seconds, waited) = (time.as_secs_f64(), waits.time().as_secs_f64());
                warn!(
                    target: TARGET, parent: parent, seconds, waited, ?waits,
                    "a write was stalled"
                );
            }
            Event::Stopped { error } => {
                error!(target: TARGET, parent: parent, %error, "writing has stopped");
            }
            Event::Resumed => info!(target: TARGET, parent: parent, "writing goes on"),
            Event::NearlyFull { live, room } => warn!(
                target: TARGET, parent: parent, live = live.0, room = room.0,
                "the store is nearly full"
            ),
            _ => {}
        }
    }
}

/// Tells `tracing` of an error that a caller gets: failures of media and programs as errors, lack
/// of space as a warning, and answers to a caller's mistake or race for debugging.
pub(crate) fn made(kinds: Kinds, cause: &dyn Display) {
    let (kind, origin) = (kinds.kind, kinds.origin);
    match kind {
        ErrorKind::Corruption
        | ErrorKind::Unsupported
        | ErrorKind::Stopped
        | ErrorKind::Io
        | ErrorKind::HostFull
        | ErrorKind::Bug => {
            error!(target: TARGET, ?kind, ?origin, error = %cause, "an error");
        }
        ErrorKind::NoSpace => warn!(target: TARGET, ?kind, ?origin, error = %cause, "an error"),
        _ => debug!(target: TARGET, ?kind, ?origin, error = %cause, "an error"),
    }
}
