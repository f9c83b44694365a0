//! [`GroupCommit`]: actors queue work, and one of them at a time, the *leader*, writes the work of
//! several as one group.
//!
//! 1. A committer adds its work to the queue, under the lock, and calls [`GroupCommit::commit`].
//! 2. If the queue has its answer, the committer returns with it. If another actor leads, the
//!    committer waits. Otherwise it leads: it takes the *writer*, a value that one actor at a time
//!    has, and a group out of the queue, both in one step.
//! 3. The leader writes the group without a lock, so it may wait for a device. Meanwhile other
//!    committers queue.
//! 4. It puts the answers into the queue ([`Lead::publish`]), which wakes all waiters. It may then
//!    go on with work that the next group has to wait for.
//! 5. It gives the writer back, which wakes the waiters again: one of them leads the next group.
//!
//! Other work between two groups takes the writer by [`GroupCommit::leading`].
//!
//! # Failure
//! The writer of a leader that panics is lost, because how far it came is not known. Nothing is
//! written any more: [`CommitQueue::lose_writer`] gives the error that all waiters and all later
//! committers get, the members of the leader's group included, unless they had their answers. A
//! group that cannot be written is no failure of this protocol: the leader publishes its error.
//!
//! # Threads
//! Any, and simulated actors. One lock, for the queue, and one condition. Committers and leaders
//! hold no other lock. A leader that commits, or takes the writer again, waits for itself.

use std::ops::{Deref, DerefMut};

use super::{Condvar, Mutex, MutexGuard};
use crate::wait::{WaitCause, WaitCounts};

#[cfg(test)]
mod tests;

/// Queue of a [`GroupCommit`], with the answers to the groups that have been written.
pub trait CommitQueue {
    /// Value that the leader writes with.
    type Writer;
    /// An error of a commit.
    type Error;

    /// The error of a commit after a leader has panicked. Called when that happens, and for each
    /// committer that has no answer.
    fn lose_writer(&mut self) -> Self::Error;

    /// Called under the lock each time a leader gives the writer back.
    fn note_writer(&mut self, _writer: &Self::Writer) {}
}

/// See the [module](self).
pub struct GroupCommit<Q: CommitQueue> {
    shared: Mutex<Shared<Q>>,
    changed: Condvar,
}

struct Shared<Q: CommitQueue> {
    queue: Q,
    writer: Slot<Q::Writer>,
}

/// Where the writer is.
enum Slot<W> {
    /// There is none: not yet, or no more.
    Absent,
    /// No actor leads.
    Free(W),
    /// The leader has it.
    Led,
    /// Its leader panicked.
    Lost,
}

impl<W> Slot<W> {
    /// Takes the writer out if no actor leads.
    fn take(&mut self) -> Option<W> {
        match std::mem::replace(self, Self::Led) {
            Self::Free(writer) => Some(writer),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// The locked queue.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct QueueGuard<'a, Q: CommitQueue>(MutexGuard<'a, Shared<Q>>);

/// The writer, in the hands of the leader.
pub struct Lead<'a, Q: CommitQueue> {
    commits: &'a GroupCommit<Q>,
    /// `None` once it has been given back.
    writer: Option<Q::Writer>,
}

impl<Q: CommitQueue> GroupCommit<Q> {
    /// A queue and its writer; without one, committers wait until the queue answers them, or has a
    /// writer.
    pub fn new(queue: Q, writer: Option<Q::Writer>) -> Self {
        let writer = writer.map_or(Slot::Absent, Slot::Free);
        Self { shared: Mutex::new(Shared { queue, writer }), changed: Condvar::new() }
    }

    /// Gives the queue its first writer. `begin` changes the queue in the same step.
    pub fn open(&self, writer: Q::Writer, begin: impl FnOnce(&mut Q)) {
        let mut queue = self.lock();
        begin(&mut queue);
        queue.0.writer = Slot::Free(writer);
        drop(queue);
        self.changed.notify_all();
    }

    /// Locks the queue.
    #[track_caller]
    pub fn lock(&self) -> QueueGuard<'_, Q> {
        QueueGuard(self.shared.lock())
    }

    /// Returns once `answer` gives the answer to a commit, and leads as long as it gives none and
    /// no other actor leads: `take` takes a group out of the queue under the lock, and `write`
    /// writes it. Waits are counted.
    pub fn commit<'a, T, G>(
        &'a self,
        mut queue: QueueGuard<'a, Q>,
        (waits, cause): (&WaitCounts, WaitCause),
        mut answer: impl FnMut(&mut Q) -> Option<Result<T, Q::Error>>,
        mut take: impl FnMut(&mut Q, &mut Q::Writer) -> G,
        mut write: impl FnMut(&mut Lead<'a, Q>, G),
    ) -> Result<T, Q::Error> {
        let mut wait = waits.clock();
        loop {
            if let Some(answer) = answer(&mut queue) {
                return answer;
            }
            queue.check()?;
            let Some(mut writer) = queue.0.writer.take() else {
                wait.on(cause);
                self.changed.wait(&mut queue.0);
                continue;
            };
            wait.off();
            // Where `take` panics, the queue is as unknown as after a leader's panic.
            queue.0.writer = Slot::Lost;
            let group = take(&mut queue, &mut writer);
            queue.0.writer = Slot::Led;
            drop(queue);
            let mut lead = Lead { commits: self, writer: Some(writer) };
            write(&mut lead, group);
            queue = lead.end();
        }
    }

    /// Waits until no actor leads, and works with the writer: nothing else is written meanwhile.
    /// `check` may end the wait by an error.
    pub fn leading<T, E: From<Q::Error>>(
        &self,
        mut check: impl FnMut(&Q) -> Result<(), E>,
        work: impl FnOnce(&mut Q::Writer) -> T,
    ) -> Result<T, E> {
        let mut queue = self.lock();
        let writer = loop {
            check(&queue)?;
            queue.check()?;
            match queue.0.writer.take() {
                Some(writer) => break writer,
                None => self.changed.wait(&mut queue.0),
            }
        };
        drop(queue);
        Ok(self.lead(writer, work))
    }

    /// Works with the writer as [`leading`](Self::leading) does, if that takes no wait.
    pub fn leading_at_once<T>(&self, work: impl FnOnce(&mut Q::Writer) -> T) -> Option<T> {
        let writer = self.lock().0.writer.take()?;
        Some(self.lead(writer, work))
    }

    fn lead<T>(&self, writer: Q::Writer, work: impl FnOnce(&mut Q::Writer) -> T) -> T {
        let mut lead = Lead { commits: self, writer: Some(writer) };
        let done = work(lead.writer());
        drop(lead.end());
        done
    }

    /// Waits until no actor leads, and drops the writer, without a lock. Then `end` changes the
    /// queue: later committers wait until the queue answers them. Where the thread panics already,
    /// it does not wait.
    pub fn close<'a>(&'a self, mut queue: QueueGuard<'a, Q>, end: impl FnOnce(&mut Q)) {
        // The leader may be the one that panics, or in a simulation that has ended.
        while queue.is_led() && !std::thread::panicking() {
            self.changed.wait(&mut queue.0);
        }
        if let Some(writer) = queue.0.writer.take() {
            drop(queue);
            drop(writer);
            queue = self.lock();
            queue.0.writer = Slot::Absent;
        }
        end(&mut queue);
        drop(queue);
        self.changed.notify_all();
    }
}

impl<Q: CommitQueue> QueueGuard<'_, Q> {
    /// Whether an actor leads.
    #[must_use]
    pub fn is_led(&self) -> bool {
        matches!(self.0.writer, Slot::Led)
    }

    /// An error if the writer is lost.
    fn check(&mut self) -> Result<(), Q::Error> {
        match self.0.writer {
            Slot::Lost => Err(self.lose_writer()),
            _ => Ok(()),
        }
    }
}

impl<Q: CommitQueue> Deref for QueueGuard<'_, Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.0.queue
    }
}

impl<Q: CommitQueue> DerefMut for QueueGuard<'_, Q> {
    fn deref_mut(&mut self) -> &mut Q {
        &mut self.0.queue
    }
}

impl<'a, Q: CommitQueue> Lead<'a, Q> {
    /// The writer.
    pub fn writer(&mut self) -> &mut Q::Writer {
        self.writer.as_mut().expect("a leader that has not ended")
    }

    /// Changes the queue, for example by answers, and wakes all waiters.
    pub fn publish(&self, change: impl FnOnce(&mut Q)) {
        change(&mut self.commits.lock());
        self.commits.changed.notify_all();
    }

    /// Changes the queue as [`publish`](Self::publish) does, and gives the writer back in the same
    /// step.
    pub fn end_with(&mut self, change: impl FnOnce(&mut Q)) {
        drop(self.give_back(change));
    }

    fn give_back(&mut self, change: impl FnOnce(&mut Q)) -> QueueGuard<'a, Q> {
        let mut queue = self.commits.lock();
        change(&mut queue);
        if let Some(writer) = self.writer.take() {
            queue.note_writer(&writer);
            queue.0.writer = Slot::Free(writer);
            self.commits.changed.notify_all();
        }
        queue
    }

    fn end(mut self) -> QueueGuard<'a, Q> {
        self.give_back(|_| {})
    }
}

impl<Q: CommitQueue> Drop for Lead<'_, Q> {
    /// The leader panics, or else it would have given the writer back: the writer is lost.
    fn drop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        let mut queue = self.commits.lock();
        queue.0.writer = Slot::Lost;
        queue.lose_writer();
        drop(queue);
        self.commits.changed.notify_all();
        drop(writer);
    }
}
