//! [`Table::keeping_up`]: up to which rate of arrivals each system keeps up, by process, for an
//! experiment whose variants have the same process at several rates.
//!
//! A system keeps up with a rate if 99 of 100 operations are answered within [`LATE`] of their
//! arrival, at this rate and at all lower ones that were run.

use super::Chapter;
use super::table::{Column, NONE, Table};
use crate::plot::{Arrangement, Unit, number};
use crate::run::Outcome;

/// Seconds after which an operation is late.
const LATE: f64 = 1.0;

/// Meaning of the columns.
pub(super) const LEGEND: &str = "The highest rate, in operations a second, up to which 99 of 100 \
    operations are answered within a second of their arrival, and the next one that was run; each \
    with the delay that one operation in a hundred exceeds.";

/// A process without its rate, and its rate: `b-model,bias=0.65` and 500 of
/// `b-model:500,bias=0.65`; `None` for a process of several rates.
fn rate_apart(process: &str) -> Option<(String, f64)> {
    let (name, rest) = process.split_once(':')?;
    let (rate, parameters) = rest.split_once(',').map_or((rest, None), |(a, b)| (a, Some(b)));
    let rate = rate.parse().ok()?;
    Some((parameters.map_or(name.to_owned(), |more| format!("{name},{more}")), rate))
}

impl Table {
    /// Rates that systems keep up with; `None` if no process was run at several rates.
    pub(super) fn keeping_up(chapter: &Chapter) -> Option<Self> {
        let arrangement = Arrangement::of(&chapter.experiment, &chapter.outcomes);
        let variants = chapter.experiment.variants.iter();
        let arrivals = variants.filter_map(|variant| {
            Some((variant.name.as_str(), rate_apart(variant.arrivals.as_deref()?)?))
        });
        let arrivals: Vec<(&str, (String, f64))> = arrivals.collect();
        let mut processes: Vec<&String> = Vec::new();
        for (_, (process, _)) in &arrivals {
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        let mut rows = Vec::new();
        for process in processes {
            for system in &arrangement.systems {
                let delay = |outcome: &Outcome| {
                    let variant = outcome.variant.as_deref()?;
                    let (_, (of, rate)) = arrivals.iter().find(|(name, _)| *name == variant)?;
                    let is_here = of == process && outcome.system == *system;
                    let is_here = is_here && !outcome.metrics.arrival_wait_seconds.is_empty();
                    let p99 = outcome.metrics.latency_seconds.get("p99")?;
                    is_here.then_some((*rate, *p99))
                };
                let mut delays: Vec<(f64, f64)> =
                    arrangement.outcomes().filter_map(delay).collect();
                delays.sort_by(|(a, _), (b, _)| a.total_cmp(b));
                if delays.len() < 2 {
                    continue;
                }
                let late = delays.iter().position(|(_, p99)| *p99 > LATE);
                let behind = late.unwrap_or(delays.len());
                let last = behind.checked_sub(1).map(|at| delays[at]);
                let mut row = vec![(*system).to_owned(), process.clone()];
                for found in [last, delays.get(behind).copied()] {
                    let cells = found.map(|(rate, p99)| [number(rate), Unit::Seconds.show(p99)]);
                    row.extend(cells.unwrap_or_else(|| [NONE; 2].map(str::to_owned)));
                }
                rows.push(row);
            }
        }
        let words = ["system", "process"].map(|title| Column { title, numeric: false });
        let numbers = ["keeps up with", "p99", "not with", "p99"];
        let numbers = numbers.map(|title| Column { title, numeric: true });
        let columns = words.into_iter().chain(numbers).collect();
        (!rows.is_empty()).then_some(Self { columns, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_process_is_taken_out_of_its_name() {
        let of = |text| rate_apart(text).map(|(name, rate)| format!("{name} at {rate}"));
        assert_eq!(of("poisson:5000").as_deref(), Some("poisson at 5000"));
        assert_eq!(of("b-model:500,bias=0.65").as_deref(), Some("b-model,bias=0.65 at 500"));
        assert_eq!(of("curve:10/20,step=1"), None);
        assert_eq!(of("back-to-back"), None);
    }
}
