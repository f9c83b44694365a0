//! [`Table`]: columns and rows of text. [`Table::runs`] has the main metrics of a chapter's runs,
//! and [`Table::delays`] the delays of all runs of a chapter that has arrivals.

use std::collections::BTreeMap;

use super::Chapter;
use crate::plot::{Arrangement, Unit, number};
use crate::run::{Metrics, Outcome, SpaceUse};

/// A table. Every row has a cell for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The head of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Whether it holds numbers, whose last digits stand one below the other.
    pub(super) numeric: bool,
}

/// Text for a missing value.
pub(super) const NONE: &str = "–";

/// Text of a column for a run.
type Show = fn(&Metrics) -> String;

/// The columns of the table of runs, after system and setting.
const RUNS: [(&str, Show); 21] = [
    ("KV/s", |it| number(it.kv_per_second)),
    ("time", |it| Unit::Seconds.show(it.seconds)),
    ("WA", |it| number(it.write_amplification.total)),
    ("log", |it| number(it.write_amplification.log)),
    ("flush", |it| number(it.write_amplification.flush)),
    ("compaction", |it| number(it.write_amplification.compaction)),
    ("reclaim", |it| number(it.write_amplification.reclaim)),
    ("metadata", |it| number(it.write_amplification.metadata)),
    ("device", |it| number(it.write_amplification.device)),
    ("log device", |it| number(it.log_device_amplification.total)),
    ("RA", |it| it.read_amplification.map_or(NONE.to_owned(), number)),
    ("valid", |it| Unit::Share.show(it.space_efficiency.valid_average)),
    ("live", |it| Unit::Share.show(it.space_efficiency.live_average)),
    ("space", |it| of_space(it, |space| number(space.gib))),
    ("used", |it| of_space(it, |space| Unit::Share.show(space.used_peak))),
    ("zones", |it| Unit::Count.show(it.zones_peak as f64)),
    ("runs", |it| number(it.runs_average)),
    ("p99", |it| {
        it.latency_seconds.get("p99").map_or(NONE.to_owned(), |at| Unit::Seconds.show(*at))
    }),
    ("worst stall", |it| Unit::Seconds.show(it.stall_worst_seconds)),
    ("waited for", |it| it.longest_cause().unwrap_or(NONE).to_owned()),
    ("trace", |it| it.trace_hash.chars().take(8).collect()),
];

/// The columns of the table of delays, after system and setting.
const DELAYS: [(&str, Show); 8] = [
    ("KV/s", |it| number(it.kv_per_second)),
    ("p50", |it| of_times(&it.latency_seconds, "p50")),
    ("p90", |it| of_times(&it.latency_seconds, "p90")),
    ("p99", |it| of_times(&it.latency_seconds, "p99")),
    ("p99.9", |it| of_times(&it.latency_seconds, "p99.9")),
    ("max", |it| of_times(&it.latency_seconds, "max")),
    ("waits p99", |it| of_times(&it.arrival_wait_seconds, "p99")),
    ("waits max", |it| of_times(&it.arrival_wait_seconds, "max")),
];

fn of_times(times: &BTreeMap<String, f64>, name: &str) -> String {
    times.get(name).map_or(NONE.to_owned(), |seconds| Unit::Seconds.show(*seconds))
}

/// A result from before the space was noted has none.
fn of_space(metrics: &Metrics, show: fn(&SpaceUse) -> String) -> String {
    if metrics.space.gib > 0.0 { show(&metrics.space) } else { NONE.to_owned() }
}

/// Meaning of the columns of the table of runs.
pub(super) const LEGEND: &str = "KV/s: operations of clients per second of device time. WA: \
    bytes written to the drive per byte of keys and values, and its parts; device: bytes that \
    the drive wrote per byte that it was given. log device: bytes of logs and metadata written \
    to a log device, which are not part of WA. RA: bytes read for clients per byte that they \
    got. valid, live: referenced table bytes, and bytes of newest versions, per byte of zones \
    that hold anything, on average over time. space: GiB that files could take on the full \
    drive; used: the largest share of it in zones that held anything. zones: the most that held \
    anything. runs: sorted runs, on average. p99: what one operation in a hundred took longer \
    than. worst stall: the longest operation. waited for: the cause of most of its wait. \
    trace: the first digits of a hash over every request to the drive with its times.";

/// Meaning of the columns of the table of delays.
pub(super) const DELAYS_LEGEND: &str = "Delays of operations by percentile: from \
    their arrival on or, back to back, from when a client begins them. waits: the part of it for \
    which an operation waited for a client, because all were busy.";

impl Table {
    /// The runs of a chapter; `None` where there is no outcome.
    pub(super) fn runs(chapter: &Chapter) -> Option<Self> {
        Self::of(chapter, &RUNS)
    }

    /// Delays of the runs, if there are arrivals in some of them; otherwise `None`.
    pub(super) fn delays(chapter: &Chapter) -> Option<Self> {
        let own = |outcome: &&Outcome| outcome.experiment == chapter.experiment.name;
        let mut own = chapter.outcomes.iter().filter(own);
        own.any(|outcome| !outcome.metrics.arrival_wait_seconds.is_empty())
            .then(|| Self::of(chapter, &DELAYS))
            .flatten()
    }

    fn of(chapter: &Chapter, shown: &[(&'static str, Show)]) -> Option<Self> {
        let arrangement = Arrangement::of(&chapter.experiment, &chapter.outcomes);
        let several = arrangement.settings.len() > 1;
        let mut columns = vec![Column { title: "system", numeric: false }];
        if several {
            columns.push(Column { title: "setting", numeric: false });
        }
        columns.extend(shown.iter().map(|(title, _)| Column { title, numeric: true }));
        let mut rows = Vec::new();
        for setting in &arrangement.settings {
            for (_, outcome) in &setting.outcomes {
                let mut row = vec![outcome.system.clone()];
                row.extend(several.then(|| setting.name.clone()));
                row.extend(shown.iter().map(|(_, show)| show(&outcome.metrics)));
                rows.push(row);
            }
        }
        (!rows.is_empty()).then_some(Self { columns, rows })
    }
}
