//! [`Staging`]: applies the records of a transaction to a catalog, and can take them back together.
//!
//! Records are applied in order, and each sees the changes of those before it. Each change saves
//! the parts that it replaces. After an error, the caller has `revert` put the saved parts back,
//! the last one first. Blocks and files that the records give up are collected as [`Effects`].
//!
//! While a snapshot is being replayed, some files are still to come. Changes to those are left out.
//! The counters of ids and epochs, and the mark of a closed store, are kept up to date all the
//! same.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::{Annotation, FileKind, StoreError};

use super::name::NAME_MAX;
use super::{
    Catalog, Deleted, Effects, Extent, ExtentMap, FileRecord, Freed, LogMark, LogRun, Record,
};
use crate::BLOCK;
use crate::growing::{EPOCH_END, FILE_ID_END};

/// The sequence of a log's first frame.
pub(crate) const FIRST_SEQUENCE: u64 = 1;

enum Undo {
    File(FileId, Option<FileRecord>),
    Name(Arc<str>, Option<FileId>),
    Store(Arc<Annotation>),
    Counters(FileId, u32, bool),
}

/// A transaction on its way into a catalog.
pub(super) struct Staging<'a> {
    catalog: &'a mut Catalog,
    undo: Vec<Undo>,
    effects: Effects,
}

fn wrong(id: FileId, expected: &'static str, got: &'static str) -> StoreError {
    StoreError::WrongState { id, expected, got }
}

fn impossible_map(id: FileId) -> StoreError {
    wrong(id, "extents that form a file", "an empty extent or more than 2^32 blocks")
}

impl<'a> Staging<'a> {
    pub(super) fn new(catalog: &'a mut Catalog) -> Self {
        let counters = Undo::Counters(catalog.next_file, catalog.next_epoch, catalog.closed);
        Self { catalog, undo: vec![counters], effects: Effects::default() }
    }

    pub(super) fn into_effects(self) -> Effects {
        debug_assert!(
            self.effects.deleted.iter().all(|gone| self.catalog.get(gone.file).is_none()),
            "a deleted file has no record"
        );
        self.effects
    }

    pub(super) fn revert(mut self) {
        while let Some(undo) = self.undo.pop() {
            let catalog = &mut *self.catalog;
            match undo {
                Undo::File(id, record) => drop(catalog.put(id, record)),
                Undo::Name(name, Some(id)) => drop(catalog.names.insert(name, id)),
                Undo::Name(name, None) => drop(catalog.names.remove(&name)),
                Undo::Store(annotation) => catalog.store = annotation,
                Undo::Counters(file, epoch, closed) => {
                    (catalog.next_file, catalog.next_epoch) = (file, epoch);
                    catalog.closed = closed;
                }
            }
        }
    }

    pub(super) fn apply(&mut self, record: &mut Record) -> Result<(), StoreError> {
        self.resolve(record)?;
        self.catalog.closed = matches!(record, Record::Close);
        match record {
            Record::Close => return Ok(()),
            Record::Rename { from, to, id, replaced } => {
                return self.rename(from, to, *id, *replaced);
            }
            Record::Mount { epoch, next_file } => {
                if *epoch >= EPOCH_END || next_file.0 >= FILE_ID_END {
                    return Err(wrong(*next_file, "an epoch and ids that can grow", "their end"));
                }
                self.catalog.next_epoch = self.catalog.next_epoch.max(*epoch + 1);
                self.catalog.next_file = self.catalog.next_file.max(*next_file);
                return Ok(());
            }
            _ => {}
        }
        let id = record.file().unwrap_or(FileId::STORE);
        if id.0 >= FILE_ID_END {
            return Err(wrong(id, "a file id below 2^62", "a larger one"));
        }
        self.catalog.next_file = self.catalog.next_file.max(FileId(id.0 + 1));
        if !self.catalog.covers(id) {
            return Ok(());
        }
        match record {
            Record::Create { kind, size, extents, epoch, annotation, .. } => {
                self.create(id, *kind, false, *size, extents, *epoch, annotation)
            }
            Record::Seal { kind, size, extents, epoch, annotation, .. } => {
                if self.catalog.get(id).is_some() {
                    self.seal(id, *kind, *size, extents, annotation)
                } else {
                    self.create(id, *kind, true, *size, extents, *epoch, annotation)
                }
            }
            Record::Trim { from, to, .. } => self.trim(id, *from, *to),
            Record::Delete { .. } => self.delete(id),
            Record::Annotate { annotation, .. } => self.annotate(id, annotation),
            Record::Link { name, .. } => self.link(name, id),
            Record::Unlink { name, .. } => self.unlink(name, id),
            Record::Extend { end, extent, .. } => self.extend(id, *end, *extent),
            Record::Resize { size, from, extents, .. } => self.resize(id, *size, *from, extents),
            Record::LogEnd { end, size, sequence, epoch, .. } => {
                let run = LogRun { block: *end, epoch: *epoch, sequence: *sequence, offset: *size };
                self.log_end(id, run)
            }
            Record::Move { at, old, new, .. } => self.repoint(id, *at, old, new),
            Record::LogDurable { end, size, sequence, .. } => {
                let mark = LogMark { block: *end, sequence: *sequence, size: *size };
                self.log_durable(id, mark)
            }
            Record::Mount { .. } | Record::Rename { .. } | Record::Close => {
                unreachable!("applied above")
            }
        }
    }

    /// Fills in the ids that a record with a name leaves open.
    fn resolve(&self, record: &mut Record) -> Result<(), StoreError> {
        let holder = |name: &Arc<str>| {
            self.catalog.lookup(name).ok_or_else(|| StoreError::NameNotFound(name.to_string()))
        };
        match record {
            Record::Unlink { name, id } if *id == FileId::STORE => *id = holder(name)?,
            Record::Rename { from, to, id, replaced } if *id == FileId::STORE => {
                *id = holder(from)?;
                *replaced = self.catalog.lookup(to).filter(|other| other != id);
            }
            _ => {}
        }
        Ok(())
    }

    fn file(&self, id: FileId) -> Result<&FileRecord, StoreError> {
        self.catalog.file(id)
    }

    /// An unsealed file of this kind.
    fn unsealed(&self, id: FileId, kind: FileKind) -> Result<&FileRecord, StoreError> {
        let file = self.file(id)?;
        if file.sealed {
            return Err(wrong(id, "an unsealed file", "a sealed one"));
        }
        if file.kind != kind {
            return Err(wrong(id, "the kind it was created with", "another kind"));
        }
        Ok(file)
    }

    fn put(&mut self, id: FileId, record: Option<FileRecord>) {
        debug_assert!(id != FileId::STORE && id < self.catalog.next_file, "file {id}");
        debug_assert!(
            record.as_ref().is_none_or(|file| file.names.is_sorted() && file.is_sound()),
            "file {id}: {record:?}"
        );
        let before = self.catalog.put(id, record);
        self.undo.push(Undo::File(id, before));
    }

    fn put_name(&mut self, name: &Arc<str>, id: Option<FileId>) {
        let before = match id {
            Some(id) => self.catalog.names.insert(Arc::clone(name), id),
            None => self.catalog.names.remove(name),
        };
        self.undo.push(Undo::Name(Arc::clone(name), before));
    }

    fn free(&mut self, file: FileId, map: &Arc<ExtentMap>, extents: Vec<Extent>) {
        debug_assert!(
            extents.iter().all(|gone| map.extents().any(|whole| whole.contains(gone))),
            "file {file} gives up blocks that are not its own"
        );
        if !extents.is_empty() {
            self.effects.freed.push(Freed { file, map: Arc::clone(map), extents });
        }
    }

    fn unlease(&mut self, file: FileId, map: &Arc<ExtentMap>, extents: Vec<Extent>) {
        if !extents.is_empty() {
            self.effects.unleased.push(Freed { file, map: Arc::clone(map), extents });
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    fn create(
        &mut self,
        id: FileId,
        kind: FileKind,
        sealed: bool,
        size: u64,
        extents: &[Extent],
        epoch: u32,
        annotation: &Arc<Annotation>,
    ) -> Result<(), StoreError> {
        if self.effects.deleted.iter().any(|gone| gone.file == id) {
            return Err(StoreError::NotFound(id));
        }
        if id == FileId::STORE || self.catalog.get(id).is_some() {
            return Err(wrong(id, "an id that was never used", "an existing file"));
        }
        let extents = ExtentMap::consecutive(0, extents).ok_or_else(|| impossible_map(id))?;
        check_size(id, kind, size, &extents)?;
        let runs: Arc<[LogRun]> = match kind {
            FileKind::Log => {
                [LogRun { block: 0, epoch, sequence: FIRST_SEQUENCE, offset: 0 }].into()
            }
            FileKind::Table | FileKind::Client => [].into(),
        };
        let (extents, annotation) = (Arc::new(extents), Arc::clone(annotation));
        let (durable, names) = (None, Vec::new());
        let record = FileRecord { kind, sealed, size, extents, runs, durable, annotation, names };
        self.put(id, Some(record));
        Ok(())
    }

    fn seal(
        &mut self,
        id: FileId,
        kind: FileKind,
        size: u64,
        extents: &[Extent],
        annotation: &Arc<Annotation>,
    ) -> Result<(), StoreError> {
        let mut file = self.unsealed(id, kind)?.clone();
        let extents = ExtentMap::consecutive(0, extents).ok_or_else(|| impossible_map(id))?;
        check_size(id, kind, size, &extents)?;
        let gone = file.extents.difference(&extents);
        let before = std::mem::replace(&mut file.extents, Arc::new(extents));
        if kind == FileKind::Log {
            self.unlease(id, &before, gone);
        } else {
            self.free(id, &before, gone);
        }
        (file.sealed, file.size, file.durable) = (true, size, None);
        file.annotation = Arc::clone(annotation);
        self.put(id, Some(file));
        Ok(())
    }

    fn trim(&mut self, id: FileId, from: u32, to: u32) -> Result<(), StoreError> {
        let file = self.file(id)?;
        if !file.sealed {
            return Err(wrong(id, "a sealed file", "an unsealed one"));
        }
        let (left, freed) = file.extents.without(from, to);
        self.remap(id, left, freed)
    }

    /// Gives a file another map and frees the blocks that it no longer names.
    fn remap(&mut self, id: FileId, map: ExtentMap, freed: Vec<Extent>) -> Result<(), StoreError> {
        let mut file = self.file(id)?.clone();
        let before = std::mem::replace(&mut file.extents, Arc::new(map));
        self.free(id, &before, freed);
        self.put(id, Some(file));
        Ok(())
    }

    fn delete(&mut self, id: FileId) -> Result<(), StoreError> {
        let file = self.file(id)?.clone();
        for name in &file.names {
            self.put_name(name, None);
        }
        self.free(id, &file.extents, file.extents.extents().collect());
        let level = file.annotation.hint.level;
        let map = Arc::clone(&file.extents);
        self.effects.deleted.push(Deleted { file: id, kind: file.kind, level, map });
        self.put(id, None);
        Ok(())
    }

    fn annotate(&mut self, id: FileId, annotation: &Arc<Annotation>) -> Result<(), StoreError> {
        if id == FileId::STORE {
            let before = std::mem::replace(&mut self.catalog.store, Arc::clone(annotation));
            self.undo.push(Undo::Store(before));
            return Ok(());
        }
        let mut file = self.file(id)?.clone();
        file.annotation = Arc::clone(annotation);
        self.put(id, Some(file));
        Ok(())
    }

    fn link(&mut self, name: &Arc<str>, id: FileId) -> Result<(), StoreError> {
        if name.is_empty() || name.len() > NAME_MAX {
            let got = name.len();
            return Err(StoreError::Invalid(format!(
                "name: expected 1 to {NAME_MAX} bytes, found {got}"
            )));
        }
        if self.catalog.names.contains_key(name) {
            return Err(StoreError::NameTaken(name.to_string()));
        }
        let mut file = self.file(id)?.clone();
        let place = file.names.partition_point(|other| other < name);
        file.names.insert(place, Arc::clone(name));
        debug_assert!(file.names.is_sorted(), "names of file {id}");
        self.put_name(name, Some(id));
        self.put(id, Some(file));
        Ok(())
    }

    /// Takes a name from the file that has it.
    fn strip(&mut self, name: &Arc<str>, id: FileId) -> Result<(), StoreError> {
        if self.catalog.lookup(name) != Some(id) {
            return Err(wrong(id, "a file that has the name", "one that does not"));
        }
        let mut file = self.file(id)?.clone();
        debug_assert!(file.names.contains(name), "a name belongs to a file that lists it");
        file.names.retain(|other| other != name);
        self.put_name(name, None);
        self.put(id, Some(file));
        Ok(())
    }

    fn unlink(&mut self, name: &Arc<str>, id: FileId) -> Result<(), StoreError> {
        self.strip(name, id)?;
        if self.file(id)?.names.is_empty() { self.delete(id) } else { Ok(()) }
    }

    fn rename(
        &mut self,
        from: &Arc<str>,
        to: &Arc<str>,
        id: FileId,
        replaced: Option<FileId>,
    ) -> Result<(), StoreError> {
        if let Some(other) = replaced.filter(|other| self.catalog.covers(*other)) {
            self.unlink(to, other)?;
        }
        if from == to || !self.catalog.covers(id) {
            return Ok(());
        }
        self.strip(from, id)?;
        if self.catalog.lookup(to) == Some(id) {
            return Ok(());
        }
        self.link(to, id)
    }

    fn extend(&mut self, id: FileId, end: u32, extent: Extent) -> Result<(), StoreError> {
        let mut file = self.unsealed(id, FileKind::Log)?.clone();
        let (kept, cut) = file.extents.without(end, u32::MAX);
        let is_whole = kept.end() == end && file.durable.is_none_or(|mark| mark.block <= end);
        let longer = kept.extended(&[extent]).filter(|_| is_whole);
        let Some(longer) = longer else {
            return Err(wrong(id, "a log that reaches the new lease", "a shorter one"));
        };
        debug_assert!(longer.end() >= end, "a lease lies after the log's end");
        let before = std::mem::replace(&mut file.extents, Arc::new(longer));
        self.unlease(id, &before, cut);
        self.put(id, Some(file));
        Ok(())
    }

    fn resize(
        &mut self,
        id: FileId,
        size: u64,
        from: u32,
        extents: &[Extent],
    ) -> Result<(), StoreError> {
        let mut file = self.unsealed(id, FileKind::Client)?.clone();
        let (kept, freed) = file.extents.without(from, u32::MAX);
        let longer = kept.extended(extents).filter(|_| kept.end() == from);
        let Some(longer) = longer else {
            return Err(wrong(id, "a file that reaches its new part", "a shorter one"));
        };
        check_size(id, FileKind::Client, size, &longer)?;
        file.size = size;
        let before = std::mem::replace(&mut file.extents, Arc::new(longer));
        self.free(id, &before, freed);
        self.put(id, Some(file));
        Ok(())
    }

    fn log_end(&mut self, id: FileId, run: LogRun) -> Result<(), StoreError> {
        let mut file = self.unsealed(id, FileKind::Log)?.clone();
        let (kept, cut) = file.extents.without(run.block, u32::MAX);
        let last = file.runs.last().copied();
        let goes_on = last.is_none_or(|last| {
            run.block >= last.block && run.sequence >= last.sequence && run.offset >= last.offset
        });
        let goes_on = goes_on && file.durable.is_none_or(|mark| run.block >= mark.block);
        if kept.end() != run.block || !goes_on || !fits(run.offset, run.block) {
            return Err(wrong(id, "a log that reaches its end", "a shorter one"));
        }
        let older = file.runs.iter().filter(|other| other.block < run.block);
        file.runs = older.copied().chain([run]).collect();
        (file.size, file.durable) = (run.offset, None);
        let before = std::mem::replace(&mut file.extents, Arc::new(kept));
        self.unlease(id, &before, cut);
        self.put(id, Some(file));
        Ok(())
    }

    fn log_durable(&mut self, id: FileId, mark: LogMark) -> Result<(), StoreError> {
        let mut file = self.unsealed(id, FileKind::Log)?.clone();
        let known = file.durable.or_else(|| {
            let run = file.runs.last()?;
            Some(LogMark { block: run.block, sequence: run.sequence, size: run.offset })
        });
        let goes_on = known.is_none_or(|known| {
            mark.block >= known.block && mark.sequence >= known.sequence && mark.size >= known.size
        });
        let goes_on = goes_on && fits(mark.size, mark.block);
        if mark.block > file.extents.end() || !goes_on {
            return Err(wrong(id, "a log that reaches where it is durable", "a shorter one"));
        }
        file.durable = Some(mark);
        self.put(id, Some(file));
        Ok(())
    }

    fn repoint(
        &mut self,
        id: FileId,
        at: u32,
        old: &Extent,
        new: &[Extent],
    ) -> Result<(), StoreError> {
        let file = self.file(id)?;
        if file.is_leased() {
            return Err(wrong(id, "a file whose extents are final", "an unsealed log"));
        }
        let Some(map) = file.extents.repointed(at, old, new) else {
            return Err(wrong(id, "the extent that was copied", "another extent, or none"));
        };
        self.remap(id, map, vec![*old])
    }
}

/// Whether frames of this many blocks can hold as many bytes of payload.
fn fits(size: u64, blocks: u32) -> bool {
    size <= u64::from(blocks) * BLOCK as u64
}

/// The bytes of a file must lie in its blocks. A log's size counts payload, so it is smaller.
fn check_size(
    id: FileId,
    kind: FileKind,
    size: u64,
    extents: &ExtentMap,
) -> Result<(), StoreError> {
    let room = u64::from(extents.end()) * BLOCK as u64;
    if size <= room && (kind == FileKind::Log || room - size < BLOCK as u64) {
        return Ok(());
    }
    Err(wrong(id, "a size that fills its blocks", "more bytes or an unused block"))
}
