//! [`Occupancy`]: how much of the store's space is in use at a moment, by the library's
//! [`SpaceInUse`], and how much of that is live.
//!
//! *Live* bytes are those of the newest versions of records, uncompressed. The efficiencies compare
//! valid and live bytes with the space in use. The valid share and the used share compare valid
//! bytes and the space in use with the store's capacity.

use terrace::{Db, Fs, SpaceInUse};
use terrace_env::store::StoreError;
use terrace_fs::{ZoneUsage, ZoneUse};

use super::ZoneShare;
use crate::workload::Ledger;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Occupancy {
    pub(super) space: SpaceInUse,
    /// Live bytes.
    pub(super) live: u64,
    /// Sorted runs.
    pub(super) runs: u64,
}

impl Occupancy {
    /// Now. Walks all zones and all files; costs no time of the run.
    pub(super) fn take(db: &Db, fs: &Fs, ledger: &Ledger) -> Result<Self, StoreError> {
        let stats = db.stats();
        Ok(Self {
            space: SpaceInUse::of(fs, &stats)?,
            live: ledger.held().bytes,
            runs: stats.levels.iter().map(|level| level.runs).sum(),
        })
    }

    pub(super) fn used_share(&self) -> f64 {
        share(self.space.used.0, self.space.capacity.0)
    }

    pub(super) fn valid_share(&self) -> f64 {
        share(self.space.valid.0, self.space.capacity.0)
    }

    pub(super) fn offloaded_share(&self) -> f64 {
        share(self.space.offloaded.0, self.space.valid.0)
    }

    pub(super) fn fragments_share(&self) -> f64 {
        share(self.space.fragments.0, self.space.used.0)
    }

    pub(super) fn valid_efficiency(&self) -> f64 {
        self.space.efficiency()
    }

    pub(super) fn live_efficiency(&self) -> f64 {
        share(self.live, self.space.used.0)
    }
}

/// The zones of tables that hold anything.
pub(super) fn zone_shares(fs: &Fs) -> Result<Vec<ZoneShare>, StoreError> {
    let zones = fs.zones()?;
    let of_logs = |zone: &ZoneUsage| zone.used_for == ZoneUse::Log && zone.of_tables().0 == 0;
    let shares = zones.iter().filter(|zone| zone.is_in_use() && !of_logs(zone));
    let shares = shares.map(|zone| ZoneShare {
        zone: zone.zone.0,
        valid: share(zone.of_tables().0, zone.capacity.0),
        written: share(zone.live.0 + zone.dead.0 + zone.pinned.0, zone.capacity.0),
    });
    Ok(shares.collect())
}

pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
