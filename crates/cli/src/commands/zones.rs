//! `terrace zones IMAGE`: draws the zones of a drive as a map of state, levels, live and dead
//! bytes. With `--list` it prints them as a table, with write pointers. A device without zones is
//! drawn by equal stretches, and listed by runs of blocks. A directory is refused.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use terrace::live::ZoneMap;
use terrace::{ByteCount, StoreError};
use terrace_env::DeviceId;
use terrace_fs::{DeviceUsage, Fs, ZoneUsage, ZoneUse};
use terrace_zone::{Layout, ZoneState};

use super::runs::DeviceRuns;
use super::target::Target;
use crate::escape::Visible;
use crate::failure::Failure;
use crate::map::{self, Cell, Digits};
use crate::output::Output;
use crate::screen::{self, Paint};

/// Columns of the map where there is no terminal to ask.
const COLUMNS: usize = 80;

/// Draw a map of a drive: its zones with state, levels, live and dead bytes; a drive
/// without zones by equal stretches, with its free runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace zones drive.img
  terrace zones drive.img --list")]
pub(crate) struct Zones {
    #[command(flatten)]
    target: Target,
    /// List the zones in a table instead of drawing them, empty ones that follow each other in one
    /// line; runs of blocks, where there are no zones
    #[arg(long)]
    list: bool,
}

impl Zones {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let (map, system) = self.target.zone_map()?;
        let devices = map.devices.clone();
        let Drawn { zones, plain, digits } = Drawn::of_map(map);
        let objects: Vec<_> = zones.iter().map(|zone| object(zone, digits)).collect();
        let object =
            json!({ "zones": objects, "system": system, "devices": devices, "plain": plain });
        output.result(&object, |out| {
            if let Some(system) = &system {
                writeln!(out, "system: {}", Visible(system))?;
            }
            if !zones.is_empty() {
                if self.list { list(out, &zones, digits)? } else { draw(out, &zones, digits)? }
            }
            for device in &plain {
                device.title(out, devices.len() > 1)?;
                if self.list { device.list(out)? } else { device.draw(out)? }
            }
            list_devices(out, &devices, zones.is_empty())
        })
    }
}

/// The devices of a store, a line each; one that is alone only if it is asked for or has failed.
pub(crate) fn list_devices(
    out: &mut dyn Write,
    devices: &[DeviceUsage],
    alone: bool,
) -> io::Result<()> {
    let is_listed = |usage: &&DeviceUsage| alone || devices.len() > 1 || usage.failed.is_some();
    for usage in devices.iter().filter(is_listed) {
        let DeviceUsage { device, layout, capacity, space, .. } = usage;
        let layout_name = layout.name();
        let holds = match (usage.holds_tables, usage.holds_logs) {
            (true, true) => "everything",
            (true, false) => "tables",
            (false, _) if usage.holds_offloaded => "offloaded tables",
            (false, _) => "journal and logs",
        };
        writeln!(
            out,
            "device {device}: {layout_name}, {capacity}, for {holds}; free {}, live {}, {} {}, \
             pinned {}",
            space.free,
            space.live,
            dead_name(*layout),
            space.dead,
            space.pinned
        )?;
        tell_failed(out, *device, usage.failed)?;
    }
    Ok(())
}

/// Says of a device without zones that it has failed as a whole, if it has.
pub(crate) fn tell_failed(
    out: &mut dyn Write,
    device: DeviceId,
    failed: Option<ZoneState>,
) -> io::Result<()> {
    let Some(state) = failed else { return Ok(()) };
    let takes = match state {
        ZoneState::Offline => "nothing on it can be read or written",
        _ => "its data can be read, and nothing can be written to it",
    };
    writeln!(out, "device {device} is {}: {takes}", state.name())
}

/// The name of bytes that nothing refers to and that cannot be written. On tracks these are the
/// ends of free runs, which are guards of the next data.
fn dead_name(layout: Layout) -> &'static str {
    if layout.tracks().is_some() { "guards after free blocks" } else { "dead" }
}

/// The name of dead bytes on the device of tables, if there is one.
pub(crate) fn dead_name_of(devices: &[DeviceUsage]) -> &'static str {
    let of_tables = devices.iter().find(|usage| usage.holds_tables);
    of_tables.map_or("dead", |usage| dead_name(usage.layout))
}

/// Columns that a map may take.
pub(crate) fn columns() -> usize {
    screen::columns().unwrap_or(COLUMNS)
}

/// Contents of the drives of a store, as `terrace zones` and the demonstration draw it.
pub(crate) struct Drawn {
    zones: Vec<ZoneUsage>,
    plain: Vec<DeviceRuns>,
    digits: Digits,
}

impl Drawn {
    /// The zones of a mounted store.
    pub(crate) fn of(fs: &Fs) -> Result<Self, StoreError> {
        Ok(Self::of_map(ZoneMap::of(fs)?))
    }

    /// The zones of a map.
    pub(crate) fn of_map(map: ZoneMap) -> Self {
        let digits = if map.has_names { Digits::Lifetimes } else { Digits::Levels };
        let plain = DeviceRuns::all(&map, digits);
        let mut zones = map.zones;
        let levels = zones.iter_mut().flat_map(|zone| &mut zone.levels);
        for level in levels.filter_map(|(level, _)| level.as_mut()) {
            *level = digits.of_level(*level);
        }
        Self { zones, plain, digits }
    }

    /// Draws the maps, each with its legend and its sums.
    pub(crate) fn draw(&self, out: &mut dyn Paint) -> io::Result<()> {
        if !self.zones.is_empty() {
            draw(out, &self.zones, self.digits)?;
        }
        self.plain.iter().try_for_each(|device| device.draw(out))
    }
}

/// Draws the map of zones with its legend and its sums.
fn draw(out: &mut dyn Paint, zones: &[ZoneUsage], digits: Digits) -> io::Result<()> {
    let cells: Vec<Cell> = zones.iter().map(Cell::from).collect();
    map::draw(out, &cells, columns())?;
    map::legend(out, digits)?;
    let sum = |of: fn(&ZoneUsage) -> u64| ByteCount(zones.iter().map(of).sum());
    let free = zones.iter().filter(|zone| zone.used_for == ZoneUse::Free).count();
    writeln!(
        out,
        "{:6}  {} zones, {free} free; live {}, dead {}, pinned {}",
        "",
        zones.len(),
        sum(|zone| zone.live.0),
        sum(|zone| zone.dead.0),
        sum(|zone| zone.pinned.0),
    )
}

fn list(out: &mut dyn Write, zones: &[ZoneUsage], digits: Digits) -> io::Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header([
        "zone",
        "state",
        "used for",
        "written",
        "live",
        "dead",
        &format!("{}s", digits.name()),
    ]);
    for column in [0, 3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut next = 0;
    while let Some(zone) = zones.get(next) {
        // Empty zones that follow each other differ by their numbers alone.
        let like = zones[next..].iter().take_while(|other| is_empty(other) && is_empty(zone));
        let count = like.count().max(1);
        next += count;
        let number = match count {
            1 => zone.zone.to_string(),
            _ => format!("{}-{}", zone.zone, zones[next - 1].zone),
        };
        let levels = zone.levels.iter().map(|(level, bytes)| {
            let level = level.map_or("other".to_owned(), |level| digits.text(level));
            format!("{level} {bytes}")
        });
        table.add_row([
            number,
            zone.state.name().to_owned(),
            use_name(zone.used_for).to_owned(),
            zone.pointer.map_or("-".to_owned(), |pointer| pointer.to_string()),
            zone.live.to_string(),
            zone.dead.to_string(),
            levels.collect::<Vec<_>>().join(", "),
        ]);
    }
    writeln!(out, "{table}")
}

/// Whether a zone holds nothing, and has held nothing since its last reset.
fn is_empty(zone: &ZoneUsage) -> bool {
    zone.used_for == ZoneUse::Free && zone.state == ZoneState::Empty
}

fn object(zone: &ZoneUsage, digits: Digits) -> Value {
    let levels = zone.levels.iter();
    let levels: Vec<_> =
        levels.map(|(level, bytes)| json!({ (digits.name()): level, "bytes": bytes })).collect();
    json!({
        "zone": zone.zone,
        "type": zone.zone_type,
        "state": zone.state,
        "used_for": zone.used_for,
        "pointer": zone.pointer,
        "capacity": zone.capacity,
        "live": zone.live,
        "dead": zone.dead,
        "pinned": zone.pinned,
        "levels": levels,
        "stream": zone.stream,
    })
}

pub(crate) fn use_name(used_for: ZoneUse) -> &'static str {
    match used_for {
        ZoneUse::Superblock => "superblock",
        ZoneUse::Journal => "journal",
        ZoneUse::Log => "log",
        ZoneUse::Data => "data",
        ZoneUse::Free => "free",
        ZoneUse::Unused => "not used",
        ZoneUse::Retired => "retired",
    }
}
