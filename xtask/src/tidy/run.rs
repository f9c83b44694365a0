//! The checks in their order: first those of this program, then those of cargo's tools (formatting,
//! lints, documentation).
//!
//! A check with findings is a failed step, and the others still run. A file that cannot be read
//! ends the chore at once. Files that git ignores are not looked at, nor those that are not UTF-8.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::finding::Finding;
use super::{habits, index, layers, layouts, links, names, openings, order, retired, source, text};
use crate::peers::MANIFEST;
use crate::planted;
use crate::step::{self, Steps};
use crate::workspace::Workspace;

/// Checks layers, the order of modules, layouts, names, sources, texts, planted bugs and links.
pub(crate) fn shape(workspace: &Workspace, steps: &mut Steps) -> anyhow::Result<()> {
    let root = workspace.root();
    let files = read(root, &workspace.files()?)?;
    let rust = || files.iter().filter(|(path, _)| has_extension(path, "rs"));
    let pages = || files.iter().filter(|(path, _)| has_extension(path, "md"));
    steps.run("tidy: layers", || none(layers::check(root, workspace.metadata())));
    steps.run("tidy: order of modules", || {
        let sources: Vec<_> = rust().map(|(path, text)| (&**path, &**text)).collect();
        none(order::check(&sources))
    });
    steps.run("tidy: layouts", || {
        let sources: Vec<_> = rust().map(|(path, text)| (&**path, &**text)).collect();
        none(layouts::check(&sources))
    });
    steps.run("tidy: sources", || {
        let mut findings = Vec::new();
        for (path, text) in rust() {
            findings.extend(names::check(path));
            findings.extend(text::check_rust(path, text));
            findings.extend(openings::check(path, text));
            findings.extend(habits::check_rust(path, text));
            findings.extend(syntax(path, text));
        }
        none(findings)
    });
    steps.run("tidy: words", || {
        let glossary = files.iter().find(|(path, _)| path == Path::new(retired::GLOSSARY));
        let retired = glossary.map_or(Vec::new(), |(_, text)| retired::read(text));
        let mut findings: Vec<Finding> = retired::check_table(&retired).into_iter().collect();
        for (path, text) in &files {
            findings.extend(text::check_any(path, text));
            findings.extend(retired::check(path, text, &retired));
        }
        findings.extend(pages().flat_map(|(path, text)| habits::check_page(path, text)));
        none(findings)
    });
    steps.run("tidy: planted bugs", || none(planted::check(&files)));
    steps.run("tidy: links", || {
        none(pages().flat_map(|(path, text)| links::check(root, path, text)).collect())
    });
    Ok(())
}

/// Checks formatting, lints and documentation.
pub(crate) fn compile(workspace: &Workspace, steps: &mut Steps) {
    steps.run("tidy: formatting", || {
        step::command(&mut workspace.cargo(["fmt", "--all", "--check"]))?;
        // A workspace of its own, of which only the form is checked here.
        step::command(&mut workspace.cargo(["fmt", "--manifest-path", MANIFEST, "--check"]))
    });
    steps.run("tidy: lints", || {
        let words = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        step::command(&mut workspace.cargo(words))
    });
    steps.run("tidy: documentation", || {
        // Private items too: most heads with invariants belong to private modules. And public ones
        // may link to them: readers of these pages see the private items as well.
        document(workspace, &[])
    });
    steps.run("tidy: documentation of the program", || {
        // It has the library's name, and its pages would stay in the place of the library's.
        let pages = workspace.target().join("doc/terrace");
        let library = workspace.target().join("doc-of-library");
        move_pages(&pages, &library)?;
        let documented = document(workspace, &["--bin", "terrace"]);
        move_pages(&library, &pages)?;
        documented
    });
}

/// Makes pages, and takes warnings for errors. The whole workspace is chosen, as in every call: a
/// package by itself has other features, and most crates would be compiled again.
fn document(workspace: &Workspace, targets: &[&str]) -> anyhow::Result<()> {
    let words = ["doc", "--workspace", "--no-deps", "--all-features", "--document-private-items"];
    let mut cargo = workspace.cargo(words.iter().chain(targets).copied());
    step::command(cargo.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links"))
}

/// Moves a directory of pages, if it is there, to the place of another one.
fn move_pages(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() && from.exists() {
        std::fs::remove_dir_all(to).with_context(|| format!("removing {}", to.display()))?;
    }
    if from.exists() {
        std::fs::rename(from, to).with_context(|| format!("moving {}", from.display()))?;
    }
    Ok(())
}

fn syntax(path: &Path, text: &str) -> Vec<Finding> {
    match syn::parse_file(text) {
        Ok(file) => {
            let mut findings = source::check(path, &file);
            if index::is_index(path) {
                findings.extend(index::check(path, &file));
            }
            findings
        }
        Err(error) => {
            let line = error.span().start().line;
            vec![Finding::new(path, line, "Rust", error.to_string())]
        }
    }
}

/// The text files among `paths`; others have nothing that the checks could read.
fn read(root: &Path, paths: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for path in paths {
        let bytes = std::fs::read(root.join(path))
            .with_context(|| format!("{}: expected to be readable", path.display()))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push((path.clone(), text));
        }
    }
    Ok(files)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn none(mut findings: Vec<Finding>) -> anyhow::Result<()> {
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("expected no findings, found {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_not_rust_is_a_finding() {
        let found = syntax(Path::new("a.rs"), "//! Docs.\nfn (");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(none(found).is_err());
        assert!(none(Vec::new()).is_ok());
    }

    #[test]
    fn an_index_is_held_to_its_rule_and_another_file_is_not() {
        let text = "//! Docs.\nfn f() {}\n";
        assert_eq!(syntax(Path::new("src/lib.rs"), text).len(), 1);
        assert_eq!(syntax(Path::new("src/job.rs"), text).len(), 0);
    }
}
