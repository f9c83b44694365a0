//! Group commit in a directory, by [`GroupCommit`](terrace_env::sync::GroupCommit): one actor, the
//! *leader*, writes the transactions of several that wait.
//!
//! # Steps
//! 1. A committer syncs the files that its transaction seals, and queues the changes.
//! 2. The leader applies queued transactions to the catalog in order, until their records reach
//!    1 MiB. If there are any records, and they do not close the store, it adds those of how far
//!    logs have become durable. It syncs the directory if the group creates or seals files, and any
//!    file was made since the last such sync. Then it appends the group to the journal by one write
//!    and syncs the journal. A group without records is not written.
//! 3. The members of the group get their results. Unless writing has failed, the leader then
//!    removes deleted files and punches out trimmed bytes, except of files that have readers: the
//!    last reader does it. It rolls the journal if it has grown enough. Files that cannot be
//!    removed or punched stay as they are. The next group waits for this step.
//!
//! # Failure
//! - A transaction that cannot be applied fails alone. So does one if a file that it seals cannot
//!   be synced; no later one can seal that file either.
//! - After a failed write or sync of the journal, or a failed sync of the directory, the content of
//!   the medium is unknown. The same holds for a roll that fails in or after the rename of
//!   `CURRENT`. The store then takes no more commits, and those that wait fail. The catalog may
//!   include changes that were not acknowledged. The same holds if the leader panics.
//! - A roll that fails before the rename fails no commit: the old journal goes on.
//! - Closing the store ends the commits that wait.
//!
//! # Threads
//! Any number of actors may commit; a committer must hold no lock. A leader's call returns after
//! step 3.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use terrace_env::store::{Change, FileKind, StoreError, Transaction};
use terrace_env::sync::{CommitQueue, Lead};
use terrace_env::wait::WaitCause;
use terrace_env::{Cause, FileId};

use super::Files;
use super::journal::{Identity, Journal, RollError};
use super::node::{self, Node, usual_cause};
use super::volume::{Pinned, State, Volume};
use crate::BLOCK;
use crate::catalog::{Catalog, Effects, Record};
use crate::journal as codec;
use crate::superblock::Features;

/// A group of this size takes no further member, so that its write stays short.
const GROUP_BYTES: usize = 1 << 20;

/// Commits that wait, and the results of those that have ended.
#[derive(Default)]
pub(super) struct Queue {
    next: u64,
    waiting: BTreeMap<u64, Work>,
    ended: BTreeMap<u64, Result<(), StoreError>>,
    /// A roll that failed is not tried again before the journal has this many bytes.
    roll_after: u64,
}

/// Content of a commit.
pub(super) enum Work {
    Changes(Transaction),
    Records(Vec<Record>),
}

/// A group that has been staged.
#[derive(Default)]
struct Group {
    members: Vec<u64>,
    records: Vec<u8>,
    effects: Vec<Effects>,
    names_new_files: bool,
}

impl Volume {
    /// Applies a transaction as a whole; it is durable when this returns.
    pub(super) fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        let sealed: Vec<_> = {
            let state = self.lock();
            let sealed = transaction.changes().iter().filter_map(|change| match change {
                Change::Seal { id, .. } => state.nodes.get(id).cloned(),
                _ => None,
            });
            sealed.collect()
        };
        for node in sealed {
            if self.timed(usual_cause(node.kind), || node.sync())? {
                self.count_sync();
            }
        }
        self.enqueue(Work::Changes(transaction))
    }

    /// Queues changes and waits until they are durable; leads if there is no leader.
    pub(super) fn enqueue(&self, work: Work) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.check()?;
        let ticket = state.queue.next;
        state.queue.next += 1;
        let former = state.queue.waiting.insert(ticket, work);
        debug_assert!(former.is_none(), "ticket {ticket} was given out twice");
        self.commits.commit(
            state,
            (&self.waits, WaitCause::Journal),
            |state| {
                let ended = state.queue.ended.remove(&ticket);
                ended.or_else(|| {
                    let work = state.closed.then(|| state.queue.waiting.remove(&ticket));
                    work.map(|_| Err(StoreError::Closed))
                })
            },
            |state, _| state.stage_group(),
            |lead, group| self.lead(lead, &group),
        )
    }

    /// Writes a group, tells its members, and tidies up.
    fn lead(&self, lead: &mut Lead<'_, State>, group: &Group) {
        let written = self.timed(Cause::Journal, || self.write(lead.writer(), group));
        lead.publish(|state| {
            if let Err(error) = &written {
                state.stop(error);
            }
            let members = group.members.iter();
            state.queue.ended.extend(members.map(|ticket| (*ticket, written.clone())));
        });
        if written.is_ok() {
            for effects in &group.effects {
                self.carry_out(effects);
            }
            self.roll_if_due(lead.writer());
        }
    }

    fn write(&self, journal: &mut Journal, group: &Group) -> Result<(), StoreError> {
        if group.records.is_empty() {
            return Ok(());
        }
        let created = self.created.load(Ordering::Relaxed);
        if group.names_new_files && created > journal.entries {
            let synced = self.files.sync();
            synced.map_err(|error| self.describe("syncing", "", error))?;
            journal.entries = created;
            self.count_sync();
        }
        let before = journal.written();
        journal.commit(&group.records)?;
        self.count_write(Cause::Journal, journal.written() - before);
        self.count_sync();
        Ok(())
    }

    /// Carries out the effects of a durable transaction: removes deleted files, and punches out
    /// trimmed bytes.
    fn carry_out(&self, effects: &Effects) {
        for gone in &effects.deleted {
            if let Some(pinned) = self.lock().pinned.get_mut(&gone.file) {
                pinned.is_durable = true;
                continue;
            }
            self.remove(gone.file, gone.kind);
        }
        for freed in &effects.freed {
            let block = BLOCK as u64;
            let holes =
                freed.extents.iter().map(|extent| extent.start() * block..extent.end() * block);
            let holes: Vec<_> = holes.collect();
            let kind = {
                let state = self.lock();
                // A file that is gone has no holes, and one that grows has moved no blocks.
                let Some(record) = state.catalog.get(freed.file).filter(|record| record.sealed)
                else {
                    continue;
                };
                if let Some(node) = state.nodes.get(&freed.file) {
                    let mut file = node.lock();
                    if file.readers > 0 {
                        file.holes.extend(holes);
                        continue;
                    }
                }
                record.kind
            };
            self.punch(freed.file, kind, &holes);
        }
    }

    /// Starts a new journal if the old one has grown enough.
    fn roll_if_due(&self, journal: &mut Journal) {
        debug_assert!(journal.snapshot <= journal.written(), "a journal holds its snapshot");
        let since = journal.written() - journal.snapshot;
        let postponed = journal.written() < self.lock().queue.roll_after;
        if postponed || !codec::is_due(since, journal.snapshot) {
            return;
        }
        let old = journal.identity;
        let (generation, sequence) = (old.generation + 1, journal.sequence());
        let rolled = self.start_journal(Identity { generation, sequence, ..old });
        match rolled {
            Ok(new) => {
                *journal = new;
                self.count_roll();
                self.remove_journal(old.generation);
            }
            Err(RollError::Before(_)) => {
                // The old journal goes on: a full disk may have room again later.
                self.remove_journal(generation);
                self.lock().queue.roll_after = journal.written().saturating_mul(2);
            }
            Err(RollError::After(error)) => drop(self.lock().stop(&error)),
        }
    }

    /// Writes the catalog to a new journal. Only the leader may do so: no other actor changes the
    /// catalog.
    fn start_journal(&self, identity: Identity) -> Result<Journal, RollError> {
        let created = || self.created.load(Ordering::Relaxed);
        let journal = Journal::start(&self.files, identity, created, |next| {
            let state = self.lock();
            snapshot_step(&state.catalog, next)
        })?;
        self.count_write(Cause::Journal, journal.written());
        self.count_write(Cause::Superblock, BLOCK as u64);
        Ok(journal)
    }

    fn remove_journal(&self, generation: u64) {
        // If that fails, the next opening does it.
        let _ = self.files.remove(&super::names::journal(generation));
    }
}

/// The part of a snapshot that starts at `next`; its head if that is `None`.
pub(super) fn snapshot_step(catalog: &Catalog, next: Option<FileId>) -> codec::Step {
    match next {
        None => codec::head(Features::default(), catalog),
        Some(from) => codec::chunk(catalog, from),
    }
}

impl CommitQueue for State {
    type Writer = Journal;
    type Error = StoreError;

    fn lose_writer(&mut self) -> StoreError {
        let panicked = std::io::Error::other("a bug: its leader panicked");
        self.stop(&StoreError::io("a group of commits", panicked))
    }
}

impl State {
    /// Takes queued changes and stages them.
    fn stage_group(&mut self) -> Group {
        let mut group = Group::default();
        while group.records.len() < GROUP_BYTES
            && let Some((ticket, work)) = self.queue.waiting.pop_first()
        {
            match self.stage(work, &mut group) {
                Ok(()) => group.members.push(ticket),
                Err(error) => drop(self.queue.ended.insert(ticket, Err(error))),
            }
        }
        self.stage_marks(&mut group);
        group
    }

    /// Adds records of how far each log is durable to a group that is written anyway.
    fn stage_marks(&mut self, group: &mut Group) {
        if group.records.is_empty() || self.catalog.is_closed() {
            return;
        }
        for record in self.fresh_marks() {
            if self.catalog.stage(&mut [record.clone()]).is_ok() {
                record.encode(&mut group.records);
            }
        }
    }

    fn stage(&mut self, work: Work, group: &mut Group) -> Result<(), StoreError> {
        self.check()?;
        let mut records = match work {
            Work::Records(records) => records,
            Work::Changes(transaction) => {
                let resolved = transaction
                    .changes()
                    .iter()
                    .filter_map(|change| self.resolve(change).transpose());
                resolved.collect::<Result<Vec<_>, _>>()?
            }
        };
        let effects = self.catalog.stage(&mut records)?;
        for record in &records {
            record.encode(&mut group.records);
            if let Record::Create { id, .. } | Record::Seal { id, .. } = record {
                group.names_new_files = true;
                self.note_committed(*id);
            }
        }
        for gone in &effects.deleted {
            self.note_deleted(gone.file);
        }
        group.effects.push(effects);
        Ok(())
    }

    /// The record of a change; none if it changes nothing.
    fn resolve(&self, change: &Change) -> Result<Option<Record>, StoreError> {
        Ok(Some(match change {
            Change::Create { id, annotation } => {
                let node = self.written_node(*id)?;
                let file = node.lock();
                let (size, extents) = match node.kind {
                    FileKind::Log => (0, vec![node::lease(0)]),
                    FileKind::Table | FileKind::Client => {
                        (file.synced, node::extents(file.synced, None))
                    }
                };
                let (id, kind, epoch) = (*id, node.kind, file.log.epoch);
                let annotation = annotation.clone().into();
                Record::Create { id, kind, size, extents, epoch, annotation }
            }
            Change::Seal { id, annotation } => self.resolve_seal(*id, annotation)?,
            Change::Trim { id, start, end } => return self.resolve_trim(*id, *start, *end),
            Change::Delete { id } => Record::Delete { id: *id },
            Change::Annotate { id, annotation } => {
                Record::Annotate { id: *id, annotation: annotation.clone().into() }
            }
            Change::Link { name, id } => Record::Link { name: name.as_str().into(), id: *id },
            Change::Unlink { name } => {
                Record::Unlink { name: name.as_str().into(), id: FileId::STORE }
            }
            Change::Rename { from, to } => {
                let (from, to) = (from.as_str().into(), to.as_str().into());
                Record::Rename { from, to, id: FileId::STORE, replaced: None }
            }
        }))
    }

    fn resolve_seal(
        &self,
        id: FileId,
        annotation: &terrace_env::store::Annotation,
    ) -> Result<Record, StoreError> {
        let node = self.written_node(id)?;
        let file = node.lock();
        if file.sealed || !file.finished {
            let expected = "an unsealed file whose writer has finished";
            return Err(node.wrong_state(expected, &file));
        }
        let (size, kind, epoch) = (file.size, node.kind, file.log.epoch);
        let extents = match kind {
            FileKind::Log => node::extents(u64::from(file.log.block) * BLOCK as u64, None),
            FileKind::Table | FileKind::Client => {
                let padding = (size.next_multiple_of(BLOCK as u64) - size) as usize;
                let zeros = [0; BLOCK];
                let whole = |crc| terrace_env::checksum::crc32c_append(crc, &zeros[..padding]);
                node::extents(size, file.crc.map(whole))
            }
        };
        let annotation = annotation.clone().into();
        Ok(Record::Seal { id, kind, size, extents, epoch, annotation })
    }

    fn resolve_trim(&self, id: FileId, start: u64, end: u64) -> Result<Option<Record>, StoreError> {
        let (size, kind) = match self.nodes.get(&id) {
            Some(node) => (node.lock().size, node.kind),
            None => self.catalog.file(id).map(|record| (record.size, record.kind))?,
        };
        if start > end || end > size {
            return Err(StoreError::OutOfRange { id, start, end, valid: format!("{size} bytes") });
        }
        let block = BLOCK as u64;
        let from = start.div_ceil(block);
        let to = if end == size { end.div_ceil(block) } else { end / block };
        // The blocks of a log hold frames: none of them comes free before the log is deleted.
        let (from, to) = if kind == FileKind::Log { (0, 0) } else { (from, to.max(from)) };
        let (from, to) = (from as u32, to as u32);
        Ok(Some(Record::Trim { id, from, to }))
    }

    /// The node of a file that was written since the store was opened.
    fn written_node(&self, id: FileId) -> Result<&Node, StoreError> {
        if let Some(node) = self.nodes.get(&id) {
            return Ok(node);
        }
        let record = self.catalog.file(id)?;
        let (expected, got) = if record.sealed {
            ("an unsealed file", "a sealed file")
        } else {
            ("an unsealed file whose writer has finished", "an unsealed file without a writer")
        };
        Err(StoreError::WrongState { id, expected, got })
    }

    fn note_committed(&self, id: FileId) {
        if let (Some(node), Some(record)) = (self.nodes.get(&id), self.catalog.get(id)) {
            let mut file = node.lock();
            (file.committed, file.sealed, file.recorded) = (true, record.sealed, record.size);
        }
    }

    fn note_deleted(&mut self, id: FileId) {
        if let Some(node) = self.nodes.remove(&id) {
            let mut file = node.lock();
            // Whether it was committed before or not, its writer has no file to remove.
            (file.committed, file.deleted) = (true, true);
            if file.readers > 0 {
                let (kind, bytes) = (node.kind, file.size);
                self.pinned.insert(id, Pinned { kind, bytes, is_durable: false });
            }
        }
    }
}
