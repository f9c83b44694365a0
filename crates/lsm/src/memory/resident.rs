//! Keeps parts of tables in memory, such as an open table, its index or a partition of its filter,
//! and drops those that were not used lately when they exceed their share.
//!
//! - A part lies in a [`Slot`] of its owner, where a reader finds it without a lock. The parts in
//!   slots are listed on one [`Clock`] (second chance, as in Corbató's "A Paging Experiment with
//!   the Multics System", 1968).
//! - If a new part makes all of them exceed the share, the hand of the clock goes round, at most
//!   twice, until enough is dropped. It keeps a part that was used since its last visit, and drops
//!   the others.
//! - A reader keeps the part that it uses. A [`Part`] counts until its last user is done.
//!
//! Rules for an [`Owner`]: a slot is filled by [`Clock::keep`]. [`Owner::release`] is called under
//! the clock's lock, so it may only empty the slot. The clock has weak references; owners may be
//! dropped at any time.
//!
//! Threads: any number. Slots are emptied under the clock's lock; the references that the clock has
//! taken to owners are dropped when it is free, because the last owner of a file closes it.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwapOption, Guard};
use terrace_env::sync::Mutex;
use terrace_env::{ByteCount, MemoryGauge, MemoryLease};

/// Bytes of a part without its content: slot, counts and its entry on the clock.
const PART_BYTES: usize = 128;
/// Number of entries from which on entries without an owner are removed, each time that the number
/// has doubled.
const SWEEP_FIRST: usize = 256;

/// Class of a part of a table: parts of one class do not drop those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartClass {
    /// The open table itself, or one of its filters.
    Filter,
    /// An index, or a partition of it.
    Index,
}

/// A part, with the memory that it counts until its last user drops it.
#[derive(Debug)]
pub(crate) struct Part<T> {
    content: T,
    _memory: MemoryLease,
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

/// The slot of one part at its owner.
pub(crate) struct Slot<T> {
    part: ArcSwapOption<T>,
    /// Whether it was used since the clock's last visit.
    used: AtomicBool,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { part: ArcSwapOption::empty(), used: AtomicBool::new(false) }
    }
}

impl<T> Slot<T> {
    /// The part, for long use.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        let part = self.part.load_full()?;
        self.note_use();
        Some(part)
    }

    /// The part, for one access, without a counter that all readers share.
    pub(crate) fn glance(&self) -> Option<Glance<T>> {
        let part = self.part.load();
        part.as_ref()?;
        self.note_use();
        Some(Glance(part))
    }

    fn note_use(&self) {
        // Without this check, a store of the same value would still take the cache line from other
        // cores.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Drops the part, unless it was used since the last call; `true` if it is gone.
    pub(crate) fn release(&self) -> bool {
        if self.used.swap(false, Ordering::Relaxed) {
            return false;
        }
        self.part.store(None);
        true
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", if self.part.load().is_some() { "full" } else { "empty" })
    }
}

/// A part during one access.
pub(crate) struct Glance<T>(Guard<Option<Arc<T>>>);

impl<T> Deref for Glance<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        self.0.as_ref().expect("only what is there is looked at")
    }
}

/// Owner of slots.
pub(crate) trait Owner: Send + Sync {
    /// Drops the part of this number, unless it was used since the last call; `true` if it is gone.
    fn release(&self, part: u32) -> bool;
}

/// A part in the clock's list.
struct Listed {
    owner: Weak<dyn Owner>,
    part: u32,
}

/// The clock of all parts in slots.
pub(crate) struct Clock {
    gauge: MemoryGauge,
    limit: AtomicU64,
    hand: Mutex<Hand>,
}

struct Hand {
    /// The next one to visit at the front.
    listed: VecDeque<Listed>,
    sweep_at: usize,
}

impl Clock {
    /// A clock that keeps about `limit` bytes.
    pub(crate) fn new(gauge: MemoryGauge, limit: ByteCount) -> Self {
        let hand = Hand { listed: VecDeque::new(), sweep_at: SWEEP_FIRST };
        Self { gauge, limit: AtomicU64::new(limit.0), hand: Mutex::new(hand) }
    }

    /// Changes the limit.
    pub(crate) fn resize(&self, limit: ByteCount) {
        if self.limit.swap(limit.0, Ordering::Relaxed) > limit.0 {
            self.go_round(None);
        }
    }

    /// Bytes of its parts.
    pub(super) fn used(&self) -> ByteCount {
        self.gauge.used()
    }

    pub(super) fn limit(&self) -> ByteCount {
        ByteCount(self.limit.load(Ordering::Relaxed))
    }

    /// A lease for a part of `bytes`.
    pub(crate) fn lease(&self, bytes: usize) -> MemoryLease {
        self.gauge.lease(bytes + PART_BYTES)
    }

    /// Makes a part of `bytes`.
    pub(crate) fn part<T>(&self, content: T, bytes: usize) -> Arc<Part<T>> {
        Arc::new(Part { content, _memory: self.lease(bytes) })
    }

    /// Puts a part into the slot of this number of its owner, and drops others if there are too
    /// many.
    pub(crate) fn keep<T>(
        &self,
        slot: &Slot<T>,
        part: Arc<T>,
        owner: Weak<dyn Owner>,
        number: u32,
    ) {
        // Another thread has put its part on the clock already.
        let replaced = slot.part.swap(Some(part));
        self.go_round(replaced.is_none().then_some(Listed { owner, part: number }));
    }

    fn go_round(&self, new: Option<Listed>) {
        // Dropped without the lock: the last user of a table closes its file.
        let mut seen = Vec::new();
        let mut hand = self.hand.lock();
        hand.listed.extend(new);
        if hand.listed.len() >= hand.sweep_at {
            hand.listed.retain(|listed| listed.owner.strong_count() > 0);
            hand.sweep_at = SWEEP_FIRST.max(2 * hand.listed.len());
        }
        for _ in 0..2 * hand.listed.len() {
            if self.gauge.used() <= self.limit() {
                break;
            }
            let Some(listed) = hand.listed.pop_front() else { break };
            let Some(owner) = listed.owner.upgrade() else { continue };
            if !owner.release(listed.part) {
                hand.listed.push_back(listed);
            }
            seen.push(owner);
        }
        drop(hand);
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({} of {})", self.gauge.used(), self.limit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight parts of 1000 bytes each.
    struct Parts([Slot<Part<u32>>; 8]);

    impl Owner for Parts {
        fn release(&self, part: u32) -> bool {
            self.0[part as usize].release()
        }
    }

    fn parts(clock: &Clock) -> (Arc<Parts>, impl Fn(u32) + '_) {
        let parts = Arc::new(Parts(Default::default()));
        let owner = Arc::clone(&parts);
        let load = move |part: u32| {
            let weak: Weak<dyn Owner> = Arc::downgrade(&owner) as _;
            let content = clock.part(part, 1000 - PART_BYTES);
            clock.keep(&owner.0[part as usize], content, weak, part);
        };
        (parts, load)
    }

    fn clock(limit: u64) -> Clock {
        Clock::new(MemoryGauge::new("parts"), ByteCount(limit))
    }

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let clock = clock(4000);
        let (parts, load) = parts(&clock);
        (0..4).for_each(&load);
        assert!(parts.0[0].get().is_some());
        for part in 4..8 {
            load(part);
            assert_eq!(parts.0[0].get().map(|part| **part), Some(0), "used all the time");
            assert!(clock.gauge.used().0 <= 4000);
        }
        assert!(parts.0[1].glance().is_none());
    }

    #[test]
    fn a_part_in_use_counts_until_it_is_let_go() {
        let clock = clock(1000);
        let (parts, load) = parts(&clock);
        load(0);
        let held = parts.0[0].get();
        (1..8).for_each(&load);
        assert!(parts.0[0].get().is_none());
        assert!(clock.gauge.used().0 <= 2000);
        drop(held);
        assert!(clock.gauge.used().0 <= 1000);
    }

    #[test]
    fn nothing_is_left_of_owners_that_are_gone() {
        let clock = clock(u64::MAX);
        for _ in 0..1000 {
            let (_, load) = parts(&clock);
            (0..8).for_each(load);
            assert!(clock.hand.lock().listed.len() <= 2 * SWEEP_FIRST);
        }
        assert!(clock.gauge.used().0 <= 1000);
    }
}
