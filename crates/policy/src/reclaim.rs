//! [`Reclaim`]: chooses the zone that is emptied next, the *victim*, and the stream that its live
//! data goes to.
//!
//! A policy answers two questions: whether reclaim is due, and which zone is the victim. Candidates
//! are zones that hold dead bytes and can be emptied now. The view shows at most
//! [`ReclaimView::CANDIDATES_MAX`] of them, ordered by live bytes: the first ones, or a sample, as
//! the policy wants it ([`Sight`]). [`Sight::All`] shows all of them, however many there are; it is
//! for comparisons with the sample.
//!
//! If space is wanted and there is no such zone, candidates may be partly written zones: to empty
//! several of them into one frees zones.
//!
//! A number of zones should be *spare*: free for new data ([`Supply::spare_min`]).
//!
//! A policy is called under a lock of the file system's pool: it must not wait or call the file
//! system.

use std::fmt::Debug;

use terrace_env::{ByteCount, ZoneId};

/// The stream of zones that only reclaim writes to. No file may be created under it.
pub const RECLAIM_STREAM: u16 = u16::MAX;

/// New data should find spare zones: this share of all,
const SPARE_SHARE: u32 = 64;
/// and at most this many: that is written while a zone is emptied.
const SPARE_MAX: u32 = 8;

/// How many zones are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Zones that can hold files.
    pub zones: u32,
    /// Free zones.
    pub free: u32,
    /// Free zones that new data may take: those not kept for more urgent ranks.
    pub spare: u32,
    /// Whether a writer waits for space.
    pub wanted: bool,
    /// Bytes of the zones that are not free.
    pub in_use: ByteCount,
    /// Bytes of files in them.
    pub live: ByteCount,
}

impl Supply {
    /// The number of spare zones that new data should find: a share of all, but no more than are
    /// written while a zone is emptied.
    #[must_use]
    pub fn spare_min(&self) -> u32 {
        (self.zones / SPARE_SHARE).clamp(1, SPARE_MAX)
    }
}

/// A zone without a writer that holds dead bytes; or, if there is none while a writer waits for
/// space, one with room that was never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateZone {
    /// The zone.
    pub zone: ZoneId,
    /// Bytes that can be written to it once it is empty.
    pub capacity: ByteCount,
    /// Bytes that would have to be copied.
    pub live: ByteCount,
    /// Bytes gained: the dead ones; of a zone without any, its room.
    pub gain: ByteCount,
    /// How many live tables it has. A table that lies in several zones counts in each.
    pub tables: u64,
    /// The levels of its live tables, added up.
    pub levels: u64,
    /// The levels that tables had when they were deleted, since the zone was last empty or the
    /// store was mounted, added up.
    pub levels_dead: u64,
    /// Bytes written to the drive since the youngest byte of the zone was. For bytes from before
    /// the mount, those written since the mount.
    pub age: ByteCount,
}

/// Which zones a policy has to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// Candidates with the fewest live bytes.
    #[default]
    FewestLive,
    /// If there are more candidates than a view shows: a sample, evenly spread over the order of
    /// live bytes.
    Spread,
    /// All candidates; the time grows with their number.
    All,
}

impl Sight {
    /// Whether the `at`-th of `of` candidates, in the order of live bytes, is shown.
    #[must_use]
    pub fn shows(self, at: usize, of: usize) -> bool {
        debug_assert!(at < of, "candidate {at} of {of}");
        let most = ReclaimView::CANDIDATES_MAX;
        match self {
            Self::FewestLive => at < most,
            Self::All => true,
            // The `i`-th shown is the `i * of / most`-th.
            Self::Spread => of <= most || (at * most).div_ceil(of) < ((at + 1) * most).div_ceil(of),
        }
    }
}

/// View of a reclaim decider: free space, and the zones that can be reclaimed.
#[derive(Clone, Copy, Debug)]
pub struct ReclaimView<'a> {
    /// How many zones are free.
    pub supply: Supply,
    /// Candidates that are in [`Sight`], fewest live bytes first; ties by zone.
    pub candidates: &'a [CandidateZone],
}

impl ReclaimView<'_> {
    /// The most candidates that a view shows, but for [`Sight::All`]: enough for a policy that
    /// weighs more than live bytes, few enough to build the view for each decision.
    pub const CANDIDATES_MAX: usize = 64;
}

/// The victim, and the stream that its live extents go to.
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

    /// Which zones it has to see.
    fn sight(&self) -> Sight {
        Sight::FewestLive
    }

    /// Whether it is time to reclaim. While a writer waits for space it must be: only reclaim gives
    /// it any.
    fn is_due(&self, supply: &Supply) -> bool;

    /// Chooses a victim among the candidates, or `None` when none is worth its copying.
    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice>;
}
