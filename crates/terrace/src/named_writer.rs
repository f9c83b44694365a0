//! [`NamedWriter`]: the writer of a file with names, for programs that were written for an ordinary
//! file system: it can append to a finished file, and cut one.
//!
//! - A finished file that is opened for appends stays unchanged until bytes are appended. Then its
//!   bytes are copied to a new file, which takes all its names and the appended bytes.
//! - A cut ends the file at the new length, durably and without a copy. A later append copies.
//!
//! Threads: one caller. Calls may wait for the device.

use std::sync::Arc;

use terrace_env::FileId;
use terrace_env::store::{FileKind, FileWriter, PlacementHint, Rank, StoreError};

use crate::named_files::{NamedFiles, NewFile};

/// See the [module](self).
pub struct NamedWriter {
    files: Arc<NamedFiles>,
    hint: PlacementHint,
    /// Whether the file is a log: engines query the bytes of logs by their lifetimes.
    is_log: bool,
    state: State,
}

enum State {
    Writing(Box<dyn FileWriter>),
    /// Finished, without later appends.
    Finished(FileId),
}

impl NamedWriter {
    /// Creates an empty file with this name.
    pub fn create(files: &Arc<NamedFiles>, name: &str, new: &NewFile) -> Result<Self, StoreError> {
        let state = State::Writing(files.create(name, new)?);
        let is_log = new.kind == FileKind::Log;
        Ok(Self { files: Arc::clone(files), hint: new.hint, is_log, state })
    }

    /// A writer at the end of a file.
    pub fn append_to(files: &Arc<NamedFiles>, name: &str) -> Result<Self, StoreError> {
        let info = files.find(name)?;
        let state = match info.sealed {
            true => State::Finished(info.id),
            false => State::Writing(files.store().reopen(info.id)?),
        };
        let (hint, is_log) = (info.annotation.hint, info.kind == FileKind::Log);
        Ok(Self { files: Arc::clone(files), hint, is_log, state })
    }

    /// Changes the placement hint and the rank of the file, before the first append. The hint of a
    /// log is durable when the call returns; that of another file, when it is finished.
    pub fn place(&mut self, hint: PlacementHint, rank: Rank) -> Result<(), StoreError> {
        let State::Writing(writer) = &mut self.state else { return Ok(()) };
        if !writer.is_empty() {
            let found = writer.len();
            let message = format!("expected an empty file to be placed, found {found} bytes in it");
            return Err(StoreError::Invalid(message));
        }
        writer.place(hint, rank);
        if self.is_log && hint != self.hint {
            self.files.set_hint(writer.id(), hint)?;
        }
        self.hint = hint;
        Ok(())
    }

    /// Appends bytes. They can be read at once, and are durable after a sync or the finish.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if let State::Finished(id) = self.state
            && !bytes.is_empty()
        {
            self.state = State::Writing(self.files.append_to_file(id)?);
        }
        match &mut self.state {
            State::Writing(writer) => writer.append(bytes),
            State::Finished(_) => Ok(()),
        }
    }

    /// Writes out the appended bytes of a log to the medium: [`FileWriter::write_out`].
    pub fn write_out(&mut self) -> Result<(), StoreError> {
        match &mut self.state {
            State::Writing(writer) => writer.write_out(),
            State::Finished(_) => Ok(()),
        }
    }

    /// Makes all appended bytes durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        match &mut self.state {
            State::Writing(writer) => writer.sync(),
            State::Finished(_) => Ok(()),
        }
    }

    /// Cuts the file to its first `size` bytes, durably. If that changes its length, the file is
    /// finished.
    pub fn truncate(&mut self, size: u64) -> Result<(), StoreError> {
        match &mut self.state {
            State::Writing(writer) if writer.len() == size => Ok(()),
            State::Writing(writer) => {
                let id = writer.id();
                self.files.finish_cut(&mut **writer, self.hint, size)?;
                self.state = State::Finished(id);
                Ok(())
            }
            State::Finished(id) => self.files.truncate_file(*id, size),
        }
    }

    /// Bytes of the file, appended ones included; 0 if it is finished and gone.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.state {
            State::Writing(writer) => writer.len(),
            State::Finished(id) => self.files.info(*id).map_or(0, |info| info.size),
        }
    }

    /// Makes everything durable and ends the file. A file that was being written gets this time of
    /// modification.
    pub fn finish(&mut self, modified: u64) -> Result<(), StoreError> {
        if let State::Writing(writer) = &mut self.state {
            self.files.seal(&mut **writer, self.hint, modified)?;
            self.state = State::Finished(writer.id());
        }
        Ok(())
    }
}
