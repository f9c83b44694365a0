//! Writer of tables and clients' files in a directory. The operating system buffers writes.
//!
//! - Small appends to a table are *gathered* in memory, and go to the file in pieces that end at
//!   multiples of 128 KiB, at a sync, and when the writer finishes or ends. Blocks of a table are
//!   no whole pages. Written one by one, each would cost a call and parts of two pages, and the
//!   host would keep its cache in single pages instead of large folios.
//! - Any other append is written to the file at once, and so are the gathered bytes before it.
//! - A sync makes the appended bytes durable. For a client's file that the catalog has, it also
//!   commits the new length, if that has changed. `finish` syncs nothing.
//!
//! # Failure
//! A failed append has no effect, and can be made again; so can a `finish` that could not write. If
//! a sync fails because the host could not sync the file, later appends, syncs and `finish` return
//! that error while the store is open. If only the commit of the length fails, the sync can be made
//! again. A writer that ends loses the gathered bytes that it cannot write; the file is then
//! shorter.
//!
//! # Threads
//! One writer to a file. Readers see the bytes of each append that has returned.

use std::sync::Arc;

use terrace_env::checksum::{crc32c_append, crc32c_combine};
use terrace_env::store::{FileKind, FileWriter, StoreError};
use terrace_env::{Cause, FileId};

use super::ahead::Ahead;
use super::commit::Work;
use super::node::{Node, extents};
use super::reservation::Allowance;
use super::volume::Volume;
use crate::BLOCK;
use crate::catalog::Record;

/// The most bytes of a file: those of 2^32 - 1 blocks, just below 16 TiB.
const SIZE_MAX: u64 = u32::MAX as u64 * BLOCK as u64;

/// Gathered bytes go to the file when they reach a multiple of this.
const PIECE: u64 = 128 << 10;

/// The least append to a table that is written at once: a copy would cost more than a call.
const LARGE: usize = 32 << 10;

/// See the [module](self).
pub(super) struct DataWriter {
    pub(super) volume: Arc<Volume>,
    pub(super) node: Arc<Node>,
    pub(super) cause: Cause,
    pub(super) allowance: Allowance,
    pub(super) ahead: Ahead,
    /// The error of a failed sync: the durable bytes are then unknown.
    pub(super) failed: Option<StoreError>,
}

impl DataWriter {
    fn check(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Appends bytes; `with` adds them to the checksum of the bytes before.
    fn write(&mut self, bytes: &[u8], with: impl FnOnce(u32) -> u32) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        self.node.check_writable()?;
        let size = self.len();
        if bytes.len() as u64 > SIZE_MAX - size {
            let got = format!("{} after {size}", bytes.len());
            let id = self.node.id;
            return Err(StoreError::Invalid(format!(
                "file {id}: expected at most {SIZE_MAX} bytes, found {got}"
            )));
        }
        let end = size + bytes.len() as u64;
        // The file gets all bytes before `cut`.
        let cut = match self.node.kind {
            FileKind::Table if bytes.len() < LARGE => end - end % PIECE,
            _ => end,
        };
        let at_once = cut.saturating_sub(size) as usize;
        if self.node.kind == FileKind::Client {
            self.allowance.check_room(bytes.len() as u64)?;
        }
        if at_once > 0 {
            self.put_out(&bytes[..at_once])?;
        }
        self.allowance.spend(bytes.len() as u64);
        let mut state = self.node.lock();
        Arc::make_mut(&mut state.gathered).extend_from_slice(&bytes[at_once..]);
        state.size = end;
        state.crc = state.crc.map(with);
        debug_assert!(state.in_file() <= end, "{} bytes of {end} in the file", state.in_file());
        Ok(())
    }

    /// Writes the gathered bytes, and `more` after them, which the caller then counts in the size.
    /// A failure has no effect.
    fn put_out(&mut self, more: &[u8]) -> Result<(), StoreError> {
        let (start, gathered) = {
            let state = self.node.lock();
            (state.in_file(), Arc::clone(&state.gathered))
        };
        let len = gathered.len() + more.len();
        if len == 0 {
            return Ok(());
        }
        let (node, ahead) = (&self.node, &mut self.ahead);
        let written = self.volume.timed(self.cause, || {
            if node.kind == FileKind::Table {
                ahead.provide(&*node.file, start + len as u64);
            }
            match &gathered[..] {
                [] => node.file.write_at(start, more),
                first => node.file.write_parts_at(start, &[first, more]),
            }
        });
        drop(gathered);
        written.map_err(|error| self.allowance.describe(&self.node, len, error))?;
        self.volume.count_write(self.cause, len as u64);
        let mut state = self.node.lock();
        // The bytes are in the file now. Readers look here under the same lock.
        Arc::make_mut(&mut state.gathered).clear();
        state.size = start + len as u64;
        Ok(())
    }

    /// Writes the gathered bytes of a file that stays after its writer, or takes them back.
    fn leave_gathered(&mut self) {
        let stays = {
            let state = self.node.lock();
            if state.gathered.is_empty() {
                return;
            }
            state.committed && !state.deleted
        };
        let pass = self.volume.gate.pass();
        if stays
            && pass.is_ok()
            && self.failed.is_none()
            && !std::thread::panicking()
            && self.put_out(&[]).is_ok()
        {
            return;
        }
        let mut state = self.node.lock();
        state.size = state.in_file();
        (state.gathered, state.crc) = (Arc::default(), None);
    }

    /// Records the synced length of a client's file, if the file is committed.
    fn record_size(&self) -> Result<(), StoreError> {
        let (id, size) = {
            let state = self.node.lock();
            if !state.committed || state.recorded == state.synced {
                return Ok(());
            }
            (self.node.id, state.synced)
        };
        if self.node.kind != FileKind::Client {
            return Ok(());
        }
        let extents = extents(size, None);
        self.volume.enqueue(Work::Records(vec![Record::Resize { id, size, from: 0, extents }]))?;
        self.node.lock().recorded = size;
        Ok(())
    }
}

impl FileWriter for DataWriter {
    fn id(&self) -> FileId {
        self.node.id
    }

    fn len(&self) -> u64 {
        self.node.lock().size
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.write(bytes, |crc| crc32c_append(crc, bytes))
    }

    fn append_summed(&mut self, bytes: &[u8], crc: u32) -> Result<(), StoreError> {
        self.write(bytes, |before| crc32c_combine(before, crc, bytes.len() as u64))
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        self.node.lock().check_exists(self.node.id)?;
        self.put_out(&[])?;
        match self.volume.timed(self.cause, || self.node.sync()) {
            Ok(was_volatile) => {
                if was_volatile {
                    self.volume.count_sync();
                }
                self.record_size()
            }
            Err(error) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        let _pass = self.volume.gate.pass()?;
        self.check()?;
        self.node.lock().check_exists(self.node.id)?;
        self.put_out(&[])?;
        let size = self.len();
        self.ahead.give_back(&*self.node.file, size);
        let mut state = self.node.lock();
        state.check_exists(self.node.id)?;
        // A caller may keep its writer until it seals the file.
        state.gathered = Arc::default();
        state.finished = true;
        Ok(())
    }
}

impl Drop for DataWriter {
    fn drop(&mut self) {
        self.leave_gathered();
        self.volume.writer_ended(&self.node);
    }
}
