//! [`ReadAhead`]: reads blocks for a cursor, several by one request to the store. The part of the
//! table that is in memory for this is a *section*.
//!
//! - A job reads large sections at once. A scan begins with single blocks and reads larger sections
//!   the longer it goes on. Sections of data are smaller if memory is short.
//! - While a walk forward consumes one section, the read of the next one can be in flight, if the
//!   store queues reads. (Otherwise a submitted read is made at once, and takes a second buffer.) A
//!   job submits a section of data at once, or, where the queue of the medium is to be short, in
//!   the middle of the section before; and none of an index. A scan submits the next section once
//!   its sections have their largest size. If memory is short, or the walk may end before the next
//!   section, that section is read when the walk comes to it.
//! - A section may end within a block. Then the part in memory is kept, and the rest is read with
//!   the next section. (A walk backward reads the whole block again.)
//!
//! For the cursor:
//! - It calls [`ReadAhead::get`] first, and [`ReadAhead::fill`] if the block is not there. It calls
//!   [`ReadAhead::passed`] for a block that it found in the cache.
//! - The bytes are as stored: the cursor must verify each block.
//! - Forward, a section ends at the cursor's end at the latest, unless the requested block is
//!   longer.
//! - A failed read is an error of the requested block, even if another part of the section caused
//!   it. If other bytes of the section have been freed, less is read instead.
//!
//! One owner, which holds no lock. A call may wait for the device, and so may a drop with a read in
//! flight. While the next section is read, there are two in memory.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use terrace_env::store::{PendingRead, ReadBuf, StoreError};
use terrace_env::{Cause, IoBuf, MAPPED_MIN, MemoryLease};

use super::frame::Handle;
use super::reader::Table;
use super::section::{Pools, Section, Spare};
use crate::Error;
use crate::memory::Walk;

/// Sections end at multiples of the least read of stores, so that nothing is read twice.
const ALIGNMENT: u64 = 4096;

/// Bytes of `left` to read at once if reads should have about `size`: even parts, so that no small
/// rest remains, for which a disk would have to move its head.
fn even_part(left: u64, size: u64) -> u64 {
    let parts = (left + size / 2) / size.max(1);
    left.div_ceil(parts.max(1))
}

/// A multiple of the alignment about `end`, and at least `least`.
fn aligned(end: u64, least: u64) -> u64 {
    (end / ALIGNMENT * ALIGNMENT).max(least.next_multiple_of(ALIGNMENT))
}

/// End of a section that begins at `from` and should have about `size` bytes: at least `least`, and
/// at most `most` unless `least` is larger.
fn section_end(from: u64, size: u64, most: u64, least: u64) -> u64 {
    let end = match from + even_part(most.saturating_sub(from), size) {
        end if end >= most => most,
        end => aligned(end, least),
    };
    end.min(most).max(least)
}

/// Two adjacent parts of a block.
fn joined(front: &[u8], back: &[u8]) -> Bytes {
    let len = front.len() + back.len();
    if len < MAPPED_MIN {
        let mut bytes = BytesMut::with_capacity(len);
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        return bytes.freeze();
    }
    let mut bytes = IoBuf::with_capacity(len);
    bytes.extend(front);
    bytes.extend(back);
    Bytes::from_owner(bytes)
}

/// Fills `into` with the bytes from `from` on, except those that `brought` has.
fn read_around(
    table: &Table,
    from: u64,
    into: &mut [u8],
    brought: &Brought,
    cause: Cause,
) -> Result<(), Error> {
    let within = |at: u64| usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
    let (start, end) = (within(brought.offset), within(brought.end()).min(into.len()));
    if start > 0 {
        table.read_into(from, &mut into[..start], cause)?;
    }
    let skip = usize::try_from(from.saturating_sub(brought.offset)).unwrap_or(usize::MAX);
    into[start..end].copy_from_slice(&brought.bytes[skip..skip + end - start]);
    if end < into.len() {
        table.read_into(from + end as u64, &mut into[end..], cause)?;
    }
    Ok(())
}

/// Use of the submitted section for a block.
enum Taken {
    /// The block lies in it, and it is the current section now.
    Block(Bytes),
    /// The block begins before it or ends after it.
    Part(Brought),
    Nothing,
}

/// Kind of blocks to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    Data,
    Index,
}

/// The section of a table that has been read.
#[derive(Debug)]
pub(super) struct ReadAhead {
    walk: Walk,
    area: Area,
    section: Section,
    /// Bounds of the section that was last read or found in memory; `section` has its bytes, if it
    /// has any.
    offset: u64,
    end: u64,
    /// The least bytes of a scan's next read.
    size: usize,
    /// The section whose read has been submitted.
    next: Option<Next>,
    /// Whether a next section was considered since the current one was read.
    is_decided: bool,
    /// Whether the current section is the last one of the range.
    is_last: bool,
    /// The block that lies in the current section and in the one before, and its offset.
    divided: Option<(u64, Bytes)>,
    /// Memory for the next section.
    spare: Option<Spare>,
}

/// A section that is being read.
#[derive(Debug)]
struct Next {
    offset: u64,
    end: u64,
    read: PendingRead,
    lease: MemoryLease,
    size: usize,
}

/// Bytes of a submitted read, and their place.
struct Brought {
    offset: u64,
    bytes: ReadBuf,
}

impl Brought {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl ReadAhead {
    /// A read-ahead without a section.
    pub(super) fn new(table: &Table, walk: Walk, area: Area) -> Self {
        let memory = table.memory();
        let pools = if table.queues_reads() {
            Pools::default()
        } else {
            let small = (walk == Walk::Scan).then(|| Arc::clone(&memory.scan_buffers));
            Pools { small, large: Some(Arc::clone(&memory.large_buffers)) }
        };
        let section = Section::new(memory.gauge(walk), pools);
        Self {
            walk,
            area,
            section,
            offset: 0,
            end: 0,
            size: 0,
            next: None,
            is_decided: false,
            is_last: false,
            divided: None,
            spare: None,
        }
    }

    /// The block, if it is in the section.
    pub(super) fn get(&mut self, handle: Handle) -> Option<Bytes> {
        self.divided.take_if(|(offset, _)| *offset != handle.offset);
        if let Some((_, block)) = &self.divided {
            return Some(block.clone());
        }
        let start = usize::try_from(handle.offset.checked_sub(self.offset)?).ok()?;
        let end = start.checked_add(handle.size as usize)?;
        let bytes = self.section.bytes();
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }

    /// Takes all of the range from `offset` on from these bytes, which the caller counts.
    pub(super) fn share(&mut self, offset: u64, bytes: Bytes) {
        (self.offset, self.end) = (offset, offset + bytes.len() as u64);
        self.section.share(bytes);
        (self.next, self.divided) = (None, None);
        (self.is_decided, self.is_last) = (true, true);
    }

    /// Notes that a block was found in memory: the walk goes on after it, or before it.
    pub(super) fn passed(&mut self, handle: Handle) {
        (self.offset, self.end) = (handle.offset, handle.offset + u64::from(handle.size));
        self.section.clear();
        self.divided = None;
    }

    /// Bytes in memory that no lease counts.
    pub(super) fn uncounted(&self) -> usize {
        if self.section.counted() == 0 { self.section.bytes().len() } else { 0 }
    }

    /// Whether the bytes lie in the section.
    pub(super) fn holds(&self, bytes: &Bytes) -> bool {
        self.section.bytes().as_ptr_range().contains(&bytes.as_ptr())
    }

    /// Frees the memory of the section. A read in flight goes on: its bytes come next.
    pub(super) fn release(&mut self) {
        self.section.release();
        (self.divided, self.spare) = (None, None);
    }

    /// Whether the current section is the last of the range.
    pub(super) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Whether there is memory for another section in addition to the current one.
    pub(super) fn has_room(&self, table: &Table) -> bool {
        let own = self.spare.as_ref().map_or(0, Spare::counted);
        table.memory().has_room_for_next(self.walk, self.size, own)
    }

    /// Whether to submit the read of the next section, now that the walk has come to this block.
    pub(super) fn is_next_due(&self, table: &Table, handle: Handle) -> bool {
        if self.is_decided || self.section.bytes().is_empty() {
            return false;
        }
        match (self.walk, self.area) {
            (Walk::Job(_), Area::Data) => {
                table.queues_reads()
                    && (!table.memory().keeps_queue_short() || handle.offset >= self.middle())
            }
            (Walk::Job(_), Area::Index) => false,
            (Walk::Scan, _) => {
                table.queues_reads() && handle.offset >= self.middle() && self.has_room(table)
            }
        }
    }

    /// Middle of the current section.
    fn middle(&self) -> u64 {
        self.offset + (self.end - self.offset) / 2
    }

    /// Submits the read of the next section, unless memory is short. `most`: as for
    /// [`fill`](Self::fill). `certain`: end of the part that the walk needs, or may need.
    pub(super) fn submit_next(&mut self, table: &Table, most: u64, certain: u64) {
        self.is_decided = true;
        self.is_last = self.end >= most;
        let end = section_end(self.end, self.size as u64, most, self.end + 1);
        // Even parts are at most half as large again. A larger section was read for one block.
        let is_block = self.end - self.offset > self.size as u64 * 3 / 2 + ALIGNMENT;
        let is_needed = !self.is_last && self.next.is_none() && !is_block && end <= certain;
        if is_needed && self.has_room(table) {
            self.submit(table, self.end, end, self.size);
        }
        self.spare = None;
    }

    /// Submits the read that [`fill`](Self::fill) would make for this block, the first of a walk.
    pub(super) fn submit_first(&mut self, table: &Table, handle: Handle, most: u64) {
        let handle_end = handle.offset + u64::from(handle.size);
        let last = self.offset..=self.end;
        let is_near = self.end > 0 && (last.contains(&handle.offset) || last.contains(&handle_end));
        let is_under_way = |next: &Next| (next.offset..next.end).contains(&handle.offset);
        if is_near || self.next.as_ref().is_some_and(is_under_way) {
            return;
        }
        self.next = None;
        self.choose_size(table, false);
        let end = match self.size as u64 {
            0 => handle_end,
            size => section_end(handle.offset, size, most, handle_end),
        };
        self.submit(table, handle.offset, end, self.size);
    }

    fn submit(&mut self, table: &Table, offset: u64, end: u64, size: usize) {
        let len = usize::try_from(end - offset).expect("a section within its bounds");
        let (into, mut lease) = self.section.buffer(self.spare.take(), len);
        if let (0, ReadBuf::Small(_)) = (size, &into) {
            lease.resize(0);
        }
        let read = table.submit_read(offset, into, self.walk.cause());
        self.next = Some(Next { offset, end, read, lease, size });
    }

    /// Whether the last read was of one block, and did not follow from the block before.
    pub(super) fn is_single(&self) -> bool {
        self.size == 0
    }

    /// Reads the block, and the next blocks in the walk's direction, up to `most`: the end of the
    /// walk's range.
    pub(super) fn fill(
        &mut self,
        table: &Table,
        handle: Handle,
        most: u64,
    ) -> Result<Bytes, Error> {
        let handle_end = handle.offset + u64::from(handle.size);
        let brought = match self.take_next(handle)? {
            Taken::Block(block) => return Ok(block),
            Taken::Part(brought) => Some(brought),
            Taken::Nothing => None,
        };
        // Bytes in flight are not read again.
        let most = self.next.as_ref().map_or(most, |next| most.min(next.offset).max(handle_end));
        self.divided = None;
        // A section may end within a block: its part is kept. Backward it is read again.
        let last = self.offset..=self.end;
        let goes_on = 0 < handle.offset && last.contains(&handle.offset) && self.end < handle_end;
        let goes_back = handle.offset < self.offset && last.contains(&handle_end);
        let len = self.section.bytes().len();
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
                (handle.offset, section_end(handle.offset, size, most, handle_end))
            };
            let end = brought.as_ref().map_or(end, |brought| end.max(brought.end()));
            let section = usize::try_from(end - offset).expect("a section within its bounds");
            let front = known.len();
            let from = offset + front as u64;
            let read = |into: &mut [u8]| match &brought {
                None => table.read_into(from, into, cause),
                Some(brought) => read_around(table, from, into, brought, cause),
            };
            match self.section.refill(known, section, counts, read) {
                // Later bytes have been freed: the next try has half as many.
                Err(Error::Store(StoreError::OutOfRange { .. }))
                    if size > 0 && (offset, end) != (handle.offset, handle_end) =>
                {
                    size = if size > u64::from(handle.size) { size / 2 } else { 0 };
                }
                Ok(()) => {
                    (self.offset, self.end) = (offset, end);
                    (self.is_decided, self.is_last) = (goes_back, false);
                    break;
                }
                Err(error) => {
                    self.section.clear();
                    return Err(error);
                }
            }
            known = 0..front;
        }
        let start = (handle.offset - self.offset) as usize;
        Ok(self.section.bytes().slice(start..start + handle.size as usize))
    }

    /// Takes the submitted section, if the block lies in it or ends in it. A section that the walk
    /// does not need any more is dropped.
    fn take_next(&mut self, handle: Handle) -> Result<Taken, Error> {
        let Some(next) = self.next.take() else { return Ok(Taken::Nothing) };
        let handle_end = handle.offset + u64::from(handle.size);
        if handle_end <= next.offset && self.offset <= handle.offset {
            self.next = Some(next);
            return Ok(Taken::Nothing);
        }
        if handle_end <= next.offset || next.end <= handle.offset {
            return Ok(Taken::Nothing);
        }
        let bytes = match next.read.wait() {
            Ok(bytes) => bytes,
            // Later bytes have been freed: the block is read, and less after it.
            Err(StoreError::OutOfRange { .. }) => return Ok(Taken::Nothing),
            Err(error) => {
                self.section.clear();
                return Err(error.into());
            }
        };
        let before = self.section.bytes();
        let front = match usize::try_from(handle.offset.saturating_sub(self.offset)) {
            _ if handle.offset >= next.offset => Some(&[][..]),
            Ok(from) if self.offset + before.len() as u64 == next.offset => before.get(from..),
            _ => None,
        };
        let Some(front) = front.filter(|_| handle_end <= next.end) else {
            return Ok(Taken::Part(Brought { offset: next.offset, bytes }));
        };
        let (divided, back) = (!front.is_empty(), (handle_end - next.offset) as usize);
        self.divided = divided.then(|| (handle.offset, joined(front, &bytes[..back])));
        self.spare = self.section.replace(bytes, next.lease);
        (self.offset, self.end, self.size) = (next.offset, next.end, next.size);
        (self.is_decided, self.is_last) = (false, false);
        Ok(Taken::Block(self.get(handle).expect("a block of the section")))
    }

    fn choose_size(&mut self, table: &Table, sequential: bool) {
        let memory = table.memory();
        self.size = match (self.walk, self.area) {
            (Walk::Job(_), Area::Data) => memory.job_ahead(self.section.counted()),
            (Walk::Job(_), Area::Index) => memory.job_index_ahead(),
            (Walk::Scan, _) if !sequential => 0,
            (Walk::Scan, _) if !table.queues_reads() => {
                memory.cached_scan_ahead(self.size, self.section.counted())
            }
            (Walk::Scan, _) => memory.scan_ahead(self.size, self.section.counted()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_in_even_parts_without_a_small_rest() {
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
