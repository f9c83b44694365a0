//! Programs and libraries of the workspace, built as `cargo test --workspace` builds them.
//!
//! cargo compiles a crate with the features that the chosen packages need together. A step that
//! chose other packages would have most crates compiled once more. So every step takes programs
//! from here: the whole workspace is chosen, and after the tests nothing is left to compile.

use std::path::Path;

use anyhow::Context;
use cargo_metadata::{Artifact, Message, TargetKind};

use crate::step;
use crate::workspace::Workspace;

/// The targets that cargo has built.
pub(crate) struct Built<'a> {
    workspace: &'a Workspace,
    artifacts: Vec<Artifact>,
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
