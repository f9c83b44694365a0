//! `terrace bench`, on tiny counts: that it measures, not what.

use serde_json::Value;

use crate::program::Place;

const MIXES: [&str; 11] = [
    "fillseq",
    "fillrandom",
    "overwrite",
    "readrandom",
    "readmissing",
    "readseq",
    "seekrandom",
    "readwhilewriting",
    "deleterandom",
    "fillrandom2",
    "fillsync",
];

const SMALL: [&str; 6] = ["--count", "2000", "--syncs", "50", "--memtable-size", "256KiB"];

/// The one size that is measured.
fn measure(place: &Place, words: &[&str]) -> Value {
    let report = place.json(&[&["bench"][..], &SMALL, words].concat());
    assert_eq!(report["runs"].as_array().expect("an array").len(), 1, "{report}");
    report["runs"][0].clone()
}

#[test]
fn every_mix_runs_on_every_medium_and_leaves_nothing_behind() {
    for on in ["memory", "image", "directory"] {
        let place = Place::new();
        let report = measure(&place, &["--on", on, "--dir", ".", "--zone-size", "4MiB"]);
        assert_eq!(report["conditions"]["on"], on, "{report}");
        assert!(report["peak_memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{report}");
        let measurements = report["measurements"].as_array().unwrap();
        let mixes: Vec<_> = measurements.iter().map(|one| one["mix"].as_str().unwrap()).collect();
        assert_eq!(mixes, MIXES, "{on}");
        for one in measurements {
            assert!(one["operations"].as_u64().unwrap() > 0, "{one}");
            assert!(one["processor_micros"].as_f64().unwrap() > 0.0, "{one}");
            assert!(one["operations_per_second"].as_f64().unwrap() > 0.0, "{one}");
            let writes = one["mix"].as_str().is_some_and(|mix| {
                !mix.starts_with("read") && mix != "seekrandom" || mix == "readwhilewriting"
            });
            assert_eq!(one["settled"].is_object(), writes, "{one}");
        }
        assert_eq!(measurements[5]["operations"], 2000);
        assert_eq!(measurements[10]["operations"], 50);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "{on}");
    }
}

#[test]
fn a_mix_that_reads_gets_a_filled_store_and_the_table_has_its_line() {
    let place = Place::new();
    let report = measure(&place, &["readrandom", "--reads", "100"]);
    assert_eq!(report["measurements"].as_array().unwrap().len(), 1);
    let latency = &report["measurements"][0]["latency"];
    assert!(latency["p50"].as_f64().unwrap() <= latency["max"].as_f64().unwrap(), "{latency}");
    let table = place.ok(&[&["bench", "readseq", "fillrandom"][..], &SMALL].concat());
    for line in ["| full scan, per key", "| fillrandom + settle", "fillrandom: write amp"] {
        assert!(table.contains(line), "{line}: {table}");
    }
    // What others took for other work is not put beside.
    assert!(!table.contains("RocksDB"), "{table}");
}

#[test]
fn the_sizes_of_the_reference_are_not_to_be_changed() {
    let place = Place::new();
    for words in [["--count", "5"], ["--value-size", "128"], ["--memory", "1MiB"]] {
        place.fails(2, &[&["bench", "--reference"][..], &words].concat());
    }
}

/// A 32nd of what is loaded when nothing is said.
const SMALL_LOAD: [&str; 8] =
    ["bench", "load", "--bytes", "250MB", "--drive", "312MB", "--zone-size", "2MiB"];

#[test]
fn a_small_drive_is_nearly_filled_and_what_it_holds_is_right() {
    let place = Place::new();
    let report = place.json(&[&SMALL_LOAD[..], &["--dir", "."]].concat());
    assert_eq!(report["entries"], 250_000_000 / 1040, "{report}");
    assert_eq!(report["check"]["problems"].as_array().map(Vec::len), Some(0), "{report}");
    let memory = &report["memory"];
    let bytes = |field: &str| memory[field].as_u64().unwrap_or_else(|| panic!("{report}"));
    assert!(0 < bytes("peak") && bytes("peak") <= bytes("budget"), "{memory}");
    assert!(report["steps"].as_u64() >= report["jobs"]["compaction"]["count"].as_u64());
    assert!(report["step_seconds_max"].as_f64().unwrap() > 0.0, "{report}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_load_that_does_not_fit_its_drive_says_so() {
    let place = Place::new();
    let words = ["bench", "load", "--bytes", "64MB", "--drive", "32MB", "--zone-size", "1MiB"];
    place.fails(4, &words);
    place.fails(2, &["bench", "load", "--drive", "0"]);
    place.fails(2, &["bench", "load", "readrandom"]);
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let place = Place::new();
    for words in [
        &["readfast"][..],
        &["--on", "paper"],
        &["--nothing"],
        &["--count", "0"],
        &["--key-size", "8"],
        &["--value-size", "7"],
        &["--zone-size", "1000"],
    ] {
        let error = place.fails(2, &[&["bench"][..], words].concat());
        assert!(error.contains("error"), "{words:?}: {error}");
    }
    place.fails(5, &[&["bench", "--on", "image", "--dir", "absent"][..], &SMALL].concat());
}
