//! [`Reader`]: a handle for reading a file of the store on devices.
//!
//! If a sealed file is deleted or trimmed meanwhile, the handle can still read it, because it holds
//! the file's state. Of a file that is being written, the handle reads the bytes appended so far,
//! unless a failed writer has lost them.
//!
//! Several threads may read through one handle at once. After an unmount, reads fail where they
//! need the device. Bytes are not verified here.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{FileReader, JointRead, PendingRead, ReadBuf, StoreError};
use terrace_env::{ByteCount, Cause, FileId};

use super::OpenFile;
use super::joint::Joint;
use crate::volume::Volume;

/// See [`FileReader`]. It holds the file's state, so that the blocks of a deleted file stay.
pub(crate) struct Reader {
    volume: Arc<Volume>,
    file: Option<Arc<OpenFile>>,
}

impl Reader {
    pub(crate) fn new(volume: Arc<Volume>, file: Arc<OpenFile>) -> Self {
        Self { volume, file: Some(file) }
    }

    fn file(&self) -> &Arc<OpenFile> {
        self.file.as_ref().expect("taken only on drop")
    }
}

impl FileReader for Reader {
    fn id(&self) -> FileId {
        self.file().id
    }

    fn len(&self) -> u64 {
        self.file().lock().size
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.file().read_at((&self.volume.media, &self.volume.cache), offset, into, cause)
    }

    fn submit(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        self.file().submit((&self.volume.media, &self.volume.cache), offset, into, cause)
    }

    fn read_joint(
        &self,
        part: Range<u64>,
        behind: &[(FileId, Range<u64>)],
        most: ByteCount,
        cause: Cause,
    ) -> Option<JointRead> {
        // The file cache is asked block by block.
        if self.volume.cache.is_enabled() {
            return None;
        }
        let mut joint = Joint::new(most);
        if !joint.add(self.file(), &part) {
            return None;
        }
        for (id, part) in behind {
            // The volume's own reader: the rest of a deleted file is freed with the last one.
            let Some(file) = self.volume.sealed(*id) else { break };
            let reader = Self::new(Arc::clone(&self.volume), file);
            if !joint.add(reader.file(), part) {
                break;
            }
        }
        joint.read(&self.volume.media, cause)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let id = file.id;
            drop(file);
            self.volume.reader_ended(id);
        }
    }
}
