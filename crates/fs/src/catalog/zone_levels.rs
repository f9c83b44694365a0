//! [`ZoneLevels`]: how deep in the LSM tree the tables of each zone lie, so that reclaim, which
//! empties zones, can weigh a zone without a walk over the catalog.
//!
//! For each zone it counts the files that have a level and an extent there, and adds up their
//! levels. A file that lies in several zones counts in each. Files on a device without zones do not
//! count.

use std::collections::BTreeMap;
use std::fmt;

use terrace_env::store::Annotation;
use terrace_env::{DeviceId, ZoneId};

use super::{Extent, FileRecord};
use crate::AddressSpace;

/// The tables of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// How many they are.
    pub tables: u64,
    /// The levels of these tables, added up.
    pub sum: u64,
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables, whose levels add up to {}", self.tables, self.sum)
    }
}

/// See the [module](self). Zones without tables are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ZoneLevels(BTreeMap<(DeviceId, ZoneId), Levels>);

impl ZoneLevels {
    /// The tables of a zone.
    pub(super) fn of(&self, device: DeviceId, zone: ZoneId) -> Levels {
        self.0.get(&(device, zone)).copied().unwrap_or_default()
    }

    /// Counts a file.
    pub(super) fn add(&mut self, file: &FileRecord, space: &AddressSpace) {
        let Some(level) = level(&file.annotation) else { return };
        for zone in zones(file.extents.extents(), space) {
            let levels = self.0.entry(zone).or_default();
            *levels = Levels { tables: levels.tables + 1, sum: levels.sum + level };
        }
    }

    /// Takes a file out that was counted.
    pub(super) fn remove(&mut self, file: &FileRecord, space: &AddressSpace) {
        let Some(level) = level(&file.annotation) else { return };
        for zone in zones(file.extents.extents(), space) {
            let levels = self.0.get_mut(&zone).expect("a file that was counted");
            debug_assert!(levels.tables > 0 && levels.sum >= level, "{levels:?} of {zone:?}");
            *levels = Levels { tables: levels.tables - 1, sum: levels.sum - level };
            if levels.tables == 0 {
                self.0.remove(&zone);
            }
        }
    }
}

/// The level of a file that has one.
fn level(annotation: &Annotation) -> Option<u64> {
    annotation.hint.level.map(u64::from)
}

/// The zones that extents lie in, each once.
pub(crate) fn zones(
    extents: impl Iterator<Item = Extent>,
    space: &AddressSpace,
) -> Vec<(DeviceId, ZoneId)> {
    let mut zones: Vec<_> = extents.filter_map(|extent| space.zone(extent.first)).collect();
    zones.sort_unstable();
    zones.dedup();
    zones
}
