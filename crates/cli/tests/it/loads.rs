//! `terrace load`: what is there after a line that is wrong.

use std::fmt::Write as _;

use crate::program::Place;

#[test]
fn after_a_line_that_is_wrong_all_entries_before_it_are_there() {
    let place = Place::formatted("64MiB", "1MiB");
    let mut lines = String::new();
    (0..3000).for_each(|number| writeln!(lines, "key{number:05}\tvalue {number}").unwrap());
    std::fs::write(place.path().join("wrong"), lines.clone() + "no tab\nkey9\tlater\n").unwrap();
    let error = place.fails(1, &["load", "d.img", "wrong"]);
    assert!(error.contains("line 3001"), "{error}");
    let all = place.json(&["scan", "d.img"]);
    assert_eq!(all["total"]["entries"], 3000);
    assert_eq!(place.ok(&["get", "d.img", "key02999"]), "value 2999");

    place.fails(1, &["load", "d.img", "wrong", "--sorted", "--space", "sorted"]);
    let none = place.json(&["scan", "d.img", "--space", "sorted"]);
    assert_eq!(none["total"]["entries"], 0);

    let both = "{\"key\":\"b1\",\"key_hex\":\"6232\",\"value\":\"v\"}\n";
    std::fs::write(place.path().join("both"), both).unwrap();
    let error = place.fails(1, &["load", "d.img", "both", "--format", "json"]);
    assert!(error.contains("`key` or `key_hex`, found both"), "{error}");
    std::fs::write(place.path().join("one"), "k\tv\n").unwrap();
    assert!(place.ok(&["load", "d.img", "one"]).starts_with("loaded 1 entry, "));
}
