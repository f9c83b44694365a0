//! Placement as one log: tables of all levels go into the open zone, in order of arrival, as an
//! LSM-tree on a log-structured file system has them (GearDB, section 2.3 and figure 2).
//!
//! 1. A partly written zone of the same family: tables of any level and stream, what reclaim has
//!    moved, or files without a level (logs, client files), each stream by itself. Among several
//!    the fullest, so that zones close.
//! 2. A free zone, if it can be opened without finishing another.
//! 3. Any partly written zone, the one with the most room.
//! 4. A free zone for which another one has to be finished.
//!
//! A zone that a writer holds is not in the view. So as many zones of a family are open as files
//! are written at once: with one job, one.
//!
//! It refuses only if the view has neither a partly written nor a free zone.

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
