//! [`Reader`]: a handle for reading a file of the directory.
//!
//! A sealed file stays readable as it was when the handle was made, even if it is trimmed or
//! deleted later, until the store is closed. Bytes that were trimmed before are out of range; logs
//! are not trimmed. An unsealed file can be read up to the bytes that its writer has appended by
//! then.
//!
//! A sealed file of which nothing was trimmed may be [mapped](FileReader::mapped). The mapping
//! counts as a reader of its own.
//!
//! The last bytes of an unsealed table may come from its writer's memory.
//!
//! A log is read frame by frame, and a frame is verified when it is read from the file. The handle
//! keeps the last frame, up to 1 MiB, because logs are read from front to back in small pieces.
//! Bytes after the last closed frame come from the writer's memory. Bytes of other kinds of files
//! are not verified here.

use std::sync::Arc;

use terrace_env::checksum::crc32c;
use terrace_env::store::{FileKind, FileReader, MappedFile, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{Cause, FileId};

use super::log_index::Spot;
use super::names;
use super::node::Node;
use super::volume::Volume;
use crate::BLOCK;
use crate::catalog::ExtentMap;

/// See the [module](self).
pub(super) struct Reader {
    volume: Arc<Volume>,
    node: Arc<Node>,
    counted: Arc<Counted>,
    /// The part of a sealed file that may be read, and the file's size, which does not change.
    sealed: Option<(Arc<ExtentMap>, u64)>,
    frame: Mutex<Option<(Spot, Arc<Vec<u8>>)>>,
}

/// A counted reader of a file: the handle, and the file's view.
struct Counted {
    volume: Arc<Volume>,
    node: Arc<Node>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.volume.reader_ended(&self.node);
    }
}

/// Source of the next bytes of a log.
enum Piece {
    Frame(Spot),
    /// They were copied from memory.
    Copied,
}

impl Reader {
    /// A handle for a file of which a reader has been counted.
    pub(super) fn new(volume: Arc<Volume>, node: Arc<Node>, map: Option<Arc<ExtentMap>>) -> Self {
        let sealed = map.map(|map| (map, node.lock().size));
        let counted = Arc::new(Counted { volume: Arc::clone(&volume), node: Arc::clone(&node) });
        Self { volume, node, counted, sealed, frame: Mutex::default() }
    }

    fn out_of_range(&self, start: u64, end: u64, valid: String) -> StoreError {
        StoreError::OutOfRange { id: self.node.id, start, end, valid }
    }

    /// Checks that none of the bytes has been trimmed.
    fn check_mapped(&self, start: u64, end: u64) -> Result<(), StoreError> {
        let Some((map, _)) = &self.sealed else { return Ok(()) };
        let mut at = start;
        while at < end {
            let block = u32::try_from(at / BLOCK as u64).unwrap_or(u32::MAX);
            let Some(piece) = map.find(block) else {
                return Err(self.out_of_range(
                    start,
                    end,
                    format!("bytes without byte {at}, which was trimmed"),
                ));
            };
            at = u64::from(piece.end()) * BLOCK as u64;
        }
        Ok(())
    }

    fn read_log(&self, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        let mut done = 0;
        while done < into.len() {
            let from = offset + done as u64;
            match self.next_piece(from, &mut into[done..]) {
                Piece::Copied => return Ok(()),
                Piece::Frame(spot) => {
                    let payload = self.frame(spot)?;
                    let part = &payload[(from - spot.offset) as usize..];
                    let len = part.len().min(into.len() - done);
                    into[done..done + len].copy_from_slice(&part[..len]);
                    done += len;
                }
            }
        }
        Ok(())
    }

    /// Finds the frame of a byte of the log; copies bytes that are in no closed frame yet.
    fn next_piece(&self, from: u64, into: &mut [u8]) -> Piece {
        let state = self.node.lock();
        if let Some(spot) = state.log.index.find(from) {
            return Piece::Frame(spot);
        }
        let skip = (from - state.log.index.size()) as usize;
        into.copy_from_slice(&state.log.pending[skip..skip + into.len()]);
        Piece::Copied
    }

    /// The payload of a frame, verified.
    fn frame(&self, spot: Spot) -> Result<Arc<Vec<u8>>, StoreError> {
        if let Some((kept, payload)) = &*self.frame.lock()
            && *kept == spot
        {
            return Ok(Arc::clone(payload));
        }
        let mut payload = vec![0; spot.len as usize];
        self.read_file(spot.place, &mut payload)?;
        let got = crc32c(&payload);
        if got != spot.crc {
            return Err(StoreError::Corruption {
                region: self.path(),
                offset: spot.place,
                expected: format!("payload of checksum {:#010x}", spot.crc),
                got: format!("{got:#010x}"),
            });
        }
        let payload = Arc::new(payload);
        *self.frame.lock() = Some((spot, Arc::clone(&payload)));
        Ok(payload)
    }

    fn path(&self) -> String {
        names::path(&*self.volume.files, &names::file(self.node.id, self.node.kind))
    }

    /// Reads bytes of a table or client's file. The last ones of an unsealed table may be in the
    /// memory of its writer.
    fn read_data(&self, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        if self.sealed.is_some() {
            return self.read_file(offset, into);
        }
        let written = {
            let state = self.node.lock();
            let written = state.in_file().saturating_sub(offset).min(into.len() as u64) as usize;
            let part = &mut into[written..];
            let skip = (offset + written as u64).saturating_sub(state.in_file()) as usize;
            // A writer that has ended meanwhile may have lost them.
            let Some(gathered) = state.gathered.get(skip..skip + part.len()) else {
                let end = offset + into.len() as u64;
                return Err(self.out_of_range(offset, end, format!("{} bytes", state.size)));
            };
            part.copy_from_slice(gathered);
            written
        };
        if written == 0 { Ok(()) } else { self.read_file(offset, &mut into[..written]) }
    }

    fn read_file(&self, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        let read = self.node.file.read_at(offset, into);
        read.map_err(|error| self.explained(offset, into.len(), error))
    }

    /// The error of a failed read of the file.
    fn explained(&self, offset: u64, len: usize, error: std::io::Error) -> StoreError {
        // Closing the store removes the deleted files that have readers.
        if let Err(closed) = self.volume.gate.check() {
            return closed;
        }
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            let (expected, got) = (format!("{len} bytes"), "the end of the file".to_owned());
            return StoreError::Corruption { region: self.path(), offset, expected, got };
        }
        let name = names::file(self.node.id, self.node.kind);
        self.volume.describe("reading", &name, error)
    }

    /// Checks that bytes can be read.
    fn check(&self, offset: u64, len: usize) -> Result<(), StoreError> {
        self.volume.gate.check()?;
        let size = self.len();
        let end = offset.saturating_add(len as u64);
        if end > size {
            return Err(self.out_of_range(offset, end, format!("{size} bytes")));
        }
        self.check_mapped(offset, end)
    }
}

impl FileReader for Reader {
    fn id(&self) -> FileId {
        self.node.id
    }

    fn len(&self) -> u64 {
        self.sealed.as_ref().map_or_else(|| self.node.lock().size, |(_, size)| *size)
    }

    /// The host reads ahead, and has most blocks in memory.
    fn queues(&self) -> bool {
        false
    }

    fn mapped(&self) -> Option<MappedFile> {
        let (map, size) = self.sealed.as_ref()?;
        let is_whole = map.blocks() >= size.div_ceil(BLOCK as u64) && *size > 0;
        if self.node.kind == FileKind::Log || !is_whole || self.volume.gate.check().is_err() {
            return None;
        }
        // If the host cannot map it, a read tells the error, or needs no mapping.
        let view = || self.node.file.view(*size).ok().flatten();
        let counted: Arc<Counted> = Arc::clone(&self.counted);
        self.volume.views.add(*size, view, counted)
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.check(offset, into.len())?;
        self.volume.timed(cause, || match self.node.kind {
            FileKind::Log => self.read_log(offset, into),
            FileKind::Table | FileKind::Client => self.read_data(offset, into),
        })?;
        self.volume.count_read(cause, into.len() as u64);
        Ok(())
    }

    fn read(&self, offset: u64, len: usize, cause: Cause) -> Result<Vec<u8>, StoreError> {
        if self.sealed.is_none() || self.node.kind == FileKind::Log {
            let mut bytes = vec![0; len];
            return self.read_at(offset, &mut bytes, cause).map(|()| bytes);
        }
        self.check(offset, len)?;
        let read = self.volume.timed(cause, || self.node.file.read(offset, len));
        let bytes = read.map_err(|error| self.explained(offset, len, error))?;
        self.volume.count_read(cause, len as u64);
        Ok(bytes)
    }
}
