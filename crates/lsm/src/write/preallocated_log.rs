//! [`PreallocatedLogs`]: the next log, made before it is needed. Changing to a new log costs a
//! metadata write and a flush of the device, which no put should wait for. BlueFS preallocates its
//! logs for that reason (CMU-PDL-19-102, section 4, "Journaling").
//!
//! 1. When the memtable is half full, the leader of the writes asks for the next log, and an actor
//!    (a background thread) creates it. If space is short, there is no preallocated log.
//! 2. When the memtable is full, the leader syncs the old log and goes on in the next one
//!    ([`take`](PreallocatedLogs::take)), without a metadata write.
//! 3. When the actor works the next time, it seals the old log, unless that has been deleted by the
//!    flush of its memtable.
//!
//! # Rules
//! - Nothing is written to a log before the logs before it are durable. So a power cut leaves no
//!   later writes without earlier ones. The first append notes how long the old log is
//!   (`predecessor`).
//! - Logs are written in the order of their ids. If a log begins without being preallocated, an
//!   older preallocated log is *overtaken*: its space is given back, and the actor deletes it
//!   later.
//!
//! # Threads
//! The actor makes, seals and deletes logs. The leader of the writes asks for a next log, takes it,
//! overtakes it or calls it off. A flush lets go of the log that it has deleted. One lock, held
//! over no call to the store. A lack of space is no error of the actor; any other error stops all
//! writes.

use std::sync::Arc;

use terrace_env::store::{FileWriter, Rank, Store, Transaction};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{ByteCount, FileId, SeqNo};

use super::log::{self, ActiveLog};
use crate::Error;
use crate::lifecycle::{Lifecycle, PanicGuard, Waiter};
use crate::space::Space;
use crate::tree::{Committer, LogRecord, Tree};

/// A log is preallocated while so many memtables could be written to the space that is free.
const FREE_MEMTABLES_MIN: u64 = 8;

/// Logs beside the active one.
pub(crate) struct PreallocatedLogs {
    store: Arc<dyn Store>,
    tree: Arc<Tree>,
    committer: Arc<Committer>,
    space: Arc<Space>,
    lifecycle: Arc<Lifecycle>,
    memtable_size: ByteCount,
    logs: Mutex<Logs>,
    changed: Condvar,
}

#[derive(Default)]
struct Logs {
    /// The actor has something to do.
    due: bool,
    /// The actor is at it.
    busy: bool,
    /// Nothing in the log to be made is older, and about how large it will be; `None`: none is to
    /// be made.
    wanted: Option<(SeqNo, ByteCount)>,
    next: Option<Box<dyn FileWriter>>,
    /// The last log that began without being preallocated: logs made before are overtaken.
    begun: FileId,
    /// Finished, and not sealed; nothing in them is older than that.
    left: Vec<(Box<dyn FileWriter>, SeqNo)>,
    /// Empty, and not to be written.
    overtaken: Vec<FileId>,
}

impl PreallocatedLogs {
    /// None yet.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        tree: Arc<Tree>,
        committer: Arc<Committer>,
        space: Arc<Space>,
        lifecycle: Arc<Lifecycle>,
        memtable_size: ByteCount,
    ) -> Self {
        let (logs, changed) = (Mutex::default(), Condvar::default());
        Self { store, tree, committer, space, lifecycle, memtable_size, logs, changed }
    }

    /// The actor.
    pub(crate) fn run(&self) {
        let _guard = PanicGuard { lifecycle: &self.lifecycle, job: "the next log" };
        while self.await_work() {
            let tended = self.tend();
            self.end_work();
            match tended {
                // Without a preallocated log, writers make one when they need it.
                Err(error) if error.is_space() => {}
                Err(error) => self.lifecycle.fail("the next log", error),
                Ok(()) => {}
            }
        }
    }

    /// Waits until the actor has something to do; `false` when the engine closes.
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

    /// The actor has done what there was to do.
    fn end_work(&self) {
        self.logs.lock().busy = false;
        self.changed.notify_all();
    }

    /// A log begins that was not preallocated: one that was gives its space back.
    pub(crate) fn overtake(&self, begun: FileId) {
        let mut logs = self.logs.lock();
        (logs.begun, logs.wanted) = (begun, None);
        let next = logs.next.take_if(|next| next.id() < begun);
        drop(logs);
        self.discard(next);
    }

    /// Gives back the space of the preallocated log, and of one that the actor is making: when this
    /// returns, no log but the active one and those of memtables takes any. An error if writing has
    /// stopped.
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

    /// Lets go of a log that is not going to be written, and has the actor delete it.
    fn discard(&self, log: Option<Box<dyn FileWriter>>) {
        let Some(id) = log.as_ref().map(|log| log.id()) else { return };
        drop(log);
        self.call_actor(|logs| logs.overtaken.push(id));
    }

    /// Wakes the actor, because of something it must look at.
    pub(crate) fn wake(&self) {
        drop(self.logs.lock());
        self.changed.notify_all();
    }

    /// Gives the actor something to do.
    fn call_actor(&self, task: impl FnOnce(&mut Logs)) {
        let mut logs = self.logs.lock();
        task(&mut logs);
        logs.due = true;
        drop(logs);
        self.changed.notify_all();
    }

    /// Lets go of all logs, so that the next opening can write to them. The actor has ended.
    pub(crate) fn give_up(&self) {
        let logs = std::mem::take(&mut *self.logs.lock());
        drop(logs);
    }

    /// Has the next log made once the memtable is half full.
    pub(crate) fn look_ahead(&self, log: &mut ActiveLog) {
        let half = self.memtable_size.0 as usize / 2;
        if log.looked_ahead || log.is_given_up() || self.tree.glance().active.bytes() < half {
            return;
        }
        log.looked_ahead = true;
        // It is half full, and a little more.
        let size = ByteCount(log.size(self.store.log_unit()).0 * 17 / 8);
        let enough = match self.store.log_space() {
            Some(log) => log.space.for_puts.0 >= 2 * size.0,
            None => {
                let enough = FREE_MEMTABLES_MIN * self.memtable_size.0;
                self.store.space().free.0 >= enough && !self.space.is_short()
            }
        };
        if enough {
            self.call_actor(|logs| logs.wanted = Some((log.next, size)));
        }
    }

    /// Takes the preallocated log, if there is one, for the leader to go on in.
    pub(crate) fn take(&self) -> Option<Box<dyn FileWriter>> {
        self.logs.lock().next.take()
    }

    /// Takes a log back that the leader could not go on in.
    pub(crate) fn give_back(&self, next: Option<Box<dyn FileWriter>>) {
        self.logs.lock().next = next;
    }

    /// Has a finished log sealed. Nothing in it is older than `first`.
    pub(crate) fn leave(&self, old: Box<dyn FileWriter>, first: SeqNo) {
        self.logs.lock().left.push((old, first));
    }

    /// Lets go of a log that has been deleted: what it took is free only then.
    pub(crate) fn forget(&self, log: FileId) {
        let left = {
            let mut logs = self.logs.lock();
            logs.left.extract_if(.., |(writer, _)| writer.id() == log).collect::<Vec<_>>()
        };
        drop(left);
    }

    /// Seals logs that were left, deletes those that were overtaken, and makes the next one.
    fn tend(&self) -> Result<(), Error> {
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
        // A flush deletes its memtable's log, and does so in this role.
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
            logs.next = Some(writer);
            let begun = logs.begun;
            let overtaken = logs.next.take_if(|next| next.id() < begun);
            drop(logs);
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
