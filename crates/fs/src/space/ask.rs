//! [`Ask`]: who wants a region, and what for.

use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_env::{ByteCount, Cause};

use super::ReservationId;

/// Who wants a region.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) hint: PlacementHint,
    pub(crate) kind: FileKind,
    pub(crate) rank: Rank,
    /// 0 without one.
    pub(crate) reservation: ReservationId,
    /// The fewest blocks that are of use.
    pub(crate) least: u32,
    /// What is still to be written at most, where that is known.
    pub(crate) left: Option<ByteCount>,
    pub(crate) cause: Cause,
}
