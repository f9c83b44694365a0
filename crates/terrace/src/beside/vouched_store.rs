//! [`VouchedStore`]: a store of files next to a writer, whose every read is proven.
//!
//! After a read has ended, and before its bytes are returned, the layer asks for a
//! [voucher](Beside::vouch). So caches above it hold only bytes that were those of their file. A
//! read without a voucher is [`StoreError::Moved`].
//!
//! Parts of several files are not read by one request.

use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{
    FileReader, Layer, PendingRead, ReadBuf, ReadUnderWay, Store, StoreError,
};
use terrace_env::{Cause, FileId};
use terrace_fs::Beside;

/// See the [module](self).
pub(super) struct VouchedStore(pub(super) Arc<dyn Beside>);

impl Layer for VouchedStore {
    fn below(&self) -> &dyn Store {
        &*self.0
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        let below = self.0.open(id)?;
        Ok(Arc::new(VouchedReader { store: Arc::clone(&self.0), below }))
    }
}

/// A file of the store.
struct VouchedReader {
    store: Arc<dyn Beside>,
    below: Arc<dyn FileReader>,
}

/// The bytes of a read of this length.
fn bytes(offset: u64, len: usize) -> Range<u64> {
    offset..offset.saturating_add(len as u64)
}

impl FileReader for VouchedReader {
    fn id(&self) -> FileId {
        self.below.id()
    }

    fn len(&self) -> u64 {
        self.below.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8], cause: Cause) -> Result<(), StoreError> {
        self.below.read_at(offset, into, cause)?;
        self.store.vouch(self.id(), bytes(offset, into.len()))
    }

    fn submit(&self, offset: u64, into: ReadBuf, cause: Cause) -> PendingRead {
        let bytes = bytes(offset, into.len());
        let (store, file) = (Arc::clone(&self.store), self.id());
        let below = self.below.submit(offset, into, cause);
        PendingRead::under_way(Box::new(Pending { store, file, bytes, below }))
    }
}

/// A read in flight.
struct Pending {
    store: Arc<dyn Beside>,
    file: FileId,
    bytes: Range<u64>,
    below: PendingRead,
}

impl ReadUnderWay for Pending {
    fn wait(self: Box<Self>) -> Result<ReadBuf, StoreError> {
        let Self { store, file, bytes, below } = *self;
        let read = below.wait()?;
        store.vouch(file, bytes)?;
        Ok(read)
    }
}
