//! [`TableCursor`]: walks the entries of a table in order, forward and backward, and reads ahead.
//!
//! - It shows all entries with their stored sequence numbers. Which of them a reader sees is
//!   decided by the caller.
//! - A scan looks blocks up in the block cache. Its first block after a seek may go into the cache.
//!   A job does neither.
//! - [`TableCursor::stay_within`] limits the cursor to the blocks that may hold keys of a range. It
//!   comes before the first seek. The blocks at both ends may hold other keys, so the caller
//!   compares the keys.
//! - A cursor can be *parked*, for example while other cursors of a merge come first: if memory is
//!   short, it gives a large block back and keeps its place. Then [`TableCursor::ready`] must come
//!   before the value is asked for.
//! - If the index has the first keys of blocks, a scan that goes forward does not read a block to
//!   stand at its first entry: the cursor *holds* the key. The block is read by
//!   [`TableCursor::ready`], or by the next move. A scan backward and a job read each block that
//!   they come to.
//! - A block that is read must begin with the first key that the index has for it; otherwise it is
//!   corruption.
//! - After an error the cursor stands nowhere until the next seek.
//!
//! One owner, which holds no lock: a call may wait for the device.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::{MAPPED_MIN, MemoryLease};
use terrace_policy::{Key, Span};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::frame::Handle;
use super::index_cursor::IndexCursor;
use super::read_ahead::{Area, ReadAhead};
use super::reader::Table;
use crate::Error;
use crate::key;
use crate::memory::Walk;

/// Walks a table.
#[derive(Debug)]
pub(crate) struct TableCursor {
    walk: Walk,
    index: IndexCursor,
    data: Option<BlockCursor>,
    valid: bool,
    /// The block is not in memory; it is the one that the index stands on.
    parked: bool,
    /// It stands at the first entry of the block that the index stands on, has not read this block,
    /// and has the entry's key in `first`.
    held: bool,
    first: Vec<u8>,
    ahead: ReadAhead,
    /// Counts a large block that was decompressed.
    plain: MemoryLease,
    /// Blocks in front of this key's block may have been given back.
    start: Option<Key>,
    /// Where that block begins, once somebody has come near it.
    floor: Option<u64>,
    /// Blocks behind this key's block are not read.
    end: Option<Key>,
}

impl TableCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(table: Arc<Table>, walk: Walk) -> Self {
        let ahead = ReadAhead::new(&table, walk, Area::Data);
        let plain = table.memory().gauge(walk).lease(0);
        let index = IndexCursor::new(table, walk);
        Self {
            walk,
            index,
            data: None,
            valid: false,
            parked: false,
            held: false,
            first: Vec::new(),
            ahead,
            plain,
            start: None,
            floor: None,
            end: None,
        }
    }

    /// From now on stays within what may hold keys of `span`: goes no further back and no further
    /// on, and reads no further ahead.
    pub(crate) fn stay_within(&mut self, span: &Span) {
        let properties = self.index.table().properties();
        if span.start[..] > properties.smallest[..] {
            self.start = Some(Arc::clone(&span.start));
        }
        if span.end[..] <= properties.largest[..] {
            self.end = Some(Arc::clone(&span.end));
        }
    }

    /// From now on takes blocks from these bytes: those of the table from `offset` on.
    pub(crate) fn share(&mut self, offset: u64, bytes: Bytes) {
        self.ahead.share(offset, bytes);
    }

    /// Whether the block that the index stands on lies in front of the first that may be read.
    fn is_in_front(&mut self) -> Result<bool, Error> {
        let Some(start) = &self.start else { return Ok(false) };
        let floor = match self.floor {
            Some(floor) => floor,
            None => *self.floor.insert(self.index.table().offset_of(start, self.walk.cause())?),
        };
        Ok(self.index.handle()?.is_some_and(|handle| handle.offset < floor))
    }

    /// Where the last block ends that may hold keys of the range.
    fn ceiling(&self) -> Result<u64, Error> {
        match &self.end {
            Some(end) => self.index.end_of(end),
            None => Ok(self.index.table().data_end()),
        }
    }

    /// Whether the block that the index stands on is the last that may hold anything of the range.
    /// Its separator tells. To read the next block only to see that would cost a disk a revolution;
    /// and that block, or the part of the index that names it, may be damaged.
    fn is_last(&self) -> bool {
        self.end.as_ref().is_some_and(|end| self.index.reaches(end))
    }

    /// Submits the first read of a seek to `target`, an internal key, or of one to the first entry.
    /// The seek has to follow: until then the cursor stands nowhere.
    pub(crate) fn submit_seek(&mut self, target: Option<&[u8]>) -> Result<(), Error> {
        self.leave();
        match target {
            Some(target) => self.index.seek(target)?,
            None => self.index.seek_to_first()?,
        }
        if self.can_hold(target) { Ok(()) } else { self.submit_first() }
    }

    /// The same for [`seek_before`](Self::seek_before). Only the first block of a walk backward is
    /// submitted: what lies before it is read when the walk comes there.
    pub(crate) fn submit_seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        debug_assert!(self.walk == Walk::Scan, "jobs walk forward");
        self.leave();
        self.index.seek(target)?;
        if self.index.handle()?.is_none() {
            self.index.seek_to_last()?;
            if self.is_in_front()? {
                return Ok(());
            }
        }
        self.submit_first()
    }

    /// Submits the read for the block that the index stands on, unless a scan finds it in memory.
    fn submit_first(&mut self) -> Result<(), Error> {
        let Some(handle) = self.index.handle()? else { return Ok(()) };
        if self.walk != Walk::Scan || self.index.table().peek(handle).is_none() {
            let most = self.ceiling()?;
            self.ahead.submit_first(self.index.table(), handle, most);
        }
        Ok(())
    }

    /// Whether nothing of the table is left to read, and memory is there for a section of another.
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.ahead.is_last() && self.ahead.has_room(self.index.table())
    }

    /// Moves to the first entry at or behind `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        self.leave();
        self.index.seek(target)?;
        if self.can_hold(Some(target)) {
            self.hold();
        } else if self.load_block()? {
            self.data_mut().seek(target)?;
            self.settle()?;
        }
        Ok(())
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.leave();
        self.index.seek_to_first()?;
        if self.can_hold(None) {
            self.hold();
        } else if self.load_block()? {
            self.data_mut().seek_to_first()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        self.leave();
        self.index.seek(target)?;
        if self.index.handle()?.is_none() {
            return self.seek_to_last();
        }
        // Entries in the blocks before this one are before their separators, and so before the
        // target.
        if self.load_block()? {
            self.data_mut().seek_before(target)?;
            self.settle_back()?;
        }
        Ok(())
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        self.leave();
        self.index.seek_to_last()?;
        // Range tombstones may reach further than all keys.
        if !self.is_in_front()? && self.load_block()? {
            self.data_mut().seek_to_last()?;
            self.settle_back()?;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        self.read_held()?;
        if self.valid {
            if self.parked && !self.data_mut().is_at_ends().1 {
                self.ready()?;
            }
            self.data_mut().next()?;
            self.settle()?;
        }
        Ok(())
    }

    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        self.read_held()?;
        if self.valid {
            if self.parked && !self.data_mut().is_at_ends().0 {
                self.ready()?;
            }
            self.data_mut().prev()?;
            self.settle_back()?;
        }
        Ok(())
    }

    /// Gives a large block back where memory is short; [`ready`](Self::ready) before the value.
    pub(crate) fn park(&mut self) {
        let in_memory = self.valid && !self.parked && !self.held;
        let Some(data) = self.data.as_mut().filter(|_| in_memory) else { return };
        if data.contents().len() >= MAPPED_MIN && self.index.table().memory().is_short(self.walk) {
            data.park();
            self.ahead.release();
            self.plain.resize(0);
            self.parked = true;
        }
    }

    /// Reads the block of a cursor that is parked or holds a key, so that the value can be asked
    /// for.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.read_held()?;
        if !std::mem::take(&mut self.parked) {
            return Ok(());
        }
        let valid = std::mem::take(&mut self.valid);
        let Some(handle) = self.index.handle()? else { return Ok(()) };
        let block = self.read_block(handle)?;
        self.data_mut().unpark(block);
        self.count_plain();
        self.valid = valid;
        Ok(())
    }

    /// Counts the block if it is large and does not lie in what was read.
    fn count_plain(&mut self) {
        let Some(data) = &self.data else { return };
        let contents = data.contents();
        let counts = contents.len() >= MAPPED_MIN && !self.ahead.holds(contents);
        self.plain.resize(if counts { contents.len() } else { 0 });
    }

    /// The internal key it stands on, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match (self.valid, self.held) {
            (true, true) => Some(&self.first),
            (true, false) => self.data.as_ref()?.key(),
            (false, _) => None,
        }
    }

    /// The value it stands on.
    ///
    /// # Panics
    /// When it stands nowhere, or is not [`ready`](Self::ready).
    pub(crate) fn value(&self) -> Bytes {
        assert!(!self.held, "a cursor that has read its block");
        self.data.as_ref().expect("a cursor that stands on an entry").value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        assert!(!self.held, "a cursor that has read its block");
        self.data.as_ref().expect("a cursor that stands on an entry").value_slice()
    }

    /// Bytes of the block that it holds and nothing else counts, about.
    pub(crate) fn uncounted(&self) -> usize {
        let contents = self.data.as_ref().map_or(0, |data| data.contents().len());
        let apart = self.data.as_ref().is_some_and(|data| !self.ahead.holds(data.contents()));
        let block = if apart && contents < MAPPED_MIN { contents } else { 0 };
        block + self.first.capacity() + self.ahead.uncounted()
    }

    fn data_mut(&mut self) -> &mut BlockCursor {
        self.data.as_mut().expect("a cursor with a block")
    }

    /// Stands nowhere.
    fn leave(&mut self) {
        (self.valid, self.held) = (false, false);
    }

    /// Whether the first entry of the block that the index stands on is at or behind `target`, and
    /// can be held. Its key is then in `first`.
    fn can_hold(&mut self, target: Option<&[u8]>) -> bool {
        self.walk == Walk::Scan
            && self.index.first_key(&mut self.first)
            && target.is_none_or(|target| key::compare(&self.first, target).is_ge())
    }

    /// Stands at the entry whose key is in `first`.
    fn hold(&mut self) {
        if let Some(data) = &mut self.data {
            data.release();
        }
        self.plain.resize(0);
        (self.valid, self.held, self.parked) = (true, true, false);
    }

    /// Reads the block whose first key is held, and stands at this key.
    fn read_held(&mut self) -> Result<(), Error> {
        if !self.held {
            return Ok(());
        }
        self.leave();
        if self.load_block()? {
            self.data_mut().seek_to_first()?;
            self.check()?;
        }
        Ok(())
    }

    /// Goes on to the next block while this one has no entry left.
    fn settle(&mut self) -> Result<(), Error> {
        while !self.check()? {
            if self.is_last() {
                return Ok(());
            }
            self.index.next()?;
            if self.can_hold(None) {
                self.hold();
                return Ok(());
            }
            if !self.load_block()? {
                return Ok(());
            }
            self.data_mut().seek_to_first()?;
        }
        Ok(())
    }

    /// Goes back to the block before while this one has no entry left.
    fn settle_back(&mut self) -> Result<(), Error> {
        while !self.check()? {
            self.index.prev()?;
            if self.is_in_front()? || !self.load_block()? {
                return Ok(());
            }
            self.data_mut().seek_to_last()?;
        }
        Ok(())
    }

    /// Whether it stands on an entry of its block, and a sound one.
    fn check(&mut self) -> Result<bool, Error> {
        self.valid = false;
        let data = self.data.as_ref().expect("a cursor with a block");
        if let Some(key) = data.key() {
            let value = || data.value_slice();
            self.index.table().kind_of(key, value, data.block_offset())?;
            self.valid = true;
        }
        Ok(self.valid)
    }

    /// Loads the block that the index stands on; `false` at the end.
    fn load_block(&mut self) -> Result<bool, Error> {
        let Some(handle) = self.index.handle()? else { return Ok(false) };
        self.parked = false;
        if let Some(data) = &mut self.data {
            data.release();
        }
        let block = self.read_block(handle)?;
        self.check_first(&block)?;
        match &mut self.data {
            Some(data) => data.replace(block),
            None => self.data = Some(BlockCursor::new(block)),
        }
        self.count_plain();
        if self.ahead.is_next_due(self.index.table(), handle) {
            let most = self.ceiling()?;
            let certain = match &self.end {
                Some(end) => self.index.certain_end_of(end)?,
                None => most,
            };
            self.ahead.submit_next(self.index.table(), most, certain);
        }
        Ok(true)
    }

    /// Checks that the block that the index stands on begins as the index says.
    fn check_first(&mut self, block: &Block) -> Result<(), Error> {
        if self.index.first_key(&mut self.first) {
            let found = block.restart_key(0)?;
            if found != self.first {
                let expected = format!("the first key {}", self.first.escape_ascii());
                let (region, got) = (block.table.region("data block"), found.escape_ascii());
                return Err(Error::corruption(region, block.offset, expected, got));
            }
        }
        Ok(())
    }

    fn read_block(&mut self, handle: Handle) -> Result<Block, Error> {
        let table = self.index.table();
        if let Some(stored) = self.ahead.get(handle) {
            return table.block(handle, &stored);
        }
        if self.walk == Walk::Scan
            && let Some(block) = table.peek(handle)
        {
            self.ahead.passed(handle);
            return Ok(block);
        }
        let stored = self.ahead.fill(table, handle, self.ceiling()?)?;
        let block = table.block(handle, &stored)?;
        // A block where a scan begins is kept, because other scans may begin there too. Blocks that
        // a scan only passes are not kept, nor blocks that would push out a hundred others, however
        // small they are stored. So no block is kept that was parked and is read again.
        let is_small = block.contents.len() < MAPPED_MIN;
        if self.walk == Walk::Scan && self.ahead.is_single() && is_small {
            table.cache(&block);
        }
        Ok(block)
    }
}
