//! `terrace completions SHELL`: prints a completion script for a shell on standard output. It opens
//! no store. The script is the same with and without `--json`.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Arguments;
use crate::failure::Failure;
use crate::screen::Screen;

/// Print completions for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  terrace completions bash > terrace.bash")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "terrace", &mut script);
        let mut out = Screen::text();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
