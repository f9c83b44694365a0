//! The result of `terrace bench`. A [`Run`] has the measurements of one plan (a size of store, and
//! a way of writing the log), and prints them as text: tables in Markdown, with sentences between
//! them. An [`Answer`] has all runs, for JSON.
//!
//! In tables, processor time is in microseconds per operation and latencies are in microseconds;
//! these values are rounded. JSON has them without rounding, and has sizes in bytes, where text has
//! them with a unit.

use std::fmt::{self, Display, Formatter};

use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use serde::Serialize;
use terrace::{ByteCount, Durability};
use terrace_lab::bench::{Contents, KindMeasurement, Latency, Measurement, Played, Reference};

use super::conditions::{Conditions, Offload};
use super::sizes;
use crate::escape::Visible;

/// All measurements, by size.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) runs: Vec<Run>,
}

/// Measurements at one size.
#[derive(Serialize)]
pub(super) struct Run {
    pub(super) conditions: Conditions,
    pub(super) measurements: Vec<Measurement>,
    /// Contents of the store at the end, for workloads and traces.
    pub(super) contents: Option<Contents>,
    /// The most memory that the process held, where the system says; a drive in memory is part of
    /// it.
    pub(super) peak_memory: Option<ByteCount>,
}

const HEADER: [&str; 8] =
    ["work", "cpu us/op", "ops/s", "p50 us", "p99 us", "p99.9 us", "max us", "seconds"];
const KINDS_HEADER: [&str; 6] = ["operation", "count", "p50 us", "p99 us", "p99.9 us", "max us"];
const ARRIVALS_HEADER: [&str; 5] = ["work", "p50 us", "p99 us", "p99.9 us", "max us"];
const REFERENCE_HEADER: [&str; 6] =
    ["processor us/op", "Terrace", "RocksDB", "ratio", "fjall", "LevelDB"];

/// A choice as one types it; the name of the variant for one that cannot be typed.
fn word(choice: impl ValueEnum + std::fmt::Debug) -> String {
    let typed = choice.to_possible_value().map(|value| value.get_name().to_owned());
    typed.unwrap_or_else(|| format!("{choice:?}").to_lowercase())
}

impl Display for Run {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Conditions { on, count, key_size, value_size, memtable_size, memory, .. } =
            &self.conditions;
        writeln!(
            f,
            "{} entries, keys {}, values {}; {}, memtable {memtable_size}, memory {memory}, \
             compression {}; on {}\n",
            HumanCount(*count),
            sizes::describe(*key_size),
            sizes::describe(*value_size),
            self.conditions.system,
            word(self.conditions.compression),
            word(*on)
        )?;
        if let Some(zone_size) = self.conditions.zone_size {
            writeln!(f, "zones of {zone_size}\n")?;
        }
        if let Some(Offload { image, size }) = &self.conditions.offload {
            writeln!(f, "offload drive {} of {size}\n", Visible(image))?;
        }
        let log = match self.conditions.log {
            Durability::Gathered => {
                "gathered: compared with engines that gather theirs, such as RocksDB \
                                     with manual_wal_flush"
            }
            _ => "written before each write returns, as RocksDB does by default",
        };
        writeln!(f, "log {log}\n")?;
        if let Some(synced) = self.conditions.image_synced {
            let lasts = if synced { "synced" } else { "not synced" };
            writeln!(f, "the image is {lasts} to the host's disk\n")?;
        }
        if !self.conditions.compact_at_rest {
            writeln!(f, "level 0 is left as it is when writers rest\n")?;
        }
        if self.conditions.tables_mapped == Some(false) {
            writeln!(f, "tables are read by calls, not from mapped memory\n")?;
        }
        let mut table = begin(&HEADER);
        for measurement in &self.measurements {
            rows(&mut table, measurement);
        }
        writeln!(f, "{table}\n")?;
        self.write_kinds(f)?;
        self.write_reference(f)?;
        self.write_amplification(f)?;
        self.write_contents(f)?;
        self.write_memory(f)?;
        match self.peak_memory {
            Some(peak) => writeln!(f, "peak memory of the process {peak}"),
            None => Ok(()),
        }
    }
}

impl Run {
    /// Writes the operations of clients, by kind.
    fn write_kinds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = begin(&KINDS_HEADER);
        for measurement in &self.measurements {
            let Some(played) = &measurement.played else { continue };
            for KindMeasurement { kind, operations, latency } in &played.kinds {
                let work = format!("{} {kind}", measurement.mix);
                let mut row = vec![work, HumanCount(*operations).to_string()];
                row.extend(latencies(Some(*latency)));
                table.add_row(row);
            }
        }
        if table.row_count() == 0 {
            return Ok(());
        }
        writeln!(f, "{table}\n")?;
        self.write_arrivals(f)?;
        for measurement in &self.measurements {
            let Some(played) = &measurement.played else { continue };
            let (work, Played { clients, written, read, .. }) = (measurement.mix, played);
            let (misses, scanned) = (HumanCount(played.misses), HumanCount(played.scanned));
            writeln!(
                f,
                "{work}: by {clients} clients, {written} written, {read} read; {misses} reads \
                 found nothing, scans went over {scanned} records"
            )?;
        }
        writeln!(f)
    }

    /// Writes the part of the latencies that was waiting for a client, where operations had
    /// arrivals.
    fn write_arrivals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = begin(&ARRIVALS_HEADER);
        for measurement in &self.measurements {
            let wait = measurement.played.as_ref().and_then(|played| played.arrival_wait);
            if let Some(wait) = wait {
                table.add_row(
                    std::iter::once(measurement.mix.to_string()).chain(latencies(Some(wait))),
                );
            }
        }
        if table.row_count() == 0 {
            return Ok(());
        }
        if let Some(arrivals) = &self.conditions.arrivals {
            writeln!(f, "arrivals {arrivals}; times count from the arrival on")?;
        }
        writeln!(f, "of which operations waited for a client:\n\n{table}\n")
    }

    fn write_contents(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(Contents { records, bytes, checksum }) = self.contents else { return Ok(()) };
        let records = HumanCount(records);
        writeln!(
            f,
            "in the end {records} records of {bytes}, all verified, checksum {checksum:08x}"
        )
    }

    /// Writes the metrics of other engines for the same work, where they are known.
    fn write_reference(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut table = begin(&REFERENCE_HEADER);
        let mut add = |work: String, own: f64, reference: Option<Reference>| {
            let Some(Reference { rocksdb, fjall, leveldb }) = reference else { return };
            let ratio = format!("{:.2}", own / rocksdb);
            let [own, rocksdb, fjall, leveldb] = [own, rocksdb, fjall, leveldb].map(digits);
            table.add_row([work, own, rocksdb, ratio, fjall, leveldb]);
        };
        for measurement in &self.measurements {
            let meaning = measurement.mix.meaning();
            add(meaning.to_owned(), measurement.processor_micros, measurement.reference);
            if let Some(idle) = &measurement.when_idle {
                add(with_wait_idle(meaning), idle.processor_micros, idle.reference);
            }
        }
        if table.row_count() == 0 {
            return Ok(());
        }
        let unlike = match self.conditions.log {
            Durability::Gathered => ". They wrote their log with each write, which this did not",
            _ => "",
        };
        writeln!(
            f,
            "Compared with other engines on another machine of two cores; the ratio is to RocksDB\
             {unlike}:\n"
        )?;
        writeln!(f, "{table}\n")
    }

    fn write_amplification(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for measurement in &self.measurements {
            let mix = measurement.mix;
            if let Some(writes) = measurement.writes_beside {
                let operations = measurement.operations as f64;
                let each = measurement.processor_micros * operations / (operations + writes as f64);
                let (writes, each) = (HumanCount(writes), digits(each));
                writeln!(f, "{mix}: {writes} writes meanwhile; {each} us for each read or write")?;
            }
            let Some(idle) = &measurement.when_idle else { continue };
            let (wa, space) = (&idle.write_amplification, idle.space_amplification);
            write!(
                f,
                "{mix}: write amplification {:.2} (log {:.2}, flush {:.2}, compaction {:.2}, \
                 reclaim {:.2}, metadata {:.2})",
                wa.total, wa.log, wa.flush, wa.compaction, wa.reclaim, wa.metadata
            )?;
            if let Some(others) = idle.write_amplification_reference {
                let Reference { rocksdb, fjall, leveldb } = others;
                write!(f, ", RocksDB's {rocksdb:.2}, fjall's {fjall:.2}, LevelDB's {leveldb:.2}")?;
            }
            writeln!(f, ", space {space:.2}")?;
        }
        Ok(())
    }

    /// The most that a store held, and when.
    fn write_memory(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let most = self.measurements.iter().max_by_key(|measurement| measurement.memory.peak);
        let Some(Measurement { mix, memory, .. }) = most else { return Ok(()) };
        let (peak, budget) = (ByteCount(memory.peak), ByteCount(memory.budget));
        writeln!(f, "memory of the store: {peak} at most, by {mix}, of a budget of {budget}")
    }
}

/// A table whose first column is words and the rest numbers.
fn begin(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn with_wait_idle(meaning: &str) -> String {
    format!("{meaning} + wait_idle")
}

fn rows(table: &mut Table, measurement: &Measurement) {
    let meaning = measurement.mix.meaning();
    let rate = HumanCount(measurement.operations_per_second as u64).to_string();
    let mut row = vec![meaning.to_owned(), digits(measurement.processor_micros), rate];
    row.extend(latencies(measurement.latency));
    row.push(digits(measurement.seconds));
    table.add_row(row);
    if let Some(idle) = &measurement.when_idle {
        let mut row = vec![with_wait_idle(meaning), digits(idle.processor_micros)];
        row.resize(HEADER.len() - 1, String::new());
        row.push(digits(idle.seconds));
        table.add_row(row);
    }
}

fn latencies(latency: Option<Latency>) -> [String; 4] {
    latency.map_or_else(Default::default, |latency| {
        [latency.p50, latency.p99, latency.p999, latency.max].map(digits)
    })
}

/// Three digits, or all before the point.
fn digits(value: f64) -> String {
    let decimals = match value {
        _ if value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use terrace_lab::bench::{Mix, Work};
    use terrace_lab::workload::Sizes;

    use super::*;
    use crate::commands::bench::conditions::{Compress, Medium};
    use terrace::MemoryStats;

    fn run(reference: Option<Reference>) -> Run {
        let conditions = Conditions {
            on: Medium::Memory,
            zone_size: Some(ByteCount::mib(64)),
            offload: None,
            count: 1000,
            key_size: Sizes::Constant(16),
            value_size: Sizes::Constant(128),
            clients: 1,
            arrivals: None,
            seed: 1,
            memtable_size: ByteCount::mib(64),
            memory: ByteCount::mib(512),
            compact_at_rest: true,
            tables_mapped: None,
            system: "bluefs".into(),
            compression: Compress::None,
            log: Durability::Written,
            image_synced: None,
            debug_assertions: false,
        };
        let measurement = Measurement {
            mix: Work::Mix(Mix::ReadRandom),
            operations: 1000,
            writes_beside: None,
            seconds: 1.0,
            operations_per_second: 1000.0,
            processor_micros: 4.5,
            reference,
            latency: None,
            histograms: Vec::new(),
            played: None,
            when_idle: None,
            memory: MemoryStats::default(),
        };
        Run { conditions, measurements: vec![measurement], contents: None, peak_memory: None }
    }

    #[test]
    fn what_others_took_stands_beside_with_the_ratio() {
        let reference = Reference { rocksdb: 9.0, fjall: 7.2, leveldb: 7.34 };
        let text = run(Some(reference)).to_string();
        let line = text.lines().rfind(|line| line.contains("| readrandom")).unwrap();
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        assert_eq!(cells, ["", "readrandom", "4.50", "9.00", "0.50", "7.20", "7.34", ""]);
        assert!(!run(None).to_string().contains("fjall"));
    }

    #[test]
    fn numbers_have_three_digits() {
        let numbers = [0.0, 0.456, 7.6, 12.34, 310.4, 22_000.0].map(digits);
        assert_eq!(numbers, ["0.00", "0.46", "7.60", "12.3", "310", "22000"]);
    }
}
