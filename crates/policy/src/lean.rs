//! Lean reclaim: bounds the garbage on a drive that is getting full, and moves old data. It is
//! meant for engines that know nothing of zones.
//!
//! *Garbage* is all of the zones in use but live bytes: dead bytes, and room.
//!
//! 1. Reclaim is due if space is wanted or too few zones are spare ([`Greedy`]). It is also due if
//!    fewer than `free_min` percent of the zones are free and more than `garbage_max` percent of
//!    the bytes in use are garbage. While more zones are free, garbage does no harm, and some
//!    copies that are put off need not be made at all.
//! 2. A victim must give `gain_min` percent of a zone, or the gain that [`Greedy`] asks for while a
//!    writer waits.
//! 3. The victim is the zone with the largest benefit over cost, `(1 - u) * age / (1 + u)`, of
//!    those in [`FewestLive`](crate::Sight::FewestLive). `u` is the live share of the zone. `1 - u`
//!    comes free, and `1 + u` is read and written for it. The age is the number of bytes written to
//!    the drive since the youngest byte of the zone was (Rosenblum and Ousterhout, "The Design and
//!    Implementation of a Log-Structured File System", SOSP '91, section 3.6). Data that has lived
//!    long goes on living, whereas a young zone may soon come free by itself.
//! 4. Among equals, the zone with the fewest live bytes is taken.
//! 5. Live data is placed under reclaim's own stream, and is as old there as it was.
//!
//! The levels of files have no part in this. The lifetimes that RocksDB gives come to the same for
//! all levels from the third one on, though one of them lives ten times as long as the next.

use std::cmp::Reverse;

use crate::{CandidateZone, Greedy, RECLAIM_STREAM, Reclaim, ReclaimChoice, ReclaimView, Supply};

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lean {
    /// Garbage is bounded while fewer zones are free, in percent.
    pub free_min: u8,
    /// The most garbage, in percent of the bytes in use.
    pub garbage_max: u8,
}

impl Default for Lean {
    /// On a drive that is 80 % full, nine tenths of the bytes in use are live. `docs/rocksdb.md`
    /// promises that; the fifth that is free then is where the bound begins.
    fn default() -> Self {
        Self { free_min: 20, garbage_max: 10 }
    }
}

impl Lean {
    /// When reclaim must work, and which zones are worth the copying.
    const LIMITS: Greedy = Greedy { free_min: 0, gain_min: 25 };

    fn has_much_garbage(&self, supply: &Supply) -> bool {
        let free_min = u64::from(supply.zones) * u64::from(self.free_min);
        let garbage = supply.in_use.0.saturating_sub(supply.live.0);
        let most = supply.in_use.0 / 100 * u64::from(self.garbage_max);
        u64::from(supply.free) * 100 < free_min && garbage > most
    }
}

/// Benefit over cost.
fn score(zone: &CandidateZone) -> f64 {
    let (gain, cost) = (zone.gain.0 as f64, zone.capacity.0 as f64 + zone.live.0 as f64);
    debug_assert!(cost > 0.0, "zone {} has no bytes", zone.zone);
    gain * zone.age.0 as f64 / cost
}

impl Reclaim for Lean {
    fn name(&self) -> &'static str {
        "lean"
    }

    fn is_due(&self, supply: &Supply) -> bool {
        Self::LIMITS.is_due(supply) || self.has_much_garbage(supply)
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        let wanted = view.supply.wanted;
        let worth = view.candidates.iter().filter(|zone| Self::LIMITS.is_worth(zone, wanted));
        let victim = worth.min_by(|a, b| {
            let rank = |zone: &CandidateZone| (zone.live, Reverse(zone.gain), zone.zone);
            score(b).total_cmp(&score(a)).then_with(|| rank(a).cmp(&rank(b)))
        })?;
        Some(ReclaimChoice { victim: victim.zone, stream: RECLAIM_STREAM })
    }
}
