//! [`CutReader`]: a reader of a file that was cut, which ends at the cut.
//!
//! It refuses to read bytes after the cut, even if the store still has some of them. It reads no
//! parts of several files by one request.

use std::sync::Arc;

use terrace_env::store::{FileReader, PendingRead, ReadBuf, StoreError};
use terrace_env::{Cause, FileId};

/// See the [module](self).
pub(crate) struct CutReader {
    pub(crate) whole: Arc<dyn FileReader>,
    pub(crate) size: u64,
}

impl CutReader {
    fn check(&self, start: u64, len: usize) -> Result<(), StoreError> {
        let end = start.saturating_add(len as u64);
        if end <= self.size {
            return Ok(());
        }
        let valid = format!("{} bytes, to which the file was cut", self.size);
        Err(StoreError::OutOfRange { id: self.id(), start, end, valid })
    }
}

impl FileReader for CutReader {
    fn id(&self) -> FileId {
        self.whole.id()
    }

    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.check(offset, into.len())?;
        self.whole.read_at(offset, into, cause)
    }

    fn submit(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        match self.check(offset, into.len()) {
            Ok(()) => self.whole.submit(offset, into, cause),
            Err(error) => PendingRead::done(Err(error)),
        }
    }
}
