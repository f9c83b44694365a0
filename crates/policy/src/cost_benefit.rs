//! Cost-benefit reclaim: the zone that gives most for its copying, where what lies deep counts more
//! (GearDB, section 2.3, equation 1).
//!
//! 1. [`Greedy`] says when reclaim is due, and which zones give enough to be worth their copying.
//! 2. Of those, the victim is the one with the largest `(1 - u) * age / (1 + u)`: `u` is the live
//!    share of the zone, `1 - u` what comes back, `1 + u` what is read and written for it, and the
//!    age the levels of its live tables added up. What comes back are the dead bytes; room that was
//!    never written counts only where a view shows zones for their room alone. A deep table dies
//!    late, so waiting for it is of no use; a table of level 0 is about to die by itself.
//! 3. Among equals, the one with the fewest live bytes; then as in [`Greedy`].
//!
//! # Where the paper is silent
//! - By the letter of the equation a zone of nothing but level-0 tables is worth nothing, and so is
//!   one without tables. Such zones come last, but they come: a collector that left them alone
//!   could not free what is dead there.
//! - Which tables the sum is over: those that live. A zone of dead tables has no age; it is free.
//! - The more tables a zone has, the older it is, in the sense of the equation. So neither the
//!   emptiest nor the fullest zone wins but one that is about 40 % live, where all lie equally
//!   deep. The view must not end at the emptiest zones for that: it shows zones of all live shares
//!   ([`Sight::Spread`]). Beyond [`CANDIDATES_MAX`](ReclaimView::CANDIDATES_MAX) it is a sample,
//!   evenly spread over the order of live bytes; the best of 64 is on average better than 98 % of
//!   all.

use std::cmp::Reverse;

use crate::{
    CandidateZone, Greedy, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView, Sight, Supply,
    System,
};

/// Takes the zone of the largest benefit over cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostBenefit {
    /// When it is time, and what is worth its copying.
    limits: Greedy,
}

impl CostBenefit {
    /// With the system's parameters.
    #[must_use]
    pub fn of(system: &System) -> Self {
        Self { limits: Greedy::of(system) }
    }
}

/// Benefit over cost, by equation 1.
fn score(zone: &CandidateZone) -> f64 {
    let (gain, cost) = (zone.gain.0 as f64, zone.capacity.0 as f64 + zone.live.0 as f64);
    gain * zone.levels as f64 / cost
}

impl Reclaim for CostBenefit {
    fn name(&self) -> &'static str {
        "cost-benefit"
    }

    fn sight(&self) -> Sight {
        Sight::Spread
    }

    fn is_due(&self, supply: &Supply) -> bool {
        self.limits.is_due(supply)
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        let wanted = view.supply.wanted;
        let worth = view.candidates.iter().filter(|zone| self.limits.is_worth(zone, wanted));
        let victim = worth.min_by(|a, b| {
            let rank = |zone: &CandidateZone| (zone.live, Reverse(zone.gain), zone.zone);
            score(b).total_cmp(&score(a)).then_with(|| rank(a).cmp(&rank(b)))
        })?;
        Some(ReclaimChoice { victim: victim.zone, stream: RECLAIM_STREAM })
    }
}
