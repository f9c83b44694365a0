//! [`Gathering`]: bytes of the log may stay in the memory of the process for as long as the option
//! `gather_time` says. An actor has them written out when that time is over.
//!
//! 1. A leader (the writer that writes a group of batches for all) that leaves bytes in the log's
//!    memory sets the time until which they may stay, unless older bytes have set one already.
//! 2. An actor (a background thread) sleeps until then and queues an empty batch, like a writer.
//!    The leader of its group begins to write out the log.
//! 3. The bytes can be written earlier, for example by a sync: then the actor wakes in vain. They
//!    can be written later, if another leader is at work when the time is over.
//!
//! When the engine closes, the actor does not wait for the time. If `gather_time` is zero, each
//! leader begins the write-out itself. Writing out is no sync: a power cut can still take these
//! bytes.
//!
//! Threads: the actor, the leader, and the thread that closes the engine. One lock, held over no
//! call to the store.

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
    /// Until when what has gathered may stay.
    due: Option<Time>,
    /// Whether the actor waits without a limit.
    idle: bool,
    closing: bool,
}

impl Gathering {
    /// Bytes may stay for `gather_time`.
    pub(crate) fn new(gather_time: Duration, lifecycle: Arc<Lifecycle>) -> Self {
        Self { gather_time, lifecycle, clock: Mutex::default(), moved: Condvar::default() }
    }

    /// The actor. `hand_over` queues an empty batch, whose leader begins to write out the log.
    pub(crate) fn run(&self, hand_over: impl Fn() -> Result<(), Error>) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "writing the log" };
        while self.await_due() {
            // The writer that finds an error notes it; the others are told by their own writes.
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

    /// Waits until something is to be written; `false` when there is nothing more to wait for.
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

    /// Something has gathered that may stay until `due`.
    fn begin(&self, due: Time) {
        let mut clock = self.clock.lock();
        clock.due = Some(due);
        if clock.idle {
            self.moved.notify_all();
        }
    }

    /// Ends the actor, once it has written what has gathered.
    pub(crate) fn close(&self) {
        self.clock.lock().closing = true;
        self.moved.notify_all();
    }
}
