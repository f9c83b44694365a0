//! [`tables`]: results as Markdown.
//!
//! - Costs: processor time per operation, foreground and background together, as the median of the
//!   rounds with the least and the most. Engines whose log is written are in one table, those that
//!   gather it in another. The cheapest peer of a line is in bold; a ratio is Terrace's median over
//!   its median.
//! - Parts: foreground and background apart.
//! - Latencies of single calls, on the clock: they depend on the machine, and are no claim.
//! - Figures of the processes: bytes written, space, memory, openings.

use std::fmt::Write as _;

use crate::engines::{Log, Name};
use crate::measure::Latencies;
use crate::turns::{Results, Size};
use crate::works::{Line, Round};

/// All tables.
pub(crate) fn tables(results: &Results) -> String {
    let mut text = format!("{}. {}\n\n", results.machine, versions(results));
    for said in &results.left_out {
        _ = writeln!(text, "- {said}");
    }
    if !results.left_out.is_empty() {
        text.push('\n');
    }
    for size in &results.sizes {
        let entries = grouped(results.entries);
        _ = writeln!(
            text,
            "{entries} entries of {} bytes, rounds: {}.\n",
            size.value_size, results.rounds
        );
        for (log, title) in [(Log::Written, "log written"), (Log::Gathered, "log gathered")] {
            let engines = engines(size, |engine| engine.log() == log);
            costs(size, &engines, &format!("us of processor per operation, {title}"), &mut text);
        }
        let all = engines(size, |_| true);
        parts(size, &all, &mut text);
        latencies(size, &all, &mut text);
        figures(size, &all, &mut text);
    }
    text
}

/// The engines of a table: our own first, then the peers as they are named.
fn engines(size: &Size, chosen: impl Fn(Name) -> bool) -> Vec<Name> {
    let mut engines: Vec<Name> =
        size.engines.keys().copied().filter(|name| chosen(*name)).collect();
    engines.sort_by_key(|engine| !engine.is_own());
    engines
}

fn versions(results: &Results) -> String {
    let mut found: Vec<String> = Vec::new();
    for (name, rounds) in results.sizes.iter().flat_map(|size| &size.engines) {
        let version =
            rounds.iter().map(|round| &*round.version).find(|version| !version.is_empty());
        if let (false, Some(version)) = (name.is_own(), version) {
            let title = name.title().split(',').next().unwrap_or_default();
            let said = format!("{title} {version}");
            if !found.contains(&said) {
                found.push(said);
            }
        }
    }
    if found.is_empty() { "No peers".to_owned() } else { found.join(", ") }
}

/// The lines of a size, in the order in which they came.
fn lines(size: &Size, engines: &[Name]) -> Vec<String> {
    let rounds = engines.iter().flat_map(|engine| &size.engines[engine]);
    first_of_each(rounds.flat_map(|round| round.lines.iter().map(|line| &line.name)))
}

fn first_of_each<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

/// A number of each round's line of a name.
fn of_line(rounds: &[Round], name: &str, value: impl Fn(&Line) -> f64) -> Vec<f64> {
    let lines = rounds.iter().filter_map(|round| round.lines.iter().find(|line| line.name == name));
    lines.map(value).collect()
}

fn costs(size: &Size, engines: &[Name], title: &str, text: &mut String) {
    let cell =
        |engine: Name, name: &str| of_line(&size.engines[&engine], name, |line| line.cost.micros());
    compared(engines, title, &lines(size, engines), cell, text);
}

fn figures(size: &Size, engines: &[Name], text: &mut String) {
    let rounds = engines.iter().flat_map(|engine| &size.engines[engine]);
    let names =
        first_of_each(rounds.flat_map(|round| round.figures.iter().map(|figure| &figure.name)));
    let cell = |engine: Name, name: &str| {
        let figures = size.engines[&engine].iter().flat_map(|round| &round.figures);
        figures.filter(|figure| figure.name == name).map(|figure| figure.value).collect::<Vec<_>>()
    };
    table_head(engines, "other figures", &[], text);
    for name in &names {
        _ = write!(text, "| {name} |");
        for engine in engines {
            _ = write!(text, " {} |", spread(&cell(*engine, name)));
        }
        text.push('\n');
    }
    text.push('\n');
}

/// A table of medians with the ratios of our own engines to the best peer.
fn compared(
    engines: &[Name],
    title: &str,
    names: &[String],
    cell: impl Fn(Name, &str) -> Vec<f64>,
    text: &mut String,
) {
    if engines.is_empty() {
        return;
    }
    let own: Vec<Name> = engines.iter().copied().filter(|engine| engine.is_own()).collect();
    let has_peers = own.len() < engines.len();
    let ratios: Vec<String> = own
        .iter()
        .filter(|_| has_peers)
        .map(|engine| format!("{} / best", engine.title()))
        .collect();
    table_head(engines, title, &ratios, text);
    for name in names {
        let peers = engines.iter().filter(|engine| !engine.is_own());
        let medians = peers.filter_map(|engine| Some((*engine, median(&cell(*engine, name))?)));
        let best = medians.min_by(|(_, one), (_, other)| one.total_cmp(other));
        _ = write!(text, "| {name} |");
        for engine in engines {
            let shown = spread(&cell(*engine, name));
            let is_best = best.is_some_and(|(found, _)| found == *engine);
            let shown = if is_best { format!("**{shown}**") } else { shown };
            _ = write!(text, " {shown} |");
        }
        for engine in own.iter().filter(|_| has_peers) {
            let ratio = median(&cell(*engine, name)).zip(best).map(|(own, (_, best))| own / best);
            let shown = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            _ = write!(text, " {shown} |");
        }
        text.push('\n');
    }
    text.push('\n');
}

fn parts(size: &Size, engines: &[Name], text: &mut String) {
    table_head(engines, "foreground + background, us of processor", &[], text);
    for name in &lines(size, engines) {
        _ = write!(text, "| {name} |");
        for engine in engines {
            let rounds = &size.engines[engine];
            let foreground = of_line(rounds, name, |line| line.cost.each(line.cost.foreground));
            let background = of_line(rounds, name, |line| line.cost.each(line.cost.background));
            match median(&foreground).zip(median(&background)) {
                Some((one, other)) => _ = write!(text, " {} + {} |", digits(one), digits(other)),
                None => text.push_str(" |"),
            }
        }
        text.push('\n');
    }
    text.push('\n');
}

fn latencies(size: &Size, engines: &[Name], text: &mut String) {
    table_head(engines, "p50 / p99 / p99.9 of a call, us of the clock", &[], text);
    for name in &lines(size, engines) {
        let of = |engine: &Name, value: fn(&Latencies) -> f64| {
            let rounds = size.engines[engine].iter().flat_map(|round| &round.lines);
            let found = rounds.filter(|line| line.name == *name).filter_map(|line| line.latencies);
            median(&found.map(|latencies| value(&latencies)).collect::<Vec<_>>())
        };
        if engines.iter().all(|engine| of(engine, |found| found.p50).is_none()) {
            continue;
        }
        _ = write!(text, "| {name} |");
        for engine in engines {
            let parts = [of(engine, |l| l.p50), of(engine, |l| l.p99), of(engine, |l| l.p999)];
            let parts: Vec<String> = parts.into_iter().flatten().map(digits).collect();
            _ = write!(text, " {} |", parts.join(" / "));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn table_head(engines: &[Name], title: &str, more: &[String], text: &mut String) {
    // Both ways of writing the log may be in one table.
    let title_of = |engine: &Name| {
        let twin = engines.iter().any(|other| other != engine && other.title() == engine.title());
        let gathered = twin && engine.log() == Log::Gathered;
        format!("{}{}", engine.title(), if gathered { ", gathered" } else { "" })
    };
    let heads: Vec<String> = engines.iter().map(title_of).chain(more.iter().cloned()).collect();
    _ = writeln!(text, "| {title} | {} |", heads.join(" | "));
    _ = writeln!(text, "|---|{}", "---:|".repeat(heads.len()));
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count.is_multiple_of(2) => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

/// The median, and the range if there is one.
fn spread(values: &[f64]) -> String {
    let Some(median) = median(values) else { return String::new() };
    let least = digits(values.iter().copied().fold(f64::INFINITY, f64::min));
    let most = digits(values.iter().copied().fold(0.0, f64::max));
    let median = digits(median);
    if least == most { median } else { format!("{median} ({least}-{most})") }
}

/// Three digits.
fn digits(value: f64) -> String {
    let decimals = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Cost;

    fn round(micros: f64) -> Round {
        let cost = Cost {
            operations: 1_000_000,
            wall: 9.0,
            foreground: micros / 2.0,
            background: micros / 2.0,
        };
        let line = Line { name: "scan".to_owned(), cost, latencies: None };
        Round { version: "1.2".to_owned(), lines: vec![line], figures: Vec::new() }
    }

    #[test]
    fn a_line_has_medians_spreads_the_best_peer_and_the_ratio() {
        let engines = BTreeMap::from([
            (Name::Terrace, vec![round(3.0), round(1.0), round(2.0)]),
            (Name::Rocksdb, vec![round(8.0)]),
            (Name::Fjall, vec![round(4.0)]),
        ]);
        let sizes = vec![Size { value_size: 128, engines }];
        let left_out = vec!["LevelDB is left out".to_owned()];
        let machine = "2 processors".to_owned();
        let text = tables(&Results { machine, rounds: 3, entries: 12_345, left_out, sizes });
        for line in [
            "2 processors. RocksDB 1.2, fjall 1.2",
            "- LevelDB is left out",
            "12,345 entries of 128 bytes, rounds: 3.",
            "processor per operation, log written | Terrace | RocksDB | fjall | Terrace / best |",
            "| scan | 2.00 (1.00-3.00) | 8.00 | **4.00** | 0.50 |",
            "| scan | 1.00 + 1.00 | 4.00 + 4.00 | 2.00 + 2.00 |",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
