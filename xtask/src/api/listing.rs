//! The public items of the library `terrace`, one to a line: its own, and those that it takes from
//! the crates below it.
//!
//! rustdoc describes a crate as JSON, and the crate `public-api` makes lines of that. The library
//! re-exports many types of lower crates, and such a line names a re-export alone. So each lower
//! crate is described as well, and the lines of its re-exported items are added. Other items of
//! lower crates are not listed: they may change in any release.
//!
//! All libraries of the workspace are described at once, with the features that `cargo xtask tidy`
//! documents: fewer packages would need other features of their dependencies, and these would be
//! compiled again.
//!
//! rustdoc's JSON is not stable yet, and a stable rustdoc makes it only if `RUSTC_BOOTSTRAP` is
//! set. The variable is set for rustdoc alone: if cargo saw it, build scripts would run anew.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use public_api::Builder;
use serde_json::Value;

use crate::step;
use crate::workspace::Workspace;

/// The package that users name.
const LIBRARY: &str = "terrace";

/// The lines, in order and without duplicates.
pub(super) fn listing(workspace: &Workspace) -> anyhow::Result<BTreeSet<String>> {
    describe(workspace)?;
    let library = description(workspace, LIBRARY);
    let mut lines: BTreeSet<String> = items(&library)?.into_iter().collect();
    let sources = re_exported(&library)?;
    let crates: BTreeSet<&str> = sources.iter().filter_map(|source| crate_of(source)).collect();
    for name in crates {
        let items = items(&description(workspace, name))?;
        for source in sources.iter().filter(|source| crate_of(source) == Some(name)) {
            let mut of_source = items.iter().filter(|line| is_of(line, source)).peekable();
            ensure!(of_source.peek().is_some(), "{source}: expected items of {name}, found none");
            lines.extend(of_source.cloned());
        }
    }
    Ok(lines)
}

/// A program that calls rustdoc with `RUSTC_BOOTSTRAP` set.
fn rustdoc(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let path = workspace.target().join("rustdoc-json");
    let text = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("making {} executable", path.display()))?;
    Ok(path)
}

/// Makes the descriptions of all libraries.
fn describe(workspace: &Workspace) -> anyhow::Result<()> {
    let words = ["doc", "--quiet", "--workspace", "--lib", "--no-deps", "--all-features"];
    let flags = "-Z unstable-options --output-format json --cap-lints allow";
    let mut cargo = workspace.cargo(words);
    step::command(cargo.env("RUSTDOC", rustdoc(workspace)?).env("RUSTDOCFLAGS", flags))
}

/// The path of a crate's description.
fn description(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target().join("doc").join(name).with_extension("json")
}

/// The lines of a described crate.
fn items(description: &Path) -> anyhow::Result<Vec<String>> {
    let builder = Builder::from_rustdoc_json(description);
    // The compiler adds these; the crate does not declare them.
    let builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder.build().with_context(|| {
        format!("{}: expected a description that `public-api` can read", description.display())
    })?;
    Ok(api.items().map(ToString::to_string).collect())
}

/// The paths that a described crate re-exports.
fn re_exported(description: &Path) -> anyhow::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(description)
        .with_context(|| format!("reading {}", description.display()))?;
    let description: Value = serde_json::from_str(&text).context("expected JSON of rustdoc")?;
    let index = description["index"].as_object().context("index: expected an object")?;
    let uses = index.values().filter_map(|item| item["inner"]["use"]["source"].as_str());
    Ok(uses.map(str::to_owned).collect())
}

/// The crate of this project that a path begins with, if it is not the library's own.
fn crate_of(source: &str) -> Option<&str> {
    let name = source.split("::").next()?;
    name.starts_with("terrace_").then_some(name)
}

/// Whether a line declares the item of a path, a part of it, or an implementation for it.
fn is_of(line: &str, source: &str) -> bool {
    let name = source.split("::").next().unwrap_or(source);
    let is_here = |at: usize| {
        let rest = &line[at..];
        let ends =
            |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        rest.strip_prefix(source).is_some_and(ends)
    };
    let paths = || {
        let starts_a_path =
            |at: usize| !line[..at].ends_with(|last: char| last.is_alphanumeric() || last == '_');
        line.match_indices(name).map(|(at, _)| at).filter(move |&at| starts_a_path(at))
    };
    if line.starts_with("impl") {
        paths().any(is_here)
    } else {
        // A line begins with the path of the item. Later paths are types that it names.
        paths().next().is_some_and(is_here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_item_are_told_from_lines_that_only_name_it() {
        let source = "terrace_env::ByteCount";
        for (line, expected) in [
            ("pub struct terrace_env::ByteCount(pub u64)", true),
            ("pub const fn terrace_env::ByteCount::mib(u64) -> Self", true),
            ("impl core::fmt::Display for terrace_env::ByteCount", true),
            ("pub struct terrace_env::ByteCountError", false),
            ("pub fn terrace_env::Memory::used(&self) -> terrace_env::ByteCount", false),
            ("pub mod terrace_env", false),
        ] {
            assert_eq!(is_of(line, source), expected, "{line}");
        }
    }

    #[test]
    fn only_crates_of_the_project_below_the_library_are_described() {
        assert_eq!(crate_of("terrace_env::ByteCount"), Some("terrace_env"));
        assert_eq!(crate_of("options::Options"), None);
        assert_eq!(crate_of("bytes::Bytes"), None);
    }
}
