//! Tests of an operator's work with a store: compactions, checkpoints onto a drive and into a
//! directory, the remains of those that fail, and entries that `scan` prints and `load` takes back.

use std::fmt::Write as _;

use terrace::device::ZoneState;

use crate::program::Place;

/// A place with a store of some files, on a drive of 64 zones of 1 MiB.
fn filled() -> Place {
    let place = Place::new();
    let tree = place.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    for file in 0..40 {
        std::fs::write(tree.join(format!("{file:02}")), format!("{file:064} ").repeat(800))
            .unwrap();
    }
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "d.img"]);
    place.ok(&["import", "d.img", "tree"]);
    place.ok(&["put", "d.img", "key", "value", "--space", "other"]);
    place
}

fn keys(place: &Place, words: &[&str]) -> Vec<String> {
    let text = place.ok(&[&["scan"], words].concat());
    text.lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect()
}

#[test]
fn a_compaction_leaves_one_run_without_what_was_overwritten() {
    let place = filled();
    place.ok(&["import", "d.img", "tree"]);
    let before = keys(&place, &["d.img"]);
    let done = place.json(&["compact", "d.img"]);
    assert_eq!(done["after"]["entries"], 41, "{done}");
    assert!(done["before"]["entries"].as_u64() > Some(41), "{done}");
    assert!(done["after"]["bytes"].as_u64() < done["before"]["bytes"].as_u64(), "{done}");
    assert!(done["written"].as_u64() > Some(1 << 20), "{done}");
    assert_eq!(keys(&place, &["d.img"]), before);
    let text = place.ok(&["compact", "d.img"]);
    assert!(text.starts_with("nothing to compact: "), "{text}");
    place.fails(5, &["compact", "d.img", "--space", "missing"]);
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
}

#[test]
fn a_compaction_of_keys_that_are_not_there_says_that_nothing_was_to_be_done() {
    let place = filled();
    place.ok(&["import", "d.img", "tree"]);
    let none = ["compact", "d.img", "--prefix", "absent"];
    // Other compactions may be due.
    let text = place.ok(&none);
    assert!(text.starts_with("nothing to compact: ") || text.starts_with("no key "), "{text}");
    let text = place.ok(&["compact", "d.img", "--prefix", "1"]);
    assert!(!text.starts_with("no key "), "{text}");
    place.ok(&["compact", "d.img"]);
    let text = place.ok(&none);
    assert!(text.starts_with("nothing to compact: "), "{text}");
    assert!(text.contains(" verified in ") && !text.contains("before"), "{text}");
    assert_eq!(place.json(&none)["compactions"], 0);
    assert_eq!(place.json(&none)["has_keys"], false);
}

#[test]
fn one_of_a_thing_is_told_in_the_singular() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    assert!(place.ok(&["stats", "d.img"]).contains("\n1 write in all; "));
    place.ok(&["compact", "d.img"]);
    let levels = &place.json(&["stats", "d.img"])["levels"];
    assert_eq!(levels[1]["range_tombstones"], 0, "{levels}");
    let text = place.ok(&["stats", "d.img"]);
    assert!(text.contains("tombstones  of ranges"), "{text}");
    assert!(text.contains("\nin its life: 1 flush, 0 merges "), "{text}");
    assert!(text.contains(", 1 trivial move, 0 delete-only compactions\n"), "{text}");
}

#[test]
fn a_scan_goes_backward_within_its_bounds_and_limit() {
    let place = filled();
    assert_eq!(keys(&place, &["d.img", "--reverse", "--limit", "2"]), ["39", "38"]);
    assert_eq!(keys(&place, &["d.img", "--reverse", "--from", "03", "--to", "05"]), ["04", "03"]);
    let mut forward = keys(&place, &["d.img", "--prefix", "1"]);
    forward.reverse();
    assert_eq!(keys(&place, &["d.img", "--prefix", "1", "--reverse"]), forward);
}

#[test]
fn a_checkpoint_holds_the_same_on_a_drive_and_in_a_directory() {
    let place = filled();
    let image = || std::fs::read(place.path().join("d.img")).unwrap();
    let (before, held) = (image(), place.ok(&["scan", "d.img", "--values"]));
    let copied = place.json(&["checkpoint", "d.img", "copy/"]);
    // The end of the last program decides how much is in tables by now and how much still in logs.
    let files = copied["tables"].as_u64().zip(copied["logs"].as_u64()).map(|(t, l)| t + l);
    assert!(files > Some(0) && copied["bytes"].as_u64() > Some(1 << 20), "{copied}");
    place.ok(&["device", "create", "e.img", "--size", "128MiB", "--zone-size", "2MiB"]);
    place.ok(&["checkpoint", "copy", "e.img"]);
    for copy in ["copy", "e.img"] {
        assert_eq!(place.ok(&["scan", copy, "--values"]), held);
        assert_eq!(place.ok(&["get", copy, "key", "--space", "other"]), "value");
        assert_eq!(place.json(&["check", copy])["check"], "clean");
        place.ok(&["put", copy, "new", "value"]);
        let error = place.fails(1, &["checkpoint", "d.img", copy]);
        assert!(error.contains("expected an empty"), "{error}");
    }
    assert!(image() == before, "a checkpoint changed its source");
}

#[test]
fn what_a_scan_prints_can_be_loaded() {
    let place = filled();
    place.ok(&["put", "d.img", "--hex", "00ff0a09", "--file", "tree/00"]);
    std::fs::write(place.path().join("bytes"), [0, 9, 10, 92, 255, 127]).unwrap();
    place.ok(&["put", "d.img", "bytes", "--file", "bytes"]);
    for (format, words) in [("tsv", &["--values"][..]), ("json", &["--values", "--json"])] {
        let dump = place.run(&[&["scan", "d.img"], words].concat()).stdout;
        std::fs::write(place.path().join("dump"), &dump).unwrap();
        for sorted in [&[][..], &["--sorted"]] {
            let target = format!("{format}{}", sorted.len());
            place.ok(&["device", "create", &target, "--size", "64MiB", "--zone-size", "1MiB"]);
            place.ok(&["format", &target]);
            let load = [&["load", target.as_str(), "dump", "--format", format], sorted].concat();
            let loaded = place.json(&load);
            assert_eq!(loaded["entries"], 42, "{loaded}");
            let found = place.run(&[&["scan", target.as_str()], words].concat()).stdout;
            assert!(found == dump, "{target}");
        }
    }
}

#[test]
fn a_sorted_load_that_is_not_sorted_leaves_nothing() {
    let place = filled();
    std::fs::write(place.path().join("dump"), "b\t1\na\t2\n").unwrap();
    let error = place.fails(1, &["load", "d.img", "dump", "--sorted", "--space", "new"]);
    assert!(error.contains("line 2") && error.contains("in order"), "{error}");
    assert_eq!(keys(&place, &["d.img", "--space", "new"]), [""; 0]);
    place.ok(&["load", "d.img", "dump", "--space", "new"]);
    assert_eq!(keys(&place, &["d.img", "--space", "new"]), ["a", "b"]);
    place.fails(5, &["load", "d.img", "missing"]);
    std::fs::write(place.path().join("dump"), "no tab\n").unwrap();
    assert!(place.fails(1, &["load", "d.img", "dump"]).contains("line 1"));
}

#[test]
fn a_compaction_that_finds_nothing_to_do_finds_the_damage_all_the_same() {
    let place = filled();
    place.ok(&["compact", "d.img"]);
    let idle = place.json(&["compact", "d.img"]);
    assert_eq!(idle["written"], 0, "{idle}");
    assert_eq!(idle["verified"], idle["after"]["bytes"], "{idle}");
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = format!("{:064} ", 7).into_bytes();
    // Dead copies in zones are damaged along with the live one.
    let places = image.windows(needle.len()).enumerate();
    let places: Vec<usize> = places.filter(|(_, w)| *w == needle).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| image[*at] ^= 1);
    std::fs::write(&path, image).unwrap();
    let error = place.fails(3, &["compact", "d.img"]);
    assert!(error.contains("corruption in "), "{error}");
}

#[test]
fn a_scan_in_hexadecimal_digits_takes_and_prints_them() {
    let place = filled();
    place.ok(&["put", "d.img", "--hex", "00ff", "v", "--space", "other"]);
    let scan =
        |more: &[&str]| place.ok(&[&["scan", "d.img", "--space", "other", "--hex"], more].concat());
    assert_eq!(scan(&["--values"]), "00ff\t76\n6b6579\t76616c7565\n");
    assert_eq!(scan(&["--prefix", "6b", "--values"]), "6b6579\t76616c7565\n");
    assert_eq!(scan(&["--from", "00", "--to", "0100"]), "           1  00ff\n");
    let entry = scan(&["--values", "--json", "--limit", "1"]);
    assert!(entry.starts_with(r#"{"bytes":1,"key_hex":"00ff","value_hex":"76"}"#), "{entry}");
    let delete = ["delete", "d.img", "--space", "other", "--hex", "--from", "00", "--to", "01"];
    place.ok(&delete);
    assert_eq!(scan(&[]), "           5  6b6579\n");
    place.fails(2, &["scan", "d.img", "--hex", "--prefix", "0"]);
}

#[test]
fn a_checkpoint_that_does_not_fit_leaves_nothing_that_passes_for_one() {
    let place = Place::formatted("128MiB", "1MiB");
    // In tables, which are not compressed by default: more than the target takes.
    let mut text = String::new();
    for number in 0..30_000u32 {
        writeln!(text, "key{number:07}\t{number:01000}").expect("a string takes all");
    }
    std::fs::write(place.path().join("entries"), text).expect("a file");
    place.ok(&["load", "d.img", "entries", "--sorted"]);
    let create = |name: &str| {
        place.ok(&["device", "create", name, "--size", "24MiB", "--zone-size", "1MiB"]);
    };
    create("blank.img");
    let error = place.fails(4, &["checkpoint", "d.img", "blank.img"]);
    assert!(error.contains("expected room for a copy"), "{error}");
    assert!(error.contains("name a larger target"), "{error}");
    assert!(error.contains("the drive is blank again"), "{error}");
    assert!(!error.contains("delete something"), "{error}");
    let error = place.fails(1, &["scan", "blank.img"]);
    assert!(error.contains("format the device first"), "{error}");
    // It is as good as new, not even to be formatted by force.
    place.ok(&["format", "blank.img"]);
    // A store that was there, and empty, stays.
    let error = place.fails(4, &["checkpoint", "d.img", "blank.img"]);
    assert!(error.contains("the drive is as it was"), "{error}");
    assert_eq!(place.ok(&["scan", "blank.img"]), "");
    place.ok(&["check", "blank.img"]);
    // A plain log drive is not left with a part of a store either.
    create("tables.img");
    place.ok(&["device", "create", "log.img", "--kind", "plain", "--size", "32MiB"]);
    let error = place.fails(4, &["checkpoint", "d.img", "tables.img", "--to-log", "log.img"]);
    assert!(error.contains("the drive is blank again"), "{error}");
    place.ok(&["format", "tables.img", "--log", "log.img"]);
}

#[test]
fn a_checkpoint_of_a_damaged_store_leaves_an_empty_directory_empty() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["compact", "d.img"]);
    let zones = place.json(&["zones", "d.img"]);
    let zones = zones["zones"].as_array().expect("a list");
    let data = zones.iter().find(|zone| zone["used_for"] == "data").expect("a table's zone");
    let zone = data["zone"].as_u64().expect("a number") as u32;
    place.fail_zones("d.img", [zone], ZoneState::Offline);
    let error = place.fails(1, &["checkpoint", "d.img", "copy/"]);
    assert!(error.contains("the directory is empty again"), "{error}");
    let copy = std::fs::read_dir(place.path().join("copy")).expect("the directory");
    assert_eq!(copy.count(), 0);
}
