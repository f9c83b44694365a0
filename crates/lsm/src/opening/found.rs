//! [`Found`]: the state of an engine, read from the annotations of a store's files.
//!
//! 1. If a store without the engine's record holds a file with a name, it is refused: it belongs to
//!    another program, which the engine's record would lock out.
//! 2. If the store was last open under another system (a named set of policies), the tree is taken
//!    as it is, and the stored state of the old compaction policy is dropped. If only parameters of
//!    the system differ, the state is kept.
//! 3. Options that shape tables have the values that the store remembers. If the store remembers
//!    none, and the opening states one, it is remembered from then on. An opening for writing fails
//!    if it states a value other than the remembered one.
//!
//! The next sequence is after those of all entries, and not before the id of any run of level 0: a
//! later flush is newer than all of them.
//!
//! Tables on a lost device are left out of the tree ([`LostRange`]). A damaged annotation is an
//! error. Tables are not read, so a damaged one is found later. Nothing is written, except by
//! [`delete_lost`].
//!
//! One thread opens.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::store::{Annotation, FileInfo, FileKind, Store, StoreError, Transaction};
use terrace_env::{ByteCount, FileId, SeqNo, Uuid};
use terrace_policy::Place;

use crate::Error;
use crate::canary::{self, Rule};
use crate::memory::Memory;
use crate::options::EngineOptions;
use crate::tree::{
    LogRecord, LostRange, Segment, SpaceList, SpacePage, StoreRecord, TableHandle, TableRecord,
    Version,
};

/// State found in the store.
pub(super) struct Found {
    pub(super) record: StoreRecord,
    /// Whether the record differs from the one in the store.
    pub(super) changed: bool,
    pub(super) spaces: SpaceList,
    pub(super) version: Version,
    /// Oldest first.
    pub(super) logs: Vec<(LogRecord, FileInfo)>,
    pub(super) lost: Vec<LostRange>,
    /// The sequence after all sequences of tables, and not before the ids of runs in level 0.
    pub(super) next: SeqNo,
}

impl Found {
    /// Reads the annotations of a store's files, for an opening with these options.
    pub(super) fn in_store(
        store: &dyn Store,
        memory: &Arc<Memory>,
        (record, is_new): (StoreRecord, bool),
        changed: bool,
        options: &EngineOptions,
    ) -> Result<Self, Error> {
        let mut found = find(store, memory, record, is_new)?;
        found.changed = changed;
        found.adopt(&options.system);
        Ok(found)
    }

    /// Adapts the record to this system. A change of the system's name drops the decider's state; a
    /// change of parameters keeps it. A decider takes any bytes for state, and its plans are
    /// checked: at worst a plan follows from pointers or windows of other parameters.
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

/// System of the last opening of the store, as [`EngineOptions::system`], if the store holds an
/// engine's data.
pub fn remembered_system(store: &dyn Store) -> Result<Option<String>, Error> {
    let (record, is_new) = own_record(store)?;
    Ok((!is_new).then_some(record.decider))
}

/// The store's own annotation for an empty store that a checkpoint is about to fill. A store that
/// has it from its first durable write on is never taken for an empty one.
#[must_use]
pub fn mark_of_unfinished_copy() -> Annotation {
    StoreRecord::new().marked().annotation()
}

/// Whether the store is the target of a checkpoint that was interrupted or is in progress. Its
/// opening is [`Error::UnfinishedCopy`].
#[must_use]
pub fn is_unfinished_copy(store: &dyn Store) -> bool {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation).unwrap_or_default();
    StoreRecord::decode_target(&annotation.opaque).is_ok_and(|record| record.is_marked())
}

/// The store of which this one is a backup that was never opened for writing.
#[must_use]
pub fn backup_of(store: &dyn Store) -> Option<Uuid> {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation).unwrap_or_default();
    let record = StoreRecord::decode(&annotation.opaque).ok()?;
    record.backup.map(|backup| backup.source)
}

/// Makes a backup an ordinary store, before an opening for writing changes anything in it: its
/// tables are no longer those of its source. Options of the opening are not recorded here.
pub(super) fn forget_source(store: &dyn Store, record: &mut StoreRecord) -> Result<(), Error> {
    if canary::is_broken(Rule::SourceForgotten) || record.backup.take().is_none() {
        return Ok(());
    }
    let (stored, _) = own_record(store)?;
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, StoreRecord { backup: None, ..stored }.annotation());
    Ok(store.commit(transaction)?)
}

/// The store's own annotation, and whether the store has none yet.
pub(super) fn own_record(store: &dyn Store) -> Result<(StoreRecord, bool), Error> {
    let annotation = store.info(FileId::STORE).map(|info| info.annotation);
    match annotation.filter(|annotation| !annotation.opaque.is_empty()) {
        Some(annotation) => Ok((StoreRecord::decode(&annotation.opaque)?, false)),
        None => Ok((StoreRecord::new(), true)),
    }
}

/// Remembers the options that shape tables, as the opening states them; returns whether any is new.
/// A read-only opening shapes no table.
pub(super) fn remember_tables(
    record: &mut StoreRecord,
    options: &EngineOptions,
) -> Result<bool, Error> {
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
                next = next.max(next_after(&table));
                if store.is_lost(id) {
                    lost.extend(LostRange::of(id, &table));
                    continue;
                }
                let placed = table.segments.clone();
                let stream = file.annotation.hint.stream;
                let handle = TableHandle::new(store, id, table, stream, memory)?;
                segments.extend(placed.into_iter().map(|one| {
                    // A segment is not larger than its file.
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

/// The least sequence that may follow a table: after its entries, and not before the ids of its
/// runs in level 0. The id of a flush's run is the sequence after its last entry, and must be
/// greater than the ids of older runs. The entries alone do not show these ids: a merge drops
/// deletes, and other tables of the run stay.
fn next_after(table: &TableRecord) -> SeqNo {
    let flushed = table.segments.iter().filter(|segment| segment.place.level == 0);
    let run = flushed.map(|segment| segment.place.run.0).max().unwrap_or_default();
    SeqNo(run.min(SeqNo::MAX.0).max(table.last_sequence.0 + 1))
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
pub(super) fn delete_lost(store: &dyn Store, lost: &[LostRange]) -> Result<(), Error> {
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
