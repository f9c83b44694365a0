//! `terrace fs` on files with names: they are put, listed, moved and removed; a backup is restored
//! on a drive of other zones, and files that are damaged or in the way, and stores, are refused.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::program::Place;

/// With a drive `d.img` for files.
fn place(size: &str, zone_size: &str) -> Place {
    let place = Place::new();
    make(&place, "d.img", size, zone_size);
    place
}

fn make(place: &Place, name: &str, size: &str, zone_size: &str) {
    place.ok(&["device", "create", name, "--size", size, "--zone-size", zone_size]);
    place.ok(&["format", name, "--files"]);
}

/// A file of the host with these bytes.
fn write(place: &Place, name: &str, bytes: &[u8]) {
    std::fs::write(place.path().join(name), bytes).unwrap();
}

/// Bytes that differ from one seed to another.
fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(next).collect()
}

/// Names of all files, without marks of directories.
fn names(place: &Place, image: &str) -> Vec<String> {
    let list = place.json(&["fs", "ls", image, "--recursive"]);
    let files = list["files"].as_array().unwrap().iter();
    files.map(|file| file["name"].as_str().unwrap().to_owned()).collect()
}

fn cat(place: &Place, image: &str, name: &str) -> Vec<u8> {
    let output = place.run(&["fs", "cat", image, name]);
    assert!(output.status.success(), "{name}");
    output.stdout
}

#[test]
fn files_are_put_listed_moved_and_removed() {
    let place = place("64MiB", "1MiB");
    let bytes = noise(1, 3_000_000);
    write(&place, "large", &bytes);
    place.ok(&["fs", "put", "d.img", "large", "/db/", "--lifetime", "3"]);
    let mut put = place.command(&["fs", "put", "d.img", "-", "notes/today"]);
    let mut put = put.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    put.stdin.take().unwrap().write_all(b"a note").unwrap();
    assert!(put.wait().unwrap().success());
    assert_eq!(cat(&place, "d.img", "/db/large"), bytes);
    assert_eq!(cat(&place, "d.img", "notes/today"), b"a note");

    let list = place.json(&["fs", "ls", "d.img", "/db", "--long"]);
    let file = &list["files"][0];
    assert_eq!((&file["name"], &file["lifetime"]), (&"/db/large".into(), &3.into()));
    let modified = std::fs::metadata(place.path().join("large")).unwrap().modified().unwrap();
    let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(file["modified"], modified);
    let zones = file["zones"].as_array().unwrap();
    let held: u64 = zones.iter().map(|zone| zone["bytes"].as_u64().unwrap()).sum();
    assert!(zones.len() >= 3 && held >= 3_000_000, "{zones:?}");
    let top = place.ok(&["fs", "ls", "d.img", "-l"]);
    assert!(top.contains("/db/") && top.contains("notes/") && top.contains("1 file "), "{top}");
    assert!(!top.contains("today"), "{top}");

    place.fails(1, &["fs", "put", "d.img", "large", "notes/today"]);
    place.fails(1, &["fs", "put", "d.img", "large", "notes/today/x"]);
    place.fails(2, &["fs", "put", "d.img", "-", "notes/"]);
    place.fails(5, &["fs", "put", "d.img", "no such file", "x"]);
    place.ok(&["fs", "put", "d.img", "large", "notes/today", "--force"]);
    assert_eq!(cat(&place, "d.img", "notes/today"), bytes);

    let error = place.fails(5, &["fs", "cat", "d.img", "db/large"]);
    assert!(error.contains("did you mean `/db/large`?"), "{error}");
    place.fails(1, &["fs", "mv", "d.img", "notes/today", "/db/large"]);
    place.ok(&["fs", "mv", "d.img", "notes/today", "/db/large", "--force"]);
    place.fails(5, &["fs", "ls", "d.img", "notes"]);
    place.fails(1, &["fs", "mv", "d.img", "/db", "/db/old"]);
    place.ok(&["fs", "mv", "d.img", "/db", "/old"]);
    assert_eq!(names(&place, "d.img"), ["/old/large"]);

    let used = place.json(&["fs", "df", "d.img"]);
    assert_eq!(used["kinds"][2]["bytes"], 3_000_000);
    assert!(used["space"]["live"].as_u64() >= Some(3_000_000), "{used}");
    assert_eq!(used["zones_by_use"]["superblock"], 2);
    place.fails(1, &["fs", "rm", "d.img", "/old"]);
    place.fails(5, &["fs", "rm", "d.img", "/old/large", "no such file"]);
    place.ok(&["fs", "rm", "d.img", "/old", "-r"]);
    assert!(names(&place, "d.img").is_empty());
    let text = place.ok(&["fs", "df", "d.img"]);
    assert!(text.contains("zones by use: "), "{text}");
    assert_eq!(place.json(&["check", "d.img"])["check"], "clean");
}

#[test]
fn names_that_cannot_be_kept_or_seen_are_refused_or_escaped() {
    let place = place("64MiB", "1MiB");
    std::fs::write(place.path().join(OsStr::from_bytes(b"f\xff")), b"bytes").unwrap();
    let mut put = place.command(&["fs", "put", "d.img"]);
    let output = put.arg(OsStr::from_bytes(b"f\xff")).arg("dir/").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("expected a name for the file, in UTF-8, found `dir/`"), "{error}");
    write(&place, "file", b"bytes");
    let told = place.ok(&["fs", "put", "d.img", "file", "a\u{1b}[31m"]);
    assert_eq!(told, "stored a\\u{1b}[31m, 5 B\n");
    assert_eq!(place.ok(&["fs", "mv", "d.img", "a\u{1b}[31m", "b"]), "a\\u{1b}[31m is now b\n");
}

#[test]
fn the_files_of_a_store_are_only_looked_at() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    write(&place, "file", b"bytes");
    let log = place.json(&["fs", "ls", "d.img", "-l"])["files"][0].clone();
    assert_eq!((log["kind"].as_str(), &log["modified"]), (Some("log"), &Value::Null));
    assert_eq!(place.json(&["fs", "df", "d.img"])["kinds"][1]["files"], 1);
    for words in [
        &["fs", "put", "d.img", "file", "name"][..],
        &["fs", "rm", "d.img", "name"],
        &["fs", "mv", "d.img", "name", "other"],
        &["fs", "backup", "d.img", "backup"],
    ] {
        let error = place.fails(1, words);
        assert!(error.contains("found a key-value store"), "{error}");
    }
    assert!(!place.path().join("backup").exists());
    assert_eq!(place.ok(&["get", "d.img", "key"]), "value");
}

#[test]
fn no_command_makes_a_store_of_a_drive_that_holds_files_with_names() {
    let place = place("64MiB", "1MiB");
    write(&place, "file", b"bytes");
    write(&place, "none", b"");
    place.ok(&["fs", "put", "d.img", "file", "/db/CURRENT"]);
    for words in [
        &["put", "d.img", "key", "value"][..],
        &["delete", "d.img", "key"],
        &["compact", "d.img"],
        &["load", "d.img", "none"],
        &["scan", "d.img"],
        &["checkpoint", "d.img", "copy.img"],
    ] {
        let error = place.fails(1, words);
        let found = "found files with names (1, one of them \"/db/CURRENT\")";
        assert!(error.contains("d.img: expected") && error.contains(found), "{error}");
    }
    place.ok(&["fs", "put", "d.img", "file", "long", "--lifetime", "9"]);
    let map = place.ok(&["zones", "d.img"]);
    assert!(map.contains("|9") && map.contains("live files by lifetime"), "{map}");
    place.ok(&["fs", "rm", "d.img", "long"]);
    place.ok(&["fs", "mv", "d.img", "/db/CURRENT", "/db/OLD"]);
    assert_eq!(cat(&place, "d.img", "/db/OLD"), b"bytes");

    place.ok(&["fs", "rm", "d.img", "/db/OLD"]);
    place.ok(&["put", "d.img", "key", "value", "--create-store"]);
    place.fails(1, &["fs", "put", "d.img", "file", "name"]);
}

#[test]
fn a_reader_that_closes_early_ends_a_cat_quietly() {
    let place = place("64MiB", "1MiB");
    write(&place, "large", &noise(2, 4_000_000));
    place.ok(&["fs", "put", "d.img", "large", "large"]);
    let mut cat = place.command(&["fs", "cat", "d.img", "large"]);
    let mut cat = cat.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    cat.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let output = cat.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// A drive with files of all kinds of names, and a backup of it.
fn backed_up() -> Place {
    let place = place("64MiB", "1MiB");
    let names = ["/db/CURRENT", "/db/old/1.sst", "a", "/a", "../b", "e//f"];
    for (seed, name) in names.into_iter().enumerate() {
        write(&place, "file", &noise(seed as u32, 200_000 * seed));
        place.ok(&["fs", "put", "d.img", "file", name]);
    }
    place.ok(&["fs", "backup", "d.img", "backup"]);
    place
}

fn same(place: &Place, one: &str, other: &str) {
    let files = |image: &str| {
        let list = place.json(&["fs", "ls", image, "--recursive"]);
        let files = list["files"].as_array().unwrap().clone();
        let of = |file: &Value| {
            let name = file["name"].as_str().unwrap().to_owned();
            let bytes = cat(place, image, &name);
            let facts = [&file["modified"], &file["lifetime"], &file["sealed"], &file["kind"]];
            (name, bytes, facts.map(Value::clone))
        };
        files.iter().map(of).collect::<Vec<_>>()
    };
    assert!(files(one) == files(other), "{one} and {other} differ");
}

#[test]
fn a_backup_is_restored_on_a_drive_of_other_zones() {
    let place = backed_up();
    let backup = place.path().join("backup");
    assert_eq!(std::fs::read(backup.join("files/db/old/1.sst")).unwrap(), noise(1, 200_000));
    place.fails(1, &["fs", "backup", "d.img", "backup"]);
    make(&place, "wide.img", "96MiB", "4MiB");
    place.ok(&["device", "create", "plain.img", "--kind", "plain", "--size", "64MiB"]);
    place.ok(&["format", "plain.img", "--files"]);
    for image in ["wide.img", "plain.img"] {
        place.ok(&["fs", "restore", image, "backup"]);
        same(&place, "d.img", image);
        assert_eq!(place.json(&["check", image])["check"], "clean");
    }
    // Other files are in the way, and are replaced when that is asked for.
    write(&place, "file", b"other");
    place.ok(&["fs", "put", "wide.img", "file", "other"]);
    place.ok(&["fs", "put", "wide.img", "file", "a", "--force"]);
    place.fails(1, &["fs", "restore", "wide.img", "backup"]);
    assert_eq!(cat(&place, "wide.img", "a"), b"other");
    place.ok(&["fs", "restore", "wide.img", "backup", "--force"]);
    same(&place, "d.img", "wide.img");
}

#[test]
fn a_damaged_backup_changes_nothing() {
    let place = backed_up();
    make(&place, "other.img", "64MiB", "2MiB");
    write(&place, "file", b"here");
    place.ok(&["fs", "put", "other.img", "file", "here"]);
    let refused = |code: i32, what: &str| {
        let error = place.fails(code, &["fs", "restore", "other.img", "backup", "--force"]);
        assert!(error.contains(what), "{error}");
        assert_eq!(names(&place, "other.img"), ["here"]);
        assert_eq!(cat(&place, "other.img", "here"), b"here");
    };
    let backup = place.path().join("backup");
    let harmed = |path: &Path, harm: &dyn Fn(&mut Vec<u8>), code: i32, what: &str| {
        let sound = std::fs::read(path).unwrap();
        let mut bytes = sound.clone();
        harm(&mut bytes);
        std::fs::write(path, bytes).unwrap();
        refused(code, what);
        std::fs::write(path, sound).unwrap();
    };
    let table = backup.join("files/db/old/1.sst");
    harmed(&table, &|bytes| bytes[7] ^= 1, 3, "1.sst: expected 200000 bytes with checksum");
    harmed(&table, &|bytes| bytes.push(0), 3, "found at least 200001");
    harmed(&table, &|bytes| bytes.truncate(199_999), 3, "found 199999");
    let list = backup.join("manifest.jsonl");
    harmed(&list, &|bytes| bytes[300] ^= 1, 3, "manifest.jsonl: ");
    std::fs::remove_file(&table).unwrap();
    refused(5, "1.sst");
    std::fs::remove_file(&list).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&list).status().unwrap().success());
    refused(3, "manifest.jsonl: expected a file, found a pipe");
    place.fails(5, &["fs", "restore", "other.img", "no such backup"]);
}

#[test]
fn a_restore_that_does_not_fit_changes_nothing() {
    let place = place("128MiB", "1MiB");
    write(&place, "file", &noise(3, 40_000_000));
    place.ok(&["fs", "put", "d.img", "file", "large"]);
    place.ok(&["fs", "backup", "d.img", "backup"]);
    make(&place, "small.img", "24MiB", "1MiB");
    write(&place, "file", b"here");
    place.ok(&["fs", "put", "small.img", "file", "here"]);
    place.fails(4, &["fs", "restore", "small.img", "backup", "--force"]);
    write(&place, "file", &noise(3, 40_000_000));
    place.fails(4, &["fs", "put", "small.img", "file", "here", "--force"]);
    assert_eq!(cat(&place, "small.img", "here"), b"here");
    assert_eq!(names(&place, "small.img"), ["here"]);
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_files_or_the_new_ones() {
    let place = place("256MiB", "1MiB");
    for number in 0..20 {
        write(&place, "file", &noise(number, 2_000_000));
        place.ok(&["fs", "put", "d.img", "file", &format!("db/{number:02}")]);
    }
    place.ok(&["fs", "backup", "d.img", "backup"]);
    let new = names(&place, "d.img");
    make(&place, "other.img", "256MiB", "4MiB");
    write(&place, "file", b"here");
    place.ok(&["fs", "put", "other.img", "file", "here"]);
    for wait in [20, 60, 150, 400] {
        let mut restore = place.command(&["fs", "restore", "other.img", "backup", "--force"]);
        let mut restore = restore.stdout(Stdio::null()).spawn().unwrap();
        terrace_env::runner::sleep(Duration::from_millis(wait));
        restore.kill().unwrap();
        restore.wait().unwrap();
        let mut found = names(&place, "other.img");
        found.retain(|name| !name.starts_with('\u{1}'));
        assert!(found == ["here"] || found == new, "{found:?}");
    }
    place.ok(&["fs", "restore", "other.img", "backup", "--force"]);
    same(&place, "d.img", "other.img");
}
