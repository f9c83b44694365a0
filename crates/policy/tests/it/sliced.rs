//! Sliced compaction: goldens, as in [`crate::compaction`]; trees that must come to rest; and long
//! loads, held against the closed form of what is written, and the space that zones take.

use std::collections::BTreeSet;

use terrace_env::ByteCount;
use terrace_env::random::{Random, Rng};
use terrace_policy::{
    Compaction, Row, Sliced, SlicedOptions, Span, System, TieredOptions, TreeView, Urgency,
};

use crate::compaction::{carry_out_all, decide, manual_compaction, tree};
use crate::golden::check;
use crate::replay::store::{Replay, Shape};

/// Two tiers over level 2; a slice of 20 bytes, in zones of 25.
fn sliced() -> Sliced {
    let table_size = ByteCount(10);
    let (runs, level0_slow, level0_stop, levels) = (3, 6, 9, 3);
    let limits = TieredOptions { runs, level0_slow, level0_stop, ..TieredOptions::default() };
    let tiers = TieredOptions { levels, table_size, ..limits };
    let (slice, zone_capacity) = (ByteCount(20), ByteCount(25));
    Sliced::new(SlicedOptions { tiers, share: 25, tier_most: 3, slice, zone_capacity })
}

#[test]
fn slices_of_the_deepest_tier_go_down_behind_a_pointer() {
    check("compaction-sliced", |input| decide(&sliced(), input));
}

#[test]
fn any_tree_comes_to_rest_and_for_lack_of_space_in_one_run() {
    let text = "
        level=0 run=9 a-g:10
        level=0 run=8 x-z:10
        level=1 run=5 a-d:10 e-h:10
        level=1 run=4 b-z:10
        level=2 run=2 a-c:10 c-z:30
        level=2 run=1 b-e:10 f-m:10
        level=4 run=1 b-e:10 f-m:10";
    // The runs that a tier may keep.
    for (urgency, most) in [(Urgency::Shape, 2), (Urgency::Rest, 1), (Urgency::Space, 0)] {
        let mut tree = tree(text);
        carry_out_all(&mut tree, |tree, state| sliced().pick(tree, state, urgency));
        let runs = |level: usize| tree.runs(level).len();
        assert_eq!(runs(4), 1, "{tree:?}");
        assert!((0..3).all(|level| runs(level) <= most), "{urgency:?}: {tree:?}");
        assert!(runs(3) <= 2 && (most > 0 || runs(3) == 0), "{urgency:?}: {tree:?}");
    }
    let whole = Span::new(&b""[..], &b"\xff"[..]);
    manual_compaction(&sliced(), tree(text), &whole);
}

/// Tables and memtables of 16 entries, eight tables to a zone.
const SHAPE: Shape = Shape { zones: 140, capacity: 128, memtable: 16, workers: 1 };
const KEYS: u32 = 8_000;

fn bytes(tree: &TreeView, level: usize) -> f64 {
    tree.runs(level).iter().map(|run| run.size().0 as f64).sum()
}

/// Overwrites at random: what merges wrote for one, what the closed form makes of the tier that was
/// there, and the bytes of the zones that were taken at most.
fn play(share: u16) -> (f64, f64, usize) {
    let system = System { tier_share: share, tier_runs: 4, ..System::of(Row::Sliced) };
    let mut store = Replay::new(&system, SHAPE);
    let (mut memtable, mut random) = (BTreeSet::new(), Random::seeded(1));
    let (mut before, mut samples, mut most) = ((0, 0), Vec::new(), 0);
    let counts = |store: &Replay| {
        ["merged", "flushed"].map(|what| store.counts.get(what).copied().unwrap_or(0))
    };
    for n in 0..120_000 {
        memtable.insert(random.random_range(0..KEYS));
        if (memtable.len() as u64) < SHAPE.memtable {
            continue;
        }
        store.flush(&mut memtable);
        most = most.max(store.zones.used().1);
        if n < 40_000 {
            before = counts(&store).into();
        } else {
            let last = store.tree.levels.len() - 1;
            samples.push(bytes(&store.tree, last - 1) / bytes(&store.tree, last));
        }
    }
    assert!(!store.counts.contains_key("moved by reclaim"), "{share}: {:?}", store.counts);
    let [merged, flushed] = counts(&store);
    let written = (merged - before.0) as f64 / (flushed - before.1) as f64;
    let part = samples.iter().sum::<f64>() / samples.len() as f64;
    let tiers = (store.tree.levels.len() - 1) as f64;
    (written, tiers - 1.0 + 1.0 / (2.0 * part), most)
}

#[test]
fn what_is_written_and_taken_is_what_the_closed_form_says() {
    for share in [12, 25, 50] {
        let (written, closed, most) = play(share);
        println!("{share} %: {written:.2} written, {closed:.2} by the closed form, {most} taken");
        // Overwritten entries meet in the tiers.
        assert!((0.8..1.05).contains(&(written / closed)), "{share}: {written} {closed}");
        let bound = KEYS as usize * (100 + usize::from(share)) / 100 + 24 * SHAPE.capacity;
        assert!(most <= bound, "{share}: {most} bytes of zones, {bound} expected");
    }
}

#[test]
fn keys_in_order_are_merged_with_nothing() {
    let mut store = Replay::new(&System::of(Row::Sliced), SHAPE);
    for first in (0..KEYS).step_by(SHAPE.memtable as usize) {
        store.flush(&mut (first..first + SHAPE.memtable as u32).collect());
    }
    assert_eq!(store.counts.get("merged"), None);
}
