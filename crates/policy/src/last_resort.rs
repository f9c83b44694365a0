//! Reclaim for systems whose zones empty themselves: only while somebody waits for space.
//!
//! Then it is [`Greedy`]: the zone with the fewest live bytes, whatever it gives. Without it a
//! store of which much is dead, but no whole zone, would be full; and what another system has mixed
//! would have to wait for its compaction.

use crate::{Greedy, Reclaim, ReclaimChoice, ReclaimView, Room};

/// Reclaims only while a writer waits for space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastResort;

impl Reclaim for LastResort {
    fn name(&self) -> &'static str {
        "last-resort"
    }

    fn is_due(&self, room: &Room) -> bool {
        room.wanted
    }

    fn victim(&self, view: &ReclaimView<'_>) -> Option<ReclaimChoice> {
        Greedy::default().victim(view).filter(|_| view.room.wanted)
    }
}
