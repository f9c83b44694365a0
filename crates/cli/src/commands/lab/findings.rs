//! [`Findings`] of a series of experiments: our metrics, and the claims of the papers with our
//! metrics for them, as tables in Markdown or as one JSON object.
//!
//! - Below the tables stands the effect of the scale on the metrics.
//! - Claims are left out if only a part of each experiment was run (`whole` is false): that part
//!   says nothing about the whole.
//! - A claim about a system without an outcome is shown without a metric of ours.
//! - A run that failed is listed with its error.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace_lab::experiment::Experiment;
use terrace_lab::report::remarks_on_scale;
use terrace_lab::run::{Cost, Metrics, Outcome, RunPlan};
use terrace_lab::series::SeriesError;

use crate::escape::Visible;

/// Findings of a series.
#[derive(Serialize)]
pub(super) struct Findings<'a> {
    #[serde(skip)]
    pub(super) experiments: &'a [Experiment],
    /// Outcome of each measured phase, in the order of the experiments and their systems.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) claims: Vec<Answer>,
    #[serde(rename = "failures")]
    pub(super) flops: Vec<Flop>,
    /// Cost of the whole series.
    pub(super) cost: Cost,
    pub(super) processor_seconds_per_gigabyte: f64,
}

/// A run that came to nothing.
#[derive(Serialize)]
pub(super) struct Flop {
    pub(super) experiment: String,
    pub(super) system: String,
    pub(super) variant: Option<String>,
    error: String,
}

/// A claim of a paper, and our metric for it.
#[derive(Serialize)]
pub(super) struct Answer {
    experiment: String,
    text: String,
    system: String,
    published: f64,
    /// `None` where the run is not among those carried out, or does not have the metric.
    ours: Option<f64>,
    ratio: Option<f64>,
    explanation: Option<String>,
}

const METRICS: [&str; 17] = [
    "system",
    "setting",
    "KV/s",
    "seconds",
    "WA",
    "log",
    "flush",
    "comp.",
    "reclaim",
    "valid",
    "live",
    "worst",
    "used",
    "zones",
    "p99 ms",
    "stall s",
    "waited for",
];

/// Of delays in milliseconds; waits are for a client.
const DELAYS: [&str; 9] =
    ["system", "setting", "p50", "p90", "p99", "p99.9", "max", "waits p99", "waits max"];

impl Flop {
    pub(super) fn new(plan: &RunPlan, error: &SeriesError) -> Self {
        let RunPlan { experiment, system, variant, .. } = plan.clone();
        Self { experiment, system, variant, error: error.to_string() }
    }
}

impl<'a> Findings<'a> {
    pub(super) fn new(
        experiments: &'a [Experiment],
        outcomes: Vec<Outcome>,
        flops: Vec<Flop>,
        whole: bool,
    ) -> Self {
        let mut claims = Vec::new();
        // A part of a run says nothing to claims about the whole.
        for experiment in experiments.iter().filter(|_| whole) {
            let own: Vec<Outcome> = of(&outcomes, experiment).cloned().collect();
            claims.extend(experiment.claims.iter().map(|claim| {
                let ours = claim.evaluate(&own);
                Answer {
                    experiment: experiment.name.clone(),
                    text: claim.text.clone(),
                    system: claim.quantity.system.clone(),
                    published: claim.published,
                    ours,
                    ratio: ours.map(|ours| ours / claim.published),
                    explanation: claim.explanation.clone(),
                }
            }));
        }
        let mut cost = Cost::default();
        for outcome in &outcomes {
            cost.processor_seconds += outcome.cost.processor_seconds;
            cost.gigabytes_moved += outcome.cost.gigabytes_moved;
        }
        let processor_seconds_per_gigabyte = cost.seconds_per_gigabyte();
        Self { experiments, outcomes, claims, flops, cost, processor_seconds_per_gigabyte }
    }

    /// The metrics of an experiment.
    pub(super) fn metrics(&self, experiment: &Experiment) -> Table {
        let mut table = begin(&METRICS, 2);
        for outcome in of(&self.outcomes, experiment) {
            let (metrics, setting) = (&outcome.metrics, setting(experiment, outcome));
            let (wa, space) = (&metrics.write_amplification, &metrics.space_efficiency);
            let two = |value: f64| format!("{value:.2}");
            table.add_row([
                outcome.system.clone(),
                setting,
                format!("{:.0}", metrics.kv_per_second),
                format!("{:.0}", metrics.seconds),
                two(wa.total),
                two(wa.log),
                two(wa.flush),
                two(wa.compaction),
                two(wa.reclaim),
                two(space.valid_average),
                two(space.live_average),
                two(space.live_worst),
                two(metrics.space.used_peak),
                metrics.zones_peak.to_string(),
                metrics.latency_seconds.get("p99").map_or("-".to_owned(), |at| digits(at * 1e3)),
                two(metrics.stall_worst_seconds),
                metrics.longest_cause().unwrap_or("-").to_owned(),
            ]);
        }
        table
    }

    /// Delays of operations; `None` if the experiment has no arrivals.
    fn delays(&self, experiment: &Experiment) -> Option<Table> {
        let mut table = begin(&DELAYS, 2);
        let has_arrivals = |it: &Outcome| !it.metrics.arrival_wait_seconds.is_empty();
        if !of(&self.outcomes, experiment).any(has_arrivals) {
            return None;
        }
        for outcome in of(&self.outcomes, experiment) {
            let Metrics { latency_seconds, arrival_wait_seconds, .. } = &outcome.metrics;
            let millis = |times: &BTreeMap<String, f64>, name: &str| {
                times.get(name).map_or("-".to_owned(), |seconds| digits(seconds * 1e3))
            };
            let delays = ["p50", "p90", "p99", "p99.9", "max"];
            let delays = delays.map(|name| millis(latency_seconds, name));
            let waits = ["p99", "max"].map(|name| millis(arrival_wait_seconds, name));
            let words = [outcome.system.clone(), setting(experiment, outcome)];
            table.add_row(words.into_iter().chain(delays).chain(waits));
        }
        Some(table)
    }

    /// Effects of the scale of the runs on their metrics.
    fn remarks(&self, experiment: &Experiment) -> Vec<String> {
        let scale = of(&self.outcomes, experiment).next().and_then(|it| it.scale.parse().ok());
        scale.map_or_else(Vec::new, |scale| remarks_on_scale(experiment, scale))
    }

    /// Table of the paper's claims and our metrics; `None` if the experiment has no claims.
    pub(super) fn answers(&self, experiment: &Experiment) -> Option<Table> {
        let mut table = begin(&["what the paper says", "system", "paper", "ours", "ratio"], 2);
        let answers = self.claims.iter().filter(|claim| claim.experiment == experiment.name);
        for claim in answers {
            let shown = |value: Option<f64>| value.map_or("-".to_owned(), digits);
            let (paper, ours) = (digits(claim.published), shown(claim.ours));
            let ratio = claim.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            let text = match &claim.explanation {
                Some(why) => format!("{} ({why})", claim.text),
                None => claim.text.clone(),
            };
            table.add_row([Visible(&text).to_string(), claim.system.clone(), paper, ours, ratio]);
        }
        (table.row_count() > 0).then_some(table)
    }
}

impl Display for Findings<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for experiment in self.experiments {
            writeln!(f, "{}: {}\n", Visible(&experiment.name), Visible(&experiment.title))?;
            writeln!(f, "{}\n", self.metrics(experiment))?;
            if let Some(delays) = self.delays(experiment) {
                writeln!(f, "delays from the arrival on, in ms\n\n{delays}\n")?;
            }
            if let Some(answers) = self.answers(experiment) {
                writeln!(f, "{answers}\n")?;
            }
            for remark in self.remarks(experiment) {
                writeln!(f, "{}\n", Visible(&remark))?;
            }
        }
        for Flop { experiment, system, variant, error } in &self.flops {
            let variant = variant.as_ref().map(|variant| format!(" {variant}"));
            let run = format!("{experiment} {system}{}: {error}", variant.unwrap_or_default());
            writeln!(f, "{}", Visible(&run))?;
        }
        writeln!(
            f,
            "{:.1} processor seconds for {:.1} GB moved by the drives: {:.2} for a gigabyte",
            self.cost.processor_seconds,
            self.cost.gigabytes_moved,
            self.processor_seconds_per_gigabyte
        )
    }
}

/// The outcomes of an experiment.
fn of<'a>(
    outcomes: &'a [Outcome],
    experiment: &'a Experiment,
) -> impl Iterator<Item = &'a Outcome> {
    outcomes.iter().filter(|outcome| outcome.experiment == experiment.name)
}

/// Words that tell the runs of a system apart: the variant, and the phase where several are
/// measured.
fn setting(experiment: &Experiment, outcome: &Outcome) -> String {
    let measured = experiment.phases.iter().filter(|phase| phase.measured).count();
    let phase = (measured > 1).then(|| outcome.phase.clone());
    let parts: Vec<String> = outcome.variant.clone().into_iter().chain(phase).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Three digits that count, and no more.
fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A table whose first columns are words and the rest metrics.
fn begin(header: &[&str], words: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
