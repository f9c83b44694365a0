//! `terrace load`: the stored entries after a wrong line, or after a last one that may be cut
//! short.

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

    let long = format!("before\tvalue\n{}\tvalue\n", "k".repeat(70_000));
    std::fs::write(place.path().join("long"), long).unwrap();
    let error = place.fails(1, &["load", "d.img", "long"]);
    assert!(error.contains("line 2: expected a key of at most 65535 bytes"), "{error}");
    assert_eq!(place.ok(&["get", "d.img", "before"]), "value");

    place.fails(1, &["load", "d.img", "wrong", "--sorted", "--space", "sorted"]);
    let none = place.json(&["scan", "d.img", "--space", "sorted"]);
    assert_eq!(none["total"]["entries"], 0);

    let both = "{\"key\":\"b1\",\"key_hex\":\"6232\",\"value\":\"v\"}\n";
    std::fs::write(place.path().join("both"), both).unwrap();
    let error = place.fails(1, &["load", "d.img", "both", "--format", "json"]);
    assert!(error.contains("`key` or `key_hex`, found both"), "{error}");
    let error = place.fails(2, &["load", "d.img", "both", "--format", "json", "--hex"]);
    assert!(error.contains("--hex: expected --format tsv, found json"), "{error}");
    std::fs::write(place.path().join("one"), "k\tv\n").unwrap();
    assert!(place.ok(&["load", "d.img", "one"]).starts_with("loaded 1 entry, "));
}

#[test]
fn a_last_line_without_a_newline_is_stored_with_a_warning() {
    let place = Place::formatted("64MiB", "1MiB");
    let load = |text: &str, more: &[&str]| {
        std::fs::write(place.path().join("input"), text).unwrap();
        let output = place.run(&[&["load", "d.img", "input"], more].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let open = "warning: input: line 2 ends without a newline; if the input was cut off there, the \
                value that is stored is not whole\n";
    for more in [&[][..], &["--sorted", "--space", "sorted"]] {
        assert_eq!(load("a1\tvalue\nb1\tval", more), (Some(0), open.to_owned()));
        assert_eq!(load("a2\tvalue\nb2\tvalue\n", more), (Some(0), String::new()));
    }
    assert_eq!(place.ok(&["get", "d.img", "b1"]), "val");
    assert_eq!(load("a3\tvalue\nb", &[]).0, Some(1));
    let json = ["--format", "json"];
    let whole = "{\"key\":\"j\",\"value\":\"v\"}";
    assert_eq!(load(whole, &json), (Some(0), String::new()));
    let (code, error) = load(&whole[..whole.len() - 1], &json);
    assert!(code == Some(1) && error.contains("line 1: expected a JSON object"), "{error}");
}

#[test]
fn a_batch_that_finds_no_room_is_named_by_its_lines_and_all_before_it_is_there() {
    let place = Place::formatted("32MiB", "1MiB");
    let mut text = String::new();
    (1..60_000).for_each(|line| writeln!(text, "k{line:06}\t{line:0300}").unwrap());
    std::fs::write(place.path().join("much"), text).unwrap();
    let error = place.fails(4, &["load", "d.img", "much"]);
    let (_, told) = error.split_once("lines ").expect("lines");
    let first: u64 = told.split(' ').next().unwrap().parse().expect("a number");
    assert!(first > 1 && error.contains(": d.img: no space: "), "{error}");
    assert!(error.contains(&format!("; stored up to line {}: `--from-line {first}`", first - 1)));
    let all = place.json(&["scan", "d.img"]);
    assert_eq!(all["total"]["entries"], first - 1, "{error}");
    std::fs::write(place.path().join("large"), vec![b'v'; 31 << 20]).unwrap();
    let error = place.fails(4, &["put", "d.img", "large", "--file", "large"]);
    let last = error.lines().last().expect("a line");
    assert!(last.starts_with("error: d.img: no space: "), "{error}");
}

#[test]
fn a_value_of_a_third_of_a_drive_is_overwritten_by_one_command_after_the_other() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    place.ok(&["format", "d.img"]);
    for round in 1..=4_u64 {
        // No part of it is repeated, so that it is not compressed.
        let words =
            (1..=(20 << 20) / 8).map(|word| (word * round).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let value: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        std::fs::write(place.path().join("value"), &value).unwrap();
        place.ok(&["put", "d.img", "key", "--file", "value", "--unsynced-image"]);
        assert!(place.run(&["get", "d.img", "key"]).stdout == value, "round {round}");
    }
}
