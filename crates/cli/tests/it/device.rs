//! Tests of `terrace device`: drives of every kind are made and reported, an impossible shape is a
//! wrong command line, and neither a file nor a missing device is written over.

use crate::program::Place;

#[test]
fn a_drive_is_made_and_reported() {
    let place = Place::new();
    let shape = ["--size", "100MB", "--zone-size", "16MiB", "--conventional", "2"];
    let made = place.json(&[&["device", "create", "drive.img"][..], &shape].concat());
    assert_eq!(made["zone_count"], 6);
    assert_eq!(made["capacity"], 99_999_744);
    let report = place.json(&["device", "report", "drive.img"]);
    let zones = report["zones"].as_array().unwrap();
    assert_eq!(zones.len(), 6);
    assert_eq!(zones[1]["zone_type"], "conventional");
    assert_eq!(zones[1]["written"], serde_json::Value::Null);
    assert_eq!(zones[2]["state"], "empty");
    assert_eq!(zones[2]["written"], 0);
    let some = place.json(&["device", "report", "drive.img", "--first", "4", "--count", "9"]);
    assert_eq!(some["zones"].as_array().unwrap().len(), 2);
}

#[test]
fn a_report_in_text_joins_zones_that_are_alike() {
    let place = Place::new();
    place.ok(&["device", "create", "drive.img", "--size", "14TB", "--zone-size", "256MiB"]);
    let report = place.ok(&["device", "report", "drive.img"]);
    assert!(report.contains("52155 zones of 256 MiB"), "{report}");
    assert!(report.contains("0-52153  sequential  empty"), "{report}");
    assert!(report.lines().count() < 10, "{report}");
}

#[test]
fn a_drive_is_a_disk_if_it_is_made_one() {
    let place = Place::new();
    for (name, flag, medium) in
        [("disk.img", Some("--rotational"), "medium: a disk"), ("other.img", None, "not known")]
    {
        place.ok(&["device", "create", name].into_iter().chain(flag).collect::<Vec<_>>());
        let report = place.ok(&["device", "report", name]);
        assert!(report.contains(medium), "{report}");
    }
}

#[test]
fn a_drive_is_not_made_over_a_file() {
    let place = Place::new();
    place.ok(&["device", "create", "drive.img"]);
    let error = place.fails(1, &["device", "create", "drive.img"]);
    assert!(error.contains("drive.img"), "{error}");
}

#[test]
fn an_impossible_shape_is_a_wrong_command_line() {
    let place = Place::new();
    for shape in [
        ["--zone-size", "1000"],
        ["--zone-size", "0"],
        ["--zone-capacity", "17MiB"],
        ["--logical-block", "1024"],
        ["--physical-block", "0"],
        ["--max-open", "0"],
        ["--conventional", "1000000"],
        ["--size", "12 parsecs"],
    ] {
        let error = place.fails(2, &[&["device", "create", "drive.img"][..], &shape].concat());
        assert!(error.contains("expected"), "{shape:?}: {error}");
    }
    assert!(!place.path().join("drive.img").exists());
}

#[test]
fn a_drive_of_less_than_a_block_is_refused_for_its_size() {
    let place = Place::new();
    for (kind, size) in [("tracks", "3"), ("plain", "4095"), ("tracks", "0"), ("cached", "1")] {
        let words = ["device", "create", "drive.img", "--kind", kind, "--size", size];
        let error = place.fails(2, &words);
        assert!(error.contains("size: expected a block of 4096 bytes"), "{kind}, {size}: {error}");
        assert!(!error.contains("zone"), "{kind}, {size}: {error}");
    }
}

#[test]
fn a_size_that_cannot_be_is_refused_with_its_flag() {
    let place = Place::new();
    for (shape, expected) in [
        (&["--size", "0"][..], "--size: expected a block of 4096 bytes at least, found 0 B"),
        (&["--size", "3"], "--size: expected a block"),
        (&["--zone-size", "0"], "--zone-size: expected a block"),
        (&["--kind", "plain", "--size", "0"], "--size: expected a block"),
        (&["--kind", "tracks", "--track", "1TiB"], "--track: expected 3 tracks or more"),
    ] {
        let error = place.fails(2, &[&["device", "create", "d.img"][..], shape].concat());
        assert!(error.contains(expected), "{shape:?}: {error}");
    }
}

/// Once the drive was made an eighth as large as asked for.
#[test]
fn a_physical_block_below_the_logical_one_is_refused() {
    let place = Place::new();
    for kind in ["zoned", "bands", "plain", "tracks", "drive-managed"] {
        let words = ["device", "create", "d.img", "--kind", kind, "--physical-block", "512"];
        let error = place.fails(2, &words);
        let expected = "--physical-block: expected the logical block of 4 KiB or more, found 512 B";
        assert!(error.contains(expected), "{kind}: {error}");
    }
    assert!(!place.path().join("d.img").exists());
    let words = ["device", "create", "d.img", "--size", "64MiB", "--logical-block", "512"];
    place.ok(&[&words[..], &["--physical-block", "512"]].concat());
    assert_eq!(place.json(&["device", "report", "d.img"])["capacity"], 64 << 20);
}

#[test]
fn no_format_is_advised_for_a_drive_that_is_too_small() {
    let place = Place::new();
    for (name, kind, size) in [("b.img", "bands", "400MiB"), ("t.img", "tracks", "8MiB")] {
        let told = place.ok(&["device", "create", name, "--kind", kind, "--size", size]);
        assert!(told.contains("not for a store of its own: "), "{name}: {told}");
        assert!(!told.contains("terrace format"), "{name}: {told}");
        place.fails(1, &["format", name]);
    }
    let told = place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    assert!(told.contains("next: terrace format d.img, for") && told.contains("--files"), "{told}");
}

#[test]
fn a_drive_that_is_not_there_is_not_found() {
    let place = Place::new();
    place.fails(5, &["device", "report", "drive.img"]);
    let error = place.json(&["device", "report", "drive.img"]);
    assert_eq!(error["error"]["code"], 5);
}

#[test]
fn a_plain_drive_has_no_zones() {
    let place = Place::new();
    let plain = ["device", "create", "fast.img", "--kind", "plain"];
    let made = place.json(&[&plain[..], &["--size", "1GiB"]].concat());
    assert_eq!((&made["layout"], &made["capacity"]), (&"plain".into(), &(1_u64 << 30).into()));
    let report = place.ok(&["device", "report", "fast.img"]);
    assert!(report.contains("a plain drive, without zones"), "{report}");
    assert!(!report.contains("conventional"), "{report}");
    assert_eq!(place.json(&["device", "report", "fast.img"])["geometry"]["layout"], "plain");
    place.fails(2, &[&plain[..], &["--zone-size", "1MiB"]].concat());
    let formatted = place.ok(&["format", "fast.img"]);
    assert!(formatted.contains("a drive without zones"), "{formatted}");
}

#[test]
fn a_device_that_is_not_there_is_not_made_a_file() {
    let place = Place::new();
    for kind in ["plain", "zoned"] {
        let error = place.fails(2, &["device", "create", "/dev/nvme9n9x", "--kind", kind]);
        assert!(error.contains("expected a device that is there"), "{error}");
        assert!(!std::path::Path::new("/dev/nvme9n9x").exists());
    }
}

#[test]
fn a_drive_of_tracks_says_what_a_write_destroys() {
    let place = Place::new();
    let tracks = ["device", "create", "raw.img", "--kind", "tracks"];
    let shape = ["--size", "1GiB", "--track", "512KiB", "--overlap", "3"];
    let made = place.json(&[&tracks[..], &shape].concat());
    assert_eq!(made["layout"]["tracks"]["blocks"], 128);
    assert_eq!(made["capacity"], 1_u64 << 30);
    let report = place.ok(&["device", "report", "raw.img"]);
    assert!(report.contains("a drive of shingled tracks, without zones"), "{report}");
    assert!(report.contains("tracks of 512 KiB; a write destroys the 3 after it"), "{report}");
    assert!(report.contains("medium: a disk"), "{report}");
    place.ok(&["device", "create", "usual.img", "--kind", "tracks"]);
    let report = place.ok(&["device", "report", "usual.img"]);
    assert!(report.contains("tracks of 1 MiB; a write destroys the 2 after it"), "{report}");
    place.ok(&["format", "usual.img"]);
    place.ok(&["put", "usual.img", "key", "value"]);
    assert!(place.ok(&["get", "usual.img", "key"]).contains("value"));
    place.ok(&["check", "usual.img"]);
    let wrong: [(&[&str], &str); 4] = [
        (&["--track", "1000"], "found 1000 B"),
        (&["--track", "4KiB"], "expected a positive multiple of 1 logical blocks, at least 8"),
        (&["--overlap", "0"], "expected 1 to 64 tracks"),
        (&["--max-open", "3"], "--max-open: expected --kind zoned or bands, found --kind tracks"),
    ];
    for (options, expected) in wrong {
        let create = ["device", "create", "wrong.img", "--kind", "tracks"];
        let error = place.fails(2, &[&create[..], options].concat());
        assert!(error.contains(expected), "{options:?}: {error}");
    }
    let error = place.fails(2, &["device", "create", "wrong.img", "--overlap", "2"]);
    assert!(error.contains("--overlap: expected --kind tracks, found --kind zoned"), "{error}");
}

#[test]
fn an_ordinary_disk_has_the_size_and_the_blocks_of_a_real_one() {
    let place = Place::new();
    let real = ["--drive", "seagate-st1000dm003", "--scale", "1/64"];
    for kind in ["plain", "drive-managed", "cached"] {
        let create = ["device", "create", kind, "--kind", kind];
        place.ok(&[&create[..], &real].concat());
        let report = place.json(&["device", "report", kind]);
        assert_eq!(report["layout"], "plain");
        assert_eq!(report["capacity"], 3726_u64 << 22);
        let geometry = &report["geometry"];
        assert_eq!(
            (&geometry["logical_block"], &geometry["physical_block"]),
            (&512.into(), &4096.into())
        );
        assert_eq!(geometry["rotational"], true);
    }
    let create = ["device", "create", "wrong.img", "--kind", "plain", "--size", "1TB"];
    let error = place.fails(2, &[&create[..], &real].concat());
    assert!(
        error.contains("expected at most the 14.6 GiB of the drive, found 931.3 GiB"),
        "{error}"
    );
    let create = ["device", "create", "wrong.img", "--kind", "bands"];
    let error = place.fails(2, &[&create[..], &real].concat());
    assert!(error.contains("--drive: expected --kind zoned"), "{error}");
}

#[test]
fn bands_are_zones_with_a_region_for_random_access() {
    let place = Place::new();
    let bands = ["device", "create", "bands.img", "--kind", "bands", "--size", "400MiB"];
    let made = place.json(&bands);
    assert_eq!((&made["zone_count"], &made["conventional_zones"]), (&10.into(), &1.into()));
    assert_eq!(made["zone_size"], 40 << 20);
    let other = ["device", "create", "other.img", "--kind", "bands", "--size", "400MiB"];
    let made = place.json(&[&other[..], &["--zone-size", "20MiB", "--conventional", "3"]].concat());
    assert_eq!((&made["zone_count"], &made["conventional_zones"]), (&20.into(), &3.into()));
}

#[test]
fn a_drive_after_a_real_one_without_zones_has_none() {
    let place = Place::new();
    let real = ["--drive", "hitachi-hua72303", "--scale", "1/64", "--size", "1GiB"];
    place.ok(&[&["device", "create", "own.img"][..], &real].concat());
    assert_eq!(place.json(&["device", "report", "own.img"])["layout"], "plain");
    place.ok(&[&["device", "create", "zoned.img", "--kind", "zoned"][..], &real].concat());
    assert_eq!(place.json(&["device", "report", "zoned.img"])["layout"], "zoned");
}

#[test]
fn a_shape_that_cannot_be_is_told_by_the_option_that_is_wrong() {
    let place = Place::new();
    for (options, expected) in [
        (&["--logical-block", "5000"][..], "--logical-block: expected 512 or 4096, found 5000"),
        (&["--size", "4095"], "expected a block of 4096 bytes"),
        (&["--size", "4095"], "found 4095 B"),
        (&["--max-open", "1e9"], "expected a whole number, 0 or more, found '1e9'"),
    ] {
        let create = ["device", "create", "wrong.img"];
        let error = place.fails(2, &[&create[..], options].concat());
        assert!(error.contains(expected), "{options:?}: {error}");
    }
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "8192"]);
    let error = place.fails(1, &["format", "d.img"]);
    assert!(error.contains("zones of at least 16 blocks"), "{error}");
    let error = place.fails(1, &["dump", "d.img"]);
    assert!(error.contains("no file system here") && !error.contains("DAMAGED"), "{error}");
    let error = place.fails(2, &["bench", "load", "--bytes", "10MB", "--drive", "10MB"]);
    assert!(error.contains("--zone-size"), "{error}");
}
