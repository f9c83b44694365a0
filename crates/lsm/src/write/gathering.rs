//! [`Gathering`]: lets bytes of the log stay in the memory of the process for the time of the
//! option `gather_time`. An actor has them written out when that time is over.
//!
//! 1. The leader (the writer that writes a group of batches for all) leaves bytes in the log's
//!    buffer. It sets the time until which they may stay, unless older bytes have set one already.
//! 2. An actor (a background thread) sleeps until then and queues an empty batch, like a writer.
//!    The leader of its group begins to write out the log.
//! 3. The bytes can be written earlier, for example by a sync: then the actor finds nothing to do.
//!    They can be written later, if another leader is at work when the time is over.
//!
//! When the engine closes, the actor does not wait for the time. If `gather_time` is zero, each
//! leader begins the write-out itself. Writing out is no sync: a power cut can still take these
//! bytes.
//!
//! Threads: the actor, the leader, and the thread that closes the engine. One lock, which no call
//! to the store is made under.

use std::sync::Arc;
use std::time::Duration;

use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Time, runner};

use super::log::ActiveLog;
use crate::Error;
use crate::lifecycle::{Lifecycle, PanicGuard};

/// See the [module](self).
pub(crate) struct Gathering {
    gather_time: Duration,
    lifecycle: Arc<Lifecycle>,
    clock: Mutex<Clock>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Clock {
    /// Time until which the gathered bytes may stay.
    due: Option<Time>,
    /// Whether the actor waits without a limit.
    idle: bool,
    closing: bool,
}

impl Gathering {
    /// A limit of `gather_time`.
    pub(crate) fn new(gather_time: Duration, lifecycle: Arc<Lifecycle>) -> Self {
        Self { gather_time, lifecycle, clock: Mutex::default(), moved: Condvar::default() }
    }

    /// Runs the actor. `hand_over` queues an empty batch, whose leader begins to write out the log.
    pub(crate) fn run(&self, hand_over: impl Fn() -> Result<(), Error>) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "writing the log" };
        while self.await_due() {
            // The writer that finds an error notes it; other writers get it from their own writes.
            let _ = hand_over();
        }
    }

    /// Leaves the gathered bytes in the log's memory, for a while.
    pub(crate) fn gather(&self, log: &mut ActiveLog) -> Result<(), Error> {
        if !log.has_gathered() || log.due.is_some() {
            return Ok(());
        }
        if self.gather_time.is_zero() {
            return log.begin_write_out();
        }
        let due = runner::now() + self.gather_time;
        log.due = Some(due);
        self.begin(due);
        Ok(())
    }

    /// Waits until bytes are due; `false` when the engine has closed and no bytes remain.
    fn await_due(&self) -> bool {
        let mut clock = self.clock.lock();
        loop {
            match clock.due {
                Some(due) if clock.closing || runner::now() >= due => {
                    clock.due = None;
                    return true;
                }
                _ if clock.closing => return false,
                Some(due) => {
                    self.moved.wait_until(&mut clock, due);
                }
                None => {
                    clock.idle = true;
                    self.moved.wait(&mut clock);
                    clock.idle = false;
                }
            }
        }
    }

    /// Notes that gathered bytes may stay until `due`.
    fn begin(&self, due: Time) {
        let mut clock = self.clock.lock();
        clock.due = Some(due);
        if clock.idle {
            self.moved.notify_all();
        }
    }

    /// Ends the actor, once it has written the gathered bytes.
    pub(crate) fn close(&self) {
        self.clock.lock().closing = true;
        self.moved.notify_all();
    }
}
