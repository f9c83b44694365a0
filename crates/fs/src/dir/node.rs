//! [`Node`]: the state that the handles of one file in a directory share: its sizes, whether it is
//! committed, sealed or deleted, its users and, of a log, the end that grows.
//!
//! Bytes below `size` can be read, except trimmed ones. The last of them may be in memory: those of
//! a log for the next frame, those of a table for the next write.
//!
//! # Threads
//! One lock around the state, not held over a file operation. It may be taken under the volume's
//! lock, but not the other way round.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{FileKind, StoreError};
use terrace_env::sync::{Mutex, MutexGuard};
use terrace_env::{Cause, DeviceId, FileId};

use super::FileHandle;
use super::log_index::LogIndex;
use crate::catalog::{Extent, LogMark};
use crate::frame::Cursor;
use crate::{BLOCK, BlockAddr};

/// See the [module](self).
pub(super) struct Node {
    pub(super) id: FileId,
    pub(super) kind: FileKind,
    pub(super) file: Arc<dyn FileHandle>,
    state: Mutex<NodeState>,
}

/// State of an open file.
#[derive(Default)]
pub(super) struct NodeState {
    /// Bytes that can be read.
    pub(super) size: u64,
    /// The last of them, if they are not in the file yet. Only the writer changes them.
    pub(super) gathered: Arc<Vec<u8>>,
    /// Bytes that are durable. (Of logs, see [`LogState`].)
    pub(super) synced: u64,
    /// The error of a failed sync: the durable bytes are then unknown.
    pub(super) unsynced: Option<StoreError>,
    /// The length that the catalog has.
    pub(super) recorded: u64,
    /// The checksum of all bytes, if they were all appended since the store was opened.
    pub(super) crc: Option<u32>,
    pub(super) has_writer: bool,
    /// Its writer has ended.
    pub(super) finished: bool,
    pub(super) committed: bool,
    pub(super) sealed: bool,
    pub(super) deleted: bool,
    pub(super) readers: u32,
    /// Trimmed by a durable commit, to be punched out when the last reader ends.
    pub(super) holes: Vec<Range<u64>>,
    pub(super) log: LogState,
}

impl NodeState {
    /// Bytes of a table or client's file that were written to the file.
    pub(super) fn in_file(&self) -> u64 {
        self.size - self.gathered.len() as u64
    }

    /// An error if the file `id`, whose state this is, was deleted.
    pub(super) fn check_exists(&self, id: FileId) -> Result<(), StoreError> {
        if self.deleted { Err(StoreError::NotFound(id)) } else { Ok(()) }
    }
}

/// The end of a log, and its frames; unused in other files.
#[derive(Default)]
pub(super) struct LogState {
    pub(super) epoch: u32,
    pub(super) cursor: Cursor,
    /// The block where the next frame starts.
    pub(super) block: u32,
    /// Frames of a smaller sequence are durable.
    pub(super) synced: u64,
    /// Its durable end, as of the last sync.
    pub(super) durable: Option<LogMark>,
    /// A sync or a cut failed: the durable end is unknown.
    pub(super) failed: bool,
    pub(super) index: LogIndex,
    /// Bytes that the next frame will hold.
    pub(super) pending: Arc<Vec<u8>>,
    /// The first bytes of `pending`: they are in the [`Tail`](super::tail::Tail), so that they
    /// outlast the process.
    pub(super) in_tail: usize,
    /// The open frame, if there is one.
    pub(super) open: Option<OpenFrame>,
}

/// A frame of one block that is in the file, at `block`. Until it is synced, it may be written
/// again with further bytes after its payload. Until it is closed, its payload stays at the front
/// of `pending`.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFrame {
    /// Its payload bytes.
    pub(super) len: usize,
    /// Chain and sequence that the next frame must carry.
    pub(super) cursor: Cursor,
}

impl Node {
    pub(super) fn new(
        id: FileId,
        kind: FileKind,
        file: Arc<dyn FileHandle>,
        state: NodeState,
    ) -> Self {
        Self { id, kind, file, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock()
    }

    pub(super) fn wrong_state(&self, expected: &'static str, state: &NodeState) -> StoreError {
        let got = if state.sealed {
            "a sealed file"
        } else if state.finished {
            "an unsealed file whose writer has finished"
        } else if state.has_writer {
            "an unsealed file that is being written"
        } else {
            "an unsealed file without a writer"
        };
        StoreError::WrongState { id: self.id, expected, got }
    }

    /// Checks that its writer may go on.
    pub(super) fn check_writable(&self) -> Result<(), StoreError> {
        self.check_writable_in(&self.lock())
    }

    /// The same of the locked state.
    pub(super) fn check_writable_in(&self, state: &NodeState) -> Result<(), StoreError> {
        state.check_exists(self.id)?;
        if state.sealed || state.finished {
            let expected = "an unsealed file whose writer has not finished";
            return Err(self.wrong_state(expected, state));
        }
        Ok(())
    }

    /// Makes all its bytes durable; of a log, all that are in frames. Returns whether there was
    /// anything to sync. After a failure, each call returns the same error: the host may have
    /// dropped bytes that it could not write, and a further sync would succeed.
    pub(super) fn sync(&self) -> Result<bool, StoreError> {
        let (size, mark) = {
            let state = self.lock();
            if let Some(error) = &state.unsynced {
                return Err(error.clone());
            }
            let sequence = state.log.cursor.sequence;
            let (block, size) = (state.log.block, state.log.index.size());
            let mark = LogMark { block, sequence, size };
            let is_synced = match self.kind {
                FileKind::Log => state.log.synced == sequence,
                FileKind::Table | FileKind::Client => state.synced == state.in_file(),
            };
            if is_synced {
                return Ok(false);
            }
            (state.in_file(), mark)
        };
        let synced = self.file.sync();
        let mut state = self.lock();
        if let Err(error) = synced {
            let error = StoreError::io(format!("syncing file {}", self.id), error);
            state.log.failed = self.kind == FileKind::Log;
            state.unsynced = Some(error.clone());
            return Err(error);
        }
        match self.kind {
            FileKind::Log => {
                state.log.synced = mark.sequence;
                state.log.durable = Some(mark).filter(|_| !state.log.failed);
            }
            FileKind::Table | FileKind::Client => {
                debug_assert!(size <= state.in_file(), "{size} synced, of {}", state.in_file());
                state.synced = size;
            }
        }
        Ok(true)
    }
}

/// The extents of a file of this many bytes: its blocks lie where they are in the file. None for an
/// empty file.
pub(super) fn extents(size: u64, crc: Option<u32>) -> Vec<Extent> {
    let blocks = u32::try_from(size.div_ceil(BLOCK as u64)).unwrap_or(u32::MAX);
    if blocks == 0 { Vec::new() } else { vec![host_extent(0, blocks, crc)] }
}

/// The lease of a log from this block on: a file has no end.
pub(super) fn lease(start: u32) -> Extent {
    host_extent(start, u32::MAX - start, None)
}

fn host_extent(start: u32, blocks: u32, crc: Option<u32>) -> Extent {
    Extent { first: BlockAddr::new(DeviceId::FIRST, start.into()), blocks, crc }
}

/// The default cause of reads and writes of a file.
pub(super) fn usual_cause(kind: FileKind) -> Cause {
    match kind {
        FileKind::Table => Cause::Flush,
        FileKind::Log => Cause::Log,
        FileKind::Client => Cause::Client,
    }
}
