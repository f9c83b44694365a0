//! `terrace format DRIVE`: makes a new store on a drive, or in an empty directory. The store is
//! then opened once, so that it remembers its system and the options that shape its tables.
//!
//! - Without `--force` a drive that holds a store is refused, be it the first or the second
//!   drive of the store, and so is a zoned drive of which a sequential zone is written. Zones that
//!   are read-only or offline are not taken for written: a format cannot change them. A format that
//!   was cut short on a blank zoned drive has left no data, and is no reason either.
//! - With `--files` the drive is formatted and not opened. The options are checked all the same.
//! - Without `--force` a block device is refused, too, if it begins or ends with data, in so far as
//!   no write pointer tells.
//! - A directory that holds anything is refused, also with `--force`, except the remains of an
//!   interrupted format.
//! - On a drive, the options of the store are checked before anything is written.
//! - The answer names both drives.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use terrace::device::{Device, ZoneState, foreign_content};
use terrace::fs::DirStore;
use terrace::{Db, MEMTABLES_KEPT, Options, ZONES_KEPT};
use terrace_env::{ByteCount, ZoneId};
use terrace_fs::superblock::Role;
use terrace_fs::{Access, Devices, FormatOptions, Fs, holds_store, holds_unfinished_format};

use super::options::Tables;
use super::target::Target;
use super::under::Under;
use super::{drive, log_drive};
use crate::escape::shown;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};

/// Make a store on a drive, or in an empty directory.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace format drive.img
  terrace format zns.img --system leveldb-greedy --compression lz4
  terrace format drive.img --log fast.img --force
  terrace format drive.img --offload flash.img
  terrace format drive.img --files
  mkdir plain && terrace format plain")]
#[command(
    mut_arg("log", |arg| arg.help("Give the store this plain drive for its journal and its logs")),
    mut_arg("offload", |arg| arg.help(
        "Give the store this plain drive for tables of the first level: flushes go there while \
         compactions run"
    ))
)]
pub(crate) struct Format {
    #[command(flatten)]
    target: Target,
    /// Format the drive even if it holds data, which is lost
    #[arg(long)]
    force: bool,
    /// Make no key-value store of the drive: leave it to the C API or the RocksDB plug-in to make
    /// files with names there
    #[arg(
        long,
        conflicts_with_all = ["system", "compression", "filter_bits", "block_size", "first_keys"]
    )]
    files: bool,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    tables: Tables,
}

impl Format {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if self.target.is_directory()? {
            if self.files {
                let path = self.target.path().display();
                let message = format!(
                    "{path}: expected a drive, found a directory; an empty one needs no format \
                     for files"
                );
                return Err(Failure::new(Kind::Usage, message));
            }
            return self.directory(output);
        }
        let drive = self.target.drive(Access::ReadWrite)?;
        let zones = drive.geometry().layout.is_zoned().then_some(drive.geometry().zones);
        let image = shown(self.target.path());
        if !self.force {
            check_blank(&drive, self.target.path())?;
        }
        let capacity = drive.geometry().capacity();
        let options = Options::fitting(capacity).system(self.under.system);
        let options = options.with_tables(self.tables.stated());
        options.check_device(&*drive)?;
        let mut format = FormatOptions::default();
        let devices = self.devices(drive)?;
        let second = self.second(&devices);
        let object = second.as_ref().map(Second::object);
        if let Some((role, path)) = self.target.second() {
            format.role = role;
            format.first_path = log_drive::home_to_remember(self.target.path());
            format.second_path = log_drive::path_to_remember(self.target.path(), path)?;
        }
        Fs::format(devices, &format).map_err(|error| self.target.named(error.into()))?;
        if self.files {
            let json = json!({
                "zones": zones, "capacity": capacity, "files": true, "second": object,
            });
            return output.result(&json, |out| {
                writeln!(out, "{image}: formatted for files with names, {}", capacity.unrounded())?;
                second.as_ref().map_or(Ok(()), |second| second.print(out))
            });
        }
        let Remembered { system, live_max, memtable_size, kept } = self.remember()?;
        let json = json!({
            "zones": zones, "capacity": capacity, "system": system, "live_max": live_max,
            "memtable_size": memtable_size, "second": object,
        });
        output.result(&json, |out| {
            let counted = |zones| counted(u64::from(zones), "zone", "zones");
            let zones = zones.map_or("a drive without zones".to_owned(), counted);
            let capacity = capacity.unrounded();
            writeln!(out, "{image}: made a store on {zones}, {capacity}, for {system}")?;
            second.as_ref().map_or(Ok(()), |second| second.print(out))?;
            writeln!(out, "{}", room(live_max, memtable_size, kept))
        })
    }

    /// The drives to be formatted. One that holds a store is left alone unless it is forced.
    fn devices(&self, drive: Arc<dyn Device>) -> Result<Devices, Failure> {
        let Some((_, path)) = self.target.second() else { return Ok(drive.into()) };
        let second = self.target.open_drive(path, Access::ReadWrite)?;
        if !self.force {
            check_no_store(&second, path)?;
        }
        Ok(Devices::pair(drive, second))
    }

    /// The second drive, as the answer names it.
    fn second(&self, devices: &Devices) -> Option<Second> {
        let (role, path) = self.target.second()?;
        let capacity = devices.second()?.geometry().capacity();
        Some(Second { role, path: path.to_owned(), capacity })
    }

    /// An empty directory becomes a store, and so does one that holds only the remains of an
    /// interrupted format. A directory that holds something is left alone in any case: other tools
    /// are better at emptying it.
    fn directory(&self, output: &Output) -> Result<(), Failure> {
        let path = self.target.path();
        let is_blank = DirStore::is_blank(path)?;
        let path = path.display();
        if !is_blank {
            let message = format!(
                "{path}: expected an empty directory, found files in it; remove them, or name \
                 another directory (--force is for drives)"
            );
            return Err(Failure::new(Kind::Failed, message));
        }
        self.tables.stated().check().map_err(terrace::Error::from)?;
        self.target.directory(Access::ReadWrite)?;
        let Remembered { system, live_max, memtable_size, kept } = self.remember()?;
        let json = json!({
            "directory": path.to_string(), "system": system, "live_max": live_max,
            "memtable_size": memtable_size,
        });
        output.result(&json, |out| {
            writeln!(
                out,
                "{}: made a store in the directory, for {system}",
                shown(self.target.path())
            )?;
            writeln!(out, "{}", room(live_max, memtable_size, kept))
        })
    }

    /// Opens the store for the first time, so that it remembers its system and the options that
    /// shape its tables.
    fn remember(&self) -> Result<Remembered, Failure> {
        let db = self.target.db_made(&self.under, true)?;
        db.set_table_options(self.tables.stated())?;
        let (live_max, memtable_size) = (db.live_max(), db.memtable_size());
        let (system, kept) = (db.system().to_string(), kept_on_tracks(&db));
        let remembered = Remembered { system, live_max, memtable_size, kept };
        db.close()?;
        Ok(remembered)
    }
}

/// The second drive of a new store.
struct Second {
    role: Role,
    path: PathBuf,
    capacity: ByteCount,
}

impl Second {
    fn object(&self) -> Value {
        let role = log_drive::flag(self.role).trim_start_matches('-');
        let path = self.path.display().to_string();
        json!({ "role": role, "path": path, "capacity": self.capacity })
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let takes = match self.role {
            Role::Log => "the journal and the logs",
            Role::Offload => "tables while compactions run",
        };
        writeln!(out, "{}: takes {takes}, {}", shown(&self.path), self.capacity)
    }
}

/// Settings that a new store remembers.
struct Remembered {
    system: String,
    live_max: ByteCount,
    memtable_size: ByteCount,
    kept: ByteCount,
}

/// Bytes of the store that puts leave on shingled tracks; 0 elsewhere.
pub(super) fn kept_on_tracks(db: &Db) -> ByteCount {
    db.fs().map_or(ByteCount(0), |fs| fs.kept_on_tracks())
}

/// How much a store has room for, in a sentence. `kept`: see [`kept_on_tracks`].
pub(super) fn room(live_max: ByteCount, memtable_size: ByteCount, kept: ByteCount) -> String {
    if live_max == ByteCount(0) && kept > ByteCount(0) {
        return format!(
            "too small for keys and values that are overwritten without end: {kept} are kept for \
             the journal, deletes, flushes and compactions, with guards, and memtables of \
             {memtable_size} and their logs have guards, too; it takes some, until puts are \
             refused; a larger drive, or one of shorter tracks, leaves more"
        );
    }
    if live_max == ByteCount(0) {
        return format!(
            "too small for keys and values that are overwritten without end: {ZONES_KEPT} zones \
             and {MEMTABLES_KEPT} memtables of {memtable_size} are kept; it takes some, until puts \
             are refused; smaller zones leave more"
        );
    }
    format!(
        "room for {live_max} of keys and values that are overwritten without end; memtables of \
         {memtable_size}"
    )
}

/// Whether a zone is no reason to take a drive for one in use. Zones that have failed are none: no
/// format changes their contents. Conventional zones have no pointer that would tell.
pub(super) fn is_untouched(state: ZoneState) -> bool {
    match state {
        ZoneState::Empty | ZoneState::NotWritePointer => true,
        ZoneState::ReadOnly | ZoneState::Offline => true,
        ZoneState::ImplicitlyOpen
        | ZoneState::ExplicitlyOpen
        | ZoneState::Closed
        | ZoneState::Full => false,
    }
}

/// Refuses a drive with zones that are written, or one that holds a store.
pub(super) fn check_blank(drive: &Arc<dyn Device>, path: &Path) -> Result<(), Failure> {
    if !drive.geometry().layout.is_zoned() {
        return check_no_store(drive, path);
    }
    let zones = drive.report(ZoneId(0), drive.geometry().zones)?;
    let written = zones.iter().filter(|zone| !is_untouched(zone.state)).count();
    if written == 0 {
        // Data in conventional zones alone are not shown by pointers.
        return check_no_store(drive, path);
    }
    if holds_unfinished_format(&**drive)? {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Failed,
        format!(
            "{}: expected an empty drive, found {}; --force formats the drive, and \
             their data is lost",
            path.display(),
            counted(written as u64, "zone that is written", "zones that are written")
        ),
    ))
}

/// Refuses a drive without zones that holds a store, and a block device that holds anything.
fn check_no_store(drive: &Arc<dyn Device>, path: &Path) -> Result<(), Failure> {
    if !holds_store(&**drive)? {
        let found = match drive::is_block_device(path) {
            true => foreign_content(&**drive)?,
            false => None,
        };
        let Some(found) = found else { return Ok(()) };
        let path = path.display();
        let message = format!(
            "{path}: expected a blank device, found {found}; --force formats the device, and its \
             data are lost"
        );
        return Err(Failure::new(Kind::Failed, message));
    }
    Err(Failure::new(
        Kind::Failed,
        format!(
            "{}: expected an empty drive, found a store; --force formats the drive, and the store \
             is lost",
            path.display()
        ),
    ))
}
