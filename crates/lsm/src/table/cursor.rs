//! Walks a table's entries in order, forward and backward, reading ahead.
//!
//! A scan begins with single blocks and reads further ahead the longer it goes on; a job reads a
//! large stretch at once. What is read ahead is not put into the block cache: a long scan would
//! push everything else out of it.

use std::sync::Arc;

use bytes::Bytes;
use terrace_env::Cause;

use super::block::Block;
use super::block_cursor::BlockCursor;
use super::frame::Handle;
use super::reader::Table;
use crate::Error;

/// What a scan reads ahead when it leaves its first block, and at most: at the end it is the same
/// order as a disk's track, and as what a read of an SSD must have to be limited by bandwidth.
const SCAN_AHEAD_FIRST: usize = 16 << 10;
const SCAN_AHEAD_MAX: usize = 256 << 10;
/// What a job reads at once: at 10 ms a seek and 200 MB/s, a third of the time is seeks at 4 MiB
/// and 10 inputs' memory still small at 1 MiB.
const JOB_AHEAD: usize = 1 << 20;

/// On whose behalf a table is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// A client's scan.
    Scan,
    /// A job in the background, which reads all of it.
    Job(Cause),
}

/// Walks a table.
#[derive(Debug)]
pub(crate) struct TableCursor {
    table: Arc<Table>,
    walk: Walk,
    index: BlockCursor,
    data: Option<BlockCursor>,
    valid: bool,
    ahead: ReadAhead,
}

impl TableCursor {
    /// A cursor that stands nowhere until it seeks.
    pub(crate) fn new(table: Arc<Table>, walk: Walk) -> Self {
        let index = table.index_cursor();
        let size = match walk {
            Walk::Scan => 0,
            Walk::Job(_) => JOB_AHEAD,
        };
        let ahead = ReadAhead { bytes: Bytes::new(), offset: 0, end: 0, size };
        Self { table, walk, index, data: None, valid: false, ahead }
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
        if self.index.key().is_none() {
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
        if self.load_block()? {
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
            if !self.load_block()? {
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
            self.table.kind_of(key, data.block_offset())?;
            self.valid = true;
        }
        Ok(self.valid)
    }

    /// Loads the block that the index stands on; `false` at the end.
    fn load_block(&mut self) -> Result<bool, Error> {
        if self.index.key().is_none() {
            return Ok(false);
        }
        let handle = self.table.handle(&self.index)?;
        let block = self.read_block(handle)?;
        match &mut self.data {
            Some(data) => data.replace(block),
            None => self.data = Some(BlockCursor::new(block)),
        }
        Ok(true)
    }

    fn read_block(&mut self, handle: Handle) -> Result<Block, Error> {
        let stored = if let Some(stored) = self.ahead.get(handle) {
            stored
        } else if self.walk == Walk::Scan
            && let Some(block) = self.table.peek(handle)
        {
            self.ahead.passed(handle);
            return Ok(block);
        } else {
            self.ahead.fill(&self.table, handle, self.walk)?
        };
        self.table.block(handle, &stored)
    }
}

/// The stretch of a table that has been read.
#[derive(Debug)]
struct ReadAhead {
    bytes: Bytes,
    /// The stretch of the table that was read last or found in the cache; `bytes`, where there are
    /// any, are what is in it.
    offset: u64,
    end: u64,
    /// How much the next read takes, at least.
    size: usize,
}

impl ReadAhead {
    fn get(&self, handle: Handle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let end = start.checked_add(handle.size as usize)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// A block was found in the cache: the walk goes on behind it, or before it.
    fn passed(&mut self, handle: Handle) {
        self.bytes = Bytes::new();
        (self.offset, self.end) = (handle.offset, handle.offset + u64::from(handle.size));
    }

    fn fill(&mut self, table: &Table, handle: Handle, walk: Walk) -> Result<Bytes, Error> {
        let handle_end = handle.offset + u64::from(handle.size);
        // A stretch may begin or end within a block, which is then read again.
        let last = self.offset..=self.end;
        let goes_on = 0 < handle.offset && last.contains(&handle.offset) && self.end < handle_end;
        let goes_back = handle.offset < self.offset && last.contains(&handle_end);
        let cause = match walk {
            Walk::Scan => {
                self.size = match (goes_on || goes_back, self.size) {
                    (false, _) => 0,
                    (true, 0) => SCAN_AHEAD_FIRST,
                    (true, size) => (size * 2).min(SCAN_AHEAD_MAX),
                };
                Cause::Read
            }
            Walk::Job(cause) => cause,
        };
        let size = self.size.max(handle.size as usize) as u64;
        let (offset, end) = if goes_back {
            (handle_end.saturating_sub(size), handle_end)
        } else {
            (handle.offset, handle_end.max(table.data_end().min(handle.offset + size)))
        };
        let stretch = usize::try_from(end - offset).expect("a stretch within its bounds");
        self.bytes = table.read(offset, stretch, cause)?;
        (self.offset, self.end) = (offset, end);
        let start = (handle.offset - offset) as usize;
        Ok(self.bytes.slice(start..start + handle.size as usize))
    }
}
