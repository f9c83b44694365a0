//! [`Ask`]: a writer's request for a region, the run of blocks that it then writes to: where the
//! file should lie, on whose behalf, and how much space is needed. The region has room for at least
//! `least` blocks; beyond that, the pool chooses. A reservation in a request must have been granted
//! by the same pool.

use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_env::{ByteCount, Cause};

use super::ReservationId;

/// A writer's request for a region.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) hint: PlacementHint,
    pub(crate) kind: FileKind,
    pub(crate) rank: Rank,
    /// The writer's reservation; 0 without one.
    pub(crate) reservation: ReservationId,
    /// The fewest blocks that are of use.
    pub(crate) least: u32,
    /// Largest number of bytes still to be written, where that is known.
    pub(crate) left: Option<ByteCount>,
    pub(crate) cause: Cause,
}
