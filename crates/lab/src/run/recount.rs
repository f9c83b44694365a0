//! Metrics of a phase, counted a second time: times and bytes by the drive's own counts, bytes of
//! clients by the number and size of the entries, and the conversion to the full drive by hand.

use std::collections::BTreeMap;

use terrace::Stats;
use terrace_env::store::{FileKind, IoCounts, Store as _};
use terrace_env::{Cause, Time, runner};
use terrace_fs::{ZoneUsage, ZoneUse};
use terrace_zone::timing::DeviceTime;

use super::phase::PhasePlan;
use super::plan::RunPlan;
use super::sampler::Scene;
use super::stage::Stage;
use super::{Metrics, RunChoice};
use crate::experiment::Experiment;

/// Writes, and then reads of all records that were written.
const PHASES: &str = r#"
    title = "a load"
    source = "none"
    about = "for a test"
    drive = "seagate-st13125nm007"
    space = "16GiB"
    systems = ["leveldb-greedy"]
    sample_every = "1 s"
    store = { memtable_size = "8MiB" }
    [[phase]]
    workload = "fillseq"
    wait_idle = true
    operations = 1_000_000
    [[phase]]
    workload = "overwrite"
    wait_idle = true
    operations = 2_000_000
    [[phase]]
    workload = "readrandom"
    operations = 200_000
"#;

/// Counts of the drive and of the store at a moment.
struct Counts {
    at: Time,
    io: IoCounts,
    time: DeviceTime,
    stats: Stats,
}

impl Counts {
    fn take(scene: &Scene) -> Self {
        let (io, time) = (scene.drive.io(), scene.drive.device_time());
        Self { at: runner::now(), io, time, stats: scene.db.stats() }
    }
}

/// Checks that a metric is the counted one.
fn agree(name: &str, found: f64, expected: f64) {
    let off = (found - expected).abs() / expected.abs().max(1e-12);
    assert!(off < 1e-9 || found == expected, "{name}: {found}, counted {expected}");
}

/// Checks a metric by cause; causes without any may be left out.
fn agree_by_cause(name: &str, found: &BTreeMap<String, f64>, of: impl Fn(Cause) -> f64) {
    for cause in Cause::ALL {
        let found = found.get(cause.name()).copied().unwrap_or(0.0);
        agree(&format!("{name} of {cause}"), found, of(cause));
    }
}

/// Holds the metrics of a phase against the counts before and after it.
fn recount(scene: &Scene, phase: &PhasePlan, metrics: &Metrics, counts: &[Counts; 2]) {
    let [from, to] = counts;
    let (longer, larger) = (scene.time_scale as f64, (scene.time_scale * scene.rate) as f64);
    let took = to.at.since(from.at).as_secs_f64();
    agree("seconds", metrics.seconds, took * longer);
    agree("kv_per_second", metrics.kv_per_second, phase.operations as f64 / took);
    times(scene, metrics, counts, longer);
    space(scene, metrics, larger);
    let moved = |of: fn(&IoCounts) -> &[u64]| {
        move |cause: Cause| (of(&to.io)[cause as usize] - of(&from.io)[cause as usize]) as f64
    };
    let (written, writes) = (moved(|io| &io.written_bytes), moved(|io| &io.writes));
    let (read, reads) = (moved(|io| &io.read_bytes), moved(|io| &io.reads));
    let per = |bytes: f64, requests: f64| if requests > 0.0 { bytes / requests } else { 0.0 };
    agree_by_cause("writes", &metrics.writes_by_cause, writes);
    agree_by_cause("reads", &metrics.reads_by_cause, reads);
    let size = |cause| per(written(cause), writes(cause)) * larger;
    agree_by_cause("write size", &metrics.write_size_by_cause, size);
    let size = |cause| per(read(cause), reads(cause)) * larger;
    agree_by_cause("read size", &metrics.read_size_by_cause, size);
    let sum = |of: &dyn Fn(Cause) -> f64| Cause::ALL.into_iter().map(of).sum::<f64>();
    let gib = (1_u64 << 30) as f64;
    agree("written_gib", metrics.written_gib, sum(&written) * larger / gib);
    agree("read_gib", metrics.read_gib, sum(&read) * larger / gib);
    // All entries have one size.
    let entry = phase.key_size as f64 + phase.value_size.parse::<f64>().unwrap();
    let bytes = phase.operations as f64 * entry;
    let amplification = &metrics.write_amplification;
    if phase.workload == "readrandom" {
        let read = metrics.read_amplification.unwrap();
        agree("read_amplification", read, moved(|io| &io.read_bytes)(Cause::Read) / bytes);
        let searched = to.stats.tables_searched - from.stats.tables_searched;
        let per_get = searched as f64 / phase.operations as f64;
        agree("tables_per_get", metrics.tables_per_get.unwrap(), per_get);
        assert_eq!((amplification.total, metrics.written_by_level.len()), (0.0, 0));
        return;
    }
    assert_eq!(metrics.read_amplification, None);
    let metadata = written(Cause::Journal) + written(Cause::Superblock);
    for (name, found, counted) in [
        ("log", amplification.log, written(Cause::Log)),
        ("flush", amplification.flush, written(Cause::Flush)),
        ("compaction", amplification.compaction, written(Cause::Compaction)),
        ("reclaim", amplification.reclaim, written(Cause::Reclaim)),
        ("metadata", amplification.metadata, metadata),
        ("total", amplification.total, sum(&written)),
    ] {
        agree(name, found, counted / bytes);
    }
    let tables = written(Cause::Flush) + written(Cause::Compaction);
    by_level(metrics, bytes, [tables, read(Cause::Compaction)]);
}

/// Bytes of tables by level against those that the drive wrote for them and read for merges. Tables
/// are padded to blocks. A merge also reads indexes, and blocks at the ends of its ranges as a
/// whole.
fn by_level(metrics: &Metrics, bytes: f64, [written, read]: [f64; 2]) {
    let sum = |levels: &BTreeMap<String, f64>| levels.values().sum::<f64>() * bytes;
    let (into, out) = (sum(&metrics.written_by_level), sum(&metrics.read_by_level));
    println!("{into} into levels, {written} written; {out} out of levels, {read} read");
    assert!(into <= written && into > 0.95 * written, "{into} into levels, {written} written");
    assert!((0.95 * read..=1.05 * read).contains(&out), "{out} out of levels, {read} read");
    let merges: f64 = metrics.merges_by_level.values().sum();
    agree("merges", merges, metrics.jobs_by_kind["merge"]);
}

/// Space by the report of the zones, and bytes of tables by the list of files.
fn space(scene: &Scene, metrics: &Metrics, larger: f64) {
    let zones = scene.fs.zones().unwrap();
    let own = |zone: &ZoneUsage| matches!(zone.used_for, ZoneUse::Superblock | ZoneUse::Journal);
    let holds = |zone: &&ZoneUsage| !own(zone) && zone.live.0 + zone.pinned.0 > 0;
    let used: u64 = zones.iter().filter(holds).map(|zone| zone.capacity.0).sum();
    let files = scene.fs.list().into_iter();
    let tables: u64 = files.filter(|file| file.kind == FileKind::Table).map(|file| file.size).sum();
    let found = &metrics.space_efficiency;
    agree("valid_end", found.valid_end, tables as f64 / used as f64);
    let live = scene.world.ledger().held().bytes;
    agree("live_end", found.live_end, live as f64 / used as f64);
    let capacity = scene.db.store().space().capacity.0 as f64;
    agree("space", metrics.space.gib, capacity * larger / (1_u64 << 30) as f64);
    let peaks = &metrics.space;
    assert!(peaks.used_peak >= used as f64 / capacity && peaks.used_peak <= 1.0, "{peaks:?}");
    assert!(peaks.valid_peak >= tables as f64 / capacity, "{peaks:?}");
}

/// Times of requests and of the mechanism, and waits of clients and jobs.
fn times(scene: &Scene, metrics: &Metrics, [from, to]: &[Counts; 2], longer: f64) {
    let time = |cause| (from.time.of(cause), to.time.of(cause));
    let queued = |cause| {
        let (from, to) = time(cause);
        (to.queued - from.queued).as_secs_f64() * longer
    };
    let service = |cause| {
        let (from, to) = time(cause);
        (to.service - from.service).as_secs_f64() * longer
    };
    let parts = scene.mechanisms as f64;
    let moved = |cause| {
        let (from, to) = time(cause);
        to.positioning.saturating_sub(from.positioning).as_secs_f64() * longer / parts
    };
    let worked = |cause| {
        let (from, to) = time(cause);
        let [from, to] = [from, to].map(|time| (time.positioning + time.transfer).as_secs_f64());
        (to - from).max(0.0) * longer / parts
    };
    agree_by_cause("queued", &metrics.queued_by_cause, queued);
    agree_by_cause("service", &metrics.service_by_cause, service);
    agree_by_cause("positioning", &metrics.positioning_by_cause, moved);
    agree_by_cause("seconds", &metrics.seconds_by_cause, worked);
    let busy: f64 = Cause::ALL.into_iter().map(worked).sum();
    agree("idle", metrics.seconds_by_cause["idle"], (metrics.seconds - busy).max(0.0));
    for (cause, waits) in to.stats.waits.iter() {
        let nanos = waits.nanos - from.stats.waits.of(cause).nanos;
        let found = metrics.waits_by_cause.get(&cause.to_string()).copied().unwrap_or(0.0);
        agree(&format!("waits for {cause}"), found, nanos as f64 / 1e9 * longer);
    }
}

/// Runs the phases at a scale, and counts again after each.
fn run(text: &str, scale: &str) -> Vec<Metrics> {
    let experiment = Experiment::parse("test", "test.toml", text).unwrap();
    let scale = scale.parse().unwrap();
    let choice = RunChoice { system: "leveldb-greedy", variant: None, scale, seed: 1 };
    let plan = RunPlan::new(&experiment, choice).unwrap();
    runner::simulate(plan.seed, || {
        let stage = Stage::open(&plan, None).unwrap();
        let mut found = Vec::new();
        for (at, phase) in plan.phases.iter().enumerate() {
            let from = Counts::take(stage.scene());
            let metrics = stage.phase(at, &mut |_| ()).unwrap().unwrap().metrics;
            let counts = [from, Counts::take(stage.scene())];
            recount(stage.scene(), phase, &metrics, &counts);
            found.push(metrics);
        }
        stage.finish().unwrap();
        found
    })
}

#[test]
fn metrics_of_a_run_with_shrunk_delays_are_what_the_drive_has_counted() {
    let [_, writes, _] = &run(PHASES, "1/64")[..] else { panic!("three phases") };
    assert!(writes.waits_by_cause.values().sum::<f64>() > 1.0, "{:?}", writes.waits_by_cause);
    assert!(writes.write_amplification.compaction > 0.5, "{:?}", writes.write_amplification);
}

#[test]
fn metrics_of_a_run_with_shrunk_bandwidths_are_what_the_drive_has_counted() {
    let text = PHASES.replace("systems =", "scale_by = \"bandwidths\"\nsystems =");
    let text = text.replace("2_000_000", "60_000\n    value_size = \"4000\"");
    let text = text.replace("1_000_000", "20_000\n    value_size = \"4000\"");
    let text = text.replace("200_000", "2_000\n    value_size = \"4000\"");
    let [_, writes, _] = &run(&text, "1/16")[..] else { panic!("three phases") };
    assert!(writes.waits_by_cause.values().sum::<f64>() > 0.0, "{:?}", writes.waits_by_cause);
}
