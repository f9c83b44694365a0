//! Resuming after a failure: [`resume`] restarts writes and jobs that a failure has stopped.
//!
//! 1. The call takes the lead of the writes, so that no write comes between.
//! 2. It clears the failure, so that the jobs begin again with their uncommitted work.
//! 3. It gives up the log, because the end of the log is unknown. All memtables are flushed,
//!    including writes that were never synced.
//! 4. It waits for the flushes, and begins a new log.
//!
//! If the engine has not failed, the call changes nothing. If step 4 fails for lack of space, the
//! failure stays cleared, and the next write or the next call tries the step again. After another
//! error of the store, writes are stopped again. The engine cannot be resumed if the failure was a
//! panic, or after a commit that could not be shown to readers.
//!
//! Any thread may call, without a lock. Writers wait meanwhile.

use super::log::ActiveLog;
use super::writer::Writer;
use crate::Error;
use crate::event::Event;

/// Clears a failure, if there was one. Then all earlier writes are durable.
pub(crate) fn resume(writer: &Writer) -> Result<(), Error> {
    writer.lane.leading(|log| {
        // A log that is given up: an earlier call found no space in step 4.
        match writer.lifecycle.take_failure_back()? || log.is_given_up() {
            true => replace_log(writer, log),
            false => Ok(()),
        }
    })
}

fn replace_log(Writer { room, listeners, .. }: &Writer, log: &mut ActiveLog) -> Result<(), Error> {
    room.give_up_log(log);
    room.begin_again(log, false).inspect_err(|error| room.note(error.clone()))?;
    listeners.tell(|| Event::Resumed);
    Ok(())
}
