//! Drives that have failed in part or as a whole: commands name these zones or devices, and the
//! remedy.

use terrace::device::ZoneState;

use crate::program::Place;

#[test]
fn a_superblock_in_a_zone_that_is_offline_is_told_from_a_drive_without_a_store() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    for command in ["get d.img key", "check d.img", "dump d.img superblock"] {
        let words: Vec<&str> = command.split(' ').collect();
        let error = place.fails(1, &words);
        assert!(error.contains("format the device first"), "{command}: {error}");
    }
    place.ok(&["format", "d.img"]);
    place.ok(&["put", "d.img", "key", "value"]);
    place.fail_zones("d.img", [0], ZoneState::Offline);
    for command in ["get d.img key", "check d.img", "stats d.img", "dump d.img superblock"] {
        let words: Vec<&str> = command.split(' ').collect();
        let error = place.fails(1, &words);
        assert!(error.contains("zone 0 is offline: if the superblock was in it"), "{error}");
        assert!(error.contains("restore it from a checkpoint"), "{error}");
        assert!(!error.contains("format the device first"), "{error}");
    }
    // The advice can be followed.
    place.ok(&["format", "d.img", "--force"]);
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["check", "d.img"]);
}

/// A zone with a table.
fn data_zone(place: &Place) -> u32 {
    let zones = place.json(&["zones", "d.img"]);
    let zones = zones["zones"].as_array().expect("a list");
    let data = zones.iter().find(|zone| zone["used_for"] == "data").expect("a table's zone");
    data["zone"].as_u64().expect("a number") as u32
}

#[test]
fn a_read_from_a_zone_that_is_offline_names_the_image_and_the_zone() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["compact", "d.img"]);
    let zone = data_zone(&place);
    place.fail_zones("d.img", [zone], ZoneState::Offline);
    let expected = format!("zone {zone} is offline");
    for command in ["get d.img key", "export d.img out"] {
        let words: Vec<&str> = command.split(' ').collect();
        let error = place.fails(1, &words);
        assert!(error.contains("d.img: reading file"), "{command}: {error}");
        assert!(error.contains(&expected), "{command}: {error}");
    }
    let scan = place.run(&["scan", "d.img"]);
    let error = String::from_utf8(scan.stderr).expect("UTF-8");
    assert_eq!(scan.status.code(), Some(1), "{error}");
    assert!(error.contains("d.img: reading file") && error.contains(&expected), "{error}");
    assert!(error.contains("with `--skip-damaged` it goes on"), "{error}");
    place.ok(&["put", "d.img", "other", "in the log"]);
    let scan = place.run(&["scan", "d.img", "--skip-damaged", "--values"]);
    assert_eq!(scan.status.code(), Some(3));
    assert_eq!(String::from_utf8(scan.stdout).expect("UTF-8"), "other\tin the log\n");
}

#[test]
fn a_log_of_which_a_zone_is_offline_is_one_problem() {
    let place = Place::formatted("64MiB", "256KiB");
    std::fs::write(place.path().join("value"), [7; 60_000]).expect("a file");
    for key in 0..8 {
        place.ok(&["put", "d.img", &key.to_string(), "--file", "value"]);
    }
    let zones = place.json(&["zones", "d.img"]);
    let zones = zones["zones"].as_array().expect("a list").iter();
    let mut logs = zones.filter(|zone| zone["used_for"] == "log");
    let first = logs.next().and_then(|zone| zone["zone"].as_u64()).expect("a zone of the log");
    assert!(logs.next().is_some(), "the log goes on in another zone");
    place.fail_zones("d.img", [first as u32], ZoneState::Offline);
    let checked = place.json(&["check", "d.img"]);
    assert_eq!(checked["error"]["message"], "expected a clean store, found 1 problem; see above");
}

#[test]
fn what_is_not_live_in_a_zone_that_has_failed_is_not_dead() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["compact", "d.img"]);
    let zone = data_zone(&place);
    for state in [ZoneState::ReadOnly, ZoneState::Offline] {
        place.fail_zones("d.img", [zone], state);
        let zones = place.json(&["zones", "d.img"]);
        let dead = zones["zones"].as_array().expect("a list").iter().map(|zone| &zone["dead"]);
        let dead: u64 = dead.map(|bytes| bytes.as_u64().expect("bytes")).sum();
        let stats = place.json(&["stats", "d.img"]);
        assert_eq!((dead, stats["space"]["dead"].as_u64()), (0, Some(0)), "{state:?}");
        assert!(!place.ok(&["zones", "d.img"]).contains("1░"), "{state:?}");
    }
}

#[test]
fn a_checkpoint_that_fails_says_what_became_of_its_target() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["compact", "d.img"]);
    place.fail_zones("d.img", [data_zone(&place)], ZoneState::Offline);
    let error = place.fails(1, &["checkpoint", "d.img", "new.img"]);
    assert!(error.contains("nothing was copied; the image new.img is removed"), "{error}");
    assert!(!place.path().join("new.img").exists());
    let error = place.fails(1, &["checkpoint", "d.img", "new/"]);
    assert!(error.contains("nothing was copied, the directory is empty again"), "{error}");
    assert_eq!(std::fs::read_dir(place.path().join("new")).expect("a directory").count(), 0);
    place.ok(&["device", "create", "e.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    let error = place.fails(1, &["checkpoint", "d.img", "e.img"]);
    assert!(error.contains("nothing was copied, the drive is blank again"), "{error}");
    let error = place.fails(1, &["get", "e.img", "key"]);
    assert!(error.contains("format the device first"), "{error}");
}

#[test]
fn a_plain_drive_that_has_failed_is_reported() {
    let place = Place::new();
    place.ok(&["device", "create", "p.img", "--kind", "plain", "--size", "64MiB"]);
    place.ok(&["format", "p.img"]);
    place.ok(&["put", "p.img", "key", "value"]);
    let commands = [
        &["check", "p.img"][..],
        &["stats", "p.img"],
        &["zones", "p.img"],
        &["device", "report", "p.img"],
    ];
    for command in commands {
        let told = place.ok(command);
        assert!(!told.contains("read-only"), "{command:?}: {told}");
    }
    place.fail_zones("p.img", [0], ZoneState::ReadOnly);
    for command in commands {
        let told = place.ok(command);
        assert!(told.contains("read-only"), "{command:?}: {told}");
    }
    for command in &commands[..3] {
        let told = place.json(command);
        assert_eq!(told["devices"][0]["failed"], "read_only", "{command:?}: {told}");
    }
    assert_eq!(place.ok(&["get", "p.img", "key"]), "value");
    place.fail_zones("p.img", [0], ZoneState::Offline);
    let error = place.fails(1, &["get", "p.img", "key"]);
    assert!(error.contains("found a device that is offline"), "{error}");
    assert!(place.ok(&["device", "report", "p.img"]).contains("state: offline"));
}
