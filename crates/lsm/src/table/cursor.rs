//! [`TableCursor`]: walks the entries of a table in order, forward and backward, and reads ahead.
//!
//! - It shows all entries with their stored sequence numbers. The caller decides which of them a
//!   reader sees.
//! - A scan looks blocks up in the block cache. Its first block after a seek may go into the cache.
//!   A job does neither.
//! - [`TableCursor::stay_within`] limits the cursor to the blocks that may hold keys of a range. It
//!   must come before the first seek. The blocks at both ends may hold other keys, so the caller
//!   compares the keys.
//! - A cursor can be *parked*, for example while other cursors of a merge come first. If memory is
//!   short, it then frees a large block and keeps its position, and [`TableCursor::ready`] must
//!   come before the value is used.
//! - If the index has the first keys of blocks, a scan forward stands at the first entry of a block
//!   without reading the block: the cursor *holds* the key. [`TableCursor::ready`], or the next
//!   move, reads the block. A scan backward and a job read each block that they come to.
//! - A block must begin with the first key in the index; otherwise it is corruption.
//! - After an error the cursor stands on no entry until the next seek.
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
    /// Whether the current block of the index has been freed.
    parked: bool,
    /// Whether it holds the first key of the index's current block, in `first`, and has not read
    /// the block.
    held: bool,
    first: Vec<u8>,
    ahead: ReadAhead,
    /// Lease that counts a large decompressed block.
    plain: MemoryLease,
    /// First key that may be read: blocks before its block may have been freed.
    start: Option<Key>,
    /// Offset of that block, once a move came near it.
    floor: Option<u64>,
    /// Last key that is read: blocks after its block are not read.
    end: Option<Key>,
}

impl TableCursor {
    /// A cursor that stands on no entry until it seeks.
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

    /// Limits the cursor to blocks that may hold keys of `span`, for moves and read-ahead.
    pub(crate) fn stay_within(&mut self, span: &Span) {
        let properties = self.index.table().properties();
        if span.start[..] > properties.smallest[..] {
            self.start = Some(Arc::clone(&span.start));
        }
        if span.end[..] <= properties.largest[..] {
            self.end = Some(Arc::clone(&span.end));
        }
    }

    /// Takes blocks from these bytes from now on: those of the table from `offset` on.
    pub(crate) fn share(&mut self, offset: u64, bytes: Bytes) {
        self.ahead.share(offset, bytes);
    }

    /// Whether the index's current block lies before the first one that may be read.
    fn is_in_front(&mut self) -> Result<bool, Error> {
        let Some(start) = &self.start else { return Ok(false) };
        let floor = match self.floor {
            Some(floor) => floor,
            None => *self.floor.insert(self.index.table().offset_of(start, self.walk.cause())?),
        };
        Ok(self.index.handle()?.is_some_and(|handle| handle.offset < floor))
    }

    /// End of the last block that may hold keys of the range.
    fn ceiling(&self) -> Result<u64, Error> {
        match &self.end {
            Some(end) => self.index.end_of(end),
            None => Ok(self.index.table().data_end()),
        }
    }

    /// Whether the index's current block is the last that may hold keys of the range, by its
    /// separator. To read the next block only for this would cost a disk a revolution; and that
    /// block, or the part of the index that names it, may be damaged.
    fn is_last(&self) -> bool {
        self.end.as_ref().is_some_and(|end| self.index.reaches(end))
    }

    /// Submits the first read of a seek to `target`, an internal key, or of one to the first entry.
    /// The seek must follow: until then the cursor stands on no entry.
    pub(crate) fn submit_seek(&mut self, target: Option<&[u8]>) -> Result<(), Error> {
        self.leave();
        match target {
            Some(target) => self.index.seek(target)?,
            None => self.index.seek_to_first()?,
        }
        if self.can_hold(target) { Ok(()) } else { self.submit_first() }
    }

    /// The same for [`seek_before`](Self::seek_before). Only the first block of a walk backward is
    /// submitted: earlier blocks are read when the walk comes to them.
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

    /// Submits the read of the index's current block, unless a scan finds it in memory.
    fn submit_first(&mut self) -> Result<(), Error> {
        let Some(handle) = self.index.handle()? else { return Ok(()) };
        let scans = self.walk == Walk::Scan;
        if scans && self.index.table().is_mapped() {
            return Ok(());
        }
        if !scans || self.index.table().peek(handle).is_none() {
            let most = self.ceiling()?;
            self.ahead.submit_first(self.index.table(), handle, most);
        }
        Ok(())
    }

    /// Whether the table has no more to read, and there is memory for a section of another one.
    pub(crate) fn has_room_for_another(&self) -> bool {
        self.ahead.is_last() && self.ahead.has_room(self.index.table())
    }

    /// Moves to the first entry at or after `target`, an internal key.
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
        // Range tombstones may extend beyond all keys.
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

    /// Frees a large block if memory is short; then [`ready`](Self::ready) must come before the
    /// value.
    pub(crate) fn park(&mut self) {
        let in_memory = self.valid && !self.parked && !self.held;
        let Some(data) = self.data.as_mut().filter(|data| in_memory && !data.is_lent()) else {
            return;
        };
        if data.contents().len() >= MAPPED_MIN && self.index.table().memory().is_short(self.walk) {
            data.park();
            self.ahead.release();
            self.plain.resize(0);
            self.parked = true;
        }
    }

    /// Reads the block of a cursor that is parked or holds a key, so that the value is available.
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

    /// Counts the block if it is large and not part of a read section.
    fn count_plain(&mut self) {
        let Some(data) = &self.data else { return };
        let contents = data.contents();
        let is_own = !data.is_lent() && !self.ahead.holds(contents);
        let counts = contents.len() >= MAPPED_MIN && is_own;
        self.plain.resize(if counts { contents.len() } else { 0 });
    }

    /// The internal key of its entry, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match (self.valid, self.held) {
            (true, true) => Some(&self.first),
            (true, false) => self.data.as_ref()?.key(),
            (false, _) => None,
        }
    }

    /// The value of its entry.
    ///
    /// # Panics
    /// If it stands on no entry, or is not [`ready`](Self::ready).
    pub(crate) fn value(&self) -> Bytes {
        assert!(!self.held, "a cursor that has read its block");
        let data = self.data.as_ref().expect("a cursor that stands on an entry");
        data.value(&self.index.table().memory().large_buffers)
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        assert!(!self.held, "a cursor that has read its block");
        self.data.as_ref().expect("a cursor that stands on an entry").value_slice()
    }

    /// Approximate bytes of its block, if they are not counted elsewhere.
    pub(crate) fn uncounted(&self) -> usize {
        let contents = self.data.as_ref().map_or(0, |data| data.contents().len());
        let is_apart = |data: &BlockCursor| !data.is_lent() && !self.ahead.holds(data.contents());
        let apart = self.data.as_ref().is_some_and(is_apart);
        let block = if apart && contents < MAPPED_MIN { contents } else { 0 };
        block + self.first.capacity() + self.ahead.uncounted()
    }

    fn data_mut(&mut self) -> &mut BlockCursor {
        self.data.as_mut().expect("a cursor with a block")
    }

    /// Leaves the entry.
    fn leave(&mut self) {
        (self.valid, self.held) = (false, false);
    }

    /// Whether the first entry of the index's current block is at or after `target`, and can be
    /// held. Then its key is in `first`.
    fn can_hold(&mut self, target: Option<&[u8]>) -> bool {
        self.walk == Walk::Scan
            && self.index.first_key(&mut self.first)
            && target.is_none_or(|target| key::compare(&self.first, target).is_ge())
    }

    /// Stands at the entry whose key is in `first`, without its block.
    fn hold(&mut self) {
        if let Some(data) = &mut self.data {
            data.release();
        }
        self.plain.resize(0);
        (self.valid, self.held, self.parked) = (true, true, false);
    }

    /// Reads the block whose first key is held, and moves to this key.
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

    /// Goes on to the next block while this one has no more entry.
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

    /// Goes back to the block before while this one has no more entry.
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

    /// Whether it stands on an entry of its block; an error if the entry is damaged.
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

    /// Loads the index's current block; `false` at the end.
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

    /// Checks that the index's current block begins with the first key of the index.
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
        if self.walk == Walk::Scan
            && let Some(block) = table.lent_block(handle)?
        {
            return Ok(block);
        }
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
        // A block where a scan begins is kept, because other scans may begin there too. The others
        // are not kept: blocks that a scan only passes, and blocks that would evict a hundred
        // others when decompressed. So no block is kept that was parked and is read again.
        let is_small = block.contents.len() < MAPPED_MIN;
        if self.walk == Walk::Scan && self.ahead.is_single() && is_small {
            table.cache(&block);
        }
        Ok(block)
    }
}
