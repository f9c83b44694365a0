//! Tests of durability on the host: by `strace`, that a put to an image syncs it and a read writes
//! nothing; and that `stats` and `bench` say how images and logs are written.

use std::process::Command;

use crate::program::Place;

/// The system calls of a command line, in order: `fdatasync`, `fsync` and `pwrite64`.
///
/// `strace` is one of the packages that `cargo xtask test` installs.
fn calls(place: &Place, words: &[&str]) -> Vec<String> {
    let output = Command::new("strace")
        .current_dir(place.path())
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync,pwrite64", "-e", "signal=none"])
        .args(["-o", "trace.txt", env!("CARGO_BIN_EXE_terrace")])
        .args(words)
        .output()
        .expect("strace, which `cargo xtask test` installs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {error}");
    let trace = std::fs::read_to_string(place.path().join("trace.txt")).expect("a trace");
    let name = |line: &str| {
        let call = line.split_once(' ')?.1.trim_start();
        let call = call.strip_prefix("<... ").unwrap_or(call);
        let end = call.find(|c: char| !c.is_ascii_alphanumeric())?;
        // The end of a call that another thread came into counts, its begin does not.
        (!line.contains("unfinished")).then(|| call[..end].to_owned())
    };
    trace.lines().filter_map(name).collect()
}

fn image(place: &Place) {
    place.ok(&["device", "create", "image", "--size", "64MiB", "--zone-size", "1MiB"]);
    place.ok(&["format", "image"]);
}

#[test]
fn a_put_on_an_image_syncs_it_after_its_last_write() {
    let place = Place::new();
    image(&place);
    let synced = calls(&place, &["put", "image", "key", "value"]);
    let syncs = |calls: &[String]| calls.iter().filter(|call| call.contains("sync")).count();
    assert!(syncs(&synced) > 0, "{synced:?}");
    // Calls after the last sync are not acknowledged: closing records zones as closed.
    let last_sync = synced.iter().rposition(|call| call.contains("sync")).unwrap();
    let writes = synced[..last_sync].iter().filter(|call| *call == "pwrite64").count();
    assert!(writes >= 2, "the log's frame and its zone: {synced:?}");
    let unsynced = calls(&place, &["put", "image", "key", "value", "--unsynced-image"]);
    assert_eq!(syncs(&unsynced), 0, "{unsynced:?}");
    let read = calls(&place, &["get", "image", "key"]);
    assert_eq!(read, Vec::<String>::new(), "reading writes and syncs nothing");
}

#[test]
fn the_metrics_say_whether_an_image_is_synced() {
    let place = Place::new();
    image(&place);
    let text = place.ok(&["stats", "image"]);
    assert!(text.contains("image image, synced to the host's disk"), "{text}");
    let text = place.ok(&["stats", "image", "--unsynced-image"]);
    assert!(text.contains("image image, not synced to the host's disk"), "{text}");
    assert_eq!(place.json(&["stats", "image"])["medium"], "image image, synced to the host's disk");
}

#[test]
fn both_ways_of_writing_the_log_are_measured_and_named() {
    let place = Place::new();
    let small = ["--count", "2000", "--memtable-size", "256KiB"];
    let words = ["bench", "fillseq", "--log", "written,gathered"];
    for on in ["memory", "image", "directory"] {
        let dir = if on == "memory" { &[][..] } else { &["--dir", "."] };
        let report = place.json(&[&words[..], &["--on", on], dir, &small].concat());
        let runs = report["runs"].as_array().expect("an array");
        assert_eq!(runs.len(), 2, "{report}");
        let log = |run: usize| {
            runs[run]["measurements"][0]["when_idle"]["write_amplification"]["log"]
                .as_f64()
                .expect("a number")
        };
        assert_eq!(
            (&runs[0]["conditions"]["log"], &runs[1]["conditions"]["log"]),
            (&"written".into(), &"gathered".into())
        );
        // A block for each write on a drive; blocks shared in a directory.
        assert!(log(0) > log(1) * 0.999, "{on}: {} and {}", log(0), log(1));
        assert_eq!(log(0) > 20.0, on != "directory", "{on}: {}", log(0));
        let image_synced = &runs[0]["conditions"]["image_synced"];
        assert_eq!(image_synced.as_bool(), (on == "image").then_some(false), "{on}");
    }
    let synced = ["--on", "image", "--dir", ".", "--sync-image"];
    let text = place.ok(&[&words[..], &synced, &small].concat());
    for said in ["log written before each", "log gathered:", "the image is synced to the host's"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = place.ok(&[&words[..2], &["--on", "image", "--dir", "."], &small].concat());
    assert!(text.contains("not synced to the host's") && text.contains("log gathered"), "{text}");
}
