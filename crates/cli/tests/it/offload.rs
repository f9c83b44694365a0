//! A store with an offload drive, by the program: the drive is found again, tables lie on it, and
//! its loss is told by ranges of keys.

use std::fmt::Write as _;

use crate::program::Place;

/// Loads until one has offloaded a flush.
const LOADS_MAX: usize = 10;

/// A store with an offload drive, and `entries` entries from a file.
fn store(entries: u32) -> Place {
    let place = Place::new();
    place.ok(&["device", "create", "drive.img", "--size", "256MiB"]);
    place.ok(&["device", "create", "flash.img", "--kind", "plain", "--size", "32MiB"]);
    place.ok(&["format", "drive.img", "--offload", "flash.img"]);
    let mut text = String::new();
    for number in 0..entries {
        // Each key twice, in no order.
        let key = (u64::from(number) * 7919) % u64::from(entries / 2);
        writeln!(text, "key{key:07}\t{number:0600}").expect("a string takes all");
    }
    std::fs::write(place.path().join("entries"), text).expect("a file");
    // A flush is offloaded while a compaction runs, which is up to the processors.
    for _ in 0..LOADS_MAX {
        place.ok(&["load", "drive.img", "entries"]);
        if offloaded(&place) > 0 {
            break;
        }
    }
    place
}

/// Bytes of tables on the offload drive.
fn offloaded(place: &Place) -> u64 {
    let devices = &place.json(&["stats", "drive.img"])["devices"];
    assert_eq!(devices[1]["holds_offloaded"], true, "{devices}");
    devices[1]["space"]["live"].as_u64().expect("bytes")
}

#[test]
fn a_lost_offload_drive_is_named_and_given_up_with_the_ranges_that_are_lost() {
    let place = store(60_000);
    assert!(offloaded(&place) > 0, "no flush was offloaded");
    let scanned = |text: String| text.lines().count();
    assert_eq!(scanned(place.ok(&["scan", "drive.img"])), 30_000);
    let error = place.fails(1, &["forget-offload", "drive.img"]);
    assert!(error.contains("expected an offload drive that is lost"), "{error}");
    let error = place.fails(2, &["get", "drive.img", "key0000001", "--log", "flash.img"]);
    assert!(error.contains("by --offload, found --log"), "{error}");

    std::fs::rename(place.path().join("flash.img"), place.path().join("away.img")).expect("a move");
    let error = place.fails(5, &["get", "drive.img", "key0000001"]);
    assert!(error.contains("offloaded tables") && error.contains("--offload"), "{error}");
    assert!(error.contains("`terrace forget-offload drive.img`"), "{error}");
    // The contents of the other drive can be dumped as they are.
    for part in [&["dump", "drive.img"][..], &["dump", "drive.img", "journal"]] {
        let dumped = place.run(part);
        let (out, error) = (dumped.stdout, String::from_utf8(dumped.stderr).expect("UTF-8"));
        assert!(dumped.status.success() && !out.is_empty(), "{part:?}: {error}");
        assert!(error.contains("left out the offload drive"), "{part:?}: {error}");
    }
    assert_eq!(scanned(place.ok(&["scan", "drive.img", "--offload", "away.img"])), 30_000);
    // Files that cannot be told apart are not given up.
    let mut unheard = place.command(&["forget-offload", "drive.img"]);
    let full = std::fs::File::create("/dev/full").expect("a file that takes nothing");
    assert!(!unheard.stdout(full).status().expect("a program").success());
    let told = place.json(&["forget-offload", "drive.img"]);
    let lost = told["lost"].as_array().expect("a list");
    assert!(!lost.is_empty() && lost.iter().all(|range| range["from"].is_string()), "{told}");
    place.ok(&["check", "drive.img"]);
    place.ok(&["put", "drive.img", "key0000001", "again"]);
    assert_eq!(place.ok(&["get", "drive.img", "key0000001"]), "again");
    let error = place.fails(1, &["get", "drive.img", "key0000001", "--offload", "away.img"]);
    assert!(error.contains("is on one device"), "{error}");
}

#[test]
fn use_and_wear_of_the_offload_drive_are_told_of_the_stores_life() {
    let place = store(60_000);
    let stats = place.json(&["stats", "drive.img"]);
    let life = &stats["lifetime"];
    let bytes = life["offloaded"].as_u64().expect("bytes");
    assert!(bytes >= offloaded(&place) && bytes > 0, "{life}");
    assert!(bytes <= life["bytes"]["flush"].as_u64().expect("bytes"), "{life}");
    assert_eq!(stats["process"]["offloaded"], 0);
    let told = place.ok(&["stats", "drive.img"]);
    let line = told.lines().find(|line| line.starts_with("offloaded in its life: "));
    let line = line.expect("use and wear");
    assert!(line.contains(" % of flushed bytes; they wrote device 1 over "), "{line}");
    // A drive that is given up takes nothing of this with it.
    place.ok(&["compact", "drive.img"]);
    // A flush during the compaction may have been offloaded.
    let bytes = place.json(&["stats", "drive.img"])["lifetime"]["offloaded"].as_u64();
    std::fs::remove_file(place.path().join("flash.img")).expect("a file less");
    place.ok(&["forget-offload", "drive.img"]);
    let stats = place.json(&["stats", "drive.img"]);
    assert_eq!(stats["lifetime"]["offloaded"].as_u64(), bytes);
    let told = place.ok(&["stats", "drive.img"]);
    assert!(told.lines().any(|line| line.ends_with(" % of flushed bytes")), "{told}");
}

#[test]
fn what_is_not_the_offload_drive_is_told_and_no_compaction_is_advised() {
    let place = Place::new();
    let create = |name: &str, size: &str, kind: &str| {
        place.ok(&["device", "create", name, "--size", size, "--kind", kind]);
    };
    create("d.img", "64MiB", "zoned");
    create("f.img", "32MiB", "plain");
    create("e.img", "64MiB", "zoned");
    create("g.img", "32MiB", "plain");
    place.ok(&["format", "d.img", "--offload", "f.img"]);
    place.ok(&["format", "e.img", "--offload", "g.img"]);
    place.ok(&["put", "d.img", "a", "b"]);
    let at = |name: &str| place.path().join(name);
    std::fs::copy(at("f.img"), at("old.img")).expect("a copy");
    place.ok(&["put", "d.img", "a", "c"]);
    // The drive itself: the advised command works.
    std::fs::copy(at("f.img"), at("away.img")).expect("a copy");
    let error = place.fails(1, &["forget-offload", "d.img"]);
    assert!(error.contains("found it at f.img; `terrace compact d.img` takes"), "{error}");
    place.ok(&["compact", "d.img"]);
    let error = place.fails(1, &["forget-offload", "d.img", "--offload", "f.img"]);
    assert!(error.contains("`terrace compact d.img --offload f.img` takes"), "{error}");
    let refused = |reason: &str| {
        let error = place.fails(1, &["forget-offload", "d.img"]);
        assert!(error.contains("is not the drive as the store left it"), "{error}");
        assert!(error.contains(reason) && error.contains("--force"), "{error}");
        assert!(!error.contains("compact"), "{error}");
    };
    std::fs::copy(at("old.img"), at("f.img")).expect("a copy");
    refused("an older copy");
    std::fs::copy(at("g.img"), at("f.img")).expect("a copy");
    refused("expected device 1 of store");
    std::fs::write(at("f.img"), [0; 5000]).expect("a file");
    refused("expected");
    std::fs::write(at("f.img"), []).expect("a file");
    refused("found an empty file");
    place.ok(&["forget-offload", "d.img", "--force"]);
    assert_eq!(place.ok(&["get", "d.img", "a"]), "c");
    let error = place.fails(1, &["forget-offload", "d.img"]);
    assert!(error.contains("d.img: expected a store with an offload drive"), "{error}");
    assert!(error.contains("found one on a single drive"), "{error}");
}

#[test]
fn a_log_drive_is_not_given_up() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    place.ok(&["device", "create", "l.img", "--kind", "plain", "--size", "16MiB"]);
    place.ok(&["format", "d.img", "--log", "l.img"]);
    for rest in [&[][..], &["--force"], &["--log", "l.img"]] {
        let error = place.fails(1, &[&["forget-offload", "d.img"], rest].concat());
        let expected = "d.img: expected a store with an offload drive, found one with a log drive";
        assert!(error.contains(expected) && error.contains("l.img"), "{error}");
        assert!(!error.contains("compact"), "{error}");
    }
    let error = place.fails(1, &["forget-offload", "l.img", "--force"]);
    assert!(error.contains("found its second drive"), "{error}");
}

#[test]
fn the_conditions_of_a_benchmark_name_the_offload_drive_and_the_size_of_zones() {
    let place = Place::new();
    place.ok(&["device", "create", "flash.img", "--kind", "plain", "--size", "32MiB"]);
    let bench = ["bench", "fillrandom", "--count", "2000", "--zone-size", "8MiB"];
    let with = [&bench[..], &["--offload", "flash.img"]].concat();
    let conditions = |words: &[&str]| place.json(words)["runs"][0]["conditions"].clone();
    let told = conditions(&with);
    assert_eq!(told["zone_size"], 8 << 20, "{told}");
    assert_eq!(told["offload"]["image"], "flash.img", "{told}");
    assert_eq!(told["offload"]["size"], 32 << 20, "{told}");
    assert!(conditions(&bench)["offload"].is_null());
    let directory = ["bench", "fillrandom", "--count", "2000", "--on", "directory"];
    assert!(conditions(&directory)["zone_size"].is_null());
    let text = place.ok(&with);
    assert!(text.contains("zones of 8 MiB") && text.contains("flash.img of 32 MiB"), "{text}");
}

#[test]
fn a_compaction_takes_everything_off_the_offload_drive() {
    let place = store(60_000);
    place.ok(&["compact", "drive.img"]);
    assert_eq!(offloaded(&place), 0);
}

#[test]
fn a_benchmark_takes_a_drive_without_a_store_and_leaves_none_on_it() {
    let place = Place::new();
    place.ok(&["device", "create", "flash.img", "--kind", "plain", "--size", "32MiB"]);
    let bench = ["bench", "fillrandom", "--offload", "flash.img", "--count", "2000"];
    place.ok(&bench);
    place.ok(&bench);
    place.ok(&["device", "create", "drive.img", "--size", "64MiB"]);
    place.ok(&["format", "drive.img", "--offload", "flash.img"]);
    let error = place.fails(2, &bench);
    assert!(error.contains("expected a drive that holds no store"), "{error}");
}
