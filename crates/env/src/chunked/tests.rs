//! Random tests that hold chunked sequences and their slices against plain vectors, and a test that
//! two small changes next to each other make at most two new chunks.

use std::ops::Range;
use std::sync::Arc;

use crate::random::{Random, Rng};

use super::chunk::{Chunk, LEN_MAX, LEN_MIN};
use super::sequence::Chunked;

fn check(sequence: &Chunked<u32>, list: &[u32], seed: u64) {
    assert!(sequence.iter().eq(list), "seed {seed}: {sequence:?}, expected {list:?}");
    assert!(sequence.iter().rev().eq(list.iter().rev()), "seed {seed}");
    let lens = sequence.chunks.iter().map(|chunk| chunk.items.len());
    assert!(lens.clone().all(|len| len <= LEN_MAX), "seed {seed}");
    assert!(sequence.chunks.len() <= 1 || lens.min() >= Some(LEN_MIN), "seed {seed}");
}

/// Up to four patches of a list of that length.
fn patches(len: usize, random: &mut Random) -> Vec<(Range<usize>, Vec<u32>)> {
    let count = random.random_range(0..5);
    let mut cuts: Vec<usize> = (0..2 * count).map(|_| random.random_range(0..=len)).collect();
    cuts.sort_unstable();
    let patch = |cuts: &[usize]| {
        let len = random.random_range(0..40);
        let with = (0..len).map(|_| random.random_range(0..500)).collect();
        (cuts[0]..if random.random_bool(0.5) { cuts[1] } else { cuts[0] }, with)
    };
    cuts.chunks_exact(2).map(patch).collect()
}

#[test]
fn patches_do_what_they_do_to_a_list() {
    for seed in 0..2_000 {
        let mut random = Random::seeded(seed);
        let len = random.random_range(0..600);
        let mut list: Vec<u32> = (0..len).map(|_| random.random_range(0..500)).collect();
        let mut sequence: Chunked<u32> = list.iter().copied().collect();
        check(&sequence, &list, seed);
        for _ in 0..4 {
            let patches = patches(list.len(), &mut random);
            for (range, with) in patches.iter().rev() {
                list.splice(range.clone(), with.iter().copied());
            }
            sequence = sequence.patched(patches);
            check(&sequence, &list, seed);
        }
    }
}

#[test]
fn slices_are_those_of_a_list() {
    for seed in 0..2_000 {
        let mut random = Random::seeded(seed);
        let len = random.random_range(0..400);
        let mut list: Vec<u32> = (0..len).map(|_| random.random_range(0..500)).collect();
        list.sort_unstable();
        let sequence: Chunked<u32> = list.iter().copied().collect();
        let to = random.random_range(0..=len);
        let (from, of) = (random.random_range(0..=to), random.random_range(0..=500));
        let (slice, expected) = (sequence.slice(from..to), &list[from..to]);
        assert!(slice.iter().eq(expected), "seed {seed}");
        assert_eq!(slice.iter().len(), expected.len(), "seed {seed}");
        let point = expected.partition_point(|item| *item < of);
        assert_eq!(slice.partition_point(|item| *item < of), point, "seed {seed}");
        assert_eq!(slice.get(point), expected.get(point), "seed {seed}");
        let ends = (slice.first(), slice.last());
        assert_eq!(ends, (expected.first(), expected.last()), "seed {seed}");
        let behind = list.get(list.partition_point(|item| *item < of));
        assert_eq!(sequence.first_behind(|item| *item < of), behind, "seed {seed}");
    }
}

#[test]
fn a_change_copies_the_chunks_it_touches_and_no_other() {
    let before: Chunked<u32> = (0..10_000).collect();
    let after = before.patched([(5_000..5_003, vec![1, 2]), (5_010..5_010, vec![3])]);
    let same = |chunk: &Chunk<u32>| {
        before.chunks.iter().any(|other| Arc::ptr_eq(&other.items, &chunk.items))
    };
    assert!(after.chunks.iter().filter(|chunk| !same(chunk)).count() <= 2);
}
