//! Writes write-ahead files: frames, so that a sync is one forced write and no metadata write.
//!
//! 1. Appends gather in memory. A sync writes all of them as one frame, forced. An append that is
//!    larger than a frame goes on in the next ones.
//! 2. When more gathers than a frame holds, frames are written unforced. A later sync flushes them
//!    before it writes its own frame: a frame must not be durable before those in front of it.
//! 3. A log goes on in another zone when a frame does not fit the rest of its zone. The journal
//!    records the new lease before it is used.
//! 4. When a zone fails under a write, the frame is written to another zone in the same way.
//!
//! # Threads
//! One writer to a log; readers see every byte that was appended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::store::{FileWriter, StoreError};
use terrace_env::{FileId, IoBuf};
use terrace_zone::{Completion, Device};

use super::data_writer::is_zone_failure;
use super::{Body, FileState, LogIndex, OpenFile};
use crate::block::{BLOCK, BlockAddr};
use crate::catalog::{Extent, ExtentMap, Record};
use crate::frame::{
    Binding, Cursor, FrameHead, PAYLOAD_MAX, blocks_for, encode_frame, payload_room,
};
use crate::space::{Ask, Region, Share};
use crate::volume::Volume;

/// The type of a log's frames; logs have only one.
pub(crate) const LOG_FRAME: u8 = 1;
/// Unforced frames are not made smaller than this, however small writes are to be: appends are not
/// split between them, and what a frame does not hold of its last block is padding.
const FRAME_MIN: usize = 64 << 10;
/// Zones that may fail under one frame before the writer gives up.
const FAILURES_MAX: u32 = 8;

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
}

/// See the [module](self).
pub(crate) struct LogWriter {
    volume: Arc<Volume>,
    file: Arc<OpenFile>,
    ask: Ask,
    meter: Option<Arc<AtomicU64>>,
    region: Option<Region>,
    end: LogEnd,
    payload_max: usize,
    /// The buffer of the last write, to be used again.
    spare: IoBuf,
    failed: Option<StoreError>,
}

impl LogWriter {
    /// A writer that goes on at `end` of `file`.
    pub(crate) fn new(
        volume: Arc<Volume>,
        file: Arc<OpenFile>,
        ask: Ask,
        meter: Option<Arc<AtomicU64>>,
        end: LogEnd,
    ) -> Self {
        let frame = (volume.write_blocks() as usize * BLOCK).clamp(FRAME_MIN, PAYLOAD_MAX);
        let payload_max = payload_room(volume.space.zone_blocks()).min(frame);
        let (spare, failed) = (IoBuf::default(), None);
        Self { volume, file, ask, meter, region: None, end, payload_max, spare, failed }
    }

    /// Writing goes on as long as nothing has failed for good and the file exists.
    fn check_alive(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.file.lock().deleted => Err(StoreError::NotFound(self.file.id)),
            None => Ok(()),
        }
    }

    /// Writes everything that has gathered.
    fn write_out(&mut self, forced: bool) -> Result<(), StoreError> {
        let mut failures = 0;
        loop {
            let gathered = match &self.file.lock().body {
                Body::Log { pending, .. } => pending.len(),
                _ => 0,
            };
            if gathered == 0 {
                return Ok(());
            }
            let len = gathered.min(self.payload_max);
            let continues = len < gathered;
            let addr = self.place(blocks_for(len))?;
            let mut cursor = self.end.cursor;
            let data = self.encode(len, continues, &mut cursor);
            let ticket = self.volume.medium.submit_blocks(addr, data, forced, self.ask.cause);
            let result = self.volume.medium.wait(ticket);
            if let Some(region) = &self.region {
                region.settle();
            }
            match result {
                Ok(completion) => {
                    if let Completion::Written { data, .. } = completion {
                        self.spare = data;
                    }
                    self.note_written(addr, len, cursor, continues, forced);
                }
                Err(error) => {
                    let blocks = blocks_for(len);
                    let BlockAddr { zone, block: start } = addr;
                    let dead = Extent { zone, start, blocks, crc: None };
                    self.volume.space.free(&[dead], Share::Unsealed);
                    let retry = is_zone_failure(&error) && failures < FAILURES_MAX;
                    if !retry {
                        return Err(self.fail("writing", error));
                    }
                    failures += 1;
                    if let Some(region) = self.region.take() {
                        region.retire();
                    }
                }
            }
        }
    }

    /// The frame for the first `len` bytes that have gathered.
    fn encode(&mut self, len: usize, continues: bool, cursor: &mut Cursor) -> IoBuf {
        let mut data = std::mem::take(&mut self.spare);
        data.clear();
        let (binding, synced) = (self.binding(), self.end.synced);
        let head = FrameHead { synced, kind: LOG_FRAME, continues };
        if let Body::Log { pending, .. } = &self.file.lock().body {
            encode_frame(&binding, cursor, head, &pending[..len], &mut data);
        }
        data
    }

    fn binding(&self) -> Binding {
        let (uuid, epoch) = (self.volume.uuid, self.end.epoch);
        Binding { uuid, owner: self.file.id.0, epoch }
    }

    /// A place for a frame: behind the last one if it fits there, else in another zone, which the
    /// journal records first.
    fn place(&mut self, blocks: u32) -> Result<BlockAddr, StoreError> {
        let fits = |region: &Region| region.rest().is_some_and(|(_, room)| room >= blocks);
        if !self.region.as_ref().is_some_and(fits) {
            self.region = None;
            self.ask.least = blocks;
            let region = self.volume.space.acquire(&self.ask)?;
            self.lease(&region)?;
            self.region = Some(region);
        }
        let claimed = self.region.as_ref().and_then(|region| region.claim(blocks));
        match claimed {
            Some((addr, got)) if got == blocks => Ok(addr),
            _ => unreachable!("a log's lease is its own until it is dropped"),
        }
    }

    /// Takes a region for a log that the catalog does not know yet, so that its creation records
    /// the lease and its first sync need not. Where there is no room, the first write will tell.
    pub(crate) fn lease_early(&mut self) {
        if self.file.lock().committed {
            return;
        }
        if let Ok(region) = self.volume.space.acquire(&self.ask)
            && self.lease(&region).is_ok()
        {
            self.region = Some(region);
        }
    }

    fn lease(&self, region: &Region) -> Result<(), StoreError> {
        let Some((addr, room)) = region.rest() else { return Ok(()) };
        let extent = Extent { zone: addr.zone, start: addr.block, blocks: room, crc: None };
        let committed = {
            let mut state = self.file.lock();
            state.lease = Some(extent);
            state.committed
        };
        if committed {
            let record = Record::Extend { id: self.file.id, end: self.end.block, extent };
            self.volume.commit_records(vec![record], false)?;
        }
        Ok(())
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
        state.map = Arc::new(with_frame(&state.map, addr, blocks));
        if let Body::Log { index: Some(index), pending } = &mut state.body {
            index.push(self.end.block, len as u32);
            pending.drain(..len);
        }
        drop(state);
        let in_order = self.end.synced == self.end.cursor.sequence;
        self.end.cursor = cursor;
        self.end.block += blocks;
        self.end.broken = continues;
        if forced && in_order {
            self.end.synced = cursor.sequence;
        }
    }

    /// Makes the frames durable that were written unforced.
    fn flush(&mut self) -> Result<(), StoreError> {
        if self.end.synced < self.end.cursor.sequence {
            let flushed = self.volume.medium.flush(self.ask.cause);
            flushed.map_err(|error| self.fail("flushing", error))?;
            self.end.synced = self.end.cursor.sequence;
        }
        Ok(())
    }

    fn fail(&mut self, what: &str, error: terrace_zone::DeviceError) -> StoreError {
        let error = StoreError::io(format!("{what} log {}", self.file.id), error);
        self.failed = Some(error.clone());
        error
    }
}

/// The map with a frame at its end.
fn with_frame(map: &ExtentMap, addr: BlockAddr, blocks: u32) -> ExtentMap {
    let BlockAddr { zone, block: start } = addr;
    let mut extents: Vec<Extent> = map.extents().collect();
    match extents.last_mut() {
        Some(last) if last.zone == zone && last.end() == start => last.blocks += blocks,
        _ => extents.push(Extent { zone, start, blocks, crc: None }),
    }
    ExtentMap::consecutive(0, &extents).expect("a log of less than 16 TiB")
}

impl FileState {
    /// The bytes of a log that have gathered and are not written.
    fn pending(&mut self) -> Option<&mut Vec<u8>> {
        match &mut self.body {
            Body::Log { pending, .. } => Some(pending),
            _ => None,
        }
    }

    /// An empty log.
    pub(crate) fn empty_log(pin: Arc<super::Pin>) -> Self {
        let body = Body::Log { index: Some(LogIndex::default()), pending: Vec::new() };
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
        if state.pending().is_some_and(|p| !p.is_empty() && p.len() + bytes.len() > max) {
            drop(state);
            self.write_out(false)?;
            state = self.file.lock();
        }
        if let Some(pending) = state.pending() {
            pending.extend_from_slice(bytes);
        }
        state.size += bytes.len() as u64;
        drop(state);
        if let Some(meter) = &self.meter {
            let used = bytes.len() as u64;
            let _ = meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(used))
            });
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        self.flush()?;
        self.write_out(true)
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        if self.file.lock().finished {
            return Ok(());
        }
        self.write_out(false)?;
        self.region = None;
        self.file.lock().finished = true;
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.region = None;
        self.file.lock().log_end = Some(self.end);
        self.volume.writer_ended(&self.file, self.failed.is_some());
    }
}
