//! [`FileCache`]: the file cache with its lock and its counts of hits and misses.
//!
//! - `insert` takes in blocks that have been written. A block that is there already is replaced or,
//!   if the new one finds no room, removed. Blocks that `find` does not find are not inserted:
//!   otherwise the cache would fill with the inputs of compactions, which are deleted afterwards.
//! - Blocks are named by file and by their place in it. So the cache does not change when a block
//!   is moved on the medium. The owner has to say when blocks are cut off (`forget_from`) or
//!   trimmed (`keep_mapped`), and when the file is deleted (`forget`) or comes to another level
//!   (`relevel`).
//! - `find` finds nothing for [`Cause::Recovery`], so that a check reads the medium.
//!
//! # Threads
//! The contents have one reader-writer lock; no other lock is taken under it. `find` takes it
//! shared, and does not change the order of eviction.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use terrace_env::store::CacheCounts;
use terrace_env::sync::RwLock;
use terrace_env::{ByteCount, Cause, FileId};

use super::CachePolicy;
use super::contents::{Block, Contents};
use crate::BLOCK;
use crate::canary::{self, Rule};
use crate::catalog::ExtentMap;

const CAUSES: usize = Cause::ALL.len();

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct FileCache {
    /// Whether there is room for anything; looked at without the lock.
    enabled: AtomicBool,
    contents: RwLock<Contents>,
    hit_bytes: [AtomicU64; CAUSES],
    miss_bytes: [AtomicU64; CAUSES],
}

impl FileCache {
    /// Has room for `size` bytes from now on. Under another policy it begins empty.
    pub(crate) fn set(&self, size: ByteCount, policy: CachePolicy) {
        let mut contents = self.contents.write();
        if contents.policy() == policy {
            contents.resize(size.0);
        } else {
            *contents = Contents::new(size.0, policy);
        }
        self.enabled.store(size.0 > 0, Ordering::Relaxed);
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Blocks to be let in: copied before any lock is taken.
    pub(crate) fn copies_of(&self, bytes: &[u8]) -> Vec<Block> {
        debug_assert!(bytes.len().is_multiple_of(BLOCK), "whole blocks");
        if self.is_enabled() { bytes.chunks(BLOCK).map(Block::from).collect() } else { Vec::new() }
    }

    /// Lets in the blocks of a file from `at` on, which have been written.
    pub(crate) fn insert(&self, file: FileId, level: Option<u8>, at: u32, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        let mut contents = self.contents.write();
        for (at, block) in (at..).zip(blocks) {
            let stays = canary::is_broken(Rule::CacheFollowsWrites)
                && contents.range(file, at, at + 1).next().is_some();
            if !stays {
                contents.insert(file, level, at, block);
            }
        }
    }

    /// The blocks of a file that are here, for a reader.
    pub(crate) fn find(&self, file: FileId, wanted: Range<u32>, cause: Cause) -> Vec<(u32, Block)> {
        if !self.is_enabled() || cause == Cause::Recovery {
            return Vec::new();
        }
        let contents = self.contents.read();
        let range = contents.range(file, wanted.start, wanted.end);
        let found: Vec<(u32, Block)> = range.map(|(at, block)| (at, Block::clone(block))).collect();
        drop(contents);
        let (all, hits) = (u64::from(wanted.end - wanted.start), found.len() as u64);
        debug_assert!(hits <= all, "{hits} blocks of {all} were found");
        let add = |counts: &[AtomicU64; CAUSES], blocks: u64| {
            counts[cause as usize].fetch_add(blocks * BLOCK as u64, Ordering::Relaxed);
        };
        add(&self.hit_bytes, hits);
        add(&self.miss_bytes, all - hits);
        found
    }

    /// The file is gone.
    pub(crate) fn forget(&self, file: FileId) {
        if self.is_enabled() && !canary::is_broken(Rule::CacheFollowsWrites) {
            self.contents.write().forget(file);
        }
    }

    /// The file's blocks from `from` on are gone.
    pub(crate) fn forget_from(&self, file: FileId, from: u32) {
        if self.is_enabled() && !canary::is_broken(Rule::CacheFollowsWrites) {
            self.contents.write().forget_range(file, from, u32::MAX);
        }
    }

    /// The sealed file has only these blocks left.
    pub(crate) fn keep_mapped(&self, file: FileId, map: &ExtentMap) {
        if !self.is_enabled() {
            return;
        }
        let mut contents = self.contents.write();
        let mut next = 0;
        for piece in map.pieces() {
            contents.forget_range(file, next, piece.at);
            next = piece.end();
        }
        contents.forget_range(file, next, u32::MAX);
    }

    /// The file is of this level now.
    pub(crate) fn relevel(&self, file: FileId, level: Option<u8>) {
        if self.is_enabled() {
            self.contents.write().relevel(file, level);
        }
    }

    /// Size of the cache, bytes used, and bytes of reads that hit or missed, by cause.
    pub(crate) fn counts(&self) -> CacheCounts {
        let load = |counts: &[AtomicU64; CAUSES]| {
            std::array::from_fn(|cause| counts[cause].load(Ordering::Relaxed))
        };
        let contents = self.contents.read();
        CacheCounts {
            size: contents.size(),
            used: contents.used(),
            hit_bytes: load(&self.hit_bytes),
            miss_bytes: load(&self.miss_bytes),
        }
    }

    /// Faults of the cache, in words; `exists` says whether there is such a file.
    pub(crate) fn audit(&self, exists: impl Fn(FileId) -> bool) -> Vec<String> {
        let (files, counted) = {
            let contents = self.contents.read();
            (contents.files(), contents.verify())
        };
        let strays = files.into_iter().filter(|id| !exists(*id));
        let strays = strays.map(|id| format!("file cache: blocks of file {id}, which is gone"));
        counted.err().into_iter().chain(strays).collect()
    }
}
