//! `terrace man DIR`: writes the manual pages of the program into a directory. A directory that
//! does not exist is made; pages that exist are written over. It opens no store.

use std::path::PathBuf;

use clap::CommandFactory;
use serde_json::json;

use super::Arguments;
use crate::escape::Visible;
use crate::failure::Failure;
use crate::output::Output;

/// Write the manual pages.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace man pages")]
pub(crate) struct Man {
    /// The directory to write them to; made if it is not there
    dir: PathBuf,
}

impl Man {
    pub(crate) fn run(&self, output: &Output) -> Result<(), Failure> {
        let at = |error| Failure::path(&self.dir, &error);
        std::fs::create_dir_all(&self.dir).map_err(at)?;
        clap_mangen::generate_to(Arguments::command(), &self.dir).map_err(at)?;
        let dir = self.dir.display().to_string();
        output.result(&json!({ "dir": dir }), |out| {
            writeln!(out, "manual pages are in {}", Visible(&dir))
        })
    }
}
