//! `terrace device report`: prints the geometry of a drive and the state of its zones. In text, a
//! drive without zones has no list of them, and successive zones that differ in nothing shown but
//! their number share a line. The drive is opened for reading only; the store on it is not looked
//! at.
//!
//! [`Summary`] describes a drive in a few numbers.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace_env::{ByteCount, ZoneId};
use terrace_zone::{Access, Geometry, Layout, Tracks, ZoneReport, ZoneState, ZoneType};

use crate::commands::drive;
use crate::escape::Visible;
use crate::failure::Failure;
use crate::output::{Output, counted};

/// Print a drive's geometry and zones.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace device report drive.img --count 4")]
pub(crate) struct Report {
    /// The drive: an image, or a block device
    image: PathBuf,
    /// The first zone to report
    #[arg(long, default_value_t = 0)]
    first: u32,
    /// How many zones to report [default: all]
    #[arg(long)]
    count: Option<u32>,
}

#[derive(Serialize)]
struct Reported {
    #[serde(flatten)]
    summary: Summary,
    geometry: Geometry,
    zones: Vec<Line>,
}

/// A zone of the report.
#[derive(Serialize)]
struct Line {
    zone: ZoneId,
    zone_type: ZoneType,
    state: ZoneState,
    capacity: ByteCount,
    /// Bytes written, where the device knows; the pointer of other zones means nothing.
    written: Option<ByteCount>,
}

impl Line {
    fn of(zone: &ZoneReport, logical_block: u32) -> Self {
        let bytes = |blocks: u64| ByteCount(blocks * u64::from(logical_block));
        let written = match zone.state {
            ZoneState::Full => Some(bytes(zone.capacity)),
            state if state.has_pointer() => {
                Some(bytes(zone.write_pointer.0.saturating_sub(zone.start.0)))
            }
            _ => None,
        };
        let ZoneReport { zone, zone_type, state, capacity, .. } = *zone;
        Self { zone, zone_type, state, capacity: bytes(capacity), written }
    }

    /// The line without its number, which neighbours may share.
    fn row(&self) -> [String; 4] {
        let kind = match self.zone_type {
            ZoneType::Conventional => "conventional",
            ZoneType::Sequential => "sequential",
        };
        let written = self.written.map_or("-".to_owned(), |bytes| bytes.to_string());
        [kind.to_owned(), self.state.name().to_owned(), written, self.capacity.to_string()]
    }
}

impl Report {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drive = drive::open(&self.image, Access::ReadOnly, false)?;
        let geometry = drive.geometry().clone();
        let summary = Summary::of(&self.image, &geometry);
        let zones = drive.report(ZoneId(self.first), self.count.unwrap_or(u32::MAX))?;
        let zones = zones.iter().map(|zone| Line::of(zone, geometry.logical_block)).collect();
        let reported = Reported { summary, geometry, zones };
        output.result(&reported, |out| reported.print(out))
    }
}

/// A drive in a few numbers.
#[derive(Serialize)]
pub(super) struct Summary {
    image: String,
    layout: Layout,
    zone_count: u32,
    zone_size: ByteCount,
    capacity: ByteCount,
    conventional_zones: u32,
    /// Memory that the tables of zones take while a store on the drive is open.
    table_memory: ByteCount,
}

impl Summary {
    pub(super) fn of(image: &Path, geometry: &Geometry) -> Self {
        Self {
            image: image.display().to_string(),
            layout: geometry.layout,
            zone_count: geometry.zones,
            zone_size: ByteCount(geometry.zone_size * u64::from(geometry.logical_block)),
            capacity: geometry.capacity(),
            conventional_zones: geometry.conventional.iter().map(|run| run.end - run.start).sum(),
            table_memory: geometry.table_memory(),
        }
    }

    pub(super) fn line(&self) -> String {
        let Self { zone_count, zone_size, capacity, conventional_zones, .. } = self;
        let (zone_size, capacity) = (zone_size.unrounded(), capacity.unrounded());
        let image = Visible(&self.image);
        if !self.layout.is_zoned() {
            let drive = self.layout.phrase("drive");
            return format!("{image}: {drive}, without zones; {capacity} can be written");
        }
        let table = self.table_memory;
        let zones = counted(u64::from(*zone_count), "zone", "zones");
        format!(
            "{image}: {zones} of {zone_size}, {conventional_zones} of them \
             conventional; {capacity} can be written; in use, the table of zones takes up to \
             {table} of memory"
        )
    }
}

impl Reported {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.summary.line())?;
        let limit = |limit: Option<u32>| limit.map_or("none".to_owned(), |n| n.to_string());
        let geometry = &self.geometry;
        let (open, active) = (limit(geometry.max_open), limit(geometry.max_active));
        let (logical, physical) = (geometry.logical_block, geometry.physical_block);
        writeln!(out, "blocks of {logical} bytes, written by {physical}")?;
        if geometry.layout.is_zoned() {
            writeln!(out, "at most open: {open}, at most active: {active}")?;
        }
        if let Some(Tracks { blocks, overlap }) = geometry.layout.tracks() {
            let track = ByteCount(u64::from(blocks) * u64::from(logical));
            writeln!(out, "tracks of {track}; a write destroys the {overlap} after it")?;
        }
        let medium = if geometry.rotational { "a disk" } else { "not a disk, or not known" };
        writeln!(out, "medium: {medium}")?;
        if !geometry.layout.is_zoned() {
            let failed = |line: &&Line| line.state != ZoneState::NotWritePointer;
            return match self.zones.first().filter(failed) {
                Some(line) => writeln!(out, "state: {}", line.state.name()),
                None => Ok(()),
            };
        }
        writeln!(out)?;
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(["zones", "type", "state", "written", "capacity"]);
        for column in [3, 4] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for run in self.zones.chunk_by(|one, next| one.row() == next.row()) {
            let zones = match run {
                [first, .., last] => format!("{}-{}", first.zone, last.zone),
                _ => run[0].zone.to_string(),
            };
            table.add_row([zones].into_iter().chain(run[0].row()));
        }
        writeln!(out, "{table}")
    }
}
