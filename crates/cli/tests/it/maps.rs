//! Tests of `zones`, `stats` and `demo` on devices of every kind: maps and lists of devices with
//! and without zones, and stores that go from kind to kind by export and checkpoint.

use std::fs;

use serde_json::Value;

use crate::program::Place;

/// A place with a directory `in` of some megabytes, and a formatted drive of a kind.
fn loaded(kind: &str, size: &str) -> Place {
    let place = Place::new();
    let root = place.path().join("in");
    fs::create_dir(&root).expect("a directory");
    for number in 0..60_u32 {
        // Bytes that do not compress.
        let mut state = number + 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        let contents: Vec<u8> = (0..100_000).map(|_| next()).collect();
        fs::write(root.join(number.to_string()), contents).expect("a file");
    }
    place.ok(&["device", "create", "d.img", "--kind", kind, "--size", size]);
    place.ok(&["format", "d.img"]);
    place.ok(&["import", "d.img", "in"]);
    place.ok(&["compact", "d.img"]);
    place
}

/// The sum of the runs of a use.
fn bytes(runs: &[Value], used_for: &str) -> u64 {
    let of_use = runs.iter().filter(|run| run["used_for"] == used_for);
    of_use.map(|run| run["size"].as_u64().expect("bytes")).sum()
}

#[test]
fn devices_without_zones_are_drawn_and_listed() {
    for kind in ["tracks", "plain", "drive-managed", "cached"] {
        let place = loaded(kind, "640MiB");
        let map = place.ok(&["zones", "d.img"]);
        assert!(map.contains("each cell stands for 4 MiB; addresses in MiB"), "{kind}: {map}");
        assert!(map.lines().nth(2).expect("a row").starts_with("     0 |S"), "{kind}: {map}");
        assert!(map.lines().count() < 30, "free rows are drawn once: {map}");
        assert!(map.contains("     *\n") && map.contains("free in "), "{kind}: {map}");
        assert_eq!(map.contains("guards"), kind == "tracks", "{kind}: {map}");
        let list = place.ok(&["zones", "d.img", "--list"]);
        assert!(list.contains("superblock") && list.contains("journal"), "{kind}: {list}");
        let object = place.json(&["zones", "d.img"]);
        assert_eq!(object["zones"].as_array().map(Vec::len), Some(0));
        let device = &object["plain"][0];
        let runs = device["runs"].as_array().expect("runs");
        let mut next = 0;
        for run in runs {
            assert_eq!(run["start"], next, "{kind}: {run}");
            next += run["size"].as_u64().expect("bytes");
        }
        assert_eq!(next, 640 << 20, "{kind}");
        assert_eq!(bytes(runs, "superblock"), 1 << 20, "{kind}");
        assert_eq!(bytes(runs, "guard") > 0, kind == "tracks", "{kind}: {runs:?}");
        assert!(bytes(runs, "data") > 4 << 20, "{kind}: {runs:?}");
        let free = &device["free"];
        assert!(free["longest"].as_u64() > Some(500 << 20), "{kind}: {free}");
        let stats = place.json(&["stats", "d.img"]);
        assert_eq!(&stats["free"], free, "{kind}");
        let efficiency = stats["space_efficiency"].as_f64().expect("a share");
        assert!((0.05..1.0).contains(&efficiency), "{kind}: {efficiency}");
        let stats = place.ok(&["stats", "d.img"]);
        assert!(stats.contains("% of the space in use"), "{kind}: {stats}");
        for text in [stats, place.ok(&["fs", "df", "d.img"])] {
            assert_eq!(text.contains("guards after free blocks"), kind == "tracks", "{text}");
        }
    }
}

#[test]
fn a_map_of_zones_and_one_of_the_plain_drive_beside_them_are_drawn_together() {
    let place = loaded("bands", "2560MiB");
    let map = place.ok(&["zones", "d.img"]);
    assert!(map.contains("64 zones") && !map.contains("each cell"), "{map}");
    place.ok(&["device", "create", "log.img", "--kind", "plain", "--size", "64MiB"]);
    place.ok(&["format", "d.img", "--force", "--log", "log.img"]);
    place.ok(&["import", "d.img", "in"]);
    let map = place.ok(&["zones", "d.img"]);
    let (zones, plain) = map.split_once("\ndevice 1, plain:\n").expect("two maps");
    assert!(zones.contains("64 zones"), "{zones}");
    assert!(plain.contains("each cell stands for 256 KiB") && plain.contains("LLLL"), "{plain}");
    let object = place.json(&["zones", "d.img"]);
    assert_eq!(object["plain"][0]["device"], 1);
    assert_eq!(object["plain"][0]["free"], Value::Null, "it holds no tables");
}

#[test]
fn the_demonstration_runs_on_every_kind_of_drive() {
    let place = Place::new();
    let root = place.path().join("in");
    fs::create_dir(&root).expect("a directory");
    for number in 0..200 {
        fs::write(root.join(number.to_string()), format!("{number} ").repeat(1000)).expect("room");
    }
    for (kind, words) in [("tracks", "of shingled tracks"), ("bands", "zones of 40 MiB")] {
        let told = place.ok(&["demo", "in", "--kind", kind]);
        assert!(told.contains(words) && told.contains("check clean"), "{kind}: {told}");
        assert_eq!(told.contains("each cell stands for"), kind == "tracks", "{told}");
    }
}

/// A drive of a kind, formatted for a system that is at home there.
fn made(place: &Place, image: &str, kind: &str, system: &str) {
    // No whole number of stretches, bands or tracks.
    place.ok(&["device", "create", image, "--kind", kind, "--size", "2GB"]);
    place.ok(&["format", image, "--system", system]);
}

#[test]
fn a_store_goes_from_kind_to_kind_by_export_and_by_checkpoint() {
    let place = Place::new();
    let root = place.path().join("in");
    fs::create_dir_all(root.join("deep")).expect("a directory");
    let mut expected = Vec::new();
    for number in 0..300_usize {
        let name = format!("deep/{number}");
        let contents = format!("{number} ").repeat(number * 7 + 1);
        fs::write(root.join(&name), &contents).expect("room");
        expected.push((name, contents));
    }
    place.ok(&["device", "create", "0.img", "--size", "256MiB"]);
    place.ok(&["format", "0.img", "--system", "geardb"]);
    place.ok(&["import", "0.img", "in"]);
    let kinds = [
        ("tracks", "sealdb"),
        ("zoned", "lifetime"),
        ("plain", "leveldb-disk"),
        ("bands", "smrdb"),
        ("tracks", "leveldb-sets"),
        ("cached", "leveldb-disk"),
    ];
    for (at, (kind, system)) in kinds.into_iter().enumerate() {
        let (from, to) = (format!("{at}.img"), format!("{}.img", at + 1));
        made(&place, &to, kind, system);
        if at % 2 == 0 {
            let out = format!("out{at}");
            place.ok(&["export", &from, &out]);
            place.ok(&["import", &to, &out]);
        } else {
            place.ok(&["checkpoint", &from, &to]);
        }
        let checked = place.json(&["check", &to]);
        assert_eq!(checked["check"], "clean", "{kind}: {checked}");
        place.ok(&["compact", &to]);
        assert_eq!(place.json(&["check", &to])["check"], "clean", "{kind}, compacted");
    }
    place.ok(&["export", &format!("{}.img", kinds.len()), "last"]);
    for (name, contents) in expected {
        let found = fs::read_to_string(place.path().join("last").join(&name)).expect("a file");
        assert!(found == contents, "{name}");
    }
}

#[test]
fn a_drive_of_tracks_that_cannot_hold_a_store_or_is_cut_off_is_refused_in_words() {
    let place = Place::new();
    let create = ["device", "create", "d.img", "--kind", "tracks"];
    for (shape, expected) in [
        (["--track", "0"], "track: expected"),
        (["--track", "5000"], "whole blocks"),
        (["--overlap", "0"], "overlap: expected 1 to 64 tracks"),
        (["--overlap", "65"], "overlap: expected 1 to 64 tracks"),
        (["--size", "0"], "size: expected"),
        (["--zone-size", "1MiB"], "--kind zoned or bands"),
    ] {
        let error = place.fails(2, &[&create[..], &shape].concat());
        assert!(error.contains(expected), "{shape:?}: {error}");
        assert!(!place.path().join("d.img").exists(), "{shape:?}");
    }
    for shape in [["--size", "8MiB"], ["--size", "64MiB"], ["--track", "1GiB"]] {
        place.ok(&[&create[..], &shape].concat());
        let error = place.fails(1, &["format", "d.img"]);
        assert!(error.contains("expected a shingled device of"), "{shape:?}: {error}");
        fs::remove_file(place.path().join("d.img")).expect("the image");
    }
    place.ok(&[&create[..], &["--size", "96MiB"]].concat());
    place.ok(&["format", "d.img", "--system", "sealdb"]);
    let image = fs::OpenOptions::new().write(true).open(place.path().join("d.img")).expect("it");
    let whole = image.metadata().expect("its length").len();
    for len in [100, 4096, whole / 2, whole - 1] {
        image.set_len(len).expect("a length");
        for command in ["check", "zones", "stats"] {
            let error = place.fails(3, &[command, "d.img"]);
            assert!(error.contains("expected"), "{command} at {len}: {error}");
        }
    }
}
