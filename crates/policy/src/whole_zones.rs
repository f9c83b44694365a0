//! Placement of tables in zones of their own (BlueFS, section 4, "Data placement": complete zones
//! for tables; section 2.3: when a table is deleted, its zones are empty).
//!
//! 1. A table of level 0 goes on where the one before it ended, from zone to zone. How large it
//!    becomes nobody knows before: a memtable takes more memory than its entries have bytes, and
//!    tables compress. Those that share a zone often die nearly together: overlapping runs of level
//!    0 are merged together, and tables that move down by metadata alone follow one another in the
//!    order of keys, in which levels are merged.
//! 2. Any other goes where the rest of it fits: behind tables of its own stream and level, in the
//!    zone that has the least room for that. A table that fills a zone finds none. Small ones share
//!    a zone, and each of them is whole in it, but for steps 4 and 5.
//! 3. Where there is no such zone, or nobody knows how much is still to be written, the table opens
//!    a free zone, even if another has to be finished for that.
//! 4. A table that became larger than it should have puts the rest behind others of its stream and
//!    level.
//! 5. Without a free zone it takes any room there is, first where its own level is, then where
//!    there is most: two tables that share a zone are better than a job that cannot end.
//!
//! Data without a level (logs, client files) and what reclaim moves go as in [`LevelSeparated`].

use std::cmp::Reverse;

use terrace_env::ByteCount;

use crate::{
    LevelSeparated, PartZone, Placement, PlacementChoice, PlacementRequest, RECLAIM_STREAM,
    SpaceView,
};

/// A table that was merged owns whole zones; those of level 0 follow one another.
#[derive(Clone, Copy, Debug, Default)]
pub struct WholeZones;

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
