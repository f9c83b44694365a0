//! Greedy reclaim: the zone with the fewest live bytes that gives anything back.
//!
//! Live extents go to zones of reclaim's own: what has survived its neighbours tends to survive
//! longer, and one open zone is enough.

use std::cmp::Reverse;

use crate::{RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView};

/// Takes the zone with the fewest live bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl Reclaim for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        let worth = view.candidates.iter().filter(|zone| zone.gain.0 > 0);
        let victim = worth.min_by_key(|zone| (zone.live, Reverse(zone.gain), zone.zone))?;
        Some(ReclaimChoice { victim: victim.zone, stream: RECLAIM_STREAM })
    }
}
