//! Tests of `terrace lab list`, `terrace lab run` and `terrace lab report`, with a small experiment
//! of their own: a run gives its metrics once, and then from the kept outcome.

use serde_json::Value;

use crate::program::Place;

/// A second or two of a processor at 1/512.
const TINY: &str = r#"
title = "A small random load"
source = "none"
about = "for tests"
drive = "seagate-st13125nm007"
space = "16GiB"
sample_every = "30 s"
systems = ["bluefs", "leveldb-greedy"]

[store]
memtable_size = "32MiB"
memory = "256MiB"
log = "elsewhere"

[[phase]]
workload = "fillrandom"
operations = 1_000_000
key_size = 16
value_size = "4096"

[[plot]]
kind = "bars"
title = "Where the time goes"
metrics = ["seconds_by_cause.flush", "seconds_by_cause.compaction"]

[[claim]]
text = "one is as fast as the other"
published = 1.0
quantity = { system = "bluefs", metric = "kv_per_second", over = "leveldb-greedy" }
"#;

const RUN: [&str; 5] = ["lab", "run", "tiny.toml", "--scale", "1/512"];

fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("tiny.toml"), TINY).unwrap();
    place
}

/// The part of a result that is the same on every machine.
fn without_cost(mut result: Value) -> Value {
    for outcome in result["outcomes"].as_array_mut().expect("outcomes") {
        outcome["cost"].take();
    }
    result["outcomes"].take()
}

fn near(value: &Value, expected: f64) -> bool {
    (value.as_f64().expect("a number") - expected).abs() <= 1e-6 * expected.abs()
}

#[test]
fn a_run_gives_its_metrics_once_and_then_from_what_was_kept() {
    let place = place();
    let first = place.json(&RUN);
    let outcomes = first["outcomes"].as_array().unwrap();
    let systems: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["system"]).collect();
    assert_eq!(systems, ["bluefs", "leveldb-greedy"]);
    for outcome in outcomes {
        let number = |name: &str| outcome.pointer(name).and_then(Value::as_f64).unwrap();
        let sum = |name: &str, but: &[&str]| -> f64 {
            let parts = outcome[name].as_object().unwrap().iter();
            let parts = parts.filter(|(part, _)| !but.contains(&part.as_str()));
            parts.map(|(_, value)| value.as_f64().unwrap()).sum()
        };
        assert!(near(&outcome["seconds"], sum("seconds_by_cause", &[])), "{outcome}");
        let total = sum("write_amplification", &["total", "device"]);
        assert!(near(&outcome["write_amplification"]["total"], total), "{outcome}");
        assert!(near(
            &outcome["kv_per_second"],
            (1_000_000 / 512 * 512) as f64 / number("/seconds")
        ));
        for name in ["valid_end", "valid_average", "live_end", "live_average", "live_worst"] {
            let share = number(&format!("/space_efficiency/{name}"));
            assert!(share > 0.0 && share <= 1.0, "{name}: {share}");
        }
        assert!(outcome["samples"].as_array().unwrap().len() > 2);
        assert_eq!(outcome["trace_hash"].as_str().unwrap().len(), 16);
    }
    assert!(near(&first["claims"][0]["ratio"], first["claims"][0]["ours"].as_f64().unwrap()));
    assert!(first["processor_seconds_per_gigabyte"].as_f64().unwrap() > 0.0);
    let again = place.run(&RUN);
    assert_eq!(String::from_utf8_lossy(&again.stderr).matches("of a processor").count(), 0);
    assert_eq!(place.json(&RUN), first);
    assert!(place.ok(&RUN).contains("processor seconds for"));
}

#[test]
fn runs_at_once_give_the_same_metrics_and_other_inputs_are_run_anew() {
    let place = place();
    let one = without_cost(place.json(&[&RUN[..], &["--jobs", "1"]].concat()));
    let fresh = place.json(&[&RUN[..], &["--jobs", "2", "--fresh"]].concat());
    assert_eq!(without_cost(fresh), one);
    let other =
        without_cost(place.json(&[&RUN[..], &["--seed", "2", "--system", "bluefs"]].concat()));
    assert_eq!(other.as_array().unwrap().len(), 1);
    assert_ne!(other[0]["trace_hash"], one[0]["trace_hash"]);
}

#[test]
fn a_damaged_result_is_reported_and_run_again() {
    let place = place();
    let words = [&RUN[..], &["--system", "bluefs", "--results", "kept"]].concat();
    let first = without_cost(place.json(&words));
    let kept = place.path().join("kept/seagate-st13125nm007");
    let files: Vec<_> =
        std::fs::read_dir(&kept).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let total = text.find("\"zones_peak\":").unwrap() + "\"zones_peak\":".len();
    let damaged = format!("{}9{}", &text[..total], &text[total..]);
    std::fs::write(&files[0], &damaged).unwrap();
    let output = place.run(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("run again: ") && said.contains("expected checksum"), "{said}");
    assert_ne!(std::fs::read_to_string(&files[0]).unwrap(), damaged);
    assert_eq!(without_cost(place.json(&words)), first);
}

#[test]
fn metrics_and_samples_are_written_as_tables_and_a_part_answers_no_claim() {
    let place = place();
    let part = place.json(&[&RUN[..], &["--share", "1/4", "--system", "bluefs"]].concat());
    assert_eq!(part["claims"].as_array().unwrap().len(), 0);
    let wrong = place.fails(2, &[&RUN[..], &["--share", "3/2"]].concat());
    assert!(wrong.contains("expected a share such as 1/8"), "{wrong}");
    let first = place.json(&[&RUN[..], &["--first"]].concat());
    let systems: Vec<&Value> =
        first["outcomes"].as_array().unwrap().iter().map(|outcome| &outcome["system"]).collect();
    assert_eq!(systems, ["bluefs"]);
    assert_eq!(first["claims"].as_array().unwrap().len(), 0);
    let files = ["--csv", "metrics.csv", "--samples", "samples.csv", "--markdown", "page.md"];
    let result = place.json(&[&RUN[..], &files].concat());
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let metrics = read("metrics.csv");
    let rows: Vec<Vec<&str>> = metrics.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    let column = rows[0].iter().position(|name| *name == "write_amplification.total").unwrap();
    let expected = &result["outcomes"][1]["write_amplification"]["total"];
    assert_eq!(rows[2][column], expected.to_string());
    let samples = result["outcomes"].as_array().unwrap().iter();
    let samples: usize = samples.map(|it| it["samples"].as_array().unwrap().len()).sum();
    assert_eq!(read("samples.csv").lines().count(), 1 + samples);
    let page = read("page.md");
    assert!(page.contains("## tiny: A small random load") && page.contains("| bluefs"), "{page}");
}

#[test]
fn what_cannot_be_run_is_refused_with_the_place_and_the_choices() {
    let place = place();
    std::os::unix::fs::symlink("/dev/zero", place.path().join("zero.toml")).unwrap();
    for (words, code, expected) in [
        (&["lab", "run", "geardb/fig6"][..], 5, "one of geardb/fig3, geardb/fig4"),
        (&["lab", "run", "missing.toml"], 5, "missing.toml"),
        (&["lab", "run", "/dev/null"], 2, "/dev/null:"),
        (&["lab", "run", "tiny.toml", "--system", "gerdb"], 2, "leveldb-greedy"),
        (&["lab", "run", "tiny.toml", "--scale", "3"], 2, "a scale such as 1/16"),
        (&["lab", "run", "tiny.toml", "--scale", "1/100000"], 2, "1/100000"),
        (
            &["lab", "run", "wrong.toml"],
            2,
            "wrong.toml:8:22: systems[1]: expected a system, one of",
        ),
        (&["lab", "run", "large.toml"], 2, "large.toml:6:9: space: expected a zone of"),
        (
            &["lab", "run", "bytes.toml"],
            2,
            "bytes.toml: expected text in UTF-8, found the byte 0xff",
        ),
        (&["lab", "run", "zero.toml"], 2, "zero.toml: expected at most 4 MiB of text"),
        (&["lab", "list", "geardb/none"], 5, "geardb/none"),
    ] {
        let wrong = TINY.replace("[\"bluefs\", \"leveldb-greedy\"]", "[\"bluefs\", \"level\"]");
        std::fs::write(place.path().join("wrong.toml"), wrong).unwrap();
        let large = TINY.replace("16GiB", "16000GiB");
        std::fs::write(place.path().join("large.toml"), large).unwrap();
        std::fs::write(place.path().join("bytes.toml"), b"\xff").unwrap();
        let error = place.fails(code, words);
        assert!(error.contains(expected), "{words:?}: expected {expected:?} in: {error}");
    }
    assert!(!place.path().join("lab-results").exists(), "nothing was run");
}

#[test]
fn experiments_are_listed_with_what_they_take() {
    let place = place();
    let list = place.json(&["lab", "list"])["experiments"].take();
    let names: Vec<&Value> = list.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.iter().any(|name| *name == "bluefs/fig12"), "{names:?}");
    let tiny = place.json(&["lab", "list", "tiny.toml", "--scale", "1/10"])["experiments"].take();
    // A million entries of 4112 bytes under two systems.
    assert_eq!((&tiny[0]["runs"], &tiny[0]["data"]), (&2.into(), &822_400_000.into()));
    assert!(place.ok(&["lab", "list", "geardb/all"]).contains("FAST '19"));
}

#[test]
fn a_report_holds_what_was_kept_against_the_paper() {
    let place = place();
    let report = ["lab", "report", "tiny.toml", "--scale", "1/512"];
    let error = place.fails(5, &report);
    assert!(error.contains("lab-results") && error.contains("No result of: bluefs, "), "{error}");
    assert!(error.contains("terrace lab run tiny.toml --scale 1/512 --seed 1"), "{error}");
    let run = place.json(&[&RUN[..], &["--system", "bluefs"]].concat());
    let files = ["--output", "a.html", "--plots", "plots", "--markdown", "a.md"];
    let one = place.json(&[&report[..], &files].concat());
    let standings: Vec<&Value> = [0, 1].map(|at| &one["runs"][at]["standing"]).into();
    assert_eq!(standings, ["known", "missing"]);
    assert_eq!(one["claims"][0]["verdict"], "missing");
    let page = std::fs::read_to_string(place.path().join("a.html")).unwrap();
    assert_eq!(one["page_bytes"], page.len());
    let hash = run["outcomes"][0]["trace_hash"].as_str().unwrap();
    assert!(page.contains(&hash[..8]) && page.contains("No result of: leveldb-greedy."));
    assert!(page.contains("Where the time goes") && !page.contains("<script"));
    let markdown = std::fs::read_to_string(place.path().join("a.md")).unwrap();
    assert!(markdown.contains("(plots/tiny-1.svg)"), "{markdown}");
    assert!(place.path().join("plots/tiny-1.svg").exists());
    let run = place.json(&RUN);
    let both = place.json(&report);
    assert_eq!(both["claims"][0]["ours"], run["claims"][0]["ours"]);
    assert!(place.ok(&report).contains("report.html: "));
}
