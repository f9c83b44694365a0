//! [`Layer`]: a store on top of another one, from which it differs in some calls. It is for
//! wrappers that watch, count or refuse calls.
//!
//! A layer names the store below it. Of the calls `create`, `reopen`, `open`, `commit`, `reserve`
//! and `begin_group` it implements those in which the two stores differ. All other calls of
//! [`Store`] go to the store below. A reservation or a group that is handed down must be one of the
//! store below.

use std::sync::Arc;

use super::{
    CreateOptions, FileInfo, FileReader, FileWriter, GroupOptions, IoCounts, LogSpace,
    PlacementGroup, Rank, Reservation, SpaceInfo, Store, StoreError, Transaction,
};
use crate::wait::Waits;
use crate::{ByteCount, FileId, Users, Uuid};

/// A store on top of another one. Each method does the same as the method of [`Store`], on the
/// store below.
///
/// ```
/// use terrace_env::Store;
/// use terrace_env::store::{Layer, MemoryStore, Rank, Reservation, StoreError};
/// use terrace_env::ByteCount;
///
/// /// A store in which no space can be set aside.
/// struct Full(MemoryStore);
///
/// impl Layer for Full {
///     fn below(&self) -> &dyn Store {
///         &self.0
///     }
///
///     fn reserve(&self, _: Rank, needed: ByteCount) -> Result<Reservation, StoreError> {
///         Err(StoreError::Busy { needed, pinned: ByteCount(0), device: None })
///     }
/// }
///
/// let store: &dyn Store = &Full(MemoryStore::new());
/// assert!(store.reserve(Rank::Log, ByteCount(1)).is_err());
/// assert!(store.list().is_empty());
/// ```
#[expect(missing_docs, reason = "each method does the same as its namesake in `Store`")]
pub trait Layer: Send + Sync + 'static {
    /// The store below.
    fn below(&self) -> &dyn Store;

    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        self.below().create(options)
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        self.below().reopen(id)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        self.below().open(id)
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        self.below().commit(transaction)
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        self.below().reserve(rank, bytes)
    }

    fn begin_group(&self, options: &GroupOptions<'_>) -> Result<PlacementGroup, StoreError> {
        self.below().begin_group(options)
    }
}

impl<L: Layer> Store for L {
    fn create(&self, options: &CreateOptions<'_>) -> Result<Box<dyn FileWriter>, StoreError> {
        Layer::create(self, options)
    }

    fn reopen(&self, id: FileId) -> Result<Box<dyn FileWriter>, StoreError> {
        Layer::reopen(self, id)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn FileReader>, StoreError> {
        Layer::open(self, id)
    }

    fn commit(&self, transaction: Transaction) -> Result<(), StoreError> {
        Layer::commit(self, transaction)
    }

    fn info(&self, id: FileId) -> Option<FileInfo> {
        self.below().info(id)
    }

    fn lookup(&self, name: &str) -> Option<FileId> {
        self.below().lookup(name)
    }

    fn list(&self) -> Vec<FileInfo> {
        self.below().list()
    }

    fn reserve(&self, rank: Rank, bytes: ByteCount) -> Result<Reservation, StoreError> {
        Layer::reserve(self, rank, bytes)
    }

    fn await_reclaim(&self) {
        self.below().await_reclaim();
    }

    fn begin_group(&self, options: &GroupOptions<'_>) -> Result<PlacementGroup, StoreError> {
        Layer::begin_group(self, options)
    }

    fn space(&self) -> SpaceInfo {
        self.below().space()
    }

    fn log_space(&self) -> Option<LogSpace> {
        self.below().log_space()
    }

    fn offload_space(&self) -> Option<SpaceInfo> {
        self.below().offload_space()
    }

    fn offloaded_bytes(&self) -> ByteCount {
        self.below().offloaded_bytes()
    }

    fn is_offloaded(&self, file: FileId) -> bool {
        self.below().is_offloaded(file)
    }

    fn is_lost(&self, file: FileId) -> bool {
        self.below().is_lost(file)
    }

    fn rotational(&self) -> bool {
        self.below().rotational()
    }

    fn keeps_queue_short(&self) -> bool {
        self.below().keeps_queue_short()
    }

    fn log_unit(&self) -> ByteCount {
        self.below().log_unit()
    }

    fn users(&self) -> &Users {
        self.below().users()
    }

    fn uuid(&self) -> Option<Uuid> {
        self.below().uuid()
    }

    fn io(&self) -> IoCounts {
        self.below().io()
    }

    fn waits(&self) -> Waits {
        self.below().waits()
    }
}
