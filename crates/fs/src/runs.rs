//! [`RunUsage`]: the use of each run of blocks of a device without zones, plain or of shingled
//! tracks, for a map; and [`FreeSpace`], the free runs in numbers.
//!
//! # Invariants
//! - The runs of a device follow each other without a gap, from its start to its end. Neighbours of
//!   the same use and level are one run.
//! - A block that no file, journal, superblock, lease, guard or free run has is [`RunUse::Dead`].
//!   For example, readers hold deleted or trimmed bytes there, or the medium has failed there.
//!   So are blocks that were written to a table or a client's file and are in no record of the
//!   catalog yet.
//!
//! The catalog, open files, journal and pool are asked one after the other, so while others write,
//! the answer mixes moments. A block that has two owners then is shown as that of the run that
//! begins first. No call waits for the device.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use terrace_env::store::FileKind;
use terrace_env::{ByteCount, DeviceId};

use crate::space::Part;
use crate::{BLOCK, Fs};

/// Use of a run of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunUse {
    /// Superblocks.
    Superblock,
    /// The journal.
    Journal,
    /// Write-ahead logs.
    Log,
    /// Other files.
    Data,
    /// Leased to a writer, and not written yet.
    Leased,
    /// Nothing that the catalog has: readers hold the deleted file, the medium has failed, or a
    /// table or client's file is being written there.
    Dead,
    /// Free, and cannot be written: a write would destroy the data after it.
    Guard,
    /// Free.
    Free,
}

/// A run of blocks of a device without zones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    /// Bytes of the device before it.
    pub start: ByteCount,
    /// Its bytes.
    pub size: ByteCount,
    /// The use of it.
    pub used_for: RunUse,
    /// The level of its files in the tree, if they have one.
    pub level: Option<u8>,
    /// Extents of files that it consists of.
    pub extents: u64,
}

/// The free runs of a device without zones, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// How many there are.
    pub runs: u64,
    /// Their bytes, guards included.
    pub bytes: ByteCount,
    /// The bytes of the longest.
    pub longest: ByteCount,
    /// A shorter run is a *fragment*.
    pub fragment_below: ByteCount,
    /// The bytes of fragments.
    pub fragments: ByteCount,
}

/// A free run shorter than this number of tables of the mean size is a fragment. A set of SEALDB
/// has 27.48 MB, which is 7 of its tables, and its authors count shorter runs (MSST '18, section
/// IV-C).
const FRAGMENT_TABLES: u64 = 7;

impl FreeSpace {
    /// The fragments of these free runs, on a device that holds `tables` tables of
    /// `bytes_of_tables` together.
    #[must_use]
    pub fn of(free: &[Range<u64>], tables: u64, bytes_of_tables: u64) -> Self {
        let least = FRAGMENT_TABLES.saturating_mul(bytes_of_tables) / tables.max(1);
        let lengths = || free.iter().map(|run| run.end - run.start);
        Self {
            runs: free.len() as u64,
            bytes: ByteCount(lengths().sum()),
            longest: ByteCount(lengths().max().unwrap_or(0)),
            fragment_below: ByteCount(least),
            fragments: ByteCount(lengths().filter(|bytes| *bytes < least).sum()),
        }
    }
}

/// Blocks with an owner.
type Owned = (Range<u64>, RunUse, Option<u8>);

impl Fs {
    /// The runs of a device of the store, in their order; none if it has zones, or there is no such
    /// device. Walks the whole catalog.
    #[must_use]
    pub fn runs(&self, device: DeviceId) -> Vec<RunUsage> {
        let mut pools = self.volume.pools.plain();
        let Some((_, pool)) = pools.find(|(of, _)| *of == device) else { return Vec::new() };
        let medium = self.volume.media.of(device);
        let of_journal = self.volume.media.logs().id() == device;
        let journal = if of_journal { self.volume.journal.zones() } else { Vec::new() };
        let mut owned: Vec<Owned> = Vec::new();
        self.volume.for_each_file(|_, record| {
            if !record.is_leased() {
                let level = record.annotation.hint.level;
                let extents = record.extents.extents().filter(|it| it.device() == device);
                owned.extend(extents.map(|it| (it.start()..it.end(), use_of(record.kind), level)));
            }
        });
        for file in self.volume.all_unsealed() {
            // Other unsealed files are shown as far as they are synced: the catalog has them.
            if file.kind == FileKind::Log {
                let map = Arc::clone(&file.lock().map);
                let extents = map.extents().filter(|it| it.device() == device);
                owned.extend(extents.map(|it| (it.start()..it.end(), RunUse::Log, None)));
            }
        }
        let parts = pool.parts(&journal).into_iter();
        owned.extend(parts.map(|(run, part)| (run, use_of_part(part), None)));
        in_order(owned, medium.grid().end())
    }

    /// The free runs of the device of tables, in numbers; `None` if it has zones.
    #[must_use]
    pub fn free_space(&self) -> Option<FreeSpace> {
        if self.volume.pools.zoned().is_some() {
            return None;
        }
        let (mut tables, mut bytes) = (0, 0);
        self.volume.for_each_file(|_, record| {
            if record.annotation.hint.level.is_some() {
                tables += 1;
                bytes += record.size;
            }
        });
        Some(FreeSpace::of(&self.free_runs(), tables, bytes))
    }
}

fn use_of(kind: FileKind) -> RunUse {
    match kind {
        FileKind::Log => RunUse::Log,
        FileKind::Table | FileKind::Client => RunUse::Data,
    }
}

fn use_of_part(part: Part) -> RunUse {
    match part {
        Part::Superblock => RunUse::Superblock,
        Part::Journal => RunUse::Journal,
        Part::Leased => RunUse::Leased,
        Part::Guard => RunUse::Guard,
        Part::Free => RunUse::Free,
    }
}

/// The runs that owned blocks and the gaps between them make, up to the block `end`.
fn in_order(mut owned: Vec<Owned>, end: u64) -> Vec<RunUsage> {
    owned.sort_by_key(|(run, ..)| (run.start, run.end));
    let bytes = |blocks: u64| ByteCount(blocks * BLOCK as u64);
    let mut runs: Vec<RunUsage> = Vec::new();
    let mut next = 0;
    let mut add = |run: Range<u64>, used_for, level, extents| {
        if run.is_empty() {
            return;
        }
        let (start, size) = (bytes(run.start), bytes(run.end - run.start));
        match runs.last_mut() {
            Some(last) if (last.used_for, last.level) == (used_for, level) => {
                last.size = ByteCount(last.size.0 + size.0);
                last.extents += extents;
            }
            _ => runs.push(RunUsage { start, size, used_for, level, extents }),
        }
    };
    for (run, used_for, level) in owned {
        add(next..run.start.min(end), RunUse::Dead, None, 0);
        let extents = u64::from(matches!(used_for, RunUse::Log | RunUse::Data));
        add(run.start.max(next)..run.end.min(end), used_for, level, extents);
        next = next.max(run.end);
    }
    add(next..end, RunUse::Dead, None, 0);
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_each_other_and_what_nobody_owns_is_dead() {
        let owned = vec![
            (40..60, RunUse::Free, None),
            (0..10, RunUse::Superblock, None),
            (20..30, RunUse::Data, Some(2)),
            (10..20, RunUse::Data, Some(2)),
            (30..35, RunUse::Data, Some(3)),
            // Seen at another moment.
            (33..38, RunUse::Log, None),
        ];
        let runs = in_order(owned, 64);
        let found: Vec<_> =
            runs.iter().map(|run| (run.size.0 / BLOCK as u64, run.used_for, run.level)).collect();
        let expected = [
            (10, RunUse::Superblock, None),
            (20, RunUse::Data, Some(2)),
            (5, RunUse::Data, Some(3)),
            (3, RunUse::Log, None),
            (2, RunUse::Dead, None),
            (20, RunUse::Free, None),
            (4, RunUse::Dead, None),
        ];
        assert_eq!(found, expected);
        assert_eq!(runs[1].extents, 2);
    }

    #[test]
    fn a_free_run_shorter_than_seven_tables_is_a_fragment() {
        let found = FreeSpace::of(&[0..60, 100..170, 200..269], 3, 30);
        assert_eq!((found.runs, found.bytes.0, found.longest.0), (3, 199, 70));
        assert_eq!((found.fragment_below.0, found.fragments.0), (70, 129));
        assert_eq!(
            FreeSpace::of(std::slice::from_ref(&(0..9)), 0, 0).fragments.0,
            0,
            "a store without tables"
        );
    }
}
