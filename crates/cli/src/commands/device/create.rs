//! `terrace device create`: makes an emulated drive in a new sparse file. A drive without zones can
//! also be made on a block device that holds nothing. The shape of the drive is given by options,
//! or taken from a real drive, made smaller by `--scale`. The drive is empty: `terrace format`
//! makes a store on it. If the drive is too small for that, the text says so instead of naming that
//! command.
//!
//! A path in `/dev`, or in a folder below it, is refused if nothing is there: most likely the name
//! of a device was mistyped. Exceptions: in `/dev/shm` files can be made, and a name without a
//! folder is not looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace::device::timing::{Drive, Scale};
use terrace_env::{ByteCount, ZoneId, runner};
use terrace_fs::check_room;
use terrace_zone::{Device, Emulator, Geometry};

use super::report::Summary;
use super::shape::{DeviceKind, Shape};
use crate::escape::{Visible, shown};
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Make an emulated drive.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace device create drive.img --size 4GiB
  terrace device create zns.img --drive wd-zn540 --scale 1/16 --size 8GiB
  terrace device create fast.img --kind plain --size 1GiB
  terrace device create disk.img --kind plain --drive seagate-st1000dm003
  terrace device create raw.img --kind tracks --size 4GiB --track 1MiB --overlap 2")]
pub(crate) struct Create {
    /// The file to make; it must not be there yet. A drive without zones can also be made on a
    /// block device that holds nothing
    image: PathBuf,
    /// Give it the shape of a real drive, by name or by the path of a drive file: see
    /// `terrace lab drives`. A drive without zones gets the size and the blocks of the real one
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = [
            "zone_size", "zone_capacity", "conventional", "max_open", "max_active", "max_append",
            "logical_block", "physical_block", "rotational",
        ]
    )]
    drive: Option<String>,
    /// Make the zones of the real drive, or the whole drive, smaller by this factor, such as 1/16
    #[arg(long, value_name = "SCALE", requires = "drive", default_value = "1")]
    scale: Scale,
    /// How its blocks may be written [default: zoned, and plain after a real drive without zones]
    #[arg(long, value_enum)]
    kind: Option<DeviceKind>,
    #[command(flatten)]
    shape: Shape,
}

impl Create {
    fn geometry(&self) -> Result<Geometry, Failure> {
        let real = self.drive.as_deref().map(Drive::find).transpose()?;
        let own = match &real {
            Some(real) if !real.is_zoned() => DeviceKind::Plain,
            _ => DeviceKind::Zoned,
        };
        let kind = self.kind.unwrap_or(own);
        self.shape.check(kind, real.is_some())?;
        let named = |error| {
            let name = self.drive.as_deref().unwrap_or_default();
            Failure::new(Kind::Usage, format!("{name}: {error}"))
        };
        match (kind.has_zones(), real) {
            (true, None) => self.shape.zoned(kind),
            (true, Some(real)) => {
                let size = self.shape.size.unwrap_or(ByteCount(u64::MAX));
                real.geometry_of(self.scale, size).map_err(named)
            }
            (false, real) => {
                let real = real.map(|real| real.geometry(self.scale).map_err(named)).transpose()?;
                let room = Emulator::room_on_block_device(&self.image)?;
                self.shape.without_zones(kind, real.as_ref(), room)
            }
        }
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

    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        self.check_path()?;
        let uuid = runner::fork_random().uuid();
        let drive = Emulator::create_image(&self.image, self.geometry()?, uuid)?;
        let summary = Summary::of(&self.image, drive.geometry());
        let image = shown(&self.image);
        let drive: Arc<dyn Device> = Arc::new(drive);
        let room = check_room(&drive);
        let made = size_of(drive.geometry());
        let rounded = self.shape.size.filter(|size| self.drive.is_none() && *size != made);
        output.result(&summary, |out| {
            writeln!(out, "made {}", summary.line())?;
            if let Some(size) = rounded {
                let (size, made) = (size.exact(), made.exact());
                writeln!(out, "{size} are no whole number of blocks: the drive has {made}")?;
            }
            match &room {
                Ok(()) => writeln!(
                    out,
                    "next: terrace format {image}, for keys and values; with --files for files \
                     with names"
                ),
                Err(error) => {
                    let error = error.to_string();
                    writeln!(out, "not for a store of its own: {}", Visible(&error))
                }
            }
        })
    }
}

/// The size of the address space.
fn size_of(geometry: &Geometry) -> ByteCount {
    let last = geometry.zone_size(ZoneId(geometry.zones - 1));
    let blocks = geometry.zone_size * u64::from(geometry.zones - 1) + last;
    ByteCount(blocks * u64::from(geometry.logical_block))
}
