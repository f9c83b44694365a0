//! Likely mistakes of a user are told, not carried out: a range typed the wrong way round, a key
//! looked for in another key space, a store put on a drive that waits for files, a drive of another
//! size, a size that is rounded.

use terrace_env::{Cause, ZoneId};
use terrace_zone::{Device as _, Emulator};

use crate::program::Place;

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "user:4", "v"]);
    let told = "expected a range that begins before its end, found --from `user:5` and --to \
                `user:4`; keys are compared byte by byte";
    for command in ["delete", "scan", "compact"] {
        let error = place.fails(2, &[command, "d.img", "--from", "user:5", "--to", "user:4"]);
        assert!(error.contains(told), "{command}: {error}");
    }
    place.fails(2, &["scan", "d.img", "--reverse", "--from", "user:5", "--to", "user:4"]);
    place.ok(&["compact", "d.img"]);
    let files = place.json(&["fs", "ls", "d.img"]);
    let table = files["files"].as_array().unwrap().iter().find(|file| file["kind"] == "table");
    let id = table.expect("a table")["id"].to_string();
    let error = place.fails(2, &["dump", "d.img", &id, "--entries", "--from", "b", "--to", "a"]);
    assert!(error.contains("expected a range that begins before its end"), "{error}");
    // Numbers in keys are text.
    place.fails(2, &["delete", "d.img", "--from", "user:9", "--to", "user:10"]);
    let error = place.fails(2, &["scan", "d.img", "--hex", "--from", "ff", "--to", "00"]);
    assert!(error.contains("--from `ff` and --to `00`"), "{error}");
    assert_eq!(place.ok(&["get", "d.img", "user:4"]), "v");
    place.ok(&["delete", "d.img", "--from", "user:4", "--to", "user:4"]);
    assert_eq!(place.ok(&["get", "d.img", "user:4"]), "v");
}

#[test]
fn an_empty_result_names_the_key_space_and_those_that_hold_entries() {
    let place = Place::formatted("64MiB", "1MiB");
    let looked = "in the key space `default`";
    let error = place.fails(5, &["get", "d.img", "k"]);
    assert!(error.contains(&format!("{looked}; no other key space holds entries")), "{error}");
    place.ok(&["put", "d.img", "k", "v", "--space", "users"]);
    place.ok(&["put", "d.img", "k", "v", "--space", "empty"]);
    place.ok(&["delete", "d.img", "k", "--space", "empty"]);
    let told = format!("{looked}; the key space `users` holds entries");
    for words in [&["get", "d.img", "k"][..], &["delete", "d.img", "k"]] {
        let error = place.fails(5, words);
        assert!(error.contains(&told), "{words:?}: {error}");
    }
    for (words, what) in [
        (&["scan", "d.img"][..], "no key"),
        (&["scan", "d.img", "--prefix", "x"], "no key of this range"),
        (&["scan", "d.img", "--json"], "no key"),
        (&["export", "d.img", "out"], "no file"),
    ] {
        let output = place.run(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error), (Some(0), format!("{what} {told}\n")));
    }
    let error = place.fails(5, &["scan", "d.img", "--space", "user"]);
    assert!(error.contains("named `user`, found none") && error.contains("`users`"), "{error}");
    for number in 0..8 {
        place.ok(&["put", "d.img", "k", "v", "--space", &format!("more{number}")]);
    }
    let error = place.fails(5, &["get", "d.img", "k"]);
    let several = "; the key spaces `users`, `more0`, `more1`, `more2` and others hold entries";
    assert!(error.contains(several), "{error}");
    assert_eq!(place.run(&["scan", "d.img", "--space", "users"]).stderr, b"");
}

#[test]
fn a_drive_that_waits_for_files_becomes_a_store_only_by_consent() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "d.img", "--files"]);
    std::fs::write(place.path().join("entries"), "k\tv\n").unwrap();
    std::fs::create_dir(place.path().join("tree")).unwrap();
    let before = std::fs::read(place.path().join("d.img")).unwrap();
    for words in [
        &["put", "d.img", "k", "v"][..],
        &["load", "d.img", "entries"],
        &["import", "d.img", "tree"],
        &["delete", "d.img", "--all"],
        &["compact", "d.img"],
    ] {
        let error = place.fails(1, words);
        let told = "expected a store, found room for files with names";
        assert!(error.contains(told) && error.contains("--create-store"), "{words:?}: {error}");
        assert!(place.json(&["fs", "df", "d.img"])["system"].is_null(), "{words:?}");
    }
    assert!(before.len() == std::fs::read(place.path().join("d.img")).unwrap().len());
    std::fs::write(place.path().join("text"), "text").unwrap();
    place.ok(&["fs", "put", "d.img", "text", "name"]);
    // Files with names are never in the way of consent.
    place.fails(1, &["put", "d.img", "k", "v", "--create-store"]);
    place.ok(&["fs", "rm", "d.img", "name"]);
    place.ok(&["load", "d.img", "entries", "--create-store"]);
    place.ok(&["put", "d.img", "k2", "v"]);
    assert_eq!(place.ok(&["get", "d.img", "k"]), "v");
}

#[test]
fn a_store_in_a_directory_is_promised_no_more_than_the_host_has_free() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("plain")).unwrap();
    let free = || {
        let output = std::process::Command::new("df")
            .args(["-B1", "--output=avail", "plain"])
            .current_dir(place.path())
            .output()
            .expect("`df`");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().last().expect("a line").trim().parse::<u64>().expect("a number")
    };
    // Other programs use the disk at the same time, and free space of it.
    let others = 1 << 28;
    let before = free();
    let room = place.json(&["format", "plain"])["live_max"].as_u64().unwrap();
    let most = before.max(free()) + others;
    assert!(room <= most, "{room} of {most}");
    place.ok(&["put", "plain", "k", "v"]);
    let before = free();
    let room = place.json(&["stats", "plain"])["live_max"].as_u64().unwrap();
    let most = before.max(free()) + others;
    assert!(room <= most, "{room} of {most}");
}

#[test]
fn a_drive_of_another_size_is_told_in_words() {
    let place = Place::formatted("64MiB", "1MiB");
    let create = |name: &str, size: &str, zone: &str| {
        place.ok(&["device", "create", name, "--size", size, "--zone-size", zone]);
    };
    create("other.img", "32MiB", "1MiB");
    // The first zones, with the superblock, on a drive of another shape.
    let access = terrace::device::Access::ReadWrite;
    let open = |name: &str| Emulator::open_image(place.path().join(name), access).unwrap();
    let (from, to) = (open("d.img"), open("other.img"));
    for report in from.report(ZoneId(0), 4).unwrap() {
        let written = (report.write_pointer.0 - report.start.0) as u32;
        if written > 0 {
            let bytes = from.read(report.start, written, Cause::Client).unwrap();
            to.write(report.start, bytes, true, Cause::Client).unwrap();
        }
    }
    drop((from, to));
    let error = place.fails(1, &["get", "other.img", "k"]);
    assert!(error.contains("expected 64 zones of 1 MiB, 1 MiB of it writable"), "{error}");
    assert!(error.contains("found 32 zones of 1 MiB"), "{error}");
    assert!(!error.contains('{') && !error.contains("Shape"), "{error}");
}

#[test]
fn sizes_that_are_rounded_are_told_to_the_byte() {
    let place = Place::new();
    let told = place.ok(&["device", "create", "a.img", "--kind", "plain", "--size", "4095KiB"]);
    assert!(told.contains("4190208 B (4.0 MiB) can be written"), "{told}");
    assert!(
        told.contains("4193280 B (4.0 MiB) are no whole number of blocks: the drive has 4190208 B"),
        "{told}"
    );
    let least = "expected a plain device of at least 16 MiB, found 4190208 B (4.0 MiB)";
    assert!(told.contains(least), "{told}");
    let error = place.fails(1, &["format", "a.img"]);
    assert!(error.contains(least), "{error}");
    let told = place.ok(&["device", "create", "b.img", "--kind", "plain", "--size", "16MiB"]);
    assert!(told.starts_with("made b.img: a plain drive, without zones; 16 MiB can be"), "{told}");
    assert!(!told.contains("whole number"), "{told}");
    let report = place.ok(&["device", "report", "a.img"]);
    assert!(report.contains("4190208 B (4.0 MiB) can be written"), "{report}");
}

#[test]
fn a_replay_names_the_sizes_that_values_can_have() {
    let place = Place::new();
    let replay = |line: &str| {
        let text = format!("terrace-trace 1\n{line}\n");
        std::fs::write(place.path().join("t"), text).unwrap();
        place.run(&["bench", "--replay", "t", "--count", "10"])
    };
    for size in [0, 7, (16 << 20) + 1] {
        let output = replay(&format!("update 1 {size}"));
        let error = String::from_utf8(output.stderr).unwrap();
        let told = format!("expected a value of 8 to 16777216 bytes, found {size}");
        assert!(output.status.code() == Some(2) && error.contains(&told), "{error}");
    }
    for line in ["update 4294967296 8", "delete 4294967296", "insert 18446744073709551615 8"] {
        let output = replay(line);
        let error = String::from_utf8(output.stderr).unwrap();
        let told = "expected a number below 4294967296";
        assert!(output.status.code() == Some(2) && error.contains(told), "{line}: {error}");
    }
    for line in ["update 4294967295 8", "read 18446744073709551615", "scan 4294967296 4294967295"] {
        let output = replay(line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {error}");
    }
}
