//! Tests of the modelled drives in the program: `terrace lab drives`, `terrace lab
//! validate-drives`, and images that take the shape of a real drive; and of `terrace lab simulate`.

use crate::program::Place;

#[test]
fn an_image_takes_the_shape_of_a_drive_and_becomes_a_store() {
    let place = Place::new();
    let shape = ["--drive", "hgst-hsh721414al", "--scale", "1/64", "--size", "4GiB"];
    let made = place.json(&[&["device", "create", "drive.img"][..], &shape].concat());
    assert_eq!((&made["zone_count"], &made["zone_size"]), (&1024.into(), &(4 << 20).into()));
    assert_eq!(made["conventional_zones"], 524);
    place.ok(&["format", "drive.img"]);
    place.ok(&["put", "drive.img", "key", "value"]);
    assert_eq!(place.ok(&["get", "drive.img", "key"]).trim(), "value");
    let whole = place.json(&["device", "create", "zns.img", "--drive", "wd-zn540"]);
    assert_eq!(whole["zone_count"], 904);
    // A store on the disk merges with one worker, as it would on the real one.
    let workers = |image: &str| place.json(&["stats", image])["workers"].as_u64();
    let report = |image: &str| place.json(&["device", "report", image, "--count", "1"]);
    assert_eq!(report("drive.img")["geometry"]["rotational"], true);
    assert_eq!(report("zns.img")["geometry"]["rotational"], false);
    assert_eq!(workers("drive.img"), Some(1));
}

#[test]
fn a_drive_that_nobody_knows_is_answered_with_those_that_are_known() {
    let place = Place::new();
    let error = place.fails(5, &["device", "create", "drive.img", "--drive", "zn54"]);
    assert!(error.contains("zn54") && error.contains("wd-zn540"), "{error}");
    let error = place.fails(2, &["device", "create", "drive.img", "--drive", "/dev/zero"]);
    assert!(error.contains("/dev/zero: expected a file, found a character device"), "{error}");
    std::fs::write(place.path().join("mine.toml"), "name = 3").unwrap();
    let error = place.fails(2, &["lab", "validate-drives", "mine.toml"]);
    assert!(error.contains("mine.toml") && error.contains("line 1"), "{error}");
    for wrong in [["--scale", "2"], ["--zone-size", "1MiB"]] {
        let words = ["device", "create", "drive.img", "--drive", "wd-zn540"];
        place.fails(2, &[&words[..], &wrong].concat());
    }
    assert!(!place.path().join("drive.img").exists());
}

#[test]
fn drives_are_listed_with_the_sources_of_their_values() {
    let place = Place::new();
    let list = place.ok(&["lab", "drives"]);
    assert_eq!(list.lines().count(), 10, "{list}");
    let one = place.ok(&["lab", "drives", "seagate-st13125nm007"]);
    assert!(one.contains("GearDB, table 1"), "{one}");
}

#[test]
fn a_model_that_is_off_fails_the_validation() {
    let place = Place::new();
    let words = ["lab", "validate-drives", "--sweep", "none"];
    let good = place.json(&[&words[..], &["hitachi-hua72303"]].concat());
    assert_eq!((&good["failures"], &good["published"][0]["depth"]), (&0.into(), &1.into()));
    let drives = concat!(env!("CARGO_MANIFEST_DIR"), "/../zone/src/timing/drives");
    let file = format!("{drives}/hitachi-hua72303.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let slow = text.replace("metric = \"160 MiB/s\"", "metric = \"200 MiB/s\"");
    std::fs::write(place.path().join("slow.toml"), slow).unwrap();
    let output = place.run(&[&words[..], &["slow.toml"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("0.80 (off)"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 are not"));
}

#[test]
fn seeds_of_simulated_worlds_are_played_and_told() {
    let place = Place::new();
    let words = ["lab", "simulate", "--seeds", "2", "--world", "scripts", "--world", "crowds"];
    let told = place.json(&words);
    assert_eq!(
        (&told["first_seed"], &told["seeds"], &told["worlds"]),
        (&0.into(), &2.into(), &4.into())
    );
    assert_eq!(told["failures"], serde_json::json!([]));
    assert!(told["events"]["compared_reads"].as_u64() > Some(50), "{told}");
    // The seed alone decides what happens.
    let one = place.ok(&["lab", "simulate", "--world", "scripts", "--seed", "7"]);
    assert!(one.starts_with("1 seed from 7 on:"), "{one}");
    assert_eq!(place.ok(&["lab", "simulate", "--world", "scripts", "--seed", "7"]), one);
    place.fails(2, &["lab", "simulate", "--seeds", "0"]);
    place.fails(2, &["lab", "simulate", "--seeds", "3", "--minutes", "1"]);
}
