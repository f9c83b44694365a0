//! [`WriteLane`]: the [`GroupCommit`] of writes. Batches wait in the lane's queue, and one writer
//! leads: it writes a group of them for all of their writers.
//!
//! 1. A writer queues its batch.
//! 2. The leader takes batches from the front of the queue as one group, and passes log and group
//!    to `write_group`. Its own batch may be in a later group.
//! 3. It answers the batches of the group; the failed ones get their errors.
//!
//! Other work that allows no writes takes the log, too ([`WriteLane::leading`]), such as the commit
//! of an ingest.
//!
//! - A leader must not queue a batch or take the lead a second time: it would wait for itself.
//! - If a leader panics, its group fails, the engine stops, and the log is not written again: its
//!   end is not known. No writer waits for a leader that is gone.
//!
//! The lane does not know how a group is written, or what a log is: `L` is any value that one
//! leader at a time has. The lane has one lock, for the queue, held for short accesses.

use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::sync::{CommitQueue, GroupCommit, QueueGuard};
use terrace_env::wait::{WaitCause, WaitCounts};
use terrace_env::{MemoryLease, reached};

use super::guard::Guard;
use super::log::ActiveLog;
use crate::batch::Batch;
use crate::canary::{self, Rule};
use crate::lifecycle::Lifecycle;
use crate::{Durability, Error};

/// Bytes after which a group takes no further batch: the first batch of the group waits for the
/// last.
const GROUP_BYTES_MAX: usize = 1 << 20;

/// A batch that waits to be written.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) ticket: u64,
    pub(crate) batch: Batch,
    pub(crate) durability: Durability,
    /// Errand in addition to the write.
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
    /// Write out the gathered bytes of the log.
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

pub(crate) struct Queue<L = ActiveLog> {
    pending: VecDeque<Pending>,
    /// Ticket of the next batch; batches are taken in the order of their tickets.
    next: u64,
    /// Tickets below this are answered.
    answered: u64,
    /// Tickets below this are answered, or of the group that is being written.
    taken: u64,
    failed: BTreeMap<u64, Error>,
    /// Whether there is a log. Otherwise the engine only reads, or is closed.
    is_open: bool,
    /// Whether a leader has panicked.
    is_lost: bool,
    /// Whether the engine closes: then only its own last errands are queued.
    closing: bool,
    log: PhantomData<fn() -> L>,
}

/// See the [module](self).
pub(crate) struct WriteLane<L = ActiveLog> {
    commits: GroupCommit<Queue<L>>,
    lifecycle: Arc<Lifecycle>,
}

impl<L> WriteLane<L> {
    /// A lane that is not open yet. A leader's panic stops the engine of this lifecycle.
    pub(crate) fn new(lifecycle: Arc<Lifecycle>) -> Self {
        let queue = Queue {
            pending: VecDeque::new(),
            next: 0,
            answered: 0,
            taken: 0,
            failed: BTreeMap::new(),
            is_open: false,
            is_lost: false,
            closing: false,
            log: PhantomData,
        };
        Self { commits: GroupCommit::new(queue, None), lifecycle }
    }

    /// Opens the lane: writes go to this log from now on.
    pub(crate) fn open(&self, log: L) {
        self.commits.open(log, |queue| queue.is_open = true);
    }

    /// Refuses all further batches of clients. Those that are queued are written.
    pub(crate) fn refuse_clients(&self) {
        self.queue().closing = true;
    }

    /// The queue, to add a batch or to check whether a writer leads.
    pub(crate) fn queue(&self) -> QueueGuard<'_, Queue<L>> {
        self.commits.lock()
    }

    /// Queues a batch, and returns once it is answered. If the writer leads, `write_group` writes a
    /// group, and returns the tickets that failed.
    pub(crate) fn write<'a>(
        &'a self,
        mut queue: QueueGuard<'a, Queue<L>>,
        unqueued: Unqueued,
        waits: &WaitCounts,
        write_group: impl Fn(&mut L, Vec<Pending>) -> Vec<(u64, Error)>,
    ) -> Answer {
        let ticket = queue.push(unqueued);
        let answer = |queue: &mut Queue<L>| queue.answer_to(ticket);
        self.until_answered(queue, ticket..ticket + 1, waits, answer, write_group)
    }

    /// Queues batches next to each other, and returns once all are answered. The answers are in the
    /// order of the batches; the result of the call says nothing.
    pub(crate) fn write_each<'a>(
        &'a self,
        mut queue: QueueGuard<'a, Queue<L>>,
        unqueued: Vec<Unqueued>,
        waits: &WaitCounts,
        write_group: impl Fn(&mut L, Vec<Pending>) -> Vec<(u64, Error)>,
    ) -> (Vec<Result<(), Error>>, Answer) {
        let (first, count) = (queue.next, unqueued.len());
        unqueued.into_iter().for_each(|unqueued| _ = queue.push(unqueued));
        let own = first..queue.next;
        let mut answers = Vec::with_capacity(count);
        let answer = |queue: &mut Queue<L>| {
            while answers.len() < count {
                answers.push(queue.answer_to(first + answers.len() as u64)?);
            }
            Some(Ok(()))
        };
        let all = self.until_answered(queue, own, waits, answer, write_group);
        if let Err(lost) = &all.result {
            answers.resize_with(count, || Err(lost.clone()));
        }
        (answers, all)
    }

    /// Returns once `answer` gives an answer to the writer's `own` tickets, and leads as long as it
    /// gives none and no other writer leads.
    fn until_answered<'a>(
        &'a self,
        queue: QueueGuard<'a, Queue<L>>,
        own: Range<u64>,
        waits: &WaitCounts,
        answer: impl FnMut(&mut Queue<L>) -> Option<Result<(), Error>>,
        write_group: impl Fn(&mut L, Vec<Pending>) -> Vec<(u64, Error)>,
    ) -> Answer {
        let (mut led, mut led_others) = (false, false);
        let result = self.commits.commit(
            queue,
            (waits, WaitCause::Queue),
            answer,
            |queue, _| {
                led = true;
                queue.take_group()
            },
            |lead, group| {
                led_others |= group.len() as u64 > own.end - own.start;
                let mut failed = self.watched(|| write_group(lead.writer(), group));
                if canary::is_broken(Rule::FollowersShareTheError) {
                    failed.retain(|(failed, _)| own.contains(failed));
                }
                lead.end_with(|queue| queue.answer(failed));
            },
        );
        Answer { result, led, led_others }
    }

    /// Waits until no writer leads, and carries out `work` in the lead. Meanwhile only `work` may
    /// write.
    pub(crate) fn leading<T>(
        &self,
        work: impl FnOnce(&mut L) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.commits.leading(Queue::check_open, |log| self.watched(|| work(log)))?
    }

    /// Like [`leading`](Self::leading), but does nothing if it would have to wait, or if there is
    /// no log.
    pub(crate) fn leading_at_once(&self, work: impl FnOnce(&mut L)) {
        self.commits.leading_at_once(|log| self.watched(|| work(log)));
    }

    /// Waits until no writer leads, and closes the lane: all further writes get the error that the
    /// engine is closed.
    pub(crate) fn close(&self) {
        // If the log is lost, later writes still get that error.
        self.commits.close(self.queue(), |queue| queue.is_open &= queue.is_lost);
    }

    /// Carries out the work of a leader. If it panics, the engine stops.
    fn watched<T>(&self, work: impl FnOnce() -> T) -> T {
        let stops = StopsEngine(&self.lifecycle);
        let done = work();
        std::mem::forget(stops);
        done
    }
}

/// Stops the engine if it is dropped by a panic.
struct StopsEngine<'a>(&'a Lifecycle);

impl Drop for StopsEngine<'_> {
    fn drop(&mut self) {
        self.0.fail("the log", Error::Panicked);
    }
}

impl<L> CommitQueue for Queue<L> {
    type Writer = L;
    type Error = Error;

    fn lose_writer(&mut self) -> Error {
        let mut group = self.answered..self.taken;
        if canary::is_broken(Rule::GroupFailsWithItsLeader) {
            group.end = group.end.min(group.start + 1);
        }
        self.answer(group.map(|ticket| (ticket, Error::Panicked)));
        reached!("lsm: a leader panics");
        self.is_lost = true;
        // Their writers get the error that is returned.
        self.pending.clear();
        Error::Stopped { job: "the log", cause: Arc::new(Error::Panicked) }
    }
}

impl<L> Queue<L> {
    /// An error if batches of clients are refused.
    pub(crate) fn check_clients(&self) -> Result<(), Error> {
        if self.closing { Err(Error::Closed) } else { Ok(()) }
    }

    /// Adds a batch at the end of the queue; returns its ticket.
    fn push(&mut self, unqueued: Unqueued) -> u64 {
        let Unqueued { batch, durability, errand, guard, memory: _memory } = unqueued;
        let ticket = self.next;
        debug_assert!(self.answered <= ticket, "an answer without a batch");
        self.next += 1;
        let pending = Pending { ticket, batch, durability, errand, guard, _memory };
        self.pending.push_back(pending);
        ticket
    }

    /// An error if there is no log.
    fn check_open(&self) -> Result<(), Error> {
        if self.is_open { Ok(()) } else { Err(Error::Closed) }
    }

    /// The answer to a batch, if there is one.
    fn answer_to(&mut self, ticket: u64) -> Option<Result<(), Error>> {
        if self.answered > ticket {
            return Some(self.failed.remove(&ticket).map_or(Ok(()), Err));
        }
        let closed = self.check_open().err()?;
        self.pending.retain(|pending| pending.ticket != ticket);
        Some(Err(closed))
    }

    /// Takes a group out of the queue.
    fn take_group(&mut self) -> Vec<Pending> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        let size = |pending: &Pending| pending.batch.byte_size().0 as usize;
        // A group is copied into one append; a large batch should not be copied for others.
        let fits = |next: &Pending, bytes| bytes == 0 || bytes + size(next) <= 2 * GROUP_BYTES_MAX;
        while let Some(next) = self.pending.pop_front_if(|next| fits(next, bytes)) {
            debug_assert!(self.taken <= next.ticket, "ticket {} is taken again", next.ticket);
            bytes += size(&next);
            self.taken = next.ticket + 1;
            group.push(next);
            if bytes >= GROUP_BYTES_MAX {
                break;
            }
        }
        group
    }

    /// Answers the tickets of the group that was taken: those of `failed` with their errors, the
    /// others with success.
    fn answer(&mut self, failed: impl IntoIterator<Item = (u64, Error)>) {
        debug_assert!(self.answered <= self.taken, "batches are answered in order");
        let group = self.answered..self.taken;
        self.failed.extend(failed.into_iter().inspect(|(ticket, error)| {
            debug_assert!(group.contains(ticket), "ticket {ticket} of {group:?}: {error}");
        }));
        self.answered = self.taken;
    }
}

#[cfg(test)]
mod tests;
