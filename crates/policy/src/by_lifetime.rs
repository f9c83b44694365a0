//! Placement for lifetime-leveling (LL-compaction, "Solution for Short-Lived SST"): a zone for each
//! level, and the T-zone for *tails*, which are tables that the next compaction consumes.
//!
//! 1. A tail goes to the fullest partly written zone of the [`TAIL_STREAM`]. Tails of all levels
//!    share these zones.
//! 2. If there is no such zone, a tail is placed by [`LevelSeparated`]: into a free zone, or
//!    wherever there is room. So is every other file.
//!
//! Zones that a writer holds are not in the view. So two tails that are written at once go to two
//! zones.

use crate::{LevelSeparated, Placement, PlacementChoice, PlacementRequest, SpaceView, TAIL_STREAM};

/// Files of one level together, and tails of all levels.
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
