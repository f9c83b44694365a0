//! What a mounted store shares between its handles: device, space, journal, and the open files.
//!
//! # Commits
//! 1. Changes become records: what a file's writer has done is read from the open file.
//! 2. The journal stages them and makes them durable, in a group with others.
//! 3. The effects are carried out in the order in which the journal staged the transactions,
//!    whoever wakes first: the counts of zones depend on it.
//!
//! # Threads
//! Locks are taken in the order registry, journal, file, space, and never over a device call.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use terrace_env::store::{Change, FileInfo, FileKind, StoreError, Transaction};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{Cause, FileId, Uuid};
use terrace_zone::Device;

use crate::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::{Catalog, Effects, Extent, ExtentMap, FileRecord, Freed, Record};
use crate::file::{Body, FileSource, FileState, LogIndex, OpenFile, Pin, Tail};
use crate::frame::LogScan;
use crate::journal::Journal;
use crate::medium::Medium;
use crate::space::{Allocator, Share};

/// Bytes of a snapshot for one file, with names, a few extents and the engine's annotation.
const FILE_BYTES: u64 = 256;
/// Files more or fewer for which the journal's reserve is set anew.
const FILES_NOTED: u64 = 1000;
/// Files looked at while the journal is locked: well under a millisecond.
const WALK_STEP: usize = 1000;

/// See the [module](self).
pub(crate) struct Volume {
    pub(crate) uuid: Uuid,
    pub(crate) medium: Arc<Medium>,
    pub(crate) space: Arc<Allocator>,
    pub(crate) journal: Journal,
    files: Mutex<Registry>,
    turns: Mutex<Turns>,
    turned: Condvar,
    /// Files in the catalog when the journal's reserve was last set.
    files_noted: AtomicU64,
}

/// Files that somebody has a handle of, or that are not sealed.
#[derive(Default)]
struct Registry {
    /// Their bytes are only known here: how far they are written, and what is in memory.
    unsealed: BTreeMap<FileId, Arc<OpenFile>>,
    sealed: BTreeMap<FileId, Weak<OpenFile>>,
}

/// Whose effects are to be carried out.
#[derive(Default)]
struct Turns {
    given: u64,
    done: u64,
}

/// What a transaction does to files that are written.
#[derive(Default)]
struct Births {
    sealed: Vec<(Arc<OpenFile>, Vec<Extent>)>,
    /// Files that this transaction commits for the first time.
    fresh: Vec<Arc<OpenFile>>,
}

impl Volume {
    /// A store of these parts, with its unsealed files.
    pub(crate) fn new(
        uuid: Uuid,
        medium: Arc<Medium>,
        space: Arc<Allocator>,
        journal: Journal,
        unsealed: Vec<Arc<OpenFile>>,
    ) -> Self {
        let unsealed = unsealed.into_iter().map(|file| (file.id, file)).collect();
        let files = Mutex::new(Registry { unsealed, sealed: BTreeMap::new() });
        let (turns, turned) = (Mutex::default(), Condvar::new());
        let files_noted = AtomicU64::new(u64::MAX);
        let volume = Self { uuid, medium, space, journal, files, turns, turned, files_noted };
        volume.journal.read(|catalog| volume.note_size(catalog));
        volume
    }

    /// Makes a file known that is about to be written.
    pub(crate) fn register(&self, file: &Arc<OpenFile>) {
        self.files.lock().unsealed.insert(file.id, Arc::clone(file));
    }

    /// An unsealed file.
    pub(crate) fn unsealed(&self, id: FileId) -> Option<Arc<OpenFile>> {
        self.files.lock().unsealed.get(&id).cloned()
    }

    /// All unsealed files.
    pub(crate) fn all_unsealed(&self) -> Vec<Arc<OpenFile>> {
        self.files.lock().unsealed.values().cloned().collect()
    }

    /// The state that all handles of a file share.
    pub(crate) fn open(&self, id: FileId) -> Result<Arc<OpenFile>, StoreError> {
        let (file, record) = {
            // The registry stays locked from the look at the catalog until the file is in it: a
            // transaction that changes the map afterwards finds the file and tells it.
            let mut files = self.files.lock();
            if let Some(file) = files.unsealed.get(&id) {
                return Ok(Arc::clone(file));
            }
            let record = self.journal.read(|catalog| catalog.file(id).cloned())?;
            let open = files.sealed.get(&id).and_then(Weak::upgrade);
            let file = open.unwrap_or_else(|| {
                let file = Arc::new(self.quiet_file(id, &record));
                files.sealed.insert(id, Arc::downgrade(&file));
                file
            });
            (file, record)
        };
        if record.kind == FileKind::Log {
            self.index_log(&file, &record)?;
        }
        Ok(file)
    }

    fn quiet_file(&self, id: FileId, record: &FileRecord) -> OpenFile {
        let body = match record.kind {
            FileKind::Log => Body::Log { index: None, pending: Vec::new() },
            FileKind::Table | FileKind::Client => Body::Sealed,
        };
        let (map, pin) = (Arc::clone(&record.extents), Pin::new(&self.space));
        let mut state = FileState::quiet(record.size, map, pin, body);
        state.sealed = true;
        OpenFile::new(id, record.kind, state)
    }

    /// Reads a sealed log through, so that its bytes can be found.
    fn index_log(&self, file: &OpenFile, record: &FileRecord) -> Result<(), StoreError> {
        let (map, _pin) = {
            let state = file.lock();
            if !matches!(state.body, Body::Log { index: None, .. }) {
                return Ok(());
            }
            (Arc::clone(&state.map), Arc::clone(&state.pin))
        };
        let source = FileSource::new(&self.medium, file.id, &map, Cause::Read);
        let (index, _) = LogIndex::scan(LogScan::new(&source, self.uuid, file.id, record))?;
        if let Body::Log { index: known, .. } = &mut file.lock().body {
            known.get_or_insert(index);
        }
        Ok(())
    }

    /// Calls `look` for every file of the catalog; the journal is locked for a part of them at a
    /// time, so that no commit waits for long.
    pub(crate) fn for_each_file(&self, mut look: impl FnMut(FileId, &FileRecord)) {
        let mut next = Some(FileId::STORE);
        while let Some(first) = next {
            next = self.journal.read(|catalog| {
                let mut files = catalog.files_from(first);
                files.by_ref().take(WALK_STEP).for_each(|(id, record)| look(id, record));
                files.next().map(|(id, _)| id)
            });
        }
    }

    /// Tells of an unsealed file what only its writer knows.
    pub(crate) fn refresh(&self, info: &mut FileInfo) {
        if let Some(file) = self.unsealed(info.id) {
            info.size = file.lock().size;
        }
    }

    /// A reader is gone: forgets the file if it was the last.
    pub(crate) fn reader_ended(&self, id: FileId) {
        let mut files = self.files.lock();
        if files.sealed.get(&id).is_some_and(|file| file.strong_count() == 0) {
            files.sealed.remove(&id);
        }
    }

    /// A writer is gone. A file that was never committed goes with it; another one keeps all that
    /// was appended, unless writing has failed in the midst of it.
    pub(crate) fn writer_ended(&self, file: &Arc<OpenFile>, failed: bool) {
        let mut state = file.lock();
        state.has_writer = false;
        if state.sealed {
            return;
        }
        state.finished = false;
        let committed = state.committed;
        drop(state);
        if !committed {
            self.files.lock().unsealed.remove(&file.id);
            abandon(file);
        } else if failed {
            self.return_to_synced(file);
        }
    }

    /// Forgets what was appended to an unsealed file and neither synced nor, in the case of a log,
    /// written.
    fn return_to_synced(&self, file: &OpenFile) {
        let record = self.journal.read(|catalog| catalog.get(file.id).cloned());
        let mut state = file.lock();
        match (&mut state.body, record) {
            (Body::Log { index: Some(index), pending }, _) => {
                pending.clear();
                state.size = index.size();
            }
            (Body::Growing(tail), Some(record)) => {
                *tail = Tail::synced(&record.extents, record.size);
                let lost = state.map.difference(&record.extents);
                (state.size, state.map) = (record.size, record.extents);
                let pin = Arc::clone(&state.pin);
                drop(state);
                pin.condemn(&lost, Share::Unsealed);
            }
            _ => {}
        }
    }

    /// Applies a client's transaction.
    pub(crate) fn commit(&self, transaction: &Transaction) -> Result<(), StoreError> {
        let mut births = Births::default();
        let mut records = Vec::with_capacity(transaction.changes().len());
        let mut flush = false;
        for change in transaction.changes() {
            flush |= matches!(change, Change::Create { .. } | Change::Seal { .. });
            match self.record(change, &mut births) {
                Ok(record) => records.push(record),
                Err(error) => {
                    self.unmake(births);
                    return Err(error);
                }
            }
        }
        let committed = self.commit_in_order(flush, |_| Ok(records), &births.sealed);
        if committed.is_err() {
            self.unmake(births);
        }
        committed
    }

    /// Applies records that the file system itself makes.
    pub(crate) fn commit_records(
        &self,
        records: Vec<Record>,
        flush: bool,
    ) -> Result<(), StoreError> {
        self.commit_in_order(flush, |_| Ok(records), &[])
    }

    /// Like [`commit_records`](Self::commit_records), with records made from the catalog as it is
    /// when they are staged.
    pub(crate) fn commit_made(
        &self,
        flush: bool,
        make: impl FnOnce(&Catalog) -> Result<Vec<Record>, StoreError>,
    ) -> Result<(), StoreError> {
        self.commit_in_order(flush, make, &[])
    }

    fn commit_in_order(
        &self,
        flush: bool,
        make: impl FnOnce(&Catalog) -> Result<Vec<Record>, StoreError>,
        sealed: &[(Arc<OpenFile>, Vec<Extent>)],
    ) -> Result<(), StoreError> {
        let mut moved = Vec::new();
        let mut turn = None;
        let result = self.journal.commit_with(flush, |catalog| {
            self.note_size(catalog);
            let records = make(catalog)?;
            for record in &records {
                if let Record::Move { new, .. } = record {
                    moved.extend_from_slice(new);
                }
            }
            let mut turns = self.turns.lock();
            turn = Some(turns.given);
            turns.given += 1;
            Ok(records)
        });
        let Some(turn) = turn else { return result.map(drop) };
        let mut turns = self.turns.lock();
        self.turned.wait_while(&mut turns, |turns| turns.done != turn);
        drop(turns);
        if let Ok(effects) = &result {
            self.space.turn(&moved, Share::Unsealed, Share::Live);
            self.carry_out(effects, sealed);
        }
        self.turns.lock().done += 1;
        self.turned.notify_all();
        result.map(drop)
    }

    /// Keeps as many zones for the journal as a snapshot of the catalog may take.
    pub(crate) fn note_size(&self, catalog: &Catalog) {
        let files = catalog.len() as u64;
        let noted = self.files_noted.load(Ordering::Relaxed);
        if files.abs_diff(noted) >= FILES_NOTED || noted == u64::MAX {
            self.files_noted.store(files, Ordering::Relaxed);
            self.space.set_snapshot(files.saturating_mul(FILE_BYTES));
        }
    }

    /// What a change means for the catalog.
    fn record(&self, change: &Change, births: &mut Births) -> Result<Record, StoreError> {
        Ok(match change {
            Change::Create { id, annotation } => {
                let file = self.being_written(*id)?;
                let annotation = Arc::new(annotation.clone());
                let mut state = file.lock();
                if state.committed {
                    let (expected, got) = ("a file that is not committed", "a committed one");
                    return Err(StoreError::WrongState { id: *id, expected, got });
                }
                state.committed = true;
                let (size, extents) = state.durable_part();
                let (kind, epoch) = (file.kind, state.epoch());
                drop(state);
                births.fresh.push(file);
                Record::Create { id: *id, kind, size, extents, epoch, annotation }
            }
            Change::Seal { id, annotation } => {
                let file = self.being_written(*id)?;
                let annotation = Arc::new(annotation.clone());
                let sealed = births.sealed.iter().any(|(other, _)| other.id == *id);
                let mut state = file.lock();
                if sealed || !state.finished {
                    let (expected, got) = ("a finished file", "one that is being written");
                    return Err(StoreError::WrongState { id: *id, expected, got });
                }
                let fresh = !std::mem::replace(&mut state.committed, true);
                let extents: Vec<Extent> = state.map.extents().collect();
                let (size, kind) = (state.size, file.kind);
                let epoch = if fresh { state.epoch() } else { 0 };
                drop(state);
                if fresh {
                    births.fresh.push(Arc::clone(&file));
                }
                births.sealed.push((file, extents.clone()));
                Record::Seal { id: *id, kind, size, extents, epoch, annotation }
            }
            Change::Trim { id, start, end } => self.trim(*id, *start, *end, births)?,
            Change::Delete { id } => Record::Delete { id: *id },
            Change::Annotate { id, annotation } => {
                Record::Annotate { id: *id, annotation: Arc::new(annotation.clone()) }
            }
            Change::Link { name, id } => Record::Link { name: name.as_str().into(), id: *id },
            Change::Unlink { name } => {
                Record::Unlink { name: name.as_str().into(), id: FileId::STORE }
            }
            Change::Rename { from, to } => Record::Rename {
                from: from.as_str().into(),
                to: to.as_str().into(),
                id: FileId::STORE,
                replaced: None,
            },
        })
    }

    fn being_written(&self, id: FileId) -> Result<Arc<OpenFile>, StoreError> {
        if let Some(file) = self.unsealed(id) {
            return Ok(file);
        }
        self.journal.read(|catalog| catalog.file(id).map(drop))?;
        let (expected, got) = ("an unsealed file", "a sealed one");
        Err(StoreError::WrongState { id, expected, got })
    }

    /// The whole blocks inside a range of bytes; the last block counts as whole if the range
    /// reaches the file's end.
    fn trim(
        &self,
        id: FileId,
        start: u64,
        end: u64,
        births: &Births,
    ) -> Result<Record, StoreError> {
        let born = births.sealed.iter().find(|(file, _)| file.id == id);
        let (kind, size) = match born {
            Some((file, _)) => (file.kind, file.lock().size),
            None => self.journal.read(|catalog| {
                let file = catalog.file(id)?;
                if !file.sealed {
                    let (expected, got) = ("a sealed file", "an unsealed one");
                    return Err(StoreError::WrongState { id, expected, got });
                }
                Ok((file.kind, file.size))
            })?,
        };
        if start > end || end > size {
            let valid = format!("{size} bytes");
            return Err(StoreError::OutOfRange { id, start, end, valid });
        }
        if kind == FileKind::Log {
            // Its bytes lie in frames, of which none may be missing: they go with the whole log.
            return Ok(Record::Trim { id, from: 0, to: 0 });
        }
        let from = start.div_ceil(BLOCK as u64) as u32;
        let to = if end == size { size.div_ceil(BLOCK as u64) } else { end / BLOCK as u64 } as u32;
        // Also without a whole block: the file must be there when its turn comes.
        Ok(Record::Trim { id, from, to: to.max(from) })
    }

    /// Forgets what a transaction that failed was going to do.
    fn unmake(&self, births: Births) {
        for file in births.fresh {
            let mut state = file.lock();
            state.committed = false;
            let orphaned = !state.has_writer;
            drop(state);
            if orphaned {
                self.files.lock().unsealed.remove(&file.id);
                abandon(&file);
            }
        }
    }

    /// Carries out what a durable transaction gives back.
    fn carry_out(&self, effects: &Effects, sealed: &[(Arc<OpenFile>, Vec<Extent>)]) {
        for (file, extents) in sealed {
            self.space.turn(extents, Share::Unsealed, Share::Live);
            self.seal(file);
        }
        for freed in &effects.freed {
            let final_extents = sealed.iter().find(|(file, _)| file.id == freed.file);
            let deleted = effects.deleted.iter().any(|(id, _)| *id == freed.file);
            self.give_back(freed, final_extents.map(|(_, extents)| extents.as_slice()), deleted);
        }
        for (id, _) in &effects.deleted {
            let mut files = self.files.lock();
            let unsealed = files.unsealed.remove(id);
            let open = unsealed.clone().or_else(|| files.sealed.get(id)?.upgrade());
            drop(files);
            let Some(file) = open else { continue };
            let mut state = file.lock();
            (state.deleted, state.committed) = (true, false);
            let orphaned = unsealed.is_some() && !state.has_writer;
            drop(state);
            if orphaned {
                abandon(&file);
            }
        }
    }

    /// Makes an open file a sealed one.
    fn seal(&self, file: &Arc<OpenFile>) {
        let mut files = self.files.lock();
        files.unsealed.remove(&file.id);
        files.sealed.insert(file.id, Arc::downgrade(file));
        let map = self.journal.read(|c| c.get(file.id).map(|record| Arc::clone(&record.extents)));
        let mut state = file.lock();
        state.sealed = true;
        state.lease = None;
        if let Some(map) = map {
            state.map = map;
        }
        if let Body::Growing(_) = state.body {
            state.body = Body::Sealed;
        }
    }

    /// Frees blocks, once nobody reads them any more.
    fn give_back(&self, freed: &Freed, sealed_now: Option<&[Extent]>, deleted: bool) {
        let mut files = self.files.lock();
        let unsealed = files.unsealed.get(&freed.file).cloned();
        if let Some(file) = &unsealed
            && (file.kind == FileKind::Log || deleted)
        {
            // What it takes is known to the open file, and freed with it; the catalog may have
            // blocks beside that the writer has replaced. A log's are leases, not blocks.
            if deleted && file.kind != FileKind::Log {
                let state = file.lock();
                let (pin, replaced) = (Arc::clone(&state.pin), freed.map.difference(&state.map));
                drop(state);
                drop(files);
                pin.condemn(&replaced, Share::Unsealed);
            }
            return;
        }
        let open = unsealed.clone().or_else(|| files.sealed.get(&freed.file)?.upgrade());
        let share = |extent: &Extent| {
            let live = match sealed_now {
                Some(extents) => extents.iter().any(|whole| holds(whole, extent)),
                None => unsealed.is_none(),
            };
            if live { Share::Live } else { Share::Unsealed }
        };
        let Some(file) = open.filter(|_| !canary::is_broken(Rule::NoResetUnderReader)) else {
            files.sealed.remove(&freed.file);
            drop(files);
            for extent in &freed.extents {
                self.space.free(std::slice::from_ref(extent), share(extent));
            }
            return;
        };
        let map = self.journal.read(|c| c.get(freed.file).map(|file| Arc::clone(&file.extents)));
        let before = match map {
            Some(map) if unsealed.is_none() && map.blocks() < freed.map.blocks() => {
                let heir = succeed(&file, map);
                files.sealed.insert(freed.file, Arc::downgrade(&heir));
                Arc::clone(&file.lock().pin)
            }
            Some(map) => {
                let mut state = file.lock();
                if unsealed.is_none() {
                    state.map = map;
                }
                let next = state.pin.succeed();
                std::mem::replace(&mut state.pin, next)
            }
            None => Arc::clone(&file.lock().pin),
        };
        drop(files);
        for extent in &freed.extents {
            before.condemn(std::slice::from_ref(extent), share(extent));
        }
    }
}

/// Whether a piece of an extent lies in it.
fn holds(whole: &Extent, piece: &Extent) -> bool {
    whole.zone == piece.zone && whole.start <= piece.start && piece.end() <= whole.end()
}

/// Gives a file that was trimmed a new state for those who open it from now on: who has it open
/// goes on reading what was trimmed. What is freed later waits for both.
fn succeed(file: &OpenFile, map: Arc<ExtentMap>) -> Arc<OpenFile> {
    let mut state = file.lock();
    let quiet = FileState::quiet(state.size, map, state.pin.succeed(), Body::Sealed);
    let heir = Arc::new(OpenFile::new(file.id, file.kind, FileState { sealed: true, ..quiet }));
    state.heir = Some(Arc::clone(&heir));
    heir
}

/// Frees all blocks of a file that was never sealed, once nobody reads it.
fn abandon(file: &OpenFile) {
    let state = file.lock();
    let extents: Vec<Extent> = state.map.extents().collect();
    let pin = Arc::clone(&state.pin);
    drop(state);
    pin.condemn(&extents, Share::Unsealed);
}

/// The shared device, as others take it.
pub(crate) fn as_device(medium: &Arc<Medium>) -> Arc<dyn Device> {
    Arc::clone(medium) as Arc<dyn Device>
}
