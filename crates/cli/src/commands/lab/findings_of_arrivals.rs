//! Prints statistics of arrivals as a table for people: a column for the number of arrivals in each
//! bin of time, and one for the gaps between arrivals. A Hurst parameter (how much arrivals burst
//! at all scales of time) that could not be estimated is a `-`, an autocorrelation that was not
//! computed is empty.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use terrace_lab::arrivals::statistics::{Analysis, Estimate, Series};
use terrace_lab::plot::{Unit, number};

/// Lags that are shown of an autocorrelation.
const LAGS: [usize; 4] = [1, 10, 50, 200];

pub(super) fn print(out: &mut dyn Write, analysis: &Analysis) -> io::Result<()> {
    let Analysis { arrivals, seconds, rate, bin_seconds, counts, gaps } = analysis;
    let (arrivals, seconds) = (number(*arrivals as f64), number(*seconds));
    let rate = match rate {
        Some(rate) => format!("{} a second", number(*rate)),
        None => "all at one instant: no rate".to_owned(),
    };
    writeln!(out, "{arrivals} arrivals in {seconds} s, {rate}\n")?;
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let bin = Unit::Seconds.show(*bin_seconds);
    table.set_header(["", &format!("arrivals in {bin}"), "gaps"]);
    let of_gaps = |value: f64| Unit::Seconds.show(value);
    table.add_row(row("values", counts, gaps, |it| number(it.length as f64)));
    table.add_row(["mean".to_owned(), number(counts.mean), of_gaps(gaps.mean)]);
    let (one, other) = (counts.deviation, gaps.deviation);
    table.add_row(["standard deviation".to_owned(), number(one), of_gaps(other)]);
    table.add_row(["largest".to_owned(), number(counts.max), of_gaps(gaps.max)]);
    table.add_row(["variance over mean".to_owned(), number(counts.dispersion()), String::new()]);
    for lag in LAGS {
        let at = |series: &Series| {
            series.autocorrelation.get(lag).map_or_else(String::new, |value| format!("{value:.3}"))
        };
        table.add_row(row(&format!("autocorrelation, lag {lag}"), counts, gaps, at));
    }
    for (one, other) in counts.hurst.iter().zip(&gaps.hurst) {
        let name = format!("Hurst parameter, {}", one.estimator.replace('_', " "));
        table.add_row([name, estimate(one), estimate(other)]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")
}

fn row(name: &str, counts: &Series, gaps: &Series, of: impl Fn(&Series) -> String) -> [String; 3] {
    [name.to_owned(), of(counts), of(gaps)]
}

/// An estimate with its standard error, if it has one.
fn estimate(estimate: &Estimate) -> String {
    match (estimate.value, estimate.error) {
        (None, _) => "-".to_owned(),
        (Some(value), None) => format!("{value:.3}"),
        (Some(value), Some(error)) => format!("{value:.3} ± {error:.3}"),
    }
}
