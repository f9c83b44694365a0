//! [`FreeMap`]: a set of runs of blocks of a device without zones, such as the free ones, indexed
//! by number and by length.
//!
//! # Invariants
//! - Runs do not overlap and do not touch: neighbours are joined when blocks come free.
//! - Both indexes hold the same runs, and the totals agree with a walk over them.
//!
//! A *stretch* is an aligned run of fixed length. The map counts how many are wholly free. It also
//! counts the blocks that writers can be given. On shingled tracks these can be fewer than the free
//! ones: the end of a free run serves as a [`Guard`], unless the run reaches to the end of the
//! device.
//!
//! Pure. A change costs the logarithm of the number of runs; finding the first whole stretch is a
//! walk over them. `put` panics on blocks that are free, and `take` on blocks that are not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::guard::Guard;

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FreeMap {
    stretch: u64,
    guard: Guard,
    /// Runs, by their first block: the block after the last one.
    by_start: BTreeMap<u64, u64>,
    /// Runs: length and first block.
    by_length: BTreeSet<(u64, u64)>,
    blocks: u64,
    /// Blocks that can be written.
    writable: u64,
    /// Stretches that are wholly free.
    whole: u64,
}

impl FreeMap {
    /// A map without free blocks; a stretch has `stretch` blocks.
    pub(super) fn new(stretch: u32, guard: Guard) -> Self {
        let (by_start, by_length) = (BTreeMap::new(), BTreeSet::new());
        let stretch = u64::from(stretch);
        Self { stretch, guard, by_start, by_length, blocks: 0, writable: 0, whole: 0 }
    }

    /// Free blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Blocks that writers can be given: free ones without the guards at the ends of free runs.
    pub(super) fn writable(&self) -> u64 {
        self.writable
    }

    /// Stretches that are wholly free.
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// The free runs, by their first block.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.by_start.iter().map(|(start, end)| *start..*end)
    }

    /// The free runs from the one on that a block lies in or before.
    pub(super) fn runs_from(&self, block: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.last_before(block + 1).map_or(block, |run| run.start);
        self.by_start.range(first..).map(|(start, end)| *start..*end)
    }

    /// Runs of at least `blocks` blocks, the shortest first.
    pub(super) fn at_least(&self, blocks: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        self.by_length.range((blocks, 0)..).map(|(length, start)| *start..*start + *length)
    }

    /// Runs of fewer blocks, the longest first.
    pub(super) fn below(&self, blocks: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let shorter = self.by_length.range(..(blocks, 0)).rev();
        shorter.map(|(length, start)| *start..*start + *length)
    }

    /// The first stretch that is wholly free.
    pub(super) fn first_stretch(&self) -> Option<u64> {
        let whole = self.runs().find(|run| self.stretches_in(run) > 0)?;
        Some(whole.start.div_ceil(self.stretch))
    }

    /// The blocks of a stretch.
    pub(super) fn stretch(&self, stretch: u64) -> Range<u64> {
        stretch * self.stretch..(stretch + 1) * self.stretch
    }

    /// How many whole stretches a run holds.
    pub(super) fn stretches_in(&self, run: &Range<u64>) -> u64 {
        (run.end / self.stretch).saturating_sub(run.start.div_ceil(self.stretch))
    }

    /// Whether any of these blocks is free.
    pub(super) fn overlaps(&self, run: &Range<u64>) -> bool {
        !run.is_empty() && self.last_before(run.end).is_some_and(|last| last.end > run.start)
    }

    /// Frees blocks.
    ///
    /// # Panics
    /// If one of them is free: two owners would be given the same block.
    pub(super) fn put(&mut self, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        assert!(!self.overlaps(&run), "blocks {run:?} were freed twice");
        let mut joined = run.clone();
        if let Some(before) = self.last_before(run.start).filter(|it| it.end == run.start) {
            self.remove(&before);
            joined.start = before.start;
        }
        if let Some(end) = self.by_start.get(&run.end).copied() {
            let after = run.end..end;
            joined.end = after.end;
            self.remove(&after);
        }
        self.insert(joined);
    }

    /// Takes blocks of a free run.
    ///
    /// # Panics
    /// If one of them is not free.
    pub(super) fn take(&mut self, run: Range<u64>) {
        let held = self.last_before(run.end).filter(|held| held.start <= run.start);
        let held = held.filter(|held| run.end <= held.end);
        let held = held.unwrap_or_else(|| panic!("blocks {run:?} are not free"));
        self.remove(&held);
        self.insert(held.start..run.start);
        self.insert(run.end..held.end);
    }

    /// Takes the free ones of these blocks; returns their number.
    pub(super) fn take_any(&mut self, run: &Range<u64>) -> u64 {
        let mut taken = 0;
        if run.is_empty() {
            return taken;
        }
        while let Some(held) = self.last_before(run.end).filter(|held| held.end > run.start) {
            let part = held.start.max(run.start)..held.end.min(run.end);
            taken += part.end - part.start;
            self.take(part);
        }
        taken
    }

    /// The last run that starts before a block.
    fn last_before(&self, block: u64) -> Option<Range<u64>> {
        self.by_start.range(..block).next_back().map(|(start, end)| *start..*end)
    }

    fn insert(&mut self, run: Range<u64>) {
        if run.is_empty() {
            return;
        }
        self.blocks += run.end - run.start;
        self.writable += self.guard.writable(&run);
        debug_assert!(self.writable <= self.blocks, "{self:?}");
        self.whole += self.stretches_in(&run);
        self.by_length.insert((run.end - run.start, run.start));
        self.by_start.insert(run.start, run.end);
        debug_assert_eq!(self.by_length.len(), self.by_start.len(), "a run in one index alone");
    }

    fn remove(&mut self, run: &Range<u64>) {
        self.blocks -= run.end - run.start;
        self.writable -= self.guard.writable(run);
        self.whole -= self.stretches_in(run);
        let was_indexed = self.by_length.remove(&(run.end - run.start, run.start));
        let end = self.by_start.remove(&run.start);
        debug_assert!(was_indexed && end == Some(run.end), "{run:?} is not a whole run");
    }
}

#[cfg(test)]
mod tests {
    use terrace_env::random::{Random, Rng};
    use terrace_env::test_seeds;
    use terrace_zone::Tracks;

    use super::*;

    const BLOCKS: usize = 200;
    const STRETCH: u32 = 16;
    const PLAIN: Guard = Guard::PLAIN;

    /// The runs of a plain list of which blocks are free.
    fn runs_of(free: &[bool]) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for block in (0..free.len() as u64).filter(|block| free[*block as usize]) {
            match runs.last_mut().filter(|run| run.end == block) {
                Some(run) => run.end += 1,
                None => runs.push(block..block + 1),
            }
        }
        runs
    }

    fn compare(map: &FreeMap, free: &[bool], at: &str) {
        let runs = runs_of(free);
        assert_eq!(map.runs().collect::<Vec<_>>(), runs, "{at}");
        let writable: u64 = runs.iter().map(|run| map.guard.writable(run)).sum();
        assert_eq!(map.writable(), writable, "{at}");
        assert_eq!(map.blocks(), free.iter().filter(|free| **free).count() as u64, "{at}");
        let stretches: Vec<bool> = free
            .chunks_exact(STRETCH as usize)
            .map(|stretch| stretch.iter().all(|free| *free))
            .collect();
        assert_eq!(map.whole(), stretches.iter().filter(|whole| **whole).count() as u64, "{at}");
        let first = stretches.iter().position(|whole| *whole);
        assert_eq!(map.first_stretch(), first.map(|first| first as u64), "{at}");
        for length in [1, 5, 40] {
            let mut longer: Vec<_> = map.at_least(length).collect();
            let shorter: Vec<_> = map.below(length).collect();
            let lengths: Vec<_> = longer.iter().map(|run| run.end - run.start).collect();
            assert!(lengths.is_sorted() && lengths.iter().all(|it| *it >= length), "{at}");
            assert!(shorter.iter().map(|run| run.end - run.start).rev().is_sorted(), "{at}");
            longer.extend(shorter);
            longer.sort_unstable_by_key(|run| run.start);
            assert_eq!(longer, runs, "{at}");
        }
    }

    #[test]
    fn the_map_is_what_a_list_of_blocks_says() {
        for seed in test_seeds(20) {
            let mut random = Random::seeded(seed);
            let tracks = Tracks { blocks: 8, overlap: 2 };
            let guard = Guard::new(random.random_bool(0.5).then_some(tracks), BLOCKS as u64);
            let (mut map, mut free) = (FreeMap::new(STRETCH, guard), vec![false; BLOCKS]);
            for step in 0..600 {
                let start = random.random_range(0..BLOCKS);
                let end = random.random_range(start..=BLOCKS.min(start + 60));
                let run = start as u64..end as u64;
                let part = &mut free[start..end];
                assert_eq!(map.overlaps(&run), part.iter().any(|free| *free));
                if random.random_bool(0.3) {
                    let taken = part.iter().filter(|free| **free).count();
                    part.fill(false);
                    assert_eq!(map.take_any(&run), taken as u64);
                } else if part.iter().all(|free| !free) {
                    part.fill(true);
                    map.put(run);
                } else if !part.is_empty() && part.iter().all(|free| *free) {
                    part.fill(false);
                    map.take(run);
                }
                compare(&map, &free, &format!("seed {seed}, step {step}"));
            }
        }
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn blocks_are_not_freed_twice() {
        let mut map = FreeMap::new(STRETCH, PLAIN);
        map.put(0..10);
        map.put(9..12);
    }
}
