//! Writer of tables and clients' files on devices: large writes, at most two in flight at a time.
//!
//! 1. Appends fill a buffer of one large write. When more is appended to a full buffer, its blocks
//!    get a place in the writer's region and go to the device. A third write waits for the first.
//! 2. Completed writes join the file's map in file order.
//! 3. [`sync`](FileWriter::sync) writes the buffer. It pads the last, partial block, and keeps the
//!    bytes of that block in the buffer, because the next write writes them again elsewhere. For a
//!    table, it then flushes the device of the tables, and the offload device if the table has
//!    blocks there. For a client's file that the catalog knows, it commits the new length instead,
//!    if anything has changed. For one that the catalog does not know, it does neither.
//! 4. `finish` writes the rest and does not flush.
//!
//! The bytes of an *offloaded* table go to the offload device while it has room, and then to the
//! device of the tables. Offloaded bytes take nothing of the space that a reservation has set
//! aside, but its count of bytes goes down all the same.
//!
//! # Failure
//! - If a zone fails under a write, the zone is retired, and the bytes are written to others.
//!   Writing fails if this happens eight times for one write, if no other place is found, or on an
//!   error that is not a zone's. On a full disk of the host, the rest of the zone is given up and
//!   writing fails.
//! - After a failed write to the offload device, the bytes of that write and the rest of the file
//!   go to the device of the tables.
//! - The error of a write, or of a table's flush, is returned by the append, rest, sync or `finish`
//!   that finds it, and by those after it.
//! - A call that finds no space can be made again. The exceptions are an append of which a part was
//!   taken, and a failed write that found no other place: these end the writer.
//! - On a device without zones, the writer's region takes the place of a zone here.
//!
//! # Threads
//! One writer to a file. Readers see the bytes of each append that has returned, until the writer
//! ends by a failure. Appends, syncs and `finish` can wait for space and for the device.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use terrace_env::store::{FileKind, FileWriter, PlacementHint, Rank, StoreError};
use terrace_env::{ByteCount, FileId, IoBuf};
use terrace_zone::{Completion, DeviceError};

use super::OpenFile;
use super::tail::{Chunk, add_blocks};
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::catalog::Record;
use crate::space::{Ask, Member, Pool, Region, Share};
use crate::volume::Volume;

/// Writes in flight at once: one on the medium, one waiting in the device's queue.
const WRITES_MAX: usize = 2;

/// See the [module](self).
pub(crate) struct DataWriter {
    pub(super) volume: Arc<Volume>,
    pub(super) file: Arc<OpenFile>,
    pub(super) ask: Ask,
    member: Member,
    /// The pool of the offload device, while the file goes there.
    pub(super) offload: Option<Arc<dyn Pool>>,
    /// Bytes of a write.
    write_bytes: usize,
    /// Bytes left of the reservation.
    meter: Option<Arc<AtomicU64>>,
    pub(super) region: Option<Arc<Region>>,
    /// The regions of the writes in flight.
    regions: VecDeque<Arc<Region>>,
    /// Buffers of completed writes, to be used again: fresh memory costs more than copying.
    spare: Vec<IoBuf>,
    /// Error that ended writing.
    pub(super) failed: Option<StoreError>,
}

impl DataWriter {
    /// A writer at the end of `file`.
    pub(crate) fn new(
        volume: Arc<Volume>,
        file: Arc<OpenFile>,
        (ask, member): (Ask, Member),
        meter: Option<Arc<AtomicU64>>,
    ) -> Self {
        let (region, regions, spare) = (None, VecDeque::new(), Vec::new());
        let write_bytes = volume.write_blocks() as usize * BLOCK;
        let (offload, failed) = (None, None);
        Self {
            volume,
            file,
            ask,
            member,
            offload,
            write_bytes,
            meter,
            region,
            regions,
            spare,
            failed,
        }
    }

    /// From now on the file goes to the offload device, if the store has one.
    pub(crate) fn offloaded(mut self) -> Self {
        self.offload = self.volume.pools.offload().cloned();
        self
    }

    /// Writing goes on as long as nothing has failed for good and the file exists.
    fn check_alive(&self) -> Result<(), StoreError> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.file.lock().deleted => Err(StoreError::NotFound(self.file.id)),
            None => Ok(()),
        }
    }

    fn check_open(&self) -> Result<(), StoreError> {
        self.check_alive()?;
        if self.file.lock().finished {
            let (expected, got) = ("a file that is being written", "a finished one");
            return Err(StoreError::WrongState { id: self.file.id, expected, got });
        }
        Ok(())
    }

    /// Starts writing the first blocks of the buffer, up to the room of the region.
    fn push(&mut self, pad: bool) -> Result<(), StoreError> {
        while self.regions.len() >= WRITES_MAX {
            self.settle()?;
        }
        let buffered = self.file.lock().tail().buffer.len();
        // A client's partial block is an extent of its own: it will be replaced.
        let alone = pad && self.file.kind == FileKind::Client && buffered < BLOCK;
        let padded = pad && (alone || self.file.kind != FileKind::Client);
        let whole = if padded { buffered.div_ceil(BLOCK) } else { buffered / BLOCK };
        let whole = whole.min(self.write_bytes / BLOCK) as u32;
        let (region, addr, blocks) = self.claim(whole, true)?;
        debug_assert!(0 < blocks && blocks <= whole, "{blocks} blocks where {whole} were wanted");
        let len = blocks as usize * BLOCK;
        let data = {
            let mut state = self.file.lock();
            let tail = state.tail();
            let data = if len >= tail.buffer.len() {
                let mut data = std::mem::take(&mut tail.buffer);
                data.pad_to(BLOCK);
                data
            } else {
                let rest = IoBuf::copy_of(&tail.buffer[len..]);
                let mut data = std::mem::replace(&mut tail.buffer, rest);
                data.truncate(len);
                data
            };
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.extend(&data);
            let bytes = Arc::new(bytes);
            let at = tail.at;
            tail.in_flight.push_back(Chunk { at, addr, bytes, alone, ticket: None });
            tail.at += blocks;
            data
        };
        self.regions.push_back(region);
        let ticket = self.volume.media.submit_blocks(addr, data, false, self.ask.cause);
        if let Some(chunk) = self.file.lock().tail().in_flight.back_mut() {
            chunk.ticket = Some(ticket);
        }
        Ok(())
    }

    /// A place for at most `blocks` blocks, in the region at hand or in another. `may_settle`:
    /// before any writer has to wait or to give up a zone for another region, the writes in flight
    /// are waited for. They may hold the active slot that is wanted.
    pub(super) fn claim(
        &mut self,
        blocks: u32,
        may_settle: bool,
    ) -> Result<(Arc<Region>, BlockAddr, u32), StoreError> {
        loop {
            if let Some(region) = &self.region {
                if let Some((addr, blocks)) = region.claim(blocks) {
                    return Ok((Arc::clone(region), addr, blocks));
                }
                self.region = None;
            }
            let (ask, pool) = (self.ask_for_rest(), self.volume.pools.of_kind(self.file.kind));
            if let Some(pool) = &self.offload {
                // Reservations are those of the tables' device.
                let ask = Ask { reservation: 0, ..ask.clone() };
                self.region = Arc::clone(pool).lease_at_once(&ask).map(Arc::new);
                if self.region.is_some() {
                    continue;
                }
                self.offload = None;
            }
            if may_settle && !self.regions.is_empty() {
                if !self.member.has_group() {
                    self.region = Arc::clone(pool).lease_at_once(&ask).map(Arc::new);
                }
                if self.region.is_none() {
                    self.rest()?;
                }
                continue;
            }
            self.region = Some(self.member.lease(pool, &ask)?);
        }
    }

    /// Request for space for the part of the file that has no place yet.
    fn ask_for_rest(&self) -> Ask {
        let placed = u64::from(self.file.lock().tail().at) * BLOCK as u64;
        let left = self.ask.left.map(|size| ByteCount(size.0.saturating_sub(placed)));
        Ask { left, ..self.ask.clone() }
    }

    /// Waits for the oldest write and adds its blocks to the map. Once writing has failed, gives
    /// the blocks back instead: the map must not have holes.
    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(region) = self.regions.front().cloned() else { return Ok(()) };
        let (ticket, chunk) = {
            let mut state = self.file.lock();
            let chunk = state.tail().in_flight.front_mut().expect("a write in flight");
            (chunk.ticket.take(), Chunk { bytes: Arc::clone(&chunk.bytes), ticket: None, ..*chunk })
        };
        let result = ticket.map(|ticket| self.volume.media.wait(ticket));
        self.regions.pop_front();
        let Some(result) = result else {
            // A panic left the submission or the wait, and this is the drop that follows. Whether
            // the blocks were written is not known: they stay taken.
            region.settle(false);
            self.file.lock().tail().in_flight.pop_front();
            return Ok(());
        };
        if result.is_ok() {
            region.settle(true);
        }
        debug_assert!(chunk.blocks() > 0, "a write has at least one block");
        let places = match result {
            result if self.failed.is_some() => {
                match result {
                    Ok(_) => {}
                    // After a hole: the write that failed first has decided about the zone.
                    Err(DeviceError::NotAtWritePointer { .. }) => region.settle(false),
                    // The zone is given up; there is nothing to write elsewhere.
                    Err(error) => drop(self.give_up(&region, error)),
                }
                self.give_back(&[(chunk.addr, chunk.blocks())]);
                None
            }
            Ok(completion) => {
                if let Completion::Written { data, .. } = completion {
                    self.keep(data);
                }
                Some(vec![(chunk.addr, chunk.blocks())])
            }
            Err(error) => Some(self.write_elsewhere(&region, &chunk, error)?),
        };
        let copies = match &places {
            Some(_) => self.volume.cache.copies_of(&chunk.bytes),
            None => Vec::new(),
        };
        let mut state = self.file.lock();
        if !state.deleted {
            // Before the map names them: from then on they are looked for in the cache.
            let level = self.ask.hint.level;
            self.volume.cache.insert(self.file.id, level, chunk.at, copies);
        }
        state.tail().in_flight.pop_front();
        let Some(places) = places else { return Ok(()) };
        self.member.note_written(chunk.blocks());
        let superseded = add_blocks(&mut state, self.volume.media.space(), &chunk, &places);
        let before = Arc::clone(&state.pin);
        if !superseded.is_empty() {
            state.pin = before.succeed();
        }
        drop(state);
        before.condemn(&superseded, Share::Unsealed);
        if let Some(bytes) = Arc::into_inner(chunk.bytes) {
            self.keep(bytes);
        }
        let medium = self.volume.media.of(chunk.addr.device());
        match self.file.kind {
            FileKind::Client => medium.flush_if_shared(self.ask.cause),
            _ => medium.flush_if_due(self.ask.cause),
        }
        Ok(())
    }

    /// Keeps a buffer for the next write.
    fn keep(&mut self, mut buffer: IoBuf) {
        if self.spare.len() <= WRITES_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    pub(super) fn describe(&self, error: DeviceError) -> StoreError {
        self.volume.write_error(format!("writing file {}", self.file.id), self.file.kind, error)
    }

    /// Writes everything that was appended and waits for it.
    fn drain(&mut self) -> Result<(), StoreError> {
        loop {
            let (left, at, size) = {
                let mut state = self.file.lock();
                let size = state.size;
                let tail = state.tail();
                (tail.buffer.len(), u64::from(tail.at) * BLOCK as u64, size)
            };
            if left == 0 {
                return self.rest();
            }
            debug_assert_eq!(at + left as u64, size, "the buffer ends where the file does");
            self.push(true)?;
        }
    }

    /// Records the bytes written since the last sync, in the catalog if it knows the file.
    fn note_synced(&mut self) -> Result<(), StoreError> {
        let record = {
            let mut state = self.file.lock();
            let (id, size, committed) = (self.file.id, state.size, state.committed);
            let tail = state.tail();
            debug_assert!(tail.synced_size <= size, "{} of {size} bytes", tail.synced_size);
            debug_assert!(tail.in_flight.is_empty() && tail.buffer.len() < BLOCK, "all is written");
            let fresh = tail.extents[tail.synced_extents..].to_vec();
            let from: u32 = tail.extents[..tail.synced_extents].iter().map(|e| e.blocks).sum();
            if !committed || (fresh.is_empty() && size == tail.synced_size) {
                tail.note_synced(size);
                return Ok(());
            }
            Record::Resize { id, size, from, extents: fresh }
        };
        self.volume.commit_records(vec![record], true)?;
        let mut state = self.file.lock();
        let size = state.size;
        state.tail().note_synced(size);
        Ok(())
    }

    /// Puts the bytes of the last, partial block back into the buffer.
    fn keep_partial_block(&mut self, partial: &[u8]) {
        debug_assert!(partial.len() < BLOCK, "a part of a block, found {}", partial.len());
        if !partial.is_empty() {
            let mut state = self.file.lock();
            let tail = state.tail();
            debug_assert!(tail.buffer.is_empty(), "all was written");
            tail.at -= 1;
            tail.buffer = IoBuf::copy_of(partial);
        }
    }
}

pub(super) fn blocks_of(bytes: &[u8]) -> u32 {
    (bytes.len() / BLOCK) as u32
}

impl FileWriter for DataWriter {
    fn id(&self) -> FileId {
        self.file.id
    }

    fn len(&self) -> u64 {
        self.file.lock().size
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.check_open()?;
        let mut rest = bytes;
        // Room is made before the bytes are taken: an append that fails has taken nothing that a
        // further append could follow, unless it is larger than the buffer.
        while !rest.is_empty() {
            let buffered = self.file.lock().tail().buffer.len();
            if buffered >= self.write_bytes {
                if let Err(error) = self.push(false) {
                    if rest.len() < bytes.len() {
                        self.failed = Some(error.clone());
                    }
                    return Err(error);
                }
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min(self.write_bytes - buffered));
            let mut state = self.file.lock();
            let tail = state.tail();
            if tail.buffer.is_empty() {
                tail.buffer = self.spare.pop().unwrap_or_default();
            }
            tail.buffer.extend(now);
            debug_assert!(
                tail.buffer.len() <= self.write_bytes,
                "a buffer of {}",
                tail.buffer.len()
            );
            state.size += now.len() as u64;
            rest = later;
        }
        if let Some(meter) = &self.meter {
            let used = bytes.len() as u64;
            let _ = meter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(used))
            });
        }
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn place(&mut self, hint: PlacementHint, rank: Rank) {
        (self.ask.hint, self.ask.rank) = (hint, rank);
    }

    fn rest(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        while !self.regions.is_empty() {
            self.settle()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        let partial = {
            let mut state = self.file.lock();
            let len = state.tail().buffer.len();
            let tail = state.tail();
            IoBuf::copy_of(&tail.buffer[len - len % BLOCK..])
        };
        self.drain()?;
        self.keep_partial_block(&partial);
        if self.file.kind == FileKind::Client {
            return self.note_synced();
        }
        let flushed = self.volume.flush_file(&self.file, self.ask.cause);
        flushed.map_err(|error| {
            let error = self.describe(error);
            self.failed = Some(error.clone());
            error
        })
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.check_alive()?;
        if self.file.lock().finished {
            return Ok(());
        }
        self.drain()?;
        self.region = None;
        self.member.end_turn();
        // A caller that seals many files by one transaction keeps their writers until then.
        self.spare = Vec::new();
        let mut state = self.file.lock();
        state.tail().buffer = IoBuf::default();
        state.finished = true;
        Ok(())
    }
}

impl Drop for DataWriter {
    fn drop(&mut self) {
        while !self.regions.is_empty() {
            self.failed = self.settle().err().or(self.failed.take());
        }
        self.region = None;
        self.member.end_turn();
        self.volume.writer_ended(&self.file, self.failed.is_some());
    }
}
