//! `terrace fs rm` takes names away, and with `--recursive` all names in directories. It does all
//! of it by one transaction, or nothing.

use serde_json::json;
use terrace::ByteCount;
use terrace::fs::Access;

use super::super::target::Target;
use super::directory::{Found, missing};
use super::opened::Opened;
use crate::failure::{Failure, Kind};
use crate::output::{Output, counted};

/// Remove files, or directories with all that is in them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  terrace fs rm files.img notes/today
  terrace fs rm files.img scratch --recursive")]
pub(crate) struct Remove {
    #[command(flatten)]
    target: Target,
    /// The names
    #[arg(required = true)]
    names: Vec<String>,
    /// Remove directories, too
    #[arg(short, long)]
    recursive: bool,
}

impl Remove {
    pub(super) fn run(&self, output: &Output) -> Result<(), Failure> {
        let opened = Opened::names(&self.target, Access::ReadWrite)?;
        let mut names: Vec<(String, u64)> = Vec::new();
        for name in &self.names {
            if name.is_empty() {
                let message = "expected a name, found an empty one";
                return Err(Failure::new(Kind::Usage, message));
            }
            match Found::of(&opened.files, name) {
                Found::File(info) => {
                    names.push((name.clone(), info.size));
                }
                Found::Directory(inside) if self.recursive => {
                    names.extend(inside.into_iter().map(|(name, info)| (name, info.size)));
                }
                found @ Found::Directory(_) => {
                    let found = found.describe();
                    let message =
                        format!("{name}: expected a file, found {found}; use --recursive");
                    return Err(Failure::new(Kind::Failed, message));
                }
                Found::Nothing => return Err(missing(&opened.files, name)),
            }
        }
        // One name may be given twice, or lie in a directory that is given, too.
        names.sort_unstable();
        names.dedup();
        let bytes: u64 = names.iter().map(|(_, size)| size).sum();
        opened.files.remove_all(names.iter().map(|(name, _)| name.as_str()))?;
        opened.close();
        let json = json!({ "names": names.len(), "bytes": bytes });
        output.result(&json, |out| {
            let names = counted(names.len() as u64, "name", "names");
            writeln!(out, "removed {names}, of {} in all", ByteCount(bytes))
        })
    }
}
