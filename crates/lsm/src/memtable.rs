//! The newest writes, in memory and in order.
//!
//! A skip list whose entries are slices of the batches they came in. One writer at a time inserts
//! (the write leader); any number of readers go through it meanwhile, without locks. Nothing is
//! ever removed: a memtable is filled, frozen, flushed and dropped as a whole.
//!
//! An entry compares by key space and by the first eight bytes of its user key before the key's
//! memory is touched. Readers see entries that are not yet published and must look only at
//! sequences that are.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering as Atomic};

use bytes::Bytes;
use crossbeam_skiplist::SkipSet;
use terrace_env::sync::Mutex;
use terrace_env::{MemoryGauge, MemoryLease, SeqNo};

use crate::batch::FrozenBatch;
use crate::key::{self, KeySpaceId, Kind, SPACE_BYTES, Trailer};
use crate::ranges::{MemoryRanges, RangeTombstone};

/// What a skip list node takes besides the batch's bytes: the entry, the tower and the allocator.
pub(crate) const NODE_BYTES: usize = 128;
/// The most entries a cursor copies out at a time.
const CURSOR_ENTRIES_MAX: usize = 64;
/// How many it copies out at first, and how many times more at each refill: a seek for one entry
/// stays cheap.
const FILL_FIRST: usize = 4;
const FILL_GROWTH: usize = 4;

/// Where an entry stands, without its memory.
#[derive(Clone, Copy)]
struct Place<'a> {
    space: u32,
    prefix: u64,
    user_key: &'a [u8],
    trailer: Trailer,
}

impl<'a> Place<'a> {
    fn new(space: KeySpaceId, user_key: &'a [u8], trailer: Trailer) -> Self {
        Self { space: space.0, prefix: prefix_of(user_key), user_key, trailer }
    }

    /// Where an internal key stands.
    fn of(internal_key: &'a [u8]) -> Self {
        let (full_key, trailer) = key::split(internal_key);
        let (space, user_key) =
            full_key.split_first_chunk::<SPACE_BYTES>().expect("a full key has a key space");
        Self::new(KeySpaceId(u32::from_be_bytes(*space)), user_key, trailer)
    }

    fn order(&self, other: &Place<'_>) -> Ordering {
        (self.space, self.prefix)
            .cmp(&(other.space, other.prefix))
            .then_with(|| self.user_key.cmp(other.user_key))
            .then_with(|| self.trailer.cmp(&other.trailer))
    }
}

/// The first eight bytes, with zeros where there are fewer: orders keys that differ in them.
fn prefix_of(user_key: &[u8]) -> u64 {
    if let Some(chunk) = user_key.first_chunk::<8>() {
        return u64::from_be_bytes(*chunk);
    }
    let mut padded = [0; 8];
    padded[..user_key.len()].copy_from_slice(user_key);
    u64::from_be_bytes(padded)
}

/// A search key or an entry.
trait Placed {
    fn place(&self) -> Place<'_>;
}

impl Placed for Place<'_> {
    fn place(&self) -> Place<'_> {
        *self
    }
}

impl PartialEq for dyn Placed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for dyn Placed + '_ {}

impl PartialOrd for dyn Placed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Placed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().order(&other.place())
    }
}

/// One entry of a memtable.
#[derive(Clone, Debug)]
struct Node {
    space: u32,
    key_len: u32,
    prefix: u64,
    trailer: Trailer,
    /// From the user key's first byte to the value's last.
    record: Bytes,
    value_start: u32,
}

impl Node {
    fn user_key(&self) -> &[u8] {
        &self.record[..self.key_len as usize]
    }

    fn value(&self) -> Bytes {
        self.record.slice(self.value_start as usize..)
    }
}

impl Placed for Node {
    fn place(&self) -> Place<'_> {
        let (space, prefix, trailer) = (self.space, self.prefix, self.trailer);
        Place { space, prefix, user_key: self.user_key(), trailer }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().order(&other.place())
    }
}

impl<'a> Borrow<dyn Placed + 'a> for Node {
    fn borrow(&self) -> &(dyn Placed + 'a) {
        self
    }
}

/// What a place that was looked in says about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Value(Bytes),
    Deleted,
}

impl Found {
    pub(crate) fn value(self) -> Option<Bytes> {
        match self {
            Self::Value(value) => Some(value),
            Self::Deleted => None,
        }
    }
}

/// The newest writes, in memory and in order.
#[derive(Debug)]
pub(crate) struct Memtable {
    nodes: SkipSet<Node>,
    ranges: MemoryRanges,
    bytes: AtomicUsize,
    /// The sequence behind the newest entry's; 0 while there is none.
    end: AtomicU64,
    lease: Mutex<MemoryLease>,
}

impl Memtable {
    pub(crate) fn new(gauge: &MemoryGauge) -> Self {
        let (bytes, end) = (AtomicUsize::new(0), AtomicU64::new(0));
        let (nodes, ranges) = (SkipSet::new(), MemoryRanges::default());
        Self { nodes, ranges, bytes, end, lease: Mutex::new(gauge.lease(0)) }
    }

    /// Adds a batch's entries. One caller at a time, batches in order.
    pub(crate) fn insert(&self, batch: &FrozenBatch) {
        debug_assert!(batch.first().0 >= self.end.load(Atomic::Relaxed), "batches in order");
        let mut range_bytes = 0;
        for (sequence, entry) in batch.entries() {
            if entry.kind == Kind::RangeDelete {
                range_bytes += self.ranges.insert(RangeTombstone::of(batch, sequence, &entry));
                continue;
            }
            let record = batch.bytes().slice(entry.key.start..entry.value.end);
            let user_key = &record[..entry.key.len()];
            self.nodes.insert(Node {
                space: entry.space.0,
                key_len: entry.key.len() as u32,
                prefix: prefix_of(user_key),
                trailer: Trailer::new(sequence, entry.kind),
                value_start: (entry.value.start - entry.key.start) as u32,
                record,
            });
        }
        let grown = batch.bytes().len() + batch.count() as usize * NODE_BYTES + range_bytes;
        let bytes = self.bytes.fetch_add(grown, Atomic::Relaxed) + grown;
        self.end.store(batch.end().0, Atomic::Release);
        self.lease.lock().resize(bytes);
    }

    /// The memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Atomic::Relaxed)
    }

    pub(crate) fn entries(&self) -> u64 {
        self.nodes.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.ranges.is_empty()
    }

    pub(crate) fn ranges(&self) -> &MemoryRanges {
        &self.ranges
    }

    /// The sequence behind the newest entry's.
    pub(crate) fn end(&self) -> SeqNo {
        SeqNo(self.end.load(Atomic::Acquire))
    }

    /// The newest entry of a key that is visible at `sequence`.
    pub(crate) fn get(&self, space: KeySpaceId, user_key: &[u8], sequence: SeqNo) -> Option<Found> {
        let probe = Place::new(space, user_key, Trailer::seek(sequence));
        let found = self.nodes.lower_bound(Bound::Included(&probe as &dyn Placed));
        let found = found.filter(|node| node.space == space.0 && node.user_key() == user_key);
        if let Some(cover) = self.ranges.cover(|| key::full_key(space, user_key), sequence)
            && found.as_ref().is_none_or(|node| node.trailer.sequence() < cover)
        {
            return Some(Found::Deleted);
        }
        let found = found?;
        let node: &Node = &found;
        Some(match node.trailer.kind() {
            Some(Kind::Put) => Found::Value(node.value()),
            Some(Kind::Delete | Kind::RangeDelete) | None => Found::Deleted,
        })
    }
}

/// Walks a memtable in order, forward and backward. Holds copies of the next few entries (which
/// share the batches' memory), so that it needs no guard on the list between steps.
#[derive(Debug)]
pub(crate) struct MemoryCursor {
    table: Arc<Memtable>,
    nodes: Vec<Node>,
    at: usize,
    key: Vec<u8>,
}

impl MemoryCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(table: Arc<Memtable>) -> Self {
        Self { table, nodes: Vec::new(), at: 0, key: Vec::new() }
    }

    /// Whether every entry of the memtable is older than a range tombstone.
    pub(crate) fn is_older(&self, cover: SeqNo) -> bool {
        self.table.end() <= cover
    }

    /// Moves to the first entry at or behind `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.fill(Bound::Included(&Place::of(target) as &dyn Placed), FILL_FIRST);
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        self.fill_back(Bound::Excluded(&Place::of(target) as &dyn Placed), FILL_FIRST);
    }

    pub(crate) fn seek_to_first(&mut self) {
        self.fill(Bound::Unbounded, FILL_FIRST);
    }

    pub(crate) fn seek_to_last(&mut self) {
        self.fill_back(Bound::Unbounded, FILL_FIRST);
    }

    pub(crate) fn next(&mut self) {
        self.at += 1;
        if self.at < self.nodes.len() {
            return self.load_key();
        }
        let Some(last) = self.nodes.pop() else { return };
        let count = ((self.nodes.len() + 1) * FILL_GROWTH).min(CURSOR_ENTRIES_MAX);
        self.fill(Bound::Excluded(&last as &dyn Placed), count);
    }

    pub(crate) fn prev(&mut self) {
        if self.nodes.is_empty() {
            return;
        }
        if self.at > 0 {
            self.at -= 1;
            return self.load_key();
        }
        let count = (self.nodes.len() * FILL_GROWTH).min(CURSOR_ENTRIES_MAX);
        let first = self.nodes.swap_remove(0);
        self.fill_back(Bound::Excluded(&first as &dyn Placed), count);
    }

    /// The internal key it stands on, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        (self.at < self.nodes.len()).then_some(&self.key)
    }

    pub(crate) fn value(&self) -> Bytes {
        self.nodes[self.at].value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        let node = &self.nodes[self.at];
        &node.record[node.value_start as usize..]
    }

    fn fill(&mut self, from: Bound<&(dyn Placed + '_)>, count: usize) {
        self.nodes.clear();
        self.at = 0;
        let first = self.table.nodes.lower_bound(from);
        let rest = std::iter::successors(first, |entry| entry.next());
        self.nodes.extend(rest.take(count).map(|entry| (*entry).clone()));
        self.load_key();
    }

    fn fill_back(&mut self, before: Bound<&(dyn Placed + '_)>, count: usize) {
        self.nodes.clear();
        let last = self.table.nodes.upper_bound(before);
        let rest = std::iter::successors(last, |entry| entry.prev());
        self.nodes.extend(rest.take(count).map(|entry| (*entry).clone()));
        self.nodes.reverse();
        self.at = self.nodes.len().saturating_sub(1);
        self.load_key();
    }

    fn load_key(&mut self) {
        let Some(node) = self.nodes.get(self.at) else { return };
        self.key.clear();
        key::put_full_key(&mut self.key, KeySpaceId(node.space), node.user_key());
        self.key.extend_from_slice(&node.trailer.to_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;

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
        let at = |sequence| table.get(SPACE, b"k", SeqNo(sequence));
        assert_eq!(at(0), None);
        assert_eq!(at(1), Some(Found::Value(Bytes::from("one"))));
        assert_eq!(at(2), Some(Found::Value(Bytes::from("two"))));
        assert_eq!(at(3), Some(Found::Deleted));
        assert_eq!(table.get(KeySpaceId(8), b"k", SeqNo(9)), None);
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
        let mut cursor = MemoryCursor::new(table);
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
