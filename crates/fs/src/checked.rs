//! [`Checked`]: the result of a check: counts of checked and verified parts, and a list of the
//! problems found. Traces that a crash may leave are listed apart, as leftovers.
//!
//! `names` compares the names of a catalog with those that its files list.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use terrace_env::store::StoreError;
use terrace_env::{ByteCount, DeviceId, FileId};
use terrace_zone::ZoneState;

use crate::catalog::Catalog;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which structure, and where it lies.
    pub region: String,
    /// The byte offset: on the device if the region names one, else in the region.
    pub offset: u64,
    /// Value expected.
    pub expected: String,
    /// Value found.
    pub got: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, offset, expected, got } = self;
        write!(f, "{region} at offset {offset}: expected {expected}, found {got}")
    }
}

/// Counts of a check on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceChecked {
    /// Its number.
    pub device: DeviceId,
    /// Extents of files that lie on it.
    pub extents: u64,
    /// Bytes whose checksum was compared.
    pub verified: ByteCount,
    /// State of a device without zones that has failed as a whole: read-only or offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ZoneState>,
}

/// Counts of a check, and the problems it found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Problems found; empty if all is well.
    pub problems: Vec<Problem>,
    /// Whether the store was closed in order: then everything is known that must be there. After a
    /// crash, damage to the last writes can look as if they had not been made.
    pub closed: bool,
    /// Leftovers of a crash; they are no problems. The next opening for writing removes files, and
    /// the next writer of a log, or closing, removes bytes after the log's end; on devices, the
    /// next mount for writing replaces a torn superblock. In a store that was closed in order each
    /// is a problem, except the traces of a killed opening: a journal, `CURRENT.new`, a torn
    /// superblock.
    pub leftovers: Vec<Problem>,
    /// Files looked at.
    pub files: u64,
    /// Extents looked at.
    pub extents: u64,
    /// Bytes whose checksum was compared.
    pub verified: ByteCount,
    /// Bytes that were read and that have no checksum of their own, such as where a trim has cut an
    /// extent.
    pub unverified: ByteCount,
    /// Frames of logs that were verified.
    pub frames: u64,
    /// Extents and compared bytes by device; a store in a directory has no devices.
    pub devices: Vec<DeviceChecked>,
}

impl Checked {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Counts of a device.
    pub(crate) fn of_device(&mut self, device: DeviceId) -> &mut DeviceChecked {
        &mut self.devices[usize::from(device.0)]
    }

    /// Adds a problem.
    pub(crate) fn note(
        &mut self,
        region: String,
        offset: u64,
        expected: impl Into<String>,
        got: String,
    ) {
        self.problems.push(Problem { region, offset, expected: expected.into(), got });
    }

    /// Adds an error that a part of the check has ended with.
    pub(crate) fn note_error(&mut self, what: &str, error: StoreError) {
        match error {
            StoreError::Corruption { region, offset, expected, got } => {
                self.note(region, offset, expected, got);
            }
            other => self.note(what.to_owned(), 0, "to be readable", other.to_string()),
        }
    }

    /// Holds the names of the catalog against its files.
    pub(crate) fn names(&mut self, catalog: &Catalog) {
        let mut listed: BTreeMap<&str, FileId> = BTreeMap::new();
        for (id, record) in catalog.files() {
            for name in &record.names {
                if let Some(other) = listed.insert(name, id) {
                    let got = format!("file {id} and file {other}");
                    self.note(format!("catalog, name {name:?}"), 0, "one file", got);
                }
            }
        }
        for (name, id) in catalog.names(..) {
            if listed.remove(name) != Some(id) {
                let got = format!("file {id}, which does not list it");
                self.note(format!("catalog, name {name:?}"), 0, "a file that lists it", got);
            }
        }
        for (name, id) in listed {
            let got = format!("file {id}, which the name does not lead to");
            self.note(format!("catalog, name {name:?}"), 0, "the file it leads to", got);
        }
    }
}

/// How far a check is: bytes done, and bytes to do in all.
pub type CheckProgress<'a> = &'a mut dyn FnMut(ByteCount, ByteCount);
