//! [`Memtable`]: the newest writes, in memory and in the order of internal keys (by key, newest
//! first). Entries lie in an [`EntryTree`], range tombstones in [`MemoryRanges`]; both copy from
//! the batch.
//!
//! - Batches must come in the order of their sequences. Nothing is removed.
//! - [`Memtable::get`] and [`Memtable::contains`] skip entries that are newer than the sequence of
//!   the read, and take range tombstones into account.
//! - A [`MemoryCursor`] shows all entries and no range tombstones. Its user skips entries that are
//!   too new or hidden.
//!
//! Threads: one at a time inserts. Any number of readers search and walk meanwhile, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use terrace_env::sync::{Mutex, switch_point};
use terrace_env::{FileId, MemoryLease, SeqNo};

use super::entry_tree::{EntryCursor, EntryTree, LEAF_ENTRY_BYTES, NewEntry, RECORD_BYTES, Window};
use super::found::Found;
use crate::batch::{Batch, Entry, FrozenBatch};
use crate::expiry;
use crate::key::{self, Kind, Trailer};
use crate::memory::MemtableChunks;
use crate::ranges::{MemoryRanges, RangeTombstone};

/// Numbers of entries at which a memtable whose window was a guess is exchanged for one whose
/// window fits its keys. The second is for keys in ascending order, whose common prefix gets
/// shorter.
const REFITS: [usize; 2] = [64, 1024];

/// Larger memtables are not exchanged: their entries are copied, and both lie in memory until the
/// last reader of the old one is done.
const REFIT_BYTES_MAX: usize = 256 << 10;

/// Least bytes of an entry, without its internal key and its value.
pub(crate) const ENTRY_BYTES: usize = RECORD_BYTES + LEAF_ENTRY_BYTES;

/// The newest writes, in memory and in order.
#[derive(Debug)]
pub(crate) struct Memtable {
    tree: Arc<EntryTree>,
    ranges: MemoryRanges,
    range_bytes: AtomicUsize,
    range_lease: Mutex<MemoryLease>,
    /// Number of deletes of single keys.
    deletes: AtomicU64,
    /// The sequence after the newest entry's; 0 while there is none.
    end: AtomicU64,
    /// Whether an entry is in no log.
    unlogged: AtomicBool,
    /// The log that was replayed into it, and the checksum of the bytes read.
    replayed: OnceLock<(FileId, u32)>,
    /// Number of entries from which on it is exchanged ([`refitted`](Memtable::refitted)).
    refit_at: usize,
}

impl Memtable {
    /// Least bytes of a batch in a memtable.
    pub(crate) fn least_of(batch: &Batch) -> usize {
        let others = batch.len() - batch.ranges();
        batch.byte_size().0 as usize + others * ENTRY_BYTES + MemoryRanges::least_of(batch)
    }

    pub(crate) fn new(chunks: &Arc<MemtableChunks>) -> Self {
        let refit_at = REFITS[0];
        Self { refit_at, ..Self::with_tree(EntryTree::new(chunks, Window::new()), chunks) }
    }

    /// A memtable that expects keys like those of `before`.
    pub(crate) fn following(before: &Self, chunks: &Arc<MemtableChunks>) -> Self {
        let ends = before.tree.ends();
        let window = ends.map_or_else(Window::new, |(first, last)| Window::between(first, last));
        Self::with_tree(EntryTree::new(chunks, window), chunks)
    }

    /// Adds a batch's entries, as [`insert`](Self::insert) does. The memtable may be exchanged for
    /// one of the same entries whose window fits the keys: only that one has the batch.
    pub(crate) fn insert_or_exchange(
        table: &mut Arc<Self>,
        batch: &FrozenBatch,
        chunks: &Arc<MemtableChunks>,
    ) {
        if let Some(fitted) = table.fitted_to(batch, chunks) {
            fitted.check_replaces(table);
            *table = Arc::new(fitted);
        }
        table.insert(batch);
        if let Some(refitted) = table.refitted(chunks) {
            refitted.check_replaces(table);
            *table = Arc::new(refitted);
        }
    }

    /// Checks that it may take the place of another one.
    fn check_replaces(&self, other: &Self) {
        debug_assert_eq!(self.len(), other.len(), "entries");
        debug_assert_eq!(self.deletes(), other.deletes(), "deletes");
        debug_assert!(self.is_empty() || self.end() == other.end(), "up to {:?}", other.end());
        debug_assert_eq!(self.has_unlogged(), other.has_unlogged(), "entries without a log");
    }

    /// For the first entries of a memtable whose window is a guess, if they come as one batch: an
    /// empty memtable whose window fits the keys of the batch.
    fn fitted_to(&self, batch: &FrozenBatch, chunks: &Arc<MemtableChunks>) -> Option<Self> {
        let is_fitted = self.refit_at != REFITS[0];
        if is_fitted || !self.is_empty() || batch.entries().count() < REFITS[0] {
            return None;
        }
        let bytes = batch.bytes();
        let key = |entry: &Entry| key::full_key(entry.space, &bytes[entry.key.clone()]);
        let keys = || batch.entries().map(|(_, entry)| key(&entry));
        let (first, last) = (keys().min()?, keys().max()?);
        let next = REFITS.into_iter().find(|refit| *refit > batch.entries().count());
        Some(Self {
            unlogged: AtomicBool::new(self.has_unlogged()),
            refit_at: next.unwrap_or(usize::MAX),
            ..Self::with_tree(EntryTree::new(chunks, Window::between(&first, &last)), chunks)
        })
    }

    /// Once its keys show a common prefix: a memtable of the same entries and the same size whose
    /// window fits them, to take its place before the next insertion. `None` where there is nothing
    /// to gain: most memtables have learnt the prefix from the one before.
    fn refitted(&self, chunks: &Arc<MemtableChunks>) -> Option<Self> {
        if self.tree.len() < self.refit_at
            || self.tree.bytes() > REFIT_BYTES_MAX
            || !self.ranges.is_empty()
            || self.replayed().is_some()
        {
            return None;
        }
        let next = REFITS.into_iter().find(|refit| *refit > self.tree.len());
        Some(Self {
            deletes: AtomicU64::new(self.deletes()),
            end: AtomicU64::new(self.end().0),
            unlogged: AtomicBool::new(self.has_unlogged()),
            refit_at: next.unwrap_or(usize::MAX),
            ..Self::with_tree(self.tree.refitted(chunks)?, chunks)
        })
    }

    fn with_tree(tree: EntryTree, chunks: &Arc<MemtableChunks>) -> Self {
        Self {
            tree: Arc::new(tree),
            ranges: MemoryRanges::default(),
            range_bytes: AtomicUsize::new(0),
            range_lease: Mutex::new(chunks.lease(0)),
            deletes: AtomicU64::new(0),
            end: AtomicU64::new(0),
            unlogged: AtomicBool::new(false),
            replayed: OnceLock::new(),
            refit_at: usize::MAX,
        }
    }

    /// Notes that all of a log has been replayed into it; the bytes read have this checksum.
    pub(crate) fn note_replayed(&self, log: FileId, checksum: u32) {
        let _ = self.replayed.set((log, checksum));
    }

    /// The log that was replayed into it, and its checksum.
    pub(crate) fn replayed(&self) -> Option<(FileId, u32)> {
        self.replayed.get().copied()
    }

    /// Notes that an added entry is in no log.
    pub(crate) fn note_unlogged(&self) {
        self.unlogged.store(true, Ordering::Relaxed);
    }

    /// Whether an entry is in no log.
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
        debug_assert!(batch.count() == 0 || !self.is_empty(), "entries of {:?}", batch.first());
        switch_point();
        self.end.store(batch.end().0, Ordering::Release);
    }

    /// Memory of its entries.
    pub(crate) fn bytes(&self) -> usize {
        self.tree.bytes() + self.range_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tree.len() == 0 && self.ranges.is_empty()
    }

    /// Number of entries, range tombstones included.
    pub(crate) fn len(&self) -> usize {
        self.tree.len() + self.ranges.len()
    }

    /// Number of deletes of single keys.
    pub(crate) fn deletes(&self) -> u64 {
        self.deletes.load(Ordering::Relaxed)
    }

    pub(crate) fn ranges(&self) -> &MemoryRanges {
        &self.ranges
    }

    /// The sequence after the newest entry's.
    pub(crate) fn end(&self) -> SeqNo {
        SeqNo(self.end.load(Ordering::Acquire))
    }

    /// The newest entry at or after `seek_key`, an internal key, with the same full key. `copy`
    /// copies its value.
    pub(crate) fn get(&self, seek_key: &[u8], copy: impl FnOnce(&[u8]) -> Bytes) -> Option<Found> {
        self.look(seek_key).map(|found| found.map(copy))
    }

    /// The same answer without the value, which is not copied.
    pub(crate) fn contains(&self, seek_key: &[u8]) -> Option<Found<()>> {
        self.look(seek_key).map(|found| found.map(|_| ()))
    }

    /// The sequence of the newest entry of a full key, or of a range tombstone over it.
    pub(crate) fn newest(&self, full_key: &[u8]) -> Option<SeqNo> {
        let first = self.tree.first_of_key(&key::internal_key(full_key, Trailer::NEWEST));
        let entry = first.map(|(internal_key, _)| key::split(internal_key).1.sequence());
        entry.max(self.ranges.cover(full_key, SeqNo::MAX))
    }

    /// The memtable's answer for a key; `None` if it does not know the key.
    fn look(&self, seek_key: &[u8]) -> Option<Found<&[u8]>> {
        let (sought, at) = key::split(seek_key);
        let found = self.tree.first_of_key(seek_key);
        let found = found.map(|(internal_key, value)| (key::split(internal_key).1, value));
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
    /// A cursor that stands on no entry until it seeks.
    pub(crate) fn new(table: Arc<Memtable>) -> Self {
        let entries = EntryCursor::new(Arc::clone(&table.tree));
        Self { table, entries }
    }

    /// Whether every entry of the memtable is older than a range tombstone.
    pub(crate) fn is_older(&self, cover: SeqNo) -> bool {
        self.table.end() <= cover
    }

    /// Moves to the first entry at or after `target`, an internal key.
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

    /// The internal key of its entry, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.entries.key()
    }

    /// A copy of the value, which does not keep the whole memtable.
    ///
    /// # Panics
    /// If it stands on no entry.
    pub(crate) fn value(&self) -> Bytes {
        Bytes::copy_from_slice(self.value_slice())
    }

    /// The value.
    ///
    /// # Panics
    /// If it stands on no entry.
    pub(crate) fn value_slice(&self) -> &[u8] {
        self.entries.value().expect("a cursor that stands on an entry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use terrace_env::MemoryGauge;

    use crate::key::{KeySpaceId, SPACE_BYTES};

    const SPACE: KeySpaceId = KeySpaceId(7);

    fn chunks() -> Arc<MemtableChunks> {
        MemtableChunks::counted_by(&MemoryGauge::new("memtables"))
    }

    fn table(batches: &[Batch]) -> Arc<Memtable> {
        let table = Memtable::new(&chunks());
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
        let at = |sequence| {
            table.get(&key::seek_key(SPACE, b"k", SeqNo(sequence)), Bytes::copy_from_slice)
        };
        assert_eq!(at(0), None);
        assert_eq!(at(1), Some(Found::Value(Bytes::from("one"))));
        assert_eq!(at(2), Some(Found::Value(Bytes::from("two"))));
        assert_eq!(at(3), Some(Found::Deleted));
        assert_eq!(table.contains(&key::seek_key(KeySpaceId(8), b"k", SeqNo(9))), None);
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
    fn a_memtable_is_exchanged_for_an_equal_one_once_and_again() {
        let chunks = chunks();
        let mut table = table(&[]);
        let mut exchanges = Vec::new();
        for number in 0..2000_u32 {
            let mut batch = Batch::new();
            // In no order, some overwritten, some deleted.
            let key = format!("customer/{:08}", number * 7919 % 1500);
            match number % 5 {
                0 => batch.delete(SPACE, key.as_bytes()),
                _ => batch.put(SPACE, key.as_bytes(), &number.to_le_bytes()),
            };
            table.insert(&batch.freeze(SeqNo(u64::from(number) + 1)));
            let Some(refitted) = table.refitted(&chunks) else { continue };
            let state = |table: &Memtable| {
                (table.bytes(), table.len(), table.deletes(), table.end(), table.has_unlogged())
            };
            assert_eq!(state(&refitted), state(&table));
            let refitted = Arc::new(refitted);
            let mut both = [&table, &refitted].map(|table| MemoryCursor::new(Arc::clone(table)));
            both.iter_mut().for_each(MemoryCursor::seek_to_first);
            while both[0].key().is_some() {
                assert_eq!(both[0].key(), both[1].key());
                assert_eq!(both[0].value(), both[1].value());
                both.iter_mut().for_each(MemoryCursor::next);
            }
            assert_eq!(both[1].key(), None);
            (table, exchanges) = (refitted, [exchanges, vec![number + 1]].concat());
        }
        assert_eq!(exchanges, [64, 1024]);
    }

    #[test]
    fn the_first_batch_decides_the_window_if_it_is_large_enough() {
        let chunks = chunks();
        for (count, exchanged) in [(63, false), (64, true), (5000, true)] {
            let mut batch = Batch::new();
            for number in 0..count {
                let key = format!("customer/{:08}", number * 7919 % 5003);
                batch.put(SPACE, key.as_bytes(), &[7; 100]);
            }
            let batch = batch.freeze(SeqNo(1));
            let (mut table, plain) = (table(&[]), table(&[]));
            let before = Arc::clone(&table);
            before.note_unlogged();
            Memtable::insert_or_exchange(&mut table, &batch, &chunks);
            plain.insert(&batch);
            assert_eq!(!Arc::ptr_eq(&table, &before), exchanged, "{count}");
            assert!(table.has_unlogged());
            assert_eq!((table.bytes(), table.len(), table.end()), {
                (plain.bytes(), plain.len(), plain.end())
            });
            let mut both = [&table, &plain].map(|table| MemoryCursor::new(Arc::clone(table)));
            both.iter_mut().for_each(MemoryCursor::seek_to_first);
            while both[0].key().is_some() {
                assert_eq!(both[0].key(), both[1].key());
                both.iter_mut().for_each(MemoryCursor::next);
            }
            assert_eq!(both[1].key(), None);
        }
    }

    #[test]
    fn a_memtable_that_knows_the_prefix_or_is_large_is_not_exchanged() {
        let chunks = chunks();
        let keys: Vec<_> = (0..100u32).map(u32::to_be_bytes).collect();
        let first = table(&keys.iter().map(|key| put(key, b"")).collect::<Vec<_>>());
        assert!(first.refitted(&chunks).is_some());
        let second = Memtable::following(&first, &chunks);
        for (at, key) in keys.iter().enumerate() {
            second.insert(&put(key, b"").freeze(SeqNo(1000 + at as u64)));
        }
        assert!(second.refitted(&chunks).is_none());
        let value = vec![0; REFIT_BYTES_MAX / 64];
        let large = table(&keys.iter().map(|key| put(key, &value)).collect::<Vec<_>>());
        assert!(large.refitted(&chunks).is_none());
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
