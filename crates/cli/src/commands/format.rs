//! `terrace format IMAGE`, or a directory

use serde_json::json;
use terrace::{MEMTABLES_KEPT, Options, ZONES_KEPT};
use terrace_env::{ByteCount, ZoneId};
use terrace_fs::{Access, FormatOptions, Fs};
use terrace_zone::{Device as _, ZoneState};

use super::target::Target;
use super::under::Under;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Make a store on a drive, or in an empty directory.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace format drive.img
  terrace format zns.img --system leveldb-greedy
  mkdir plain && terrace format plain")]
pub(crate) struct Format {
    #[command(flatten)]
    target: Target,
    /// Lose what is on the drive
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    under: Under,
}

impl Format {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        if self.target.path().is_dir() {
            return self.directory(output);
        }
        let drive = self.target.drive(Access::ReadWrite)?;
        let zones = drive.report(ZoneId(0), drive.geometry().zones)?;
        let untouched = |state| matches!(state, ZoneState::Empty | ZoneState::NotWritePointer);
        let written = zones.iter().filter(|zone| !untouched(zone.state)).count();
        let image = self.target.path().display();
        if written > 0 && !self.force {
            return Err(Failure::new(
                Kind::Failed,
                format!(
                    "{image}: expected an empty drive, found {written} zones that are written; \
                     --force loses what is on them"
                ),
            ));
        }
        let capacity = drive.geometry().capacity();
        let options = Options::fitting(capacity).system(self.under.system);
        options.check_device(&*drive)?;
        Fs::format(drive.clone(), &FormatOptions::default())?;
        drop(drive);
        let Remembered { system, live_max, memtable_size } = self.remember()?;
        let json = json!({
            "zones": zones.len(), "capacity": capacity, "system": system, "live_max": live_max,
            "memtable_size": memtable_size,
        });
        output.result(&json, |out| {
            let zones = zones.len();
            writeln!(out, "{image}: made a store on {zones} zones, {capacity}, for {system}")?;
            writeln!(out, "{}", room(live_max, memtable_size))
        })
    }

    /// An empty directory becomes a store. One that holds something is left alone in any case:
    /// whoever wants it empty has better tools.
    fn directory(&self, output: &Output) -> Result<(), Failure> {
        let path = self.target.path();
        let mut entries = std::fs::read_dir(path).map_err(|error| Failure::path(path, &error))?;
        let path = path.display();
        if entries.next().is_some() {
            let message = format!("{path}: expected an empty directory, found files in it");
            return Err(Failure::new(Kind::Failed, message));
        }
        self.target.directory(Access::ReadWrite)?;
        let Remembered { system, live_max, memtable_size } = self.remember()?;
        let json = json!({
            "directory": path.to_string(), "system": system, "live_max": live_max,
            "memtable_size": memtable_size,
        });
        output.result(&json, |out| {
            writeln!(out, "{path}: made a store in the directory, for {system}")?;
            writeln!(out, "{}", room(live_max, memtable_size))
        })
    }

    /// Opens the store for the first time, so that it remembers its system.
    fn remember(&self) -> Result<Remembered, Failure> {
        let db = self.target.db_under(&self.under)?;
        let (live_max, memtable_size) = (db.live_max(), db.memtable_size());
        let remembered = Remembered { system: db.system().to_string(), live_max, memtable_size };
        db.close()?;
        Ok(remembered)
    }
}

/// What a new store is like.
struct Remembered {
    system: String,
    live_max: ByteCount,
    memtable_size: ByteCount,
}

/// How much a store has room for, in a sentence.
pub(super) fn room(live_max: ByteCount, memtable_size: ByteCount) -> String {
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
