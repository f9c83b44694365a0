//! Writes out the bytes gathered in the log, when they have stayed in memory for as long as the
//! options allow. They may be written earlier: by a sync, before the leader waits for room, or
//! because the store has gathered enough. They may be written a little later, if a leader is at
//! work when the time is over.
//!
//! 1. A leader that leaves bytes in the log's memory sets the time until which they may stay there,
//!    unless older bytes have set one already.
//! 2. The actor sleeps until then and queues an empty batch like a writer. The leader of its group
//!    begins to write out the log and, if the store below can do so, does not wait for the medium.
//!    So the puts of the group need not wait because of this.
//! 3. While nothing is gathered, the actor waits without a limit. If a sync has written the bytes
//!    first, the actor wakes once in vain.
//!
//! When the engine closes, the actor writes out what is due, without waiting for the time, and
//! ends. With a gather time of zero each leader begins the write-out itself, and the actor has
//! nothing to do.
//!
//! # Threads
//! One lock, held over nothing but its own condition.

use std::sync::Arc;

use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Time, runner};

use super::log::ActiveLog;
use crate::Error;
use crate::shared::{PanicGuard, Shared};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Gathering {
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

/// The actor.
pub(crate) fn run(shared: &Arc<Shared>) {
    let _guard = PanicGuard { shared, job: "writing the log" };
    while shared.gathering.await_due() {
        // The writer that finds an error notes it; the others are told by their own writes.
        let _ = shared.hand_over_log();
    }
}

impl Gathering {
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

impl Shared {
    /// Leaves what has gathered in the log's memory, for a while.
    pub(crate) fn gather(&self, log: &mut ActiveLog) -> Result<(), Error> {
        if !log.has_gathered() || log.due.is_some() {
            return Ok(());
        }
        if self.options.gather_time.is_zero() {
            return log.begin_write_out();
        }
        let due = runner::now() + self.options.gather_time;
        log.due = Some(due);
        self.gathering.begin(due);
        Ok(())
    }

    /// Writes what has gathered, when nobody else uses the engine any more, and waits for it.
    pub(crate) fn write_out_last(&self) {
        self.leading_at_once(|log| {
            if let Err(error) = log.write_out() {
                self.note(error);
            }
        });
    }
}
