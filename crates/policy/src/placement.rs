//! [`Placement`]: chooses the zone that a writer appends to next: a partly written one, or a free
//! one. On a device without zones it says instead how free space is searched ([`Fit`]).
//!
//! A placement chooses among the zones of the view ([`SpaceView`]), which are those that the writer
//! may take within the limits of the device. It may also choose none.
//!
//! A placement is called under a lock of the file system's pool: it must not wait or call the file
//! system.

use std::fmt::Debug;

use terrace_env::store::{FileKind, PlacementHint, Rank};
use terrace_env::{ByteCount, ZoneId};

use crate::fit::Fit;

/// A zone that has been written in part and that no writer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartZone {
    /// The zone.
    pub zone: ZoneId,
    /// Bytes that can still be written to it.
    pub room: ByteCount,
    /// The level of the file that was written to it last.
    pub level: Option<u8>,
    /// The stream of the file that was written to it last.
    pub stream: u16,
}

/// Zones that a writer may take.
#[derive(Clone, Copy, Debug)]
pub struct SpaceView<'a> {
    /// Partly written zones with room, by zone.
    pub partly: &'a [PartZone],
    /// Free zones that may be taken: 0 where the rank's share is used up, or where the device
    /// allows no further active zone and there is none that could be finished.
    pub free: u32,
    /// Whether a free zone can be opened as it is. Otherwise the fullest partly written zone is
    /// finished before, and its room is lost until it is empty.
    pub slot: bool,
}

impl SpaceView<'_> {
    /// Whether a free zone can be had without finishing another.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.free > 0 && self.slot
    }
}

/// A writer's request for a zone.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// Facts about the file, given when it was created.
    pub hint: &'a PlacementHint,
    /// How it is written.
    pub kind: FileKind,
    /// Whose space it takes.
    pub rank: Rank,
    /// Largest number of bytes still to be written to the file, where that is known; 0 for a file
    /// that has become larger than announced.
    pub left: Option<ByteCount>,
}

/// Where to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementChoice {
    /// After the written part of this zone of [`SpaceView::partly`].
    Append(ZoneId),
    /// Open a free zone.
    OpenNew,
}

/// A way to place files in zones. Pure: the same view gives the same choice.
pub trait Placement: Send + Sync + Debug {
    /// The name in options, reports and goldens.
    fn name(&self) -> &'static str;

    /// Chooses out of the view, or `None` when it is better not to write at all than to take one of
    /// the remaining places; an empty view leaves no other answer.
    fn place(
        &self,
        view: &SpaceView<'_>,
        request: &PlacementRequest<'_>,
    ) -> Option<PlacementChoice>;

    /// Where files begin on a device without zones.
    fn fit(&self) -> Fit {
        Fit::Best
    }
}
