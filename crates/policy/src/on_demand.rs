//! [`OnDemand`]: greedy reclaim for systems whose compactions give zones back in time, such as
//! [sliced compaction](crate::Sliced).
//!
//! 1. Reclaim is due if space is wanted ([`Supply::wanted`]), or if fewer than `free_min` percent
//!    of the zones are free. By default that is 0. Few spare zones alone are no reason, unless a
//!    quarter of the space in use is dead or was never written: after many deletes, for example.
//! 2. The victim is that of [`Greedy`].
//!
//! Why: a compaction rewrites a zone of old tables soon in any case. If reclaim empties
//! the zone first, its live bytes are written twice. And both use the same drive, so compaction
//! gives zones back later, and more reclaim is due.
//!
//! Space is wanted in cases that no compaction helps: readers hold deleted tables, or most of the
//! bytes are files that are no tables.

use crate::{Greedy, Reclaim, ReclaimChoice, ReclaimView, Supply};

/// Where zones are few, reclaim is due from this share of the space in use on that holds no live
/// data, in percent.
const DEAD_LEAST: u64 = 25;

/// Reclaims while a writer waits for space, when a client asks for it, or below `free_min`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnDemand(pub Greedy);

impl Reclaim for OnDemand {
    fn name(&self) -> &'static str {
        "on-demand"
    }

    fn is_due(&self, supply: &Supply) -> bool {
        let free_min = u64::from(supply.zones) * u64::from(self.0.free_min);
        let dead = supply.in_use.0.saturating_sub(supply.live.0);
        let is_loose = dead.saturating_mul(100) >= supply.in_use.0.saturating_mul(DEAD_LEAST);
        let is_short = supply.spare < supply.spare_min() && is_loose;
        supply.wanted || is_short || u64::from(supply.free) * 100 < free_min
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        self.0.victim(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_env::ByteCount;

    #[test]
    fn few_spare_zones_are_left_to_compactions() {
        let supply = |wanted| Supply {
            zones: 640,
            free: 12,
            spare: 0,
            wanted,
            in_use: ByteCount(100),
            live: ByteCount(90),
        };
        assert!(Greedy::default().is_due(&supply(false)), "greedy reclaim goes first");
        assert!(!OnDemand::default().is_due(&supply(false)));
        assert!(OnDemand::default().is_due(&supply(true)));
        let emptied = Supply { live: ByteCount(75), ..supply(false) };
        assert!(OnDemand::default().is_due(&emptied), "a quarter is dead");
        let asked = OnDemand(Greedy { free_min: 2, ..Greedy::default() });
        assert!(asked.is_due(&supply(false)), "12 of 640 are less than 2 %");
    }
}
