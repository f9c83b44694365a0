//! Writer of logs on devices. Appends go into frames, so that a sync usually takes one forced write
//! and no write of metadata.
//!
//! 1. Appends are buffered in memory. If more is buffered than a frame holds, frames are written
//!    unforced. An append does not wait for them, unless [`WRITES_MAX`] are in flight or the log
//!    needs another lease. A large append is copied piece by piece in this way; if it finds no
//!    space for a frame, its rest stays in the buffer.
//! 2. A sync waits for the frames in flight and flushes them, if any is not known to be durable.
//!    Then it writes the buffered bytes as a forced frame; if they are more than a frame holds, as
//!    several, one after the other. So all frames before a forced one are durable before it is
//!    written.
//! 3. An [early flush](FileWriter::early_flush) makes the frames durable that were written before
//!    it, in another thread. Frames from then on are forced, and several may be in flight. So once
//!    that flush has ended, the next sync needs no flush: it waits for these frames alone. Until
//!    then a forced frame may become durable before an earlier one; the head of a frame says which
//!    frames were durable when it was written, so that an opening takes a hole for a lost end.
//! 4. A write-out writes the buffered bytes, unforced, and waits for all frames: a process may end
//!    while a request is still in its device's queue. It ends the effect of an early flush. A
//!    write-out that is only begun waits no more than an append does.
//! 5. A [`LogLease`] gives the place of each frame. Before the log takes another lease, the frames
//!    in flight must have completed; to record the lease can take a commit.
//!
//! # Failure
//! - If a zone fails under a write, that frame and the later ones are written to another zone,
//!   unless more than eight zones have failed in a row. On a device without zones, the lease takes
//!   the place of the zone.
//! - A call that finds no space can be made again: the buffered bytes stay.
//! - After another failed write or flush, such as on a full disk of the host, this call and later
//!   appends, write-outs, syncs and `finish` return the error.
//!
//! # Threads
//! One writer to a log. Readers see the bytes of each append that has returned. If the writer ends
//! by a failure, bytes that are in no frame are lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use terrace_env::store::{EarlyFlush, FileWriter, PlacementHint, Rank, StoreError};
use terrace_env::{Cause, FileId, IoBuf, reached};
use terrace_zone::Completion;

use super::log_lease::LogLease;
use super::write_failure::{is_left_undone, is_zone_failure};
use super::{Body, FileState, LogIndex, OpenFile, Pending};
use crate::block::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::{Extent, ExtentMap};
use crate::frame::{
    Binding, Cursor, FrameHead, PAYLOAD_MAX, blocks_for, encode_frame_of, payload_room,
};
use crate::media::BlockTicket;
use crate::space::{Ask, Member, Region};
use crate::volume::Volume;
use crate::{AddressSpace, BlockAddr};

/// The type of a log's frames; logs have only one.
pub(crate) const LOG_FRAME: u8 = 1;
/// The least size of an unforced frame, for any size of writes: appends are not split between
/// frames, and the rest of a frame's last block is padding.
const FRAME_MIN: usize = 64 << 10;
/// Zones that may fail under one frame before the writer gives up.
const FAILURES_MAX: u32 = 8;
/// Frames in flight at once, of 1 MiB each where memory is not short. A disk writes that in 20 ms,
/// so that an append seldom waits for the reads and writes of compactions in between.
const WRITES_MAX: usize = 4;
/// Blocks of a frame after an early flush, at most. The kernel makes one forced command of it; it
/// flushes the device after a forced write that is longer than a command.
const FORCED_BLOCKS: u32 = 64;

/// Where a log's writer left off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEnd {
    pub(crate) epoch: u32,
    pub(crate) cursor: Cursor,
    /// The block of the file where the next frame starts.
    pub(crate) block: u32,
    /// Frames below this sequence are durable.
    pub(crate) synced: u64,
    /// The last frame does not end its append.
    pub(crate) broken: bool,
    /// A write failed: the bytes after the end are not known.
    pub(crate) failed: bool,
}

/// A frame on its way to the medium.
struct Flight {
    region: Arc<Region>,
    addr: BlockAddr,
    /// Payload bytes.
    len: usize,
    /// Chain and sequence that the next frame must carry.
    cursor: Cursor,
    continues: bool,
    forced: bool,
    /// The memory of the frame.
    memory: usize,
    ticket: BlockTicket,
}

/// See the [module](self).
pub(crate) struct LogWriter {
    volume: Arc<Volume>,
    file: Arc<OpenFile>,
    cause: Cause,
    meter: Option<Arc<AtomicU64>>,
    lease: LogLease,
    /// The end of the written frames; those in flight come after it.
    end: LogEnd,
    /// Frames in flight, in the order of the log.
    in_flight: VecDeque<Flight>,
    /// Zones that have failed since a write succeeded.
    failures: u32,
    payload_max: usize,
    /// Buffers of completed writes, to be used again: at most one for each that may be in flight.
    spare: Vec<IoBuf>,
    /// The memory of all frames, in flight and spare, and of the buffered bytes.
    frames: usize,
    gathered: usize,
    /// The early flush, from which on all frames are forced: whether it has succeeded.
    early: Option<Arc<AtomicBool>>,
    failed: Option<StoreError>,
}

impl LogWriter {
    /// A writer that goes on at `end` of `file`.
    pub(crate) fn new(
        volume: Arc<Volume>,
        file: Arc<OpenFile>,
        (ask, member): (Ask, Member),
        meter: Option<Arc<AtomicU64>>,
        end: LogEnd,
    ) -> Self {
        // Whole blocks, head included: a small frame would waste much of its last one.
        let frame = match volume.log_frame_bytes().max(FRAME_MIN) {
            small @ ..PAYLOAD_MAX => payload_room((small / BLOCK) as u32),
            _ => PAYLOAD_MAX,
        };
        let region = volume.pools.of_kind(file.kind).region_blocks();
        let payload_max = payload_room(region).min(frame);
        debug_assert!(payload_max > 0 && payload_max <= PAYLOAD_MAX, "frames of {payload_max}");
        debug_assert!(end.synced <= end.cursor.sequence, "no frame is durable before it exists");
        let cause = ask.cause;
        let lease = LogLease::new(Arc::clone(&volume), Arc::clone(&file), (ask, member));
        let (in_flight, spare) = (VecDeque::new(), Vec::new());
        let (failures, frames, gathered, early, failed) = (0, 0, 0, None, None);
        Self {
            volume,
            file,
            cause,
            meter,
            lease,
            end,
            in_flight,
            failures,
            payload_max,
            spare,
            frames,
            gathered,
            early,
            failed,
        }
    }

    /// Takes the first lease, if there is room to spare, so that the log's creation records it.
    pub(crate) fn lease_early(&mut self) {
        self.lease.take_early(self.end.block);
    }

    /// Writing goes on as long as nothing has failed for good and the file exists.
    fn check_alive(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.file.lock().deleted => Err(StoreError::NotFound(self.file.id)),
            None => Ok(()),
        }
    }

    /// The most payload bytes of a frame now, and the most frames in flight.
    fn limits(&self) -> (usize, usize) {
        let forced = self.payload_max.min(payload_room(FORCED_BLOCKS));
        match self.early {
            None => (self.payload_max, WRITES_MAX),
            Some(_) => (forced, WRITES_MAX * self.payload_max / forced),
        }
    }

    /// Bytes that have gathered and are not on their way.
    fn unsent(&self) -> usize {
        let sent: usize = self.in_flight.iter().map(|flight| flight.len).sum();
        self.file.lock().pending().map_or(0, |pending| pending.len() - sent)
    }

    /// Sends everything that has gathered; waits for it if it is to be forced.
    fn send_all(&mut self, forced: bool) -> Result<(), StoreError> {
        if forced {
            self.settle_all()?;
        }
        loop {
            let gathered = self.unsent();
            if gathered == 0 {
                return Ok(());
            }
            let (payload_max, writes_max) = self.limits();
            if self.in_flight.len() >= writes_max {
                self.settle()?;
                continue;
            }
            let len = gathered.min(payload_max);
            if !self.lease.has_room(blocks_for(len)) && !self.in_flight.is_empty() {
                // The journal is to record where the log goes on, which is not sure before.
                self.settle_all()?;
                continue;
            }
            self.send(len, len < gathered, forced)?;
            if forced {
                self.settle()?;
            }
        }
    }

    /// Sends the buffered bytes of an append that goes on, in whole frames.
    fn send_begun(&mut self) -> Result<(), StoreError> {
        let (payload_max, writes_max) = self.limits();
        while self.unsent() >= payload_max {
            if self.in_flight.len() >= writes_max {
                self.settle()?;
            } else if !self.lease.has_room(blocks_for(payload_max)) && !self.in_flight.is_empty() {
                self.settle_all()?;
            } else {
                self.send(payload_max, true, false)?;
            }
        }
        Ok(())
    }

    /// Adds bytes of an append to the buffer.
    fn gather(&mut self, bytes: &[u8]) {
        let mut state = self.file.lock();
        if let Some(pending) = state.pending() {
            pending.append(bytes);
            self.gathered = pending.memory();
        }
        state.size += bytes.len() as u64;
    }

    /// Writes everything that has gathered, unforced, and waits for it.
    fn send_and_settle(&mut self) -> Result<(), StoreError> {
        while self.unsent() > 0 || !self.in_flight.is_empty() {
            self.send_all(false)?;
            self.settle_all()?;
        }
        Ok(())
    }

    /// Starts to write the next frame.
    fn send(&mut self, len: usize, continues: bool, forced: bool) -> Result<(), StoreError> {
        debug_assert!(len > 0 && len <= self.payload_max, "a frame of {len} bytes");
        debug_assert!(self.in_flight.len() < self.limits().1, "{} in flight", self.in_flight.len());
        let forced = forced || self.early.is_some();
        debug_assert!(
            !forced || self.early.is_some() || self.in_flight.is_empty(),
            "without an early flush a forced frame is written alone"
        );
        let end = self.in_flight.is_empty().then_some(self.end.block);
        let (region, addr) = self.lease.place(blocks_for(len), end)?;
        let before = self.in_flight.back().map_or(self.end.cursor, |flight| flight.cursor);
        let mut cursor = before;
        let data = self.encode(len, continues, &mut cursor);
        let memory = data.capacity();
        let ticket = self.volume.media.submit_blocks(addr, data, forced, self.cause);
        let flight = Flight { region, addr, len, cursor, continues, forced, memory, ticket };
        self.in_flight.push_back(flight);
        debug_assert!(self.adds_up(), "{} bytes of frames", self.frames);
        Ok(())
    }

    /// Whether the memory of the frames is what a count of them comes to.
    fn adds_up(&self) -> bool {
        let in_flight = self.in_flight.iter().map(|flight| flight.memory);
        self.frames == in_flight.chain(self.spare.iter().map(IoBuf::capacity)).sum::<usize>()
    }

    /// Waits for the oldest write. When its zone has failed, it and all others in flight are taken
    /// back: their bytes return to the buffer.
    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(flight) = self.in_flight.pop_front() else { return Ok(()) };
        let Flight { region, addr, len, cursor, continues, forced, memory, ticket } = flight;
        let result = self.volume.media.wait(ticket);
        debug_assert!(memory <= self.frames, "{memory} of {} bytes of frames", self.frames);
        self.frames -= memory;
        let error = match result {
            Ok(completion) => {
                region.settle(true);
                if let Completion::Written { data, .. } = completion {
                    self.frames += data.capacity();
                    self.spare.push(data);
                }
                self.failures = 0;
                self.note_written(addr, len, cursor, continues, forced);
                return Ok(());
            }
            Err(error) => error,
        };
        // Before its blocks are free: on a plain device, others lease them again.
        if is_zone_failure(&error) {
            region.retire();
        } else if is_left_undone(&error) {
            region.abandon();
        }
        self.lease.give_back(addr, len);
        while let Some(flight) = self.in_flight.pop_front() {
            // After a hole, so it counts for nothing even if it was written.
            drop(self.volume.media.wait(flight.ticket));
            flight.region.settle(false);
            self.frames -= flight.memory;
            self.lease.give_back(flight.addr, flight.len);
        }
        self.lease.end();
        if !is_zone_failure(&error) || self.failures == FAILURES_MAX {
            return Err(self.fail("writing", error));
        }
        reached!("fs: a log goes on in another zone after a failed write");
        self.failures += 1;
        Ok(())
    }

    fn settle_all(&mut self) -> Result<(), StoreError> {
        while !self.in_flight.is_empty() {
            self.settle()?;
        }
        Ok(())
    }

    /// The frame for the next `len` bytes that have gathered.
    fn encode(&mut self, len: usize, continues: bool, cursor: &mut Cursor) -> IoBuf {
        let mut data = self.spare.pop().unwrap_or_default();
        self.frames -= data.capacity();
        data.clear();
        let sent: usize = self.in_flight.iter().map(|flight| flight.len).sum();
        let (binding, synced) = (self.binding(), self.end.synced);
        let head = FrameHead { synced, kind: LOG_FRAME, continues };
        if let Body::Log { pending, .. } = &self.file.lock().body {
            let parts = pending.parts(sent, sent + len);
            encode_frame_of(&binding, cursor, head, len, parts, &mut data);
        }
        self.frames += data.capacity();
        data
    }

    fn binding(&self) -> Binding {
        let (uuid, epoch) = (self.volume.uuid, self.end.epoch);
        Binding { uuid, owner: self.file.id.0, epoch }
    }

    fn note_written(
        &mut self,
        addr: BlockAddr,
        len: usize,
        cursor: Cursor,
        continues: bool,
        forced: bool,
    ) {
        let blocks = blocks_for(len);
        let mut state = self.file.lock();
        state.map = Arc::new(with_frame(&state.map, self.volume.media.space(), addr, blocks));
        debug_assert_eq!(state.map.end(), self.end.block + blocks, "the log ends with its frame");
        if let Body::Log { index: Some(index), pending } = &mut state.body {
            index.push(self.end.block, len as u32);
            pending.note_written(len);
        }
        drop(state);
        let in_order = self.end.synced == self.end.cursor.sequence;
        self.lease.note_written(blocks);
        debug_assert!(cursor.sequence > self.end.cursor.sequence, "frames count up");
        self.end.cursor = cursor;
        self.end.block += blocks;
        self.end.broken = continues;
        if forced && in_order {
            self.end.synced = cursor.sequence;
        }
        debug_assert!(self.end.synced <= self.end.cursor.sequence, "{:?}", self.end);
        self.note_early_flush();
    }

    /// Notes that all written frames are durable, if the early flush has succeeded: the frames
    /// after it were forced.
    fn note_early_flush(&mut self) {
        if self.early.as_ref().is_some_and(|done| done.load(Ordering::Acquire)) {
            if self.end.synced < self.end.cursor.sequence {
                reached!("fs: an early flush makes a log durable");
            }
            self.end.synced = self.end.cursor.sequence;
        }
    }

    /// Makes the frames durable that were written unforced.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.note_early_flush();
        let due = self.end.synced < self.end.cursor.sequence;
        if due && !canary::is_broken(Rule::FramesDurableInOrder) {
            let flushed = self.volume.flush_of(self.file.kind, self.cause);
            flushed.map_err(|error| self.fail("flushing", error))?;
            self.end.synced = self.end.cursor.sequence;
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, error: terrace_zone::DeviceError) -> StoreError {
        let what = format!("{what} log {}", self.file.id);
        let error = self.volume.write_error(what, self.file.kind, error);
        self.failed = Some(error.clone());
        error
    }
}

/// The map with a frame at its end.
fn with_frame(map: &ExtentMap, space: &AddressSpace, addr: BlockAddr, blocks: u32) -> ExtentMap {
    let mut extents: Vec<Extent> = map.extents().collect();
    match extents.last_mut() {
        Some(last) if last.ends_at(addr) && space.is_whole(last.first, last.blocks + blocks) => {
            last.blocks += blocks;
        }
        _ => extents.push(Extent { first: addr, blocks, crc: None }),
    }
    ExtentMap::consecutive(0, &extents).expect("a log of less than 16 TiB")
}

impl FileState {
    /// The bytes of a log that have gathered and are not written.
    fn pending(&mut self) -> Option<&mut Pending> {
        match &mut self.body {
            Body::Log { pending, .. } => Some(pending),
            _ => None,
        }
    }

    /// An empty log.
    pub(crate) fn empty_log(pin: Arc<super::Pin>) -> Self {
        let body = Body::Log { index: Some(LogIndex::default()), pending: Pending::default() };
        Self::empty(pin, body)
    }
}

impl FileWriter for LogWriter {
    fn id(&self) -> FileId {
        self.file.id
    }

    fn len(&self) -> u64 {
        self.file.lock().size
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.check_alive()?;
        let max = self.payload_max;
        let mut state = self.file.lock();
        if state.finished {
            let (expected, got) = ("a log that is being written", "a finished one");
            return Err(StoreError::WrongState { id: self.file.id, expected, got });
        }
        let sent: usize = self.in_flight.iter().map(|flight| flight.len).sum();
        let unsent = state.pending().map_or(0, |pending| pending.len() - sent);
        drop(state);
        if unsent > 0 && unsent + bytes.len() > max {
            self.send_all(false)?;
        }
        let mut rest = bytes;
        // No more of a large append is copied than is on its way.
        while rest.len() > max {
            let (now, later) = rest.split_at(max);
            self.gather(now);
            rest = later;
            match self.send_begun() {
                // Bytes that find no space wait in memory, and the caller that writes them out gets
                // the error.
                Err(error) if error.is_space() && self.failed.is_none() => break,
                sent => sent?,
            }
        }
        self.gather(rest);
        if let Some(meter) = &self.meter {
            let used = bytes.len() as u64;
            let _ = meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(used))
            });
        }
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        // Forced, each write-out would wait for the medium. The next sync flushes again.
        self.early = None;
        self.send_and_settle()
    }

    fn place(&mut self, hint: PlacementHint, rank: Rank) {
        self.lease.place_next(hint, rank);
    }

    fn begin_write_out(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        self.send_all(false)
    }

    fn early_flush(&mut self) -> Option<EarlyFlush> {
        if self.early.is_some()
            || self.failed.is_some()
            || !self.volume.gains_by_early_flushes(self.file.kind)
        {
            return None;
        }
        // A flush covers completed writes only. A failure is that of the next call.
        self.settle_all().ok()?;
        if self.end.synced == self.end.cursor.sequence
            || canary::is_broken(Rule::FramesDurableInOrder)
        {
            return None;
        }
        let done = Arc::new(AtomicBool::new(false));
        self.early = Some(Arc::clone(&done));
        let (volume, kind, cause) = (Arc::clone(&self.volume), self.file.kind, self.cause);
        Some(EarlyFlush::new(move || {
            if volume.flush_of(kind, cause).is_ok() {
                done.store(true, Ordering::Release);
            }
        }))
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        self.settle_all()?;
        self.flush()?;
        self.send_all(true)?;
        let mut state = self.file.lock();
        state.durable = state.mark_at(&self.end).or(state.durable);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        if self.file.lock().finished {
            return Ok(());
        }
        self.send_and_settle()?;
        self.lease.end();
        // A caller that seals the file later, or waits until it is deleted, keeps its writer until
        // then.
        (self.spare, self.frames, self.gathered) = (Vec::new(), 0, 0);
        let mut state = self.file.lock();
        if let Some(pending) = state.pending() {
            pending.give_back();
        }
        state.finished = true;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.gathered + self.frames
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        while !self.in_flight.is_empty() {
            if let Err(error) = self.settle() {
                self.failed = Some(error);
            }
        }
        self.lease.end();
        self.end.failed |= self.failed.is_some();
        self.file.lock().log_end = Some(self.end);
        self.volume.writer_ended(&self.file, self.failed.is_some());
    }
}
