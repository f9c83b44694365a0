//! Runs those integration tests of a crate whose names contain a word, without the canaries, which
//! are the same in every round. A crate has them in one target, `tests/it`.
//!
//! cargo reports success if the word matches no test, so a misspelt word would go unnoticed. So
//! call [`Named::find`] first: it fails if there is no such test. [`Named::run`] by itself does not
//! check this.

use std::process::Command;

use anyhow::ensure;

use crate::step;
use crate::workspace::Workspace;

/// A crate's tests by name.
pub(crate) struct Named<'a> {
    /// The crate.
    pub(crate) package: &'a str,
    /// The word in the tests' names.
    pub(crate) word: &'a str,
}

impl Named<'_> {
    /// Checks that the word matches a test, and says how many it matches.
    pub(crate) fn find(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let listed = step::output(self.cargo(workspace).arg("--list"))?;
        let count = count(&listed);
        let Self { package, word, .. } = self;
        ensure!(count > 0, "{package}: expected tests with `{word}` in their names, found none");
        eprintln!("{count} tests");
        Ok(())
    }

    /// Runs them, with the variables given.
    pub(crate) fn run(&self, workspace: &Workspace, set: &[(&str, String)]) -> anyhow::Result<()> {
        let set = set.iter().map(|(name, value)| (name, value));
        step::command(self.cargo(workspace).envs(set))
    }

    fn cargo(&self, workspace: &Workspace) -> Command {
        let mut cargo =
            workspace.cargo(["test", "--quiet", "--test", "it", "--package", self.package]);
        cargo.args(["--", self.word, "--skip", "canary"]);
        cargo
    }
}

/// The tests in the output of `--list`.
fn count(listed: &str) -> usize {
    listed.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_tests_are_counted() {
        let listed = "canary::one: test\ncanary::two: test\n\n2 tests, 0 benchmarks\n";
        assert_eq!(count(listed), 2);
        assert_eq!(count("0 tests, 0 benchmarks\n"), 0);
    }
}
