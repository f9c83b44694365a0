//! Reclaim: empties zones, so that they can be written again. Calls of [`Fs`] ask for it, wait for
//! it and count it.
//!
//! # Steps
//! 1. The policy chooses a victim among the zones that the pool shows it.
//! 2. Reclaim copies live extents of the victim, until they come to 16 large writes. An extent of
//!    known checksum is verified on the way.
//! 3. A transaction points the files at the copies; the devices are flushed before it. It leaves
//!    out extents that were trimmed or deleted meanwhile, and their copies are freed. The pool
//!    remembers what was moved, to count what is deleted soon after.
//! 4. Steps 2 and 3 are repeated. The victim is free once its last extent is gone and nobody reads
//!    there any more.
//!
//! # Failures
//! - If a zone fails while a copy is written to it, the copy is made again in another zone, up to
//!   eight times. The same is done if the copy of a log's extent does not lie in one piece.
//! - If no space is left for a copy, the work on the victim ends.
//! - If an extent cannot be read, does not verify, or cannot be written elsewhere, it stays, and
//!   the work on the victim ends. Reclaim then leaves the victim alone until the next mount, or
//!   until the zone has come free.
//! - If a commit fails, the background reclaim ends.
//!
//! # Threads
//! The background actor empties one victim at a time. A client that calls `reclaim_one` may empty
//! another one meanwhile. A victim is kept from writers and other reclaims until the work on it
//! ends. The work waits for devices and commits, so no lock is held over it. The work of the
//! background actor can be ended between two steps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{FileKind, PlacementHint, Rank, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, Cause, FileId, ZoneId, runner};
use terrace_policy::ReclaimChoice;

use crate::canary::{self, Rule};
use crate::catalog::{Catalog, Extent, Mapped, Record};
use crate::space::{Ask, Outcome, Region, Share, ZonedPool};
use crate::volume::Volume;
use crate::{AddressSpace, BLOCK, BlockAddr, Fs};

/// Large writes before a transaction points at the copies: enough that the flush is small beside
/// them.
const STEP_WRITES: u32 = 16;
/// How long a victim is left alone whose last files are about to go: about a forced write.
const COMMIT_WAIT: Duration = Duration::from_millis(1);
/// Zones that may fail under one copy before reclaim gives up.
const FAILURES_MAX: u32 = 8;

impl Fs {
    /// Empties the zone that the reclaim policy chooses, as far as that is possible. Returns
    /// whether the policy has chosen one. On a device without zones there is nothing to reclaim.
    pub fn reclaim_one(&self) -> Result<bool, StoreError> {
        let Some(reclaimer) = &self.reclaimer else {
            return Err(StoreError::ReadOnly("reclaim"));
        };
        reclaimer.run_once(&self.volume, true, || false)
    }

    /// Waits until the background reclaim rests: until no zone is being emptied, and none is to be.
    /// A store that is opened for reading has none. Writers that go on may make it wait for ever.
    pub fn wait_reclaim_idle(&self) {
        if let Some(zoned) = self.volume.pools.zoned() {
            zoned.await_reclaim_idle();
        }
    }

    /// Extents that reclaim has found damaged since the mount, and left where they are.
    #[must_use]
    pub fn damaged_extents(&self) -> u64 {
        self.reclaimer.as_ref().map_or(0, |reclaimer| reclaimer.mismatches())
    }

    /// Bytes that reclaim has moved in vain since the mount: their file was deleted before as much
    /// was written as was free when they were moved.
    #[must_use]
    pub fn moved_in_vain(&self) -> ByteCount {
        self.volume.pools.zoned().map_or(ByteCount(0), |zoned| zoned.moved_in_vain())
    }
}

/// Chooses victims and empties them.
pub(crate) struct Reclaimer {
    /// Which files have extents in which candidate, as of the last walk over the catalog.
    residents: Mutex<BTreeMap<ZoneId, Vec<FileId>>>,
    /// Extents that did not have their checksum.
    mismatches: AtomicU64,
}

/// Work on one victim.
struct Emptying<'a> {
    volume: &'a Volume,
    pool: &'a ZonedPool,
    choice: ReclaimChoice,
    left: VecDeque<Resident>,
    region: Option<Region>,
    outcome: Outcome,
}

/// A live extent in the victim.
#[derive(Clone, Copy)]
struct Resident {
    file: FileId,
    kind: FileKind,
    mapped: Mapped,
}

/// An extent and its copy.
struct Copied {
    resident: Resident,
    new: Vec<Extent>,
}

impl Reclaimer {
    pub(crate) fn new() -> Self {
        Self { residents: Mutex::default(), mismatches: AtomicU64::new(0) }
    }

    /// Extents that did not have their checksum when they were to be copied.
    pub(crate) fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// The background actor: reclaims when space is short, until the store is unmounted.
    pub(crate) fn run(&self, volume: &Volume) {
        let Some(pool) = volume.pools.zoned() else { return };
        while pool.await_work() {
            if self.run_once(volume, false, || pool.is_reclaim_stopped()).is_err() {
                pool.stop_reclaim();
            }
        }
    }

    /// Empties one zone, if the policy finds one worth it, unless `stop` says otherwise between two
    /// steps. `asked`: somebody asked for it. An error only if the store takes no commits any more.
    pub(crate) fn run_once(
        &self,
        volume: &Volume,
        asked: bool,
        stop: impl Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let Some(pool) = volume.pools.zoned() else { return Ok(false) };
        let levels = |zones: BTreeSet<ZoneId>| {
            let device = volume.media.tables().id();
            let of = |catalog: &Catalog, zone| (zone, catalog.levels_in(device, zone));
            volume.journal.read(|catalog| zones.into_iter().map(|z| of(catalog, z)).collect())
        };
        let Some(choice) = pool.choose_victim(asked, levels) else {
            return Ok(false);
        };
        let mut job = Emptying {
            volume,
            pool,
            choice,
            left: VecDeque::new(),
            region: None,
            outcome: Outcome::Done,
        };
        job.left = self.residents(volume, pool, choice.victim);
        if job.left.is_empty() {
            // A transaction that takes the zone's last files away is staged and not yet durable.
            // Trying again at once would find the same, and saying that there is no space would be
            // wrong in a moment.
            runner::sleep(COMMIT_WAIT);
        }
        while !stop() {
            match job.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(StepError::NoRoom) => {
                    job.outcome = Outcome::NoRoom;
                    break;
                }
                Err(StepError::Unmovable { mismatch }) => {
                    self.mismatches.fetch_add(u64::from(mismatch), Ordering::Relaxed);
                    job.outcome = Outcome::Failed;
                    break;
                }
                Err(StepError::Stopped(error)) => return Err(error),
            }
        }
        Ok(true)
    }

    /// The live extents in a zone.
    fn residents(&self, volume: &Volume, pool: &ZonedPool, victim: ZoneId) -> VecDeque<Resident> {
        let known = self.residents.lock().remove(&victim);
        if let Some(files) = known {
            let found = extents_in(volume, victim, &files);
            let blocks: u32 = found.iter().map(|resident| resident.mapped.extent.blocks).sum();
            if blocks == pool.live(victim) {
                return found;
            }
        }
        // The list is missing or out of date: one walk over the catalog serves all candidates.
        let mut zones = pool.candidates();
        zones.insert(victim);
        let mut fresh: BTreeMap<ZoneId, Vec<FileId>> = BTreeMap::new();
        let space = volume.media.space();
        volume.for_each_file(|id, record| {
            let extents = record.extents.extents().filter(|_| record.sealed);
            let of_file = extents.filter_map(|extent| Some(space.zone(extent.first)?.1));
            for zone in of_file.filter(|zone| zones.contains(zone)) {
                let files = fresh.entry(zone).or_default();
                if files.last() != Some(&id) {
                    files.push(id);
                }
            }
        });
        let files = fresh.remove(&victim).unwrap_or_default();
        *self.residents.lock() = fresh;
        extents_in(volume, victim, &files)
    }
}

fn extents_in(volume: &Volume, zone: ZoneId, files: &[FileId]) -> VecDeque<Resident> {
    let space = volume.media.space();
    let at = Some((volume.media.tables().id(), zone));
    volume.journal.read(|catalog| {
        let records = files.iter().filter_map(|id| Some((*id, catalog.get(*id)?)));
        let sealed = records.filter(|(_, record)| record.sealed);
        sealed
            .flat_map(|(file, record)| {
                let pieces = record.extents.pieces().iter();
                let pieces = pieces.filter(move |piece| space.zone(piece.extent.first) == at);
                pieces.map(move |mapped| Resident { file, kind: record.kind, mapped: *mapped })
            })
            .collect()
    })
}

/// Why a step could not be done.
enum StepError {
    NoRoom,
    Unmovable { mismatch: bool },
    Stopped(StoreError),
}

impl Emptying<'_> {
    /// Copies a few extents and points their files at the copies; whether any are left.
    fn step(&mut self) -> Result<bool, StepError> {
        let mut copied = Vec::new();
        let mut blocks = 0;
        let mut result = Ok(());
        let step = self.volume.write_blocks().saturating_mul(STEP_WRITES);
        while let Some(resident) = self.left.front().copied().filter(|_| blocks < step) {
            match self.copy(&resident) {
                Ok(new) => copied.push(Copied { resident, new }),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            blocks += resident.mapped.extent.blocks;
            self.left.pop_front();
        }
        self.repoint(copied)?;
        result.map(|()| !self.left.is_empty())
    }

    /// Points files at the copies of their extents.
    fn repoint(&self, copied: Vec<Copied>) -> Result<(), StepError> {
        if copied.is_empty() {
            return Ok(());
        }
        let flush = !canary::is_broken(Rule::CopyDurableBeforeMove);
        let mut moved = vec![false; copied.len()];
        let committed = self.volume.commit_made(flush, |catalog| {
            let mut records = Vec::with_capacity(copied.len());
            for (copy, moved) in copied.iter().zip(&mut moved) {
                let Resident { file: id, mapped: Mapped { at, extent: old }, .. } = copy.resident;
                let record = catalog.get(id).filter(|record| record.sealed);
                let still =
                    record.is_some_and(|r| r.extents.repointed(at, &old, &copy.new).is_some());
                if still {
                    *moved = true;
                    records.push(Record::Move { id, at, old, new: copy.new.clone() });
                }
            }
            Ok(records)
        });
        for (copy, moved) in copied.iter().zip(moved) {
            if committed.is_err() || !moved {
                self.volume.pools.free(&copy.new, Share::Unsealed);
            } else {
                self.pool.note_moved(copy.resident.file, self.choice.victim, &copy.new);
            }
        }
        committed.map_err(StepError::Stopped)
    }

    /// Copies an extent, and checks it on the way.
    fn copy(&mut self, resident: &Resident) -> Result<Vec<Extent>, StepError> {
        let mut failures = 0;
        loop {
            let mut new = Vec::new();
            let result = self.try_copy(resident, &mut new);
            let Err(error) = result else { return Ok(new) };
            if !canary::is_broken(Rule::FailedCopiesGivenBack) {
                self.volume.pools.free(&new, Share::Unsealed);
            }
            match error {
                CopyError::Retry if failures < FAILURES_MAX => failures += 1,
                CopyError::NoRoom => return Err(StepError::NoRoom),
                CopyError::Mismatch => return Err(StepError::Unmovable { mismatch: true }),
                CopyError::Retry | CopyError::Medium => {
                    return Err(StepError::Unmovable { mismatch: false });
                }
            }
        }
    }

    fn try_copy(&mut self, resident: &Resident, new: &mut Vec<Extent>) -> Result<(), CopyError> {
        let old = resident.mapped.extent;
        // No frame of a log reaches across the end of an extent, so a log's extent stays whole.
        let least = if resident.kind == FileKind::Log { old.blocks } else { 1 };
        if resident.kind == FileKind::Log {
            self.region = None;
        }
        let mut crc = crc32c(&[]);
        let mut done = 0;
        while done < old.blocks {
            let from = old.first.plus(done);
            let wanted = self.volume.write_blocks().min(old.blocks - done);
            let data = self.volume.media.read_blocks(from, wanted, Cause::Reclaim);
            let data = data.map_err(|_| CopyError::Medium)?;
            crc = crc32c_append(crc, &data);
            let mut rest = &data[..];
            while !rest.is_empty() {
                let blocks = (rest.len() / BLOCK) as u32;
                let still_whole = if least > 1 { least - done } else { 1 };
                let (to, blocks) = self.claim(blocks, still_whole, resident.kind)?;
                let (part, later) = rest.split_at(blocks as usize * BLOCK);
                note(new, self.volume.media.space(), to, blocks, part);
                self.write(to, part)?;
                rest = later;
            }
            done += wanted;
        }
        if resident.kind == FileKind::Log && new.len() > 1 {
            return Err(CopyError::Retry);
        }
        if old.crc.is_some_and(|known| known != crc) {
            return Err(CopyError::Mismatch);
        }
        if old.crc.is_none() {
            // An unknown checksum stays unknown: a checksum of bytes nobody vouched for would make
            // damage look sound.
            new.iter_mut().for_each(|extent| extent.crc = None);
        }
        Ok(())
    }

    /// A place for blocks, in a region with at least `least` of room.
    fn claim(
        &mut self,
        blocks: u32,
        least: u32,
        kind: FileKind,
    ) -> Result<(BlockAddr, u32), CopyError> {
        loop {
            let roomy = |r: &&Region| r.rest().is_some_and(|(_, room)| room >= least);
            if let Some(claimed) =
                self.region.as_ref().filter(roomy).and_then(|region| region.claim(blocks))
            {
                return Ok(claimed);
            }
            self.region = None;
            let hint = PlacementHint { stream: self.choice.stream, ..PlacementHint::default() };
            let ask = Ask {
                hint,
                kind,
                rank: Rank::Reclaim,
                reservation: 0,
                least,
                left: None,
                cause: Cause::Reclaim,
            };
            let region = Arc::clone(self.volume.pools.tables())
                .lease(&ask)
                .map_err(|_| CopyError::NoRoom)?;
            self.region = Some(region);
        }
    }

    fn write(&mut self, to: BlockAddr, bytes: &[u8]) -> Result<(), CopyError> {
        let data = terrace_env::IoBuf::copy_of(bytes);
        let media = &self.volume.media;
        let ticket = media.submit_blocks(to, data, false, Cause::Reclaim);
        let result = media.wait(ticket);
        let Some(region) = &self.region else { return Err(CopyError::Medium) };
        let Err(error) = result else {
            region.settle(true);
            return Ok(());
        };
        if crate::file::is_left_undone(&error) {
            region.abandon();
            self.region = None;
            return Err(CopyError::NoRoom);
        }
        if !crate::file::is_zone_failure(&error) {
            return Err(CopyError::Medium);
        }
        region.retire();
        self.region = None;
        Err(CopyError::Retry)
    }
}

impl Drop for Emptying<'_> {
    fn drop(&mut self) {
        self.region = None;
        self.pool.end_victim(self.choice.victim, self.outcome);
    }
}

enum CopyError {
    /// The zone that was written failed.
    Retry,
    NoRoom,
    Mismatch,
    Medium,
}

/// Adds copied blocks to the extents of the copy.
fn note(new: &mut Vec<Extent>, space: &AddressSpace, to: BlockAddr, blocks: u32, bytes: &[u8]) {
    match new.last_mut() {
        Some(last) if last.ends_at(to) && space.is_whole(last.first, last.blocks + blocks) => {
            last.blocks += blocks;
            last.crc = last.crc.map(|crc| crc32c_append(crc, bytes));
        }
        _ => new.push(Extent { first: to, blocks, crc: Some(crc32c(bytes)) }),
    }
}
