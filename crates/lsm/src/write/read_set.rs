//! [`ReadSet`]: the keys and ranges of keys that a conditional write depends on. [`GroupWrites`]:
//! the keys and ranges that batches of a group write, to compare with read sets.
//!
//! Plain values, without locks or I/O.

use std::collections::BTreeSet;
use std::ops::Bound;

use terrace_env::{Date, runner};

use super::key_ranges::KeyRanges;
use crate::KeySpaceId;
use crate::batch::Batch;
use crate::expiry;
use crate::key::{self, Kind};

/// Full keys, and ranges of them, that were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadSet {
    keys: BTreeSet<Vec<u8>>,
    key_bytes: usize,
    ranges: KeyRanges,
    /// The first expiry among the values that were read, and its full key.
    expires: Option<(Date, Vec<u8>)>,
}

impl ReadSet {
    /// Memory of a key, without its bytes.
    pub(crate) const KEY_BYTES: usize = 48;

    /// The set of one key.
    pub(crate) fn of_key(full_key: Vec<u8>) -> Self {
        let mut reads = Self::default();
        reads.add_key(full_key);
        reads
    }

    /// Adds a key, whether it has a value or not.
    pub(crate) fn add_key(&mut self, full_key: Vec<u8>) {
        if self.ranges.contains(&full_key) {
            return;
        }
        let bytes = full_key.len() + Self::KEY_BYTES;
        if self.keys.insert(full_key) {
            self.key_bytes += bytes;
        }
        debug_assert!(self.key_bytes >= self.keys.len() * Self::KEY_BYTES, "{}", self.key_bytes);
    }

    /// Notes the expiry of a value that was read; `None`: it does not expire.
    pub(crate) fn note_expiry(&mut self, full_key: &[u8], expiry: Option<Date>) {
        let Some(expiry) = expiry else { return };
        if self.expires.as_ref().is_none_or(|(first, _)| expiry < *first) {
            self.expires = Some((expiry, full_key.to_vec()));
        }
    }

    /// Full key of a value that was read and has expired since, if there is one.
    pub(crate) fn expired(&self) -> Option<&[u8]> {
        let (expiry, full_key) = self.expires.as_ref()?;
        expiry::has_expired(*expiry, runner::date()).then_some(&full_key[..])
    }

    /// Adds the keys from `start` up to, and without, `end`, all of one key space.
    pub(crate) fn add_range(&mut self, start: Vec<u8>, end: Vec<u8>) {
        self.ranges.insert(start, end);
    }

    /// The keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| &key[..])
    }

    /// The ranges, in order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.ranges.iter()
    }

    /// Key spaces that were read; each may come several times.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = KeySpaceId> {
        let starts = self.ranges().map(|(start, _)| start);
        self.keys().chain(starts).map(key::space_of)
    }

    /// Approximate memory of the set.
    pub(crate) fn bytes(&self) -> usize {
        let expires = self.expires.as_ref().map_or(0, |(_, full_key)| full_key.len());
        self.key_bytes + self.ranges.bytes() + expires
    }
}

/// Keys and ranges that several batches write.
#[derive(Debug, Default)]
pub(crate) struct GroupWrites {
    keys: BTreeSet<Vec<u8>>,
    ranges: KeyRanges,
}

impl GroupWrites {
    /// Adds the writes of a batch.
    pub(crate) fn add(&mut self, batch: &Batch) {
        for entry in batch.entries() {
            let full_key = key::full_key(entry.space, batch.bytes_of(&entry.key));
            if entry.kind != Kind::RangeDelete {
                self.keys.insert(full_key);
                continue;
            }
            let end = batch.bytes_of(&entry.value);
            let space_end = || key::space_end(entry.space).expect("an id below the largest");
            let end = if end.is_empty() { space_end() } else { key::full_key(entry.space, end) };
            self.ranges.insert(full_key, end);
        }
    }

    /// Whether a batch writes any of the keys read.
    pub(crate) fn meet(&self, reads: &ReadSet) -> bool {
        let written = |(start, end): (&[u8], &[u8])| {
            let bounds = (Bound::Included(start), Bound::Excluded(end));
            self.keys.range::<[u8], _>(bounds).next().is_some() || self.ranges.overlaps(start, end)
        };
        reads.keys().any(|key| self.keys.contains(key) || self.ranges.contains(key))
            || reads.ranges().any(written)
    }

    /// Forgets all writes.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Bounds;
    use crate::key::SPACE_BYTES;

    const SPACE: KeySpaceId = KeySpaceId(7);

    fn reads(keys: &[&str], ranges: &[(&str, &str)]) -> ReadSet {
        let full = |key: &str| key::full_key(SPACE, key.as_bytes());
        let mut reads = ReadSet::default();
        keys.iter().for_each(|key| reads.add_key(full(key)));
        ranges.iter().for_each(|(start, end)| reads.add_range(full(start), full(end)));
        reads
    }

    #[test]
    fn writes_meet_the_reads_of_the_same_keys_and_no_others() {
        let mut batch = Batch::new();
        batch.put(SPACE, b"b", b"").delete(SPACE, b"f");
        batch.delete_range(SPACE, &Bounds::from(b"m".as_slice()..b"p"));
        batch.delete_range(SPACE, &Bounds::starting_at(b"x"));
        batch.put(KeySpaceId(8), b"c", b"");
        let mut writes = GroupWrites::default();
        writes.add(&batch);
        for (keys, ranges, meet) in [
            (&["b"][..], &[][..], true),
            (&["a", "c", "p"], &[], false),
            (&["n"], &[], true),
            (&["z"], &[], true),
            (&[], &[("a", "b"), ("c", "f"), ("g", "m"), ("p", "x")], false),
            (&[], &[("a", "c")], true),
            (&[], &[("e", "g")], true),
            (&[], &[("a", "b"), ("o", "q")], true),
            (&[], &[("y", "z")], true),
        ] {
            assert_eq!(writes.meet(&reads(keys, ranges)), meet, "{keys:?} {ranges:?}");
        }
        writes.clear();
        assert!(!writes.meet(&reads(&["b"], &[("a", "z")])));
    }

    #[test]
    fn a_key_of_a_range_that_was_read_takes_no_memory() {
        let mut reads = reads(&["k"], &[("a", "c")]);
        let bytes = reads.bytes();
        for key in [b"b", b"k"] {
            reads.add_key(key::full_key(SPACE, key));
        }
        assert_eq!(reads.bytes(), bytes);
        assert!(reads.spaces().all(|space| space == SPACE));
        assert_eq!(reads.keys().next().map(|key| &key[SPACE_BYTES..]), Some(&b"k"[..]));
    }

    #[test]
    fn of_the_values_that_were_read_the_first_to_expire_counts() {
        runner::simulate(1, || {
            let full = |key: &str| key::full_key(SPACE, key.as_bytes());
            let (mut reads, now) = (ReadSet::default(), runner::date());
            let after = |seconds| now + Duration::from_secs(seconds);
            for (key, expiry) in [("a", Some(3)), ("b", Some(1)), ("c", Some(2)), ("d", None)] {
                reads.note_expiry(&full(key), expiry.map(after));
            }
            assert_eq!(reads.expired(), None);
            runner::set_date(after(1));
            assert_eq!(reads.expired(), Some(&full("b")[..]));
        });
    }
}
