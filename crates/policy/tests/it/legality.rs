//! Tests of [`Plan::check`]: plans that keep the order of age pass, and each rule that a plan
//! breaks is named by an error of its own.

use terrace_env::ByteCount;
use terrace_policy::{
    Cut, Illegal, Input, Merge, Move, Part, Place, Plan, Route, RunId, Span, TreeView,
};

use crate::compaction::tree;

/// Files 1 to 5, as they come.
const TREE: &str = "
    level=0 run=9 a-g:10
    level=0 run=8 c-k:10
    level=1 run=5 a-d:10 x-z:10
    level=2 run=1 a-m:10";

fn at(level: u8, run: u64) -> Place {
    Place { level, run: RunId(run) }
}

fn part(file: u64, span: &str) -> Part {
    let (start, end) = span.split_once('-').expect("start-end");
    Part { file: terrace_env::FileId(file), span: Span::new(start.as_bytes(), end.as_bytes()) }
}

fn goes(file: u64, span: &str, from: Place, to: Place) -> Move {
    Move { part: part(file, span), from, to: Some(to) }
}

fn merged(inputs: &[(Place, Part)], ends: &[Option<&str>], to: Place) -> Plan {
    let input = |(place, part): &(Place, Part)| Input { place: *place, parts: vec![part.clone()] };
    let route = |end: &Option<&str>| {
        let end = end.map(|end| end.as_bytes().into());
        Route { end, to, stream: 16, cut: Cut::at(ByteCount(10)) }
    };
    let inputs = inputs.iter().map(input).collect();
    Plan::Merge(Merge {
        inputs,
        routes: ends.iter().map(route).collect(),
        moves: Vec::new(),
        set: false,
    })
}

fn check(plan: &Plan) -> Result<(), Illegal> {
    let tree: TreeView = tree(TREE);
    plan.check(&tree)
}

#[test]
fn plans_that_keep_the_order_of_age_are_legal() {
    let (newest, older, level1) = (at(0, 9), at(0, 8), at(1, 5));
    let both = [(newest, part(1, "a-g")), (older, part(2, "c-k")), (level1, part(3, "a-d"))];
    for plan in [
        merged(&both, &[None], level1),
        merged(&both, &[Some("d"), None], level1),
        merged(&both, &[None], at(1, 7)),
        merged(&[(older, part(2, "d-k"))], &[None], at(1, 1)),
        Plan::TrivialMove(vec![goes(2, "g-k", older, at(1, 3))]),
        Plan::TrivialMove(vec![goes(4, "x-z", level1, at(6, 1))]),
        Plan::TrivialMove(vec![Move { part: part(4, "x-z"), from: level1, to: None }]),
    ] {
        assert_eq!(check(&plan), Ok(()), "{plan:?}");
    }
}

#[test]
fn each_rule_that_is_broken_is_named() {
    let (newest, older, level1, level2) = (at(0, 9), at(0, 8), at(1, 5), at(2, 1));
    type Expected = fn(&Illegal) -> bool;
    let one = |file, span, from, to| Plan::TrivialMove(vec![goes(file, span, from, to)]);
    let twice = vec![goes(1, "a-d", newest, level1), goes(1, "c-g", newest, level1)];
    let swapped = [(older, part(2, "c-k")), (newest, part(1, "a-g"))];
    let only = [(newest, part(1, "a-g"))];
    let cases: [(Plan, Expected); 12] = [
        (Plan::TrivialMove(Vec::new()), |got| *got == Illegal::Empty),
        (one(1, "a-h", newest, newest), |got| matches!(got, Illegal::Missing { .. })),
        (one(2, "c-g", newest, newest), |got| matches!(got, Illegal::Missing { .. })),
        (one(1, "c-c", newest, newest), |got| matches!(got, Illegal::Missing { .. })),
        (Plan::TrivialMove(twice), |got| matches!(got, Illegal::Disorder { .. })),
        (merged(&swapped, &[None], level1), |got| matches!(got, Illegal::InputOrder { .. })),
        (merged(&only, &[Some("d")], level1), |got| matches!(got, Illegal::Routes { count: 1 })),
        (one(1, "a-g", newest, at(64, 1)), |got| matches!(got, Illegal::Destination { .. })),
        (one(4, "x-z", level1, at(0, 10)), |got| matches!(got, Illegal::Destination { .. })),
        (one(2, "c-k", older, level2), |got| matches!(got, Illegal::Age { .. })),
        (one(3, "a-d", level1, level2), |got| matches!(got, Illegal::Overlap { .. })),
        (merged(&only, &[None], at(1, 7)), |got| matches!(got, Illegal::Age { .. })),
    ];
    for (plan, expected) in cases {
        let got = check(&plan).expect_err("an illegal plan");
        assert!(expected(&got), "{got} for {plan:?}");
        assert!(!got.to_string().is_empty());
    }
}

#[test]
fn the_tables_of_a_set_go_to_one_destination() {
    let (newest, level1) = (at(0, 9), at(1, 7));
    let inputs = [(newest, part(1, "a-g")), (at(0, 8), part(2, "c-k"))];
    let of = |streams: [u16; 2]| {
        let Plan::Merge(mut merge) = merged(&inputs, &[Some("d"), None], level1) else {
            panic!("a merge")
        };
        merge.set = true;
        merge.routes.iter_mut().zip(streams).for_each(|(route, stream)| route.stream = stream);
        check(&Plan::Merge(merge))
    };
    assert_eq!(of([16, 16]), Ok(()));
    assert_eq!(of([16, 17]), Err(Illegal::Set { count: 2 }));
}

#[test]
fn parts_of_one_plan_do_not_overtake_each_other_either() {
    let (newest, older) = (at(0, 9), at(0, 8));
    let trivial_move = |first: Place, second: Place| {
        Plan::TrivialMove(vec![goes(1, "d-g", newest, first), goes(2, "d-k", older, second)])
    };
    assert_eq!(check(&trivial_move(at(1, 7), at(1, 6))), Ok(()));
    assert!(matches!(check(&trivial_move(at(1, 6), at(1, 7))), Err(Illegal::Age { .. })));
    assert!(matches!(check(&trivial_move(at(1, 6), at(1, 6))), Err(Illegal::Overlap { .. })));
}
