//! [`LevelSeparated`]: places files of one stream and level together, in the order in which they
//! come.
//!
//! 1. Take a partly written zone whose last file has the same stream and level; among several the
//!    one with the least room.
//! 2. Else a free zone, if it can be opened without finishing another zone.
//! 3. Else any partly written zone: one of the same level before others, and among these the one
//!    with the most room.
//! 4. Else a free zone for which another one has to be finished.
//!
//! The view has no zones that a writer holds. So two files of one level that are written at once go
//! to two zones.

use std::cmp::Reverse;

use crate::{PartZone, Placement, PlacementChoice, PlacementRequest, SpaceView};

/// Files of one stream and level together, in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelSeparated;

impl Placement for LevelSeparated {
    fn name(&self) -> &'static str {
        "level-separated"
    }

    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice> {
        let level = request.hint.level;
        let akin = |zone: &&PartZone| zone.stream == request.hint.stream && zone.level == level;
        if let Some(own) = view.partly.iter().filter(akin).min_by_key(|z| (z.room, z.zone)) {
            return Some(PlacementChoice::Append(own.zone));
        }
        if view.is_free() {
            return Some(PlacementChoice::OpenNew);
        }
        let strange = |zone: &&PartZone| (zone.level != level, Reverse(zone.room), zone.zone);
        match view.partly.iter().min_by_key(strange) {
            Some(zone) => Some(PlacementChoice::Append(zone.zone)),
            None => (view.free > 0).then_some(PlacementChoice::OpenNew),
        }
    }
}
