//! Placement for lifetime-leveling: a zone for each level, and the T-zone for tables that the next
//! compaction consumes (LL-compaction, "Solution for Short-Lived SST").
//!
//! 1. Tails of all levels go to the fullest partly written zone of the [`TAIL_STREAM`], or to a
//!    free one. As long as a level is compacted by sweeps alone it has at most one tail at a time,
//!    so that few of these zones hold anything live.
//! 2. Everything else, and tails where no free zone can be opened, as in [`LevelSeparated`].
//!
//! A zone that a writer holds is not in the view. So two tails that are written at once go to two
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
