//! The programs of tests that have targets of the fuzzer.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use cargo_metadata::{Message, Package, TargetKind};

use crate::step;
use crate::workspace::Workspace;

/// The crate of the harness. The crates with targets use it in their tests.
const HARNESS: &str = "terrace-fuzz";
/// The module of targets, in the name of a test.
const MODULE: &str = "fuzz::";

/// A test that is a target.
pub(super) struct Found {
    /// Its name in the program.
    pub(super) name: String,
    program: PathBuf,
    /// The package's directory.
    place: PathBuf,
}

impl Found {
    /// Runs this test alone, where cargo would.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let words = [&self.name, "--exact", "--nocapture", "--test-threads", "1"];
        command.args(words).current_dir(&self.place);
        command
    }
}

/// The packages with targets.
fn packages(workspace: &Workspace) -> Vec<&Package> {
    let uses = |package: &Package| package.dependencies.iter().any(|other| other.name == HARNESS);
    let members = workspace.metadata().workspace_packages().into_iter();
    members.filter(|package| uses(package)).collect()
}

/// Builds all tests in the way of an ordinary test run, so that nothing is compiled twice. Finds
/// the targets with one of these words in their names; all, without words.
pub(super) fn find(workspace: &Workspace, words: &[String]) -> anyhow::Result<Vec<Found>> {
    let packages = packages(workspace);
    let build = ["test", "--workspace", "--lib", "--bins", "--no-run", "--quiet"];
    let json = "--message-format=json-render-diagnostics";
    let said = step::output(workspace.cargo(build).arg(json))?;
    let mut found = Vec::new();
    for message in Message::parse_stream(said.as_bytes()) {
        let Message::CompilerArtifact(artifact) = message.context("messages of cargo")? else {
            continue;
        };
        let package = packages.iter().find(|package| package.id == artifact.package_id);
        let is_unit = artifact.profile.test && !artifact.target.kind.contains(&TargetKind::Test);
        let (Some(package), Some(program), true) = (package, &artifact.executable, is_unit) else {
            continue;
        };
        let place = package.manifest_path.parent().context("a manifest in a directory")?;
        let listed = step::output(Command::new(program).args(["--list", "--format", "terse"]))?;
        found.extend(targets(&listed, words).map(|name| Found {
            name: name.to_owned(),
            program: program.clone().into(),
            place: place.to_path_buf().into(),
        }));
    }
    ensure!(!found.is_empty(), "expected targets with one of {words:?}, found none");
    Ok(found)
}

/// The targets in the output of `--list`.
fn targets<'a>(listed: &'a str, words: &'a [String]) -> impl Iterator<Item = &'a str> {
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    names.filter(|name| {
        let is_chosen = words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
        name.contains(MODULE) && is_chosen
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_tests_of_the_module_with_one_of_the_words() {
        let listed = "table::fuzz::indexes: test\ntable::index::tests::seek: test\n\
                      tree::fuzz::annotations: test\n";
        let found = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            targets(listed, &words).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), ["table::fuzz::indexes", "tree::fuzz::annotations"]);
        assert_eq!(found(&["index", "seek"]), ["table::fuzz::indexes"]);
    }
}
