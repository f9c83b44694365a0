//! `terrace fs mv` gives a file another name, or all files of a directory names in another one, by
//! one transaction.

use serde_json::json;
use terrace::fs::Access;

use super::super::target::Target;
use super::directory::{Found, in_the_way, missing, place, prefix};
use super::opened::Opened;
use crate::escape::Escaped;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// Give a file or a directory another name.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace fs mv files.img notes/cli.md manual.md
  terrace fs mv files.img notes old-notes")]
pub(crate) struct Rename {
    #[command(flatten)]
    target: Target,
    /// The name now
    from: String,
    /// The name then; in a directory, or if it ends with `/`, the last part is kept
    to: String,
    /// Replace a file that has the name
    #[arg(long)]
    force: bool,
}

impl Rename {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let opened = Opened::names(&self.target, Access::ReadWrite)?;
        let files = &opened.files;
        let found = Found::of(files, &self.from);
        if matches!(found, Found::Nothing) {
            return Err(missing(files, &self.from));
        }
        if self.from.trim_matches('/').is_empty() {
            let message = "expected a file or a directory, found the one of all files";
            return Err(Failure::new(Kind::Usage, message));
        }
        let to = place(files, &self.to, &self.from)?;
        let moved = match found {
            Found::Directory(inside) => {
                let (from, then) = (prefix(&self.from), prefix(&to));
                if then.starts_with(&from) {
                    let message =
                        format!("{to}: expected a place outside of {from}, found one in it");
                    return Err(Failure::new(Kind::Failed, message));
                }
                // A file cannot become a directory, so it is not replaced either.
                in_the_way(files, &to, false)?;
                files.rename_all(&from, &then)?;
                inside.len()
            }
            _ if to == self.from => 0,
            _ => {
                in_the_way(files, &to, self.force)?;
                files.rename(&self.from, &to)?;
                1
            }
        };
        opened.close();
        output.result(&json!({ "name": to, "moved": moved }), |out| {
            let [from, to] = [&self.from, &to].map(|name| Escaped(name.as_bytes()));
            writeln!(out, "{from} is now {to}")
        })
    }
}
