//! Opening of a store in a directory: replay of the journal, recovery of logs, and a first roll.
//!
//! # Steps (for writing)
//! 1. Sync the directory and read `CURRENT`. If there is none, start an empty store; this fails if
//!    the directory has files of foreign names, or files named by an id and kind.
//! 2. Sync and replay the journal.
//! 3. Read `TAIL`. Check that all files that the journal names exist. Sync each unsealed log and
//!    find its end; a log that is damaged before its end is an error. If bytes in `TAIL` continue
//!    the log, write them as its next frame, and sync it again.
//! 4. Remove leftovers: files named by an id and kind that no record has, journals that are not in
//!    force, and `CURRENT.new`. Files of foreign names stay.
//! 5. Write a new journal, whose snapshot has the new epoch and the ends of the logs. Remove the
//!    old journal; if this fails, the next opening does it.
//!
//! An opening for reading takes steps 1 to 3 without the syncs, changes nothing, and makes no
//! store; bytes in `TAIL` can be read from the log. It does not check whether every file exists,
//! and skips an unsealed log that cannot be read. An opening next to a writer
//! ([`Access::Beside`]) does the same, but a log that cannot be read is an error: the writer may
//! have removed it, and the caller has to try again.
//!
//! The caller of others has to keep other processes out of the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use terrace_env::store::{Annotation, StoreError};
use terrace_env::{FileId, IoBuf, Uuid, Visible, reached, runner};

use super::commit::{Queue, snapshot_step};
use super::journal::{self, Identity, Journal, RollError};
use super::log_index::LogIndex;
use super::names::{self, Named};
use super::node::{self, Node, NodeState};
use super::pooled_files::PooledFiles;
use super::tail::Records;
use super::volume::{IDS, State, Volume, open_log};
use super::watch::{Watch, WatchedJournal, WatchedLog};
use super::{FileHandle, Files};
use crate::canary::{self, Rule};
use crate::catalog::{Catalog, FIRST_SEQUENCE, Record};
use crate::frame::{Binding, LOG_FRAME, LogTail, PAYLOAD_MAX, blocks_for};
use crate::growing::{SEQUENCE_END, check_room};
use crate::{Access, AddressSpace, BLOCK};

/// State found, with the number of the present journal; 0 if there is none.
struct Found {
    catalog: Catalog,
    uuid: Uuid,
    generation: u64,
    sequence: u64,
    /// `None` in a new store.
    journal: Option<WatchedJournal>,
}

/// The unsealed logs that were found, and the records of their ends.
#[derive(Default)]
struct Logs {
    nodes: BTreeMap<FileId, Arc<Node>>,
    ends: Vec<Record>,
    watched: Vec<WatchedLog>,
}

/// Opens the store in a directory. For writing, an empty directory becomes an empty store, whose
/// own annotation is `first`.
pub(super) fn open(
    files: Arc<dyn Files>,
    access: Access,
    first: Annotation,
) -> Result<Volume, StoreError> {
    let files = Arc::new(PooledFiles::new(files));
    let write = access == Access::ReadWrite;
    let wrap = |error| StoreError::io(format!("opening {}", files.describe()), error);
    if write {
        files.sync().map_err(wrap)?;
    }
    let names = files.list().map_err(wrap)?;
    let mut found = match journal::read_superblock(&*files, write)? {
        Some(superblock) => {
            let replayed = journal::replay(&*files, superblock, write)?;
            let (journal, superblock) = (WatchedJournal::of(&replayed), replayed.superblock);
            Found {
                journal: Some(journal),
                catalog: replayed.catalog,
                uuid: superblock.uuid,
                generation: superblock.generation,
                sequence: replayed.sequence,
            }
        }
        None => start_empty(&*files, &names, write, first)?,
    };
    if write {
        check_present(&*files, &names, &found.catalog)?;
    }
    let epoch = found.catalog.next_epoch();
    let Logs { nodes, ends, watched } = recover_logs(&files, &found, access, epoch)?;
    let next_file = found.catalog.next_file().0;
    let ids_end = next_file + IDS;
    let journal = if write {
        check_growing(&found)?;
        remove_leftovers(&*files, &names, &found)?;
        let mut records = vec![Record::Mount { epoch, next_file: FileId(ids_end) }];
        records.extend(ends);
        found.catalog.stage(&mut records)?;
        Some(start_journal(&files, &found, epoch)?)
    } else {
        None
    };
    let state = State {
        catalog: found.catalog,
        nodes,
        next_file,
        ids_end,
        pinned: BTreeMap::new(),
        reservations: Vec::new(),
        queue: Queue::default(),
        refusal: (!write).then_some(StoreError::ReadOnly("a change")),
        closed: false,
    };
    let watch = found.journal.filter(|_| access == Access::Beside);
    let watch = watch.map(|journal| Watch { journal, logs: watched });
    Ok(Volume::new(files, access, found.uuid, epoch, (state, journal)).watched(watch))
}

/// The error for a directory without a superblock.
pub(super) fn no_store(files: &dyn Files) -> String {
    format!("{}: expected a store, found no file CURRENT", files.describe())
}

/// An empty store, if the directory holds no files except those that an interrupted start may
/// leave, and `lost+found`.
fn start_empty(
    files: &dyn Files,
    names: &[String],
    write: bool,
    first: Annotation,
) -> Result<Found, StoreError> {
    let expected = no_store(files);
    if !write {
        return Err(StoreError::Invalid(expected));
    }
    let is_other = |name: &&String| {
        *name != names::LOST_FOUND && matches!(names::parse(name), Named::Foreign | Named::File(..))
    };
    if let Some(other) = names.iter().find(is_other) {
        let advice = "a new store needs an empty directory";
        return Err(StoreError::Invalid(format!("{expected} but `{}`; {advice}", Visible(other))));
    }
    let uuid = runner::fork_random().uuid();
    let mut catalog = Catalog::new(AddressSpace::plain());
    if first != Annotation::default() {
        catalog.stage(&mut [Record::Annotate { id: FileId::STORE, annotation: first.into() }])?;
    }
    Ok(Found { catalog, uuid, generation: 0, sequence: FIRST_SEQUENCE, journal: None })
}

/// Whether a directory holds no files except those that an interrupted start may leave: the lock,
/// the first journal, and a superblock that is not in force. `lost+found` does not count.
pub(super) fn is_blank(path: &Path) -> Result<bool, StoreError> {
    let wrap = |error| StoreError::io(format!("listing {}", path.display()), error);
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        other => other.map_err(wrap)?,
    };
    for entry in entries {
        let name = entry.map_err(wrap)?.file_name();
        if name == names::LOST_FOUND {
            continue;
        }
        let named = name.to_str().map_or(Named::Foreign, names::parse);
        if !matches!(named, Named::Lock | Named::Journal(1) | Named::CurrentNew) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds the ends of all unsealed logs. A damaged log is an error: no frame may be written after an
/// end that is not the log's own. An opening for reading skips it.
fn recover_logs(
    files: &PooledFiles,
    found: &Found,
    access: Access,
    epoch: u32,
) -> Result<Logs, StoreError> {
    let mut logs = Logs::default();
    // Before the logs: next to a writer, bytes that leave the tail are then found in the log.
    let tail = Records::read(files, found.uuid)?;
    for (id, record) in found.catalog.files().filter(|(_, record)| record.is_leased()) {
        if access == Access::ReadWrite {
            // Bytes that are about to be declared the log's end must not be lost after that.
            let file = super::volume::open_file(files, id, record, access)?;
            let synced = file.sync();
            synced.map_err(|error| StoreError::io(format!("syncing file {id}"), error))?;
        }
        let opened = open_log(files, found.uuid, id, record, access);
        let (file, mut index, mut end) = match opened {
            // A reader of this log gets the error.
            Err(_) if access == Access::ReadOnly => continue,
            other => other?,
        };
        let mut in_tail = tail.as_ref().map_or(&[][..], |tail| tail.after(id, end.epoch, end.size));
        if access == Access::ReadWrite && !in_tail.is_empty() {
            reached!("fs: bytes of a directory's tail are recovered");
            let binding = Binding { uuid: found.uuid, owner: id.0, epoch: end.epoch };
            let written = write_frames(&*file, &binding, (&mut index, &mut end), in_tail);
            written.map_err(|error| {
                let len = in_tail.len();
                StoreError::io(format!("writing {len} bytes from TAIL to log {id}"), error)
            })?;
            in_tail = &[];
        }
        let (size, sequence) = (end.size, end.cursor.sequence);
        logs.watched.push(WatchedLog::new(
            found.uuid,
            id,
            record,
            (end, index.last_block()),
            in_tail.len(),
        ));
        let mut state = NodeState { committed: true, ..NodeState::default() };
        state.size = size + in_tail.len() as u64;
        state.log.start(found.uuid, id, epoch, end.block, sequence);
        state.log.index = index;
        (state.log.pending, state.log.in_tail) = (Arc::new(in_tail.to_vec()), in_tail.len());
        logs.nodes.insert(id, Arc::new(Node::new(id, record.kind, file, state)));
        logs.ends.push(Record::LogEnd { id, end: end.block, size, sequence, epoch });
        logs.ends.push(Record::Extend { id, end: end.block, extent: node::lease(end.block) });
    }
    Ok(logs)
}

/// Adds frames to a log and syncs it, as the process would have done that has written the log so
/// far. If this fails or the process ends, the next opening finds the same end, and does it again.
fn write_frames(
    file: &dyn FileHandle,
    binding: &Binding,
    (index, end): (&mut LogIndex, &mut LogTail),
    bytes: &[u8],
) -> io::Result<()> {
    let place = u64::from(end.block) * BLOCK as u64;
    if file.size()? > place {
        // If a power cut takes parts of the frames, these must read as zeros.
        file.set_size(place)?;
        file.sync()?;
    }
    let (mut buffer, synced) = (IoBuf::default(), end.cursor.sequence);
    journal::encode_append(binding, &mut end.cursor, LOG_FRAME, synced, bytes, &mut buffer);
    file.write_at(place, &buffer)?;
    if !canary::is_broken(Rule::TailDurableAtOpening) {
        file.sync()?;
    }
    for part in bytes.chunks(PAYLOAD_MAX) {
        index.push(end.block, part);
        end.block += blocks_for(part.len());
    }
    end.size += bytes.len() as u64;
    Ok(())
}

/// Checks that all files that the journal names exist. Without this check, a file that was renamed
/// would be removed, as a file that no record names.
fn check_present(files: &dyn Files, names: &[String], catalog: &Catalog) -> Result<(), StoreError> {
    let there: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let named: BTreeSet<String> =
        catalog.files().map(|(id, record)| names::file(id, record.kind)).collect();
    let mut missing = named.iter().filter(|name| !there.contains(name.as_str()));
    let Some(first) = missing.next() else { return Ok(()) };
    let others = missing.count();
    let is_extra = |name: &&&String| {
        matches!(names::parse(name), Named::File(..)) && !named.contains(name.as_str())
    };
    let mut got = "no such file".to_owned();
    if others > 0 {
        got += &format!(", and {others} more are missing");
    }
    if let Some(extra) = names.iter().find(|name| is_extra(&name)) {
        got += &format!(", but {extra}, which the journal does not name");
    }
    let (region, expected) = (names::path(files, first), "a file that the journal names".into());
    Err(StoreError::Corruption { region, offset: 0, expected, got })
}

/// Whether a name is one of the store's that neither journal nor superblock uses: left by a crash.
pub(super) fn is_leftover(name: &str, catalog: &Catalog, generation: u64) -> bool {
    match names::parse(name) {
        Named::File(id, kind) => catalog.get(id).is_none_or(|record| record.kind != kind),
        Named::Journal(other) => other != generation,
        Named::CurrentNew => true,
        Named::Lock | Named::Current | Named::Tail | Named::Foreign => false,
    }
}

/// Checks that the numbers which this opening makes larger have room to grow.
fn check_growing(found: &Found) -> Result<(), StoreError> {
    let Found { uuid, sequence, catalog, .. } = found;
    check_room(*uuid, "sequence of the journal", *sequence, SEQUENCE_END)?;
    catalog.check_growing(*uuid)
}

/// Removes leftovers. Their ids are not given out again: a record has set aside all ids that were
/// given out.
fn remove_leftovers(files: &dyn Files, names: &[String], found: &Found) -> Result<(), StoreError> {
    for name in names {
        if is_leftover(name, &found.catalog, found.generation) {
            reached!("fs: a leftover of a directory is removed");
            let path = names::path(files, name);
            let removed = files.remove(name);
            removed.map_err(|error| StoreError::io(format!("removing {path}"), error))?;
        }
    }
    Ok(())
}

/// Puts a new journal in force and removes the old one.
fn start_journal(
    files: &Arc<PooledFiles>,
    found: &Found,
    epoch: u32,
) -> Result<Journal, StoreError> {
    let (uuid, sequence) = (found.uuid, found.sequence);
    let identity = Identity { uuid, generation: found.generation + 1, epoch, sequence };
    let step = |next| snapshot_step(&found.catalog, next);
    let journal = Journal::start(files, identity, || 0, step).map_err(RollError::into_error)?;
    if found.generation > 0 {
        // If that fails, the next opening does it.
        let _ = files.remove(&names::journal(found.generation));
    }
    Ok(journal)
}
