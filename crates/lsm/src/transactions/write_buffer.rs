//! [`WriteBuffer`]: the uncommitted writes of a transaction, for its reads.
//!
//! - The last write of a key is kept, and the operands after it. A range delete removes earlier
//!   writes of its range, and hides the store's entries there; later writes of the range are kept
//!   with it.
//! - The batch has the range deletes first, so it has the same result as the writes in their order.
//!
//! A plain value, without locks or I/O.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use terrace_env::Date;

use crate::expiry::Shown;
use crate::key::{self, SPACE_BYTES};
use crate::operands::Chain;
use crate::write::KeyRanges;
use crate::{Batch, Bounds};

/// Memory of a write of one key, without its key and its value.
const WRITE_BYTES: usize = 96;

/// Memory of an operand, without its bytes.
const OPERAND_BYTES: usize = 32;

/// A write of one key: the value, with its expiry if it has one, or `None` for a delete.
pub(super) type Write = Option<Shown>;

/// Writes of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// The last write that is no operand; `None`: the operands combine with the stored value.
    pub(super) base: Option<Write>,
    /// Oldest first.
    pub(super) operands: Vec<Bytes>,
}

impl Writes {
    /// Memory of the writes, without their key.
    fn bytes(&self) -> usize {
        let base = self.base.iter().flatten().map(|base| base.value.len());
        base.chain(self.operands.iter().map(|operand| operand.len() + OPERAND_BYTES)).sum()
    }

    /// The entries of the key's value with operands. `below`: the stored value.
    pub(super) fn chain(self, below: Option<Shown>) -> Chain {
        let mut chain = Chain::default();
        self.operands.into_iter().rev().for_each(|operand| chain.push(operand));
        match self.base.unwrap_or(below).and_then(Shown::now) {
            Some(base) => chain.end_with(base, Date(0)),
            None => chain.end_deleted(),
        }
        chain
    }
}

/// The most keys that are walked to check the count of bytes.
const CHECKED_MAX: usize = 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// By full key.
    writes: BTreeMap<Vec<u8>, Writes>,
    bytes: usize,
    /// Deleted ranges of full keys, which come before the writes.
    deleted: KeyRanges,
}

/// Memory of a write.
pub(super) fn write_bytes(full_key: &[u8], value: Option<&[u8]>) -> usize {
    full_key.len() + value.map_or(0, <[u8]>::len) + WRITE_BYTES
}

/// Memory of an operand, if it is the first write of its key.
pub(super) fn operand_bytes(full_key: &[u8], operand: &[u8]) -> usize {
    write_bytes(full_key, Some(operand)) + OPERAND_BYTES
}

fn bytes_of(full_key: &[u8], writes: &Writes) -> usize {
    write_bytes(full_key, None) + writes.bytes()
}

impl WriteBuffer {
    /// Checks the count of bytes, while a walk is short.
    fn check(&self) {
        if cfg!(debug_assertions) && self.writes.len() <= CHECKED_MAX {
            let bytes = self.writes.iter().map(|(key, writes)| bytes_of(key, writes));
            debug_assert_eq!(
                self.bytes,
                bytes.sum::<usize>(),
                "bytes of {} keys",
                self.writes.len()
            );
        }
    }

    /// Writes a value, or a delete.
    pub(super) fn write(&mut self, full_key: Vec<u8>, write: Write) {
        self.check();
        let key_bytes = full_key.len() + WRITE_BYTES;
        let writes = Writes { base: Some(write), operands: Vec::new() };
        let bytes = bytes_of(&full_key, &writes);
        if let Some(before) = self.writes.insert(full_key, writes) {
            self.bytes -= key_bytes + before.bytes();
        }
        self.bytes += bytes;
    }

    /// Writes an operand.
    pub(super) fn merge(&mut self, full_key: Vec<u8>, operand: Bytes) {
        self.check();
        let key_bytes = full_key.len() + WRITE_BYTES;
        self.bytes += operand.len() + OPERAND_BYTES;
        let writes = self.writes.entry(full_key).or_insert_with(|| {
            self.bytes += key_bytes;
            Writes::default()
        });
        writes.operands.push(operand);
    }

    /// Deletes the full keys from `start` up to, and without, `end`, all of one key space.
    pub(super) fn delete_range(&mut self, start: Vec<u8>, end: Vec<u8>) {
        if start >= end {
            return;
        }
        self.check();
        let mut from = self.writes.split_off(&start);
        let mut kept = from.split_off(&end);
        self.writes.append(&mut kept);
        let gone = from.iter().map(|(key, write)| bytes_of(key, write));
        self.bytes -= gone.sum::<usize>();
        self.deleted.insert(start, end);
    }

    /// The transaction's own writes of a key, with a delete for their base if a range delete came
    /// before them; `None` if it has not written there. A value that has expired counts as a
    /// delete.
    pub(super) fn get(&self, full_key: &[u8]) -> Option<Writes> {
        let deleted = || self.deleted.contains(full_key).then_some(None);
        let Some(writes) = self.writes.get(full_key).cloned() else {
            return deleted().map(|base| Writes { base: Some(base), operands: Vec::new() });
        };
        let base = writes.base.map(|write| write.and_then(Shown::now)).or_else(deleted);
        Some(Writes { base, ..writes })
    }

    /// Whether a range delete hides the stored value of a key.
    pub(super) fn hides(&self, full_key: &[u8]) -> bool {
        self.deleted.contains(full_key)
    }

    /// The first write of a key within the bounds.
    pub(super) fn first(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<(&[u8], &Writes)> {
        self.within(from, to).next()
    }

    /// The last write of a key within the bounds.
    pub(super) fn last(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Option<(&[u8], &Writes)> {
        self.within(from, to).next_back()
    }

    fn within(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &Writes)> {
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

    /// Approximate memory of the buffer.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.deleted.bytes()
    }

    /// The batch with the same result as these writes.
    pub(super) fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        for (start, end) in self.deleted.iter() {
            let space = key::space_of(start);
            let bounds = Bounds::starting_at(&start[SPACE_BYTES..]);
            let inner = key::space_of(end) == space;
            let bounds = if inner { bounds.until(&end[SPACE_BYTES..]) } else { bounds };
            batch.delete_range(space, &bounds);
        }
        for (full_key, writes) in &self.writes {
            let (space, user_key) = (key::space_of(full_key), &full_key[SPACE_BYTES..]);
            match &writes.base {
                Some(Some(Shown { value, expiry: None })) => batch.put(space, user_key, value),
                Some(Some(Shown { value, expiry: Some(expiry) })) => {
                    batch.put_with_expiry(space, user_key, value, *expiry)
                }
                Some(None) => batch.delete(space, user_key),
                None => &mut batch,
            };
            for operand in &writes.operands {
                batch.merge(space, user_key, operand);
            }
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
        let only = |write: Write| Some(Writes { base: Some(write), operands: Vec::new() });
        assert_eq!(buffer.get(&full("a")), only(None));
        assert_eq!(buffer.get(&full("b")), only(None));
        assert_eq!(buffer.get(&full("c")), only(Some(value(b"v"))));
        assert_eq!(buffer.get(&full("d")), None);
        assert!(buffer.hides(&full("c")) && !buffer.hides(&full("a")));
        assert_eq!(buffer.batch().len(), 3, "a range, a delete and a put");
        let (from, to) = (full("a"), full("c"));
        let last = buffer.last(Bound::Included(&from), Bound::Excluded(&to));
        assert_eq!(last.map(|(key, _)| key.to_vec()), Some(full("a")));
        assert!(buffer.first(Bound::Excluded(&to), Bound::Excluded(&to)).is_none());
    }

    #[test]
    fn the_writes_within_any_bounds_are_those_of_a_filter() {
        let keys = ["a", "b", "c", "d", "e"].map(full);
        let mut buffer = WriteBuffer::default();
        let written = [1, 3].map(|number: usize| &keys[number]);
        written.into_iter().for_each(|key| buffer.write(key.clone(), Some(value(b"v"))));
        let each = |key| [Bound::Included(key), Bound::Excluded(key)];
        let bounds = || keys.iter().map(Vec::as_slice).flat_map(each).chain([Bound::Unbounded]);
        for (from, to) in bounds().flat_map(|from| bounds().map(move |to| (from, to))) {
            let is_after = |key: &[u8]| match from {
                Bound::Included(from) => key >= from,
                Bound::Excluded(from) => key > from,
                Bound::Unbounded => true,
            };
            let is_before = |key: &[u8]| match to {
                Bound::Included(to) => key <= to,
                Bound::Excluded(to) => key < to,
                Bound::Unbounded => true,
            };
            let expected: Vec<&[u8]> = written.into_iter().map(Vec::as_slice).collect();
            let mut expected = expected.into_iter().filter(|key| is_after(key) && is_before(key));
            let first = buffer.first(from, to).map(|(key, _)| key);
            let last = buffer.last(from, to).map(|(key, _)| key);
            assert_eq!(
                (first, last),
                (expected.clone().next(), expected.next_back()),
                "{from:?}, {to:?}"
            );
        }
    }

    #[test]
    fn operands_come_after_the_last_write_of_their_key_and_go_with_the_next() {
        let (mut buffer, operand) = (WriteBuffer::default(), |text: &'static str| text.into());
        buffer.merge(full("a"), operand("1"));
        buffer.merge(full("a"), operand("2"));
        let operands = vec![operand("1"), operand("2")];
        assert_eq!(buffer.get(&full("a")), Some(Writes { base: None, operands: operands.clone() }));
        buffer.write(full("a"), Some(value(b"v")));
        assert_eq!(buffer.bytes(), write_bytes(&full("a"), Some(b"v")), "they are gone");
        buffer.merge(full("a"), operand("1"));
        buffer.delete_range(full("b"), full("c"));
        buffer.merge(full("b"), operand("2"));
        let found = buffer.get(&full("b")).unwrap();
        assert_eq!(found.base, Some(None), "the range delete came before");
        assert_eq!(buffer.batch().len(), 4, "a range, a put and two operands");
        buffer.delete_range(full("a"), full("c"));
        assert_eq!(buffer.batch().len(), 1);
        assert_eq!(buffer.bytes(), buffer.deleted.bytes());
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
