//! [`Fullness`]: how near a store is to the point where puts are refused.
//!
//! Puts are refused when no space is left for them, and compactions can free none at their price
//! ([`is_worth`](super::is_worth)). So the *room* of a store is the sum of these:
//! - The bytes that are there for puts. Reserved bytes count as well: a job gives most of them back
//!   when it ends.
//! - Garbage that compactions can free, if it is worth it: the bytes that deletes hide
//!   ([`deleted`]), and a part of the bytes above older tables. The part is the one that merges
//!   have lately found to be garbage ([`GarbageShare`]).
//!
//! A store is *nearly full* from the time on when its room is less than an eighth
//! ([`NEAR_PART`]) of the bytes that stay, until the room is half of these ([`CLEAR_PART`]). The
//! two are far apart because merges that run need space for both their inputs and their outputs.
//!
//! # Cost
//! A look goes over all tables. It is left out while space alone tells the answer. It is also left
//! out if since the last look less than a 256th ([`LOOK_PART`]) of the live bytes has come or gone,
//! and merges have found about as much garbage ([`GARBAGE_STEP`]).
//!
//! Plain values.

use terrace_env::ByteCount;
use terrace_env::store::SpaceInfo;

use super::worth::Sums;
use crate::deleted::deleted;
use crate::tree::View;

/// A store is nearly full if its room is less than this part of its live bytes, a divisor.
const NEAR_PART: u64 = 8;
/// It is not any more if its room is at least this part, a divisor.
const CLEAR_PART: u64 = 2;
/// Another look is due once this part of the live bytes has come or gone, a divisor.
const LOOK_PART: u64 = 256;
/// Or once the part of garbage has changed by this.
const GARBAGE_STEP: f64 = 1.0 / 16.0;
/// Weight of all earlier merges beside the next one.
const KEPT: f64 = 15.0 / 16.0;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fullness {
    /// Bytes of tables that stay.
    pub(crate) live: ByteCount,
    /// Bytes that puts can still bring.
    pub(crate) room: ByteCount,
}

/// The part of the bytes above older tables that merges have lately found to be garbage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GarbageShare {
    newer: f64,
    dropped: f64,
}

impl GarbageShare {
    /// A merge has read so many bytes that lay above its oldest run, and dropped so many in all.
    /// What it dropped beyond the former was deleted.
    pub(super) fn add(&mut self, newer: u64, dropped: u64) {
        self.newer = self.newer * KEPT + newer as f64;
        self.dropped = self.dropped * KEPT + dropped.min(newer) as f64;
    }

    /// The part of such bytes that is garbage.
    fn part(&self) -> f64 {
        if self.newer <= 0.0 { 0.0 } else { self.dropped / self.newer }
    }

    /// So much of these bytes is garbage.
    fn of(&self, above: u64) -> u64 {
        (above as f64 * self.part()) as u64
    }
}

/// The last look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// The bytes that were there for puts.
    there: u64,
    /// The part of garbage.
    garbage: f64,
    /// The store, if it was nearly full.
    found: Option<Fullness>,
}

impl Looked {
    /// Another look at a store, or the last one again if little has changed.
    pub(super) fn again(
        last: Option<Self>,
        view: &View,
        space: &SpaceInfo,
        garbage: GarbageShare,
    ) -> Self {
        let there = space.for_puts.0.saturating_add(space.reserved.0);
        let was_near = last.is_some_and(|last| last.found.is_some());
        let garbage_part = garbage.part();
        let is_due = |last: Self| {
            last.there.abs_diff(there) >= space.live.0 / LOOK_PART
                || (last.garbage - garbage_part).abs() >= GARBAGE_STEP
        };
        match last {
            Some(last) if !is_due(last) => last,
            _ => {
                let found = Fullness::of(view, space.live.0, there, garbage, was_near);
                Self { there, garbage: garbage_part, found }
            }
        }
    }

    pub(super) fn found(&self) -> Option<Fullness> {
        self.found
    }
}

impl Fullness {
    /// As a store is now, if it is nearly full. `there`: bytes that are there for puts.
    fn of(
        view: &View,
        live: u64,
        there: u64,
        garbage: GarbageShare,
        was_near: bool,
    ) -> Option<Self> {
        let part = if was_near { CLEAR_PART } else { NEAR_PART };
        if there.saturating_mul(part) >= live {
            return None;
        }
        let sums = Sums::of(&view.version);
        let freed = garbage.of(sums.above).saturating_add(deleted(view).0).min(sums.bytes);
        let freed = if sums.pays(freed) { freed } else { 0 };
        let found = Self { live: ByteCount(sums.bytes - freed), room: ByteCount(there + freed) };
        (found.is_near() || (was_near && !found.is_clear())).then_some(found)
    }

    fn is_near(&self) -> bool {
        self.room.0.saturating_mul(NEAR_PART) < self.live.0
    }

    fn is_clear(&self) -> bool {
        self.room.0.saturating_mul(CLEAR_PART) >= self.live.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_nearly_full_until_a_third_of_it_is_free() {
        let at = |live, room| Fullness { live: ByteCount(live), room: ByteCount(room) };
        assert!(!at(0, 0).is_near(), "an empty store");
        assert!(!at(800, 100).is_near() && at(801, 100).is_near());
        assert!(!at(801, 400).is_clear() && at(800, 400).is_clear());
    }

    #[test]
    fn garbage_is_reckoned_by_what_merges_have_lately_dropped() {
        let mut garbage = GarbageShare::default();
        assert_eq!(garbage.of(1000), 0, "nothing is known");
        garbage.add(100, 50);
        assert_eq!(garbage.of(1000), 500);
        for _ in 0..100 {
            garbage.add(100, 0);
        }
        assert!(garbage.of(1000) < 5, "long ago");
        garbage.add(1_000_000, 5_000_000);
        assert!((990..=1000).contains(&garbage.of(1000)), "deletes are no garbage of this kind");
    }
}
