//! Tests of `terrace bench` and `terrace bench load` with tiny counts: every mix and workload runs
//! on every medium, recorded traces can be replayed, no files are left, and wrong command
//! lines are refused. They do not check which times come out.

use serde_json::Value;

use crate::program::Place;

const MIXES: [&str; 11] = [
    "fillseq",
    "filluniquerandom",
    "overwrite",
    "readrandom",
    "readmissing",
    "readseq",
    "seekrandom",
    "readwhilewriting",
    "deleterandom",
    "filluniquerandom2",
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
    for (on, more) in [
        ("memory", &["--zone-size", "4MiB"][..]),
        ("image", &["--dir", ".", "--zone-size", "4MiB"]),
        ("directory", &["--dir", "."]),
    ] {
        let place = Place::new();
        let report = measure(&place, &[&["--on", on][..], more].concat());
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
            assert_eq!(one["when_idle"].is_object(), writes, "{one}");
        }
        assert_eq!(measurements[5]["operations"], 2000);
        assert_eq!(measurements[10]["operations"], 50);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "{on}");
    }
}

#[test]
fn level_0_is_merged_when_writers_rest_and_left_alone_on_request() {
    let place = Place::new();
    // Three memtables: too few runs for a compaction that the tree needs.
    let fill = ["bench", "filluniquerandom", "--count", "4000", "--memtable-size", "256KiB"];
    let compacted = |words: &[&str]| {
        let run = place.json(&[&fill[..], words].concat())["runs"][0].clone();
        let written = &run["measurements"][0]["when_idle"]["write_amplification"];
        (run["conditions"]["compact_at_rest"].clone(), written["compaction"].as_f64().unwrap())
    };
    let (on, merged) = compacted(&[]);
    let (off, left) = compacted(&["--no-compact-at-rest"]);
    assert_eq!((on, off), (true.into(), false.into()));
    assert!(merged > 0.5 && left == 0.0, "{merged} and {left}");
    let text = place.ok(&[&fill[..], &["--no-compact-at-rest"]].concat());
    assert!(text.contains("level 0 is left as it is when writers rest"), "{text}");
}

#[test]
fn a_mix_that_reads_gets_a_filled_store_and_the_table_has_its_line() {
    let place = Place::new();
    let report = measure(&place, &["readrandom", "--reads", "100"]);
    assert_eq!(report["measurements"].as_array().unwrap().len(), 1);
    let latency = &report["measurements"][0]["latency"];
    assert!(latency["p50"].as_f64().unwrap() <= latency["max"].as_f64().unwrap(), "{latency}");
    let table = place.ok(&[&["bench", "readseq", "filluniquerandom"][..], &SMALL].concat());
    for line in
        ["| full scan, per key", "| filluniquerandom + wait_idle", "filluniquerandom: write amp"]
    {
        assert!(table.contains(line), "{line}: {table}");
    }
    // The numbers of other engines are not shown for different work.
    assert!(!table.contains("fjall"), "{table}");
}

#[test]
fn the_sizes_of_the_reference_are_not_to_be_changed() {
    let place = Place::new();
    for words in [["--count", "5"], ["--value-size", "128"], ["--memory", "1MiB"]] {
        place.fails(2, &[&["bench", "--reference"][..], &words].concat());
    }
}

/// Measurement of one piece of work.
fn of<'a>(report: &'a Value, work: &str) -> &'a Value {
    let measurements = report["measurements"].as_array().expect("an array");
    let found = measurements.iter().find(|one| one["mix"] == work);
    found.unwrap_or_else(|| panic!("{work} in {report}"))
}

/// How many operations of a kind there were.
fn count(measurement: &Value, kind: &str) -> u64 {
    let kinds = measurement["played"]["kinds"].as_array().expect("an array");
    let found = kinds.iter().find(|one| one["kind"] == kind);
    found.map_or(0, |one| one["operations"].as_u64().expect("a number"))
}

#[test]
fn every_workload_of_ycsb_runs_with_several_clients_and_has_its_operations() {
    let place = Place::new();
    let words = [
        "ycsb-load",
        "ycsb-a",
        "ycsb-b",
        "ycsb-c",
        "ycsb-d",
        "ycsb-e",
        "ycsb-f",
        "fillrandom",
        "readrandomwriterandom",
    ];
    let options = ["--operations", "1000", "--clients", "3", "--sizes", "20-300"];
    let report = measure(&place, &[&words[..], &options[..]].concat());
    assert_eq!(of(&report, "ycsb-load")["operations"], 2000);
    assert_eq!(count(of(&report, "ycsb-load"), "insert"), 2000);
    let a = of(&report, "ycsb-a");
    assert_eq!((a["operations"].as_u64(), a["played"]["clients"].as_u64()), (Some(1000), Some(3)));
    assert_eq!(count(a, "read") + count(a, "update"), 1000);
    assert!((450..550).contains(&count(a, "update")), "{a}");
    assert_eq!(a["played"]["misses"], 0);
    assert!(count(of(&report, "ycsb-e"), "scan") > 900);
    assert!(count(of(&report, "ycsb-f"), "modify") > 450);
    // A third of the records is never written, and so about a third of the reads finds nothing.
    let misses = of(&report, "readrandomwriterandom")["played"]["misses"].as_u64().unwrap();
    assert!((200..450).contains(&misses), "{misses}");
    assert_eq!(report["conditions"]["value_size"], "20-300");
    assert!(report["contents"]["records"].as_u64().unwrap() < 1500, "{report}");
}

#[test]
fn what_is_recorded_can_be_replayed_and_leaves_the_same() {
    for (work, options) in [
        (&["ycsb-load", "ycsb-a", "ycsb-d"][..], &["--chooser", "hotspot"][..]),
        (&["ycsb-e"], &["--key-size", "12-40"]),
        (&["fillrandom", "overwrite", "deleterandom", "readseq"], &[]),
    ] {
        let place = Place::new();
        let more = ["--operations", "1500", "--value-size", "10-900/1.1", "--record", "trace"];
        let recorded = measure(&place, &[work, options, &more].concat());
        assert_eq!(recorded["measurements"].as_array().unwrap().len(), work.len());
        let keys = if options[..].contains(&"--key-size") { options } else { &[] };
        let replayed = measure(&place, &[keys, &["--replay", "trace"]].concat());
        assert!(recorded["contents"]["records"].as_u64().unwrap() > 0, "{recorded}");
        assert_eq!(replayed["contents"], recorded["contents"], "{work:?}");
        let text = std::fs::read_to_string(place.path().join("trace")).unwrap();
        let trace = of(&replayed, "trace");
        assert_eq!(trace["operations"].as_u64().unwrap(), text.lines().count() as u64 - 2);
        // With several clients the same is written, although not in the same order.
        let clients = [&["--replay", "trace", "--clients", "4"], keys].concat();
        let together = measure(&place, &clients);
        let records = |report: &Value| report["contents"]["records"].clone();
        if !work.contains(&"deleterandom") {
            assert_eq!(records(&together), records(&recorded));
        }
    }
}

#[test]
fn a_trace_of_records_that_are_not_there_misses_and_a_wrong_line_is_named() {
    let place = Place::new();
    let write = |text: &str| std::fs::write(place.path().join("trace"), text).unwrap();
    write("terrace-trace 1\nread 5\nscan 9 3\ndelete 7\nmodify 4000000000 100\nread 5\n");
    let report = measure(&place, &["--replay", "trace"]);
    let trace = of(&report, "trace");
    assert_eq!(
        (trace["operations"].as_u64(), trace["played"]["misses"].as_u64()),
        (Some(5), Some(3))
    );
    assert_eq!(report["contents"]["records"], 1);
    for (text, code, said) in [
        ("terrace-trace 1\nread 5\nread five\n", 1, "trace: line 3: expected `read N`"),
        ("nothing\n", 1, "trace: line 1: expected the header"),
        ("terrace-trace 1\ninsert 5 3\n", 2, "record 5: expected a value of 8 to"),
        ("terrace-trace 1\ninsert 5000000000 30\n", 2, "record 5000000000: expected a number"),
    ] {
        write(text);
        let error = place.fails(code, &["bench", "--replay", "trace"]);
        assert!(error.contains(said), "{error}");
    }
    write(&"9".repeat(1 << 20));
    let error = place.fails(1, &["bench", "--replay", "trace"]);
    assert!(error.contains("trace: line 1: expected a line of at most"), "{error}");
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
    assert!(made.unwrap().success());
    for (path, found) in [("pipe", "a pipe"), ("/dev/zero", "a character device")] {
        let error = place.fails(1, &["bench", "--replay", path]);
        assert!(error.contains(&format!("{path}: expected a file, found {found}")), "{error}");
    }
    place.fails(5, &["bench", "--replay", "absent"]);
    let error = place.fails(4, &["bench", "ycsb-a", "--count", "10", "--record", "/dev/full"]);
    assert!(error.contains("/dev/full: No space left"), "{error}");
}

#[test]
fn a_histogram_has_a_distribution_for_each_kind_of_operation() {
    let place = Place::new();
    measure(&place, &["readrandom", "ycsb-a", "--histogram", "latencies"]);
    let text = std::fs::read_to_string(place.path().join("latencies")).unwrap();
    for head in ["readrandom, all", "ycsb-a, all", "ycsb-a, read", "ycsb-a, update"] {
        assert!(text.contains(&format!("#[{head}: microseconds]")), "{text}");
    }
    assert_eq!(text.matches("Percentile TotalCount").count(), 4, "{text}");
    assert_eq!(text.matches("Total count    =         2000]").count(), 2, "{text}");
    let table = place.ok(&["bench", "ycsb-a", "--records", "2000"]);
    for part in ["| ycsb-a update ", "ycsb-a: by 1 clients", "in the end 2,000 records of"] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

/// A 32nd of the default load.
const SMALL_LOAD: [&str; 8] =
    ["bench", "load", "--bytes", "250MB", "--drive", "312MB", "--zone-size", "2MiB"];

#[test]
fn a_small_drive_is_nearly_filled_and_what_it_holds_is_right() {
    let place = Place::new();
    let report = place.json(&[&SMALL_LOAD[..], &["--dir", "."]].concat());
    assert_eq!(report["entries"], 250_000_000 / 1040, "{report}");
    assert_eq!(report["system"], "bluefs", "{report}");
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
    let greedy = [&words[..], &["--system", "leveldb-greedy"]].concat();
    place.fails(4, &greedy);
    place.fails(2, &["bench", "load", "--system", "none"]);
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
        &["--value-size", "5-100"],
        &["--value-size", "100-5"],
        &["--clients", "0", "ycsb-a"],
        &["--chooser", "paretic", "ycsb-a"],
        &["--record", "trace", "ycsb-a", "ycsb-load"],
        &["--record", "trace", "fillseq", "ycsb-a"],
        &["--record", "trace", "readmissing"],
        &["--record", "trace", "--replay", "trace"],
        &["--operations", "5"],
        &["--dir", "."],
        &["--sync-image"],
        &["--on", "directory", "--zone-size", "1MiB"],
        &["fillseq", "--histogram", "latencies", "--log", "written,gathered"],
    ] {
        let error = place.fails(2, &[&["bench"][..], words].concat());
        assert!(error.contains("error"), "{words:?}: {error}");
    }
    place.fails(5, &[&["bench", "--on", "image", "--dir", "absent"][..], &SMALL].concat());
}
