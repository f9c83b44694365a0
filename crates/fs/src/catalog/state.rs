//! [`Catalog`]: all files, their names, and the counters from which ids and epochs are taken. It
//! also has the store's own annotation, and whether the store was closed.
//!
//! # Invariants
//! - A name belongs to one file, and the file lists it.
//! - [`next_file`](Catalog::next_file) is above the ids of all files here. It also grows with ids
//!   that a record names or sets aside, so a file that was deleted does not give its id to another.
//!   [`next_epoch`](Catalog::next_epoch) grows with the epochs of mounts.
//! - A transaction that fails changes nothing, and the counters are as before.
//! - A snapshot is replayed chunk by chunk, in the order of file ids. Meanwhile, changes to files
//!   after the last chunk are left out, because a later chunk has them.
//!
//! An id that was given out and that no record names is not known here.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

use terrace_env::codec::{DecodeError, Reader, Writer};
use terrace_env::store::{Annotation, FileInfo, FileKind, StoreError};
use terrace_env::{DeviceId, FileId, Uuid, ZoneId};

use super::annotation::{decode_annotation, encode_annotation};
use super::staging::Staging;
use super::zone_levels::{Levels, ZoneLevels};
use super::{Effects, FileRecord, Record};
use crate::AddressSpace;
use crate::growing::{EPOCH_END, FILE_ID_END, SEQUENCE_END, check_room};

/// Metadata of all files: a pure value, changed by records and by chunks of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The devices that the files' blocks are on.
    space: AddressSpace,
    files: BTreeMap<FileId, FileRecord>,
    levels: ZoneLevels,
    pub(super) names: BTreeMap<Arc<str>, FileId>,
    pub(super) store: Arc<Annotation>,
    pub(super) next_file: FileId,
    pub(super) next_epoch: u32,
    /// Whether the last record says that the store was closed.
    pub(super) closed: bool,
    /// Files from here on are still to come from a snapshot; `None` once it is complete.
    pub(super) pending_from: Option<FileId>,
}

impl Catalog {
    /// A catalog without files, of a store with these devices.
    #[must_use]
    pub fn new(space: AddressSpace) -> Self {
        Self { space, next_file: FileId(1), next_epoch: 1, ..Self::default() }
    }

    /// The devices that the files' blocks are on.
    #[must_use]
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// A file's record.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&FileRecord> {
        self.files.get(&id)
    }

    /// A file's record, or the error that says there is none.
    pub fn file(&self, id: FileId) -> Result<&FileRecord, StoreError> {
        self.get(id).ok_or(StoreError::NotFound(id))
    }

    /// Puts a file's record in the place of the one it had, or takes it away; returns the old one.
    pub(super) fn put(&mut self, id: FileId, record: Option<FileRecord>) -> Option<FileRecord> {
        if let Some(record) = &record {
            self.levels.add(record, &self.space);
        }
        let before = match record {
            Some(record) => self.files.insert(id, record),
            None => self.files.remove(&id),
        };
        if let Some(before) = &before {
            self.levels.remove(before, &self.space);
        }
        before
    }

    /// How many tables have bytes in a zone, and how deep they lie.
    #[must_use]
    pub fn levels_in(&self, device: DeviceId, zone: ZoneId) -> Levels {
        self.levels.of(device, zone)
    }

    /// The file of this name.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    /// The names from `range`, in order, with their files.
    pub fn names<'a>(
        &'a self,
        range: impl RangeBounds<Arc<str>> + 'a,
    ) -> impl DoubleEndedIterator<Item = (&'a str, FileId)> {
        self.names.range(range).map(|(name, id)| (&**name, *id))
    }

    /// All files, by id.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = (FileId, &FileRecord)> {
        self.files.iter().map(|(id, record)| (*id, record))
    }

    /// The files from `first` on, by id: for walks that must not hold a lock for all of them.
    pub fn files_from(&self, first: FileId) -> impl Iterator<Item = (FileId, &FileRecord)> {
        self.files.range(first..).map(|(id, record)| (*id, record))
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The store's own annotation.
    #[must_use]
    pub fn store_annotation(&self) -> &Arc<Annotation> {
        &self.store
    }

    /// Answer of [`Store::info`](terrace_env::Store::info) for a file, or for the store itself.
    #[must_use]
    pub fn info(&self, id: FileId) -> Option<FileInfo> {
        if id == FileId::STORE {
            return Some(FileInfo {
                id,
                kind: FileKind::Client,
                size: 0,
                sealed: false,
                annotation: Arc::clone(&self.store),
                names: Vec::new(),
            });
        }
        self.get(id).map(|record| record.info(id))
    }

    /// The smallest file id above all that transactions have named or set aside.
    #[must_use]
    pub fn next_file(&self) -> FileId {
        self.next_file
    }

    /// The smallest epoch that no mount has used.
    #[must_use]
    pub fn next_epoch(&self) -> u32 {
        self.next_epoch
    }

    /// Checks that ids, epochs and the sequences of unsealed logs have room to grow: before a mount
    /// for writing.
    pub(crate) fn check_growing(&self, store: Uuid) -> Result<(), StoreError> {
        check_room(store, "next file id", self.next_file.0, FILE_ID_END)?;
        check_room(store, "next epoch", self.next_epoch.into(), EPOCH_END.into())?;
        for (id, file) in self.files().filter(|(_, file)| file.is_leased()) {
            let runs = file.runs.iter().map(|run| run.sequence);
            let sequences = runs.chain(file.durable.map(|mark| mark.sequence));
            let largest = sequences.max().unwrap_or_default();
            check_room(store, &format!("sequence of log {id}"), largest, SEQUENCE_END)?;
        }
        Ok(())
    }

    /// The first log with an epoch that no mount has used, if there is one: its frames would be
    /// taken for those of a later mount.
    pub(crate) fn log_of_the_future(&self) -> Option<(FileId, u32)> {
        self.files().find_map(|(id, file)| {
            let epoch = file.runs.iter().map(|run| run.epoch).max()?;
            (epoch >= self.next_epoch).then_some((id, epoch))
        })
    }

    /// Whether the store was closed in order, and not opened for writing since: then all its logs
    /// end where they are recorded to be durable.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Applies a transaction: all of it, or, with an error, nothing. Ids that a record leaves open
    /// are filled in. The effects may be carried out once the transaction is durable.
    pub fn stage(&mut self, records: &mut [Record]) -> Result<Effects, StoreError> {
        let mut staging = Staging::new(self);
        for record in records {
            if let Err(error) = staging.apply(record) {
                staging.revert();
                return Err(error);
            }
        }
        let effects = staging.into_effects();
        debug_assert!(
            self.files.last_key_value().is_none_or(|(id, _)| *id < self.next_file),
            "ids are given out once"
        );
        debug_assert!(
            effects.freed.iter().all(|freed| !freed.extents.is_empty()),
            "an effect has blocks"
        );
        Ok(effects)
    }

    /// Starts over from a snapshot of which nothing has been read yet.
    pub(crate) fn begin_snapshot(space: AddressSpace, next_file: FileId, next_epoch: u32) -> Self {
        let pending_from = Some(FileId::STORE);
        Self { space, next_file, next_epoch, pending_from, ..Self::default() }
    }

    /// Whether files of a snapshot are still to come.
    pub(crate) fn is_partial(&self) -> bool {
        self.pending_from.is_some()
    }

    /// Appends the chunk that starts at `from` and holds about `limit` bytes, at least one file if
    /// any is left. Returns where the next chunk starts, or `None` if this was the last one.
    pub(crate) fn encode_chunk(
        &self,
        from: FileId,
        limit: usize,
        to: &mut Vec<u8>,
    ) -> Option<FileId> {
        let start = to.len();
        to.put_u64(from.0);
        to.put_u64(0);
        if from == FileId::STORE {
            encode_annotation(&self.store, to);
        }
        let mut rest = self.files.range(from..).peekable();
        while let Some((id, record)) = rest.next_if(|_| to.len() - start < limit) {
            record.encode(*id, to);
        }
        let next = rest.peek().map(|(id, _)| **id);
        let upto = next.map_or(u64::MAX, |id| id.0);
        debug_assert!(upto > from.0, "a chunk has at least one file, or is the last");
        to[start + 8..start + 16].copy_from_slice(&upto.to_le_bytes());
        next
    }

    /// The files of one chunk by itself, and the range of ids that it covers.
    pub(crate) fn of_chunk(
        chunk: &[u8],
        space: &AddressSpace,
    ) -> Result<(Self, FileId, FileId), DecodeError> {
        let from = FileId(Reader::new(chunk).u64("chunk start")?);
        let space = space.clone();
        let mut alone = Self { space, pending_from: Some(from), ..Self::default() };
        alone.absorb_chunk(chunk)?;
        let upto = alone.pending_from.unwrap_or_default();
        debug_assert!(from < upto, "a chunk covers {from} to {upto}");
        Ok((alone, from, upto))
    }

    /// Adds a chunk of the snapshot that is being replayed.
    pub(crate) fn absorb_chunk(&mut self, chunk: &[u8]) -> Result<(), DecodeError> {
        let mut from = Reader::new(chunk);
        let first = FileId(from.u64("chunk start")?);
        if self.pending_from != Some(first) {
            return Err(from.wrong("chunk start", 8, "the end of the chunk before", first.0));
        }
        let upto = FileId(from.u64("chunk end")?);
        if upto <= first {
            return Err(from.wrong("chunk end", 8, "more than the chunk's start", upto.0));
        }
        if first == FileId::STORE {
            self.store = decode_annotation(&mut from)?;
        }
        let mut least = first.max(FileId(1));
        while !from.is_empty() {
            let (id, record) = FileRecord::decode(&mut from, &self.space)?;
            if id < least || id >= upto {
                return Err(from.wrong("file", 0, "ascending ids within the chunk", id.0));
            }
            least = FileId(id.0 + 1);
            for name in &record.names {
                if self.names.insert(Arc::clone(name), id).is_some() {
                    return Err(from.wrong("name", 0, "a name that no other file has", id.0));
                }
            }
            self.put(id, Some(record));
        }
        debug_assert!(least <= upto, "files of a chunk end before the next chunk");
        self.next_file = self.next_file.max(least);
        self.pending_from = Some(upto);
        Ok(())
    }

    /// Ends the replay of a snapshot; says how far it came if chunks are missing.
    pub(crate) fn complete_snapshot(&mut self) -> Result<(), FileId> {
        match self.pending_from {
            Some(FileId(u64::MAX)) => {
                self.pending_from = None;
                Ok(())
            }
            Some(reached) => Err(reached),
            None => Ok(()),
        }
    }

    /// Whether a file's state is known, that is, not still to come from a snapshot.
    pub(super) fn covers(&self, id: FileId) -> bool {
        self.pending_from.is_none_or(|from| id < from)
    }
}
