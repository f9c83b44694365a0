//! Walks a table's entries in order, forward and backward, reading ahead.

use std::sync::Arc;

use bytes::Bytes;
use terrace_policy::{Key, Span};

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::frame::Handle;
use super::index_cursor::IndexCursor;
use super::read_ahead::{Area, ReadAhead};
use super::reader::Table;
use super::walk::Walk;
use crate::Error;

/// Walks a table.
#[derive(Debug)]
pub(crate) struct TableCursor {
    walk: Walk,
    index: IndexCursor,
    data: Option<BlockCursor>,
    valid: bool,
    ahead: ReadAhead,
    /// What lies in front of this key's block may have been given back.
    start: Option<Key>,
    /// Where that block begins, once somebody has come near it.
    floor: Option<u64>,
    /// What lies behind this key's block is not read.
    end: Option<Key>,
}

impl TableCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(table: Arc<Table>, walk: Walk) -> Self {
        let ahead = ReadAhead::new(&table, walk, Area::Data);
        let index = IndexCursor::new(table, walk);
        let (start, floor, end) = (None, None, None);
        Self { walk, index, data: None, valid: false, ahead, start, floor, end }
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

    /// Whether the block that the index stands on lies in front of the first that may be read.
    fn is_in_front(&mut self) -> Result<bool, Error> {
        let Some(start) = &self.start else { return Ok(false) };
        let floor = match self.floor {
            Some(floor) => floor,
            None => *self.floor.insert(self.index.table().offset_of(start)?),
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

    /// Whether the block that the index stands on lies behind the last that holds anything of the
    /// range. To read it only to see that would cost a disk a revolution.
    fn is_behind(&self) -> Result<bool, Error> {
        let Some(handle) = self.index.handle()? else { return Ok(true) };
        Ok(self.end.is_some() && handle.offset >= self.ceiling()?)
    }

    /// Moves to the first entry at or behind `target`, an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<(), Error> {
        self.valid = false;
        self.index.seek(target)?;
        if self.load_block()? {
            self.data_mut().seek(target)?;
            self.settle()?;
        }
        Ok(())
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<(), Error> {
        self.valid = false;
        self.index.seek_to_first()?;
        if self.load_block()? {
            self.data_mut().seek_to_first()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Moves to the last entry before `target`, an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<(), Error> {
        self.valid = false;
        self.index.seek(target)?;
        if self.index.handle()?.is_none() {
            return self.seek_to_last();
        }
        // What lies in the blocks before this one is before their separators, and so before the
        // target.
        if self.load_block()? {
            self.data_mut().seek_before(target)?;
            self.settle_back()?;
        }
        Ok(())
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<(), Error> {
        self.valid = false;
        self.index.seek_to_last()?;
        // Range tombstones may reach further than all keys.
        if !self.is_in_front()? && self.load_block()? {
            self.data_mut().seek_to_last()?;
            self.settle_back()?;
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<(), Error> {
        if self.valid {
            self.data_mut().next()?;
            self.settle()?;
        }
        Ok(())
    }

    pub(crate) fn prev(&mut self) -> Result<(), Error> {
        if self.valid {
            self.data_mut().prev()?;
            self.settle_back()?;
        }
        Ok(())
    }

    /// The internal key it stands on, or `None` at the end.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        if self.valid { self.data.as_ref()?.key() } else { None }
    }

    /// The value it stands on.
    ///
    /// # Panics
    /// When it stands nowhere.
    pub(crate) fn value(&self) -> Bytes {
        self.data.as_ref().expect("a cursor that stands on an entry").value()
    }

    pub(crate) fn value_slice(&self) -> &[u8] {
        self.data.as_ref().expect("a cursor that stands on an entry").value_slice()
    }

    fn data_mut(&mut self) -> &mut BlockCursor {
        self.data.as_mut().expect("a cursor with a block")
    }

    /// Goes on to the next block while this one has no entry left.
    fn settle(&mut self) -> Result<(), Error> {
        while !self.check()? {
            self.index.next()?;
            if self.is_behind()? || !self.load_block()? {
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
            self.index.table().kind_of(key, data.block_offset())?;
            self.valid = true;
        }
        Ok(self.valid)
    }

    /// Loads the block that the index stands on; `false` at the end.
    fn load_block(&mut self) -> Result<bool, Error> {
        let Some(handle) = self.index.handle()? else { return Ok(false) };
        if let Some(data) = &mut self.data {
            data.release();
        }
        let block = self.read_block(handle)?;
        match &mut self.data {
            Some(data) => data.replace(block),
            None => self.data = Some(BlockCursor::new(block)),
        }
        Ok(true)
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
        // Where a scan begins others may begin, too; what it only comes by is not kept.
        if self.walk == Walk::Scan && self.ahead.is_single() {
            table.cache(&block);
        }
        Ok(block)
    }
}
