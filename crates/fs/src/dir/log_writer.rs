//! Writer of logs in a directory. Appends go into frames with checksums, so that a power cut leaves
//! a prefix of the log, cut between two appends.
//!
//! 1. Appends are buffered in memory. A write-out writes them to the file as a frame; a sync does
//!    so too, and syncs the file. If an append would make the buffer larger than 256 KiB, the bytes
//!    before it are written first. An append of more than 32 KiB is not buffered: it is written at
//!    once, in frames of its own of at most 1 MiB, after the bytes before it.
//! 2. A write-out may leave a frame of one block *open*: the next write writes the frame again,
//!    with the appends since then, if they fit the block. So small appends that are written out one
//!    by one share blocks. A sync closes the frame, and so do `finish` and a write that empties the
//!    buffer for an append. Reopening the log and closing the store close it, too.
//! 3. If the log can have the [`Tail`], a write-out copies the new bytes there instead. That takes
//!    no call of the operating system, and leaves no open frame. The bytes stay in the buffer, too,
//!    and the next frame holds them: it is written when the buffer or the tail is full, by a sync,
//!    by `finish`, or when the writer is dropped.
//!
//! Writing an open frame again is safe. If the process ends, the file has the old block or the new
//! one. A power cut may take the frame in any case, as it was not synced.
//!
//! # Failure
//! - After a failed write, the bytes that it may have left are cut off the file, and the cut is
//!   synced. If the write was one of an open frame, its former bytes are written back. If that
//!   fails too, they are in memory alone until a write-out succeeds. Appended bytes stay in memory,
//!   and the call can be made again.
//! - If a frame of bytes that are in the tail cannot be written, they stay there too, and the next
//!   opening finds them.
//! - If the cut or a sync by this writer fails, the durable end of the log is unknown. Later
//!   appends, write-outs, syncs and `finish` return the error while the store is open.
//!
//! # Threads
//! One writer to a log. Readers see the bytes of each append that has returned.

use std::sync::Arc;

use terrace_env::checksum::crc32c;
use terrace_env::store::{FileWriter, StoreError};
use terrace_env::{Cause, FileId, IoBuf, Uuid};

use super::ahead::Ahead;
use super::journal::encode_append;
use super::node::{LogState, Node, OpenFrame};
use super::reservation::Allowance;
use super::tail::Tail;
use super::volume::Volume;
use crate::BLOCK;
use crate::frame::{Binding, Cursor, FrameHead, HEADER, PAYLOAD_MAX, blocks_for, encode_head};

/// The type of a log's frames; logs have only one.
const LOG_FRAME: u8 = 1;

/// Most buffered bytes before a frame is written unasked: much larger than a block, so that padding
/// is negligible, and small enough for memory.
const GATHER_MAX: usize = 256 << 10;

/// The longest append that is buffered. To copy a longer one costs more than to write it by itself.
const BUFFERED_MAX: usize = 32 << 10;

/// See the [module](self).
pub(super) struct LogWriter {
    pub(super) volume: Arc<Volume>,
    pub(super) node: Arc<Node>,
    pub(super) cause: Cause,
    pub(super) allowance: Allowance,
    pub(super) ahead: Ahead,
    /// The error of a failed cut or sync: the durable frames are then unknown.
    pub(super) failed: Option<StoreError>,
    /// Buffer of a frame of one block, kept for the next one.
    pub(super) buffer: IoBuf,
    /// Memory of the buffered appends.
    pub(super) gathered: usize,
    /// The tail, as long as it holds bytes of this log.
    pub(super) tail: Option<Tail>,
}

impl LogState {
    /// A log that goes on at `block`, in a run of its own.
    pub(super) fn start(&mut self, uuid: Uuid, id: FileId, epoch: u32, block: u32, sequence: u64) {
        self.cursor = Binding { uuid, owner: id.0, epoch }.start(sequence);
        (self.epoch, self.block, self.synced) = (epoch, block, sequence);
    }

    /// Closes the open frame: it is never written again.
    pub(super) fn close_open_frame(&mut self) {
        let Some(OpenFrame { len, cursor }) = self.open.take() else { return };
        debug_assert!(0 < len && len <= self.pending.len(), "{len} of {}", self.pending.len());
        debug_assert!(cursor.sequence == self.cursor.sequence + 1, "a frame is one further");
        self.index.push(self.block, &self.pending[..len]);
        self.block += 1;
        self.cursor = cursor;
        Arc::make_mut(&mut self.pending).drain(..len);
    }

    /// Adds frames that were written at the log's end.
    fn push(&mut self, frames: NewFrames) {
        for (block, len, crc) in frames.frames {
            self.index.push_summed(block, len, crc);
        }
        (self.block, self.cursor) = (frames.end, frames.cursor);
    }
}

/// Frames in the file that are no part of the log yet.
struct NewFrames {
    /// Block, length and checksum of the payload of each.
    frames: Vec<(u32, usize, u32)>,
    /// The block after the last.
    end: u32,
    cursor: Cursor,
}

impl LogWriter {
    fn check(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Removes bytes that a failed write may have left from `start` on: if a power cut takes parts
    /// of the next write, these must read as zeros.
    fn take_back(&mut self, start: u64) {
        let cut = self.node.file.set_size(start).and_then(|()| self.node.file.sync());
        if let Err(error) = cut {
            self.node.lock().log.failed = true;
            self.failed = Some(StoreError::io(format!("cutting file {}", self.node.id), error));
        }
    }

    /// After a cut at `place`, where the open frame was: writes the frame again as it was, because
    /// an earlier write-out has promised its bytes. If that fails as well, its bytes are only in
    /// memory, like all other buffered bytes, until a write-out succeeds.
    fn restore_open_frame(&mut self, place: u64) {
        let mut state = self.node.lock();
        let log = &mut state.log;
        let Some(OpenFrame { len, .. }) = log.open else { return };
        let id = self.node.id;
        let binding = Binding { uuid: self.volume.uuid, owner: id.0, epoch: log.epoch };
        let mut cursor = log.cursor;
        self.buffer.clear();
        let frame = &log.pending[..len];
        encode_append(&binding, &mut cursor, LOG_FRAME, log.synced, frame, &mut self.buffer);
        drop(state);
        let write = || self.node.file.write_at(place, &self.buffer);
        if self.failed.is_some() || self.volume.timed(self.cause, write).is_err() {
            self.node.lock().log.open = None;
        }
    }

    /// Copies the buffered bytes to the tail that are not there yet. Returns `false` if the tail
    /// cannot take them. An error if the log was deleted.
    fn put_in_tail(&mut self) -> Result<bool, StoreError> {
        if self.tail.is_none() {
            {
                let state = self.node.lock();
                state.check_exists(self.node.id)?;
                let log = &state.log;
                // A writer without bytes must not keep the tail from others. Bytes of an open frame
                // are in the file, and the next bytes must follow them there.
                if log.open.is_some() || log.pending.is_empty() {
                    return Ok(log.pending.is_empty());
                }
            }
            self.tail = self.volume.take_tail();
        }
        let Some(tail) = &mut self.tail else { return Ok(false) };
        let mut state = self.node.lock();
        state.check_exists(self.node.id)?;
        let log = &mut state.log;
        let new = &log.pending[log.in_tail..];
        debug_assert!(log.open.is_none(), "bytes of an open frame are in the file already");
        let binding = Binding { uuid: self.volume.uuid, owner: self.node.id.0, epoch: log.epoch };
        let fits = new.is_empty() || tail.put(&binding, log.index.size() + log.in_tail as u64, new);
        if fits {
            log.in_tail = log.pending.len();
        }
        Ok(fits)
    }

    /// Gives the tail back, as all its bytes are in frames.
    fn give_tail_back(&mut self) {
        self.node.lock().log.in_tail = 0;
        if let Some(tail) = self.tail.take() {
            self.volume.give_tail_back(tail);
        }
    }

    /// Writes the buffered bytes. A frame of one block stays open, unless `close` is set.
    fn put_out(&mut self, close: bool) -> Result<(), StoreError> {
        let id = self.node.id;
        let mut state = self.node.lock();
        let log = &mut state.log;
        if log.pending.len() == log.open.map_or(0, |open| open.len) {
            if close {
                log.close_open_frame();
            }
            return Ok(());
        }
        if HEADER + log.pending.len() > BLOCK {
            log.close_open_frame();
        }
        if HEADER + log.pending.len() > BLOCK {
            let pending = Arc::clone(&log.pending);
            drop(state);
            let frames = self.write_frames(&pending)?;
            drop(pending);
            let mut state = self.node.lock();
            state.log.push(frames);
            Arc::make_mut(&mut state.log.pending).clear();
            drop(state);
            self.give_tail_back();
            return Ok(());
        }
        let binding = Binding { uuid: self.volume.uuid, owner: id.0, epoch: log.epoch };
        let (mut cursor, block, len) = (log.cursor, log.block, log.pending.len());
        let was_open = log.open.is_some();
        self.buffer.clear();
        encode_append(&binding, &mut cursor, LOG_FRAME, log.synced, &log.pending, &mut self.buffer);
        drop(state);
        debug_assert_eq!(self.buffer.len(), BLOCK, "a frame of one block");
        check_blocks(id, block, 1)?;
        let place = u64::from(block) * BLOCK as u64;
        let (file, buffer, ahead) = (&self.node.file, &self.buffer, &mut self.ahead);
        let write = || {
            ahead.provide(&**file, place + BLOCK as u64);
            file.write_at(place, buffer)
        };
        if let Err(error) = self.volume.timed(self.cause, write) {
            self.take_back(place);
            self.restore_open_frame(place);
            return Err(self.allowance.describe(&self.node, BLOCK, error));
        }
        // A block that is written again in the cache of the operating system adds no write to the
        // medium.
        self.volume.count_write(self.cause, if was_open { 0 } else { BLOCK as u64 });
        let mut state = self.node.lock();
        let log = &mut state.log;
        debug_assert_eq!(len, log.pending.len(), "the open frame holds all that is pending");
        log.open = Some(OpenFrame { len, cursor });
        if close {
            log.close_open_frame();
        }
        drop(state);
        self.give_tail_back();
        Ok(())
    }

    /// Writes bytes in frames of their own at the log's end, without a copy, and reads them once
    /// for their checksums. No frame may be open. A failure leaves nothing of them in the file.
    fn write_frames(&mut self, bytes: &[u8]) -> Result<NewFrames, StoreError> {
        let id = self.node.id;
        let (binding, mut cursor, start, synced) = {
            let log = &self.node.lock().log;
            debug_assert!(log.open.is_none(), "frames follow closed ones");
            let binding = Binding { uuid: self.volume.uuid, owner: id.0, epoch: log.epoch };
            (binding, log.cursor, log.block, log.synced)
        };
        let blocks = bytes.chunks(PAYLOAD_MAX).map(|part| u64::from(blocks_for(part.len()))).sum();
        check_blocks(id, start, blocks)?;
        let (mut end, mut rest) = (start, bytes);
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(PAYLOAD_MAX));
            let head = FrameHead { synced, kind: LOG_FRAME, continues: !after.is_empty() };
            let crc = crc32c(part);
            let front = encode_head(&binding, &mut cursor, head, (part.len(), crc));
            let blocks = blocks_for(part.len());
            let padding = &[0; BLOCK][..blocks as usize * BLOCK - HEADER - part.len()];
            let place = u64::from(end) * BLOCK as u64;
            let (file, ahead) = (&self.node.file, &mut self.ahead);
            let write = || {
                ahead.provide(&**file, place + u64::from(blocks) * BLOCK as u64);
                file.write_parts_at(place, &[&front, part, padding])
            };
            if let Err(error) = self.volume.timed(self.cause, write) {
                self.take_back(u64::from(start) * BLOCK as u64);
                return Err(self.allowance.describe(&self.node, bytes.len(), error));
            }
            self.volume.count_write(self.cause, u64::from(blocks) * BLOCK as u64);
            frames.push((end, part.len(), crc));
            end += blocks;
            rest = after;
        }
        Ok(NewFrames { frames, end, cursor })
    }

    /// Writes an append by itself. No buffered bytes may precede it.
    fn append_large(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        debug_assert!(self.node.lock().log.pending.is_empty(), "the buffer is written");
        let frames = self.write_frames(bytes)?;
        let mut state = self.node.lock();
        state.log.push(frames);
        state.size += bytes.len() as u64;
        Ok(())
    }
}

/// A log's blocks are counted by 32 bits.
fn check_blocks(id: FileId, block: u32, more: u64) -> Result<(), StoreError> {
    if more > u64::from(u32::MAX - block) {
        let expected = "expected a log of fewer than 2^32 blocks";
        return Err(StoreError::Invalid(format!("file {id}: {expected}")));
    }
    Ok(())
}

impl FileWriter for LogWriter {
    fn id(&self) -> FileId {
        self.node.id
    }

    fn len(&self) -> u64 {
        self.node.lock().size
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        let is_large = bytes.len() > BUFFERED_MAX;
        let mut state = self.node.lock();
        self.node.check_writable_in(&state)?;
        let gathered = state.log.pending.len();
        if gathered > 0 && (is_large || gathered + bytes.len() > GATHER_MAX) {
            drop(state);
            // The last block may be open: it is closed, since this append does not go into it.
            self.put_out(true)?;
            state = self.node.lock();
        }
        if is_large {
            drop(state);
            self.append_large(bytes)?;
        } else {
            Arc::make_mut(&mut state.log.pending).extend_from_slice(bytes);
            state.size += bytes.len() as u64;
            self.gathered = state.log.pending.capacity();
            drop(state);
        }
        self.allowance.spend(bytes.len() as u64);
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        if self.put_in_tail()? {
            return Ok(());
        }
        // No frame stays open if the tail can take the next appends.
        self.put_out(self.tail.is_some() || self.volume.has_tail())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        self.node.lock().check_exists(self.node.id)?;
        self.put_out(true)?;
        match self.volume.timed(self.cause, || self.node.sync()) {
            Ok(false) => {}
            Ok(true) => self.volume.count_sync(),
            Err(error) => {
                self.failed = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        self.node.lock().check_exists(self.node.id)?;
        self.put_out(true)?;
        let size = u64::from(self.node.lock().log.block) * BLOCK as u64;
        self.ahead.give_back(&*self.node.file, size);
        // A caller may keep its writer until it seals the file, or until the file is deleted.
        (self.buffer, self.gathered) = (IoBuf::default(), 0);
        let mut state = self.node.lock();
        state.log.pending = Arc::default();
        state.finished = true;
        Ok(())
    }

    fn memory(&self) -> usize {
        self.gathered + self.buffer.capacity()
    }
}

impl LogWriter {
    /// Writes bytes that are in the tail as a frame, and gives the tail back. If that fails, the
    /// tail keeps them for the next opening.
    fn leave_tail(&mut self) {
        if self.tail.is_none() {
            return;
        }
        let pass = self.volume.gate.pass();
        let is_needless = {
            let state = self.node.lock();
            state.deleted || state.log.in_tail == 0
        };
        if is_needless {
            self.give_tail_back();
        } else if pass.is_ok() && self.failed.is_none() && !std::thread::panicking() {
            let _ = self.put_out(true);
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.leave_tail();
        self.volume.writer_ended(&self.node);
    }
}
