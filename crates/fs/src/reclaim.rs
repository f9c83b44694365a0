//! Reclaim: empties zones, so that they can be written again. Calls of [`Fs`] ask for it, wait for
//! it and count it.
//!
//! Reclaim of shingled tracks is the [`Gatherer`](crate::gatherer::Gatherer)'s.
//!
//! # Steps
//! 1. The policy chooses a victim among the zones that the pool shows it.
//! 2. A [`Copier`] moves live extents of the victim, step by step. The pool remembers the moved
//!    blocks, to count those that are deleted soon after.
//! 3. The victim is free once its last extent is gone and no reader is left there.
//!
//! # Failures
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

use terrace_env::store::{PlacementHint, StoreError};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, FileId, ZoneId, runner};
use terrace_policy::ReclaimChoice;

use crate::Fs;
use crate::catalog::Catalog;
use crate::copier::{Copied, Copier, Resident, StepError};
use crate::space::{Ask, Outcome, ZonedPool};
use crate::volume::Volume;

/// How long a victim is left alone whose last files are about to go: about a forced write.
const COMMIT_WAIT: Duration = Duration::from_millis(1);

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

    /// Bytes that reclaim has moved for nothing since the mount: their file was deleted before the
    /// space that was free when they were moved had been written.
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
    pool: &'a ZonedPool,
    choice: ReclaimChoice,
    left: VecDeque<Resident>,
    copier: Copier<'a>,
    outcome: Outcome,
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
    /// steps. `asked`: a caller asked for it. An error only if the store takes no commits any more.
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
        let hint = PlacementHint { stream: choice.stream, ..PlacementHint::default() };
        let lease = move |ask: &Ask| {
            let ask = Ask { hint, left: None, ..ask.clone() };
            Arc::clone(volume.pools.tables()).lease(&ask).ok()
        };
        let (left, copier) = (VecDeque::new(), Copier::new(volume, Box::new(lease)));
        let mut job = Emptying { pool, choice, left, copier, outcome: Outcome::Done };
        job.left = self.residents(volume, pool, choice.victim);
        if job.left.is_empty() {
            // A transaction that takes the zone's last files away is staged and not yet durable.
            // Trying again at once would find the same, and saying that there is no space would be
            // wrong in a moment.
            runner::sleep(COMMIT_WAIT);
        }
        while !stop() {
            match job.step() {
                Ok(()) if job.left.is_empty() => break,
                Ok(()) => {}
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

impl Emptying<'_> {
    fn step(&mut self) -> Result<(), StepError> {
        let moved = |copied: &Copied| {
            self.pool.note_moved(copied.resident.file, self.choice.victim, &copied.new);
        };
        self.copier.step(&mut self.left, moved)
    }
}

impl Drop for Emptying<'_> {
    fn drop(&mut self) {
        self.copier.end_region();
        self.pool.end_victim(self.choice.victim, self.outcome);
    }
}
