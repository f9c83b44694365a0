//! Cost-benefit reclaim: the zone that gives most for its copying, where what lies deep counts more
//! (GearDB, section 2.3, equation 1).
//!
//! 1. [`Greedy`] says when reclaim is due, and which zones give enough to be worth their copying.
//! 2. Of those, the victim is the one with the largest `(1 - u) * age / (1 + u)`: `u` is the live
//!    share of the zone, `1 - u` what comes back, `1 + u` what is read and written for it, and the
//!    age comes from the levels of its tables ([`ZoneAge`]). What comes back are the dead bytes;
//!    room that was never written counts only where a view shows zones for their room alone. A deep
//!    table dies late, so waiting for it is of no use; a table of level 0 is about to die by
//!    itself.
//! 3. Among equals, the one with the fewest live bytes; then as in [`Greedy`].
//!
//! # Where the paper is silent
//! - By the letter of the equation a zone of nothing but level-0 tables is worth nothing, and so is
//!   one without tables. Such zones come last, but they come: a collector that left them alone
//!   could not free what is dead there.
//! - Which tables the sum is over. Here: all that were written to the zone. Their sum hardly
//!   differs between zones that hold tables of all levels, so the emptiest zone wins, as the paper
//!   says of both of its collectors. A sum over the live tables alone grows with their number:
//!   where all lie equally deep, the zone that is about 40 % live wins. Moved for each byte that is
//!   loaded (`geardb/age` at 1/16): 5.5 by all tables, 8.7 by live ones, 4.9 by the mean of live
//!   ones, 5.3 by the greedy collector; in the paper 5.2, and 5.4 by the greedy one.
//! - The view must not end at the emptiest zones: it shows zones of all live shares
//!   ([`Sight::Spread`]). Beyond [`CANDIDATES_MAX`](ReclaimView::CANDIDATES_MAX) it is a sample,
//!   evenly spread over the order of live bytes; the best of 64 is on average better than 98 % of
//!   all. [`Sight::All`] is the reference for that; by it 6.3 bytes are moved, not 5.5.

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
    /// When it is time, and what is worth its copying.
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
