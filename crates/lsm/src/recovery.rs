//! Opening: the tree is rebuilt from the annotations of the store's files, and the logs are
//! replayed into memtables, each into its own, oldest first.
//!
//! What was written under another system is opened as it is; the store remembers the new one, and
//! what the other one's decider left as its state is forgotten.
//!
//! The last log that holds anything, if it is not sealed, is gone on with, and so is its memtable;
//! all others wait for their flush. What is torn at a log's end the store has cut already; that a
//! log was cut which a later one says was durable to its end is corruption, seen here.
//! Read-only, nothing is written.
//!
//! The store is claimed first, so that no two engines open it at once unless both only read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use terrace_env::store::{FileInfo, FileKind, Rank, Store, StoreError, Transaction};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{FileId, MemoryGauge, SeqNo};
use terrace_policy::{Compaction, Place};

use crate::Error;
use crate::annotation::{LogRecord, StoreRecord, TableRecord};
use crate::closed::Closed;
use crate::counters::Counters;
use crate::event::Listeners;
use crate::gathering::Gathering;
use crate::handle::TableHandle;
use crate::lifetime::WrittenBytes;
use crate::log::{self, ActiveLog};
use crate::log_ahead::LogAhead;
use crate::memory::Memory;
use crate::memtable::Memtable;
use crate::options::EngineOptions;
use crate::readers::Readers;
use crate::role::Role;
use crate::run::Segment;
use crate::shared::{Shared, State, View, Waiting};
use crate::spaces::Spaces;
use crate::version::Version;
use crate::worker;
use crate::write::WriteQueue;

/// A log as replayed.
struct Replayed {
    file: FileInfo,
    record: LogRecord,
    memtable: Arc<Memtable>,
}

/// What was found in the store.
struct Found {
    record: StoreRecord,
    /// Whether the record is not what the store has.
    changed: bool,
    version: Version,
    /// Oldest first.
    logs: Vec<Replayed>,
    next: SeqNo,
}

impl Found {
    /// Makes the record one of this system.
    fn adopt(&mut self, system: &str) {
        if self.record.decider != system {
            self.record.decider = system.to_owned();
            self.record.state.clear();
            self.changed = true;
        }
    }
}

/// What the store was last opened with as [`EngineOptions::system`], if it holds an engine's data.
pub fn remembered_system(store: &dyn Store) -> Result<Option<String>, Error> {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation);
    match annotation.filter(|annotation| !annotation.opaque.is_empty()) {
        Some(annotation) => Ok(Some(StoreRecord::decode(&annotation.opaque)?.decider)),
        None => Ok(None),
    }
}

impl Shared {
    /// Opens what is in the store; an empty store becomes an empty engine.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        decider: Arc<dyn Compaction>,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let written_before = WrittenBytes::of(&store.io());
        let users = store.users();
        let claim = if options.read_only { users.claim_to_read() } else { users.claim_to_write() };
        let claim = claim.ok_or(StoreError::InUse("the store"))?;
        let options = options.fitted();
        let memory = Memory::new(&options);
        let mut found = find(&*store, &memory)?;
        found.adopt(&options.system);
        let lifetime_at_open = found.record.lifetime;
        let (active, log) = if options.read_only {
            (Arc::new(Memtable::new(&memory.memtables)), None)
        } else {
            let (active, log) = resume(&*store, &found, &memory.memtables)?;
            (active, Some(log))
        };
        let waits = |replayed: &&Replayed| {
            !replayed.memtable.is_empty() && !Arc::ptr_eq(&replayed.memtable, &active)
        };
        let waiting: VecDeque<Waiting> = found
            .logs
            .iter()
            .filter(waits)
            .map(|log| Waiting {
                memtable: Arc::clone(&log.memtable),
                log: log.file.id,
                hold: None,
            })
            .collect();
        let memtables = waiting.iter().rev().map(|one| Arc::clone(&one.memtable)).collect();
        let pressure = decider.pressure(found.version.view());
        let workers = worker::count(options.workers, store.rotational());
        let spaces = Spaces::of(&found.record);
        let version = Arc::new(found.version);
        let closed = Closed::default();
        let view = View { active, waiting: memtables, version, spaces, closed };
        Ok(Self {
            store,
            claim: Mutex::new(Some(claim)),
            options,
            decider,
            memory,
            counters: Counters::new(),
            workers,
            listeners: Listeners::default(),
            view: ArcSwap::from_pointee(view),
            visible: AtomicU64::new(found.next.0 - 1),
            state: Mutex::new(State::new(found.record, waiting, pressure)),
            changed: Condvar::default(),
            commits: Role::default(),
            writes: WriteQueue::default(),
            log: Mutex::new(log),
            lifetime_at_open,
            written_before,
            readers: Readers::default(),
            ahead: LogAhead::default(),
            gathering: Gathering::default(),
        })
    }
}

fn find(store: &dyn Store, memory: &Arc<Memory>) -> Result<Found, Error> {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation);
    let opaque = annotation.as_ref().map_or(&[][..], |annotation| &annotation.opaque);
    let changed = opaque.is_empty();
    let record = if changed { StoreRecord::new() } else { StoreRecord::decode(opaque)? };
    let (mut segments, mut logs) = (Vec::<(Place, Segment)>::new(), Vec::new());
    let mut next = SeqNo(1);
    for file in store.list() {
        let (id, opaque) = (file.id, &file.annotation.opaque);
        match file.kind {
            FileKind::Table => {
                let table = TableRecord::decode(id, opaque)?;
                next = next.max(table.last_sequence.next());
                let placed = table.segments.clone();
                let stream = file.annotation.hint.stream;
                let handle = TableHandle::new(store, id, table, stream, memory)?;
                segments.extend(placed.into_iter().map(|one| {
                    let (table, size, span) = (Arc::clone(&handle), one.size, one.span);
                    (one.place, Segment { table, span, size })
                }));
            }
            FileKind::Log => logs.push((LogRecord::decode(id, opaque)?, file)),
            FileKind::Client => {}
        }
    }
    let version = Version::new(segments)?;
    let (mut replayed, mut ends) = (Vec::new(), BTreeMap::<FileId, u64>::new());
    let mut from = SeqNo(1);
    for (record, file) in logs {
        let memtable = Arc::new(Memtable::new(&memory.memtables));
        let reader = store.open(file.id)?;
        let before;
        (from, before) = log::replay(&*reader, &memtable, from.max(record.first))?;
        ends.insert(file.id, reader.len());
        // One that is not there any more has been flushed.
        if let Some(before) = before
            && let Some(found) = ends.get(&before.log)
        {
            before.check(file.id, *found)?;
        }
        replayed.push(Replayed { file, record, memtable });
    }
    Ok(Found { record, changed, version, logs: replayed, next: next.max(from) })
}

/// Goes on with the last log, or begins one.
fn resume(
    store: &dyn Store,
    found: &Found,
    memory: &MemoryGauge,
) -> Result<(Arc<Memtable>, ActiveLog), Error> {
    let mut transaction = Transaction::new();
    let goes_on = log_to_go_on_with(found);
    let (mut last, mut finished) = (None, Vec::new());
    for log in found.logs.iter().filter(|log| !log.file.sealed) {
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
    for log in &found.logs {
        if log.memtable.is_empty() && Some(log.file.id) != kept {
            transaction.delete(log.file.id);
        }
    }
    if found.changed {
        transaction.annotate(FileId::STORE, found.record.annotation());
    }
    let (memtable, log) = match last {
        Some((log, writer)) => {
            let memtable = Arc::clone(&log.memtable);
            (memtable, ActiveLog::new(writer, log.record.first, found.next))
        }
        None => {
            let writer = begin_log(store)?;
            let record = LogRecord { first: found.next };
            transaction.create(writer.id(), record.annotation());
            let memtable = Arc::new(Memtable::new(memory));
            (memtable, ActiveLog::new(writer, found.next, found.next))
        }
    };
    if !transaction.is_empty() {
        store.commit(transaction)?;
    }
    Ok((memtable, log))
}

/// The last log that holds anything, if it can be written; else an empty one behind it.
fn log_to_go_on_with(found: &Found) -> Option<FileId> {
    let filled = found.logs.iter().rposition(|log| !log.memtable.is_empty());
    let mut behind = found.logs[filled.unwrap_or(0)..].iter();
    behind.find(|log| !log.file.sealed).map(|log| log.file.id)
}

/// A full store must open, so that something can be deleted from it.
fn begin_log(store: &dyn Store) -> Result<Box<dyn terrace_env::store::FileWriter>, Error> {
    match log::create(store, Rank::Log, None) {
        Err(error) if error.is_space() => log::create(store, Rank::UrgentLog, None),
        other => other,
    }
}
