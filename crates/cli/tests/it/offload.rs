//! A store with an offload drive, by the program: the drive is found again, tables lie on it, and
//! its loss is told by ranges of keys.

use std::fmt::Write as _;

use crate::program::Place;

/// A store with an offload drive, and so many entries from a file.
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
    place.ok(&["load", "drive.img", "entries"]);
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
    assert_eq!(scanned(place.ok(&["scan", "drive.img", "--offload", "away.img"])), 30_000);
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
