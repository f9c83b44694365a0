//! Cost-benefit reclaim (GearDB, section 2.3, equation 1): empties the zone that gives most for its
//! copying, and prefers zones whose tables lie deep.
//!
//! 1. [`Greedy`] says when reclaim is due, and which zones give enough.
//! 2. Of these, the victim is the zone with the largest `(1 - u) * age / (1 + u)`. `u` is the live
//!    share of the zone. `1 - u` is the freed share: the zone's gain in the view. `1 + u` is the
//!    share that is read and written for it. The age comes from the levels of the zone's tables
//!    ([`ZoneAge`]). Reason: deep tables live long, so waiting for their death is useless; tables
//!    of level 0 die soon anyway.
//! 3. Among equals, the zone with the fewest live bytes is taken.
//!
//! # Where the paper is silent
//! - A zone of which no table counts, or only tables of level 0, has age 0 and is worth nothing.
//!   Such zones come last here, but they are taken: otherwise their dead bytes would not come free.
//! - Which tables count for the age. By default all that were written to the zone since it was last
//!   empty, live or not, except for those deleted before the store was mounted. [`ZoneAge`] has
//!   other ways; the experiment `geardb/age` compares them.
//! - The largest score may be that of any zone, not only of the emptiest ones. So the view must
//!   show zones of all live shares: [`Sight::Spread`], a sample if there are many, or
//!   [`Sight::All`].

use std::cmp::Reverse;

use crate::{
    CandidateZone, Greedy, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView, Sight, Supply,
    System,
};

/// The age of a zone in equation 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneAge {
    /// The levels of all tables that were written to it since it was last empty, added up: of a
    /// live table the level that it has, of a deleted one the level that it had at last. Tables
    /// that were deleted before the store was mounted are not known.
    #[default]
    Written,
    /// The levels of its live tables, added up.
    Live,
    /// The mean level of its live tables.
    Mean,
}

/// Takes the zone of the largest benefit over cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostBenefit {
    /// When reclaim is due, and which zones are worth the copying.
    limits: Greedy,
    age: ZoneAge,
    sight: Sight,
}

impl CostBenefit {
    /// With the system's parameters.
    #[must_use]
    pub fn of(system: &System) -> Self {
        let sight = if system.all_candidates { Sight::All } else { Sight::Spread };
        Self { limits: Greedy::of(system), age: system.zone_age, sight }
    }

    fn age(&self, zone: &CandidateZone) -> f64 {
        match self.age {
            ZoneAge::Live => zone.levels as f64,
            ZoneAge::Written => (zone.levels + zone.levels_dead) as f64,
            ZoneAge::Mean => zone.levels as f64 / zone.tables.max(1) as f64,
        }
    }

    /// Benefit over cost, by equation 1.
    fn score(&self, zone: &CandidateZone) -> f64 {
        let (gain, cost) = (zone.gain.0 as f64, zone.capacity.0 as f64 + zone.live.0 as f64);
        debug_assert!(cost > 0.0, "zone {} has no bytes", zone.zone);
        gain * self.age(zone) / cost
    }
}

impl Reclaim for CostBenefit {
    fn name(&self) -> &'static str {
        "cost-benefit"
    }

    fn sight(&self) -> Sight {
        self.sight
    }

    fn is_due(&self, supply: &Supply) -> bool {
        self.limits.is_due(supply)
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        let wanted = view.supply.wanted;
        let worth = view.candidates.iter().filter(|zone| self.limits.is_worth(zone, wanted));
        let victim = worth.min_by(|a, b| {
            let rank = |zone: &CandidateZone| (zone.live, Reverse(zone.gain), zone.zone);
            self.score(b).total_cmp(&self.score(a)).then_with(|| rank(a).cmp(&rank(b)))
        })?;
        Some(ReclaimChoice { victim: victim.zone, stream: RECLAIM_STREAM })
    }
}
