//! An experiment that was never run, with outcomes to draw and to report on.

use std::collections::BTreeMap;

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{
    Addresses, Amplification, Cost, Metrics, Outcome, Piece, Sample, SpaceEfficiency, SpaceUse,
    Stretch, ZoneShare,
};

const EXPERIMENT: &str = r#"
title = "What a specimen shows"
source = "Nobody (NOWHERE '00), figure 1"
about = """
As nowhere: everything is made up.
Not as anywhere: nothing is."""
drive = "wd-zn540"
space = "4GiB"
sample_every = "60 s"
systems = ["bluefs", "leveldb-greedy:free_min=10", "leveldb-greedy:free_min=20"]

[[phase]]
workload = "fillrandom"
operations = 1_000_000

[[plot]]
kind = "timeline"
title = "Operations, and what reclaim takes"
series = ["kv_per_second", "reclaim_share"]

[[plot]]
kind = "zones-sorted"
title = "Zones by valid share"

[[plot]]
kind = "zones-cumulative"
title = "Zones up to a valid share"

[[plot]]
kind = "points"
title = "Throughput over space efficiency"
x = "space_efficiency.valid_end"
y = "kv_per_second"

[[plot]]
kind = "bars"
title = "What is written for a byte"
metrics = ["write_amplification.log", "write_amplification.flush", "write_amplification.compaction"]

[[plot]]
kind = "ratio"
title = "How much faster without a collector, by its threshold"
system = "bluefs"
metric = "kv_per_second"
by = "free_min"
published = 2.75
published_at = 20

[[claim]]
text = "Operations come at a rate"
published = 1000
quantity = { system = "bluefs", metric = "kv_per_second" }

[[claim]]
text = "It is three times as fast as with a collector"
published = 3.0
quantity = { system = "bluefs", metric = "kv_per_second", over = "leveldb-greedy:free_min=20" }
explanation = "The specimen has no collector."

[[claim]]
text = "Half of all zones are between a quarter and three quarters valid"
published = 0.5
quantity = { system = "bluefs", zones_between = [0.25, 0.75] }

[[claim]]
text = "Reads touch two tables"
published = 2.0
quantity = { system = "bluefs", metric = "tables_per_get" }
"#;

/// The experiment.
pub(crate) fn experiment() -> Experiment {
    let experiment: Experiment = toml::from_str(EXPERIMENT).unwrap();
    Experiment { name: "nobody/fig1".into(), ..experiment }
}

/// Outcomes of all systems.
pub(crate) fn outcomes() -> Vec<Outcome> {
    let systems = experiment().systems;
    systems.iter().enumerate().map(|(place, system)| outcome(system, place as u32)).collect()
}

/// Outcome of a system; the higher its place, the slower it is.
pub(crate) fn outcome(system: &str, place: u32) -> Outcome {
    let behind = f64::from(place) + 1.0;
    // A wave without sines, whose last digits are the mathematics library's.
    let wave = |at: u32, period: u32| {
        let at = f64::from(at % period) / f64::from(period);
        1.0 - 2.0 * (0.5 - at).abs()
    };
    let sample = |at: u32| {
        let values = [
            ("kv_per_second", 1200.0 / behind * (0.5 + wave(at, 7 + place))),
            ("reclaim_share", f64::from(place) / 4.0 * wave(at, 11)),
            ("zones", f64::from(at)),
            ("flushes", wave(at, 2)),
            ("compactions", 3.0 * wave(at, 5)),
        ];
        Sample {
            seconds: f64::from(at + 1) * 60.0,
            operations: u64::from(at) * 1000,
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    };
    let zone = |zone: u32| ZoneShare {
        zone,
        valid: f64::from((zone * 37 + place * 11) % 64 + 1) / 64.0 / behind.min(2.0),
        written: 1.0,
    };
    Outcome {
        experiment: "nobody/fig1".into(),
        system: system.to_owned(),
        variant: None,
        phase: "fillrandom".into(),
        scale: "1/64".into(),
        seed: 1,
        metrics: metrics(behind),
        samples: (0..30).map(sample).collect(),
        merges: (0..20).map(|at| f64::from(at % 7 + 1) * behind).collect(),
        zones: (0..48).map(zone).collect(),
        addresses: addresses(place),
        cost: Cost::default(),
    }
}

/// Three merges: one in a piece, and one in two; and three free runs.
fn addresses(place: u32) -> Addresses {
    let at = |start: u32, mib: f64| Stretch { start: f64::from(start * 100), mib };
    let piece = |merge: u32, start: u32| Piece { merge, at: at(start + place, 40.0) };
    Addresses {
        merges: 3,
        pieces: vec![piece(0, 0), piece(1, 1), piece(1, 5), piece(2, 2 + 4 * place)],
        free: vec![at(3, 20.0), at(6, 9.0 + f64::from(place)), at(20, 5_000.0)],
        end: 2_000.0,
        fragment: 28.0,
    }
}

fn metrics(behind: f64) -> Metrics {
    let compaction = 3.0 * behind;
    let (valid, live) = (0.9 - 0.1 * behind, 0.8 - 0.1 * behind);
    Metrics {
        kv_per_second: 1100.0 / behind,
        seconds: 1800.0,
        seconds_by_cause: BTreeMap::from([("log".to_owned(), 100.0), ("idle".to_owned(), 9.5)]),
        write_amplification: Amplification {
            log: 1.0,
            flush: 1.0,
            compaction,
            device: 1.0,
            total: 2.0 + compaction,
            ..Amplification::default()
        },
        space_efficiency: SpaceEfficiency {
            valid_end: valid,
            valid_average: valid,
            live_end: live,
            live_average: live,
            live_worst: live / 2.0,
        },
        space: SpaceUse { gib: 12.0, used_peak: 0.95, valid_peak: 0.8, fragments: 0.0, span: 0.0 },
        zones_peak: 48,
        runs_average: 5.5,
        stall_worst_seconds: 0.25 * behind,
        latency_seconds: BTreeMap::from([("p99".to_owned(), 0.0021 * behind)]),
        trace_hash: format!("{:016x}", (behind * 1e9) as u64),
        ..Metrics::default()
    }
}
