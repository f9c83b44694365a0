//! [`PlainPool`]: the pool of a device without zones, plain or of shingled tracks. It hands runs of
//! blocks to writers and stretches to the journal, and takes back blocks that transactions free.
//!
//! - **Freed blocks** can be written at once, in place: there is nothing to reset. Old
//!   bytes stay until they are overwritten, so a reader of frames has to recognise old ones.
//! - **Regions** are runs of up to 64 MiB; a placement group may have longer ones. The part that
//!   the writer does not claim comes free when the lease ends. If the device holds tables, a region
//!   is cut from the front of the run that the [`Fit`] finds: the placement's one or, on an offload
//!   device, the default. Else it is cut from the end of the shortest run that is long enough. If
//!   no run is long enough, or cutting it would break a stretch that is kept for the journal, the
//!   writer may get a shorter region.
//! - **Shingled tracks**: a region has a [`Guard`] after it, which no other writer gets while the
//!   lease lasts. For a stretch of the journal, a *unit* of one stretch or more is taken; the
//!   journal writes its first stretch, and the rest is the guard. The superblock has a unit, too.
//!   Reclaim joins free runs where guards take too much ([`super::gathering`]).
//! - **Failures**: if the medium fails under a write, the region is *shunned*: its blocks are not
//!   given out again before the next mount. A stretch that the journal gives up is shunned with its
//!   unit.
//!
//! # Threads
//! One lock around the counts. The pool sends nothing to the device.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use terrace_env::store::{Rank, StoreError};
use terrace_env::sync::{Condvar, Mutex};
use terrace_env::{ByteCount, ZoneId};
use terrace_policy::Fit;
use terrace_zone::{Device as _, Tracks};

use super::free_map::FreeMap;
use super::gathering::Gathering;
use super::governor::Governor;
use super::guard::Guard;
use super::state::{Lease, State};
use crate::block::{BLOCK, logical_per_block};
use crate::catalog::Extent;
use crate::medium::{Medium, STRETCH};
use crate::space::{Share, journal_zones};

/// The fewest units of a device that a store can use: one for the superblock, those that the
/// journal may come to take, and the blocks that two logs need in the smallest store.
const STRETCHES_MIN: u32 = 8;
/// A device has fewer stretches, so that each has a number: less than four pebibytes.
const STRETCHES_MAX: u32 = u32::MAX;
/// The fewest stretches for tables in addition: a few, and the same again for a merge of them.
const TABLES_MIN: u32 = 8;

/// Blocks of the smallest log, and of the smallest flush, on shingled tracks, without their guards:
/// a MiB, as a region has whose file may become of any length. An engine's least flush, that of
/// 64 KiB of entries, is shorter.
const PUT_MIN: u64 = 256;

/// See the [module](self).
pub(crate) struct PlainPool {
    pub(super) medium: Arc<Medium>,
    /// Stretches of a unit, of which the journal writes the first.
    pub(super) unit: u32,
    /// The units of the superblock.
    superblock: Vec<Range<u64>>,
    pub(super) state: Mutex<State>,
    /// Space may have come free.
    pub(super) changed: Condvar,
    /// Free blocks may have to be gathered.
    pub(super) gather: Condvar,
}

/// Files that a device without zones holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Tables and clients' files, and perhaps the journal and the logs.
    Tables,
    /// The journal and the logs alone.
    Logs,
    /// Tables that may as well lie on another device: nothing is kept for them.
    Offloaded,
}

/// Blocks of the device that are in use when the store is mounted.
#[derive(Default)]
pub(crate) struct Used {
    /// Stretches of the superblock.
    pub(crate) superblock: Vec<ZoneId>,
    /// Stretches of the journal.
    pub(crate) journal: Vec<ZoneId>,
    /// Blocks of files, each with its share of the counts.
    pub(crate) files: Vec<(Extent, Share)>,
}

/// The use of blocks that are no file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Superblock,
    Journal,
    /// Leased to a writer, which has not claimed them yet.
    Leased,
    /// Free, and so near to the next data that a write would destroy them; or after a run that is
    /// being written.
    Guard,
    Free,
}

impl PlainPool {
    /// Over a device of which this is used. An extent that overlaps other things is handed back.
    pub(crate) fn new(medium: Arc<Medium>, used: &Used, holds: Holds) -> Result<Self, Extent> {
        let (guard, unit) = (guard_of(&medium), unit_of(&medium));
        let mut free = FreeMap::new(unit * STRETCH, guard);
        let end = medium.grid().end();
        free.put(0..end);
        let unit_at = |zone: &ZoneId| free.stretch((zone.0 / unit).into());
        let of_journal: Vec<_> = used.journal.iter().map(unit_at).collect();
        let mut of_superblock: Vec<_> = used.superblock.iter().map(unit_at).collect();
        of_superblock.dedup();
        let reserved: u64 = of_superblock.iter().map(|run| free.take_any(run)).sum();
        for run in &of_journal {
            free.take_any(run);
        }
        let capacity = end - reserved;
        let of_journal = if holds == Holds::Offloaded { 0 } else { journal_zones(0, STRETCH) };
        let governor = match holds {
            Holds::Tables => Governor::new(of_journal, capacity, guard.most()),
            Holds::Logs | Holds::Offloaded => Governor::without_tables(of_journal),
        };
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
            guard,
            fit: (holds != Holds::Logs).then(Fit::default),
            cursor: 0,
            governor,
            leases: BTreeMap::new(),
            next_lease: 1,
            live,
            unsealed,
            pinned: 0,
            journal: used.journal.len() as u32,
            shunned: FreeMap::new(STRETCH, Guard::PLAIN),
            lost: 0,
            gathering: Gathering::default(),
            stopped: None,
        };
        let (superblock, state) = (of_superblock, Mutex::new(state));
        let (changed, gather) = (Condvar::new(), Condvar::new());
        Ok(Self { medium, unit, superblock, state, changed, gather })
    }

    /// From now on, runs of tables begin where this says; not on a device of logs alone.
    pub(crate) fn set_fit(&self, fit: Fit) {
        let mut state = self.state.lock();
        state.fit = state.fit.map(|_| fit);
    }

    /// Keeps enough stretches for a journal whose snapshot has this many bytes.
    pub(crate) fn set_snapshot(&self, bytes: u64) {
        self.state.lock().governor.set_journal(journal_zones(bytes, STRETCH));
    }

    /// Bytes that puts on shingled tracks leave to the journal and to the ranks above them, while
    /// nothing lies on an offload device. 0 on a plain device.
    pub(crate) fn kept_on_tracks(&self) -> ByteCount {
        let state = self.state.lock();
        if state.guard.most() == 0 {
            return ByteCount(0);
        }
        let stretch = state.free.stretch(0).end;
        let journal = state.governor.stretches_kept(Rank::Log, state.journal) * stretch;
        super::state::bytes(journal + state.governor.blocks_kept_from_puts())
    }

    /// Adds `blocks` to the live blocks on the offload device; a negative number takes away.
    pub(crate) fn owe(&self, blocks: i64) {
        self.state.lock().governor.owe(blocks);
        if blocks < 0 {
            self.changed.notify_all();
        }
    }

    /// The free runs of blocks, in their order.
    pub(crate) fn free_runs(&self) -> Vec<Range<u64>> {
        self.state.lock().free.runs().collect()
    }

    /// The blocks of no file, by their use; `journal` are the journal's stretches. In no order.
    /// Claimed blocks of a lease are a file's.
    pub(crate) fn parts(&self, journal: &[ZoneId]) -> Vec<(Range<u64>, Part)> {
        let state = self.state.lock();
        let mut parts = Vec::new();
        let of_unit = |unit: Range<u64>, part| {
            let written = unit.start + u64::from(STRETCH);
            [(unit.start..written, part), (written..unit.end, Part::Guard)]
        };
        for unit in &self.superblock {
            parts.extend(of_unit(unit.clone(), Part::Superblock));
        }
        for zone in journal {
            let unit = state.free.stretch((zone.0 / self.unit).into());
            parts.extend(of_unit(unit, Part::Journal));
        }
        for run in state.free.runs() {
            let end = run.start + state.guard.writable(&run);
            parts.extend([(run.start..end, Part::Free), (end..run.end, Part::Guard)]);
        }
        for Lease { region, guard_end, next, .. } in state.leases.values() {
            parts
                .extend([(*next..region.end, Part::Leased), (region.end..*guard_end, Part::Guard)]);
        }
        parts.retain(|(run, _)| !run.is_empty());
        parts
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
        let unit = |zone: &ZoneId| state.free.stretch((zone.0 / self.unit).into());
        let journal = used.journal.iter().map(unit);
        let files = used.files.iter().map(|(extent, _)| blocks_of(extent));
        let mut runs: Vec<Range<u64>> = journal.chain(files).collect();
        runs.sort_unstable_by_key(|run| run.start);
        for run in &runs {
            if state.free.overlaps(run) {
                problems.push(format!(
                    "device {device}: blocks {}..{} are used and free",
                    run.start, run.end
                ));
            }
        }
        for pair in runs.windows(2).filter(|pair| pair[0].end > pair[1].start) {
            problems.push(format!(
                "device {device}: blocks {}..{} and {}..{} overlap",
                pair[0].start, pair[0].end, pair[1].start, pair[1].end
            ));
        }
        let used: u64 = runs.iter().map(|run| run.end - run.start).sum();
        let leased: u64 = state.leases.values().map(|it| it.guard_end - it.next).sum();
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

/// The guard after a run of a device.
fn guard_of(medium: &Medium) -> Guard {
    let geometry = medium.geometry();
    let tracks = geometry.layout.tracks().map(|tracks| {
        let blocks = u64::from(tracks.blocks).div_ceil(logical_per_block(geometry));
        Tracks { blocks: u32::try_from(blocks).unwrap_or(u32::MAX), ..tracks }
    });
    Guard::new(tracks, medium.grid().end())
}

/// Stretches that a stretch of the journal takes with its guard.
fn unit_of(medium: &Medium) -> u32 {
    let blocks = u64::from(STRETCH) + guard_of(medium).most();
    u32::try_from(blocks.div_ceil(STRETCH.into())).unwrap_or(u32::MAX)
}

/// Refuses tracks of less than two blocks, and those that end within a block: both slots of the
/// superblock must lie in one track, and guards are counted in blocks.
fn check_tracks(medium: &Medium) -> Result<(), StoreError> {
    let geometry = medium.geometry();
    let per_block = logical_per_block(geometry);
    match geometry.layout.tracks().map(|tracks| u64::from(tracks.blocks)) {
        Some(blocks) if blocks < 2 * per_block || !blocks.is_multiple_of(per_block) => {
            Err(StoreError::Invalid(format!(
                "device {}: expected tracks of two or more whole blocks of {BLOCK} bytes, found \
                 tracks of {} bytes",
                medium.id(),
                blocks * u64::from(geometry.logical_block)
            )))
        }
        _ => Ok(()),
    }
}

/// Blocks that puts leave on a device of shingled tracks to the ranks above them, if it has `end`
/// blocks, one unit of them the superblock's.
fn kept_of(end: u64, unit: u64, guard: u64) -> u64 {
    Governor::new(0, end.saturating_sub(unit), guard).blocks_kept_from_puts()
}

/// Refuses a device of shingled tracks that is so small for its guards that an empty store would
/// take no put. It needs the units of superblock and journal, the blocks that puts leave, and a log
/// and a flush, each with its guard; and `least` stretches in any case.
fn check_guards(medium: &Medium, least: u32) -> Result<(), StoreError> {
    let (end, guard) = (medium.grid().end(), guard_of(medium).most());
    let (stretch, unit) = (u64::from(STRETCH), u64::from(unit_of(medium)));
    let metadata = (1 + u64::from(journal_zones(0, STRETCH))) * unit * stretch;
    let put = 2 * (guard + PUT_MIN);
    let needed = |end| {
        let needed = metadata + kept_of(end, unit * stretch, guard) + put;
        needed.max(u64::from(least) * stretch)
    };
    if end >= needed(end) {
        return Ok(());
    }
    // More is kept on a larger device, by a part of the difference.
    let mut enough = needed(end).next_multiple_of(stretch);
    while needed(enough) > enough {
        enough = needed(enough).next_multiple_of(stretch);
    }
    let kept = kept_of(enough, unit * stretch, guard);
    let [found, enough, metadata, kept, put, guard] =
        [end, enough, metadata, kept, put, guard].map(super::state::bytes);
    Err(StoreError::Invalid(format!(
        "device {}: expected a shingled device of at least {enough}, found {found}: superblock and \
         journal take {metadata}, {kept} are kept for deletes, flushes, compaction and reclaim, \
         and a log and a flush take {put}; most of that are guards, of {guard} each: with shorter \
         tracks, or a smaller overlap, a smaller device is enough",
        medium.id()
    )))
}

/// Refuses a device that is too small, or too large, for its part of a store, and tracks that a
/// store cannot use.
pub(crate) fn check_size(medium: &Medium, holds_tables: bool) -> Result<(), StoreError> {
    medium.grid().check_size()?;
    check_tracks(medium)?;
    let (geometry, unit) = (medium.geometry(), unit_of(medium));
    let whole = medium.grid().end() / u64::from(STRETCH);
    let of_tables = if holds_tables { TABLES_MIN } else { 0 };
    let least = STRETCHES_MIN.saturating_mul(unit).saturating_add(of_tables);
    if holds_tables && geometry.layout.tracks().is_some() {
        check_guards(medium, least)?;
    }
    if whole >= least.into() && geometry.zones < STRETCHES_MAX {
        return Ok(());
    }
    let size = super::state::bytes(u64::from(STRETCH));
    let kind = if geometry.layout.tracks().is_some() { "shingled" } else { "plain" };
    let bytes = |stretches: u64| ByteCount(stretches.saturating_mul(size.0));
    let (id, found) = (medium.id(), geometry.capacity().unrounded());
    let expected = match whole < least.into() {
        true => format!("at least {}", bytes(least.into())),
        false => format!("less than {}", bytes(STRETCHES_MAX.into())),
    };
    Err(StoreError::Invalid(format!(
        "device {id}: expected a {kind} device of {expected}, found {found}"
    )))
}
