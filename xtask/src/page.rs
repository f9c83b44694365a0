//! Tables in `docs/performance.md`: each benchmark that writes there has a [`Section`] between two
//! marks, and an [`origin`], the state of the sources that was measured.

use std::process::Command;

use anyhow::Context;

use crate::step;
use crate::workspace::Workspace;

/// The page.
const PAGE: &str = "docs/performance.md";

/// The text between the marks of a benchmark.
pub(crate) struct Section {
    benchmark: &'static str,
    before: String,
}

impl Section {
    /// Reads the page, and fails if the marks are missing: before anything is measured.
    pub(crate) fn find(workspace: &Workspace, benchmark: &'static str) -> anyhow::Result<Self> {
        let page = workspace.root().join(PAGE);
        let before = std::fs::read_to_string(page).with_context(|| format!("reading {PAGE}"))?;
        let section = Self { benchmark, before };
        section.with("")?;
        Ok(section)
    }

    /// Writes the page with another text between the marks.
    pub(crate) fn write(&self, workspace: &Workspace, text: &str) -> anyhow::Result<()> {
        let page = workspace.root().join(PAGE);
        std::fs::write(page, self.with(text)?).with_context(|| format!("writing {PAGE}"))
    }

    /// The page with another text between the marks.
    fn with(&self, text: &str) -> anyhow::Result<String> {
        let mark = |end| format!("<!-- cargo xtask bench {}: {end} -->\n", self.benchmark);
        let (begin, end) = (mark("begin"), mark("end"));
        let parts = self.before.split_once(&begin);
        let parts = parts.and_then(|(head, rest)| Some((head, rest.split_once(&end)?)));
        let (head, (_, tail)) =
            parts.with_context(|| format!("{PAGE}: expected the lines {begin}{end}"))?;
        Ok(format!("{head}{begin}{text}{end}{tail}"))
    }
}

/// The commit of the sources, and whether they have changed since.
pub(crate) fn origin(workspace: &Workspace) -> anyhow::Result<String> {
    let git = |words: &[&str]| {
        step::output(Command::new("git").args(words).current_dir(workspace.root()))
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    let changed = if changed { ", with changes that are not committed" } else { "" };
    Ok(format!("commit {}{changed}", commit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_between_the_marks_of_the_page() {
        let page = |text: &str| {
            let mark = |end| format!("<!-- cargo xtask bench pick: {end} -->\n");
            format!("a\n{}{text}{}z\n", mark("begin"), mark("end"))
        };
        let section = |before: &str| Section { benchmark: "pick", before: before.to_owned() };
        assert_eq!(section(&page("old\n")).with("new\n").unwrap(), page("new\n"));
        let error = section("a\nz\n").with("new\n").unwrap_err().to_string();
        assert!(error.contains("bench pick: begin -->"), "{error}");
    }
}
