//! [`OpenFile`]: the state that all handles of one file share, with the map of its bytes.
//!
//! # Invariants
//! - Bytes below `size` can be read, except those that were trimmed, or that a failed writer lost.
//!   They come from the map's blocks, from the file cache, from writes in flight, or from the
//!   writer's buffer. Reads of other bytes fail with `OutOfRange`.
//! - A log has to be indexed before it is read: reading one that is not panics.
//! - After a trim, handles that are opened later use another state, the `heir`. Older handles keep
//!   this one, and can read the trimmed bytes.
//!
//! # Threads
//! One lock around the state, not held over a device call. A read makes a plan under the lock, and
//! takes the pin of the state; it carries the plan out without the lock. The lock comes after those
//! of registry and journal, and before that of the pool.

use std::sync::Arc;

use terrace_env::store::{FileKind, PendingRead, ReadBuf, StoreError};
use terrace_env::sync::{Mutex, MutexGuard};
use terrace_env::{Cause, FileId};

use super::cached::serve;
use super::log_writer::LogEnd;
use super::submitted::Submitted;
use super::{LogIndex, Pending, Pin, Tail};
use crate::BlockAddr;
use crate::block::BLOCK;
use crate::cache::FileCache;
use crate::canary::{self, Rule};
use crate::catalog::{Extent, ExtentMap, LogMark};
use crate::media::{BlockTicket, Media};

/// Blocks read by one request: more would only hold more memory.
const READ_BLOCKS_MAX: u32 = 1024;

/// See the [module](self).
pub(crate) struct OpenFile {
    pub(crate) id: FileId,
    pub(crate) kind: FileKind,
    state: Mutex<FileState>,
}

/// Where a file's bytes are.
pub(crate) struct FileState {
    /// Bytes that can be read.
    pub(crate) size: u64,
    /// Where the blocks are that have been written.
    pub(crate) map: Arc<ExtentMap>,
    /// Keeps them from being reset.
    pub(crate) pin: Arc<Pin>,
    pub(crate) body: Body,
    pub(crate) sealed: bool,
    /// The file has a writer.
    pub(crate) has_writer: bool,
    /// The file's writer has ended.
    pub(crate) finished: bool,
    /// The catalog has it, or is about to.
    pub(crate) committed: bool,
    pub(crate) deleted: bool,
    /// The file as handles find it that are opened after a trim.
    pub(crate) heir: Option<Arc<OpenFile>>,
    /// Where a log's writer may write, as far as the catalog is to know.
    pub(crate) lease: Option<Extent>,
    /// Where a log's writer left off.
    pub(crate) log_end: Option<LogEnd>,
    /// How far the log is durable, as of the last sync.
    pub(crate) durable: Option<LogMark>,
}

/// State in addition to the map, by kind of file.
pub(crate) enum Body {
    /// All bytes are in the map's blocks.
    Sealed,
    /// An unsealed table or client's file.
    Growing(Tail),
    /// A log. The index of a sealed one is made when it is first read.
    Log { index: Option<LogIndex>, pending: Pending },
}

/// Bytes of the medium and where they go.
pub(super) struct Piece {
    /// The block of the file that it starts with.
    pub(super) at: u32,
    pub(super) addr: BlockAddr,
    pub(super) blocks: u32,
    pub(super) skip: usize,
    pub(super) into: usize,
    pub(super) len: usize,
}

impl FileState {
    /// A file that nothing has been written to.
    pub(crate) fn empty(pin: Arc<Pin>, body: Body) -> Self {
        Self {
            size: 0,
            map: Arc::default(),
            pin,
            body,
            sealed: false,
            has_writer: true,
            finished: false,
            committed: false,
            deleted: false,
            heir: None,
            lease: None,
            log_end: None,
            durable: None,
        }
    }

    /// A committed file as the catalog knows it.
    pub(crate) fn quiet(size: u64, map: Arc<ExtentMap>, pin: Arc<Pin>, body: Body) -> Self {
        let empty = Self::empty(pin, body);
        Self { size, map, has_writer: false, committed: true, ..empty }
    }

    /// The part of an unsealed file that a transaction records: its length and blocks as of the
    /// last sync; for a log, the blocks where it may be written.
    pub(crate) fn durable_part(&mut self) -> (u64, Vec<Extent>) {
        let written = self.size.min(u64::from(self.map.end()) * BLOCK as u64);
        match &mut self.body {
            Body::Growing(tail) => {
                if tail.synced_blocks() * (BLOCK as u64) < tail.synced_size {
                    // The block that was partial at the sync has been written again, as a part of
                    // more. All that is in the map is complete, and the commit flushes it.
                    tail.note_synced(written);
                }
                debug_assert!(
                    tail.synced_size <= tail.synced_blocks() * BLOCK as u64,
                    "{} synced bytes in {} blocks",
                    tail.synced_size,
                    tail.synced_blocks()
                );
                (tail.synced_size, tail.extents[..tail.synced_extents].to_vec())
            }
            Body::Sealed => (self.size, self.map.extents().collect()),
            Body::Log { .. } => {
                let in_lease =
                    |extent: &Extent| self.lease.is_some_and(|lease| lease.contains(extent));
                let closed = self.map.extents().filter(|extent| !in_lease(extent));
                (0, closed.chain(self.lease).collect())
            }
        }
    }

    /// Mark for a log that ends at `end`: block, sequence, and the bytes in its frames up to there.
    pub(crate) fn mark_at(&self, end: &LogEnd) -> Option<LogMark> {
        let Body::Log { index: Some(index), .. } = &self.body else { return None };
        let (block, sequence) = (end.block, end.cursor.sequence);
        (!end.broken).then_some(LogMark { block, sequence, size: index.size() })
    }

    /// The epoch of a log's frames; 0 for other files.
    pub(crate) fn epoch(&self) -> u32 {
        self.log_end.map_or(0, |end| end.epoch)
    }

    /// The growing file's tail.
    pub(crate) fn tail(&mut self) -> &mut Tail {
        match &mut self.body {
            Body::Growing(tail) => tail,
            _ => unreachable!("only growing files have a data writer"),
        }
    }
}

impl OpenFile {
    pub(crate) fn new(id: FileId, kind: FileKind, state: FileState) -> Self {
        Self { id, kind, state: Mutex::new(state) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, FileState> {
        self.state.lock()
    }

    /// Fills `into` with the bytes from `offset` on.
    pub(crate) fn read_at(
        &self,
        (media, cache): (&Media, &FileCache),
        offset: u64,
        into: &mut [u8],
        cause: Cause,
    ) -> Result<(), StoreError> {
        let (pieces, _pin) = self.prepare(cache, offset, into, cause)?;
        carry_out(media, self.id, &pieces, into, cause)
    }

    /// Begins to fill `into` with the bytes from `offset` on.
    pub(crate) fn submit(
        &self,
        (media, cache): (&Arc<Media>, &FileCache),
        offset: u64,
        mut into: ReadBuf,
        cause: Cause,
    ) -> PendingRead {
        match self.prepare(cache, offset, &mut into, cause) {
            Err(error) => PendingRead::done(Err(error)),
            Ok((pieces, _)) if pieces.is_empty() => PendingRead::done(Ok(into)),
            Ok((pieces, pin)) => {
                let read = Submitted::begin((media, cause), self.id, pieces, into, pin);
                PendingRead::under_way(Box::new(read))
            }
        }
    }

    /// Copies the bytes from `offset` on that are in memory; returns the parts that have to be read
    /// from a device, and the pin that keeps them there.
    fn prepare(
        &self,
        cache: &FileCache,
        offset: u64,
        into: &mut [u8],
        cause: Cause,
    ) -> Result<(Vec<Piece>, Option<Arc<Pin>>), StoreError> {
        let (pieces, pin) = {
            let state = self.lock();
            let end = offset.checked_add(into.len() as u64);
            if end.is_none_or(|end| end > state.size) {
                let end = end.unwrap_or(u64::MAX);
                return Err(self.out_of_range(offset, end, format!("{} bytes", state.size)));
            }
            let held = !canary::is_broken(Rule::ReadHoldsPin);
            (self.plan(&state, offset, into)?, held.then(|| Arc::clone(&state.pin)))
        };
        let pieces = match self.kind {
            FileKind::Log => pieces,
            FileKind::Table | FileKind::Client => serve(cache, self.id, pieces, into, cause),
        };
        Ok((pieces, pin))
    }

    fn out_of_range(&self, start: u64, end: u64, valid: String) -> StoreError {
        StoreError::OutOfRange { id: self.id, start, end, valid }
    }

    /// Copies the bytes that are in memory, and lists the blocks that have to be read.
    fn plan(
        &self,
        state: &FileState,
        offset: u64,
        into: &mut [u8],
    ) -> Result<Vec<Piece>, StoreError> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < into.len() {
            let from = offset + done as u64;
            let want = into.len() - done;
            let (start, len) = match &state.body {
                Body::Log { index: Some(index), pending } => match index.locate(from) {
                    Some((start, left)) => (start, left.min(want as u64) as usize),
                    None => {
                        let skip = from.saturating_sub(index.size()) as usize;
                        // A size that frames and memory do not have: that of a damaged record.
                        if pending.len().saturating_sub(skip) < want {
                            let valid = index.size() + pending.len() as u64;
                            let valid = format!("{valid} bytes in frames and in memory");
                            return Err(self.out_of_range(from, from + want as u64, valid));
                        }
                        pending.copy(skip, &mut into[done..]);
                        break;
                    }
                },
                Body::Log { index: None, .. } => unreachable!("a log is indexed when it is opened"),
                Body::Sealed => (from, want),
                Body::Growing(tail) => {
                    if let Some(len) = tail.copy(from, &mut into[done..]) {
                        done += len;
                        continue;
                    }
                    let in_map = tail.first_in_memory() - from;
                    (from, in_map.min(want as u64) as usize)
                }
            };
            debug_assert!(0 < len && len <= want, "{len} of {want} bytes from {from} on");
            self.map_pieces(&state.map, start, done, len, &mut pieces)?;
            done += len;
        }
        Ok(pieces)
    }

    /// Splits `len` bytes of the file's blocks, from byte `start` on, at the ends of extents.
    fn map_pieces(
        &self,
        map: &ExtentMap,
        start: u64,
        into: usize,
        len: usize,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), StoreError> {
        let mut done = 0;
        while done < len {
            let at = start + done as u64;
            let block = u32::try_from(at / BLOCK as u64).unwrap_or(u32::MAX);
            let Some(piece) = map.find(block) else {
                let valid = "mapped bytes: this part was trimmed".to_owned();
                return Err(self.out_of_range(at, start + len as u64, valid));
            };
            let skip = (at % BLOCK as u64) as usize;
            let rest = (piece.end() - block).min(READ_BLOCKS_MAX);
            let taken = (rest as usize * BLOCK - skip).min(len - done);
            let addr = piece.extent.first.plus(block - piece.at);
            debug_assert!(taken > 0 && skip < BLOCK, "{taken} bytes from {skip} on");
            let blocks = (skip + taken).div_ceil(BLOCK) as u32;
            pieces.push(Piece { at: block, addr, blocks, skip, into: into + done, len: taken });
            done += taken;
        }
        Ok(())
    }
}

/// Reads all pieces, several at a time.
fn carry_out(
    media: &Media,
    id: FileId,
    pieces: &[Piece],
    into: &mut [u8],
    cause: Cause,
) -> Result<(), StoreError> {
    let mut result = Ok(());
    for batch in pieces.chunks(8) {
        let tickets: Vec<BlockTicket> =
            batch.iter().map(|piece| piece.submit(media, cause)).collect();
        for (piece, ticket) in batch.iter().zip(tickets) {
            let ended = piece.finish(media, ticket, into);
            result = result.and(ended.map_err(|error| piece.failure(media, id, error)));
        }
        result.clone()?;
    }
    result
}
