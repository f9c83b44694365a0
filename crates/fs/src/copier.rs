//! [`Copier`]: copies live extents of sealed files to other places and points the files at the
//! copies.
//!
//! 1. A step copies extents, until they come to 16 large writes. An extent of known checksum is
//!    verified on the way.
//! 2. A transaction points the files at the copies; the devices are flushed before it. It leaves
//!    out extents that were trimmed or deleted meanwhile, and their copies are freed.
//!
//! If the medium fails while a copy is written, the copy is made again elsewhere, up to eight
//! times. The same is done if the copy of a log's extent does not lie in one piece.
//!
//! Which extents are copied, and where regions for the copies come from, is decided elsewhere.
//!
//! # Threads
//! One actor uses a copier. A step waits for devices and a commit, so no lock is held over it.

use std::collections::VecDeque;

use terrace_env::checksum::{crc32c, crc32c_append};
use terrace_env::store::{FileKind, PlacementHint, Rank, StoreError};
use terrace_env::{ByteCount, Cause, FileId};

use crate::canary::{self, Rule};
use crate::catalog::{Extent, Mapped, Record};
use crate::space::{Ask, Region, Share};
use crate::volume::Volume;
use crate::{AddressSpace, BLOCK, BlockAddr};

/// Large writes before a transaction points at the copies: enough that the flush is small in
/// comparison.
const STEP_WRITES: u32 = 16;
/// How often the medium may fail under one copy before that is given up.
const FAILURES_MAX: u32 = 8;

/// Leases a region for a copy, if there is one.
pub(crate) type Lease<'a> = Box<dyn Fn(&Ask) -> Option<Region> + 'a>;

/// See the [module](self).
pub(crate) struct Copier<'a> {
    volume: &'a Volume,
    lease: Lease<'a>,
    region: Option<Region>,
}

/// A live extent of a sealed file.
#[derive(Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) file: FileId,
    pub(crate) kind: FileKind,
    pub(crate) mapped: Mapped,
}

/// An extent and its copy.
pub(crate) struct Copied {
    pub(crate) resident: Resident,
    pub(crate) new: Vec<Extent>,
}

/// Why a step could not be done.
pub(crate) enum StepError {
    NoRoom,
    Unmovable { mismatch: bool },
    Stopped(StoreError),
}

impl<'a> Copier<'a> {
    pub(crate) fn new(volume: &'a Volume, lease: Lease<'a>) -> Self {
        Self { volume, lease, region: None }
    }

    /// Gives the region back that copies were written to.
    pub(crate) fn end_region(&mut self) {
        self.region = None;
    }

    /// Copies the first extents that are left, takes them out, and points their files at the
    /// copies. Each one that was moved so is handed to `moved`. Extents copied before an error are
    /// moved all the same.
    pub(crate) fn step(
        &mut self,
        left: &mut VecDeque<Resident>,
        moved: impl FnMut(&Copied),
    ) -> Result<(), StepError> {
        let mut copied = Vec::new();
        let mut blocks = 0;
        let mut result = Ok(());
        let step = self.volume.write_blocks().saturating_mul(STEP_WRITES);
        while let Some(resident) = left.front().copied().filter(|_| blocks < step) {
            match self.copy(&resident) {
                Ok(new) => copied.push(Copied { resident, new }),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            blocks += resident.mapped.extent.blocks;
            left.pop_front();
        }
        self.repoint(copied, moved)?;
        result
    }

    /// Points files at the copies of their extents.
    fn repoint(&self, copied: Vec<Copied>, mut note: impl FnMut(&Copied)) -> Result<(), StepError> {
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
                note(copy);
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
            let Err(error) = result else {
                debug_assert_eq!(
                    new.iter().map(|extent| extent.blocks).sum::<u32>(),
                    resident.mapped.extent.blocks,
                    "a copy of the whole extent"
                );
                return Ok(new);
            };
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
                let left = blocks + (old.blocks - done - wanted);
                let (to, blocks) = self.claim(blocks, (still_whole, left), resident.kind)?;
                debug_assert!(0 < blocks && blocks <= left, "{blocks} of {left} blocks");
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
            // An unknown checksum stays unknown: a checksum of unverified bytes would make damage
            // look sound.
            new.iter_mut().for_each(|extent| extent.crc = None);
        }
        Ok(())
    }

    /// A place for blocks, in a region with at least `least` of room; `left` blocks of the extent
    /// have no place yet.
    fn claim(
        &mut self,
        blocks: u32,
        (least, left): (u32, u32),
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
            let ask = Ask {
                hint: PlacementHint::default(),
                kind,
                rank: Rank::Reclaim,
                reservation: 0,
                least,
                left: Some(ByteCount(u64::from(left) * BLOCK as u64)),
                cause: Cause::Reclaim,
            };
            self.region = Some((self.lease)(&ask).ok_or(CopyError::NoRoom)?);
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

enum CopyError {
    /// The medium failed where it was written.
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
