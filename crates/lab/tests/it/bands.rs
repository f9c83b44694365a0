//! Bytes that a device writes for those it is given: on bands that a table fills, on raw tracks
//! with guards, and on bands that a disk hides.

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{Metrics, RunChoice, RunPlan, carry_out};

/// A random load of 3 GB: 75 bands.
const LOAD: &str = r#"
title = "a random load"
source = "none"
about = "for tests"
drive = "seagate-st1000dm003"
space = "12GiB"
systems = ["smrdb", "smrdb-leveled", "sealdb", "leveldb-disk"]
sample_every = "10 s"

[store]
memtable_size = "38MiB"
memory = "256MiB"
device = { kind = "zoned", band = "40MiB" }

[store_of.sealdb]
device = { kind = "tracks", track = "1MiB", overlap = 3 }
memtable_size = "4MiB"

[store_of.leveldb-disk]
device = { kind = "drive-managed", drive = "seagate-st1000dm003-bands" }
memtable_size = "4MiB"

[[phase]]
workload = "fillrandom"
operations = 750_000
value_size = "4096"
"#;

fn metrics(system: &str) -> Metrics {
    let experiment = Experiment::parse("test", "test.toml", LOAD).unwrap();
    let scale = "1/64".parse().unwrap();
    let choice = RunChoice { system, variant: None, scale, seed: 1 };
    let plan = RunPlan::new(&experiment, choice).unwrap();
    carry_out(&plan, &mut |_| ()).unwrap().remove(0).metrics
}

#[test]
fn a_device_writes_bands_and_tracks_as_they_are_given_and_hidden_bands_several_times() {
    for system in ["smrdb", "smrdb-leveled", "sealdb"] {
        let wa = metrics(system).write_amplification;
        assert!(wa.compaction > 1.0, "{system}: {wa:?}");
        assert_eq!((wa.device, wa.reclaim), (1.0, 0.0), "{system}: {wa:?}");
    }
    let wa = metrics("leveldb-disk").write_amplification;
    assert!(wa.device > 1.1, "{wa:?}");
}
