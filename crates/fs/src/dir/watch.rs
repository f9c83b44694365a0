//! [`Watch`]: whether a directory's store, as an opening has found it, has changed while another
//! process writes. For openings with [`Access::Beside`](crate::Access).
//!
//! Bytes of a file do not become others: a store gives out a file id once, a removed file keeps its
//! bytes as long as it is open, and trimmed bytes read as zeros, which their owner's checksums
//! refuse. So bytes are vouched for if the directory still holds the same store.
//!
//! Files are opened anew for each look, because a roll puts others in their place.

use std::io::ErrorKind;

use terrace_env::store::StoreError;
use terrace_env::{FileId, Uuid};

use super::journal::{self, Replayed};
use super::pooled_files::PooledFiles;
use super::source::FileSource;
use super::tail::Records;
use super::{Files as _, names};
use crate::Access;
use crate::catalog::FileRecord;
use crate::frame::{Binding, LogTail, checksum_at, stands_at};

/// The journal as the opening has found it.
#[derive(Clone, Copy)]
pub(super) struct WatchedJournal {
    pub(super) uuid: Uuid,
    pub(super) generation: u64,
    epoch: u32,
    /// Where the next frame starts, and its sequence.
    block: u32,
    sequence: u64,
}

impl WatchedJournal {
    pub(super) fn of(replayed: &Replayed) -> Self {
        let Replayed { superblock, sequence, block, .. } = replayed;
        let (uuid, generation, epoch) =
            (superblock.uuid, superblock.generation, superblock.head.epoch);
        Self { uuid, generation, epoch, block: *block, sequence: *sequence }
    }
}

/// An unsealed log as the opening has found it.
pub(super) struct WatchedLog {
    name: String,
    binding: Binding,
    tail: LogTail,
    /// The block of the last frame of the last run: it may be written again, longer.
    last: Option<u32>,
    /// How many of its bytes were in the tail.
    in_tail: usize,
}

impl WatchedLog {
    /// A log whose frames end at `tail`, and whose last frame starts at block `last`; and how many
    /// bytes after these frames the directory's tail has.
    pub(super) fn new(
        uuid: Uuid,
        id: FileId,
        record: &FileRecord,
        (tail, last): (LogTail, Option<u32>),
        in_tail: usize,
    ) -> Self {
        let run = record.runs.last().map_or(0, |run| run.block);
        let binding = Binding { uuid, owner: id.0, epoch: tail.epoch };
        let name = names::file(id, record.kind);
        Self { name, binding, tail, last: last.filter(|last| *last >= run), in_tail }
    }
}

/// See the [module](self).
pub(super) struct Watch {
    pub(super) journal: WatchedJournal,
    pub(super) logs: Vec<WatchedLog>,
}

impl Watch {
    /// Fails unless the directory still holds this store.
    pub(super) fn check_store(&self, files: &PooledFiles) -> Result<(), StoreError> {
        let found = journal::read_superblock(files, false)?.map(|superblock| superblock.uuid);
        if found == Some(self.journal.uuid) {
            return Ok(());
        }
        let expected = format!("store {}", self.journal.uuid);
        let found = found.map_or("none".into(), |uuid| format!("store {uuid}"));
        Err(StoreError::Moved { expected, found })
    }

    /// Whether the journal or a log has gone on.
    pub(super) fn has_changed(&self, files: &PooledFiles) -> Result<bool, StoreError> {
        let WatchedJournal { uuid, generation, epoch, block, sequence } = self.journal;
        let superblock = journal::read_superblock(files, false)?;
        let now = superblock.map(|superblock| (superblock.uuid, superblock.generation));
        if now != Some((uuid, generation)) {
            return Ok(true);
        }
        let binding = Binding { uuid, owner: 0, epoch };
        match open(files, &names::journal(generation))? {
            Some(source) if !stands_at(&source, &binding, block, sequence)? => {}
            _ => return Ok(true),
        }
        for log in &self.logs {
            let Some(source) = open(files, &log.name)? else { return Ok(true) };
            let is_longer = match log.last {
                Some(last) => checksum_at(&source, last)? != Some(log.tail.cursor.chain),
                None => false,
            };
            let (block, sequence) = (log.tail.block, log.tail.cursor.sequence);
            if is_longer || stands_at(&source, &log.binding, block, sequence)? {
                return Ok(true);
            }
        }
        let records = Records::read(files, uuid)?;
        Ok(self.logs.iter().any(|log| {
            let LogTail { size, .. } = log.tail;
            let id = FileId(log.binding.owner);
            let in_tail = records.as_ref().map(|tail| tail.after(id, log.binding.epoch, size));
            in_tail.map_or(0, <[u8]>::len) != log.in_tail
        }))
    }
}

/// A file as it is now; `None` if it has been removed.
fn open(files: &PooledFiles, name: &str) -> Result<Option<FileSource>, StoreError> {
    let path = names::path(files, name);
    match files.open(name, Access::ReadOnly) {
        Ok(file) => FileSource::new(&file, path, None).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, error)),
    }
}
