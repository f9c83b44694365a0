//! [`ZoneLevels`]: how deep in their tree the tables of each zone lie.
//!
//! For every zone the levels of the files that have a block there, added up; a file that lies in
//! several zones counts in each of them. Level 0 adds nothing, and neither does a file without a
//! level, or one that the catalog does not have yet. Kept as files change, so that reclaim can
//! weigh a zone without a walk over the catalog.

use std::collections::BTreeMap;

use terrace_env::{DeviceId, ZoneId};

use super::FileRecord;
use crate::AddressSpace;

/// See the [module](self). Zones of which the sum is 0 are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ZoneLevels(BTreeMap<(DeviceId, ZoneId), u64>);

impl ZoneLevels {
    /// The sum for a zone.
    pub(super) fn of(&self, device: DeviceId, zone: ZoneId) -> u64 {
        self.0.get(&(device, zone)).copied().unwrap_or(0)
    }

    /// Counts a file.
    pub(super) fn add(&mut self, file: &FileRecord, space: &AddressSpace) {
        for (zone, level) in shares(file, space) {
            *self.0.entry(zone).or_default() += level;
        }
    }

    /// Takes a file out that was counted.
    pub(super) fn remove(&mut self, file: &FileRecord, space: &AddressSpace) {
        for (zone, level) in shares(file, space) {
            let sum = self.0.get_mut(&zone).expect("a file that was counted");
            *sum -= level;
            if *sum == 0 {
                self.0.remove(&zone);
            }
        }
    }
}

/// The zones that a file lies in, each once, and what it counts there.
fn shares(
    file: &FileRecord,
    space: &AddressSpace,
) -> impl Iterator<Item = ((DeviceId, ZoneId), u64)> + use<> {
    let level = file.annotation.hint.level.filter(|level| *level > 0);
    let extents = level.into_iter().flat_map(|_| file.extents.extents());
    let mut zones: Vec<_> = extents.filter_map(|extent| space.zone(extent.first)).collect();
    zones.sort_unstable();
    zones.dedup();
    let level = level.map_or(0, u64::from);
    zones.into_iter().map(move |zone| (zone, level))
}
