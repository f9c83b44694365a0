//! [`WriteBuffer`]: the writes of a transaction that is open, as its reads see them.
//!
//! - Of each key, the last write is kept. A range delete removes the writes of its range that came
//!   before it, and hides what the store holds there; later writes of the range are kept beside it.
//! - The batch has the range deletes first, so it leaves what the writes leave in their order.
//!
//! A plain value, without locks or I/O.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::expiry::Shown;
use crate::key::{self, SPACE_BYTES};
use crate::write::KeyRanges;
use crate::{Batch, Bounds};

/// Memory of a write of one key, besides its key and its value.
const WRITE_BYTES: usize = 96;

/// A write of one key: the value, with its expiry if it has one, or `None` for a delete.
pub(super) type Write = Option<Shown>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// By full key.
    writes: BTreeMap<Vec<u8>, Write>,
    bytes: usize,
    /// Ranges of full keys that are deleted, before the writes.
    deleted: KeyRanges,
}

/// The memory of a write.
pub(super) fn write_bytes(full_key: &[u8], value: Option<&[u8]>) -> usize {
    full_key.len() + value.map_or(0, <[u8]>::len) + WRITE_BYTES
}

fn bytes_of(full_key: &[u8], write: &Write) -> usize {
    write_bytes(full_key, write.as_ref().map(|write| &write.value[..]))
}

impl WriteBuffer {
    /// Writes a value, or a delete.
    pub(super) fn write(&mut self, full_key: Vec<u8>, write: Write) {
        let key_bytes = full_key.len() + WRITE_BYTES;
        let bytes = bytes_of(&full_key, &write);
        if let Some(before) = self.writes.insert(full_key, write) {
            self.bytes -= key_bytes + before.map_or(0, |before| before.value.len());
        }
        self.bytes += bytes;
    }

    /// Deletes the full keys from `start` up to, and without, `end`, all of one key space.
    pub(super) fn delete_range(&mut self, start: Vec<u8>, end: Vec<u8>) {
        if start >= end {
            return;
        }
        let mut from = self.writes.split_off(&start);
        let mut kept = from.split_off(&end);
        self.writes.append(&mut kept);
        let gone = from.iter().map(|(key, write)| bytes_of(key, write));
        self.bytes -= gone.sum::<usize>();
        self.deleted.insert(start, end);
    }

    /// The transaction's own answer for a key: its last write, or `None` if it has not written
    /// there. A value that has expired counts as a delete.
    pub(super) fn get(&self, full_key: &[u8]) -> Option<Write> {
        let deleted = || self.deleted.contains(full_key).then_some(None);
        let write = self.writes.get(full_key).cloned();
        write.map(|write| write.and_then(Shown::now)).or_else(deleted)
    }

    /// Whether what the store holds under a key is hidden by a range delete.
    pub(super) fn hides(&self, full_key: &[u8]) -> bool {
        self.deleted.contains(full_key)
    }

    /// The first write of a key within the bounds.
    pub(super) fn first(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<(&[u8], &Write)> {
        self.within(from, to).next()
    }

    /// The last write of a key within the bounds.
    pub(super) fn last(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<(&[u8], &Write)> {
        self.within(from, to).next_back()
    }

    fn within(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &Write)> {
        let is_empty = match (from, to) {
            (Bound::Included(from), Bound::Included(to)) => from > to,
            (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
            | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        };
        let found = (!is_empty).then(|| self.writes.range::<[u8], _>((from, to)));
        found.into_iter().flatten().map(|(key, write)| (&key[..], write))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.deleted.is_empty()
    }

    /// About the memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.deleted.bytes()
    }

    /// The batch that leaves what these writes leave.
    pub(super) fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        for (start, end) in self.deleted.iter() {
            let space = key::space_of(start);
            let bounds = Bounds::starting_at(&start[SPACE_BYTES..]);
            let inner = key::space_of(end) == space;
            let bounds = if inner { bounds.until(&end[SPACE_BYTES..]) } else { bounds };
            batch.delete_range(space, &bounds);
        }
        for (full_key, write) in &self.writes {
            let (space, user_key) = (key::space_of(full_key), &full_key[SPACE_BYTES..]);
            match write {
                Some(Shown { value, expiry: None }) => batch.put(space, user_key, value),
                Some(Shown { value, expiry: Some(expiry) }) => {
                    batch.put_with_expiry(space, user_key, value, *expiry)
                }
                None => batch.delete(space, user_key),
            };
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeySpaceId;

    fn value(bytes: &[u8]) -> Shown {
        Shown { value: bytes.to_vec().into(), expiry: None }
    }

    fn full(key: &str) -> Vec<u8> {
        key::full_key(KeySpaceId(3), key.as_bytes())
    }

    #[test]
    fn the_last_write_of_a_key_counts_and_a_range_delete_hides_what_came_before_it() {
        let mut buffer = WriteBuffer::default();
        let put = |buffer: &mut WriteBuffer, key| buffer.write(full(key), Some(value(b"v")));
        ["a", "b", "c"].into_iter().for_each(|key| put(&mut buffer, key));
        buffer.write(full("a"), None);
        buffer.delete_range(full("b"), full("d"));
        put(&mut buffer, "c");
        assert_eq!(buffer.get(&full("a")), Some(None));
        assert_eq!(buffer.get(&full("b")), Some(None));
        assert_eq!(buffer.get(&full("c")), Some(Some(value(b"v"))));
        assert_eq!(buffer.get(&full("d")), None);
        assert!(buffer.hides(&full("c")) && !buffer.hides(&full("a")));
        assert_eq!(buffer.batch().len(), 3, "a range, a delete and a put");
        let (from, to) = (full("a"), full("c"));
        let last = buffer.last(Bound::Included(&from), Bound::Excluded(&to));
        assert_eq!(last.map(|(key, _)| key.to_vec()), Some(full("a")));
        assert!(buffer.first(Bound::Excluded(&to), Bound::Excluded(&to)).is_none());
    }

    #[test]
    fn memory_is_counted_as_writes_come_and_go() {
        let mut buffer = WriteBuffer::default();
        buffer.write(full("key"), Some(value(&[0; 100])));
        let one = buffer.bytes();
        buffer.write(full("key"), None);
        assert_eq!(buffer.bytes(), one - 100);
        buffer.delete_range(full("k"), full("l"));
        let range = buffer.bytes();
        buffer.delete_range(full("ka"), full("kb"));
        assert_eq!(buffer.bytes(), range);
        assert!(!buffer.is_empty());
    }
}
