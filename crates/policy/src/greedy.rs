//! Greedy reclaim: empties the zone with the fewest live bytes (GearDB, section 2.3: "the zone with
//! the most invalid data").
//!
//! 1. Reclaim is due if space is wanted ([`Supply::wanted`]), if fewer than `free_min` percent of
//!    the zones are free, or if fewer zones are spare than [`Supply::spare_min`].
//! 2. The victim is the candidate with the fewest live bytes; among equals the one that gives most.
//!    A zone that gives nothing is not taken.
//! 3. While space is not wanted, this candidate must give at least `gain_min` percent of a zone.
//!    Otherwise no victim is chosen. Without this limit a nearly full store would copy all its
//!    zones again and again for a few dead bytes.
//!    While space is wanted, the candidates are those that give at least [`GAIN_MIN_WANTED`]
//!    percent. A zone that is not full may have the fewest live bytes and give next to nothing; it
//!    must not keep the others from being emptied.
//! 4. Live data is placed under reclaim's own stream, so that data of several victims shares zones:
//!    data that has survived its neighbours tends to live longer.

use std::cmp::Reverse;

use crate::{CandidateZone, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView, Supply, System};

/// While a writer waits: a zone that gives less, in percent, is not worth its copying. At this
/// limit, 24 bytes are copied for one that comes free.
const GAIN_MIN_WANTED: u8 = 4;

/// Takes the zone with the fewest live bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greedy {
    /// Starts when fewer zones are free, in percent.
    pub free_min: u8,
    /// Leaves zones alone that give less, in percent of a zone, unless a writer waits.
    pub gain_min: u8,
}

impl Default for Greedy {
    /// Works when it must, and for a quarter of a zone at least: then a byte that comes free costs
    /// at most three that are copied.
    fn default() -> Self {
        Self { free_min: 0, gain_min: 25 }
    }
}

impl Greedy {
    /// With the system's parameters.
    #[must_use]
    pub fn of(system: &System) -> Self {
        let System { free_min, gain_min, .. } = *system;
        Self { free_min, gain_min }
    }

    /// Whether fewer zones are free or spare than there should be.
    fn is_short(&self, supply: &Supply) -> bool {
        let free_min = u64::from(supply.zones) * u64::from(self.free_min);
        supply.spare < supply.spare_min() || u64::from(supply.free) * 100 < free_min
    }

    /// Whether a zone is worth its copying. `wanted`: whether a writer waits for space.
    pub(crate) fn is_worth(&self, zone: &CandidateZone, wanted: bool) -> bool {
        let gain_min = if wanted { self.gain_min.min(GAIN_MIN_WANTED) } else { self.gain_min };
        debug_assert!(gain_min <= self.gain_min, "a waiting writer asks for no more");
        let least = zone.capacity.0.saturating_mul(gain_min.into());
        zone.gain.0 > 0 && zone.gain.0.saturating_mul(100) >= least
    }
}

impl Reclaim for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn is_due(&self, supply: &Supply) -> bool {
        supply.wanted || self.is_short(supply)
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        let wanted = view.supply.wanted;
        let may_be = |zone: &&CandidateZone| {
            if wanted { self.is_worth(zone, wanted) } else { zone.gain.0 > 0 }
        };
        let candidates = view.candidates.iter().filter(may_be);
        let victim = candidates.min_by_key(|zone| (zone.live, Reverse(zone.gain), zone.zone))?;
        let choice = ReclaimChoice { victim: victim.zone, stream: RECLAIM_STREAM };
        self.is_worth(victim, wanted).then_some(choice)
    }
}
