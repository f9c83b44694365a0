//! [`Occupancy`]: how much of the store's space is in use at a moment.
//!
//! *Valid* bytes are those of tables that the tree refers to. *Live* bytes are those of the newest
//! versions of records, uncompressed. The efficiencies compare them with the space in use. The
//! valid share and the used share compare valid bytes and the space in use with the store's
//! capacity. The space in use is:
//!
//! - With zones, the capacity of the zones in which files have live or pinned bytes. Zones of
//!   journal and superblock are not counted.
//! - Without zones, what is not free, plus *fragments*, as [`FreeSpace`] has them: free runs that
//!   are too short to be useful.
//!
//! The files' live and pinned bytes on an offload device are added to the space in use.

use std::ops::Range;

use terrace::{Db, Fs};
use terrace_env::store::{Store as _, StoreError};
use terrace_fs::{FreeSpace, ZoneUsage, ZoneUse};

use super::ZoneShare;
use crate::workload::Ledger;

/// See the [module](self). Sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Occupancy {
    /// All that the store's files could occupy.
    pub(super) capacity: u64,
    /// Zones that hold anything.
    pub(super) zones: u64,
    /// Of these.
    pub(super) used: u64,
    pub(super) valid: u64,
    pub(super) live: u64,
    /// Of free runs that are too short, on a device without zones.
    pub(super) fragments: u64,
    /// A free run that is shorter is a fragment.
    pub(super) fragment: u64,
    /// Where the free run begins that reaches to the end of such a device; the end if it is in use.
    pub(super) span: u64,
    /// Live bytes on an offload device.
    pub(super) offloaded: u64,
    /// Sorted runs.
    pub(super) runs: u64,
}

impl Occupancy {
    /// Now. Walks all zones and all files; costs no time of the run.
    pub(super) fn take(db: &Db, fs: &Fs, ledger: &Ledger) -> Result<Self, StoreError> {
        let stats = db.stats();
        let mut found = Self {
            capacity: stats.space.capacity.0,
            valid: stats.levels.iter().map(|level| level.bytes).sum(),
            live: ledger.held().bytes,
            runs: stats.levels.iter().map(|level| level.runs).sum(),
            ..Self::default()
        };
        let tables: u64 = stats.levels.iter().map(|level| level.segments).sum();
        let zones = fs.zones()?;
        if zones.is_empty() {
            let end =
                fs.devices().iter().find(|device| device.holds_tables).map(|it| it.capacity.0);
            found.count_runs(&fs.free_runs(), tables, end.unwrap_or(found.capacity));
        }
        if let Some(offload) = fs.offload_space() {
            found.used += offload.live.0 + offload.pinned.0;
            found.offloaded = offload.live.0;
        }
        for zone in zones.iter().filter(|zone| holds_anything(zone)) {
            found.zones += 1;
            found.used += zone.capacity.0;
        }
        Ok(found)
    }

    /// Of a device without zones, of `end` bytes. If it is full, it has no free run.
    fn count_runs(&mut self, free: &[Range<u64>], tables: u64, end: u64) {
        let space = FreeSpace::of(free, tables, self.valid);
        self.fragment = space.fragment_below.0;
        self.fragments = space.fragments.0;
        self.used += self.capacity.saturating_sub(space.bytes.0) + self.fragments;
        self.span = free.last().filter(|run| run.end >= end).map_or(end, |run| run.start);
    }

    pub(super) fn used_share(&self) -> f64 {
        share(self.used, self.capacity)
    }

    pub(super) fn valid_share(&self) -> f64 {
        share(self.valid, self.capacity)
    }

    pub(super) fn offloaded_share(&self) -> f64 {
        share(self.offloaded, self.valid)
    }

    pub(super) fn fragments_share(&self) -> f64 {
        share(self.fragments, self.used)
    }

    pub(super) fn valid_efficiency(&self) -> f64 {
        share(self.valid, self.used)
    }

    pub(super) fn live_efficiency(&self) -> f64 {
        share(self.live, self.used)
    }
}

/// The zones of tables that hold anything.
pub(super) fn zone_shares(fs: &Fs) -> Result<Vec<ZoneShare>, StoreError> {
    let zones = fs.zones()?;
    let of_logs = |zone: &ZoneUsage| zone.used_for == ZoneUse::Log && of_tables(zone) == 0;
    let shares = zones.iter().filter(|zone| holds_anything(zone) && !of_logs(zone));
    let shares = shares.map(|zone| ZoneShare {
        zone: zone.zone.0,
        valid: share(of_tables(zone), zone.capacity.0),
        written: share(zone.live.0 + zone.dead.0 + zone.pinned.0, zone.capacity.0),
    });
    Ok(shares.collect())
}

fn holds_anything(zone: &ZoneUsage) -> bool {
    let held = zone.live.0 + zone.pinned.0 > 0;
    match zone.used_for {
        ZoneUse::Data | ZoneUse::Retired | ZoneUse::Log => held,
        ZoneUse::Superblock | ZoneUse::Journal | ZoneUse::Free | ZoneUse::Unused => false,
    }
}

/// Bytes of tables, which have a level; logs have none.
fn of_tables(zone: &ZoneUsage) -> u64 {
    zone.levels.iter().filter_map(|(level, bytes)| level.map(|_| bytes.0)).sum()
}

pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_zones_is_used_but_for_its_free_runs_and_wholly_if_there_are_none() {
        let count = |free: &[Range<u64>]| {
            let mut found = Occupancy { capacity: 1000, valid: 600, ..Occupancy::default() };
            found.count_runs(free, 60, 1010);
            (found.used, found.span, found.used_share(), found.valid_efficiency())
        };
        assert_eq!(count(&[]), (1000, 1010, 1.0, 0.6));
        assert_eq!(count(&[110..210, 310..1010]), (200, 310, 0.2, 3.0));
        let last_in_use = count(&[110..210, 310..1000]);
        assert_eq!(last_in_use.1, 1010, "what lies behind the last free run is in use");
    }
}
