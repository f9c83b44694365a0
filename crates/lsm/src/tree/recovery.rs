//! Opening of an engine: rebuilds the tree from the annotations of the store's files, and replays
//! each log into a memtable of its own, the oldest log first.
//!
//! 1. The store is claimed: by one engine to write, or by any number to read. If another claim
//!    excludes that, the opening fails.
//! 2. A store without the engine's record that holds a file with a name is refused: it is another
//!    program's, which an engine would lock out by its record.
//! 3. If the store was last open under another system (a named set of policies), the tree is taken
//!    as it is, and the state that the old compaction policy had stored is dropped. If only
//!    parameters of the system differ, the state is kept.
//! 4. Options that shape tables have the values that the store remembers. If the store remembers
//!    none, and the opening states one, that is remembered from then on. An opening for writing
//!    fails if it states another value than the remembered one.
//! 5. The logs are replayed. If a log has noted the length of the log before it, and that log is
//!    there with another length, the opening fails.
//! 6. The opening chooses the log in which writing goes on: the last log that has entries which are
//!    in no table. If that log is sealed, the opening takes the first unsealed log behind it. If no
//!    log has such entries, it takes the first unsealed log. If it finds no such log, it begins a
//!    new one. One transaction deletes those of the other logs that have no such entries, and seals
//!    the rest, unless they are sealed. The memtables of the rest wait for their flush.
//!
//! Tables on a device that is lost are left out of the tree ([`LostRange`]). Unless the opening is
//! read-only, their files are deleted, before the logs are replayed.
//!
//! A read-only opening leaves out step 6 and writes nothing. A damaged annotation or log fails the
//! opening. Tables are not read here, so a damaged one is found later.
//!
//! If the replayed memtables become much larger than their share of memory, all of them are
//! flushed, oldest first, and the replay goes on. So a log can be replayed in parts: the flush of a
//! part notes in the log's annotation where the next one begins. If there is no space for a flush,
//! or the opening is read-only, the rest is replayed into memory in spite of the share.
//!
//! One thread opens, before the engine has actors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::store::{Annotation, FileInfo, FileKind, Rank, Store, StoreError, Transaction};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, SeqNo};
use terrace_policy::{Compaction, Place};

use super::annotation::{LogRecord, TableRecord};
use super::growing::check_room;
use super::handle::TableHandle;
use super::lost::LostRange;
use super::run::Segment;
use super::space_list::SpaceList;
use super::space_page::SpacePage;
use super::spaces::Spaces;
use super::store_record::StoreRecord;
use super::tree::Tree;
use super::version::Version;
use super::view::View;
use crate::Error;
use crate::canary::{self, Rule};
use crate::counters::Counters;
use crate::event::Listeners;
use crate::jobs::{Board, LoadMeter, Seeks, SpacePressure, Workers};
use crate::lifecycle::Lifecycle;
use crate::lifetime::Written;
use crate::memory::Memory;
use crate::memtable::{FlushQueue, ImmutableMemtable, Memtable};
use crate::options::EngineOptions;
use crate::reading::Closed;
use crate::reading::{EmptyRanges, Readers};
use crate::shared::Shared;
use crate::writing::FrozenBatch;
use crate::writing::Gathering;
use crate::writing::PreallocatedLogs;
use crate::writing::WriteLane;
use crate::writing::log;
use crate::writing::{ActiveLog, ReplayFrom, ReplayedLog};

/// A log as replayed: what of it is not in tables.
struct Replayed {
    file: FileInfo,
    record: LogRecord,
    memtable: Arc<Memtable>,
    /// All of it has been flushed.
    is_deleted: bool,
}

/// State found in the store.
struct Found {
    record: StoreRecord,
    /// Whether the record is not what the store has.
    changed: bool,
    spaces: SpaceList,
    version: Version,
    /// Oldest first.
    logs: Vec<(LogRecord, FileInfo)>,
    lost: Vec<LostRange>,
    /// Behind all sequences of tables.
    next: SeqNo,
}

impl Found {
    /// Makes the record one of this system. The decider's state goes with a change of the system's
    /// name, and stays with a change of parameters. A decider takes any bytes for state, and its
    /// plans are checked: at worst a plan follows from pointers or windows that other parameters
    /// would not have left.
    fn adopt(&mut self, system: &str) {
        if self.record.decider != system {
            if name_of(&self.record.decider) != name_of(system) {
                self.record.state.clear();
            }
            self.record.decider = system.to_owned();
            self.changed = true;
        }
    }
}

/// The name at the start of a system's text: `sealdb` of `sealdb:victim=set,fit=best`.
fn name_of(system: &str) -> &str {
    system.split_once(':').map_or(system, |(name, _)| name)
}

/// System that the store was last opened with, as [`EngineOptions::system`], if it holds an
/// engine's data.
pub fn remembered_system(store: &dyn Store) -> Result<Option<String>, Error> {
    let (record, is_new) = own_record(store)?;
    Ok((!is_new).then_some(record.decider))
}

/// The store's own annotation of an empty store that a checkpoint is about to fill. A store that
/// has it from its first durable write on is never taken for an empty one.
#[must_use]
pub fn mark_of_unfinished_copy() -> Annotation {
    StoreRecord::new().marked().annotation()
}

/// Whether the store is the target of a checkpoint that was interrupted, or is still on its way.
/// Opening it is [`Error::UnfinishedCopy`].
#[must_use]
pub fn is_unfinished_copy(store: &dyn Store) -> bool {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation).unwrap_or_default();
    StoreRecord::decode_target(&annotation.opaque).is_ok_and(|record| record.is_marked())
}

impl Shared {
    /// Opens what is in the store; an empty store becomes an empty engine.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        decider: Arc<dyn Compaction>,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let written_before = Written::by(&*store);
        let users = store.users();
        let claim = if options.read_only { users.claim_to_read() } else { users.claim_to_write() };
        let claim = claim.ok_or(StoreError::InUse("the store".into()))?;
        let mut options = options.fitted();
        let (mut record, is_new) = own_record(&*store)?;
        let changed = remember_tables(&mut record, &options)? | is_new;
        options.tables = record.tables;
        let memory = Memory::new(&options);
        let mut found = find(&*store, &memory, record, is_new)?;
        found.changed = changed;
        found.adopt(&options.system);
        let lifetime_at_open = found.record.lifetime.clone();
        let Found { record, changed, spaces: list, version, logs, lost, next } = found;
        if !options.read_only {
            check_room(next, &version)?;
            delete(&*store, &lost)?;
        }
        let rule = decider.write_rule(version.view());
        let jobs_max = options.jobs_of(&*decider);
        let workers = Workers::new(options.workers, store.rotational());
        let load = LoadMeter::new(store.rotational());
        let seeks = Seeks::new(&*decider);
        let (immutable, version) = (Vec::new(), Arc::new(version));
        let (spaces, closed) = (Spaces::of(&list, record.next_space), Closed::default());
        let active = Arc::new(Memtable::new(&memory.memtables));
        let empty_ranges = EmptyRanges::new(memory.positions(), options.memory);
        let view = View { active, immutable, version, spaces, closed };
        let shared = Self {
            store,
            claim: Mutex::new(Some(claim)),
            options,
            decider,
            memory,
            counters: Counters::new(),
            load,
            seeks,
            workers,
            listeners: Listeners::default(),
            tree: Tree::new(view, SeqNo(next.0 - 1), record, list),
            lifecycle: Lifecycle::default(),
            memtables: FlushQueue::default(),
            space: SpacePressure::new(rule),
            board: Board::new(jobs_max),
            writes: WriteLane::default(),
            lifetime_at_open,
            written_before,
            readers: Readers::default(),
            empty_ranges,
            ahead: PreallocatedLogs::default(),
            gathering: Gathering::default(),
            lost,
        };
        let (logs, next) = shared.replay(logs, next)?;
        if !shared.options.read_only {
            check_room(next, &shared.tree.view().version)?;
        }
        shared.go_on(&logs, next, changed)?;
        Ok(shared)
    }

    /// Replays the logs; returns what of them is not in tables, and the sequence behind all.
    fn replay(
        &self,
        logs: Vec<(LogRecord, FileInfo)>,
        next: SeqNo,
    ) -> Result<(Vec<Replayed>, SeqNo), Error> {
        let (mut replayed, mut ends) = (Vec::<Replayed>::new(), BTreeMap::<FileId, u64>::new());
        let (mut from, mut has_space) = (SeqNo(1), !self.options.read_only);
        for (record, file) in logs {
            let memtable = Arc::new(Memtable::new(&self.memory.memtables));
            let id = file.id;
            replayed.push(Replayed { file, record, memtable, is_deleted: false });
            let reader = self.store.open(id)?;
            let start = ReplayFrom { next: from, first: record.first };
            let take = |batch: &FrozenBatch| {
                let active = replayed.last().expect("the log that is read");
                active.memtable.insert(batch);
                if has_space && self.memory.memtables_overflow() {
                    has_space = self.flush_replayed(&mut replayed, batch.end())?;
                }
                Ok(())
            };
            let ReplayedLog { next, before, checksum } = log::replay(&*reader, start, take)?;
            from = next.max(record.first);
            let read = replayed.last().expect("the log that was read");
            read.memtable.note_replayed(id, checksum);
            ends.insert(id, reader.len());
            // One that is not there any more has been flushed.
            if let Some(before) = before
                && let Some(found) = ends.get(&before.log)
            {
                before.check(id, *found)?;
            }
        }
        Ok((replayed, next.max(from)))
    }

    /// Flushes what has been replayed, the last log up to `end`; `false` if there is no space.
    fn flush_replayed(&self, replayed: &mut Vec<Replayed>, end: SeqNo) -> Result<bool, Error> {
        let last = replayed.len() - 1;
        for (at, log) in replayed.iter_mut().enumerate() {
            let rest = (at == last).then_some(end);
            if log.memtable.is_empty() {
                continue;
            }
            let (memtable, id) = (Arc::clone(&log.memtable), log.file.id);
            match self.flush(&ImmutableMemtable { memtable, log: id, hold: None, rest }) {
                Err(error)
                    if error.is_space() && !canary::is_broken(Rule::OpeningOutlivesFullStore) =>
                {
                    replayed.retain(|log| !log.is_deleted);
                    return Ok(false);
                }
                flushed => flushed?,
            };
            log.memtable = Arc::new(Memtable::new(&self.memory.memtables));
            if rest.is_some() {
                log.record.first = end;
            } else {
                log.is_deleted = true;
            }
        }
        replayed.retain(|log| !log.is_deleted);
        Ok(true)
    }

    /// Makes what was replayed visible, and goes on with the last log, or begins one.
    fn go_on(&self, logs: &[Replayed], next: SeqNo, changed: bool) -> Result<(), Error> {
        let mut active = self.tree.view().active.clone();
        if !self.options.read_only {
            let (memtable, log) = self.go_on_writing(logs, next, changed)?;
            active = memtable;
            self.writes.open(log);
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
        let immutable = queue.iter().rev().map(|one| Arc::clone(&one.memtable)).collect();
        self.tree.set_memtables(active, immutable);
        queue.into_iter().for_each(|memtable| self.memtables.push(memtable));
        self.tree.make_visible(SeqNo(next.0 - 1));
        Ok(())
    }

    /// Goes on with the last log, or begins one.
    fn go_on_writing(
        &self,
        logs: &[Replayed],
        next: SeqNo,
        changed: bool,
    ) -> Result<(Arc<Memtable>, ActiveLog), Error> {
        let store = &*self.store;
        let mut transaction = Transaction::new();
        let goes_on = log_to_go_on_with(logs);
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
            finished.push(writer);
        }
        // An empty log that is not gone on with has nothing to flush that would delete it.
        let kept = last.as_ref().map(|(log, _)| log.file.id);
        for log in logs {
            if log.memtable.is_empty() && Some(log.file.id) != kept {
                transaction.delete(log.file.id);
            }
        }
        if changed {
            transaction.annotate(FileId::STORE, self.tree.record().annotation());
        }
        let (memtable, log) = match last {
            Some((log, writer)) => {
                let memtable = Arc::clone(&log.memtable);
                (memtable, ActiveLog::new(writer, log.record.first, next))
            }
            None => {
                let writer = begin_log(store)?;
                let record = LogRecord { first: next };
                transaction.create(writer.id(), record.annotation());
                let memtable = Arc::new(Memtable::new(&self.memory.memtables));
                (memtable, ActiveLog::new(writer, next, next))
            }
        };
        if !transaction.is_empty() {
            store.commit(transaction)?;
        }
        Ok((memtable, log))
    }
}

/// The store's own annotation, and whether it is that of a store that has none yet.
fn own_record(store: &dyn Store) -> Result<(StoreRecord, bool), Error> {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation);
    match annotation.filter(|annotation| !annotation.opaque.is_empty()) {
        Some(annotation) => Ok((StoreRecord::decode(&annotation.opaque)?, false)),
        None => Ok((StoreRecord::new(), true)),
    }
}

/// Takes over the options that the opening states, which shape tables; whether any is new. An
/// opening that writes nothing shapes no table.
fn remember_tables(record: &mut StoreRecord, options: &EngineOptions) -> Result<bool, Error> {
    if options.read_only {
        return Ok(false);
    }
    record.tables.check_asked(&options.tables)?;
    let before = record.tables;
    record.tables = before.or(options.tables);
    Ok(record.tables != before)
}

fn find(
    store: &dyn Store,
    memory: &Arc<Memory>,
    record: StoreRecord,
    is_new: bool,
) -> Result<Found, Error> {
    let files = store.list();
    if is_new {
        refuse_names(&files)?;
    }
    let (mut segments, mut logs) = (Vec::<(Place, Segment)>::new(), Vec::new());
    let (mut lost, mut pages) = (Vec::new(), Vec::new());
    let mut next = SeqNo(1);
    for file in files {
        let (id, opaque) = (file.id, &file.annotation.opaque);
        match file.kind {
            FileKind::Table if SpacePage::is_one(opaque) => {
                pages.push((id, SpacePage::decode(id, opaque)?));
            }
            FileKind::Table => {
                let table = TableRecord::decode(id, opaque)?;
                next = next.max(SeqNo(table.last_sequence.0 + 1));
                if store.is_lost(id) {
                    lost.extend(LostRange::of(id, &table));
                    continue;
                }
                let placed = table.segments.clone();
                let stream = file.annotation.hint.stream;
                let handle = TableHandle::new(store, id, table, stream, memory)?;
                segments.extend(placed.into_iter().map(|one| {
                    // A part is not larger than the whole.
                    let size = ByteCount(one.size.0.min(file.size));
                    let (table, span) = (Arc::clone(&handle), one.span);
                    (one.place, Segment { table, span, size })
                }));
            }
            FileKind::Log => logs.push((LogRecord::decode(id, opaque)?, file)),
            FileKind::Client => {}
        }
    }
    let version = Version::new(segments)?;
    let spaces = SpaceList::of(&record, pages)?;
    Ok(Found { record, changed: is_new, spaces, version, logs, lost, next })
}

/// Refuses files with names.
fn refuse_names(files: &[FileInfo]) -> Result<(), Error> {
    let Some(name) = files.iter().find_map(|file| file.names.first()) else { return Ok(()) };
    let named = files.iter().filter(|file| !file.names.is_empty()).count();
    let message = format!(
        "expected a key-value store, or no files yet, found files with names ({named}, one of them \
         {name:?}); use `terrace fs` or the program that wrote them, or format the device again, \
         which loses them"
    );
    Err(StoreError::Invalid(message).into())
}

/// Deletes the files of tables that are lost.
fn delete(store: &dyn Store, lost: &[LostRange]) -> Result<(), Error> {
    if lost.is_empty() {
        return Ok(());
    }
    let files: BTreeSet<FileId> = lost.iter().map(|range| range.file).collect();
    let mut transaction = Transaction::new();
    for file in files {
        transaction.delete(file);
    }
    Ok(store.commit(transaction)?)
}

/// The last log that holds anything, if it can be written; else an empty one behind it.
fn log_to_go_on_with(logs: &[Replayed]) -> Option<FileId> {
    let filled = logs.iter().rposition(|log| !log.memtable.is_empty());
    let mut behind = logs[filled.unwrap_or(0)..].iter();
    behind.find(|log| !log.file.sealed).map(|log| log.file.id)
}

/// A full store must open, so that something can be deleted from it.
fn begin_log(store: &dyn Store) -> Result<Box<dyn terrace_env::store::FileWriter>, Error> {
    match log::create(store, Rank::Log, None) {
        Err(error) if error.is_space() => log::create(store, Rank::UrgentLog, None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adopted(from: &str, to: &str) -> (bool, bool) {
        let record = StoreRecord {
            decider: from.to_owned(),
            state: b"pointers".to_vec(),
            ..StoreRecord::new()
        };
        let version = Version::new(Vec::new()).expect("an empty tree");
        let (logs, next) = (Vec::new(), SeqNo(1));
        let lost = Vec::new();
        let spaces = SpaceList::default();
        let mut found = Found { record, changed: false, spaces, version, logs, lost, next };
        found.adopt(to);
        assert_eq!(found.record.decider, to);
        (found.changed, found.record.state == b"pointers")
    }

    #[test]
    fn state_outlives_a_change_of_parameters_and_not_one_of_the_system() {
        assert_eq!(adopted("sealdb", "sealdb"), (false, true));
        assert_eq!(adopted("sealdb:fit=best", "sealdb:fit=next,factor=4"), (true, true));
        assert_eq!(adopted("sealdb", "sealdb:fit=next"), (true, true));
        assert_eq!(adopted("sealdb:fit=next", "leveldb-sets:fit=next"), (true, false));
        assert_eq!(adopted("lifetime", "lifetime-other"), (true, false));
        assert_eq!(adopted("", "sealdb"), (true, false));
    }
}
