//! [`SpaceInUse`]: the space in use of a store on drives at a moment, and the valid part of it.
//! *Space efficiency* is the valid share.
//!
//! *Valid* bytes are those of tables that the tree refers to. The space in use is:
//!
//! - With zones, the capacity of the zones in which files have live or pinned bytes. Zones of
//!   journal and superblock are not counted.
//! - Without zones, all space that is not free, plus *fragments* ([`FreeSpace`]): free runs that
//!   are too short to be useful.
//!
//! The files' live and pinned bytes on an offload device are added to the space in use.

use std::ops::Range;

use terrace_env::ByteCount;
use terrace_env::store::{Store as _, StoreError};
use terrace_fs::{FreeSpace, Fs};
use terrace_lsm::Stats;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceInUse {
    /// The most bytes of the store's files.
    pub capacity: ByteCount,
    /// Zones in use.
    pub zones: u64,
    /// The space in use.
    pub used: ByteCount,
    /// Bytes of tables that the tree refers to.
    pub valid: ByteCount,
    /// Bytes of fragments, on a device without zones.
    pub fragments: ByteCount,
    /// Length below which a free run is a fragment.
    pub fragment_below: ByteCount,
    /// Start of the free run at the end of such a device; the end of the device if it is in use.
    pub span: ByteCount,
    /// Live bytes on an offload device.
    pub offloaded: ByteCount,
}

impl SpaceInUse {
    /// For the store on this file system, with these statistics. Walks all zones and all files.
    pub fn of(fs: &Fs, stats: &Stats) -> Result<Self, StoreError> {
        let mut found = Self {
            capacity: stats.space.capacity,
            valid: ByteCount(stats.levels.iter().map(|level| level.bytes).sum()),
            ..Self::default()
        };
        let tables: u64 = stats.levels.iter().map(|level| level.segments).sum();
        let zones = fs.zones()?;
        if zones.is_empty() {
            let of_tables = fs.devices().into_iter().find(|device| device.holds_tables);
            let end = of_tables.map_or(found.capacity, |device| device.capacity);
            found.count_runs(&fs.free_runs(), tables, end);
        }
        for zone in zones.iter().filter(|zone| zone.is_in_use()) {
            found.zones += 1;
            found.used.0 += zone.capacity.0;
        }
        if let Some(offload) = fs.offload_space() {
            found.used.0 += offload.live.0 + offload.pinned.0;
            found.offloaded = offload.live;
        }
        Ok(found)
    }

    /// Counts the runs of a device without zones, which ends at `end`. A full device has no free
    /// run.
    fn count_runs(&mut self, free: &[Range<u64>], tables: u64, end: ByteCount) {
        let space = FreeSpace::of(free, tables, self.valid.0);
        self.fragment_below = space.fragment_below;
        self.fragments = space.fragments;
        self.used.0 += self.capacity.0.saturating_sub(space.bytes.0) + self.fragments.0;
        let last = free.last().filter(|run| run.end >= end.0);
        self.span = last.map_or(end, |run| ByteCount(run.start));
    }

    /// The valid share of the space in use; 0 if none is.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        if self.used.0 == 0 { 0.0 } else { self.valid.0 as f64 / self.used.0 as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_zones_is_used_but_for_its_free_runs_and_wholly_if_there_are_none() {
        let count = |free: &[Range<u64>]| {
            let (capacity, valid) = (ByteCount(1000), ByteCount(600));
            let mut found = SpaceInUse { capacity, valid, ..SpaceInUse::default() };
            found.count_runs(free, 60, ByteCount(1010));
            (found.used.0, found.span.0, found.efficiency())
        };
        assert_eq!(count(&[]), (1000, 1010, 0.6));
        assert_eq!(count(&[110..210, 310..1010]), (200, 310, 3.0));
        let last_in_use = count(&[110..210, 310..1000]);
        assert_eq!(last_in_use.1, 1010, "what lies behind the last free run is in use");
    }
}
