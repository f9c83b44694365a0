//! Tests of a store in a plain directory, from the command line: only an empty directory becomes a
//! store, and damaged, missing, extra and renamed files are named.

use std::path::{Path, PathBuf};

use crate::program::Place;

#[test]
fn a_directory_is_a_store_once_it_was_made_one() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("store")).unwrap();
    place.ok(&["format", "store"]);
    place.ok(&["put", "store", "greeting", "hello"]);
    assert_eq!(place.ok(&["get", "store", "greeting"]), "hello");
    let check = place.json(&["check", "store"]);
    assert_eq!((&check["check"], &check["tables"]["tables"]), (&"clean".into(), &0.into()));
    assert_eq!(place.json(&["fs", "ls", "store"])["files"][0]["kind"], "log");
    assert_eq!(place.json(&["stats", "store"])["sequence"], 1);
    let error = place.fails(1, &["zones", "store"]);
    assert!(error.contains("found a directory"), "{error}");
    std::fs::create_dir(place.path().join("empty")).unwrap();
    let error = place.fails(1, &["dump", "empty"]);
    assert!(error.contains("empty: expected a store, found no file CURRENT"), "{error}");
    for words in [
        &["format", "empty", "--log", "fast.img"][..],
        &["put", "store", "key", "value", "--unsynced-image"],
        &["check", "store", "--offload", "fast.img"],
        &["fs", "ls", "store", "--log", "fast.img"],
    ] {
        let error = place.fails(2, words);
        assert!(error.contains(": expected a drive, found the directory"), "{words:?}: {error}");
    }
}

#[test]
fn a_directory_of_other_things_is_left_as_it_is() {
    let place = Place::new();
    let path = place.path().join("other");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("file"), "precious").unwrap();
    for words in [
        &["put", "other", "key", "value"][..],
        &["get", "other", "key"],
        &["format", "other"],
        &["format", "other", "--force"],
        &["check", "other"],
    ] {
        let error = place.fails(1, words);
        assert!(error.contains("expected"), "{words:?}: {error}");
        let left = std::fs::read_dir(&path).unwrap().count();
        assert_eq!(left, 1, "{words:?} left a file");
    }
}

#[test]
fn a_directory_with_what_an_interrupted_format_has_left_is_formatted() {
    let place = Place::new();
    let path = place.path().join("store");
    std::fs::create_dir(&path).unwrap();
    for name in ["LOCK", "JOURNAL-000001", "CURRENT.new"] {
        std::fs::write(path.join(name), b"").unwrap();
    }
    place.ok(&["format", "store"]);
    place.ok(&["put", "store", "key", "value"]);
    let error = place.fails(1, &["format", "store"]);
    assert!(error.contains("store: expected an empty directory, found files in it"), "{error}");
    assert_eq!(place.ok(&["get", "store", "key"]), "value");
}

/// A store in a directory with 40,000 entries in its log, closed.
fn loaded() -> (Place, PathBuf) {
    let place = Place::new();
    std::fs::create_dir(place.path().join("store")).unwrap();
    place.ok(&["format", "store"]);
    let lines = (0..40_000).map(|n| format!("key {n:05}\tvalue {n}\n"));
    std::fs::write(place.path().join("entries"), lines.collect::<String>()).unwrap();
    place.ok(&["load", "store", "entries"]);
    let log = files(&place.path().join("store"), "log").pop().expect("a log");
    (place, log)
}

/// The files of a kind, by id.
fn files(store: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|is| is == kind)).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_damaged_log_of_a_closed_store_is_named_and_is_not_an_empty_store() {
    let (place, log) = loaded();
    let store = place.path().join("store");
    assert_eq!(place.json(&["check", "store"])["closed"], true);
    let name = log.file_name().unwrap().to_str().unwrap().to_owned();
    type Damage = fn(&Path, Vec<u8>);
    let damages: [(&str, Damage); 7] = [
        ("flipped", |path, mut bytes| {
            bytes[100] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }),
        ("emptied", |path, _| std::fs::write(path, "").unwrap()),
        ("zeroed", |path, bytes| std::fs::write(path, vec![0; bytes.len()]).unwrap()),
        ("halved", |path, bytes| std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap()),
        ("longer", |path, bytes| std::fs::write(path, [&bytes[..], b"more"].concat()).unwrap()),
        ("removed", |path, _| std::fs::remove_file(path).unwrap()),
        ("a directory", |path, _| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let damaged = place.path().join("damaged");
        copy(&store, &damaged);
        let path = damaged.join(&name);
        damage(&path, std::fs::read(&path).unwrap());
        let checked = place.run(&["check", "damaged"]);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert_eq!(checked.status.code(), Some(3), "{what}: {said}");
        for part in [&format!("damaged/{name}"), "expected", "found", "offset"] {
            assert!(said.contains(part), "{what}: {said}");
        }
        // Bytes after the log's end are not read: nothing is lost.
        let code = if what == "longer" { 0 } else { 3 };
        assert_eq!(place.run(&["scan", "damaged"]).status.code(), Some(code), "{what}");
        std::fs::remove_dir_all(&damaged).unwrap();
    }
}

#[test]
fn a_missing_an_extra_and_a_renamed_file_are_named() {
    let (place, log) = loaded();
    place.ok(&["compact", "store"]);
    let store = place.path().join("store");
    let table = files(&store, "table").pop().expect("a table");
    std::fs::rename(&table, store.join("009999.table")).unwrap();
    let name = table.file_name().unwrap().to_str().unwrap();
    let checked = place.run(&["check", "store"]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(3), "{said}");
    assert!(said.contains(name) && said.contains("009999.table"), "{said}");
    // A writer would take the renamed file for a leftover, and remove it.
    let error = place.fails(3, &["put", "store", "key", "value"]);
    assert!(error.contains(name) && error.contains("009999.table"), "{error}");
    std::fs::rename(store.join("009999.table"), &table).unwrap();
    place.ok(&["check", "store"]);
    std::fs::write(store.join("009999.log"), b"").unwrap();
    let checked = place.run(&["check", "store"]);
    assert_eq!(checked.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("009999.log"));
    place.ok(&["put", "store", "key", "value"]);
    assert!(!store.join("009999.log").exists(), "an opening for writing removes leftovers");
    assert!(!log.exists(), "the log was flushed");
    place.ok(&["check", "store"]);
}
