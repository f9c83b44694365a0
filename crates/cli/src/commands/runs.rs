//! Shows the devices of a store that have no zones. A device is shown as a map of equal stretches,
//! or as a table of runs of blocks with one use. Sums follow: live and dead bytes, guards on
//! shingled tracks, and, if the device holds the tables, how many free runs there are, and how long
//! the longest is. The numbers come from a mounted file system.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use terrace::ByteCount;
use terrace::live::{RunMap, ZoneMap};
use terrace_env::DeviceId;
use terrace_fs::{FreeSpace, RunUsage, RunUse};
use terrace_zone::Layout;

use super::zones;
use crate::map::{self, Digits};
use crate::output::counted;
use crate::screen::Paint;
use crate::stretches::Stretches;

/// A device without zones.
pub(crate) struct DeviceRuns {
    /// The device's number in the store.
    device: DeviceId,
    layout: Layout,
    /// The runs of the device, from its start to its end.
    runs: Vec<RunUsage>,
    /// The free ones in numbers, if the device holds the tables.
    free: Option<FreeSpace>,
    digits: Digits,
}

impl Serialize for DeviceRuns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = |run: &RunUsage| {
            let mut object = json!(run);
            if let Some(level) = object.as_object_mut().and_then(|it| it.remove("level")) {
                object[self.digits.name()] = level;
            }
            object
        };
        let runs: Vec<Value> = self.runs.iter().map(run).collect();
        json!({ "device": self.device, "runs": runs, "free": self.free }).serialize(serializer)
    }
}

impl DeviceRuns {
    /// The devices of a store that have no zones. With [`Digits::Lifetimes`] the level of a run
    /// becomes the lifetime of its file.
    pub(crate) fn all(map: &ZoneMap, digits: Digits) -> Vec<Self> {
        let shown = |run: &RunUsage| {
            let mut run = run.clone();
            run.level = run.level.map(|level| digits.of_level(level));
            run
        };
        let layout = |device| map.devices.iter().find(|it| it.device == device).map(|it| it.layout);
        let of = |it: &RunMap| {
            let (layout, runs) = (layout(it.device)?, it.runs.iter().map(shown).collect());
            Some(Self { device: it.device, layout, runs, free: it.free, digits })
        };
        map.plain.iter().filter_map(of).collect()
    }

    /// Says which device follows, if the store has several.
    pub(crate) fn title(&self, out: &mut dyn Write, several: bool) -> io::Result<()> {
        if !several {
            return Ok(());
        }
        writeln!(out, "\ndevice {}, {}:", self.device, self.layout.name())
    }

    /// Draws the map with its legend and its sums.
    pub(crate) fn draw(&self, out: &mut dyn Paint) -> io::Result<()> {
        map::draw_stretches(out, &Stretches::of(&self.runs), zones::columns())?;
        map::legend_of_stretches(out, self.digits, self.layout.tracks().is_some())?;
        self.sums(out)
    }

    /// Prints the runs in a table.
    pub(crate) fn list(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        let digits = self.digits;
        table.set_header(["start", "bytes", "", "used for", digits.name(), "extents"]);
        for column in [0, 1, 2, 4, 5] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for run in &self.runs {
            table.add_row([
                run.start.0.to_string(),
                run.size.0.to_string(),
                run.size.to_string(),
                use_name(run.used_for).to_owned(),
                run.level.map_or(String::new(), |level| digits.text(level)),
                if run.extents == 0 { String::new() } else { run.extents.to_string() },
            ]);
        }
        writeln!(out, "{table}")?;
        self.sums(out)
    }

    fn sums(&self, out: &mut dyn Write) -> io::Result<()> {
        let sum = |wanted: RunUse| self.bytes(|run| run.used_for == wanted);
        let live = ByteCount(sum(RunUse::Log).0 + sum(RunUse::Data).0);
        let (dead, guards) = (sum(RunUse::Dead), sum(RunUse::Guard));
        write!(out, "{:6}  live {live}, dead {dead}", "")?;
        if self.layout.tracks().is_some() {
            write!(out, ", guards {guards}")?;
        }
        writeln!(out)?;
        match &self.free {
            Some(free) => free_runs(out, free, "        "),
            None => Ok(()),
        }
    }

    fn bytes(&self, of: impl Fn(&RunUsage) -> bool) -> ByteCount {
        ByteCount(self.runs.iter().filter(|run| of(run)).map(|run| run.size.0).sum())
    }
}

/// The free runs in a line.
pub(crate) fn free_runs(out: &mut dyn Write, free: &FreeSpace, indent: &str) -> io::Result<()> {
    let FreeSpace { runs, bytes, longest, fragment_below, fragments } = free;
    let runs = counted(*runs, "run", "runs");
    write!(out, "{indent}{bytes} free in {runs}, the longest {longest}")?;
    if fragment_below.0 == 0 {
        return writeln!(out);
    }
    let percent = if bytes.0 == 0 { 0.0 } else { 100.0 * fragments.0 as f64 / bytes.0 as f64 };
    writeln!(
        out,
        "\n{indent}{fragments} of it ({percent:.1} %) in fragments, which are shorter than \
         {fragment_below}"
    )
}

fn use_name(used_for: RunUse) -> &'static str {
    match used_for {
        RunUse::Superblock => "superblock",
        RunUse::Journal => "journal",
        RunUse::Log => "log",
        RunUse::Data => "data",
        RunUse::Leased => "leased",
        RunUse::Dead => "dead",
        RunUse::Guard => "guard",
        RunUse::Free => "free",
    }
}
