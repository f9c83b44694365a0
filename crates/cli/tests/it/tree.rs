//! Directory trees into a store and out again.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::program::Place;

/// A small tree with a file of each kind.
fn grow(root: &Path) {
    fs::create_dir_all(root.join("deep/er")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::write(root.join("deep/er/file"), "contents").unwrap();
    fs::write(root.join("deep/nothing"), "").unwrap();
    fs::write(root.join("large"), vec![42; 3 << 20]).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xff\xfe")), "no text").unwrap();
    symlink("deep/er/file", root.join("good")).unwrap();
    symlink("../../nowhere", root.join("deep/dangling")).unwrap();
}

fn formatted() -> Place {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "256MiB", "--zone-size", "4MiB"]);
    place.ok(&["format", "d.img"]);
    place
}

#[test]
fn a_tree_comes_back_bit_for_bit() {
    let place = formatted();
    let (from, to) = (place.path().join("in"), place.path().join("out"));
    grow(&from);
    let loaded = place.json(&["import", "d.img", "in"]);
    assert_eq!((&loaded["files"], &loaded["links"]), (&4.into(), &2.into()));
    assert_eq!(loaded["bytes"], (3 << 20) + 8 + 7);
    assert_eq!(place.ok(&["get", "d.img", "deep/er/file"]), "contents");
    let written = place.json(&["export", "d.img", "out"]);
    assert_eq!((&written["files"], &written["links"]), (&4.into(), &2.into()));
    for file in [&b"deep/er/file"[..], b"deep/nothing", b"large", b"\xff\xfe"] {
        let file = OsStr::from_bytes(file);
        assert_eq!(fs::read(to.join(file)).unwrap(), fs::read(from.join(file)).unwrap());
    }
    for link in ["good", "deep/dangling"] {
        assert_eq!(fs::read_link(to.join(link)).unwrap(), fs::read_link(from.join(link)).unwrap());
    }
    assert!(!to.join("empty").exists());
}

#[test]
fn nothing_is_overwritten_unless_asked() {
    let place = formatted();
    grow(&place.path().join("in"));
    place.ok(&["import", "d.img", "in"]);
    place.ok(&["export", "d.img", "out"]);
    let error = place.fails(1, &["export", "d.img", "out"]);
    assert!(error.contains("--overwrite"), "{error}");
    fs::write(place.path().join("out/deep/nothing"), "something").unwrap();
    place.ok(&["export", "d.img", "out", "--overwrite"]);
    assert_eq!(fs::read(place.path().join("out/deep/nothing")).unwrap(), b"");
}

#[test]
fn a_key_that_leads_out_of_the_directory_is_refused() {
    let place = formatted();
    place.ok(&["put", "d.img", "../escaped", "value"]);
    let error = place.fails(1, &["export", "d.img", "out"]);
    assert!(error.contains("relative paths"), "{error}");
    assert!(!place.path().join("escaped").exists());
}

#[test]
fn a_file_above_the_limit_is_refused_before_anything_is_written() {
    let place = formatted();
    let root = place.path().join("in");
    grow(&root);
    let huge = fs::File::create(root.join("huge")).unwrap();
    huge.set_len((64 << 20) + 1).unwrap();
    let error = place.fails(1, &["import", "d.img", "in"]);
    assert!(error.contains("huge") && error.contains("at most 64 MiB"), "{error}");
    place.fails(5, &["get", "d.img", "large"]);
}

#[test]
fn the_demonstration_holds_what_it_promises_on_a_small_tree() {
    let place = Place::new();
    let root = place.path().join("in");
    grow(&root);
    for number in 0..500 {
        let contents = format!("{number} ").repeat(1000);
        fs::write(root.join(format!("deep/{number}")), contents).unwrap();
    }
    let outcome = place.json(&["demo", "in", "--seed", "7", "--keep", "kept.img"]);
    assert_eq!(outcome["files"], 504, "{outcome}");
    assert_eq!(outcome["verified"], outcome["files"]);
    assert_eq!(outcome["synced_lost"], 0);
    assert_eq!(outcome["check"], "clean");
    assert!(outcome["write_amplification"]["total"].as_f64().unwrap() >= 1.0);
    assert!(outcome["zones_reset"].as_u64().is_some());
    assert!(outcome["levels"].as_array().unwrap().len() >= 3, "{}", outcome["levels"]);
    assert_eq!(place.json(&["check", "kept.img"])["check"], "clean");
}

#[test]
fn the_demonstration_leaves_nothing_behind() {
    let place = Place::new();
    grow(&place.path().join("in"));
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["demo", "in"])
        .current_dir(place.path())
        .env("TMPDIR", place.path())
        .output()
        .unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success(), "{text}");
    assert!(text.contains("0 synced writes lost, check clean"), "{text}");
    let left: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["in"]);
}
