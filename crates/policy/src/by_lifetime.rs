//! [`ByLifetime`]: the placement of lifetime-leveling (Jung and Shin, "Lifetime-Leveling LSM-tree
//! Compaction for ZNS SSD", HotStorage '22, "Solution for Short-Lived SST"). As long as zones can
//! be opened, each level has zones of its own. So have *tails*, which are outputs that the next
//! compaction is to consume. The zone of tails is the *T-zone*.
//!
//! 1. A tail is a file of the stream [`TAIL_STREAM`]. It goes to the partly written zone with the
//!    least room of those in which the last file was a tail, of any level.
//! 2. If there is no such zone, [`LevelSeparated`] places the tail: in a free zone if one can be
//!    opened without finishing another.
//! 3. [`LevelSeparated`] places every other file.
//!
//! The view has no zones that a writer holds. So two tails that are written at once go to two
//! zones.

use crate::{LevelSeparated, Placement, PlacementChoice, PlacementRequest, SpaceView, TAIL_STREAM};

/// Places files of one level together, and tails of all levels together.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByLifetime;

impl Placement for ByLifetime {
    fn name(&self) -> &'static str {
        "by-lifetime"
    }

    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice> {
        let tails = view.partly.iter().filter(|zone| zone.stream == TAIL_STREAM);
        let tails = tails.filter(|_| request.hint.stream == TAIL_STREAM);
        match tails.min_by_key(|zone| (zone.room, zone.zone)) {
            Some(zone) => Some(PlacementChoice::Append(zone.zone)),
            None => LevelSeparated.place(view, request),
        }
    }
}
