//! [`WholeZones`]: places tables below level 0 so that a table that is as large as a zone, or
//! several zones, shares them with no other, as long as free zones can be opened (BlueFS, sections
//! 2.3 and 4, "Data placement"). When such a table is deleted, its zones are empty.
//!
//! 1. A table of level 0 goes on where others of its level and stream ended, from zone to zone.
//!    Tables of level 0 that share a zone often die nearly together. If level 0 lies *apart*, each
//!    of them opens a free zone instead, as in the paper.
//! 2. Another table goes to the zone with the least room that holds the rest of it, after tables of
//!    its own stream and level. So small tables share a zone, and each of them is whole in it.
//! 3. If there is no such zone, or the size of the rest is not known, the table opens a free zone,
//!    even if another zone has to be finished for that.
//! 4. A table that became larger than announced puts the rest after others of its stream and level,
//!    if a zone of theirs has room.
//! 5. If no free zone may be opened, a table takes any room, first in a zone of its own level, then
//!    where there is most.
//!
//! Data without a level (logs, client files) and moved data of reclaim go as in [`LevelSeparated`].

use std::cmp::Reverse;

use terrace_env::ByteCount;

use crate::{
    LevelSeparated, PartZone, Placement, PlacementChoice, PlacementRequest, RECLAIM_STREAM,
    SpaceView,
};

/// A large merged table owns whole zones. Tables of level 0 follow one another, or own their zones,
/// too.
#[derive(Clone, Copy, Debug, Default)]
pub struct WholeZones {
    /// Whether tables of level 0 own their zones, too.
    pub level0_apart: bool,
}

impl Placement for WholeZones {
    fn name(&self) -> &'static str {
        "whole-zones"
    }

    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice> {
        let (level, stream) = (request.hint.level, request.hint.stream);
        if level.is_none() || stream == RECLAIM_STREAM {
            return LevelSeparated.place(view, request);
        }
        let akin = view.partly.iter().filter(|z| z.stream == stream && z.level == level);
        let place = match request.left {
            _ if level == Some(0) && self.level0_apart => None,
            _ if level == Some(0) => akin.min_by_key(|zone| (zone.room, zone.zone)),
            Some(ByteCount(0)) => akin.max_by_key(|zone| (zone.room, Reverse(zone.zone))),
            Some(left) => akin.filter(|z| z.room >= left).min_by_key(|z| (z.room, z.zone)),
            None => None,
        };
        if let Some(zone) = place {
            return Some(PlacementChoice::Append(zone.zone));
        }
        if view.free > 0 {
            return Some(PlacementChoice::OpenNew);
        }
        let strange = |zone: &&PartZone| (zone.level != level, Reverse(zone.room), zone.zone);
        view.partly.iter().min_by_key(strange).map(|zone| PlacementChoice::Append(zone.zone))
    }
}
