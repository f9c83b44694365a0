//! Tests of copies that were interrupted: every command refuses an interrupted checkpoint, and the
//! same checkpoint completes it. Also formats that were interrupted.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use terrace::Devices;
use terrace::device::{Access, Device, Emulator, Op};
use terrace::fs::{DirStore, FormatOptions, Fs};
use terrace_env::{Cause, ZoneId, runner};
use terrace_lsm::mark_of_unfinished_copy;

use crate::program::Place;

const UNFINISHED: &str = "found an unfinished copy";

/// Leaves these images as a checkpoint does that is interrupted after its format.
fn cut_off(place: &Place, images: &[&str]) {
    let open = |image: &&str| -> Arc<dyn Device> {
        let path = place.path().join(image);
        Arc::new(Emulator::open_image(path, Access::ReadWrite).expect("an image"))
    };
    let mut drives = images.iter().map(open);
    let first = drives.next().expect("a drive");
    let devices = match drives.next() {
        Some(second) => Devices::pair(first, second),
        None => first.into(),
    };
    let second_path = images.get(1).copied().unwrap_or_default().to_owned();
    let annotation = mark_of_unfinished_copy();
    let format = FormatOptions { second_path, annotation, ..FormatOptions::default() };
    Fs::format(devices, &format).expect("a format");
}

/// Every command but a checkpoint refuses an unfinished copy, by its name.
fn is_refused(place: &Place, target: &str) {
    let mut commands = vec![
        vec!["get", target, "key"],
        vec!["scan", target],
        vec!["put", target, "key", "other"],
        vec!["delete", target, "key"],
        vec!["compact", target],
        vec!["check", target],
        vec!["stats", target],
        vec!["fs", "ls", target],
        vec!["fs", "df", target],
        vec!["dump", target],
        vec!["dump", target, "1"],
        vec!["checkpoint", target, "further"],
    ];
    if !place.path().join(target).is_dir() {
        commands.push(vec!["zones", target]);
        commands.push(vec!["fs", "backup", target, "further"]);
    }
    for words in commands {
        let error = place.fails(1, &words);
        let named = format!("{target}: expected a whole store, {UNFINISHED}");
        assert!(error.contains(&named), "{words:?}: {error}");
        assert!(error.contains("repeat the checkpoint"), "{words:?}: {error}");
    }
    place.ok(&["dump", target, "journal"]);
    assert!(!place.path().join("further").exists());
    place.fails(1, &["format", target]);
}

#[test]
fn an_unfinished_copy_is_refused_until_the_checkpoint_is_repeated() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for kind in ["zoned", "plain", "tracks"] {
        let image = format!("{kind}.img");
        place.ok(&["device", "create", &image, "--kind", kind, "--size", "256MiB"]);
        cut_off(&place, &[&image]);
        is_refused(&place, &image);
        place.ok(&["checkpoint", "d.img", &image]);
        assert_eq!(place.ok(&["get", &image, "key"]), "value", "{kind}");
        assert_eq!(place.json(&["check", &image])["check"], "clean", "{kind}");
    }
    let directory = place.path().join("copy");
    drop(DirStore::open_annotated(&directory, mark_of_unfinished_copy()).expect("a directory"));
    is_refused(&place, "copy");
    place.ok(&["checkpoint", "d.img", "copy"]);
    assert_eq!(place.ok(&["get", "copy", "key"]), "value");
    assert_eq!(place.json(&["check", "copy"])["check"], "clean");
}

#[test]
fn a_copy_whose_directory_cannot_be_made_says_that_alone() {
    let place = Place::formatted("64MiB", "1MiB");
    let message = place.fails(5, &["checkpoint", "d.img", "/proc/none/"]);
    assert!(message.contains("creating /proc/none"), "{message}");
    assert!(!message.contains("could not be emptied"), "{message}");
}

#[test]
fn an_unfinished_copy_on_two_drives_is_completed_on_both() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["device", "create", "c.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", "log.img", "--kind", "plain", "--size", "32MiB"]);
    cut_off(&place, &["c.img", "log.img"]);
    is_refused(&place, "c.img");
    place.ok(&["checkpoint", "d.img", "c.img", "--to-log", "log.img"]);
    assert_eq!(place.ok(&["get", "c.img", "key"]), "value");
    // A whole one is no target any more.
    place.fails(1, &["checkpoint", "d.img", "c.img", "--to-log", "log.img"]);
}

#[test]
fn an_unfinished_copy_is_formatted_by_force_alone() {
    let place = Place::new();
    place.ok(&["device", "create", "c.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    cut_off(&place, &["c.img"]);
    place.fails(1, &["format", "c.img"]);
    place.ok(&["format", "c.img", "--force"]);
    assert_eq!(place.ok(&["scan", "c.img"]), "");
}

/// The power goes before a format, or that of a checkpoint, has written the superblock.
#[test]
fn a_format_that_was_cut_short_is_repeated_without_force() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    let lose_superblock = |image: &str| {
        let path = place.path().join(image);
        let drive = Emulator::open_image(path, Access::ReadWrite).expect("an image");
        for zone in [0, 1] {
            drive.control(Op::Reset(ZoneId(zone)), Cause::Superblock).expect("a reset");
        }
    };
    for words in [&["format", "c.img"][..], &["checkpoint", "d.img", "c.img"]] {
        place.ok(&["device", "create", "c.img", "--size", "64MiB", "--zone-size", "1MiB"]);
        cut_off(&place, &["c.img"]);
        lose_superblock("c.img");
        place.ok(words);
        assert_eq!(place.json(&["check", "c.img"])["check"], "clean");
        std::fs::remove_file(place.path().join("c.img")).expect("an image");
    }
    // A store that has lost its superblock is another matter.
    lose_superblock("d.img");
    let error = place.fails(1, &["format", "d.img"]);
    assert!(error.contains("d.img: expected an empty drive, found "), "{error}");
}

#[test]
fn a_checkpoint_that_is_killed_leaves_no_empty_store() {
    let place = Place::formatted("64MiB", "1MiB");
    let mut text = String::new();
    for number in 0..20_000u32 {
        writeln!(text, "key{number:07}\t{number:01000}").expect("a string takes all");
    }
    std::fs::write(place.path().join("entries"), text).expect("a file");
    place.ok(&["load", "d.img", "entries", "--sorted"]);
    let whole = place.ok(&["scan", "d.img"]);
    let mut interrupted = 0;
    for target in ["c.img", "copy/"] {
        let at = place.path().join(target);
        // Later each time, until a copy is done before the kill.
        for round in 0..40 {
            let mut child = place.command(&["checkpoint", "d.img", target]);
            let mut child = child.stdout(std::process::Stdio::null()).spawn().expect("a process");
            runner::sleep(Duration::from_millis(2).mul_f64(1.3_f64.powi(round)));
            child.kill().expect("a signal");
            let status = child.wait().expect("its end");
            let found = place.run(&["scan", target]);
            if status.success() {
                assert!(found.status.success(), "{target}");
                break;
            }
            let error = String::from_utf8_lossy(&found.stderr).into_owned();
            if found.status.success() {
                // It was killed after the end of the copy.
                assert_eq!(String::from_utf8_lossy(&found.stdout), whole, "{target}");
                break;
            }
            interrupted += u64::from(error.contains(UNFINISHED));
            let is_none = error.contains("expected a store, found no file CURRENT");
            assert!(error.contains(UNFINISHED) || is_none || !at.exists(), "{target}: {error}");
        }
        assert_eq!(place.ok(&["scan", target]), whole, "{target}");
        assert_eq!(place.json(&["check", target])["check"], "clean", "{target}");
    }
    assert!(interrupted > 0, "no copy was killed on its way");
    let left = std::fs::read_dir(place.path()).expect("the directory");
    let names = left.map(|entry| entry.expect("an entry").file_name().into_string().unwrap());
    let mut left: Vec<String> = names.filter(|name| name.starts_with(".terrace")).collect();
    place.ok(&["checkpoint", "d.img", "other.img"]);
    left.retain(|name| place.path().join(name).exists());
    assert_eq!(left, [""; 0]);
}
