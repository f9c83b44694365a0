//! `terrace lab drives [DRIVE]`: lists the modelled drives that come with the program. If a drive
//! is given, by its name or by the path of a file that describes one, the command prints only this
//! drive, and where the values of its timing model are from. (With `--json` it prints their sources
//! also in the list of all drives.) Nothing is measured.

use std::io::Write;

use serde::Serialize;
use serde_json::json;
use terrace_env::ByteCount;
use terrace_zone::Geometry;
use terrace_zone::timing::{Drive, Scale};

use crate::escape::Visible;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// List the modelled drives, or say where the values of one are from.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace lab drives wd-zn540")]
pub(crate) struct Drives {
    /// A drive, by name or by the path of a drive file [default: all that come with the program]
    drive: Option<String>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    title: String,
    about: String,
    capacity: ByteCount,
    geometry: Geometry,
    sources: Vec<Source>,
}

/// A parameter and where its value is from.
#[derive(Serialize)]
struct Source {
    parameter: &'static str,
    source: String,
}

impl Drives {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let drives = match &self.drive {
            Some(name) => vec![Drive::find(name)?],
            None => Drive::all(),
        };
        let entries = drives.iter().map(Entry::of).collect::<Result<Vec<_>, _>>()?;
        output.result(&json!({ "drives": entries }), |out| {
            for entry in &entries {
                writeln!(out, "{}: {}", Visible(&entry.name), Visible(&entry.title))?;
            }
            if self.drive.is_some() {
                entries.iter().try_for_each(|entry| entry.print(out))?;
            }
            Ok(())
        })
    }
}

impl Entry {
    fn of(drive: &Drive) -> Result<Self, Failure> {
        let geometry = drive.geometry(Scale::FULL);
        let geometry = geometry.map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        let source = |(parameter, source): (&'static str, &str)| Source {
            parameter,
            source: source.to_owned(),
        };
        Ok(Self {
            name: drive.name().to_owned(),
            title: drive.title().to_owned(),
            about: drive.about().trim().to_owned(),
            capacity: geometry.capacity(),
            geometry,
            sources: drive.sources().into_iter().map(source).collect(),
        })
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { about, capacity, geometry, sources, .. } = self;
        writeln!(out, "\n{about}\n\n{} zones, {capacity} can be written\n", geometry.zones)?;
        for Source { parameter, source } in sources {
            writeln!(out, "{parameter:22} {}", Visible(source))?;
        }
        Ok(())
    }
}
