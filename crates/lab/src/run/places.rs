//! [`Places`]: where the log and the metadata of a run lie, once they are known to fit together.
//!
//! A store has either one device, or a log device beside it for the journal and all logs. So log
//! and metadata are on the drive's sequential zones together, or neither is. The log device is one
//! device for the file system and may stand for several: what lies on it can cost nothing, take the
//! times of a drive of its own, or those of the conventional zones of the drive of tables. Which,
//! follows from the cause of a request.

use terrace_env::{ByteCount, Cause};
use terrace_zone::Geometry;
use terrace_zone::timing::Drive;

use super::PlanError;
use super::plan::hash_of;
use crate::experiment::{Location, StoreDescription};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) log: Location,
    pub(super) metadata: Location,
}

impl Places {
    /// The places that a description asks for, and the drive whose times the log device has, with
    /// its hash.
    pub(super) fn of(
        store: &StoreDescription,
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
        if places.any(Location::Conventional) && drive.conventional.is_empty() {
            return impossible("log and metadata", "a drive with conventional zones", "none");
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

    /// Whether anything lies in conventional zones.
    pub(super) fn in_conventional(self) -> bool {
        self.any(Location::Conventional)
    }

    /// Where a request to the log device is carried out.
    pub(super) fn of_cause(self, cause: Cause) -> Location {
        if cause == Cause::Log { self.log } else { self.metadata }
    }

    /// The causes whose requests to the log device the drive of tables carries out.
    pub(super) fn causes_on_drive(self) -> impl Iterator<Item = Cause> {
        let on_drive = move |cause: &Cause| self.of_cause(*cause) == Location::Conventional;
        Cause::ALL.into_iter().filter(on_drive)
    }
}

/// The first byte of the conventional zones that stand for a log device, if they have room for its
/// `size`: those after the first, which holds the superblock.
pub(super) fn conventional_room(drive: &Geometry, size: ByteCount) -> Result<u64, PlanError> {
    let zone = drive.zone_size * u64::from(drive.logical_block);
    let run = drive.conventional.first().filter(|run| run.start == 0);
    let room = run.map_or(0, |run| u64::from(run.end.saturating_sub(1)) * zone);
    if size.0 <= room {
        return Ok(zone);
    }
    Err(PlanError::Impossible {
        what: "log and metadata in conventional zones".into(),
        expected: format!("at most {}", ByteCount(room)),
        found: size.to_string(),
    })
}
