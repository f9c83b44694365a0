//! [`Guard`]: which blocks after a run must be free while the run is written.
//!
//! On shingled tracks a write destroys the tracks after it ([`Tracks::harmed`]). A writer may
//! write a run of blocks if nothing that counts lies in its *guard*: the blocks from the end of the
//! run to the end of its last track, and the next tracks that a write harms. A later write to the
//! blocks of the guard harms nothing of the run: a write harms only later blocks. So a run needs
//! its guard only while it is written, and files that are written one after the other need none
//! between them (Yao et al., "A Set-aware Key-Value Store on Shingled Magnetic Recording Drives
//! with Dynamic Band", MSST '18, section III-B).
//!
//! Example, with tracks of 100 blocks that harm two others: a run from block 40 up to but not
//! including block 120 can be written if the blocks from 120 up to but not including 400 are free.
//! Then another run may begin at block 120.
//!
//! After the last block of the device nothing can be harmed. On a plain device no run has a guard.

use std::ops::Range;

use terrace_zone::Tracks;

use crate::canary::{self, Rule};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    tracks: Option<Tracks>,
    /// The first block after the device.
    end: u64,
}

impl Guard {
    /// The guard of a plain device: none.
    pub(super) const PLAIN: Self = Self { tracks: None, end: u64::MAX };

    /// The guard of a device that ends at block `end`; tracks are counted in blocks of the file
    /// system.
    pub(super) fn new(tracks: Option<Tracks>, end: u64) -> Self {
        Self { tracks, end }
    }

    fn tracks(&self) -> Option<Tracks> {
        let tracks = self.tracks.filter(|_| !canary::is_broken(Rule::RunHasGuard));
        let missing = u32::from(canary::is_broken(Rule::GuardIsWhole));
        tracks.map(|it| Tracks { overlap: it.overlap.saturating_sub(missing), ..it })
    }

    /// The first block that a writer of the blocks before `end` does not harm.
    pub(super) fn behind(&self, end: u64) -> u64 {
        let Some(Tracks { blocks, overlap }) = self.tracks() else { return end };
        let track = u64::from(blocks);
        let behind = (end.div_ceil(track) + u64::from(overlap)) * track;
        behind.min(self.end).max(end)
    }

    /// The end of the guard of a region that was cut from the free run that ends at `run_end`.
    pub(super) fn behind_in(&self, region: &Range<u64>, run_end: impl FnOnce() -> u64) -> u64 {
        let behind = self.behind(region.end);
        if canary::is_broken(Rule::GapHasGuard) { behind.min(run_end()) } else { behind }
    }

    /// The blocks of a free run that can be written, from its start, so that the guard is in the
    /// run, too.
    pub(super) fn writable(&self, run: &Range<u64>) -> u64 {
        let Some(Tracks { blocks, overlap }) = self.tracks() else { return run.end - run.start };
        if run.end >= self.end || canary::is_broken(Rule::GapHasGuard) {
            return run.end - run.start;
        }
        let track = u64::from(blocks);
        let last = (run.end / track).saturating_sub(overlap.into()) * track;
        last.saturating_sub(run.start)
    }

    /// The most blocks that a guard has.
    pub(super) fn most(&self) -> u64 {
        self.tracks.map_or(0, |tracks| (u64::from(tracks.overlap) + 1) * u64::from(tracks.blocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_a_run_harms_nothing_behind_the_run() {
        let tracks = Tracks { blocks: 8, overlap: 2 };
        let guard = Guard::new(Some(tracks), 100);
        for start in 0..100 {
            for end in start + 1..=100 {
                let run = start..end;
                let blocks = guard.writable(&run);
                assert!(start + blocks <= end, "{run:?}");
                if blocks > 0 {
                    let written = start + blocks;
                    let harmed = tracks.harmed(start..written).end.min(100);
                    assert!(harmed <= end, "{run:?}: {blocks} blocks harm up to {harmed}");
                    assert!(guard.behind(written) <= end, "{run:?}");
                    assert!(guard.behind(written) - written <= guard.most(), "{run:?}");
                }
                // One block more would be too many.
                let more = start + blocks + 1;
                assert!(more > end || tracks.harmed(start..more).end.min(100) > end, "{run:?}");
            }
        }
    }

    #[test]
    fn a_plain_device_has_no_guards() {
        let guard = Guard::new(None, 100);
        assert_eq!((guard.behind(70), guard.writable(&(20..90)), guard.most()), (70, 70, 0));
    }
}
