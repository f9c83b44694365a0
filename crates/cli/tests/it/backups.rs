//! `checkpoint --incremental`: a backup is brought up to date, of which only new tables are copied;
//! every other store is refused and left as it is.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use terrace_env::runner;

use crate::program::Place;

/// Loads entries, in order, into tables.
fn load(place: &Place, from: u32, count: u32) {
    let mut text = String::new();
    for number in from..from + count {
        writeln!(text, "key{number:07}\t{number:0500}").expect("a string takes all");
    }
    std::fs::write(place.path().join("entries"), text).expect("a file");
    place.ok(&["load", "d.img", "entries", "--sorted"]);
}

/// A drive with 10,000 entries.
fn filled() -> Place {
    let place = Place::formatted("128MiB", "1MiB");
    load(&place, 0, 10_000);
    place
}

#[test]
fn the_same_command_makes_a_backup_and_brings_it_up_to_date() {
    let place = filled();
    place.ok(&["device", "create", "z.img", "--size", "128MiB", "--zone-size", "2MiB"]);
    place.ok(&["device", "create", "p.img", "--size", "128MiB", "--zone-size", "1MiB"]);
    place.ok(&["device", "create", "log.img", "--kind", "plain", "--size", "32MiB"]);
    let targets = [&["new.img"][..], &["new/"], &["z.img"], &["p.img", "--to-log", "log.img"]];
    for (number, target) in targets.into_iter().enumerate() {
        let words = [&["checkpoint", "d.img"], target, &["--incremental"]].concat();
        let first = place.json(&words);
        assert_eq!(first["kept_tables"], 0, "{target:?}: {first}");
        load(&place, 10_000 + 100 * number as u32, 100);
        let second = place.json(&words);
        let count = |field: &str| second[field].as_u64().expect("a number");
        assert!(count("kept_tables") > 0, "{target:?}: {second}");
        assert!(count("kept_bytes") > count("bytes") / 2, "{target:?}: {second}");
        let name = target[0];
        assert!(place.ok(&["scan", name]) == place.ok(&["scan", "d.img"]), "{target:?}");
        assert_eq!(place.json(&["check", name])["check"], "clean", "{target:?}");
        // Reading leaves it a backup.
        let text = place.ok(&[&words[..], &["--verify"]].concat());
        assert!(text.starts_with("copied 0 tables and "), "{text}");
        assert!(text.contains("; kept ") && text.contains(" of the earlier backup, "), "{text}");
    }
}

#[test]
fn a_store_that_is_no_backup_is_refused_and_stays_as_it_is() {
    let place = filled();
    place.ok(&["checkpoint", "d.img", "copy/"]);
    let error = place.fails(1, &["checkpoint", "d.img", "copy", "--incremental"]);
    let expected = "copying d.img to copy: the target of a backup: expected an empty store, or a \
                    backup of the store ";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains(" that is none"), "{error}");
    place.ok(&["checkpoint", "d.img", "b.img", "--incremental"]);
    let text = place.ok(&["dump", "b.img"]);
    assert!(text.contains("a backup of the store "), "{text}");
    // A checkpoint does not replace a backup, and says what would.
    let error = place.fails(1, &["checkpoint", "d.img", "b.img"]);
    assert!(
        error.contains("expected an empty store") && error.contains("--incremental"),
        "{error}"
    );
    // Neither does the backup of another store.
    let image = || std::fs::read(place.path().join("b.img")).unwrap();
    let error = place.fails(1, &["checkpoint", "copy", "b.img", "--incremental"]);
    assert!(error.contains("found a backup of the store "), "{error}");
    assert!(error.contains("the drive still holds a backup"), "{error}");
    place.ok(&["checkpoint", "d.img", "b.img", "--incremental"]);
    place.ok(&["put", "b.img", "key", "value"]);
    let before = place.ok(&["scan", "b.img", "--values"]);
    let error = place.fails(1, &["checkpoint", "d.img", "b.img", "--incremental"]);
    assert!(error.contains("that was not opened for writing since"), "{error}");
    assert_eq!(place.ok(&["scan", "b.img", "--values"]), before);
    assert!(!image().is_empty());
    let error = place.fails(2, &["checkpoint", "d.img", "other", "--verify"]);
    assert!(error.contains("--incremental"), "{error}");
}

#[test]
fn a_backup_that_is_killed_is_the_earlier_one_or_the_new_one() {
    let place = filled();
    let command = ["checkpoint", "d.img", "b/", "--incremental"];
    place.ok(&command);
    let before = place.ok(&["scan", "b"]);
    load(&place, 10_000, 20_000);
    let after = place.ok(&["scan", "d.img"]);
    let mut earlier = 0;
    for round in 0..40 {
        let mut child = place.command(&command);
        let mut child = child.stdout(Stdio::null()).spawn().expect("a process");
        runner::sleep(Duration::from_millis(2).mul_f64(1.3_f64.powi(round)));
        child.kill().expect("a signal");
        child.wait().expect("its end");
        let found = place.ok(&["scan", "b"]);
        if found == after {
            break;
        }
        assert!(found == before, "neither the earlier backup nor the new one");
        earlier += 1;
    }
    assert!(earlier > 0, "no backup was killed on its way");
    let last = place.json(&command);
    assert!(last["kept_tables"].as_u64() > Some(0), "{last}");
    assert!(place.ok(&["scan", "b"]) == after);
    assert_eq!(place.json(&["check", "b"])["check"], "clean");
}
