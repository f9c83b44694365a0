//! [`DriveFile`]: the form of a drive file, which is TOML: names, shape, parameters and published
//! measurements of a drive. A file that is malformed, or has values that no drive can have, is
//! refused when it is read, with its name, the place, and the expectation ([`DriveError`]).

use serde::Deserialize;

use super::disk::DiskParameters;
use super::flash::FlashParameters;
use super::translation::TranslationParameters;
use super::{Published, Size, Sourced};
use crate::{Geometry, GeometryError, Layout};

/// A drive that cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DriveError {
    /// There is neither a drive nor a file of this name.
    #[error("expected the path of a drive file or one of {known}, found {name:?}")]
    Unknown {
        /// Name asked for.
        name: String,
        /// The drives there are.
        known: String,
    },
    /// The file cannot be read, or does not have the form of a drive file.
    #[error("{file}: {problem}")]
    Malformed {
        /// The file.
        file: String,
        /// Description of the fault, and its place in the file.
        problem: String,
    },
    /// A value that no drive can have.
    #[error("{file}: {what}: expected {expected}, found {got}")]
    Impossible {
        /// The file.
        file: String,
        /// The field.
        what: &'static str,
        /// Value expected.
        expected: String,
        /// Value found.
        got: String,
    },
}

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriveFile {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) geometry: Shape,
    pub(super) disk: Option<DiskParameters>,
    pub(super) flash: Option<FlashParameters>,
    pub(super) translation: Option<TranslationParameters>,
    #[serde(default)]
    pub(super) published: Vec<Published>,
}

/// The shape of the drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    /// Whether it has zones that must be written sequentially. A drive that has none is given the
    /// zones below when it is emulated, as if it were one that has.
    pub(super) zoned: Sourced<bool>,
    zones: Sourced<u32>,
    zone_size: Sourced<Size>,
    zone_capacity: Option<Sourced<Size>>,
    /// Conventional zones, which have the lowest addresses.
    conventional: Sourced<u32>,
    logical_block: Sourced<u32>,
    physical_block: Sourced<u32>,
    max_open: Option<Sourced<u32>>,
    max_active: Option<Sourced<u32>>,
    max_append: Option<Sourced<Size>>,
}

impl Shape {
    fn geometry(&self, rotational: bool) -> Geometry {
        let block = u64::from(self.logical_block.value.max(1));
        let size = self.zone_size.value.0 / block;
        let value = |limit: &Option<Sourced<u32>>| limit.as_ref().map(|limit| limit.value);
        let append = self.max_append.as_ref().map(|limit| limit.value.0 / block);
        let conventional = self.conventional.value;
        Geometry {
            layout: Layout::Zoned,
            logical_block: self.logical_block.value,
            physical_block: self.physical_block.value,
            zone_size: size,
            zone_capacity: self.zone_capacity.as_ref().map_or(size, |it| it.value.0 / block),
            zones: self.zones.value,
            last_zone_size: None,
            conventional: (conventional > 0).then_some(0..conventional).into_iter().collect(),
            max_open: value(&self.max_open),
            max_active: value(&self.max_active),
            max_append: append.map(|blocks| u32::try_from(blocks).unwrap_or(u32::MAX)),
            rotational,
        }
    }

    fn sources(&self) -> Vec<(&'static str, &str)> {
        let mut sources = vec![
            ("zoned", self.zoned.source.as_str()),
            ("zones", &self.zones.source),
            ("zone_size", &self.zone_size.source),
            ("conventional", &self.conventional.source),
            ("logical_block", &self.logical_block.source),
            ("physical_block", &self.physical_block.source),
        ];
        let sizes = [("zone_capacity", &self.zone_capacity), ("max_append", &self.max_append)];
        let counts = [("max_open", &self.max_open), ("max_active", &self.max_active)];
        sources
            .extend(sizes.into_iter().filter_map(|(what, it)| Some((what, &*it.as_ref()?.source))));
        sources.extend(
            counts.into_iter().filter_map(|(what, it)| Some((what, &*it.as_ref()?.source))),
        );
        sources
    }
}

impl DriveFile {
    /// Reads a drive file; `name` is its name in errors.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, DriveError> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            let problem = error.message().trim().replace('\n', "; ");
            DriveError::Malformed {
                file: name.to_owned(),
                problem: format!("line {line}: {problem}"),
            }
        })?;
        let impossible = |what: &'static str, expected: String, got: String| {
            Err(DriveError::Impossible { file: name.to_owned(), what, expected, got })
        };
        let geometry = file.full_geometry();
        if let Err(GeometryError { what, expected, got }) = geometry.validate() {
            return impossible(what, expected, got);
        }
        let flaw = match (&file.disk, &file.flash) {
            (Some(disk), None) => disk.flaw(),
            (None, Some(flash)) => flash.flaw(&geometry),
            (disk, flash) => {
                let parts = usize::from(disk.is_some()) + usize::from(flash.is_some());
                Some(("disk, flash", "one of the two parts", format!("{parts} of them")))
            }
        };
        let zoned = file.geometry.zoned.value || file.disk.is_none();
        let flaw = flaw.or_else(|| match &file.translation {
            Some(_) if zoned => Some(("translation", "a disk without zones", "another".to_owned())),
            translation => translation.as_ref().and_then(TranslationParameters::flaw),
        });
        match flaw {
            Some((what, expected, got)) => impossible(what, expected.to_owned(), got),
            None => Ok(file),
        }
    }

    /// The shape of the whole drive.
    pub(super) fn full_geometry(&self) -> Geometry {
        self.geometry.geometry(self.disk.is_some())
    }

    /// Each parameter's name and source.
    pub(super) fn sources(&self) -> Vec<(&'static str, &str)> {
        let mut sources = self.geometry.sources();
        sources.extend(self.disk.iter().flat_map(DiskParameters::sources));
        sources.extend(self.flash.iter().flat_map(FlashParameters::sources));
        sources.extend(self.translation.iter().flat_map(TranslationParameters::sources));
        sources
    }
}
