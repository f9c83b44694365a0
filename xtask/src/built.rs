//! Programs and libraries of the workspace, built as `cargo test --workspace` builds them.
//!
//! cargo compiles a crate with the features that the chosen packages need together. A step that
//! chose other packages would have most crates compiled once more. So every step takes programs
//! from here: the whole workspace is chosen, and after the tests nothing is left to compile.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{Artifact, Message, TargetKind};

use crate::step;
use crate::workspace::Workspace;

/// The targets that cargo has built.
pub(crate) struct Built<'a> {
    workspace: &'a Workspace,
    artifacts: Vec<Artifact>,
}

/// A program of tests.
pub(crate) struct TestProgram<'a> {
    /// Whether the tests are in the sources that they test.
    is_unit: bool,
    package: &'a str,
    target: &'a str,
    path: &'a Path,
    /// The package's directory.
    place: &'a Path,
}

impl TestProgram<'_> {
    /// The package, and the kind of its tests.
    pub(crate) fn name(&self) -> String {
        let Self { package, target, .. } = self;
        if self.is_unit { format!("{package}, unit") } else { format!("{package}, {target}") }
    }

    /// Runs it where cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.path);
        command.arg("--quiet").current_dir(self.place);
        command
    }
}

impl<'a> Built<'a> {
    /// Builds all libraries, programs, tests and examples.
    pub(crate) fn all(workspace: &'a Workspace) -> anyhow::Result<Self> {
        let words = ["build", "--workspace", "--lib", "--bins", "--tests", "--examples"];
        let json = ["--quiet", "--message-format=json-render-diagnostics"];
        let said = step::output(&mut workspace.cargo(words.into_iter().chain(json)))?;
        let mut artifacts = Vec::new();
        for message in Message::parse_stream(said.as_bytes()) {
            if let Message::CompilerArtifact(artifact) = message.context("messages of cargo")? {
                artifacts.push(artifact);
            }
        }
        Ok(Self { workspace, artifacts })
    }

    /// The program `terrace`.
    pub(crate) fn terrace(&self) -> anyhow::Result<&Path> {
        self.program("terrace-cli", &TargetKind::Bin, "terrace")
    }

    /// The integration tests of a package.
    pub(crate) fn tests(&self, package: &str) -> anyhow::Result<&Path> {
        self.program(package, &TargetKind::Test, "it")
    }

    /// All programs of tests, unit tests first.
    pub(crate) fn all_tests(&self) -> Vec<TestProgram<'_>> {
        let packages = self.workspace.metadata().workspace_packages();
        let tests = self.artifacts.iter().filter(|artifact| artifact.profile.test);
        let programs = tests.filter_map(|artifact| {
            let package = packages.iter().find(|package| package.id == artifact.package_id)?;
            let is_unit = !artifact.target.kind.contains(&TargetKind::Test);
            Some(TestProgram {
                is_unit,
                package: package.name.as_str(),
                target: artifact.target.name.as_str(),
                path: artifact.executable.as_ref()?.as_std_path(),
                place: package.manifest_path.parent()?.as_std_path(),
            })
        });
        let mut programs: Vec<_> = programs.collect();
        programs.sort_unstable_by_key(|program| (!program.is_unit, program.package));
        programs
    }

    /// The examples of a package, by name.
    pub(crate) fn examples(&self, package: &str) -> Vec<(&str, &Path)> {
        self.programs(package, &TargetKind::Example)
    }

    fn program(&self, package: &str, kind: &TargetKind, name: &str) -> anyhow::Result<&Path> {
        let found = self.programs(package, kind).into_iter().find(|(found, _)| *found == name);
        let (_, path) = found.with_context(|| {
            format!("cargo: expected a {kind} of the name {name} in {package}, found none")
        })?;
        Ok(path)
    }

    /// Programs of one kind, by name, without the unit tests of programs, which have their kind.
    fn programs(&self, package: &str, kind: &TargetKind) -> Vec<(&str, &Path)> {
        let packages = self.workspace.metadata().workspace_packages();
        let Some(package) = packages.into_iter().find(|found| found.name.as_str() == package)
        else {
            return Vec::new();
        };
        let is_test = *kind == TargetKind::Test;
        let chosen = self.artifacts.iter().filter(|artifact| {
            artifact.package_id == package.id
                && artifact.target.kind.contains(kind)
                && artifact.profile.test == is_test
        });
        let named = chosen.filter_map(|artifact| {
            let path = artifact.executable.as_ref()?;
            Some((artifact.target.name.as_str(), path.as_std_path()))
        });
        let mut found: Vec<_> = named.collect();
        found.sort_unstable();
        found
    }
}
