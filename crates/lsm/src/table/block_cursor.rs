//! [`BlockCursor`]: walks the entries of one sorted block in memory, forward and backward.
//!
//! - An entry can be decoded only after the one before it, from a restart point on. So a step back
//!   decodes the entries since the restart point once, and keeps them for the next steps back, up
//!   to about [`PASSED_BYTES_MAX`] bytes of keys.
//! - `next` and `prev` are for a cursor that stands on an entry. At an end, after an error, and in
//!   a new block, the caller must seek first.
//! - An entry that cannot be decoded is [`Error::Corruption`]. The kinds and the order of entries
//!   are not checked.
//!
//! One owner; no I/O.

use bytes::Bytes;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::block::Block;
use crate::Error;
use crate::key;
use crate::memory::LargeBuffers;

/// The most bytes of keys that are kept for entries before the current one.
const PASSED_BYTES_MAX: usize = 64 << 10;

/// Walks a block's entries in order, forward and backward.
#[derive(Debug)]
pub(crate) struct BlockCursor {
    block: Block,
    /// Offsets of the current entry and of the next one.
    at: usize,
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
    valid: bool,
    /// The entries directly before the current one, in order; their keys lie in `passed_keys`.
    passed: Vec<Passed>,
    passed_keys: Vec<u8>,
}

/// An entry that a walk backward will come to.
#[derive(Debug)]
struct Passed {
    at: usize,
    /// Start of its key in the cursor's `passed_keys`.
    key_start: usize,
    value: Range<usize>,
}

impl BlockCursor {
    /// A cursor that stands on no entry until it seeks.
    pub(crate) fn new(block: Block) -> Self {
        Self {
            block,
            at: 0,
            next: 0,
            key: Vec::new(),
            value: 0..0,
            valid: false,
            passed: Vec::new(),
            passed_keys: Vec::new(),
        }
    }

    /// Changes to another block, on no entry, and keeps the memory.
    pub(crate) fn replace(&mut self, block: Block) {
        self.block = block;
        self.valid = false;
        self.forget_passed();
    }

    /// Frees the block's memory, and leaves its entry.
    pub(crate) fn release(&mut self) {
        self.block.release();
        self.valid = false;
        self.forget_passed();
    }

    /// Frees the block's memory and keeps the position. Until [`unpark`](Self::unpark), only the
    /// key is available.
    pub(super) fn park(&mut self) {
        self.block.park();
        self.forget_passed();
    }

    /// Goes on in the same block, which was read again.
    pub(super) fn unpark(&mut self, block: Block) {
        debug_assert_eq!(block.offset, self.block.offset, "the same block");
        self.block = block;
    }

    /// Whether it stands on the block's first entry, and on its last.
    pub(super) fn is_at_ends(&self) -> (bool, bool) {
        (self.at == 0, self.next >= self.block.entries_end)
    }

    /// The block's contents; empty if they are not in memory.
    pub(super) fn contents(&self) -> &Bytes {
        &self.block.contents
    }

    /// Whether the contents lie in a mapped file, and take no memory of their own.
    pub(super) fn is_lent(&self) -> bool {
        self.block.is_lent
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.key.clear();
        self.next = 0;
        self.next()
    }

    /// Moves to the first entry at or after `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        if self.block.restarts == 0 {
            return Ok(());
        }
        // The last restart point whose key is before the target, or the first of all.
        let (mut low, mut high) = (0, self.block.restarts);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match key::compare(self.block.restart_key(middle)?, target) {
                Ordering::Less => low = middle,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        self.key.clear();
        self.next = self.block.restart(low)?;
        loop {
            self.next()?;
            match self.key() {
                Some(key) if key::compare(key, target) == Ordering::Less => {}
                _ => return Ok(()),
            }
        }
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        if self.block.restarts == 0 {
            return Ok(());
        }
        self.pass(self.block.restarts - 1, self.block.entries_end)?;
        self.step_back();
        Ok(())
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        self.seek(target)?;
        if self.valid { self.prev() } else { self.seek_to_last() }
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        self.forget_passed();
        self.read_next()
    }

    /// Moves to the entry before, from an entry.
    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.valid) || self.at == 0 {
            return Ok(());
        }
        if self.passed.is_empty() {
            let restart = self.restart_before(self.at)?;
            self.pass(restart, self.at)?;
        }
        self.step_back();
        Ok(())
    }

    fn read_next(&mut self) -> Result<(), Error> {
        self.valid = false;
        if self.next >= self.block.entries_end {
            return Ok(());
        }
        let (shared, rest, value) = self.block.entry(self.next)?;
        self.block.check_key(self.next, shared, self.key.len(), rest.len())?;
        self.key.truncate(shared);
        self.key.extend_from_slice(&self.block.contents[rest]);
        self.at = self.next;
        self.next = value.end;
        self.value = value;
        self.valid = true;
        Ok(())
    }

    /// The last restart point that lies before `offset`, or the first of all.
    fn restart_before(&self, offset: usize) -> Result<usize, Error> {
        let (mut low, mut high) = (0, self.block.restarts);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.block.restart(middle)? < offset { low = middle } else { high = middle }
        }
        Ok(low)
    }

    /// Decodes the entries from a restart point to `end`, which must be the end of an entry, and
    /// keeps them as passed: the last ones, if their keys are too large to keep all.
    fn pass(&mut self, restart: usize, end: usize) -> Result<(), Error> {
        self.forget_passed();
        self.valid = false;
        self.key.clear();
        self.next = self.block.restart(restart)?;
        while self.next < end {
            self.read_next()?;
            if self.passed_keys.len() + self.key.len() > PASSED_BYTES_MAX {
                self.forget_passed();
            }
            let key_start = self.passed_keys.len();
            self.passed_keys.extend_from_slice(&self.key);
            self.passed.push(Passed { at: self.at, key_start, value: self.value.clone() });
        }
        self.valid = false;
        if self.next == end && !self.passed.is_empty() {
            return Ok(());
        }
        self.forget_passed();
        let expected = format!("entries from a restart point to {end}");
        let region = self.block.table.region("restart points");
        Err(Error::corruption(region, self.block.offset, expected, self.next))
    }

    /// Moves to the last of the passed entries, which must exist.
    fn step_back(&mut self) {
        let Some(Passed { at, key_start, value }) = self.passed.pop() else { return };
        self.key.clear();
        self.key.extend_from_slice(&self.passed_keys[key_start..]);
        self.passed_keys.truncate(key_start);
        (self.at, self.next, self.value) = (at, value.end, value);
        self.valid = true;
    }

    fn forget_passed(&mut self) {
        self.passed.clear();
        self.passed_keys.clear();
    }

    /// The internal key of its entry, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.valid.then_some(&self.key)
    }

    /// The value of its entry: a part of the block, or a copy if the block lies in a mapped file.
    pub(crate) fn value(&self, copies: &Arc<LargeBuffers>) -> Bytes {
        if self.block.is_lent {
            return copies.copy_of(self.value_slice());
        }
        self.block.contents.slice(self.value.clone())
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        &self.block.contents[self.value.clone()]
    }

    /// Offset of the block in its table, for errors.
    pub(crate) fn block_offset(&self) -> u64 {
        self.block.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeySpaceId, Kind, Trailer, full_key, internal_key};
    use crate::table::block_builder::BlockBuilder;
    use crate::table::frame::TableName;
    use terrace_env::{FileId, SeqNo};

    const NAME: TableName = TableName { file: FileId(1), tag: 1 };

    fn key(number: u32) -> Vec<u8> {
        let full = full_key(KeySpaceId(0), format!("key{number:06}").as_bytes());
        internal_key(&full, Trailer::new(SeqNo(u64::from(number)), Kind::Put))
    }

    fn contents(count: u32, interval: usize) -> Vec<u8> {
        let mut builder = BlockBuilder::new(interval);
        for i in 0..count {
            builder.add(&key(i * 2), &i.to_le_bytes());
        }
        let size = builder.size();
        let contents = builder.finish();
        assert_eq!(contents.len(), size);
        contents
    }

    #[test]
    fn every_key_is_found_and_what_is_missing_leads_to_the_next() {
        for (count, interval) in [(1, 16), (16, 16), (17, 16), (100, 16), (100, 1), (100, 1000)] {
            let block = Block::new(NAME, 0, contents(count, interval).into()).unwrap();
            let mut cursor = BlockCursor::new(block);
            for i in 0..count {
                for sought in [(i * 2).saturating_sub(1), i * 2] {
                    let full = key(sought);
                    let (full, _) = key::split(&full);
                    cursor.seek(&internal_key(full, Trailer::NEWEST)).unwrap();
                    let found = if sought == i * 2 { i } else { i.min(sought.div_ceil(2)) };
                    assert_eq!(cursor.key(), Some(&key(found * 2)[..]));
                    assert_eq!(cursor.value_slice(), &found.to_le_bytes()[..]);
                }
            }
            cursor.seek(&key(count * 2)).unwrap();
            assert_eq!(cursor.key(), None);
        }
    }

    #[test]
    fn a_walk_gives_every_entry_once() {
        let mut cursor = BlockCursor::new(Block::new(NAME, 0, contents(50, 16).into()).unwrap());
        cursor.seek_to_first().unwrap();
        for i in 0..50 {
            assert_eq!(cursor.key(), Some(&key(i * 2)[..]));
            cursor.next().unwrap();
        }
        assert_eq!(cursor.key(), None);
        cursor.next().unwrap();
        assert_eq!(cursor.key(), None);
    }

    #[test]
    fn a_walk_backward_gives_every_entry_once_and_may_turn_anywhere() {
        for (count, interval) in [(1, 16), (16, 16), (17, 16), (50, 16), (50, 1), (50, 1000)] {
            let block = Block::new(NAME, 0, contents(count, interval).into()).unwrap();
            let mut cursor = BlockCursor::new(block);
            cursor.seek_to_last().unwrap();
            for i in (0..count).rev() {
                assert_eq!(cursor.key(), Some(&key(i * 2)[..]));
                assert_eq!(cursor.value_slice(), &i.to_le_bytes()[..]);
                if i % 3 == 0 {
                    cursor.next().unwrap();
                    let behind = (i + 1 < count).then(|| key((i + 1) * 2));
                    assert_eq!(cursor.key(), behind.as_deref());
                    cursor.seek_before(&key(i * 2 + 1)).unwrap();
                    assert_eq!(cursor.key(), Some(&key(i * 2)[..]));
                }
                cursor.prev().unwrap();
            }
            assert_eq!(cursor.key(), None);
            cursor.prev().unwrap();
            assert_eq!(cursor.key(), None);
        }
    }

    #[test]
    fn keys_too_large_to_be_kept_are_gone_through_again() {
        let mut builder = BlockBuilder::new(16);
        let long = |i: u32| {
            let full = full_key(KeySpaceId(0), &[&i.to_be_bytes()[..], &[7; 30_000]].concat());
            internal_key(&full, Trailer::new(SeqNo(1), Kind::Put))
        };
        (0..20).for_each(|i| builder.add(&long(i), &i.to_le_bytes()));
        let mut cursor = BlockCursor::new(Block::new(NAME, 0, builder.finish().into()).unwrap());
        cursor.seek_to_last().unwrap();
        for i in (0..20).rev() {
            assert_eq!(cursor.key(), Some(&long(i)[..]));
            assert!(cursor.passed_keys.len() <= PASSED_BYTES_MAX);
            cursor.prev().unwrap();
        }
        assert_eq!(cursor.key(), None);
    }

    #[test]
    fn no_flipped_bit_and_no_truncation_makes_the_cursor_panic() {
        let whole = contents(20, 4);
        let mut specimens: Vec<Vec<u8>> =
            (0..whole.len()).map(|len| whole[..len].to_vec()).collect();
        specimens.extend((0..whole.len() * 8).map(|bit| {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        }));
        let mut refused = 0;
        for specimen in specimens {
            let Ok(block) = Block::new(NAME, 0, specimen.into()) else {
                refused += 1;
                continue;
            };
            let mut cursor = BlockCursor::new(block);
            refused += usize::from(cursor.seek(&key(21)).is_err());
            let mut result = cursor.seek_to_first();
            for _ in 0..40 {
                result = result.and_then(|()| cursor.next());
            }
            refused += usize::from(result.is_err());
            let mut result = cursor.seek_before(&key(21)).and_then(|()| cursor.seek_to_last());
            for _ in 0..40 {
                result = result.and_then(|()| cursor.prev());
            }
            refused += usize::from(result.is_err());
        }
        assert!(refused > whole.len(), "most truncations must be refused: {refused}");
    }
}
