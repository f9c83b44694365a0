//! [`LastResort`]: reclaim for systems whose zones become empty by compaction.
//!
//! It works only on demand: when space is wanted ([`Supply::wanted`]). Of the zones that are worth
//! it, it takes the one with the fewest live bytes ([`Greedy`]). Without it a store could be full
//! although much of it is dead, for example after another system has mixed tables of several levels
//! in zones.

use crate::{Greedy, Reclaim, ReclaimChoice, ReclaimView, Supply};

/// Reclaims while a writer waits for space, or when a client asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastResort;

impl Reclaim for LastResort {
    fn name(&self) -> &'static str {
        "last-resort"
    }

    fn is_due(&self, supply: &Supply) -> bool {
        supply.wanted
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        Greedy::default().victim(view).filter(|_| view.supply.wanted)
    }
}
