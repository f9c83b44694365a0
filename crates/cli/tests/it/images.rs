//! Tests of files that are given as images: every command refuses other files, and none changes
//! them, and a damaged image is said to be one. Also stores and checkpoints on two drives, and
//! targets that are not there.

use std::process::Command;

use crate::program::Place;

#[test]
fn what_is_no_image_is_refused_at_once_by_every_command_and_said_to_be_none() {
    let place = Place::new();
    let made = Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();
    std::fs::write(place.path().join("text"), "some text\n".repeat(1000)).unwrap();
    std::fs::write(place.path().join("nothing"), "").unwrap();
    for (image, what) in [
        ("pipe", "found a pipe"),
        ("socket", "found a socket"),
        ("/dev/null", "found a character device"),
        ("text", "found a file that does not begin like one"),
        ("nothing", "found an empty file"),
    ] {
        for words in [
            &["get", image, "key"][..],
            &["put", image, "key", "value"],
            &["format", image],
            &["format", image, "--force"],
            &["check", image],
            &["zones", image],
            &["dump", image],
            &["device", "report", image],
            &["checkpoint", image, "copy"],
        ] {
            let error = place.fails(1, words);
            assert!(error.contains("expected the image of a Terrace drive"), "{error}");
            assert!(error.contains(what) && !error.contains("corrupt"), "{words:?}: {error}");
        }
    }
    for words in [&["zones", "."][..], &["device", "report", "."]] {
        let error = place.fails(1, words);
        assert!(error.contains("found a directory"), "{words:?}: {error}");
    }
    assert!(!place.path().join("copy").exists());
}

#[test]
fn a_drive_that_is_named_twice_is_refused_for_that() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["device", "create", "p.img", "--kind", "plain", "--size", "64MiB"]);
    std::os::unix::fs::symlink("d.img", place.path().join("link.img")).unwrap();
    for words in [
        &["get", "d.img", "key", "--log", "d.img"][..],
        &["check", "d.img", "--offload", "link.img"],
        &["format", "d.img", "--force", "--log", "./d.img"],
        &["checkpoint", "d.img", "link.img"],
        &["checkpoint", "d.img", "p.img", "--to-log", "p.img"],
    ] {
        let error = place.fails(2, words);
        assert!(error.contains("found it named twice"), "{words:?}: {error}");
    }
}

#[test]
fn a_checkpoint_goes_to_no_pipe() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    place.ok(&["format", "d.img"]);
    Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap();
    let error = place.fails(1, &["checkpoint", "d.img", "pipe"]);
    assert!(error.contains("found a pipe"), "{error}");
}

#[test]
fn a_damaged_image_is_not_something_else() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    let path = place.path().join("d.img");
    let image = std::fs::read(&path).unwrap();
    for at in [0, 7, 40, 4092] {
        let mut damaged = image.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        place.fails(3, &["device", "report", "d.img"]);
    }
}

#[test]
fn a_table_of_zones_is_bounded_and_its_memory_is_told() {
    let place = Place::new();
    let shape = ["device", "create", "big.img", "--size", "16TB", "--zone-size", "4KiB"];
    let error = place.fails(2, &shape);
    for part in ["at most 4194304 zones", "1 GiB", "3906250000", "931.3 GiB", "larger zones"] {
        assert!(error.contains(part), "no {part:?}: {error}");
    }
    assert!(!place.path().join("big.img").exists());
    let made = place.json(&["device", "create", "d.img", "--size", "1GiB", "--zone-size", "1MiB"]);
    assert_eq!(made["table_memory"], 1024 * 256);
    let report = place.ok(&["device", "report", "d.img", "--count", "1"]);
    assert!(report.contains("up to 256 KiB of memory"), "{report}");
}

#[test]
fn a_checkpoint_that_is_not_there_is_made_like_its_source() {
    let place = Place::new();
    let shape = ["--size", "64MiB", "--zone-size", "1MiB", "--conventional", "3"];
    place.ok(&[&["device", "create", "d.img"][..], &shape].concat());
    place.ok(&["format", "d.img"]);
    place.ok(&["put", "d.img", "key", "value"]);
    let said = place.ok(&["checkpoint", "d.img", "ck.img"]);
    assert!(said.contains("to the image ck.img"), "{said}");
    let shape = |image| place.json(&["device", "report", image])["geometry"].take();
    assert_eq!(shape("ck.img"), shape("d.img"));
    let copied = place.json(&["checkpoint", "d.img", "plain/"]);
    assert_eq!(copied["target"], "directory");
    std::fs::create_dir(place.path().join("empty")).unwrap();
    place.ok(&["checkpoint", "d.img", "empty"]);
    place.ok(&["checkpoint", "plain", "other"]);
    for copy in ["ck.img", "plain", "empty", "other"] {
        assert_eq!(place.ok(&["get", copy, "key"]), "value", "{copy}");
    }
    assert!(place.path().join("ck.img").is_file() && place.path().join("other").is_dir());
    // The command line gives no shape.
    let error = place.fails(1, &["checkpoint", "plain", "new.img"]);
    assert!(error.contains("terrace device create"), "{error}");
    assert!(!place.path().join("new.img").exists());
    // A copy that fails leaves no image without a store.
    place.fails(5, &["checkpoint", "missing.img", "lost.img"]);
    assert!(!place.path().join("lost.img").exists());
}

/// A store on two drives, in a directory of its own.
fn on_two_drives() -> Place {
    let place = Place::new();
    place.ok(&["device", "create", "drive.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", "fast.img", "--kind", "plain", "--size", "32MiB"]);
    let made = place.ok(&["format", "drive.img", "--log", "fast.img"]);
    assert!(made.contains("\nfast.img: takes the journal and the logs, "), "{made}");
    place
}

#[test]
fn a_store_on_two_drives_finds_the_second_one_beside_the_first() {
    let place = on_two_drives();
    place.ok(&["put", "drive.img", "key", "value"]);
    assert_eq!(place.ok(&["get", "drive.img", "key"]), "value");
    for command in ["zones", "stats", "check"] {
        let text = place.ok(&[command, "drive.img"]);
        assert!(text.contains("device 0: ") && text.contains("device 1: "), "{command}: {text}");
    }
    let devices = &place.json(&["stats", "drive.img"])["devices"];
    assert_eq!((&devices[0]["layout"], &devices[1]["layout"]), (&"zoned".into(), &"plain".into()));
    // Both are moved together.
    std::fs::create_dir(place.path().join("away")).expect("a directory");
    for image in ["drive.img", "fast.img"] {
        let (from, to) = (place.path().join(image), place.path().join("away").join(image));
        std::fs::rename(from, to).expect("a move");
    }
    assert_eq!(place.ok(&["get", "away/drive.img", "key"]), "value");
    // The first is named by a link from elsewhere; the second does not lie next to the link.
    let link = place.path().join("link.img");
    std::os::unix::fs::symlink("away/drive.img", link).expect("a link");
    assert_eq!(place.ok(&["get", "link.img", "key"]), "value");
}

/// Otherwise the original could never be opened again.
#[test]
fn a_copy_of_the_first_drive_does_not_write_to_the_second_one_of_the_original() {
    let place = on_two_drives();
    place.ok(&["put", "drive.img", "key", "value"]);
    let copy = |from: &str, to: &str| {
        std::fs::copy(place.path().join(from), place.path().join(to)).expect("a copy");
    };
    copy("drive.img", "copy.img");
    let refused = |image: &str| {
        let error = place.fails(1, &["put", image, "key", "of the copy"]);
        for part in [image, "drive.img, with which", "fast.img", "copy", "--log"] {
            assert!(error.contains(part), "{error}");
        }
    };
    refused("copy.img");
    assert_eq!(place.ok(&["get", "drive.img", "key"]), "value");
    // A copy of both has a second drive of its own.
    std::fs::create_dir(place.path().join("both")).expect("a directory");
    copy("drive.img", "both/drive.img");
    copy("fast.img", "both/fast.img");
    place.ok(&["put", "both/drive.img", "key", "of the copy"]);
    assert_eq!(place.ok(&["get", "both/drive.img", "key"]), "of the copy");
    assert_eq!(place.ok(&["get", "drive.img", "key"]), "value");
    // The second drive lies elsewhere, so that a copy of both finds that of the original.
    for directory in ["hdd", "ssd", "other"] {
        std::fs::create_dir(place.path().join(directory)).expect("a directory");
    }
    place.ok(&["device", "create", "hdd/drive.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", "ssd/fast.img", "--kind", "plain", "--size", "32MiB"]);
    place.ok(&["format", "hdd/drive.img", "--log", "ssd/fast.img"]);
    place.ok(&["put", "hdd/drive.img", "key", "value"]);
    copy("hdd/drive.img", "other/drive.img");
    copy("ssd/fast.img", "other/fast.img");
    refused("other/drive.img");
    let named = ["put", "other/drive.img", "key", "of the copy", "--log", "other/fast.img"];
    place.ok(&named);
    assert_eq!(place.ok(&["get", "hdd/drive.img", "key"]), "value");
    // A drive that was moved is no copy.
    let [from, to] = ["hdd/drive.img", "moved.img"].map(|image| place.path().join(image));
    std::fs::rename(from, to).expect("a move");
    place.ok(&["put", "moved.img", "key", "moved"]);
    assert_eq!(place.ok(&["get", "moved.img", "key"]), "moved");
}

#[test]
fn a_second_drive_that_was_moved_or_is_another_ones_is_named() {
    let place = on_two_drives();
    place.ok(&["put", "drive.img", "key", "value"]);
    std::fs::rename(place.path().join("fast.img"), place.path().join("f2.img")).expect("a move");
    let error = place.fails(5, &["get", "drive.img", "key"]);
    assert!(error.contains("fast.img") && error.contains("--log"), "{error}");
    assert_eq!(place.ok(&["get", "drive.img", "key", "--log", "f2.img"]), "value");
    place.ok(&["device", "create", "other.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", "fast.img", "--kind", "plain", "--size", "32MiB"]);
    let second = &place.json(&["format", "other.img", "--log", "fast.img"])["second"];
    let capacity = 32 << 20;
    let expected = serde_json::json!({ "role": "log", "path": "fast.img", "capacity": capacity });
    assert_eq!(*second, expected);
    let error = place.fails(1, &["get", "drive.img", "key"]);
    assert!(error.contains("expected device 1 of store"), "{error}");
    let error = place.fails(1, &["format", "other.img", "--force", "--log", "drive.img"]);
    assert!(error.contains("plain"), "{error}");
    let error = place.fails(1, &["get", "fast.img", "key"]);
    assert!(error.contains("--log"), "{error}");
    let error = place.fails(1, &["format", "other.img", "--log", "f2.img"]);
    assert!(error.contains("--force"), "{error}");
}

#[test]
fn a_drive_that_is_not_the_second_one_is_named() {
    let place = on_two_drives();
    for (name, kind) in [("blank.img", "plain"), ("zoned.img", "zoned"), ("p.img", "plain")] {
        place.ok(&["device", "create", name, "--kind", kind, "--size", "64MiB"]);
    }
    for other in ["blank.img", "zoned.img"] {
        for words in
            [&["get", "drive.img", "key"][..], &["check", "drive.img"], &["zones", "drive.img"]]
        {
            let error = place.fails(1, &[words, &["--log", other]].concat());
            let named = format!("{other}: expected the log drive of the store on drive.img");
            assert!(error.contains(&named) && error.contains("--log"), "{words:?}: {error}");
            assert!(!error.contains("format the device"), "{words:?}: {error}");
        }
    }
    let error = place.fails(1, &["format", "p.img", "--log", "zoned.img", "--force"]);
    assert!(error.contains("zoned.img: expected a plain device"), "{error}");
    for command in ["zones", "check", "stats", "scan"] {
        let error = place.fails(1, &[command, "zoned.img"]);
        assert!(error.contains("zoned.img: no file system here"), "{command}: {error}");
    }
}

#[test]
fn a_checkpoint_goes_to_two_drives() {
    let place = on_two_drives();
    place.ok(&["put", "drive.img", "key", "value"]);
    place.ok(&["device", "create", "near.img", "--kind", "plain", "--size", "32MiB"]);
    place.ok(&["checkpoint", "drive.img", "e.img", "--to-log", "near.img"]);
    assert_eq!(place.ok(&["get", "e.img", "key"]), "value");
    let zones = place.ok(&["zones", "e.img"]);
    assert!(zones.contains("device 1: "), "{zones}");
    let error = place.fails(1, &["checkpoint", "drive.img", "f.img", "--to-log", "near.img"]);
    assert!(error.contains("expected an empty drive, found a store"), "{error}");
    assert!(!place.path().join("f.img").exists());
    place.ok(&["device", "create", "g.img", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "g.img"]);
    place.ok(&["checkpoint", "drive.img", "g.img"]);
    assert_eq!(place.ok(&["get", "g.img", "key"]), "value", "a freshly formatted target");
}

#[test]
fn a_checkpoint_leaves_a_store_alone_that_lies_on_a_drive_without_zones() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    for kind in ["plain", "tracks"] {
        let image = format!("{kind}.img");
        place.ok(&["device", "create", &image, "--kind", kind, "--size", "256MiB"]);
        place.ok(&["checkpoint", "d.img", &image]);
        assert_eq!(place.ok(&["get", &image, "key"]), "value", "{kind}");
        place.ok(&["put", &image, "own", "more"]);
        let error = place.fails(1, &["checkpoint", "d.img", &image]);
        assert!(error.contains("expected an empty store"), "{kind}: {error}");
        assert_eq!(place.ok(&["get", &image, "own"]), "more", "{kind}");
    }
}

#[test]
fn a_store_that_lies_in_conventional_zones_and_on_a_log_device_is_left_alone() {
    let place = Place::formatted("64MiB", "1MiB");
    place.ok(&["put", "d.img", "key", "value"]);
    place.ok(&["device", "create", "t.img", "--kind", "bands", "--size", "2GiB"]);
    place.ok(&["device", "create", "log.img", "--kind", "plain", "--size", "32MiB"]);
    place.ok(&["format", "t.img", "--log", "log.img"]);
    // It is in the log, so that no sequential zone is written.
    place.ok(&["put", "t.img", "own", "more"]);
    let error = place.fails(1, &["format", "t.img"]);
    assert!(error.contains("expected an empty drive, found a store; --force"), "{error}");
    let error = place.fails(1, &["checkpoint", "d.img", "t.img"]);
    assert!(error.contains("journal and logs on device 1"), "{error}");
    assert_eq!(place.ok(&["get", "t.img", "own"]), "more");
    // An empty drive of this kind is a target.
    place.ok(&["device", "create", "e.img", "--kind", "bands", "--size", "2GiB"]);
    place.ok(&["checkpoint", "d.img", "e.img"]);
    assert_eq!(place.ok(&["get", "e.img", "key"]), "value");
}

#[test]
fn zeros_in_the_table_of_zones_make_no_blank_drive() {
    for (from, len) in [(0, 4096), (0, 16), (16 * 63, 16)] {
        let place = Place::new();
        let create = ["device", "create", "d.img", "--size", "96MiB", "--zone-size", "1MiB"];
        place.ok(&create);
        place.ok(&["format", "d.img"]);
        place.ok(&["put", "d.img", "key", "value"]);
        let mut image = std::fs::read(place.path().join("d.img")).unwrap();
        image[4096 + from..4096 + from + len].fill(0);
        std::fs::write(place.path().join("d.img"), image).unwrap();
        for words in [
            &["check", "d.img"][..],
            &["scan", "d.img"],
            &["device", "report", "d.img"],
            &["format", "d.img"],
            &["format", "d.img", "--force"],
        ] {
            let error = place.fails(3, words);
            assert!(error.contains("zone table checksum"), "{words:?}: {error}");
        }
    }
}

#[test]
fn a_file_that_ends_in_the_header_is_told_by_its_length() {
    let place = Place::new();
    place.ok(&["device", "create", "d.img", "--size", "64MiB"]);
    let image = std::fs::File::options().write(true).open(place.path().join("d.img")).unwrap();
    image.set_len(100).unwrap();
    let error = place.fails(3, &["check", "d.img"]);
    assert!(error.contains("header: expected 4096 bytes, found 100 bytes in all"), "{error}");
}

#[test]
fn a_copy_on_two_drives_wants_blank_ones() {
    let place = Place::formatted("64MiB", "1MiB");
    for name in ["to.img", "p.img"] {
        let kind = if name == "p.img" { "plain" } else { "zoned" };
        place.ok(&["device", "create", name, "--size", "64MiB", "--kind", kind]);
    }
    place.ok(&["format", "to.img"]);
    let error = place.fails(1, &["checkpoint", "d.img", "to.img", "--to-log", "p.img"]);
    assert!(error.contains("to.img: expected a blank drive"), "{error}");
    assert!(!error.contains("format the device first"), "{error}");
}
