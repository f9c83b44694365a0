//! Reads ahead: a stretch of blocks by one request to the store.
//!
//! A scan begins with single blocks and reads further ahead the longer it goes on, in either
//! direction; a job reads large stretches at once. Both take less where memory is short. What is
//! read ahead is not put into the block cache: a long scan would push everything else out of it.
//!
//! The memory of a stretch is used again for the next one, unless somebody still has a value out of
//! it.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use terrace_env::MemoryLease;
use terrace_env::store::StoreError;

use super::frame::Handle;
use super::reader::Table;
use super::walk::Walk;
use crate::Error;

/// Stretches end at multiples of what stores read at least, so that nothing is read twice.
const ALIGNMENT: u64 = 4096;

/// How much of `left` bytes to read at once where reads should have about `size`: they are read in
/// even parts, so that there is no small rest, for which a disk would have to move its head.
fn even_part(left: u64, size: u64) -> u64 {
    let parts = (left + size / 2) / size.max(1);
    left.div_ceil(parts.max(1))
}

/// About `end`, and at or behind `least`.
fn aligned(end: u64, least: u64) -> u64 {
    (end / ALIGNMENT * ALIGNMENT).max(least.next_multiple_of(ALIGNMENT))
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    Data,
    Index,
}

/// The stretch of a table that has been read.
#[derive(Debug)]
pub(super) struct ReadAhead {
    walk: Walk,
    area: Area,
    bytes: Bytes,
    lease: MemoryLease,
    /// The stretch of the table that was read last or found in memory; `bytes`, where there are
    /// any, are what is in it.
    offset: u64,
    end: u64,
    /// How much a scan's next read takes, at least.
    size: usize,
}

impl ReadAhead {
    /// Nothing has been read.
    pub(super) fn new(table: &Table, walk: Walk, area: Area) -> Self {
        let memory = table.memory();
        let lease = match walk {
            Walk::Scan => memory.scans.lease(0),
            Walk::Job(_) => memory.jobs.lease(0),
        };
        Self { walk, area, bytes: Bytes::new(), lease, offset: 0, end: 0, size: 0 }
    }

    /// The block, if it is in the stretch.
    pub(super) fn get(&self, handle: Handle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let end = start.checked_add(handle.size as usize)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(start..end))
    }

    /// A block was found in memory: the walk goes on behind it, or before it.
    pub(super) fn passed(&mut self, handle: Handle) {
        (self.offset, self.end) = (handle.offset, handle.offset + u64::from(handle.size));
        self.bytes.truncate(0);
    }

    /// Whether the last read was of one block, and not because the walk came from the one before.
    pub(super) fn is_single(&self) -> bool {
        self.size == 0
    }

    /// Reads the block, and what lies behind it in the walk's direction, up to `most`: the end of
    /// what the walk may come to.
    pub(super) fn fill(
        &mut self,
        table: &Table,
        handle: Handle,
        most: u64,
    ) -> Result<Bytes, Error> {
        let handle_end = handle.offset + u64::from(handle.size);
        // A stretch may end within a block: what there is of it is kept. Backward it is read again.
        let last = self.offset..=self.end;
        let goes_on = 0 < handle.offset && last.contains(&handle.offset) && self.end < handle_end;
        let goes_back = handle.offset < self.offset && last.contains(&handle_end);
        let known = match usize::try_from(handle.offset.saturating_sub(self.offset)) {
            Ok(from) if goes_on => self.bytes.get(from..).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        // Gives back what it has first, so that it does not stand in its own way.
        let mut buffer = std::mem::take(&mut self.bytes).try_into_mut().unwrap_or_default();
        self.lease.resize(0);
        self.choose_size(table, goes_on || goes_back);
        let mut size = self.size as u64;
        let (offset, end, buffer) = loop {
            let (offset, end) = if goes_back {
                (handle_end.saturating_sub(size.max(u64::from(handle.size))), handle_end)
            } else if size == 0 {
                (handle.offset, handle_end)
            } else {
                let part = even_part(most.saturating_sub(handle.offset), size);
                let end = match handle.offset + part {
                    end if end >= most => most,
                    end => aligned(end, handle_end),
                };
                (handle.offset, handle_end.max(end))
            };
            let buffer = std::mem::take(&mut buffer);
            match self.read(table, buffer, &known, offset..end) {
                // What lies further on has been given back: nearer to it by half each time.
                Err(Error::Store(StoreError::OutOfRange { .. }))
                    if (offset, end) != (handle.offset, handle_end) =>
                {
                    size = if size > u64::from(handle.size) { size / 2 } else { 0 };
                }
                other => break (offset, end, other?),
            }
        };
        self.bytes = buffer.freeze();
        (self.offset, self.end) = (offset, end);
        let start = (handle.offset - offset) as usize;
        Ok(self.bytes.slice(start..start + handle.size as usize))
    }

    fn read(
        &mut self,
        table: &Table,
        mut buffer: BytesMut,
        known: &[u8],
        Range { start: offset, end }: Range<u64>,
    ) -> Result<BytesMut, Error> {
        let stretch = usize::try_from(end - offset).expect("a stretch within its bounds");
        if buffer.capacity() < stretch || buffer.capacity() / 4 > stretch {
            buffer = BytesMut::zeroed(stretch);
        } else {
            buffer.resize(stretch, 0);
        }
        if self.size > 0 {
            self.lease.resize(buffer.capacity());
        }
        let (before, rest) = buffer.split_at_mut(known.len());
        before.copy_from_slice(known);
        table.read_into(offset + known.len() as u64, rest, self.walk.cause())?;
        Ok(buffer)
    }

    fn choose_size(&mut self, table: &Table, sequential: bool) {
        let memory = table.memory();
        self.size = match (self.walk, self.area) {
            (Walk::Job(_), Area::Data) => memory.job_ahead(),
            (Walk::Job(_), Area::Index) => memory.job_index_ahead(),
            (Walk::Scan, _) if !sequential => 0,
            (Walk::Scan, _) => memory.scan_ahead(self.size),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_read_in_even_parts_without_a_small_rest() {
        assert_eq!(even_part(0, 100), 0);
        assert_eq!(even_part(1, 100), 1);
        assert_eq!(even_part(149, 100), 149);
        assert_eq!(even_part(150, 100), 75);
        assert_eq!(even_part(204, 100), 102);
        assert_eq!(even_part(1010, 100), 101);
        for left in 1..2000 {
            let part = even_part(left, 100);
            assert!(left < 67 || (67..150).contains(&part), "{part} of {left}");
        }
    }
}
