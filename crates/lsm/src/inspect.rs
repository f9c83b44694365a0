//! Inspection of the engine's files, for people: decodes tables, logs and annotations into typed
//! records, whole or damaged, without an engine.
//!
//! | type | represents |
//! |---|---|
//! | [`TableFile`] | a table: footer, properties, range tombstones, filter, index, data blocks |
//! | [`Batches`] | the batches that one append to a log carries |
//! | [`Role`] | an annotation: of a table, with its places in the tree; of a log; of the store |
//!
//! - The engine's own decoders are used, so the records show what the engine would see.
//! - A part that does not verify is a separate error, and the caller can go on after it. Facts that
//!   only the damaged part had are lost: without a footer no part of a table is found; after a
//!   batch with an impossible length, no batch of that append is found.
//!
//! The caller finds the files, and decodes the frames of a log. Nothing is written. Any thread; no
//! locks.

use bytes::Bytes;
use terrace_env::store::{Annotation, FileKind};
use terrace_env::{ByteCount, FileId, SeqNo, Uuid};
use terrace_policy::SetView;

use crate::Error;
use crate::batch::{FrozenBatch, HEADER_BYTES};
use crate::options::TableOptions;
use crate::tree::{KeySpaceEntry, LogRecord, SpacePage, StoreRecord, TableRecord};

pub use crate::key::{FullKey, kind_name, prefix_end};
pub use crate::table::{
    BlockEntries, DataBlock, Entry, FilterParameters, IndexEntry, IndexWalk, Part, Properties,
    RangeRecord, TableFile,
};

/// Name of a compression in `docs/format/table.md`; `None` for a number that is not in use.
#[must_use]
pub fn compression_name(number: u8) -> Option<&'static str> {
    Some(match number {
        0 => "none",
        1 => "lz4",
        2 => "zstd",
        _ => return None,
    })
}

/// A batch of a log.
#[derive(Clone, Debug)]
pub struct BatchRecord {
    /// Offset of its first byte in the log, as the engine counts.
    pub offset: u64,
    batch: FrozenBatch,
}

impl BatchRecord {
    /// Bytes, header included.
    #[must_use]
    pub fn size(&self) -> usize {
        self.batch.bytes().len()
    }

    /// The sequence of its first entry.
    #[must_use]
    pub fn first_sequence(&self) -> SeqNo {
        self.batch.first()
    }

    /// Number of entries.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.batch.count()
    }

    /// The log before its own, and that log's size, if the batch records it.
    #[must_use]
    pub fn predecessor(&self) -> Option<(FileId, ByteCount)> {
        self.batch.predecessor().map(|before| (before.log, ByteCount(before.size)))
    }

    /// Its entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let bytes = self.batch.bytes();
        self.batch.entries().map(move |(sequence, entry)| {
            let copy = |place| Bytes::copy_from_slice(&bytes[place]);
            let key = FullKey { space: entry.space, user_key: copy(entry.key) };
            Entry::new(key, sequence, entry.kind as u8, copy(entry.value))
        })
    }
}

/// The batches that one append to a log carries. A batch that does not decode is skipped if its
/// length is plausible, and ends the walk otherwise.
#[derive(Clone, Debug)]
pub struct Batches {
    region: String,
    rest: Bytes,
    offset: u64,
}

impl Batches {
    /// The batches in the payload of an append to a log, which begins at byte `offset` of it.
    #[must_use]
    pub fn new(log: FileId, offset: u64, payload: Bytes) -> Self {
        Self { region: format!("log {log}"), rest: payload, offset }
    }
}

impl Iterator for Batches {
    type Item = Result<BatchRecord, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let offset = self.offset;
        let length = FrozenBatch::length_of(&self.rest).unwrap_or(0);
        if !(HEADER_BYTES..=self.rest.len()).contains(&length) {
            let expected = format!("a batch of {HEADER_BYTES} to {} bytes", self.rest.len());
            self.rest = Bytes::new();
            return Some(Err(Error::corruption(&self.region, offset, expected, length)));
        }
        let bytes = self.rest.split_to(length);
        self.offset += length as u64;
        let decoded = FrozenBatch::decode(bytes);
        let batch = decoded.map_err(|error| Error::decode(&self.region, offset, &error));
        Some(batch.map(|batch| BatchRecord { offset, batch }))
    }
}

/// A range of a table that belongs to the tree, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRole {
    /// The level; 0 is the newest.
    pub level: u8,
    /// The run's age rank within the level: the larger, the newer.
    pub run: u64,
    /// Approximate bytes of the table in it.
    pub size: ByteCount,
    /// The first key in the range.
    pub start: FullKey,
    /// The first key after it.
    pub end: FullKey,
}

/// The engine's part of a file's annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A table of the tree.
    Table {
        /// The file id under which it was written.
        tag: u64,
        /// Entries.
        entries: u64,
        /// Entries of these that are tombstones.
        tombstones: u64,
        /// The smallest sequence.
        first_sequence: SeqNo,
        /// The largest sequence.
        last_sequence: SeqNo,
        /// The common sequence of all entries, if they have one that the table does not store.
        global_sequence: Option<SeqNo>,
        /// The set that it was written in, if it was written in one.
        set: Option<SetView>,
        /// Number of keys of its histogram; 0 if it has none.
        histogram_keys: usize,
        /// Segments of the table: the key ranges that belong to the tree.
        segments: Vec<SegmentRole>,
    },
    /// A write-ahead log.
    Log {
        /// Sequence of the first entry of the log that is not in tables.
        first_sequence: SeqNo,
    },
    /// The store itself.
    Store {
        /// The id that the next key space gets.
        next_space: u32,
        /// Its key spaces, by id, without those that pages list.
        spaces: Vec<KeySpaceEntry>,
        /// How many pages list key spaces.
        pages: u32,
        /// The options that shape tables, as they were last stated.
        tables: TableOptions,
        /// The compaction decider.
        decider: String,
        /// The decider's own state.
        state: Vec<u8>,
        /// The store of which it is a backup that was never opened for writing.
        backup_of: Option<Uuid>,
    },
    /// A page: an empty file whose annotation lists key spaces.
    KeySpaces {
        /// The key spaces, by id.
        spaces: Vec<KeySpaceEntry>,
    },
}

impl Role {
    /// Reads the annotation of a file; `None` if it has no role in the tree.
    pub fn of(
        file: FileId,
        kind: FileKind,
        annotation: &Annotation,
    ) -> Result<Option<Self>, Error> {
        let opaque = &annotation.opaque;
        if opaque.is_empty() {
            return Ok(None);
        }
        if file == FileId::STORE {
            return StoreRecord::decode(opaque).map(|record| Some(record.into()));
        }
        match kind {
            FileKind::Table if SpacePage::is_one(opaque) => {
                let page = SpacePage::decode(file, opaque)?;
                Ok(Some(Self::KeySpaces { spaces: page.entries }))
            }
            FileKind::Table => TableRecord::decode(file, opaque).map(|record| Some(record.into())),
            FileKind::Log => LogRecord::decode(file, opaque)
                .map(|record| Some(Self::Log { first_sequence: record.first })),
            FileKind::Client => Ok(None),
        }
    }
}

impl From<StoreRecord> for Role {
    fn from(record: StoreRecord) -> Self {
        let backup_of = record.backup.map(|backup| backup.source);
        let StoreRecord { next_space, spaces, pages, tables, decider, state, .. } = record;
        Self::Store { next_space, spaces, pages, tables, decider, state, backup_of }
    }
}

impl From<TableRecord> for Role {
    fn from(record: TableRecord) -> Self {
        let segments = record.segments.iter().map(|segment| SegmentRole {
            level: segment.place.level,
            run: segment.place.run.0,
            size: segment.size,
            start: FullKey::of(&segment.span.start),
            end: FullKey::of(&segment.span.end),
        });
        Self::Table {
            tag: record.tag,
            entries: record.entries,
            tombstones: record.tombstones,
            first_sequence: record.first_sequence,
            last_sequence: record.last_sequence,
            global_sequence: record.global_sequence,
            set: record.set,
            histogram_keys: record.histogram.keys().count(),
            segments: segments.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySpaceId;
    use crate::batch::Batch;

    fn batch(first: u64, key: &[u8]) -> Vec<u8> {
        let mut batch = Batch::new();
        batch.put(KeySpaceId(3), key, b"value").delete(KeySpaceId(0), b"gone");
        batch.freeze(SeqNo(first)).bytes().to_vec()
    }

    #[test]
    fn a_batch_that_does_not_decode_is_passed_over_and_the_next_is_read() {
        let batches = [batch(1, b"one"), batch(3, b"two"), batch(5, b"three")];
        let whole = batches.concat();
        let read = |bytes: &[u8]| -> Vec<Option<u64>> {
            let batches = Batches::new(FileId(9), 0, Bytes::copy_from_slice(bytes));
            batches.map(|batch| batch.ok().map(|batch| batch.first_sequence().0)).collect()
        };
        assert_eq!(read(&whole), [Some(1), Some(3), Some(5)]);
        let mut bytes = whole.clone();
        bytes[batches[0].len() + 16] = 9;
        assert_eq!(read(&bytes), [Some(1), None, Some(5)]);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!read(&bytes).is_empty());
        }
    }

    #[test]
    fn entries_of_a_batch_have_their_keys_kinds_and_sequences() {
        let mut batches = Batches::new(FileId(9), 100, batch(7, b"key").into());
        let found = batches.next().unwrap().unwrap();
        assert_eq!((found.offset, found.count()), (100, 2));
        let entries: Vec<Entry> = found.entries().collect();
        let key = |space, user_key: &'static [u8]| FullKey {
            space: KeySpaceId(space),
            user_key: Bytes::from_static(user_key),
        };
        assert_eq!((&entries[0].key, entries[0].sequence.0), (&key(3, b"key"), 7));
        assert_eq!(kind_name(entries[0].kind), Some("put"));
        assert_eq!((&entries[1].key, entries[1].sequence.0), (&key(0, b"gone"), 8));
        assert_eq!(kind_name(entries[1].kind), Some("delete"));
    }
}
