//! Tests of scans over runs whose tables have first keys in their indexes: which blocks they read,
//! and that the result is the same as without first keys.

use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_env::store::{MemoryStore, Store};
use terrace_env::{ByteCount, Cause, test_seeds};
use terrace_policy::{RunId, Span};

use super::merge::{Merge, Source};
use super::run_cursor::RunCursor;
use super::run_cursor::tests::{full, written_of};
use crate::compression::Compression;
use crate::key::{self, Trailer};
use crate::memory::Walk;
use crate::table::TableLayout;
use crate::tree::{Run, Segment};

/// A run of one table, of numbers with their sequences.
fn run(store: &MemoryStore, versions: &[(u8, u64)], layout: TableLayout) -> Arc<Run> {
    let (table, _) = written_of(store, versions.iter().copied(), layout);
    let segment = Segment { table, span: Span::new(full(0), full(255)), size: ByteCount(1) };
    Arc::new(Run::new(RunId(1), vec![segment]))
}

fn merge(runs: &[Arc<Run>]) -> Merge {
    let cursors = runs.iter().map(|run| RunCursor::new(Arc::clone(run), Walk::Scan));
    Merge::new(cursors.map(|cursor| Source::Run(Box::new(cursor))).collect())
}

fn reads(store: &MemoryStore) -> u64 {
    store.io().reads[Cause::Read as usize]
}

fn target(number: u8) -> Vec<u8> {
    key::internal_key(&full(number), Trailer::NEWEST)
}

/// Eight runs, each with every eighth number, and a block per entry.
fn eight_runs(store: &MemoryStore, first_keys: bool) -> Vec<Arc<Run>> {
    let layout = TableLayout::new(ByteCount(1), Compression::None, 0).with_first_keys(first_keys);
    let of = |run: u8| (run..240).step_by(8).map(|number| (number, 1)).collect::<Vec<_>>();
    (0..8).map(|number| run(store, &of(number), layout)).collect()
}

/// Scans `count` entries from a number on, with their values; returns the number of reads.
fn scan(store: &MemoryStore, runs: &[Arc<Run>], from: u8, count: u8) -> u64 {
    let before = reads(store);
    let mut merge = merge(runs);
    merge.seek(&target(from)).unwrap();
    for number in from..from + count {
        merge.ready().unwrap();
        assert_eq!(merge.value_slice(), [number]);
        // A scan of a given length does not move after its last entry.
        if number + 1 < from + count {
            merge.next().unwrap();
        }
    }
    reads(store) - before
}

#[test]
fn a_short_scan_reads_a_block_for_each_entry_and_none_of_the_other_runs() {
    for (first_keys, others) in [(true, 0), (false, 8)] {
        let store = MemoryStore::new();
        let runs = eight_runs(&store, first_keys);
        // The indexes are read once.
        merge(&runs).seek(&target(250)).unwrap();
        for (from, count) in [(20, 1), (41, 3), (100, 5)] {
            let read = scan(&store, &runs, from, count);
            match first_keys {
                true => assert_eq!(read, u64::from(count), "from {from}"),
                false => assert!(read >= others, "{read} reads from {from}"),
            }
        }
    }
}

#[test]
fn a_merge_that_looks_at_keys_alone_reads_no_block_before_it_moves_on() {
    let store = MemoryStore::new();
    let runs = eight_runs(&store, true);
    let mut merge = merge(&runs);
    merge.seek(&target(250)).unwrap();
    let before = reads(&store);
    merge.seek(&target(7)).unwrap();
    merge.skip_to(&target(77)).unwrap();
    assert_eq!(merge.key().map(|found| key::split(found).0.to_vec()), Some(full(77)));
    assert_eq!(reads(&store), before);
    merge.next().unwrap();
    assert_eq!(reads(&store), before + 1);
    assert_eq!(merge.key().map(|found| key::split(found).0.to_vec()), Some(full(78)));
}

#[test]
fn with_first_keys_a_merge_of_any_runs_finds_what_it_finds_without() {
    for seed in test_seeds(100) {
        let random = &mut Random::seeded(seed);
        let store = MemoryStore::new();
        let block_size = ByteCount(1 << random.random_range(0..9));
        let layout = TableLayout::new(block_size, Compression::None, 0);
        let (mut with, mut without, mut sequence) = (Vec::new(), Vec::new(), 1);
        for _ in 0..random.random_range(1..6) {
            let mut versions = Vec::new();
            for _ in 0..random.random_range(1..60) {
                versions.push((random.random_range(0..250), sequence));
                sequence += 1;
            }
            // Newest first.
            versions.sort_by_key(|&(number, sequence)| (number, std::cmp::Reverse(sequence)));
            with.push(run(&store, &versions, layout.with_first_keys(true)));
            without.push(run(&store, &versions, layout));
        }
        let (mut with, mut without) = (merge(&with), merge(&without));
        for _ in 0..20 {
            let from = target(random.random_range(0..=255));
            with.seek(&from).unwrap();
            without.seek(&from).unwrap();
            for _ in 0..random.random_range(0..30) {
                assert_eq!(with.key(), without.key(), "seed {seed}");
                if with.key().is_none() {
                    break;
                }
                if random.random() {
                    with.ready().unwrap();
                    assert_eq!(with.value(), without.value(), "seed {seed}");
                }
                let until = target(random.random_range(0..=255));
                for merge in [&mut with, &mut without] {
                    match until[4] % 4 {
                        0 => merge.skip_to(&until).unwrap(),
                        _ => merge.next().unwrap(),
                    }
                }
            }
            with.seek_before(&from).unwrap();
            without.seek_before(&from).unwrap();
            for _ in 0..5 {
                assert_eq!(with.key(), without.key(), "seed {seed}, backward");
                with.prev().unwrap();
                without.prev().unwrap();
            }
        }
    }
}
