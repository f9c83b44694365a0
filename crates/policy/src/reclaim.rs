//! Which zone is emptied next, and where its live extents go.
//!
//! The file system asks when free zones run low. It keeps zones ordered by live bytes and shows the
//! first [`ReclaimView::CANDIDATES_MAX`] of those that can be emptied, so that a decision costs the
//! same on ten zones and on fifty thousand.

use std::fmt::Debug;

use terrace_env::{ByteCount, ZoneId};

/// The stream of zones that only reclaim writes to. No file may be created under it.
pub const RECLAIM_STREAM: u16 = u16::MAX;

/// A zone that nobody writes to and that holds something dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateZone {
    /// The zone.
    pub zone: ZoneId,
    /// What can be written to it once it is empty.
    pub capacity: ByteCount,
    /// What would have to be copied.
    pub live: ByteCount,
    /// What comes back: dead bytes, and room that was never written.
    pub gain: ByteCount,
}

/// What can be reclaimed.
#[derive(Clone, Copy, Debug)]
pub struct ReclaimView<'a> {
    /// Candidates, fewest live bytes first; ties by zone.
    pub candidates: &'a [CandidateZone],
}

impl ReclaimView<'_> {
    /// The most candidates a view shows: enough for a policy that weighs more than live bytes, few
    /// enough to build the view for each decision.
    pub const CANDIDATES_MAX: usize = 64;
}

/// What to reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReclaimChoice {
    /// The zone to empty.
    pub victim: ZoneId,
    /// The stream its live extents are placed under.
    pub stream: u16,
}

/// A way to get space back. Pure: the same view gives the same choice.
pub trait Reclaim: Send + Sync + Debug {
    /// The name in options, reports and goldens.
    fn name(&self) -> &'static str;

    /// Chooses a victim among the candidates, or `None` when none is worth its copying.
    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice>;
}
