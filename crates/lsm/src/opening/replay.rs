//! [`Replay`]: reads the logs of a store into memtables, one for each log, oldest log first, and
//! continues the last one.
//!
//! 1. The logs are replayed. If a log has noted the length of the log before it, and that log
//!    exists with another length, the opening fails.
//! 2. The log is chosen in which writing continues. This is the last log with entries that are in
//!    no table, or the first unsealed log after it, if it is sealed. If no log has such entries, it
//!    is the first unsealed log. If there is no such log, a new one begins. One transaction deletes
//!    the other logs that have no such entries, and seals the remaining ones, unless they are
//!    sealed. The memtables of the remaining logs wait for their flush.
//!
//! If the replayed memtables become much larger than their share of memory, all of them are
//! flushed, oldest first, and the replay continues. So a log can be replayed in parts: the flush of
//! a part notes in the log's annotation where the next one begins. If there is no space for a
//! flush, or the opening is read-only, the remaining entries are replayed into memory in excess of
//! the share.
//!
//! A read-only opening leaves out step 2 and writes nothing. A damaged log is an error.
//!
//! One thread opens, before the engine has actors.

use std::collections::BTreeMap;
use std::sync::Arc;

use terrace_env::store::{FileInfo, FileWriter, Rank, Store, Transaction};
use terrace_env::{FileId, SeqNo, reached};

use crate::Error;
use crate::batch::FrozenBatch;
use crate::canary::{self, Rule};
use crate::memory::Memory;
use crate::memtable::{FlushQueue, ImmutableMemtable, Memtable};
use crate::tree::{LogRecord, Tree};
use crate::write::{ActiveLog, Flusher, ReplayFrom, ReplayedLog, WriteLane, log};

/// The replayed part of a log that is not in tables.
pub(super) struct Replayed {
    file: FileInfo,
    record: LogRecord,
    memtable: Arc<Memtable>,
    /// Whether all of it has been flushed.
    is_deleted: bool,
}

/// The owners that a replay fills.
pub(super) struct Replay<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) memory: &'a Memory,
    pub(super) tree: &'a Tree,
    pub(super) memtables: &'a FlushQueue,
    pub(super) flusher: &'a Flusher,
    pub(super) lane: &'a WriteLane,
    pub(super) read_only: bool,
}

impl Replay<'_> {
    /// Replays the logs; returns their entries that are not in tables, and the sequence after all.
    /// A log that no writing continues in, and that has no entries, does not count: it is deleted.
    pub(super) fn replay(
        &self,
        logs: Vec<(LogRecord, FileInfo)>,
        next: SeqNo,
    ) -> Result<(Vec<Replayed>, SeqNo), Error> {
        let (mut replayed, mut ends) = (Vec::<Replayed>::new(), BTreeMap::<FileId, u64>::new());
        let (mut from, mut after, mut has_space) = (SeqNo(1), next, !self.read_only);
        for (record, file) in logs {
            let memtable = Arc::new(Memtable::new(&self.memory.chunks));
            let id = file.id;
            debug_assert!(ends.last_key_value().is_none_or(|(last, _)| *last < id), "in order");
            replayed.push(Replayed { file, record, memtable, is_deleted: false });
            let reader = self.store.open(id)?;
            let start = ReplayFrom { next: from, first: record.first };
            let take = |batch: &FrozenBatch| {
                let active = replayed.last_mut().expect("the log that is read");
                let chunks = &self.memory.chunks;
                Memtable::insert_or_exchange(&mut active.memtable, batch, chunks);
                if has_space && self.memory.memtables_overflow() {
                    has_space = self.flush_replayed(&mut replayed, batch.end())?;
                }
                Ok(())
            };
            let ReplayedLog { next, before, checksum } = log::replay(&*reader, start, take)?;
            from = next.max(record.first);
            if !reader.is_empty() {
                after = after.max(next);
            }
            let read = replayed.last().expect("the log that was read");
            read.memtable.note_replayed(id, checksum);
            ends.insert(id, reader.len());
            // A log that no longer exists has been flushed.
            if let Some(before) = before
                && let Some(found) = ends.get(&before.log)
            {
                before.check(id, *found)?;
            }
        }
        let active = log_to_go_on_with(&replayed);
        let active = replayed.iter().find(|log| Some(log.file.id) == active);
        let next = active.map_or(after, |log| after.max(log.record.first));
        Ok((replayed, next))
    }

    /// Flushes the replayed entries, those of the last log up to `end`; `false` if there is no
    /// space.
    fn flush_replayed(&self, replayed: &mut Vec<Replayed>, end: SeqNo) -> Result<bool, Error> {
        let last = replayed.len() - 1;
        for (at, log) in replayed.iter_mut().enumerate() {
            let rest = (at == last).then_some(end);
            if log.memtable.is_empty() {
                continue;
            }
            let (memtable, id) = (Arc::clone(&log.memtable), log.file.id);
            let immutable = ImmutableMemtable { memtable, log: id, hold: None, rest };
            match self.flusher.flush(&immutable, &Arc::default()) {
                Err(error)
                    if error.is_space() && !canary::is_broken(Rule::OpeningOutlivesFullStore) =>
                {
                    reached!("lsm: an opening has no space for a flush");
                    replayed.retain(|log| !log.is_deleted);
                    return Ok(false);
                }
                flushed => flushed?,
            };
            log.memtable = Arc::new(Memtable::new(&self.memory.chunks));
            if rest.is_some() {
                reached!("lsm: an opening flushes a part of a log");
                log.record.first = end;
            } else {
                log.is_deleted = true;
            }
        }
        replayed.retain(|log| !log.is_deleted);
        Ok(true)
    }

    /// Makes the replayed entries visible, and continues the last log, or begins one.
    pub(super) fn go_on(&self, logs: &[Replayed], next: SeqNo, changed: bool) -> Result<(), Error> {
        let mut active = self.tree.view().active.clone();
        if !self.read_only {
            let (memtable, log) = self.go_on_writing(logs, next, changed)?;
            active = memtable;
            self.lane.open(log);
        }
        let waits = |replayed: &&Replayed| {
            !replayed.memtable.is_empty() && !Arc::ptr_eq(&replayed.memtable, &active)
        };
        let immutable = logs.iter().filter(waits).map(|log| ImmutableMemtable {
            memtable: Arc::clone(&log.memtable),
            log: log.file.id,
            hold: None,
            rest: None,
        });
        let queue: Vec<_> = immutable.collect();
        debug_assert!(queue.iter().all(|one| one.memtable.end() <= next), "entries up to {next}");
        let immutable = queue.iter().rev().map(|one| Arc::clone(&one.memtable)).collect();
        self.tree.set_memtables(active, immutable);
        queue.into_iter().for_each(|memtable| self.memtables.push(memtable));
        self.tree.make_visible(SeqNo(next.0 - 1));
        Ok(())
    }

    /// Continues the last log, or begins one.
    fn go_on_writing(
        &self,
        logs: &[Replayed],
        next: SeqNo,
        changed: bool,
    ) -> Result<(Arc<Memtable>, ActiveLog), Error> {
        let store = self.store;
        let mut transaction = Transaction::new();
        let goes_on = log_to_go_on_with(logs);
        for Replayed { file, record, .. } in logs {
            debug_assert_eq!(
                store.info(file.id).map(|info| info.annotation.opaque.clone()),
                Some(record.annotation().opaque),
                "{}: the annotation says where the remainder begins",
                file.id
            );
        }
        let (mut last, mut finished) = (None, Vec::new());
        for log in logs.iter().filter(|log| !log.file.sealed) {
            let mut writer = store.reopen(log.file.id)?;
            if Some(log.file.id) == goes_on {
                last = Some((log, writer));
                continue;
            }
            writer.finish()?;
            transaction.seal(log.file.id, log.record.annotation());
            // A file is sealed by its writer.
            reached!("lsm: an opening seals a log that waits for its flush");
            finished.push(writer);
        }
        // An empty log that is not continued has no memtable whose flush would delete it.
        let kept = last.as_ref().map(|(log, _)| log.file.id);
        for log in logs {
            if log.memtable.is_empty() && Some(log.file.id) != kept {
                reached!("lsm: an opening deletes a log without entries");
                transaction.delete(log.file.id);
            }
        }
        if changed {
            transaction.annotate(FileId::STORE, self.tree.record().annotation());
        }
        let (memtable, log) = match last {
            Some((log, writer)) => {
                reached!("lsm: an opening continues a log");
                let memtable = Arc::clone(&log.memtable);
                (memtable, ActiveLog::new(writer, log.record.first, next))
            }
            None => {
                reached!("lsm: an opening begins a log");
                let writer = begin_log(store)?;
                let record = LogRecord { first: next };
                transaction.create(writer.id(), record.annotation());
                let memtable = Arc::new(Memtable::new(&self.memory.chunks));
                (memtable, ActiveLog::new(writer, next, next))
            }
        };
        if !transaction.is_empty() {
            store.commit(transaction)?;
        }
        Ok((memtable, log))
    }
}

/// The last log with entries, if it can be written; else an empty one after it.
fn log_to_go_on_with(logs: &[Replayed]) -> Option<FileId> {
    let filled = logs.iter().rposition(|log| !log.memtable.is_empty());
    let mut behind = logs[filled.unwrap_or(0)..].iter();
    behind.find(|log| !log.file.sealed).map(|log| log.file.id)
}

/// Begins a log. A full store must open, so that entries can be deleted from it.
fn begin_log(store: &dyn Store) -> Result<Box<dyn FileWriter>, Error> {
    match log::create(store, Rank::Log, None) {
        Err(error) if error.is_space() => log::create(store, Rank::UrgentLog, None),
        other => other,
    }
}
