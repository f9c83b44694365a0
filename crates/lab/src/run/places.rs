//! [`Places`]: where the log and the metadata of a run lie.
//!
//! Both lie on the drive among the tables, or neither does. In the second case the file system sees
//! a separate log device, which stands for one or two places: free of cost, a drive of its own, or
//! another part of the drive of tables. The cause of a request tells its place.
//!
//! [`Starts`] says where this other part begins:
//!
//! - *Conventional* zones: after the first one, which holds the superblock.
//! - *Sequential* zones: after the last zone of the store; on a disk without zones, the blocks
//!   after the store's. Flash is refused, because it would have to erase.
//! - The *middle* of a disk without zones: after half of its blocks, or after the store's if the
//!   store has more than half.
//!
//! Only the times of these writes are modelled: the emulated drive of the tables does not see them,
//! and so does not enforce the rules of zones. Another part of the drive is refused if it is too
//! small for the log device, or if the tables lie in bands or on tracks.

use terrace_env::{ByteCount, Cause};
use terrace_zone::Geometry;
use terrace_zone::timing::Drive;

use super::PlanError;
use super::device::DevicePlan;
use super::plan::hash_of;
use crate::experiment::{Location, StoreDescription};

/// Bytes of a block of devices without zones.
const BLOCK: u64 = 4096;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) log: Location,
    pub(super) metadata: Location,
}

impl Places {
    /// The places that a description asks for, and the drive whose times the log device has, with
    /// its hash. `device` is that of the tables, made of a `drive` of this shape.
    pub(super) fn of(
        store: &StoreDescription,
        device: &DevicePlan,
        drive: &Geometry,
    ) -> Result<(Self, Option<(String, String)>), PlanError> {
        let log = store.log.unwrap_or_default();
        let places = Self { log, metadata: store.metadata.unwrap_or(log) };
        let impossible = |what: &str, expected: &str, found: &str| {
            let (expected, found) = (expected.to_owned(), found.to_owned());
            Err(PlanError::Impossible { what: what.to_owned(), expected, found })
        };
        let on_drive = [places.log, places.metadata].map(|place| place == Location::Drive);
        if on_drive[0] != on_drive[1] {
            let expected = "both on the drive or neither: a store has one device, or two";
            let found = format!("{} and {}", places.log, places.metadata);
            return impossible("log and metadata", expected, &found);
        }
        let zoned = device.is_usual();
        if places.is_on_drive_beside() && !zoned && !device.is_disk() {
            let expected = "on the device itself, or on a second one, where writes are bound to \
                            bands or tracks";
            let found = format!("{} and {}", places.log, places.metadata);
            return impossible("log and metadata", expected, &found);
        }
        if places.any(Location::Conventional) && (!zoned || drive.conventional.is_empty()) {
            return impossible("log and metadata", "a drive with conventional zones", "none");
        }
        let rotational = device.is_rotational(drive)?;
        if places.any(Location::Sequential) && !rotational {
            return impossible("log and metadata in sequential zones", "a disk", "flash");
        }
        if places.any(Location::Middle) && (zoned || !rotational) {
            let found = if zoned { "zones" } else { "flash" };
            return impossible("log and metadata in the middle", "a disk without zones", found);
        }
        match (&store.log_device, places.any(Location::LogDevice)) {
            (Some(name), true) => {
                let hash = hash_of(&Drive::find(name)?);
                Ok((places, Some((name.clone(), hash))))
            }
            (None, false) => Ok((places, None)),
            (None, true) => impossible("log_device", "the name of a drive", "none"),
            (Some(name), false) => {
                impossible("log_device", "none where nothing is on a log device", name)
            }
        }
    }

    fn any(self, place: Location) -> bool {
        self.log == place || self.metadata == place
    }

    /// Whether there is a log device, as the file system sees it.
    pub(super) fn beside(self) -> bool {
        self.log != Location::Drive
    }

    /// Whether the log device takes the times of zones of the drive.
    pub(super) fn is_on_drive_beside(self) -> bool {
        is_on_drive(self.log) || is_on_drive(self.metadata)
    }

    /// Where a request to the log device is carried out.
    pub(super) fn of_cause(self, cause: Cause) -> Location {
        if cause == Cause::Log { self.log } else { self.metadata }
    }

    /// The causes whose requests to the log device the drive of tables carries out.
    pub(super) fn causes_on_drive(self) -> impl Iterator<Item = Cause> {
        let on_drive = move |cause: &Cause| is_on_drive(self.of_cause(*cause));
        Cause::ALL.into_iter().filter(on_drive)
    }
}

/// Whether the drive of tables carries out requests to a log device that lies there.
pub(super) fn is_on_drive(place: Location) -> bool {
    matches!(place, Location::Conventional | Location::Sequential | Location::Middle)
}

/// Where zones that stand for a log device begin on the drive of tables, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Starts {
    conventional: Option<u64>,
    sequential: Option<u64>,
    middle: Option<u64>,
}

impl Starts {
    /// The starts of the places that are in use, if each has room for the log device's `size`.
    /// `store` is the part of the drive that the store has, `whole` all of it.
    pub(super) fn of(
        places: Places,
        size: ByteCount,
        store: &Geometry,
        whole: &Geometry,
    ) -> Result<Self, PlanError> {
        let zone = store.zone_size * u64::from(store.logical_block);
        let first = store.conventional.first().filter(|run| run.start == 0);
        let conventional = (zone, first.map_or(zone, |run| u64::from(run.end) * zone));
        let half = whole.capacity().0 / 2 / BLOCK * BLOCK;
        let middle = (half.max(store.capacity().0), whole.capacity().0);
        let sequential = (store.capacity().0, whole.capacity().0);
        let start = |place: Location, (start, end): (u64, u64)| {
            if !places.any(place) {
                return Ok(None);
            }
            let room = end.saturating_sub(start);
            if size.0 <= room {
                return Ok(Some(start));
            }
            Err(PlanError::Impossible {
                what: format!("log and metadata in {place} zones"),
                expected: format!("at most {}", ByteCount(room)),
                found: size.to_string(),
            })
        };
        Ok(Self {
            conventional: start(Location::Conventional, conventional)?,
            sequential: start(Location::Sequential, sequential)?,
            middle: start(Location::Middle, middle)?,
        })
    }

    /// The start of a place; `None` where it is not on the drive, or not in use.
    pub(super) fn at(self, place: Location) -> Option<u64> {
        match place {
            Location::Conventional => self.conventional,
            Location::Sequential => self.sequential,
            Location::Middle => self.middle,
            Location::Drive | Location::LogDevice | Location::Free => None,
        }
    }

    /// Whether no place on the drive is in use.
    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }
}
