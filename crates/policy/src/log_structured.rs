//! [`LogStructured`]: places tables of all levels one after the other in zones, in the order in
//! which they come, like an LSM-tree on a log-structured file system (GearDB, section 2.3 and
//! figure 2).
//!
//! 1. Take a partly written zone whose last file is of the same family; among several the one with
//!    the least room. The families are: tables of any level and stream; moved data of reclaim; and
//!    for each stream its files without a level (logs, client files).
//! 2. Else a free zone, if it can be opened without finishing another zone.
//! 3. Else the partly written zone with the most room, of any family.
//! 4. Else a free zone for which another one has to be finished.
//!
//! The view has no zones that a writer holds. So files that are written at once go to different
//! zones.

use std::cmp::Reverse;

use crate::{PartZone, Placement, PlacementChoice, PlacementRequest, RECLAIM_STREAM, SpaceView};

/// Tables of all levels together, in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogStructured;

/// Files that share zones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Tables,
    Moved,
    /// Files that belong to no level, by stream.
    Others(u16),
}

impl Family {
    fn of(level: Option<u8>, stream: u16) -> Self {
        match level {
            _ if stream == RECLAIM_STREAM => Self::Moved,
            Some(_) => Self::Tables,
            None => Self::Others(stream),
        }
    }
}

impl Placement for LogStructured {
    fn name(&self) -> &'static str {
        "log-structured"
    }

    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice> {
        let family = Family::of(request.hint.level, request.hint.stream);
        let akin = |zone: &&PartZone| Family::of(zone.level, zone.stream) == family;
        if let Some(own) = view.partly.iter().filter(akin).min_by_key(|z| (z.room, z.zone)) {
            return Some(PlacementChoice::Append(own.zone));
        }
        if view.is_free() {
            return Some(PlacementChoice::OpenNew);
        }
        let roomiest = |zone: &&PartZone| (Reverse(zone.room), zone.zone);
        match view.partly.iter().min_by_key(roomiest) {
            Some(zone) => Some(PlacementChoice::Append(zone.zone)),
            None => (view.free > 0).then_some(PlacementChoice::OpenNew),
        }
    }
}
