//! [`WriteLane`]: group commit. Batches wait in the lane's queue, and one writer leads: it writes a
//! group of them for all of their writers.
//!
//! 1. A writer queues its batch. If no writer leads, it takes the lead; otherwise it waits until
//!    its batch is answered or the lead is free.
//! 2. The leader takes batches from the front of the queue as one group, and hands log and group to
//!    `write_group`. Its own batch may be in a later group.
//! 3. It answers the batches of the group, the failed ones by their errors, and gives the lead
//!    back.
//!
//! The leader owns the log ([`Lead`]) and holds no lock, so that it may wait for the device while
//! other writers queue. Other work during which nothing may be written takes the lead, too
//! ([`WriteLane::leading`]), such as the commit of an ingest.
//!
//! - A leader must not queue a batch or take the lead a second time: it would wait for itself.
//! - If a leader panics, its group fails, the engine stops, and the log is not written again: its
//!   end is not known. No writer waits for a leader that is gone.
//!
//! How a group is written is not known here, nor what a log is: `L` is any value that one leader at
//! a time has. The lane has one lock, for the queue, held for a look or a change, and one
//! condition.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use terrace_env::MemoryLease;
use terrace_env::sync::{Condvar, Mutex, MutexGuard};
use terrace_env::wait::{WaitCause, WaitCounts};

use super::guard::Guard;
use super::log::ActiveLog;
use crate::batch::Batch;
use crate::canary::{self, Rule};
use crate::lifecycle::Lifecycle;
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
    /// Condition of the write, until the leader has checked it.
    pub(crate) guard: Option<Box<Guard>>,
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

/// A batch that is to be queued.
#[derive(Debug)]
pub(crate) struct Unqueued {
    pub(crate) batch: Batch,
    pub(crate) durability: Durability,
    pub(crate) errand: Errand,
    /// Condition of the write.
    pub(crate) guard: Option<Box<Guard>>,
    /// Lease that counts a large batch until it is written.
    pub(crate) memory: Option<MemoryLease>,
}

/// The answer to a batch, and how its writer came to it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<(), Error>,
    /// Whether the writer led a group.
    pub(crate) led: bool,
    /// Whether it led batches of others.
    pub(crate) led_others: bool,
}

/// Where the log is.
#[derive(Default)]
enum Log<L> {
    /// There is none: the engine only reads, or is closed.
    #[default]
    None,
    /// No writer leads.
    Free(L),
    /// A leader has it.
    Led,
    /// A leader panicked.
    Lost,
}

pub(crate) struct Queue<L = ActiveLog> {
    pending: VecDeque<Pending>,
    /// The ticket that the next batch gets; batches are taken in the order of their tickets.
    next: u64,
    /// Tickets below this are answered.
    answered: u64,
    failed: BTreeMap<u64, Error>,
    log: Log<L>,
    /// Whether the engine closes: only its own last errands are queued.
    closing: bool,
}

/// See the [module](self).
pub(crate) struct WriteLane<L = ActiveLog> {
    queue: Mutex<Queue<L>>,
    moved: Condvar,
    lifecycle: Arc<Lifecycle>,
}

impl<L> WriteLane<L> {
    /// A lane that is not open yet. A leader's panic stops the engine of this lifecycle.
    pub(crate) fn new(lifecycle: Arc<Lifecycle>) -> Self {
        let queue = Queue {
            pending: VecDeque::new(),
            next: 0,
            answered: 0,
            failed: BTreeMap::new(),
            log: Log::None,
            closing: false,
        };
        Self { queue: Mutex::new(queue), moved: Condvar::default(), lifecycle }
    }

    /// Opens the lane: writes go to this log from now on.
    pub(crate) fn open(&self, log: L) {
        self.queue.lock().log = Log::Free(log);
    }

    /// Refuses all further batches of clients. Those that are queued are written.
    pub(crate) fn refuse_clients(&self) {
        self.queue.lock().closing = true;
    }

    /// The queue, to add a batch to it or to look whether a writer leads.
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue<L>> {
        self.queue.lock()
    }

    /// Queues a batch, and returns once it is answered. Where the writer leads, `write_group`
    /// writes a group, and returns the tickets that failed.
    pub(crate) fn write<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue<L>>,
        unqueued: Unqueued,
        waits: &WaitCounts,
        write_group: impl Fn(&mut L, Vec<Pending>) -> Vec<(u64, Error)>,
    ) -> Answer {
        let (mut wait, mut led, mut led_others) = (waits.clock(), false, false);
        let ticket = queue.push(unqueued);
        while queue.answered <= ticket {
            if queue.is_led() {
                wait.on(WaitCause::Queue);
                self.moved.wait(&mut queue);
                continue;
            }
            wait.off();
            led = true;
            let Some((mut lead, group)) = self.lead_group(&mut queue) else { continue };
            led_others |= group.len() > 1;
            drop(queue);
            let mut failed = write_group(lead.log(), group);
            if canary::is_broken(Rule::FollowersShareTheError) {
                failed.retain(|(failed, _)| *failed == ticket);
            }
            queue = lead.end(failed);
        }
        let result = queue.failed.remove(&ticket).map_or(Ok(()), Err);
        Answer { result, led, led_others }
    }

    /// Waits until no writer leads, and carries out `work` in the lead: nothing is written
    /// meanwhile but by `work`.
    pub(crate) fn leading<T>(
        &self,
        work: impl FnOnce(&mut L) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut queue = self.wait_for_lead();
        let (log, end) = (queue.take_log()?, queue.answered);
        drop(queue);
        let mut lead = Lead { lane: self, log: Some(log), end };
        let result = work(lead.log());
        drop(lead.end([]));
        result
    }

    /// Like [`leading`](Self::leading), but does nothing where that would have to wait, or where
    /// there is no log.
    pub(crate) fn leading_at_once(&self, work: impl FnOnce(&mut L)) {
        let mut queue = self.queue.lock();
        let (Ok(log), end) = (queue.take_log(), queue.answered) else { return };
        drop(queue);
        let mut lead = Lead { lane: self, log: Some(log), end };
        work(lead.log());
        drop(lead.end([]));
    }

    /// Takes the lead for the next group of the queue. Where there is no log, the group is answered
    /// by the reason, and nothing is returned.
    fn lead_group(&self, queue: &mut Queue<L>) -> Option<(Lead<'_, L>, Vec<Pending>)> {
        let (group, end) = queue.take_group();
        match queue.take_log() {
            Ok(log) => Some((Lead { lane: self, log: Some(log), end }, group)),
            Err(error) => {
                queue.answer(end, group.iter().map(|pending| (pending.ticket, error.clone())));
                self.moved.notify_all();
                None
            }
        }
    }

    /// Waits until no writer leads, and closes the lane: all further writes find the engine closed.
    pub(crate) fn close(&self) {
        let mut queue = self.wait_for_lead();
        let Ok(log) = queue.take_log() else { return };
        drop(queue);
        // No writer is told that the lane is closed while the log may still be written.
        drop(log);
        self.queue.lock().log = Log::None;
        self.moved.notify_all();
    }

    fn wait_for_lead(&self) -> MutexGuard<'_, Queue<L>> {
        let mut queue = self.queue.lock();
        while queue.is_led() {
            self.moved.wait(&mut queue);
        }
        queue
    }
}

impl<L> Queue<L> {
    /// Whether batches of clients are queued still.
    pub(crate) fn check_clients(&self) -> Result<(), Error> {
        if self.closing { Err(Error::Closed) } else { Ok(()) }
    }

    /// Adds a batch behind all others; returns its ticket.
    fn push(&mut self, unqueued: Unqueued) -> u64 {
        let Unqueued { batch, durability, errand, guard, memory: _memory } = unqueued;
        let ticket = self.next;
        debug_assert!(self.answered <= ticket, "an answer without a batch");
        self.next += 1;
        let pending = Pending { ticket, batch, durability, errand, guard, _memory };
        self.pending.push_back(pending);
        ticket
    }

    /// Whether a writer leads.
    pub(crate) fn is_led(&self) -> bool {
        matches!(self.log, Log::Led)
    }

    /// Takes the log out, if no writer leads and there is one.
    fn take_log(&mut self) -> Result<L, Error> {
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
        debug_assert!(self.answered <= end && end <= self.next, "batches are answered in order");
        self.failed.extend(failed);
        self.answered = end;
    }
}

/// The role of the leader, and the log.
struct Lead<'a, L> {
    lane: &'a WriteLane<L>,
    /// Gone once the lead has ended.
    log: Option<L>,
    /// The leader answers the tickets below.
    end: u64,
}

impl<'a, L> Lead<'a, L> {
    /// The log.
    fn log(&mut self) -> &mut L {
        self.log.as_mut().expect("a lead that has not ended")
    }

    /// Gives log and lead back, and answers the group: those of `failed` by their errors.
    fn end(mut self, failed: impl IntoIterator<Item = (u64, Error)>) -> MutexGuard<'a, Queue<L>> {
        let lane = self.lane;
        let mut queue = lane.queue.lock();
        if let Some(log) = self.log.take() {
            queue.log = Log::Free(log);
        }
        queue.answer(self.end, failed);
        lane.moved.notify_all();
        queue
    }
}

impl<L> Drop for Lead<'_, L> {
    /// After a panic of the leader.
    fn drop(&mut self) {
        let Some(log) = self.log.take() else { return };
        self.lane.lifecycle.fail("the log", Error::Panicked);
        let mut queue = self.lane.queue.lock();
        queue.log = Log::Lost;
        let mut group = queue.answered..self.end;
        if canary::is_broken(Rule::GroupFailsWithItsLeader) {
            group.end = group.end.min(group.start + 1);
        }
        queue.answer(self.end, group.map(|ticket| (ticket, Error::Panicked)));
        self.lane.moved.notify_all();
        drop(queue);
        drop(log);
    }
}

#[cfg(test)]
mod tests;
