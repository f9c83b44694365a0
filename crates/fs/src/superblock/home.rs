//! [`Home`]: the zones of a device that hold its superblocks: one conventional zone, or two
//! sequential ones. On a device without zones, a stretch counts as a conventional zone.
//!
//! Addresses here say device 0 for any number of the device in its store. A placement must name
//! starts of zones of the device; the type of the zones is not checked.

use terrace_env::ZoneId;

use super::Placement;
use crate::ZoneGrid;

/// The zones that a [`Placement`] names by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// A conventional zone: the first two blocks, in turn.
    Slots(ZoneId),
    /// Two sequential zones, in turn.
    Log([ZoneId; 2]),
}

impl Home {
    /// The zones of a placement; `None` if it is none on this device, or names no zone's start.
    pub(super) fn of(placement: Placement, grid: &ZoneGrid) -> Option<Self> {
        let zone = |at| {
            let place = grid.has(at).then(|| grid.place(at))?;
            (place.block == 0).then_some(place.zone)
        };
        match placement {
            Placement::File => None,
            Placement::Slots(at) => Some(Self::Slots(zone(at)?)),
            // With one zone for both, each change of zones would reset the newest superblock.
            Placement::Log([first, second]) => {
                let zones = [zone(first)?, zone(second)?];
                (zones[0] != zones[1]).then_some(Self::Log(zones))
            }
        }
    }

    /// The placement, as it is recorded.
    pub(super) fn placement(&self, grid: &ZoneGrid) -> Placement {
        match *self {
            Self::Slots(zone) => Placement::Slots(grid.addr(zone, 0)),
            Self::Log(zones) => Placement::Log(zones.map(|zone| grid.addr(zone, 0))),
        }
    }

    /// The zones.
    pub(super) fn zones(&self) -> &[ZoneId] {
        match self {
            Self::Slots(zone) => std::slice::from_ref(zone),
            Self::Log(zones) => zones,
        }
    }
}
