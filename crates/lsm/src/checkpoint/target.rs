//! [`Earlier`]: the target of a checkpoint before it is filled: an empty store, or an earlier
//! backup of the same source.
//!
//! Every other store is refused. Nothing is written here, and no file is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::store::{Annotation, FileInfo, FileKind, Store};
use terrace_env::{FileId, SeqNo, Uuid};

use crate::Error;
use crate::tree::{BackupRecord, Origin, StoreRecord, TableRecord};

/// Contents of a target.
pub(super) struct Earlier {
    /// The store's own annotation.
    pub(super) own: Arc<Annotation>,
    pub(super) state: State,
    /// Tables and logs that are deleted, unless they are kept: of an empty store its empty logs.
    pub(super) files: BTreeSet<FileId>,
    /// Tables of an earlier backup, by the file of the source.
    pub(super) tables: BTreeMap<FileId, EarlierTable>,
    /// Sequence of the newest write in an earlier backup.
    pub(super) sequence: SeqNo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// An unfinished copy.
    Marked,
    /// A backup of the source.
    Backup,
}

/// A table of an earlier backup.
pub(super) struct EarlierTable {
    pub(super) origin: Origin,
    pub(super) annotation: Arc<Annotation>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Start of its first segment.
    pub(super) first: Vec<u8>,
}

impl Earlier {
    /// State of a target. It must be empty, or, if the checkpoint is a backup of the store
    /// `source`, an earlier backup of that.
    pub(super) fn of(target: &dyn Store, source: Option<Uuid>) -> Result<Self, Error> {
        let files = target.list();
        let own = target.info(FileId::STORE).map(|info| info.annotation).unwrap_or_default();
        let record = match own.opaque.is_empty() {
            true => None,
            false => Some(StoreRecord::decode_target(&own.opaque)?),
        };
        let backup = record.as_ref().and_then(|record| record.backup.as_ref());
        if let Some(expected) = source
            && let Some(backup) = backup
        {
            if backup.source != expected {
                let (found, files) = (Some(backup.source), files.len());
                return Err(Error::NotABackup { expected, found, files });
            }
            let tables = tables_of(target, &files, backup)?;
            let sequence = backup.sequence;
            let files = files.iter().filter(|file| file.kind != FileKind::Client);
            let files = files.map(|file| file.id).collect();
            return Ok(Self { own, state: State::Backup, files, tables, sequence });
        }
        let has_spaces = record.as_ref().is_some_and(|record| record.spaces.len() > 1);
        if has_spaces || files.iter().any(|file| file.kind != FileKind::Log || file.size > 0) {
            let files = files.len();
            return Err(match source {
                Some(expected) => Error::NotABackup { expected, found: None, files },
                None => Error::TargetNotEmpty { files },
            });
        }
        let is_marked = record.is_some_and(|record| record.is_marked());
        let state = if is_marked { State::Marked } else { State::Empty };
        let files = files.iter().map(|file| file.id).collect();
        Ok(Self { own, state, files, tables: BTreeMap::new(), sequence: SeqNo(0) })
    }
}

/// Tables whose origin is known and whose bytes are there, by the file of the source.
fn tables_of(
    target: &dyn Store,
    files: &[FileInfo],
    backup: &BackupRecord,
) -> Result<BTreeMap<FileId, EarlierTable>, Error> {
    let origins: BTreeMap<FileId, Origin> =
        backup.tables.iter().map(|origin| (origin.file, *origin)).collect();
    let mut tables = BTreeMap::new();
    for file in files.iter().filter(|file| file.kind == FileKind::Table && file.sealed) {
        let Some(&origin) = origins.get(&file.id) else { continue };
        if target.is_lost(file.id) {
            continue;
        }
        let record = TableRecord::decode(file.id, &file.annotation.opaque)?;
        let first = record.segments.into_iter().next().map(|one| one.span.start.to_vec());
        let (size, first) = (file.size, first.unwrap_or_default());
        let annotation = Arc::clone(&file.annotation);
        tables.insert(origin.source, EarlierTable { origin, annotation, size, first });
    }
    Ok(tables)
}
