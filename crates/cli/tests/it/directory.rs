//! A store in a plain directory, from the command line.

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
        assert_eq!(left, 1, "{words:?} left something behind");
    }
}
