//! The panels of numbers: levels, jobs, rates with latencies, amplification, waits, events, and one
//! zone. Each is a list of lines; `draw` puts them into their places.

use std::time::Duration;

use indicatif::HumanCount;
use terrace::fs::ZoneUsage;
use terrace::live::{Happening, Latency, LiveEvent};
use terrace::{ByteCount, Job, JobStats, Stats, WriteAmplification};

use super::sample::{Rates, Sample};
use crate::commands::zones::use_name;
use crate::escape::Visible;

/// Columns of a bar of progress.
const BAR: usize = 10;

pub(super) fn levels(stats: &Stats) -> Vec<String> {
    let mut lines = vec![format!("{:>5} {:>5} {:>7} {:>11}", "level", "runs", "tables", "bytes")];
    let filled = stats.levels.iter().filter(|level| level.segments > 0);
    lines.extend(filled.map(|level| {
        let bytes = ByteCount(level.bytes).to_string();
        format!("{:>5} {:>5} {:>7} {bytes:>11}", level.level, level.runs, level.segments)
    }));
    let bytes = ByteCount(stats.memtable_bytes).to_string();
    let count = crate::output::counted(stats.memtables, "memtable", "memtables");
    lines.push(format!("{count:>19} {bytes:>11}"));
    lines
}

pub(super) fn jobs(sample: &Sample) -> Vec<String> {
    let stats = &sample.snapshot.overview.stats;
    let mut lines = vec![format!(
        "{} flushes, {} merges, {} moves so far",
        HumanCount(stats.flushes),
        HumanCount(stats.compactions),
        HumanCount(stats.trivial_moves)
    )];
    if let Some(failure) = &stats.failure {
        lines.push(format!("writing has stopped: {}", Visible(failure)));
    }
    if stats.jobs.is_empty() {
        lines.push("no job is running".to_owned());
    }
    lines.extend(stats.jobs.iter().map(job));
    lines
}

fn job(stats: &JobStats) -> String {
    let share = stats.share();
    let full = (share * BAR as f64).round() as usize;
    let bar: String = (0..BAR).map(|at| if at < full { '█' } else { '░' }).collect();
    let name = job_name(stats.job);
    format!("{bar} {:>3.0} % {:>7} {name}", 100.0 * share, time(stats.nanos))
}

fn job_name(job: Job) -> String {
    match job {
        Job::Flush { memory } => format!("flush of {memory}"),
        Job::Compaction { from, to, inputs } => format!("merge L{from} to L{to}, {inputs} tables"),
        _ => "job".to_owned(),
    }
}

/// Rates, and the latencies of the calls that have some.
pub(super) fn rates(sample: &Sample, rates: Option<&Rates>) -> Vec<String> {
    let latencies = &sample.snapshot.latencies;
    let line = |name: &str, rate: fn(&Rates) -> f64, is_bytes: bool, latency: Option<&Latency>| {
        let rate = rates.map_or("-".to_owned(), |rates| match is_bytes {
            true => ByteCount(rate(rates) as u64).to_string(),
            false => HumanCount(rate(rates).round() as u64).to_string(),
        });
        let mut line = format!("{name:<8}{rate:>10}");
        if let Some(latency) = latency.filter(|it| it.measured > 0) {
            let (half, most) = (time(latency.p50), time(latency.p99));
            line += &format!(" {half:>7} {most:>7}");
        }
        line
    };
    vec![
        format!("{:<8}{:>10} {:>7} {:>7}", "", "a second", "50 %", "99 %"),
        line("writes", |it| it.writes, false, Some(&latencies.writes)),
        line("gets", |it| it.gets, false, Some(&latencies.gets)),
        line("scans", |it| it.scans, false, None),
        line("put", |it| it.user_bytes, true, None),
        line("written", |it| it.written, true, None),
        line("read", |it| it.read, true, None),
    ]
}

pub(super) fn amplification(stats: &Stats, rates: Option<&Rates>) -> Vec<String> {
    let ever = stats.write_amplification;
    let now = rates.map(|rates| rates.amplification);
    let line = |name: &str, of: fn(&WriteAmplification) -> f64| {
        let now = now.as_ref().map_or("-".to_owned(), |now| format!("{:.2}", of(now)));
        format!("{name:<10} {:>5.2} {now:>5}", of(&ever))
    };
    vec![
        format!("{:<10} {:>5} {:>5}", "", "open", "now"),
        line("log", |it| it.log),
        line("flush", |it| it.flush),
        line("compaction", |it| it.compaction),
        line("reclaim", |it| it.reclaim),
        line("metadata", |it| it.metadata),
        line("in all", |it| it.total),
    ]
}

/// The waits that took longest, of the last seconds if there were any, else since the opening.
pub(super) fn waits(stats: &Stats, rates: Option<&Rates>) -> Vec<String> {
    let recent = rates.filter(|rates| !rates.waits.is_empty());
    let (waits, seconds) = match recent {
        Some(rates) => (&rates.waits, Some(rates.seconds)),
        None => (&stats.waits, None),
    };
    let mut all: Vec<_> = waits.iter().collect();
    all.sort_by_key(|(cause, stats)| (std::cmp::Reverse(stats.nanos), *cause));
    let unit = if seconds.is_some() { "share" } else { "time" };
    let mut lines = vec![format!("{unit:>7} {:>7}  waits for", "longest")];
    lines.extend(all.iter().map(|(cause, stats)| {
        let took = match seconds {
            // Several actors wait at once, so that it may be more than all the time.
            Some(seconds) => format!("{:.0} %", 100.0 * stats.nanos as f64 / 1e9 / seconds),
            None => time(stats.nanos),
        };
        format!("{took:>7} {:>7}  {}", time(stats.nanos_max), cause.meaning())
    }));
    if all.is_empty() {
        lines.push("none".to_owned());
    }
    lines
}

pub(super) fn event(event: &LiveEvent) -> String {
    let what = match &event.event {
        Happening::Began { job } => format!("began: {}", job_name(*job)),
        Happening::Ended { job, written: Some(written), took } => {
            format!("ended: {}; wrote {written} in {}", job_name(*job), time(*took))
        }
        Happening::Ended { job, written: None, took } => {
            format!("came to nothing: {} after {}", job_name(*job), time(*took))
        }
        Happening::Stalled { took, waits } => {
            let longest = waits.iter().max_by_key(|(_, stats)| stats.nanos);
            let of = longest.map_or("", |(cause, _)| cause.meaning());
            format!("a write waited {}, mostly for: {of}", time(*took))
        }
        Happening::Stopped { error } => format!("writing has stopped: {}", Visible(error)),
        Happening::Resumed => "writing goes on".to_owned(),
        Happening::NearlyFull { live, room } => {
            format!("nearly full: {live} stay, and there is room for about {room}")
        }
        Happening::Unknown => "an event that this version does not know".to_owned(),
    };
    format!("{} {what}", clock(event.nanos))
}

/// One zone, in all that is known of it.
pub(super) fn zone(zone: &ZoneUsage, has_names: bool) -> Vec<String> {
    let percent = |bytes: ByteCount| 100.0 * bytes.0 as f64 / zone.capacity.0.max(1) as f64;
    let share = |name: &str, bytes: ByteCount| {
        format!("{name:<10} {:>12} {:>4.0} %", bytes.to_string(), percent(bytes))
    };
    let mut lines = vec![
        format!("state      {}", zone.state.name()),
        format!("used for   {}", use_name(zone.used_for)),
        format!("capacity   {:>12}", zone.capacity.to_string()),
    ];
    match zone.pointer {
        Some(pointer) => lines.push(share("written", pointer)),
        None => lines.push("written    not known".to_owned()),
    }
    lines.push(share("live", zone.live));
    lines.push(share("dead", zone.dead));
    lines.push(share("pinned", zone.pinned));
    for (level, bytes) in &zone.levels {
        let name = match level {
            Some(level) if has_names => format!("lifetime {}", level.saturating_add(1)),
            Some(level) => format!("level {level}"),
            None => "no level".to_owned(),
        };
        lines.push(share(&name, *bytes));
    }
    if let Some(stream) = zone.stream {
        lines.push(format!("stream     {stream:>12}"));
    }
    lines
}

/// A duration in three digits and a unit.
pub(super) fn time(nanos: u64) -> String {
    let seconds = nanos as f64 / 1e9;
    let (value, unit) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (seconds * 1e6, "us"),
        1_000_000..1_000_000_000 => (seconds * 1e3, "ms"),
        1_000_000_000..100_000_000_000 => (seconds, "s"),
        _ => return clock(nanos),
    };
    let digits = if value < 9.95 { 2 } else { usize::from(value < 99.5) };
    format!("{value:.digits$} {unit}")
}

/// Hours, minutes and seconds.
pub(super) fn clock(nanos: u64) -> String {
    let seconds = Duration::from_nanos(nanos).as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 {
        format!("{minutes}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}
