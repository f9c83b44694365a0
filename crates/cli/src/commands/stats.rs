//! `terrace stats IMAGE`: prints the metrics of a store, such as levels, space, bytes written by
//! cause, jobs, and waits.
//!
//! The store is opened for reading only, or the process is asked that has it open. Levels and space
//! are those of the store as it is. In text, bytes written are shown for the store's life and for
//! the process that has it open; jobs, and their work on each level, for the store's life. Waits
//! count from the opening, so that there are few or none if the store is opened here.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use serde::Serialize;
use terrace::live::Overview;
use terrace::{ByteCount, KeySpaceOptions, LevelStats, Stats, Waits, Written};
use terrace_fs::{DeviceUsage, FreeSpace};

use super::format::room;
use super::options::{Remembered, own_options};
use super::runs;
use super::source::{Alone, Asked};
use super::target::Target;
use super::zones;
use crate::escape::{Escaped, Visible};
use crate::failure::Failure;
use crate::output::{Output, counted_in_groups as counted};

/// Print the metrics of a store: levels, space, bytes written in its life and by this process.
/// All other counters start anew with each opening.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace stats drive.img")]
pub(crate) struct Metrics {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    alone: Alone,
}

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    stats: Stats,
    /// The valid share of the space in use, as [`SpaceInUse`](terrace::SpaceInUse) has it. Not
    /// known in a plain directory.
    space_efficiency: Option<f64>,
    key_spaces: Vec<String>,
    /// The names of key spaces with options of their own, with these.
    key_space_options: Vec<(String, KeySpaceOptions)>,
    /// Where the store is, and whether an image is synced to the host's disk.
    medium: String,
    /// The process that has the store open, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Asked>,
    /// The system that the store was opened under last.
    system: String,
    /// The options that shape its tables.
    tables: Remembered,
    /// Bytes of keys and values that can live in it and be overwritten without end.
    live_max: ByteCount,
    memtable_size: ByteCount,
    /// Bytes that puts leave on shingled tracks.
    #[serde(skip)]
    kept: ByteCount,
    /// The devices of a store that is not in a directory.
    devices: Vec<DeviceUsage>,
    /// The free runs of the tables' device, if it has no zones.
    free: Option<FreeSpace>,
}

impl Metrics {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let (overview, asked) = match self.alone.reader(&self.target)? {
            Some(reader) => (reader.read(Overview::of)?, None),
            None => self.target.source()?.overview()?,
        };
        let answer = Answer {
            stats: overview.stats,
            space_efficiency: overview.space_efficiency,
            key_spaces: overview.key_spaces,
            key_space_options: overview.key_space_options,
            medium: self.target.describe(),
            asked,
            system: overview.system,
            tables: Remembered::of(&overview.tables),
            live_max: overview.live_max,
            memtable_size: overview.memtable_size,
            kept: overview.kept_on_tracks,
            devices: overview.devices,
            free: overview.free,
        };
        output.result(&answer, |out| answer.print(out))
    }
}

impl Answer {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let (stats, space) = (&self.stats, &self.stats.space);
        writeln!(out, "{}", Visible(&self.medium))?;
        if let Some(asked) = &self.asked {
            writeln!(out, "{}", Visible(&asked.line()))?;
        }
        writeln!(out, "system: {}", Visible(&self.system))?;
        writeln!(out, "new tables: {}", self.tables.line())?;
        let spaces = self.key_spaces.iter().map(|name| Escaped(name.as_bytes()).to_string());
        writeln!(out, "key spaces: {}", spaces.collect::<Vec<_>>().join(", "))?;
        for (name, options) in &self.key_space_options {
            let (name, options) = (Escaped(name.as_bytes()), own_options(options));
            writeln!(out, "key space {name}: {options}")?;
        }
        writeln!(
            out,
            "{} in all; memtables, whose entries are in no table yet, take {}\n",
            counted(stats.sequence, "write", "writes"),
            ByteCount(stats.memtable_bytes)
        )?;
        levels(out, &stats.levels)?;
        let dead = zones::dead_name_of(&self.devices);
        writeln!(
            out,
            "\nspace: {} in all, {} free, {} live, {} {dead}, {} pinned",
            space.capacity, space.free, space.live, space.dead, space.pinned
        )?;
        zones::list_devices(out, &self.devices, false)?;
        writeln!(
            out,
            "puts can take {} now; {} are kept for deletes, flushes, compaction and the journal",
            space.for_puts,
            ByteCount(space.kept.0 + space.reserved.0)
        )?;
        if stats.deleted > 0 {
            let deleted = ByteCount(stats.deleted);
            writeln!(out, "about {deleted} are deleted, and come back when they are compacted")?;
        }
        writeln!(out, "{}", room(self.live_max, self.memtable_size, self.kept))?;
        if let Some(share) = self.space_efficiency {
            let percent = 100.0 * share;
            let of = if self.free.is_some() { "space" } else { "zones" };
            writeln!(out, "space efficiency: {percent:.0} % of the {of} in use are valid tables")?;
        }
        if let Some(free) = &self.free {
            runs::free_runs(out, free, "")?;
        }
        written(out, &stats.lifetime, &stats.process)?;
        offloaded(out, &stats.lifetime, &self.devices)?;
        work(out, &stats.lifetime)?;
        if !stats.waits.is_empty() {
            write!(out, "\nsince it was opened:\n{}", waits_table(&stats.waits))?;
        }
        Ok(())
    }
}

/// Bytes written by cause: in the store's life, and since this process opened it.
fn written(out: &mut dyn Write, lifetime: &Written, process: &Written) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["written", "in its life", "for one", "by this process", "for one"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let for_one = |bytes: u64, of: &Written| match of.user_bytes {
        0 => "-".to_owned(),
        user => format!("{:.2}", bytes as f64 / user as f64),
    };
    let user = |of: &Written| ByteCount(of.user_bytes).to_string();
    table.add_row(["by users", &user(lifetime), "", &user(process), ""]);
    let (ever, here) = (lifetime.bytes.parts(), process.bytes.parts());
    let all = ("in all", lifetime.bytes.total(), process.bytes.total());
    let parts = ever.into_iter().zip(here).map(|((name, ever), (_, here))| (name, ever, here));
    for (name, ever, here) in parts.chain([all]) {
        table.add_row([
            name.to_owned(),
            ByteCount(ever).to_string(),
            for_one(ever, lifetime),
            ByteCount(here).to_string(),
            for_one(here, process),
        ]);
    }
    writeln!(out, "\n{table}")
}

/// Use and wear of the offload device, in the store's life.
fn offloaded(out: &mut dyn Write, life: &Written, devices: &[DeviceUsage]) -> io::Result<()> {
    let device = devices.iter().find(|device| device.holds_offloaded);
    let (bytes, flushed) = (life.offloaded, life.bytes.flush);
    if device.is_none() && bytes == 0 {
        return Ok(());
    }
    let percent = 100.0 * bytes as f64 / flushed.max(1) as f64;
    let size = ByteCount(bytes);
    write!(out, "\noffloaded in its life: {size}, {percent:.1} % of flushed bytes")?;
    if let Some(device) = device {
        let times = bytes as f64 / device.capacity.0 as f64;
        write!(out, "; they wrote device {} over {times:.3} times", device.device)?;
    }
    writeln!(out)
}

/// Jobs and their work on each level, in the store's life.
fn work(out: &mut dyn Write, lifetime: &Written) -> io::Result<()> {
    if lifetime.levels.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nin its life: {}, {} ({} into several levels), {}, {}",
        counted(lifetime.flushes, "flush", "flushes"),
        counted(lifetime.compactions, "merge", "merges"),
        HumanCount(lifetime.gear_compactions),
        counted(lifetime.trivial_moves, "trivial move", "trivial moves"),
        counted(
            lifetime.delete_only_compactions,
            "delete-only compaction",
            "delete-only compactions"
        ),
    )?;
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["level", "written", "read", "moved in", "merges from", "tables each"]);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (level, work) in lifetime.levels.iter().enumerate() {
        table.add_row([
            level.to_string(),
            ByteCount(work.bytes_written).to_string(),
            ByteCount(work.bytes_read).to_string(),
            ByteCount(work.bytes_moved).to_string(),
            HumanCount(work.merges).to_string(),
            work.tables_per_merge().map_or("-".to_owned(), |tables| format!("{tables:.1}")),
        ]);
    }
    writeln!(out, "{table}")
}

/// Table of waits, by cause.
pub(crate) fn waits_table(waits: &Waits) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["waits for", "", "number", "seconds", "longest"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (cause, stats) in waits.iter() {
        table.add_row([
            cause.name().to_owned(),
            cause.meaning().to_owned(),
            HumanCount(stats.count).to_string(),
            format!("{:.3}", stats.time().as_secs_f64()),
            format!("{:.3}", stats.longest().as_secs_f64()),
        ]);
    }
    format!("{table}\n")
}

/// The levels that hold something, in a table.
pub(crate) fn levels(out: &mut dyn Write, levels: &[LevelStats]) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let has_old = levels.iter().any(|level| level.old_version_bytes > 0);
    let old: &[&str] = if has_old { &["old versions", "droppable"] } else { &[] };
    let has_expired = levels.iter().any(|level| level.expired_bytes > 0);
    let expired: &[&str] = if has_expired { &["expired"] } else { &[] };
    let head = ["level", "runs", "tables", "size", "entries", "tombstones", "of ranges"];
    table.set_header(head.iter().chain(old).chain(expired));
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for level in levels.iter().filter(|level| level.segments > 0) {
        let mut row = vec![
            level.level.to_string(),
            level.runs.to_string(),
            level.segments.to_string(),
            ByteCount(level.bytes).to_string(),
            HumanCount(level.entries).to_string(),
            HumanCount(level.tombstones).to_string(),
            HumanCount(level.range_tombstones).to_string(),
        ];
        if has_old {
            row.push(ByteCount(level.old_version_bytes).to_string());
            row.push(ByteCount(level.droppable_bytes).to_string());
        }
        if has_expired {
            row.push(ByteCount(level.expired_bytes).to_string());
        }
        table.add_row(row);
    }
    writeln!(out, "{table}")
}
