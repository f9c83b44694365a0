//! Gathering: bytes of the log may stay in the memory of the process for as long as the option
//! `gather_time` says. This module writes them out when that time is over.
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
