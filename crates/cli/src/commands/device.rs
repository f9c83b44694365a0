//! `terrace device create` makes an emulated drive in a sparse file, zoned or plain; a file that is
//! there is never overwritten. A plain one can also be made on a block device of the host, if the
//! start of that is all zeros. `terrace device report` prints the geometry of a drive and the state
//! of its zones.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use terrace::device::timing::{Drive, Scale};
use terrace_env::{ByteCount, ZoneId, runner};
use terrace_zone::{
    Access, Device as _, Emulator, Geometry, Layout, ZoneReport, ZoneState, ZoneType,
};

use crate::failure::{Failure, Kind};
use crate::output::Output;

/// How many zones a small drive is given.
const ZONES_USUAL: u64 = 256;
/// Smallest and largest size of these zones.
const ZONE_SIZE_MIN: ByteCount = ByteCount::kib(64);
const ZONE_SIZE_MAX: ByteCount = ByteCount::mib(16);

/// Make an emulated drive, or look at one.
#[derive(clap::Subcommand)]
pub(crate) enum Device {
    /// Make an emulated drive in a sparse file: it takes no space until it is written
    Create(Create),
    /// Print a drive's geometry and the state of its zones
    Report(Report),
}

impl Device {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        match self {
            Self::Create(command) => command.run(output),
            Self::Report(command) => command.run(output),
        }
    }
}

/// Make an emulated drive.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace device create drive.img --size 4GiB
  terrace device create zns.img --drive wd-zn540 --scale 1/16 --size 8GiB
  terrace device create fast.img --kind plain --size 1GiB")]
pub(crate) struct Create {
    /// The file to make; it must not be there yet. A plain drive can also be made on a block device
    /// that holds nothing
    image: PathBuf,
    /// Give it the shape of a real drive, by name or by the path of a drive file: see
    /// `terrace lab drives`
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = [
            "zone_size", "zone_capacity", "conventional", "max_open", "max_active", "max_append",
            "logical_block", "physical_block", "rotational",
        ]
    )]
    drive: Option<String>,
    /// Make the zones of the real drive smaller by so much, such as 1/16
    #[arg(long, value_name = "SCALE", requires = "drive", default_value = "1")]
    scale: Scale,
    /// `zoned`, or `plain`: an ordinary disk, without zones, that is written anywhere
    #[arg(
        long,
        value_enum,
        default_value_t = DeviceKind::Zoned,
        conflicts_with_all = [
            "drive", "zone_size", "zone_capacity", "conventional", "max_open", "max_active",
            "max_append",
        ]
    )]
    kind: DeviceKind,
    #[command(flatten)]
    shape: Shape,
}

/// Kind of drive to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceKind {
    /// Zones that are written front to back and erased whole
    Zoned,
    /// No zones: written anywhere, in place
    Plain,
}

/// The shape of a drive, as one types it.
#[derive(clap::Args)]
pub(crate) struct Shape {
    /// Size of the address space; if it is no multiple of the zone size, the last zone is short
    /// [default: 4GiB, or all of the real drive or block device]
    #[arg(long, value_name = "SIZE")]
    size: Option<ByteCount>,
    /// From one zone's start to the next one's; need not be a power of two [default: 16MiB, and on
    /// drives below 4GiB less, so that there are 256 zones]
    #[arg(long, value_name = "SIZE")]
    zone_size: Option<ByteCount>,
    /// How much of each sequential zone can be written [default: all of it]
    #[arg(long, value_name = "SIZE")]
    zone_capacity: Option<ByteCount>,
    /// How many zones, from the first on, are conventional
    #[arg(long, value_name = "ZONES", default_value_t = 0)]
    conventional: u32,
    /// The most zones that may be open at once [default: no limit]
    #[arg(long, value_name = "ZONES")]
    max_open: Option<u32>,
    /// The most zones that may be open or closed at once [default: no limit]
    #[arg(long, value_name = "ZONES")]
    max_active: Option<u32>,
    /// The most that one append may carry [default: the drive has no append]
    #[arg(long, value_name = "SIZE")]
    max_append: Option<ByteCount>,
    /// The unit of addresses: 512 or 4096
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    logical_block: ByteCount,
    /// The unit of writes: from the logical block to 4096
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    physical_block: ByteCount,
    /// The drive is a disk with a head, for which stores merge with one worker
    #[arg(long)]
    rotational: bool,
}

/// The size of zones where none is asked for. A store keeps a fixed number of zones for itself, so
/// a small drive needs small ones; that of a drive of 4 GiB is what larger ones have as well.
fn usual_zone(size: u64) -> ByteCount {
    let part = (size / ZONES_USUAL).max(1);
    ByteCount(1 << part.ilog2()).clamp(ZONE_SIZE_MIN, ZONE_SIZE_MAX)
}

impl Shape {
    /// The geometry of a drive without zones; `room` is what a block device has for it.
    fn plain(&self, room: Option<ByteCount>) -> Result<Geometry, Failure> {
        let size = self.size.or(room).unwrap_or(ByteCount::gib(4));
        let plain = Geometry::plain(size);
        let narrow = |size: ByteCount| u32::try_from(size.0).unwrap_or(u32::MAX);
        let (logical, physical) = (self.logical_block, self.physical_block);
        // Whole physical blocks; what is left over is not part of the drive.
        let blocks = size.0 / physical.0.max(1) * physical.0 / logical.0.max(1);
        let geometry = Geometry {
            logical_block: narrow(logical),
            physical_block: narrow(physical),
            zone_size: blocks,
            zone_capacity: blocks,
            rotational: self.rotational,
            ..plain
        };
        geometry.validate().map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        Ok(geometry)
    }

    /// The geometry it describes.
    pub(crate) fn geometry(&self) -> Result<Geometry, Failure> {
        let block = self.logical_block.0.max(1);
        let blocks = |what: &str, size: ByteCount| match size.0 % block {
            0 => Ok(size.0 / block),
            _ => {
                let found = size.0;
                Err(Failure::new(
                    Kind::Usage,
                    format!("{what}: expected whole blocks of {block} bytes, found {found} bytes"),
                ))
            }
        };
        let size = self.size.unwrap_or(ByteCount::gib(4)).0;
        let zone_size = self.zone_size.unwrap_or_else(|| usual_zone(size));
        let zone_size = blocks("zone size", zone_size)?;
        // Whole physical blocks; what is left over is not part of the drive.
        let size = size / self.physical_block.0.max(block) * self.physical_block.0 / block;
        let whole = size.checked_div(zone_size).unwrap_or(0);
        let rest = size.checked_rem(zone_size).unwrap_or(0);
        let narrow = |what: &str, number: u64| {
            u32::try_from(number).map_err(|_| {
                let limit = u32::MAX;
                Failure::new(
                    Kind::Usage,
                    format!("{what}: expected at most {limit}, found {number}"),
                )
            })
        };
        let zones = whole + u64::from(rest > 0);
        check_zones(zones)?;
        let append = self.max_append.map(|size| blocks("append", size)).transpose()?;
        let conventional = (self.conventional > 0).then_some(0..self.conventional);
        let geometry = Geometry {
            layout: Layout::Zoned,
            logical_block: narrow("logical block", self.logical_block.0)?,
            physical_block: narrow("physical block", self.physical_block.0)?,
            zone_size,
            zone_capacity: match self.zone_capacity {
                Some(capacity) => blocks("zone capacity", capacity)?,
                None => zone_size,
            },
            zones: narrow("zones", zones)?,
            last_zone_size: (rest > 0).then_some(rest),
            conventional: conventional.into_iter().collect(),
            max_open: self.max_open,
            max_active: self.max_active,
            max_append: append.map(|blocks| narrow("append", blocks)).transpose()?,
            rotational: self.rotational,
        };
        geometry.validate().map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        Ok(geometry)
    }
}

/// Refuses a drive whose table of zones would take more memory than anybody means to give.
fn check_zones(zones: u64) -> Result<(), Failure> {
    let most = u64::from(Geometry::ZONES_MAX);
    if zones <= most {
        return Ok(());
    }
    let memory = |zones: u64| ByteCount(zones.saturating_mul(Geometry::ZONE_MEMORY.0));
    let message = format!(
        "expected at most {most} zones, whose table takes {} of memory; found {zones}, which would \
         take {}; larger zones make fewer",
        memory(most),
        memory(zones)
    );
    Err(Failure::new(Kind::Usage, message))
}

impl Create {
    fn geometry(&self) -> Result<Geometry, Failure> {
        if self.kind == DeviceKind::Plain {
            return self.shape.plain(Emulator::room_on_block_device(&self.image)?);
        }
        let Some(name) = &self.drive else { return self.shape.geometry() };
        let size = self.shape.size.unwrap_or(ByteCount(u64::MAX));
        let geometry = Drive::find(name)?.geometry_of(self.scale, size);
        geometry.map_err(|error| Failure::new(Kind::Usage, format!("{name}: {error}")))
    }

    /// Refuses to make a file where the host keeps its devices: the name of a device was mistyped,
    /// or the device is gone.
    fn check_path(&self) -> Result<(), Failure> {
        let folder = self.image.parent().and_then(|folder| folder.canonicalize().ok());
        let is_devices =
            |folder: &Path| folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
        if self.image.exists() || !folder.as_deref().is_some_and(is_devices) {
            return Ok(());
        }
        let image = self.image.display();
        let message = format!("{image}: expected a device that is there, found none of this name");
        Err(Failure::new(Kind::Usage, message))
    }

    fn run(&self, output: &Output) -> Result<(), Failure> {
        self.check_path()?;
        let uuid = runner::fork_random().uuid();
        let drive = Emulator::create_image(&self.image, self.geometry()?, uuid)?;
        let summary = Summary::of(&self.image, drive.geometry());
        output.result(&summary, |out| {
            writeln!(out, "made {}", summary.line())?;
            let image = self.image.display();
            match self.kind {
                DeviceKind::Zoned => writeln!(out, "next: terrace format {image}"),
                DeviceKind::Plain => Ok(()),
            }
        })
    }
}

/// Print a drive's geometry and zones.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace device report drive.img --count 4")]
pub(crate) struct Report {
    /// The drive
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
        [kind.to_owned(), state_name(self.state).to_owned(), written, self.capacity.to_string()]
    }
}

impl Report {
    fn run(&self, output: &Output) -> Result<(), Failure> {
        let drive = Emulator::open_image(&self.image, Access::ReadOnly)?;
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
struct Summary {
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
    fn of(image: &Path, geometry: &Geometry) -> Self {
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

    fn line(&self) -> String {
        let Self { image, zone_count, zone_size, capacity, conventional_zones, .. } = self;
        if !self.layout.is_zoned() {
            return format!("{image}: a plain drive, without zones; {capacity} can be written");
        }
        let table = self.table_memory;
        format!(
            "{image}: {zone_count} zones of {zone_size}, {conventional_zones} of them \
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
        let medium = if geometry.rotational { "a disk" } else { "not a disk, or not known" };
        writeln!(out, "medium: {medium}")?;
        if !geometry.layout.is_zoned() {
            return Ok(());
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

/// A state in words.
pub(crate) fn state_name(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Empty => "empty",
        ZoneState::ImplicitlyOpen => "open (implicitly)",
        ZoneState::ExplicitlyOpen => "open (explicitly)",
        ZoneState::Closed => "closed",
        ZoneState::Full => "full",
        ZoneState::ReadOnly => "read-only",
        ZoneState::Offline => "offline",
        ZoneState::NotWritePointer => "writable anywhere",
    }
}
