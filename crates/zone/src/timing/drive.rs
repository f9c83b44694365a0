//! [`Drive`]: a real drive as data: geometry, parameters and published measurements, read from a
//! small file. It makes the geometry of an emulated drive and the timing model for it, at a
//! [`Scale`].
//!
//! [`Drive::find`] takes the name of a drive that comes with the project, or the path of a TOML
//! file. [`Drive::parse`] refuses a malformed file, and one with values that it knows to be
//! impossible, such as an average seek that is longer than the full one.
//!
//! A drive that has no zones in reality is given some by its file. [`Drive::is_zoned`] tells
//! whether the real drive has zones.

use std::path::Path;

use terrace_env::ByteCount;
use terrace_env::text::{SETTINGS_MAX, read_file};

use super::disk::DiskParameters;
use super::drive_file::{DriveError, DriveFile};
use super::flash::{FlashParameters, PlainFlash};
use super::{Disk, Flash, Published, Scale, Translated};
use crate::emulator::Timing;
use crate::{Geometry, GeometryError};

/// The files of the drives that come with the project, by name.
const FILES: [(&str, &str); 10] = [
    ("seagate-st13125nm007", include_str!("drives/seagate-st13125nm007.toml")),
    ("hgst-hsh721414al", include_str!("drives/hgst-hsh721414al.toml")),
    ("hitachi-hua72303", include_str!("drives/hitachi-hua72303.toml")),
    ("seagate-st1000dm003", include_str!("drives/seagate-st1000dm003.toml")),
    ("seagate-st1000dm003-bands", include_str!("drives/seagate-st1000dm003-bands.toml")),
    ("seagate-st5000as0011", include_str!("drives/seagate-st5000as0011.toml")),
    ("seagate-st8000as0022", include_str!("drives/seagate-st8000as0022.toml")),
    ("wd-zn540", include_str!("drives/wd-zn540.toml")),
    ("intel-p4800x", include_str!("drives/intel-p4800x.toml")),
    ("cosmos-openssd", include_str!("drives/cosmos-openssd.toml")),
];

/// Medium of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Platters: the times come from a [`Disk`].
    Disk,
    /// Flash: the times come from a [`Flash`].
    Flash,
}

/// A drive of a published experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    file: DriveFile,
    geometry: Geometry,
}

impl Drive {
    /// The names of the drives that come with the project.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// All drives that come with the project.
    ///
    /// # Panics
    /// Never: a test reads them all.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let read = |(name, text): &(&str, &str)| Self::parse(name, text);
        FILES.iter().map(|file| read(file).expect("a drive file of the project")).collect()
    }

    /// The drive of this name, or in the file at this path.
    pub fn find(name: &str) -> Result<Self, DriveError> {
        if let Some((name, text)) = FILES.iter().find(|(known, _)| *known == name) {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        if path.extension().is_none() && !path.exists() {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            return Err(DriveError::Unknown { name: name.to_owned(), known });
        }
        let text = read_file(path, SETTINGS_MAX).map_err(|error| DriveError::Malformed {
            file: name.to_owned(),
            problem: error.to_string(),
        })?;
        Self::parse(name, &text)
    }

    /// Reads a drive file; `name` is its name in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, DriveError> {
        let file = DriveFile::read(name, text)?;
        let geometry = file.full_geometry();
        Ok(Self { file, geometry })
    }

    /// The name of the drive.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file.name
    }

    /// Maker and model.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// Uses of the drive in publications, and how far its parameters can be trusted.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.file.about
    }

    /// Medium of the drive: a disk, or flash.
    #[must_use]
    pub fn media(&self) -> Media {
        if self.file.disk.is_some() { Media::Disk } else { Media::Flash }
    }

    /// How many parts of its mechanism work at once: one head, or the number of dies. In a second,
    /// the times in [`Work`](super::Work) add up to at most as many seconds.
    #[must_use]
    pub fn mechanisms(&self) -> u64 {
        self.file.flash.as_ref().map_or(1, FlashParameters::dies)
    }

    /// Whether the real drive has zones that must be written sequentially.
    #[must_use]
    pub fn is_zoned(&self) -> bool {
        self.file.geometry.zoned.value
    }

    /// The measurements that others have published of it.
    #[must_use]
    pub fn published(&self) -> &[Published] {
        &self.file.published
    }

    /// Each parameter's name and source.
    #[must_use]
    pub fn sources(&self) -> Vec<(&'static str, &str)> {
        self.file.sources()
    }

    /// The shape of the whole drive at a scale: as many zones, each of them smaller. Zones that no
    /// longer hold whole physical blocks are rounded down.
    ///
    /// # Errors
    /// When nothing is left of a zone.
    pub fn geometry(&self, scale: Scale) -> Result<Geometry, GeometryError> {
        let full = &self.geometry;
        let step = full.physical_step();
        let smaller = |blocks: u64| blocks / scale.divisor() / step * step;
        let geometry = Geometry {
            zone_size: smaller(full.zone_size),
            zone_capacity: smaller(full.zone_capacity),
            max_append: full.max_append.map(|most| most.min(smaller(full.zone_capacity) as u32)),
            ..full.clone()
        };
        geometry.validate()?;
        Ok(geometry)
    }

    /// The same, cut off after the zones that `size` bytes need: the outer part of a disk. The
    /// model of the times remains that of the whole drive.
    ///
    /// # Errors
    /// When not even a zone is left.
    pub fn geometry_of(&self, scale: Scale, size: ByteCount) -> Result<Geometry, GeometryError> {
        let whole = self.geometry(scale)?;
        let zone = whole.zone_size * u64::from(whole.logical_block);
        let zones = u32::try_from(size.0 / zone).unwrap_or(u32::MAX).min(whole.zones);
        let cut = |run: &std::ops::Range<u32>| run.start..run.end.min(zones);
        let conventional = whole.conventional.iter().map(cut).filter(|run| !run.is_empty());
        let geometry = Geometry { zones, conventional: conventional.collect(), ..whole.clone() };
        geometry.validate()?;
        Ok(geometry)
    }

    /// The model of its times at a scale, at rest at time zero.
    ///
    /// # Errors
    /// As [`geometry`](Self::geometry).
    pub fn timing(&self, scale: Scale) -> Result<Box<dyn Timing>, GeometryError> {
        let geometry = self.geometry(scale)?;
        Ok(match (&self.file.disk, &self.file.flash) {
            (Some(disk), _) => self.disk_timing(disk, &geometry, scale),
            (_, Some(flash)) => Box::new(Flash::new(flash, &geometry, scale)),
            _ => unreachable!("a drive file without a model is refused"),
        })
    }

    /// A disk, under its translation layer if it has one.
    fn disk_timing(
        &self,
        disk: &DiskParameters,
        geometry: &Geometry,
        scale: Scale,
    ) -> Box<dyn Timing> {
        match &self.file.translation {
            None => Box::new(Disk::new(disk, geometry, scale)),
            Some(layer) => Box::new(Translated::new(layer.settings(scale), disk, geometry, scale)),
        }
    }

    /// The same drive with bands of another size, if it has a translation layer.
    ///
    /// # Errors
    /// When no drive can have such bands.
    pub fn with_band(mut self, band: ByteCount) -> Result<Self, DriveError> {
        let Some(layer) = &mut self.file.translation else { return Ok(self) };
        layer.set_band(band);
        match layer.flaw() {
            None => Ok(self),
            Some((what, expected, got)) => Err(DriveError::Impossible {
                file: self.file.name,
                what,
                expected: expected.to_owned(),
                got,
            }),
        }
    }

    /// Whether the drive takes writes anywhere by a translation layer of its own.
    #[must_use]
    pub fn is_drive_managed(&self) -> bool {
        self.file.translation.is_some()
    }

    /// The model of its times as a plain device of 4 KiB blocks, at a scale and at rest at time
    /// zero. A device may be smaller than the drive; it then has the outer part of a disk.
    ///
    /// # Errors
    /// When the drive has fewer bytes than `size`; and as [`geometry`](Self::geometry).
    pub fn plain_timing(
        &self,
        scale: Scale,
        size: ByteCount,
    ) -> Result<Box<dyn Timing>, GeometryError> {
        let whole = self.geometry(scale)?;
        let bytes = ByteCount(whole.blocks() * u64::from(whole.logical_block));
        if size > bytes {
            let (expected, got) = (format!("at most {bytes}"), size.to_string());
            return Err(GeometryError { what: "the size of a plain device", expected, got });
        }
        // Without conventional zones, which would have a place of their own on the platters.
        let plain = Geometry { conventional: Vec::new(), ..Geometry::plain(bytes) };
        Ok(match (&self.file.disk, &self.file.flash) {
            (Some(disk), _) => self.disk_timing(disk, &plain, scale),
            (_, Some(flash)) => Box::new(PlainFlash::new(flash, &plain, scale)),
            _ => unreachable!("a drive file without a model is refused"),
        })
    }
}

#[cfg(test)]
impl Drive {
    pub(super) fn disk_parameters(&self) -> &DiskParameters {
        self.file.disk.as_ref().expect("a disk")
    }

    /// The settings of a disk.
    pub(super) fn disk_settings(&self, scale: Scale) -> super::disk::Settings {
        self.file.disk.as_ref().expect("a disk").settings(scale)
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::{Cause, Lba, Time, ZoneId};

    use super::*;
    use crate::emulator::{Command, Progress, RequestKind};
    use crate::{ZoneState, ZoneStatus};

    #[test]
    fn each_drive_is_found_by_its_name_and_says_where_its_values_are_from() {
        for name in Drive::names() {
            let drive = Drive::find(name).unwrap();
            assert_eq!(drive.name(), name);
            for (what, source) in drive.sources() {
                assert!(source.len() > 5, "{name}: {what}: {source:?}");
            }
            for one in drive.published() {
                assert!(one.source.len() > 5, "{name}: {:?}", one.job);
            }
            let scale = "1/64".parse().unwrap();
            assert!(drive.timing(scale).is_ok());
            let rotational = drive.geometry(scale).unwrap().rotational;
            assert_eq!(rotational, drive.media() == Media::Disk, "{name}");
        }
        assert_eq!(Drive::all().len(), FILES.len());
    }

    #[test]
    fn a_plain_device_is_written_anywhere_and_has_at_most_the_drive() {
        // Forced writes of 4 KiB, each elsewhere and some of them twice, one after the other.
        let seconds = |name: &str| {
            let drive = Drive::find(name).unwrap();
            let size = ByteCount::gib(1);
            let mut timing = drive.plain_timing(Scale::FULL, size).unwrap();
            let mut now = Time(0);
            for ticket in 0..100 {
                let command = Command {
                    kind: RequestKind::Write,
                    cause: Cause::Journal,
                    lba: Lba(ticket % 70 * 3571),
                    blocks: 1,
                    zone: None,
                    append: false,
                    forced: true,
                    refused: false,
                };
                let status = ZoneStatus { state: ZoneState::NotWritePointer, written: 0 };
                let zone = Some((ZoneId(0), status));
                let mut progress = timing.submit(now, ticket, &Command { zone, ..command });
                while let Progress::Undecided { ask } = progress {
                    progress = timing.poll(ask, ticket);
                }
                let Progress::Decided { end, .. } = progress else { unreachable!() };
                now = end;
            }
            now.since(Time(0)).as_secs_f64()
        };
        let [disk, safe, unsafe_] = ["hitachi-hua72303", "wd-zn540", "cosmos-openssd"].map(seconds);
        assert!((0.3..2.0).contains(&disk), "100 seeks and turns take {disk} s");
        assert!((0.0005..0.005).contains(&safe), "100 writes of a safe buffer take {safe} s");
        assert!(safe < unsafe_ && unsafe_ < disk, "100 programs take {unsafe_} s");
        let drive = Drive::find("wd-zn540").unwrap();
        let small = drive.plain_timing("1/1024".parse().unwrap(), ByteCount::gib(2)).err().unwrap();
        assert!(small.to_string().contains("at most"), "{small}");
    }

    #[test]
    fn a_wrong_file_says_what_was_expected_and_where() {
        let good = FILES[0].1;
        let parse = |from: &str, to: &str| {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            Drive::parse("test.toml", &text).unwrap_err().to_string()
        };
        assert!(parse("value = 7200", "value = 7").contains("rpm: expected 300 to 30000"));
        assert!(parse("rpm", "rmp").contains("unknown field `rmp`"));
        assert!(parse("MB/s", "furlongs").contains("expected a rate"));
        assert!(parse("[disk]", "[disc]").contains("disc"));
        assert!(parse("sequential-read", "sequential-rad").contains("sequential-write"));
        let unknown = Drive::find("st3").unwrap_err().to_string();
        assert!(unknown.contains("wd-zn540") && unknown.contains("\"st3\""), "{unknown}");
    }

    #[test]
    fn a_smaller_drive_has_as_many_zones_and_a_part_of_it_has_fewer() {
        let drive = Drive::find("hgst-hsh721414al").unwrap();
        let scale = "1/16".parse().unwrap();
        let (full, small) = (drive.geometry(Scale::FULL).unwrap(), drive.geometry(scale).unwrap());
        assert_eq!((small.zones, small.zone_size * 16), (full.zones, full.zone_size));
        let part = drive.geometry_of(scale, ByteCount::gib(10)).unwrap();
        assert_eq!((part.zones, part.zone_size), (640, small.zone_size));
        assert!(drive.geometry_of(scale, ByteCount::mib(1)).is_err());
        assert!(drive.geometry("1/100000000".parse().unwrap()).is_err());
    }
}
