//! [`WriteLane`]: the batches that wait to be written, the log, and the lead.
//!
//! Leading is a role that one thread has at a time. The leader owns the log ([`Lead`]) and holds no
//! lock, so that it may wait for the device while other writers queue. It writes one group, in the
//! order of the queue, and gives the lead back. Other work beside which nothing may be written
//! takes the lead, too ([`Shared::leading`]), such as the commit of an ingest.
//!
//! - A leader must not queue a batch or take the lead a second time: it would wait for itself.
//! - If a leader panics, its group fails, the engine stops, and the log is not written again:
//!   nobody knows how far it was written. No writer waits for a leader that is gone.
//!
//! The lane has one lock, for the queue, held for a look or a change, and one condition.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use terrace_env::MemoryLease;
use terrace_env::sync::{Condvar, Mutex, MutexGuard};

use super::batch::Batch;
use super::log::ActiveLog;
use crate::canary::{self, Rule};
use crate::shared::Shared;
use crate::{Durability, Error};

/// A group takes no further batch once it has this many bytes: the first of the group waits for
/// the last.
const GROUP_BYTES_MAX: usize = 1 << 20;

/// A batch that waits to be written.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: u64,
    pub(crate) batch: Batch,
    pub(crate) durability: Durability,
    /// Errand to do beside the write.
    pub(crate) errand: Errand,
    /// Lease that counts a large batch until it is written.
    pub(crate) _memory: Option<MemoryLease>,
}

impl Pending {
    /// Whether the batch goes to the log.
    pub(crate) fn is_logged(&self) -> bool {
        self.durability > Durability::Unlogged
    }
}

/// Errand of a batch that may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Nothing.
    None,
    /// The memtable is to be flushed.
    Rotate,
    /// Bytes gathered in the log are handed to the medium.
    HandOver,
}

/// Where the log is.
#[derive(Default)]
enum Log {
    /// There is none: the engine only reads, or is closed.
    #[default]
    None,
    /// Nobody leads.
    Free(ActiveLog),
    /// A leader has it.
    Led,
    /// A leader panicked.
    Lost,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) pending: VecDeque<Pending>,
    /// The ticket that the next batch gets; batches are taken in the order of their tickets.
    pub(crate) next: u64,
    /// Tickets below this are answered.
    pub(crate) answered: u64,
    pub(crate) failed: BTreeMap<u64, Error>,
    log: Log,
    /// Whether the engine closes: only its own last errands are queued.
    closing: bool,
}

/// The batches that wait to be written, and the log that they go to.
#[derive(Default)]
pub(crate) struct WriteLane {
    queue: Mutex<Queue>,
    moved: Condvar,
}

impl WriteLane {
    /// Opens the lane: writes go to this log from now on.
    pub(crate) fn open(&self, log: ActiveLog) {
        self.queue.lock().log = Log::Free(log);
    }

    /// Refuses all further batches of clients. Those that are queued are written.
    pub(crate) fn refuse_clients(&self) {
        self.queue.lock().closing = true;
    }

    /// The queue, to add to it or to look for an answer.
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Waits until a lead has ended.
    pub(crate) fn wait(&self, queue: &mut MutexGuard<'_, Queue>) {
        self.moved.wait(queue);
    }

    fn wait_for_lead(&self) -> MutexGuard<'_, Queue> {
        let mut queue = self.queue.lock();
        while queue.is_led() {
            self.moved.wait(&mut queue);
        }
        queue
    }
}

impl Queue {
    /// Whether batches of clients are queued still.
    pub(crate) fn check_clients(&self) -> Result<(), Error> {
        if self.closing { Err(Error::Closed) } else { Ok(()) }
    }

    /// Whether somebody leads.
    pub(crate) fn is_led(&self) -> bool {
        matches!(self.log, Log::Led)
    }

    /// Takes the log out, if nobody leads and there is one.
    fn take_log(&mut self) -> Result<ActiveLog, Error> {
        match std::mem::replace(&mut self.log, Log::Led) {
            Log::Free(log) => return Ok(log),
            other => self.log = other,
        }
        match self.log {
            Log::Lost => {
                let cause = Arc::new(Error::Panicked);
                Err(Error::Stopped { job: "the log", cause })
            }
            _ => Err(Error::Closed),
        }
    }

    /// Takes a group out of the queue; the ticket behind its last is returned beside.
    fn take_group(&mut self) -> (Vec<Pending>, u64) {
        let (mut group, mut bytes) = (Vec::new(), 0);
        let size = |pending: &Pending| pending.batch.byte_size().0 as usize;
        // A group is copied to be one append, and a large batch is not to be copied for others.
        let fits = |next: &Pending, bytes| bytes == 0 || bytes + size(next) <= 2 * GROUP_BYTES_MAX;
        while let Some(next) = self.pending.pop_front_if(|next| fits(next, bytes)) {
            bytes += size(&next);
            group.push(next);
            if bytes >= GROUP_BYTES_MAX {
                break;
            }
        }
        let end = group.last().map_or(self.answered, |last: &Pending| last.ticket + 1);
        (group, end)
    }

    /// Answers the tickets below `end`: those of `failed` by their errors, the others by success.
    fn answer(&mut self, end: u64, failed: impl IntoIterator<Item = (u64, Error)>) {
        self.failed.extend(failed);
        self.answered = end;
    }
}

/// The role of the leader, and the log.
pub(crate) struct Lead<'a> {
    shared: &'a Shared,
    /// Gone once the lead has ended.
    log: Option<ActiveLog>,
    /// The leader answers the tickets below.
    end: u64,
}

impl Shared {
    /// Waits until nobody leads, and carries out `work` in the lead: nothing is written meanwhile
    /// but by `work`.
    pub(crate) fn leading<T>(
        &self,
        work: impl FnOnce(&mut ActiveLog) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut queue = self.writes.wait_for_lead();
        let (log, end) = (queue.take_log()?, queue.answered);
        drop(queue);
        let mut lead = Lead { shared: self, log: Some(log), end };
        let result = work(lead.log());
        drop(lead.end([]));
        result
    }

    /// Like [`leading`](Self::leading), but does nothing where that would have to wait, or where
    /// there is no log.
    pub(crate) fn leading_at_once(&self, work: impl FnOnce(&mut ActiveLog)) {
        let mut queue = self.writes.queue.lock();
        let (Ok(log), end) = (queue.take_log(), queue.answered) else { return };
        drop(queue);
        let mut lead = Lead { shared: self, log: Some(log), end };
        work(lead.log());
        drop(lead.end([]));
    }

    /// Takes the lead for the next group of the queue. Where there is no log, the group is answered
    /// by the reason, and nothing is returned.
    pub(crate) fn lead_group(&self, queue: &mut Queue) -> Option<(Lead<'_>, Vec<Pending>)> {
        let (group, end) = queue.take_group();
        match queue.take_log() {
            Ok(log) => Some((Lead { shared: self, log: Some(log), end }, group)),
            Err(error) => {
                queue.answer(end, group.iter().map(|pending| (pending.ticket, error.clone())));
                self.writes.moved.notify_all();
                None
            }
        }
    }

    /// Waits until nobody leads, and closes the lane: all further writes find the engine closed.
    pub(crate) fn close_writes(&self) {
        let mut queue = self.writes.wait_for_lead();
        let Ok(log) = queue.take_log() else { return };
        drop(queue);
        // Nobody is told that the lane is closed while the log may still be written.
        drop(log);
        self.writes.queue.lock().log = Log::None;
        self.writes.moved.notify_all();
    }
}

impl<'a> Lead<'a> {
    /// The log.
    pub(crate) fn log(&mut self) -> &mut ActiveLog {
        self.log.as_mut().expect("a lead that has not ended")
    }

    /// Gives log and lead back, and answers the group: those of `failed` by their errors.
    pub(crate) fn end(
        mut self,
        failed: impl IntoIterator<Item = (u64, Error)>,
    ) -> MutexGuard<'a, Queue> {
        let lane = &self.shared.writes;
        let mut queue = lane.queue.lock();
        if let Some(log) = self.log.take() {
            queue.log = Log::Free(log);
        }
        queue.answer(self.end, failed);
        lane.moved.notify_all();
        queue
    }
}

impl Drop for Lead<'_> {
    /// After a panic of the leader.
    fn drop(&mut self) {
        let Some(log) = self.log.take() else { return };
        self.shared.fail("the log", Error::Panicked);
        let mut queue = self.shared.writes.queue.lock();
        queue.log = Log::Lost;
        let mut group = queue.answered..self.end;
        if canary::is_broken(Rule::GroupFailsWithItsLeader) {
            group.end = group.end.min(group.start + 1);
        }
        queue.answer(self.end, group.map(|ticket| (ticket, Error::Panicked)));
        self.shared.writes.moved.notify_all();
        drop(queue);
        drop(log);
    }
}
