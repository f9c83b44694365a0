//! `terrace format IMAGE`, or a directory

use serde_json::json;
use terrace::Options;
use terrace_env::ZoneId;
use terrace_fs::{Access, FormatOptions, Fs};
use terrace_zone::{Device as _, ZoneState};

use super::target::Target;
use super::under::Under;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Make a store on a drive, or in an empty directory.
#[derive(clap::Args)]
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
        let options = Options { system: self.under.system, ..Options::fitting(capacity) };
        options.check_device(&*drive)?;
        Fs::format(drive.clone(), &FormatOptions::default())?;
        drop(drive);
        let system = self.remember()?;
        let json = json!({ "zones": zones.len(), "capacity": capacity, "system": system });
        output.result(&json, |out| {
            let zones = zones.len();
            writeln!(out, "{image}: made a store on {zones} zones, {capacity}, for {system}")
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
        let system = self.remember()?;
        let json = json!({ "directory": path.to_string(), "system": system });
        let answer = format!("{path}: made a store in the directory, for {system}");
        output.result(&json, |out| writeln!(out, "{answer}"))
    }

    /// Opens the store for the first time, so that it remembers its system.
    fn remember(&self) -> Result<String, Failure> {
        let db = self.target.db_under(&self.under)?;
        let system = db.system().to_string();
        db.close()?;
        Ok(system)
    }
}
