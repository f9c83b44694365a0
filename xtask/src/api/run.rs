//! The chore: lists the items of the code and compares them with the file of the version.

use anyhow::Context;

use super::kept::{Differences, compatible};
use super::listing::listing;
use crate::workspace::Workspace;

/// The files of all versions, relative to the root.
const FILES: &str = "crates/terrace/api";

/// Use of the items.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Write new items down; items that are gone are refused as without it
    #[arg(long)]
    write: bool,
}

/// Compares, or writes new items down.
pub(crate) fn run(workspace: &Workspace, arguments: Arguments) -> anyhow::Result<()> {
    let mut packages = workspace.metadata().packages.iter();
    let library = packages.find(|package| *package.name == "terrace").context("no library")?;
    let version = compatible(&library.version.to_string());
    let name = format!("{FILES}/{version}.txt");
    let path = workspace.root().join(&name);
    let found = listing(workspace)?;
    let kept = if path.exists() || !arguments.write {
        std::fs::read_to_string(&path)
            .with_context(|| format!("{name}: expected the items of version {version}"))?
    } else {
        String::new()
    };
    let differences = Differences::between(&kept, &found);
    differences.keep(&name, &version)?;
    if !arguments.write {
        return differences.know(&name);
    }
    let lines: String = found.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    std::fs::write(&path, lines).with_context(|| format!("{name}: not written"))
}
