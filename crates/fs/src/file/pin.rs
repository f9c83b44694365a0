//! [`Pin`]: keeps blocks from being written again while a reader may read them. As long as a block
//! is pinned, its zone is not reset; on a device without zones, the block is not given out.
//!
//! Each state of an open file's map has a pin; a map that only grows keeps its pin. The file and
//! the reads that were planned from a state hold the state's pin. Blocks that leave the map are
//! *condemned* to the pin of the state before: they come free when that pin is dropped. A pin also
//! holds its successor, the pin of the next state. So blocks that a later change frees wait for the
//! readers of earlier states too.
//!
//! # Threads
//! Any thread may use a pin. Condemning blocks and dropping a pin take the lock of their pool, so a
//! thread that holds that lock may do neither.

use std::sync::Arc;

use terrace_env::sync::Mutex;

use crate::catalog::Extent;
use crate::space::{Pools, Share};

/// See the [module](self).
pub(crate) struct Pin {
    pools: Arc<Pools>,
    fate: Mutex<Fate>,
}

#[derive(Default)]
struct Fate {
    condemned: Vec<Extent>,
    next: Option<Arc<Pin>>,
}

impl Pin {
    /// A pin for a file's first state.
    pub(crate) fn new(pools: &Arc<Pools>) -> Arc<Self> {
        Arc::new(Self { pools: Arc::clone(pools), fate: Mutex::default() })
    }

    /// Frees these blocks, which count as `share`, when the last reader of this state is gone.
    pub(crate) fn condemn(&self, extents: &[Extent], share: Share) {
        if extents.is_empty() {
            return;
        }
        self.pools.turn(extents, share, Share::Pinned);
        self.fate.lock().condemned.extend_from_slice(extents);
    }

    /// The pin of the state after this one.
    pub(crate) fn succeed(self: &Arc<Self>) -> Arc<Self> {
        let next = Self::new(&self.pools);
        let former = self.fate.lock().next.replace(Arc::clone(&next));
        debug_assert!(former.is_none(), "a state has one successor");
        next
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let fate = self.fate.get_mut();
        self.pools.free(&fate.condemned, Share::Pinned);
        // One at a time: a chain of thousands must not be dropped by recursion.
        let mut next = fate.next.take();
        while let Some(mut pin) = next.and_then(Arc::into_inner) {
            next = pin.fate.get_mut().next.take();
        }
    }
}
