//! Commits of transactions, of clients and of the file system itself: turns changes into records,
//! and has the journal make them durable.
//!
//! The effects of transactions are carried out in the order in which the journal staged them. If a
//! transaction fails, a file that it was to commit for the first time is uncommitted again; if that
//! file has no writer any more, it is removed. If a commit finds the journal stopped, it stops the
//! pools before any block is freed.
//!
//! A client's commit asks for a flush if it creates or seals a file. The file system's own commits
//! say whether they need one. A file must be finished before the transaction that seals it. A file
//! that another transaction deletes before that one is staged is not found.
//!
//! # Threads
//! A commit waits for the journal and for its turn, so the caller must hold no lock.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::{Change, FileKind, StoreError, Transaction};
use terrace_env::wait::WaitCause;

use super::Volume;
use super::close::fresh;
use crate::BLOCK;
use crate::catalog::{Catalog, Extent, Record};
use crate::file::OpenFile;
use crate::space::Share;

/// Files that a transaction seals or creates.
#[derive(Default)]
struct Births {
    sealed: Vec<(Arc<OpenFile>, Vec<Extent>)>,
    /// Files that this transaction commits for the first time.
    fresh: Vec<Arc<OpenFile>>,
}

impl Births {
    /// Sealed files that an earlier transaction has committed.
    fn known(&self) -> impl Iterator<Item = FileId> {
        let sealed = self.sealed.iter().map(|(file, _)| file.id);
        sealed.filter(|id| self.fresh.iter().all(|file| file.id != *id))
    }
}

impl Volume {
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
        // A file of the catalog may have been deleted since its record was made. Without this look,
        // its seal would create it anew, without a name.
        let known: Vec<FileId> = births.known().collect();
        let make = |catalog: &Catalog| {
            known.iter().try_for_each(|id| catalog.file(*id).map(drop))?;
            Ok(records)
        };
        let committed = self.commit_in_order(flush, make, &births.sealed);
        match committed {
            Ok(()) => self.relevel(transaction),
            Err(_) => self.unmake(births),
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

    /// Like [`commit_records`](Self::commit_records), with records made from the catalog at the
    /// moment of their staging.
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
        self.note_size();
        let marks = self.marks();
        let mut moved = Vec::new();
        let mut place = None;
        let result = self.journal.commit_with(flush, |catalog| {
            let made = make(catalog)?;
            let mut records = fresh(catalog, &marks);
            records.extend(made);
            for record in &records {
                if let Record::Move { new, .. } = record {
                    moved.extend_from_slice(new);
                }
            }
            place = Some(self.effects.take_place());
            Ok(records)
        });
        if let Err(error @ StoreError::Stopped(_)) = &result {
            // Before any block that this transaction names is freed.
            self.pools.stop(error);
        }
        let Some(place) = place else { return result.map(drop) };
        self.media.tables().waits.during(WaitCause::Journal, || place.await_turn());
        if let Ok(effects) = &result {
            self.pools.turn(&moved, Share::Unsealed, Share::Live);
            self.carry_out(effects, sealed);
        }
        drop(place);
        result.map(drop)
    }

    /// The catalog's record of a change.
    fn record(&self, change: &Change, births: &mut Births) -> Result<Record, StoreError> {
        Ok(match change {
            Change::Create { id, annotation } => {
                let file = self.being_written(*id)?;
                let annotation = Arc::new(annotation.clone());
                let mut state = file.lock();
                if state.deleted {
                    return Err(StoreError::NotFound(*id));
                }
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
                if state.deleted {
                    return Err(StoreError::NotFound(*id));
                }
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
            // Its bytes lie in frames, of which none may be missing: they are freed with the whole
            // log.
            return Ok(Record::Trim { id, from: 0, to: 0 });
        }
        let from = start.div_ceil(BLOCK as u64) as u32;
        let to = if end == size { size.div_ceil(BLOCK as u64) } else { end / BLOCK as u64 } as u32;
        // Even without a whole block there is a record: staging checks that the file exists.
        Ok(Record::Trim { id, from, to: to.max(from) })
    }

    /// Tells the cache which files have come to another level.
    fn relevel(&self, transaction: &Transaction) {
        for change in transaction.changes() {
            if let Change::Annotate { id, annotation } | Change::Seal { id, annotation } = change {
                self.cache.relevel(*id, annotation.hint.level);
            }
        }
    }

    /// Takes back the changes of a failed transaction to open files.
    fn unmake(&self, births: Births) {
        for file in births.fresh {
            let mut state = file.lock();
            state.committed = false;
            let orphaned = !state.has_writer;
            drop(state);
            if orphaned {
                self.files.lock().unsealed.remove(&file.id);
                self.abandon(&file);
            }
        }
    }
}
