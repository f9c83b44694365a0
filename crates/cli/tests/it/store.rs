//! Tests of a store on a drive, from the command line: puts, gets, deletes, scans and key spaces;
//! formats that are refused; damage, its exit code and how reads go on after it; full drives; and
//! that commands that read leave the image as it is.

use serde_json::Value;
use terrace::device::ZoneState;

use crate::program::Place;

#[test]
fn what_is_put_is_got_and_what_is_deleted_is_gone() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "greeting", "hello"]);
    assert_eq!(place.ok(&["get", "d.img", "greeting"]), "hello");
    place.ok(&["put", "d.img", "greeting", "good day"]);
    let json = place.json(&["get", "d.img", "greeting"]);
    assert_eq!(json, serde_json::json!({ "key": "greeting", "value": "good day" }));
    place.ok(&["delete", "d.img", "greeting"]);
    place.fails(5, &["get", "d.img", "greeting"]);
    place.fails(5, &["delete", "d.img", "greeting"]);
    place.ok(&["delete", "d.img", "greeting", "--force"]);
}

#[test]
fn a_value_that_has_expired_is_gone() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "stays", "for good"]);
    place.ok(&["put", "d.img", "session", "a token", "--expires", "30d"]);
    assert_eq!(place.ok(&["get", "d.img", "session"]), "a token");
    place.ok(&["put", "d.img", "session", "another", "--expires", "100ns"]);
    place.fails(5, &["get", "d.img", "session"]);
    assert_eq!(place.ok(&["scan", "d.img"]).lines().count(), 1);
    let refused = place.fails(2, &["put", "d.img", "session", "x", "--expires", "soon"]);
    assert!(refused.contains("--expires") && refused.contains("30d"), "{refused}");
    place.ok(&["compact", "d.img"]);
    assert_eq!(place.ok(&["get", "d.img", "stays"]), "for good");
    place.fails(5, &["get", "d.img", "session"]);
}

#[test]
fn a_drive_that_is_formatted_for_files_holds_no_store() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    let made = place.json(&["format", "d.img", "--files"]);
    assert_eq!(made["files"], true);
    let refused = place.fails(1, &["format", "d.img", "--files"]);
    assert!(refused.contains("expected an empty drive"), "{refused}");
    place.ok(&["format", "d.img", "--files", "--force"]);
    std::fs::create_dir(place.path().join("plain")).expect("a directory");
    let refused = place.fails(2, &["format", "plain", "--files"]);
    assert!(refused.contains("expected a drive"), "{refused}");
}

#[test]
fn zones_that_have_failed_are_no_reason_to_force_a_format() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.fail_zones("d.img", [20], ZoneState::ReadOnly);
    place.fail_zones("d.img", [21], ZoneState::Offline);
    place.ok(&["format", "d.img"]);
    place.ok(&["put", "d.img", "greeting", "hello"]);
    assert_eq!(place.ok(&["get", "d.img", "greeting"]), "hello");
    let refused = place.fails(1, &["format", "d.img"]);
    assert!(refused.contains("zones that are written"), "{refused}");
    // Nor are they to refuse a copy, which leaves them alone.
    place.ok(&["device", "create", "e.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.fail_zones("e.img", [0], ZoneState::ReadOnly);
    place.fail_zones("e.img", [5], ZoneState::Offline);
    place.ok(&["checkpoint", "d.img", "e.img"]);
    assert_eq!(place.ok(&["get", "e.img", "greeting"]), "hello");
    let zones = place.json(&["device", "report", "e.img"]);
    assert_eq!(zones["zones"][0]["state"], "read_only");
    assert_eq!(zones["zones"][5]["state"], "offline");
    let refused = place.fails(1, &["checkpoint", "d.img", "e.img"]);
    assert!(refused.contains("expected an empty"), "{refused}");
    assert_eq!(place.ok(&["get", "e.img", "greeting"]), "hello");
}

#[test]
fn a_store_remembers_its_system_until_it_is_opened_under_another() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    let made = place.json(&["format", "d.img", "--system", "leveldb-greedy:factor=4"]);
    assert_eq!(made["system"], "leveldb-greedy:factor=4");
    place.ok(&["put", "d.img", "key", "value"]);
    assert_eq!(place.json(&["stats", "d.img"])["system"], "leveldb-greedy:factor=4");
    place.ok(&["put", "d.img", "other", "value", "--system", "bluefs"]);
    assert_eq!(place.json(&["zones", "d.img"])["system"], "bluefs");
    assert_eq!(place.ok(&["get", "d.img", "key"]), "value");
    let error = place.fails(2, &["put", "d.img", "key", "value", "--system", "ext4"]);
    assert!(error.contains("one of bluefs, leveldb-greedy"), "{error}");
    for (system, expected) in [
        ("smrdb:", "expected a parameter of smrdb"),
        ("bluefs:jobs=2,jobs=3", "jobs of bluefs: expected one value"),
        ("bluefs:rewrite_max=5", "rewrite_max of bluefs: expected load=aware with it"),
    ] {
        let error = place.fails(2, &["put", "d.img", "key", "value", "--system", system]);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn ranges_and_key_spaces_are_deleted_as_a_whole() {
    let place = Place::formatted("64MiB", "1MiB");
    let put = |space: &str, key: &str| place.ok(&["put", "d.img", key, "v", "--space", space]);
    for key in ["a", "b/1", "b/2", "c", "d"] {
        put("default", key);
        put("users", key);
    }
    let keys = |space: &str| {
        let text = place.ok(&["scan", "d.img", "--space", space]);
        text.split_whitespace().filter(|word| *word != "1").map(str::to_owned).collect::<Vec<_>>()
    };
    place.ok(&["delete", "d.img", "--prefix", "b/"]);
    assert_eq!(keys("default"), ["a", "c", "d"]);
    place.ok(&["delete", "d.img", "--from", "b", "--to", "d"]);
    assert_eq!(keys("default"), ["a", "d"]);
    place.ok(&["delete", "d.img", "--space", "users", "--to", "c"]);
    assert_eq!(keys("users"), ["c", "d"]);
    place.ok(&["delete", "d.img", "--all", "--space", "users"]);
    assert!(keys("users").is_empty());
    place.ok(&["delete", "d.img", "--drop-space", "users"]);
    place.fails(5, &["scan", "d.img", "--space", "users"]);
    place.fails(5, &["delete", "d.img", "--drop-space", "users"]);
    place.ok(&["delete", "d.img", "--drop-space", "users", "--force"]);
    place.fails(2, &["delete", "d.img"]);
    place.fails(2, &["delete", "d.img", "a", "--to", "c"]);
    for all in [&["--prefix", ""][..], &["--from", ""], &["--prefix", "", "--hex"]] {
        let error = place.fails(2, &[&["delete", "d.img"][..], all].concat());
        assert!(error.contains("--all deletes all keys"), "{error}");
    }
    place.ok(&["delete", "d.img", "--from", "", "--to", "A"]);
    place.ok(&["check", "d.img"]);
    assert_eq!(keys("default"), ["a", "d"]);
}

#[test]
fn keys_and_values_are_bytes() {
    let place = Place::formatted("64MiB", "1MiB");
    std::fs::write(place.path().join("value"), [0xff, 0, 10]).unwrap();
    place.ok(&["put", "d.img", "--hex", "00ff", "--file", "value"]);
    assert_eq!(place.run(&["get", "d.img", "--hex", "00ff"]).stdout, [0xff, 0, 10]);
    let json = place.json(&["get", "d.img", "--hex", "00ff"]);
    assert_eq!(json, serde_json::json!({ "key_hex": "00ff", "value_hex": "ff000a" }));
    place.fails(2, &["get", "d.img", "--hex", "0g"]);
}

#[test]
fn a_scan_is_in_order_and_within_its_bounds() {
    let place = Place::formatted("64MiB", "1MiB");
    for key in ["b", "a", "c", "ab", "aa"] {
        place.ok(&["put", "d.img", key, "value"]);
    }
    let keys = |words: &[&str]| {
        let words = [&["scan", "d.img", "--json"], words].concat();
        let lines = place.ok(&words);
        let mut keys: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].clone())
            .collect();
        assert_eq!(keys.pop(), Some(Value::Null), "the last line has the sums");
        keys
    };
    assert_eq!(keys(&[]), ["a", "aa", "ab", "b", "c"]);
    assert_eq!(keys(&["--prefix", "a"]), ["a", "aa", "ab"]);
    assert_eq!(keys(&["--from", "aa", "--to", "b"]), ["aa", "ab"]);
    assert_eq!(keys(&["--from", "ab", "--limit", "2"]), ["ab", "b"]);
    let sums = place.json(&["scan", "d.img"]);
    assert_eq!(sums, serde_json::json!({ "total": { "entries": 5, "bytes": 25 } }));
}

#[test]
fn key_spaces_are_apart() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "one"]);
    place.ok(&["put", "d.img", "key", "two", "--space", "other"]);
    assert_eq!(place.ok(&["get", "d.img", "key"]), "one");
    assert_eq!(place.ok(&["get", "d.img", "key", "--space", "other"]), "two");
    place.fails(5, &["get", "d.img", "key", "--space", "third"]);
}

#[test]
fn a_drive_that_holds_something_is_not_formatted_by_accident() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    let error = place.fails(1, &["format", "d.img"]);
    assert!(error.contains("--force"), "{error}");
    assert_eq!(place.ok(&["get", "d.img", "key"]), "value");
    place.ok(&["format", "d.img", "--force"]);
    place.fails(5, &["get", "d.img", "key"]);
}

#[test]
fn commands_that_only_read_leave_the_image_as_it_is() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    let image = || std::fs::read(place.path().join("d.img")).unwrap();
    let before = image();
    for words in [
        &["get", "d.img", "key"][..],
        &["scan", "d.img"],
        &["fs", "ls", "d.img"],
        &["stats", "d.img"],
        &["zones", "d.img"],
        &["zones", "d.img", "--list"],
        &["check", "d.img"],
        &["export", "d.img", "out"],
        &["device", "report", "d.img"],
    ] {
        place.ok(words);
        assert!(image() == before, "{words:?} changed the image");
    }
}

#[test]
fn zones_and_files_and_metrics_agree() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    let zones = place.json(&["zones", "d.img"]);
    let zones = zones["zones"].as_array().unwrap();
    assert_eq!(zones.len(), 64);
    for field in ["zone", "state", "pointer", "live", "dead", "levels"] {
        assert!(zones[0].get(field).is_some(), "{field}");
    }
    let in_use = |what: &str| zones.iter().filter(|zone| zone["used_for"] == what).count();
    assert_eq!((in_use("superblock"), in_use("log")), (2, 1));
    let map = place.ok(&["zones", "d.img"]);
    assert!(map.contains("J") && map.contains("64 zones"), "{map}");

    let files = place.json(&["fs", "ls", "d.img"]);
    let log = &files["files"][0];
    assert_eq!(log["kind"], "log");
    let bytes = place.run(&["fs", "cat", "d.img", &log["id"].to_string()]).stdout;
    assert_eq!(bytes.len() as u64, log["size"].as_u64().unwrap());
    assert!(bytes.windows(8).any(|window| window == b"key\x05valu"), "{bytes:?}");
    place.fails(5, &["fs", "cat", "d.img", "no such file"]);

    let stats = place.json(&["stats", "d.img"]);
    assert_eq!(stats["key_spaces"], serde_json::json!(["default"]));
    assert_eq!(stats["sequence"], 1);
}

#[test]
fn damage_is_found_and_has_its_own_exit_code() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "a value that can be found on the medium"]);
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = b"can be found";
    let at = image.windows(needle.len()).position(|window| window == needle).unwrap();
    image[at] ^= 1;
    std::fs::write(&path, image).unwrap();
    let output = place.run(&["check", "d.img"]);
    assert_eq!(output.status.code(), Some(3));
    let error = place.json(&["check", "d.img"]);
    assert_eq!(error["error"]["code"], 3);
}

#[test]
fn a_log_on_an_image_that_is_zeroed_whole_is_not_an_empty_log() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "a value that can be found on the medium"]);
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = b"can be found";
    let at = image.windows(needle.len()).position(|window| window == needle).unwrap();
    image[at / 4096 * 4096..][..4096].fill(0);
    std::fs::write(&path, image).unwrap();
    let checked = place.run(&["check", "d.img"]);
    assert_eq!(checked.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("log "));
    place.fails(3, &["get", "d.img", "key"]);
}

#[test]
fn a_full_drive_says_so_and_takes_puts_again_once_something_is_deleted() {
    let place = Place::formatted("64MiB", "1MiB");
    std::fs::write(place.path().join("value"), vec![7; 8 << 20]).unwrap();
    let put = |key: &str| place.run(&["put", "d.img", key, "--file", "value"]).status.code();
    let keys: Vec<String> = (0..20).map(|key| key.to_string()).collect();
    let full = keys.iter().position(|key| put(key) == Some(4)).expect("a full drive");
    assert!(full >= 2, "full after {full} values of an eighth of the drive");
    assert_eq!(place.run(&["get", "d.img", "0"]).stdout.len(), 8 << 20);
    for key in &keys[..full] {
        place.ok(&["delete", "d.img", key]);
    }
    assert_eq!(put("again"), Some(0));
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
}

#[test]
fn a_drive_that_was_not_formatted_and_a_missing_one_are_told_apart() {
    let place = Place::new();
    let error = place.fails(5, &["get", "d.img", "key"]);
    assert!(error.contains("terrace device create"), "{error}");
    place.ok(&["device", "create", "d.img"]);
    let error = place.fails(1, &["get", "d.img", "key"]);
    assert!(error.contains("format"), "{error}");
}

#[test]
fn a_drive_of_256_mib_works_with_default_options_and_says_how_much_it_takes() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "256MiB"]);
    let made = place.ok(&["format", "d.img"]);
    assert!(made.contains("room for ") && made.contains("memtables of 4 MiB"), "{made}");
    let stats = place.json(&["stats", "d.img"]);
    let live_max = stats["live_max"].as_u64().unwrap();
    assert!(live_max >= 100 << 20, "{live_max} of 256 MiB");
    assert!(stats["space"]["for_puts"].as_u64() > Some(live_max), "{stats}");
    assert!(place.ok(&["stats", "d.img"]).contains("puts can take "), "how much fits");
    // One that leaves nothing says so.
    place.ok(&["device", "create", "e.img", "--size", "256MiB", "--zone-size", "14MiB"]);
    let made = place.ok(&["format", "e.img"]);
    assert!(made.contains("too small") && made.contains("15 zones"), "{made}");
}

#[test]
fn stats_of_a_new_process_knows_what_was_written_in_the_life_of_the_store() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["put", "d.img", "other", "value"]);
    let stats = place.json(&["stats", "d.img"]);
    assert_eq!(stats["lifetime"]["user_bytes"], 18, "{}", stats["lifetime"]);
    assert_eq!(stats["lifetime"]["entries"], 2);
    assert_eq!(stats["process"]["user_bytes"], 0);
    let bytes = &stats["lifetime"]["bytes"];
    assert!(bytes["log"].as_u64() > Some(0) && bytes["metadata"].as_u64() > Some(0), "{bytes}");
    let text = place.ok(&["stats", "d.img"]);
    assert!(text.contains("in its life") && text.contains("by this process"), "{text}");
    place.ok(&["compact", "d.img"]);
    place.ok(&["put", "d.img", "key", "newer"]);
    place.ok(&["compact", "d.img"]);
    let lifetime = &place.json(&["stats", "d.img"])["lifetime"];
    let levels = lifetime["levels"].as_array().unwrap();
    assert!(levels[0]["bytes_written"].as_u64() > Some(0), "{lifetime}");
    assert!(levels.iter().any(|level| level["merges"].as_u64() > Some(0)), "{lifetime}");
    let text = place.ok(&["stats", "d.img"]);
    assert!(text.contains("merges from") && text.contains(" trivial move"), "{text}");
}

#[test]
fn a_check_counts_the_entries_that_are_only_in_logs() {
    let place = Place::formatted("64MiB", "1MiB");
    for key in ["a", "b", "c"] {
        place.ok(&["put", "d.img", key, "value"]);
    }
    let checked = place.json(&["check", "d.img"]);
    assert_eq!(checked["tables"]["entries"], 0);
    assert_eq!(checked["tables"]["entries_in_logs"], 3);
    let text = place.ok(&["check", "d.img"]);
    assert!(text.contains("3 entries in logs"), "{text}");
}

#[test]
fn zones_that_are_dead_and_wait_for_their_reset_have_a_sign_in_the_map() {
    let place = Place::formatted("64MiB", "1MiB");
    let sign = |map: &str| map.contains(" ~\u{2591}");
    assert!(!sign(&place.ok(&["zones", "d.img"])), "no zone of a new drive is dead");
    std::fs::write(place.path().join("value"), vec![7; 4 << 20]).unwrap();
    place.ok(&["put", "d.img", "key", "--file", "value"]);
    place.ok(&["compact", "d.img"]);
    place.ok(&["delete", "d.img", "key"]);
    place.ok(&["compact", "d.img"]);
    let map = place.ok(&["zones", "d.img"]);
    assert!(sign(&map) && map.contains("~ free"), "{map}");
}

/// A store of 2,000 keys in a table and newer values of the first hundred in another, with a byte
/// of the older table's value of this key flipped.
fn damaged_at(key: u32) -> Place {
    let place = Place::formatted("64MiB", "1MiB");
    let line = |key: u32, text: &str| format!("{key:05}\t{text}-{key:05}-{}\n", "x".repeat(80));
    let load = |name: &str, lines: String| {
        std::fs::write(place.path().join(name), lines).unwrap();
        place.ok(&["load", "d.img", name, "--format", "tsv", "--sorted"]);
    };
    load("old", (0..2000).map(|key| line(key, "old")).collect());
    place.ok(&["compact", "d.img"]);
    load("new", (0..100).map(|key| line(key, "new")).collect());
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = format!("old-{key:05}-");
    let find = |window: &[u8]| window == needle.as_bytes();
    let found: Vec<_> = image.windows(needle.len()).enumerate().filter(|(_, w)| find(w)).collect();
    let places: Vec<usize> = found.into_iter().map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "no {needle} on the medium");
    places.into_iter().for_each(|at| image[at] ^= 1);
    std::fs::write(&path, image).unwrap();
    place
}

#[test]
fn a_scan_goes_on_behind_damage_and_lists_what_it_leaves_out() {
    let place = damaged_at(1000);
    let scan = ["scan", "d.img", "--values"];
    let ended = place.run(&scan);
    assert_eq!(ended.status.code(), Some(3), "the scan ends at the damaged block");
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.contains("with `--skip-damaged` it goes on"), "{told}");
    let output = place.run(&[&scan[..], &["--skip-damaged"]].concat());
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    let keys: Vec<u32> = text.lines().map(|line| line[..5].parse().unwrap()).collect();
    let missing: Vec<u32> = (0..2000).filter(|key| !keys.contains(key)).collect();
    assert!(missing.contains(&1000) && missing.len() < 100, "{missing:?}");
    assert!(text.contains("00050\tnew-00050") && text.contains("01999\told"), "both ends");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("left out: keys from `0") && told.contains(", at device 0 block "),
        "{told}"
    );
    // Exactly those keys are in the range that is listed.
    let output = place.run(&[&scan[..], &["--skip-damaged", "--json"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let result = text.lines().find(|line| line.contains("left_out")).unwrap();
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    let [part] = &result["total"]["left_out"].as_array().unwrap()[..] else { panic!("{result}") };
    let (from, to) = (part["from"].as_str().unwrap(), part["to"].as_str().unwrap());
    let within = |key: &u32| (from..to).contains(&&format!("{key:05}")[..]);
    assert_eq!(missing, (0..2000).filter(within).collect::<Vec<_>>(), "{part}");
    let whole = place.run(&["scan", "d.img", "--from", "01500", "--skip-damaged"]);
    assert_eq!(whole.status.code(), Some(0), "nothing is damaged there");
}

#[test]
fn no_older_version_surfaces_where_the_newer_one_is_damaged() {
    // The newer table's block of key 50 is damaged: the older value is there, and not shown. Damage
    // below newer values leaves these as they are.
    let place = damaged_at(50);
    let output = place.run(&["scan", "d.img", "--values", "--skip-damaged"]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("00050\tnew-00050"), "the newer value is right over any older one");

    let place = damaged_at(1000);
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = b"new-00050-";
    let all: Vec<usize> =
        (0..image.len() - needle.len()).filter(|at| image[*at..].starts_with(needle)).collect();
    all.into_iter().for_each(|at| image[at] ^= 1);
    std::fs::write(&path, image).unwrap();
    let output = place.run(&["scan", "d.img", "--values", "--skip-damaged"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("00050\t"), "a stale value: {text}");
    assert!(text.contains("00500\told-00500"), "undamaged entries are there");
}

#[test]
fn an_export_goes_on_behind_damage() {
    let place = Place::formatted("64MiB", "1MiB");
    let tree = place.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    for file in 0..40 {
        let text = format!("marker-{file:02} ").repeat(400);
        std::fs::write(tree.join(format!("{file:02}")), text).unwrap();
    }
    place.ok(&["import", "d.img", "tree"]);
    place.ok(&["compact", "d.img"]);
    let path = place.path().join("d.img");
    let mut image = std::fs::read(&path).unwrap();
    let needle = b"marker-20 ";
    let all: Vec<usize> =
        (0..image.len() - needle.len()).filter(|at| image[*at..].starts_with(needle)).collect();
    all.into_iter().for_each(|at| image[at] ^= 1);
    std::fs::write(&path, image).unwrap();
    place.fails(3, &["export", "d.img", "one"]);
    let output = place.run(&["export", "d.img", "two", "--skip-damaged"]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("left out a range of keys"), "{told}");
    let exported = std::fs::read_dir(place.path().join("two")).unwrap().count();
    assert!((36..40).contains(&exported), "{exported} of 40 files");
    assert!(!place.path().join("two/20").exists() && place.path().join("two/39").exists());
}
