//! Runs in virtual time: the same run is the same run, and what it says of itself adds up.

use terrace_lab::experiment::Experiment;
use terrace_lab::run::{Cost, Outcome, RunChoice, RunPlan, carry_out};

/// A random load of 1.2 GB into 6 GiB of a disk.
const LOAD: &str = r#"
title = "a random load"
source = "none"
about = "for tests"
drive = "seagate-st13125nm007"
space = "6GiB"
systems = ["leveldb-greedy", "bluefs"]
sample_every = "1 s"

[store]
memtable_size = "8MiB"

[[phase]]
workload = "fillrandom"
operations = 300_000
value_size = "4096"
"#;

fn plan(text: &str, system: &str, scale: &str, seed: u64) -> RunPlan {
    let experiment = Experiment::parse("test", "test.toml", text).unwrap();
    let scale = scale.parse().unwrap();
    RunPlan::new(&experiment, RunChoice { system, variant: None, scale, seed }).unwrap()
}

/// What came of a plan, but for what it cost.
fn run(plan: &RunPlan) -> Vec<Outcome> {
    let outcomes = carry_out(plan, &mut |_| ()).unwrap();
    let costless = |outcome| Outcome { cost: Cost::default(), ..outcome };
    outcomes.into_iter().map(costless).collect()
}

#[test]
fn the_same_plan_gives_the_same_outcome_and_another_seed_another() {
    let plan = plan(LOAD, "leveldb-greedy", "1/64", 1);
    let first = run(&plan);
    assert_eq!(run(&plan), first);
    let other = run(&RunPlan { seed: 2, ..plan });
    assert_ne!(other[0].figures.trace_hash, first[0].figures.trace_hash);
}

#[test]
fn the_seconds_of_a_disk_add_up_to_those_of_the_phase() {
    let outcome = &run(&plan(LOAD, "bluefs", "1/64", 1))[0];
    let figures = &outcome.figures;
    let sum: f64 = figures.seconds_by_cause.values().sum();
    assert!((sum / figures.seconds - 1.0).abs() < 1e-9, "{sum} of {}", figures.seconds);
}
