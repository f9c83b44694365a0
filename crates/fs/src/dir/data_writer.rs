//! Writer of tables and clients' files in a directory. An append is written to the file at once;
//! the operating system buffers writes.
//!
//! A sync makes the appended bytes durable. For a client's file that the catalog has, it also
//! commits the new length, if that has changed. `finish` syncs nothing.
//!
//! # Failure
//! A failed append has no effect, and can be made again. If a sync fails because the host could not
//! sync the file, later appends, syncs and `finish` return that error while the store is open. If
//! only the commit of the length fails, the sync can be made again.
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
        let (node, ahead) = (&self.node, &mut self.ahead);
        let written = self.volume.timed(self.cause, || {
            if node.kind == FileKind::Table {
                ahead.provide(&*node.file, size + bytes.len() as u64);
            }
            node.file.write_at(size, bytes)
        });
        written.map_err(|error| self.allowance.describe(&self.node, bytes.len(), error))?;
        self.volume.count_write(self.cause, bytes.len() as u64);
        self.allowance.spend(bytes.len() as u64);
        let mut state = self.node.lock();
        state.size += bytes.len() as u64;
        state.crc = state.crc.map(with);
        Ok(())
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
        if self.node.lock().deleted {
            return Err(StoreError::NotFound(self.node.id));
        }
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
        self.volume.gate.check()?;
        self.check()?;
        let size = self.len();
        self.ahead.give_back(&*self.node.file, size);
        let mut state = self.node.lock();
        if state.deleted {
            return Err(StoreError::NotFound(self.node.id));
        }
        state.finished = true;
        Ok(())
    }
}

impl Drop for DataWriter {
    fn drop(&mut self) {
        self.volume.writer_ended(&self.node);
    }
}
