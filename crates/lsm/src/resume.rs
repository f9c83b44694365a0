//! Going on after a failure.
//!
//! A failure stops all writing and every job, and stays until somebody asks to go on: the failed
//! operation may fail again, and its effects are known only in part. To go on, whoever is asked
//! 1. takes the lead of the writes, so that none comes between,
//! 2. takes the failure back, so that the jobs begin anew what they had not committed,
//! 3. gives up the log, of whose end nothing is known any more: everything in memory goes to
//!    tables, and with it what was written and never synced, and
//! 4. begins a log, with sequences behind all that the old one may hold.
//!
//! If any of it fails, the engine has stopped again. After a panic it stays stopped: what is in
//! memory cannot be trusted then.

use crate::Error;
use crate::event::Event;
use crate::shared::Shared;
use crate::writing::ActiveLog;

impl Shared {
    /// Goes on after a failure, if there was one; everything written so far is durable then.
    pub(crate) fn resume(&self) -> Result<(), Error> {
        self.leading(|log| if self.take_back_failure()? { self.replace_log(log) } else { Ok(()) })
    }

    /// Lets the jobs go on; `false` if nothing had stopped them.
    fn take_back_failure(&self) -> Result<bool, Error> {
        let taken = self.lifecycle.take_failure_back()?;
        if taken {
            self.wake_all();
        }
        Ok(taken)
    }

    fn replace_log(&self, log: &mut ActiveLog) -> Result<(), Error> {
        self.give_up_log(log);
        self.begin_again(log, false).inspect_err(|error| self.note(error.clone()))?;
        self.listeners.tell(|| Event::Resumed);
        Ok(())
    }
}
