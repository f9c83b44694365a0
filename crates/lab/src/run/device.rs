//! [`DevicePlan`]: the kind of device that a run has for its tables: its shape and its times.
//!
//! - *Zones*: those of the experiment's drive, scaled.
//! - *Bands*: zones of another size, after a conventional zone for the superblock.
//! - *Plain*: an ordinary disk, written anywhere, with the times of the experiment's drive.
//! - *Disk*: the same with the times of another drive that is named, and that must be an ordinary
//!   disk.
//! - *Drive-managed*: a disk that hides shingled bands, with the times of another drive that is
//!   named.
//! - *Tracks*: raw shingled tracks.
//!
//! Zones, bands and tracks have the times of the experiment's drive.

use serde::{Deserialize, Serialize};
use terrace::ByteCount;
use terrace_zone::emulator::Timing;
use terrace_zone::timing::{Drive, Media, Scale};
use terrace_zone::{Geometry, GeometryError, Tracks};

use super::PlanError;
use super::plan::{find_unchanged, hash_of};
use super::scaling::Scaling;
use crate::experiment::DeviceDescription;

/// Bytes of a block of the devices made here.
const BLOCK: u64 = 4096;
/// The shortest track, in blocks: see [`Geometry::validate`].
const TRACK_MIN: u64 = 8;

/// See the [module](self). Sizes in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum DevicePlan {
    /// The zones of the drive.
    #[default]
    Zones,
    /// Zones of this size.
    Bands(u64),
    /// An ordinary disk with the mechanism of the experiment's drive.
    Plain,
    /// An ordinary disk of its own.
    Disk {
        /// The drive: a name or a path.
        drive: String,
        /// A hash of the drive's parameters.
        hash: String,
    },
    /// A disk that hides shingled bands.
    DriveManaged {
        /// The drive: a name or a path.
        drive: String,
        /// A hash of the drive's parameters.
        hash: String,
        /// The size of a band of the full drive, where not as its file has it.
        band: Option<u64>,
    },
    /// Raw shingled tracks of this size, and how many a write destroys.
    Tracks(u64, u32),
}

impl DevicePlan {
    /// A device of a description at a scale.
    pub(super) fn of(
        device: Option<&DeviceDescription>,
        scaling: &Scaling,
    ) -> Result<Self, PlanError> {
        Ok(match device {
            None | Some(DeviceDescription::Zoned { band: None }) => Self::Zones,
            Some(DeviceDescription::Zoned { band: Some(band) }) => {
                let size = scaling.size("a band", band.0)?;
                Self::Bands(size.next_multiple_of(BLOCK))
            }
            Some(DeviceDescription::Plain { drive: None }) => Self::Plain,
            Some(DeviceDescription::Plain { drive: Some(drive) }) => {
                Self::Disk { drive: drive.clone(), hash: hash_of(&disk(drive)?) }
            }
            Some(DeviceDescription::DriveManaged { drive, band }) => Self::DriveManaged {
                drive: drive.clone(),
                hash: hash_of(&drive_managed(drive)?),
                band: band.map(|band| band.0),
            },
            Some(DeviceDescription::Tracks { track, overlap }) => {
                let blocks = scaling.bytes(track.0).div_ceil(BLOCK).max(TRACK_MIN);
                Self::Tracks(blocks * BLOCK, *overlap)
            }
        })
    }

    /// Whether the device has the drive's own zones.
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::Zones
    }

    /// Whether it is a disk that is written anywhere, and that no write destroys.
    pub(super) fn is_disk(&self) -> bool {
        matches!(self, Self::Plain | Self::Disk { .. } | Self::DriveManaged { .. })
    }

    /// The drive whose mechanism it has, where that is not the experiment's.
    pub(super) fn own_drive(&self) -> Result<Option<Drive>, PlanError> {
        match self {
            Self::Disk { drive, hash } | Self::DriveManaged { drive, hash, .. } => {
                find_unchanged(drive, hash).map(Some)
            }
            Self::Zones | Self::Bands(_) | Self::Plain | Self::Tracks(..) => Ok(None),
        }
    }

    /// Whether its mechanism is a disk's; `drive` is the experiment's drive.
    pub(super) fn is_rotational(&self, drive: &Geometry) -> Result<bool, PlanError> {
        Ok(self.own_drive()?.map_or(drive.rotational, |own| own.media() == Media::Disk))
    }

    /// How many parts of its mechanism work at once; `drive` is the experiment's drive.
    pub(super) fn mechanisms(&self, drive: &Drive) -> Result<u64, PlanError> {
        Ok(self.own_drive()?.as_ref().unwrap_or(drive).mechanisms())
    }

    /// The capacity of a zone, if there are zones; `usual` is that of the drive's.
    pub(super) fn zone_capacity(&self, usual: u64) -> Option<u64> {
        match self {
            Self::Zones => Some(usual),
            Self::Bands(band) => Some(*band),
            Self::Plain | Self::Disk { .. } | Self::DriveManaged { .. } | Self::Tracks(..) => None,
        }
    }

    /// The shape of a device of another kind than the drive's own, of `size` bytes.
    pub(super) fn geometry(
        &self,
        drive: &Geometry,
        size: ByteCount,
        rotational: bool,
    ) -> Result<Geometry, GeometryError> {
        let size = ByteCount(size.0 / BLOCK * BLOCK);
        let geometry = match self {
            Self::Zones => drive.clone(),
            &Self::Bands(band) => {
                let zones = u32::try_from(size.0 / band).unwrap_or(u32::MAX).saturating_add(1);
                let conventional = std::iter::once(0..1).collect();
                Geometry { conventional, ..Geometry::uniform(ByteCount(band), zones) }
            }
            Self::Plain | Self::Disk { .. } | Self::DriveManaged { .. } => Geometry::plain(size),
            &Self::Tracks(track, overlap) => {
                let blocks = u32::try_from(track / BLOCK).unwrap_or(u32::MAX);
                Geometry::tracks(size, Tracks { blocks, overlap })
            }
        };
        let geometry = Geometry { rotational, ..geometry };
        geometry.validate()?;
        Ok(geometry)
    }

    /// The model of the times of a device of this shape.
    pub(super) fn timing(
        &self,
        drive: &Drive,
        scale: Scale,
        geometry: &Geometry,
    ) -> Result<Box<dyn Timing>, PlanError> {
        let size = ByteCount(geometry.blocks() * u64::from(geometry.logical_block));
        let refused = |drive: &Drive| {
            let drive = drive.name().to_owned();
            move |problem| PlanError::Geometry { drive, scale: scale.to_string(), problem }
        };
        match self {
            Self::Zones => drive.timing(scale).map_err(refused(drive)),
            Self::Bands(_) | Self::Plain | Self::Tracks(..) => {
                drive.plain_timing(scale, size).map_err(refused(drive))
            }
            Self::Disk { drive: name, hash } => {
                let drive = find_unchanged(name, hash)?;
                drive.plain_timing(scale, size).map_err(refused(&drive))
            }
            Self::DriveManaged { drive: name, hash, band } => {
                let mut drive = find_unchanged(name, hash)?;
                if let Some(band) = band {
                    drive = drive.with_band(ByteCount(*band))?;
                }
                drive.plain_timing(scale, size).map_err(refused(&drive))
            }
        }
    }
}

/// The disk of this name.
fn disk(name: &str) -> Result<Drive, PlanError> {
    let drive = Drive::find(name)?;
    if drive.media() == Media::Disk && !drive.is_drive_managed() {
        return Ok(drive);
    }
    let found = if drive.is_drive_managed() { "one that hides shingled bands" } else { "flash" };
    Err(PlanError::Impossible {
        what: format!("drive {name} of a plain device"),
        expected: "an ordinary disk".into(),
        found: found.into(),
    })
}

/// The drive-managed disk of this name.
fn drive_managed(name: &str) -> Result<Drive, PlanError> {
    let drive = Drive::find(name)?;
    if drive.is_drive_managed() {
        return Ok(drive);
    }
    let found =
        if drive.media() == Media::Disk { "one without a translation layer" } else { "flash" };
    Err(PlanError::Impossible {
        what: format!("drive {name} of a drive-managed device"),
        expected: "a disk that hides shingled bands".into(),
        found: found.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::run::{RunChoice, RunPlan};

    const LOAD: &str = r#"
        title = "a load"
        source = "none"
        about = "for a test"
        drive = "seagate-st1000dm003"
        space = "8GiB"
        systems = ["leveldb-disk", "bluefs"]
        sample_every = "1 s"
        [store]
        device = { kind = "tracks", track = "1MiB", overlap = 3 }
        [store_of.bluefs]
        device = { kind = "zoned", band = "40MiB" }
        [[phase]]
        workload = "fillrandom"
        operations = 20_000
        [[variant]]
        name = "as it stands"
        [[variant]]
        name = "plain"
        store = { device = { kind = "plain" } }
    "#;

    fn plan(text: &str, system: &str, variant: &str) -> Result<RunPlan, PlanError> {
        let experiment = Experiment::parse("test", "test.toml", text).unwrap();
        let scale = "1/64".parse().unwrap();
        RunPlan::new(&experiment, RunChoice { system, variant: Some(variant), scale, seed: 1 })
    }

    fn geometry(system: &str, variant: &str) -> Geometry {
        let plan = plan(LOAD, system, variant).unwrap();
        plan.geometry(&plan.find_drive().unwrap()).unwrap()
    }

    #[test]
    fn each_system_has_the_device_that_is_said_of_it_or_of_the_variant_or_of_all() {
        let tracks = geometry("leveldb-disk", "as it stands");
        let least = Tracks { blocks: TRACK_MIN as u32, overlap: 3 };
        assert_eq!(tracks.layout.tracks(), Some(least), "no shorter track than a device may have");
        assert_eq!(tracks.capacity(), ByteCount::mib(128), "8 GiB at 1/64");
        let bands = geometry("bluefs", "as it stands");
        assert_eq!(bands.zone_size * BLOCK, 40 << 14);
        assert_eq!((bands.conventional.len(), bands.max_open), (1, None));
        for system in ["leveldb-disk", "bluefs"] {
            let plain = geometry(system, "plain");
            assert_eq!(plain.layout, terrace_zone::Layout::Plain);
            assert!(plain.rotational);
        }
    }

    #[test]
    fn an_ordinary_disk_may_be_another_drive_but_not_flash_nor_one_with_a_translation_layer() {
        let named = |name: &str| {
            let kind = format!("kind = \"plain\", drive = \"{name}\"");
            plan(&LOAD.replace("kind = \"plain\"", &kind), "bluefs", "plain")
        };
        let plan = named("hitachi-hua72303").unwrap();
        assert_eq!(plan.device.own_drive().unwrap().unwrap().name(), "hitachi-hua72303");
        for (name, found) in [("wd-zn540", "flash"), ("seagate-st8000as0022", "shingled bands")] {
            let error = named(name).unwrap_err().to_string();
            assert!(error.contains("an ordinary disk") && error.contains(found), "{error}");
        }
    }

    #[test]
    fn a_drive_managed_disk_has_a_translation_layer() {
        let named = |name: &str| {
            let kind = format!("kind = \"drive-managed\", drive = \"{name}\"");
            plan(&LOAD.replace("kind = \"plain\"", &kind), "bluefs", "plain")
        };
        named("seagate-st8000as0022").unwrap();
        for (name, found) in [("wd-zn540", "flash"), ("hitachi-hua72303", "without a translation")]
        {
            let error = named(name).unwrap_err().to_string();
            assert!(error.contains("hides shingled bands") && error.contains(found), "{error}");
        }
    }

    #[test]
    fn a_disk_is_a_disk_though_the_drive_of_the_experiment_is_flash() {
        let flash = LOAD.replace("drive = \"seagate-st1000dm003\"", "drive = \"wd-zn540\"");
        let own = "kind = \"plain\", drive = \"hitachi-hua72303\"";
        let own = flash.replace("kind = \"plain\"", own);
        for (text, is_disk) in [(&flash, false), (&own, true)] {
            let plan = plan(text, "bluefs", "plain").unwrap();
            let drive = plan.find_drive().unwrap();
            assert_eq!(plan.geometry(&drive).unwrap().rotational, is_disk);
            let mechanisms = plan.device.mechanisms(&drive).unwrap();
            assert_eq!(mechanisms == 1, is_disk, "{mechanisms}");
        }
        // A place on a disk is one, too.
        let middle = |text: &str| {
            let text = text.replace("[store]", "[store]\n        log = \"middle\"");
            plan(&text, "bluefs", "plain").map(drop)
        };
        middle(&own).unwrap();
        assert!(middle(&flash).unwrap_err().to_string().contains("flash"));
    }

    #[test]
    fn rows_that_are_not_run_and_places_on_another_device_are_refused() {
        let unknown = LOAD.replace("store_of.bluefs", "store_of.geardb");
        let error = Experiment::parse("test", "test.toml", &unknown).unwrap_err().to_string();
        assert!(error.contains("store_of.geardb") && error.contains("bluefs"), "{error}");
        let elsewhere = LOAD.replace("[store]", "[store]\n        log = \"conventional\"");
        let error = plan(&elsewhere, "bluefs", "plain").unwrap_err().to_string();
        assert!(error.contains("log and metadata"), "{error}");
    }
}
