//! The conformance suite of rows: rules that hold for any system, whatever its deciders choose.
//!
//! [`check`] tries them on one system. A broken rule is a panic that names the row.

use std::collections::BTreeSet;
use std::sync::Arc;

use terrace_env::random::{Random, Rng};
use terrace_policy::{
    ByteCount, Compaction, LoadRule, NoZones, Row, Span, StoreShape, System, Urgency,
};

use crate::compaction::{OUT_OF_SHAPE, carry_out_all, manual_compaction, tree};
use crate::replay::store::{Replay, Shape};

const URGENCIES: [Urgency; 4] = [Urgency::Shape, Urgency::Rest, Urgency::Space, Urgency::All];

/// Zones of 64 entries, and memtables of 16.
const SHAPE: Shape = Shape { zones: 400, capacity: 64, memtable: 16, workers: 1 };

/// Entries of a load.
const ENTRIES: u32 = 400;

/// Tries every rule on a system.
pub(crate) fn check(system: &System) {
    println!("{system}");
    has_words_and_valid_parameters(system);
    is_pure(system);
    brings_any_tree_to_rest(system);
    compacts_to_one_run_when_asked(system);
    takes_a_load_and_the_stores_of_others(system);
}

fn decider(system: &System, zoned: bool) -> Arc<dyn Compaction> {
    system.compaction(&shape(zoned), Arc::new(NoZones))
}

fn shape(zoned: bool) -> StoreShape {
    StoreShape {
        capacity: ByteCount::gib(64),
        zone_capacity: zoned.then_some(ByteCount::mib(256)),
        guard: ByteCount(0),
        kept: ByteCount(0),
        memtable_size: ByteCount::mib(16),
    }
}

fn has_words_and_valid_parameters(system: &System) {
    let row = system.row;
    assert!(!row.name().is_empty() && !row.name().contains([':', ',', '=', ' ']), "{row:?}");
    for words in [row.summary(), row.suits(), row.costs()] {
        assert!(!words.is_empty(), "{row:?}");
    }
    assert!((1..=100).contains(&row.live_max()), "{row:?}");
    for zoned in [true, false] {
        assert_eq!(system.check(&shape(zoned)), Ok(()), "{row:?}");
        let (live, all) = (system.live_max(&shape(zoned)), shape(zoned).capacity);
        assert!(ByteCount(0) < live && live < all, "{row:?}: {live} of {all}");
    }
}

/// Deciders that are made alike choose alike, and bytes that are no state count as none.
fn is_pure(system: &System) {
    for zoned in [true, false] {
        let (one, other) = (decider(system, zoned), decider(system, zoned));
        let tree = tree(OUT_OF_SHAPE);
        for urgency in URGENCIES {
            let choice = one.pick(&tree, &[], urgency);
            assert_eq!(choice, other.pick(&tree, &[], urgency), "{system}, {urgency:?}");
            let odd = other.pick(&tree, &[0xff; 7], urgency).map(|choice| choice.plan);
            assert_eq!(choice.map(|choice| choice.plan), odd, "{system}, {urgency:?}");
        }
        assert_eq!(one.pressure(&tree), other.pressure(&tree), "{system}");
        assert!((1..=8).contains(&one.jobs_max()), "{system}");
        assert!(one.moves_together() >= 1, "{system}");
    }
}

fn brings_any_tree_to_rest(system: &System) {
    for (zoned, urgency) in [true, false].iter().flat_map(|zoned| URGENCIES.map(|u| (zoned, u))) {
        let (decider, mut tree) = (decider(system, *zoned), tree(OUT_OF_SHAPE));
        let steps = carry_out_all(&mut tree, |tree, state| decider.pick(tree, state, urgency));
        assert!(steps > 0, "{system} left level 6 as it was, {urgency:?}");
    }
}

fn compacts_to_one_run_when_asked(system: &System) {
    let whole = Span::new(&b""[..], &b"\xff"[..]);
    for zoned in [true, false] {
        manual_compaction(&*decider(system, zoned), tree(OUT_OF_SHAPE), &whole);
    }
}

/// Each plan of a load is legal, and the plans come to an end; so it is in a store that another
/// row has written, and for the other row when it gets the store back.
fn takes_a_load_and_the_stores_of_others(system: &System) {
    for load in LoadRule::ALL {
        let system = System { load, ..*system };
        let (mut store, mut random) = (Replay::new(&system, SHAPE), Random::seeded(1));
        store.checks_choices = true;
        (0..4).for_each(|_| write(&mut store, &mut random));
        assert!(store.checked > 0, "{system}: no choice was checked");
    }
    let (mut store, mut random) = (Replay::new(system, SHAPE), Random::seeded(1));
    for other in Row::ALL {
        for next in [System::of(other), *system] {
            store.open_under(&next, SHAPE);
            write(&mut store, &mut random);
        }
    }
}

fn write(store: &mut Replay, random: &mut Random) {
    let mut memtable = BTreeSet::new();
    for _ in 0..ENTRIES {
        memtable.insert(random.random_range(0..ENTRIES));
        if memtable.len() as u64 == SHAPE.memtable {
            store.flush(&mut memtable);
        }
    }
}

#[test]
fn every_row_keeps_the_rules() {
    let names: BTreeSet<&str> = Row::ALL.into_iter().map(Row::name).collect();
    assert_eq!(names.len(), Row::ALL.len(), "two rows of one name");
    System::all().iter().for_each(check);
}
