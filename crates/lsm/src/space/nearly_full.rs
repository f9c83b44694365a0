//! [`Fullness`]: how near a store is to the point where puts are refused.
//!
//! Puts are refused when no space is left for them, and no compaction that is worth its writes
//! ([`is_worth`](super::is_worth)) can free any. So the *room* of a store is the sum of these:
//! - The bytes available to puts. Reserved bytes count as well: a job frees most of them when it
//!   ends.
//! - Garbage that compactions can free, if it is worth it: the bytes that deletes hide
//!   ([`deleted`]), and a part of the bytes above older tables. The part is the share of garbage in
//!   recent merges ([`GarbageShare`]).
//!
//! A store becomes *nearly full* when its room is less than an eighth ([`NEAR_PART`]) of the live
//! bytes, until the room is half of these ([`CLEAR_PART`]). The two are far apart because running
//! merges need space for both their inputs and their outputs.
//!
//! # Cost
//! An estimate goes over all tables. It is skipped while space alone tells the answer. It is also
//! skipped if, since the last one, less than a 256th ([`LOOK_PART`]) of the live bytes has come or
//! gone, and merges have found about the same share of garbage ([`GARBAGE_STEP`]).
//!
//! Plain values.

use terrace_env::ByteCount;
use terrace_env::store::SpaceInfo;

use super::worth::Sums;
use crate::deleted::deleted;
use crate::tree::View;

/// Divisor of the live bytes: with less room, a store is nearly full.
const NEAR_PART: u64 = 8;
/// Divisor of the live bytes: with this room, it is no longer nearly full.
const CLEAR_PART: u64 = 2;
/// Divisor of the live bytes that must have come or gone for another estimate.
const LOOK_PART: u64 = 256;
/// Change of the share of garbage for another estimate.
const GARBAGE_STEP: f64 = 1.0 / 16.0;
/// Weight of all earlier merges against the next one.
const KEPT: f64 = 15.0 / 16.0;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fullness {
    /// Live bytes of tables.
    pub(crate) live: ByteCount,
    /// Bytes that puts can still write.
    pub(crate) room: ByteCount,
}

/// The share of garbage in the bytes above older tables, as recent merges have found it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GarbageShare {
    newer: f64,
    dropped: f64,
}

impl GarbageShare {
    /// Adds a merge that has read `newer` bytes above its oldest run, and dropped `dropped` bytes
    /// in all. Dropped bytes in excess of the former were deleted.
    pub(super) fn add(&mut self, newer: u64, dropped: u64) {
        self.newer = self.newer * KEPT + newer as f64;
        self.dropped = self.dropped * KEPT + dropped.min(newer) as f64;
        debug_assert!((0.0..=1.0).contains(&self.part()), "{self:?}");
    }

    /// The share of garbage in such bytes.
    fn part(&self) -> f64 {
        if self.newer <= 0.0 { 0.0 } else { self.dropped / self.newer }
    }

    /// Garbage in these bytes.
    fn of(&self, above: u64) -> u64 {
        (above as f64 * self.part()) as u64
    }
}

/// The last estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// Bytes that were available to puts.
    there: u64,
    /// Share of garbage.
    garbage: f64,
    /// The store, if it was nearly full.
    found: Option<Fullness>,
}

impl Looked {
    /// Another estimate of a store, or the last one if little has changed.
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
    /// State of a store, if it is nearly full. `there`: bytes available to puts.
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

    #[test]
    fn an_estimate_is_made_anew_once_space_or_the_share_of_garbage_has_changed() {
        let view = crate::tree::empty_tree().view();
        let last = Looked { there: 5000, garbage: 0.0, found: Some(Fullness::default()) };
        // The tree is empty: a new estimate finds that the store is not full.
        let stays = |there, dropped| {
            let (for_puts, live) = (ByteCount(there), ByteCount(256_000));
            let space = SpaceInfo { for_puts, live, ..SpaceInfo::default() };
            let mut garbage = GarbageShare::default();
            garbage.add(1000, dropped);
            Looked::again(Some(last), &view, &space, garbage).found().is_some()
        };
        assert!(stays(5000, 0) && stays(5999, 0) && stays(4001, 0) && stays(5000, 62));
        assert!(!stays(6000, 0) && !stays(4000, 0) && !stays(5000, 63));
    }
}
