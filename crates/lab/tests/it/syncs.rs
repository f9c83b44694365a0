//! How often a run syncs its log: after every n-th write of a client, after a number of bytes, or
//! never because it has no log. Settings that contradict each other are refused.

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{Metrics, RunChoice, RunPlan};

use crate::run::metrics;

/// Writes of 1,000 bytes in order that fill no memtable, at the full scale.
const LOAD: &str = r#"
title = "a load in order"
source = "none"
about = "for tests"
drive = "seagate-st1000dm003"
space = "8GiB"
systems = ["smrdb"]
sample_every = "1 s"

[store]
memtable_size = "30MiB"
device = { kind = "zoned", band = "32MiB" }

[[phase]]
workload = "fillseq"
operations = 3_000
value_size = "984"
"#;

fn with(settings: &str) -> String {
    LOAD.replace("[store]", &format!("[store]\n{settings}"))
}

fn log_writes(of: &Metrics) -> f64 {
    of.writes_by_cause.get("log").copied().unwrap_or(0.0)
}

#[test]
fn every_tenth_write_of_a_client_is_synced() {
    let tenth = metrics(&with("synced_every = 10"), "1");
    let each = metrics(&with("synced = true"), "1");
    assert_eq!(metrics(&with("synced_every = 1"), "1").trace_hash, each.trace_hash);
    assert_eq!((log_writes(&tenth), log_writes(&each)), (300.0, 3_000.0));
    // A sync waits for a revolution of 8.3 ms.
    let (tenth, each) = (tenth.seconds, each.seconds);
    assert!((2.4..3.6).contains(&tenth) && (24.0..36.0).contains(&each), "{tenth} and {each} s");
}

#[test]
fn a_full_buffer_of_the_log_waits_for_a_sync() {
    let never = metrics(&LOAD.replace("3_000", "10_000"), "1");
    let buffered = metrics(&with("log_buffer = \"256KiB\"").replace("3_000", "10_000"), "1");
    // 10 MB are 38 buffers and a little more.
    let synced = buffered.seconds - never.seconds;
    assert!((38.0 * 0.006..38.0 * 0.014).contains(&synced), "{synced} s for 38 syncs");
    // An entry that is larger than the buffer is divided: as many syncs for as many bytes.
    let large = with("log_buffer = \"256KiB\"").replace("984", "999984").replace("3_000", "10");
    let large = metrics(&large, "1");
    assert!(large.seconds > 38.0 * 0.006, "{} s", large.seconds);
}

#[test]
fn what_goes_to_no_log_writes_none() {
    let metrics = metrics(&with("logged = false"), "1");
    assert_eq!((log_writes(&metrics), metrics.write_amplification.log), (0.0, 0.0));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (settings, said) in [
        ("synced_every = 0", "synced_every: expected at least 1"),
        ("synced = true\nsynced_every = 2", "synced_every: expected none"),
        ("log_buffer = \"0B\"", "log_buffer: expected more than nothing"),
        (
            "log_buffer = \"1MiB\"\nlog_writes = \"forced\"\nlog_chunk = \"64KiB\"",
            "log_buffer: expected none",
        ),
        ("logged = false\nsynced = true", "logged: expected a log"),
        ("logged = false\nsynced_every = 2", "logged: expected a log"),
    ] {
        let experiment = Experiment::parse("test", "test.toml", &with(settings)).unwrap();
        let scale = "1".parse().unwrap();
        let choice = RunChoice { system: "smrdb", variant: None, scale, seed: 1 };
        let error = RunPlan::new(&experiment, choice).unwrap_err().to_string();
        assert!(error.contains(said), "{settings}: {error}");
    }
}
