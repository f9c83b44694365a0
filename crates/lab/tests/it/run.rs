//! Runs in virtual time: a plan gives the same outcome each time, metrics of a run agree with each
//! other, two scales agree, and stalls stay short.

use terrace_env::{ByteCount, runner};
use terrace_lab::experiment::Experiment;
use terrace_lab::run::{
    Cost, Metrics, Outcome, RunChoice, RunPlan, Sample, carry_out, carry_out_traced,
};
use terrace_policy::{StoreShape, System};
use terrace_zone::timing::ScaleMode;

/// A random load of 1.2 GB into 6 GiB of a disk.
pub(crate) const LOAD: &str = r#"
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

/// Four times as much, of which little fits in memory.
const LARGER: [(&str, &str); 3] = [("6GiB", "16GiB"), ("300_000", "1_200_000"), ("8MiB", "32MiB")];

/// Random reads of 400 MB, with memory for an eighth of it.
const READS: &str = r#"
title = "random reads"
source = "none"
about = "for tests"
drive = "hgst-hsh721414al"
space = "5GiB"
scale_by = "bandwidths"
systems = ["bluefs"]
sample_every = "10 s"

[store]
memtable_size = "8MiB"
memory = "128MiB"

[[phase]]
workload = "filluniquerandom"
operations = 100_000
value_size = "4096"
measured = false
wait_idle = true

[[phase]]
workload = "readrandom"
operations = 24_000
value_size = "4096"
"#;

pub(crate) fn plan(text: &str, scale: &str) -> RunPlan {
    let experiment = Experiment::parse("test", "test.toml", text).unwrap();
    let system = &experiment.systems[0];
    let choice = RunChoice { system, variant: None, scale: scale.parse().unwrap(), seed: 1 };
    RunPlan::new(&experiment, choice).unwrap()
}

/// Outcomes of a plan, without their cost.
fn run(plan: &RunPlan) -> Vec<Outcome> {
    let outcomes = carry_out(plan, &mut |_| ()).unwrap();
    let costless = |outcome| Outcome { cost: Cost::default(), ..outcome };
    outcomes.into_iter().map(costless).collect()
}

pub(crate) fn metrics(text: &str, scale: &str) -> Metrics {
    run(&plan(text, scale)).remove(0).metrics
}

#[test]
fn the_same_plan_gives_the_same_outcome_however_many_run_at_once() {
    let plan = plan(LOAD, "1/64");
    let others: Vec<_> = (0..3)
        .map(|seed| {
            let plan = RunPlan { seed: 1 + seed / 2, ..plan.clone() };
            runner::spawn("run", move || run(&plan))
        })
        .collect();
    let first = run(&plan);
    let mut others = others.into_iter().map(runner::JoinHandle::join);
    assert_eq!(others.next(), Some(first.clone()));
    assert_eq!(others.next(), Some(first.clone()));
    let other = others.next().unwrap();
    assert_ne!(other[0].metrics.trace_hash, first[0].metrics.trace_hash, "another seed");
    assert_ne!(first[0].samples, []);
}

#[test]
fn samples_change_nothing_and_a_trace_has_a_line_for_each_request() {
    let plan = plan(LOAD, "1/64");
    let path = tempfile::NamedTempFile::new().unwrap();
    let into = Box::new(std::io::BufWriter::new(path.reopen().unwrap()));
    let traced = carry_out_traced(&plan, Some(into), &mut |_| ()).unwrap().remove(0);
    let often = RunPlan { sample_every: plan.sample_every / 7, ..plan };
    let sampled = run(&often).remove(0);
    assert!(sampled.samples.len() > 5 * traced.samples.len());
    assert_eq!(sampled.metrics.trace_hash, traced.metrics.trace_hash);
    assert_eq!(sampled.metrics.seconds_by_cause, traced.metrics.seconds_by_cause);
    let trace = std::fs::read_to_string(path.path()).unwrap();
    let writes = trace.lines().filter(|line| line.contains(" flush write ")).count();
    assert!(writes > 100, "{writes} writes of flushes");
}

#[test]
fn the_seconds_of_a_disk_add_up_to_those_of_the_phase() {
    let outcome = &run(&plan(LOAD, "1/64"))[0];
    let metrics = &outcome.metrics;
    let sum: f64 = metrics.seconds_by_cause.values().sum();
    assert!((sum / metrics.seconds - 1.0).abs() < 1e-9, "{sum} of {}", metrics.seconds);
    assert!(metrics.seconds_by_cause["compaction"] > metrics.seconds_by_cause["flush"]);
    for sample in &outcome.samples {
        let shares = sample.values.iter().filter(|(name, _)| {
            name.ends_with("_share") && !["valid_share", "used_share"].contains(&&***name)
        });
        let busy: f64 = shares.map(|(_, share)| share).sum();
        assert!(busy < 1.0 + 1e-9, "{busy} at {}", sample.seconds);
    }
}

#[test]
fn requests_and_their_sizes_come_to_what_was_written() {
    let metrics = metrics(LOAD, "1/64");
    let value = |name: &str| metrics.value(name).unwrap();
    let bytes = |cause: &str| {
        value(&format!("writes_by_cause.{cause}")) * value(&format!("write_size_by_cause.{cause}"))
    };
    let written = metrics.write_amplification;
    let (requests, amplification) =
        (bytes("compaction") / bytes("flush"), written.compaction / written.flush);
    assert!((requests / amplification - 1.0).abs() < 1e-9, "{requests} and {amplification}");
    // A job moves 2 MiB at once, at any scale.
    for name in ["read_size_by_cause.compaction", "write_size_by_cause.compaction"] {
        assert!((65_536.0..=2_200_000.0).contains(&value(name)), "{name}: {}", value(name));
    }
    assert_eq!(metrics.value("read_size_by_cause.flush"), None, "flushes read nothing");
    for (cause, seconds) in &metrics.positioning_by_cause {
        assert!(*seconds <= metrics.seconds_by_cause[cause], "{cause}: {seconds}");
    }
}

#[test]
fn work_on_levels_comes_to_what_jobs_wrote() {
    let metrics = metrics(LOAD, "1/64");
    let sum = |of: &std::collections::BTreeMap<String, f64>| of.values().sum::<f64>();
    let written = metrics.write_amplification;
    let (tables, jobs) = (sum(&metrics.written_by_level), written.flush + written.compaction);
    // The drive counts jobs that are running at the end, and tables their last blocks whole.
    assert!((tables / jobs - 1.0).abs() < 0.05, "{tables} into levels, {jobs} by jobs");
    let level0 = metrics.written_by_level["0"] / written.flush;
    assert!((level0 - 1.0).abs() < 0.05, "{level0} of the flushed bytes");
    let [merges, gear] = ["merge", "gear"].map(|kind| metrics.jobs_by_kind[kind]);
    assert_eq!(sum(&metrics.merges_by_level), merges);
    assert!(merges > 1.0 && gear == 0.0, "{merges} merges, {gear} into several levels");
    for (level, merges) in &metrics.merges_by_level {
        let tables = metrics.tables_per_merge_by_level.get(level);
        assert_eq!(*merges > 0.0, tables.is_some_and(|tables| *tables >= 1.0), "level {level}");
    }
}

/// Whether two scales agree about the full drive.
fn agree(text: &str, scales: [&str; 2], tolerance: f64, of: &[&str]) {
    let [small, large] = scales.map(|scale| metrics(text, scale));
    for name in of {
        let [small, large] = [&small, &large].map(|metrics| metrics.value(name).unwrap());
        println!("{name}: {small:.4} at {}, {large:.4} at {}", scales[0], scales[1]);
        let off = (small / large - 1.0).abs();
        assert!(off <= tolerance, "{name}: {small} and {large}, {:.0} % off", off * 100.0);
    }
}

#[test]
fn a_load_at_two_scales_comes_to_the_same() {
    let text = LARGER.iter().fold(LOAD.to_owned(), |text, (from, to)| text.replace(from, to));
    let of = ["kv_per_second", "write_amplification.total", "space_efficiency.valid_average"];
    agree(&text, ["1/64", "1/32"], 0.15, &of);
}

#[test]
fn reads_at_two_scales_come_to_the_same_where_bandwidths_shrink() {
    agree(READS, ["1/16", "1/8"], 0.15, &["kv_per_second", "tables_per_get"]);
}

/// Half reads and half writes, once nothing is due; each read is one of the full drive's.
const MIX: &str = r#"
[[phase]]
workload = "ycsb-a"
operations = 24_000
value_size = "4096"
"#;

#[test]
fn reads_and_a_mixture_at_two_scales_come_to_the_same_with_all_reads() {
    let text = READS.replace("scale_by = \"bandwidths\"", "all_reads = true") + MIX;
    let [small, large] =
        ["1/16", "1/8"].map(|scale| (plan(&text, scale), run(&plan(&text, scale))));
    // 16 and 8 reads to each write.
    assert_eq!(
        small.0.phases.iter().map(|it| it.operations).collect::<Vec<_>>(),
        [6250, 24_000, 12_750]
    );
    assert_eq!(large.0.phases[2].operations, 13_500);
    for (small, large) in small.1.iter().zip(&large.1) {
        let [one, other] = [small, large].map(|it| it.metrics.kv_per_second);
        let off = (one / other - 1.0).abs();
        assert!(off <= 0.15, "{}: {one} at 1/16, {other} at 1/8", small.phase);
    }
}

/// A random load of 19 GB into 20 GiB, under a collector that runs next to compactions and one that
/// runs before them.
const NEARLY_FULL: &str = r#"
title = "a collector that is late, and one that is not"
source = "none"
about = "for tests"
drive = "seagate-st13125nm007"
space = "20GiB"
systems = ["SYSTEM"]
sample_every = "10 s"

[store]
memtable_size = "4MiB"
memtables_max = 1
log = "free"
metadata = "conventional"

[[phase]]
workload = "fillrandom"
operations = 4_600_000
value_size = "4096"
"#;

#[test]
fn a_collector_that_goes_first_falls_less_behind_and_moves_more() {
    let under = |system| {
        let text = NEARLY_FULL.replace("SYSTEM", system);
        run(&plan(&text, "1/128")).remove(0)
    };
    let (beside, first) = (&under("leveldb-greedy"), &under("leveldb-greedy:collector=first"));
    let used = |outcome: &Outcome| outcome.metrics.space.used_peak;
    assert!(
        used(first) + 0.02 < used(beside),
        "{} used, {} next to compactions",
        used(first),
        used(beside)
    );
    let moved = |outcome: &Outcome| outcome.metrics.write_amplification.reclaim;
    assert!(moved(first) > 1.05 * moved(beside), "{} moved, {}", moved(first), moved(beside));
    // The other written bytes are the same.
    let merged = |outcome: &Outcome| outcome.metrics.write_amplification.compaction;
    assert!((merged(first) / merged(beside) - 1.0).abs() < 0.02);
}

#[test]
fn what_cannot_be_run_is_told_with_the_choices() {
    let experiment = Experiment::parse("test", "test.toml", LOAD).unwrap();
    let error = |experiment: &Experiment, scale: &str| {
        let system = &experiment.systems[0];
        let choice = RunChoice { system, variant: None, scale: scale.parse().unwrap(), seed: 1 };
        RunPlan::new(experiment, choice).unwrap_err().to_string()
    };
    let small = error(&experiment, "1/4096");
    assert!(small.contains("1/4096: expected at least 16384, found 2048"), "{small}");
    let all_reads = Experiment { all_reads: true, ..experiment.clone() };
    let bandwidths = Experiment { scale_by: ScaleMode::Bandwidths, ..all_reads.clone() };
    let refused = error(&bandwidths, "1/64");
    assert!(refused.contains("all_reads: expected scale_by = \"delays\""), "{refused}");
    let mut arriving = all_reads;
    arriving.phases[0].arrivals = Some("poisson:5000".to_owned());
    let refused = error(&arriving, "1/64");
    assert!(refused.contains("arrivals of phase fillrandom: expected none"), "{refused}");
    let space = Some("1MiB".parse().unwrap());
    let space = error(&Experiment { space, ..experiment.clone() }, "1/64");
    assert!(space.contains("space: expected 1 to 48405 zones of 256 MiB, found 1 MiB"), "{space}");
    let choice = |system| RunChoice {
        system,
        variant: Some("cold"),
        scale: "1/64".parse().unwrap(),
        seed: 1,
    };
    let variant = RunPlan::new(&experiment, choice("bluefs")).unwrap_err().to_string();
    assert!(variant.contains("\"cold\""), "{variant}");
    let choice = RunChoice { variant: None, ..choice("ext4") };
    let system = RunPlan::new(&experiment, choice).unwrap_err().to_string();
    assert!(system.contains("leveldb-greedy") && system.contains("\"ext4\""), "{system}");
}

#[test]
fn the_waits_of_the_longest_put_add_up_to_what_it_took() {
    for outcome in run(&plan(LOAD, "1/64")) {
        let metrics = outcome.metrics;
        let waited: f64 = metrics.longest_waits.values().sum();
        let longest = metrics.stall_worst_seconds;
        assert!((0.97..=1.0).contains(&(waited / longest)), "{waited} of {longest} s");
        let cause = metrics.longest_cause().unwrap();
        assert!(metrics.waits_by_cause[cause] >= metrics.longest_waits[cause], "{cause}");
        let sampled = |sample: &Sample| sample.values[&format!("waits.{cause}")] > 0.0;
        let on_device = cause.starts_with("device_");
        assert!(on_device || outcome.samples.iter().any(sampled), "{cause}");
    }
}

/// The most bytes that a system says may live in 70 GiB, and then half of them once more at random.
const FULL: &str = r#"
title = "a store filled as far as it may be"
source = "none"
about = "for tests"
drive = "seagate-st13125nm007"
space = "70GiB"
systems = ["SYSTEM"]
sample_every = "600 s"

[store]
memtable_size = "64MiB"
memory = "512MiB"
log = "free"

[[phase]]
workload = "filluniquerandom"
operations = RECORDS
key_size = 16
value_size = "4096"

[[phase]]
workload = "overwrite"
operations = HALF
key_size = 16
value_size = "4096"
"#;

#[test]
fn no_put_waits_for_five_seconds_in_a_store_filled_as_far_as_its_system_says() {
    for name in ["geardb", "lifetime"] {
        let system: System = name.parse().unwrap();
        let shape = StoreShape {
            capacity: ByteCount::gib(70),
            zone_capacity: Some(ByteCount::mib(256)),
            guard: ByteCount(0),
            kept: ByteCount(0),
            memtable_size: ByteCount::mib(64),
        };
        let records = system.live_max(&shape).0 / (16 + 4096);
        let text = FULL.replace("SYSTEM", name).replace("RECORDS", &records.to_string());
        let text = text.replace("HALF", &(records / 2).to_string());
        for (outcome, phase) in run(&plan(&text, "1/256")).iter().zip(["fill", "overwrite"]) {
            let Metrics { stall_worst_seconds, .. } = outcome.metrics;
            println!("{name}, {phase}: {stall_worst_seconds} s of the full drive");
            assert!(stall_worst_seconds <= 5.0, "{name}, {phase}: {:?}", outcome.metrics);
        }
    }
}
