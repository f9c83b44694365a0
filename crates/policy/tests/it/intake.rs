//! Tests of intake: the levels that leveled compaction chooses for a flush, the places and routes
//! that are legal for new data, and its claims.

use terrace_env::ByteCount;
use terrace_policy::{
    Claim, Compaction, FlushRoute, Illegal, Key, Leveled, LeveledOptions, Place, RunId, Span,
    TreeView, check_place, deepest_free,
};

use crate::compaction::tree;

fn span(start: &str, end: &str) -> Span {
    Span::new(start.as_bytes(), end.as_bytes())
}

fn place(level: u8, run: u64) -> Place {
    Place { level, run: RunId(run) }
}

/// The level that a flush of these keys goes to, under `deepest`.
fn level_of(tree: &TreeView, start: &str, end: &str, deepest: usize) -> u8 {
    let options = LeveledOptions {
        flush_level: deepest,
        table_size: ByteCount(10),
        overlap_tables: 3,
        ..LeveledOptions::default()
    };
    let routes = Leveled::new(options).flush_routes(tree, &span(start, end));
    assert!(FlushRoute::check(&routes, &span(start, end), tree).is_ok());
    let [route] = &routes[..] else { panic!("one route, not {routes:?}") };
    route.to.map_or(0, |to| to.level)
}

#[test]
fn a_flush_goes_down_past_levels_without_its_keys_as_leveldb_lets_it() {
    let tree = tree(
        "
        level=0 run=9 a-c:10
        level=1 run=1 d-f:10
        level=2 run=1 g-i:10
        level=3 run=1 m-n:20 n-o:20
        ",
    );
    for (start, end, expected) in [
        ("p", "q", 2),
        ("b", "c", 0),
        ("e", "p", 0),
        ("g", "h", 1),
        // Level 3 has more than 30 bytes of it, so a compaction out of level 2 would be large.
        ("m", "o", 1),
        ("m", "n", 2),
    ] {
        assert_eq!(level_of(&tree, start, end, 2), expected, "{start}-{end}");
        assert_eq!(level_of(&tree, start, end, 0), 0, "{start}-{end}, on top");
    }
    assert_eq!(level_of(&TreeView::default(), "a", "b", 2), 2, "an empty tree");
    assert_eq!(level_of(&tree, "p", "q", 6), 6);
}

#[test]
fn a_level_with_several_runs_is_left_to_the_drain() {
    let tree = tree("level=1 run=2 a-c:10\nlevel=1 run=1 b-f:10\n");
    assert_eq!(level_of(&tree, "p", "q", 2), 0);
    assert_eq!(deepest_free(&tree, &span("p", "q")), Some(place(1, 2)), "the newest run");
}

#[test]
fn new_data_may_not_go_below_anything_of_its_keys() {
    let tree = tree(
        "
        level=0 run=9 a-c:10
        level=1 run=2 d-f:10
        level=1 run=1 m-n:10
        level=2 run=1 a-z:10
        ",
    );
    let meets = |to: Place, start: &str, end: &str| match check_place(to, &span(start, end), &tree)
    {
        Ok(()) => None,
        Err(Illegal::Intake { other, .. }) => Some(other),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(meets(place(1, 2), "b", "e"), Some(place(0, 9)), "above");
    assert_eq!(meets(place(1, 2), "d", "e"), Some(place(1, 2)), "in its run");
    assert_eq!(meets(place(1, 1), "d", "e"), Some(place(1, 2)), "in a newer run of its level");
    assert_eq!(meets(place(1, 2), "m", "n"), None, "an older run of its level may hold its keys");
    assert_eq!(meets(place(1, 3), "d", "e"), None, "and a new run may be newer than both");
    assert_eq!(meets(place(2, 2), "g", "h"), None, "a new run above that of the level");
    assert_eq!(meets(place(2, 1), "g", "h"), Some(place(2, 1)));
    let on_top = check_place(place(0, 10), &span("x", "y"), &tree);
    assert!(matches!(on_top, Err(Illegal::Destination { .. })));
}

#[test]
fn each_range_of_a_flush_is_held_against_its_own_place() {
    let tree = tree("level=0 run=9 a-c:10\nlevel=1 run=1 g-h:10\n");
    let route = |end: Option<&str>, to: Option<Place>| FlushRoute {
        end: end.map(|end| Key::from(end.as_bytes())),
        to,
        stream: 16,
    };
    let check = |routes: &[FlushRoute]| FlushRoute::check(routes, &span("b", "k"), &tree);
    let below = Some(place(1, 1));
    assert_eq!(
        check(&[route(Some("c"), None), route(Some("g"), below), route(None, None)]),
        Ok(())
    );
    assert!(check(&[route(Some("d"), None), route(None, below)]).is_err(), "level 1 has g");
    assert!(check(&[route(Some("d"), below), route(None, None)]).is_err(), "level 0 has b");
    // Ranges without any key of the flush do no harm.
    assert_eq!(
        check(&[route(Some("b"), below), route(Some("k"), None), route(None, below)]),
        Ok(())
    );
    for routes in [
        vec![],
        vec![route(Some("c"), None)],
        vec![route(None, None), route(None, None)],
        vec![route(Some("d"), None), route(Some("c"), None), route(None, None)],
    ] {
        assert!(matches!(check(&routes), Err(Illegal::Routes { .. })), "{routes:?}");
    }
}

#[test]
fn new_data_claims_its_keys_from_the_top_to_its_place() {
    let claim = Claim::of_intake(span("d", "f"), place(2, 1));
    let other = |start, end, to| Claim::of_intake(span(start, end), to);
    assert!(claim.meets(&other("a", "e", place(1, 1))));
    assert!(!claim.meets(&other("f", "g", place(5, 1))));
}
