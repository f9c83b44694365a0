//! Writes logs: frames, so that what survives a power cut is a prefix cut between appends.
//!
//! Appends gather in memory; a sync writes them as one frame and syncs the file. When more gathers
//! than a frame is worth, a frame is written before that, always in front of a whole append. An
//! append that is longer than a frame goes on in the next ones.
//!
//! # Threads
//! One writer to a log; readers see every byte that was appended.

use std::sync::Arc;

use terrace_env::store::{FileWriter, StoreError};
use terrace_env::{Cause, FileId, IoBuf, Uuid};

use super::journal::encode_append;
use super::node::{LogState, Node};
use super::reservation::Allowance;
use super::volume::Volume;
use crate::BLOCK;
use crate::frame::{Binding, PAYLOAD_MAX, blocks_for};

/// The type of a log's frames; logs have only one.
const LOG_FRAME: u8 = 1;

/// Bytes that gather before a frame is written unasked: much larger than a block, so that padding
/// is nothing, and small enough to hold.
const GATHER_MAX: usize = 256 << 10;

/// See the [module](self).
pub(super) struct LogWriter {
    pub(super) volume: Arc<Volume>,
    pub(super) node: Arc<Node>,
    pub(super) cause: Cause,
    pub(super) allowance: Allowance,
    /// After a failed sync nobody knows which frames are durable.
    pub(super) failed: Option<StoreError>,
}

impl LogState {
    /// A log that goes on at `block`, in a run of its own.
    pub(super) fn start(&mut self, uuid: Uuid, id: FileId, epoch: u32, block: u32, sequence: u64) {
        self.cursor = Binding { uuid, owner: id.0, epoch }.start(sequence);
        (self.epoch, self.block, self.synced) = (epoch, block, sequence);
    }
}

impl LogWriter {
    fn check(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Writes what has gathered.
    fn write_out(&mut self) -> Result<(), StoreError> {
        let id = self.node.id;
        let (payload, epoch, mut cursor, block, synced) = {
            let state = self.node.lock();
            let log = &state.log;
            if log.pending.is_empty() {
                return Ok(());
            }
            (log.pending.clone(), log.epoch, log.cursor, log.block, log.synced)
        };
        let binding = Binding { uuid: self.volume.uuid, owner: id.0, epoch };
        let mut bytes = IoBuf::with_capacity(payload.len() + 2 * BLOCK);
        encode_append(&binding, &mut cursor, LOG_FRAME, synced, &payload, &mut bytes);
        if bytes.len() / BLOCK > (u32::MAX - block) as usize {
            let expected = "expected a log of fewer than 2^32 blocks";
            return Err(StoreError::Invalid(format!("file {id}: {expected}")));
        }
        let written = self.node.file.write_at(u64::from(block) * BLOCK as u64, &bytes);
        written.map_err(|error| self.allowance.describe(&self.node, bytes.len(), error))?;
        self.volume.count_write(self.cause, bytes.len() as u64);
        let mut state = self.node.lock();
        let log = &mut state.log;
        for part in payload.chunks(PAYLOAD_MAX) {
            log.index.push(log.block, part);
            log.block += blocks_for(part.len());
        }
        log.cursor = cursor;
        log.pending.clear();
        Ok(())
    }
}

impl FileWriter for LogWriter {
    fn id(&self) -> FileId {
        self.node.id
    }

    fn len(&self) -> u64 {
        self.node.lock().size
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.check()?;
        self.node.check_writable()?;
        let gathered = self.node.lock().log.pending.len();
        if gathered > 0 && gathered + bytes.len() > GATHER_MAX {
            self.write_out()?;
        }
        self.allowance.spend(bytes.len() as u64);
        let mut state = self.node.lock();
        state.log.pending.extend_from_slice(bytes);
        state.size += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.check()?;
        if self.node.lock().deleted {
            return Err(StoreError::NotFound(self.node.id));
        }
        self.write_out()?;
        match self.node.sync() {
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
        self.check()?;
        if self.node.lock().deleted {
            return Err(StoreError::NotFound(self.node.id));
        }
        self.write_out()?;
        self.node.lock().finished = true;
        Ok(())
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.volume.writer_ended(&self.node);
    }
}
