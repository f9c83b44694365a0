//! [`PreallocatedLogs`]: creates the next log before it is needed. A change to a new log costs a
//! metadata write and a flush of the device, for which no put should wait. BlueFS preallocates its
//! logs for that reason (CMU-PDL-19-102, section 4, "Journaling").
//!
//! 1. When a quarter of the memtable is full, the leader of the writes asks for the next log, and
//!    an actor (a background thread) creates it. On a disk it asks at a 64th: while compactions
//!    commit, the creation may take longer there than most of a memtable does. With less free
//!    space, it asks when the memtable is half full, as the log takes its space at once. If space
//!    is short, there is no preallocated log.
//! 2. When three quarters of the memtable are full, the leader has the actor flush what the active
//!    log has written so far, where the store gains by it ([`FileWriter::early_flush`]).
//! 3. When the memtable is full, the leader syncs the old log and continues in the next one
//!    ([`take`](PreallocatedLogs::take)), without a metadata write.
//! 4. At its next task, the actor seals the old log, unless the flush of its memtable has deleted
//!    it.
//!
//! # Rules
//! - A log is written only after the logs before it are durable. So a power cut leaves no later
//!   writes without earlier ones. The first append notes the length of the old log (`predecessor`).
//! - Logs are written in the order of their ids. If a log begins without being preallocated, an
//!   older preallocated log is *overtaken*: its space is freed, and the actor deletes it later.
//!
//! # Threads
//! The actor creates, seals and deletes logs, and flushes the active one. The leader of the writes
//! asks for a next log, takes it, overtakes it or cancels it. A flush drops the log that it has
//! deleted. One lock, which no call to the store is made under. Lack of space is no error of the
//! actor; any other error stops all writes.

use std::sync::Arc;

use terrace_env::store::{EarlyFlush, FileWriter, Rank, Store, Transaction};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{ByteCount, FileId, SeqNo};

use super::log::{self, ActiveLog, LookAhead};
use crate::Error;
use crate::lifecycle::{Lifecycle, PanicGuard, Waiter};
use crate::space::Space;
use crate::tree::{Committer, LogRecord, Tree};

/// Memtables for whose flush the free space must be enough, for a log to be preallocated, and for
/// it to be preallocated early.
const FREE_MEMTABLES_MIN: u64 = 8;
const FREE_MEMTABLES_EARLY: u64 = 32;

/// Logs other than the active one.
pub(crate) struct PreallocatedLogs {
    store: Arc<dyn Store>,
    tree: Arc<Tree>,
    committer: Arc<Committer>,
    space: Arc<Space>,
    lifecycle: Arc<Lifecycle>,
    memtable_size: ByteCount,
    /// Part of the memtable, as a divisor, at which the next log may be requested early.
    early_parts: u64,
    logs: Mutex<Logs>,
    changed: Condvar,
}

#[derive(Default)]
struct Logs {
    /// Whether the actor has a task.
    due: bool,
    /// Whether the actor is at work.
    busy: bool,
    /// The least sequence in the log to be created, and its approximate size; `None`: none is to be
    /// created.
    wanted: Option<(SeqNo, ByteCount)>,
    /// The early flush of the active log.
    flush: Option<EarlyFlush>,
    next: Option<Box<dyn FileWriter>>,
    /// The last log that began without being preallocated: preallocated logs with lower ids are
    /// overtaken.
    begun: FileId,
    /// Complete logs that are not sealed, each with the least sequence in it.
    left: Vec<(Box<dyn FileWriter>, SeqNo)>,
    /// Empty logs that must not be written.
    overtaken: Vec<FileId>,
}

impl PreallocatedLogs {
    /// No preallocated log yet.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        tree: Arc<Tree>,
        committer: Arc<Committer>,
        space: Arc<Space>,
        lifecycle: Arc<Lifecycle>,
        memtable_size: ByteCount,
    ) -> Self {
        let (logs, changed) = (Mutex::default(), Condvar::default());
        let early_parts = if store.rotational() { 64 } else { 4 };
        Self { store, tree, committer, space, lifecycle, memtable_size, early_parts, logs, changed }
    }

    /// Runs the actor until the engine closes.
    pub(crate) fn run(&self) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "the next log" };
        while self.await_work() {
            let tended = self.tend();
            self.end_work();
            match tended {
                // Without a preallocated log, the leader creates one when it needs it.
                Err(error) if error.is_space() => {}
                Err(error) => self.lifecycle.fail("the next log", error),
                Ok(()) => {}
            }
        }
    }

    /// Waits for a task of the actor; `false` when the engine closes.
    fn await_work(&self) -> bool {
        let mut logs = self.logs.lock();
        loop {
            if self.lifecycle.is_closing() {
                return false;
            }
            if !self.lifecycle.must_stop() && std::mem::take(&mut logs.due) {
                logs.busy = true;
                return true;
            }
            self.changed.wait(&mut logs);
        }
    }

    /// Notes that the actor has done its tasks.
    fn end_work(&self) {
        self.logs.lock().busy = false;
        self.changed.notify_all();
    }

    /// Notes that a log begins that was not preallocated, and frees the space of an older
    /// preallocated one.
    pub(crate) fn overtake(&self, begun: FileId) {
        let mut logs = self.logs.lock();
        (logs.begun, logs.wanted) = (begun, None);
        let next = logs.next.take_if(|next| next.id() < begun);
        drop(logs);
        self.discard(next);
    }

    /// Frees the space of the preallocated log, and of one that the actor is creating. Then only
    /// the active log and the memtables' logs take space. An error if writing has stopped.
    pub(crate) fn call_off(&self) -> Result<(), Error> {
        let mut logs = self.logs.lock();
        logs.wanted = None;
        while logs.busy {
            self.lifecycle.check_writable()?;
            self.changed.wait(&mut logs);
        }
        let next = logs.next.take();
        drop(logs);
        self.discard(next);
        Ok(())
    }

    /// Drops a log that will not be written, and has the actor delete it.
    fn discard(&self, log: Option<Box<dyn FileWriter>>) {
        let Some(id) = log.as_ref().map(|log| log.id()) else { return };
        drop(log);
        self.call_actor(|logs| logs.overtaken.push(id));
    }

    /// Wakes the actor.
    pub(crate) fn wake(&self) {
        drop(self.logs.lock());
        self.changed.notify_all();
    }

    /// Gives the actor a task.
    fn call_actor(&self, task: impl FnOnce(&mut Logs)) {
        let mut logs = self.logs.lock();
        task(&mut logs);
        logs.due = true;
        drop(logs);
        self.changed.notify_all();
    }

    /// Drops all logs, so that the next opening can write to them. The actor has ended.
    pub(crate) fn give_up(&self) {
        let logs = std::mem::take(&mut *self.logs.lock());
        drop(logs);
    }

    /// Has the next log created once the memtable is full enough.
    pub(crate) fn look_ahead(&self, log: &mut ActiveLog) {
        let (parts, free_memtables, next) = match log.look_ahead {
            LookAhead::Early => (self.early_parts, FREE_MEMTABLES_EARLY, LookAhead::Late),
            LookAhead::Late => (2, FREE_MEMTABLES_MIN, LookAhead::Done),
            LookAhead::Done => return,
        };
        let filled = self.tree.glance().active.bytes() as u64;
        if log.is_given_up() || filled < (self.memtable_size.0 / parts).max(1) {
            return;
        }
        log.look_ahead = next;
        // In proportion to the memtable, which this log fills, too. The next log gets some reserve.
        let so_far = u128::from(log.size(self.store.log_unit()).0);
        let whole = so_far * u128::from(self.memtable_size.0.max(filled)) / u128::from(filled);
        let size = ByteCount(u64::try_from(whole * 17 / 16).unwrap_or(u64::MAX));
        let enough = match self.store.log_space() {
            Some(log) => log.space.for_puts.0 / 2 >= size.0,
            None => {
                let enough = free_memtables * self.memtable_size.0;
                self.store.space().free.0 >= enough && !self.space.is_short()
            }
        };
        if enough {
            log.look_ahead = LookAhead::Done;
            self.call_actor(|logs| logs.wanted = Some((log.next, size)));
        }
    }

    /// Has the active log flushed once most of its memtable is full, so that its sync at the change
    /// of the log waits less. Only for writes that do not wait for the log: later ones are forced.
    pub(crate) fn flush_early(&self, log: &mut ActiveLog) {
        let filled = self.tree.glance().active.bytes() as u64;
        if filled >= self.memtable_size.0 / 4 * 3
            && let Some(flush) = log.early_flush()
        {
            self.call_actor(|logs| logs.flush = Some(flush));
        }
    }

    /// Takes the preallocated log, if there is one, for the leader.
    pub(crate) fn take(&self) -> Option<Box<dyn FileWriter>> {
        self.logs.lock().next.take()
    }

    /// Takes back a log in which the leader could not continue.
    pub(crate) fn give_back(&self, next: Option<Box<dyn FileWriter>>) {
        let mut logs = self.logs.lock();
        // The actor may have created another one meanwhile.
        let surplus = match &logs.next {
            Some(_) => next,
            None => std::mem::replace(&mut logs.next, next),
        };
        drop(logs);
        self.discard(surplus);
    }

    /// Has a complete log sealed. Its least sequence is `first`.
    pub(crate) fn leave(&self, old: Box<dyn FileWriter>, first: SeqNo) {
        let mut logs = self.logs.lock();
        debug_assert!(logs.left.iter().all(|(left, _)| left.id() != old.id()), "left once");
        logs.left.push((old, first));
    }

    /// Drops a log that has been deleted: only then is its space free.
    pub(crate) fn forget(&self, log: FileId) {
        let left = {
            let mut logs = self.logs.lock();
            logs.left.extract_if(.., |(writer, _)| writer.id() == log).collect::<Vec<_>>()
        };
        drop(left);
    }

    /// Seals complete logs, deletes overtaken ones, and creates the next one.
    fn tend(&self) -> Result<(), Error> {
        let flush = self.logs.lock().flush.take();
        if let Some(flush) = flush {
            flush.carry_out();
        }
        let wanted = {
            let mut logs = self.logs.lock();
            logs.wanted.take().filter(|_| logs.next.is_none())
        };
        let created = match wanted {
            Some((first, size)) => {
                match log::create(&*self.store, Rank::Log, Some(size).filter(|size| size.0 > 0)) {
                    Ok(writer) => Some((writer, first)),
                    Err(error) if error.is_space() => None,
                    Err(error) => return Err(error),
                }
            }
            None => None,
        };
        let (left, overtaken) = {
            let mut logs = self.logs.lock();
            (std::mem::take(&mut logs.left), std::mem::take(&mut logs.overtaken))
        };
        // A flush deletes its memtable's log with the same turn.
        let turn = self.committer.take_turn();
        let mut transaction = Transaction::new();
        for (writer, first) in &left {
            if self.store.info(writer.id()).is_some() {
                transaction.seal(writer.id(), LogRecord { first: *first }.annotation());
            }
        }
        for &id in &overtaken {
            transaction.delete(id);
        }
        if let Some((writer, first)) = &created {
            transaction.create(writer.id(), LogRecord { first: *first }.annotation());
        }
        let committed =
            if transaction.is_empty() { Ok(()) } else { self.store.commit(transaction) };
        if let Err(error) = committed {
            // The next call tends them.
            let mut logs = self.logs.lock();
            logs.left.extend(left);
            logs.overtaken.extend(overtaken);
            return Err(error.into());
        }
        drop(turn);
        drop(left);
        if let Some((writer, _)) = created {
            let mut logs = self.logs.lock();
            // The leader may have given one back meanwhile.
            let surplus = logs.next.replace(writer);
            let begun = logs.begun;
            let overtaken = logs.next.take_if(|next| next.id() < begun);
            drop(logs);
            self.discard(surplus);
            self.discard(overtaken);
        }
        Ok(())
    }
}

impl Waiter for PreallocatedLogs {
    fn lifecycle_has_changed(&self, _: Option<&Error>) {
        self.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_env::store::{Failure, Latency, MemoryStore};
    use terrace_env::{ByteCount, SeqNo, runner};

    use super::*;
    use crate::opening::Rig;
    use crate::options::EngineOptions;

    /// A leader that cannot continue in the log that it has taken gives it back. Meanwhile the
    /// actor may have created another one.
    #[test]
    fn of_two_preallocated_logs_one_is_deleted() {
        runner::simulate(1, || {
            let rig = Rig::new(MemoryStore::new(), EngineOptions::default());
            let (ahead, files) = (&rig.writer.ahead, || Store::list(&rig.store).len());
            let create = || {
                ahead.call_actor(|logs| logs.wanted = Some((SeqNo(1), ByteCount(0))));
                ahead.tend().unwrap();
            };
            create();
            assert_eq!(files(), 2);
            let taken = ahead.take();
            create();
            assert_eq!(files(), 3);
            ahead.give_back(taken);
            ahead.tend().unwrap();
            assert_eq!(files(), 2);
        });
    }

    /// The transaction that seals it is made once more.
    #[test]
    fn a_complete_log_is_sealed_after_a_failure() {
        runner::simulate(1, || {
            let rig = Rig::new(MemoryStore::new(), EngineOptions::default());
            let ahead = &rig.writer.ahead;
            ahead.call_actor(|logs| logs.wanted = Some((SeqNo(1), ByteCount(0))));
            ahead.tend().unwrap();
            let mut log = ahead.take().unwrap();
            let id = log.id();
            log.finish().unwrap();
            ahead.leave(log, SeqNo(1));
            let is_sealed = || Store::info(&rig.store, id).unwrap().sealed;
            rig.store.fail_at(rig.store.operations(), Failure::Once);
            assert!(ahead.tend().is_err() && !is_sealed());
            ahead.tend().unwrap();
            assert!(is_sealed());
        });
    }

    #[test]
    fn a_call_off_waits_for_the_log_that_is_being_created() {
        runner::simulate(1, || {
            let commit = Duration::from_secs(1);
            let slow = MemoryStore::new().with_latency(1, Latency { commit, ..Latency::default() });
            let rig = Rig::new(slow, EngineOptions::default());
            let (ahead, files) = (&rig.writer.ahead, || Store::list(&rig.store).len());
            let before = files();
            let actor = runner::spawn("logs", {
                let ahead = Arc::clone(ahead);
                move || {
                    assert!(ahead.await_work());
                    ahead.tend().unwrap();
                    ahead.end_work();
                }
            });
            ahead.call_actor(|logs| logs.wanted = Some((SeqNo(1), ByteCount(0))));
            runner::sleep(Duration::from_micros(1));
            ahead.call_off().unwrap();
            actor.join();
            assert!(ahead.take().is_none() && files() == before + 1);
            ahead.tend().unwrap();
            assert_eq!(files(), before);
        });
    }
}
