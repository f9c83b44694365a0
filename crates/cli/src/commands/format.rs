//! `terrace format IMAGE`

use serde_json::json;
use terrace_env::ZoneId;
use terrace_fs::{Access, FormatOptions, Fs};
use terrace_zone::{Device as _, ZoneState};

use super::target::Target;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Make a store on a drive.
#[derive(clap::Args)]
pub(crate) struct Format {
    #[command(flatten)]
    target: Target,
    /// Lose what is on the drive
    #[arg(long)]
    force: bool,
}

impl Format {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
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
        Fs::format(drive.clone(), &FormatOptions::default())?;
        let capacity = drive.geometry().capacity();
        output.result(&json!({ "zones": zones.len(), "capacity": capacity }), |out| {
            writeln!(out, "{image}: made a store on {} zones, {capacity}", zones.len())
        })
    }
}
