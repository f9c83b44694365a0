//! [`DeviceDescription`]: the kind of device that holds the tables in an experiment.
//!
//! Zones are those of the experiment's drive, or bands: zones of a size that the description gives.
//! Bands and shingled tracks are modelled on this drive. A plain disk is modelled on it, too, or on
//! another drive that the description names. A disk that hides its bands is modelled on a drive
//! that the description must name.
//!
//! Sizes are those of the full drive.

use serde::Deserialize;
use terrace_zone::timing::Size;

/// The kind of device for the tables. Where no other drive is named, its mechanism is that of the
/// experiment's drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DeviceDescription {
    /// The zones of the drive, as its file has them; or *bands*: zones of another size after a
    /// conventional one.
    Zoned {
        /// The size of a band.
        #[serde(default)]
        band: Option<Size>,
    },
    /// An ordinary disk: written anywhere.
    Plain {
        /// The drive, whose times count, where not the experiment's: a name or a path.
        #[serde(default)]
        drive: Option<String>,
    },
    /// The model of another drive, which hides shingled bands.
    DriveManaged {
        /// The drive, whose times count: a name or a path.
        drive: String,
        /// The size of a band, where not as the drive's file has it.
        #[serde(default)]
        band: Option<Size>,
    },
    /// Raw shingled tracks.
    Tracks {
        /// The size of a track.
        track: Size,
        /// The number of tracks that a write destroys after its own.
        overlap: u32,
    },
}
