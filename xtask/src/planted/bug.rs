//! [`Bug`]: a bug of the catalogue, one file in `xtask/planted`.
//!
//! | field | content |
//! |---|---|
//! | `kind` | the mistake, in a few words |
//! | `file` | the source, relative to the root |
//! | `find` | text that is in it exactly once |
//! | `plant` | the text with the bug that takes its place |
//! | `package` | the package with the tests |
//! | `target` | its program of tests: `lib`, `bin` or the name of an integration test |
//! | `tests` | names of tests, of which at least one fails with the bug |

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::tidy::Finding;

/// Directory of the catalogue, relative to the root.
const CATALOGUE: &str = "xtask/planted";

/// A bug, and the tests that are expected to catch it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Bug {
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) file: PathBuf,
    pub(super) find: String,
    pub(super) plant: String,
    pub(super) package: String,
    pub(super) target: String,
    pub(super) tests: Vec<String>,
}

impl Bug {
    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let mut bug: Self = toml::from_str(text)?;
        let name = path.file_stem().and_then(|name| name.to_str());
        bug.name = name.context("a name in UTF-8")?.to_owned();
        Ok(bug)
    }

    /// The source with the bug. An error if the text to find is not in it exactly once.
    pub(super) fn planted(&self, source: &str) -> anyhow::Result<String> {
        let count = source.matches(&self.find).count();
        ensure!(count == 1, "{}: expected `find` once, found {count} times", self.file.display());
        Ok(source.replacen(&self.find, &self.plant, 1))
    }
}

/// The catalogue in the order of programs of tests, so that few are built between two bugs.
pub(super) fn all(root: &Path) -> anyhow::Result<Vec<Bug>> {
    let folder = root.join(CATALOGUE);
    let mut bugs = Vec::new();
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("{}: expected a directory", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        bugs.push(Bug::parse(&path, &text).with_context(|| path.display().to_string())?);
    }
    bugs.sort_by(|one, other| {
        let key = |bug: &Bug| (bug.package.clone(), bug.target.clone(), bug.name.clone());
        key(one).cmp(&key(other))
    });
    Ok(bugs)
}

/// Checks that each bug of the catalogue applies to the sources, and that its tests exist.
pub(crate) fn check(sources: &[(PathBuf, String)]) -> Vec<Finding> {
    let is_bug = |path: &Path| path.parent() == Some(Path::new(CATALOGUE));
    let bugs = sources.iter().filter(|(path, _)| is_bug(path));
    bugs.flat_map(|(path, text)| {
        let findings = match Bug::parse(path, text) {
            Ok(bug) => check_bug(&bug, sources),
            Err(error) => vec![("a bug".to_owned(), error.to_string())],
        };
        findings.into_iter().map(|(expected, found)| Finding::new(path, 1, expected, found))
    })
    .collect()
}

/// Pairs of the expected and the found.
fn check_bug(bug: &Bug, sources: &[(PathBuf, String)]) -> Vec<(String, String)> {
    let mut findings = Vec::new();
    let file = bug.file.display();
    match sources.iter().find(|(path, _)| *path == bug.file) {
        None => findings.push((format!("the file {file}"), "none".to_owned())),
        Some((_, source)) => {
            let count = source.matches(&bug.find).count();
            if count != 1 {
                findings.push((format!("`find` once in {file}"), format!("it {count} times")));
            }
        }
    }
    if bug.find == bug.plant {
        findings.push(("`plant` to differ from `find`".to_owned(), "the same".to_owned()));
    }
    if bug.tests.is_empty() {
        findings.push(("a test that catches it".to_owned(), "none".to_owned()));
    }
    for test in &bug.tests {
        let item = format!("fn {}(", test.rsplit("::").next().unwrap_or(test));
        let mut rust = sources.iter().filter(|(path, _)| path.extension() == Some("rs".as_ref()));
        if !rust.any(|(_, source)| source.contains(&item)) {
            findings.push((format!("the test {test}"), "none of this name".to_owned()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "kind = 'off by one'\nfile = 'crates/a/src/b.rs'\nfind = 'x < y'\n\
                        plant = 'x <= y'\npackage = 'a'\ntarget = 'lib'\ntests = ['b::tests::t']\n";

    fn found(text: &str, source: &str) -> Vec<String> {
        let bug = Path::new(CATALOGUE).join("a-b.toml");
        let sources = [(bug, text), ("crates/a/src/b.rs".into(), source)];
        let sources = sources.map(|(path, text)| (path, text.to_owned()));
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bug_that_applies_once_and_has_its_test_is_in_order() {
        assert_eq!(found(TEXT, "if x < y {}\nfn t() {}"), Vec::<String>::new());
        let bug = Bug::parse(Path::new("a-b.toml"), TEXT).unwrap();
        assert_eq!(bug.name, "a-b");
        assert_eq!(bug.planted("if x < y {}").unwrap(), "if x <= y {}");
        let error = bug.planted("x < y, x < y").unwrap_err().to_string();
        assert_eq!(error, "crates/a/src/b.rs: expected `find` once, found 2 times");
    }

    #[test]
    fn a_bug_whose_source_or_test_has_changed_is_a_finding() {
        let place = "xtask/planted/a-b.toml:1: expected";
        for (text, source, expected) in [
            (TEXT, "fn t() {}", "`find` once in crates/a/src/b.rs, found it 0 times"),
            (TEXT, "fn t() { x < y; x < y }", "`find` once in crates/a/src/b.rs, found it 2 times"),
            (TEXT, "x < y; fn tt() {}", "the test b::tests::t, found none of this name"),
            (
                &TEXT.replace("/b.rs", "/c.rs"),
                "fn t() {}",
                "the file crates/a/src/c.rs, found none",
            ),
            (
                &TEXT.replace("<=", "<"),
                "x < y; fn t()",
                "`plant` to differ from `find`, found the same",
            ),
            (&TEXT.replace("'b::tests::t'", ""), "x < y", "a test that catches it, found none"),
        ] {
            assert_eq!(found(text, source), [format!("{place} {expected}")]);
        }
        assert_eq!(found("kind = 1", "").len(), 1);
    }
}
