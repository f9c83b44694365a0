//! Contents of the file cache, and the choice of blocks that leave it. Plain data, without a lock
//! of its own.
//!
//! # Invariants
//! - The contents do not exceed the size of the cache. A block counts as its data and 64 bytes
//!   more, and a file as 256 bytes in addition.
//! - A file with blocks in the cache stands once in the order of eviction.
//!
//! If a new block does not fit, blocks leave in the order of the [`CachePolicy`]. If none may leave
//! for it, the new block stays out. Under `FifoByFile`, the file that is next to leave may be the
//! new block's own. Such a file loses all its blocks, and its further blocks stay out until the
//! cache gets a size or a policy anew, or the file is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use terrace_env::FileId;

use super::CachePolicy;
use crate::BLOCK;

/// Bytes reckoned for a block: its data, the head of their allocation, and its entry in the map of
/// its file.
pub(super) const BLOCK_COST: u64 = BLOCK as u64 + 64;
/// Bytes reckoned for a file in addition to its blocks.
pub(super) const FILE_COST: u64 = 256;
/// The level of files that have none: after all others.
const NO_LEVEL: u8 = u8::MAX;

/// A block's bytes.
pub(super) type Block = Arc<[u8]>;

/// Contents of the cache.
#[derive(Debug, Default)]
pub(super) struct Contents {
    size: u64,
    policy: CachePolicy,
    used: u64,
    files: BTreeMap<FileId, CachedFile>,
    /// Files with blocks; the first one leaves next.
    order: BTreeSet<(Rank, FileId)>,
}

/// The smaller, the sooner it leaves.
type Rank = (u8, u64);

#[derive(Debug)]
struct CachedFile {
    level: u8,
    /// The file would not fit as a whole, under a policy that keeps whole files.
    refused: bool,
    blocks: BTreeMap<u32, Block>,
}

impl Contents {
    /// An empty cache with room for `size` bytes.
    pub(super) fn new(size: u64, policy: CachePolicy) -> Self {
        Self { size, policy, ..Self::default() }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn used(&self) -> u64 {
        self.used
    }

    pub(super) fn policy(&self) -> CachePolicy {
        self.policy
    }

    /// The files that have blocks here.
    pub(super) fn files(&self) -> Vec<FileId> {
        self.files.keys().copied().collect()
    }

    /// Has room for `size` bytes from now on.
    pub(super) fn resize(&mut self, size: u64) {
        self.size = size;
        let refused: Vec<FileId> =
            self.files.iter().filter(|(_, file)| file.refused).map(|(id, _)| *id).collect();
        refused.into_iter().for_each(|id| self.forget(id));
        while self.used > size {
            let Some((_, victim)) = self.order.first().copied() else { return };
            self.evict_from(victim);
        }
    }

    /// The blocks of a file from `from` to `to` that are here.
    pub(super) fn range(
        &self,
        file: FileId,
        from: u32,
        to: u32,
    ) -> impl Iterator<Item = (u32, &Block)> {
        let blocks = self.files.get(&file).map(|file| file.blocks.range(from..to));
        blocks.into_iter().flatten().map(|(at, block)| (*at, block))
    }

    /// Lets in a block that has just been written; its older bytes leave in any case, whether or
    /// not there is room.
    pub(super) fn insert(&mut self, id: FileId, level: Option<u8>, at: u32, block: Block) {
        self.forget_range(id, at, at + 1);
        if self.files.get(&id).is_some_and(|file| file.refused) {
            return;
        }
        let cost = |contents: &Self| {
            let new = !contents.files.contains_key(&id);
            BLOCK_COST + if new { FILE_COST } else { 0 }
        };
        while self.used + cost(self) > self.size {
            match self.order.first().map(|(_, victim)| *victim) {
                Some(victim) if self.leaves_before(victim, id, level) => self.evict_from(victim),
                Some(victim) if victim == id && self.policy == CachePolicy::FifoByFile => {
                    self.forget(id);
                    let (level, blocks) = (NO_LEVEL, BTreeMap::new());
                    self.files.insert(id, CachedFile { level, refused: true, blocks });
                    self.used += FILE_COST;
                    return;
                }
                _ => return,
            }
        }
        let level = level.unwrap_or(NO_LEVEL);
        let fresh = || CachedFile { level, refused: false, blocks: BTreeMap::new() };
        if !self.files.contains_key(&id) {
            self.used += FILE_COST;
            self.order.insert((rank(self.policy, level, id), id));
        }
        debug_assert_eq!(block.len(), BLOCK, "a block's bytes");
        self.files.entry(id).or_insert_with(fresh).blocks.insert(at, block);
        self.used += BLOCK_COST;
        debug_assert!(self.used <= self.size, "{} of {} bytes", self.used, self.size);
        debug_assert!(self.order.len() <= self.files.len(), "a file stands once in the order");
    }

    /// Whether a block of `victim` makes room for one of `id`.
    fn leaves_before(&self, victim: FileId, id: FileId, level: Option<u8>) -> bool {
        let rank = |id, level: Option<u8>| rank(self.policy, level.unwrap_or(NO_LEVEL), id);
        match self.policy {
            CachePolicy::FifoByFile => victim != id,
            CachePolicy::FifoByBlock => true,
            CachePolicy::ByLevel => {
                let own = (rank(id, level), id);
                let no_level = level.is_none_or(|level| level == NO_LEVEL);
                self.order.first().is_some_and(|first| *first < own || (no_level && victim == id))
            }
        }
    }

    /// Lets go of as much of a file as the policy takes at once.
    fn evict_from(&mut self, id: FileId) {
        let Some(file) = self.files.get_mut(&id) else { return };
        debug_assert!(!file.refused && !file.blocks.is_empty(), "file {id} has no block to give");
        match self.policy {
            CachePolicy::FifoByFile => return self.forget(id),
            CachePolicy::ByLevel if file.level != NO_LEVEL => file.blocks.pop_last(),
            CachePolicy::FifoByBlock | CachePolicy::ByLevel => file.blocks.pop_first(),
        };
        self.used -= BLOCK_COST;
        if file.blocks.is_empty() {
            self.forget(id);
        }
    }

    /// Lets go of a file.
    pub(super) fn forget(&mut self, id: FileId) {
        if let Some(file) = self.files.remove(&id) {
            let was_ordered = self.order.remove(&(rank(self.policy, file.level, id), id));
            debug_assert_eq!(was_ordered, !file.refused, "file {id} in the order");
            let cost = FILE_COST + file.blocks.len() as u64 * BLOCK_COST;
            debug_assert!(cost <= self.used, "{cost} of {} bytes", self.used);
            self.used -= cost;
        }
    }

    /// Lets go of some blocks of a file.
    pub(super) fn forget_range(&mut self, id: FileId, from: u32, to: u32) {
        let Some(file) = self.files.get_mut(&id).filter(|file| !file.refused) else { return };
        let gone: Vec<u32> = file.blocks.range(from..to).map(|(at, _)| *at).collect();
        for at in &gone {
            file.blocks.remove(at);
        }
        let empty = file.blocks.is_empty();
        self.used -= gone.len() as u64 * BLOCK_COST;
        if empty {
            self.forget(id);
        }
    }

    /// The file is of this level now.
    pub(super) fn relevel(&mut self, id: FileId, level: Option<u8>) {
        let level = level.unwrap_or(NO_LEVEL);
        let policy = self.policy;
        let Some(file) = self.files.get_mut(&id).filter(|file| file.level != level) else { return };
        let before = std::mem::replace(&mut file.level, level);
        if self.order.remove(&(rank(policy, before, id), id)) {
            self.order.insert((rank(policy, level, id), id));
        }
    }

    /// Counts everything anew and compares.
    pub(super) fn verify(&self) -> Result<(), String> {
        let blocks: u64 = self.files.values().map(|file| file.blocks.len() as u64).sum();
        let found = blocks * BLOCK_COST + self.files.len() as u64 * FILE_COST;
        if found != self.used || self.used > self.size {
            let (used, size) = (self.used, self.size);
            return Err(format!("file cache of {size}: {used} bytes counted, {found} found"));
        }
        let ordered = self.files.iter().filter(|(_, file)| !file.refused);
        let expected: BTreeSet<(Rank, FileId)> =
            ordered.map(|(id, file)| (rank(self.policy, file.level, *id), *id)).collect();
        if expected != self.order {
            return Err(format!("file cache: {} files in order", self.order.len()));
        }
        Ok(())
    }
}

/// Files get their ids in the order in which they are begun.
fn rank(policy: CachePolicy, level: u8, id: FileId) -> Rank {
    match policy {
        CachePolicy::FifoByFile | CachePolicy::FifoByBlock => (0, id.0),
        CachePolicy::ByLevel if level == NO_LEVEL => (0, id.0),
        CachePolicy::ByLevel => (NO_LEVEL - level, u64::MAX - id.0),
    }
}
