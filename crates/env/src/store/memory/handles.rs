//! The readers and writers of a [`MemoryStore`](super::MemoryStore).
//!
//! An append, sync, finish or read, and a write-out of a log that has something to write, is
//! counted as an operation first, may then take time, and may fail, as
//! [`MemoryStore::fail_at`](super::MemoryStore::fail_at) says. No lock is held over that time. Then
//! the call takes effect. A reader also sees bytes that are appended later. It goes on seeing bytes
//! that are trimmed after it was opened.

use std::sync::Arc;

use super::catalog::{Body, Record, Trims};
use super::space::Reserved;
use super::store::{Operation, Shared, State};
use crate::store::{FileKind, FileReader, FileWriter, Rank, StoreError};
use crate::{Cause, FileId};

/// The only writer of a file.
pub(super) struct MemoryWriter {
    pub(super) shared: Arc<Shared>,
    pub(super) body: Arc<Body>,
    pub(super) rank: Rank,
    pub(super) cause: Cause,
    pub(super) reserved: Option<Arc<Reserved>>,
}

impl MemoryWriter {
    /// The file's record, if the file exists and can be appended to.
    fn writable<'a>(&self, state: &'a mut State) -> Result<&'a mut Record, StoreError> {
        let id = self.body.id;
        let record = state.catalog.files.get_mut(&id).ok_or(StoreError::NotFound(id))?;
        if record.sealed || record.finished {
            return Err(record.wrong_state("an unsealed file whose writer has not finished"));
        }
        Ok(record)
    }
}

impl FileWriter for MemoryWriter {
    fn id(&self) -> FileId {
        self.body.id
    }

    fn len(&self) -> u64 {
        self.body.content.lock().bytes.len() as u64
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.shared.begin(Operation::Append, self.cause)?;
        let mut state = self.shared.0.lock();
        self.writable(&mut state)?;
        let needed = bytes.len() as u64;
        let covered = self.reserved.as_ref().map_or(0, |reserved| reserved.take(needed));
        if covered < needed && state.is_limited() {
            let taken = state.take_space(self.rank, needed - covered);
            if let (Err(_), Some(reserved)) = (&taken, &self.reserved) {
                reserved.put_back(covered);
            }
            taken?;
        }
        state.io.writes[self.cause as usize] += 1;
        state.io.written_bytes[self.cause as usize] += bytes.len() as u64;
        self.body.content.lock().append(bytes);
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), StoreError> {
        let kind = self.shared.0.lock().catalog.kind(self.body.id)?;
        let is_written = {
            let content = self.body.content.lock();
            content.written == content.bytes.len()
        };
        if kind != FileKind::Log || is_written {
            return Ok(());
        }
        self.shared.begin(Operation::WriteOut, self.cause)?;
        let mut content = self.body.content.lock();
        content.written = content.bytes.len();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.shared.begin(Operation::Sync, self.cause)?;
        let mut state = self.shared.0.lock();
        let id = self.body.id;
        state.catalog.files.get(&id).ok_or(StoreError::NotFound(id))?;
        state.io.flushes += 1;
        self.body.content.lock().sync();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        self.shared.begin(Operation::Finish, self.cause)?;
        let mut state = self.shared.0.lock();
        let id = self.body.id;
        let record = state.catalog.files.get_mut(&id).ok_or(StoreError::NotFound(id))?;
        record.finished = true;
        let mut content = self.body.content.lock();
        content.written = content.bytes.len();
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        let mut state = self.shared.0.lock();
        let id = self.body.id;
        let Some(record) = state.catalog.files.get_mut(&id) else { return };
        record.has_writer = false;
        record.finished = false;
        if !record.committed {
            state.catalog.remove(id);
        }
    }
}

/// A handle for reading; sees the file as it was trimmed when it was opened.
pub(super) struct MemoryReader {
    pub(super) shared: Arc<Shared>,
    pub(super) body: Arc<Body>,
    pub(super) trims: Arc<Trims>,
}

impl FileReader for MemoryReader {
    fn id(&self) -> FileId {
        self.body.id
    }

    fn len(&self) -> u64 {
        self.body.content.lock().bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.shared.begin(Operation::Read, cause)?;
        let bytes = Arc::clone(&self.body.content.lock().bytes);
        let end = offset.saturating_add(into.len() as u64);
        let out_of_range =
            |valid| StoreError::OutOfRange { id: self.body.id, start: offset, end, valid };
        if end > bytes.len() as u64 {
            return Err(out_of_range(format!("{} bytes", bytes.len())));
        }
        if let Some((from, to)) = self.trims.overlap(offset, end) {
            return Err(out_of_range(format!("{} bytes without {from}..{to}", bytes.len())));
        }
        into.copy_from_slice(&bytes[offset as usize..end as usize]);
        let mut state = self.shared.0.lock();
        state.io.reads[cause as usize] += 1;
        state.io.read_bytes[cause as usize] += into.len() as u64;
        Ok(())
    }
}
