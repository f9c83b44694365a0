//! [`PlainPool`]: hands runs of blocks to writers and stretches to the journal, and takes back what
//! transactions free.
//!
//! # Rules
//! - Blocks that come free can be written at once, in place: there is nothing to reset, and nothing
//!   to reclaim. A file's block comes free when the transaction that frees it is durable and the
//!   last reader has gone.
//! - A writer's region is a run of any length, of 64 MiB at most unless it is a placement group's.
//!   What the writer does not claim of it comes free when the lease ends.
//! - The old bytes of a block stay until the block is written. Frames of logs and journal tell by
//!   owner, epoch and chain that they are of an earlier life.
//! - If the medium fails under a write, the region is *shunned*: its blocks are not given out again
//!   before the next mount.
//! - A writer that finds no space is given that of idle leases. If that is not enough, it waits up
//!   to 100 ms for readers, if they pin as much as it needs, and fails with `Busy` then; otherwise
//!   it fails with `NoSpace` at once.
//! - Once the journal has failed, no region and no reservation is given out any more.
//!
//! # Threads
//! One lock around the counts. The pool sends nothing to the device.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::ZoneId;
use terrace_env::store::StoreError;
use terrace_env::sync::{Condvar, Mutex};
use terrace_zone::Device as _;

use super::free_map::FreeMap;
use super::governor::Governor;
use super::state::State;
use crate::block::zone_blocks;
use crate::catalog::Extent;
use crate::medium::{Medium, STRETCH};
use crate::space::{Share, journal_zones};

/// The fewest stretches of a device that a store can use: one for the superblock, those that the
/// journal may come to take, and as many blocks as two logs need in the smallest store.
const STRETCHES_MIN: u32 = 8;

/// See the [module](self).
pub(crate) struct PlainPool {
    pub(super) medium: Arc<Medium>,
    pub(super) state: Mutex<State>,
    /// Space may have come free.
    pub(super) changed: Condvar,
}

/// Blocks of the device that are in use when the store is mounted.
#[derive(Default)]
pub(crate) struct Used {
    /// Stretches of the superblock.
    pub(crate) superblock: Vec<ZoneId>,
    /// Stretches of the journal.
    pub(crate) journal: Vec<ZoneId>,
    /// Blocks of files, with what they count as.
    pub(crate) files: Vec<(Extent, Share)>,
}

impl PlainPool {
    /// Over a device of which this is used. An extent that overlaps other things is handed back.
    pub(crate) fn new(medium: Arc<Medium>, used: &Used) -> Result<Self, Extent> {
        let mut free = FreeMap::new(STRETCH);
        let mut capacity = 0;
        for zone in medium.geometry().zone_ids() {
            let start = medium.grid().addr(zone, 0).block();
            let blocks = u64::from(zone_blocks(medium.geometry(), zone));
            if !used.superblock.contains(&zone) {
                capacity += blocks;
                free.put(start..start + blocks);
            }
        }
        for zone in &used.journal {
            free.take_any(&free.stretch(zone.0.into()));
        }
        let (mut live, mut unsealed) = (0, 0);
        for (extent, share) in &used.files {
            let run = blocks_of(extent);
            if free.take_any(&run) < u64::from(extent.blocks) {
                return Err(*extent);
            }
            *(if *share == Share::Live { &mut live } else { &mut unsealed }) +=
                u64::from(extent.blocks);
        }
        let state = State {
            device: medium.id(),
            capacity,
            free,
            governor: Governor::new(journal_zones(0, STRETCH)),
            leases: BTreeMap::new(),
            next_lease: 1,
            live,
            unsealed,
            pinned: 0,
            journal: used.journal.len() as u32,
            shunned: FreeMap::new(STRETCH),
            lost: 0,
            stopped: None,
        };
        Ok(Self { medium, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Keeps enough stretches for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        self.state.lock().governor.set_journal(journal_zones(bytes, STRETCH));
    }

    /// Compares the counts with the blocks that files and journal have, as `used` lists them: every
    /// block is free or has one owner. It returns the differences, in words.
    pub(crate) fn audit(&self, used: &Used) -> Vec<String> {
        let state = self.state.lock();
        let device = state.device;
        let mut problems = Vec::new();
        let sum = |wanted: Share| {
            let of_share = used.files.iter().filter(|(_, share)| *share == wanted);
            of_share.map(|(extent, _)| u64::from(extent.blocks)).sum::<u64>()
        };
        for (what, counted, found) in [
            ("live blocks", state.live, sum(Share::Live)),
            ("unsealed blocks", state.unsealed, sum(Share::Unsealed)),
            ("stretches of the journal", u64::from(state.journal), used.journal.len() as u64),
        ] {
            if counted != found {
                problems
                    .push(format!("device {device}: {counted} {what} are counted, found {found}"));
            }
        }
        let journal = used.journal.iter().map(|zone| state.free.stretch(zone.0.into()));
        let files = used.files.iter().map(|(extent, _)| blocks_of(extent));
        let mut runs: Vec<Range<u64>> = journal.chain(files).collect();
        runs.sort_unstable_by_key(|run| run.start);
        for run in &runs {
            if state.free.overlaps(run) {
                problems.push(format!("device {device}: blocks {run:?} are used and free"));
            }
        }
        for pair in runs.windows(2).filter(|pair| pair[0].end > pair[1].start) {
            problems.push(format!("device {device}: blocks {pair:?} overlap"));
        }
        let used: u64 = runs.iter().map(|run| run.end - run.start).sum();
        let leased: u64 = state.leases.values().map(|it| it.region.end - it.next).sum();
        let found = used + state.free.blocks() + state.pinned + state.lost + leased;
        if found != state.capacity {
            let capacity = state.capacity;
            problems
                .push(format!("device {device}: {found} of {capacity} blocks are accounted for"));
        }
        problems
    }
}

/// The blocks of an extent, by number.
pub(super) fn blocks_of(extent: &Extent) -> Range<u64> {
    extent.start()..extent.end()
}

/// Refuses a device that is too small, or too large, for the journal and the logs of a store.
pub(crate) fn check_size(medium: &Medium) -> Result<(), StoreError> {
    medium.grid().check_size()?;
    let geometry = medium.geometry();
    let whole = geometry.zone_ids().filter(|zone| zone_blocks(geometry, *zone) == STRETCH).count();
    if whole as u32 >= STRETCHES_MIN && geometry.zones < terrace_zone::Geometry::ZONES_MAX {
        return Ok(());
    }
    let size = super::state::bytes(u64::from(STRETCH));
    Err(StoreError::Invalid(format!(
        "device {}: expected a plain device of {STRETCHES_MIN} to {} times {size}, found {}",
        medium.id(),
        terrace_zone::Geometry::ZONES_MAX,
        geometry.capacity()
    )))
}
