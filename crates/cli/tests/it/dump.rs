//! Tests of `terrace dump`: everything that is listed can be dumped, keys are chosen by range and
//! key space, damage is reported and the rest still dumped, also of a store that cannot be mounted.
//! Nothing is changed.

use serde_json::Value;

use crate::program::Place;

/// A place with a store of tables and a log, on a drive of 64 zones of 1 MiB.
fn filled() -> Place {
    let place = Place::new();
    let tree = place.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    for file in 0..60 {
        std::fs::write(tree.join(format!("{file:02}")), format!("{file:064} ").repeat(800))
            .unwrap();
    }
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "d.img"]);
    place.ok(&["put", "d.img", "first", "needle of the log", "--space", "other"]);
    place.ok(&["import", "d.img", "tree"]);
    place.ok(&["put", "d.img", "last", "needle at the end"]);
    place
}

/// The objects of a dump.
fn parts(place: &Place, words: &[&str]) -> Vec<Value> {
    let words = [&["dump", "d.img", "--json"], words].concat();
    let output = place.run(&words);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn count(parts: &[Value], part: &str) -> usize {
    parts.iter().filter(|object| object["part"] == part).count()
}

/// The ids of the files of a kind.
fn files(place: &Place, kind: &str) -> Vec<String> {
    let list = parts(place, &[]);
    let of_kind = list.iter().filter(|object| object["kind"] == kind);
    of_kind.map(|object| object["id"].to_string()).collect()
}

#[test]
fn everything_that_is_listed_can_be_dumped_and_nothing_is_changed() {
    let place = filled();
    let image = || std::fs::read(place.path().join("d.img")).unwrap();
    let before = image();
    let (tables, logs) = (files(&place, "table"), files(&place, "log"));
    assert!(tables.len() > 1 && !logs.is_empty(), "{tables:?} {logs:?}");
    let mut entries = 0;
    for file in tables.iter().chain(&logs) {
        place.ok(&["dump", "d.img", file, "--blocks", "--entries"]);
        let found = parts(&place, &[file, "--entries", "--values"]);
        let sums = found.iter().find(|object| object["part"] == "sums").expect("sums");
        assert_eq!(sums["entries"].as_u64().unwrap() as usize, count(&found, "entry"));
        entries += count(&found, "entry");
    }
    assert_eq!(entries, 62);
    assert!(count(&parts(&place, &["journal"]), "append") > 5);
    assert!(count(&parts(&place, &["superblock"]), "superblock") > 0);
    assert!(place.ok(&["dump", "d.img"]).contains("\"other\""));
    place.fails(5, &["dump", "d.img", "12345"]);
    assert!(image() == before, "a dump changed the image");
}

#[test]
fn what_chooses_entries_is_refused_where_no_file_is_dumped() {
    let place = filled();
    for words in [&["--key", "first"][..], &["journal", "--entries"], &["superblock", "--blocks"]] {
        let error = place.fails(2, &[&["dump", "d.img"][..], words].concat());
        assert!(error.contains("expected the id of a table or a log"), "{words:?}: {error}");
    }
}

#[test]
fn keys_are_chosen_by_range_prefix_and_key_space() {
    let place = filled();
    let (all, logs) = (files(&place, "table"), files(&place, "log"));
    let all: Vec<String> = all.into_iter().chain(logs).collect();
    let keys = |words: &[&str]| -> Vec<String> {
        let dumps = all
            .iter()
            .flat_map(|file| parts(&place, &[&[file.as_str(), "--entries"], words].concat()));
        let entries = dumps.filter(|object| object["part"] == "entry");
        let mut keys: Vec<String> =
            entries.map(|object| object["key"].as_str().unwrap().to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&["--key", "07"]), ["07"]);
    assert_eq!(keys(&["--key", "3037", "--hex"]), ["07"]);
    assert_eq!(keys(&["--prefix", "1"]).len(), 10);
    assert_eq!(keys(&["--from", "58", "--to", "l"]), ["58", "59"]);
    assert_eq!(keys(&["--space", "other"]), ["first"]);
    place.fails(5, &["dump", "d.img", &all[0], "--space", "missing"]);
}

#[test]
fn damage_is_told_and_the_rest_is_still_dumped() {
    let place = filled();
    let path = place.path().join("d.img");
    let table = files(&place, "table").remove(0);
    let sound = parts(&place, &[&table, "--entries", "--values"]);
    let value = sound.iter().find(|object| object["part"] == "entry").unwrap()["value"].clone();
    let needle = format!("{} ", value.as_str().unwrap().split(' ').next().unwrap());
    let mut image = std::fs::read(&path).unwrap();
    // Tables and log may both hold it.
    let places: Vec<usize> = (0..image.len() - needle.len())
        .filter(|at| image[*at..].starts_with(needle.as_bytes()))
        .collect();
    for at in places.iter().step_by(400) {
        image[*at] ^= 1;
    }
    std::fs::write(&path, image).unwrap();
    let output = place.run(&["dump", "d.img", &table, "--entries"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("DAMAGED block"));
    let left = parts(&place, &[&table, "--entries"]);
    assert!(count(&left, "entry") + 1 >= count(&sound, "entry") && count(&left, "entry") > 0);
    let last = left.last().unwrap();
    assert_eq!(last["error"]["code"], 3);
    assert!(left.iter().any(|object| object["damage"].is_string()));
}

/// All objects in a value that have an address.
fn addresses<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    if value["block"].is_u64() && value["device"].is_u64() {
        found.push(value);
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| addresses(value, found)),
        Value::Object(object) => object.values().for_each(|value| addresses(value, found)),
        _ => {}
    }
}

#[test]
fn every_address_of_a_dump_says_which_zone_it_lies_in() {
    let place = filled();
    let dumps = [parts(&place, &["superblock"]), parts(&place, &["journal"])].concat();
    let mut found = Vec::new();
    dumps.iter().for_each(|object| addresses(object, &mut found));
    assert!(found.len() > 5, "{} addresses", found.len());
    for address in &found {
        assert_eq!(address["device"], 0, "{address}");
        // Zones of 256 blocks.
        let zone = address["block"].as_u64().unwrap() / 256;
        assert_eq!(address["zone"].as_u64(), Some(zone), "{address}");
    }
    let extents = found.iter().filter(|address| address["blocks"].is_u64());
    assert!(extents.count() > 1, "a dump of the journal shows extents");
    let text = place.ok(&["dump", "d.img", "superblock"]);
    assert!(text.contains("log at device 0 block 0 (zone 0) and device 0 block 256 (zone 1)"));
    assert!(text.contains("  device      0 of 1"), "{text}");
}

#[test]
fn a_store_that_cannot_be_mounted_can_be_dumped() {
    let place = filled();
    let journal = parts(&place, &["journal"]);
    let appends: Vec<&Value> = journal.iter().filter(|o| o["part"] == "append").collect();
    let frame = &appends[appends.len() / 2]["frames"][0];
    let region = frame["region"].as_str().unwrap();
    assert!(region.starts_with("journal on device 0 (zone "), "{region}");
    // The place of a zone's blocks in the image is the emulator's business: the frame is found by
    // its contents.
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let sequence = frame["sequence"].as_u64().unwrap().to_le_bytes();
    let synced = frame["synced"].as_u64().unwrap().to_le_bytes();
    let needle = [&sequence[..], &synced[..]].concat();
    let at = image.windows(needle.len()).position(|window| window == needle).unwrap();
    image[at + 40] ^= 0xff;
    std::fs::write(&path, image).unwrap();
    assert_eq!(place.run(&["get", "d.img", "00"]).status.code(), Some(3), "{region}");
    let output = place.run(&["dump", "d.img", "journal"]);
    assert_eq!(output.status.code(), Some(3));
    let after = parts(&place, &["journal"]);
    assert_eq!(count(&after, "append") + 1, appends.len());
    assert_eq!(place.run(&["dump", "d.img"]).status.code(), Some(3));
}

#[test]
fn a_store_in_a_directory_is_dumped_alike() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("store")).unwrap();
    place.ok(&["format", "store"]);
    place.ok(&["put", "store", "key", "value"]);
    assert!(place.ok(&["dump", "store"]).contains("log"));
    let log = place.json(&["fs", "ls", "store"])["files"][0]["id"].to_string();
    assert!(place.ok(&["dump", "store", &log, "--entries", "--values"]).contains("\"key\"  value"));
    // Every opening for writing rolls: how the log came to be may be in the snapshot.
    assert!(place.ok(&["dump", "store", "journal"]).contains("head of a snapshot"));
    assert!(place.ok(&["dump", "store", "superblock"]).contains("in a file"));
}
