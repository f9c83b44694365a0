//! [`Rig`]: the owners of an engine over a store in memory, without actors. Tests of a protocol
//! call the owner, and act as the actors themselves.

use std::sync::Arc;

use terrace_env::store::MemoryStore;

use super::open::Parts;
use crate::memtable::FlushQueue;
use crate::options::EngineOptions;
use crate::planless::Planless;
use crate::tree::Tree;
use crate::write::{Flusher, Writer};

/// See the [module](self).
pub(crate) struct Rig {
    pub(crate) store: MemoryStore,
    pub(crate) writer: Arc<Writer>,
    pub(crate) flusher: Arc<Flusher>,
    pub(crate) memtables: Arc<FlushQueue>,
    pub(crate) tree: Arc<Tree>,
    /// Keeps the claim on the store.
    _parts: Parts,
}

impl Rig {
    /// The owners of an empty engine, under a decider without plans.
    pub(crate) fn new(store: MemoryStore, options: EngineOptions) -> Self {
        let decider = Arc::new(Planless::default());
        let parts = Parts::open(Arc::new(store.clone()), decider, options).unwrap();
        Self {
            store,
            writer: Arc::clone(&parts.owners.writer),
            flusher: Arc::clone(&parts.owners.flusher),
            memtables: Arc::clone(&parts.owners.memtables),
            tree: Arc::clone(&parts.base.tree),
            _parts: parts,
        }
    }
}
