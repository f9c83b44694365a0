//! Resuming after a failure. A failure stops all writes and jobs until a client calls `resume`. The
//! call
//!
//! 1. takes the lead of the writes, so that no write comes between,
//! 2. clears the failure, so that the jobs start again with what they had not committed,
//! 3. gives up the log, because nobody knows how it ends: all memtables are flushed, including
//!    writes that were never synced, and
//! 4. waits for that, and begins a new log, with sequences above all that the old one may hold.
//!
//! If the engine has not failed, nothing happens. If step 3 or 4 fails, the engine has failed
//! again; but if there is no space for them, the engine is only short of space, and the next write
//! tries the two steps again. After a panic the engine cannot be resumed, because its memory cannot
//! be trusted, nor after a commit whose change of the tree could not be shown.

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
