//! [`Memtable`]: the newest writes, in memory and in the order of internal keys (by key, the newest
//! first). Entries lie in an [`EntryTree`], range tombstones in [`MemoryRanges`]; both copy what a
//! batch brings.
//!
//! - Batches must come in the order of their sequences. Nothing is removed.
//! - [`Memtable::get`] and [`Memtable::contains`] pass over entries that are newer than the
//!   sequence asked for, and take range tombstones into account.
//! - A [`MemoryCursor`] shows all entries and no range tombstones. Its user passes over what is too
//!   new or hidden.
//!
//! Threads: one at a time inserts. Any number of readers look and walk meanwhile, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use terrace_env::sync::Mutex;
use terrace_env::{Date, FileId, MemoryGauge, MemoryLease, SeqNo};

use super::entry_tree::{EntryCursor, EntryTree, LEAF_ENTRY_BYTES, NewEntry, RECORD_BYTES, Window};
use crate::batch::{Batch, FrozenBatch};
use crate::expiry::{self, Shown};
use crate::key::{self, Kind, Trailer};
use crate::ranges::{MemoryRanges, RangeTombstone};

/// Least bytes of an entry, besides its internal key and its value.
pub(crate) const ENTRY_BYTES: usize = RECORD_BYTES + LEAF_ENTRY_BYTES;

/// Answer for a key of a place that was searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<V = Bytes> {
    Value(V),
    /// A value that is unseen from a date on.
    Expiring(Date, V),
    /// An operand of this sequence. Older entries decide with it.
    Operand(SeqNo, V),
    Deleted,
}

impl<V> Found<V> {
    /// The answer that shows a value.
    pub(crate) fn of(Shown { value, expiry }: Shown<V>) -> Self {
        match expiry {
            Some(expiry) => Self::Expiring(expiry, value),
            None => Self::Value(value),
        }
    }

    /// The same answer with something else for the value.
    pub(crate) fn map<T>(self, of: impl FnOnce(V) -> T) -> Found<T> {
        match self {
            Self::Value(value) => Found::Value(of(value)),
            Self::Expiring(expiry, value) => Found::Expiring(expiry, of(value)),
            Self::Operand(sequence, operand) => Found::Operand(sequence, of(operand)),
            Self::Deleted => Found::Deleted,
        }
    }

    /// The value that is there now. An operand is taken for the value: the caller asks for that
    /// alone, or has combined it.
    pub(crate) fn shown(self) -> Option<Shown<V>> {
        match self {
            Self::Value(value) | Self::Operand(_, value) => Some(Shown { value, expiry: None }),
            Self::Expiring(expiry, value) => Shown { value, expiry: Some(expiry) }.now(),
            Self::Deleted => None,
        }
    }

    /// The value that is there at a date; for an operand as [`shown`](Self::shown).
    pub(crate) fn value_at(self, date: Date) -> Option<V> {
        match self {
            Self::Value(value) | Self::Operand(_, value) => Some(value),
            Self::Expiring(expiry, _) if expiry::has_expired(expiry, date) => None,
            Self::Expiring(_, value) => Some(value),
            Self::Deleted => None,
        }
    }
}

/// The newest writes, in memory and in order.
#[derive(Debug)]
pub(crate) struct Memtable {
    tree: Arc<EntryTree>,
    ranges: MemoryRanges,
    range_bytes: AtomicUsize,
    range_lease: Mutex<MemoryLease>,
    /// Its deletes of single keys.
    deletes: AtomicU64,
    /// The sequence behind the newest entry's; 0 while there is none.
    end: AtomicU64,
    /// Whether anything in it is in no log.
    unlogged: AtomicBool,
    /// The log that was replayed into it, and the checksum of what was read of that.
    replayed: OnceLock<(FileId, u32)>,
}

impl Memtable {
    /// Least bytes that a batch takes in a memtable.
    pub(crate) fn least_of(batch: &Batch) -> usize {
        let others = batch.len() - batch.ranges();
        batch.byte_size().0 as usize + others * ENTRY_BYTES + MemoryRanges::least_of(batch)
    }

    pub(crate) fn new(gauge: &MemoryGauge) -> Self {
        Self::with_window(gauge, Window::new())
    }

    /// A memtable that expects keys like those of the one before.
    pub(crate) fn following(before: &Self, gauge: &MemoryGauge) -> Self {
        let ends = before.tree.ends();
        let window = ends.map_or_else(Window::new, |(first, last)| Window::between(first, last));
        Self::with_window(gauge, window)
    }

    fn with_window(gauge: &MemoryGauge, window: Window) -> Self {
        Self {
            tree: Arc::new(EntryTree::new(gauge, window)),
            ranges: MemoryRanges::default(),
            range_bytes: AtomicUsize::new(0),
            range_lease: Mutex::new(gauge.lease(0)),
            deletes: AtomicU64::new(0),
            end: AtomicU64::new(0),
            unlogged: AtomicBool::new(false),
            replayed: OnceLock::new(),
        }
    }

    /// All of a log has been replayed into it; the bytes that were read have this checksum.
    pub(crate) fn note_replayed(&self, log: FileId, checksum: u32) {
        let _ = self.replayed.set((log, checksum));
    }

    /// The log that was replayed into it, and its checksum.
    pub(crate) fn replayed(&self) -> Option<(FileId, u32)> {
        self.replayed.get().copied()
    }

    /// Something that is added is in no log.
    pub(crate) fn note_unlogged(&self) {
        self.unlogged.store(true, Ordering::Relaxed);
    }

    /// Whether anything in it is in no log.
    pub(crate) fn has_unlogged(&self) -> bool {
        self.unlogged.load(Ordering::Relaxed)
    }

    /// Adds a batch's entries. One caller at a time, batches in order.
    pub(crate) fn insert(&self, batch: &FrozenBatch) {
        debug_assert!(batch.first() >= self.end(), "batches in order");
        let (bytes, mut ranges, mut deletes) = (batch.bytes(), Vec::new(), 0);
        self.tree.insert(batch.entries().filter_map(|(sequence, entry)| {
            if entry.kind == Kind::RangeDelete {
                ranges.push(RangeTombstone::of(batch, sequence, &entry));
                return None;
            }
            deletes += u64::from(entry.kind == Kind::Delete);
            Some(NewEntry {
                space: entry.space,
                user_key: &bytes[entry.key],
                trailer: Trailer::new(sequence, entry.kind),
                value: &bytes[entry.value],
            })
        }));
        if deletes > 0 {
            self.deletes.fetch_add(deletes, Ordering::Relaxed);
        }
        if !ranges.is_empty() {
            let bytes = self.ranges.insert(ranges);
            let bytes = self.range_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            self.range_lease.lock().resize(bytes);
        }
        self.end.store(batch.end().0, Ordering::Release);
    }

    /// The memory that its entries take.
    pub(crate) fn bytes(&self) -> usize {
        self.tree.bytes() + self.range_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.len() == 0 && self.ranges.is_empty()
    }

    /// The entries in it, range tombstones included.
    pub(crate) fn len(&self) -> usize {
        self.tree.len() + self.ranges.len()
    }

    /// Its deletes of single keys.
    pub(crate) fn deletes(&self) -> u64 {
        self.deletes.load(Ordering::Relaxed)
    }

    pub(crate) fn ranges(&self) -> &MemoryRanges {
        &self.ranges
    }

    /// The sequence behind the newest entry's.
    pub(crate) fn end(&self) -> SeqNo {
        SeqNo(self.end.load(Ordering::Acquire))
    }

    /// The newest entry at or behind `seek_key`, an internal key, that is of the same full key.
    pub(crate) fn get(&self, seek_key: &[u8]) -> Option<Found> {
        self.look(seek_key).map(|found| found.map(Bytes::copy_from_slice))
    }

    /// The same answer without the value, which is not copied.
    pub(crate) fn contains(&self, seek_key: &[u8]) -> Option<Found<()>> {
        self.look(seek_key).map(|found| found.map(|_| ()))
    }

    /// The sequence of the newest entry of a full key, or of a range tombstone over it.
    pub(crate) fn newest(&self, full_key: &[u8]) -> Option<SeqNo> {
        let first = self.tree.first_from(&key::internal_key(full_key, Trailer::NEWEST));
        let found = first.map(|(internal_key, _)| key::split(internal_key));
        let entry = found.filter(|(found, _)| *found == full_key);
        let cover = self.ranges.cover(full_key, SeqNo::MAX);
        entry.map(|(_, trailer)| trailer.sequence()).max(cover)
    }

    /// The memtable's answer for a key; `None` if it does not know the key.
    fn look(&self, seek_key: &[u8]) -> Option<Found<&[u8]>> {
        let (sought, at) = key::split(seek_key);
        let found = self.tree.first_from(seek_key).and_then(|(internal_key, value)| {
            let (full_key, trailer) = key::split(internal_key);
            (full_key == sought).then_some((trailer, value))
        });
        if let Some(cover) = self.ranges.cover(sought, at.sequence())
            && found.is_none_or(|(trailer, _)| trailer.sequence() < cover)
        {
            return Some(Found::Deleted);
        }
        let (trailer, value) = found?;
        Some(match trailer.kind() {
            Some(Kind::Put) => Found::Value(value),
            Some(Kind::PutWithExpiry) => {
                let (expiry, value) = expiry::split(value).expect("a batch that was checked");
                Found::Expiring(expiry, value)
            }
            Some(Kind::Operand) => Found::Operand(trailer.sequence(), value),
            Some(Kind::Delete | Kind::RangeDelete) | None => Found::Deleted,
        })
    }
}

/// Walks a memtable in order, forward and backward.
#[derive(Debug)]
pub(crate) struct MemoryCursor {
    table: Arc<Memtable>,
    entries: EntryCursor,
}

impl MemoryCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(table: Arc<Memtable>) -> Self {
        let entries = EntryCursor::new(Arc::clone(&table.tree));
        Self { table, entries }
    }

    /// Whether every entry of the memtable is older than a range tombstone.
    pub(crate) fn is_older(&self, cover: SeqNo) -> bool {
        self.table.end() <= cover
    }

    /// Moves to the first entry at or behind `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.entries.seek(target);
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        self.entries.seek_before(target);
    }

    pub(crate) fn seek_to_first(&mut self) {
        self.entries.seek_to_first();
    }

    pub(crate) fn seek_to_last(&mut self) {
        self.entries.seek_to_last();
    }

    pub(crate) fn next(&mut self) {
        self.entries.next();
    }

    pub(crate) fn prev(&mut self) {
        self.entries.prev();
    }

    /// The internal key it stands on, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.entries.key()
    }

    /// A copy of the value: it must not keep the whole memtable.
    ///
    /// # Panics
    /// When it stands nowhere.
    pub(crate) fn value(&self) -> Bytes {
        Bytes::copy_from_slice(self.value_slice())
    }

    /// The value.
    ///
    /// # Panics
    /// When it stands nowhere.
    pub(crate) fn value_slice(&self) -> &[u8] {
        self.entries.value().expect("a cursor that stands on an entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::key::{KeySpaceId, SPACE_BYTES};

    const SPACE: KeySpaceId = KeySpaceId(7);

    fn table(batches: &[Batch]) -> Arc<Memtable> {
        let table = Memtable::new(&MemoryGauge::new("memtables"));
        let mut next = SeqNo(1);
        for batch in batches {
            let frozen = batch.clone().freeze(next);
            table.insert(&frozen);
            next = frozen.end();
        }
        Arc::new(table)
    }

    fn put(key: &[u8], value: &[u8]) -> Batch {
        let mut batch = Batch::new();
        batch.put(SPACE, key, value);
        batch
    }

    #[test]
    fn a_read_sees_the_newest_entry_at_its_sequence() {
        let mut delete = Batch::new();
        delete.delete(SPACE, b"k");
        let table = table(&[put(b"k", b"one"), put(b"k", b"two"), delete]);
        let at = |sequence| table.get(&key::seek_key(SPACE, b"k", SeqNo(sequence)));
        assert_eq!(at(0), None);
        assert_eq!(at(1), Some(Found::Value(Bytes::from("one"))));
        assert_eq!(at(2), Some(Found::Value(Bytes::from("two"))));
        assert_eq!(at(3), Some(Found::Deleted));
        assert_eq!(table.get(&key::seek_key(KeySpaceId(8), b"k", SeqNo(9))), None);
        assert_eq!(table.end(), SeqNo(4));
    }

    #[test]
    fn keys_that_share_or_lack_prefix_bytes_keep_their_order() {
        let keys: [&[u8]; 7] =
            [b"", b"\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgi", b"b"];
        let batches: Vec<_> = keys.iter().rev().map(|key| put(key, key)).collect();
        let table = table(&batches);
        let mut cursor = MemoryCursor::new(Arc::clone(&table));
        cursor.seek_to_first();
        for key in keys {
            let (full_key, _) = key::split(cursor.key().unwrap());
            assert_eq!(&full_key[SPACE_BYTES..], key);
            assert_eq!(cursor.value(), key);
            cursor.next();
        }
        assert_eq!(cursor.key(), None);
    }

    #[test]
    fn a_cursor_walks_over_its_own_refills_and_seeks() {
        let keys: Vec<_> = (0..1000u32).map(u32::to_be_bytes).collect();
        let table = table(&keys.iter().map(|key| put(key, b"")).collect::<Vec<_>>());
        let mut cursor = MemoryCursor::new(Arc::clone(&table));
        cursor.seek(&key::seek_key(SPACE, &keys[300], SeqNo::MAX));
        for key in &keys[300..] {
            assert_eq!(&key::split(cursor.key().unwrap()).0[SPACE_BYTES..], key);
            cursor.next();
        }
        assert_eq!(cursor.key(), None);
        cursor.next();
        assert_eq!(cursor.key(), None);
        cursor.seek_before(&key::seek_key(SPACE, &keys[700], SeqNo::MAX));
        for key in keys[..700].iter().rev() {
            assert_eq!(&key::split(cursor.key().unwrap()).0[SPACE_BYTES..], key);
            cursor.prev();
        }
        assert_eq!(cursor.key(), None);
        cursor.prev();
        assert_eq!(cursor.key(), None);
    }
}
