//! Reads ahead: a stretch of blocks by one request to the store.
//!
//! A scan begins with single blocks and reads further ahead the longer it goes on, in either
//! direction; a job reads large stretches at once. Both take less where memory is short. Blocks
//! read ahead are not put into the block cache: a long scan would push everything else out of it.
//!
//! The memory of what is read ahead is a `Stretch`, which also says when it is used again.

use bytes::Bytes;
use terrace_env::store::StoreError;

use super::frame::Handle;
use super::reader::Table;
use super::stretch::Stretch;
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

/// Kind of blocks to read.
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
    stretch: Stretch,
    /// The stretch of the table that was read last or found in memory; the bytes of `stretch`,
    /// where there are any, are what is in it.
    offset: u64,
    end: u64,
    /// How much a scan's next read takes, at least.
    size: usize,
}

impl ReadAhead {
    /// Nothing has been read.
    pub(super) fn new(table: &Table, walk: Walk, area: Area) -> Self {
        let memory = table.memory();
        let stretch = Stretch::new(memory.gauge(walk));
        Self { walk, area, stretch, offset: 0, end: 0, size: 0 }
    }

    /// The block, if it is in the stretch.
    pub(super) fn get(&self, handle: Handle) -> Option<Bytes> {
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let end = start.checked_add(handle.size as usize)?;
        let bytes = self.stretch.bytes();
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }

    /// A block was found in memory: the walk goes on behind it, or before it.
    pub(super) fn passed(&mut self, handle: Handle) {
        (self.offset, self.end) = (handle.offset, handle.offset + u64::from(handle.size));
        self.stretch.clear();
    }

    /// Whether the bytes lie in the stretch.
    pub(super) fn holds(&self, bytes: &Bytes) -> bool {
        self.stretch.bytes().as_ptr_range().contains(&bytes.as_ptr())
    }

    /// Gives back the memory of what was read.
    pub(super) fn release(&mut self) {
        self.stretch.release();
    }

    /// Whether the last read was of one block, and not because the walk came from the one before.
    pub(super) fn is_single(&self) -> bool {
        self.size == 0
    }

    /// Reads the block, and the blocks behind it in the walk's direction, up to `most`: the end of
    /// the range that the walk may reach.
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
        let len = self.stretch.bytes().len();
        let mut known = match usize::try_from(handle.offset.saturating_sub(self.offset)) {
            Ok(from) if goes_on && from < len => from..len,
            _ => 0..0,
        };
        self.choose_size(table, goes_on || goes_back);
        let (cause, counts) = (self.walk.cause(), self.size > 0);
        let mut size = self.size as u64;
        loop {
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
            let stretch = usize::try_from(end - offset).expect("a stretch within its bounds");
            let front = known.len();
            let from = offset + front as u64;
            let read = |into: &mut [u8]| table.read_into(from, into, cause);
            match self.stretch.refill(known, stretch, counts, read) {
                // Bytes further on have been given back: nearer by half each time.
                Err(Error::Store(StoreError::OutOfRange { .. }))
                    if (offset, end) != (handle.offset, handle_end) =>
                {
                    size = if size > u64::from(handle.size) { size / 2 } else { 0 };
                }
                Ok(()) => {
                    (self.offset, self.end) = (offset, end);
                    break;
                }
                Err(error) => {
                    self.stretch.clear();
                    return Err(error);
                }
            }
            known = 0..front;
        }
        let start = (handle.offset - self.offset) as usize;
        Ok(self.stretch.bytes().slice(start..start + handle.size as usize))
    }

    fn choose_size(&mut self, table: &Table, sequential: bool) {
        let memory = table.memory();
        self.size = match (self.walk, self.area) {
            (Walk::Job(_), Area::Data) => memory.job_ahead(self.stretch.counted()),
            (Walk::Job(_), Area::Index) => memory.job_index_ahead(),
            (Walk::Scan, _) if !sequential => 0,
            (Walk::Scan, _) => memory.scan_ahead(self.size, self.stretch.counted()),
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
